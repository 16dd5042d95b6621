"""MPS on a fake node: the control program that a script stands in for, and the daemons that it claims to run.

The script belongs to the node's driver root and goes with it. It starts no process: a daemon is the file `control` in
its pipe folder, as the real one leaves it, so that nothing can be left running.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

from dra_conformance.components.fake_executable import StandIn
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.driver_calls import answer_for, own_results
from dra_conformance.steps.gpu_driver import full_gpus
from dra_conformance.steps.gpu_sharing import told

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a container's

_SCRIPT = """#!/bin/sh
# nvidia-cuda-mps-control, simulated: it writes down what it is told and runs nothing.
pipe=$CUDA_MPS_PIPE_DIRECTORY
[ ! -e "$0.fails" ] || { echo refused >&2; exit 3; }
if [ "$1" = -d ]; then
    echo "start $* pipe=$pipe devices=$CUDA_VISIBLE_DEVICES" >> "$0.log"
    : > "$pipe/control"
else
    while read -r line; do
        [ -e "$pipe/control" ] || { echo "no control daemon (simulated)" >&2; exit 1; }
        echo "told $line" >> "$0.log"
        [ "$line" != quit ] || rm "$pipe/control"
    done
fi
"""


def control(world: World, node: str) -> StandIn:
    """The node's control program."""
    return StandIn(world.node(node).gpus.driver_root / "usr/bin/nvidia-cuda-mps-control")


@given('MPS on "{node}" is simulated')
def _(world: World, node: str) -> None:
    """Put a script into the driver root in the control program's place; it says that it is a simulation."""
    control(world, node).install(_SCRIPT)


@when('MPS on "{node}" fails')
def _(world: World, node: str) -> None:
    """Let the control program exit with 3."""
    control(world, node).fail()


@when('MPS on "{node}" works again')
def _(world: World, node: str) -> None:
    """Let it exit with 0."""
    control(world, node).work()


def lines(world: World, node: str) -> list[str]:
    """What the control program was told, oldest first."""
    return control(world, node).told()


def started(world: World, node: str) -> dict[str, str]:
    """The daemons that were started: pipe folder to the GPUs that they were given."""
    words = [dict(word.partition("=")[::2] for word in line.split()) for line in lines(world, node) if "start" in line]
    return {found["pipe"]: found["devices"] for found in words}


def uuids_of(world: World, node: str, claim: str) -> str:
    """The uuids of a claim's GPUs, sorted, with commas."""
    names = {result["device"] for result in own_results(world, claim)}
    return ",".join(sorted(d["attributes"]["uuid"]["string"] for d in full_gpus(world, node) if d["name"] in names))


@then('a control daemon of MPS runs on "{node}" for the GPUs of claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """The control program was started with exactly these GPUs, and has not been told to end."""
    running = {pipe: devices for pipe, devices in started(world, node).items() if (Path(pipe) / "control").exists()}
    wanted = uuids_of(world, node, claim)
    world.check(list(running.values()) == [wanted], "control daemons", expected=[wanted], observed=running or "none")


@then('a container with claim "{claim}" on "{node}" would find that daemon\'s pipe and shared memory')
def _(world: World, claim: str, node: str) -> None:
    """Its CDI devices mount the daemon's pipe folder where CUDA_MPS_PIPE_DIRECTORY says, and a /dev/shm."""
    registry = CDIRegistry.read(world.node(node).kubelet.cdi_roots)
    try:
        found = registry.resolve(i for device in answer_for(world, claim) for i in device.cdi_device_ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected="a pipe", observed=str(error))
        return
    edits = [*(device.edits for device in found), *(device.spec.edits for device in found)]
    environment = dict(word.partition("=")[::2] for edit in edits for word in edit.get("env") or ())
    mounts = {raw["containerPath"]: raw["hostPath"] for edit in edits for raw in edit.get("mounts") or ()}
    seen = {
        "pipe": mounts.get(environment.get("CUDA_MPS_PIPE_DIRECTORY", "")),
        "shared memory": Path(mounts.get(SHARED_MEMORY, "/nowhere")).is_dir(),
    }
    wanted = {"pipe": next(iter(started(world, node)), None), "shared memory": True}
    world.check(seen == wanted, f"MPS for {claim}", expected=wanted, observed=seen)


@then('that daemon on "{node}" was told "{words}"')
def _(world: World, node: str, words: str) -> None:
    """The control program was told these words, each once; `*` stands for anything."""
    found = [line.removeprefix("told ") for line in lines(world, node) if line.startswith("told ")]
    same = [line for line in found if fnmatch(line, words)]
    world.check(len(same) == 1, "what the daemon was told", expected=words, observed=found)


@then('no control daemon of MPS runs on "{node}", and none left a file')
def _(world: World, node: str) -> None:
    """Every daemon that was started has ended, and the folder that the driver keeps for daemons is empty."""
    if not lines(world, node) and not control(world, node).fails:
        raise Untestable("no control daemon was ever started")
    component = world.node(node)
    left = sorted(str(path) for path in (component.kubelet.plugins_dir / component.driver_name / "mps").glob("*"))
    running = sorted(pipe for pipe in started(world, node) if (Path(pipe) / "control").exists())
    world.check(not left and not running, "control daemons", expected="nothing", observed=left + running)


@then('nvidia-smi on "{node}" set the compute mode {mode:word} last for the GPU of claim "{claim}"')
def _(world: World, node: str, mode: str, claim: str) -> None:
    """The last call with `-c` for this GPU set this mode."""
    modes = [line.partition("-c ")[2] for line in told(world, node, claim) if "-c " in line]
    world.check(modes[-1:] == [mode], "compute mode", expected=mode, observed=modes)
