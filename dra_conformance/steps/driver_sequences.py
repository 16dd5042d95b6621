"""Random sequences of Prepare and Unprepare calls, and checks of what the driver returned.

Each sequence is drawn from the run's seed, so a failing one can be repeated. At its end every claim is unprepared.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import World, in_words
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.driver_calls import (
    calls,
    prepare,
    problem_of,
    reference_to,
    show_device,
    unprepare,
    unprepare_problem,
)


@dataclass(slots=True)
class Sequences:
    """The problems of all sequences, by what was called or checked; `complete` counts the sequences."""

    complete: int = 0
    problems: dict[str, list[str]] = field(default_factory=lambda: {"Prepare": [], "Unprepare": [], "CDI id": []})


@when('{count:d} random sequences of {length:d} calls for the claims "{claims}" are sent to the driver on "{node}"')
def _(world: World, count: int, length: int, claims: str, node: str) -> None:
    """Call Prepare and Unprepare of these claims in random order; after each sequence, unprepare all of them."""
    names = words(claims)
    rng = random.Random(f"{world.run.seed} {world.scenario.id}")  # noqa: S311 - call orders, not secrets
    first: dict[str, object] = {}
    for _number in range(count):
        sequence = [(rng.choice("+-"), rng.choice(names)) for _ in range(length)]
        run_sequence(world, node, names, sequence, first)
    calls(world).made.clear()


def run_sequence(
    world: World, node: str, claims: list[str], sequence: list[tuple[str, str]], first: dict[str, object]
) -> None:
    """Make the calls of one sequence (`+` Prepare, `-` Unprepare) and note what is wrong with them.

    `first` maps a claim to the devices of its first response; every later one must be the same.
    """
    noted = world.state(Sequences)
    found = noted.problems
    prepared: dict[str, tuple[str, ...]] = {}
    text = ""
    for sign, claim in sequence:
        text = f"{text} {sign}{claim}".strip()
        ref = reference_to(world, claim)
        if sign == "-":
            if problem := unprepare_problem(unprepare(world, node, [ref]), ref):
                found["Unprepare"].append(f"{text}: {problem}")
            prepared.pop(claim, None)
            continue
        call = prepare(world, node, [ref])
        if problem := problem_of(call, ref):
            found["Prepare"].append(f"{text}: {problem}")
            continue
        devices = call.prepared[ref.uid].devices
        shown = [show_device(device) for device in devices]
        if shown != first.setdefault(claim, shown):
            found["Prepare"].append(f"{text}: {shown} instead of {first[claim]}")
        prepared[claim] = tuple(device_id for device in devices for device_id in device.cdi_device_ids)
    # Before the calls below, which remove the CDI files.
    found["CDI id"] += [f"{text}: {problem}" for problem in unresolved(world, node, prepared)]
    for claim in claims:
        ref = reference_to(world, claim)
        if problem := unprepare_problem(unprepare(world, node, [ref]), ref):
            found["Unprepare"].append(f"{text}, at the end: {problem}")
    noted.complete += 1


def unresolved(world: World, node: str, prepared: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the prepared claims with ids that no CDI file declares."""
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    wrong = []
    for claim, ids in prepared.items():
        try:
            registry.resolve(ids)
        except CDIError as error:
            wrong.append(f"{claim}: {error}")
    return wrong


@then('no "{kind}" of the sequences failed')
def _(world: World, kind: str) -> None:
    """No Prepare failed or returned other devices than before; no Unprepare failed; or every CDI id resolved."""
    noted = world.state(Sequences)
    wrong = noted.problems[kind]
    # The first three are enough for a report; without any sequence nothing is proven.
    ok, count = not wrong and noted.complete > 0, f"{noted.complete} sequences, failures: "
    expected = "1 or more sequences, failures: none"
    world.check(ok, f"{kind} in all sequences", expected=expected, observed=f"{count}{in_words(wrong[:3])}")
