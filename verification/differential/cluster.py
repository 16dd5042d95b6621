"""Random nodes, ResourceSlices and allocated devices: every form that the allocator distinguishes.

Objects are as an API server would return them: valid by resource.k8s.io/v1 validation, and inconsistent only where the
allocator alone can notice (counters of another slice, names used twice, pools during an update).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from dra_api.objects import Obj
from verification.differential.rng import Dice

GPU = "gpu.example.com"
NIC = "nic.example.com"
ZONES = ("a", "b")
Aspects: TypeAlias = frozenset[str]

# A case has a few of these, so that a disagreement has few possible causes.
ASPECTS = (
    "selectors",
    "failing-selectors",
    "counts",
    "all",
    "admin",
    "alternatives",
    "match",
    "distinct",
    "counters",
    "consumable",
    "policies",
    "taints",
    "placement",
    "per-device-placement",
    "generations",
    "broken-pools",
    "binding",
    "in-use",
    "lists",
    "two-drivers",
    "many",
    "configs",
)

_MEMORY = ("0", "1Gi", "2Gi", "4Gi", "1536Mi", "8589934592")
POLICIES: tuple[Obj, ...] = (
    {"default": "1Gi"},
    {"default": "1Gi", "validRange": {"min": "1Gi"}},
    {"default": "1Gi", "validRange": {"min": "1Gi", "max": "2Gi"}},
    {"default": "1Gi", "validRange": {"min": "512Mi", "step": "512Mi"}},
    {"default": "2Gi", "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}},
    {"default": "1", "validRange": {"min": "500m", "max": "4", "step": "250m"}},
    {"default": "1Gi", "validValues": ["1Gi"]},
    {"default": "1Gi", "validValues": ["1Gi", "1536Mi", "2Gi"]},
)
# Labels that Go's strconv.ParseInt and Python's int() parse differently, and some on which they agree.
_NUMBERS = (
    *("1_0", "+5", "-5", " 7", "7 ", "", "007", "1.0", "0x1", "x", "\u0667"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "99999999999999999999"),
)
# Bounds are valid integers: for which devices upstream parses an invalid one depends on the order of its search.
_BOUNDS = ("0", "5", "007", "9223372036854775806")
# At least the greatest value of every policy: the API server refuses smaller capacities.
_LARGE_ENOUGH = ("4Gi", "8Gi")
# Attribute values of every type, so that one replaces a value of another type as often as of its own.
_VALUES: tuple[Obj, ...] = (
    {"int": 1},
    {"int": 2},
    {"string": "1"},
    {"string": "a"},
    {"bool": True},
    {"version": "1.2.3"},
)
_LISTS: tuple[Obj, ...] = ({"ints": [1]}, {"ints": [1, 2]}, {"strings": ["a"]}, {"bools": [True]})


def nodes(dice: Dice, aspects: Aspects) -> list[Obj]:
    """Return one node, or three in two zones if the case is about placement."""
    if not aspects & {"placement", "per-device-placement"}:
        return [_node(0, "0")]
    return [_node(at, dice.pick(_NUMBERS) if dice.one_in(3) else str(at)) for at in range(3)]


def _node(at: int, number: str) -> Obj:
    return {"metadata": {"name": f"n{at}", "labels": {"zone": ZONES[at % 2], "number": number}}}


def selector(dice: Dice) -> Obj:
    """A one-term node selector that the API server accepts."""
    requirement: Obj = dice.pick(
        [
            {"key": "zone", "operator": "In", "values": ["a"]},
            {"key": "zone", "operator": "NotIn", "values": ["a"]},
            {"key": "number", "operator": "Gt", "values": ["0"]},
            {"key": "number", "operator": "Lt", "values": ["2"]},
            {"key": "number", "operator": dice.pick(["Gt", "Lt"]), "values": [dice.pick(_BOUNDS)]},
            {"key": "zone", "operator": "Exists"},
            {"key": "absent", "operator": "DoesNotExist"},
            {"key": "absent", "operator": "NotIn", "values": ["x"]},
        ]
    )
    if dice.one_in(4):
        return {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
            ]
        }
    return {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}


def place(dice: Dice, nodes_: Sequence[Obj]) -> Obj:
    """One of the forms of place that a slice or device may have."""
    form = dice.pick(["all", "name", "selector"])
    if form == "name":
        return {"nodeName": dice.pick([node["metadata"]["name"] for node in nodes_])}
    return {"allNodes": True} if form == "all" else {"nodeSelector": selector(dice)}


def attributes(dice: Dice, aspects: Aspects) -> Obj:
    """A few attributes from small domains, so that values meet."""
    found: Obj = {}
    if not dice.one_in(6):
        found["n"] = {"int": dice.integer(0, 2)}
    if dice.one_in(2):
        found["m"] = {"int": dice.integer(0, 2)}
    if dice.one_in(2):
        found["s"] = {"string": dice.pick(["a", "b"])}
    if dice.one_in(3):
        found["ok"] = {"bool": dice.pick([False, True])}
    if dice.one_in(3):
        found["v"] = {"version": dice.pick(["1.0.0", "1.2.3", "2.0.0-rc.1"])}
    if dice.one_in(4):
        found["other.example.com/x"] = {"int": dice.integer(0, 2)}
    if dice.one_in(6):
        found[f"{GPU}/q"] = {"int": dice.integer(0, 2)}
    # An attribute that has another type on this device than on most.
    if dice.one_in(8):
        found["n"] = {"string": str(dice.integer(0, 2))}
    if "lists" in aspects:
        if dice.one_in(2):
            found["l"] = {"ints": dice.some(range(3), 1, 3)}
        if dice.one_in(4):
            found["n"] = {"ints": dice.some(range(3), 1, 2)}
    return found


def retype(dice: Dice, attributes: Obj, *, lists: bool) -> None:
    """Take one of `attributes` away, or give it a value that may be of another type."""
    name = dice.pick([*attributes, "n", "s"])
    if name in attributes and dice.one_in(3):
        del attributes[name]
    else:
        attributes[name] = dict(dice.pick(_VALUES + (_LISTS if lists else ())))


def device(dice: Dice, name: str, aspects: Aspects, sets: Sequence[Obj]) -> Obj:
    """One device."""
    found: Obj = {"name": name, "attributes": attributes(dice, aspects)}
    if aspects & {"consumable", "policies"}:
        shared = "consumable" in aspects and not dice.one_in(3)
        if shared:
            found["allowMultipleAllocations"] = True
        for capacity in ("memory", "cores"):
            if not dice.one_in(3):
                entry: Obj = {"value": dice.pick(_MEMORY)}
                if shared and "policies" in aspects and not dice.one_in(3):
                    entry = {
                        "value": dice.pick(_LARGE_ENOUGH),
                        "requestPolicy": dice.pick(POLICIES),
                    }
                found.setdefault("capacity", {})[capacity] = entry
    if sets and not dice.one_in(4):
        found["consumesCounters"] = [
            {
                "counterSet": counter_set["name"],
                "counters": {
                    counter: {"value": dice.pick(["0", "1", "1", "2", "500m"])}
                    for counter in counter_set["counters"]
                    if not dice.one_in(4)
                },
            }
            for counter_set in sets
            if not dice.one_in(3)
        ]
        # The API server refuses an entry without counters.
        found["consumesCounters"] = [entry for entry in found["consumesCounters"] if entry["counters"]]
    if "taints" in aspects and dice.one_in(2):
        found["taints"] = [
            {
                "key": dice.pick(["k", "k2"]),
                "effect": dice.pick(["NoSchedule", "NoExecute", "None"]),
                **dice.pick([{}, {"value": "v"}]),
            }
            for _ in range(dice.integer(1, 2))
        ]
    if "binding" in aspects and dice.one_in(2):
        found["bindingConditions"] = ["ready"]
        found["bindingFailureConditions"] = ["failed"]
        if dice.one_in(2):
            found["bindsToNode"] = True
    return found


def pool(dice: Dice, driver: str, name: str, aspects: Aspects, nodes_: Sequence[Obj]) -> list[Obj]:
    """All slices of one pool."""
    sets: list[Obj] = []
    if "counters" in aspects and not dice.one_in(4):
        sets = [
            {
                "name": f"set{at}",
                "counters": {
                    counter: {"value": dice.pick(["1", "2", "3", "4", "0"])}
                    for counter in ("units", "slots")[: dice.integer(1, 2)]
                },
            }
            for at in range(dice.integer(1, 2))
        ]
    most = 7 if "many" in aspects else 4
    bodies: list[Obj] = []
    number = 0
    for _ in range(dice.integer(1, 2)):
        devices = []
        for _ in range(dice.integer(0, 1) + dice.integer(0, most)):
            devices.append(device(dice, f"d{number}", aspects, sets))
            number += 1
        body: Obj = {"devices": devices}
        where: Obj = {"allNodes": True}
        if "per-device-placement" in aspects and dice.one_in(2):
            where = {"perDeviceNodeSelection": True}
            for entry in devices:
                entry.update(place(dice, nodes_))
        elif "placement" in aspects:
            where = place(dice, nodes_)
        elif dice.one_in(2):
            where = {"nodeName": nodes_[0]["metadata"]["name"]}
        bodies.append({**where, **body})
    if sets:
        home = {"allNodes": True} if "placement" in aspects else {"nodeName": nodes_[0]["metadata"]["name"]}
        # Counters of one pool may be in several slices.
        if len(sets) > 1 and dice.one_in(3):
            bodies += [{**home, "sharedCounters": [entry]} for entry in sets]
        else:
            bodies.append({**home, "sharedCounters": sets})
    if "broken-pools" in aspects:
        _break(dice, bodies)
    generation = dice.integer(1, 2)
    count = len(bodies)
    slices = [
        {
            "metadata": {"name": f"{name}-{driver}-{at}"},
            "spec": {
                "driver": driver,
                "pool": {"name": name, "generation": generation, "resourceSliceCount": count},
                **body,
            },
        }
        for at, body in enumerate(bodies)
    ]
    # A slice is missing: the pool is incomplete.
    if "broken-pools" in aspects and dice.one_in(3):
        slices = slices[1:]
    if "generations" in aspects:
        _regenerate(dice, slices)
    return slices


def _break(dice: Dice, bodies: list[Obj]) -> None:
    """Make a pool invalid with some probability, in a way that only the allocator can notice."""
    owners = [entry for body in bodies for entry in body.get("devices") or ()]
    how = dice.pick(["", "", "twice", "unknown-set", "unknown-counter", "set-twice"])
    listing = [body["devices"] for body in bodies if body.get("devices")]
    if how == "twice" and len(listing) > 1:  # in one slice the API server does not let them
        listing[-1][-1]["name"] = listing[0][0]["name"]
    elif how == "unknown-set" and owners:
        owners[0]["consumesCounters"] = [{"counterSet": "absent", "counters": {"units": {"value": "1"}}}]
    elif how == "unknown-counter" and owners:
        owners[0]["consumesCounters"] = [{"counterSet": "set0", "counters": {"absent": {"value": "1"}}}]
    elif how == "set-twice":
        shared = [body for body in bodies if body.get("sharedCounters")]
        if shared:
            bodies.append(dict(shared[0]))


def _regenerate(dice: Dice, slices: list[Obj]) -> None:
    """Perhaps let some slices be of an older or newer generation."""
    for slice_ in slices:
        if dice.one_in(3):
            slice_["spec"]["pool"] = {
                **slice_["spec"]["pool"],
                "generation": slice_["spec"]["pool"]["generation"] + dice.pick([-1, 1]),
                "resourceSliceCount": dice.integer(1, max(1, len(slices))),
            }


def slices(dice: Dice, aspects: Aspects, nodes_: Sequence[Obj]) -> list[Obj]:
    """All slices of a cluster. Pools of two drivers may have one name."""
    found = pool(dice, GPU, "p0", aspects, nodes_)
    if "two-drivers" in aspects:
        found += pool(dice, NIC, dice.pick(["p0", "p1"]), aspects, nodes_)
    elif dice.one_in(3):
        found += pool(dice, GPU, "p1", aspects, nodes_)
    return found


def taken(dice: Dice, aspects: Aspects, slices_: Sequence[Obj]) -> list[Obj]:
    """Generate allocation results of other claims. Shares of one device never exceed its capacity."""
    if "in-use" not in aspects:
        return []
    found: list[Obj] = []
    for slice_ in slices_:
        for entry in slice_["spec"].get("devices") or ():
            if not dice.one_in(3):
                continue
            result: Obj = {
                "request": "r",
                "driver": slice_["spec"]["driver"],
                "pool": slice_["spec"]["pool"]["name"],
                "device": entry["name"],
            }
            if entry.get("allowMultipleAllocations"):
                result["shareID"] = f"00000000-0000-4000-8000-{len(found):012}"
                result["consumedCapacity"] = {
                    name: dice.pick([capacity["value"], "0", "1"])
                    for name, capacity in (entry.get("capacity") or {}).items()
                }
                if not result["consumedCapacity"]:
                    del result["consumedCapacity"]
            if dice.one_in(5):
                result = {key: value for key, value in result.items() if key not in ("shareID", "consumedCapacity")}
                result["adminAccess"] = True
            found.append(result)
    return found
