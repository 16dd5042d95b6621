"""Check of constraints: the covered devices have the attribute, and its values match or differ.

Source: KEP-4381, KEP-5491; rules DRA-168 to DRA-176, DRA-209,
DRA-509 to DRA-516.
"""

from __future__ import annotations

from dra_conformance.oracle import attributes
from dra_conformance.oracle.context import AllocatedDevice, CheckContext
from dra_conformance.oracle.pools import PoolDevice
from dra_conformance.oracle.schema import Constraint

_Found = list[tuple[AllocatedDevice, PoolDevice, attributes.Values]]


def check(context: CheckContext) -> None:
    """Check every constraint over the devices that it covers."""
    for number, constraint in enumerate(context.claim.spec.devices.constraints):
        attribute, match = attributes.attribute_of(constraint)
        if attribute and (match or context.settings.on("DRAConsumableCapacity")):
            _check(context, constraint, f"spec.devices.constraints[{number}]")


def _check(context: CheckContext, constraint: Constraint, path: str) -> None:
    attribute, match = attributes.attribute_of(constraint)
    found: _Found = []
    for allocated in context.allocated:
        device = allocated.device
        if device is None or not constraint.covers(allocated.result.request):
            continue
        lists = context.settings.on("DRAListTypeAttributes")
        if allocated.request is None or not context.settings.on("DRADerivedAttributes"):
            values: attributes.Compared = attributes.values(device, attribute, lists=lists)
        else:
            values = attributes.compared(device, allocated.request, attribute, lists=lists)
        if isinstance(values, str):
            report = context.findings.unless_changed(device.resource_slice.metadata.changed)
            report("DRA-511", f"{allocated.title}: the derived attribute {attribute} fails: {values}", path)
        elif values is None:
            report = context.findings.unless_changed(device.resource_slice.metadata.changed)
            report("DRA-169", f"{allocated.title} lacks the attribute {attribute} of a constraint", path)
        else:
            found.append((allocated, device, values))
    if attributes.satisfied([values for _, _, values in found], match=match):
        return
    listing = ", ".join(f"{one.result.device}: {attributes.show(values)}" for one, _, values in found)
    report = context.findings.unless_changed(*(device.resource_slice.metadata.changed for _, device, _ in found))
    text = "has no common value" if match else "is not distinct"
    report(_rule(found, match=match), f"{attribute} {text} among its devices ({listing})", path)


def _rule(found: _Found, *, match: bool) -> str:
    if match:
        return "DRA-175" if any(len(values) > 1 for _, _, values in found) else "DRA-168"
    repeated = len({allocated.result.id for allocated, _, _ in found}) < len(found)
    return "DRA-209" if repeated else "DRA-174"
