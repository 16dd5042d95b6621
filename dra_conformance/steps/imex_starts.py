"""Starts of the ComputeDomain driver: on what node and with which flags it runs, and when it must not.

The reference is built from its own command line, so what is judged is what a person would see who starts it so.
"""

from __future__ import annotations

from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.compute_domains import ensure_driver_namespace
from dra_conformance.steps.imex_claims import waiting

CHANNEL_DRIVER = "nvidia-caps-imex-channels"
IN_PROGRESS = 2
"""NVML_GPU_FABRIC_STATE_IN_PROGRESS."""


@given('node "{node}" with a kubelet and the GPUs of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """A node with a kubelet and fake GPUs, on which no driver runs."""
    ensure_driver_namespace(world)
    world.node(node, inventory=inventory).start_kubelet()


@given('the kernel of "{node}" has no driver of IMEX channels')
def _(world: World, node: str) -> None:
    """Take nvidia-caps-imex-channels out of the fake node's /proc/devices."""
    table = world.node(node).gpus.driver_root / "proc/devices"
    lines = table.read_text().splitlines(keepends=True)
    kept = [line for line in lines if CHANNEL_DRIVER not in line]
    if kept == lines:
        raise Untestable(f"{table} names no {CHANNEL_DRIVER}, so nothing can be taken away")
    table.write_text("".join(kept))


@given('the NVLink fabric of "{node}" is still in progress')
def _(world: World, node: str) -> None:
    """NVML says so of every GPU: the fabric manager has not registered them yet."""
    gpus = world.node(node).gpus
    for index in range(len(gpus.gpus)):
        gpus.set(index, "fabric_state", IN_PROGRESS)


def start(world: World, alias: str, flags: str) -> str:
    """Start the ComputeDomain driver; empty when it runs and is registered, else why it ended."""
    from reference_impl.runtime import PartError

    try:
        world.node(alias).start_fabric_plugin(flags.split())
    except PartError as error:
        return str(error)
    return ""


def refuses(world: World, alias: str, flags: str, text: str) -> None:
    """Judge that the driver ends at start with an error that holds `text`."""
    said = start(world, alias, flags)
    what = f"the ComputeDomain driver refuses to start{f' with {flags}' if flags else ''}"
    world.check(bool(said) and text in said, what, expected=f"an end that says {text!r}", observed=said or "it runs")


@then('the ComputeDomain driver on "{node}" does not start, because "{text}"')
def _(world: World, node: str, text: str) -> None:
    """It ends with an error that says so, and does not register."""
    refuses(world, node, "", text)


@then('the ComputeDomain driver on "{node}" with "{flags}" does not start, because "{text}"')
def _(world: World, node: str, flags: str, text: str) -> None:
    """With these flags it ends with an error that says so, and does not register."""
    refuses(world, node, flags, text)


@then('the ComputeDomain controller with "{flags}" does not start, because "{text}"')
def _(world: World, flags: str, text: str) -> None:
    """Started anew with these flags it ends with an error that says so."""
    from reference_impl.runtime import PartError

    said = ""
    try:
        world.components.restart("compute-domain-controller", flags=flags.split())
    except PartError as error:
        said = str(error)
    what = f"the ComputeDomain controller refuses to start with {flags}"
    world.check(bool(said) and text in said, what, expected=f"an end that says {text!r}", observed=said or "it runs")


@then('the ComputeDomain driver on "{node}" with "{flags}" starts')
def _(world: World, node: str, flags: str) -> None:
    """With these flags it runs and registers with the kubelet."""
    said = start(world, node, flags)
    world.check(not said, f"the ComputeDomain driver starts with {flags}", expected="it runs", observed=said or "runs")


@then('the daemon of claim "{claim}" on "{node}" is told of no clique')
def _(world: World, claim: str, node: str) -> None:
    """Prepare comes to answer, and the container's environment has CLIQUE_ID with an empty value."""
    call = waiting(world, claim)

    def look() -> Seen:
        if not call.done.is_set() or call.error:
            return False, call.error or "no answer yet"
        try:
            found = CDIRegistry.read(world.node(node).kubelet.cdi_roots).resolve(call.ids)
        except CDIError as error:
            return False, str(error)
        told = [word for device in found for word in device.edits.get("env") or () if word.startswith("CLIQUE_ID")]
        return told == ["CLIQUE_ID="], told or "no CLIQUE_ID"

    world.eventually(f"clique of the daemon of claim {claim}", look, expected=["CLIQUE_ID="])
