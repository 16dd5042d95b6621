"""Divides the scenarios of a plan into shards of about the same duration (`--shard I/N`).

All shards of a run compute the same division: it depends on the plan and on recorded durations, and not on the previous
report of the machine.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dra_conformance.core.shard import Shard, elsewhere
from dra_conformance.core.status import Status
from dra_conformance.engine.plan import Decision, Plan

UNRECORDED = 0.08
"""The seconds of a scenario without a recorded duration: about the mean of those that are not recorded."""


def divide(plan: Plan, shard: Shard, seconds: Mapping[str, float]) -> Plan:
    """Return the plan of one shard: it leaves out the scenarios that run in others. The order stays.

    `seconds`: how long scenarios are known to take, by id.
    """
    place = assign([scenario.id for scenario in plan.to_run], shard.count, seconds)

    def decided(decision: Decision) -> Decision:
        if decision.status is not None:
            return decision
        number = place[decision.scenario.id]
        if number == shard.index:
            return replace(decision, shard=number)
        return replace(decision, status=Status.FILTERED, reason=elsewhere(number, shard.count), shard=number)

    return replace(plan, decisions=[decided(decision) for decision in plan.decisions])


def assign(idents: Iterable[str], count: int, seconds: Mapping[str, float]) -> dict[str, int]:
    """Return the shard of each scenario, from 1: the longest first, each into the shard with the least seconds."""
    loads = [(0.0, number) for number in range(1, count + 1)]
    place = {}
    for ident in sorted(idents, key=lambda ident: -seconds.get(ident, UNRECORDED)):
        load, number = loads[0]
        heapq.heapreplace(loads, (round(load + seconds.get(ident, UNRECORDED), 3), number))
        place[ident] = number
    return place


def estimate(plan: Plan, seconds: Mapping[str, float]) -> float:
    """Return the seconds of the scenarios that run, one after the other."""
    return sum(seconds.get(scenario.id, UNRECORDED) for scenario in plan.to_run)
