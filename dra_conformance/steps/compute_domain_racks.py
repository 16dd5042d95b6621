"""ComputeDomains over many nodes: claims of each node, and the entries of nodes in the cliques over time.

Steps that count nodes call them node-1 and on, and the channel claims on them rank-1 and on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_api.client import NotFound
from dra_api.objects import COMPUTE_DOMAIN_CLIQUES, NODES, PODS, Obj, meta, name_of, uid_of
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.compute_domains import LABEL, domain
from dra_conformance.steps.driver_claims import CONFIG_API
from dra_conformance.steps.imex import (
    call_prepare,
    check_prepared,
    domain_claim,
    domain_id,
    run_domain_driver,
)
from dra_conformance.steps.pods import by_template, create_pod, pod_object, scheduler_of
from dra_conformance.steps.references import claims_made_for, requests_of


@dataclass(slots=True)
class RememberedEntries:
    """Entries of nodes in the cliques of a ComputeDomain, by the name of the domain and of the node."""

    of_domain: dict[str, dict[str, Obj]] = field(default_factory=dict)


def entries_of(world: World, name: str, nodes: str) -> dict[str, Obj]:
    """Return the entries of these nodes in the cliques of a domain; a node without one is left out."""
    selector = f"{LABEL}={uid_of(domain(world, name))}"
    cliques = world.client.list(COMPUTE_DOMAIN_CLIQUES, world.driver_namespace, label_selector=selector).items
    found = {entry["nodeName"]: entry for clique in cliques for entry in clique.get("daemons") or ()}
    return {node: found[world.name(node)] for node in words(nodes) if world.name(node) in found}


@given('the entries of nodes "{nodes}" in the cliques of ComputeDomain "{name}" are remembered')
def _(world: World, nodes: str, name: str) -> None:
    """Wait until the system is idle and each of these nodes is Ready in a clique, and keep the entries."""
    # The emulated kubelet of a node runs the simulated daemon as well, and can give its pod another address.
    world.settle()

    def look() -> Seen[dict[str, dict[str, Any]]]:
        found = entries_of(world, name, nodes)
        return [found.get(node, {}).get("status") for node in words(nodes)] == ["Ready"] * len(words(nodes)), found

    world.require(f"nodes {nodes} are ready in the cliques of ComputeDomain {name}", look)
    world.state(RememberedEntries).of_domain[name] = entries_of(world, name, nodes)


@then('the entries of nodes "{nodes}" in the cliques of ComputeDomain "{name}" are the remembered ones')
def _(world: World, nodes: str, name: str) -> None:
    """The entries have the remembered address, clique, index and status once the system is idle."""
    remembered = world.state(RememberedEntries).of_domain[name]
    wanted = {node: remembered[node] for node in words(nodes)}

    def look() -> Seen[dict[str, dict[str, Any]]]:
        found = entries_of(world, name, nodes)
        return found == wanted, found

    world.stays(f"entries of {nodes} in the cliques of ComputeDomain {name}", look, expected=wanted)


@then('the entries of nodes "{nodes}" in the cliques of ComputeDomain "{name}" become Ready with other addresses')
def _(world: World, nodes: str, name: str) -> None:
    """Each of these nodes has a Ready entry whose address is not the remembered one, and no two have the same."""
    before = world.state(RememberedEntries).of_domain[name]
    old = {entry["ipAddress"] for entry in before.values()}

    def look() -> Seen[str]:
        found = entries_of(world, name, nodes)
        ready = {node for node, entry in found.items() if entry.get("status") == "Ready"}
        addresses = {entry["ipAddress"] for entry in found.values()}
        ok = ready == set(words(nodes)) and len(addresses) == len(ready) and not addresses & old
        return ok, in_words({node: [entry.get("status"), entry.get("ipAddress")] for node, entry in found.items()})

    expected = f"Ready, with addresses of their own, none of {in_words(sorted(old))}"
    world.eventually(f"entries of {nodes} in the cliques of ComputeDomain {name}", look, expected=expected)


@given('{count:d} nodes running the ComputeDomain driver on the GPUs of "{inventory}"')
def _(world: World, count: int, inventory: str) -> None:
    """Nodes with a kubelet and the ComputeDomain driver; the GPUs of all of them are in one NVLink clique."""
    for number in range(1, count + 1):
        run_domain_driver(world, f"node-{number}", inventory)


@given('a channel claim for ComputeDomain "{name}" on each of {count:d} nodes')
def _(world: World, name: str, count: int) -> None:
    """Claims for channel-0 of the nodes, allocated by hand."""
    for number in range(1, count + 1):
        domain_claim(world, f"rank-{number}", f"node-{number}", "channel", {"domainID": domain_id(world, name)})


@when('a worker of ComputeDomain "{name}" is created for each of {count:d} nodes')
def _(world: World, name: str, count: int) -> None:
    """Pods worker-1 and on, with a channel of the ComputeDomain each, that only fit on node-1 and on, in this order."""
    for number in range(1, count + 1):
        create_worker(world, name, str(number))


@when('a worker of ComputeDomain "{name}" is created for node "node-{number}"')
def _(world: World, name: str, number: str) -> None:
    """The same for one node."""
    create_worker(world, name, number)


def create_worker(world: World, name: str, number: str) -> None:
    """Create the pod worker-NUMBER with a channel of a domain; it only fits on node-NUMBER."""
    reference = by_template("channel", f"{name}-channel")
    pod = pod_object(world, f"worker-{number}", [reference], scheduler=scheduler_of(world))
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": world.name(f"node-{number}")}
    create_pod(world, pod)


# -- the documented example --------------------------------------------------------------------------------------------

DOCUMENTED = ("podName", "selectedNode", "receivedResourceType", "receivedGPU", "resourceClaimAllocations")
"""The fields that the spec of the documented BindRequest has."""


def documented_allocation(node: str, domain_uid: str) -> Obj:
    """Return the allocation of the documented example for a channel of a ComputeDomain on a node, as a whole."""
    parameters = {
        "apiVersion": CONFIG_API,
        "kind": "ComputeDomainChannelConfig",
        "domainID": domain_uid,
        "allocationMode": "Single",
    }
    config = {
        "source": "FromClaim",
        "requests": ["channel"],
        "opaque": {"driver": DOMAIN_DRIVER, "parameters": parameters},
    }
    result = {"request": "channel", "driver": DOMAIN_DRIVER, "pool": node, "device": "channel-0"}
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]
    return {
        "devices": {"results": [result], "config": [config]},
        "nodeSelector": {"nodeSelectorTerms": terms},
    }


@then('the BindRequests of the workers on {count:d} nodes are those of the example, for ComputeDomain "{name}"')
def _(world: World, count: int, name: str) -> None:
    """Each has the owner, the node, the allocation and the status of the documented one, and no field that it lacks.

    The share of GPUs of device plugins (`receivedGPU`) is left out: these workers have none.
    """
    uid = uid_of(domain(world, name))
    for number in range(1, count + 1):
        pod, node = f"worker-{number}", world.name(f"node-{number}")
        found_pod = world.client.get(PODS, pod, world.namespace)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name_of(found_pod), "uid": uid_of(found_pod)}
        wanted = {
            "ownerReferences": [owner],
            "podName": name_of(found_pod),
            "selectedNode": node,
            "resourceClaimAllocations": [{"name": "channel", "allocation": documented_allocation(node, uid)}],
            "further fields": [],
            "status": {"phase": "Succeeded"},
        }

        def look(pod: str = pod, wanted: Obj = wanted) -> Seen[Obj]:
            requests = requests_of(world, pod)
            if len(requests) != 1:
                return False, {"BindRequests": [name_of(one) for one in requests]}
            spec = requests[0]["spec"]
            seen = {
                "ownerReferences": meta(requests[0]).get("ownerReferences") or [],
                **{key: spec.get(key) for key in ("podName", "selectedNode")},
                "resourceClaimAllocations": [_without_time(one) for one in spec.get("resourceClaimAllocations") or ()],
                "further fields": sorted(set(spec) - set(DOCUMENTED)),
                "status": requests[0].get("status") or {},
            }
            return seen == wanted, seen

        world.eventually(f"BindRequest of {pod}", look, expected=wanted)


def _without_time(entry: Obj) -> Obj:
    # A scheduler may add when it has allocated, which the documented example does not show.
    allocation = {key: value for key, value in (entry.get("allocation") or {}).items() if key != "allocationTimestamp"}
    return {**entry, "allocation": allocation}


@then('the claims of the workers on {count:d} nodes are those of the example, for ComputeDomain "{name}"')
def _(world: World, count: int, name: str) -> None:
    """The only claim of each has the allocation of the documented one, and one reservation: for its pod."""
    uid = uid_of(domain(world, name))
    for number in range(1, count + 1):
        pod, node = f"worker-{number}", world.name(f"node-{number}")
        found_pod = world.client.get(PODS, pod, world.namespace)
        user = {"resource": "pods", "name": name_of(found_pod), "uid": uid_of(found_pod)}
        wanted = [{"allocation": documented_allocation(node, uid), "reservedFor": [user]}]

        def look(pod: str = pod, wanted: list[Obj] = wanted) -> Seen[list[Obj]]:
            claims = [claim.get("status") or {} for claim in claims_made_for(world, pod)]
            seen = [{**_without_time(one), "reservedFor": one.get("reservedFor") or []} for one in claims]
            shown = [{key: one[key] for key in ("allocation", "reservedFor")} for one in seen]
            return shown == wanted, shown

        world.eventually(f"claim of {pod}", look, expected=wanted)


@when('node "{node}" is lost with its pods')
def _(world: World, node: str) -> None:
    """Stop kubelet and ComputeDomain driver of the node, and delete its Node and, by force, its pods.

    The pods are deleted as by the pod garbage collector, so that no daemon has removed its entry.
    """
    component = world.node(node)
    component.kubelet.stop()
    component.stop_fabric_plugin()
    world.client.delete(NODES, world.name(node))
    for namespace in (world.namespace, world.driver_namespace):
        for pod in world.client.list(PODS, namespace).items:
            if pod["spec"].get("nodeName") == world.name(node):
                with contextlib.suppress(NotFound):
                    world.client.delete(PODS, name_of(pod), namespace, grace_period_seconds=0)


@then('node "{node}" has the index of "{former}" in the cliques of ComputeDomain "{name}"')
def _(world: World, node: str, former: str, name: str) -> None:
    """The entry of the node comes to have the index in the remembered entry of the former one."""
    wanted = world.state(RememberedEntries).of_domain[name][former]["index"]

    def look() -> Seen[Any]:
        index = entries_of(world, name, node).get(node, {}).get("index")
        return index == wanted, index

    world.eventually(f"index of {node} in the cliques of ComputeDomain {name}", look, expected=wanted)


@then('the worker of ComputeDomain "{name}" on each of "{nodes}" {manner:word} phase {phase:word}')
def _(world: World, name: str, nodes: str, manner: str, phase: str) -> None:
    """Each of these nodes has one pod of the scenario, which `reaches` this phase or `keeps` it."""
    check_phases(world, name, words(nodes), phase, keep=manner == "keeps")


def check_phases(world: World, name: str, nodes: Sequence[str], phase: str, *, keep: bool) -> None:
    """Check that each of these nodes comes to have one pod of the scenario, in this phase; `keep`: that it has it."""
    wanted = {node: [phase] for node in nodes}

    def look() -> Seen[dict[str, list[Any]]]:
        pods = world.client.list(PODS, world.namespace).items
        found = {
            node: [(pod.get("status") or {}).get("phase") for pod in pods if pod["spec"].get("nodeName") == real]
            for node, real in ((node, world.name(node)) for node in wanted)
        }
        return found == wanted, found

    what = f"phases of the workers of ComputeDomain {name}"
    if keep:
        world.stays(what, look, expected=wanted)
    else:
        world.eventually(what, look, expected=wanted)


@when("Prepare of the channel claims of {count:d} nodes is called on their ComputeDomain drivers")
def _(world: World, count: int) -> None:
    """Call Prepare of each claim on its node, without waiting for the responses."""
    for number in range(1, count + 1):
        call_prepare(world, [f"rank-{number}"], f"node-{number}")


@then('Prepare of the channel claims of {count:d} nodes returns "{devices}"')
def _(world: World, count: int, devices: str) -> None:
    """Each call comes to return exactly these devices of its claim's allocation."""
    for number in range(1, count + 1):
        check_prepared(world, f"rank-{number}", devices)


@then('node "{node}" has no file called "{name}"')
def _(world: World, node: str, name: str) -> None:
    """Neither a file nor a folder below the folder of the fake node has this name."""
    root = world.node(node).root
    found = sorted(str(path.relative_to(root)) for path in root.rglob(name))
    world.check(not found, f"files of {node} that are called {name}", expected=[], observed=found)
