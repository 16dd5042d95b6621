"""Concurrent writers: changes to a claim or a pod while a component is about to write or delete it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from dra_api.objects import BIND_REQUESTS, PODS, RESOURCE_CLAIMS, Obj, controller_of, name_of, uid_of
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World
from dra_conformance.faults import Aim, Fault
from dra_conformance.steps import faults
from dra_conformance.steps.bind_requests import request_object
from dra_conformance.steps.claim_holders import hold, reserve
from dra_conformance.steps.claims import claim_spec, pod_consumer
from dra_conformance.steps.fields import write_field
from dra_conformance.steps.pods import placed, pod_object
from dra_conformance.steps.references import Known

OTHERS_FINALIZER = "example.com/audit"

_ANSWER_DELAY = 0.3
"""Seconds."""


@given('pod "{pod}" is added to claim "{claim}" while the binder writes it')
def _(world: World, pod: str, claim: str) -> None:
    """Reserve the claim for another pod just before the binder's next status update, which then conflicts."""
    rival = pod_consumer(world, pod)

    faults.before_status_update(world, claim=claim, act=lambda: reserve(world, claim, [rival]))


@given('pod "{pod}" is replaced by another of its name while the binder writes claim "{claim}"')
def _(world: World, pod: str, claim: str) -> None:
    """Delete the pod and create it again by its name, just before the binder's next status update of the claim."""
    faults.before_status_update(world, claim=claim, act=replacement(world, pod))


@given('pod "{pod}" is replaced by another of its name, bound to "{node}", while the binder writes claim "{claim}"')
def _(world: World, pod: str, node: str, claim: str) -> None:
    """Replace the pod and bind the new one by hand, just before the binder's next status update of the claim."""
    replace = replacement(world, pod)

    def act() -> None:
        replace()
        world.client.bind(world.client.get(PODS, pod, world.namespace), world.name(node))

    faults.before_status_update(world, claim=claim, act=act)


@given('pod "{pod}" is replaced by another of its name before the binder reads it, if it reads it')
def _(world: World, pod: str) -> None:
    """Replace the pod just before the binder's next GET of it. A binder may take pods from its watch instead."""
    aim = Aim.at("readings", PODS, components=("binder",), namespace=world.namespace, name=pod)
    faults.before_request(world, aim.meets, replacement(world, pod))
    # It changes nothing, and records that there was such a request.
    faults.arrange(world, Fault(), count=1, what="readings", kind=PODS.kind, name=pod, optional=True)


@given('the BindRequest "{name}" is replaced by one of pod "{pod}" to "{node}" while the binder writes its status')
def _(world: World, name: str, pod: str, node: str) -> None:
    """Replace the BindRequest by one for another pod, just before the binder's next status update of it."""

    def replace() -> None:
        world.client.delete(BIND_REQUESTS, name, world.namespace)
        world.client.create(BIND_REQUESTS, request_object(world, name, pod, node))

    aim = Aim.at("status updates", BIND_REQUESTS, components=("binder",), namespace=world.namespace, name=name)
    faults.before_request(world, aim.meets, replace)


@given('the creation of the next BindRequest is lost, and one "{name}" of pod "{pod}" to "{node}" is there')
def _(world: World, name: str, pod: str, node: str) -> None:
    """Break the connection before the scheduler's next creation of a BindRequest, and create one by hand instead."""

    def make() -> None:
        world.client.create(BIND_REQUESTS, request_object(world, name, pod, node))

    faults.arrange(world, Fault(lost="request", then=make), count=1, what="creations", kind=BIND_REQUESTS.kind)


def select_node(world: World, request: str, node: str) -> None:
    """Change `spec.selectedNode` of a BindRequest."""
    write_field(world, BIND_REQUESTS, request, "spec.selectedNode", world.name(node))


@given('the BindRequest "{name}" is changed to "{node}" while the binder writes its status')
def _(world: World, name: str, node: str) -> None:
    """Change `spec.selectedNode` just before the binder's next status update of the BindRequest."""
    aim = Aim.at("status updates", BIND_REQUESTS, components=("binder",), namespace=world.namespace, name=name)
    faults.before_request(world, aim.meets, lambda: select_node(world, name, node))


@given('the BindRequest "{name}" is changed to "{node}" while the binder writes claim "{claim}"')
def _(world: World, name: str, node: str, claim: str) -> None:
    """Change the selected node of the BindRequest just before the binder's next status update of the claim."""
    faults.before_status_update(world, claim=claim, act=lambda: select_node(world, name, node))


@given('the BindRequest "{name}" is deleted while the binder writes claim "{claim}"')
def _(world: World, name: str, claim: str) -> None:
    """Delete the BindRequest just before the binder's next status update of the claim."""

    def delete() -> None:
        world.client.delete(BIND_REQUESTS, name, world.namespace)

    faults.before_status_update(world, claim=claim, act=delete)


@given('claim "{claim}" is replaced by another of its name while the scheduler writes it')
def _(world: World, claim: str) -> None:
    """Delete the claim and create it again by its name, just before the scheduler's next status update of it."""
    faults.before_status_update(world, claim=claim, act=replaced_claim(world, claim))


@given('claim "{claim}" is replaced by one for {count:d} of "{name}" while the scheduler writes it')
def _(world: World, claim: str, count: int, name: str) -> None:
    """Delete the claim and create one of its name for devices of this class, just before the next status update."""
    faults.before_status_update(
        world, claim=claim, act=replaced_claim(world, claim, spec=claim_spec(world.name(name), count=count))
    )


@given('claim "{claim}" is deleted while the scheduler reports pod "{pod}", and the API server answers {code:d}')
def _(world: World, claim: str, pod: str, code: int) -> None:
    """Delete the claim during the scheduler's next status update of the pod, which is not carried out."""

    def delete() -> None:
        unprotected_deletion(world, claim)
        # The scheduler learns of the deletion, and may decide about the pod, before it has the answer.
        world.log.clock.wait(threading.Event(), _ANSWER_DELAY)

    faults.arrange(world, Fault(code=code, then=delete), count=1, what="status updates", kind=PODS.kind, name=pod)


@given('pod "{pod}" is bound to "{node}" while the scheduler binds it')
def _(world: World, pod: str, node: str) -> None:
    """Bind the pod to a node, as another scheduler does, just before the scheduler's next binding of it."""

    def bind() -> None:
        world.client.bind(world.client.get(PODS, pod, world.namespace), world.name(node))

    aim = Aim.at("bindings", PODS, components=("scheduler",), namespace=world.namespace, name=pod)
    faults.before_request(world, aim.meets, bind)


@given('the BindRequest of pod "{pod}" fails before the scheduler has the answer to its creation')
def _(world: World, pod: str) -> None:
    """Mark the next BindRequest for the pod as Failed, as a fast binder does, and only then let its creation return."""

    def fail() -> None:
        for request in world.client.list(BIND_REQUESTS, world.namespace).items:
            if request["spec"].get("podName") == pod:
                world.state(Known).former[f'BindRequest of pod "{pod}"'] = uid_of(request)
                write_field(world, BIND_REQUESTS, name_of(request), "status", {"phase": "Failed", "reason": "by hand"})
        # The scheduler learns of the failure before it has the answer.
        world.log.clock.wait(threading.Event(), _ANSWER_DELAY)

    faults.arrange(world, Fault(then=fail), count=1, what="creations", kind=BIND_REQUESTS.kind)


@given('the claim of pod "{pod}" gets the name "{claim}" and a finalizer of others before its refused binding')
def _(world: World, pod: str, claim: str) -> None:
    """Protect the claim that the pod controls before the next binding of the pod, which is answered with 403."""

    def protect() -> None:
        # Read from the server: the scenario may not have seen the claim yet.
        uid = uid_of(world.client.get(PODS, pod, world.namespace))
        stored = world.client.list(RESOURCE_CLAIMS, world.namespace).items
        made = next(name_of(one) for one in stored if (controller_of(one) or {}).get("uid") == uid)
        world.update(
            RESOURCE_CLAIMS,
            made,
            lambda found: found["metadata"].setdefault("finalizers", []).append(OTHERS_FINALIZER),
        )
        world.alias(claim, made)
        world.state(Known).claims[claim] = made

    faults.arrange(world, Fault(code=403, then=protect), count=1, what="bindings", kind=PODS.kind, name=pod)


@when('claim "{claim}" of pod "{pod}" has its name')
def _(world: World, claim: str, pod: str) -> None:
    """Wait until the step that names a claim of the pod has done so."""
    known = world.state(Known).claims
    world.require(f"the claim of {pod} has the name {claim}", lambda: (claim in known, "it has not"))


@when('the BindRequest of pod "{pod}" has failed')
def _(world: World, pod: str) -> None:
    """Wait until the step that lets it fail has done so."""
    former = world.state(Known).former
    world.require(
        f"the BindRequest of {pod} has failed", lambda: (f'BindRequest of pod "{pod}"' in former, "it has not")
    )


@given('claim "{claim}" is allocated "{devices}" of "{node}" while the {component:word} writes it')
def _(world: World, claim: str, devices: str, node: str, component: str) -> None:
    """Allocate devices to the claim just before the component's next status update of it, which then conflicts."""
    faults.before_status_update(world, claim=claim, act=lambda: hold(world, claim, devices, node))


@given(
    'claim "{claim}" is allocated "{devices}" of "{node}" and reserved for another user while the scheduler writes it'
)
def _(world: World, claim: str, devices: str, node: str) -> None:
    """Allocate and reserve the claim just before the scheduler's next status update of it; the user is no pod."""
    user = {"apiGroup": "batch.example.com", "resource": "workers", "name": "other", "uid": "other"}
    faults.before_status_update(world, claim=claim, act=lambda: hold(world, claim, devices, node, [user]))


@given('claim "{claim}" is changed while the scheduler writes it')
def _(world: World, claim: str) -> None:
    """Annotate the claim just before the scheduler's next status update of it, which then conflicts."""
    annotations = {"metadata": {"annotations": {"dra.test/changed": "true"}}}

    def change() -> None:
        world.client.patch(RESOURCE_CLAIMS, claim, annotations, world.namespace)

    faults.before_status_update(world, claim=claim, act=change)


@given('pod "{pod}" is replaced by another of its name before the {component:word} deletes it')
def _(world: World, pod: str, component: str) -> None:
    """Delete the pod and create it again by its name, just before a component's next deletion of the pod."""
    faults.before_deletion(world, component=component, pod=pod, act=replacement(world, pod))


def unprotected_deletion(world: World, claim: str) -> None:
    """Delete a claim at once, whatever finalizers it has."""
    world.update(RESOURCE_CLAIMS, claim, lambda stored: stored["metadata"].pop("finalizers", None))
    world.client.delete(RESOURCE_CLAIMS, claim, world.namespace)


def replaced_claim(world: World, claim: str, *, spec: Obj | None = None) -> Callable[[], None]:
    """Return a function that deletes the claim and creates it again by its name, with the same spec or another one."""
    former = world.get(RESOURCE_CLAIMS, claim)

    def replace() -> None:
        unprotected_deletion(world, claim)
        metadata = {"name": claim, "namespace": world.namespace}
        changed = {**former, "metadata": metadata, "spec": spec or former["spec"], "status": {}}
        world.client.create(RESOURCE_CLAIMS, changed)

    return replace


def replacement(world: World, pod: str) -> Callable[[], None]:
    """Return a function that deletes the pod and creates it again by its name, with the same claims."""
    former = world.get(PODS, pod)
    world.state(Known).former[f'Pod "{pod}"'] = uid_of(former)

    def replace() -> None:
        world.client.delete(PODS, pod, world.namespace, grace_period_seconds=0)
        claims = former["spec"]["resourceClaims"]
        new = pod_object(world, pod, claims, scheduler=former["spec"]["schedulerName"])
        world.client.create(PODS, placed(world, new))

    return replace
