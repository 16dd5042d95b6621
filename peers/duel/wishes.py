"""Hypothesis strategies for DeviceClasses and ResourceClaims, with the defaults that the API server fills in."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from dra_api.objects import Obj
from peers.duel.cluster import GPU, NIC, Aspects, Draw, one_in

_GUARDED = (
    f'device.driver == "{GPU}"',
    f'device.driver == "{NIC}"',
    f'device.attributes["{GPU}"].?n.orValue(0) == 1',
    f'device.attributes["{GPU}"].?m.orValue(0) >= 1',
    f'"s" in device.attributes["{GPU}"] && device.attributes["{GPU}"].s == "a"',
    f'has(device.attributes["{GPU}"].v) && device.attributes["{GPU}"].v.isGreaterThan(semver("1.0.0"))',
    f'"memory" in device.capacity["{GPU}"] && device.capacity["{GPU}"].memory.compareTo(quantity("2Gi")) >= 0',
    '"other.example.com" in device.attributes',
    'device.attributes["other.example.com"].?x.orValue(7) in [1, 2]',
    "device.allowMultipleAllocations",
    "true",
    "false",
)
_FAILING = (
    f'device.attributes["{GPU}"].n == 1',
    f'device.attributes["{GPU}"].s == "a"',
    f'device.attributes["{GPU}"].ok',
    f'device.attributes["{GPU}"].s',
    f'device.capacity["{GPU}"].memory.isGreaterThan(quantity("1Gi"))',
    "1 / 0 == 1",
    "device.nothing",
    "1 +",
)
_ATTRIBUTES = (f"{GPU}/n", f"{GPU}/m", f"{GPU}/s", f"{GPU}/v", f"{GPU}/q", f"{GPU}/ok", "other.example.com/x")
_LISTED = (f"{GPU}/l", f"{GPU}/n")
CLASSES = ("any", "gpu", "picky")


def selectors(draw: Draw, aspects: Aspects) -> list[Obj]:
    """None, or one or two CEL selectors; only now and then one that may fail."""
    found: list[str] = []
    if "selectors" in aspects and one_in(draw, 2):
        found.append(draw(st.sampled_from(_GUARDED)))
    if "failing-selectors" in aspects and one_in(draw, 3):
        found.append(draw(st.sampled_from(_FAILING)))
    return [{"cel": {"expression": text}} for text in found]


def config(name: str) -> Obj:
    """Opaque configuration for the GPU driver."""
    return {"opaque": {"driver": GPU, "parameters": {"kind": "Note", "name": name}}}


def configs(draw: Draw, requests: Sequence[Obj]) -> list[Obj]:
    """Configuration of a claim: for all its requests, or for some of them or of their alternatives."""
    names = [entry["name"] for entry in requests]
    names += [f"{entry['name']}/{sub['name']}" for entry in requests for sub in entry.get("firstAvailable") or ()]
    found: list[Obj] = []
    for at in range(draw(st.integers(0, 2))):
        entry = config(f"claim-{at}")
        if one_in(draw, 2):
            entry["requests"] = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
        found.append(entry)
    return found


def classes(draw: Draw, aspects: Aspects) -> list[Obj]:
    """The three classes that requests choose from."""
    found = bare_classes(draw, aspects)
    if "configs" in aspects:
        for device_class in found[1:]:
            device_class["spec"]["config"] = [
                config(f"{device_class['metadata']['name']}-{at}") for at in range(draw(st.integers(0, 2)))
            ]
    return found


def bare_classes(draw: Draw, aspects: Aspects) -> list[Obj]:
    """The classes without configuration."""
    return [
        {"metadata": {"name": "any"}, "spec": {}},
        {
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{GPU}"'}}]},
        },
        {"metadata": {"name": "picky"}, "spec": {"selectors": selectors(draw, aspects)}},
    ]


def wish(draw: Draw, aspects: Aspects, *, alternative: bool) -> Obj:
    """What one request, or one alternative of it, asks for."""
    found: Obj = {"deviceClassName": draw(st.sampled_from(CLASSES)), "allocationMode": "ExactCount", "count": 1}
    if one_in(draw, 60):
        found["deviceClassName"] = "absent"
    if "counts" in aspects:
        found["count"] = draw(st.integers(1, 4))
        if one_in(draw, 20):
            found["count"] = draw(st.sampled_from([16, 32, 33]))
    if "all" in aspects and one_in(draw, 2):
        found["allocationMode"] = "All"
        del found["count"]
    if picked := selectors(draw, aspects):
        found["selectors"] = picked
    if "taints" in aspects and one_in(draw, 2):
        found["tolerations"] = [toleration(draw) for _ in range(draw(st.integers(1, 2)))]
    if "admin" in aspects and not alternative and one_in(draw, 2):
        found["adminAccess"] = True
    if aspects & {"consumable", "policies"} and one_in(draw, 2):
        found["capacity"] = {
            "requests": {
                name: draw(st.sampled_from(["1Gi", "512Mi", "600Mi", "1536Mi", "2Gi", "3Gi", "0", "5Gi"]))
                for name in draw(st.sampled_from([["memory"], ["cores"], ["memory", "cores"], ["absent"]]))
            }
        }
    return found


def toleration(draw: Draw) -> Obj:
    """One toleration as the API server accepts it."""
    form: Obj = draw(
        st.sampled_from(
            [
                {"operator": "Exists"},
                {"key": "k", "operator": "Exists"},
                {"key": "k", "operator": "Equal", "value": "v"},
                {"key": "k2", "operator": "Equal"},
            ]
        )
    )
    return {**form, **draw(st.sampled_from([{}, {"effect": "NoSchedule"}, {"effect": "NoExecute"}]))}


def request(draw: Draw, name: str, aspects: Aspects) -> Obj:
    """One request."""
    if "alternatives" in aspects and one_in(draw, 2):
        return {
            "name": name,
            "firstAvailable": [
                {"name": f"s{at}", **wish(draw, aspects, alternative=True)} for at in range(draw(st.integers(1, 3)))
            ],
        }
    return {"name": name, "exactly": wish(draw, aspects, alternative=False)}


def constraint(draw: Draw, aspects: Aspects, requests: Sequence[Obj]) -> Obj:
    """A constraint over all requests, some of them, or alternatives of them."""
    kind = draw(st.sampled_from([kind for kind in ("match", "distinct") if kind in aspects]))
    names = [entry["name"] for entry in requests]
    names += [f"{entry['name']}/{sub['name']}" for entry in requests for sub in entry.get("firstAvailable") or ()]
    pool = _ATTRIBUTES + (_LISTED * 2 if "lists" in aspects else ())
    found: Obj = {f"{kind}Attribute": draw(st.sampled_from(pool))}
    if one_in(draw, 2):
        found["requests"] = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    return found


def claim(draw: Draw, name: str, aspects: Aspects) -> Obj:
    """One claim."""
    most = 4 if "many" in aspects else 3
    requests = [request(draw, f"r{at}", aspects) for at in range(draw(st.integers(1, most)))]
    devices: Obj = {"requests": requests}
    if aspects & {"match", "distinct"} and not one_in(draw, 4):
        devices["constraints"] = [constraint(draw, aspects, requests) for _ in range(draw(st.integers(1, 2)))]
    if "configs" in aspects and (found := configs(draw, requests)):
        devices["config"] = found
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": {"devices": devices}}
