"""Searches that take long, and how long a scheduler searches: fields of kube-scheduler's DynamicResourcesArgs.

The long search is a puzzle: one device of each row of a Latin square, no two of one column or with one symbol. For a
cyclic square of an even number of rows there is none (Euler), and counting does not show it, so whoever looks for one
goes through very many combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dra_api.objects import Obj
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import claim_object
from dra_conformance.steps.nodes import make_node, publish
from dra_conformance.steps.scheduling import slice_with

_AXES = ("row", "column", "symbol")
_REFUSED = "why the scheduler does not start"


def place(name: str, *values: int) -> Obj:
    """A device in some row and column, with a symbol."""
    return {
        "name": name,
        "attributes": {f"dra.test/{axis}": {"int": at} for axis, at in zip(_AXES, values, strict=True)},
    }


def square(rows: int) -> list[Obj]:
    """The devices of a cyclic Latin square, row by row."""
    return [place(f"d{row}-{col}", row, col, (row + col) % rows) for row in range(rows) for col in range(rows)]


def publish_for(world: World, name: str, node: str, devices: Iterable[Obj]) -> None:
    """A slice of the driver on paper, a pool of its own, for one node."""
    publish(world, slice_with(world, name, {"nodeName": world.name(node), "devices": list(devices)}))


@given('node "{node}" with a Latin square of {rows:d} rows')
def _(world: World, node: str, rows: int) -> None:
    """A ready Node and rows × rows devices of the driver on paper, which say in which row and column they are."""
    make_node(world, node)
    publish_for(world, "square", node, square(rows))


@given('node "{node}" with a Latin square of {rows:d} rows and a device that solves it')
def _(world: World, node: str, rows: int) -> None:
    """The same and one device more, the last: it stands in the last row and column and has its own symbol."""
    make_node(world, node)
    publish_for(world, "square", node, [*square(rows), place("last", rows - 1, rows - 1, rows)])


@when('a pool "{name}" with {count:d} devices that solve it is published for "{node}"')
def _(world: World, name: str, count: int, node: str) -> None:
    """Devices that all differ in row, column and symbol."""
    publish_for(world, name, node, (place(f"s{at}", at, at, at) for at in range(count)))


@given('a ResourceClaim "{claim}" for {count:d} of "{name}" apart in row, column and symbol')
def _(world: World, claim: str, count: int, name: str) -> None:
    """A claim with so many requests for a device each; constraints keep the devices apart."""
    exactly = {"deviceClassName": world.name(name)}
    spec = {
        "devices": {
            "requests": [{"name": f"r{at}", "exactly": exactly} for at in range(count)],
            "constraints": [{"distinctAttribute": f"dra.test/{axis}"} for axis in _AXES],
        }
    }
    world.create(claim_object(world, claim, spec))


# -- the scheduler's arguments -----------------------------------------------------------------------------------------


@given('the scheduler has "{argument}" {value:word}')
def _(world: World, argument: str, value: str) -> None:
    """Start the scheduler anew with a field of DynamicResourcesArgs, for this scenario alone."""
    world.cleanup.callback(world.components.kill, "scheduler")
    world.components.restart("scheduler", arguments={argument: value})


def try_to_start(world: World, arguments: Mapping[str, str], gates: Mapping[str, bool] | None = None) -> None:
    """Start the scheduler anew; what it says if it refuses goes into the world's memory."""
    from reference_impl.runtime import PartError

    world.cleanup.callback(world.components.kill, "scheduler")
    world.memory[_REFUSED] = None
    try:
        world.components.restart("scheduler", arguments=arguments, gates=gates)
    except PartError as error:
        world.memory[_REFUSED] = str(error)


@when('the scheduler is started with "{argument}" {value:word}')
def _(world: World, argument: str, value: str) -> None:
    """Start the scheduler anew with a field of DynamicResourcesArgs that it may refuse."""
    try_to_start(world, {argument: value})


@when('the scheduler is started with "{argument}" {value:word} and the feature gate "{gate}" off')
def _(world: World, argument: str, value: str, gate: str) -> None:
    """The same with a gate of the scheduler off; the API server keeps it on."""
    try_to_start(world, {argument: value}, {gate: False})


@then('the scheduler does not start, because of "{argument}"')
def _(world: World, argument: str) -> None:
    """It ends by itself and names the field in what it says."""

    def look() -> Seen:
        said = world.memory[_REFUSED] or world.components.ended("scheduler")
        return said is not None and argument in said, said or "it runs"

    world.eventually("the scheduler refuses its configuration", look, expected=f"an end that names {argument}")
