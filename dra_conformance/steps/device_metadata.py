"""Metadata of devices as containers read it: files below one folder, each a stream of JSON objects (KEP-5304).

Everything is judged from the container's side: the CDI ids of a response lead to mounts, and the mounts to files. Names
and folders on the node are the driver's choice.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from dra_api import regular_file
from dra_api.allocations import results_of
from dra_api.objects import RESOURCE_CLAIMS, Obj, name_of
from dra_conformance.components.node import GPU_DRIVER, ScenarioNode
from dra_conformance.core import expectations
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.container_view import ContainerView, build_view
from dra_conformance.steps.claims import DriverClass, device_class
from dra_conformance.steps.containers import can_be_mounted, views
from dra_conformance.steps.driver_calls import answer_for, own_results
from dra_conformance.steps.nodes import run_driver
from dra_conformance.steps.uids import with_uids

FOLDER = PurePosixPath("/var/run/kubernetes.io/dra-device-attributes")
SUFFIX = "-metadata.json"
"""What follows the driver's name in the name of a file."""
GROUP = "metadata.resource.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
"""Versions of the API, the newest first; v1 is to come."""

_FLAGS = "--feature-gates=DeviceMetadata=true,PassthroughSupport=true,NVMLDeviceHealthCheck=false"
_MAX_FILES = 1000
_NO_SPACE = re.compile(r"\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataFile:
    """A file of a container with metadata: its path there and on the node, and whether the container can write it."""

    path: PurePosixPath
    on_node: Path
    writable: bool


@dataclass(slots=True)
class Remembered:
    """The files on the node behind a claim's metadata, by the name of the claim."""

    files: dict[str, list[Path]] = field(default_factory=dict)


@given('node "{node}" running the driver with device metadata')
def _(world: World, node: str) -> None:
    """Start a node with the driver, with metadata of devices in containers switched on.

    The driver gpu.nvidia.com needs gates for it, and an IOMMU. Other drivers are started as always.
    """
    component = world.node(node)
    if component.driver_name != GPU_DRIVER:
        run_driver(world, node)
        return
    if not component.real:
        # Imported here: with --nvml real nothing is simulated.
        from fake_nvml import pci_kernel

        pci_kernel.add_iommu(component.gpus.driver_root, iommufd=False)
    # A GPU for pass-through is the same hardware as another device, and no scheduler knows.
    expression = f'device.driver == "{GPU_DRIVER}" && device.attributes["{GPU_DRIVER}"].type != "vfio"'
    world.state(DriverClass).name = name_of(device_class(world, "driver", expression))
    run_driver(world, node, flags=_FLAGS)


# -- what a container has --------------------------------------------------------------------------------------------


def view_of(world: World, node: str, claim: str, request: str = "") -> ContainerView:
    """Return the view of a container with the CDI devices of a claim, or with those of one of its requests.

    Ids that nothing declares are left out: whether a claim's devices resolve is for other rules to judge.
    """
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    ids = [
        device_id
        for device in answer_for(world, claim)
        # No names mean all requests (rule DRA-272).
        if not request or not device.request_names or request in device.request_names
        for device_id in device.cdi_device_ids
        if device_id in registry.devices
    ]
    return build_view({}, ids, registry)


def files_of(node: ScenarioNode, view: ContainerView) -> list[MetadataFile]:
    """Return the files of a container in the folder of metadata; a mount may be a file or a folder."""
    found: dict[PurePosixPath, MetadataFile] = {}
    for mount in view.mounts:
        target = PurePosixPath(mount.container_path)
        if not can_be_mounted(mount) or not (target.is_relative_to(FOLDER) or FOLDER.is_relative_to(target)):
            continue
        source = node.on_machine(Path(mount.host_path))
        for path in _files_below(source):
            inside = target / path.relative_to(source)
            if inside.is_relative_to(FOLDER):
                found[inside] = MetadataFile(path=inside, on_node=path, writable="ro" not in mount.options)
    return [found[path] for path in sorted(found)]


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    count = 0
    for folder, _folders, names in os.walk(path):
        for name in names:
            count += 1
            if count > _MAX_FILES:
                return
            yield Path(folder, name)


def objects_of(file: MetadataFile) -> list[Any]:
    """Return the JSON objects of a file, in order. Raises ValueError if it is no stream of JSON."""
    try:
        text = regular_file.read_text(file.on_node)
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.path}: {error}") from None
    decoder, start = json.JSONDecoder(), 0
    found: list[Any] = []
    # The position moves on, and the text is not copied: a hostile file may have many small values.
    while (begin := _NO_SPACE.search(text, start)) is not None:
        try:
            value, start = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{file.path}: no JSON after {len(found)} objects: {error}") from None
        found.append(value)
    return found


def look_objects(file: MetadataFile) -> Seen[list[Obj]]:
    """Return whether a file is a stream of at least one object, and its objects or a description of the problem."""
    try:
        found = objects_of(file)
    except ValueError as error:
        return False, [{"error": str(error)}]
    if not found or not all(isinstance(one, dict) for one in found):
        kinds = in_words([type(one).__name__ for one in found])
        return False, [{"error": f"{file.path}: {kinds or 'empty'}; a stream of objects is wanted"}]
    return True, found


def checked_objects(world: World, file: MetadataFile) -> list[Obj]:
    """Return the objects of a file; one that cannot be read breaks the current rule."""
    ok, found = look_objects(file)
    if not ok:
        world.check(False, "metadata", expected="a stream of JSON objects", observed=in_words(found))
    return found


def only_file(world: World, node: str, claim: str, request: str) -> MetadataFile:
    """Return the file with the metadata of a request; none or several break the current rule."""
    found = files_of(world.node(node), view_of(world, node, claim, request))
    observed = [str(file.path) for file in found]
    if len(found) != 1:
        world.check(False, "metadata of a request", expected="one file", observed=in_words(observed or ["none"]))
    return found[0]


def check_paths(world: World, node: str, view: ContainerView, table: Sequence[Sequence[str]]) -> None:
    """Check that a container has exactly the files of a table, which are paths below the folder of metadata."""
    wanted = sorted(str(FOLDER / world.text(row[0])) for row in table[1:])
    found = [str(file.path) for file in files_of(world.node(node), view)]
    world.check(found == wanted, "files with metadata", expected=wanted, observed=found)


# -- sentences -------------------------------------------------------------------------------------------------------


@then('a container with request "{request}" of claim "{claim}" on "{node}" reads about the devices of this request')
def _(world: World, request: str, claim: str, node: str) -> None:
    """The first object of each of its files with metadata; together they name the allocated devices and no others."""
    files = files_of(world.node(node), view_of(world, node, claim, request))
    found = [one for file in files for one in described_in(checked_objects(world, file)[0])]
    wanted = [
        _named(result["request"], {**result, "name": result["device"]})
        for result in own_results(world, claim)
        if result["request"].partition("/")[0] == request
    ]
    world.check(sorted(found) == sorted(wanted), "devices in the metadata", expected=sorted(wanted), observed=found)


def described_in(content: Obj) -> list[str]:
    """Return the devices that an object with metadata describes, each with its request."""
    return [
        _named(entry.get("name"), device)
        for entry in content.get("requests") or ()
        for device in entry.get("devices") or ()
    ]


def _named(request: object, device: Obj) -> str:
    return f"{request}: " + "/".join(str(device.get(key)) for key in ("driver", "pool", "name"))


@then('a container with claim "{claim}" on "{node}" has the metadata files:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """The files in the folder of metadata are exactly those of the table, as paths below it."""
    check_paths(world, node, view_of(world, node, claim), datatable)


@then('container "{container}" of pod "{pod}" on "{node}" has the metadata files:')
def _(world: World, container: str, pod: str, node: str, datatable: list[list[str]]) -> None:
    """The pod runs, and the files in the container's folder of metadata are exactly those of the table."""
    check_paths(world, node, views(world, node, pod)[container], datatable)


@then(
    'each file of container "{container}" of pod "{pod}" on "{node}" with metadata of claim "{claim}" is about the '
    "devices of its driver"
)
def _(world: World, container: str, pod: str, node: str, claim: str) -> None:
    """Each describes what the claim was allocated of the driver in the file's name, for the request in its path."""
    files = files_of(world.node(node), views(world, node, pod)[container])
    world.check(bool(files), "files with metadata", expected="at least one", observed="none")
    results = results_of(world.get(RESOURCE_CLAIMS, claim))
    wrong: dict[str, list[str]] = {}
    wanted: dict[str, list[str]] = {}
    for file in files:
        request, driver = file.path.parent.name, file.path.name.removesuffix(SUFFIX)
        found = sorted(described_in(checked_objects(world, file)[0]))
        allocated = sorted(
            _named(result["request"], {**result, "name": result["device"]})
            for result in results
            if result["driver"] == driver and result["request"].partition("/")[0] == request
        )
        if found != allocated:
            wrong[str(file.path)], wanted[str(file.path)] = found, allocated
    world.check(not wrong, "devices in the metadata", expected=in_words(wanted), observed=in_words(wrong))


@then('every user can read the metadata of claim "{claim}" on "{node}", and no container can change it')
def _(world: World, claim: str, node: str) -> None:
    """The files are readable for all, and their mounts are read-only."""
    files = files_of(world.node(node), view_of(world, node, claim))
    found = {
        str(one.path): f"{'read-write' if one.writable else 'read-only'}, mode {_mode(one.on_node):04o}"
        for one in files
    }
    ok = bool(files) and all(not one.writable and _mode(one.on_node) & stat.S_IROTH for one in files)
    world.check(ok, "access to metadata", expected="ro, readable for others", observed=in_words(found))


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@then('the metadata of request "{request}" of claim "{claim}" on "{node}" is the same in each version, newest first')
def _(world: World, request: str, claim: str, node: str) -> None:
    """The file is a stream of JSON objects DeviceMetadata, one a version, which differ in their apiVersion only."""
    objects = checked_objects(world, only_file(world, node, claim, request))
    found = [f"{one.get('kind')} {one.get('apiVersion')}" for one in objects]
    wanted = [f"DeviceMetadata {GROUP}/{version}" for version in VERSIONS]
    wanted = [one for one in wanted if one in found] or wanted[1:]
    world.check(found == wanted, "versions of the metadata", expected=wanted, observed=found)
    contents = [{key: value for key, value in one.items() if key != "apiVersion"} for one in objects]
    different = [one for one in contents if one != contents[0]]
    world.check(not different, "content of the other versions", expected=[], observed=different)


@then('the metadata of request "{request}" of claim "{claim}" on "{node}" has:')
def _(world: World, request: str, claim: str, node: str, datatable: list[list[str]]) -> None:
    """Each object of the file has the fields of the table."""
    expected = expectations.read([[with_uids(world, cell) for cell in row] for row in datatable])
    for one in checked_objects(world, only_file(world, node, claim, request)):
        wrong = expectations.differences(expected, one)
        observed = expectations.seen(expected, one)
        world.check(not wrong, "fields of the metadata", expected=expectations.wanted(expected), observed=observed)


@then('the metadata of request "{request}" of claim "{claim}" on "{node}" has the versions "{versions}"')
def _(world: World, request: str, claim: str, node: str, versions: str) -> None:
    """The objects of the file have these versions of the API, in this order (comma-separated)."""
    wanted = [f"{GROUP}/{version.strip()}" for version in versions.split(",")]
    found = [str(one.get("apiVersion")) for one in checked_objects(world, only_file(world, node, claim, request))]
    world.check(found == wanted, "versions of the metadata", expected=wanted, observed=found)


@then('the metadata of request "{request}" of claim "{claim}" on "{node}" has the published attributes of its devices')
def _(world: World, request: str, claim: str, node: str) -> None:
    """The attributes of each device are those of its ResourceSlice, which are at least one."""
    content = checked_objects(world, only_file(world, node, claim, request))[0]
    found = {
        str(device.get("name")): device.get("attributes")
        for entry in content.get("requests") or ()
        for device in entry.get("devices") or ()
    }
    names = {result["device"] for result in own_results(world, claim) if result["request"] == request}
    wanted = {
        device["name"]: device.get("attributes") for device in world.node(node).devices() if device["name"] in names
    }
    if not wanted or not all(wanted.values()):
        raise Untestable(f"the devices of claim {claim} are not published, or without attributes")
    world.check(found == wanted, "attributes in the metadata", expected=wanted, observed=found)


@when('the metadata files of claim "{claim}" on "{node}" are remembered')
def _(world: World, claim: str, node: str) -> None:
    """Keep the files on the node that the container's mounts lead to. Untestable if there are none."""
    files = [file.on_node for file in files_of(world.node(node), view_of(world, node, claim))]
    if not files:
        raise Untestable(f"a container with claim {claim} has no metadata")
    world.state(Remembered).files[claim] = files


@when('the metadata files of claim "{claim}" on "{node}" are lost')
def _(world: World, claim: str, node: str) -> None:
    """Delete the files on the node that the container's mounts lead to. Their CDI specifications stay."""
    files = [file.on_node for file in files_of(world.node(node), view_of(world, node, claim))]
    if not files:
        raise Untestable(f"a container with claim {claim} has no metadata")
    for file in files:
        file.unlink()


@then('nothing is left of the metadata of claim "{claim}" on "{node}"')
def _(world: World, claim: str, node: str) -> None:
    """No CDI id of the last response for the claim is declared, and none of the remembered files exists."""
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    ids = [one for device in answer_for(world, claim) for one in device.cdi_device_ids]
    declared = [
        one
        for one in ids
        if one in registry.devices
        and any(
            PurePosixPath(mount["containerPath"]).is_relative_to(FOLDER)
            for mount in registry.devices[one].edits.get("mounts") or ()
        )
    ]
    left = [str(path) for path in world.state(Remembered).files[claim] if path.exists()]
    world.check(not declared and not left, f"metadata of claim {claim}", expected=[], observed=[*declared, *left])
