"""Volumes of pods: StorageClasses, PersistentVolumes and their claims, and what the controllers of volumes do.

The harness completes bindings as kube-controller-manager and a provisioner do, so that a scenario decides when.

Source: Kubernetes documentation, Storage Classes (volume binding mode) and Persistent Volumes; rules KAI-460 to
KAI-467, KAI-490 to KAI-492.
"""

from __future__ import annotations

from dra_api.objects import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    Obj,
    meta,
    owner_reference,
    uid_of,
)
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.pods import by_name, create_pod, pod_object, scheduler_of

_SELECTED_NODE = "volume.kubernetes.io/selected-node"
_ACCESS = ["ReadWriteOnce"]
_SIZE = {"storage": "1Gi"}


@given('a StorageClass "{name}" of provisioner "{provisioner}" with binding mode {mode}')
def _(world: World, name: str, provisioner: str, mode: str) -> None:
    """Create a StorageClass; `kubernetes.io/no-provisioner` makes no volumes."""
    world.create(
        {
            "apiVersion": STORAGE_CLASSES.api_version,
            "kind": STORAGE_CLASSES.kind,
            "metadata": {"name": world.name(name)},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
        }
    )


@given('a PersistentVolume "{volume}" of StorageClass "{storage}" on node "{node}"')
def _(world: World, volume: str, storage: str, node: str) -> None:
    """Create an available volume that one node can use."""
    _create_volume(world, volume, storage, node)


def _create_volume(world: World, volume: str, storage: str, node: str) -> None:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [world.name(node)]}]}
    world.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": world.name(volume)},
            "spec": {
                "capacity": _SIZE,
                "accessModes": _ACCESS,
                "storageClassName": world.name(storage),
                "persistentVolumeReclaimPolicy": "Retain",
                "local": {"path": "/mnt/volume"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            },
        }
    )
    world.cleanup.callback(_unprotect, world, world.name(volume))
    world.client.patch(PERSISTENT_VOLUMES, world.name(volume), {"status": {"phase": "Available"}}, subresource="status")
    world.settle()


def _unprotect(world: World, volume: str) -> None:
    """Remove the finalizer of volumes, whose controller may not run; else the volume would stay."""
    if world.client.find(PERSISTENT_VOLUMES, volume) is not None:
        world.client.patch(PERSISTENT_VOLUMES, volume, {"metadata": {"finalizers": None}})


@given('a PersistentVolumeClaim "{claim}" of StorageClass "{storage}"')
def _(world: World, claim: str, storage: str) -> None:
    """Create a claim that has no volume yet."""
    _create_claim(world, claim, storage, _ACCESS)


@given('a PersistentVolumeClaim "{claim}" of StorageClass "{storage}" with the access modes "{modes}"')
def _(world: World, claim: str, storage: str, modes: str) -> None:
    """The same with several access modes; commas separate them."""
    _create_claim(world, claim, storage, words(modes))


def _create_claim(world: World, claim: str, storage: str, modes: list[str]) -> None:
    world.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": claim, "namespace": world.namespace},
            "spec": {
                "accessModes": modes,
                "storageClassName": world.name(storage),
                "resources": {"requests": _SIZE},
            },
        }
    )
    world.cleanup.callback(_release, world, claim)
    world.settle()


def _release(world: World, claim: str) -> None:
    """Remove the finalizer of claims, whose controller may not run."""
    if world.client.find(PERSISTENT_VOLUME_CLAIMS, claim, world.namespace) is not None:
        world.client.patch(PERSISTENT_VOLUME_CLAIMS, claim, {"metadata": {"finalizers": None}}, world.namespace)


@given('a pod "{pod}" using claim "{claims}" and PersistentVolumeClaims "{volumes}"')
def _(world: World, pod: str, claims: str, volumes: str) -> None:
    """Create a pod that uses claims of devices and of volumes by name; commas separate several."""
    obj = pod_object(world, pod, [by_name(claim) for claim in words(claims)], scheduler=scheduler_of(world))
    obj["spec"]["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in words(volumes)]
    create_pod(world, obj)


@given('a pod "{pod}" using claim "{claim}" and the ephemeral volume "{volume}"')
def _(world: World, pod: str, claim: str, volume: str) -> None:
    """Create a pod with a generic ephemeral volume; its PersistentVolumeClaim is called POD-VOLUME."""
    obj = pod_object(world, pod, [by_name(claim)], scheduler=scheduler_of(world))
    template = {"spec": {"accessModes": _ACCESS, "resources": {"requests": _SIZE}}}
    obj["spec"]["volumes"] = [{"name": volume, "ephemeral": {"volumeClaimTemplate": template}}]
    create_pod(world, obj)


@given('the PersistentVolumeClaim "{claim}" was made for pod "{pod}"')
def _(world: World, claim: str, pod: str) -> None:
    """Give a claim the owner that the controller of ephemeral volumes gives it."""
    owner = {**world.client.get(PODS, pod, world.namespace), "apiVersion": "v1", "kind": "Pod"}
    references = [owner_reference(owner, controller=True, block_owner_deletion=True)]
    change = {"metadata": {"ownerReferences": references}}
    world.client.patch(PERSISTENT_VOLUME_CLAIMS, claim, change, world.namespace)
    world.settle()


@given('PersistentVolumeClaim "{claim}" is bound to PersistentVolume "{volume}"')
@when('PersistentVolumeClaim "{claim}" is bound to PersistentVolume "{volume}"')
def _(world: World, claim: str, volume: str) -> None:
    """Complete the binding of a claim and a volume as the controller of volumes does."""
    _bind(world, claim, volume)


@when('a volume "{volume}" on node "{node}" is made for PersistentVolumeClaim "{claim}"')
def _(world: World, volume: str, node: str, claim: str) -> None:
    """Create the volume of a claim as its provisioner does, and complete the binding."""
    stored = world.client.get(PERSISTENT_VOLUME_CLAIMS, claim, world.namespace)
    world.alias(volume + "-class", stored["spec"]["storageClassName"])
    _create_volume(world, volume, volume + "-class", node)
    _bind(world, claim, volume)


def _bind(world: World, claim: str, volume: str) -> None:
    stored = world.client.get(PERSISTENT_VOLUME_CLAIMS, claim, world.namespace)
    name = world.name(volume)
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": claim,
        "namespace": world.namespace,
        "uid": uid_of(stored),
    }
    world.client.patch(PERSISTENT_VOLUMES, name, {"spec": {"claimRef": reference}})
    world.client.patch(PERSISTENT_VOLUMES, name, {"status": {"phase": "Bound"}}, subresource="status")
    done = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    change: Obj = {"metadata": {"annotations": done}, "spec": {"volumeName": name}}
    world.client.patch(PERSISTENT_VOLUME_CLAIMS, claim, change, world.namespace)
    status = {"phase": "Bound", "accessModes": _ACCESS, "capacity": _SIZE}
    world.client.patch(PERSISTENT_VOLUME_CLAIMS, claim, {"status": status}, world.namespace, subresource="status")


@then('PersistentVolume "{volume}" is reserved for PersistentVolumeClaim "{claim}"')
def _(world: World, volume: str, claim: str) -> None:
    """The volume names this very claim."""

    def look() -> Seen[str]:
        wanted = world.client.get(PERSISTENT_VOLUME_CLAIMS, claim, world.namespace)
        stored = world.client.find(PERSISTENT_VOLUMES, world.name(volume)) or {"spec": {}}
        found = stored["spec"].get("claimRef") or {}
        return found.get("uid") == uid_of(wanted), str(found.get("name") or "no claim")

    world.eventually(f"the claim that PersistentVolume {volume} is reserved for", look, expected=claim)


@then('the PersistentVolumes "{volumes}" are reserved for the PersistentVolumeClaims "{claims}", one each')
def _(world: World, volumes: str, claims: str) -> None:
    """Each volume names one of the claims, and no two the same."""
    wanted = sorted(words(claims))

    def look() -> Seen[str]:
        stored = [world.client.find(PERSISTENT_VOLUMES, world.name(name)) or {"spec": {}} for name in words(volumes)]
        found = sorted(str((one["spec"].get("claimRef") or {}).get("name") or "no claim") for one in stored)
        return found == wanted, in_words(found)

    world.eventually(f"the claims that the PersistentVolumes {volumes} are reserved for", look, expected=claims)


@then('PersistentVolume "{volume}" stays free')
def _(world: World, volume: str) -> None:
    """The volume is reserved for no claim."""

    def look() -> Seen[str]:
        stored = world.client.find(PERSISTENT_VOLUMES, world.name(volume)) or {"spec": {}}
        found = stored["spec"].get("claimRef") or {}
        return not found, str(found.get("name") or "no claim")

    world.stays(f"the claim that PersistentVolume {volume} is reserved for", look, expected="no claim")


@then('the node "{node}" is selected for PersistentVolumeClaim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """The claim has the annotation that makes its provisioner make a volume for the node."""

    def look() -> Seen[str]:
        stored = world.client.find(PERSISTENT_VOLUME_CLAIMS, claim, world.namespace) or {}
        found = (meta(stored).get("annotations") or {}).get(_SELECTED_NODE)
        return found == world.name(node), str(found or "no node")

    world.eventually(f"the node selected for PersistentVolumeClaim {claim}", look, expected=world.name(node))


@given('the node "{node}" was selected for PersistentVolumeClaim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """Write the annotation of an earlier decision."""
    change = {"metadata": {"annotations": {_SELECTED_NODE: world.name(node)}}}
    world.client.patch(PERSISTENT_VOLUME_CLAIMS, claim, change, world.namespace)
    world.settle()
