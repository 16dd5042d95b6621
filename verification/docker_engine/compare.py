"""Run the same scenarios on the container and on the Kubernetes programs as processes, and compare the verdicts.

Scenarios with different verdicts run again, alone and on both; remaining differences are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dra_conformance.engine.requirements.control_plane import BYPASS_HARNESS
from verification.docker_engine import image
from verification.docker_engine.runs import Ended, Runs

# Two chapters of the API (the programs as processes run all of them elsewhere), and the cluster's own scheduler and
# controllers as components: the scenarios that take seconds, and one rule that kube-scheduler breaks.
_SELECTED = (
    *("--focus", "^claims/api_(claims|nodes)"),
    *("--focus", "^claims/lifecycle#(a-pod-that-(names|was-created|is|ended-as)|a-running|the-claim|a-reservation)"),
    *("--focus", "^allocation/(alternatives|constraints)"),
)


def look(runs: Runs) -> Iterator[str]:
    """Return the differences by scenario."""
    container = runs.run(*_SELECTED, "--workers", "2")
    processes = runs.run_binaries(*_SELECTED, "--workers", "2")
    yield from _named(container, runs)
    here, there = container.verdicts(), processes.verdicts()
    judged = [each for each, status in here.items() if status in ("passed", "failed") and there.get(each) == status]
    print(f"docker: {len(judged)} scenarios have the same verdict on the container and on processes", flush=True)
    if not judged:
        yield f"nothing was judged alike\n{container.said[-1500:]}{processes.said[-1500:]}"
    elif differing := _differing(container, processes):
        yield from _again(runs, differing)
    yield from (f"after a whole run there is {each}" for each in runs.left())


def _again(runs: Runs, differing: dict[str, str]) -> Iterator[str]:
    """Return the scenarios that still differ when run alone; print the others as unstable."""
    # With the blank that follows an id: an id must not match longer ones.
    only = [word for each in differing for word in ("--focus", f"^{re.escape(each)} ")]
    still = _differing(runs.run(*only), runs.run_binaries(*only), among=set(differing))
    for scenario, shown in differing.items():
        if scenario in still:
            yield still[scenario]
        else:
            print(f"  unstable: {shown}; equal when run again alone", flush=True)


def _differing(container: Ended, processes: Ended, *, among: set[str] | None = None) -> dict[str, str]:
    """Return scenarios with two verdicts, each with both and with the observed values."""
    here, there = container.verdicts(), processes.verdicts()
    found: dict[str, str] = {}
    for scenario in sorted(here.keys() | there.keys() | (among or set())):
        if here.get(scenario) == "not-applicable":
            continue  # what these scenarios need is not possible with the components of a cluster
        if here.get(scenario) == "untestable" and BYPASS_HARNESS in container.reason(scenario):
            continue  # faults are injected into requests of processes only
        if here.get(scenario) != there.get(scenario) or scenario not in here:
            why = "; ".join(filter(None, (container.reason(scenario), processes.reason(scenario))))
            found[scenario] = (
                f"{scenario}: {here.get(scenario)} on the container, {there.get(scenario)} on processes ({why})"
            )
    return found


def _named(ended: Ended, runs: Runs) -> Iterator[str]:
    target = ended.report.get("target") or {}
    wanted = f"container in the place of k3s ({runs.image}), started by the run"
    if target.get("controlPlane") != wanted or image.NAME not in runs.image:
        yield f"the report calls the control plane {target.get('controlPlane')!r}, not {wanted!r}\n{ended.said[-1500:]}"
    if target.get("evidence") != "evidence":
        yield f"the report calls what it saw {target.get('evidence')!r}"
