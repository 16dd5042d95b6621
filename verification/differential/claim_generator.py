"""DeviceClasses and ResourceClaims, drawn by chance, with the defaults that the API server fills in."""

from __future__ import annotations

from collections.abc import Sequence

from dra_api.objects import Obj
from verification.differential.cluster import GPU, NIC, Aspects
from verification.differential.rng import Dice

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
ATTRIBUTES = (f"{GPU}/n", f"{GPU}/m", f"{GPU}/s", f"{GPU}/v", f"{GPU}/q", f"{GPU}/ok", "other.example.com/x")
_LISTED = (f"{GPU}/l", f"{GPU}/n")
# The last two are for ranges with steps: a fraction, and a number beyond 64 bits.
_AMOUNTS = ("1Gi", "512Mi", "600Mi", "1536Mi", "2Gi", "3Gi", "0", "5Gi", "700m", "10E")
CLASSES = ("any", "gpu", "picky")


def selectors(dice: Dice, aspects: Aspects) -> list[Obj]:
    """None, or one or two CEL selectors; only now and then one that may fail."""
    found: list[str] = []
    if "selectors" in aspects and dice.one_in(2):
        found.append(dice.pick(_GUARDED))
    if "failing-selectors" in aspects and dice.one_in(3):
        found.append(dice.pick(_FAILING))
    return [{"cel": {"expression": text}} for text in found]


def config(name: str) -> Obj:
    """Opaque configuration for the GPU driver."""
    return {"opaque": {"driver": GPU, "parameters": {"kind": "Note", "name": name}}}


def configs(dice: Dice, requests: Sequence[Obj]) -> list[Obj]:
    """Configuration of a claim: for all its requests, or for some of them or of their alternatives."""
    names = [entry["name"] for entry in requests]
    names += [f"{entry['name']}/{sub['name']}" for entry in requests for sub in entry.get("firstAvailable") or ()]
    found: list[Obj] = []
    for at in range(dice.integer(0, 2)):
        entry = config(f"claim-{at}")
        if dice.one_in(2):
            entry["requests"] = dice.some(names, 1, 3)
        found.append(entry)
    return found


def classes(dice: Dice, aspects: Aspects) -> list[Obj]:
    """The three classes that requests choose from."""
    found = bare_classes(dice, aspects)
    if "configs" in aspects:
        for device_class in found[1:]:
            device_class["spec"]["config"] = [
                config(f"{device_class['metadata']['name']}-{at}") for at in range(dice.integer(0, 2))
            ]
    return found


def bare_classes(dice: Dice, aspects: Aspects) -> list[Obj]:
    """The classes without configuration."""
    return [
        {"metadata": {"name": "any"}, "spec": {}},
        {
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{GPU}"'}}]},
        },
        {"metadata": {"name": "picky"}, "spec": {"selectors": selectors(dice, aspects)}},
    ]


def device_request(dice: Dice, aspects: Aspects, *, alternative: bool) -> Obj:
    """Generate one request, or one alternative of it."""
    found: Obj = {"deviceClassName": dice.pick(CLASSES), "allocationMode": "ExactCount", "count": 1}
    if dice.one_in(200):
        found["deviceClassName"] = "absent"
    if "counts" in aspects:
        found["count"] = dice.integer(1, 4)
        if dice.one_in(20):
            # On both sides of the limit of 32 devices in a claim.
            found["count"] = dice.pick([16, 32, 33])
    if "all" in aspects and dice.one_in(2):
        found["allocationMode"] = "All"
        del found["count"]
    if picked := selectors(dice, aspects):
        found["selectors"] = picked
    if "taints" in aspects and dice.one_in(2):
        found["tolerations"] = [toleration(dice) for _ in range(dice.integer(1, 2))]
    # Alternatives have no adminAccess in the API.
    if "admin" in aspects and not alternative and dice.one_in(2):
        found["adminAccess"] = True
    if aspects & {"consumable", "policies"} and dice.one_in(2):
        found["capacity"] = {
            "requests": {
                name: dice.pick(_AMOUNTS)
                for name in dice.pick([["memory"], ["cores"], ["memory", "cores"], ["absent"]])
            }
        }
    return found


def toleration(dice: Dice) -> Obj:
    """One toleration as the API server accepts it."""
    form: Obj = dice.pick(
        [
            {"operator": "Exists"},
            {"key": "k", "operator": "Exists"},
            {"key": "k", "operator": "Equal", "value": "v"},
            {"key": "k2", "operator": "Equal"},
        ]
    )
    return {**form, **dice.pick([{}, {"effect": "NoSchedule"}, {"effect": "NoExecute"}])}


def request(dice: Dice, name: str, aspects: Aspects) -> Obj:
    """One request."""
    if "alternatives" in aspects and dice.one_in(2):
        return {
            "name": name,
            "firstAvailable": [
                {"name": f"s{at}", **device_request(dice, aspects, alternative=True)}
                for at in range(dice.integer(1, 3))
            ],
        }
    return {"name": name, "exactly": device_request(dice, aspects, alternative=False)}


def constraint(dice: Dice, aspects: Aspects, requests: Sequence[Obj]) -> Obj:
    """A constraint over all requests, some of them, or alternatives of them."""
    kind = dice.pick([kind for kind in ("match", "distinct") if kind in aspects])
    names = [entry["name"] for entry in requests]
    names += [f"{entry['name']}/{sub['name']}" for entry in requests for sub in entry.get("firstAvailable") or ()]
    # Twice, so that constraints meet lists often enough.
    pool = ATTRIBUTES + (_LISTED * 2 if "lists" in aspects else ())
    found: Obj = {f"{kind}Attribute": dice.pick(pool)}
    if dice.one_in(2):
        found["requests"] = dice.some(names, 1, 3)
    return found


def claim(dice: Dice, name: str, aspects: Aspects) -> Obj:
    """One claim."""
    most = 4 if "many" in aspects else 3
    requests = [request(dice, f"r{at}", aspects) for at in range(dice.integer(1, most))]
    devices: Obj = {"requests": requests}
    if aspects & {"match", "distinct"} and not dice.one_in(4):
        devices["constraints"] = [constraint(dice, aspects, requests) for _ in range(dice.integer(1, 2))]
    if "configs" in aspects and (found := configs(dice, requests)):
        devices["config"] = found
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": {"devices": devices}}
