"""What writers put into the status of the manifest's object, and what the API server keeps of it."""

from __future__ import annotations

from datetime import datetime

from dra_api.client import ApiError
from dra_api.objects import Obj, name_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World, show
from dra_conformance.steps.objects import ANSWER, DRAFT, attempt, draft, resource_named


def with_field(world: World, path: str, value: object) -> Obj:
    """The stored object with one field changed."""
    stored = draft(world)
    resource = manifests.resource_of(stored)
    current = world.client.get(resource, name_of(stored), world.namespace)
    current.setdefault("apiVersion", resource.api_version)
    current.setdefault("kind", resource.kind)
    manifests.set_at(current, path, value)
    return current


def write_status(world: World, path: str, value: object) -> Obj:
    """Change one field through the status subresource."""
    changed = with_field(world, path, value)
    return world.client.update(manifests.resource_of(changed), changed, subresource="status")


@given('its status "{path}" is {value}')
def _(world: World, path: str, value: str) -> None:
    """Write one field of the created object's status; the scenario cannot go on without it."""
    try:
        world.memory[DRAFT] = write_status(world, path, manifests.parse_value(world.text(value)))
    except ApiError as error:
        raise Untestable(f"the control plane refuses the status that the scenario starts from: {error}") from error


@when('its status "{path}" is filled with {count:d} times {item}')
def _(world: World, path: str, count: int, item: str) -> None:
    """Write a list of `count` items through the status subresource; `$n` in the item counts from 0."""
    items = [manifests.parse_value(world.text(item).replace("$n", str(n))) for n in range(count)]
    attempt(world, lambda: write_status(world, path, items))


@when('its status "{path}" repeats "{text}" {count:d} times')
def _(world: World, path: str, text: str, count: int) -> None:
    """Write a long text through the status subresource."""
    attempt(world, lambda: write_status(world, path, text * count))


@then('its "{path}" is the time of now')
def _(world: World, path: str) -> None:
    """A field of the stored object is a time that is, up to a minute, the present one."""
    stored = world.memory.get(ANSWER)
    seen = manifests.look_up(stored, path) if stored else None
    world.check(
        isinstance(seen, str) and abs((datetime.fromisoformat(seen) - world.clock.now()).total_seconds()) <= 60,
        f"{path} is filled in",
        expected="the present time",
        observed=show(seen if stored else world.memory.get("refusal")),
    )


@then('listing all {kind:word} objects with fields "{selector}" finds only those with "{path}" {value}')
def _(world: World, kind: str, selector: str, path: str, value: str) -> None:
    """A list with a field selector holds at least one object, and only ones whose field has this value."""
    resource = resource_named(kind)
    found = world.client.list(resource, field_selector=world.text(selector)).items
    wanted = manifests.parse_value(world.text(value))
    seen = [manifests.look_up(obj, path) for obj in found]
    world.check(
        bool(seen) and all(one == wanted for one in seen), "the list is filtered", expected=[wanted], observed=seen
    )
