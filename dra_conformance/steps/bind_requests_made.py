"""What the scheduler wrote: the BindRequest of a pod, its name, owner, node and allocations.

Source: KAI-Scheduler docs/dra/README.md and release 0.17 (pkg/scheduler/cache/cache.go).
"""

from __future__ import annotations

import re
from collections import Counter

from dra_api.objects import BIND_REQUESTS, NODES, PODS, meta, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import then, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.bind_requests import devices_in, entries_of, holds, request_of, requests_of, status_of
from dra_conformance.steps.claims import allocation_on


@then('pod "{pod}" gets exactly one BindRequest')
def _(world: World, pod: str) -> None:
    """One BindRequest comes to name the pod, and no second follows."""

    def look() -> Seen:
        found = [name_of(request) for request in requests_of(world, pod)]
        return len(found) == 1, found or "none"

    seen = world.wait(lambda: (bool(requests_of(world, pod)), "none"))
    world.check(seen[0], f"pod {pod} has a BindRequest", expected="one BindRequest", observed=seen[1])
    world.stays(f"pod {pod} has one BindRequest", look, expected="one BindRequest")


@then('pod "{pod}" gets a BindRequest to "{node}"')
def _(world: World, pod: str, node: str) -> None:
    """A BindRequest for the pod comes to name this node."""

    def look() -> Seen:
        request = request_of(world, pod)
        where = ((request or {}).get("spec") or {}).get("selectedNode")
        return where == world.name(node), where or "no BindRequest"

    world.eventually(f"pod {pod} has a BindRequest", look, expected=world.name(node))


@then('pod "{pod}" gets no BindRequest')
def _(world: World, pod: str) -> None:
    """No BindRequest has named the pod, also none that is gone again, and none does once all has come to rest."""

    def look() -> Seen:
        told = [event.data for event in world.log.kept("object") if event.data["resource"] == BIND_REQUESTS.plural]
        ours = [data for data in told if str(data["name"]).startswith(f"{world.namespace}/")]
        made = {data["name"] for data in ours if data["summary"].get("pod") == pod}
        return not made, sorted(made) or "none"

    world.stays(f"pod {pod} has no BindRequest", look, expected="no BindRequest")


@then('the BindRequest of pod "{pod}" goes as well')
def _(world: World, pod: str) -> None:
    """The garbage collector takes it, which looks for kinds that are new to it every half minute."""
    # Nobody's component: kube-controller-manager collects what was made before it knew BindRequests after its next look.
    within = max(world.run.patience, _COLLECTED_WITHIN_S) if world.run.has_controllers else None

    def look() -> Seen:
        left = [name_of(request) for request in requests_of(world, pod)]
        return not left, left or "none"

    world.eventually(f"the BindRequest of pod {pod} goes with it", look, expected="none", within=within)


_COLLECTED_WITHIN_S = 75.0


@then('pod "{pod}" gets another BindRequest')
def _(world: World, pod: str) -> None:
    """The BindRequest that was judged by hand goes, and a new one comes."""
    former = world.memory.get(f"request/{pod}")

    def look() -> Seen:
        found = {name_of(request): status_of(request).get("phase") for request in requests_of(world, pod)}
        uids = [uid_of(request) for request in requests_of(world, pod)]
        return len(uids) == 1 and uids[0] != former, found or "none"

    world.eventually(f"pod {pod} has a new BindRequest only", look, expected="one BindRequest, with another uid")


@then('the BindRequest of pod "{pod}" has "{path}" {value}')
def _(world: World, pod: str, path: str, value: str) -> None:
    """A field of the pod's BindRequest comes to this value (YAML; `null`: the field is not there)."""
    wanted = manifests.parse_value(world.text(value))

    def look() -> Seen:
        request = request_of(world, pod)
        if request is None:
            return False, "no BindRequest"
        found = manifests.look_up(request, path)
        return found == wanted, found

    world.eventually(f"{path} of the BindRequest of {pod}", look, expected=wanted)


@then('the BindRequest of pod "{pod}" is owned by the pod alone')
def _(world: World, pod: str) -> None:
    """One owner reference: the pod by name and uid, and it is no controller."""
    world.wait(lambda: (request_of(world, pod) is not None, "none"))
    owner = world.get(PODS, pod)
    wanted = [{"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid_of(owner)}]
    seen = meta(request_of(world, pod) or {}).get("ownerReferences") or []
    bare = [{key: value for key, value in one.items() if value is not False} for one in seen]
    world.check(bare == wanted, "the BindRequest goes with its pod", expected=wanted, observed=seen)


@then('the BindRequest of pod "{pod}" is named like its pod')
def _(world: World, pod: str) -> None:
    """The name of the BindRequest is the pod's."""
    world.eventually(
        f"the BindRequest of {pod} has a name", lambda: _name_like(world, pod, re.escape(pod)), expected=pod
    )


@then('the BindRequest of pod "{pod}" is named after its pod with a suffix')
def _(world: World, pod: str) -> None:
    """The name of the BindRequest is the pod's, a hyphen and a generated part."""
    pattern = re.escape(pod) + r"-[a-z0-9]+"
    expected = f"{pod}-<suffix>"
    world.eventually(f"the BindRequest of {pod} has a name", lambda: _name_like(world, pod, pattern), expected=expected)


def _name_like(world: World, pod: str, pattern: str) -> Seen:
    request = request_of(world, pod)
    name = name_of(request) if request is not None else ""
    return re.fullmatch(pattern, name) is not None, name or "no BindRequest"


@then('the BindRequest of pod "{pod}" names a node that exists, in its spec and in its label')
def _(world: World, pod: str) -> None:
    """The label selected-node equals spec.selectedNode, and there is such a Node."""

    def look() -> Seen:
        request = request_of(world, pod) or {}
        node = (request.get("spec") or {}).get("selectedNode")
        label = (meta(request).get("labels") or {}).get("selected-node")
        there = bool(node) and world.observer.get(NODES, str(node)) is not None
        return there and label == node, {"label": label, "selectedNode": node, "exists": there}

    world.eventually("the BindRequest names its node", look, expected="an existing node, in both places")


@then('the BindRequest of pod "{pod}" says what "{path}" says')
def _(world: World, pod: str, path: str) -> None:
    """Labels and spec of the BindRequest hold everything that a manifest of fixtures/ holds."""
    wanted = world.manifest(path)
    pick = {"labels": meta(wanted).get("labels"), "spec": wanted["spec"]}

    def look() -> Seen:
        request = request_of(world, pod)
        if request is None:
            return False, "no BindRequest"
        found = {"labels": meta(request).get("labels"), "spec": request.get("spec")}
        return holds(found, pick), found

    world.eventually(f"the BindRequest of {pod} has its documented shape", look, expected=pick)


@then('the BindRequest of pod "{pod}" gives claim "{claim}" {count:d} devices on its node')
def _(world: World, pod: str, claim: str, count: int) -> None:
    """An entry under the pod's own name of the claim has so many results, all from the pool of the selected node."""

    def look() -> Seen:
        request = request_of(world, pod)
        allocation = entries_of(request).get(claim)
        results = ((allocation or {}).get("devices") or {}).get("results") or []
        pools = {result.get("pool") for result in results}
        distinct = {result.get("device") for result in results}
        node = ((request or {}).get("spec") or {}).get("selectedNode")
        return len(results) == len(distinct) == count and pools == {node}, allocation or entries_of(request)

    world.eventually(f"the BindRequest of {pod} allocates {claim}", look, expected=f"{count} devices of its node")


@then('the BindRequest of pod "{pod}" gives claim "{claim}" the devices "{devices}"')
def _(world: World, pod: str, claim: str, devices: str) -> None:
    """An entry under the pod's own name of the claim has exactly these devices, in any order."""

    def look() -> Seen:
        found = entries_of(request_of(world, pod))
        return devices_in(found.get(claim)) == sorted(words(devices)), found

    world.eventually(f"the BindRequest of {pod} allocates {claim}", look, expected=sorted(words(devices)))


@then('the BindRequest of pod "{pod}" is about the claims "{claims}" and no other')
def _(world: World, pod: str, claims: str) -> None:
    """There is one entry for each of these names of the pod, in any order."""

    def look() -> Seen:
        spec = (request_of(world, pod) or {}).get("spec") or {}
        found = [str(item.get("name")) for item in spec.get("resourceClaimAllocations") or ()]
        return Counter(found) == Counter(words(claims)), found

    world.eventually(f"the BindRequest of {pod} lists its claims", look, expected=sorted(words(claims)))


@then('the entry of claim "{claim}" for pod "{pod}" can be used on the selected node alone')
def _(world: World, claim: str, pod: str) -> None:
    """The node selector of the entry names the selected node."""

    def look() -> Seen:
        request = request_of(world, pod)
        node = ((request or {}).get("spec") or {}).get("selectedNode")
        selector = (entries_of(request).get(claim) or {}).get("nodeSelector")
        wanted = allocation_on(str(node), [])["nodeSelector"]
        return node is not None and selector == wanted, selector

    world.eventually(f"the allocation of {claim} names its node", look, expected="metadata.name In [selectedNode]")


@then('the entry of claim "{claim}" for pod "{pod}" has configuration of "{sources}"')
def _(world: World, claim: str, pod: str, sources: str) -> None:
    """The configuration of an entry comes from these sources, in this order."""

    def look() -> Seen:
        config = ((entries_of(request_of(world, pod)).get(claim) or {}).get("devices") or {}).get("config") or []
        return [item.get("source") for item in config] == words(sources), config

    world.eventually(f"the allocation of {claim} carries configuration", look, expected=words(sources))


@then('the BindRequest of pod "{pod}" stays without status')
def _(world: World, pod: str) -> None:
    """The one who writes the request does not judge it."""

    def look() -> Seen:
        request = request_of(world, pod)
        return request is not None and not status_of(request), status_of(request) if request else "no BindRequest"

    world.stays(f"the BindRequest of {pod} has no status", look, expected="no status")


@then("{count:d} pods get BindRequests, with {devices:d} distinct devices")
def _(world: World, count: int, devices: int) -> None:
    """So many pods have a BindRequest, no pod has two, and no device is promised twice."""

    def look() -> Seen:
        requests = world.all_seen(BIND_REQUESTS)
        pods = Counter(str((request.get("spec") or {}).get("podName")) for request in requests)
        promised = [
            device for request in requests for one in entries_of(request).values() for device in devices_in(one)
        ]
        ok = len(pods) == len(requests) == count and len(promised) == len(set(promised)) == devices
        return ok, {"pods": sorted(pods), "devices": sorted(promised)}

    world.wait(look)
    world.stays("every device is promised once", look, expected=f"{count} pods, {devices} distinct devices")
