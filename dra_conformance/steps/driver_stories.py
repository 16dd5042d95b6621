"""Stories: generated sequences of Prepare and Unprepare, and what a driver made of them.

Each story is drawn from the run's seed, so a failing one can be told again. It ends with everything unprepared.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import World
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
class Told:
    """What went wrong, by rule of the game; empty lists where nothing did. `stories` counts those told to the end."""

    stories: int = 0
    prepares: list[str] = field(default_factory=list)
    unprepares: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)


@when('{count:d} stories of {length:d} calls for the claims "{claims}" are told to the driver on "{node}"')
def _(world: World, count: int, length: int, claims: str, node: str) -> None:
    """Call Prepare and Unprepare of the claims in random order, each story as long as said; then unprepare all."""
    names = words(claims)
    chance = random.Random(f"{world.run.seed} {world.scenario.id}")  # noqa: S311 - a story, not a secret
    told = world.memory["stories"] = Told()
    first: dict[str, object] = {}
    for _number in range(count):
        story = [chance.choice("+-") + chance.choice(names) for _ in range(length)]
        held: dict[str, tuple[str, ...]] = {}
        for step, word in enumerate(story):
            claim, where = word[1:], f"{' '.join(story[: step + 1])}"
            ref = reference_to(world, claim)
            if word[0] == "-":
                if problem := unprepare_problem(unprepare(world, node, [ref]), ref):
                    told.unprepares.append(f"{where}: {problem}")
                held.pop(claim, None)
                continue
            call = prepare(world, node, [ref])
            if problem := problem_of(call, ref):
                told.prepares.append(f"{where}: {problem}")
                continue
            devices = call.prepared[ref.uid].devices
            shown = [show_device(device) for device in devices]
            if shown != first.setdefault(claim, shown):
                told.prepares.append(f"{where}: {shown} instead of {first[claim]}")
            held[claim] = tuple(device_id for device in devices for device_id in device.cdi_device_ids)
        told.ids += [f"{' '.join(story)}: {problem}" for problem in unresolved(world, node, held)]
        for claim in names:
            ref = reference_to(world, claim)
            if problem := unprepare_problem(unprepare(world, node, [ref]), ref):
                told.unprepares.append(f"{' '.join(story)}, and the end: {problem}")
        told.stories += 1
    calls(world).made.clear()


def unresolved(world: World, node: str, held: dict[str, tuple[str, ...]]) -> list[str]:
    """Prepared claims whose ids no CDI file declares."""
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    wrong = []
    for claim, ids in held.items():
        try:
            registry.resolve(ids)
        except CDIError as error:
            wrong.append(f"{claim}: {error}")
    return wrong


def judge(world: World, what: str, wrong: Sequence[str], *, expected: str, well: str = "") -> None:
    """Check that no story came to anything `wrong`, of which the first three are told; no story proves nothing.

    `well` is what is told when all went well, where that is not `expected`.
    """
    told: Told = world.memory["stories"]
    world.check(
        not wrong and told.stories > 0,
        f"{what} in {told.stories} stories",
        expected=expected,
        observed=wrong[:3] or well or expected,
    )


@then("every Prepare of them was answered, and with the same devices each time")
def _(world: World) -> None:
    """No Prepare of any story failed, and all answers of a claim were alike."""
    wrong = world.memory["stories"].prepares
    judge(world, "Prepare", wrong, expected="the claim's devices each time", well="the same each time")


@then("every Unprepare of them succeeded")
def _(world: World) -> None:
    """No Unprepare of any story failed."""
    judge(world, "Unprepare", world.memory["stories"].unprepares, expected="no error")


@then("after each of them the ids of every prepared claim resolved")
def _(world: World) -> None:
    """At the end of each story the CDI ids of every claim that was prepared last were declared."""
    judge(world, "CDI ids", world.memory["stories"].ids, expected="they resolve")
