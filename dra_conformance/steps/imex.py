"""A node's ComputeDomain driver: what it publishes, and the IMEX channels that it gives and refuses."""

from __future__ import annotations

import re
from typing import Any

from dra_api.client import AlreadyExists
from dra_api.objects import DEVICE_CLASSES, RESOURCE_SLICES, Obj, name_of
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.engine.vocabulary import given, then
from dra_conformance.engine.world import Seen, World
from dra_conformance.kubelet import CDIRegistry
from dra_conformance.kubelet.errors import CDIError
from dra_conformance.steps.compute_domains import ensure_driver_namespace
from dra_conformance.steps.containers import views
from dra_conformance.steps.imex_claims import waiting

GIVEN_WITHIN = 15.0
"""Least seconds for a channel to be given: all 2048 of them are much to write, and a driver has 45 for a call."""
AT_ONCE = 5.0
"""Seconds in which an answer that waits for nothing arrives, with room for a busy machine; waiting takes 45."""
CHANNEL = re.compile(r"/dev/nvidia-caps-imex-channels/channel(\d+)")


def run_domain_driver(world: World, alias: str, inventory: str, *, flags: str = "") -> None:
    """A kubelet and the ComputeDomain driver, registered and published."""
    ensure_driver_namespace(world)
    node = world.node(alias, inventory=inventory)
    node.start_kubelet()
    node.start_fabric_plugin(flags.split())
    world.require(f"the ComputeDomain driver publishes on {alias}", lambda: (bool(published(world, alias)), "no slice"))
    for obj in domain_slices(world, alias):
        world.track(RESOURCE_SLICES, name_of(obj))


def domain_slices(world: World, alias: str) -> list[Obj]:
    """The ComputeDomain driver's slices of a node."""
    return [
        obj
        for obj in world.observer.list(RESOURCE_SLICES)
        if obj["spec"].get("driver") == DOMAIN_DRIVER and obj["spec"].get("nodeName") == world.name(alias)
    ]


def published(world: World, alias: str) -> list[tuple[str, Any, Any]]:
    """Name, type and id of each device that the ComputeDomain driver publishes on a node."""
    return sorted(
        (
            device["name"],
            ((device.get("attributes") or {}).get("type") or {}).get("string"),
            ((device.get("attributes") or {}).get("id") or {}).get("int"),
        )
        for obj in domain_slices(world, alias)
        for device in obj["spec"].get("devices") or ()
    )


@given('node "{node}" running the ComputeDomain driver on the GPUs of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """A kubelet and the ComputeDomain driver; its GPUs say which NVLink clique the node is in, if any."""
    run_domain_driver(world, node, inventory)


@given("the DeviceClass of IMEX channels")
def _(world: World) -> None:
    """The class that the driver's installation makes and that its claim templates name."""
    for obj in world.manifests("deviceclasses/compute-domain-default-channel.nvidia.com"):
        try:
            world.client.create(DEVICE_CLASSES, obj)
        except AlreadyExists:
            continue
        world.track(DEVICE_CLASSES, name_of(obj))


@then('the ComputeDomain driver on "{node}" publishes channel 0 and daemon 0 only')
def _(world: World, node: str) -> None:
    """Its slices hold exactly channel-0 of type channel and daemon-0 of type daemon, both with id 0."""
    wanted = [("channel-0", "channel", 0), ("daemon-0", "daemon", 0)]
    world.eventually(
        f"devices of the ComputeDomain driver on {node}",
        lambda: (published(world, node) == wanted, published(world, node)),
        expected=wanted,
    )


@then('the channel of claim "{claim}" is given')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer without an error, with one device, channel-0, and its CDI id."""
    call = waiting(world, claim)

    def look() -> Seen:
        devices = call.answer.devices if call.answer else ()
        ok = call.done.is_set() and not call.error
        return (
            ok and [d.device_name for d in devices] == ["channel-0"] and len(devices[0].cdi_device_ids) == 1,
            call.error or ([f"{d.device_name} {d.cdi_device_ids}" for d in devices] or "no answer yet"),
        )

    within = max(world.run.patience, GIVEN_WITHIN)
    world.eventually(f"claim {claim} is prepared", look, expected="channel-0 with one CDI id", within=within)


@then('claim "{claim}" is prepared without any channel')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer without an error, with channel-0 and no CDI id."""
    call = waiting(world, claim)

    def look() -> Seen:
        devices = call.answer.devices if call.answer else ()
        ok = call.done.is_set() and not call.error and bool(devices)
        return (
            ok and not any(d.cdi_device_ids for d in devices),
            call.error or ([f"{d.device_name} {d.cdi_device_ids}" for d in devices] or "no answer yet"),
        )

    world.eventually(f"claim {claim} is prepared", look, expected="channel-0 without CDI ids")


@then('the channel of claim "{claim}" is not given yet')
def _(world: World, claim: str) -> None:
    """Prepare has not succeeded, also after everything has come to rest."""
    call = waiting(world, claim)

    def look() -> Seen:
        return not (call.done.is_set() and not call.error), call.error or ("given" if call.done.is_set() else "waits")

    world.stays(f"claim {claim} is not prepared", look, expected="no channel")


@then('the channel of claim "{claim}" is refused at once')
def _(world: World, claim: str) -> None:
    """Prepare comes to answer with an error of the claim, without waiting for anything."""
    refused_at_once(world, claim)


def refused_at_once(world: World, claim: str) -> None:
    """Judge that Prepare answers with an error of the claim, whatever is claimed, and waits for nothing."""
    call = waiting(world, claim)

    def look() -> Seen:
        told = call.answer.error if call.answer else ""
        return call.done.is_set() and bool(told), call.error or ("given" if call.done.is_set() else "no answer yet")

    world.eventually(f"claim {claim} is refused", look, expected="an error of the claim", within=AT_ONCE)


@then('the refusal of claim "{claim}" says "{text}"')
def _(world: World, claim: str, text: str) -> None:
    """The error that Prepare answered holds this text."""
    error = waiting(world, claim).error
    world.check(text in error, f"claim {claim} tells why", expected=f"a text with {text!r}", observed=error)


@then('claim "{claim}" brings {count:d} channels on "{node}"')
def _(world: World, claim: str, count: int, node: str) -> None:
    """Its CDI ids resolve to device nodes of the channels 0 to count - 1, character devices, and of no other."""
    call = waiting(world, claim)
    try:
        found = CDIRegistry.read(world.node(node).kubelet.cdi_roots).resolve(call.ids)
    except CDIError as error:
        world.check(False, "CDI ids resolve", expected=call.ids, observed=str(error))
        return
    nodes = [node_ for device in found for node_ in device.edits.get("deviceNodes") or ()]
    numbers = sorted(int(m[1]) for entry in nodes if (m := CHANNEL.fullmatch(entry["path"])))
    ok = numbers == list(range(count)) and all(entry.get("type", "c") == "c" for entry in nodes)
    world.check(ok, "channels of the claim", expected=f"channels 0 to {count - 1}", observed=numbers[:5] or nodes[:3])


@then('container "{container}" of pod "{pod}" on "{node}" gets IMEX channel 0 only')
def _(world: World, container: str, pod: str, node: str) -> None:
    """The container has the device node of channel 0 and of no other channel."""
    view = views(world, node, pod)[container]
    found = [path for path in view.device_paths() if "imex" in path]
    wanted = ["/dev/nvidia-caps-imex-channels/channel0"]
    world.check(found == wanted, f"device nodes of {container}", expected=wanted, observed=found)
