"""The PodResources API of a kubelet: what it lists for the pods of the scenario."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dra_api.rpc import RpcError
from dra_api.rpc.pod_resources import ContainerResources, PodResources, PodResourcesClient
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.scripted_drivers import scripted

T = TypeVar("T")


@dataclass(slots=True)
class Listed:
    """The answers of List that earlier steps have kept, by node."""

    of_node: dict[str, tuple[PodResources, ...]] = field(default_factory=dict)


def call(world: World, node: str, method: Callable[[PodResourcesClient], T]) -> T:
    """Call the API over a connection of its own. Raises RpcError."""
    client = PodResourcesClient(world.node(node).kubelet.pod_resources_socket, clock=world.clock)
    try:
        return method(client)
    finally:
        client.close()


def list_pods(world: World, node: str) -> tuple[PodResources, ...]:
    """Return the pods of the scenario's namespace, by name. Raises RpcError."""
    pods = call(world, node, lambda client: client.list_pods())
    return tuple(sorted((pod for pod in pods if pod.namespace == world.namespace), key=lambda pod: pod.name))


def looked(look: Callable[[], Seen[list[T]]]) -> Callable[[], Seen[list[T] | list[str]]]:
    """Return a look that reports the error of a failed call as the only item that was seen."""

    def answered() -> Seen[list[T] | list[str]]:
        try:
            return look()
        except RpcError as error:
            return False, [f"{error.code}: {error.details}"]

    return answered


def row(pod: str, container: ContainerResources) -> list[str]:
    """Return a container in the form of a table: pod, container, devices, devices of claims."""
    # A kubelet may group devices or not; their order has no meaning.
    devices = sorted({f"{one.resource}={i}" for one in container.devices for i in one.ids})
    claims = sorted(f"{claim.claim}={device.device}" for claim in container.claims for device in claim.devices)
    return [pod, container.name, ", ".join(devices), ", ".join(claims)]


@then('PodResources of "{node}" lists the containers:')
def _(world: World, node: str, datatable: list[list[str]]) -> None:
    """List has exactly these containers of the scenario's pods.

    Columns: pod; container; devices of plugins as `resource=id, …`; devices of claims as `claim=device, …`.
    """
    wanted = sorted(datatable[1:])

    def look() -> Seen[list[list[str]]]:
        seen = sorted(row(pod.name, container) for pod in list_pods(world, node) for container in pod.containers)
        return seen == wanted, seen

    world.eventually(f"PodResources of {node}", looked(look), expected=wanted)


@then('PodResources of "{node}" lists only the pods "{pods}"')
def _(world: World, node: str, pods: str) -> None:
    """List has exactly these pods of the scenario."""
    wanted = sorted(words(pods))

    def look() -> Seen[list[str]]:
        seen = [pod.name for pod in list_pods(world, node)]
        return seen == wanted, seen

    world.eventually(f"pods in PodResources of {node}", looked(look), expected=wanted)


@then('each device of claim "{claim}" in PodResources of "{node}" has its driver, its pool and its own CDI device')
def _(world: World, claim: str, node: str) -> None:
    """Driver and pool of each device are set, and it has one CDI device, which is no other device's."""

    def look() -> Seen[str]:
        found = {
            device
            for pod in list_pods(world, node)
            for container in pod.containers
            for one in container.claims
            if (one.claim, one.namespace) == (claim, world.namespace)
            for device in one.devices
        }
        names = [name for device in found for name in device.cdi_devices]
        complete = all(one.driver and one.pool == world.name(node) and len(one.cdi_devices) == 1 for one in found)
        shown = sorted(f"({one.driver}, {one.pool}, CDI {in_words(one.cdi_devices)})" for one in found)
        return bool(found) and complete and len(names) == len(set(names)), in_words(shown)

    def answered() -> Seen[str]:
        try:
            return look()
        except RpcError as error:
            return False, f"{error.code}: {error.details}"

    expected = f"(the driver, {world.name(node)}, CDI one device) each, no CDI device twice"
    world.eventually(f"devices of claim {claim}", answered, expected=expected)


@then('each device of claim "{claim}" in PodResources of "{node}" has {share:word} share id of the driver "{driver}"')
def _(world: World, claim: str, node: str, share: str, driver: str) -> None:
    """The devices have the share ids that the scripted driver returned: `the` share id, or `no` share id at all."""
    returned = scripted(world, driver)
    requests = returned.requests.get(claim, ("gpu",))
    wanted = sorted(returned.share_id(claim, request) if share == "the" else "" for request in requests)

    def look() -> Seen[list[str]]:
        seen = sorted(
            device.share_id or ""
            for pod in list_pods(world, node)
            for container in pod.containers
            for one in container.claims
            if (one.claim, one.namespace) == (claim, world.namespace)
            for device in one.devices
        )
        return seen == wanted, seen

    world.eventually(f"share ids of claim {claim}", looked(look), expected=wanted)


@then('PodResources of "{node}" has the allocatable devices "{ids}"')
def _(world: World, node: str, ids: str) -> None:
    """GetAllocatableResources has exactly these devices (`resource=id`, separated by commas)."""
    wanted = sorted(words(ids))

    def look() -> Seen[list[str]]:
        devices = call(world, node, lambda client: client.allocatable())
        seen = sorted({f"{one.resource}={i}" for one in devices for i in one.ids})
        return seen == wanted, seen

    world.eventually(f"allocatable devices of {node}", looked(look), expected=wanted)


@then('Get of pod "{pod}" in PodResources of "{node}" has the containers "{containers}"')
def _(world: World, pod: str, node: str, containers: str) -> None:
    """Get returns the pod with exactly these containers."""
    wanted = [pod, world.namespace, sorted(words(containers))]

    def look() -> Seen[list[Any]]:
        one = call(world, node, lambda client: client.get_pod(world.namespace, pod))
        seen = [one.name, one.namespace, sorted(container.name for container in one.containers)]
        return seen == wanted, seen

    world.eventually(f"Get of {pod}", looked(look), expected=wanted)


@then('Get of pod "{pod}" in PodResources of "{node}" fails')
def _(world: World, pod: str, node: str) -> None:
    """Get ends with an error of the kubelet."""
    _get_fails(world, node, world.namespace, pod)


@then('Get of pod "{pod}" of namespace "{namespace}" in PodResources of "{node}" fails')
def _(world: World, pod: str, namespace: str, node: str) -> None:
    """Get with the name of a pod and another namespace ends with an error of the kubelet."""
    _get_fails(world, node, namespace, pod)


def _get_fails(world: World, node: str, namespace: str, pod: str) -> None:
    def look() -> Seen[str]:
        try:
            return False, repr(call(world, node, lambda client: client.get_pod(namespace, pod)))
        except RpcError as error:
            # Without a server there is no answer at all.
            return error.code not in ("UNAVAILABLE", "UNIMPLEMENTED"), f"{error.code}: {error.details}"

    world.eventually(f"Get of {pod}", look, expected="an error")


@given('PodResources of "{node}" is remembered')
def _(world: World, node: str) -> None:
    """Keep the answer of List for a later step. There has to be a pod."""
    try:
        world.state(Listed).of_node[node] = list_pods(world, node)
    except RpcError as error:
        raise Untestable(f"List of PodResources fails: {error}") from error
    if not world.state(Listed).of_node[node]:
        raise Untestable("PodResources lists no pod of the scenario")


@then('PodResources of "{node}" is as before')
def _(world: World, node: str) -> None:
    """List has the remembered pods, containers and devices."""
    wanted = _rows(world.state(Listed).of_node.get(node, ()))

    def look() -> Seen[list[list[str]]]:
        seen = _rows(list_pods(world, node))
        return seen == wanted, seen

    world.eventually(f"PodResources of {node}", looked(look), expected=wanted)


def _rows(pods: tuple[PodResources, ...]) -> list[list[str]]:
    return sorted([*row(pod.name, container), *_topology(container)] for pod in pods for container in pod.containers)


def _topology(container: ContainerResources) -> list[str]:
    return sorted(f"{one.ids} {one.numa_nodes}" for one in container.devices)
