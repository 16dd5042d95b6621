"""Fake NVIDIA executables (shell scripts) in a fake node's driver root, and how the driver ran them.

They log their arguments and change no hardware; `components.simulated_mps` has the control program of MPS.
"""

from __future__ import annotations

from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Any

from dra_conformance.components import fake_root
from dra_conformance.components.fake_executable import FakeExecutable
from dra_conformance.components.fake_root import NVIDIA_SMI
from dra_conformance.components.node import ScenarioNode
from dra_conformance.components.simulated_mps import MPS_CONTROL, PROGRAM, running_daemons, started_daemons
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.driver_calls import own_results

_IMEX_CONTROL = """#!/bin/sh
# nvidia-imex-ctl, simulated: there is no daemon.
echo "$*" >> "$0.log"
if [ -e "$0.breaks" ]; then echo READY; exit 1; fi
if [ -e "$0.fails" ]; then echo NOT_READY; else echo READY; fi
"""

SCRIPTS = {
    "nvidia-smi": NVIDIA_SMI,
    "nvidia-cuda-mps-control": MPS_CONTROL,
    "nvidia-imex-ctl": _IMEX_CONTROL,
}
"""The programs that can be faked, with their scripts. While the file `$0.fails` exists, a script fails."""


def program(node: ScenarioNode, name: str) -> FakeExecutable:
    """Return a fake program of a node. Raises SpecificationError for a name without a script."""
    if name not in SCRIPTS:
        raise SpecificationError(f"no script for {name!r}; there are scripts for {', '.join(SCRIPTS)}")
    return FakeExecutable(Path(node.gpus.driver_root) / "usr/bin" / name)


def nvidia_smi(node: ScenarioNode) -> FakeExecutable:
    """Return the node's nvidia-smi."""
    return program(node, "nvidia-smi")


def mps_control(node: ScenarioNode) -> FakeExecutable:
    """Return the node's control program of MPS."""
    return program(node, PROGRAM)


def imex_control(node: ScenarioNode) -> FakeExecutable:
    """Return the node's nvidia-imex-ctl; while it fails, it reports NOT_READY."""
    return program(node, "nvidia-imex-ctl")


@then('"{name}" on "{node}" was run with "{arguments}"')
def _(world: World, name: str, node: str, arguments: str) -> None:
    """A fake program was run with these arguments at least once, and never with others; `*` matches any part."""
    found = sorted(set(program(world.node(node), name).recorded()))
    ok = bool(found) and all(fnmatch(line, arguments) for line in found)
    world.check(ok, f"runs of {name}", expected=arguments, observed=in_words(found))


@given('node "{node}" has a fake "{name}"')
def _(world: World, node: str, name: str) -> None:
    """Install a script in the driver root that logs how it is run: nvidia-smi, nvidia-cuda-mps-control, ..."""
    component = world.node(node)
    program(component, name).install(SCRIPTS[name])
    # Not for MPS: NVIDIA's container changes its root if that has a shell, which needs more of a root than there is.
    if name == "nvidia-imex-ctl":
        fake_root.add_shell(Path(component.gpus.driver_root))


# -- nvidia-smi --------------------------------------------------------------------------------------------------------


def smi_calls(world: World, node: str, claim: str) -> list[str]:
    """Return the arguments of each run of nvidia-smi for the GPU of a claim, oldest first, without the GPU's uuid."""
    names = {result["device"] for result in own_results(world, claim)}
    uuids = {d["attributes"]["uuid"]["string"] for d in world.node(node).devices() if d["name"] in names}
    lines = nvidia_smi(world.node(node)).recorded()
    return [" ".join(w for w in line.split() if w not in uuids) for line in lines if uuids & set(selected(line))]


def selected(line: str) -> list[str]:
    """Return the GPUs that the arguments of nvidia-smi select: `-i UUID` or `--id=UUID`."""
    arguments = line.split()
    found = [word.removeprefix("--id=") for word in arguments if word.startswith("--id=")]
    return found + [after for option, after in pairwise(arguments) if option == "-i"]


@then('nvidia-smi on "{node}" was run for the GPU of claim "{claim}" with "{arguments}"')
def _(world: World, node: str, claim: str, arguments: str) -> None:
    """It was run once with each of these arguments (comma-separated), in this order, and no further time."""
    found, wanted = smi_calls(world, node, claim), words(arguments)
    ok = len(found) == len(wanted) and all(one in line for one, line in zip(wanted, found, strict=True))
    world.check(ok, "runs of nvidia-smi", expected=wanted, observed=found)


@then('the last "{option}" that nvidia-smi on "{node}" set for the GPU of claim "{claim}" is {value:word}')
def _(world: World, option: str, node: str, claim: str, value: str) -> None:
    """For each GPU of the claim, the last run with this option had this value, wherever it is among the arguments."""
    lines = nvidia_smi(world.node(node)).recorded()
    found = {}
    for uuid in uuids_of(world, node, claim).split(","):
        given_values = [line.partition(f"{option} ")[2].split() for line in lines if uuid in selected(line)]
        found[uuid] = [rest[0] for rest in given_values if rest]
    good = all(values[-1:] == [value] for values in found.values())
    last: dict[str, Any] = {uuid: values[-1] if values else None for uuid, values in found.items()}
    world.check(good, f"last values of {option}", expected=dict.fromkeys(found, value), observed=last)


@then('nvidia-smi on "{node}" left no GPU of claim "{claim}" in the compute mode {mode:word}')
def _(world: World, node: str, claim: str, mode: str) -> None:
    """For no GPU of the claim, the last run with `-c` had this mode."""
    lines = nvidia_smi(world.node(node)).recorded()
    last = {}
    for uuid in uuids_of(world, node, claim).split(","):
        modes = [line.partition("-c ")[2].split()[:1] for line in lines if uuid in selected(line) and "-c " in line]
        last[uuid] = modes[-1][0] if modes and modes[-1] else None
    ok = bool(last) and mode not in last.values()
    shown = in_words([f"{uuid}: {value or 'not set'}" for uuid, value in last.items()])
    world.check(ok, "last values of -c", expected=f"none is {mode}", observed=shown)


@then('nvidia-smi on "{node}" left the time slice of the GPU of claim "{claim}" at its default')
def _(world: World, node: str, claim: str) -> None:
    """No run for a GPU of the claim, or that of a MIG device, set another time slice than 0, which need not be set."""
    uuids = set(uuids_of(world, node, claim).split(","))
    names = {result["device"] for result in own_results(world, claim)}
    attributes = [d["attributes"] for d in world.node(node).devices() if d["name"] in names]
    uuids |= {one["parentUUID"]["string"] for one in attributes if "parentUUID" in one}
    lines = [line for line in nvidia_smi(world.node(node)).recorded() if uuids & set(selected(line))]
    found = [line.partition("--set-timeslice ")[2].split()[:1] for line in lines if "--set-timeslice" in line]
    ok = bool(uuids) and all(value == ["0"] for value in found)
    world.check(ok, "time slices", expected="none, or 0", observed=in_words(sorted({one for v in found for one in v})))


# -- MPS ---------------------------------------------------------------------------------------------------------------


def running(world: World, node: str) -> dict[str, str]:
    """Return the MPS daemons that run on a node: pipe folder to GPUs, sorted."""
    found = running_daemons(mps_control(world.node(node)).recorded())
    return {pipe: ",".join(sorted(devices.split(","))) for pipe, devices in found.items()}


def uuids_of(world: World, node: str, claim: str) -> str:
    """Return the uuids of a claim's GPUs and MIG devices, sorted, separated by commas."""
    names = {result["device"] for result in own_results(world, claim)}
    devices = world.node(node).devices()
    return ",".join(sorted(d["attributes"]["uuid"]["string"] for d in devices if d["name"] in names))


@then('one MPS control daemon runs on "{node}", for the GPUs of claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """The control program was started with exactly these GPUs and has not been stopped."""
    found = running(world, node)
    wanted = uuids_of(world, node, claim)
    seen = list(found.values())
    world.check(seen == [wanted], "GPUs of the control daemons", expected=[wanted], observed=seen)


@then('the MPS control daemons on "{node}" are:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """One daemon for the GPUs of each claim of the table runs, and no other, started with these arguments."""
    wanted = {uuids_of(world, node, claim): arguments for claim, arguments in datatable[1:]}

    def look() -> Seen[dict[str, str]]:
        lines = [line for line in mps_control(world.node(node)).recorded() if line.startswith("start ")]
        found = {}
        for pipe, devices in running(world, node).items():
            line = next(one for one in reversed(lines) if f"pipe={pipe} " in one)
            found[devices] = line.removeprefix("start ").partition(" pipe=")[0]
        return found == wanted, found

    # A daemon in a pod ends after the object of its Deployment.
    world.eventually("control daemons", look, expected=wanted)


@then('the MPS control daemon on "{node}" received the command "{command}"')
def _(world: World, node: str, command: str) -> None:
    """The control program received this command exactly once; `*` matches any text."""
    lines = mps_control(world.node(node)).recorded()
    found = [line.removeprefix("command ") for line in lines if line.startswith("command ")]
    same = [line for line in found if fnmatch(line, command)]
    observed = f"{len(same)} times, among {in_words(found)}"
    world.check(len(same) == 1, f"command {command} of the daemon", expected="1 times", observed=observed)


@then('the MPS control daemon on "{node}" limits the memory of the GPUs of claim "{claim}" to "{limits}"')
def _(world: World, node: str, claim: str, limits: str) -> None:
    """It received one limit for each GPU, in the order of their uuids (comma-separated)."""
    lines = mps_control(world.node(node)).recorded()
    uuids = uuids_of(world, node, claim).split(",")
    found = [line.split()[-2:] for line in lines if "set_default_device_pinned_mem_limit" in line]
    observed = [[limit for uuid, limit in found if uuid == one] for one in uuids]
    wanted = [[one] for one in words(limits)]
    world.check(observed == wanted, "memory limits", expected=wanted, observed=observed)


@then('no MPS control daemon and no file of one is left on "{node}"')
def _(world: World, node: str) -> None:
    """Every daemon that was started has ended, and its pipes are gone with their folder below the plugin folder."""
    component = world.node(node)
    control = mps_control(component)
    if not control.recorded() and not control.fails:
        raise Untestable("no control daemon was ever started")
    plugin = component.kubelet.plugins_dir / component.driver_name

    def look() -> Seen[list[str]]:
        # NVIDIA's driver has them in mps/<id>/pipe.
        left = {str(path) for path in (plugin / "mps").glob("*")}
        for pipe in map(Path, started_daemons(control.recorded())):
            own = pipe.is_relative_to(plugin) and len(pipe.relative_to(plugin).parts) > 2
            left |= {str(path) for path in (pipe, *([pipe.parent] if own else [])) if path.exists()}
        found = sorted(left) + sorted(running(world, node))
        return not found, found

    # A daemon in a pod ends after the object of its Deployment.
    world.eventually("control daemons and their pipes", look, expected=[])
