"""Volumes of a pod: each PersistentVolumeClaim is bound before a claim is written and the pod is bound.

A claim whose StorageClass waits for the first consumer is bound by the binder, because it knows the node: it writes the
claim into a PersistentVolume that the node can use, or else the node into the claim, for the provisioner of the class.
The controller of volumes then completes the binding. No worker blocks: an attempt ends with `VolumesPending`, and the
pod is reconciled again when a claim changes or the timeout has passed.

Left out: capacities that CSI drivers publish, and volumes of drivers that were part of Kubernetes.

Source: KAI-Scheduler 0.12.0 pkg/binder/plugins/k8s-plugins/volumebinding, which runs the plugin VolumeBinding of
kube-scheduler (k8s.io/kubernetes v1.34 pkg/scheduler/framework/plugins/volumebinding); rules KAI-460 to KAI-467.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from dra_api.client import Conflict, KubeClient
from dra_api.clock import Clock
from dra_api.informer import Change
from dra_api.objects import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    Obj,
    Resource,
    controller_of,
    key_of,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_api.quantity import Quantity
from reference_impl import node_selector
from reference_impl.binder.failure import BindFailure, VolumesPending
from reference_impl.binder.options import BinderOptions
from reference_impl.node_selector import NodeFacts

Key = tuple[str, str]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"


@dataclass(frozen=True, slots=True)
class _Write:
    """An object as it is to be stored."""

    resource: Resource
    obj: Obj


@dataclass(frozen=True, slots=True)
class _Wait:
    """The claims that a pod waits for, and when the wait ends."""

    pod: str
    claims: tuple[str, ...]
    until: float


class Volumes:
    """Binds the volumes of pods. `wake` queues a pod again."""

    def __init__(
        self, client: KubeClient, *, options: BinderOptions, clock: Clock, wake: Callable[[Key], None]
    ) -> None:
        self._client = client
        self._options = options
        self._clock = clock
        self._wake = wake
        self._waiting: dict[Key, _Wait] = {}

    def require_bound(self, pod: Obj, node: Obj) -> None:
        """Bind the pod's volumes for a node.

        Raises VolumesPending until all are bound, BindFailure if one cannot be.
        """
        names = tuple(name for name, _ in _claims_of(pod))
        if not names:
            return
        key, now = key_of(pod), self._clock.monotonic()
        wait = self._waiting.get(key)
        if wait is None or wait.pod != uid_of(pod):
            # Before the claims are read, so that no later change is lost.
            wait = self._waiting[key] = _Wait(uid_of(pod), names, now + self._options.volume_timeout)
        try:
            bound = self._bind(pod, node)
            if not bound and now >= wait.until:
                seconds = self._options.volume_timeout
                raise BindFailure(f"VolumeBinding: the volumes of the pod are not bound within {seconds:g} s")
        except Exception:
            self.forget(key)
            raise
        if not bound:
            raise VolumesPending(wait.until - now)
        self.forget(key)

    def forget(self, key: Key) -> None:
        """Stop waiting for the volumes of a pod."""
        self._waiting.pop(key, None)

    def on_claim(self, change: Change) -> None:
        """Wake the pods that wait for a claim."""
        namespace, name = namespace_of(change.object), name_of(change.object)
        for key, wait in list(self._waiting.items()):
            if key[0] == namespace and name in wait.claims:
                self._wake(key)

    # -- binding -----------------------------------------------------------------------------------------------------

    def _bind(self, pod: Obj, node: Obj) -> bool:
        """Write what is missing; return whether all claims are bound."""
        for _ in range(self._options.conflict_tries):
            claims = [self._claim(pod, name, ephemeral=ephemeral) for name, ephemeral in _claims_of(pod)]
            writes: list[_Write] = []
            for claim in claims:
                self._check(claim, node)
                if not is_bound(claim):
                    taken = [name_of(write.obj) for write in writes if write.resource == PERSISTENT_VOLUMES]
                    writes += self._writes_for(claim, node, taken)
            try:
                for write in writes:
                    self._client.update(write.resource, write.obj)
            except Conflict:
                continue  # another pod took the volume, or the controller wrote the claim
            return all(is_bound(claim) for claim in claims)
        raise BindFailure("VolumeBinding: the volumes of the pod change all the time")

    def _claim(self, pod: Obj, name: str, *, ephemeral: bool) -> Obj:
        """Return a claim of the pod that can be used."""
        where = f"{namespace_of(pod)}/{name}"
        claim = self._client.find(PERSISTENT_VOLUME_CLAIMS, name, namespace_of(pod))
        if claim is None:
            raise BindFailure(f"VolumeBinding: PersistentVolumeClaim {where} does not exist")
        if meta(claim).get("deletionTimestamp"):
            raise BindFailure(f"VolumeBinding: PersistentVolumeClaim {where} is being deleted")
        if ephemeral and (controller_of(claim) or {}).get("uid") != uid_of(pod):
            raise BindFailure(f"VolumeBinding: PersistentVolumeClaim {where} was not made for this pod")
        return claim

    def _check(self, claim: Obj, node: Obj) -> None:
        """Require of a bound claim a volume that the node can use, and of another that it waits for a consumer."""
        if is_bound(claim):
            volume = self._client.find(PERSISTENT_VOLUMES, claim["spec"]["volumeName"])
            if volume is None:
                raise BindFailure(f"VolumeBinding: PersistentVolume {claim['spec']['volumeName']} does not exist")
            if not is_usable_on(volume, node):
                raise BindFailure(f"VolumeBinding: node {name_of(node)} cannot use PersistentVolume {name_of(volume)}")
            return
        if (self._class_of(claim) or {}).get("volumeBindingMode") != "WaitForFirstConsumer":
            raise BindFailure(
                f"VolumeBinding: PersistentVolumeClaim {name_of(claim)} is not bound and waits for no consumer"
            )
        selected = (meta(claim).get("annotations") or {}).get(SELECTED_NODE)
        if selected and selected != name_of(node):
            raise BindFailure(
                f"VolumeBinding: the volume of PersistentVolumeClaim {name_of(claim)} is being made for node {selected}"
            )

    def _class_of(self, claim: Obj) -> Obj | None:
        """Return the StorageClass of a claim; None for a claim without one."""
        name = claim["spec"].get("storageClassName")
        if not name:
            return None
        found = self._client.find(STORAGE_CLASSES, name)
        if found is None:
            raise BindFailure(f"VolumeBinding: StorageClass {name} does not exist")
        return found

    def _writes_for(self, claim: Obj, node: Obj, taken: Collection[str]) -> list[_Write]:
        """Return what makes the controllers of volumes bind a claim; nothing if that is written already."""
        annotations = meta(claim).get("annotations") or {}
        if claim["spec"].get("volumeName") or SELECTED_NODE in annotations:
            return []
        fitting = [
            volume
            for volume in self._client.list(PERSISTENT_VOLUMES).items
            if fits(volume, claim) and is_usable_on(volume, node) and name_of(volume) not in taken
        ]
        if any(is_reserved(volume, claim) for volume in fitting):
            return []
        free = [volume for volume in fitting if is_free(volume)]
        if free:
            return [_Write(PERSISTENT_VOLUMES, reserved(min(free, key=_size), claim))]
        storage_class = self._class_of(claim) or {}
        if storage_class.get("provisioner", _NO_PROVISIONER) == _NO_PROVISIONER or not can_provision(
            storage_class, node
        ):
            raise BindFailure(
                f"VolumeBinding: node {name_of(node)} has no volume for PersistentVolumeClaim {name_of(claim)}"
            )
        metadata = {**meta(claim), "annotations": {**annotations, SELECTED_NODE: name_of(node)}}
        return [_Write(PERSISTENT_VOLUME_CLAIMS, {**claim, "metadata": metadata})]


# -- decisions ---------------------------------------------------------------------------------------------------------


def _claims_of(pod: Obj) -> Iterator[tuple[str, bool]]:
    """Yield the names of the pod's PersistentVolumeClaims, and whether a claim is of an ephemeral volume."""
    for volume in pod.get("spec", {}).get("volumes") or ():
        if named := volume.get("persistentVolumeClaim"):
            yield str(named["claimName"]), False
        elif volume.get("ephemeral"):
            yield f"{name_of(pod)}-{volume['name']}", True


def is_bound(claim: Obj) -> bool:
    """Return whether a claim has a volume and the controller has completed the binding."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in (meta(claim).get("annotations") or {})


def is_usable_on(volume: Obj, node: Obj) -> bool:
    """Return whether the node affinity of a volume matches a node."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return node_selector.matches_if_valid(required, NodeFacts.of(node))


def fits(volume: Obj, claim: Obj) -> bool:
    """Return whether a volume is what a claim requests: class, mode, access modes, size and labels."""
    has, wants = volume["spec"], claim["spec"]
    labels, selector = meta(volume).get("labels") or {}, wants.get("selector") or {}
    return (
        not meta(volume).get("deletionTimestamp")
        and has.get("storageClassName", "") == wants.get("storageClassName", "")
        and has.get("volumeMode", "Filesystem") == wants.get("volumeMode", "Filesystem")
        and set(wants.get("accessModes") or ()) <= set(has.get("accessModes") or ())
        and _size(volume) >= _requested(wants)
        and all(labels.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
        and not selector.get("matchExpressions")
    )


def is_reserved(volume: Obj, claim: Obj) -> bool:
    """Return whether a volume is reserved for this very claim."""
    return bool((volume["spec"].get("claimRef") or {}).get("uid") == uid_of(claim))


def is_free(volume: Obj) -> bool:
    """Return whether a volume can be given to a claim."""
    return not volume["spec"].get("claimRef") and (volume.get("status") or {}).get("phase") == "Available"


def reserved(volume: Obj, claim: Obj) -> Obj:
    """Return a volume that is reserved for a claim."""
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": name_of(claim),
        "namespace": namespace_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": meta(claim)["resourceVersion"],
    }
    annotations = {**(meta(volume).get("annotations") or {}), _BOUND_BY_CONTROLLER: "yes"}
    metadata = {**meta(volume), "annotations": annotations}
    return {**volume, "metadata": metadata, "spec": {**volume["spec"], "claimRef": reference}}


def can_provision(storage_class: Obj, node: Obj) -> bool:
    """Return whether the topologies of a class allow a volume for a node."""
    terms, labels = storage_class.get("allowedTopologies") or (), meta(node).get("labels") or {}
    return not terms or any(
        all(labels.get(item["key"]) in item["values"] for item in term.get("matchLabelExpressions") or ())
        for term in terms
    )


def _size(volume: Obj) -> int:
    return Quantity.parse((volume["spec"].get("capacity") or {}).get("storage", "0")).value


def _requested(spec: Obj) -> int:
    requests = (spec.get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage", "0")).value
