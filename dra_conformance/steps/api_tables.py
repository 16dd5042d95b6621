"""Objects as tables and as metadata: the forms in which kubectl and user interfaces read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_api.objects import RESOURCE_CLAIMS, RESOURCE_SLICES, Obj, Resource
from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import attempt

_FORMS = {"Table": "Table", "PartialObjectMetadata": "PartialObjectMetadataList"}


@dataclass
class Shown:
    """The last list that the scenario read in another form."""

    document: Obj = field(default_factory=dict)


def _list_as(
    world: World, form: str, resource: Resource, namespace: str | None, query: Sequence[tuple[str, str]] = ()
) -> None:
    path = resource.path(namespace)
    accept = f"application/json;as={_FORMS.get(form, form)};v=v1;g=meta.k8s.io"

    def request() -> Obj:
        world.state(Shown).document = world.client.raw("GET", path, query=query, accept=accept)
        return {}

    world.state(Shown).document = {}
    attempt(world, request)


@when("the ResourceClaims are listed as a table")
def _(world: World) -> None:
    """Read the claims of the namespace as a table."""
    _list_as(world, "Table", RESOURCE_CLAIMS, world.namespace)


@when('the ResourceClaims with labels "{selector}" are listed as a table')
def _(world: World, selector: str) -> None:
    """Read the selected claims of the namespace as a table."""
    _list_as(world, "Table", RESOURCE_CLAIMS, world.namespace, [("labelSelector", selector)])


@when('the ResourceSlices of driver "{driver}" are listed as a table')
def _(world: World, driver: str) -> None:
    """Read the slices of a driver as a table."""
    _list_as(world, "Table", RESOURCE_SLICES, None, [("fieldSelector", f"spec.driver={world.text(driver)}")])


@when("the ResourceClaims are listed as {form:word}")
def _(world: World, form: str) -> None:
    """Read the claims of the namespace in a form, such as PartialObjectMetadata."""
    _list_as(world, form, RESOURCE_CLAIMS, world.namespace)


def _rows(world: World) -> dict[str, dict[str, Any]]:
    """Return the cells of each row by the name of its object and by the column."""
    document = world.state(Shown).document
    columns = [str(one.get("name")) for one in document.get("columnDefinitions") or ()]
    rows = [dict(zip(columns, row.get("cells") or (), strict=False)) for row in document.get("rows") or ()]
    return {str(cells.get("Name")): cells for cells in rows}


@then('the table has the columns "{names}"')
def _(world: World, names: str) -> None:
    """The table has these columns, in this order, among those of priority 0."""
    columns = world.state(Shown).document.get("columnDefinitions") or ()
    seen = [str(one.get("name")) for one in columns if not one.get("priority")]
    world.check(seen == words(names), "the table has its columns", expected=words(names), observed=seen)


@then('the table has the rows "{names}"')
def _(world: World, names: str) -> None:
    """The table has a row for each of these objects, and no other."""
    seen = sorted(_rows(world))
    world.check(seen == sorted(words(names)), "the table has its rows", expected=sorted(words(names)), observed=seen)


@then('the row of "{name}" has {value} as "{column}"')
def _(world: World, name: str, value: str, column: str) -> None:
    """A cell of the row of an object has this text."""
    seen = _rows(world).get(world.text(name), {}).get(column)
    world.check(seen == world.text(value), f"{column} of {name}", expected=world.text(value), observed=seen)


@then("each row of the table has the metadata of its object")
def _(world: World) -> None:
    """Each row has a PartialObjectMetadata of the object whose name is in the first cell."""
    seen = []
    for row in world.state(Shown).document.get("rows") or ():
        shown = row.get("object") or {}
        seen.append((row["cells"][0], shown.get("kind"), (shown.get("metadata") or {}).get("name")))
    ok = bool(seen) and all(kind == "PartialObjectMetadata" and cell == name for cell, kind, name in seen)
    wanted = [[cell, "PartialObjectMetadata", cell] for cell, _, _ in seen] or None
    world.check(ok, "rows have the metadata of their object", expected=wanted, observed=list(map(list, seen)))


@then("each of the objects has its metadata only")
def _(world: World) -> None:
    """Each object of the list has labels, and neither spec nor status."""
    items = world.state(Shown).document.get("items") or ()
    seen = [sorted(item) for item in items]
    ok = bool(items) and all(
        set(item) <= {"kind", "apiVersion", "metadata"} and (item.get("metadata") or {}).get("labels") for item in items
    )
    wanted = [["apiVersion", "kind", "metadata"] for _ in items] or None
    world.check(ok, "objects have metadata with labels, and nothing else", expected=wanted, observed=seen)
