"""A manifest that the scenario changes and sends, and the API server's response to the last request.

`it` and `its` in these sentences are the manifest; after "it is created", the stored object.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from dra_api.client import ApiError, Conflict
from dra_api.objects import KNOWN, RESOURCE_CLAIMS, Obj, Resource, meta, name_of
from dra_api.transport import TransportError
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.values import expectation, read_value
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World, show

_OTHER_WRITES = 3
"""So many writes of controllers of the cluster may come between a read and the update that rests on it."""


@dataclass
class Requests:
    """The manifest of the scenario, and the stored object or the error that its last request returned."""

    draft: Obj | None = None
    answer: Obj | None = None
    refusal: ApiError | None = None


def attempt(world: World, request: Callable[[], Obj]) -> None:
    """Send a request and keep its result for later steps."""
    requests = world.state(Requests)
    requests.answer = requests.refusal = None
    try:
        requests.answer = request()
    except ApiError as error:
        requests.refusal = error
    except TransportError as error:
        if not _fails_alone(world, request):
            raise
        world.check(False, "the API server responds", expected="a response", observed=f"no response: {error}")


def _fails_alone(world: World, request: Callable[[], Obj]) -> bool:
    """Return whether an API server under test responds to other requests, and again not to this one."""
    if "control-plane" not in world.scenario.tags.components:
        return False
    try:
        with suppress(ApiError):
            request()
    except TransportError:
        world.client.list(RESOURCE_CLAIMS, world.namespace)  # raises TransportError if the server is gone
        return True
    return False


def draft(world: World) -> Obj:
    """Return the manifest that the scenario works on. Raises SpecificationError if no step has named one."""
    found = world.state(Requests).draft
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no step before this one names a manifest")
    return found


def resource_named(kind: str) -> Resource:
    """Return the resource of a kind, such as ResourceClaim. Raises SpecificationError for an unknown kind."""
    for resource in KNOWN:
        if resource.kind == kind:
            return resource
    raise SpecificationError(f"the suite knows no kind {kind!r}")


def _outcome(world: World) -> str:
    requests = world.state(Requests)
    if (error := requests.refusal) is not None:
        causes = "; ".join(
            f"{str(c.get('reason')).removeprefix('FieldValue')} at {c.get('field')}: {c.get('message')}"
            for c in error.causes
        )
        return f"{error.status} {error.reason}: {causes or error.message}"
    return f"accepted: {show(requests.answer)}" if requests.answer is not None else "no request was made"


def value_of(world: World, text: str) -> object:
    """Return the value that a sentence gives, with placeholders filled in."""
    return read_value(world.text(text))


def mapping_of(world: World, text: str) -> Obj:
    """Return the mapping that a sentence gives, with placeholders filled in. Raises SpecificationError for others."""
    found = value_of(world, text)
    if not isinstance(found, dict):
        raise SpecificationError(f"{world.scenario.where}: {text!r} is no mapping")
    return found


# -- the manifest ------------------------------------------------------------------------------------------------------


@given('the manifest "{path}"')
def _(world: World, path: str) -> None:
    """Load a manifest from fixtures/; the next steps change and send it."""
    world.state(Requests).draft = world.manifest(path)


@given('"{path}" is {value}')
def _(world: World, path: str, value: str) -> None:
    """Set a field of the manifest; `null` removes it. The value is YAML, or `a list of N …` and its like."""
    manifests.set_at(draft(world), path, value_of(world, value))


@given('the objects of the manifest "{path}"')
def _(world: World, path: str) -> None:
    """Create all objects of a manifest in fixtures/."""
    objects = world.manifests(path)
    for obj in objects:
        world.create(obj)
    if any("extendedResourceName" in (obj.get("spec") or {}) for obj in objects):
        world.settle()  # all components must know all classes before a pod requests the resource


# -- requests ----------------------------------------------------------------------------------------------------------


@given("it is created")
def _(world: World) -> None:
    """Create the manifest; if that fails, the scenario ends as untestable."""
    try:
        world.state(Requests).draft = world.create(draft(world))
    except ApiError as error:
        raise Untestable(f"the control plane refuses the object that the scenario starts from: {error}") from error


@when("it is created")
def _(world: World) -> None:
    """Send the manifest to the API server, which may refuse it."""
    attempt(world, lambda: world.create(draft(world)))


def with_field(world: World, path: str, value: object) -> Obj:
    """Read the created object and return it with one field changed."""
    stored = draft(world)
    resource = manifests.resource_of(stored)
    current = world.client.get(resource, name_of(stored), world.namespace)
    current.setdefault("apiVersion", resource.api_version)
    current.setdefault("kind", resource.kind)
    manifests.set_at(current, path, value)
    return current


def update_field(world: World, path: str, value: object, *, subresource: str | None = None) -> Obj:
    """Change one field of the created object, through the main resource or a subresource.

    A controller of the cluster may write the object between the read and the update, which is then refused with a
    conflict: it is read again. A conflict although the object has not changed is the API server's answer.
    """
    for _ in range(_OTHER_WRITES):
        changed = with_field(world, path, value)
        try:
            return world.client.update(manifests.resource_of(changed), changed, subresource=subresource)
        except Conflict:
            if meta(with_field(world, path, value))["resourceVersion"] == meta(changed)["resourceVersion"]:
                raise
    return world.client.update(manifests.resource_of(changed), changed, subresource=subresource)


@given('it comes to have the condition "{kind}"')
def _(world: World, kind: str) -> None:
    """Wait until the created object has a condition that is True; without it, the scenario ends as untestable."""
    name, resource = name_of(draft(world)), manifests.resource_of(draft(world))

    def there() -> bool:
        status = world.client.get(resource, name, world.namespace).get("status") or {}
        return {"True"} == {one["status"] for one in status.get("conditions") or () if one["type"] == kind}

    # Polled: no informer watches every kind.
    if not world.poll(there):
        raise Untestable(f"the {draft(world)['kind']} {name} does not get the condition {kind}")


@given('its status "{path}" is {value}')
def _(world: World, path: str, value: str) -> None:
    """Write one field of the created object's status; if that fails, the scenario ends as untestable."""
    try:
        world.state(Requests).draft = update_field(world, path, value_of(world, value), subresource="status")
    except ApiError as error:
        raise Untestable(f"the control plane refuses the status that the scenario starts from: {error}") from error


@when('its "{path}" is updated to {value}')
def _(world: World, path: str, value: str) -> None:
    """Update one field of the created object through the main resource."""
    attempt(world, lambda: update_field(world, path, value_of(world, value)))


@when('the subresource {subresource:word} of it updates "{path}" to {value}')
def _(world: World, path: str, value: str, subresource: str) -> None:
    """Update one field of the created object through a subresource that has the whole object, such as resize."""
    attempt(world, lambda: update_field(world, path, value_of(world, value), subresource=subresource))


@when('its status "{path}" is updated to {value}')
def _(world: World, path: str, value: str) -> None:
    """Update one field of the created object through the subresource status."""
    attempt(world, lambda: update_field(world, path, value_of(world, value), subresource="status"))


# -- responses ---------------------------------------------------------------------------------------------------------


@then("the API server comes to accept it")
def _(world: World) -> None:
    """The manifest is created; a refusal with 403 is tried again, at most for the run's patience."""

    def decided() -> bool:
        attempt(world, lambda: world.create(draft(world)))
        error = world.state(Requests).refusal
        return error is None or error.status != 403

    # Polled: nothing reports when the server's admission has received what it compares with.
    world.poll(decided)
    _check_accepted(world)


@then("the API server comes to refuse a dry run of it with {code:d} {reason:word}")
def _(world: World, code: int, reason: str) -> None:
    """A dry run of its creation is refused; one that is accepted is tried again, at most for the run's patience."""
    obj = draft(world)
    resource = manifests.resource_of(obj)

    def decided() -> bool:
        attempt(world, lambda: world.client.create(resource, obj, dry_run=True))
        return world.state(Requests).refusal is not None

    # Polled: nothing reports when the server's admission has received what it compares with.
    world.poll(decided)
    _check_refused(world, code, reason)


@then("the API server accepts it")
def _(world: World) -> None:
    """The last request succeeded."""
    _check_accepted(world)


def _check_accepted(world: World) -> None:
    refused = world.state(Requests).refusal is not None
    world.check(not refused, "the request is accepted", expected="accepted", observed=_outcome(world))


@then("the API server refuses it with {code:d} {reason:word}")
def _(world: World, code: int, reason: str) -> None:
    """The last request failed with this HTTP code and Status reason."""
    _check_refused(world, code, reason)


def _check_refused(world: World, code: int, reason: str) -> None:
    error = world.state(Requests).refusal
    ok = error is not None and error.status == code and error.reason == reason
    world.check(ok, "the request is refused", expected=f"{code} {reason}", observed=_outcome(world))


@then('the API server refuses it: {reason:word} at "{field}"')
def _(world: World, reason: str, field: str) -> None:
    """The last request failed validation (422) for this field only, and for this reason only (without FieldValue).

    A server may have several sentences about a field, each a cause of its own: kube-apiserver 1.37 has.
    """
    _check_invalid(world, reason, field)


@then('the API server refuses it, perhaps at "{other}" too: {reason:word} at "{field}"')
def _(world: World, other: str, reason: str, field: str) -> None:
    """The last request failed validation (422) for this field, and for no other but that one, for this reason."""
    _check_invalid(world, reason, field, perhaps=frozenset({(reason, other)}))


@then(
    'the API server refuses it for two reasons: {reason:word} at "{field}" and {other_reason:word} at "{other_field}"'
)
def _(world: World, reason: str, field: str, other_reason: str, other_field: str) -> None:
    """The last request failed validation (422) for these two fields only, each for its reason."""
    _check_causes(world, {(reason, field), (other_reason, other_field)})


def _check_invalid(world: World, reason: str, field: str, *, perhaps: frozenset[tuple[str, str]] = frozenset()) -> None:
    _check_causes(world, {(reason, field)}, perhaps=perhaps)


def _check_causes(
    world: World, expected: set[tuple[str, str]], *, perhaps: frozenset[tuple[str, str]] = frozenset()
) -> None:
    error = world.state(Requests).refusal
    causes = {
        (str(cause.get("reason")).removeprefix("FieldValue"), str(cause.get("field")))
        for cause in (error.causes if error else ())
    }
    ok = error is not None and error.status == 422 and causes - perhaps == expected
    text = " and ".join(f"{reason} at {field}" for reason, field in sorted(expected))
    world.check(ok, "the request is invalid", expected=f"422 Invalid: {text}", observed=_outcome(world))


@then("the response is a {kind:word}")
def _(world: World, kind: str) -> None:
    """The last request succeeded, and the body of its response is an object of this kind."""
    answer = world.state(Requests).answer
    ok = answer is not None and answer.get("kind") == kind
    observed = str(answer.get("kind")) if answer is not None else _outcome(world)
    world.check(ok, f"the response is a {kind}", expected=kind, observed=observed)


@then('the response is a {kind:word} with "{path}" {value}')
def _(world: World, kind: str, path: str, value: str) -> None:
    """The body of the last response is an object of this kind, whose field meets an expectation."""
    answer = world.state(Requests).answer or {}
    wanted = expectation(world.text(value), world.clock.now())
    seen = without_nulls(manifests.look_up(answer, path)) if answer.get("kind") == kind else _outcome(world)
    ok = answer.get("kind") == kind and wanted.is_met(seen)
    world.check(ok, f"the response is a {kind} with {path}", expected=wanted.shown, observed=seen)


@then('the response has "{path}" {value}')
def _(world: World, path: str, value: str) -> None:
    """A field of the body of the last response, which need not be an object with a kind, meets an expectation."""
    answer = world.state(Requests).answer
    wanted = expectation(world.text(value), world.clock.now())
    seen = _outcome(world) if answer is None else without_nulls(manifests.look_up(answer, path))
    ok = answer is not None and wanted.is_met(seen)
    world.check(ok, f"the response has {path}", expected=wanted.shown, observed=seen)


@then('the refusal says "{text}"')
def _(world: World, text: str) -> None:
    """The error message of the last request contains this text."""
    error = world.state(Requests).refusal
    ok = error is not None and world.text(text) in error.message
    world.check(ok, "the error message names the cause", expected=f"…{world.text(text)}…", observed=_outcome(world))


def without_nulls(value: object) -> object:
    """Return a value without its null fields: Kubernetes treats them as absent, and a server may show them or not."""
    if isinstance(value, dict):
        return {key: without_nulls(sub) for key, sub in value.items() if sub is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@then('its "{path}" reads {value}')
def _(world: World, path: str, value: str) -> None:
    """A field of the object, read back from the API server, meets an expectation (`null`: the field is absent)."""
    check_field(world, path, value)


@then('in version {version:word} its "{path}" reads {value}')
def _(world: World, version: str, path: str, value: str) -> None:
    """A field of the object, read back in a version of its API, meets an expectation."""
    check_field(world, path, value, version=version)


def check_field(world: World, path: str, value: str, *, version: str = "") -> None:
    """Check a field of the stored object, read in a version of its API (default: that of the manifest)."""
    requests = world.state(Requests)
    stored = requests.answer or requests.draft
    if stored is None or not name_of(stored) or requests.refusal is not None:
        world.check(False, "the object is stored", expected="accepted", observed=_outcome(world))
        return
    resource = manifests.resource_of(stored)
    current = world.client.find(resource.at(version) if version else resource, name_of(stored), world.namespace)
    if current is None:
        world.check(False, "the object is stored", expected="stored", observed="not stored")
        return
    seen = without_nulls(manifests.look_up(current, path))
    wanted = expectation(world.text(value), world.clock.now())
    world.check(wanted.is_met(seen), f"{path} is stored", expected=wanted.shown, observed=wanted.show(seen))


@then('listing all {kind:word} objects with fields "{selector}" finds only those with "{path}" {value}')
def _(world: World, kind: str, selector: str, path: str, value: str) -> None:
    """A list with a field selector has at least one object, and this value in every object."""
    found = world.client.list(resource_named(kind), field_selector=world.text(selector)).items
    wanted = value_of(world, value)
    seen = [manifests.look_up(obj, path) for obj in found]
    ok = bool(seen) and all(one == wanted for one in seen)
    world.check(ok, "the list is filtered", expected=[wanted] * max(len(seen), 1), observed=seen)


@then("the API server serves {kind:word} as a namespaced resource with a status of its own")
def _(world: World, kind: str) -> None:
    """Discovery lists the resource of this kind in its version: namespaced, with the subresource status."""
    _check_served(world, resource_named(kind))


@then("the API server serves {kind:word} in version {version:word} as a cluster-scoped resource with its own status")
def _(world: World, kind: str, version: str) -> None:
    """Discovery lists the resource of this kind in a version: without namespaces, with the subresource status."""
    _check_served(world, resource_named(kind).at(version))


def _check_served(world: World, resource: Resource) -> None:
    """Check that discovery lists a resource in its version, with its scope and the subresource status."""
    kind = resource.kind
    try:
        served = world.client.raw("GET", f"/apis/{resource.group}/{resource.version}").get("resources")
    except ApiError:
        served = None
    listed = {str(one["name"]): one for one in served or ()}
    main, status = listed.get(resource.plural) or {}, listed.get(f"{resource.plural}/status") or {}
    ok = main.get("kind") == kind and main.get("namespaced") is resource.namespaced and bool(status)
    scopes = {True: "namespaced", False: "cluster-scoped"}
    observed = {
        "kind": main.get("kind"),
        "scope": scopes.get(main.get("namespaced", "")),
        "status": bool(status),
    }
    expected = {"kind": kind, "scope": scopes[resource.namespaced], "status": True}
    world.check(ok, f"discovery lists {resource.plural}", expected=expected, observed=observed)
