"""A reproducible choice of mutants."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

from verification.mutation_survey.mutants import Mutant

FLOOR = 100
"""So many mutants of each component are chosen at least, if the sample is large enough and the component has them."""


def shares(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Return how many mutants of each component are chosen.

    Every component gets the floor, or an equal share if the total is smaller. The rest is spread by size.
    """
    if not sizes:
        return {}
    floor = min(FLOOR, total // len(sizes))
    found = {name: min(size, floor) for name, size in sizes.items()}
    while (rest := total - sum(found.values())) > 0 and (open_ := [n for n, size in sizes.items() if found[n] < size]):
        weight = sum(sizes[name] for name in open_)
        for name in open_:
            more = min(sizes[name] - found[name], max(1, rest * sizes[name] // weight))
            found[name] += min(more, total - sum(found.values()))
    return found


def choose(mutants: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    """Return `count` mutants of one component, first one for each line.

    A line with many arguments or strings has many mutants, which are much alike. The choice goes through the lines in
    random order and takes one mutant of each; further rounds follow only if there are more mutants than lines. A
    larger sample of the same seed contains the smaller one.
    """
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for one in mutants:
        by_line.setdefault((one.path, one.line), []).append(one)
    # random.Random is seeded with a text, which makes its sequence independent of hash randomization.
    rng = random.Random(f"{seed}/{mutants[0].component if mutants else ''}")  # noqa: S311 - not for secrets
    lines = [by_line[key] for key in sorted(by_line)]
    for group in lines:
        _mix(group, rng)
    rng.shuffle(lines)
    chosen: list[Mutant] = []
    depth = 0
    while len(chosen) < min(count, len(mutants)):
        chosen += [group[depth] for group in lines if len(group) > depth]
        depth += 1
    return chosen[:count]


def _mix(group: list[Mutant], rng: random.Random) -> None:
    """Shuffle the mutants of a line so that each operator comes once before any comes twice."""
    rng.shuffle(group)
    order = list(dict.fromkeys(one.operator for one in group))
    seen: Counter[str] = Counter()
    rank = {}
    for one in group:
        rank[one.key] = (seen[one.operator], order.index(one.operator))
        seen[one.operator] += 1
    group.sort(key=lambda one: rank[one.key])
