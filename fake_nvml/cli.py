"""The `fake-nvml` command: make a fake node, look at it, change it, break it.

A node is a folder; `--node` or the environment variable FAKE_NVML_NODE says which (or FAKE_NVML_STATE, which processes
of a node have). Every command is one transaction on the node's shared state, seen at once by the programs that use it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from fake_nvml import smi as smi_text
from fake_nvml.binding import load_pynvml
from fake_nvml.errors import FakeNvmlError
from fake_nvml.fields import SCALARS, STRINGS
from fake_nvml.inventory import Inventory, inventory_names
from fake_nvml.library import library_path
from fake_nvml.node import Node


class _Group(click.Group):
    """Turns this package's errors into a message and exit status 2, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FakeNvmlError as error:
            raise click.UsageError(str(error)) from error


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
            raise click.UsageError("which node? Give --node FOLDER, or set FAKE_NVML_NODE")
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
    """Print where the library is."""
    click.echo(library_path())


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--inventory", "-i", default="dgx-h100", show_default=True, help="A shipped inventory, or a .yaml file.")
@click.option("--name", help="The node's name; identities are made from it. Default: the folder's name.")
def create(directory: Path, inventory: str, name: str | None) -> None:
    """Make a node in DIRECTORY and print the environment for its programs."""
    with Node.create(Inventory.load(inventory), directory, name=name) as node:
        node.keep()
        for key, value in node.env().items():
            click.echo(f"export {key}={value}")


@main.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False, exists=True))
def remove(directory: Path) -> None:
    """End the node in DIRECTORY: its programs get Driver Not Loaded, its files go."""
    node = Node.open(directory)
    node.own()
    node.close()


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


@main.command("set")
@_node_option
@click.argument("gpu")
@click.argument("field")
@click.argument("value")
def set_(directory: Path | None, gpu: str, field: str, value: str) -> None:
    """Set FIELD of GPU (index or UUID) to VALUE; N/A for Not Supported."""
    with _opened(directory) as node:
        number = field in SCALARS and value.lstrip("-").isdigit()
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
@click.argument("function", required=False)
@click.option("--error", default="SUCCESS", help="NVML error, for example GPU_IS_LOST.")
@click.option("--times", default=0, help="How often; 0: always.")
@click.option("--after", default=0, help="Calls let through first.")
@click.option("--delay", default=0.0, help="Seconds the call takes.")
@click.option("--gpu", help="Only calls on this GPU.")
@click.option("--pid", default=0, help="Only calls of this process.")
@click.option("--clear", is_flag=True, help="Remove all faults instead.")
def fault(
    directory: Path | None,
    function: str | None,
    error: str,
    times: int,
    after: int,
    delay: float,
    gpu: str | None,
    pid: int,
    clear: bool,
) -> None:
    """Make the NVML FUNCTION fail or be slow; without one, list the faults."""
    with _opened(directory) as node:
        if clear:
            node.clear_faults()
        elif function:
            where = None if gpu is None else _gpu(gpu)
            click.echo(
                node.inject_fault(function, error=error, times=times, after=after, delay=delay, gpu=where, pid=pid)
            )
        else:
            for number, rule in enumerate(node.read().faults):
                if rule.active:
                    click.echo(f"{number} {rule.function.decode()} returns {rule.rc} hits {rule.hits}")


@main.command()
@_node_option
@click.argument("gpu")
@click.option("--recover", is_flag=True, help="Bring a lost GPU back.")
def reset(directory: Path | None, gpu: str, recover: bool) -> None:
    """Reset GPU: pending modes become current, MIG instances go."""
    with _opened(directory) as node:
        if recover:
            node.recover_gpu(_gpu(gpu))
        else:
            node.reset(_gpu(gpu))


@main.command(context_settings={"ignore_unknown_options": True})
@_node_option
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def smi(directory: Path | None, arguments: tuple[str, ...]) -> None:
    """Print what nvidia-smi prints: nothing (the table), -L, mig -lgi, mig -lgip."""
    views = {
        (): smi_text.table,
        ("-L",): smi_text.list_gpus,
        ("mig", "-lgi"): smi_text.mig_instances,
        ("mig", "-lgip"): smi_text.mig_profiles,
    }
    if arguments not in views:
        raise click.UsageError(f"not known: {' '.join(arguments)!r}. Known: (nothing), -L, mig -lgi, mig -lgip")
    with _opened(directory) as node:
        nvml = load_pynvml(node)
        try:
            nvml.nvmlInit()
            click.echo(views[arguments](nvml), nl=False)
            nvml.nvmlShutdown()
        except nvml.NVMLError as error:
            raise click.ClickException(f"NVML: {error}") from error
