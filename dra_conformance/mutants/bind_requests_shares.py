"""Faults in how the binder gives pods shares of GPUs; for bind_requests/binder_shares."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

from dra_api.client import ApiError
from dra_api.objects import BIND_REQUESTS, PODS, Obj, meta, name_of, uid_of
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.binder.failure import BindFailure
from reference_impl.binder.fractions import share_of
from reference_impl.binder.reservations import reservation_pod
from reference_impl.gpu_groups import GROUP_LABEL, groups_of

_RESERVATIONS = "reference_impl.binder.reservations:Reservations"
_SHARED = "reference_impl.binder.shared_gpus:SharedGpus"
_SCENARIOS = "bind_requests/binder_shares#"


@mutant("binder-reservation-without-gpu", rule="KAI-203")
def _(patch: Patch) -> None:
    """The reservation pod requests no GPU."""

    def wrapped(original: Any) -> Any:
        def reservation_pod(*arguments: Any) -> Obj:
            pod: Obj = original(*arguments)
            del pod["spec"]["containers"][0]["resources"]
            return pod

        return reservation_pod

    patch.wrap("reference_impl.binder.reservations:reservation_pod", wrapped)


@mutant("binder-binds-before-the-label", rule="KAI-204")
def _(patch: Patch) -> None:
    """The ConfigMaps are written before the pod has the label of its group."""

    def commit(self: Any, pod: Obj, node: str, share: Any) -> None:
        for name, data in share.config_maps(("3",)).items():
            self._write(pod, name, data)
        indices = self.reservations.reserve(pod, node, share)
        for name, data in share.config_maps(indices).items():
            self._write(pod, name, data)

    patch.replace(f"{_SHARED}.commit", commit)


@mutant("binder-visible-devices-in-settings", rule="KAI-204")
def _(patch: Patch) -> None:
    """The visible devices are in the ConfigMap that the container does not refer to."""

    def wrapped(original: Any) -> Any:
        def share_of(request: Obj, pod: Obj) -> Any:
            share = original(request, pod)
            return None if share is None else replace(share, is_referred=True)

        return share_of

    patch.wrap("reference_impl.binder.fractions:share_of", wrapped)


@mutant("binder-keeps-config-maps-of-other-pods", rule="KAI-204b")
def _(patch: Patch) -> None:
    """A ConfigMap with the right data is kept, whichever pod owns it."""
    patch.replace("reference_impl.binder.shared_gpus:is_owned_by", lambda obj, pod: True)


@mutant("binder-keeps-late-reservations", rule="KAI-205")
def _(patch: Patch) -> None:
    """A reservation pod that does not report its GPU stays."""
    patch.replace(f"{_RESERVATIONS}._delete", lambda self, reservation: None)


@mutant("binder-reserves-for-each-pod", rule="KAI-206")
def _(patch: Patch) -> None:
    """Each pod gets a reservation pod of its own."""

    def reserve(original: Any) -> Any:
        def wrapped(self: Any, pod: Obj, node: str, share: Any) -> Any:
            own = copy(self)
            own.consumer = name_of(pod)
            return original(own, pod, node, share)

        return wrapped

    def held(original: Any) -> Any:
        return lambda self, group: [
            one for one in original(self, group) if name_of(one).endswith(getattr(self, "consumer", ""))
        ]

    def create(self: Any, node: str, group: str) -> Obj:
        wanted = reservation_pod(node, group, self._options)
        wanted["metadata"]["name"] += f"-{self.consumer}"
        return dict(self._client.create(PODS, wanted))

    patch.wrap(f"{_RESERVATIONS}.reserve", reserve)
    patch.wrap(f"{_RESERVATIONS}._held", held)
    patch.replace(f"{_RESERVATIONS}._create", create)


@mutant("binder-sorts-gpus", rule="KAI-207")
def _(patch: Patch) -> None:
    """The GPUs are sorted by their index."""

    def wrapped(original: Any) -> Any:
        def config_maps(self: Any, indices: tuple[str, ...]) -> Any:
            return original(self, tuple(sorted(indices)))

        return config_maps

    patch.wrap("reference_impl.binder.fractions:PodShare.config_maps", wrapped)


@mutant("binder-one-label-for-two-groups", rule="KAI-207")
def _(patch: Patch) -> None:
    """A pod with two groups has the label of one."""
    patch.replace("reference_impl.binder.fractions:_label", lambda pod, groups, group: "runai-gpu-group")


@mutant("binder-shares-without-config-maps", rule="KAI-208")
def _(patch: Patch) -> None:
    """A pod that names no ConfigMaps is bound without its share."""

    def wrapped(original: Any) -> Any:
        def share_of(request: Obj, pod: Obj) -> Any:
            try:
                return original(request, pod)
            except BindFailure:
                return None

        return share_of

    patch.wrap("reference_impl.binder.fractions:share_of", wrapped)


@mutant("binder-keeps-shares-after-failure", rule="KAI-209")
def _(patch: Patch) -> None:
    """Nothing of a share is undone after a failure."""
    patch.replace(f"{_SHARED}.roll_back", lambda self, request, pod: None)


@mutant("binder-keeps-labels-after-failure", rule="KAI-209")
def _(patch: Patch) -> None:
    """The pod stays in its group after a failure."""
    patch.replace(f"{_RESERVATIONS}.remove_labels", lambda self, pod, share: None)


@mutant("binder-keeps-config-maps-after-failure", rule="KAI-209")
def _(patch: Patch) -> None:
    """The label is removed after a failure, and the ConfigMaps stay."""

    def withdraw(self: Any, request: Obj, pod: Obj) -> None:
        share = share_of(request, pod)
        if share is not None:
            self.reservations.remove_labels(pod, share)

    patch.replace(f"{_SHARED}._withdraw", withdraw)


@mutant("binder-keeps-reservations-after-failure", rule="KAI-209b")
def _(patch: Patch) -> None:
    """The reservation pod stays for as long as there is a BindRequest of its group."""

    def wrapped(original: Any) -> Any:
        def release_unused(self: Any, group: str, *, ended: str = "") -> None:
            if not any(group in groups_of(request) for request in self._client.list(BIND_REQUESTS).items):
                original(self, group, ended=ended)

        return release_unused

    patch.wrap(f"{_RESERVATIONS}.release_unused", wrapped)


@mutant("binder-deletes-reservations-after-failure", rule="KAI-209b")
def _(patch: Patch) -> None:
    """A failure deletes the reservation pods of its groups, also those of other pods."""

    def wrapped(original: Any) -> Any:
        def release_unused(self: Any, group: str, *, ended: str = "") -> None:
            if not ended:
                original(self, group)
                return
            for one in self._held(group):
                self._delete(one)

        return release_unused

    patch.wrap(f"{_RESERVATIONS}.release_unused", wrapped)


@mutant("binder-releases-at-the-first-end", rule="KAI-212")
def _(patch: Patch) -> None:
    """The reservation pod goes with the first consumer."""
    patch.replace(f"{_RESERVATIONS}._has_consumer", lambda self, group: False)


@mutant("binder-releases-groups-of-pods-with-several", rule="KAI-212")
def _(patch: Patch) -> None:
    """A pod with several GPU groups is a consumer of none of them."""

    def wrapped(original: Any) -> Any:
        def consumers(self: Any, group: str) -> Any:
            return [pod for pod in original(self, group) if GROUP_LABEL in pod["metadata"]["labels"]]

        return consumers

    patch.wrap(f"{_RESERVATIONS}._consumers", wrapped)


@mutant("binder-keeps-unused-reservations", rule="KAI-212")
def _(patch: Patch) -> None:
    """A reservation pod without consumers stays."""
    patch.replace(f"{_RESERVATIONS}.release_unused", lambda self, group, *, ended="": None)


@mutant("binder-forgets-refused-deletions", rule="KAI-212")
def _(patch: Patch) -> None:
    """A deletion of a reservation pod that the API server refuses is never repeated."""
    refused: set[str] = set()

    def wrapped(original: Any) -> Any:
        def delete(self: Any, reservation: Obj) -> None:
            if uid_of(reservation) in refused:
                return
            try:
                original(self, reservation)
            except ApiError:
                refused.add(uid_of(reservation))

        return delete

    patch.wrap(f"{_RESERVATIONS}._delete", wrapped)


@mutant("binder-forgets-waiting-shares", rule="KAI-210")
def _(patch: Patch) -> None:
    """A reservation pod goes with its last pod, whatever BindRequests wait."""
    patch.replace(f"{_RESERVATIONS}._is_wanted", lambda self, group, ended: False)


@mutant("binder-reserves-for-failed-shares", rule="KAI-210")
def _(patch: Patch) -> None:
    """A BindRequest that has failed keeps the reservation pods of its groups."""

    def wrapped(original: Any) -> Any:
        def may_reserve(request: Obj, group: str) -> bool:
            return bool(original({**request, "status": {}}, group))

        return may_reserve

    patch.wrap("reference_impl.binder.fractions:may_reserve", wrapped)


@mutant("binder-keeps-reservations-of-deleted-requests", rule="KAI-210b")
def _(patch: Patch) -> None:
    """The deletion of a BindRequest ends no reservation."""

    def wrapped(original: Any) -> Any:
        def on_bind_request(self: Any, change: Any) -> None:
            if change.type != "DELETED":
                original(self, change)

        return on_bind_request

    patch.wrap("reference_impl.binder.reconcile:Binder._on_bind_request", wrapped)


@mutant("binder-looks-after-one-group-of-a-deleted-request", rule="KAI-210b")
def _(patch: Patch) -> None:
    """Only the first GPU group of a deleted BindRequest is looked after."""

    def wrapped(original: Any) -> Any:
        def on_bind_request(self: Any, change: Any) -> None:
            if change.type == "DELETED":
                spec = {**change.object["spec"], "selectedGPUGroups": change.object["spec"]["selectedGPUGroups"][:1]}
                change = replace(change, object={**change.object, "spec": spec})
            original(self, change)

        return on_bind_request

    patch.wrap("reference_impl.binder.reconcile:Binder._on_bind_request", wrapped)


@mutant("binder-leaves-unreserved-pods", rule="KAI-211")
def _(patch: Patch) -> None:
    """A running pod without reservation stays."""
    patch.replace(f"{_RESERVATIONS}.delete_unreserved", lambda self, group: None)


@mutant("binder-deletes-starting-pods", rule="KAI-211")
def _(patch: Patch) -> None:
    """A pending pod without reservation is deleted as well."""
    patch.replace("reference_impl.binder.pods:is_running", lambda pod: True)


@mutant("binder-reserves-while-nodes-come", rule="KAI-213")
def _(patch: Patch) -> None:
    """Unschedulable pods of the scale-adjust namespace are not looked at."""
    patch.replace(f"{_RESERVATIONS}._unschedulable", lambda self: "")


@mutant("binder-waits-for-unjudged-pods", rule="KAI-213")
def _(patch: Patch) -> None:
    """A pod of the scale-adjust namespace without the condition counts as unschedulable."""

    def unschedulable(self: Any) -> str:
        namespace = self._options.scale_adjust_namespace
        pods = self._client.list(PODS, namespace).items if namespace else ()
        return "pod" if any(not (pod.get("status") or {}).get("conditions") for pod in pods) else ""

    patch.replace(f"{_RESERVATIONS}._unschedulable", unschedulable)


@mutant("binder-ignores-cdi", rule="KAI-214")
def _(patch: Patch) -> None:
    """The visible devices are indices in spite of CDI."""
    patch.replace("reference_impl.binder.fractions:cdi_devices", lambda indices: indices)


@mutant("binder-start-forgets-reservations-without-pods", rule="KAI-212b")
def _(patch: Patch) -> None:
    """A binder that starts looks at the groups of the pods that exist, and not at those of reservation pods."""

    def wrapped(original: Any) -> Any:
        def start(self: Any) -> None:
            namespace, self.options = self.options, replace(self.options, reservation_namespace="none")
            original(self)
            self.options = namespace

        return start

    patch.wrap("reference_impl.binder.reconcile:Binder.start", wrapped)


@mutant("binder-reads-the-variables-of-the-first-container", rule="KAI-204c")
def _(patch: Patch) -> None:
    """Where the visible devices belong is decided by the first container of the pod."""

    def wrapped(original: Any) -> Any:
        return lambda pod: (original(pod)[0], pod["spec"]["containers"][0])

    patch.wrap("reference_impl.binder.fractions:_container", wrapped)


@mutant(
    "binder-counts-the-time-of-a-group-once",
    rule="KAI-205",
    scenario=f"{_SCENARIOS}a-reservation-pod-that-is-created-again-has-its-time-to-report-its-gpu",
)
def _(patch: Patch) -> None:
    """A reservation pod of a name that was given up before has no time left."""
    expired: set[str] = set()

    def wrapped(original: Any) -> Any:
        def seconds_left(self: Any, reservation: Obj) -> Any:
            if name_of(reservation) in expired:
                self._since[uid_of(reservation)] = float("-inf")
            try:
                return original(self, reservation)
            except BindFailure:
                expired.add(name_of(reservation))
                raise

        return seconds_left

    patch.wrap(f"{_RESERVATIONS}._seconds_left", wrapped)


@mutant("binder-undoes-shares-of-bound-pods", rule="KAI-209c")
def _(patch: Patch) -> None:
    """A share is undone after a failed call, before it is known whether the pod is bound."""

    def wrapped(original: Any) -> Any:
        def roll_back(self: Any, request: Obj, pod: Obj) -> Any:
            if self.shares is not None:
                self.shares.roll_back(request, pod)
            return original(self, request, pod)

        return roll_back

    patch.wrap("reference_impl.binder.reconcile:Binder.roll_back", wrapped)


@mutant(
    "binder-forgets-shares-that-are-tried-again",
    rule="KAI-210",
    scenario=f"{_SCENARIOS}a-reservation-pod-stays-for-a-bindrequest-that-has-failed-and-is-tried-again",
)
def _(patch: Patch) -> None:
    """A BindRequest that has failed keeps no reservation pod, also if it is tried again."""

    def wrapped(original: Any) -> Any:
        return lambda request, group: (
            original(request, group) and (request.get("status") or {}).get("phase") != "Failed"
        )

    patch.wrap("reference_impl.binder.fractions:may_reserve", wrapped)


@mutant(
    "binder-forgets-pods-that-are-being-deleted",
    rule="KAI-212",
    scenario=f"{_SCENARIOS}a-reservation-pod-stays-while-the-last-pod-of-its-group-is-being-deleted",
)
def _(patch: Patch) -> None:
    """A pod that is being deleted needs no reservation."""

    def wrapped(original: Any) -> Any:
        return lambda self, group: (pod for pod in original(self, group) if not meta(pod).get("deletionTimestamp"))

    patch.wrap(f"{_RESERVATIONS}._consumers", wrapped)
