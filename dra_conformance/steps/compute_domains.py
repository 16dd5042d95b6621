"""ComputeDomains: the object, what its controller creates for it, and the nodes that are in it.

Test machines have no NVLink between nodes, so the IMEX daemons of a domain are simulated. Their pods and their entries
in the clique are real objects.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from dra_api.client import AlreadyExists, Conflict, KubeClient, NotFound
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
from dra_conformance.components.reference import build, starting
from dra_conformance.control_plane.own_objects import CLEANER
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.nodes import make_node
from dra_conformance.steps.objects import Requests, attempt
from dra_conformance.steps.pods import other_namespace
from dra_conformance.steps.uids import CreatedDomains

LABEL = "resource.nvidia.com/computeDomain"
CLIQUE_LABEL = f"{LABEL}.cliqueID"
CLIQUE_OF_NODE = "nvidia.com/gpu.clique"
FINALIZER = LABEL
DAEMONS = "imex-daemons"
"""The simulation of all daemons, for scenarios about other components."""
CLIQUE_WITHIN = 20.0
"""Least seconds to wait for the entries of many nodes, whose daemons write one object."""
_SECONDS_PER_DAEMON = 3.0
"""Seconds to wait for each of many daemons that start together."""
CLIQUE_WRITES = 20
"""Most attempts to write a clique that its controller writes as well."""
LABEL_TURN = 0.6
"""Seconds in which a driver that moves nodes to another domain does so: it retries claims several times a second."""


def domain_object(world: World, name: str, *, nodes: int = 0, mode: str = "") -> Obj:
    """Return a ComputeDomain whose channel template is called `<name>-channel`."""
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
    """Create the namespace of the driver, which its installation creates in a real cluster."""
    # Not tracked for deletion: all scenarios of the driver share this namespace.
    try:
        world.client.create(
            NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": world.driver_namespace}}
        )
    except AlreadyExists:
        return


def make_domain(world: World, obj: Obj, *, alias: str = "") -> Obj:
    """Create a ComputeDomain; at the end of the scenario it is deleted, with all that was created for it.

    `alias` is the name by which later steps refer to it, if it is not its own.
    """
    ensure_driver_namespace(world)
    created = world.client.create(COMPUTE_DOMAINS, obj)
    world.cleanup.callback(end_domain, world, created)
    world.state(CreatedDomains).of_name[alias or name_of(created)] = created
    # A response may lack apiVersion and kind, which the steps for any object need.
    world.state(Requests).draft = {"apiVersion": COMPUTE_DOMAINS.api_version, "kind": COMPUTE_DOMAINS.kind, **created}
    return created


def end_domain(world: World, domain: Obj) -> None:
    """Delete a domain, wait for its controller to clean up, and delete what is left."""
    namespace, name, uid = namespace_of(domain), name_of(domain), uid_of(domain)
    world.client.delete_if_there(COMPUTE_DOMAINS, name, namespace)
    # At most a second: the controller that removes the finalizer may be the faulty one, or may not run any more.
    world.log.wait_for(lambda: world.observer.get(COMPUTE_DOMAINS, name, namespace) is None, 1.0)
    remove_left(world, uid, (world.driver_namespace, namespace))


def remove_left(world: World, uid: str, namespaces: Sequence[str]) -> None:
    """Delete the objects of a domain, and the domain itself, in the driver's namespace and the domain's."""
    # These requests belong to the cleanup, which has a ClusterRole of its own.
    cleaner = world.client.as_agent(CLEANER)
    # The DaemonSet before its pods, which its controller would create again.
    for resource, where in (
        (DAEMON_SETS, world.driver_namespace),
        *((RESOURCE_CLAIM_TEMPLATES, namespace) for namespace in namespaces),
        (COMPUTE_DOMAIN_CLIQUES, world.driver_namespace),
        (PODS, world.driver_namespace),
        *((COMPUTE_DOMAINS, namespace) for namespace in namespaces),
    ):
        for left in cleaner.list(resource, where).items:
            if (meta(left).get("labels") or {}).get(LABEL) == uid or uid_of(left) == uid:
                remove_object(cleaner, resource, left)


def remove_object(client: KubeClient, resource: Any, obj: Obj) -> None:
    """Delete an object together with its finalizers; one that is gone is fine."""
    try:
        if meta(obj).get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            client.patch(resource, name_of(obj), patch, namespace_of(obj))
        client.delete(resource, name_of(obj), namespace_of(obj), grace_period_seconds=0)
    except NotFound:
        return


def domain(world: World, name: str) -> Obj:
    """Return a ComputeDomain as it is now. Raises Untestable if it does not exist."""
    created = world.state(CreatedDomains).of_name.get(name)
    real, namespace = (name_of(created), namespace_of(created)) if created else (name, world.namespace)
    try:
        return world.client.get(COMPUTE_DOMAINS, real, namespace)
    except NotFound as error:
        raise Untestable(f"there is no ComputeDomain {name}") from error


@given('a ComputeDomain "{name}" for {nodes:d} nodes')
def _(world: World, name: str, nodes: int) -> None:
    """A domain whose workloads' claim template is called <name>-channel."""
    make_domain(world, domain_object(world, name, nodes=nodes))


@when('a ComputeDomain "{name}" is created with {spec}')
def _(world: World, name: str, spec: str) -> None:
    """Send a ComputeDomain with this spec (YAML), its template called <name>-channel; the API server may refuse it."""
    obj = domain_object(world, name)
    obj["spec"] = manifests.parse_value(spec)
    if isinstance(obj["spec"].get("channel"), dict):
        obj["spec"]["channel"].setdefault("resourceClaimTemplate", {"name": f"{name}-channel"})
    attempt(world, lambda: make_domain(world, obj))


@given("the IMEX daemons of ComputeDomains are simulated")
def _(world: World) -> None:
    """Every node that a domain's DaemonSet selects gets a daemon pod, and its entry in the clique becomes Ready."""
    ensure_driver_namespace(world)
    with starting(DAEMONS):
        daemons = build(
            DAEMONS,
            KubeClient(world.run.component_transport("compute-domain-controller"), user_agent="simulated-imex-daemons"),
            world.clock,
            revision=world.run.options.protocol,
            settings={},
            driver_namespace=world.driver_namespace,
        )
        world.cleanup.callback(daemons.stop)
        daemons.start()


@given('the ComputeDomain "{name}" has the daemons:')
@when('the ComputeDomain "{name}" has the daemons:')
def _(world: World, name: str, datatable: list[list[str]]) -> None:
    """Write the daemon pods and clique entries of the table, in place of the daemons themselves.

    Columns: the node, its pod (Ready, NotReady, Pending without an address, or none), the number or the id of its
    clique (empty: no fabric, so no entry; unknown: the pod has no label of a clique), and the status in its entry
    (empty: no entry yet). An entry without a pod is left when a pod is deleted before it removes the entry. Pod and
    entry have the address 192.0.2.N, N being the digits of the node's name.
    """
    ensure_driver_namespace(world)
    write_daemons(world, name, datatable[1:], world.driver_namespace)


@given('the ComputeDomain "{name}" has daemons in the namespace of its workloads:')
def _(world: World, name: str, datatable: list[list[str]]) -> None:
    """Write the same objects, with the labels of the ComputeDomain, into the namespace of the scenario."""
    write_daemons(world, name, datatable[1:], world.namespace)


@given('the ComputeDomain "{name}" has daemons in the other namespace:')
def _(world: World, name: str, datatable: list[list[str]]) -> None:
    """Write the same objects into the namespace to which an earlier step has moved the DaemonSet."""
    write_daemons(world, name, datatable[1:], other_namespace(world))


def write_daemons(world: World, name: str, rows: Sequence[Sequence[str]], namespace: str) -> None:
    """Write daemon pods and clique entries: node, state of the pod, clique, status of the entry; see the first step."""
    uid = uid_of(domain(world, name))
    if world.run.on_existing_cluster and _has_daemon_set_controller(world, namespace):
        raise Untestable(
            "the DaemonSet controller of the cluster adopts daemon pods that a scenario writes, and deletes them"
        )
    for node, pod, number, status in rows:
        clique = clique_id(world, number)
        if pod != "none":
            _write_daemon_pod(world, uid, node, clique, ready=pod, namespace=namespace)
        if status:
            _write_entry(world, uid, node, clique, status=status, namespace=namespace)


def _has_daemon_set_controller(world: World, namespace: str) -> bool:
    """Return whether a DaemonSet of the namespace, such as that of the driver itself, was seen by its controller."""
    found = world.client.list(DAEMON_SETS, namespace).items
    return any((one.get("status") or {}).get("observedGeneration") for one in found)


def clique_id(world: World, text: str) -> str | None:
    """Return the id of a clique in a table: the namespace with a number, an id, none, or no label (None)."""
    if text == "unknown":
        return None
    return f"{world.namespace}.{text}" if text.isdigit() else text


def address_of(node: str) -> str:
    """Return the address of a node's daemon, one for documentation (RFC 5737), which no host has."""
    return f"192.0.2.{node.lstrip(ascii_letters + '-') or 100}"


def _write_daemon_pod(world: World, uid: str, node: str, clique: str | None, *, ready: str, namespace: str) -> None:
    name = daemon_pod_name(world, node, uid)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: uid, **label_of(clique)}},
        "spec": {
            "nodeName": world.name(node),
            "containers": [{"name": "daemon", "image": "registry.k8s.io/pause:3.10"}],
            "terminationGracePeriodSeconds": 0,
        },
    }
    with contextlib.suppress(AlreadyExists):
        world.client.create(PODS, pod)
    if ready == "Pending":
        return
    # As a kubelet writes them; Ready is one of several.
    states = {"Initialized": True, "Ready": ready == "Ready", "PodScheduled": True}
    conditions = [{"type": kind, "status": str(state)} for kind, state in states.items()]
    status = {"phase": "Running", "podIP": address_of(node), "conditions": conditions}
    world.client.patch(PODS, name, {"status": status}, namespace, subresource="status")


@when('the daemon pod of node "{node}" in ComputeDomain "{name}" is deleted')
def _(world: World, node: str, name: str) -> None:
    """Delete the pod, also a simulated daemon's, without a chance to remove the entry of its node from the clique."""
    uid = uid_of(world.state(CreatedDomains).of_name[name])
    pods = world.client.list(PODS, world.driver_namespace, label_selector=f"{LABEL}={uid}").items
    found = [name_of(pod) for pod in pods if pod["spec"].get("nodeName") == world.name(node)]
    if not found:
        raise Untestable(f"node {node} has no daemon pod of ComputeDomain {name}")
    for pod in found:
        world.client.delete(PODS, pod, world.driver_namespace, grace_period_seconds=0)


def daemon_pod_name(world: World, node: str, uid: str) -> str:
    """Return the name of the daemon pod that a step writes for a node of a domain."""
    return f"daemon-{node}-{uid[:8]}-{world.suffix}"


def label_of(clique: str | None) -> Obj:
    """Return the label of a daemon pod for its clique; empty as long as the daemon does not know it."""
    return {} if clique is None else {CLIQUE_LABEL: clique}


def _write_entry(world: World, uid: str, node: str, clique: str | None, *, status: str, namespace: str) -> None:
    entry = {"nodeName": world.name(node), "ipAddress": address_of(node), "cliqueID": clique, "status": status}
    name = f"{uid}.{clique}"
    # The controller writes cliques as well: a conflict means that this write has to be repeated.
    for _ in range(CLIQUE_WRITES):
        there = world.client.find(COMPUTE_DOMAIN_CLIQUES, name, namespace)
        daemons = list((there or {}).get("daemons") or ())
        others = [one for one in daemons if one["nodeName"] != entry["nodeName"]]
        taken = {one["index"] for one in others}
        index = next((one["index"] for one in daemons if one not in others), None)
        if index is None:
            index = next(free for free in range(len(others) + 1) if free not in taken)
        daemons = [*others, {**entry, "index": index}]
        clique_object = there or {
            "apiVersion": COMPUTE_DOMAIN_CLIQUES.api_version,
            "kind": COMPUTE_DOMAIN_CLIQUES.kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {LABEL: uid, CLIQUE_LABEL: clique},
            },
        }
        write = world.client.update if there else world.client.create
        try:
            write(COMPUTE_DOMAIN_CLIQUES, {**clique_object, "daemons": daemons})
        except (AlreadyExists, Conflict, NotFound):
            continue
        return
    raise Untestable(f"{name} changes all the time, so no entry can be written")


@given('{count:d} nodes of the NVLink clique "{clique}" that are in ComputeDomain "{name}"')
def _(world: World, count: int, clique: str, name: str) -> None:
    """Create Nodes with both labels, called node-1 and on."""
    labels = {CLIQUE_OF_NODE: clique, LABEL: uid_of(domain(world, name))}
    for number in range(1, count + 1):
        make_node(world, f"node-{number}", labels)


@then('the cliques of ComputeDomain "{name}" come to have {count:d} nodes with the indices 0 to {last:d}')
def _(world: World, name: str, count: int, last: int) -> None:
    """The ComputeDomainCliques have so many entries once the system is idle, each with an index of its own."""
    uid = uid_of(domain(world, name))

    def look() -> Seen[str]:
        found = world.client.list(COMPUTE_DOMAIN_CLIQUES, world.driver_namespace, label_selector=f"{LABEL}={uid}").items
        indices = sorted(str(entry.get("index")) for clique in found for entry in clique.get("daemons") or ())
        ok = len(indices) == count and set(indices) == {str(index) for index in range(last + 1)}
        return ok, f"{len(indices)} nodes with the indices {in_words(sorted(indices, key=lambda one: (len(one), one)))}"

    expected = f"{count} nodes with the indices 0 to {last}"
    # In a cluster each daemon starts on a machine of its own.
    within = max(CLIQUE_WITHIN, world.run.patience, count * _SECONDS_PER_DAEMON)
    world.eventually(f"cliques of ComputeDomain {name}", look, expected=expected, within=within)
    world.stays(f"cliques of ComputeDomain {name}", look, expected=expected)


@then('the cliques of ComputeDomain "{name}" come to have the nodes "{nodes}"')
def _(world: World, name: str, nodes: str) -> None:
    """The ComputeDomainCliques of the domain have an entry of each of these nodes and of no other."""
    uid = uid_of(domain(world, name))
    wanted = sorted(world.name(node) for node in words(nodes))

    def look() -> Seen[list[Any]]:
        found = world.client.list(COMPUTE_DOMAIN_CLIQUES, world.driver_namespace, label_selector=f"{LABEL}={uid}").items
        entries = sorted(entry["nodeName"] for clique in found for entry in clique.get("daemons") or ())
        return entries == wanted, entries

    world.eventually(f"nodes in the cliques of ComputeDomain {name}", look, expected=wanted)


@then('the clique "{number}" of ComputeDomain "{name}" is labelled, and owned by the daemon pods of "{nodes}"')
def _(world: World, number: str, name: str, nodes: str) -> None:
    """The ComputeDomainClique <uid>.<clique> has both labels and each of these pods as an owner, not as controller."""
    uid = uid_of(domain(world, name))
    wanted = sorted(world.name(node) for node in words(nodes))

    def look() -> Seen[dict[str, Any] | None]:
        found = world.client.find(COMPUTE_DOMAIN_CLIQUES, f"{uid}.{number}", world.driver_namespace)
        if found is None:
            return False, None
        pods = world.client.list(PODS, world.driver_namespace, label_selector=f"{LABEL}={uid}").items
        # The garbage collector deletes the clique at once if it finds no object of this kind and name with the uid.
        node_of = {("v1", "Pod", name_of(pod), uid_of(pod)): pod["spec"].get("nodeName") for pod in pods}
        owners = meta(found).get("ownerReferences") or []
        labels = meta(found).get("labels") or {}
        seen = sorted(str(node_of.get(identity_of(owner))) for owner in owners if not owner.get("controller"))
        ok = seen == wanted and labels.get(LABEL) == uid and labels.get(CLIQUE_LABEL) == number
        return ok, {"owners": seen, LABEL: labels.get(LABEL), CLIQUE_LABEL: labels.get(CLIQUE_LABEL)}

    expected = {"owners": wanted, LABEL: uid, CLIQUE_LABEL: number}
    world.eventually(f"clique {number} of ComputeDomain {name}", look, expected=expected)


def identity_of(owner: Obj) -> tuple[str, str, str, str]:
    """Return apiVersion, kind, name and uid of an owner reference."""
    return owner["apiVersion"], owner["kind"], owner["name"], owner["uid"]


def advance(world: World, seconds: float, *, within: float) -> None:
    """Advance the clock while calls are in flight, and leave the driver some seconds of real time to act on it."""
    world.clock.advance(seconds)
    world.log.clock.wait(threading.Event(), within)


def wanted_label(world: World, name: str) -> str | None:
    """Return the uid of a domain, which the label of a node shall have; `none`: None, for no such label."""
    return None if name == "none" else uid_of(world.state(CreatedDomains).of_name[name])


def look_label(world: World, node: str, name: str) -> Seen[str | None]:
    """Return whether the label of a node has the uid of a domain; `none`: whether it has no such label."""
    found = (meta(world.seen(NODES, world.name(node)) or {}).get("labels") or {}).get(LABEL)
    return found == wanted_label(world, name), found


@then('the ComputeDomain label of node "{node}" becomes "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The Node comes to have the label of the domain; `none`: no such label."""
    check_labels(world, [node], name, stay=False)


@then('the ComputeDomain label of node "{node}" stays "{name}"')
def _(world: World, node: str, name: str) -> None:
    """The Node has the label of the domain (`none`: no such label) while claims of other domains wait."""
    check_labels(world, [node], name, stay=True)


def check_labels(world: World, nodes: Sequence[str], name: str, *, stay: bool) -> None:
    """Check that Nodes come to have the label of a domain (`none`: no such label); `stay`: that they keep it."""
    wanted: dict[str, Any] = dict.fromkeys(nodes, wanted_label(world, name))

    def look() -> Seen[dict[str, Any]]:
        found = {node: look_label(world, node, name)[1] for node in nodes}
        return found == wanted, found

    message = f"labels of {', '.join(nodes)} are the uid of {name}"
    if not stay:
        world.eventually(message, look, expected=wanted)
        return
    seconds = max(world.run.quiet, LABEL_TURN)
    if not world.uses_real_time:
        for _turn in range(2):
            advance(world, LABEL_TURN, within=0.02)
        seconds = world.run.quiet
    world.stays(message, look, expected=wanted, seconds=seconds)
