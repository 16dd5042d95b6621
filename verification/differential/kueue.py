"""Kueue's charge of quota for the claims of a pod, compared with the checker's count on generated cases.

Kueue decides with it whether a workload is admitted, before a scheduler allocates anything.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dra_api.objects import Obj, name_of
from dra_conformance.oracle.cluster import Cluster, read_claim
from dra_conformance.oracle.kueue_quota import Mappings, Refused, charges
from reference_impl.scheduler.bug_compatible import release
from verification.differential import generate, older
from verification.differential.rng import Dice
from verification.differential.upstream import Upstream

PROGRAM = Path(__file__).resolve().parent.parent / "bin" / "dra-kueue-quota"
RELEASE = "1.36"
"""The release of the Kubernetes API that Kueue is built with."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A case that Kueue and the checker answer differently."""

    number: int
    case: Obj
    kueue: Obj
    ours: Obj

    def __str__(self) -> str:
        return f"case {self.number}: Kueue {self.kueue}, the checker {self.ours}"


@dataclass(frozen=True, slots=True)
class Result:
    """Counts of cases by outcome, the differences that nothing explains, and the number of explained ones by reason."""

    outcomes: Counter[str]
    differences: Sequence[Difference]
    explained: Counter[str]


def compare(program: Upstream, numbers: Iterable[int], seed: str) -> Result:
    """Compare the generated cases with these numbers; each depends on the seed and its number only."""
    outcomes: Counter[str] = Counter()
    found: list[Difference] = []
    explained: Counter[str] = Counter()
    for number in numbers:
        case = case_of(Dice(f"{seed}/kueue/{number}"))
        answer, ours = program.call(case), answer_of(case)
        outcomes[f"{ours['outcome']}{' for a time' if ours.get('retried') else ''}"] += 1
        for name, without in _KNOWN.items():
            if _same(answer, ours):
                break
            case = without(case)
            answer, ours = program.call(case), answer_of(case)
            explained[name] += _same(answer, ours)
        if not _same(answer, ours):
            found.append(Difference(number, case, answer, ours))
    return Result(outcomes, found, explained)


def _same(answer: Obj, ours: Obj) -> bool:
    return all(answer.get(key) == ours.get(key) for key in ("outcome", "charges", "retried"))


def _devices(case: Obj) -> Iterator[Obj]:
    for one in case["slices"]:
        yield from one["spec"].get("devices") or ()


def _without_lists(case: Obj) -> Obj:
    made: Obj = copy.deepcopy(case)
    for device in _devices(made):
        attributes = device.get("attributes") or {}
        device["attributes"] = {
            name: value for name, value in attributes.items() if not any(key.endswith("s") for key in value)
        }
    return made


def _without_sharing(case: Obj) -> Obj:
    made: Obj = copy.deepcopy(case)
    for device in _devices(made):
        device.pop("allowMultipleAllocations", None)
    return made


_KNOWN: Mapping[str, Callable[[Obj], Obj]] = {
    "its CEL fails for a device with a list attribute": _without_lists,
    "its CEL reads allowMultipleAllocations of every device as false": _without_sharing,
}
"""What Kueue does otherwise, each with a change of a case after which both must agree."""


def case_of(dice: Dice) -> Obj:
    """Return one case: slices, classes, templates, mappings and the spec of a pod."""
    made = generate.case(dice)
    made["features"] = dict.fromkeys(made["features"], True)
    made = older.as_stored(made, release(RELEASE))
    templates = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name_of(claim), "namespace": "ns"},
            "spec": {"spec": claim["spec"]},
        }
        for claim in made["claims"]
    ]
    pod: Obj = {
        "resourceClaims": [
            {"name": f"r{at}", "resourceClaimTemplateName": name_of(template)}
            for at, template in enumerate(dice.pick([templates, templates, [*templates, *templates]]))
        ],
        "containers": [_container(dice, f"c{at}", made["classes"]) for at in range(dice.integer(1, 2))],
        "initContainers": [_container(dice, f"i{at}", made["classes"]) for at in range(dice.integer(0, 2))],
    }
    return {
        "slices": made["slices"],
        "classes": made["classes"],
        "templates": templates,
        "mappings": _mappings(dice, made),
        "pod": pod,
    }


def _container(dice: Dice, name: str, classes: Sequence[Obj]) -> Obj:
    names = [one["spec"].get("extendedResourceName") for one in classes]
    requests = {
        one: str(dice.integer(0, 3)) for one in [*filter(None, names), "example.com/other", "cpu"] if dice.one_in(3)
    }
    return {"name": name, "image": "i", "resources": {"requests": requests}}


def _mappings(dice: Dice, made: Obj) -> list[Obj]:
    drivers = sorted({one["spec"]["driver"] for one in made["slices"]}) or ["none"]
    devices = [device for one in made["slices"] for device in one["spec"].get("devices") or ()]
    counters = sorted(
        {
            name
            for device in devices
            for entry in device.get("consumesCounters") or ()
            for name in entry.get("counters") or ()
        }
    )
    capacities = sorted({name for device in devices for name in device.get("capacity") or ()})
    found: list[Obj] = []
    for at, one in enumerate(made["classes"]):
        if dice.one_in(8):
            continue
        mapping: Obj = {"name": f"quota/{dice.integer(0, at)}", "deviceClassNames": [name_of(one)]}
        for kind, names in (("counter", counters), ("capacity", capacities)):
            if names and dice.one_in(3):
                expression = dice.pick(["true", "device.driver != 'none'", "false"] if dice.one_in(4) else ["true"])
                source = {"name": dice.pick(names), "driver": dice.pick(drivers)}
                selector = {"cel": {"expression": expression}}
                mapping.setdefault("sources", []).append({kind: {**source, "deviceSelector": selector}})
        found.append(mapping)
    return found


def answer_of(case: Obj) -> Obj:
    """Return the checker's answer to a case, in the form of the program."""
    kinds = (("slices", "ResourceSlice"), ("classes", "DeviceClass"))
    objects = [{"apiVersion": "resource.k8s.io/v1", "kind": kind, **one} for key, kind in kinds for one in case[key]]
    templates = {
        name_of(one): read_claim(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": name_of(one), "namespace": "ns"},
                "spec": one["spec"]["spec"],
            }
        )
        for one in case["templates"]
    }
    try:
        charged = charges(Cluster.of(objects), templates, case["pod"], Mappings.of(case["mappings"]))
    except Refused as refused:
        return {"outcome": "refused", **({"retried": True} if refused.retried else {}), "message": str(refused)}
    shown = {name: str(value) for name, value in charged.items()}
    return {"outcome": "charged", **({"charges": shown} if shown else {})}
