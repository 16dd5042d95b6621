"""Shares of GPUs for pods: the reservation, the ConfigMaps with the share, and their removal after a failure.

The label marks the pod as a consumer of its groups, so it comes before the ConfigMaps, and both before the binding:
kubelet starts a bound pod, and reads the ConfigMaps then.

Source: KAI-Scheduler 0.12.0 pkg/binder/plugins/gpusharing/gpu_sharing.go; rules KAI-204, KAI-207, KAI-209,
KAI-209b, KAI-214. Only 0.17 undoes a failed attempt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from dra_api.client import AlreadyExists, Conflict, KubeClient, NotFound
from dra_api.objects import CONFIG_MAPS, Obj, meta, name_of, namespace_of, owner_reference, uid_of
from reference_impl import gpu_groups
from reference_impl.binder import fractions
from reference_impl.binder.failure import BindFailure
from reference_impl.binder.fractions import PodShare
from reference_impl.binder.reservations import Reservations


class SharedGpus:
    """Gives pods their shares of GPUs. `cdi_enabled`: the containers see them as CDI devices."""

    def __init__(self, client: KubeClient, reservations: Reservations, *, cdi_enabled: bool = False) -> None:
        self._client = client
        self.reservations = reservations
        self._cdi_enabled = cdi_enabled

    def commit(self, pod: Obj, node: str, share: PodShare) -> None:
        """Reserve the GPUs and write the pod's ConfigMaps. Raises DevicesPending, BindFailure and API errors."""
        indices = self.reservations.reserve(pod, node, share)
        gpus = fractions.cdi_devices(indices) if self._cdi_enabled else indices
        for name, data in share.config_maps(gpus).items():
            self._write(pod, name, data)

    def roll_back(self, request: Obj, pod: Obj | None) -> None:
        """Remove labels, ConfigMaps and unused reservations of a BindRequest that has failed (KAI-205, KAI-209b).

        Raises ApiError or TransportError; the request is then reconciled again.
        """
        if pod is not None:
            self.reservations.forget((namespace_of(pod), name_of(pod)))
            self._withdraw(request, pod)
        for group in gpu_groups.groups_of(request):
            self.reservations.release_unused(group, ended=uid_of(request))

    def _withdraw(self, request: Obj, pod: Obj) -> None:
        try:
            share = fractions.share_of(request, pod)
        except BindFailure:
            return  # nothing was written
        if share is None:
            return
        for name in (share.config_map, share.environment_map):
            found = self._client.find(CONFIG_MAPS, name, namespace_of(pod))
            if found is not None and is_owned_by(found, pod):
                with contextlib.suppress(NotFound, Conflict):  # gone, or another one of the name
                    self._client.delete(CONFIG_MAPS, name, namespace_of(pod), uid=uid_of(found))
        self.reservations.remove_labels(pod, share)

    def _write(self, pod: Obj, name: str, data: Mapping[str, str]) -> None:
        owner = owner_reference({**pod, "apiVersion": "v1", "kind": "Pod"})
        wanted: Obj = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace_of(pod), "ownerReferences": [owner]},
            "data": dict(data),
        }
        try:
            self._client.create(CONFIG_MAPS, wanted)
        except AlreadyExists:  # of an earlier attempt, or of an earlier pod with the name
            found = self._client.get(CONFIG_MAPS, name, namespace_of(pod))
            if (found.get("data") or {}) == data and is_owned_by(found, pod):
                return
            wanted["metadata"]["resourceVersion"] = meta(found)["resourceVersion"]
            self._client.update(CONFIG_MAPS, wanted)


def is_owned_by(obj: Obj, pod: Obj) -> bool:
    """Return whether the owner references of an object name this very pod."""
    return any(owner.get("uid") == uid_of(pod) for owner in meta(obj).get("ownerReferences") or ())
