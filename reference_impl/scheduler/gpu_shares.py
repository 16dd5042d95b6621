"""Shares of GPUs: what a pod requests of each GPU, which GPU groups a node has, and which of them have room.

A GPU that is shared belongs to one group, and its pods fill at most the whole GPU. A share goes to the fullest group
with room, so that few GPUs are shared; without one it opens a new group, which takes a whole GPU.

`GpuShares` needs the lock of the view that owns it; the rest are pure functions.

Source: KAI-Scheduler 0.12.0 docs/gpu-sharing/README.md, pkg/scheduler/api/pod_info/pod_info.go, and
pkg/scheduler/gpu_sharing; rules KAI-017, KAI-018, KAI-381 to KAI-388.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dra_api.objects import Obj, meta
from reference_impl import gpu_groups
from reference_impl.gpu_groups import GPU

WHOLE = 1000  # amounts of resources are in thousandths
MEMORY_LABEL = "nvidia.com/gpu.memory"

_FRACTION = "gpu-fraction"
_MEMORY = "gpu-memory"
_DEVICES = "gpu-fraction-num-devices"
_MOST_DEVICES = 1000  # more than any node has; a larger number is a mistake
# Portions are counted in millionths: a float of 0.1 is more than a tenth, and ten of them would not fit.
_PARTS = 1_000_000


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """What a pod requests of each of `devices` GPUs: a `portion`, or `memory` in MiB."""

    portion: Fraction
    memory: int
    devices: int

    def amount(self, gpu_memory: int) -> Fraction | None:
        """Return the portion of a GPU with so much memory; None if it is too small, or unknown and needed.

        A portion by memory is rounded up to hundredths, so that pods get no less than they request.
        """
        if not self.memory:
            return self.portion
        return Fraction(math.ceil(Fraction(self.memory * 100, gpu_memory)), 100) if self.memory <= gpu_memory else None


@dataclass(frozen=True, slots=True)
class GrantedShare:
    """The share that a pod gets: `portion` of the GPU of each of `groups` and of `opened` new groups."""

    groups: tuple[str, ...]
    portion: Fraction
    opened: int = 0

    @property
    def received(self) -> Obj:
        """The count and portion as a BindRequest has them (KAI-017, KAI-018)."""
        return {"count": len(self.groups), "portion": f"{float(self.portion):.2f}"}


def requested_share(pod: Obj) -> ShareRequest | None:
    """Return the share that a pod requests; None if its annotations name no valid portion and no memory (KAI-386)."""
    annotations: dict[str, str] = meta(pod).get("annotations") or {}
    portion = _portion(annotations.get(_FRACTION))
    memory = 0 if portion else _positive(annotations.get(_MEMORY))
    if not portion and not memory:
        return None
    return ShareRequest(portion, memory, _positive(annotations.get(_DEVICES)) or 1)


def _portion(text: object) -> Fraction:
    try:
        value = float(str(text))
    except ValueError:
        return Fraction(0)
    return Fraction(max(round(value * _PARTS), 1), _PARTS) if 0 < value <= 1 else Fraction(0)


def _positive(text: object) -> int:
    try:
        return max(int(str(text)), 0)
    except ValueError:
        return 0


def memory_of(node: Obj) -> int:
    """Return the memory of each GPU of a node in MiB; 0 if no label says so (KAI-385)."""
    return _positive((meta(node).get("labels") or {}).get(MEMORY_LABEL))


class GpuShares:
    """The GPU groups of each node and how much of their GPUs is taken.

    `new_group` returns the name of a new group.
    """

    def __init__(self, new_group: Callable[[], str] = lambda: str(uuid.uuid4())) -> None:
        self._new_group = new_group
        self._groups: dict[str, dict[str, dict[tuple[str, str], Fraction]]] = {}
        self._of_pod: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}

    def put(self, pod: tuple[str, str], node: str, groups: Iterable[str], portion: Fraction) -> None:
        """Count a pod in these groups of a node, and in no others."""
        self.drop(pod)
        # A BindRequest of another scheduler may name a group twice.
        self._of_pod[pod] = (node, tuple(dict.fromkeys(groups)))
        for group in self._of_pod[pod][1]:
            self._groups.setdefault(node, {}).setdefault(group, {})[pod] = portion

    def drop(self, pod: tuple[str, str]) -> None:
        """Count a pod nowhere; a group without pods is gone."""
        node, groups = self._of_pod.pop(pod, ("", ()))
        for group in groups:
            held = self._groups[node][group]
            held.pop(pod, None)
            if not held:
                del self._groups[node][group]
        if node in self._groups and not self._groups[node]:
            del self._groups[node]

    def count(self, node: str) -> int:
        """Return how many GPUs of a node are shared."""
        return len(self._groups.get(node, ()))

    def share_on(self, node: str, requested: ShareRequest, gpu_memory: int) -> GrantedShare | None:
        """Return the share that a request gets on a node, as far as its shared GPUs are concerned (KAI-381, KAI-382).

        None if a GPU of the node is too small.
        """
        portion = requested.amount(gpu_memory)
        if portion is None or requested.devices > _MOST_DEVICES:
            return None
        taken = {group: sum(pods.values(), Fraction(0)) for group, pods in self._groups.get(node, {}).items()}
        fitting = sorted(
            (group for group, used in taken.items() if used + portion <= 1), key=lambda group: (-taken[group], group)
        )
        joined = tuple(fitting[: requested.devices])
        return GrantedShare(joined, portion, opened=requested.devices - len(joined))

    def opened(self, share: GrantedShare) -> GrantedShare:
        """Return a share whose new groups have names."""
        return GrantedShare((*share.groups, *(self._new_group() for _ in range(share.opened))), share.portion)


def needs_with(needs: dict[str, int], share: GrantedShare) -> dict[str, int]:
    """Return the requests of a pod with a share: each new group takes a GPU and has a reservation pod (KAI-387)."""
    new = share.opened * WHOLE
    return {**needs, GPU: new, "pods": needs.get("pods", 0) + new}


def needs_of(pod: Obj, requests: dict[str, int]) -> dict[str, int]:
    """Return what a pod takes of a node itself: a GPU that pods share is that of their group (KAI-388)."""
    if gpu_groups.is_reservation(pod):
        return {"pods": requests["pods"]}
    return {name: amount for name, amount in requests.items() if name != GPU} if requested_share(pod) else requests
