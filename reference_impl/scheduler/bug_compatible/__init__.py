"""Allocation with the known defects of one Kubernetes release, for `bug-compatible=1.37`.

The reference's own allocator does not have these defects, so each difference to a release needs a reason. This package
is the other side: the release's plain walk through all combinations, with each of its deviations under a name.
`deviations` lists them with issue and rule; `variants`, `gather`, `selecting`, `trackers`, `ledger`, `walk` and
`configs` implement them; `engine` is the entry point. The package is used only if it is selected by name.

`python -m verification.differential --bug-compatible 1.37` (or another of `RELEASES`) shows that the explained
differences to upstream vanish, and that the same devices are allocated.
"""

from __future__ import annotations

from reference_impl.scheduler.bug_compatible.deviations import (
    DEVIATIONS,
    RELEASES,
    Deviation,
    Release,
    UnknownRelease,
    release,
)
from reference_impl.scheduler.bug_compatible.engine import CompatibleAllocator, NodePools
from reference_impl.scheduler.bug_compatible.walk import Panic

__all__ = [
    "DEVIATIONS",
    "RELEASES",
    "CompatibleAllocator",
    "Deviation",
    "NodePools",
    "Panic",
    "Release",
    "UnknownRelease",
    "release",
]
