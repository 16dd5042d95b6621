"""Any object of the API: its fields, its conditions, and whether it exists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import BIND_REQUESTS, RESOURCE_CLAIMS, Resource, meta, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.values import covers, expectation, read_value
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.objects import attempt
from dra_conformance.steps.references import Known, Reference, reference
from dra_conformance.steps.uids import with_uids

_HOLD = "dra-conformance/hold"
# kube-controller-manager's garbage collector looks for new kinds of objects every half minute: it collects a
# BindRequest that is older than its discovery of the kind only after its next look.
_COLLECTED_WITHIN_S = 75.0


@dataclass
class Remembered:
    """Versions of objects by reference, for later comparison."""

    versions: dict[str, str] = field(default_factory=dict)


def look(ref: Reference, path: str, wanted: str) -> Seen[Any]:
    """Return whether a field of the object meets an expectation, and its value, which is None without the object.

    If several objects match, the value is a list with the value of each.
    """
    seen = [manifests.look_up(obj, path) for obj in ref.found()]
    what = expectation(with_uids(ref.world, wanted), ref.world.clock.now())
    if len(seen) != 1:
        return False, what.show(seen or None)
    return what.is_met(seen[0]), what.show(seen[0])


def write_field(world: World, resource: Resource, name: str, path: str, value: object) -> None:
    """Write one field of an object, through the subresource status if the field is there."""
    subresource = "status" if path.partition(".")[0] == "status" else ""
    # kube-controller-manager writes the status of a claim in a loop when a pod has ended and another consumer uses the
    # claim (DRA-108b). An update would be in conflict each time; a patch that removes a field has no version.
    removed = value is None and subresource and resource == RESOURCE_CLAIMS
    if resource != BIND_REQUESTS and not removed:
        world.update(resource, name, lambda obj: manifests.set_at(obj, path, value), subresource=subresource)
        return
    # KAI's programs patch BindRequests, and so does the harness: it needs no permission to update them.
    patch = value
    for part in reversed(manifests.path_parts(path)):
        patch = {part: patch}
    world.client.patch(resource, name, patch, world.namespace, subresource=subresource or None)


# -- changes -----------------------------------------------------------------------------------------------------------


@given('"{path}" of the {subject:object} is set to {value}')
@when('"{path}" of the {subject:object} is set to {value}')
def _(world: World, path: str, subject: str, value: str) -> None:
    """Write one field of an object, as its user or its component would; `null` removes the field."""
    ref, wanted = reference(world, subject), read_value(with_uids(world, value))
    stored = ref.the_object()
    world.state(Known).former[subject] = uid_of(stored)
    write_field(world, ref.resource, name_of(stored), path, wanted)


@when("the {subject:object} is deleted")
def _(world: World, subject: str) -> None:
    """Delete an object."""
    ref = reference(world, subject)
    name = name_of(ref.the_object()) if ref.by_pod else ref.name
    attempt(world, lambda: world.objects.delete(ref.resource, name, world.namespace))


@given("the {subject:object} is being deleted")
def _(world: World, subject: str) -> None:
    """Delete an object that a finalizer keeps until the scenario ends."""
    ref = reference(world, subject)
    begin_deletion(world, ref.resource, ref.name)


def begin_deletion(world: World, resource: Resource, name: str) -> None:
    """Delete an object that a finalizer keeps until the scenario ends."""
    write_field(world, resource, name, "metadata.finalizers", [_HOLD])
    world.cleanup.callback(_release, world, resource, name)
    world.client.delete(resource, name, world.namespace, grace_period_seconds=0)
    world.settle()


def _release(world: World, resource: Resource, name: str) -> None:
    if world.client.find(resource, name, world.namespace) is not None:
        world.client.patch(resource, name, {"metadata": {"finalizers": None}}, world.namespace)


@given("the {subject:object} is remembered")
def _(world: World, subject: str) -> None:
    """Wait until the system is idle, and keep the version of an object for later comparison.

    All components then know what the steps before wrote: a binder that reads pods from its cache, as KAI's does, is not
    blamed for missing a binding that its watch has not delivered yet.
    """
    world.settle()
    stored = reference(world, subject).the_object()
    world.state(Remembered).versions[subject] = str(meta(stored).get("resourceVersion"))


# -- expectations ------------------------------------------------------------------------------------------------------


def _only(ref: Reference, path: str) -> Any:
    """Return the value of a field if there is one such object, and None otherwise."""
    found = ref.found()
    return manifests.look_up(found[0], path) if len(found) == 1 else None


@then('the {subject:object} has "{path}" {value}')
def _(world: World, subject: str, path: str, value: str) -> None:
    """A field of an object comes to meet an expectation (YAML; `null`: the field is absent)."""
    ref = reference(world, subject)
    wanted = expectation(world.text(value)).shown
    world.eventually(f"{path} of the {subject}", lambda: look(ref, path, value), expected=wanted)


@then("the {subject:object} has:")
def _(world: World, subject: str, datatable: list[list[str]]) -> None:
    """The fields of a table of paths and expectations come to meet them, all at the same time."""
    ref = reference(world, subject)
    wanted = dict(datatable[1:])

    expected = {path: expectation(world.text(value)).shown for path, value in wanted.items()}

    def seen() -> Seen[dict[str, Any]]:
        found = {path: look(ref, path, value) for path, value in wanted.items()}
        return all(met for met, _ in found.values()), {path: value for path, (_, value) in found.items()}

    world.eventually(f"fields of the {subject}", seen, expected=expected)


@then('the {subject:object} keeps "{path}" {value}')
def _(world: World, subject: str, path: str, value: str) -> None:
    """A field of an object meets an expectation once the system is idle."""
    ref = reference(world, subject)
    wanted = expectation(world.text(value)).shown
    world.stays(f"{path} of the {subject}", lambda: look(ref, path, value), expected=wanted)


@then('the {subject:object} has condition {kind:word} {status:word} with reason "{reason}"')
def _(world: World, subject: str, kind: str, status: str, reason: str) -> None:
    """A condition of an object comes to this status and reason."""
    ref = reference(world, subject)
    wanted = {"status": status, "reason": reason}

    def seen() -> Seen[dict[str, Any] | None]:
        found = _only(ref, f"status.conditions[type={kind}][0]")
        shown = {key: found.get(key) for key in wanted} if isinstance(found, dict) else None
        return isinstance(found, dict) and covers(found, wanted), shown

    world.eventually(f"condition {kind} of the {subject}", seen, expected=wanted)


@then('the message of condition {kind:word} of the {subject:object} contains "{text}"')
def _(world: World, kind: str, subject: str, text: str) -> None:
    """The message of a condition comes to contain this text."""
    ref, wanted = reference(world, subject), world.text(text)

    def seen() -> Seen[Any]:
        message = _only(ref, f"status.conditions[type={kind}][0].message")
        return isinstance(message, str) and wanted in message, message

    world.eventually(f"message of condition {kind} of the {subject}", seen, expected=f"…{wanted}…")


@then("the {subject:object} is gone")
def _(world: World, subject: str) -> None:
    """The object is deleted."""
    ref = reference(world, subject)
    collected = ref.resource == BIND_REQUESTS and world.run.has_controllers

    def seen() -> Seen[str]:
        # A late watch may not have shown the object yet.
        found = ref.found(deleting=True) or ref.stored()
        left = [f"{name_of(obj)}, finalizers: {in_words(meta(obj).get('finalizers') or [])}" for obj in found]
        return not found, "; ".join(left) or "no such object"

    within = max(world.run.patience, _COLLECTED_WITHIN_S) if collected else None
    world.eventually(f"the {subject} is gone", seen, expected="no such object", within=within)


@then("the {subject:object} is being deleted or gone")
def _(world: World, subject: str) -> None:
    """The object comes to be deleted, or to have a deletionTimestamp: a finalizer may keep it for a while."""
    ref = reference(world, subject)

    def seen() -> Seen[list[Any]]:
        found = [obj for obj in ref.found(deleting=True) if "deletionTimestamp" not in meta(obj)]
        return not found, [name_of(obj) for obj in found]

    world.eventually(f"the {subject} is being deleted or gone; objects that are neither", seen, expected=[])


@then("the {subject:object} still exists")
def _(world: World, subject: str) -> None:
    """The object exists and is not being deleted once the system is idle."""
    ref = reference(world, subject)

    def seen() -> Seen[str]:
        found = ref.found()
        kept = bool(found) and "deletionTimestamp" not in meta(found[0])
        return kept, "it exists" if kept else "it is being deleted" if found else "it is gone"

    world.stays(f"the {subject} still exists", seen, expected="it exists")


@then("the {subject:object} is unchanged")
def _(world: World, subject: str) -> None:
    """The object has the version that a step before remembered, once the system is idle."""
    ref, version = reference(world, subject), world.state(Remembered).versions[subject]

    def seen() -> Seen[list[str]]:
        found = [str(meta(obj).get("resourceVersion")) for obj in ref.found()]
        return found == [version], found

    world.stays(f"the {subject} is unchanged: its resourceVersion", seen, expected=[version])


@then("the {subject:object} is replaced")
def _(world: World, subject: str) -> None:
    """There is one such object, with another uid than the one that a step before wrote or removed."""
    ref, former = reference(world, subject), world.state(Known).former[subject]

    def seen() -> Seen[str]:
        uids = [uid_of(obj) for obj in ref.found()]
        return len(uids) == 1 and uids[0] != former, in_words(uids)

    world.eventually(f"the uid of the {subject} is another one", seen, expected=f"one, other than {former}")


@then('the {subject:object} contains the manifest "{path}"')
def _(world: World, subject: str, path: str) -> None:
    """Labels and spec of an object come to have everything that a manifest in fixtures/ has."""
    ref, manifest = reference(world, subject), world.manifest(path)
    wanted = {"labels": meta(manifest).get("labels"), "spec": manifest["spec"]}

    def seen() -> Seen[dict[str, Any] | None]:
        found = ref.found()
        if len(found) != 1:
            return False, None
        shape = {"labels": meta(found[0]).get("labels"), "spec": found[0].get("spec")}
        return covers(shape, wanted), shape

    world.eventually(f"the {subject} has the fields of {path}", seen, expected=wanted)
