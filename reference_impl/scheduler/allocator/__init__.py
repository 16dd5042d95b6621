"""The structured allocator: chooses devices of one node for the claims of a pod.

Pure functions over typed inputs. `Allocator(claims, classes).on(inventory, taken)` is the entry point; the modules are
`pools` (which slices count), `selectors`, `taints`, `constraints`, `counters`, `capacity` (may this device be taken),
`matching` and `search` (which combination), `results` (how it is written down) and `explain` (why not).
"""

from __future__ import annotations

from reference_impl.scheduler.allocator.allocate import Allocator
from reference_impl.scheduler.allocator.inventory import NodeInventory
from reference_impl.scheduler.allocator.model import (
    Allocation,
    AllocationError,
    Claim,
    DeviceClass,
    Features,
    Outcome,
    Slice,
    decode_claim,
    decode_slice,
)
from reference_impl.scheduler.allocator.taken import Taken

__all__ = [
    "Allocation",
    "AllocationError",
    "Allocator",
    "Claim",
    "DeviceClass",
    "Features",
    "NodeInventory",
    "Outcome",
    "Slice",
    "Taken",
    "decode_claim",
    "decode_slice",
]
