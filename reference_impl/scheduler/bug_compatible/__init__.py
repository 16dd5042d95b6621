"""Allocation as one Kubernetes release does it, its known mistakes included: for `bug-compatible=1.36`.

The reference's own allocator is right where a release is wrong, so a difference between the two needs a reason. Here is
the other side of it: the release's plain walk through all combinations, with each of its deviations as one named piece.
`deviations` lists them with issue and rule; `variants`, `gather`, `selecting`, `trackers`, `ledger`, `walk` and
`configs` hold them; `engine` is the front door. Nothing of this is used unless it is asked for by name.

`python -m verification.differential --bug-compatible 1.36` (or another of `RELEASES`) shows that the explained
differences to upstream vanish, and that the very same devices are taken.
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
