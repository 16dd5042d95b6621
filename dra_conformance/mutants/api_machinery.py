"""Faults of what controllers rely on in the API server: dry run, preconditions, watches, pages, owners."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

_CLAIMS = ("resource.k8s.io", "resourceclaims")
_DELETE = "apiserver_emulator.registry.delete"
_UPDATE = "apiserver_emulator.registry.update"
_METADATA = "apiserver_emulator.registry.update:validate_metadata_update"
_COLLECTOR = "apiserver_emulator.controllers.garbage_collector:GarbageCollector"
_Function = Callable[..., Any]


def _without_dry_run(original: _Function) -> _Function:
    """Return an operation of the registry that ignores `dryRun`; its context is the fourth argument."""

    def operate(core: Any, resource: Any, info: Any, ctx: Any, *args: Any, **options: Any) -> Any:
        return original(core, resource, info, dataclasses.replace(ctx, dry_run=False), *args, **options)

    return operate


@mutant("dry-run-creates", rule="DRA-380")
def _(patch: Patch) -> None:
    """A dry run that creates an object stores it."""
    patch.wrap("apiserver_emulator.handlers.write:create_object", _without_dry_run)


@mutant("dry-run-updates", rule="DRA-380")
def _(patch: Patch) -> None:
    """A dry run that updates an object stores it."""
    patch.wrap("apiserver_emulator.handlers.write:update_object", _without_dry_run)


@mutant("dry-run-deletes", rule="DRA-380")
def _(patch: Patch) -> None:
    """A dry run that deletes an object deletes it."""
    patch.wrap("apiserver_emulator.handlers.write:delete_object", _without_dry_run)


@mutant("dry-run-creates-a-second-object", rule="DRA-380")
def _(patch: Patch) -> None:
    """A dry run that creates an object does not notice that its name is taken."""

    def make(original: _Function) -> _Function:
        def commit(core: Any, resource: Any, info: Any, ctx: Any, obj: Any) -> Any:
            meta = obj["metadata"]
            found = core.store.get(resource.storage_key, (meta.get("namespace", ""), meta["name"]))
            return found if ctx.dry_run and found is not None else original(core, resource, info, ctx, obj)

        return commit

    patch.wrap("apiserver_emulator.registry.create:_commit", make)


def _without_precondition(patch: Patch, field: str) -> None:
    """Ignore one precondition of a deletion."""

    def make(original: _Function) -> _Function:
        def check(resource: Any, info: Any, meta: Any, preconditions: Any) -> None:
            original(resource, info, meta, {key: value for key, value in preconditions.items() if key != field})

        return check

    patch.wrap(f"{_DELETE}:_check_preconditions", make)


@mutant("delete-ignores-uid", rule="DRA-381")
def _(patch: Patch) -> None:
    """A deletion with the uid of a replaced object deletes its successor."""
    _without_precondition(patch, "uid")


@mutant("delete-ignores-resource-version", rule="DRA-381")
def _(patch: Patch) -> None:
    """A deletion with an old resourceVersion deletes the object."""
    _without_precondition(patch, "resourceVersion")


def _marked_again(patch: Patch, again: Callable[[Any, Any, Any], Any]) -> None:
    """Mark an object in deletion by `again(mark, metadata, options)`; `mark(options)` does it as upstream."""

    def make(original: _Function) -> _Function:
        def mark(core: Any, resource: Any, old: Any, options: Any) -> Any:
            meta = old.obj["metadata"]
            if "deletionTimestamp" not in meta:
                return original(core, resource, old, options)
            return again(lambda changed: original(core, resource, old, changed), meta, options)

        return mark

    patch.wrap(f"{_DELETE}:_mark", make)


@mutant("second-deletion-lengthens", rule="DRA-381b")
def _(patch: Patch) -> None:
    """A second deletion with a longer grace period lengthens the first one."""

    def again(mark: Callable[[Any], Any], meta: Any, options: Any) -> Any:
        found, seconds = mark(options), options.get("gracePeriodSeconds") or 0
        if found is not None and seconds > meta.get("deletionGracePeriodSeconds", 0):
            found["metadata"]["deletionGracePeriodSeconds"] = seconds
        return found

    _marked_again(patch, again)


@mutant("second-deletion-is-ignored", rule="DRA-381b")
def _(patch: Patch) -> None:
    """A second deletion does not change the grace period of the first one."""
    _marked_again(patch, lambda mark, meta, options: mark({**options, "gracePeriodSeconds": None}))


def _without_metadata(patch: Patch, field: str) -> None:
    """Ignore a field of the metadata in the body of an update."""

    def make(original: _Function) -> _Function:
        def prepare(
            core: Any, resource: Any, info: Any, ctx: Any, new: Any, old: Any, *args: Any, **options: Any
        ) -> Any:
            new["metadata"][field] = old.obj["metadata"][field]
            return original(core, resource, info, ctx, new, old, *args, **options)

        return prepare

    patch.wrap(f"{_UPDATE}:_prepare", make)


@mutant("update-ignores-uid", rule="DRA-382")
def _(patch: Patch) -> None:
    """An update with the uid of a replaced object changes its successor."""
    _without_metadata(patch, "uid")


@mutant("update-ignores-resource-version", rule="DRA-382")
def _(patch: Patch) -> None:
    """An update with an old resourceVersion overwrites newer changes."""
    _without_metadata(patch, "resourceVersion")


@mutant("update-with-a-greater-version", rule="DRA-382c")
def _(patch: Patch) -> None:
    """Only a resourceVersion that is smaller than the stored one is a conflict."""

    def make(original: _Function) -> _Function:
        def prepare(
            core: Any, resource: Any, info: Any, ctx: Any, new: Any, old: Any, *args: Any, **options: Any
        ) -> Any:
            stored = old.obj["metadata"]["resourceVersion"]
            if int(new["metadata"].get("resourceVersion") or 0) > int(stored):
                new["metadata"]["resourceVersion"] = stored
            return original(core, resource, info, ctx, new, old, *args, **options)

        return prepare

    patch.wrap(f"{_UPDATE}:_prepare", make)


def _without_carried(patch: Patch, field: str) -> None:
    """Store the value of a system field that an update has."""

    def make(original: _Function) -> _Function:
        def carry_over(new: Any, old: Any) -> None:
            sent = new.get(field)
            original(new, old)
            if sent:
                new[field] = sent

        return carry_over

    patch.wrap(f"{_UPDATE}:carry_over_metadata", make)


@mutant("update-changes-generation", rule="DRA-382b")
def _(patch: Patch) -> None:
    """The generation of a client's copy is stored."""
    _without_carried(patch, "generation")
    patch.wrap("apiserver_emulator.dra.resource_slice:follow", lambda original: lambda new, old: None)


@mutant("update-changes-creation-timestamp", rule="DRA-382b")
def _(patch: Patch) -> None:
    """The creationTimestamp of a client's copy is stored."""
    _without_carried(patch, "creationTimestamp")
    patch.replace("apiserver_emulator.metadata:_IMMUTABLE", ("name", "namespace", "uid"))


@mutant("update-without-change-is-written", rule="DRA-383")
def _(patch: Patch) -> None:
    """An update that changes nothing has a new resourceVersion and an event."""

    def make(original: _Function) -> _Function:
        def prepare(*args: Any, **options: Any) -> Any:
            new = original(*args, **options)
            return _NeverEqual(new) if args[1].key == _CLAIMS else new

        return prepare

    patch.wrap(f"{_UPDATE}:_prepare", make)


class _NeverEqual(dict[str, Any]):
    """A dict that equals no other one."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return False


@mutant("first-finalizer-removed-deletes", rule="DRA-384")
def _(patch: Patch) -> None:
    """An object that is being deleted disappears with the first of its finalizers."""

    def make(original: _Function) -> _Function:
        return lambda meta: original({**meta, "finalizers": (meta.get("finalizers") or [])[1:]})

    patch.wrap(f"{_UPDATE}:is_deletable", make)


@mutant("finalizer-added-while-deleting", rule="DRA-384")
def _(patch: Patch) -> None:
    """A finalizer can be added to an object that is being deleted."""

    def make(original: _Function) -> _Function:
        def validate(new: Any, old: Any, **options: Any) -> Any:
            return [error for error in original(new, old, **options) if error.field != "metadata.finalizers"]

        return validate

    patch.wrap(_METADATA, make)


@mutant("finalizer-exchanged-while-deleting", rule="DRA-384")
def _(patch: Patch) -> None:
    """A finalizer of an object that is being deleted can be replaced by a new one."""

    def make(original: _Function) -> _Function:
        def validate(new: Any, old: Any, **options: Any) -> Any:
            grows = len(new.get("finalizers") or ()) > len(old.get("finalizers") or ())
            return [e for e in original(new, old, **options) if grows or e.field != "metadata.finalizers"]

        return validate

    patch.wrap(_METADATA, make)


@mutant("finalizers-are-ignored-by-deletion", rule="DRA-384")
def _(patch: Patch) -> None:
    """DELETE removes an object at once, although it has finalizers."""

    def make(original: _Function) -> _Function:
        def mark(core: Any, resource: Any, old: Any, options: Any) -> Any:
            return None if resource.key == _CLAIMS else original(core, resource, old, options)

        return mark

    patch.wrap(f"{_DELETE}:_mark", make)


@mutant("resumed-watch-loses-an-event", rule="DRA-385")
def _(patch: Patch) -> None:
    """A watch that resumes loses the first event after its resourceVersion."""

    def make(original: _Function) -> _Function:
        return lambda found, since: list(original(found, since))[1:]

    patch.wrap("apiserver_emulator.store:Store._after", make)


@mutant("resumed-watch-repeats-an-event", rule="DRA-385")
def _(patch: Patch) -> None:
    """A watch that resumes delivers the event of its resourceVersion again."""

    def make(original: _Function) -> _Function:
        return lambda found, since: original(found, since - 1)

    patch.wrap("apiserver_emulator.store:Store._after", make)


def _compacted(patch: Patch, to: Callable[[int], int]) -> None:
    """Let watches begin at a version before the oldest change that is left: `to(version of the last change lost)`."""

    def make(original: _Function) -> _Function:
        def drop(self: Any, found: Any) -> None:
            original(self, found)
            found.compacted = to(found.compacted)

        return drop

    patch.wrap("apiserver_emulator.store:Store._drop_oldest", make)


@mutant("watch-begins-at-the-oldest-change-left", rule="DRA-385b")
def _(patch: Patch) -> None:
    """A watch from a version that is too old delivers what is left."""
    _compacted(patch, lambda version: 0)


@mutant("watch-misses-one-lost-change", rule="DRA-385b")
def _(patch: Patch) -> None:
    """A watch that misses only the last of the lost changes is not refused."""
    _compacted(patch, lambda version: version - 1)


def _relabelled(patch: Patch, wrong: Callable[[Any, bool, bool], str]) -> None:
    """Deliver other event types to watches with a selector: `wrong(event, before, now)`, "" for none."""

    def make(original: _Function) -> _Function:
        def offer(self: Any, event: Any) -> None:
            match = self._match
            if match is None or (self._namespace and event.key[0] != self._namespace):
                original(self, event)
                return
            now = event.type != "DELETED" and match(event.record.obj)
            before = event.old is not None and match(event.old.obj)
            kind = wrong(event, before, now)
            if kind == "as it is":
                original(self, event)
            elif kind:
                self.push(kind, event.record, event.rv)

        return offer

    patch.wrap("apiserver_emulator.store:Watcher.offer", make)


def _leaves(event: Any, before: bool, now: bool) -> bool:
    return before and not now and event.type != "DELETED"


@mutant("object-that-leaves-a-selection-is-kept", rule="DRA-386")
def _(patch: Patch) -> None:
    """A watch with a selector delivers nothing for an object that ceases to match."""
    _relabelled(patch, lambda event, before, now: "" if _leaves(event, before, now) else "as it is")


@mutant("object-that-leaves-a-selection-is-modified", rule="DRA-386")
def _(patch: Patch) -> None:
    """A watch with a selector delivers MODIFIED for an object that ceases to match."""
    _relabelled(
        patch,
        lambda event, before, now: "MODIFIED" if _leaves(event, before, now) else "as it is",
    )


@mutant("object-that-enters-a-selection-is-modified", rule="DRA-386")
def _(patch: Patch) -> None:
    """A watch with a selector delivers MODIFIED for an object that begins to match."""
    _relabelled(patch, lambda event, before, now: "MODIFIED" if now and not before else "as it is")


@mutant("pages-continue-in-the-present", rule="DRA-387")
def _(patch: Patch) -> None:
    """The pages after the first one show the present objects instead of those of the first page."""

    def make(original: _Function) -> _Function:
        return lambda self, kind, namespace="", *, at=None: original(self, kind, namespace)

    patch.wrap("apiserver_emulator.store:Store.snapshot", make)


@mutant("page-repeats-its-predecessors-last-object", rule="DRA-387")
def _(patch: Patch) -> None:
    """A page begins with the last object of the page before it."""

    def make(original: _Function) -> _Function:
        def read(token: str) -> tuple[int, str]:
            revision, start = original(token)
            return revision, start.rstrip("\0")

        return read

    patch.wrap("apiserver_emulator.handlers.read:_read_token", make)


@mutant("owner-is-found-by-name", rule="DRA-388")
def _(patch: Patch) -> None:
    """An object of the owner's name with another uid counts as the owner."""

    def make(original: _Function) -> _Function:
        def owner(self: Any, reference: Any, namespace: str) -> Any:
            resource = self._core.resources.by_kind(reference["apiVersion"].rpartition("/")[0], reference["kind"])
            if resource is None:
                return None
            return self._core.store.get(
                resource.storage_key, (namespace if resource.namespaced else "", reference["name"])
            )

        del original
        return owner

    patch.wrap(f"{_COLLECTOR}._owner", make)


@mutant("first-missing-owner-deletes", rule="DRA-388")
def _(patch: Patch) -> None:
    """An object is deleted with the first of its owners."""

    def make(original: _Function) -> _Function:
        del original

        def check(self: Any, kind: Any, key: Any) -> None:
            record = self._core.store.get(kind, key)
            owners = (record.obj["metadata"].get("ownerReferences") or []) if record is not None else []
            if record is not None and any(self._owner(owner, key[0]) is None for owner in owners):
                self._writes.delete_record(kind, key, record, "Background")

        return check

    patch.wrap(f"{_COLLECTOR}.check_owners", make)


@mutant("foreground-deletion-does-not-wait", rule="DRA-388b")
def _(patch: Patch) -> None:
    """An owner in foreground deletion goes before its dependents."""
    patch.wrap(f"{_COLLECTOR}._blocks", lambda original: lambda *args: original(*args) and False)


@mutant("foreground-deletion-ends-at-the-dependents", rule="DRA-388c")
def _(patch: Patch) -> None:
    """Foreground deletion deletes the dependents in the background."""

    def make(original: _Function) -> _Function:
        return lambda self, kind, key, record, policy: original(self, kind, key, record, "Background")

    patch.wrap("apiserver_emulator.controllers.writes:ControllerWrites.delete_record", make)


@mutant("foreground-deletion-waits-for-all", rule="DRA-388b")
def _(patch: Patch) -> None:
    """An owner in foreground deletion waits for dependents that do not block it."""

    def make(original: _Function) -> _Function:
        def blocks(self: Any, kind: Any, key: Any, uid: str) -> bool:
            original(self, kind, key, uid)
            found = self._core.store.get(kind, key)
            return found is not None and any(owner["uid"] == uid for owner in found.obj["metadata"]["ownerReferences"])

        return blocks

    patch.wrap(f"{_COLLECTOR}._blocks", make)


@mutant("orphan-deletion-frees-one-dependent", rule="DRA-388b")
def _(patch: Patch) -> None:
    """Of the dependents of an orphaning owner only the first is kept."""
    patch.wrap("apiserver_emulator.store:Store.dependents", lambda original: lambda *args: original(*args)[:1])


@mutant("reference-to-a-missing-owner-stays", rule="DRA-388")
def _(patch: Patch) -> None:
    """The reference to a deleted owner stays in an object that has another owner."""
    patch.replace("apiserver_emulator.controllers.writes:ControllerWrites.remove_owners", lambda *_: None)


@mutant("owners-of-an-update-are-not-noticed", rule="DRA-388")
def _(patch: Patch) -> None:
    """The owners of an object are looked up when it is created, not when an update changes them."""
    patch.wrap(
        "apiserver_emulator.controllers.thread:_owners_changed",
        lambda original: lambda event: event.old is None and original(event),
    )


@mutant("only-the-first-owner-is-noticed", rule="DRA-388")
def _(patch: Patch) -> None:
    """The deletion of an owner that is not the first one of an object has no effect."""

    def make(original: _Function) -> _Function:
        def index(self: Any, kind: Any, key: Any, obj: Any, old: Any) -> None:
            owners = obj["metadata"].get("ownerReferences") if obj else None
            shown = {**obj, "metadata": {**obj["metadata"], "ownerReferences": owners[:1]}} if owners else obj
            original(self, kind, key, shown, old)

        return index

    patch.wrap("apiserver_emulator.store:Store._index_owners", make)
