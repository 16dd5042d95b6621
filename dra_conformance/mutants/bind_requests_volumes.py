"""Faults in how the binder binds the volumes of a pod; for bind_requests."""

from __future__ import annotations

from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binder.failure import BindFailure

MODULE = "reference_impl.binder.volumes"
VOLUMES = f"{MODULE}:Volumes"


@mutant("volumes-left-to-their-controller", rule="KAI-460")
def _(patch: Patch) -> None:
    """The binder does not look at volumes."""
    patch.replace(f"{VOLUMES}.require_bound", lambda self, pod, node: None)


@mutant("volumes-not-awaited", rule="KAI-460")
def _(patch: Patch) -> None:
    """The pod is bound as soon as its volumes are reserved."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, pod: Any, node: Any) -> bool:
            original(self, pod, node)
            return True

        return bind

    patch.wrap(f"{VOLUMES}._bind", wrapped)


@mutant("end-of-volumes-unnoticed", rule="KAI-460")
def _(patch: Patch) -> None:
    """The binder looks at the volumes again at the timeout only."""
    patch.replace(f"{VOLUMES}.on_claim", lambda self, change: None)


@mutant("volume-of-any-node-reserved", rule="KAI-460")
def _(patch: Patch) -> None:
    """The node affinity of volumes is ignored."""
    patch.replace(f"{MODULE}:is_usable_on", lambda volume, node: True)


@mutant("first-volume-claim-only", rule="KAI-460")
def _(patch: Patch) -> None:
    """Of several claims of a pod, the first one is bound."""
    patch.wrap(f"{MODULE}:_claims_of", lambda original: lambda pod: list(original(pod))[:1])


@mutant("no-node-selected-for-volumes", rule="KAI-461")
def _(patch: Patch) -> None:
    """No node is selected, so that no volume is made."""

    def wrapped(original: Any) -> Any:
        def writes_for(self: Any, claim: Any, node: Any, taken: Any) -> Any:
            return [one for one in original(self, claim, node, taken) if one.resource.plural == "persistentvolumes"]

        return writes_for

    patch.wrap(f"{VOLUMES}._writes_for", wrapped)


@mutant("provisioned-volumes-not-awaited", rule="KAI-461")
def _(patch: Patch) -> None:
    """A claim with a selected node counts as bound."""

    def wrapped(original: Any) -> Any:
        def is_bound(claim: Any) -> bool:
            bound: bool = original(claim)
            selected = "volume.kubernetes.io/selected-node" in (claim["metadata"].get("annotations") or {})
            return bound or (selected and not claim["spec"].get("volumeName"))

        return is_bound

    def usable(original: Any) -> Any:
        def check(self: Any, claim: Any, node: Any) -> None:
            if claim["spec"].get("volumeName"):
                original(self, claim, node)

        return check

    patch.wrap(f"{MODULE}:is_bound", wrapped)
    patch.wrap(f"{VOLUMES}._check", usable)


@mutant("missing-volume-claim-ignored", rule="KAI-462")
def _(patch: Patch) -> None:
    """Claims that do not exist are left out."""

    def wrapped(original: Any) -> Any:
        def require_bound(self: Any, pod: Any, node: Any) -> None:
            try:
                original(self, pod, node)
            except BindFailure as failure:
                if "does not exist" not in str(failure):
                    raise

        return require_bound

    patch.wrap(f"{VOLUMES}.require_bound", wrapped)


@mutant("immediate-volumes-awaited", rule="KAI-462")
def _(patch: Patch) -> None:
    """A claim that waits for no consumer is treated as one that does."""

    def wrapped(original: Any) -> Any:
        def class_of(self: Any, claim: Any) -> Any:
            found = original(self, claim)
            return found and {**found, "volumeBindingMode": "WaitForFirstConsumer"}

        return class_of

    patch.wrap(f"{VOLUMES}._class_of", wrapped)


@mutant("nodes-without-volumes-selected", rule="KAI-462")
def _(patch: Patch) -> None:
    """The name of the provisioner is not looked at, so that the pod waits for a volume that nothing makes."""
    patch.replace(f"{MODULE}:_NO_PROVISIONER", "unused")


@mutant("claims-before-volumes", rule="KAI-463")
def _(patch: Patch) -> None:
    """Volumes are bound after the claims of devices were written."""
    patch.replace(f"{VOLUMES}.require_bound", lambda self, pod, node: None)

    def wrapped(original: Any) -> Any:
        def require_ready(self: Any, pod: Any, claims: Any) -> None:
            raise RuntimeError("volumes are not bound")

        return require_ready

    patch.wrap("reference_impl.binder.devices:DeviceWaits.require_ready", wrapped)
    patch.replace("reference_impl.binder.reconcile:Binder.roll_back", lambda self, request, pod: "")


@mutant("bound-volumes-not-looked-at", rule="KAI-466")
def _(patch: Patch) -> None:
    """Bound claims are not compared with the node."""

    def wrapped(original: Any) -> Any:
        def check(self: Any, claim: Any, node: Any) -> None:
            if "pv.kubernetes.io/bind-completed" not in (claim["metadata"].get("annotations") or {}):
                original(self, claim, node)

        return check

    patch.wrap(f"{VOLUMES}._check", wrapped)


@mutant("bound-volumes-refused", rule="KAI-466")
def _(patch: Patch) -> None:
    """A volume with a node affinity is refused on each node."""
    patch.replace(f"{MODULE}:is_usable_on", lambda volume, node: False)


@mutant("selected-node-overwritten", rule="KAI-467")
def _(patch: Patch) -> None:
    """The annotation of an earlier decision is ignored and replaced."""

    def wrapped(original: Any) -> Any:
        def claim_of(self: Any, pod: Any, name: str, *, ephemeral: bool) -> Any:
            found = original(self, pod, name, ephemeral=ephemeral)
            found["metadata"].get("annotations", {}).pop("volume.kubernetes.io/selected-node", None)
            return found

        return claim_of

    patch.wrap(f"{VOLUMES}._claim", wrapped)
