"""The allocator against an exhaustive search on small random cases, and against the clock on hard ones.

The exhaustive check below uses no masks, classes or counting: it tries every way to pick devices.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scheduling_builders import (
    DRIVER,
    World,
    claim,
    device,
    first_available,
    gpus,
    picked,
    request,
    resource_slice,
    sub,
)

from dra_api.objects import Obj

MATCH = {"matchAttribute": f"{DRIVER}/n"}
DISTINCT = {"distinctAttribute": f"{DRIVER}/m"}


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Obj], list[Obj], list[Obj], int, int]:
    """Devices, requests, constraints, how much of the counter there is, how many devices are in use."""
    numbers = st.integers(0, 2)
    devices = []
    for at in range(draw(st.integers(0, 6))):
        attributes = {"n": draw(numbers), "m": draw(numbers)}
        if draw(st.booleans()):
            attributes.pop(draw(st.sampled_from(["n", "m"])))
        size = draw(numbers)
        tainted = draw(st.booleans()) and draw(st.booleans())
        devices.append(
            device(
                f"d{at}",
                attributes=attributes,
                **({"counters": {"set": {"units": str(size)}}} if size else {}),
                **({"taints": [{"key": "k", "effect": "NoSchedule"}]} if tainted else {}),
            )
        )
    requests = []
    for at in range(draw(st.integers(1, 3))):
        subrequest: dict[str, Any] = {"count": draw(st.integers(1, 3))}
        if draw(st.booleans()):
            subrequest["tolerations"] = [{"key": "k", "operator": "Exists"}]
        if draw(st.integers(0, 3)) == 0:
            requests.append(first_available(f"r{at}", sub("a", **subrequest), sub("b", count=1)))
        else:
            requests.append(request(f"r{at}", **subrequest))
    names = [entry["name"] for entry in requests]
    constraints = []
    for kind in draw(st.lists(st.sampled_from([MATCH, DISTINCT]), max_size=2)):
        scope = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
        constraints.append({**kind, **({"requests": scope} if scope else {})})
    return devices, requests, constraints, draw(st.integers(0, 6)), draw(st.integers(0, 2))


def alternatives(entry: Obj) -> list[tuple[str, Obj]]:
    if "firstAvailable" in entry:
        return [(f"{entry['name']}/{one['name']}", one) for one in entry["firstAvailable"]]
    return [(entry["name"], entry["exactly"])]


def value(made: Obj, attribute: str) -> Any:
    found = made.get("attributes", {}).get(attribute)
    return None if found is None else next(iter(found.items()))


def valid(
    chosen: list[tuple[str, Obj, tuple[int, ...]]],
    devices: list[Obj],
    constraints: list[Obj],
    units: int,
    busy: set[int],
) -> bool:
    """Whether a complete choice keeps every rule."""
    used = [position for _, _, positions in chosen for position in positions]
    if len(set(used)) != len(used) or busy.intersection(used):
        return False
    for _, subrequest, positions in chosen:
        if not subrequest.get("tolerations") and any(devices[position].get("taints") for position in positions):
            return False
    if sum(cost(devices[position]) for position in {*used, *busy}) > units and any(cost(devices[at]) for at in used):
        return False
    for constraint in constraints:
        scope = constraint.get("requests")
        attribute = constraint.get("matchAttribute", constraint.get("distinctAttribute")).partition("/")[2]
        values = [
            value(devices[position], attribute)
            for name, _, positions in chosen
            if not scope or name in scope or name.partition("/")[0] in scope
            for position in positions
        ]
        if None in values:
            return False
        if len(set(values)) > 1 and "matchAttribute" in constraint:
            return False
        if len(set(values)) < len(values) and "distinctAttribute" in constraint:
            return False
    return True


def cost(made: Obj) -> int:
    return int(made["consumesCounters"][0]["counters"]["units"]["value"]) if "consumesCounters" in made else 0


def best_by_hand(
    devices: list[Obj], requests: list[Obj], constraints: list[Obj], units: int, busy: set[int]
) -> tuple[int, ...] | None:
    """The first choice of alternatives for which any devices work."""
    options = [alternatives(entry) for entry in requests]
    for numbers in itertools.product(*(range(len(option)) for option in options)):
        subrequests = [option[number] for option, number in zip(options, numbers, strict=True)]
        picks = (
            itertools.combinations(range(len(devices)), subrequest.get("count", 1)) for _, subrequest in subrequests
        )
        for positions in itertools.product(*(list(each) for each in picks)):
            chosen = [
                (name, subrequest, taken) for (name, subrequest), taken in zip(subrequests, positions, strict=True)
            ]
            if valid(chosen, devices, constraints, units, busy):
                return numbers
    return None


def world_of(devices: list[Obj], units: int) -> World:
    return World(
        resource_slice("a", node="node-a", count=2, counter_sets={"set": {"units": str(units)}}),
        resource_slice("b", devices, node="node-a", count=2),
    )


@settings(max_examples=400, deadline=None, derandomize=True)
@given(cases())
def test_the_search_agrees_with_trying_everything(case):
    devices, requests, constraints, units, in_use = case
    world = world_of(devices, units)
    busy = set(range(min(in_use, len(devices))))
    world.taken.add([{"driver": DRIVER, "pool": "pool", "device": f"d{at}"} for at in busy])
    outcome = world.allocate(claim(*requests, constraints=constraints))
    expected = best_by_hand(devices, requests, constraints, units, busy)
    if expected is None:
        assert outcome.allocations is None
        assert outcome.reason
        return
    assert outcome.allocations is not None, outcome.reason
    by_request: dict[str, tuple[int, ...]] = {}
    for name, _, made in (text.partition("=") for text in picked(outcome)):
        by_request[name] = (*by_request.get(name, ()), int(made.removeprefix("d")))
    chosen, numbers = [], []
    for entry in requests:
        for number, (name, subrequest) in enumerate(alternatives(entry)):
            if name in by_request:
                assert len(by_request[name]) == subrequest.get("count", 1)
                chosen.append((name, subrequest, by_request[name]))
                numbers.append(number)
    assert valid(chosen, devices, constraints, units, busy)
    assert tuple(numbers) == expected


# -- hard instances: bounded by steps, not by a clock ------------------------------------------------------------------


def roots(count: int, share: int) -> World:
    devices = [device(f"d{at}", attributes={"n": at // share, "m": at % 31}) for at in range(count)]
    return World(resource_slice("s", devices, node="node-a"))


def ten(*, last: Obj | None = None, match: tuple[str, ...] = ()) -> Obj:
    """A claim of ten single requests, the last few matched, or the last of its own kind."""
    requests = [request(f"r{at}") for at in range(10)]
    if last:
        requests[-1] = last
    return claim(*requests, constraints=[{**MATCH, "requests": list(match)}] if match else ())


def eights(count: int) -> Obj:
    """Eight requests with eight alternatives each, of `count` devices."""
    return claim(*[first_available(f"r{at}", *[sub(f"s{nth}", count=count) for nth in range(8)]) for at in range(8)])


@pytest.mark.parametrize(
    ("world", "wanted"),
    [
        pytest.param(World(gpus(31)), [claim(*[request(f"r{at}") for at in range(32)])], id="n+1 requests"),
        pytest.param(World(gpus(128)), [claim(request(), name=f"c{at}") for at in range(129)], id="n+1 claims"),
        pytest.param(World(gpus(31)), [claim(request(count=32))], id="count n+1"),
        pytest.param(roots(128, 1), [ten(match=("r8", "r9"))], id="last two"),
        pytest.param(roots(128, 2), [ten(match=("r7", "r8", "r9"))], id="last three"),
        pytest.param(
            roots(128, 1), [claim(*[request(f"r{at}") for at in range(32)], constraints=[DISTINCT])], id="distinct"
        ),
        pytest.param(
            World(gpus(128)), [ten(last=request("z", capacity={"requests": {"x": "1"}}))], id="last matches nothing"
        ),
        pytest.param(World(gpus(16)), [eights(3)], id="equal alternatives"),
    ],
)
def test_what_cannot_be_is_known_without_trying_every_order(world, wanted):
    outcome = world.allocate(*wanted, max_steps=2_000)
    assert outcome.allocations is None
    assert outcome.reason
