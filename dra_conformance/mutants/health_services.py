"""Faults in the choice between the versions of the health service, and in what they carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.rpc import HEALTH_V1ALPHA1, HEALTH_VERSIONS
from dra_conformance.engine.mutation import Patch, mutant

CHOICE = "dra_conformance.kubelet.plugins:choose_health"
WATCHER = "dra_conformance.kubelet.health:HealthWatcher"
SERVER = "dra_api.rpc.server:PluginServer"


@mutant("first-announced-health-service", rule="DRA-573")
def _(patch: Patch) -> None:
    """The kubelet watches the first health service of the driver's list that it knows."""
    patch.replace(CHOICE, lambda versions: next((one for one in versions if one in HEALTH_VERSIONS), ""))


@mutant("health-service-of-1-36", rule="DRA-573")
def _(patch: Patch) -> None:
    """The kubelet knows v1alpha1 of the health service only."""
    patch.replace(CHOICE, lambda versions: HEALTH_V1ALPHA1 if HEALTH_V1ALPHA1 in versions else "")


def _announcing(change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Callable[[Any], Any]:
    """A driver whose GetInfo lists other services."""

    def make(original: Any) -> Any:
        def init(self: Any, *args: Any, **options: Any) -> None:
            original(self, *args, **options)
            self.info = replace(self.info, supported_versions=change(self.info.supported_versions))

        return init

    return make


@mutant("health-v1-not-announced", rule="DRA-573b")
def _(patch: Patch) -> None:
    """The driver announces v1alpha1 of the health service only."""
    kept = (*HEALTH_VERSIONS[1:],)
    change = _announcing(lambda versions: tuple(one for one in versions if one not in HEALTH_VERSIONS or one in kept))
    patch.wrap(f"{SERVER}.__init__", change)


@mutant("older-health-service-omits-a-device", rule="DRA-295b")
def _(patch: Patch) -> None:
    """The first device is missing in the reports of v1alpha1, which a kubelet of 1.37 does not read."""

    def make(original: Any) -> Any:
        def encode(self: Any, devices: Any) -> Any:
            return original(self, devices[1:] if self.service == HEALTH_V1ALPHA1 else devices)

        return encode

    patch.wrap("dra_api.rpc.codec:HealthCodec.encode", make)


@mutant("every-driver-watched", rule="DRA-574")
def _(patch: Patch) -> None:
    """The kubelet opens a health stream to a driver that announces none."""
    patch.wrap(CHOICE, lambda original: lambda versions: original(versions) or HEALTH_V1ALPHA1)


@mutant("health-service-not-announced", rule="DRA-574b")
def _(patch: Patch) -> None:
    """The driver serves the health services without announcing them."""
    change = _announcing(lambda versions: tuple(one for one in versions if one not in HEALTH_VERSIONS))
    patch.wrap(f"{SERVER}.__init__", change)


@mutant("unimplemented-health-retried", rule="DRA-575")
def _(patch: Patch) -> None:
    """The kubelet opens a stream every five seconds although the driver answers UNIMPLEMENTED."""

    def make(original: Any) -> Any:
        def init(self: Any, **options: Any) -> None:
            original(self, **{**options, "retries_unimplemented": True})

        return init

    patch.wrap(f"{WATCHER}.__init__", make)


@mutant("unimplemented-health-remembered", rule="DRA-575")
def _(patch: Patch) -> None:
    """A driver that answered UNIMPLEMENTED once is not watched after it registered again either."""
    unimplemented: set[str] = set()

    def remember(original: Any) -> Any:
        def one_stream(self: Any, instance: Any) -> Any:
            reason, received, supported = original(self, instance)
            if not supported:
                unimplemented.add(instance.driver)
            return reason, received, supported

        return one_stream

    def make(original: Any) -> Any:
        def add(self: Any, instance: Any) -> None:
            if instance.driver not in unimplemented:
                original(self, instance)

        return add

    patch.wrap(f"{WATCHER}._one_stream", remember)
    patch.wrap(f"{WATCHER}.add", make)


def _decoding(version: str, **lost: Any) -> Callable[[Any], Any]:
    """Messages of one version of the health service in which fields are lost."""

    def make(original: Any) -> Any:
        def decode(self: Any, data: bytes) -> Any:
            devices = original(self, data)
            return tuple(replace(one, **lost) for one in devices) if self.service == version else devices

        return decode

    return make


@mutant("health-v1-without-timeout", rule="DRA-578")
def _(patch: Patch) -> None:
    """The timeout of a device is lost in v1."""
    patch.wrap("dra_api.rpc.codec:HealthCodec.decode", _decoding(HEALTH_VERSIONS[0], timeout_seconds=0))


@mutant("health-v1alpha1-without-message", rule="DRA-578")
def _(patch: Patch) -> None:
    """The message of a device is lost in v1alpha1."""
    patch.wrap("dra_api.rpc.codec:HealthCodec.decode", _decoding(HEALTH_V1ALPHA1, message=""))


@mutant(
    "health-of-shares-unknown",
    rule="DRA-295",
    scenario="health/pod_status#each-share-of-a-device-shows-the-health-of-the-device",
)
def _(patch: Patch) -> None:
    """The health of a device is looked up with its share, which no report names."""

    def make(original: Any) -> Any:
        def devices(self: Any, request: str = "") -> Any:
            return [
                (driver, replace(one, device_name=f"{one.device_name}/{one.share_id}") if one.share_id else one)
                for driver, one in original(self, request)
            ]

        return devices

    patch.wrap("dra_conformance.kubelet.claim_cache:ClaimRecord.devices", make)
