"""Faults of requests that components rely on in the API server: selectors, patches, applies, collections, names."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

from dra_api.status import StatusError, duplicate
from dra_conformance.engine.mutation import Patch, mutant

_SELECTORS = "apiserver_emulator.selectors"
_FORMATS = "apiserver_emulator.patch_formats"
_APPLY = "apiserver_emulator.server_side_apply"
_READER = "apiserver_emulator.handlers.read:Reader"
_Function = Callable[..., Any]


@mutant("first-requirement-selects", rule="DRA-389")
def _(patch: Patch) -> None:
    """Only the first requirement of a label selector counts."""
    patch.wrap(f"{_SELECTORS}:_Parser.parse", lambda original: lambda self: original(self)[:1])


@mutant("invalid-selector-selects-everything", rule="DRA-389")
def _(patch: Patch) -> None:
    """A label selector that cannot be parsed selects everything."""

    def make(original: _Function) -> _Function:
        def parse(self: Any) -> Any:
            try:
                return original(self)
            except StatusError:
                return []

        return parse

    patch.wrap(f"{_SELECTORS}:_Parser.parse", make)


@mutant("unknown-field-selects-everything", rule="DRA-390")
def _(patch: Patch) -> None:
    """A field that the resource does not support is ignored in a field selector."""

    def make(original: _Function) -> _Function:
        return lambda text: [one for one in original(text) if one[0] in ("metadata.name", "metadata.namespace")]

    patch.wrap(f"{_SELECTORS}:parse_fields", make)


@mutant("other-field-selects", rule="DRA-390")
def _(patch: Patch) -> None:
    """The operator != of a field selector is read as =."""
    patch.wrap(
        f"{_SELECTORS}:parse_fields",
        lambda original: lambda text: [(name, "=", value) for name, _, value in original(text)],
    )


@mutant("merge-patch-appends", rule="DRA-391")
def _(patch: Patch) -> None:
    """A merge patch appends to a list."""

    def make(original: _Function) -> _Function:
        def merge(target: Any, change: Any) -> Any:
            both = isinstance(target, list) and isinstance(change, list)
            return target + change if both else original(target, change)

        return merge

    patch.wrap(f"{_FORMATS}:merge", make)


@mutant("merge-patch-stores-null-in-a-new-map", rule="DRA-391")
def _(patch: Patch) -> None:
    """A merge patch that adds a map stores the members that are null in it."""
    patch.wrap(
        f"{_FORMATS}:merge",
        lambda original: lambda target, change: change if target is None else original(target, change),
    )


@mutant("json-patch-without-tests", rule="DRA-392")
def _(patch: Patch) -> None:
    """The test operations of a JSON patch are ignored."""

    def make(original: _Function) -> _Function:
        return lambda obj, operation: None if operation.get("op") == "test" else original(obj, operation)

    patch.wrap(f"{_FORMATS}:_as_upstream", make)


@mutant("json-patch-in-part", rule="DRA-392")
def _(patch: Patch) -> None:
    """The operations of a JSON patch before the one that fails are stored."""

    def make(original: _Function) -> _Function:
        def apply(obj: Any, operations: Any) -> Any:
            for operation in operations:
                try:
                    obj = original(obj, [operation])
                except StatusError:
                    return obj
            return obj

        return apply

    patch.wrap(f"{_FORMATS}:_json_patch", make)


@mutant("strategic-patch-replaces-lists", rule="DRA-393")
def _(patch: Patch) -> None:
    """A strategic merge patch replaces lists, as those of a kind without merge keys."""
    patch.wrap(f"{_FORMATS}:strategic_merge", lambda original: lambda obj, change, node: original(obj, change, None))


@mutant("strategic-patch-keeps-replaced-maps", rule="DRA-393b")
def _(patch: Patch) -> None:
    """The directive `replace` of a map is ignored, so that its other members stay."""

    def make(original: _Function) -> _Function:
        def merged(current: Any, change: Any, node: Any) -> Any:
            if isinstance(change, dict) and change.get("$patch") == "replace":
                del change["$patch"]
            return original(current, change, node)

        return merged

    patch.wrap("apiserver_emulator.strategic_merge:strategic_merge", make)


@mutant("strategic-patch-without-order", rule="DRA-393b")
def _(patch: Patch) -> None:
    """The order that a strategic merge patch gives to a list is ignored."""
    patch.replace("apiserver_emulator.strategic_merge:_ordered", lambda items, order, typed: items)


@mutant("lists-of-an-apply-are-replaced", rule="DRA-394")
def _(patch: Patch) -> None:
    """An apply replaces the lists that it names."""
    patch.replace(f"{_APPLY}:is_granular_list", lambda value, node: False)


@mutant("apply-without-conflicts", rule="DRA-394")
def _(patch: Patch) -> None:
    """An apply takes fields from other managers without being forced."""

    def make(original: _Function) -> _Function:
        return lambda *args, **options: original(*args, **{**options, "force": True})

    patch.wrap(f"{_APPLY}:apply", make)


@mutant("apply-keeps-unapplied-fields", rule="DRA-394")
def _(patch: Patch) -> None:
    """A field that its manager no longer applies stays."""
    patch.replace(f"{_APPLY}:_prune", lambda merged, *args: merged)


@mutant("apply-removes-what-others-apply", rule="DRA-394")
def _(patch: Patch) -> None:
    """A field that its manager no longer applies is removed although another manager applies it."""

    def make(original: _Function) -> _Function:
        def apply(live: Any, config: Any, *args: Any, **options: Any) -> Any:
            fields = live["metadata"].get("managedFields") or ()
            live["metadata"]["managedFields"] = [one for one in fields if one.get("manager") == options["manager"]]
            return original(live, config, *args, **options)

        return apply

    patch.wrap(f"{_APPLY}:apply", make)


@mutant("collection-without-field-selector", rule="DRA-395")
def _(patch: Patch) -> None:
    """The deletion of a collection ignores the field selector."""

    def make(original: _Function) -> _Function:
        def delete_collection(self: Any, resource: Any, request: Any, info: Any) -> Any:
            query = [(name, value) for name, value in request.query if name != "fieldSelector"]
            return original(self, resource, dataclasses.replace(request, query=query), info)

        return delete_collection

    patch.wrap("apiserver_emulator.handlers.write:Writer.delete_collection", make)


@mutant("generated-names-repeat", rule="DRA-396")
def _(patch: Patch) -> None:
    """All names that are generated with one prefix are the same."""
    patch.replace("apiserver_emulator.core:Core.name_suffix", lambda self: "aaaaa")


@mutant("creation-replaces", rule="DRA-396")
def _(patch: Patch) -> None:
    """The creation of an object whose name exists succeeds."""

    def make(original: _Function) -> _Function:
        def create(core: Any, resource: Any, info: Any, ctx: Any, obj: Any, *args: Any, **options: Any) -> Any:
            try:
                return original(core, resource, info, ctx, obj, *args, **options)
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise
                return core.store.get(resource.key, (info.namespace, obj["metadata"]["name"]))

        return create

    patch.wrap("apiserver_emulator.handlers.write:create_object", make)


@mutant("unknown-fields-are-not-reported", rule="DRA-397")
def _(patch: Patch) -> None:
    """Unknown and repeated fields are dropped without an error or a warning."""
    patch.replace("apiserver_emulator.handlers.request_body:check_fields", lambda *args, **options: [])


@mutant("streaming-list-is-a-plain-watch", rule="DRA-398")
def _(patch: Patch) -> None:
    """A watch with sendInitialEvents delivers later changes only."""
    patch.wrap(f"{_READER}._initial_events", lambda original: lambda self, request: original(self, request) and False)


@mutant("exact-version-is-ignored", rule="DRA-398b")
def _(patch: Patch) -> None:
    """A list with resourceVersionMatch=Exact has the newest objects."""

    def make(original: _Function) -> _Function:
        def revision(self: Any, request: Any, continuing: bool) -> Any:
            original(self, request, continuing)

        return revision

    patch.wrap(f"{_READER}._list_revision", make)


@mutant("rule-of-a-resource-grants-subresources", rule="DRA-399")
def _(patch: Patch) -> None:
    """A rule for a resource grants its subresources as well."""

    def make(original: _Function) -> _Function:
        def allows(rule: Any, info: Any) -> bool:
            return bool(original(rule, info) or original(rule, dataclasses.replace(info, subresource="")))

        return allows

    patch.wrap("apiserver_emulator.auth:_rule_allows", make)


@mutant("service-account-of-any-namespace", rule="DRA-399")
def _(patch: Patch) -> None:
    """Subjects are compared by the last part of their names."""

    def make(original: _Function) -> _Function:
        def binds(binding: Any, user: Any, namespace: str) -> bool:
            last = user.name.rpartition(":")[2]
            named = any(subject.get("name") == last for subject in binding.get("subjects") or ())
            return bool(original(binding, user, namespace) or named)

        return binds

    patch.wrap("apiserver_emulator.auth:_binds", make)


@mutant("custom-resources-without-rules", rule="DRA-399b")
def _(patch: Patch) -> None:
    """The CEL rules of a CustomResourceDefinition are not evaluated."""
    patch.replace("apiserver_emulator.crd.cel_rules:SchemaRules.errors", lambda self, *args, **options: [])


@mutant("custom-resources-without-defaults", rule="DRA-399b")
def _(patch: Patch) -> None:
    """The defaults of a schema are not applied."""
    patch.replace("apiserver_emulator.crd.strategy:apply_defaults", lambda value, schema: None)


@mutant("reserved-claims-look-allocated", rule="DRA-399c")
def _(patch: Patch) -> None:
    """The table shows a claim that is reserved as one that is allocated."""

    def make(original: _Function) -> _Function:
        def table(*args: Any, **options: Any) -> Any:
            found = original(*args, **options)
            for row in found["rows"]:
                row["cells"] = ["allocated" if cell == "allocated,reserved" else cell for cell in row["cells"]]
            return found

        return table

    patch.wrap("apiserver_emulator.handlers.read:table", make)


@mutant("rows-without-objects", rule="DRA-399c")
def _(patch: Patch) -> None:
    """The rows of a table have no metadata."""
    patch.wrap(
        "apiserver_emulator.handlers.read:table",
        lambda original: lambda *args, **options: original(*args, **{**options, "include": "None"}),
    )


@mutant("claim-name-reported-as-that-of-the-entry", rule="DRA-049")
def _(patch: Patch) -> None:
    """The refusal of a claim's name in the status of a pod names the entry's name, as up to 1.35."""
    patch.wrap(
        "apiserver_emulator.pods.strategy:status_errors",
        lambda original: lambda pod, *, minor: original(pod, minor=min(minor, 35)),
    )


@mutant("mapped-resource-of-any-container", rule="DP-160")
def _(patch: Patch) -> None:
    """A mapping for extended resources may name the resource of another container."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def errors(extended: Any, spec: Any) -> Any:
            lists = [spec.get(field) or [] for field in ("initContainers", "containers")]
            every = {
                k: v for one in itertools.chain(*lists) for k, v in (one["resources"].get("requests") or {}).items()
            }
            alike = [[{**one, "resources": {"requests": every}} for one in found] for found in lists]
            return original(extended, {**spec, "initContainers": alike[0], "containers": alike[1]})

        return errors

    patch.wrap("apiserver_emulator.pods.validation:_extended_errors", make)


@mutant("mapping-of-one-request-for-a-resource", rule="DP-160")
def _(patch: Patch) -> None:
    """A resource of a container is mapped to one request only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def errors(extended: Any, spec: Any) -> Any:
            mappings = extended.get("requestMappings") or []
            pairs = [(one.get("containerName"), one.get("resourceName")) for one in mappings]
            twice = [at for at, pair in enumerate(pairs) if pair in pairs[:at]]
            field = "status.extendedResourceClaimStatus.requestMappings"
            return [*original(extended, spec), *(duplicate(f"{field}[{at}]", "") for at in twice)]

        return errors

    patch.wrap("apiserver_emulator.pods.validation:_extended_errors", make)
