"""Compare the schedulers, round by round, in one table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from dra_api.client import ApiError
from dra_api.transport import TransportError
from dra_conformance.core.errors import TargetUnreachable
from verification.benchmarks import real
from verification.benchmarks.cluster import BIN
from verification.benchmarks.figures import Table
from verification.benchmarks.real import Start
from verification.benchmarks.scheduler_perf.measure import Measured, kube_scheduler, measure, reference
from verification.benchmarks.scheduler_perf.workloads import Workload, workloads

PODS, ROUNDS = 500, 3
KUBE, OURS, NULL = "kube-scheduler", "reference", real.NULL_CLIENT
STARTS: Mapping[str, Callable[[Workload], Start]] = {
    KUBE: kube_scheduler,
    OURS: reference,
    NULL: lambda workload: real.null_client,
}
HEAD = (
    "workload",
    "pods",
    f"{KUBE} pods/s",
    f"{OURS} pods/s",
    "ratio",
    f"CPU ms a pod: {KUBE}",
    OURS,
    f"{NULL} pods/s",
)
NOTES = (
    "Names use upstream's format; empty, half and full are steady states.",
    "ratio: reference to kube-scheduler, the median of the rounds. CPU: the scheduler's, and in parentheses all "
    "programs'.",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The rounds of one workload: what each scheduler reached, and what went wrong by scheduler.

    `lost` are measurements that ended with an error of the control plane: no scheduler has failed.
    """

    workload: Workload
    rounds: Sequence[Mapping[str, Measured]]
    failures: Mapping[str, str]
    lost: Sequence[str] = ()

    def row(self) -> list[str]:
        """Return the line of the table."""
        return [
            self.workload.name,
            str(self.workload.pods),
            self._rate(KUBE),
            self._rate(OURS),
            self._ratio(),
            self._cpu(KUBE),
            self._cpu(OURS),
            self._rate(NULL),
        ]

    def _of(self, name: str) -> list[Measured]:
        return [one[name] for one in self.rounds if name in one]

    def _rate(self, name: str) -> str:
        if name in self.failures:
            return "failed"
        if name == OURS and self.workload.unsupported:
            return self.workload.unsupported
        found = self._of(name)
        return f"{median(one.rate for one in found):.1f}" if found else "-"

    def _ratio(self) -> str:
        if self.failures.keys() & {KUBE, OURS}:
            return "-"
        found = sorted(one[OURS].rate / one[KUBE].rate for one in self.rounds if OURS in one and KUBE in one)
        if not found:
            return "-"
        spread = f" ({found[0]:.2f} to {found[-1]:.2f})" if len(found) > 1 else ""
        return f"{median(found):.2f}{spread}"

    def _cpu(self, name: str) -> str:
        found = self._of(name)
        if not found or name in self.failures:
            return "-"
        return f"{median(one.own_cpu for one in found):.1f} ({median(one.all_cpu for one in found):.1f})"


def table(found: Sequence[Comparison]) -> Table:
    """Return the table, with each failure below it."""
    failures = [f"failed: {one.workload.name}, {name}: {text}" for one in found for name, text in one.failures.items()]
    lost = [f"not measured: {one.workload.name}, {text}" for one in found for text in one.lost]
    return Table(HEAD, [one.row() for one in found], [*NOTES, *failures, *lost])


def compare(
    workload: Workload, *, rounds: int = ROUNDS, measured: Callable[[Start, Workload], Measured] = measure
) -> Comparison:
    """Measure a workload with each scheduler, in turns. One that fails is not tried again."""
    names = [KUBE, *([] if workload.unsupported else [OURS]), *([NULL] if workload.null_client else [])]
    found: list[dict[str, Measured]] = []
    failures: dict[str, str] = {}
    lost: list[str] = []
    for _ in range(rounds):
        one: dict[str, Measured] = {}
        for name in names:
            if name in failures:
                continue
            try:
                one[name] = measured(STARTS[name](workload), workload)
            except RuntimeError as error:
                failures[name] = str(error)
            except (TargetUnreachable, ApiError, TransportError, TimeoutError) as error:
                lost.append(f"{name}: {error}")
            said = f"{one[name].rate:.1f} pods/s" if name in one else failures.get(name) or lost[-1]
            print(f"  {workload.name}, {name}: {said}", file=sys.stderr, flush=True)
        found.append(one)
    return Comparison(workload, found, failures, lost)


NOT_BUILT = "the Kubernetes programs are not built (make third-party): nothing is compared"


def built() -> bool:
    """Return whether the Kubernetes programs are there."""
    return (BIN / "kube-apiserver").exists()


def figures() -> Table:
    """Measure every workload with each scheduler."""
    if not built():
        return Table((NOT_BUILT,), [])
    return table([compare(workload) for workload in workloads(PODS)])
