"""Devices that are counted, not allocated: what a device plugin lets a node offer, and pods that ask for a number.

The plugins themselves are stood in for: their numbers are written into the status of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_api.objects import NODES, Obj
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps.nodes import make_node
from dra_conformance.steps.pods import pod_object, scheduler_of

GPU_RESOURCE = "nvidia.com/gpu"


def amounts(world: World, text: str) -> dict[str, str]:
    """`{a.test/gpu: 2}` as Kubernetes writes it."""
    found: Mapping[str, Any] = manifests.parse_value(world.text(text))
    return {name: str(value) for name, value in found.items()}


def container(name: str, asked: Mapping[str, str]) -> Obj:
    """A container that asks for resources, as requests and limits."""
    resources = {"requests": dict(asked), "limits": dict(asked)}
    return {"name": name, "image": "registry.k8s.io/pause:3.10", "resources": resources}


def offer(world: World, node: str, amounts: Mapping[str, str]) -> None:
    """Write resources into capacity and allocatable of a node, in the place of its kubelet."""

    def change(obj: Obj) -> None:
        for field in ("capacity", "allocatable"):
            obj["status"][field] = {**(obj["status"].get(field) or {}), **amounts}

    world.update(NODES, world.name(node), change, subresource="status")


def asking_pod(world: World, pod: str, asked: Mapping[str, str]) -> Obj:
    """A pod without claims whose only container, `main`, asks for resources."""
    return pod_object(world, pod, [], scheduler=scheduler_of(world), containers=[container("main", asked)])


@given('node "{node}" with {count:d} GPUs of a device plugin')
def _(world: World, node: str, count: int) -> None:
    """A ready Node whose allocatable has nvidia.com/gpu; no slice."""
    make_node(world, node)
    offer(world, node, {GPU_RESOURCE: str(count)})


@given('node "{node}" has {amount} of a device plugin')
def _(world: World, node: str, amount: str) -> None:
    """Write an extended resource into capacity and allocatable of a node, in the place of its kubelet."""
    offer(world, node, amounts(world, amount))
    world.settle()  # a scheduler that has not seen it yet would be right to make a claim


@given('a pod "{pod}" with {count:d} GPUs of a device plugin')
def _(world: World, pod: str, count: int) -> None:
    """A pod without claims that asks for nvidia.com/gpu."""
    world.create(asking_pod(world, pod, {GPU_RESOURCE: str(count)}))


@given('a pod "{pod}" asking for {amount}')
@when('a pod "{pod}" asking for {amount} is created')
def _(world: World, pod: str, amount: str) -> None:
    """A pod whose only container, `main`, asks for extended resources."""
    world.create(asking_pod(world, pod, amounts(world, amount)))


@when('an init container asking for {first} runs before pod "{pod}" asking for {amount}')
def _(world: World, first: str, pod: str, amount: str) -> None:
    """A pod with the init container `first` and the container `main`, both of which ask for extended resources."""
    made = asking_pod(world, pod, amounts(world, amount))
    made["spec"]["initContainers"] = [container("first", amounts(world, first))]
    world.create(made)
