"""Compatibility groups, derived attributes and skipped node operations (alpha in 1.37), added to a generated case.

Devices in use are compatible with each other: what upstream makes of others depends on the order of the slices.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

from dra_api.objects import Obj
from verification.differential.claim_generator import ATTRIBUTES
from verification.differential.cluster import GPU
from verification.differential.rng import Dice

FEATURES = ("CompatibilityGroups", "DerivedAttributes", "OptionalNodeOperations")
_GROUPS = ("x", "y", "z")
_SKIPPED = (["*"], ["NodeUnprepareResources"], ["NodePrepareResources", "NodeUnprepareResources"])
_EXPRESSIONS = (
    "1",
    "device.driver",
    "device.allowMultipleAllocations",
    f'"memory" in device.capacity["{GPU}"]',
    f'device.attributes["{GPU}"].?m.orValue(0)',
    f'"s" in device.attributes["{GPU}"] ? device.attributes["{GPU}"].s : "none"',
    f'has(device.attributes["{GPU}"].v) && device.attributes["{GPU}"].v.isGreaterThan(semver("1.0.0"))',
    # These fail on a device without the attribute.
    f'device.attributes["{GPU}"].n',
    f'device.attributes["{GPU}"].v',
    "[device.driver]",
    "[1, 2]",
)


def extend(dice: Dice, case: Obj) -> Obj:
    """Return the case with some of each, and with their features, which are now and then off."""
    made = copy.deepcopy(case)
    made["features"] |= {name: not dice.one_in(8) for name in FEATURES}
    if not dice.one_in(8):
        made["features"]["PartitionableDevices"] = True
    _group(dice, made)
    if not dice.one_in(3):
        for claim in made["claims"]:
            _derive(dice, claim["spec"]["devices"], made)
    # The stable and incubating allocators do not know the field (DRA-521).
    if any(made["features"][name] for name in FEATURES) and not dice.one_in(3):
        _skip(dice, made)
    return made


def _skip(dice: Dice, made: Obj) -> None:
    for node in made["nodes"]:
        if not dice.one_in(4):
            node.setdefault("status", {})["declaredFeatures"] = ["DRAOptionalNodeOperations"]
    for slice_ in made["slices"]:
        if dice.one_in(3):
            slice_["spec"]["skipNodeOperations"] = dice.pick(_SKIPPED)


def _group(dice: Dice, made: Obj) -> None:
    taken = {(one["driver"], one["pool"], one["device"]) for one in made["taken"]}
    common = {one[:2]: dice.one_in(2) for one in sorted(taken)}
    for slice_ in made["slices"]:
        pool = (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"])
        for device in slice_["spec"].get("devices") or ():
            for entry in device.get("consumesCounters") or ():
                groups = dice.some(_GROUPS, 1, 2)
                if (*pool, device["name"]) in taken:
                    groups = ["x", *groups] if common[pool] else []
                if groups and (common.get(pool) or not dice.one_in(4)):
                    entry["compatibilityGroups"] = sorted(set(groups))[:2]


def _derive(dice: Dice, devices: Obj, made: Obj) -> None:
    if not devices.get("constraints"):
        distinct = made["features"]["ConsumableCapacity"] and dice.one_in(3)
        devices["constraints"] = [{"distinctAttribute" if distinct else "matchAttribute": dice.pick(ATTRIBUTES)}]
    for constraint in devices["constraints"]:
        (kind,) = {"matchAttribute", "distinctAttribute"} & constraint.keys()
        if dice.one_in(2):
            constraint[kind] = "derived/key"
        for request in _requests(devices):
            if not dice.one_in(4):
                known = request.setdefault("derivedAttributes", [])
                if constraint[kind] not in [one["name"] for one in known]:
                    known.append({"name": constraint[kind], "expression": dice.pick(_EXPRESSIONS)})


def _requests(devices: Obj) -> Iterator[Obj]:
    for request in devices["requests"]:
        yield from request.get("firstAvailable") or [request["exactly"]]
