"""Mutants of the harness's own kubelet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.errors import KubeletError, PrepareFailed, RegistrationRefused

PLUGINS = "dra_conformance.kubelet.plugins:PluginManager"
CLAIMS = "dra_conformance.kubelet.claims:ClaimManager"
PODS = "dra_conformance.kubelet.pods:PodWorkers"
INSTANCE = "dra_conformance.kubelet.calls:PluginInstance"
RECORD = "dra_conformance.kubelet.claim_cache:ClaimRecord"


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing at all."""


@mutant("registration-status-not-reported", rule="DRA-257")
def _(patch: Patch) -> None:
    """NotifyRegistrationStatus is never called."""
    patch.replace(f"{PLUGINS}._notify", nothing)


@mutant("registration-tried-once", rule="DRA-257b")
def _(patch: Patch) -> None:
    """A registration that failed is not tried again."""
    patch.replace("dra_conformance.kubelet.plugins:WorkQueue.add_rate_limited", nothing)


@mutant("hidden-sockets-registered", rule="DRA-257c")
def _(patch: Patch) -> None:
    """Files whose names begin with a dot are not ignored."""

    def scan(self: Any) -> None:
        for path in set(self._sockets).union(self.folder.iterdir()):
            self._queue.add(path)

    patch.replace(f"{PLUGINS}._scan", scan)


@mutant("always-calls-newest-version", rule="DRA-258")
def _(patch: Patch) -> None:
    """v1 is used whenever it is announced."""
    # Sorted, v1.DRAPlugin comes before v1beta1.DRAPlugin; a kubelet takes the first version that it supports.
    make = lambda original: lambda versions: original(tuple(sorted(versions)))  # noqa: E731
    patch.wrap("dra_conformance.kubelet.plugins:choose_version", make)


@mutant("registers-unsupported-plugins", rule="DRA-259")
def _(patch: Patch) -> None:
    """A plugin without a known service is registered."""
    patch.replace("dra_conformance.kubelet.plugins:choose_version", lambda versions: "v1.DRAPlugin")


@mutant("registers-plugins-of-any-type", rule="DRA-259b")
def _(patch: Patch) -> None:
    """The type of a plugin is not checked."""

    def make(original: Any) -> Any:
        return lambda self, info, path: original(self, replace(info, type="DRAPlugin"), path)

    patch.wrap(f"{PLUGINS}._admit", make)


@mutant("registers-a-plugin-once", rule="DRA-260b")
def _(patch: Patch) -> None:
    """A driver that was registered before is refused."""

    def make(original: Any) -> Any:
        known: set[tuple[str, str]] = set()

        def admit(self: Any, info: Any, path: Any) -> Any:
            if (str(path), info.name) in known:
                raise RegistrationRefused(f"{info.name} was registered before")
            instance = original(self, info, path)
            known.add((str(path), info.name))
            return instance

        return admit

    patch.wrap(f"{PLUGINS}._admit", make)


@mutant("removed-socket-ignored", rule="DRA-260")
def _(patch: Patch) -> None:
    """The kubelet does not observe that a registration socket was removed."""
    patch.replace(f"{PLUGINS}._forget_socket", nothing)


@mutant("calls-the-oldest-instance", rule="DRA-261")
def _(patch: Patch) -> None:
    """Calls go to the instance that registered first."""

    def make(original: Any) -> Any:
        def get(self: Any, driver: str) -> Any:
            several = self.instances(driver)
            # Instances are in the order of their registration.
            return several[0] if several else original(self, driver)

        return get

    patch.wrap(f"{PLUGINS}.get", make)


@mutant("registers-an-endpoint-twice", rule="DRA-262")
def _(patch: Patch) -> None:
    """An endpoint that is registered already is taken again."""

    def make(original: Any) -> Any:
        def admit(self: Any, info: Any, path: Any) -> Any:
            # Without the registered instances the check finds no other one at the endpoint.
            held, self._instances = self._instances, {}
            try:
                return original(self, info, path)
            finally:
                self._instances = {**held, **self._instances}

        return admit

    patch.wrap(f"{PLUGINS}._admit", make)


@mutant("endpoint-of-another-driver-refused", rule="DRA-262")
def _(patch: Patch) -> None:
    """An endpoint can be registered for one driver only."""

    def make(original: Any) -> Any:
        def admit(self: Any, info: Any, path: Any) -> Any:
            if any(one.endpoint == info.endpoint for several in self._instances.values() for one in several):
                raise RegistrationRefused(f"endpoint {info.endpoint} already registered")
            return original(self, info, path)

        return admit

    patch.wrap(f"{PLUGINS}._admit", make)


@mutant("one-call-for-each-claim", rule="DRA-263")
def _(patch: Patch) -> None:
    """Every claim is prepared in a call of its own."""

    def make(original: Any) -> Any:
        def batch(self: Any, driver: str, refs: Any) -> None:
            for ref in refs:
                original(self, driver, [ref])

        return batch

    patch.wrap(f"{CLAIMS}._prepare_batch", make)


@mutant("prepares-only-claims-of-containers", rule="DRA-264")
def _(patch: Patch) -> None:
    """Claims that no container names are not prepared."""

    def make(original: Any) -> Any:
        def claims(pod: Any, **options: Any) -> Any:
            used = {
                use["name"]
                for container in pod["spec"]["containers"]
                for use in (container.get("resources") or {}).get("claims") or ()
            }
            return [claim for claim in original(pod, **options) if claim.local_name in used]

        return claims

    patch.wrap("dra_conformance.kubelet.claims:pod_claims", make)


def _start_anyway(patch: Patch, matches: str) -> None:
    """Start the containers although Prepare failed with a message that holds `matches`."""

    def make(original: Any) -> Any:
        def prepare(self: Any, pod: Any) -> None:
            try:
                original(self, pod)
            except PrepareFailed as error:
                if matches not in str(error):
                    # Other failures still keep the pod from starting.
                    raise

        return prepare

    patch.wrap(f"{CLAIMS}.prepare", make)


@mutant("prepare-errors-ignored", rule="DRA-265")
def _(patch: Patch) -> None:
    """Errors of Prepare are ignored."""
    _start_anyway(patch, "scripted failure")


@mutant("prepare-not-retried", rule="DRA-265")
def _(patch: Patch) -> None:
    """A pod that could not be prepared is left alone."""

    def make(original: Any) -> Any:
        def failed(self: Any, uid: str, message: str) -> None:
            # Only the failure of the scenario: other pods are still retried.
            if "scripted failure" not in message:
                original(self, uid, message)

        return failed

    patch.wrap(f"{PODS}._failed", make)


@mutant("missing-response-entry-ignored", rule="DRA-266")
def _(patch: Patch) -> None:
    """A claim without an entry in the response counts as prepared."""
    _start_anyway(patch, "skipped")


@mutant("entries-for-unknown-claims-ignored", rule="DRA-267")
def _(patch: Patch) -> None:
    """Entries for unknown claims are ignored."""

    def make(original: Any) -> Any:
        def prepare(self: Any, claims: Any, **options: Any) -> Any:
            wanted = {claim.uid for claim in claims}
            return {uid: one for uid, one in original(self, claims, **options).items() if uid in wanted}

        return prepare

    patch.wrap(f"{INSTANCE}.prepare", make)


def _deadline(patch: Patch, seconds: float) -> None:
    """Give drivers another time for their calls."""

    def make(original: Any) -> Any:
        def init(self: Any, **options: Any) -> None:
            original(self, **{**options, "timeout": seconds})

        return init

    patch.wrap(f"{INSTANCE}.__init__", make)


@mutant("prepare-timeout-of-one-hour", rule="DRA-268")
def _(patch: Patch) -> None:
    """The timeout of a call is one hour."""
    _deadline(patch, 3600.0)


@mutant("prepare-timeout-of-20-seconds", rule="DRA-268")
def _(patch: Patch) -> None:
    """The timeout of a call is 20 seconds."""
    _deadline(patch, 20.0)


@mutant("prepares-for-every-pod", rule="DRA-269")
def _(patch: Patch) -> None:
    """A claim that another pod has already is prepared again."""

    def make(original: Any) -> Any:
        def recorded(self: Any, pod: Any, wanted: Any) -> Any:
            for fresh in wanted:
                held = self.cache.get(fresh.key)
                if held is not None:
                    # The original calls the driver for claims that are not prepared.
                    held.prepared = False
            return original(self, pod, wanted)

        return recorded

    patch.wrap(f"{CLAIMS}._recorded", make)


@mutant("checkpointed-claims-not-prepared-again", rule="DRA-270")
def _(patch: Patch) -> None:
    """Claims of the checkpoint count as prepared."""

    def make(original: Any) -> Any:
        def read(path: Any) -> Any:
            # The original sets this only after a call.
            return [replace(record, prepared=True) for record in original(path)]

        return read

    patch.wrap("dra_conformance.kubelet.claim_cache:read_checkpoint", make)


def _devices(patch: Patch, choose: Callable[[Any, str], bool]) -> None:
    """Choose devices of a record otherwise."""

    def devices(self: Any, request: str = "") -> Any:
        for driver, several in self.drivers.items():
            for device in several:
                if choose(device, request):
                    yield driver, device

    patch.replace(f"{RECORD}.devices", devices)


@mutant("every-container-gets-all-requests", rule="DRA-271")
def _(patch: Patch) -> None:
    """The request that a container names is ignored."""
    _devices(patch, lambda device, request: True)


@mutant("drops-devices-without-request", rule="DRA-272")
def _(patch: Patch) -> None:
    """A device without request names belongs to no request."""
    _devices(patch, lambda device, request: not request or request in device.request_names)


@mutant("unprepares-claims-that-were-not-prepared", rule="DRA-273")
def _(patch: Patch) -> None:
    """A pod cannot be deleted without its driver, even if its claims were never prepared."""

    def make(original: Any) -> Any:
        # For the time of the call no driver is registered.
        def validated(self: Any, pod: Any) -> Any:
            plugin, self._plugin = self._plugin, lambda driver: None
            try:
                return original(self, pod)
            finally:
                self._plugin = plugin

        return validated

    patch.wrap(f"{CLAIMS}._validated", make)


@mutant("reserved-for-not-checked", rule="DRA-274")
def _(patch: Patch) -> None:
    """reservedFor is not checked."""
    patch.replace("dra_conformance.kubelet.claims:reserved_for", lambda pod, claim: True)


@mutant("unprepares-with-first-pod", rule="DRA-275")
def _(patch: Patch) -> None:
    """Unprepare is called although another pod uses the claim."""

    def make(original: Any) -> Any:
        def unprepare(self: Any, pod_uid: str) -> Any:
            for record in self.cache.of_pod(pod_uid):
                # The original calls the driver when no other pod is left.
                record.pod_uids = {pod_uid}
            return original(self, pod_uid)

        return unprepare

    patch.wrap(f"{CLAIMS}.unprepare", make)


@mutant("failed-unprepare-ignored", rule="DRA-276")
def _(patch: Patch) -> None:
    """A failed Unprepare does not delay the end of the pod."""

    def make(original: Any) -> Any:
        def unprepare(self: Any, pod: Any, state: Any) -> None:
            try:
                original(self, pod, state)
            except KubeletError:
                return

        return unprepare

    patch.wrap(f"{PODS}._unprepare", make)


@mutant("vanished-pods-not-unprepared", rule="DRA-277")
def _(patch: Patch) -> None:
    """Nothing is unprepared for pods that vanished."""
    patch.replace(f"{PODS}._unprepare_orphan", nothing)


@mutant("claim-matched-by-name", rule="DRA-278")
def _(patch: Patch) -> None:
    """The record of an earlier claim is used for a new claim of the same name."""

    def make(original: Any) -> Any:
        def recorded(self: Any, pod: Any, wanted: Any) -> Any:
            for fresh in wanted:
                held = self.cache.get(fresh.key)
                if held is not None:
                    # Records are found by namespace and name; the UID then looks the same.
                    held.ref = fresh.ref
            return original(self, pod, wanted)

        return recorded

    patch.wrap(f"{CLAIMS}._recorded", make)


@mutant("checkpoint-not-read", rule="DRA-280")
def _(patch: Patch) -> None:
    """The checkpoint is not read."""
    patch.replace("dra_conformance.kubelet.claim_cache:read_checkpoint", lambda path: [])


@mutant("slices-kept-at-start", rule="DRA-285")
def _(patch: Patch) -> None:
    """Slices of the node are not deleted at start."""
    patch.replace(f"{PLUGINS}._wipe", nothing)


@mutant("slices-of-all-nodes-deleted-at-start", rule="DRA-285")
def _(patch: Patch) -> None:
    """All slices are deleted at start."""
    patch.replace(f"{PLUGINS}._list_slices", lambda self, driver: self._client.list(self._slices).items)


@mutant("slices-deleted-after-one-second", rule="DRA-286")
def _(patch: Patch) -> None:
    """Slices are deleted one second after the connection ends."""

    def make(original: Any) -> Any:
        def init(self: Any, **options: Any) -> None:
            original(self, **{**options, "timing": replace(options["timing"], wipe=1.0)})

        return init

    patch.wrap(f"{PLUGINS}.__init__", make)


@mutant("slices-never-deleted", rule="DRA-286")
def _(patch: Patch) -> None:
    """Slices are kept although their driver stopped."""
    patch.replace(f"{PLUGINS}._plan_wipe", nothing)


@mutant("slices-without-node-deleted", rule="DRA-287")
def _(patch: Patch) -> None:
    """All slices of a stopped driver are deleted, even those without a node."""

    def listed(self: Any, driver: str) -> Any:
        return [item for item in self._client.list(self._slices).items if item["spec"]["driver"] == driver]

    patch.replace(f"{PLUGINS}._list_slices", listed)
