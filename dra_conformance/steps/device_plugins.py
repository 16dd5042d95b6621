"""Extended resources of device plugins: nodes that offer a number of them, and pods that request a number.

No device plugin runs: the numbers are written into the status of nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_api.objects import NODES, PODS, Obj, namespace_of
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.steps.placement import PluginResources
from dra_conformance.steps.pods import (
    add_container,
    by_template,
    create_other_namespace,
    create_pod,
    pod_object,
    scheduler_of,
)


def amounts(world: World, text: str) -> dict[str, str]:
    """Return resources such as `{a.test/gpu: 2}` with the numbers as texts, as Kubernetes has them."""
    found: Mapping[str, Any] = manifests.parse_value(world.text(text))
    return {name: str(value) for name, value in found.items()}


def container(name: str, requested: Mapping[str, str]) -> Obj:
    """Return a container that requests resources, with equal limits."""
    resources = {"requests": dict(requested), "limits": dict(requested)}
    return {"name": name, "image": "registry.k8s.io/pause:3.10", "resources": resources}


def offer(world: World, node: str, amounts: Mapping[str, str]) -> None:
    """Write resources into capacity and allocatable of a node, as its kubelet does."""

    def change(obj: Obj) -> None:
        for field in ("capacity", "allocatable"):
            obj["status"][field] = {**(obj["status"].get(field) or {}), **amounts}

    world.update(NODES, world.name(node), change, subresource="status")
    for resource in amounts:
        world.state(PluginResources).nodes.setdefault(resource, set()).add(world.name(node))


def requesting_pod(world: World, pod: str, requested: Mapping[str, str]) -> Obj:
    """Return a pod without claims whose only container, `main`, requests resources."""
    return pod_object(world, pod, [], scheduler=scheduler_of(world), containers=[container("main", requested)])


@given('node "{node}" has {amount} of a device plugin')
def _(world: World, node: str, amount: str) -> None:
    """Write an extended resource into capacity and allocatable of a node, as its kubelet does."""
    offer(world, node, amounts(world, amount))
    world.settle()  # a scheduler that has not seen the resource yet may create a claim


@given('a pod "{pod}" requesting {amount}')
@when('a pod "{pod}" requesting {amount} is created')
def _(world: World, pod: str, amount: str) -> None:
    """A pod whose only container, `main`, requests extended resources."""
    create_pod(world, requesting_pod(world, pod, amounts(world, amount)))


@given('a pod "{pod}" using template "{template}" and requesting {amount}')
def _(world: World, pod: str, template: str, amount: str) -> None:
    """A pod with a claim from a template, under the name `gpu`, whose only container requests extended resources."""
    made = requesting_pod(world, pod, amounts(world, amount))
    made["spec"]["resourceClaims"] = [by_template("gpu", template)]
    create_pod(world, made)


@given('a pod "{pod}" of another namespace requesting {amount}')
def _(world: World, pod: str, amount: str) -> None:
    """Create such a pod outside the scenario's namespace."""
    made = requesting_pod(world, pod, amounts(world, amount))
    made["metadata"]["namespace"] = create_other_namespace(world)
    create_pod(world, made)
    world.cleanup.callback(world.client.delete, PODS, pod, namespace_of(made), grace_period_seconds=0)


@when('a pod "{pod}" is created with the containers:')
def _(world: World, pod: str, datatable: list[list[str]]) -> None:
    """A pod whose containers request extended resources; the kind of a container is main, init or sidecar."""
    made = pod_object(world, pod, [], scheduler=scheduler_of(world))
    made["spec"]["containers"] = []
    for name, kind, requested in datatable[1:]:
        add_container(made, container(name, amounts(world, requested)), kind)
    create_pod(world, made)
