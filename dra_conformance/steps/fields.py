"""Any object of the API: its fields, its conditions, and whether it exists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import BIND_REQUESTS, Resource, meta, name_of, uid_of
from dra_conformance.core import manifests
from dra_conformance.core.values import covers, expectation, read_value
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
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
    """Return whether a field of the object meets an expectation, and its value."""
    found = ref.found()
    if len(found) != 1:
        return False, [name_of(obj) for obj in found] or "no such object"
    seen = manifests.look_up(found[0], path)
    return expectation(with_uids(ref.world, wanted), ref.world.clock.now()).is_met(seen), seen


def write_field(world: World, resource: Resource, name: str, path: str, value: object) -> None:
    """Write one field of an object, through the subresource status if the field is there."""
    subresource = "status" if path.partition(".")[0] == "status" else ""
    if resource != BIND_REQUESTS:
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
    attempt(world, lambda: world.client.delete(ref.resource, name, world.namespace))


@given("the {subject:object} is being deleted")
def _(world: World, subject: str) -> None:
    """Delete an object that a finalizer keeps until the scenario ends."""
    ref = reference(world, subject)

    write_field(world, ref.resource, ref.name, "metadata.finalizers", [_HOLD])
    world.cleanup.callback(_release, ref)
    world.client.delete(ref.resource, ref.name, world.namespace, grace_period_seconds=0)
    world.settle()


def _release(ref: Reference) -> None:
    world = ref.world
    if world.client.find(ref.resource, ref.name, world.namespace) is not None:
        world.client.patch(ref.resource, ref.name, {"metadata": {"finalizers": None}}, world.namespace)


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


@then('the {subject:object} has "{path}" {value}')
def _(world: World, subject: str, path: str, value: str) -> None:
    """A field of an object comes to meet an expectation (YAML; `null`: the field is absent)."""
    ref = reference(world, subject)
    world.eventually(f"{path} of the {subject}", lambda: look(ref, path, value), expected=world.text(value))


@then("the {subject:object} has:")
def _(world: World, subject: str, datatable: list[list[str]]) -> None:
    """The fields of a table of paths and expectations come to meet them, all at the same time."""
    ref = reference(world, subject)
    wanted = dict(datatable[1:])

    def seen() -> Seen[Any]:
        found = {path: look(ref, path, value) for path, value in wanted.items()}
        wrong = {path: value for path, (met, value) in found.items() if not met}
        return not wrong, wrong or "as expected"

    world.eventually(f"fields of the {subject}", seen, expected={key: world.text(text) for key, text in wanted.items()})


@then('the {subject:object} keeps "{path}" {value}')
def _(world: World, subject: str, path: str, value: str) -> None:
    """A field of an object meets an expectation once the system is idle."""
    ref = reference(world, subject)
    world.stays(f"{path} of the {subject}", lambda: look(ref, path, value), expected=world.text(value))


@then('the {subject:object} has condition {kind:word} {status:word} with reason "{reason}"')
def _(world: World, subject: str, kind: str, status: str, reason: str) -> None:
    """A condition of an object comes to this status and reason."""
    ref = reference(world, subject)
    wanted = {"status": status, "reason": reason}

    def seen() -> Seen[Any]:
        _, found = look(ref, f"status.conditions[type={kind}][0]", "set")
        return isinstance(found, dict) and covers(found, wanted), found or "no such condition"

    world.eventually(f"condition {kind} of the {subject}", seen, expected=wanted)


@then('the message of condition {kind:word} of the {subject:object} contains "{text}"')
def _(world: World, kind: str, subject: str, text: str) -> None:
    """The message of a condition comes to contain this text."""
    ref, wanted = reference(world, subject), world.text(text)

    def seen() -> Seen[Any]:
        _, message = look(ref, f"status.conditions[type={kind}][0].message", "set")
        return isinstance(message, str) and wanted in message, message or "no message"

    world.eventually(f"message of condition {kind} of the {subject}", seen, expected=f"a message with {wanted!r}")


@then("the {subject:object} is gone")
def _(world: World, subject: str) -> None:
    """The object is deleted."""
    ref = reference(world, subject)
    collected = ref.resource == BIND_REQUESTS and world.run.has_controllers

    def seen() -> Seen[Any]:
        found = ref.found(deleting=True)
        return not found, [meta(obj).get("finalizers") or name_of(obj) for obj in found] or "gone"

    within = max(world.run.patience, _COLLECTED_WITHIN_S) if collected else None
    world.eventually(f"the {subject} is gone", seen, expected="no such object", within=within)


@then("the {subject:object} is being deleted or gone")
def _(world: World, subject: str) -> None:
    """The object comes to be deleted, or to have a deletionTimestamp: a finalizer may keep it for a while."""
    ref = reference(world, subject)

    def seen() -> Seen[Any]:
        found = [obj for obj in ref.found(deleting=True) if "deletionTimestamp" not in meta(obj)]
        return not found, [name_of(obj) for obj in found] or "deleted"

    world.eventually(f"the {subject} is deleted", seen, expected="no such object, or one that is being deleted")


@then("the {subject:object} still exists")
def _(world: World, subject: str) -> None:
    """The object exists and is not being deleted once the system is idle."""
    ref = reference(world, subject)

    def seen() -> Seen[Any]:
        found = ref.found()
        return bool(found) and "deletionTimestamp" not in meta(found[0]), "it exists" if found else "gone"

    world.stays(f"the {subject} still exists", seen, expected="the object, not being deleted")


@then("the {subject:object} is unchanged")
def _(world: World, subject: str) -> None:
    """The object has the version that a step before remembered, once the system is idle."""
    ref, version = reference(world, subject), world.state(Remembered).versions[subject]

    def seen() -> Seen[Any]:
        found = ref.found()
        same = len(found) == 1 and str(meta(found[0]).get("resourceVersion")) == version
        return same, found[0].get("status") if found else "no such object"

    world.stays(f"the {subject} is unchanged", seen, expected=f"resourceVersion {version}")


@then("the {subject:object} is replaced")
def _(world: World, subject: str) -> None:
    """There is one such object, with another uid than the one that a step before wrote or removed."""
    ref, former = reference(world, subject), world.state(Known).former[subject]

    def seen() -> Seen[Any]:
        uids = [uid_of(obj) for obj in ref.found()]
        return len(uids) == 1 and uids[0] != former, uids or "no such object"

    world.eventually(f"the {subject} is replaced", seen, expected="one object, with another uid")


@then('the {subject:object} contains the manifest "{path}"')
def _(world: World, subject: str, path: str) -> None:
    """Labels and spec of an object come to have everything that a manifest in fixtures/ has."""
    ref, manifest = reference(world, subject), world.manifest(path)
    wanted = {"labels": meta(manifest).get("labels"), "spec": manifest["spec"]}

    def seen() -> Seen[Any]:
        found = ref.found()
        if len(found) != 1:
            return False, "no such object"
        shape = {"labels": meta(found[0]).get("labels"), "spec": found[0].get("spec")}
        return covers(shape, wanted), shape

    world.eventually(f"the {subject} has the fields of {path}", seen, expected=wanted)
