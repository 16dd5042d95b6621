"""Faults of writes of every kind: metadata, namespaces, options, Bindings, tokens; and of watches without a version."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.status import FieldError, StatusError
from dra_conformance.engine.mutation import Patch, mutant

_CREATE = "apiserver_emulator.registry.create"
_METADATA = "apiserver_emulator.metadata"
_OPTIONS = "apiserver_emulator.handlers.options"
_READER = "apiserver_emulator.handlers.read:Reader"
_WRITES = "apiserver_emulator.handlers.write"
_POD = "apiserver_emulator.pods.subresources"
_REVIEWS = "apiserver_emulator.reviews"
_Function = Callable[..., Any]


def _kept(patch: Patch, field: str) -> None:
    """Let a new object keep a field of the metadata that its client sent."""

    def make(original: _Function) -> _Function:
        def fill(resource: Any, meta: Any, ctx: Any, now: Any) -> None:
            sent = meta.get(field)
            original(resource, meta, ctx, now)
            if sent is not None:
                meta[field] = sent

        return fill

    patch.wrap(f"{_CREATE}:_fill_metadata", make)


@mutant("client-sets-uid", rule="DRA-660")
def _(patch: Patch) -> None:
    """A new object keeps the uid of its client."""
    _kept(patch, "uid")


@mutant("client-sets-creation-timestamp", rule="DRA-660")
def _(patch: Patch) -> None:
    """A new object keeps the creationTimestamp of its client."""
    _kept(patch, "creationTimestamp")


@mutant("client-sets-deletion-timestamp", rule="DRA-660")
def _(patch: Patch) -> None:
    """A new object with a deletionTimestamp is in deletion."""
    _kept(patch, "deletionTimestamp")


@mutant("path-decides-on-namespace", rule="DRA-661")
def _(patch: Patch) -> None:
    """An object of another namespace is created in that of the path."""

    def make(original: _Function) -> _Function:
        def settle(obj: Any, namespace: Any, *, namespaced: Any) -> None:
            obj["metadata"].pop("namespace", None)
            original(obj, namespace, namespaced=namespaced)

        return settle

    patch.wrap(f"{_CREATE}:settle_namespace", make)


@mutant("path-decides-on-name", rule="DRA-661")
def _(patch: Patch) -> None:
    """An update under another name changes the object of that name."""

    def make(original: _Function) -> _Function:
        def check(obj: Any, name: Any) -> None:
            obj["metadata"]["name"] = name

        return check

    patch.wrap(f"{_WRITES}:check_name", make)


@mutant("namespaces-appear", rule="DRA-661")
def _(patch: Patch) -> None:
    """An object can be created in a namespace that does not exist."""
    _lenient_namespace(patch, "NotFound")


@mutant("terminating-namespace-accepts-objects", rule="DRA-662")
def _(patch: Patch) -> None:
    """An object can be created in a namespace that is being deleted."""
    _lenient_namespace(patch, "Forbidden")


def _lenient_namespace(patch: Patch, reason: str) -> None:
    def make(original: _Function) -> _Function:
        def check(core: Any, resource: Any, info: Any, name: Any) -> None:
            try:
                original(core, resource, info, name)
            except StatusError as error:
                if error.reason != reason:
                    raise

        return check

    patch.wrap(f"{_CREATE}:_check_namespace", make)


@mutant("namespace-goes-at-once", rule="DRA-662")
def _(patch: Patch) -> None:
    """A namespace is removed although an object in it has a finalizer."""
    patch.wrap(
        "apiserver_emulator.controllers.namespaces:NamespaceController.empty",
        lambda original: lambda self, name: (original(self, name), self._finish(name))[0],
    )


@mutant("unknown-dry-runs-are-carried-out", rule="DRA-663")
def _(patch: Patch) -> None:
    """Another dryRun than All counts as none."""

    def make(original: _Function) -> _Function:
        def params(self: Any, name: Any) -> Any:
            found = original(self, name)
            return [value for value in found if value == "All"] if name == "dryRun" else found

        return params

    patch.wrap("dra_api.request:Request.params", make)


@mutant("deletion-options-of-the-body-only", rule="DRA-663")
def _(patch: Patch) -> None:
    """The options in the query of a deletion are ignored."""
    patch.wrap(f"{_WRITES}:delete_options", lambda original: lambda request: original(request) if request.body else {})


@mutant("long-field-managers", rule="DRA-663")
def _(patch: Patch) -> None:
    """Any text is accepted as the name of a field manager."""
    patch.replace(f"{_OPTIONS}:_manager_errors", lambda manager: [])


@mutant("labels-of-any-length", rule="DRA-664")
def _(patch: Patch) -> None:
    """Labels are not validated."""
    patch.replace(f"{_METADATA}:label_errors", lambda labels, field: [])


@mutant("owners-without-uid", rule="DRA-664")
def _(patch: Patch) -> None:
    """An owner needs no uid."""
    patch.wrap(
        f"{_METADATA}:_owner",
        lambda original: lambda owner, field: original({**owner, "uid": owner.get("uid") or "-"}, field),
    )


@mutant("two-controllers", rule="DRA-664")
def _(patch: Patch) -> None:
    """Two owners can be controllers."""

    def make(original: _Function) -> _Function:
        def check(owners: Any, minor: Any) -> Any:
            return [error for owner in owners or () for error in original([owner], minor)]

        return check

    patch.wrap(f"{_METADATA}:_owners", make)


@mutant("leases-without-version", rule="DRA-665")
def _(patch: Patch) -> None:
    """A Lease can be updated without a resourceVersion."""
    patch.replace("apiserver_emulator.registry.update:_needs_version", lambda resource, version: resource.custom)


@mutant("claims-need-a-version", rule="DRA-665")
def _(patch: Patch) -> None:
    """Every update needs a resourceVersion."""
    patch.replace("apiserver_emulator.registry.update:_needs_version", lambda resource, version: True)


def _bound(patch: Patch, change: Callable[[Any, Any], None]) -> None:
    """Change pod and Binding before the pod is bound."""

    def make(original: _Function) -> _Function:
        def bind(pod: Any, binding: Any, *, now: Any) -> Any:
            change(pod, binding)
            return original(pod, binding, now=now)

        return bind

    patch.wrap(f"{_POD}:bind", make)


@mutant("second-binding-moves-pod", rule="DRA-666")
def _(patch: Patch) -> None:
    """A second Binding gives the pod another node."""
    _bound(patch, lambda pod, binding: pod["spec"].pop("nodeName", None))


@mutant("binding-replaces-annotations", rule="DRA-666")
def _(patch: Patch) -> None:
    """The annotations of a Binding replace those of the pod."""
    _bound(patch, lambda pod, binding: pod["metadata"].pop("annotations", None))


@mutant("dry-run-binds", rule="DRA-666")
def _(patch: Patch) -> None:
    """A dry run of a Binding binds the pod."""

    def make(original: _Function) -> _Function:
        def bind(self: Any, resource: Any, request: Any, info: Any) -> Any:
            request.query = tuple(pair for pair in request.query if pair[0] != "dryRun")
            return original(self, resource, request, info)

        return bind

    patch.wrap(f"{_POD}:PodSubresources._bind", make)


@mutant("binding-ignores-uid", rule="DRA-667")
def _(patch: Patch) -> None:
    """A Binding for a former pod of the name binds the present one."""
    _bound(patch, lambda pod, binding: binding["metadata"].pop("uid", None))


@mutant("eviction-ignores-preconditions", rule="DRA-667")
def _(patch: Patch) -> None:
    """The preconditions of an eviction are ignored."""

    def make(original: _Function) -> _Function:
        def delete(core: Any, resource: Any, info: Any, ctx: Any, options: Any) -> Any:
            return original(core, resource, info, ctx, {**options, "preconditions": {}})

        return delete

    patch.wrap(f"{_POD}:delete_object", make)


@mutant("binding-ignores-gates", rule="DRA-668")
def _(patch: Patch) -> None:
    """A pod with scheduling gates can be bound."""
    _bound(patch, lambda pod, binding: pod["spec"].pop("schedulingGates", None))


@mutant("binding-in-deletion", rule="DRA-668")
def _(patch: Patch) -> None:
    """A pod in deletion can be bound."""

    def make(original: _Function) -> _Function:
        def bind(pod: Any, binding: Any, *, now: Any) -> Any:
            marked = {key: pod["metadata"].pop(key) for key in ("deletionTimestamp",) if key in pod["metadata"]}
            found = original(pod, binding, now=now)
            found["metadata"] |= marked
            return found

        return bind

    patch.wrap(f"{_POD}:bind", make)


@mutant("token-without-node", rule="DRA-669")
def _(patch: Patch) -> None:
    """The token of a pod does not name its node."""

    def make(original: _Function) -> _Function:
        def bound(self: Any, reference: Any, info: Any) -> Any:
            return {key: value for key, value in original(self, reference, info).items() if "node" not in key}

        return bound

    patch.wrap(f"{_REVIEWS}:Reviews._bound", make)


@mutant("token-for-a-name", rule="DRA-669")
def _(patch: Patch) -> None:
    """A token is bound to the pod of a name, whatever the uid."""

    def make(original: _Function) -> _Function:
        def bound(self: Any, reference: Any, info: Any) -> Any:
            return original(self, {**(reference or {}), "uid": ""} if reference else None, info)

        return bound

    patch.wrap(f"{_REVIEWS}:Reviews._bound", make)


@mutant("tokens-outlive-their-pod", rule="DRA-801")
def _(patch: Patch) -> None:
    """A token is valid as long as its service account exists."""

    def make(original: _Function) -> _Function:
        return lambda self, info, user: original(self, info, replace(user, extra={}))

    patch.wrap(f"{_REVIEWS}:Reviews._is_bound", make)


@mutant("tokens-outlive-their-account", rule="DRA-801")
def _(patch: Patch) -> None:
    """A token is valid for each service account of the name."""

    def make(original: _Function) -> _Function:
        def is_bound(self: Any, info: Any, user: Any) -> Any:
            account = self._core.lookup("", "serviceaccounts", info.namespace, info.name)
            return account is not None and original(self, info, replace(user, uid=account["metadata"]["uid"]))

        return is_bound

    patch.wrap(f"{_REVIEWS}:Reviews._is_bound", make)


def _may_create(patch: Patch, verb: str) -> None:
    """Let requests with this verb create objects without the permission to create them."""

    def make(original: _Function) -> _Function:
        def context(self: Any, request: Any, info: Any, **options: Any) -> Any:
            found = original(self, request, info, **options)
            allowed = found.allowed
            if info.verb == verb:
                found.allowed = lambda wanted, *where: wanted == "create" or allowed(wanted, *where)
            return found

        return context

    patch.wrap("apiserver_emulator.core:Core.context", make)


@mutant("updates-create-without-permission", rule="DRA-800")
def _(patch: Patch) -> None:
    """The permission to update is enough for an update that creates."""
    _may_create(patch, "update")


@mutant("applies-create-without-permission", rule="DRA-800")
def _(patch: Patch) -> None:
    """The permission to patch is enough for an apply that creates."""
    _may_create(patch, "patch")


def _unchecked_dry_run(patch: Patch, *, exists: bool) -> None:
    """Let a dry run create objects in namespaces that do not exist, or in those that do and are being deleted."""
    state = threading.local()

    def check(original: _Function) -> _Function:
        def check_namespace(core: Any, resource: Any, info: Any, name: str) -> None:
            found = core.store.get(("", "namespaces"), ("", info.namespace)) is not None
            if not (getattr(state, "dry_run", False) and found == exists):
                original(core, resource, info, name)

        return check_namespace

    def create(original: _Function) -> _Function:
        def create_object(core: Any, resource: Any, info: Any, ctx: Any, obj: Any, **options: Any) -> Any:
            state.dry_run = ctx.dry_run
            return original(core, resource, info, ctx, obj, **options)

        return create_object

    patch.wrap(f"{_CREATE}:_check_namespace", check)
    patch.wrap(f"{_WRITES}:create_object", create)


@mutant("dry-runs-in-missing-namespaces", rule="DRA-661")
def _(patch: Patch) -> None:
    """A dry run creates an object in a namespace that does not exist."""
    _unchecked_dry_run(patch, exists=False)


@mutant("dry-runs-in-terminating-namespaces", rule="DRA-662")
def _(patch: Patch) -> None:
    """A dry run creates an object in a namespace that is being deleted."""
    _unchecked_dry_run(patch, exists=True)


@mutant("short-tokens", rule="DRA-669")
def _(patch: Patch) -> None:
    """A token can be valid for less than ten minutes."""
    patch.replace(f"{_REVIEWS}:MIN_TOKEN_S", 1)


def _initial(patch: Patch, versions: tuple[str, ...]) -> None:
    """Let a watch from one of these versions begin with the next change."""

    def make(original: _Function) -> _Function:
        def watch(self: Any, resource: Any, request: Any, info: Any) -> Any:
            if request.param("resourceVersion") in versions and not request.param("sendInitialEvents"):
                now = str(self._core.store.revision)
                request.query = (*(p for p in request.query if p[0] != "resourceVersion"), ("resourceVersion", now))
            return original(self, resource, request, info)

        return watch

    patch.wrap(f"{_READER}.watch", make)


@mutant("watch-without-version-begins-now", rule="DRA-398c")
def _(patch: Patch) -> None:
    """A watch without a resourceVersion delivers changes only."""
    _initial(patch, ("",))


@mutant("watch-from-zero-begins-now", rule="DRA-398c")
def _(patch: Patch) -> None:
    """A watch from resourceVersion 0 delivers changes only."""
    _initial(patch, ("0",))


@mutant("watch-without-end", rule="DRA-398d")
def _(patch: Patch) -> None:
    """A watch does not end after its timeout."""

    def make(original: _Function) -> _Function:
        return lambda request, name: 0 if name == "timeoutSeconds" else original(request, name)

    patch.wrap("apiserver_emulator.handlers.read:_number", make)


@mutant("system-namespaces-are-deleted", rule="DRA-662")
def _(patch: Patch) -> None:
    """The namespaces that Kubernetes needs can be deleted."""
    patch.replace("apiserver_emulator.registry.delete:_IMMORTAL", ())


def _pass(patch: Patch, errors: Callable[[Any], bool]) -> None:
    """Accept the metadata of new objects with these errors."""

    def make(original: _Function) -> _Function:
        def validate(meta: Any, **more: Any) -> Any:
            return [error for error in original(meta, **more) if not errors(error)]

        return validate

    patch.wrap(f"{_CREATE}:validate_metadata", make)


@mutant("label-keys-are-not-checked", rule="DRA-664")
def _(patch: Patch) -> None:
    """A key of a label can be any text."""
    _pass(patch, lambda error: error.field == "metadata.labels" and "name part" in error.detail)


@mutant("generated-names-are-not-checked", rule="DRA-664")
def _(patch: Patch) -> None:
    """The prefix of a generated name can be any text."""
    _pass(patch, lambda error: error.field in ("metadata.generateName", "metadata.name"))


@mutant("events-own-objects", rule="DRA-664")
def _(patch: Patch) -> None:
    """An Event can be the owner of an object."""
    _pass(patch, lambda error: "Kind=Event" in error.detail)


@mutant("finalizers-contradict", rule="DRA-664")
def _(patch: Patch) -> None:
    """A new object can have the finalizers of both policies."""
    _pass(patch, lambda error: "cannot be both set" in error.detail)


@mutant("annotation-keys-in-lower-case-only", rule="DRA-664")
def _(patch: Patch) -> None:
    """The prefix of an annotation's key must be in lower case, as that of a label."""
    patch.wrap(
        f"{_METADATA}:_annotations",
        lambda original: lambda found: [*original(found), *(error for error in _uppercase(found))],
    )


def _uppercase(annotations: Any) -> list[FieldError]:
    wrong = [key for key in annotations or () if key.partition("/")[0] != key.partition("/")[0].lower()]
    return [FieldError("FieldValueInvalid", "metadata.annotations", "must be in lower case", key) for key in wrong]


@mutant("updated-metadata-are-not-checked", rule="DRA-664")
def _(patch: Patch) -> None:
    """Labels, annotations, owners and finalizers are checked for new objects only."""
    patch.replace("apiserver_emulator.registry.update:validate_metadata_update", lambda new, old, **more: [])


@mutant("equal-owners-are-kept", rule="DRA-664")
def _(patch: Patch) -> None:
    """An owner that is listed twice is stored twice."""
    patch.replace(f"{_CREATE}:twice_owned", lambda meta, *, when="": "")


@mutant("owners-of-one-uid-count-once", rule="DRA-664")
def _(patch: Patch) -> None:
    """Of two owners with the same uid only the first is stored."""

    def twice_owned(meta: Any, *, when: str = "") -> str:
        owners = {owner.get("uid"): owner for owner in reversed(meta.get("ownerReferences") or [])}
        if owners:
            meta["ownerReferences"] = list(reversed(owners.values()))
        return ""

    patch.replace(f"{_CREATE}:twice_owned", twice_owned)


@mutant("updates-create-nothing", rule="DRA-672")
def _(patch: Patch) -> None:
    """An update of a Lease that does not exist is NotFound."""
    patch.replace(f"{_WRITES}:CREATES_ON_UPDATE", frozenset())


@mutant("deletions-return-a-status", rule="DRA-673")
def _(patch: Patch) -> None:
    """The deletion of a claim returns a Status."""
    patch.replace(f"{_WRITES}:_returns_deleted", lambda resource, version: False)


@mutant("deletions-return-the-object", rule="DRA-672")
def _(patch: Patch) -> None:
    """The deletion of a Lease returns the Lease."""
    patch.replace(f"{_WRITES}:_returns_deleted", lambda resource, version: True)


@mutant("deletions-return-the-former-object", rule="DRA-673")
def _(patch: Patch) -> None:
    """The response to a deletion is the object before it was marked."""

    def make(original: _Function) -> _Function:
        def delete(core: Any, resource: Any, info: Any, ctx: Any, options: Any) -> Any:
            key = (info.namespace if resource.namespaced else "", info.name)
            before = core.store.get(resource.storage_key, key)
            record, gone = original(core, resource, info, ctx, options)
            return (record if gone else before), gone

        return delete

    patch.wrap(f"{_WRITES}:delete_object", make)


@mutant("unreadable-tokens-begin-again", rule="DRA-674")
def _(patch: Patch) -> None:
    """A continue token that cannot be read begins the list again."""

    def make(original: _Function) -> _Function:
        def read(token: str) -> Any:
            try:
                return original(token)
            except StatusError:
                return None, ""

        return read

    patch.wrap("apiserver_emulator.handlers.read:_read_token", make)


@mutant("unreadable-versions-are-ignored", rule="DRA-674")
def _(patch: Patch) -> None:
    """A resourceVersion that is no number is read as 0."""
    patch.wrap(
        "apiserver_emulator.handlers.read:parse_revision",
        lambda original: lambda text, *, listing=False: original(text, listing=listing) if text.isdigit() else 0,
    )


@mutant("options-of-initial-events-are-not-checked", rule="DRA-674")
def _(patch: Patch) -> None:
    """A watch takes sendInitialEvents and resourceVersionMatch apart from each other."""
    patch.wrap(
        f"{_READER}._initial_events",
        lambda original: lambda self, request: request.flag("sendInitialEvents") or None,
    )


@mutant("continued-lists-have-a-version", rule="DRA-674")
def _(patch: Patch) -> None:
    """The version beside a continue token is ignored."""

    def make(original: _Function) -> _Function:
        def chunk(self: Any, resource: Any, request: Any, info: Any) -> Any:
            if request.param("continue"):
                query = tuple(one for one in request.query if not one[0].startswith("resourceVersion"))
                request = replace(request, query=query)
            return original(self, resource, request, info)

        return chunk

    patch.wrap(f"{_READER}.chunk", make)
