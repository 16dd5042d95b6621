"""Faults of the API server of another release on the same storage: it loses or changes what is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_READ = "apiserver_emulator.release_change:StoredObjects.read_by"
_Change = Callable[[dict[str, Any]], None]


def _reads(patch: Patch, plural: str, change: _Change) -> None:
    """Let a server of another release read objects of one resource with a change."""

    def make(original: Any) -> Any:
        def read_by(self: Any, core: Any, resources: Any) -> None:
            original(self, core, resources)

            def changed(_: Any, record: Any) -> dict[str, Any]:
                obj: dict[str, Any] = record.copy()
                change(obj)
                return obj

            core.store.reread(("resource.k8s.io", plural), changed)

        return read_by

    patch.wrap(_READ, make)


@mutant("allocation-lost-by-another-release", rule="DRA-645")
def _(patch: Patch) -> None:
    """A claim that another release has allocated reads as not allocated."""
    _reads(patch, "resourceclaims", lambda claim: claim.get("status", {}).pop("allocation", None))


@mutant("reservations-lost-by-another-release", rule="DRA-645")
def _(patch: Patch) -> None:
    """A claim that another release has stored reads without reservations."""
    _reads(patch, "resourceclaims", lambda claim: claim.get("status", {}).pop("reservedFor", None))


@mutant("device-status-lost-by-another-release", rule="DRA-645")
def _(patch: Patch) -> None:
    """A claim that another release has stored reads without the status of its devices."""
    _reads(patch, "resourceclaims", lambda claim: claim.get("status", {}).pop("devices", None))


@mutant("capacity-lost-by-another-release", rule="DRA-646")
def _(patch: Patch) -> None:
    """Devices that another release has stored read without capacity."""

    def change(stored: dict[str, Any]) -> None:
        for device in stored["spec"].get("devices") or ():
            device.pop("capacity", None)

    _reads(patch, "resourceslices", change)


@mutant("counters-lost-by-another-release", rule="DRA-646")
def _(patch: Patch) -> None:
    """Counter sets that another release has stored are lost."""
    _reads(patch, "resourceslices", lambda stored: stored["spec"].pop("sharedCounters", None))


@mutant("resource-of-class-lost-by-another-release", rule="DRA-646")
def _(patch: Patch) -> None:
    """A DeviceClass that another release has stored reads without its extended resource."""
    _reads(patch, "deviceclasses", lambda stored: stored["spec"].pop("extendedResourceName", None))


@mutant("taint-rule-not-decoded-by-another-release", rule="DRA-647")
def _(patch: Patch) -> None:
    """A DeviceTaintRule that another release has stored reads without the device that it selects."""
    _reads(patch, "devicetaintrules", lambda stored: stored["spec"].pop("deviceSelector", None))


@mutant("alpha-served-although-off", rule="DRA-648")
def _(patch: Patch) -> None:
    """A restart does not end that older versions are served."""
    patch.wrap(
        "apiserver_emulator.emulator:ApiServerEmulator.restart_as",
        lambda original: lambda self, release, gates, served=None: original(self, release, gates, None),
    )


@mutant("taint-rules-of-alpha-lost", rule="DRA-648")
def _(patch: Patch) -> None:
    """A server that reads what other versions have stored loses the time of a taint."""
    _reads(patch, "devicetaintrules", lambda stored: stored["spec"]["taint"].pop("timeAdded", None))
