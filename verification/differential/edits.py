"""Edits of a cluster with allocated devices: what drivers, administrators and users may do between two allocations.

Each edit is a function that changes a case in place, or does nothing if there is nothing to change. Every object stays
one that an API server would have stored. The objects need not be consistent with each other.
"""

from __future__ import annotations

import copy
from itertools import count

from dra_api.objects import Obj
from verification.differential import claim_generator, cluster
from verification.differential.cluster import GPU, NIC, Aspects
from verification.differential.device_edits import DEVICE_EDITS, Edit, counter_sets, one_listed
from verification.differential.rng import Dice

_MOST = 3


def edit(dice: Dice, case: Obj, aspects: Aspects) -> Obj:
    """Return a copy of `case` with one to three edits; frequent changes of drivers are more likely."""
    made = copy.deepcopy(case)
    for _ in range(dice.integer(1, _MOST)):
        dice.pick(EDITS)(dice, made, aspects)
    return made


def in_pool(case: Obj, slice_: Obj) -> list[Obj]:
    """Return the slices of the pool and generation of `slice_`, itself included."""
    return [
        other
        for other in case["slices"]
        if other["spec"]["driver"] == slice_["spec"]["driver"]
        and other["spec"]["pool"]["name"] == slice_["spec"]["pool"]["name"]
        and other["spec"]["pool"]["generation"] == slice_["spec"]["pool"]["generation"]
    ]


def add_slice(case: Obj, slice_: Obj) -> None:
    """Add a slice under a name that no other has."""
    names = {other["metadata"]["name"] for other in case["slices"]}
    slice_["metadata"]["name"] = next(name for at in count() if (name := f"new-{at}") not in names)
    case["slices"].append(slice_)


# -- slices and pools --------------------------------------------------------------------------------------------------


def move_counters(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A slice's counter sets are those of another pool now, or of another pool too."""
    del aspects
    if sets := counter_sets(case):
        slice_, _ = dice.pick(sets)
        pool = dice.pick([other["spec"]["pool"] for other in case["slices"]])
        moved = copy.deepcopy(slice_)
        moved["spec"]["pool"] = dict(pool)
        if dice.one_in(2):
            case["slices"].remove(slice_)
        add_slice(case, moved)


def remove_slice(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Delete a slice; the rest of its pool may claim to be complete without it."""
    del aspects
    if case["slices"]:
        slice_ = dice.pick(case["slices"])
        others = in_pool(case, slice_)
        case["slices"].remove(slice_)
        if dice.one_in(2):
            for other in others:
                other["spec"]["pool"]["resourceSliceCount"] = max(1, len(others) - 1)


def republish(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A pool has a new generation: in all of its slices, in some of them, or beside those of the old one."""
    del aspects
    if not case["slices"]:
        return
    in_one_pool = in_pool(case, dice.pick(case["slices"]))
    form = dice.integer(0, 3)
    new = dice.some(in_one_pool, 1, len(in_one_pool)) if form == 0 else in_one_pool
    if form == 1:  # the old slices are still there
        new = [copy.deepcopy(slice_) for slice_ in (in_one_pool if dice.one_in(2) else in_one_pool[:1])]
        for slice_ in new:
            add_slice(case, slice_)
    for slice_ in new:
        slice_["spec"]["pool"] = {**slice_["spec"]["pool"], "generation": slice_["spec"]["pool"]["generation"] + 1}


def recount(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Change the number of slices that a pool announces: it is being updated."""
    del aspects
    if case["slices"]:
        in_one_pool = in_pool(case, dice.pick(case["slices"]))
        number = dice.integer(1, len(in_one_pool) + 1)
        for slice_ in in_one_pool:
            slice_["spec"]["pool"] = {**slice_["spec"]["pool"], "resourceSliceCount": number}


def relocate(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A slice, or one device of it, is for other nodes."""
    if not case["slices"]:
        return
    slice_ = dice.pick(case["slices"])
    spec = slice_["spec"]
    devices = spec.get("devices") or ()
    nodes = case["nodes"]
    per_device = bool(devices) and bool(aspects & {"placement", "per-device-placement"}) and dice.one_in(3)
    if spec.get("perDeviceNodeSelection") and per_device:
        put(dice.pick(devices), cluster.place(dice, nodes))
        return
    if spec.get("perDeviceNodeSelection"):
        for device in devices:
            put(device, {})
    put(spec, {"perDeviceNodeSelection": True} if per_device else cluster.place(dice, nodes))
    if per_device:
        for device in devices:
            put(device, cluster.place(dice, nodes))


def put(where: Obj, place: Obj) -> None:
    """Give a slice's spec or a device another place."""
    for key in ("nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"):
        where.pop(key, None)
    where |= place


def hand_over(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Another driver publishes a pool of the same name."""
    del aspects
    if case["slices"]:
        for slice_ in in_pool(case, dice.pick(case["slices"])):
            slice_["spec"]["driver"] = NIC if slice_["spec"]["driver"] == GPU else GPU


# -- everything else ---------------------------------------------------------------------------------------------------


def relabel(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A node loses a label, or has another value of it."""
    del aspects
    labels = dice.pick(case["nodes"])["metadata"].get("labels") or {}
    if labels:
        name = dice.pick([*labels])
        if dice.one_in(2):
            del labels[name]
        else:
            labels[name] = dice.pick(["a", "b", "0", "1"])


def change_class(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """A class selects otherwise."""
    dice.pick(case["classes"])["spec"]["selectors"] = claim_generator.selectors(dice, aspects | {"selectors"})


def release(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Remove a claim and free its devices."""
    del aspects
    if case["taken"]:
        case["taken"].remove(dice.pick(case["taken"]))


def _result(slice_: Obj, device: str) -> Obj:
    """A device of a slice's pool as an allocation names it."""
    return {
        "request": "r",
        "driver": slice_["spec"]["driver"],
        "pool": slice_["spec"]["pool"]["name"],
        "device": device,
    }


def use_alone(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Allocate a device to one claim exclusively, as if it had not been shareable, or had never been listed."""
    if found := one_listed(dice, case):
        slice_, device = found
        result = _result(slice_, "gone" if dice.one_in(4) else device["name"])
        if "admin" in aspects and dice.one_in(3):
            result["adminAccess"] = True
        case["taken"].append(result)


def use_share(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Allocate a share of a device, with capacities that it had."""
    del aspects
    if found := one_listed(dice, case):
        slice_, device = found
        result = _result(slice_, device["name"])
        result["shareID"] = f"00000000-0000-4000-9000-{len(case['taken']):012}"
        if names := dice.some(["memory", "cores", "gone"], 0, 2):
            result["consumedCapacity"] = {name: dice.pick(["0", "1", "1Gi", "4Gi"]) for name in names}
        case["taken"].append(result)


def watch(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """Turn an allocation into one with admin access."""
    del aspects
    if case["taken"]:
        dice.pick(case["taken"])["adminAccess"] = True


def flip_gate(dice: Dice, case: Obj, aspects: Aspects) -> None:
    """The scheduler came back with one gate changed."""
    del aspects
    name = dice.pick([*case["features"]])
    case["features"][name] = not case["features"][name]


EDITS: tuple[Edit, ...] = (
    *DEVICE_EDITS,
    move_counters,
    remove_slice,
    republish,
    recount,
    relocate,
    hand_over,
    relabel,
    change_class,
    release,
    use_alone,
    use_share,
    watch,
    flip_gate,
)
