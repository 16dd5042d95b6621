"""Pods that use devices of device plugins, bound by hand, and what the node shows of the devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import NODES, PODS, Obj
from dra_api.quantity import Quantity
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.kubelet.device_checkpoint import FILE_NAME
from dra_conformance.kubelet.errors import KubeletError
from dra_conformance.steps.objects import attempt
from dra_conformance.steps.pods import BY_HAND, GRACE_SECONDS, add_container, add_pod, pod_object
from dra_conformance.steps.scripted_device_plugins import plugin_of


@dataclass(slots=True)
class Remembered:
    """The devices of pods as an earlier step has seen them, by pod and container."""

    of_pod: dict[str, dict[str, list[str]]] = field(default_factory=dict)


def container_with(name: str, resources: str) -> Obj:
    """Return a container with limits and equal requests: `resource: count`, separated by commas."""
    pairs = (one.partition(":") for one in words(resources))
    limits = {resource.strip(): count.strip() for resource, _, count in pairs}
    found: Obj = {"name": name, "image": "registry.k8s.io/pause:3.10", "resources": {}}
    if limits:
        found["resources"] = {"limits": limits, "requests": dict(limits)}
    return found


def _create(world: World, pod: str, containers: list[Mapping[str, str]]) -> None:
    obj = pod_object(world, pod, [], scheduler=BY_HAND)
    obj["spec"]["containers"] = []
    obj["spec"]["terminationGracePeriodSeconds"] = GRACE_SECONDS
    for row in containers:
        add_container(obj, container_with(row["name"], row["resources"]), row.get("kind") or "main")
    add_pod(world, obj)


@given('a pod "{pod}" with resources of the containers:')
def _(world: World, pod: str, datatable: list[list[str]]) -> None:
    """A pod with containers. Columns: name; resources (`name: count, …`); optional: kind, `init` or `sidecar`."""
    header, *rows = datatable
    _create(world, pod, [dict(zip(header, row, strict=True)) for row in rows])


@given('a pod "{pod}" with the CPU that "{node}" has left beside pods "{others}"')
def _(world: World, pod: str, node: str, others: str) -> None:
    """A pod that requests the allocatable CPU of the node without what these pods request."""
    allocatable = (world.client.get(NODES, world.name(node)).get("status") or {}).get("allocatable") or {}
    if "cpu" not in allocatable:
        raise Untestable(f"node {node} has no allocatable CPU")
    taken = sum(
        Quantity.parse(container["resources"]["requests"]["cpu"]).milli_value
        for other in words(others)
        for container in world.get(PODS, other)["spec"]["containers"]
    )
    left = Quantity.parse(allocatable["cpu"]).milli_value - taken
    _create(world, pod, [{"name": "main", "resources": f"cpu: {left}m"}])


@given('pod "{pod}" with {count:d} of "{resource}" is bound by hand to "{node}"')
@when('pod "{pod}" with {count:d} of "{resource}" is bound by hand to "{node}"')
def _(world: World, pod: str, count: int, resource: str, node: str) -> None:
    """Create a pod whose only container `main` has so many devices, and bind it."""
    _create(world, pod, [{"name": "main", "resources": f"{resource}: {count}"}])
    world.client.bind(world.get(PODS, pod), world.name(node))


@when('the containers of pod "{pod}" on "{node}" start again')
def _(world: World, pod: str, node: str) -> None:
    """The containers of a running pod end, and the kubelet starts them again."""
    world.settle()
    world.node(node).kubelet.restart_containers(world.namespace, pod)
    world.settle()


def _resize(world: World, resource: str, container: str, pod: str, amount: str) -> Obj:
    resources = {"requests": {resource: amount}, "limits": {resource: amount}}
    patch = {"spec": {"containers": [{"name": container, "resources": resources}]}}
    return world.client.patch(PODS, pod, patch, world.namespace, kind="strategic", subresource="resize")


@when('{resource:word} of container "{container}" of pod "{pod}" is resized to {amount:word}')
def _(world: World, resource: str, container: str, pod: str, amount: str) -> None:
    """Change request and limit of `cpu` or `memory` through the subresource resize."""
    _resize(world, resource, container, pod, amount)


@when('a client tries to resize {resource:word} of container "{container}" of pod "{pod}" to {amount:word}')
def _(world: World, resource: str, container: str, pod: str, amount: str) -> None:
    """The same; the API server may refuse it."""
    attempt(world, lambda: _resize(world, resource, container, pod, amount))


@when('the device checkpoint of "{node}" is {what}')
def _(world: World, node: str, what: str) -> None:
    """The file of a stopped kubelet: `damaged` (other content, old checksum) or `cut`."""
    file = world.node(node).device_plugins_dir / FILE_NAME
    match what:
        case "damaged":
            file.write_text(file.read_text(encoding="utf-8").replace("PodUID", "PodUid"), encoding="utf-8")
        case "cut":
            file.write_bytes(file.read_bytes()[:20])
        case _:
            raise SpecificationError(f"{world.scenario.where}: a checkpoint cannot be {what}")


@when('the folder of device plugins of "{node}" is emptied')
def _(world: World, node: str) -> None:
    """Remove the checkpoint and all sockets of the folder, as of a node that was created anew."""
    for path in world.node(node).device_plugins_dir.iterdir():
        path.unlink()


@given('the folder of device plugins of "{node}" has the file "{name}"')
def _(world: World, node: str, name: str) -> None:
    """Create a file that is no socket."""
    folder = world.node(node).device_plugins_dir
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / name).touch()


@then('the folder of device plugins of "{node}" has {found} besides those of the kubelet')
def _(world: World, node: str, found: str) -> None:
    """The folder has these entries (separated by commas, in quotes) besides kubelet.sock and the checkpoint."""
    folder = world.node(node).device_plugins_dir
    wanted = sorted(words(found.strip('"')))

    def look() -> Seen[list[str]]:
        seen = sorted(path.name for path in folder.iterdir() if not path.name.startswith("kubelet"))
        return seen == wanted, seen

    world.eventually("entries of the folder", look, expected=wanted)


# -- what is seen ------------------------------------------------------------------------------------------------------


def counts(world: World, node: str, resource: str) -> list[Any]:
    """Return capacity and allocatable of a resource in the Node object; None for each that is absent."""
    status = (world.seen(NODES, world.name(node)) or {}).get("status") or {}
    return [(status.get(part) or {}).get(resource) for part in ("capacity", "allocatable")]


@then('node "{node}" has {capacity:d} of "{resource}", {allocatable:d} allocatable')
def _(world: World, node: str, capacity: int, resource: str, allocatable: int) -> None:
    """The Node object comes to have this capacity and this allocatable."""
    wanted = [str(capacity), str(allocatable)]
    world.eventually(
        f"{resource} of {node}",
        lambda: ((seen := counts(world, node, resource)) == wanted, seen),
        expected=wanted,
    )


@then('node "{node}" keeps {capacity:d} of "{resource}", {allocatable:d} allocatable')
def _(world: World, node: str, capacity: int, resource: str, allocatable: int) -> None:
    """The Node object has this capacity and this allocatable once everything has settled."""
    wanted = [str(capacity), str(allocatable)]

    def look() -> Seen[list[Any]]:
        seen = counts(world, node, resource)
        return seen == wanted, seen

    # A kubelet writes its Node only now and then.
    world.wait(lambda: (look()[0], ""))
    world.stays(f"{resource} of {node}", look, expected=wanted)


@then('node "{node}" does not have "{resource}"')
def _(world: World, node: str, resource: str) -> None:
    """The Node object does not name the resource once everything has settled."""
    world.stays(
        f"{resource} of {node}",
        lambda: ((seen := counts(world, node, resource)) == [None, None], seen),
        expected=[None, None],
    )


def devices_of(world: World, node: str, pod: str, plugin: str) -> dict[str, list[str]]:
    """Return the devices of a plugin that each container of a running pod has, as its variable says.

    Empty if the pod does not run.
    """
    try:
        views = world.node(node).kubelet.wait_running(world.namespace, pod, 0.0)
    except KubeletError:
        return {}
    return {name: words(view.env.get(plugin_of(world, plugin).variable, "")) for name, view in views.items()}


@then('the containers of pod "{pod}" on "{node}" have devices of "{plugin}":')
def _(world: World, pod: str, node: str, plugin: str, datatable: list[list[str]]) -> None:
    """Each container of the running pod has so many different devices. Columns: name, count."""
    wanted = {name: int(count) for name, count in datatable[1:]}

    def look() -> Seen[dict[str, Any]]:
        seen = {name: len(set(ids)) for name, ids in devices_of(world, node, pod, plugin).items()}
        return seen == wanted, seen

    world.eventually(f"numbers of different devices of {pod}", look, expected=wanted)


@then('containers "{containers}" of pod "{pod}" on "{node}" have {count:d} different devices of "{plugin}"')
def _(world: World, containers: str, pod: str, node: str, count: int, plugin: str) -> None:
    """These containers together have so many different devices."""

    def look() -> Seen[str]:
        seen = devices_of(world, node, pod, plugin)
        together = {i for name in words(containers) for i in seen.get(name, ())}
        return len(together) == count, f"{len(together)} different devices: {in_words(seen)}"

    world.eventually(f"devices of {pod}", look, expected=f"{count} different devices")


@then('pod "{pod}" on "{node}" has the devices "{ids}" of "{plugin}"')
def _(world: World, pod: str, node: str, ids: str, plugin: str) -> None:
    """The containers of the running pod together have exactly these devices."""
    wanted = sorted(words(ids))

    def look() -> Seen[list[str]]:
        seen = sorted({i for several in devices_of(world, node, pod, plugin).values() for i in several})
        return seen == wanted, seen

    world.eventually(f"devices of {pod}", look, expected=wanted)


@given('the devices of "{plugin}" of pod "{pod}" on "{node}" are remembered')
def _(world: World, plugin: str, pod: str, node: str) -> None:
    """Wait until the pod runs, and keep its devices for a later step."""

    def look() -> Seen[dict[str, Any]]:
        seen = devices_of(world, node, pod, plugin)
        world.state(Remembered).of_pod[pod] = seen
        return any(seen.values()), seen

    world.require(f"pod {pod} has devices", look)


@then('pod "{pod}" on "{node}" has its devices of "{plugin}" from before')
def _(world: World, pod: str, node: str, plugin: str) -> None:
    """Each container of the running pod has the remembered devices."""
    wanted = world.state(Remembered).of_pod.get(pod)
    world.eventually(
        f"devices of {pod}",
        lambda: ((seen := devices_of(world, node, pod, plugin)) == wanted, seen),
        expected=wanted,
    )


@then('pods "{pods}" on "{node}" share no device of "{plugin}"')
def _(world: World, pods: str, node: str, plugin: str) -> None:
    """Each of the running pods has devices, and no device is one of two pods."""

    def look() -> Seen[str]:
        seen = {pod: devices_of(world, node, pod, plugin) for pod in words(pods)}
        ids = [i for one in seen.values() for i in {i for several in one.values() for i in several}]
        ok = len(ids) == len(set(ids)) and all(any(one.values()) for one in seen.values())
        return ok, in_words(
            {pod: sorted({i for several in one.values() for i in several}) for pod, one in seen.items()}
        )

    world.eventually("devices of the pods", look, expected="devices, and none of them twice")


@then('pod "{pod}" is not admitted')
def _(world: World, pod: str) -> None:
    """The pod comes to be Failed with the reason UnexpectedAdmissionError."""
    wanted = {"phase": "Failed", "reason": "UnexpectedAdmissionError"}

    def look() -> Seen[dict[str, Any]]:
        status = (world.seen(PODS, pod) or {}).get("status") or {}
        seen = {key: status.get(key) for key in ("phase", "reason")}
        return seen == wanted, seen

    world.eventually(f"pod {pod} is not admitted", look, expected=wanted)
