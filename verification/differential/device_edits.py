"""Edits of devices and of their shared counters, as drivers make them between two allocations; see `edits`.

An allocated device is edited more often than a free one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TypeAlias

from dra_api.objects import Obj
from verification.differential import cluster
from verification.differential.cluster import Aspects
from verification.differential.rng import Dice

Edit: TypeAlias = Callable[[Dice, Obj, Aspects], None]
_COUNTERS = ("units", "slots")
_AMOUNTS = ("0", "1", "2", "3", "500m")


# -- what the edits choose from ----------------------------------------------------------------------------------------


def listed(case: Obj) -> list[tuple[Obj, Obj]]:
    """Every device with the slice that lists it."""
    return [(slice_, device) for slice_ in case["slices"] for device in slice_["spec"].get("devices") or ()]


def one_listed(dice: Dice, case: Obj) -> tuple[Obj, Obj] | None:
    """Return a device with its slice, usually an allocated one."""
    every = listed(case)
    used = {(result["driver"], result["pool"], result["device"]) for result in case["taken"]}
    in_use = [
        (slice_, device)
        for slice_, device in every
        if (slice_["spec"]["driver"], slice_["spec"]["pool"]["name"], device["name"]) in used
    ]
    choices = in_use if in_use and not dice.one_in(4) else every
    return dice.pick(choices) if choices else None


def counter_sets(case: Obj) -> list[tuple[Obj, Obj]]:
    """Return every counter set with the slice that defines it."""
    return [(slice_, one) for slice_ in case["slices"] for one in slice_["spec"].get("sharedCounters") or ()]


# -- devices -----------------------------------------------------------------------------------------------------------


def remove_device(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Remove a device from its slice; its allocation stays."""
    del aspects
    if found := one_listed(dice, case):
        slice_, device = found
        slice_["spec"]["devices"] = [other for other in slice_["spec"]["devices"] if other is not device]


def rename_device(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A device gets another name, perhaps one that another device of its pool has or that one in use had."""
    del aspects
    if found := one_listed(dice, case):
        slice_, device = found
        taken = {other["name"] for other in slice_["spec"]["devices"]}
        names = [f"d{number}" for number in range(8) if f"d{number}" not in taken]  # unique in one slice
        if names:
            device["name"] = dice.pick(names)


def move_device(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Move a device to another slice, of its pool or not, or list it in both."""
    del aspects
    if found := one_listed(dice, case):
        slice_, device = found
        elsewhere = [
            other
            for other in case["slices"]
            if other is not slice_
            # The API server refuses a slice with both devices and counters.
            and not other["spec"].get("sharedCounters")
            # Only such slices have devices with a place of their own.
            and bool(other["spec"].get("perDeviceNodeSelection")) == bool(slice_["spec"].get("perDeviceNodeSelection"))
            and all(device["name"] != there["name"] for there in other["spec"].get("devices") or ())
        ]
        if elsewhere:
            dice.pick(elsewhere)["spec"].setdefault("devices", []).append(copy.deepcopy(device))
            if not dice.one_in(3):
                slice_["spec"]["devices"] = [other for other in slice_["spec"]["devices"] if other is not device]


def swap_devices(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Exchange the names of two devices of a slice: an allocation now refers to the other one."""
    del aspects
    if found := one_listed(dice, case):
        slice_, device = found
        other = dice.pick(slice_["spec"]["devices"])
        device["name"], other["name"] = other["name"], device["name"]


def share_device(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A device no longer allows several allocations, or allows them now."""
    del aspects
    if found := one_listed(dice, case):
        _, device = found
        if device.pop("allowMultipleAllocations", None):
            for capacity in (device.get("capacity") or {}).values():
                capacity.pop("requestPolicy", None)  # moves with it, as the API server requires
        else:
            device["allowMultipleAllocations"] = True


def change_capacity(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A capacity has another value or policy, is gone, or is new."""
    del aspects
    if found := one_listed(dice, case):
        _, device = found
        name = dice.pick(["memory", "memory", "cores"])
        capacities = device.setdefault("capacity", {})
        if name in capacities and dice.one_in(3):
            del capacities[name]
        elif device.get("allowMultipleAllocations") and dice.one_in(2):
            capacities[name] = {"value": "8Gi", "requestPolicy": copy.deepcopy(dice.pick(cluster.POLICIES))}
        else:
            capacities[name] = {"value": dice.pick(["0", "1", "512Mi", "1Gi", "2Gi", "8Gi"])}
        if not capacities:
            del device["capacity"]


def change_attribute(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """An attribute has another value, perhaps of another type, or is gone."""
    if found := one_listed(dice, case):
        _, device = found
        cluster.retype(dice, device.setdefault("attributes", {}), lists="lists" in aspects)


def change_taints(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A device gets a taint, or loses all."""
    del aspects
    if found := one_listed(dice, case):
        _, device = found
        if not device.pop("taints", None):
            device["taints"] = [{"key": "k", "effect": dice.pick(["NoSchedule", "NoExecute", "None"])}]


def change_binding(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A device gets binding conditions, or loses them."""
    del aspects
    if found := one_listed(dice, case):
        _, device = found
        if device.pop("bindingConditions", None):
            device.pop("bindingFailureConditions", None)
            device.pop("bindsToNode", None)
        else:
            device |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}


# -- counters ----------------------------------------------------------------------------------------------------------


def change_consumption(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A device takes another amount, of another counter or set, or nothing any more."""
    del aspects
    if found := one_listed(dice, case):
        _, device = found
        entries = device.get("consumesCounters")
        if entries and dice.one_in(4):
            del device["consumesCounters"]
        elif entries and dice.one_in(2):
            entry = dice.pick(entries)
            names = {other["counterSet"] for other in entries if other is not entry}
            free = [name for name in ("set0", "set1", "set2") if name not in names]
            entry["counterSet"] = dice.pick(free) if free else entry["counterSet"]
        elif entries:
            dice.pick(entries)["counters"][dice.pick(_COUNTERS)] = {"value": dice.pick(_AMOUNTS)}
        else:
            set_name = dice.pick(["set0", "set0", "set1"])
            counters = {dice.pick(_COUNTERS): {"value": dice.pick(_AMOUNTS)}}
            device["consumesCounters"] = [{"counterSet": set_name, "counters": counters}]


def change_counters(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A counter has another value, is gone, or is new; a set has another name."""
    del aspects
    if sets := counter_sets(case):
        slice_, one = dice.pick(sets)
        form = dice.integer(0, 3)
        name = dice.pick(_COUNTERS)
        if form == 0 and one["counters"].keys() - {name}:
            one["counters"].pop(name, None)
        elif form == 1:
            used = {other["name"] for other in slice_["spec"]["sharedCounters"]}
            one["name"] = dice.pick([f"set{at}" for at in range(4) if f"set{at}" not in used])
        else:
            one["counters"][name] = {"value": dice.pick(_AMOUNTS)}


# Listed twice: what drivers change most.
DEVICE_EDITS: tuple[Edit, ...] = (
    remove_device,
    remove_device,
    rename_device,
    move_device,
    move_device,
    swap_devices,
    share_device,
    share_device,
    change_capacity,
    change_capacity,
    change_attribute,
    change_taints,
    change_binding,
    change_consumption,
    change_consumption,
    change_counters,
    change_counters,
)
