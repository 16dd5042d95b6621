"""The scenario's own namespace: its labels."""

from __future__ import annotations

from dra_api.objects import NAMESPACES
from dra_conformance.engine.vocabulary import given, when
from dra_conformance.engine.world import World


def set_label(world: World, label: str, value: str | None) -> None:
    """Set a label of the scenario's namespace, or take it away."""
    world.client.patch(NAMESPACES, world.namespace, {"metadata": {"labels": {label: value}}})


@given('the namespace has label "{label}" set to "{value}"')
def _(world: World, label: str, value: str) -> None:
    """Label the namespace in which the scenario's objects are."""
    set_label(world, label, value)


@given('the namespace has lost label "{label}"')
def _(world: World, label: str) -> None:
    """Take a label away again before the scenario begins in earnest."""
    set_label(world, label, None)


@when('the namespace loses label "{label}"')
def _(world: World, label: str) -> None:
    """Take a label away from the scenario's namespace."""
    set_label(world, label, None)
