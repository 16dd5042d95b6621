"""ResourceClaim status: allocation, consumers, device status; gated fields, stale entries, validation.

Pure functions over a status and its predecessor. Source: pkg/registry/resource/resourceclaim/strategy.go,
pkg/apis/resource/validation/validation.go, release 1.36; rules DRA-083 to DRA-095.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.binding_conditions import validate_binding_conditions
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import (
    conditions,
    driver_name,
    each,
    interface_address,
    label,
    pool_name,
    raw_object,
    size,
    uid,
    unique,
)
from apiserver_emulator.dra.config import CONFIG_MAX, validate_configuration
from apiserver_emulator.dra.node_operations import validate_skipped
from apiserver_emulator.dra.node_selector import validate_node_selector
from apiserver_emulator.dra.requests import (
    RequestNames,
    admin_access_in_spec,
    consumable_capacity_in_spec,
    validate_toleration,
)
from apiserver_emulator.dra.rules import Rules
from dra_api.allocations import results_of_status
from dra_api.status import FieldError, forbidden_field, invalid, not_supported, required, too_long, too_many

Obj = dict[str, Any]

RESERVED_FOR_MAX = 256
RESULTS_MAX = 32
CONDITIONS_MAX = 8
DATA_MAX = 10 * 1024
INTERFACE_NAME_MAX = 256
HARDWARE_ADDRESS_MAX = 128
IPS_MAX = 16

DeviceKey = tuple[str, str, str, str]


def device_key(entry: Obj) -> DeviceKey:
    """Return the key of an allocated device or share; an empty shareID counts as none."""
    return (entry.get("driver", ""), entry.get("pool", ""), entry.get("device", ""), entry.get("shareID") or "")


def default_status(status: Obj) -> None:
    """Canonical form."""
    canonical.prune(status)
    allocation = status.get("allocation")
    if allocation is not None:
        canonical.time(allocation, "allocationTimestamp")
        if not allocation.get("devices"):
            allocation["devices"] = {}
    for result in results_of_status(status):
        for toleration in result.get("tolerations") or ():
            toleration.setdefault("operator", "Equal")
    devices = status.get("devices")
    if devices is not None and not devices:
        del status["devices"]
    for device in status.get("devices") or ():
        canonical.times(device.get("conditions") or (), "lastTransitionTime")
        device.setdefault("conditions", None)  # the Go type has no omitempty here: none reads as null


def drop_disabled_status(claim: Obj, old: Obj, rules: Rules) -> None:
    """Remove the fields of disabled feature gates, unless the stored claim uses them (DRA-095)."""
    status, before = claim["status"], old.get("status") or {}
    if not rules.on("DRAResourceClaimDeviceStatus") and not before.get("devices"):
        status.pop("devices", None)
    admin_before = admin_access_in_spec(old.get("spec")) or any("adminAccess" in r for r in results_of_status(before))
    if not rules.on("DRAAdminAccess") and not admin_before:
        _drop(results_of_status(status), "adminAccess")
    shared_before = any("shareID" in r or "consumedCapacity" in r for r in results_of_status(before))
    shared_before |= any("shareID" in device for device in before.get("devices") or ())
    shared_before |= consumable_capacity_in_spec(old.get("spec"))
    if not rules.on("DRAConsumableCapacity") and not shared_before:
        _drop(results_of_status(status), "shareID", "consumedCapacity")
        _drop(status.get("devices") or [], "shareID")
    binding = ("bindingConditions", "bindingFailureConditions")
    bound_before = any(name in r for r in results_of_status(before) for name in binding)
    if not rules.on("DRADeviceBindingConditions") and not bound_before:
        _drop(results_of_status(status), *binding)
    skipped_before = any(r.get("skipNodeOperations") for r in results_of_status(before))
    if not rules.on("DRAOptionalNodeOperations") and not skipped_before:
        _drop(results_of_status(status), "skipNodeOperations")


def _drop(entries: list[Obj], *names: str) -> None:
    for entry in entries:
        for name in names:
            entry.pop(name, None)


def drop_deallocated_devices(status: Obj, old: Obj, rules: Rules) -> None:
    """Remove status entries of devices that left the allocation (DRA-094)."""
    if not rules.on("DRAResourceClaimDeviceStatus") and not old.get("devices"):
        return
    gone = {device_key(r) for r in results_of_status(old)} - {device_key(r) for r in results_of_status(status)}
    kept = [device for device in status.get("devices") or () if device_key(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


def validate_status_update(claim: Obj, old: Obj, rules: Rules) -> list[FieldError]:
    """Everything about a changed status."""
    status, before = claim["status"], old.get("status") or {}
    reserved = status.get("reservedFor") or []
    found = unique(
        reserved,
        "status.reservedFor",
        RESERVED_FOR_MAX,
        _consumer,
        key=lambda consumer: consumer.get("uid", ""),
        key_field="uid",
        rules=rules,
        whole=True,
    )
    allocated = {device_key(result) for result in results_of_status(status)}
    found += unique(
        status.get("devices") or [],
        "status.devices",
        # No limit of its own: every entry must be an allocated device.
        -1,
        lambda device, at: _device(device, at, allocated, rules),
        key=device_key,
        key_field="deviceID",
        rules=rules,
        show=lambda device: _whole(device) if rules.minor >= 37 else _shown(device_key(device)),
    )
    allocation, allocation_before = status.get("allocation"), before.get("allocation")
    if reserved:
        found += list(_reservation(claim, reserved, before))
    if allocation is not None and allocation_before is not None:
        if not same(allocation, allocation_before):
            found.append(invalid("status.allocation", allocation, "field is immutable"))
    elif allocation is not None:
        found += _allocation(allocation, RequestNames(claim.get("spec") or {}), rules)
    return found


def _reservation(claim: Obj, reserved: list[Obj], before: Obj) -> Iterator[FieldError]:
    if claim["status"].get("allocation") is None:
        yield forbidden_field("status.reservedFor", "may not be specified when `allocated` is not set")
    elif "deletionTimestamp" in claim["metadata"]:
        known = before.get("reservedFor") or []
        if any(consumer not in known for consumer in reserved):
            text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
            yield forbidden_field("status.reservedFor", text)


def _consumer(consumer: Obj, path: str) -> list[FieldError]:
    return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not consumer.get(name)]


def _allocation(allocation: Obj, names: RequestNames, rules: Rules) -> list[FieldError]:
    devices = allocation.get("devices") or {}
    here = "status.allocation.devices"
    found = each(
        devices.get("results") or [],
        f"{here}.results",
        RESULTS_MAX,
        lambda result, at: _result(result, at, names, rules),
    )
    found += each(
        devices.get("config") or [],
        f"{here}.config",
        2 * CONFIG_MAX,  # from the class and from the claim
        lambda config, at: _config(config, at, names, rules),
    )
    selector = allocation.get("nodeSelector")
    if selector is not None:
        found += validate_node_selector(selector, "status.allocation.nodeSelector")
    return found


def _result(result: Obj, path: str, names: RequestNames, rules: Rules) -> list[FieldError]:
    found = names.check(result.get("request", ""), f"{path}.request")
    found += driver_name(result.get("driver", ""), f"{path}.driver")
    found += pool_name(result.get("pool", ""), f"{path}.pool")
    found += label(result.get("device", ""), f"{path}.device")
    found += validate_binding_conditions(result, path)
    if rules.minor >= 37:
        for at, toleration in enumerate(result.get("tolerations") or ()):
            found += validate_toleration(toleration, f"{path}.tolerations[{at}]")
        found += validate_skipped(result.get("skipNodeOperations") or [], f"{path}.skipNodeOperations", rules)
    if result.get("shareID") is not None:
        found += uid(result["shareID"], f"{path}.shareID", rules)
    return found


def _config(config: Obj, path: str, names: RequestNames, rules: Rules) -> list[FieldError]:
    source = config.get("source", "")
    found: list[FieldError] = []
    if not source:
        found.append(required(f"{path}.source"))
    elif source not in ("FromClaim", "FromClass"):
        found.append(not_supported(f"{path}.source", source, ("FromClaim", "FromClass")))
    found += names.check_all(config.get("requests") or [], f"{path}.requests", rules)
    return found + validate_configuration(config, path, rules)


def _device(device: Obj, path: str, allocated: set[DeviceKey], rules: Rules) -> list[FieldError]:
    key = device_key(device)
    found = driver_name(key[0], f"{path}.driver")
    found += pool_name(key[1], f"{path}.pool")
    found += label(key[2], f"{path}.device")
    if device.get("shareID") is not None:
        found += uid(device["shareID"], f"{path}.shareID", rules)
    if key not in allocated:
        found.append(invalid(path, _shown(key), "must be an allocated device in the claim"))
    entries = device.get("conditions") or []
    if len(entries) > CONDITIONS_MAX:
        found.append(too_many(f"{path}.conditions", len(entries), CONDITIONS_MAX))
    found += conditions(entries, f"{path}.conditions", rules)
    if device.get("data") is not None:
        found += raw_object(device["data"], f"{path}.data", limit=DATA_MAX, stored=False)
    network = device.get("networkData")
    if network is not None:
        found += _network(network, f"{path}.networkData", rules)
    return found


def _network(network: Obj, path: str, rules: Rules) -> list[FieldError]:
    found: list[FieldError] = []
    for name, limit in (("interfaceName", INTERFACE_NAME_MAX), ("hardwareAddress", HARDWARE_ADDRESS_MAX)):
        if size(network.get(name, "")) > limit:
            found.append(too_long(f"{path}.{name}", limit))
    ips = network.get("ips") or []
    return found + unique(ips, f"{path}.ips", IPS_MAX, interface_address, key=str, key_field="", rules=rules)


def _whole(device: Obj) -> Obj:
    # Go serializes the fields in this order, and conditions even if there are none.
    names = ("driver", "pool", "device", "shareID", "conditions", "data", "networkData")
    return {name: device.get(name) for name in names if name in device or name == "conditions"}


def _shown(key: DeviceKey) -> Obj:
    # Messages show Go's internal struct.
    return {"Driver": key[0], "Pool": key[1], "Device": key[2], "ShareID": key[3]}
