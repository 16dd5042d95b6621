"""Node selection and devices that schedulers allocate: ResourceSlices by hand, and searches that take long.

The long search is a puzzle: one device of each row of a Latin square, no two of one column or with one symbol. A cyclic
square with an even number of rows has no solution (Euler), and counting does not show it, so a search goes through very
many combinations. Without distinctAttribute the same puzzle has devices for the columns and symbols, each of which
serves one row: a claim wants one of both for each row, with matchAttribute.
"""

from __future__ import annotations

from typing import Any

from dra_api.objects import Obj
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import claim_object
from dra_conformance.steps.nodes import make_node, publish, simulated_driver
from dra_conformance.steps.pods import look_bound

_AXES = ("row", "column", "symbol")


def slice_with(world: World, name: str, spec: Any) -> Obj:
    """Return a ResourceSlice of the simulated driver: the only one of a pool of its name, unless `spec` has a pool."""
    pool = {"name": world.name(name), "generation": 1, "resourceSliceCount": 1, **(spec.pop("pool", None) or {})}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": world.name(name)},
        "spec": {"driver": simulated_driver(world), "pool": pool, **spec},
    }


@given('a ResourceSlice "{name}" with:')
@when('a ResourceSlice "{name}" is published with:')
def _(world: World, name: str, docstring: str) -> None:
    """Create a ResourceSlice with this spec (YAML); driver and pool are filled in if they are missing."""
    publish(world, slice_with(world, name, manifests.parse_value(world.text(docstring))))


def square(rows: int) -> list[Obj]:
    """Return the devices of a cyclic Latin square, row by row; attributes give their row, column and symbol."""
    places = [(row, column, (row + column) % rows) for row in range(rows) for column in range(rows)]
    return [
        {
            "name": f"d{row}-{column}",
            "attributes": {
                f"dra.test/{axis}": {"int": at} for axis, at in zip(_AXES, (row, column, symbol), strict=True)
            },
        }
        for row, column, symbol in places
    ]


@given('node "{node}" with a Latin square of {rows:d} rows')
def _(world: World, node: str, rows: int) -> None:
    """Create a ready Node and rows × rows devices of the simulated driver, with attributes row, column and symbol."""
    make_node(world, node)
    publish(world, slice_with(world, "square", {"nodeName": world.name(node), "devices": square(rows)}))


@given('a ResourceClaim "{claim}" for {count:d} of "{name}" with distinct rows, columns and symbols')
def _(world: World, claim: str, count: int, name: str) -> None:
    """Create a claim with one request for each device, and constraints that all attribute values differ."""
    exactly = {"deviceClassName": world.name(name)}
    spec = {
        "devices": {
            "requests": [{"name": f"r{at}", "exactly": exactly} for at in range(count)],
            "constraints": [{"distinctAttribute": f"dra.test/{axis}"} for axis in _AXES],
        }
    }
    world.create(claim_object(world, claim, spec))


def lines(rows: int, *, name: str = "") -> list[Obj]:
    """Return a device for each column and for each symbol of a Latin square; their names begin with `name`."""
    return [
        {
            "name": f"{name}{axis}-{at}",
            "attributes": {"dra.test/kind": {"string": axis}, f"dra.test/{axis}": {"int": at}},
        }
        for axis in _AXES[1:]
        for at in range(rows)
    ]


@given('node "{node}" with a Latin square of {rows:d} rows, its columns and its symbols')
def _(world: World, node: str, rows: int) -> None:
    """As a Latin square, of kind cell, and a device of kind column or symbol for each of these."""
    make_node(world, node)
    cells = square(rows)
    for cell in cells:
        cell["attributes"]["dra.test/kind"] = {"string": "cell"}
    publish(world, slice_with(world, "square", {"nodeName": world.name(node), "devices": [*cells, *lines(rows)]}))


@when('node "{node}" gets a second device for each of {rows:d} columns and symbols')
def _(world: World, node: str, rows: int) -> None:
    """Publish these devices in a pool of their own."""
    publish(world, slice_with(world, "lines", {"nodeName": world.name(node), "devices": lines(rows, name="second-")}))


@given('a ResourceClaim "{claim}" for {count:d} of "{name}" with a column and a symbol each')
def _(world: World, claim: str, count: int, name: str) -> None:
    """Create a claim with three requests for each row: a cell of the row, and its column and symbol."""

    def request(kind: str, row: int) -> Obj:
        attributes = 'device.attributes["dra.test"]'
        expression = f'{attributes}.kind == "{kind}"' + (f" && {attributes}.row == {row}" if kind == "cell" else "")
        selectors = [{"cel": {"expression": expression}}]
        return {"name": f"{kind}-{row}", "exactly": {"deviceClassName": world.name(name), "selectors": selectors}}

    spec = {
        "devices": {
            "requests": [request(kind, row) for row in range(count) for kind in ("cell", *_AXES[1:])],
            "constraints": [
                {"requests": [f"cell-{row}", f"{axis}-{row}"], "matchAttribute": f"dra.test/{axis}"}
                for row in range(count)
                for axis in _AXES[1:]
            ],
        }
    }
    world.create(claim_object(world, claim, spec))


@then('pod "{pod}" is bound to the node of pod "{other}"')
def _(world: World, pod: str, other: str) -> None:
    """Both pods come to be bound to one node."""

    def look() -> Seen[str]:
        (bound, where), (other_bound, there) = look_bound(world, pod), look_bound(world, other)
        return bound and other_bound and where == there, where if where == there else f"{where}, {there}"

    world.eventually(f"pods {pod} and {other} are on one node", look, expected="one node")
