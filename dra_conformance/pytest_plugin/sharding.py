"""Applies `--shard` to a plan, by recorded durations."""

from __future__ import annotations

from collections.abc import Mapping

from dra_conformance.core.options import RunOptions
from dra_conformance.core.shard import Shard
from dra_conformance.engine import shards
from dra_conformance.engine.plan import Plan
from dra_conformance.pytest_plugin.longest_first import programs_of, recorded_seconds


def seconds_of(options: RunOptions) -> Mapping[str, float]:
    """Return the recorded seconds of scenarios by id, for the components of a run."""
    return recorded_seconds(programs=programs_of(options))


def shard_of(plan: Plan, options: RunOptions) -> Plan:
    """Return the plan of the run's shard, or the whole plan without --shard."""
    return shards.divide(plan, Shard.parse(options.shard), seconds_of(options)) if options.shard else plan
