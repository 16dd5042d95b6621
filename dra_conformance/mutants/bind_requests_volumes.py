"""Faults in how the binder binds the volumes of a pod; for bind_requests."""

from __future__ import annotations

from typing import Any

from dra_api.objects import controller_of, key_of, meta, name_of
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


@mutant("one-bound-volume-suffices", rule="KAI-460")
def _(patch: Patch) -> None:
    """A pod is bound as soon as one of its claims is bound."""

    def wrapped(original: Any) -> Any:
        def bind(self: Any, pod: Any, node: Any) -> bool:
            bound: bool = original(self, pod, node)
            volumes = [one["persistentVolumeClaim"] for one in pod["spec"]["volumes"] if "persistentVolumeClaim" in one]
            names = [one["claimName"] for one in volumes]
            found = [self._claim(pod, name, ephemeral=False) for name in names]
            return bound or any("pv.kubernetes.io/bind-completed" in meta(one).get("annotations", {}) for one in found)

        return bind

    patch.wrap(f"{VOLUMES}._bind", wrapped)


@mutant("first-volume-claim-wakes", rule="KAI-460")
def _(patch: Patch) -> None:
    """A change of the pod's first claim only makes the binder look at its volumes again."""

    def wrapped(original: Any) -> Any:
        def on_claim(self: Any, change: Any) -> None:
            if any(wait.claims[0] == name_of(change.object) for wait in list(self._waiting.values())):
                original(self, change)

        return on_claim

    patch.wrap(f"{VOLUMES}.on_claim", wrapped)


@mutant("annotations-of-volumes-replaced", rule="KAI-460")
def _(patch: Patch) -> None:
    """A reserved volume has no annotations but the binder's."""

    def wrapped(original: Any) -> Any:
        return lambda volume, claim: original({**volume, "metadata": {**meta(volume), "annotations": {}}}, claim)

    patch.wrap(f"{MODULE}:reserved", wrapped)


@mutant("topologies-met-in-part", rule="KAI-462")
def _(patch: Patch) -> None:
    """A topology of a StorageClass admits a node that meets one of its expressions."""

    def wrapped(original: Any) -> Any:
        def can_provision(storage_class: Any, node: Any) -> Any:
            terms = [
                {"matchLabelExpressions": [item]}
                for term in storage_class.get("allowedTopologies") or ()
                for item in term["matchLabelExpressions"]
            ]
            return original({**storage_class, "allowedTopologies": terms}, node)

        return can_provision

    patch.wrap(f"{MODULE}:can_provision", wrapped)


@mutant("volume-claims-compared-by-name", rule="KAI-490")
def _(patch: Patch) -> None:
    """A volume is a claim's if the names are equal, in whatever namespace and of whatever uid."""

    def is_reserved(volume: Any, claim: Any) -> bool:
        return bool((volume["spec"].get("claimRef") or {}).get("name") == name_of(claim))

    patch.replace(f"{MODULE}:is_reserved", is_reserved)


@mutant("largest-volume-reserved", rule="KAI-490")
def _(patch: Patch) -> None:
    """Of several volumes that fit, the largest is reserved."""

    def wrapped(original: Any) -> Any:
        def writes_for(self: Any, claim: Any, node: Any, taken: Any) -> Any:
            others = list(taken)
            writes = original(self, claim, node, others)
            while writes and writes[0].resource.plural == "persistentvolumes":
                others.append(name_of(writes[0].obj))
                try:
                    larger = original(self, claim, node, others)
                except BindFailure:
                    break
                if not larger:
                    break
                writes = larger
            return writes

        return writes_for

    patch.wrap(f"{VOLUMES}._writes_for", wrapped)


@mutant("small-volume-reserved", rule="KAI-490")
def _(patch: Patch) -> None:
    """The size of a volume is not compared with the request."""
    patch.replace(f"{MODULE}:_requested", lambda spec: 0)


@mutant("volume-of-any-phase-reserved", rule="KAI-490")
def _(patch: Patch) -> None:
    """A volume without claim is free, whatever its phase is."""
    patch.replace(f"{MODULE}:is_free", lambda volume: not volume["spec"].get("claimRef"))


@mutant("access-modes-ignored", rule="KAI-490")
def _(patch: Patch) -> None:
    """The access modes of a volume are not compared with those of the claim."""

    def wrapped(original: Any) -> Any:
        return lambda volume, claim: original(volume, {**claim, "spec": {**claim["spec"], "accessModes": []}})

    patch.wrap(f"{MODULE}:fits", wrapped)


@mutant("one-access-mode-is-enough", rule="KAI-490")
def _(patch: Patch) -> None:
    """A volume fits that has one of the access modes of the claim."""

    def wrapped(original: Any) -> Any:
        def fits(volume: Any, claim: Any) -> bool:
            spec = claim["spec"]
            return any(
                original(volume, {**claim, "spec": {**spec, "accessModes": [mode]}}) for mode in spec["accessModes"]
            )

        return fits

    patch.wrap(f"{MODULE}:fits", wrapped)


@mutant("ephemeral-claims-compared-by-name", rule="KAI-491")
def _(patch: Patch) -> None:
    """The claim of an ephemeral volume is a pod's if its owner has the pod's name."""

    def wrapped(original: Any) -> Any:
        def claim_of(self: Any, pod: Any, name: str, *, ephemeral: bool) -> Any:
            found = original(self, pod, name, ephemeral=False)
            if ephemeral and (controller_of(found) or {}).get("name") != name_of(pod):
                raise BindFailure(f"the claim {name} belongs to another pod")
            return found

        return claim_of

    patch.wrap(f"{VOLUMES}._claim", wrapped)


@mutant("ephemeral-claims-of-others-used", rule="KAI-491")
def _(patch: Patch) -> None:
    """The owner of an ephemeral volume's claim is not looked at."""

    def wrapped(original: Any) -> Any:
        return lambda self, pod, name, *, ephemeral: original(self, pod, name, ephemeral=False)

    patch.wrap(f"{VOLUMES}._claim", wrapped)


@mutant("ephemeral-claims-refused", rule="KAI-491")
def _(patch: Patch) -> None:
    """The claim of an ephemeral volume is searched under the name of the volume."""

    def claims_of(pod: Any) -> Any:
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("ephemeral"):
                yield str(volume["name"]), True

    patch.replace(f"{MODULE}:_claims_of", claims_of)


@mutant("volume-timeout-starts-again", rule="KAI-492")
def _(patch: Patch) -> None:
    """Each look at the volumes starts their time again."""

    def wrapped(original: Any) -> Any:
        def require_bound(self: Any, pod: Any, node: Any) -> None:
            self._waiting.pop(key_of(pod), None)
            original(self, pod, node)

        return require_bound

    patch.wrap(f"{VOLUMES}.require_bound", wrapped)
