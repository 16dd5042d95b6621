"""Any object: manifests, what the API server accepts and refuses, and what it stores."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from dra_api.client import ApiError, NotFound
from dra_api.objects import Obj, Resource, name_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World, show

# What the last request came to: the stored object, or the error. Keys of World.memory.
ANSWER, REFUSAL, DRAFT = "answer", "refusal", "draft"


def attempt(world: World, request: Callable[[], Obj]) -> None:
    """Make a request and remember what it came to."""
    world.memory.pop(ANSWER, None)
    world.memory.pop(REFUSAL, None)
    try:
        world.memory[ANSWER] = request()
    except ApiError as error:
        world.memory[REFUSAL] = error


def draft(world: World) -> Obj:
    """The object that the scenario works on."""
    found: Obj | None = world.memory.get(DRAFT)
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no step before this one gave a manifest")
    return found


def resource_named(kind: str) -> Resource:
    """The resource of a kind, such as ResourceClaim. Raises SpecificationError for an unknown one."""
    from dra_api.objects import KNOWN

    for resource in KNOWN:
        if resource.kind == kind:
            return resource
    raise SpecificationError(f"the suite knows no kind {kind!r}")


def find(world: World, kind: str, name: str) -> tuple[Resource, str]:
    """Resource and real name: cluster-scoped names are the scenario's own unless the object exists as written."""
    resource = resource_named(kind)
    return resource, world.text(name) if resource.namespaced else world.name(name)


def _refusal(world: World) -> ApiError | None:
    found: ApiError | None = world.memory.get(REFUSAL)
    return found


def _outcome(world: World) -> str:
    error = _refusal(world)
    if error is not None:
        causes = "; ".join(f"{c.get('reason')} {c.get('field')}: {c.get('message')}" for c in error.causes)
        return f"{error.status} {error.reason}: {causes or error.message}"
    answer = world.memory.get(ANSWER)
    return f"accepted: {show(answer)}" if answer is not None else "no request was made"


@given('the manifest "{path}"')
def _(world: World, path: str) -> None:
    """Take a manifest of fixtures/ as the object that the next steps change and send."""
    world.memory[DRAFT] = world.manifest(path)


@given('"{path}" is {value}')
def _(world: World, path: str, value: str) -> None:
    """Set a field of the manifest; the value is YAML, `null` removes the field."""
    manifests.set_at(draft(world), path, manifests.parse_value(world.text(value)))


@given('"{path}" holds {count:d} times {value}')
def _(world: World, path: str, count: int, value: str) -> None:
    """Set a list of the manifest to `count` items; `$n` in the value counts from 0."""
    items = [manifests.parse_value(world.text(value).replace("$n", str(n))) for n in range(count)]
    manifests.set_at(draft(world), path, items)


@given('"{path}" maps {count:d} times "{key}" to {value}')
def _(world: World, path: str, count: int, key: str, value: str) -> None:
    """Set a mapping of the manifest to `count` entries; `$n` in key and value counts from 0."""
    entries = {
        key.replace("$n", str(n)): manifests.parse_value(world.text(value).replace("$n", str(n))) for n in range(count)
    }
    manifests.set_at(draft(world), path, entries)


@given('"{path}" repeats "{text}" {count:d} times')
def _(world: World, path: str, text: str, count: int) -> None:
    """Set a field of the manifest to a long text."""
    manifests.set_at(draft(world), path, text * count)


@given('the objects of the manifest "{path}"')
def _(world: World, path: str) -> None:
    """Create all objects of a manifest of fixtures/."""
    for obj in world.manifests(path):
        world.create(obj)


@given("it is created")
def _(world: World) -> None:
    """Create the manifest; the scenario cannot go on without it."""
    try:
        world.memory[DRAFT] = world.create(draft(world))
    except ApiError as error:
        raise Untestable(f"the control plane refuses the object that the scenario starts from: {error}") from error


@when("it is created")
def _(world: World) -> None:
    """Send the manifest to the API server, which may refuse it."""
    attempt(world, lambda: world.create(draft(world)))


@when('its "{path}" is updated to {value}')
def _(world: World, path: str, value: str) -> None:
    """Read the created object, change one field and write it back."""
    _update(world, path, value, "")


@when('its status "{path}" is updated to {value}')
def _(world: World, path: str, value: str) -> None:
    """Read the created object, change one field and write its status subresource."""
    _update(world, path, value, "status")


def _update(world: World, path: str, value: str, subresource: str) -> None:
    stored = draft(world)
    resource = manifests.resource_of(stored)
    current = world.client.get(resource, name_of(stored), world.namespace)
    current.setdefault("apiVersion", resource.api_version)
    current.setdefault("kind", resource.kind)
    manifests.set_at(current, path, manifests.parse_value(world.text(value)))
    attempt(world, lambda: world.client.update(resource, current, subresource=subresource or None))


@when('the {kind:word} "{name}" is deleted')
def _(world: World, kind: str, name: str) -> None:
    """Delete an object."""
    resource, real = find(world, kind, name)
    attempt(world, lambda: world.client.delete(resource, real, world.namespace))


@then("the API server accepts it")
def _(world: World) -> None:
    """The last request succeeded."""
    world.check(_refusal(world) is None, "the request is accepted", expected="accepted", observed=_outcome(world))


@then("the API server refuses it with {code:d} {reason:word}")
def _(world: World, code: int, reason: str) -> None:
    """The last request failed with this HTTP code and Status reason."""
    error = _refusal(world)
    ok = error is not None and error.status == code and error.reason == reason
    world.check(ok, "the request is refused", expected=f"{code} {reason}", observed=_outcome(world))


@then('the API server refuses it: {reason:word} at "{field}"')
def _(world: World, reason: str, field: str) -> None:
    """The last request failed validation (422) with exactly one cause: this reason (without FieldValue), this field."""
    error = _refusal(world)
    causes = (
        [(str(c.get("reason")).removeprefix("FieldValue"), str(c.get("field"))) for c in error.causes] if error else []
    )
    ok = error is not None and error.status == 422 and causes == [(reason, field)]
    world.check(ok, "the request is invalid", expected=f"422 Invalid: {reason} at {field}", observed=_outcome(world))


@then('the refusal says "{text}"')
def _(world: World, text: str) -> None:
    """The message of the last refusal holds this text."""
    error = _refusal(world)
    ok = error is not None and world.text(text) in error.message
    world.check(ok, "the refusal tells why", expected=f"a message with {text!r}", observed=_outcome(world))


def without_nulls(value: object) -> object:
    """A value without fields that are null: to Kubernetes they are not there, and a server may show them or not."""
    if isinstance(value, dict):
        return {key: without_nulls(sub) for key, sub in value.items() if sub is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@then('its "{path}" reads {value}')
def _(world: World, path: str, value: str) -> None:
    """A field of the object, read back from the API server, has this value (YAML; `null`: the field is not there)."""
    stored = world.memory.get(ANSWER) or world.memory.get(DRAFT)
    if not isinstance(stored, dict) or not name_of(stored) or _refusal(world) is not None:
        world.check(False, f"{path} is stored", expected=value, observed=_outcome(world))
        return
    resource = manifests.resource_of(stored)
    current = world.client.get(resource, name_of(stored), world.namespace)
    seen = without_nulls(manifests.look_up(current, path))
    wanted = manifests.parse_value(world.text(value))
    world.check(seen == wanted, f"{path} is stored", expected=f"{path}: {show(wanted)}", observed=show(seen))


@then('the {kind:word} "{name}" is gone')
def _(world: World, kind: str, name: str) -> None:
    """The object no longer exists."""
    resource, real = find(world, kind, name)

    def look() -> tuple[bool, object]:
        seen = world.seen(resource, real)
        return seen is None, "still there" if seen else "gone"

    world.eventually(f"{kind} {name} is gone", look, expected="no such object")


@then('the {kind:word} "{name}" still exists')
def _(world: World, kind: str, name: str) -> None:
    """The object is there and not being deleted, also after everything has come to rest."""
    resource, real = find(world, kind, name)

    def look() -> tuple[bool, object]:
        seen = world.seen(resource, real)
        if seen is None:
            return False, "gone"
        return "deletionTimestamp" not in seen["metadata"], "there"

    world.stays(f"{kind} {name} stays", look, expected="the object, not being deleted")


@then('the {kind:word} "{name}" has "{path}" {value}')
def _(world: World, kind: str, name: str, path: str, value: str) -> None:
    """A field of a named object comes to this value (YAML; `null`: the field is not there)."""
    resource, real = find(world, kind, name)
    wanted = manifests.parse_value(world.text(value))

    def look() -> tuple[bool, object]:
        seen = world.seen(resource, real)
        if seen is None:
            return False, "no such object"
        found = manifests.look_up(seen, path)
        return found == wanted, found

    world.eventually(f"{path} of {kind} {name}", look, expected=wanted)


def exists(world: World, resource: Resource, name: str) -> bool:
    """Whether the API server has an object now."""
    try:
        world.client.get(resource, name, world.namespace)
    except NotFound:
        return False
    return True


@then("the API server serves {kind:word} as a namespaced resource with a status of its own")
def _(world: World, kind: str) -> None:
    """Discovery lists the resource of this kind in its version, namespaced, with the subresource status."""
    resource = resource_named(kind)
    answer = world.client.transport.request("GET", f"/apis/{resource.group}/{resource.version}")
    served = orjson.loads(answer.body).get("resources") if answer.status == 200 else None
    listed = {str(one["name"]): one for one in served or ()}
    main, status = listed.get(resource.plural) or {}, listed.get(f"{resource.plural}/status") or {}
    ok = main.get("kind") == kind and main.get("namespaced") is True and bool(status)
    world.check(
        ok, f"discovery lists {kind}", expected=f"{resource.plural}, namespaced, /status", observed=show(listed)
    )
