"""Requests that components rely on in the API server: lists with selectors, patches, applies, collections, names.

`it` is the object that the scenario created last (`dra_conformance.steps.objects`).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from dra_api.client import ObjList, PatchKind
from dra_api.objects import RESOURCE_CLAIMS, Obj, Resource, name_of
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.values import expectation
from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import World, in_words
from dra_conformance.steps.objects import Requests, attempt, draft, resource_named, value_of

_PATCHES = ("merge", "json", "strategic")


@dataclass
class Listed:
    """The names of the objects that the scenario listed last."""

    names: list[str] = field(default_factory=list)


# -- lists and collections ---------------------------------------------------------------------------------------------


def keep_names(world: World, request: Callable[[], ObjList]) -> None:
    """Request a list, which the API server may refuse, and keep the names in it."""
    world.state(Listed).names = ["the list was refused"]

    def listed() -> Obj:
        world.state(Listed).names = sorted(map(name_of, request().items))
        return {}

    attempt(world, listed)


def resources_named(kinds: str) -> Resource:
    """Return the resource of a kind in the plural, such as ResourceClaims."""
    return resource_named(kinds.removesuffix("s"))


def real_name(world: World, resource: Resource, name: str) -> str:
    """Return the name of an object in the cluster: cluster-scoped names are the scenario's own."""
    return name if resource.namespaced else world.name(name)


def _list(world: World, resource: Resource, *, labels: str = "", fields: str = "") -> None:
    keep_names(
        world,
        lambda: world.client.list(resource, world.namespace, label_selector=labels, field_selector=fields),
    )


@when('the ResourceClaims with labels "{selector}" are listed')
def _(world: World, selector: str) -> None:
    """List the claims of the namespace with a label selector."""
    _list(world, RESOURCE_CLAIMS, labels=world.text(selector))


@when('the ResourceClaims with labels "{selector}" are listed in pages of {limit:d}')
def _(world: World, selector: str, limit: int) -> None:
    """List the claims of the namespace with a label selector, one page after the other; keep the names of all."""
    keep_names(
        world,
        lambda: world.client.list(RESOURCE_CLAIMS, world.namespace, label_selector=world.text(selector), limit=limit),
    )


@when('the ResourceClaims of all namespaces with labels "{selector}" are listed in pages of {limit:d}')
def _(world: World, selector: str, limit: int) -> None:
    """List the claims of all namespaces with a label selector, one page after the other; keep the names of all."""
    keep_names(
        world,
        lambda: world.client.list(RESOURCE_CLAIMS, None, label_selector=world.text(selector), limit=limit),
    )


@when('the {kinds:word} with fields "{selector}" are listed')
def _(world: World, kinds: str, selector: str) -> None:
    """List the objects of a kind with a field selector; those of the namespace if the kind has namespaces."""
    _list(world, resources_named(kinds), fields=world.text(selector))


@when('the {kinds:word} of version {version:word} with fields "{selector}" are listed')
def _(world: World, kinds: str, version: str, selector: str) -> None:
    """List the objects of a kind in a version of its API with a field selector."""
    _list(world, resources_named(kinds).at(version), fields=world.text(selector))


@then('the API server refuses it with conflicts at "{fields}"')
def _(world: World, fields: str) -> None:
    """The last apply is a Conflict (409) that names exactly these fields as those of other managers."""
    error, wanted = world.state(Requests).refusal, sorted(words(fields))
    causes = error.causes if error is not None and error.status == 409 else ()
    seen = sorted({str(one.get("field")) for one in causes if one.get("reason") == "FieldManagerConflict"})
    world.check(seen == wanted, "the fields in conflict", expected=wanted, observed=seen)


@then('the list has the {kinds:word} "{names}"')
def _(world: World, kinds: str, names: str) -> None:
    """The last list has exactly these objects."""
    resource = resources_named(kinds)
    wanted = sorted(real_name(world, resource, name) for name in words(names))
    seen = world.state(Listed).names
    world.check(seen == wanted, "the list has the selected objects", expected=wanted, observed=seen)


@when('the {kinds:word} with labels "{labels}" and fields "{fields}" are deleted')
def _(world: World, kinds: str, labels: str, fields: str) -> None:
    """Delete the collection of objects with these selectors; an empty one selects everything."""
    resource, selected = resources_named(kinds), world.text(fields)
    attempt(
        world,
        lambda: world.client.delete_collection(
            resource, world.namespace, label_selector=labels, field_selector=selected
        ),
    )


# -- patches -----------------------------------------------------------------------------------------------------------


def _patch(world: World, kind: str, patch: object, *, subresource: str | None = None) -> None:
    if kind not in _PATCHES:
        raise SpecificationError(f"a patch is one of {', '.join(_PATCHES)}, not {kind!r}")
    obj = draft(world)
    resource = manifests.resource_of(obj)
    attempt(
        world,
        lambda: world.client.patch(
            resource, name_of(obj), patch, world.namespace, kind=cast(PatchKind, kind), subresource=subresource
        ),
    )


@when("a {kind:word} patch of it is {patch}")
def _(world: World, kind: str, patch: str) -> None:
    """Send a `merge`, `json` or `strategic` patch, which is a YAML value."""
    _patch(world, kind, value_of(world, patch))


@when("a {kind:word} patch of its status is {patch}")
def _(world: World, kind: str, patch: str) -> None:
    """Send a patch to the subresource status."""
    _patch(world, kind, value_of(world, patch), subresource="status")


# -- server-side apply -------------------------------------------------------------------------------------------------


def _apply(
    world: World,
    manager: str,
    fields: Obj,
    *,
    force: bool = False,
    subresource: str | None = None,
    dry_run: bool = False,
) -> None:
    obj = draft(world)
    resource = manifests.resource_of(obj)
    body: Obj = {**fields, "apiVersion": resource.api_version, "kind": resource.kind}
    body["metadata"] = {**(fields.get("metadata") or {}), "name": name_of(obj), "namespace": world.namespace}
    attempt(
        world,
        lambda: world.client.patch(
            resource,
            name_of(obj),
            body,
            world.namespace,
            kind="apply",
            field_manager=manager,
            force=force,
            subresource=subresource,
            dry_run=dry_run,
        ),
    )


def _fields_of(world: World, text: str) -> Obj:
    found = value_of(world, text)
    if not isinstance(found, dict):
        raise SpecificationError(f"a manager applies fields, not {found!r}")
    return found


@when('manager "{manager}" applies to it: {fields}')
def _(world: World, manager: str, fields: str) -> None:
    """Apply fields of the object as this field manager."""
    _apply(world, manager, _fields_of(world, fields))


@when('a dry run of manager "{manager}" applies it')
def _(world: World, manager: str) -> None:
    """Apply the whole manifest with `dryRun=All`."""
    _apply(world, manager, draft(world), dry_run=True)


@when('manager "{manager}" applies to it by force: {fields}')
def _(world: World, manager: str, fields: str) -> None:
    """Apply fields as this manager, and take over those of other managers."""
    _apply(world, manager, _fields_of(world, fields), force=True)


@when('manager "{manager}" applies to its status: {fields}')
def _(world: World, manager: str, fields: str) -> None:
    """Apply fields of the status as this manager, through the subresource."""
    _apply(world, manager, {"status": _fields_of(world, fields)}, subresource="status")


@then('its stored "{path}" reads {value}')
def _(world: World, path: str, value: str) -> None:
    """A field of the stored object meets an expectation, although the last request was refused or was a list."""
    obj = draft(world)
    found = world.client.find(manifests.resource_of(obj), name_of(obj), world.namespace)
    seen = None if found is None else manifests.look_up(found, path)
    wanted = expectation(world.text(value), world.clock.now())
    met = found is not None and wanted.is_met(seen)
    world.check(met, f"{path} is stored", expected=wanted.shown, observed=wanted.show(seen))


# -- names -------------------------------------------------------------------------------------------------------------


@when("another object of its name is created")
def _(world: World) -> None:
    """Create an object with the name of the stored one and a label of its own."""
    again = copy.deepcopy(draft(world))
    again["metadata"] = {"name": name_of(again), "namespace": world.namespace, "labels": {"another": "yes"}}
    attempt(world, lambda: world.client.create(manifests.resource_of(again), again))


@when("a request {verb:word} the missing ResourceClaim")
def _(world: World, verb: str) -> None:
    """Request the object of the manifest, which was not created: `reads`, `updates`, `patches` or `deletes` it."""
    obj, client = {**draft(world)}, world.client
    resource, name = manifests.resource_of(obj), name_of(obj)
    obj["metadata"] = {**obj["metadata"], "namespace": world.namespace, "resourceVersion": "1"}
    requests: dict[str, Callable[[], Obj]] = {
        "reads": lambda: client.get(resource, name, world.namespace),
        "updates": lambda: client.update(resource, obj),
        "patches": lambda: client.patch(resource, name, {"metadata": {"labels": {"a": "b"}}}, world.namespace),
        "deletes": lambda: client.delete(resource, name, world.namespace),
    }
    if verb not in requests:
        raise SpecificationError(f"a request {', '.join(requests)} an object, not {verb!r}")
    attempt(world, requests[verb])


@when("{count:d} objects of it are created")
def _(world: World, count: int) -> None:
    """Create so many objects of the manifest, and list the claims of the namespace."""

    def request() -> Obj:
        made = [world.create(copy.deepcopy(draft(world))) for _ in range(count)]
        world.state(Listed).names = sorted(map(name_of, made))
        return {}

    attempt(world, request)


@then('the list has {count:d} ResourceClaims with names like "{pattern}"')
def _(world: World, count: int, pattern: str) -> None:
    """The objects have distinct names, and each matches the pattern completely."""
    names = world.state(Listed).names
    ok = len(set(names)) == count and all(re.fullmatch(pattern, name) for name in names)
    observed = f"{len(set(names))} different names: {in_words(names)}"
    world.check(ok, "names are generated", expected=f"{count} different names like {pattern}", observed=observed)
