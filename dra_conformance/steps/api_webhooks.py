"""Admission webhooks that the API server calls: registered by the harness, and reachable by nothing."""

from __future__ import annotations

from dra_conformance.components.registration import register_unreachable
from dra_conformance.engine.vocabulary import given
from dra_conformance.engine.world import World
from dra_conformance.steps.objects import mapping_of


@given("a webhook that cannot be reached, with {fields} and the rule {rule}")
def _(world: World, fields: str, rule: str) -> None:
    """Register a validating webhook for the claims and templates of the namespace, with fields of its own (YAML)."""
    register_unreachable(world, fields=mapping_of(world, fields), rule=mapping_of(world, rule))


@given("another webhook that cannot be reached, with {fields} and the rule {rule}")
def _(world: World, fields: str, rule: str) -> None:
    """Register a second webhook, in a configuration whose name precedes that of the first one."""
    register_unreachable(world, fields=mapping_of(world, fields), rule=mapping_of(world, rule), name="another-webhook")
