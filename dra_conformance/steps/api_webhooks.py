"""Admission webhooks that the API server calls: those of the harness, and some that cannot be reached."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from dra_api.client import NotFound
from dra_api.objects import RESOURCE_CLAIMS, Obj
from dra_conformance.components.answering_webhook import AnsweringWebhook, Answers
from dra_conformance.components.registration import register_answering, register_unreachable
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


def _started(world: World, answers: Answers) -> AnsweringWebhook:
    folder = world.cleanup.enter_context(tempfile.TemporaryDirectory(prefix="dra-webhook-"))
    webhook = AnsweringWebhook(Path(folder), answers)
    world.cleanup.callback(webhook.stop)
    return webhook


@given("a webhook for each response to creations:")
def _(world: World, docstring: str) -> None:
    """Register validating webhooks for claims; each has a name, and the response to every review of a creation.

    Each has a certificate of its own authority.
    """
    responses = mapping_of(world, docstring)
    webhooks = [_started(world, lambda name, _: responses[name]) for _ in responses]
    addresses = {webhook.url(name): webhook.authority for name, webhook in zip(responses, webhooks, strict=True)}
    register_answering(world, addresses, rule={"operations": ["CREATE"]})


@given('a webhook that deletes the ResourceClaim "{other}" when the deletion of "{claim}" is reviewed')
def _(world: World, other: str, claim: str) -> None:
    """Register a validating webhook that allows all deletions of claims, and deletes a second claim at the first."""

    def answers(_: str, request: Obj) -> Obj:
        if request["oldObject"]["metadata"]["name"] == claim:
            with contextlib.suppress(NotFound):  # the API server may request the review again
                world.client.delete(RESOURCE_CLAIMS, other, world.namespace)
        return {"allowed": True}

    webhook = _started(world, answers)
    register_answering(world, {webhook.url("delete"): webhook.authority}, rule={"operations": ["DELETE"]})
