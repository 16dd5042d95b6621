"""Hypothesis strategies for nodes, ResourceSlices and what is in use: every form that the allocator distinguishes.

Objects are as an API server would serve them: valid by resource.k8s.io/v1 validation where the API server validates,
and wrong where only the allocator can tell (counters of another slice, names used twice, pools that are being updated).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from hypothesis import strategies as st

from dra_api.objects import Obj

GPU = "gpu.example.com"
NIC = "nic.example.com"
ZONES = ("a", "b")
Draw: TypeAlias = st.DrawFn
Aspects: TypeAlias = frozenset[str]

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
_POLICIES: tuple[Obj, ...] = (
    {"default": "1Gi"},
    {"default": "1Gi", "validRange": {"min": "1Gi"}},
    {"default": "1Gi", "validRange": {"min": "1Gi", "max": "2Gi"}},
    {"default": "1Gi", "validRange": {"min": "512Mi", "step": "512Mi"}},
    {"default": "2Gi", "validRange": {"min": "1Gi", "max": "4Gi", "step": "1Gi"}},
    {"default": "1Gi", "validValues": ["1Gi"]},
    {"default": "1Gi", "validValues": ["1Gi", "1536Mi", "2Gi"]},
)
_LARGE_ENOUGH = ("4Gi", "8Gi")


def one_in(draw: Draw, chances: int) -> bool:
    """True in one of `chances` cases; shrinks to False."""
    return draw(st.integers(0, chances - 1)) == chances - 1


def nodes(draw: Draw, aspects: Aspects) -> list[Obj]:
    """One node, or three in two zones where placement matters."""
    count = 3 if aspects & {"placement", "per-device-placement"} else 1
    return [
        {"metadata": {"name": f"n{at}", "labels": {"zone": ZONES[at % 2], "number": str(at)}}} for at in range(count)
    ]


def selector(draw: Draw) -> Obj:
    """A one-term node selector that the API server accepts."""
    requirement: Obj = draw(
        st.sampled_from(
            [
                {"key": "zone", "operator": "In", "values": ["a"]},
                {"key": "zone", "operator": "NotIn", "values": ["a"]},
                {"key": "number", "operator": "Gt", "values": ["0"]},
                {"key": "number", "operator": "Lt", "values": ["2"]},
                {"key": "zone", "operator": "Exists"},
                {"key": "absent", "operator": "DoesNotExist"},
                {"key": "absent", "operator": "NotIn", "values": ["x"]},
            ]
        )
    )
    if one_in(draw, 4):
        return {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
            ]
        }
    return {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}


def place(draw: Draw, nodes_: Sequence[Obj]) -> Obj:
    """One of the forms of place that a slice or device may have."""
    form = draw(st.sampled_from(["all", "name", "selector"]))
    if form == "name":
        return {"nodeName": draw(st.sampled_from([node["metadata"]["name"] for node in nodes_]))}
    return {"allNodes": True} if form == "all" else {"nodeSelector": selector(draw)}


def attributes(draw: Draw, aspects: Aspects) -> Obj:
    """A few attributes from small domains, so that values meet."""
    small = st.integers(0, 2)
    found: Obj = {}
    if not one_in(draw, 6):
        found["n"] = {"int": draw(small)}
    if one_in(draw, 2):
        found["m"] = {"int": draw(small)}
    if one_in(draw, 2):
        found["s"] = {"string": draw(st.sampled_from(["a", "b"]))}
    if one_in(draw, 3):
        found["ok"] = {"bool": draw(st.booleans())}
    if one_in(draw, 3):
        found["v"] = {"version": draw(st.sampled_from(["1.0.0", "1.2.3", "2.0.0-rc.1"]))}
    if one_in(draw, 4):
        found["other.example.com/x"] = {"int": draw(small)}
    if one_in(draw, 6):
        found[f"{GPU}/q"] = {"int": draw(small)}
    if one_in(draw, 8):
        found["n"] = {"string": str(draw(small))}
    if "lists" in aspects:
        if one_in(draw, 2):
            found["l"] = {"ints": draw(st.lists(small, min_size=1, max_size=3, unique=True))}
        if one_in(draw, 4):
            found["n"] = {"ints": draw(st.lists(small, min_size=1, max_size=2, unique=True))}
    return found


def device(draw: Draw, name: str, aspects: Aspects, sets: Sequence[Obj]) -> Obj:
    """One device."""
    found: Obj = {"name": name, "attributes": attributes(draw, aspects)}
    if aspects & {"consumable", "policies"}:
        shared = "consumable" in aspects and not one_in(draw, 3)
        if shared:
            found["allowMultipleAllocations"] = True
        for capacity in ("memory", "cores"):
            if not one_in(draw, 3):
                entry: Obj = {"value": draw(st.sampled_from(_MEMORY))}
                if shared and "policies" in aspects and not one_in(draw, 3):
                    entry = {
                        "value": draw(st.sampled_from(_LARGE_ENOUGH)),
                        "requestPolicy": draw(st.sampled_from(_POLICIES)),
                    }
                found.setdefault("capacity", {})[capacity] = entry
    if sets and not one_in(draw, 4):
        found["consumesCounters"] = [
            {
                "counterSet": counter_set["name"],
                "counters": {
                    counter: {"value": draw(st.sampled_from(["0", "1", "1", "2", "500m"]))}
                    for counter in counter_set["counters"]
                    if not one_in(draw, 4)
                },
            }
            for counter_set in sets
            if not one_in(draw, 3)
        ]
        found["consumesCounters"] = [entry for entry in found["consumesCounters"] if entry["counters"]]
    if "taints" in aspects and one_in(draw, 2):
        found["taints"] = [
            {
                "key": draw(st.sampled_from(["k", "k2"])),
                "effect": draw(st.sampled_from(["NoSchedule", "NoExecute", "None"])),
                **draw(st.sampled_from([{}, {"value": "v"}])),
            }
            for _ in range(draw(st.integers(1, 2)))
        ]
    if "binding" in aspects and one_in(draw, 2):
        found["bindingConditions"] = ["ready"]
        found["bindingFailureConditions"] = ["failed"]
        if one_in(draw, 2):
            found["bindsToNode"] = True
    return found


def pool(draw: Draw, driver: str, name: str, aspects: Aspects, nodes_: Sequence[Obj]) -> list[Obj]:
    """All slices of one pool."""
    sets: list[Obj] = []
    if "counters" in aspects and not one_in(draw, 4):
        sets = [
            {
                "name": f"set{at}",
                "counters": {
                    counter: {"value": draw(st.sampled_from(["1", "2", "3", "4", "0"]))}
                    for counter in ("units", "slots")[: draw(st.integers(1, 2))]
                },
            }
            for at in range(draw(st.integers(1, 2)))
        ]
    most = 7 if "many" in aspects else 4
    bodies: list[Obj] = []
    number = 0
    for _ in range(draw(st.integers(1, 2))):
        devices = []
        for _ in range(draw(st.integers(0, 1)) + draw(st.integers(0, most))):
            devices.append(device(draw, f"d{number}", aspects, sets))
            number += 1
        body: Obj = {"devices": devices}
        where: Obj = {"allNodes": True}
        if "per-device-placement" in aspects and one_in(draw, 2):
            where = {"perDeviceNodeSelection": True}
            for entry in devices:
                entry.update(place(draw, nodes_))
        elif "placement" in aspects:
            where = place(draw, nodes_)
        elif one_in(draw, 2):
            where = {"nodeName": nodes_[0]["metadata"]["name"]}
        bodies.append({**where, **body})
    if sets:
        home = {"allNodes": True} if "placement" in aspects else {"nodeName": nodes_[0]["metadata"]["name"]}
        if len(sets) > 1 and one_in(draw, 3):
            bodies += [{**home, "sharedCounters": [entry]} for entry in sets]
        else:
            bodies.append({**home, "sharedCounters": sets})
    if "broken-pools" in aspects:
        _break(draw, bodies)
    generation = draw(st.integers(1, 2))
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
    if "broken-pools" in aspects and one_in(draw, 3):
        slices = slices[1:]
    if "generations" in aspects:
        _regenerate(draw, slices)
    return slices


def _break(draw: Draw, bodies: list[Obj]) -> None:
    """Perhaps make a pool invalid, as only the allocator can tell."""
    owners = [entry for body in bodies for entry in body.get("devices") or ()]
    how = draw(st.sampled_from(["", "", "twice", "unknown-set", "unknown-counter", "set-twice"]))
    if how == "twice" and len(owners) > 1:
        owners[-1]["name"] = owners[0]["name"]
    elif how == "unknown-set" and owners:
        owners[0]["consumesCounters"] = [{"counterSet": "absent", "counters": {"units": {"value": "1"}}}]
    elif how == "unknown-counter" and owners:
        owners[0]["consumesCounters"] = [{"counterSet": "set0", "counters": {"absent": {"value": "1"}}}]
    elif how == "set-twice":
        shared = [body for body in bodies if body.get("sharedCounters")]
        if shared:
            bodies.append(dict(shared[0]))


def _regenerate(draw: Draw, slices: list[Obj]) -> None:
    """Perhaps let some slices be of an older or newer generation."""
    for piece in slices:
        if one_in(draw, 3):
            piece["spec"]["pool"] = {
                **piece["spec"]["pool"],
                "generation": piece["spec"]["pool"]["generation"] + draw(st.sampled_from([-1, 1])),
                "resourceSliceCount": draw(st.integers(1, max(1, len(slices)))),
            }


def slices(draw: Draw, aspects: Aspects, nodes_: Sequence[Obj]) -> list[Obj]:
    """All slices of a cluster. Pools of two drivers may have one name."""
    found = pool(draw, GPU, "p0", aspects, nodes_)
    if "two-drivers" in aspects:
        found += pool(draw, NIC, draw(st.sampled_from(["p0", "p1"])), aspects, nodes_)
    elif one_in(draw, 3):
        found += pool(draw, GPU, "p1", aspects, nodes_)
    return found


def taken(draw: Draw, aspects: Aspects, slices_: Sequence[Obj]) -> list[Obj]:
    """Allocation results of other claims. Shares of one device never take more than it has."""
    if "in-use" not in aspects:
        return []
    found: list[Obj] = []
    for piece in slices_:
        for entry in piece["spec"].get("devices") or ():
            if not one_in(draw, 3):
                continue
            result: Obj = {
                "request": "r",
                "driver": piece["spec"]["driver"],
                "pool": piece["spec"]["pool"]["name"],
                "device": entry["name"],
            }
            if entry.get("allowMultipleAllocations"):
                result["shareID"] = f"00000000-0000-4000-8000-{len(found):012}"
                result["consumedCapacity"] = {
                    name: draw(st.sampled_from([capacity["value"], "0", "1"]))
                    for name, capacity in (entry.get("capacity") or {}).items()
                }
                if not result["consumedCapacity"]:
                    del result["consumedCapacity"]
            if one_in(draw, 5):
                result = {key: value for key, value in result.items() if key not in ("shareID", "consumedCapacity")}
                result["adminAccess"] = True
            found.append(result)
    return found
