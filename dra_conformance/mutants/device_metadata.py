"""Mutants of device metadata in containers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.kubelet_plugin.claims import own_results
from reference_impl.kubelet_plugin.metadata import DescribedDevice

MODULE = "reference_impl.kubelet_plugin.metadata"
FILES = f"{MODULE}:MetadataFiles"
PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"

Original = Callable[..., Any]


@mutant("metadata-without-ids", rule="DRA-587")
def _(patch: Patch) -> None:
    """The files are written, and no response has an id for them."""
    patch.replace(f"{FILES}.add_ids", lambda self, uid, answer: tuple(answer))


@mutant("metadata-of-one-request-of-a-claim", rule="DRA-587")
def _(patch: Patch) -> None:
    """The first device of the response has the only id, that of its request."""

    def make(original: Original) -> Original:
        def add(self: Any, uid: str, answer: Any) -> Any:
            return (*original(self, uid, answer[:1]), *answer[1:])

        return add

    patch.wrap(f"{FILES}.add_ids", make)


@mutant("metadata-of-the-first-device-of-a-request", rule="DRA-587")
def _(patch: Patch) -> None:
    """The second device of a request is not described."""

    def make(original: Original) -> Original:
        return lambda self, claim, request, devices: original(self, claim, request, devices[:1])

    patch.wrap(f"{FILES}.write_request", make)


@mutant("metadata-of-all-requests-in-each", rule="DRA-587")
def _(patch: Patch) -> None:
    """Each file describes all devices of the claim."""

    def make(original: Original) -> Original:
        def by_request(self: Any, devices: Any) -> Any:
            return {request: list(devices) for request in original(self, devices)}

        return by_request

    patch.wrap(f"{FILES}.by_request", make)


@mutant("metadata-in-a-version-without-such-names", rule="DRA-587")
def _(patch: Patch) -> None:
    """The CDI files of metadata have a fixed version, in which no name of a device begins with a digit.

    So did the helper library up to 0.36 (kubernetes/kubernetes#137699, #138035).
    """
    patch.wrap(f"{FILES}.device_name", lambda original: lambda self, uid, request: f"0-{original(self, uid, request)}")
    patch.replace(f"{MODULE}:CDI_VERSION", "0.4.0")


@mutant("metadata-of-alternatives-without-an-id", rule="DRA-587b")
def _(patch: Patch) -> None:
    """The metadata of a request with alternatives is kept under the name of the alternative, which no id has."""

    def by_request(self: Any, devices: Any) -> Mapping[str, Any]:
        found: dict[str, Any] = {}
        for device in devices:
            found.setdefault(device.result.request.replace("/", "-"), []).append(device)
        return found

    patch.replace(f"{FILES}.by_request", by_request)


@mutant("metadata-names-the-request-of-an-alternative", rule="DRA-587b")
def _(patch: Patch) -> None:
    """The content has the name of the request without the alternative."""

    def make(original: Original) -> Original:
        def describe(claim: Any, devices: Any, **how: Any) -> Any:
            short = [replace(one, result=replace(one.result, request=one.result.request_name)) for one in devices]
            return original(claim, short, **how)

        return describe

    patch.wrap(f"{MODULE}:describe", make)


@mutant("lost-metadata-stays-lost", rule="DRA-587c")
def _(patch: Patch) -> None:
    """The CDI files of metadata are not written again when a claim is prepared again."""
    patch.replace(f"{FILES}.is_lost", lambda self, uid, answer: False)


@mutant("lost-metadata-file-stays-lost", rule="DRA-587c")
def _(patch: Patch) -> None:
    """A file with metadata is not written again if the CDI specification that mounts it exists."""

    def is_lost(self: Any, uid: str, answer: Any) -> bool:
        return any(
            self.device_id(uid, request) in device.cdi_device_ids and not self.spec(uid, request).exists()
            for device in answer
            for request in device.request_names
        )

    patch.replace(f"{FILES}.is_lost", is_lost)


@mutant("metadata-of-earlier-starts-left", rule="DRA-587c")
def _(patch: Patch) -> None:
    """Unprepare removes only what the driver has written since its start."""
    written: dict[int, set[str]] = {}

    def make_write(original: Original) -> Original:
        def write(self: Any, claim: Any, request: str, devices: Any) -> None:
            written.setdefault(id(self), set()).add(claim.uid)
            original(self, claim, request, devices)

        return write

    def make_remove(original: Original) -> Original:
        def remove(self: Any, uid: str) -> None:
            if uid in written.get(id(self), ()):
                original(self, uid)

        return remove

    patch.wrap(f"{FILES}.write_request", make_write)
    patch.wrap(f"{FILES}.remove", make_remove)


@mutant("metadata-of-templates-under-claims", rule="DRA-588")
def _(patch: Patch) -> None:
    """The container path of a claim from a template has the generated name."""
    patch.wrap(
        f"{MODULE}:container_path",
        lambda original: lambda claim, request, **how: original(replace(claim, pod_claim=""), request, **how),
    )


@mutant("metadata-of-claims-under-templates", rule="DRA-588")
def _(patch: Patch) -> None:
    """The container path of each claim is that of a claim from a template."""

    def make(original: Original) -> Original:
        def path(claim: Any, request: str, **how: Any) -> Any:
            return original(replace(claim, pod_claim=claim.pod_claim or claim.name), request, **how)

        return path

    patch.wrap(f"{MODULE}:container_path", make)


@mutant("metadata-without-the-driver-in-its-name", rule="DRA-588")
def _(patch: Patch) -> None:
    """The file in the container is called metadata.json, so that two drivers would have the same."""

    def make(original: Original) -> Original:
        def path(*args: Any, driver: str) -> str:
            return str(original(*args, driver=driver)).replace(f"{driver}-metadata.json", "metadata.json")

        return path

    patch.wrap(f"{MODULE}:container_path", make)


@mutant("metadata-for-root-only", rule="DRA-588b")
def _(patch: Patch) -> None:
    """Other users cannot read the files."""
    patch.replace(f"{MODULE}:_MODE", 0o600)


@mutant("metadata-mounted-for-writing", rule="DRA-588b")
def _(patch: Patch) -> None:
    """Containers can change the files."""

    def make(original: Original) -> Original:
        def write(self: Any, claim: Any, request: str, devices: Any) -> None:
            original(self, claim, request, devices)
            spec = self.spec(claim.uid, request)
            spec.write_bytes(spec.read_bytes().replace(b'["ro","bind"]', b'["rw","bind"]'))

        return write

    patch.wrap(f"{FILES}.write_request", make)


@mutant("names-of-pods-for-claims-not-read", rule="DRA-588c")
def _(patch: Patch) -> None:
    """The annotation with the pod's name for a claim is not read."""

    def make(original: Original) -> Original:
        return lambda self, reference: replace(original(self, reference), pod_claim="")

    patch.wrap("reference_impl.kubelet_plugin.claims:ClaimReader.fetch", make)


@mutant("metadata-mounted-as-a-folder", rule="DRA-588d")
def _(patch: Patch) -> None:
    """The folder of a request is mounted, which hides the file that another driver has there."""

    def make(original: Original) -> Original:
        def write(self: Any, claim: Any, request: str, devices: Any) -> None:
            original(self, claim, request, devices)
            file, spec = self.file(claim.uid, request), self.spec(claim.uid, request)
            folder = file.parent / f"{request}-folder"
            folder.mkdir(exist_ok=True)
            (folder / f"{self.driver}-metadata.json").write_bytes(file.read_bytes())
            document = orjson.loads(spec.read_bytes())
            mount = document["devices"][0]["containerEdits"]["mounts"][0]
            mount.update(hostPath=str(folder), containerPath=mount["containerPath"].rpartition("/")[0])
            spec.write_bytes(orjson.dumps(document))

        return write

    patch.wrap(f"{FILES}.write_request", make)


@mutant("metadata-specs-without-the-driver", rule="DRA-588d")
def _(patch: Patch) -> None:
    """The CDI files of two drivers for a request have one name, and the later one replaces the other."""
    patch.wrap(f"{FILES}._prefix", lambda original: lambda self: "metadata_")


@mutant("metadata-of-all-drivers-in-each", rule="DRA-588d")
def _(patch: Patch) -> None:
    """Each file describes the devices that other drivers have for the request, as those of its own driver."""

    def make(original: Original) -> Original:
        def write(self: Any, claim: Any, request: str, devices: Any) -> None:
            foreign = [
                DescribedDevice(result=result, attributes={})
                for name in {one["driver"] for one in claim.allocation["devices"]["results"]} - {self.driver}
                for result in own_results(claim.status, name)
                if result.request_name == request
            ]
            original(self, claim, request, [*devices, *foreign])

        return write

    patch.wrap(f"{FILES}.write_request", make)


@mutant("metadata-as-a-list", rule="DRA-589")
def _(patch: Patch) -> None:
    """The versions are the items of a JSON list."""

    def make(original: Original) -> Original:
        return lambda content: orjson.dumps([orjson.loads(one) for one in original(content).splitlines()])

    patch.wrap(f"{MODULE}:encode", make)


@mutant("oldest-metadata-first", rule="DRA-589")
def _(patch: Patch) -> None:
    """The stream begins with v1alpha1."""
    patch.replace(f"{MODULE}:VERSIONS", ("v1alpha1", "v1beta1"))


@mutant("old-metadata-without-requests", rule="DRA-589")
def _(patch: Patch) -> None:
    """The object of the older version has no requests."""

    def make(original: Original) -> Original:
        def encode(content: Any) -> bytes:
            less = {key: value for key, value in content.items() if key != "requests"}
            return bytes(original(content).splitlines()[0]) + b"\n" + bytes(original(less).splitlines()[1])

        return encode

    patch.wrap(f"{MODULE}:encode", make)


@mutant("metadata-without-uid", rule="DRA-589b")
def _(patch: Patch) -> None:
    """The metadata of a claim lacks its uid."""

    def make(original: Original) -> Original:
        def describe(*args: Any, **how: Any) -> Any:
            content = original(*args, **how)
            del content["metadata"]["uid"]
            return content

        return describe

    patch.wrap(f"{MODULE}:describe", make)


@mutant("metadata-without-the-pods-name", rule="DRA-589b")
def _(patch: Patch) -> None:
    """The metadata of a claim from a template lacks the pod's name for it."""

    def make(original: Original) -> Original:
        return lambda *args, **how: {k: v for k, v in original(*args, **how).items() if k != "podClaimName"}

    patch.wrap(f"{MODULE}:describe", make)


@mutant("metadata-never-removed", rule="DRA-591")
def _(patch: Patch) -> None:
    """Unprepare leaves the files and their CDI files."""
    patch.replace(f"{FILES}.remove", lambda self, uid: None)


@mutant("metadata-files-left", rule="DRA-591")
def _(patch: Patch) -> None:
    """Unprepare removes the CDI files only."""
    patch.replace(f"{FILES}.remove_files", lambda self, uid: None)


@mutant("metadata-of-all-claims-removed", rule="DRA-591")
def _(patch: Patch) -> None:
    """Unprepare removes the CDI files of all claims of the driver."""

    def make(original: Original) -> Original:
        def remove(self: Any, uid: str) -> None:
            original(self, uid)
            for spec in self.cdi_root.glob(f"{self._prefix}*.json"):
                spec.unlink()

        return remove

    patch.wrap(f"{FILES}.remove", make)


@mutant("metadata-of-other-drivers-removed", rule="DRA-591b")
def _(patch: Patch) -> None:
    """Unprepare removes the CDI files and the metadata of all drivers for the claim."""

    def make(original: Original) -> Original:
        def remove(self: Any, uid: str) -> None:
            original(self, uid)
            for spec in self.cdi_root.glob(f"*_metadata_{uid}_*.json"):
                spec.unlink()
            for folder in self.folder.parent.parent.glob(f"*/metadata/{uid}"):
                shutil.rmtree(folder)

        return remove

    patch.wrap(f"{FILES}.remove", make)


@mutant("device-metadata-without-pass-through", rule="NV-007")
def _(patch: Patch) -> None:
    """The driver starts with DeviceMetadata alone."""

    def make(original: Original) -> Original:
        return lambda self: original(replace(self, DeviceMetadata=False))

    patch.wrap("reference_impl.kubelet_plugin.options:FeatureGates.check", make)


@mutant("metadata-in-the-latest-version-only", rule="NV-007b")
def _(patch: Patch) -> None:
    """A reader that knows v1alpha1 only finds nothing."""
    patch.replace(f"{MODULE}:VERSIONS", ("v1beta1",))


@mutant("metadata-without-attributes", rule="NV-007c")
def _(patch: Patch) -> None:
    """Devices for pass-through have no attributes in their metadata."""

    def make(original: Original) -> Original:
        return lambda self, devices: [replace(one, attributes={}) for one in original(self, devices)]

    patch.wrap(f"{PREPARER}.described", make)
