"""Which claim has a device: a BindRequest that gives away a device of another claim is refused (KAI-107b).

The API server does not compare claims, so two BindRequests with one device would leave it in two of them. Stored claims
are found through an index of the claim informer, which the caller owns; claims that a worker writes now are kept here
until their write is done. A device with a share, or with admin access, may be in several claims.

KAI 0.17 compares no claims (pkg/binder/plugins/k8s-plugins/dynamicresources/dra.go).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dra_api.allocations import results_of, results_of_allocation
from dra_api.client import KubeClient
from dra_api.informer import Informer
from dra_api.objects import RESOURCE_CLAIMS, Obj, controller_of, name_of, namespace_of, uid_of
from reference_impl.binder.failure import BindFailure

_INDEX = "device"


class DeviceHolders:
    """The claims that have devices to themselves, stored and being written."""

    def __init__(self, client: KubeClient, claims: Informer) -> None:
        self._client = client
        self._claims = claims
        self._lock = threading.Lock()
        self._writing: dict[str, list[str]] = {}  # the claims that are being written with a device, once each writer
        claims.add_index(_INDEX, lambda claim: _exclusive(results_of(claim)))

    @contextmanager
    def taking(self, pod: Obj, allocations: Sequence[tuple[str, Obj]]) -> Iterator[None]:
        """Keep the devices of these allocations from other claims while the caller writes them.

        `allocations` are pairs of a claim's uid (empty for a claim that is not made yet) and its allocation. Pods that
        share a claim may write it at the same time. Raises BindFailure if a device is in another claim, or another
        claim is being written with it.
        """
        wanted = {device: uid for uid, one in allocations for device in _exclusive(results_of_allocation(one))}
        taken: list[tuple[str, str]] = []
        try:
            with self._lock:
                for device, uid in wanted.items():
                    claim, writing = uid or f"of pod {uid_of(pod)}", self._writing.setdefault(device, [])
                    if any(other != claim for other in writing):
                        raise BindFailure(f"DynamicResources: device {device} is being allocated to another claim")
                    writing.append(claim)
                    taken.append((device, claim))
            for device, uid in wanted.items():
                self._check_stored(device, uid, pod)
            yield
        finally:
            with self._lock:
                for device, claim in taken:
                    self._writing[device].remove(claim)
                    if not self._writing[device]:
                        del self._writing[device]

    def wrote(self, claim: Obj) -> None:
        """Show a claim in the index before its watch event arrives."""
        self._claims.assume(claim)

    def _check_stored(self, device: str, uid: str, pod: Obj) -> None:
        for known in self._claims.by_index(_INDEX, device):
            if uid_of(known) == uid or (not uid and _is_owned(known, pod)):
                continue
            # The index may be late: another claim counts only if it still has the device.
            stored = self._client.find(RESOURCE_CLAIMS, name_of(known), namespace_of(known))
            if stored is not None and device in _exclusive(results_of(stored)):
                raise BindFailure(
                    f"DynamicResources: device {device} is allocated to ResourceClaim "
                    f"{namespace_of(stored)}/{name_of(stored)}"
                )


def _exclusive(results: Sequence[Obj]) -> list[str]:
    """Return the devices that a claim has to itself, as driver/pool/device."""
    return [
        f"{result.get('driver')}/{result.get('pool')}/{result.get('device')}"
        for result in results
        if not (result.get("adminAccess") or result.get("shareID") or result.get("consumedCapacity"))
    ]


def _is_owned(claim: Obj, pod: Obj) -> bool:
    owner = controller_of(claim)
    return owner is not None and owner.get("uid") == uid_of(pod)
