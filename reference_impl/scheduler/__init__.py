"""The reference scheduler: pick a node and devices for each pending pod, then say so in a BindRequest or by binding.

Rooms: `cluster_view` (what the cluster looks like, kept by informers), `allocator` (pure functions: may these claims
have devices on this node, and which), `cycle` (pod in, decision out), `publish` (decision out to the API server).
"""

from __future__ import annotations

from reference_impl.scheduler.options import SchedulerOptions
from reference_impl.scheduler.scheduler import Scheduler

__all__ = ["Scheduler", "SchedulerOptions"]
