"""Mutants of the emulated kubelet that lose or change values: in calls, in the checkpoint, and in containers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.kubelet.cdi_schema import CDI_SCHEMA
from dra_conformance.kubelet.errors import CheckpointCorrupt
from dra_conformance.mutants.kubelet import CLAIMS, INSTANCE, PLUGINS, RECORD, nothing
from dra_conformance.mutants.kubelet_shared import REGISTRY

CDI = "dra_conformance.kubelet.cdi"
STATUS = "dra_conformance.kubelet.pod_status"


@mutant("unprepare-without-namespaces", rule="DRA-275")
def _(patch: Patch) -> None:
    """The claims in Unprepare calls have no namespace."""

    def make(original: Any) -> Any:
        def unprepare(self: Any, claims: Any, **options: Any) -> Any:
            return original(self, [replace(claim, namespace="") for claim in claims], **options)

        return unprepare

    patch.wrap(f"{INSTANCE}.unprepare", make)


@mutant("unprepares-only-claims-with-devices", rule="DRA-275")
def _(patch: Patch) -> None:
    """A claim whose Prepare has never succeeded is released without a call."""

    def make(original: Any) -> Any:
        def to_call(self: Any, operation: str) -> Any:
            return original(self, operation) if operation.startswith("NodeP") or any(self.drivers.values()) else []

        return to_call

    patch.wrap(f"{RECORD}.to_call", make)


@contextmanager
def _silenced(owner: Any, method: str) -> Iterator[None]:
    """Let a method of one object do nothing for a while."""
    setattr(owner, method, nothing)
    try:
        yield
    finally:
        delattr(owner, method)


def _without_checkpoint(patch: Patch, method: str) -> None:
    """Let a method of the claim manager write no checkpoint."""

    def make(original: Any) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            with _silenced(self.cache, "checkpoint"):
                return original(self, *arguments)

        return call

    patch.wrap(f"{CLAIMS}.{method}", make)


@mutant("checkpoint-written-after-prepare", rule="DRA-280")
def _(patch: Patch) -> None:
    """A claim is in the checkpoint only after its Prepare succeeded."""
    _without_checkpoint(patch, "_recorded")


@mutant("unprepared-claims-stay-in-the-checkpoint", rule="DRA-280")
def _(patch: Patch) -> None:
    """A claim stays in the checkpoint after Unprepare until the next claim is prepared."""
    _without_checkpoint(patch, "unprepare")


@mutant("damaged-checkpoint-ignored", rule="DRA-280b")
def _(patch: Patch) -> None:
    """A kubelet whose checkpoint cannot be read starts without claims."""

    def make(original: Any) -> Any:
        def read(path: Any) -> Any:
            try:
                return original(path)
            except CheckpointCorrupt:
                return []

        return read

    patch.wrap("dra_conformance.kubelet.claim_cache:read_checkpoint", make)


def _devices_of_the_checkpoint(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Change each device that is read from the checkpoint."""

    def make(original: Any) -> Any:
        def read(path: Any) -> Any:
            records = original(path)
            for record in records:
                several = record.drivers.items()
                record.drivers = {driver: tuple(change(one) for one in devices) for driver, devices in several}
            return records

        return read

    patch.wrap("dra_conformance.kubelet.claim_cache:read_checkpoint", make)


@mutant("checkpoint-without-requests", rule="DRA-295")
def _(patch: Patch) -> None:
    """After a restart the kubelet does not know which request a device is for."""
    _devices_of_the_checkpoint(patch, lambda device: replace(device, request_names=()))


@mutant("checkpoint-without-cdi-ids", rule="DRA-295")
def _(patch: Patch) -> None:
    """After a restart the kubelet does not know the CDI ids of devices."""
    _devices_of_the_checkpoint(patch, lambda device: replace(device, cdi_device_ids=()))


@mutant(
    "checkpoint-without-skipped-operations",
    rule="DRA-281",
    kubernetes_version="1.37",
    feature_gates=("DRAOptionalNodeOperations=true",),
)
def _(patch: Patch) -> None:
    """After a restart the kubelet does not know which operations of a claim are skipped."""

    def make(original: Any) -> Any:
        return lambda path: [replace(record, skipped={}) for record in original(path)]

    patch.wrap("dra_conformance.kubelet.claim_cache:read_checkpoint", make)


@mutant("registration-calls-of-one-hour", rule="DRA-257b")
def _(patch: Patch) -> None:
    """The kubelet waits one hour for a plugin that does not answer GetInfo or NotifyRegistrationStatus."""

    def make(original: Any) -> Any:
        def init(self: Any, **options: Any) -> None:
            original(self, **{**options, "timing": replace(options["timing"], registration=3600.0)})

        return init

    patch.wrap(f"{PLUGINS}.__init__", make)


@mutant("cdi-kinds-not-checked", rule="DRA-271d")
def _(patch: Patch) -> None:
    """Any text is the kind of a CDI specification."""
    properties = {**CDI_SCHEMA["properties"], "kind": {"type": "string", "pattern": "/"}}
    patch.replace(f"{CDI}:CDI_SCHEMA_TEXT", json.dumps({**CDI_SCHEMA, "properties": properties}))


@mutant("cdi-devices-declared-twice", rule="DRA-271d")
def _(patch: Patch) -> None:
    """Of two devices with one name in a CDI specification the last one counts."""

    def make(original: Any) -> Any:
        return lambda document: [reason for reason in original(document) if "declared twice" not in reason]

    patch.wrap(f"{CDI}:validate_spec", make)


@mutant("conflict-hides-the-rest-of-its-file", rule="DRA-271d")
def _(patch: Patch) -> None:
    """No device of a CDI specification is found if another specification declares one of them."""

    def make(original: Any) -> Any:
        def read(cls: Any, folders: Any) -> Any:
            found = original(cls, folders)
            hidden = {one.path for one in found.problems}
            return replace(found, devices={name: d for name, d in found.devices.items() if d.spec.path not in hidden})

        return read

    patch.wrap(f"{REGISTRY}.read", make)


@mutant("cdi-folders-of-one-priority", rule="DRA-271f")
def _(patch: Patch) -> None:
    """Every CDI specification has the priority of the first folder."""
    patch.wrap(f"{CDI}:read_spec", lambda original: lambda path, **_: original(path))


@mutant("cdi-device-of-the-first-folder", rule="DRA-271f")
def _(patch: Patch) -> None:
    """The folder that is read first wins."""
    patch.wrap(f"{REGISTRY}.read", lambda original: lambda cls, folders: original(cls, folders[::-1]))


@mutant("only-the-first-unresolvable-device-named", rule="DRA-271d")
def _(patch: Patch) -> None:
    """The event of a pod names one CDI device that is in no specification, although there are several."""
    patch.wrap(f"{REGISTRY}._explain", lambda original: lambda self, missing: original(self, missing[:1]))


@mutant("device-nodes-without-numbers", rule="DRA-271c")
def _(patch: Patch) -> None:
    """A device node in a container has no major and minor number."""

    def make(original: Any) -> Any:
        return lambda raw: replace(original(raw), major=None, minor=None)

    patch.wrap("dra_conformance.kubelet.container_view:_device_node", make)


@mutant("mounts-the-wrong-way-round", rule="DRA-271c")
def _(patch: Patch) -> None:
    """The path in the container is mounted instead of that of the host."""

    def make(original: Any) -> Any:
        def view(*arguments: Any) -> Any:
            found = original(*arguments)
            return replace(found, mounts=tuple(replace(one, host_path=one.container_path) for one in found.mounts))

        return view

    patch.wrap("dra_conformance.kubelet.pods:build_view", make)


@mutant("deleted-pods-fail", rule="DRA-275b")
def _(patch: Patch) -> None:
    """The containers of a deleted pod count as failed if their Unprepare was tried again."""
    # Without its start, which the status has, a pod whose containers were ended at the first attempt never ran.
    patch.replace("dra_conformance.kubelet.pods:_started_at", lambda pod: "")


@mutant("running-containers-without-ids", rule="DRA-265b")
def _(patch: Patch) -> None:
    """The status of a container that runs has no id."""

    def make(original: Any) -> Any:
        def status(*arguments: Any, **options: Any) -> Any:
            return {key: value for key, value in original(*arguments, **options).items() if key != "containerID"}

        return status

    patch.wrap(f"{STATUS}:_container", make)


def _one_deletion(patch: Patch, *, at_start: bool) -> None:
    """Do not retry a failed deletion of slices: of those of the node at the start, or of those of one driver."""

    def make(original: Any) -> Any:
        def wipe(self: Any, driver: str, due: float = 0.0) -> None:
            if (driver == "") is not at_start:
                original(self, driver, due)
                return
            with _silenced(self._wipes, "add_rate_limited"):
                original(self, driver, due)

        return wipe

    patch.wrap(f"{PLUGINS}._wipe", make)


@mutant("failed-deletion-at-start-not-retried", rule="DRA-285")
def _(patch: Patch) -> None:
    """If the API server refuses to delete the node's slices at the start of the kubelet, they stay."""
    _one_deletion(patch, at_start=True)


@mutant("failed-deletion-of-slices-not-retried", rule="DRA-286")
def _(patch: Patch) -> None:
    """If the API server refuses to delete the slices of a driver that is gone, they stay."""
    _one_deletion(patch, at_start=False)
