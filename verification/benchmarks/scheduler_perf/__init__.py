"""The DRA workloads of Kubernetes' scheduler_perf, bound by kube-scheduler and the reference in turns.

The names are those of upstream, and at upstream's number of pods so are the numbers of nodes, devices, claims and
classes. Objects and program are our own. `PublishResourceSlices` is left out, because it schedules no pod.

Needs the programs of `make third-party`.

Source: test/integration/scheduler_perf/dra of Kubernetes 1.37.2.
"""

from __future__ import annotations

from verification.benchmarks.scheduler_perf.compare import figures

__all__ = ["figures"]
