"""The strategy of ResourceSlices. Stateless.

Source: pkg/registry/resource/resourceslice/strategy.go, pkg/apis/resource/validation/validation.go,
plugin/pkg/admission/noderestriction and plugin/pkg/auth/authorizer/node, release 1.36; rules DRA-050 to DRA-081.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.attributes import LISTS, has_list
from apiserver_emulator.dra.checks import driver_name, pool_name, subdomain
from apiserver_emulator.dra.counters import default_counters, validate_counter_sets
from apiserver_emulator.dra.devices import NODE_FIELDS, default_device, validate_devices
from apiserver_emulator.dra.generation import follow
from apiserver_emulator.dra.node_operations import validate_skipped
from apiserver_emulator.dra.node_selector import shown_terms, validate_node_selector
from apiserver_emulator.dra.partition_types import validate_partition_type
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.dra.taints import default_taint
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.gotext import go_quote
from dra_api.status import FieldError, forbidden, invalid, required

Obj = dict[str, Any]

GROUP = "resource.k8s.io"
PLURAL = "resourceslices"
NODE_USER_PREFIX = "system:node:"
NODE_GROUP = "system:nodes"
_CHOICES = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
_TRUE_TEXT = "must be either unset or set to true"
_NODE_RESOURCES = ("nodeAllocatableResourceMappings", "nodeAllocatableResources")
_BINDING = ("bindingConditions", "bindingFailureConditions", "bindsToNode")


class ResourceSliceStrategy(BaseStrategy):
    """The rules of ResourceSlices: generation, a warning for upper-case drivers, slices of one node only for nodes.

    `node_restriction`: whether the NodeRestriction admission plugin is enabled (kubeadm enables it; kube-apiserver's
    default does not).
    """

    def __init__(self, *, node_restriction: bool = True) -> None:
        self._node_restriction = node_restriction

    def default(self, obj: Obj) -> None:
        """Canonical form."""
        spec = obj.setdefault("spec", {})
        canonical.prune(spec)
        spec.setdefault("driver", "")
        pool = spec.setdefault("pool", {})
        pool.setdefault("name", "")
        pool.setdefault("generation", 0)
        pool.setdefault("resourceSliceCount", 0)
        for device in spec.get("devices") or ():
            default_device(device)
        for counter_set in spec.get("sharedCounters") or ():
            default_counters(counter_set)

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Times of taints, generation 1, disabled fields."""
        rules = Rules.of(ctx)
        _default_taints(obj["spec"], rules)
        obj["metadata"]["generation"] = 1
        drop_disabled(obj["spec"], None, rules)

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The spec, all of it new."""
        _warn(obj["spec"], ctx)
        found = _spec(obj["spec"], None, Rules.of(ctx))
        _drop_empty_lists(obj["spec"])
        return found

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Compare first, then drop: even a change that is dropped raises the generation."""
        rules = Rules.of(ctx)
        _default_taints(new["spec"], rules)
        follow(new, old)
        drop_disabled(new["spec"], old["spec"], rules)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The spec beside the stored one."""
        _warn(new["spec"], ctx)
        found = _spec(new["spec"], old["spec"], Rules.of(ctx))
        _drop_empty_lists(new["spec"])
        return found

    def authorize(self, obj: Obj | None, old: Obj | None, ctx: RequestContext) -> None:
        """A node creates and deletes slices for itself only (DRA-080)."""
        node = node_of(ctx)
        if node is None or not self._node_restriction:
            return
        if ctx.verb == "create" and obj is not None:
            self._own(obj, node, "create")
        # The authorizer limits a deletecollection to the node, by its field selector.
        elif ctx.verb == "delete" and old is not None:
            self._own(old, node, "delete")

    def _own(self, obj: Obj, node: str, action: str) -> None:
        if obj.get("spec", {}).get("nodeName") != node:
            name = obj["metadata"].get("name", "")
            raise forbidden(
                GROUP, PLURAL, name, f"can only {action} ResourceSlice with the same NodeName as the requesting node"
            )


def node_of(ctx: RequestContext) -> str | None:
    """Return the node that sends a request; None for other users."""
    name = ctx.user.name
    if NODE_GROUP in ctx.user.groups and name.startswith(NODE_USER_PREFIX):
        return name.removeprefix(NODE_USER_PREFIX)
    return None


def slice_fields(obj: Obj) -> Mapping[str, str]:
    """Return the values of the supported field selectors (DRA-079)."""
    spec = obj.get("spec") or {}
    return {
        "spec.nodeName": spec.get("nodeName") or "",
        "spec.driver": spec.get("driver") or "",
        "spec.pool.name": (spec.get("pool") or {}).get("name") or "",
    }


def field_names(minor: int) -> tuple[str, ...]:
    """The supported field selectors of a release."""
    found = ("spec.nodeName", "spec.driver")
    return (*found, "spec.pool.name") if minor >= 37 else found


def _default_taints(spec: Obj, rules: Rules) -> None:
    for device in spec.get("devices") or ():
        for taint in device.get("taints") or ():
            default_taint(taint, rules)


def _drop_empty_lists(spec: Obj) -> None:
    # They count for validation (DRA-064) but are not stored: protobuf has no empty list.
    for name in ("devices", "sharedCounters"):
        if spec.get(name) == []:
            del spec[name]


def _warn(spec: Obj, ctx: RequestContext) -> None:
    driver = spec["driver"]
    if ctx.minor >= 35 and driver != driver.lower():
        ctx.warn(
            "spec.driver: driver names should be lowercase; " + go_quote(driver) + " contains uppercase characters"
        )


def _spec(spec: Obj, old: Obj | None, rules: Rules) -> list[FieldError]:
    found = driver_name(spec["driver"], "spec.driver") + _pool(spec["pool"])
    if old is not None:
        for path, value, before in (
            ("spec.pool.name", spec["pool"]["name"], old["pool"]["name"]),
            ("spec.driver", spec["driver"], old["driver"]),
            ("spec.nodeName", spec.get("nodeName"), old.get("nodeName")),
        ):
            if value != before:
                found.append(invalid(path, value, "field is immutable"))
    found += _nodes(spec)
    found += validate_partition_type(spec)
    found += validate_skipped(spec.get("skipNodeOperations") or [], "spec.skipNodeOperations", rules)
    if rules.minor >= 35 and "sharedCounters" in spec and "devices" in spec:
        found.append(invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    found += validate_devices(spec, old, rules)
    return found + validate_counter_sets(spec.get("sharedCounters") or [], "spec.sharedCounters", rules)


def _pool(pool: Obj) -> list[FieldError]:
    found = pool_name(pool["name"], "spec.pool.name")
    if pool["resourceSliceCount"] <= 0:
        count = pool["resourceSliceCount"]
        found.append(invalid("spec.pool.resourceSliceCount", count, "must be greater than zero"))
    if pool["generation"] < 0:
        text = "must be greater than or equal to zero"
        found.append(invalid("spec.pool.generation", pool["generation"], text))
    return found


def _nodes(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    chosen: list[str] = []
    name = spec.get("nodeName")
    if name:
        chosen.append("`nodeName`")
        found += subdomain(name, "spec.nodeName")
    elif name is not None:
        found.append(invalid("spec.nodeName", name, "must be either unset or set to a non-empty string"))
    selector = spec.get("nodeSelector")
    if selector is not None:
        chosen.append("`nodeSelector`")
        found += validate_node_selector(selector, "spec.nodeSelector")
        terms = selector.get("nodeSelectorTerms")
        if len(terms or ()) != 1:
            path = "spec.nodeSelector.nodeSelectorTerms"
            found.append(invalid(path, shown_terms(terms), "must have exactly one node selector term"))
    for field in ("allNodes", "perDeviceNodeSelection"):
        value = spec.get(field)
        if value:
            chosen.append(f"`{field}`")
        elif value is not None:
            found.append(invalid(f"spec.{field}", value, _TRUE_TEXT))
    if not chosen:
        found.append(required("spec", f"exactly one of {_CHOICES} is required"))
    elif len(chosen) > 1:
        text = f"exactly one of {_CHOICES} is required, but multiple fields are set"
        found.append(invalid("spec", "{" + ", ".join(chosen) + "}", text))
    return found


def drop_disabled(spec: Obj, old: Obj | None, rules: Rules) -> None:
    """Remove the fields of disabled feature gates, unless the stored slice uses the feature (DRA-077)."""
    devices: list[Obj] = spec.get("devices") or []
    before: list[Obj] = (old or {}).get("devices") or []
    if not rules.on("DRADeviceTaints") and not any(device.get("taints") for device in before):
        _drop(devices, "taints")
    if not rules.on("DRAPartitionableDevices") and not _partitionable(old or {}, before):
        spec.pop("sharedCounters", None)
        spec.pop("perDeviceNodeSelection", None)
        _drop(devices, "consumesCounters", *NODE_FIELDS)
    binding = rules.on("DRADeviceBindingConditions") and rules.on("DRAResourceClaimDeviceStatus")
    if not binding and not any(name in device for device in before for name in _BINDING):
        _drop(devices, *_BINDING)
    if not rules.on("DRAConsumableCapacity") and not any(_consumable(device) for device in before):
        _drop(devices, "allowMultipleAllocations")
        _drop([entry for device in devices for entry in (device.get("capacity") or {}).values()], "requestPolicy")
    if not rules.on("DRANodeAllocatableResources") and not any(d.get(name) for d in before for name in _NODE_RESOURCES):
        _drop(devices, *_NODE_RESOURCES)
    _drop_newer(spec, old or {}, devices, before, rules)
    if not rules.on("DRAListTypeAttributes") and not any(has_list(entry) for entry in _attributes(before)):
        _drop(_attributes(devices), *LISTS)


def _drop_newer(spec: Obj, old: Obj, devices: list[Obj], before: list[Obj], rules: Rules) -> None:
    # Fields of 1.37; the schemas of older releases lack them, so that they are pruned already.
    if not rules.on("DRAOptionalNodeOperations") and not old.get("skipNodeOperations"):
        spec.pop("skipNodeOperations", None)
    if not rules.on("DRAPartitionableDevicesType") and "partitionTypeAttribute" not in old:
        spec.pop("partitionTypeAttribute", None)
    consumed = [entry for device in devices for entry in device.get("consumesCounters") or ()]
    grouped = any(e.get("compatibilityGroups") for d in before for e in d.get("consumesCounters") or ())
    if not rules.on("DRADeviceCompatibilityGroups") and not grouped:
        _drop(consumed, "compatibilityGroups")


def _attributes(devices: list[Obj]) -> list[Obj]:
    return [entry for device in devices for entry in (device.get("attributes") or {}).values()]


def _partitionable(spec: Obj, devices: list[Obj]) -> bool:
    if spec.get("sharedCounters") or "perDeviceNodeSelection" in spec:
        return True
    return any(d.get("consumesCounters") or any(name in d for name in NODE_FIELDS) for d in devices)


def _consumable(device: Obj) -> bool:
    return "allowMultipleAllocations" in device or any(
        "requestPolicy" in entry for entry in (device.get("capacity") or {}).values()
    )


def _drop(entries: list[Obj], *names: str) -> None:
    for entry in entries:
        for name in names:
            entry.pop(name, None)
