"""Nodes: Node objects only, nodes with a kubelet, and nodes on which the driver under test runs."""

from __future__ import annotations

import threading
from typing import Any

from dra_api.client import ApiError, Forbidden
from dra_api.objects import NODES, RESOURCE_SLICES, Obj
from dra_conformance.components.node import DOMAIN_DRIVER, ScenarioNode
from dra_conformance.components.pools import completeness
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.events import ClockAdvanced
from dra_conformance.core.labels import SCENARIO_LABEL
from dra_conformance.engine.vocabulary import given, when, words
from dra_conformance.engine.world import Seen, World

NOT_READY = "node.kubernetes.io/not-ready"
NODE_RESOURCES = "DRANodeAllocatableResources"
"""The feature that a node declares for devices that use its resources."""
_LIMITED = ("volumes", "claims")
"""What a binder gives the same time limit (volume-binding-timeout-seconds of KAI 0.12, bindTimeoutSeconds of 0.17)."""
_USES: Obj = {"cpu": {"mapping": {"deviceMultiplier": "1"}}}


def node_object(name: str, labels: dict[str, str] | None = None) -> Obj:
    """Return a Node that is ready and has resources for pods."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {},
        "status": {
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "250"},
            "capacity": {"cpu": "64", "memory": "256Gi", "pods": "250"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
        },
    }


def make_node(world: World, alias: str, labels: dict[str, str] | None = None) -> str:
    """Create a Node object with its status, and return its name."""
    name = world.name(alias)
    obj = node_object(name, {SCENARIO_LABEL: world.suffix, **(labels or {})})
    world.create(obj)
    world.update(NODES, name, lambda stored: stored.update(status=obj["status"]), subresource="status")
    wait_schedulable(world, alias)
    return name


def wait_schedulable(world: World, alias: str) -> None:
    """Wait until the not-ready taint is gone: a cluster adds it to every new node, and removes it from ready ones."""
    name = world.name(alias)

    def look() -> Seen[list[Any]]:
        taints = ((world.observer.get(NODES, name) or {}).get("spec") or {}).get("taints") or []
        return not any(taint["key"] == NOT_READY for taint in taints), taints

    if (world.get(NODES, name).get("spec") or {}).get("taints"):
        world.require(f"node {alias} becomes ready for pods", look)
        world.wait_for_watches()


def simulated_driver(world: World) -> str:
    """Return the driver name of slices that a scenario writes; no such driver runs."""
    return world.fill("sim", "")


def slice_object(world: World, alias: str, devices: list[Obj], *, pool: str = "", generation: int = 1) -> Obj:
    """Return a ResourceSlice of the simulated driver for one node."""
    name = world.name(alias)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{pool or 'pool'}-{name}"},
        "spec": {
            "driver": simulated_driver(world),
            "nodeName": name,
            "pool": {"name": pool or name, "generation": generation, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def plain_devices(count: int) -> list[Obj]:
    """Return devices dev-0, dev-1 …: type gpu, an index, alternating models a and b, two to a PCIe root, 80Gi."""
    return [
        {
            "name": f"dev-{index}",
            "attributes": {
                "type": {"string": "gpu"},
                "index": {"int": index},
                "model": {"string": "ab"[index % 2]},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index // 2:02x}"},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for index in range(count)
    ]


def publish(world: World, obj: Obj) -> Obj:
    """Create a slice and wait until all components have received it."""
    created = world.create(obj)
    # `catch_up` waits for the harness's own observer, `wait_for_watches` for the components.
    world.catch_up()
    world.wait_for_watches()
    return created


def run_driver(
    world: World, alias: str, *, inventory: str | None = None, as_process: bool = False, flags: str = ""
) -> ScenarioNode:
    """Return a node with kubelet and driver; the driver is registered and has published all of its pools."""
    node = world.node(alias, inventory=inventory)
    node.flags = tuple(flags.split())
    node.driver_as_process = as_process
    node.start_kubelet()
    node.start_driver()
    node.wait_driver()
    wait_schedulable(world, alias)
    world.require(
        f"the driver publishes devices for {alias}",
        lambda: (bool(node.devices()), f"{len(node.slices())} slices, no device"),
        within=max(world.run.patience, 20.0),
    )
    # Steps read the devices at once, so all of them must be published. Incomplete pools are not refused here: that
    # is for a rule to judge.
    world.wait(lambda: completeness(node.slices()))
    return node


@given('node "{node}"')
def _(world: World, node: str) -> None:
    """Create a ready Node object without kubelet or devices."""
    make_node(world, node)


@given('node "{node}" with label "{label}" set to "{value}"')
def _(world: World, node: str, label: str, value: str) -> None:
    """Create a ready Node object with one label of its own."""
    make_node(world, node, {label: world.text(value)})


@given('node "{node}" declares the features "{features}"')
def _(world: World, node: str, features: str) -> None:
    """Write `status.declaredFeatures` of a Node, as its kubelet does; commas separate several."""
    declared = sorted(words(features))

    def change(stored: Obj) -> None:
        stored["status"] = {**(stored.get("status") or {}), "declaredFeatures": declared}

    world.update(NODES, world.name(node), change, subresource="status")
    world.wait_for_watches()
    if NODE_RESOURCES in declared:
        _wait_admitted(world, node)


def _wait_admitted(world: World, node: str) -> None:
    """Wait until the API server accepts a slice whose device uses resources of a node.

    Its admission reads the features of the node from a cache of its own (plugin/pkg/admission, Kubernetes 1.37).
    """
    probe = slice_object(world, node, [{"name": "probe", "nodeAllocatableResources": _USES}], pool="probe")

    def accepted() -> bool:
        try:
            world.client.create(RESOURCE_SLICES, probe, dry_run=True)
        except Forbidden as error:
            return NODE_RESOURCES not in error.message
        except ApiError:
            return True  # the scenario finds out why
        return True

    if not world.checks.poll(accepted):
        raise Untestable(f"the API server does not observe that node {node} declares {NODE_RESOURCES}")


@given('node "{node}" with {count:d} devices')
def _(world: World, node: str, count: int) -> None:
    """Create a Node object and one slice with `count` devices (dev-0 …) of the simulated driver."""
    make_node(world, node)
    publish(world, slice_object(world, node, plain_devices(count)))


@given('node "{node}" with a kubelet')
def _(world: World, node: str) -> None:
    """Start a node with a kubelet and no driver."""
    world.node(node).start_kubelet()
    wait_schedulable(world, node)


@given('node "{node}" running the driver')
def _(world: World, node: str) -> None:
    """Start a node with a kubelet and the driver under test; the driver is registered and has published its devices."""
    run_driver(world, node)


@given('node "{node}" running the driver on the GPUs of "{inventory}"')
def _(world: World, node: str, inventory: str) -> None:
    """Start a node with the driver on the fake GPUs of a named inventory."""
    run_driver(world, node, inventory=inventory)


@given('node "{node}" running the driver with "{flags}"')
def _(world: World, node: str, flags: str) -> None:
    """Start a node with the driver, with flags of gpu.nvidia.com in their upstream spelling, separated by spaces."""
    run_driver(world, node, flags=flags)


@given('node "{node}" running the driver with "{flags}" on the GPUs of "{inventory}"')
def _(world: World, node: str, flags: str, inventory: str) -> None:
    """Start a node with the driver on the fake GPUs of a named inventory."""
    run_driver(world, node, flags=flags, inventory=inventory)


@given('node "{node}" running the driver as a process')
def _(world: World, node: str) -> None:
    """Start a node with the driver in a process of its own, which can be killed."""
    run_driver(world, node, as_process=True)


@when("{percent:d} percent of the binder's time limit for {what:word} pass")
def _(world: World, percent: int, what: str) -> None:
    """Let a part of the time pass that a binder gives `volumes` or `claims`: 120 seconds, or as its preset says."""
    if what not in _LIMITED:
        raise SpecificationError(f"a binder has no time limit for {what!r}; it has one for {' and '.join(_LIMITED)}")
    _pass(world, round(world.run.options.volume_limit * percent / 100))


@when("{seconds:d} seconds pass")
def _(world: World, seconds: int) -> None:
    """Advance the clock, and wait until what was due is done; if a program is judged, wait in real time."""
    _pass(world, seconds)


def _pass(world: World, seconds: int) -> None:
    if world.uses_real_time:
        world.clock.wait(threading.Event(), seconds)  # its clock runs already; waiting for idle first would add to it
    else:
        world.pass_time(seconds)
    world.log.emit(ClockAdvanced(advanced=seconds))
    if not world.uses_real_time:
        world.settle()


@given('an IMEX channel on "{node}"')
def _(world: World, node: str) -> None:
    """Create a slice of compute-domain.nvidia.com with the device channel-0; no such driver runs."""
    publish_channel(world, node)


@given("nodes {first:d} to {last:d} with an IMEX channel each")
def _(world: World, first: int, last: int) -> None:
    """Create the Node objects node-FIRST to node-LAST, with such a slice each."""
    for number in range(first, last + 1):
        make_node(world, f"node-{number}")
        publish_channel(world, f"node-{number}")


def publish_channel(world: World, node: str) -> None:
    """Publish channel-0 of a node."""
    obj = slice_object(world, node, [{"name": "channel-0", "attributes": {"type": {"string": "channel"}}}])
    obj["metadata"]["name"] = f"imex-{world.name(node)}"
    obj["spec"]["driver"] = DOMAIN_DRIVER
    publish(world, obj)
