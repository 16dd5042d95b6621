"""PodGroups of Kubernetes' workload API (scheduling.k8s.io), their pods, and the claims that the pods share.

A pod names its group in spec.schedulingGroup. A claim of the pod is the group's if name and reference equal an entry of
the group.

Source: k8s.io/api/scheduling/v1beta1 types.go, k8s.io/dynamic-resource-allocation/resourceclaim, release 1.37; rules
DRA-548 to DRA-561.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_api.allocations import results_of
from dra_api.objects import (
    PODS,
    RESOURCE_CLAIMS,
    SCHEDULING_POD_GROUPS,
    Obj,
    controller_of,
    meta,
    name_of,
    owner_reference,
    uid_of,
)
from dra_conformance.core.errors import Untestable
from dra_conformance.core.events import ObjectChanged
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.claim_holders import allocate, reserve
from dra_conformance.steps.claim_lifecycle import recorded
from dra_conformance.steps.claims import consumers
from dra_conformance.steps.fields import begin_deletion
from dra_conformance.steps.pod_claims import POD_CLAIM_NAME
from dra_conformance.steps.pods import (
    GRACE_SECONDS,
    by_name,
    by_template,
    condition,
    create_other_namespace,
    create_pod,
    event_text,
    events_about,
    look_bound,
    pod_object,
    scheduler_of,
)
from dra_conformance.steps.references import Known, claim_name, claims_made_for
from dra_conformance.steps.uids import Groups

# Hundreds of pods: a real scheduler binds some dozens a second.
_BOUND_WITHIN_S = 60.0
_ABSENT = "template"
"""A template that no scenario with such claims creates."""


def _entries(sources: str, names: str, *, by_name: bool) -> list[Obj]:
    """Return entries of spec.resourceClaims: all with one template or claim, or each with its own."""
    found, taken = words(names), words(sources)
    if len(taken) == 1:
        taken *= len(found)
    pairs = zip(found, taken, strict=True)
    return [
        {"name": name, "resourceClaimName": source} if by_name else by_template(name, source) for name, source in pairs
    ]


def _group_object(group: str, namespace: str, entries: list[Obj], policy: Obj | None = None) -> Obj:
    return {
        "apiVersion": SCHEDULING_POD_GROUPS.api_version,
        "kind": SCHEDULING_POD_GROUPS.kind,
        "metadata": {"name": group, "namespace": namespace},
        "spec": {"schedulingPolicy": policy or {"basic": {}}, "resourceClaims": entries},
    }


def create_group(world: World, group: str, entries: list[Obj], *, policy: Obj | None = None) -> Obj:
    """Create a PodGroup with these entries, by default of the policy basic, and return it."""
    made = world.create(_group_object(group, world.namespace, entries, policy))
    world.state(Groups).created[group] = made
    return made


def _group(world: World, group: str) -> Obj:
    """Return a group as the scenario created it last. Raises Untestable if it has created none of this name."""
    found = world.state(Groups).created.get(group)
    if found is None:
        raise Untestable(f"the scenario has created no PodGroup {group}")
    return found


def _create_member(world: World, pod: str, group: str, entries: list[Obj], **spec: Any) -> None:
    obj = pod_object(world, pod, entries, scheduler=scheduler_of(world))
    obj["spec"].update(spec, schedulingGroup={"podGroupName": group})
    create_pod(world, obj)


def group_consumer(group: str, uid: str) -> Obj:
    """Return the entry of a PodGroup in `reservedFor`."""
    return {
        "apiGroup": SCHEDULING_POD_GROUPS.group,
        "resource": SCHEDULING_POD_GROUPS.plural,
        "name": group,
        "uid": uid,
    }


def _claims_of(world: World, group: str) -> list[Obj]:
    """Return the claims that a group controls, without those being deleted."""
    uid = uid_of(_group(world, group))
    return [
        claim
        for claim in world.all_seen(RESOURCE_CLAIMS)
        if (controller_of(claim) or {}).get("uid") == uid and "deletionTimestamp" not in meta(claim)
    ]


def _recorded(world: World, group: str) -> list[Obj]:
    """Return `status.resourceClaimStatuses` of a group."""
    seen = world.seen(SCHEDULING_POD_GROUPS, group) or {}
    return list((seen.get("status") or {}).get("resourceClaimStatuses") or [])


# -- groups and pods ---------------------------------------------------------------------------------------------------


@given('a workload PodGroup "{group}" using template "{templates}" as "{names}"')
@when('a workload PodGroup "{group}" using template "{templates}" as "{names}" is created')
def _(world: World, group: str, templates: str, names: str) -> None:
    """Create a PodGroup of scheduling.k8s.io with entries of these names: all from one template, or one from each."""
    create_group(world, group, _entries(templates, names, by_name=False))


@given('a workload PodGroup "{group}" that owns the claims "{claims}" from templates')
def _(world: World, group: str, claims: str) -> None:
    """Create a PodGroup with an entry for each claim, of its name, and make it the controlling owner of the claims.

    Their template does not exist, so that no controller creates claims beside them.
    """
    owner = create_group(world, group, [by_template(claim, _ABSENT) for claim in words(claims)])
    kind = {"apiVersion": SCHEDULING_POD_GROUPS.api_version, "kind": SCHEDULING_POD_GROUPS.kind}
    references = [owner_reference({**owner, **kind}, controller=True)]
    for claim in words(claims):
        world.client.patch(RESOURCE_CLAIMS, claim, {"metadata": {"ownerReferences": references}}, world.namespace)


@given('a workload PodGroup "{group}" using claim "{claims}" as "{names}"')
@when('a workload PodGroup "{group}" using claim "{claims}" as "{names}" is created')
def _(world: World, group: str, claims: str, names: str) -> None:
    """Create a PodGroup of scheduling.k8s.io whose entries of these names are claims that exist."""
    create_group(world, group, _entries(claims, names, by_name=True))


@given('a workload PodGroup "{group}" using claim "{claims}" as "{names}" in another namespace')
def _(world: World, group: str, claims: str, names: str) -> None:
    """Create a PodGroup of this name outside the scenario's namespace; no later step concerns it."""
    world.create(_group_object(group, create_other_namespace(world), _entries(claims, names, by_name=True)))


@given('a workload PodGroup "{group}" of at least {count:d} pods using claim "{claims}" as "{names}"')
def _(world: World, group: str, count: int, claims: str, names: str) -> None:
    """Create a PodGroup with the gang policy and this minCount, whose entries of these names are claims that exist."""
    create_group(world, group, _entries(claims, names, by_name=True), policy={"gang": {"minCount": count}})


@given('a workload PodGroup "{group}" of at least {count:d} pods')
def _(world: World, group: str, count: int) -> None:
    """Create a PodGroup with the gang policy and this minCount, and without claims of its own."""
    create_group(world, group, [], policy={"gang": {"minCount": count}})


@given('a pod "{pod}" of workload PodGroup "{group}" using template "{templates}" as "{names}"')
@when('a pod "{pod}" of workload PodGroup "{group}" using template "{templates}" as "{names}" is created')
def _(world: World, pod: str, group: str, templates: str, names: str) -> None:
    """Create a pod of a PodGroup with claims of these names: all from one template, or one from each."""
    _create_member(world, pod, group, _entries(templates, names, by_name=False))


@given('a pod "{pod}" of workload PodGroup "{group}" in another namespace')
def _(world: World, pod: str, group: str) -> None:
    """Create a pod outside the scenario's namespace that names a group of that namespace; no later step concerns it."""
    obj = pod_object(world, pod, [], scheduler=scheduler_of(world))
    obj["metadata"]["namespace"] = create_other_namespace(world)
    obj["spec"]["schedulingGroup"] = {"podGroupName": group}
    world.create(obj)


@when(
    'pods "{prefix}" 1 to {count:d} of workload PodGroup "{group}" using template "{template}" as "{name}" are created'
)
def _(world: World, prefix: str, count: int, group: str, template: str, name: str) -> None:
    """Create pods prefix-1 … of a PodGroup, each with a claim of this name from the template."""
    for number in range(1, count + 1):
        _create_member(world, f"{prefix}-{number}", group, [by_template(name, template)])


@then('pods "{prefix}" 1 to {count:d} are bound to "{node}"')
def _(world: World, prefix: str, count: int, node: str) -> None:
    """Each of the pods prefix-1 … comes to be bound to the node."""

    def look() -> Seen[str]:
        pods = [world.seen(PODS, f"{prefix}-{number}") or {} for number in range(1, count + 1)]
        bound = sum((pod.get("spec") or {}).get("nodeName") == world.name(node) for pod in pods)
        return bound == count, f"{bound} of {count} pods"

    expected = f"{count} of {count} pods"
    world.eventually(f"pods that are bound to {node}", look, expected=expected, within=_BOUND_WITHIN_S)


@then('pods "{prefix}" 1 to {count:d} stay unbound, and their claims unallocated')
def _(world: World, prefix: str, count: int) -> None:
    """None of the pods prefix-1 … is bound and none of their claims is allocated once the system is idle."""
    pods = [f"{prefix}-{number}" for number in range(1, count + 1)]

    def made() -> Seen[str]:
        without = [pod for pod in pods if not claims_made_for(world, pod)]
        return not without, in_words(without)

    world.require("each of the pods has its claim", made)

    def look() -> Seen[str]:
        found = {pod: _place_of(world, pod) for pod in pods}
        placed = {pod: place for pod, place in found.items() if place != ("", [])}
        return not placed, in_words({pod: [node, *devices] for pod, (node, devices) in placed.items()})

    world.stays("pods that are bound or have devices", look, expected="none")


@then('pods "{prefix}" 1 to {count:d} are bound to a node each, with a device of its own')
def _(world: World, prefix: str, count: int) -> None:
    """Each of the pods prefix-1 … comes to be bound, no two to one node, and has one device of its node's pool."""
    pods = [f"{prefix}-{number}" for number in range(1, count + 1)]

    def look() -> Seen[str]:
        found = {pod: _place_of(world, pod) for pod in pods}
        nodes = {node for node, devices in found.values() if node and devices == [node]}
        return len(nodes) == count, in_words({pod: [node, *devices] for pod, (node, devices) in found.items()})

    expected = f"{count} nodes, and one device of the node's pool for each pod"
    what = f"nodes of {count} pods, and the pools of their devices"
    world.eventually(what, look, expected=expected, within=_BOUND_WITHIN_S)


def _place_of(world: World, pod: str) -> tuple[str, list[str]]:
    """Return the node of a pod, empty if it is not bound, and the pools of the devices of its claims."""
    node = str(((world.seen(PODS, pod) or {}).get("spec") or {}).get("nodeName") or "")
    pools = [str(result.get("pool")) for claim in claims_made_for(world, pod) for result in results_of(claim)]
    return node, pools


@given('a pod "{pod}" of workload PodGroup "{group}" using claim "{claims}" as "{names}"')
@when('a pod "{pod}" of workload PodGroup "{group}" using claim "{claims}" as "{names}" is created')
def _(world: World, pod: str, group: str, claims: str, names: str) -> None:
    """Create a pod of a PodGroup that uses claims under these names."""
    _create_member(world, pod, group, _entries(claims, names, by_name=True))


@given('a pod "{pod}" of workload PodGroup "{group}" for a kubelet with the claims "{claims}"')
def _(world: World, pod: str, group: str, claims: str) -> None:
    """Create a pod of a PodGroup that a kubelet ends; each entry is a claim and has its name. No claim is reserved."""
    _create_member(
        world, pod, group, [by_name(claim) for claim in words(claims)], terminationGracePeriodSeconds=GRACE_SECONDS
    )


@given('a pod "{pod}" of workload PodGroup "{group}" for a kubelet with the claims "{claims}" from templates')
def _(world: World, pod: str, group: str, claims: str) -> None:
    """The same with claims from a template, whose entries have their names; its status does not list them yet."""
    entries = [by_template(claim, _ABSENT) for claim in words(claims)]
    _create_member(world, pod, group, entries, terminationGracePeriodSeconds=GRACE_SECONDS)


@given('a pod "{pod}" of workload PodGroup "{group}" for node "{node}" using claim "{claims}" as "{names}"')
def _(world: World, pod: str, group: str, node: str, claims: str, names: str) -> None:
    """Create a pod of a PodGroup that only fits on one node and uses claims under these names."""
    selector = {"kubernetes.io/hostname": world.name(node)}
    _create_member(world, pod, group, _entries(claims, names, by_name=True), nodeSelector=selector)


@then('one of the pods "{pods}" is bound, and the others are unschedulable')
def _(world: World, pods: str) -> None:
    """One pod is bound; PodScheduled of each other pod is False with reason Unschedulable, and it is not bound."""
    names = words(pods)

    def look() -> Seen[str]:
        bound = [pod for pod in names if look_bound(world, pod)[0]]
        refused = [pod for pod in names if _is_unschedulable(world, pod)]
        ok = len(bound) == 1 and sorted([*bound, *refused]) == sorted(names)
        return ok, f"bound {in_words(bound)}; unschedulable {in_words(refused)}"

    world.wait(look)
    world.stays(f"which of the pods {pods} are bound", look, expected="one is bound, the others are unschedulable")


def _is_unschedulable(world: World, pod: str) -> bool:
    found = condition(world.seen(PODS, pod), "PodScheduled")
    return (found.get("status"), found.get("reason")) == ("False", "Unschedulable")


@when('workload PodGroup "{group}" is deleted')
def _(world: World, group: str) -> None:
    """Delete a PodGroup; the protection of Kubernetes keeps it until its pods have ended."""
    world.client.delete(SCHEDULING_POD_GROUPS, group, world.namespace)


@given('workload PodGroup "{group}" is being deleted')
def _(world: World, group: str) -> None:
    """Delete a PodGroup that a finalizer of the scenario keeps, so that nothing depends on its protection."""
    begin_deletion(world, SCHEDULING_POD_GROUPS, group)


@then('workload PodGroup "{group}" stays in deletion')
def _(world: World, group: str) -> None:
    """The PodGroup exists and has a deletionTimestamp once the system is idle."""

    def look() -> Seen[str]:
        found = world.client.find(SCHEDULING_POD_GROUPS, group, world.namespace)
        deleting = found is not None and "deletionTimestamp" in meta(found)
        return deleting, "in deletion" if deleting else "not in deletion" if found else "gone"

    world.stays(f"PodGroup {group}", look, expected="in deletion")


@then('workload PodGroup "{group}" is gone')
def _(world: World, group: str) -> None:
    """The PodGroup comes to be gone."""

    def look() -> Seen[str]:
        found = world.client.find(SCHEDULING_POD_GROUPS, group, world.namespace)
        return found is None, "there" if found else "gone"

    world.eventually(f"PodGroup {group}", look, expected="gone")


@when('workload PodGroup "{group}" gets another label')
def _(world: World, group: str) -> None:
    """Change metadata of a PodGroup that nothing depends on, after all components have received the earlier changes."""
    world.settle()
    world.update(SCHEDULING_POD_GROUPS, group, lambda obj: obj["metadata"].update(labels={"seen": "again"}))


@when('workload PodGroup "{group}" is replaced by another of its name')
def _(world: World, group: str) -> None:
    """Delete a PodGroup, wait until it is gone, and create it again with the same claims."""
    former = _group(world, group)
    world.client.delete(SCHEDULING_POD_GROUPS, group, world.namespace)

    def gone() -> Seen[Obj | None]:
        # Not the observer: a late watch may not have shown the former one yet.
        found = world.client.find(SCHEDULING_POD_GROUPS, group, world.namespace)
        return found is None, found

    world.require(f"PodGroup {group} is gone", gone)
    world.state(Groups).former[group] = uid_of(former)
    create_group(world, group, list(former["spec"]["resourceClaims"]))
    world.settle()


@given('the claim controller has feature gates "{gates}" off')
def _(world: World, gates: str) -> None:
    """Restart the claim controller with feature gates off, for this scenario; the API server keeps them on."""
    world.cleanup.callback(world.components.kill, "claim-controller")
    world.components.restart("claim-controller", gates=dict.fromkeys(words(gates), False))


# -- claims ------------------------------------------------------------------------------------------------------------


@given('workload PodGroup "{group}" has its claim "{name}" for entry "{entry}"')
def _(world: World, group: str, name: str, entry: str) -> None:
    """Wait until the group's status names a claim for this entry, and later steps refer to the claim by this name."""

    def named() -> str:
        found = (str(one.get("resourceClaimName")) for one in _recorded(world, group) if one.get("name") == entry)
        return next(found, "")

    world.require(
        f"the status of PodGroup {group} has its claim for {entry}",
        lambda: (named() in [name_of(claim) for claim in _claims_of(world, group)], _recorded(world, group)),
    )
    world.state(Known).claims[name] = named()
    world.alias(name, named())


@given('claim "{claim}" is allocated by hand on "{node}" for workload PodGroup "{group}"')
def _(world: World, claim: str, node: str, group: str) -> None:
    """Allocate a device of a driver that does not run to a claim, and reserve the claim for a PodGroup."""
    allocate(world, claim, node, [group_consumer(group, uid_of(_group(world, group)))])


@given('claim "{claim}" is reserved by hand for workload PodGroup "{group}"')
@when('claim "{claim}" is reserved by hand for workload PodGroup "{group}"')
def _(world: World, claim: str, group: str) -> None:
    """Add a PodGroup to `reservedFor`, as a scheduler that was not able to bind the pods of the group leaves it."""
    reserve(world, claim, [group_consumer(group, uid_of(_group(world, group)))])
    world.settle()


@when('the former workload PodGroup "{group}" is added to the consumers of claim "{claim}"')
def _(world: World, claim: str, group: str) -> None:
    """Add the uid of the PodGroup that was replaced to `reservedFor`, in place of a scheduler that is behind."""
    former = world.state(Groups).former.get(group)
    if former is None:
        raise Untestable(f"the scenario has not replaced PodGroup {group}")
    reserve(world, claim, [group_consumer(group, former)])
    world.settle()


@then('workload PodGroup "{group}" has each of its claims once')
def _(world: World, group: str) -> None:
    """The group comes to control one claim for each template entry, which its status names, and no other claim."""
    wanted = sorted(
        entry["name"]
        for entry in _group(world, group)["spec"]["resourceClaims"]
        if entry.get("resourceClaimTemplateName")
    )

    def look() -> Seen[list[Any] | None]:
        made = sorted(
            (str((meta(claim).get("annotations") or {}).get(POD_CLAIM_NAME)), name_of(claim))
            for claim in _claims_of(world, group)
        )
        names = sorted((str(one.get("name")), str(one.get("resourceClaimName"))) for one in _recorded(world, group))
        entries = [entry for entry, _ in made]
        shown = [entry if (entry, name) in names else f"{entry}: {name} not recorded" for entry, name in made]
        return entries == wanted and names == made, shown

    world.wait(look)
    world.stays(f"claims of PodGroup {group}, with their records", look, expected=wanted)


@then('pods "{pods}" record claim "{claim}" for entry "{entry}"')
def _(world: World, pods: str, claim: str, entry: str) -> None:
    """`resourceClaimStatuses` of each of the pods comes to name this claim for the entry."""
    name, wanted = claim_name(world, claim), words(pods)

    def look() -> Seen[dict[str, list[str]]]:
        found = {
            pod: [str(one.get("resourceClaimName")) for one in recorded(world, pod) if one.get("name") == entry]
            for pod in wanted
        }
        return all(names == [name] for names in found.values()), found

    expected = {pod: [name] for pod in wanted}
    world.eventually(f"claims that the pods record for {entry}", look, expected=expected)


# -- reservations ------------------------------------------------------------------------------------------------------


def _reserved(world: World, claim: str, group: str) -> Seen[list[Any] | None]:
    found = world.seen(RESOURCE_CLAIMS, claim_name(world, claim))
    if found is None:
        return False, None
    wanted = group_consumer(group, uid_of(_group(world, group)))
    seen = consumers(found)
    return seen == [wanted], [group if one == wanted else in_words([one]) for one in seen]


@then('claim "{claim}" stays reserved for exactly workload PodGroup "{group}"')
def _(world: World, claim: str, group: str) -> None:
    """`reservedFor` contains the PodGroup once and no other consumer, once the system is idle."""
    world.wait(lambda: _reserved(world, claim, group))
    world.stays(f"claim {claim} stays reserved", lambda: _reserved(world, claim, group), expected=[group])


@then('claim "{claim}" has kept its reservation for workload PodGroup "{group}"')
def _(world: World, claim: str, group: str) -> None:
    """Since the PodGroup was added to `reservedFor`, no version of the claim has lacked it, once the system is idle."""
    name = f"{world.namespace}/{claim_name(world, claim)}"

    def look() -> Seen[str]:
        seen = [
            group in str(event.summary.get("reservedFor", "")).split(",")
            for event in world.log.kept(ObjectChanged)
            if (event.resource, event.name) == (RESOURCE_CLAIMS.plural, name)
        ]
        lost = True in seen and not all(seen[seen.index(True) :])
        return True in seen and not lost, "reserved, then not" if lost else f"reserved in {sum(seen)} versions"

    world.wait(look)
    world.stays(f"claim {claim} keeps its reservation", look, expected="always reserved after the first time")


# -- events ------------------------------------------------------------------------------------------------------------


@then('workload PodGroup "{group}" gets a {kind:word} event "{reason}" that contains "{text}"')
def _(world: World, group: str, kind: str, reason: str, text: str) -> None:
    """An event (Normal or Warning) with this reason and text comes to be recorded for the PodGroup.

    It is about the uid and the API group of the PodGroup; users find events by both.
    """
    uid, wanted = uid_of(_group(world, group)), world.text(text)

    def is_about(event: Mapping[str, Any]) -> bool:
        found = event.get("involvedObject") or event.get("regarding") or {}
        of_group = str(found.get("apiVersion") or SCHEDULING_POD_GROUPS.api_version).rpartition("/")[0]
        return found.get("uid") == uid and of_group == SCHEDULING_POD_GROUPS.group

    def look() -> Seen[str]:
        about = [event for event in events_about(world, SCHEDULING_POD_GROUPS.kind, group) if is_about(event)]
        ok = any((one.get("type"), one.get("reason")) == (kind, reason) and wanted in event_text(one) for one in about)
        texts = [f"{one.get('type')} {one.get('reason')}: {event_text(one)}" for one in about]
        return ok, "; ".join(dict.fromkeys(texts)) or "no event"

    world.eventually(f"event {reason} for PodGroup {group}", look, expected=f"{kind} {reason}: …{wanted}…")
