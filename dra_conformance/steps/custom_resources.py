"""Custom resources: a definition with a field for each kind of check, and one object of it."""

from __future__ import annotations

from dra_api.client import ApiError
from dra_api.objects import Obj, Resource
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.core.invented_names import invented
from dra_conformance.core.values import expectation
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import Requests, attempt, mapping_of, value_of, without_nulls

_NAME = "thing"


def _things(world: World) -> Resource:
    return Resource(invented(world.suffix), "v1", "things", "Thing")


@given("the definition of Things is served")
def _(world: World) -> None:
    """Create the definition and wait until the API server serves the kind; it is deleted with the scenario."""
    for obj in world.manifests("claims/custom-definition"):
        world.create(obj)
    resource = _things(world)
    refusal: ApiError | None = None

    def served() -> bool:
        nonlocal refusal
        try:
            world.client.list(resource, world.namespace)
        except ApiError as error:
            refusal = error
            return False
        return True

    # Polled: nothing else reports that the handlers of a definition are installed.
    if not world.poll(served):
        raise Untestable(f"the API server does not serve the kind of a new definition: {refusal}") from refusal


def _thing(world: World, fields: str) -> Obj:
    spec = mapping_of(world, fields)
    resource = _things(world)
    metadata = {"name": _NAME, "namespace": world.namespace}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "spec": spec}


@when("a Thing with {spec} is created")
def _(world: World, spec: str) -> None:
    """Create the object with this spec."""
    obj = _thing(world, spec)
    attempt(world, lambda: world.client.create(_things(world), obj))


def _stored(world: World) -> Obj:
    try:
        return world.client.get(_things(world), _NAME, world.namespace)
    except ApiError as error:
        raise Untestable(f"the object of the scenario is not stored: {error}") from error


@when("the Thing is updated to {spec}")
def _(world: World, spec: str) -> None:
    """Replace the spec of the object, through the main resource."""
    changed = {**_stored(world), "spec": _thing(world, spec)["spec"]}
    attempt(world, lambda: world.client.update(_things(world), changed))


@when("the Thing is updated without a resourceVersion to {spec}")
def _(world: World, spec: str) -> None:
    """Replace the spec of the object, and leave out metadata.resourceVersion."""
    attempt(world, lambda: world.client.update(_things(world), _thing(world, spec)))


@when("the status of the Thing is updated to {status}")
def _(world: World, status: str) -> None:
    """Replace the status of the object, and try to change its spec, through the subresource."""
    stored = _stored(world)
    changed = {**stored, "spec": {**stored["spec"], "count": 99}, "status": value_of(world, status)}
    attempt(world, lambda: world.client.update_status(_things(world), changed))


@then('the Thing is refused: {reason:word} at "{field}"')
def _(world: World, reason: str, field: str) -> None:
    """The last request failed validation (422) for this field only.

    A server may add that it has not checked the rules of an object that is invalid otherwise; this names no field.
    """
    error = world.state(Requests).refusal
    causes = {
        (str(cause.get("reason")).removeprefix("FieldValue"), str(cause.get("field")))
        for cause in (error.causes if error else ())
    }
    named = {cause for cause in causes if cause[1] != "<nil>"}
    ok = error is not None and error.status == 422 and named == {(reason, field)}
    listed = ", ".join(" at ".join(one) for one in sorted(causes))
    seen = f"{error.status} {error.reason}: {listed}" if error else "accepted"
    world.check(ok, "the object is invalid", expected=f"422 Invalid: {reason} at {field}", observed=seen)


@then('the Thing has "{path}" {value}')
def _(world: World, path: str, value: str) -> None:
    """A field of the stored object meets an expectation."""
    found = world.client.find(_things(world), _NAME, world.namespace)
    seen = None if found is None else without_nulls(manifests.look_up(found, path))
    wanted = expectation(world.text(value), world.clock.now())
    met = found is not None and wanted.is_met(seen)
    world.check(met, f"{path} is stored", expected=wanted.shown, observed=wanted.show(seen))
