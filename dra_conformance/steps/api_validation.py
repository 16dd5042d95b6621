"""Fields that the API does not define: fieldValidation and warnings."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Unpack

import orjson

from dra_api.client import KubeClient
from dra_api.objects import Obj
from dra_api.transport import RequestOptions, Response, Transport, TransportAround
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import World, in_words
from dra_conformance.steps.objects import attempt, draft


class Warned(TransportAround):
    """Keeps the warnings of the responses."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.texts: list[str] = []

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Forward a request and keep the warnings of its response."""
        answer = super().request(method, path, **options)
        self.texts += [value for name, value in answer.headers.items() if name.lower() == "warning"]
        return answer


@dataclass
class Warnings:
    """The warnings of the last response."""

    texts: list[str] = field(default_factory=list)


def _body(world: World, what: str) -> bytes:
    obj: Obj = copy.deepcopy(draft(world))
    obj["metadata"]["namespace"] = world.namespace
    if what == "an unknown field":
        obj["spec"]["unknown"] = 1
    elif what == "two unknown fields":
        obj["spec"] |= {"unknown": 1, "unheard": 2}
    elif what == "an unknown field of a list":
        obj["spec"]["devices"]["requests"][0]["unknown"] = 1
    text = orjson.dumps(obj)
    if what == "a field twice":
        text = text[:-1] + b',"metadata":' + orjson.dumps(obj["metadata"]) + b"}"
    elif what not in ("no other field", "an unknown field", "two unknown fields", "an unknown field of a list"):
        raise SpecificationError(f"{world.scenario.where}: unknown addition {what!r}")
    return text


@when("it is created with {what} and fieldValidation {mode:word}")
def _(world: World, what: str, mode: str) -> None:
    """Create the manifest with a field that it should not have; `default` is a request without fieldValidation."""
    resource = manifests.resource_of(draft(world))
    body, path = _body(world, what), resource.path(world.namespace)
    query = [] if mode == "default" else [("fieldValidation", mode)]
    transport = Warned(world.client.transport)
    client = KubeClient(transport, user_agent=world.client.user_agent)
    attempt(world, lambda: client.raw("POST", path, query=query, body=body))
    world.state(Warnings).texts = transport.texts


@then('the response warns about "{text}"')
def _(world: World, text: str) -> None:
    """A warning of the last response contains this text."""
    texts = world.state(Warnings).texts
    world.check(any(text in one for one in texts), "the response warns", expected=f"…{text}…", observed=in_words(texts))


@then("the response has no warning")
def _(world: World) -> None:
    """The last response has no warning."""
    texts = world.state(Warnings).texts
    world.check(not texts, "the response has no warning", expected=[], observed=texts)
