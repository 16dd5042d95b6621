"""The `fake-nvml` command: make a fake node, look at it, change it, break it.

A node is a folder; `--node` or the environment variable FAKE_NVML_NODE says which (or FAKE_NVML_STATE, which processes
of a node have). Every command is one transaction on the node's shared state, seen at once by the programs that use it.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from dra_api.clock import RealClock
from fake_nvml import call_log, fault_list, smi_lists
from fake_nvml import smi as smi_text
from fake_nvml.binding import load_pynvml
from fake_nvml.describe import describe_lines
from fake_nvml.errors import FakeNvmlError
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.inventory import Inventory, inventory_names
from fake_nvml.library import library_path
from fake_nvml.node import Node
from fake_nvml.provision import provision
from fake_nvml.rack import create_rack
from fake_nvml.removal import remove_node
from fake_nvml.smi_query import query
from fake_nvml.smi_table import table
from fake_nvml.timeline import Timeline
from fake_nvml.watch import Watch

_WATCH: Final = 1.0  # seconds; a change wakes the watch, this only looks whether it is to end


class _Group(click.Group):
    """Turns this package's errors into a message and exit status 2, the system's into 1, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FakeNvmlError as error:
            raise click.UsageError(str(error)) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the reader has gone: click ends quietly
                raise
            raise click.ClickException(str(error)) from error


def _node_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--node",
        "directory",
        envvar="FAKE_NVML_NODE",
        type=click.Path(path_type=Path, file_okay=False),
        help="Folder of the node (or FAKE_NVML_NODE).",
    )(command)


@contextmanager
def _opened(directory: Path | None) -> Iterator[Node]:
    if directory is None:
        state = os.environ.get("FAKE_NVML_STATE")
        if not state:
            raise click.UsageError("no node is given: use --node FOLDER, or set FAKE_NVML_NODE")
        directory = Path(state).parent
    with Node.open(directory) as node:
        yield node


def _gpu(text: str) -> int | str:
    return int(text) if text.isdigit() else text


@click.group(cls=_Group)
def main() -> None:
    """Fake GPUs behind a real libnvidia-ml.so.1."""


@main.command()
def path() -> None:
    """Print the path of the library."""
    click.echo(library_path())


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--inventory", "-i", default="dgx-h100", show_default=True, help="A shipped inventory, or a .yaml file.")
@click.option("--name", help="The node's name; identities are made from it. Default: the folder's name.")
@click.option("--nodes", type=int, help="Make a rack of so many nodes in one fabric, DIRECTORY/node-01 and on.")
def create(directory: Path, inventory: str, name: str | None, nodes: int | None) -> None:
    """Create a node in DIRECTORY and print the environment for its programs.

    \b
    eval "$(fake-nvml create /tmp/n1 -i dgx-h200)"
    fake-nvml create /tmp/rack -i gb200-nvl72-node --nodes 18
    """
    if nodes is not None:
        for node in create_rack(directory, inventory=inventory, nodes=nodes, name=name):
            with node:
                node.keep()
                click.echo(node.directory)
        return
    with Node.create(Inventory.load(inventory), directory, name=name) as node:
        # The node outlives this command.
        node.keep()
        for key, value in node.env().items():
            click.echo(f"export {key}={shlex.quote(value)}")


@main.command("provision")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--machine", required=True, help="Name of the machine, such as its Node object's.")
@click.option(
    "--inventories",
    required=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder with MACHINE.yaml or default.yaml: an inventory, or the name of a shipped one.",
)
def provision_(directory: Path, machine: str, inventories: Path) -> None:
    """Create the node of a machine in a cluster, unless DIRECTORY has it with the same inventory."""
    made = provision(directory, machine=machine, inventories=inventories)
    click.echo(f"{directory}: {'created' if made else 'kept'}")


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False, exists=True))
def remove(directory: Path) -> None:
    """Remove the node in DIRECTORY, or all nodes of a rack; programs get Driver Not Loaded."""
    remove_node(directory)


@main.command("list")
@_node_option
@click.option("--inventories", is_flag=True, help="List the shipped inventories instead.")
@click.option("--fields", is_flag=True, help="List the fields that `set` knows instead.")
@click.option("--values", metavar="GPU", help="List every field of one GPU instead.")
def list_(directory: Path | None, inventories: bool, fields: bool, values: str | None) -> None:
    """List the GPUs of a node."""
    if inventories:
        for name in inventory_names():
            click.echo(name)
        return
    if fields:
        for name, meaning in (*SCALARS.items(), *STRINGS.items()):
            click.echo(f"{name:40} {meaning}")
        return
    with _opened(directory) as node:
        if values is not None:
            for name in (*SCALARS, *STRINGS):
                click.echo(f"{name:40} {node.get(_gpu(values), name)}")
            return
        for gpu in node.gpus:
            marks = "".join([" MIG" if gpu.mig_enabled else "", " LOST" if gpu.lost else ""])
            click.echo(f"{gpu.index} {gpu.uuid} {gpu.bus_id} {gpu.name}{marks}")


@main.command()
@_node_option
@click.option("--seconds", type=float, help="End after so long; without it at Ctrl-C, or with the node.")
def watch(directory: Path | None, seconds: float | None) -> None:
    """Show changes of a node as they happen: values, events, MIG instances, links, processes, faults.

    \b
    fake-nvml watch
    fake-nvml watch --node /tmp/n1 --seconds 60
    """
    clock = RealClock()
    end = None if seconds is None else clock.monotonic() + seconds
    with _opened(directory) as node, Watch(node) as watched:
        click.echo(f"watching {node.directory}; Ctrl-C ends it", err=True)
        try:
            going = True
            while going:
                going = not watched.over and (end is None or clock.monotonic() < end)
                # Also when it is over: what happened before that look has its line.
                left = _WATCH if end is None else min(_WATCH, max(0.0, end - clock.monotonic()))
                for line in watched.next(left if going else 0.0):
                    click.echo(f"{clock.now().astimezone():%H:%M:%S.%f} {line}")
        except KeyboardInterrupt:
            click.echo(err=True)  # ends the line of the terminal's ^C


@main.command()
@click.argument("inventory")
@click.option("--unverified", is_flag=True, help="Only values that were not verified on hardware.")
def describe(inventory: str, unverified: bool) -> None:
    """Show each value of INVENTORY (a name or a .yaml file) with its source; `?` marks what was not verified."""
    for line in describe_lines(Inventory.load(inventory), unverified_only=unverified):
        click.echo(line)


@main.command("set")
@_node_option
@click.argument("gpu")
@click.argument("field")
@click.argument("value")
def set_(directory: Path | None, gpu: str, field: str, value: str) -> None:
    """Set FIELD of GPU (index or UUID) to VALUE; N/A for Not Supported."""
    with _opened(directory) as node:
        # A text with a unit stays a text: `set` converts it.
        number = field in SCALARS and value.removeprefix("-").isdigit()
        node.set(_gpu(gpu), field, int(value) if number else value)


@main.command()
@_node_option
@click.argument("gpu")
@click.argument("number", type=int)
def xid(directory: Path | None, gpu: str, number: int) -> None:
    """Report XID NUMBER on GPU (79: the GPU is lost)."""
    with _opened(directory) as node:
        node.inject_xid(_gpu(gpu), number)


@main.command()
@_node_option
@click.argument("gpu")
@click.argument("link", type=int)
@click.argument("state", type=click.Choice(["up", "down"]))
def link(directory: Path | None, gpu: str, link: int, state: str) -> None:
    """Bring NVLink LINK of GPU up or down."""
    with _opened(directory) as node:
        node.set_link(_gpu(gpu), link, active=state == "up")


@main.command()
@_node_option
@click.argument("function", required=False)
@click.option("--error", default="SUCCESS", help="NVML error, for example GPU_IS_LOST.")
@click.option("--times", default=0, help="How often; 0: always.")
@click.option("--after", default=0, help="Calls let through first.")
@click.option("--every", default=1, help="Of the calls after that, only every n-th.")
@click.option("--probability", default=1.0, help="Of each of these, from above 0 to 1.")
@click.option("--seed", default=0, help="The same seed gives the same sequence of faults.")
@click.option("--delay", default=0.0, help="Seconds the call takes.")
@click.option("--hang", is_flag=True, help="The call hangs until the rule is cleared.")
@click.option("--gpu", help="Only calls on this GPU.")
@click.option("--pid", default=0, help="Only calls of this process.")
@click.option("--program", default="", help="Only processes of this name (as in /proc/PID/comm).")
@click.option("--clear", is_flag=True, help="Remove all faults instead.")
def fault(
    directory: Path | None, function: str | None, error: str, gpu: str | None, clear: bool, **options: Any
) -> None:
    """Make the NVML FUNCTION (or all with a prefix, `nvmlDeviceGet*`) fail, be slow or hang; list the faults if none is
    given.

    \b
    fake-nvml fault nvmlDeviceGetTemperature --error GPU_IS_LOST --gpu 3 --every 10
    fake-nvml fault 'nvmlEventSetWait*' --hang --program my-driver
    fake-nvml fault --clear
    """
    with _opened(directory) as node:
        if clear:
            node.clear_faults()
        elif function:
            where = None if gpu is None else _gpu(gpu)
            click.echo(node.inject_fault(function, error=error, gpu=where, **options))
        else:
            for line in fault_list.describe(node.read()):
                click.echo(line)


@main.command("fail-init")
@_node_option
@click.argument("error")
def fail_init(directory: Path | None, error: str) -> None:
    """Make nvmlInit return ERROR, for example LIB_RM_VERSION_MISMATCH; SUCCESS ends it."""
    with _opened(directory) as node:
        node.fail_init(error)


@main.command("reload-driver")
@_node_option
def reload_driver(directory: Path | None) -> None:
    """Reload the driver: open sessions return Driver Not Loaded until they call nvmlInit again."""
    with _opened(directory) as node:
        node.reload_driver()


@main.command()
@_node_option
@click.option("--start", "change", flag_value="start", help="Begin a new log.")
@click.option("--stop", "change", flag_value="stop", help="Stop logging; what was logged stays.")
@click.option("--count", is_flag=True, help="Sums by program and function instead of single calls.")
@click.option("--unimplemented", is_flag=True, help="Only functions that the fake does not implement.")
def calls(directory: Path | None, change: str | None, count: bool, unimplemented: bool) -> None:
    """Show which programs called which NVML functions since `calls --start`."""
    with _opened(directory) as node:
        if change is not None:
            node.log_calls(change == "start")
            return
        found = [call for call in node.calls() if not (unimplemented and call.implemented)]
        if count:
            for (program, function), number in call_log.counts(found).items():
                click.echo(f"{number:8} {program:16} {function}")
            return
        for call in found:
            where = "" if call.gpu is None else f" GPU {call.gpu}"
            missing = "" if call.implemented else " (not implemented)"
            click.echo(f"{call.time:.6f} {call.program}[{call.pid}] {call.function}{where}{missing}")


@main.command()
@_node_option
@click.argument("script", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--speed", default=1.0, help="2 plays twice as fast.")
@click.option("--check", is_flag=True, help="Read the script and change nothing.")
def play(directory: Path | None, script: Path, speed: float, check: bool) -> None:
    """Play a timeline: a YAML file of changes to the node and their times.

    \b
    steps:
      - {at: 0, set: {gpu: 0, temperature_gpu: 85}}
      - {at: 2.5, xid: {gpu: 0, number: 79}}
      - {at: 10, recover: {gpu: 0}}
    """
    timeline = Timeline.load(script)
    if speed <= 0:
        raise click.UsageError(f"--speed is above 0; it is {speed}")
    if check:
        click.echo(f"{len(timeline.steps)} steps, {timeline.steps[-1].at if timeline.steps else 0:g} s")
        return
    with _opened(directory) as node:
        for step in timeline.play(node, speed=speed):
            click.echo(f"{step.at:g} s: {step.text}")


@main.command()
@_node_option
@click.argument("gpu", required=False)
@click.option("--recover", is_flag=True, help="Bring a lost GPU back.")
@click.option("--node-as-made", "whole", is_flag=True, help="Restore the node to the state in which it was created.")
def reset(directory: Path | None, gpu: str | None, recover: bool, whole: bool) -> None:
    """Reset GPU: pending modes become current, MIG instances are destroyed."""
    if (gpu is None) == (not whole):
        raise click.UsageError("no GPU is given: name one, or use --node-as-made to undo all changes")
    with _opened(directory) as node:
        if whole or gpu is None:
            node.restore()
        elif recover:
            node.recover_gpu(_gpu(gpu))
        else:
            node.reset(_gpu(gpu))


@main.command(context_settings={"ignore_unknown_options": True})
@_node_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def smi(directory: Path | None, arguments: tuple[str, ...]) -> None:
    """Print what nvidia-smi prints: nothing (the table), -L, -q, mig -lgi, -lgip or -lgipp."""
    views: dict[tuple[str, ...], Callable[[Any], str]] = {
        (): table,
        ("-L",): smi_lists.list_gpus,
        # `parts` is read when the view runs, with the node open.
        ("-q",): lambda nvml: query(nvml, parts),
        ("mig", "-lgi"): smi_lists.mig_instances,
        ("mig", "-lgip"): smi_text.mig_profiles,
        ("mig", "-lgipp"): smi_text.mig_placements,
    }
    if arguments not in views:
        known = ", ".join(" ".join(words) or "(nothing)" for words in views)
        raise click.UsageError(f"not known: {' '.join(arguments)!r}. Known: {known}")
    with _opened(directory) as node:
        parts = [str(node.get(gpu.index, "gpu_part_number")) for gpu in node.gpus]
        nvml = load_pynvml(node)
        try:
            nvml.nvmlInit()
            click.echo(views[arguments](nvml), nl=False)
            nvml.nvmlShutdown()
        except nvml.NVMLError as error:
            raise click.ClickException(f"NVML: {error}") from error
