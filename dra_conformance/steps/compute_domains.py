"""ComputeDomains: the object, what its controller makes of it, and the nodes that are in it.

No machine here has NVLink between nodes: the IMEX daemons of a domain are stood in for, and what they would tell the
cluster (a daemon pod, an entry in the clique) is real.
"""

from __future__ import annotations

from typing import Any

from dra_api.client import AlreadyExists, KubeClient, NotFound
from dra_api.objects import (
    COMPUTE_DOMAIN_CLIQUES,
    COMPUTE_DOMAINS,
    DAEMON_SETS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    Obj,
    meta,
    name_of,
    namespace_of,
    uid_of,
)
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.control_plane.own_objects import CLEANER
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.objects import attempt

DRIVER_NAMESPACE = "dra-driver-nvidia-gpu"
LABEL = "resource.nvidia.com/computeDomain"
FINALIZER = "resource.nvidia.com/computeDomain"
LABEL_TURN = 0.6
"""Seconds in which a driver that takes nodes over does so: it tries waiting claims again several times a second."""


def domain_object(world: World, name: str, *, nodes: int = 0, mode: str = "") -> Obj:
    """A ComputeDomain whose channel template is called `<name>-channel`."""
    channel: Obj = {"resourceClaimTemplate": {"name": f"{name}-channel"}}
    if mode:
        channel["allocationMode"] = mode
    return {
        "apiVersion": COMPUTE_DOMAINS.api_version,
        "kind": "ComputeDomain",
        "metadata": {"name": name, "namespace": world.namespace},
        "spec": {"numNodes": nodes, "channel": channel},
    }


def ensure_driver_namespace(world: World) -> None:
    """The driver's namespace, which its installation makes."""
    try:
        world.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": DRIVER_NAMESPACE}}
        )
    except AlreadyExists:
        return


def make_domain(world: World, obj: Obj) -> Obj:
    """Create a ComputeDomain; when the scenario ends its controller may clean up, and what it leaves is removed."""
    ensure_driver_namespace(world)
    created = world.client.create(COMPUTE_DOMAINS, obj)
    world.cleanup.callback(end_domain, world, created)
    world.memory[f"uid {name_of(created)}"] = uid_of(created)
    return created


def end_domain(world: World, domain: Obj) -> None:
    """Delete a domain and all that was made for it."""
    namespace, name, uid = namespace_of(domain), name_of(domain), uid_of(domain)
    world.client.delete_if_there(COMPUTE_DOMAINS, name, namespace)
    cleaner = world.client.as_agent(CLEANER)
    world.log.wait_for(lambda: world.observer.get(COMPUTE_DOMAINS, name, namespace) is None, 1.0)
    for resource, where in (
        (DAEMON_SETS, DRIVER_NAMESPACE),
        (RESOURCE_CLAIM_TEMPLATES, DRIVER_NAMESPACE),
        (RESOURCE_CLAIM_TEMPLATES, namespace),
        (COMPUTE_DOMAIN_CLIQUES, DRIVER_NAMESPACE),
        (PODS, DRIVER_NAMESPACE),
        (COMPUTE_DOMAINS, namespace),
    ):
        for left in cleaner.list(resource, where).items:
            if (meta(left).get("labels") or {}).get(LABEL) == uid or uid_of(left) == uid:
                _remove(cleaner, resource, left)


def _remove(client: KubeClient, resource: Any, obj: Obj) -> None:
    try:
        if meta(obj).get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            client.patch(resource, name_of(obj), patch, namespace_of(obj))
        client.delete(resource, name_of(obj), namespace_of(obj), grace_period_seconds=0)
    except NotFound:
        return


def domain(world: World, name: str) -> Obj:
    """A ComputeDomain as it is now. Raises Untestable when it is gone."""
    try:
        return world.client.get(COMPUTE_DOMAINS, name, world.namespace)
    except NotFound as error:
        raise Untestable(f"there is no ComputeDomain {name}") from error


def daemon_objects(world: World, uid: str) -> dict[str, Obj]:
    """The DaemonSet and the claim template of a domain in the driver's namespace, by kind."""
    found: dict[str, Obj] = {}
    for resource in (DAEMON_SETS, RESOURCE_CLAIM_TEMPLATES):
        for obj in world.client.list(resource, DRIVER_NAMESPACE, label_selector=f"{LABEL}={uid}").items:
            found[resource.kind] = obj
    return found


@given('a ComputeDomain "{name}" for {nodes:d} nodes')
def _(world: World, name: str, nodes: int) -> None:
    """A domain whose workloads' claim template is called <name>-channel."""
    make_domain(world, domain_object(world, name, nodes=nodes))


@when('a ComputeDomain "{name}" for {nodes:d} nodes with allocationMode {mode:word} is created')
def _(world: World, name: str, nodes: int, mode: str) -> None:
    """The same, as what happens in the scenario."""
    make_domain(world, domain_object(world, name, nodes=nodes, mode=mode))


@when('a ComputeDomain "{name}" with nothing but its template\'s name is created')
def _(world: World, name: str) -> None:
    """Create a ComputeDomain without numNodes and without allocationMode."""
    obj = domain_object(world, name)
    del obj["spec"]["numNodes"]
    make_domain(world, obj)


@when('a ComputeDomain is created with "{path}" set to {value}')
def _(world: World, path: str, value: str) -> None:
    """Send a ComputeDomain that is well-formed but for one field (YAML; null: without it)."""
    obj = domain_object(world, "subject")
    manifests.set_at(obj, path, manifests.parse_value(value))
    attempt(world, lambda: make_domain(world, obj))


@when('the ComputeDomain "{name}" changes "{path}" to {value}')
def _(world: World, name: str, path: str, value: str) -> None:
    """Read, change and write a domain; the API server may refuse."""

    def change() -> Obj:
        obj = domain(world, name)
        manifests.set_at(obj, path, manifests.parse_value(value))
        return world.client.update(
            COMPUTE_DOMAINS, {**obj, "apiVersion": COMPUTE_DOMAINS.api_version, "kind": "ComputeDomain"}
        )

    # The controller adds its finalizer at first: what is refused shall not be refused as a conflict.
    world.settle()
    attempt(world, change)


@given("the IMEX daemons of ComputeDomains are stood in for")
def _(world: World) -> None:
    """Every node that a domain's DaemonSet selects gets a daemon pod, and its entry in the clique becomes Ready."""
    start_daemons(world)


@when("the IMEX daemons of ComputeDomains come up")
def _(world: World) -> None:
    """The same, as what happens in the scenario."""
    start_daemons(world)


def start_daemons(world: World) -> None:
    """Run the stand-in for DaemonSet controller and nvidia-imex until the scenario ends."""
    from reference_impl.compute_domain.daemon import SimulatedImexDaemons

    ensure_driver_namespace(world)
    daemons = SimulatedImexDaemons(
        KubeClient(world.run.component_transport("compute-domain-controller"), user_agent="imex-daemons"),
        clock=world.clock,
        namespace=DRIVER_NAMESPACE,
    )
    daemons.start()
    world.cleanup.callback(daemons.stop)


@given('a clique of ComputeDomain "{name}" has an entry of node "{node}", where no daemon runs')
def _(world: World, name: str, node: str) -> None:
    """Create the ComputeDomainClique that a daemon leaves behind whose pod went before it could take its entry out."""
    ensure_driver_namespace(world)
    uid, clique = uid_of(domain(world, name)), f"{world.namespace}.0"
    entry = {"nodeName": world.name(node), "ipAddress": "192.0.2.1", "cliqueID": clique, "index": 0, "status": "Ready"}
    world.client.create(
        COMPUTE_DOMAIN_CLIQUES,
        {
            "apiVersion": COMPUTE_DOMAIN_CLIQUES.api_version,
            "kind": COMPUTE_DOMAIN_CLIQUES.kind,
            "metadata": {
                "name": f"{uid}.{clique}",
                "namespace": DRIVER_NAMESPACE,
                "labels": {LABEL: uid, f"{LABEL}.cliqueID": clique},
            },
            "daemons": [entry],
        },
    )


@then('the clique of ComputeDomain "{name}" comes to have no entry of node "{node}"')
def _(world: World, name: str, node: str) -> None:
    """No ComputeDomainClique of the domain has an entry of the node any more; the clique may stay."""
    uid = uid_of(domain(world, name))

    def look() -> Seen:
        entries = [
            entry["nodeName"]
            for clique in world.client.list(
                COMPUTE_DOMAIN_CLIQUES, DRIVER_NAMESPACE, label_selector=f"{LABEL}={uid}"
            ).items
            for entry in clique.get("daemons") or ()
        ]
        return world.name(node) not in entries, entries or "no entry"

    world.eventually(f"cliques of ComputeDomain {name}", look, expected=f"no entry of {world.name(node)}")


@then('the ComputeDomain "{name}" has no nodes to wait for, and gives single channels')
def _(world: World, name: str) -> None:
    """numNodes is stored as 0 and allocationMode as Single."""
    spec = domain(world, name)["spec"]
    seen = {"numNodes": spec.get("numNodes"), "allocationMode": spec["channel"].get("allocationMode")}
    wanted = {"numNodes": 0, "allocationMode": "Single"}
    world.check(seen == wanted, "defaults of a ComputeDomain", expected=wanted, observed=seen)


@then('the ComputeDomain "{name}" comes to be {status:word}')
def _(world: World, name: str, status: str) -> None:
    """Its status comes to be Ready or NotReady."""

    def look() -> Seen:
        found = (world.seen(COMPUTE_DOMAINS, name) or {}).get("status") or {}
        return found.get("status") == status, found or "no status"

    world.eventually(f"status of ComputeDomain {name}", look, expected=status)


@then('the ComputeDomain "{name}" lists node "{node}" as {status:word}')
def _(world: World, name: str, node: str, status: str) -> None:
    """Its status comes to name the node with this status."""

    def look() -> Seen:
        nodes = ((world.seen(COMPUTE_DOMAINS, name) or {}).get("status") or {}).get("nodes") or []
        wanted = [entry for entry in nodes if entry.get("name") == world.name(node)]
        return [entry.get("status") for entry in wanted] == [status], nodes or "no node"

    world.eventually(f"nodes of ComputeDomain {name}", look, expected={"name": world.name(node), "status": status})


@then('the ComputeDomain "{name}" is held by the finalizer of its driver')
def _(world: World, name: str) -> None:
    """metadata.finalizers comes to hold resource.nvidia.com/computeDomain."""

    def look() -> Seen:
        found = meta(world.seen(COMPUTE_DOMAINS, name) or {}).get("finalizers") or []
        return FINALIZER in found, found or "no finalizer"

    world.eventually(f"finalizer of ComputeDomain {name}", look, expected=FINALIZER)


@then('the ComputeDomain "{name}" has a claim template for its workloads with allocationMode {mode:word}')
def _(world: World, name: str, mode: str) -> None:
    """The template <name>-channel asks for a channel, and its configuration names the domain by uid."""

    def look() -> Seen:
        template = world.seen(RESOURCE_CLAIM_TEMPLATES, f"{name}-channel")
        if template is None:
            return False, "no template"
        devices = template["spec"]["spec"]["devices"]
        configs = [
            (entry.get("opaque") or {}).get("parameters") or {}
            for entry in devices.get("config") or ()
            if (entry.get("opaque") or {}).get("driver") == DOMAIN_DRIVER
        ]
        uid = uid_of(world.seen(COMPUTE_DOMAINS, name) or {})
        ok = (
            any(
                c.get("kind") == "ComputeDomainChannelConfig"
                and c.get("domainID") == uid
                and (c.get("allocationMode") or "Single") == mode
                for c in configs
            )
            and (meta(template).get("labels") or {}).get(LABEL) == uid
        )
        return ok, {"labels": meta(template).get("labels"), "config": configs}

    wanted = {"domainID": "the domain's uid", "allocationMode": mode}
    world.eventually(f"claim template of ComputeDomain {name}", look, expected=wanted)


@then('the ComputeDomain "{name}" has a DaemonSet and a claim template for its daemons')
def _(world: World, name: str) -> None:
    """Both come to be in the driver's namespace, with the domain's label; the DaemonSet selects nodes by it."""
    uid = uid_of(domain(world, name))

    def look() -> Seen:
        found = daemon_objects(world, uid)
        selector: Obj = {}
        if "DaemonSet" in found:
            selector = found["DaemonSet"]["spec"]["template"]["spec"].get("nodeSelector") or {}
        return len(found) == 2 and selector.get(LABEL) == uid, {"found": sorted(found), "nodeSelector": selector}

    wanted = {"found": ["DaemonSet", "ResourceClaimTemplate"], "nodeSelector": {LABEL: uid}}
    world.eventually(f"daemons of ComputeDomain {name}", look, expected=wanted)


@then('nothing is left of the ComputeDomain "{name}"')
def _(world: World, name: str) -> None:
    """The domain, its templates and its DaemonSet come to be gone, and no node has its label."""
    uid = str(world.memory.get(f"uid {name}"))

    def look() -> Seen:
        left = [f"{kind} {name_of(obj)}" for kind, obj in daemon_objects(world, uid).items()]
        if world.seen(COMPUTE_DOMAINS, name) is not None:
            left.append(f"ComputeDomain {name}")
        if world.seen(RESOURCE_CLAIM_TEMPLATES, f"{name}-channel") is not None:
            left.append(f"ResourceClaimTemplate {name}-channel")
        left += [
            f"label of {name_of(node)}"
            for node in world.observer.list(NODES)
            if (meta(node).get("labels") or {}).get(LABEL) == uid
        ]
        return not left, left or "nothing"

    world.eventually(f"ComputeDomain {name} is cleaned up", look, expected="nothing left")


def label_of(world: World, node: str) -> str:
    """The uid of the ComputeDomain that a node is in, as its label tells; empty where it is in none."""
    return str((meta(world.seen(NODES, world.name(node)) or {}).get("labels") or {}).get(LABEL) or "")


@then('node "{node}" has joined the ComputeDomain "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The Node comes to have the label of the domain."""
    wanted = uid_of(domain(world, name))
    world.eventually(f"label of {node}", lambda: _labelled(world, node, wanted), expected=wanted)


@then('node "{node}" stays in the ComputeDomain "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The Node has the label of the domain all the while that others ask for it."""
    wanted = uid_of(domain(world, name))
    seconds = max(world.run.quiet, LABEL_TURN)
    world.stays(f"label of {node}", lambda: _labelled(world, node, wanted), expected=wanted, seconds=seconds)


@then('node "{node}" has left all ComputeDomains')
def _(world: World, node: str) -> None:
    """The Node comes to have no label of a domain."""
    world.eventually(f"label of {node}", lambda: _labelled(world, node, ""), expected="no label")


def _labelled(world: World, node: str, wanted: str) -> Seen:
    found = label_of(world, node)
    return found == wanted, found or "no label"
