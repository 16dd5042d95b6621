"""The reference scheduler: chooses a node and devices for each pending pod, then writes a BindRequest or binds the pod.

Modules: `cluster_view` (the state of the cluster, updated by informers), `allocator` (pure functions: which devices on
a node satisfy the claims), `cycle` (pod in, decision out), `publish` (decision out to the API server).
"""

from __future__ import annotations

from reference_impl.scheduler.options import SchedulerOptions
from reference_impl.scheduler.scheduler import Scheduler

__all__ = ["Scheduler", "SchedulerOptions"]
