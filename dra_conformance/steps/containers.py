"""The containers of pods and claims: their environment, device nodes and mounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path
from typing import Any

from dra_conformance.components.node import ScenarioNode
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.values import expectation
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import World, in_words, show
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.container_view import ContainerView, Mount, build_view
from dra_conformance.kubelet.errors import CDIError, KubeletError
from dra_conformance.steps.driver_calls import (
    answer_for,
    look_registered,
    prepare,
    reference_to,
    start_again,
    succeeded,
    unprepare,
)
from dra_conformance.steps.proc_devices import character_devices
from dra_conformance.steps.uids import with_uids

MOUNT_OPTIONS = frozenset({"ro", "rw", "nosuid", "nodev", "noexec", "bind", "rbind", "private", "rprivate", "rslave"})
"""The options of bind mounts that a container runtime knows and a driver needs; others would fail the mount."""
_START_SECONDS = 20.0
_BIND = frozenset({"bind", "rbind"})


def can_be_mounted(mount: Mount) -> bool:
    """Return whether a runtime can mount it: options include bind or rbind (OCI runtime specification) and no unknown
    one.
    """
    return MOUNT_OPTIONS.issuperset(mount.options) and not _BIND.isdisjoint(mount.options)


def views(world: World, node: str, pod: str) -> Mapping[str, ContainerView]:
    """Return the view of each container of a pod once the pod runs; a pod that does not run breaks the current rule."""
    try:
        return world.node(node).kubelet.wait_running(world.namespace, pod, world.run.patience)
    except KubeletError as error:
        world.check(False, f"pod {pod} runs", expected="running containers", observed=str(error))
        raise  # not reached: a broken check ends the scenario


def view_of_claim(world: World, node: str, claim: str) -> ContainerView:
    """Return the view of a container with the CDI devices of a claim; unresolved ids break the current rule."""
    ids = [device_id for device in answer_for(world, claim) for device_id in device.cdi_device_ids]
    try:
        return build_view({}, ids, CDIRegistry.read(world.node(node).kubelet.cdi_roots))
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=f"devices for {in_words(ids)}", observed=str(error))
        raise  # not reached: a broken check ends the scenario


def host_path(view: ContainerView, path: str) -> Path | None:
    """Return where a path of the container lies on the host; None if no mount has it.

    A path may begin with a variable of the container: `$CUDA_MPS_PIPE_DIRECTORY/control`.
    """
    if path.startswith("$"):
        variable, _, rest = path[1:].partition("/")
        path = f"{view.env.get(variable, '')}/{rest}" if rest else view.env.get(variable, "")
    mount = mount_of(view, path)
    return None if mount is None else Path(mount.host_path) / path.removeprefix(mount.container_path).lstrip("/")


def mount_of(view: ContainerView, path: str) -> Mount | None:
    """Return the mount that has a path of the container; a later one hides an earlier one at the same path."""
    for mount in reversed(view.mounts):
        if path == mount.container_path or path.startswith(f"{mount.container_path.rstrip('/')}/"):
            return mount
    return None


def contents(view: ContainerView, kind: str) -> dict[str, str]:
    """Return the variables, device nodes, numbers of these, mounts, annotations or CDI devices of a container, by name.

    The values are: value, permissions, `c 1:3` (type, major, minor), host path, value, nothing.
    """
    match kind:
        case "variable" | "variables":
            return dict(view.env)
        case "device node" | "device nodes":
            return {node.path: node.permissions for node in view.device_nodes}
        case "device numbers":
            return {node.path: f"{node.type} {node.major}:{node.minor}" for node in view.device_nodes}
        case "mount" | "mounts":
            return {mount.container_path: mount.host_path for mount in view.mounts}
        case "annotation" | "annotations":
            return dict(view.annotations)
        case "CDI devices":
            return dict.fromkeys(view.cdi_devices, "")
    raise SpecificationError(f"a container has variables, device nodes, mounts, annotations and files, no {kind}")


def entry(view: ContainerView, kind: str, name: str) -> str | None:
    """Return one entry of a container; for a file or directory its host path. None if it does not exist.

    The name may be a pattern with `*`; the first match counts.
    """
    if kind in ("file", "directory", "writable directory"):
        path = host_path(view, name)
        exists = path is not None and (path.is_file() if kind == "file" else path.is_dir())
        if kind == "writable directory" and not any(
            can_be_mounted(one) and "ro" not in one.options for one in view.mounts if one.host_path == str(path)
        ):
            return None
        return str(path) if exists else None
    found = contents(view, kind)
    return next((found[one] for one in sorted(found) if fnmatch(one, name)), None)


def check_entries(world: World, view: ContainerView, table: list[list[str]]) -> None:
    """Check the entries of a table: kind, name, and what the value must be (see core.values)."""
    wanted: dict[str, Any] = {}
    seen: dict[str, Any] = {}
    right = True
    for kind, name, text in table[1:]:
        text = with_uids(world, text)
        found = entry(view, kind, name)
        right = right and (found == text or expectation(text).is_met(found))
        wanted[f"{kind} {name}"] = None if text == "null" else text
        seen[f"{kind} {name}"] = found if found is None or isinstance(found, str) else show(found)
    world.check(right, "the container has its devices", expected=wanted, observed=seen)


def check_only(world: World, view: ContainerView, kind: str, pattern: str, names: str) -> None:
    """Check that the entries of a kind whose names match a pattern are exactly these, which may be patterns too."""
    found = sorted(name for name in contents(view, kind) if fnmatch(name, pattern))
    wanted = sorted(words(names))
    same = len(found) == len(wanted) and all(fnmatch(name, one) for name, one in zip(found, wanted, strict=True))
    world.check(same, f"{kind} {pattern} of the container", expected=wanted, observed=found)


@then('a container with claim "{claim}" on "{node}" has:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """The claim's CDI devices add these entries: kind, name and expected value of each."""
    check_entries(world, view_of_claim(world, node, claim), datatable)


@then('file "{path}" of a container with claim "{claim}" on "{node}" has the lines:')
def _(world: World, path: str, claim: str, node: str, datatable: list[list[str]]) -> None:
    """The file lies in a mount of the claim's devices, and has each line of the table; `*` matches any text."""
    found = host_path(view_of_claim(world, node, claim), path)
    lines = found.read_text(encoding="utf-8").splitlines() if found is not None and found.is_file() else []
    wanted = [row[0] for row in datatable[1:]]

    without = [pattern for pattern in wanted if not any(fnmatchcase(line, pattern) for line in lines)]
    there = "lines that are not in" if found is not None and found.is_file() else "lines of the missing file"
    world.check(not without, f"{there} {path}", expected=[], observed=without)


@given('file "{path}" of a container with claim "{claim}" on "{node}" is overwritten with "{text}"')
def _(world: World, path: str, claim: str, node: str, text: str) -> None:
    """The container replaces the content of a file in a mount of the claim's devices by one line."""
    found = host_path(view_of_claim(world, node, claim), path)
    if found is None or not found.is_file():
        raise Untestable(f"a container with claim {claim} has no file {path}")
    found.write_text(f"{text}\n")


@then('of the {kind} "{pattern}", claim "{claim}" adds only "{names}" on "{node}"')
def _(world: World, kind: str, pattern: str, claim: str, names: str, node: str) -> None:
    """Of the entries that match the pattern, the claim's devices add exactly these; `$(minor)` is a GPU's number."""
    minors = [device.device_name.removeprefix("gpu-") for device in answer_for(world, claim)]
    several = [name.replace("$(minor)", minor) for name in words(names) for minor in minors]
    check_only(world, view_of_claim(world, node, claim), kind, pattern, ",".join(sorted(set(several))))


@then('the device nodes of claim "{claim}" on "{node}" have the numbers:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """Compare path, major and minor; a major may be the name of a driver in the node's /proc/devices.

    CDI specifications leave out numbers that are 0.
    """
    majors = character_devices((Path(world.node(node).gpus.driver_root) / "proc/devices").read_text(encoding="utf-8"))
    wanted = {path: [int(majors.get(major, major)), int(minor)] for path, major, minor in datatable[1:]}
    view = view_of_claim(world, node, claim)
    found: dict[str, list[Any]] = {
        one.path: [one.major, one.minor or 0] for one in view.device_nodes if one.path in wanted
    }
    world.check(found == wanted, "major and minor of device nodes", expected=wanted, observed=found)


@then('the mounts of claim "{claim}" on "{node}" have the files of the driver root:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """Each file is mounted read-only at its path below the driver root.

    `$(version)` is the driver's version in NVML.
    """
    component = world.node(node)
    version = driver_version(component)
    wanted = sorted(row[0].replace("$(version)", version) for row in datatable[1:])
    mounts = driver_files(world, component, claim)
    good = {path.name for path in read_only_files(component, mounts)}
    message = "files of the driver that are mounted read-only at their paths"
    world.check(set(wanted) <= good, message, expected=wanted, observed=[name for name in wanted if name in good])


@given('node "{node}" has libcuda of the driver\'s version')
def _(world: World, node: str) -> None:
    """Add a file with the name of CUDA's library to the driver root, beside libnvidia-ml. It has no content."""
    component = world.node(node)
    path = Path(component.gpus.driver_root) / "usr/lib64" / f"libcuda.so.{driver_version(component)}"
    path.touch(mode=0o755)


def driver_version(node: ScenarioNode) -> str:
    """Return the driver's version in NVML."""
    return str(node.gpus.read().driver_version.text.decode())


def driver_files(world: World, node: ScenarioNode, claim: str) -> list[Mount]:
    """Return the mounts of a claim whose files are in the driver root."""
    root = Path(node.gpus.driver_root)
    return [one for one in view_of_claim(world, node.alias, claim).mounts if Path(one.host_path).is_relative_to(root)]


def read_only_files(node: ScenarioNode, mounts: Sequence[Mount]) -> set[Path]:
    """Return the paths of files that are mounted read-only at their path below the driver root."""
    root = Path(node.gpus.driver_root)
    return {
        Path(one.container_path)
        for one in mounts
        if Path(one.container_path) == "/" / Path(one.host_path).relative_to(root)
        and "ro" in one.options
        and can_be_mounted(one)
    }


@then('claim "{claim}" gets the driver\'s files on "{node}" from these folders in turn:')
def _(world: World, claim: str, node: str, datatable: list[list[str]]) -> None:
    """Prepare and unprepare the claim with libnvidia-ml and nvidia-smi in the folders of each row; `.` is the root.

    The driver is started again for each row, because it may look for the files only once.
    """
    component = world.node(node)
    root, ref = Path(component.gpus.driver_root), reference_to(world, claim)
    library = next(root.rglob(f"libnvidia-ml.so.{driver_version(component)}"))
    program = next(root.rglob("nvidia-smi"))
    wrong: dict[str, object] = {}
    for row in datatable[1:]:
        component.stop_driver()
        folder = make_folder(root / row[0])
        # With the links that a program loads it by.
        for file in (*sorted(library.parent.glob("libnvidia-ml.so*")), *library.parent.glob("libcuda.so.*")):
            file.rename(folder / file.name)
        library, program = folder / library.name, program.rename(make_folder(root / row[1]) / program.name)
        start_again(world, component)
        world.require(
            "the driver is registered again", lambda: look_registered(world, component), within=_START_SECONDS
        )
        prepared, problem = succeeded(world, prepare(world, node, [ref]), claim)
        mounts = driver_files(world, component, claim) if prepared else []
        if not {Path("/") / file.relative_to(root) for file in (library, program)} <= read_only_files(
            component, mounts
        ):
            wrong[", ".join(row)] = [one.host_path for one in mounts] if prepared else problem
        unprepare(world, node, [ref])
    world.check(not wrong, "folders in which the driver does not find its files", expected={}, observed=wrong)


def make_folder(folder: Path) -> Path:
    """Create a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@then('container "{container}" of pod "{pod}" on "{node}" has:')
def _(world: World, container: str, pod: str, node: str, datatable: list[list[str]]) -> None:
    """The running container has these entries: kind, name and expected value of each."""
    check_entries(world, views(world, node, pod)[container], datatable)


@then('of the {kind} "{pattern}", container "{container}" of pod "{pod}" on "{node}" has only "{names}"')
def _(world: World, kind: str, pattern: str, container: str, pod: str, node: str, names: str) -> None:
    """Of the variables, device nodes or mounts that match the pattern, the running container has exactly these."""
    check_only(world, views(world, node, pod)[container], kind, pattern, names)
