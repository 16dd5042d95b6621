"""Labels of the scenario's own namespace."""

from __future__ import annotations

from dra_api.objects import NAMESPACES
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World


def set_label(world: World, label: str, value: str | None) -> None:
    """Set a label of the scenario's namespace; None removes it."""
    world.client.patch(NAMESPACES, world.namespace, {"metadata": {"labels": {label: value}}})


@given('the namespace has label "{label}" set to "{value}"')
def _(world: World, label: str, value: str) -> None:
    """Set a label of the scenario's namespace."""
    set_label(world, label, value)


@when('the namespace loses label "{label}"')
def _(world: World, label: str) -> None:
    """Remove a label from the scenario's namespace."""
    set_label(world, label, None)
