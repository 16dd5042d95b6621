"""The plan of a run, without starting anything (`--dry-run`)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dra_conformance.core import assets, driver_placeholders, features
from dra_conformance.core.errors import ExitCode
from dra_conformance.core.options import RunOptions
from dra_conformance.engine import plan, preflight, shards, vocabulary
from dra_conformance.engine.run import Run
from dra_conformance.pytest_plugin.sharding import seconds_of, shard_of
from dra_conformance.steps.catalogue import catalogue


def dry_run(options: RunOptions) -> tuple[list[str], ExitCode]:
    """Return the decision on every scenario, one line each with a summary at the end, and the exit code."""
    preflight.check(options)
    with tempfile.TemporaryDirectory(prefix="dra-dry-") as folder:
        run = Run(options, folder=Path(folder))
        try:
            scenarios = features.read_all([assets.features(), *(Path(extra) for extra in options.features)])
            vocabulary.check(scenarios, catalogue())
            made = shard_of(plan.make(scenarios, run.catalogue, options, run.target()), options)
        finally:
            run.stop()
            run.log.close()
    lines = []
    for decision in made.decisions:
        status = decision.status.value if decision.status else "run"
        reason = f"  ({decision.reason})" if decision.reason else ""
        lines.append(f"{status:<15} {decision.scenario.id}{reason}")
    for component in driver_placeholders.OPTIONAL:
        for one in driver_placeholders.absent(options.component(component), options.driver_name):
            count = sum(
                bool(decision.status and one.needs & set(tags.needs) and component in tags.components)
                for decision in made.decisions
                for tags in (decision.scenario.tags,)
            )
            lines.append(
                f"the {component}'s command has no word {one.word}: {count} scenarios cannot run ({one.judged})"
            )
    if options.shard:
        seconds = shards.estimate(made, seconds_of(options))
        lines.append(f"shard {options.shard} takes about {seconds:.0f} s on the embedded control plane, and its start")
    lines.append(f"{len(made)} scenarios planned, {len(made.to_run)} to run; nothing was started")
    return lines, ExitCode.OK if made.to_run else ExitCode.NOTHING_SELECTED
