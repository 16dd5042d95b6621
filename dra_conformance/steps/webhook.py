"""The admission webhook: asked by an API server when objects are written, or by the harness itself."""

from __future__ import annotations

import uuid
from typing import Any

import orjson

from dra_api.objects import Obj, name_of
from dra_conformance.components.registration import register
from dra_conformance.components.webhook import GATES, Endpoint, Reply
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.events import WebhookCalled
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World, show
from dra_conformance.steps.objects import Requests, draft

# The last call of the harness itself, and the uid of its question. Keys of World.memory.
REPLY, QUESTION = "webhook reply", "webhook question"
REVIEW_VERSION = "admission.k8s.io/v1"


def endpoint(world: World) -> Endpoint:
    """Where the webhook listens. Raises Untestable when it is not ours."""
    found = world.components.webhook.endpoint
    if found is None:
        raise Untestable("the webhook is not one that the harness can ask")
    return found


def review(world: World, obj: Obj, *, old: Obj | None = None) -> Obj:
    """An AdmissionReview about an object, as an API server would send it: of an update where there is an old one."""
    resource = manifests.resource_of(obj)
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    target = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    operation = "CREATE" if old is None else "UPDATE"
    uid = str(uuid.UUID(int=world.run.random.getrandbits(128), version=4))
    world.memory[QUESTION] = uid
    return {
        "apiVersion": REVIEW_VERSION,
        "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": kind,
            "resource": target,
            "requestKind": kind,
            "requestResource": target,
            "name": name_of(obj),
            "namespace": world.namespace,
            "operation": operation,
            "userInfo": {"username": "dra-conformance", "groups": ["system:authenticated"]},
            "object": obj,
            "oldObject": old,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": f"{operation.capitalize()}Options"},
        },
    }


def ask(world: World, body: bytes, *, content_type: str = "application/json", scheme: str = "https") -> None:
    """Send a body to the webhook and remember what came back."""
    there = endpoint(world)
    reply = there.call("POST", there.path, body, content_type=content_type, scheme=scheme, timeout=world.run.patience)
    _remember(world, reply, f"POST {scheme}", body)


def _remember(world: World, reply: Reply, request: str, body: bytes = b"") -> None:
    requests = world.state(Requests)
    requests.answer = requests.refusal = None
    world.memory[REPLY] = reply
    world.log.emit(WebhookCalled(request=request, body=body.decode(errors="replace"), answer=str(reply)))


def reply_of(world: World) -> Reply:
    """What the last call came to."""
    found = world.memory.get(REPLY)
    if not isinstance(found, Reply):
        raise SpecificationError(f"{world.scenario.where}: no step before this one asked the webhook")
    return found


def answered(reply: Reply) -> tuple[Obj, Obj]:
    """The AdmissionReview of a reply and its response; empty where there is none."""
    if reply.problem or reply.status != 200:
        return {}, {}
    try:
        found: Any = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        return {}, {}
    response = found.get("response") if isinstance(found, dict) else None
    return (found, response) if isinstance(response, dict) else ({}, {})


def _outcome(world: World) -> tuple[bool | None, str, str]:
    """Whether the webhook admitted (None: it came to no decision), what it said, and what was seen."""
    if REPLY in world.memory:
        reply = reply_of(world)
        _, response = answered(reply)
        status = response.get("status")
        said = str(status.get("message") or "") if isinstance(status, dict) else ""
        allowed = response.get("allowed", False) if response else None
        return (allowed if isinstance(allowed, bool) else None), said, str(reply)
    answer, error = world.state(Requests).answer, world.state(Requests).refusal
    if error is None:
        return (None, "", "nothing") if answer is None else (True, "", f"stored: {show(answer)}")
    denied = "admission webhook" in error.message and "denied the request" in error.message
    return (False if denied else None), error.message, f"{error.status} {error.reason}: {error.message}"


@given('the webhook runs with the feature gates "{gates}"')
def _(world: World, gates: str) -> None:
    """Start the webhook anew with these gates of its driver on (comma-separated) and the others off."""
    names = words(gates)
    if unknown := set(names) - set(GATES):
        raise SpecificationError(f"{world.scenario.where}: no feature gate {', '.join(unknown)}; known: {GATES}")
    world.components.webhook.start(dict.fromkeys(names, True))


@given("the webhook guards the namespace")
def _(world: World) -> None:
    """Let the API server ask the webhook about claims and templates of the scenario's namespace."""
    there = world.components.webhook.endpoint
    if there is not None:  # a cluster's own webhook is asked without our doing
        register(world, url=there.url, authority=there.authority)


@given('it is configured for "{driver}" with {parameters}')
def _(world: World, driver: str, parameters: str) -> None:
    """Give the claim or template of the manifest one more opaque configuration."""
    obj = draft(world)
    spec = obj["spec"]["spec"] if "spec" in obj["spec"] else obj["spec"]
    entry = {"opaque": {"driver": world.text(driver), "parameters": manifests.parse_value(world.text(parameters))}}
    spec["devices"].setdefault("config", []).append(entry)


@when("the webhook is asked about it")
def _(world: World) -> None:
    """Send the manifest in a review of a creation, without an API server."""
    ask(world, orjson.dumps(review(world, draft(world))))


@when("the webhook is asked about an update to it")
def _(world: World) -> None:
    """Send the manifest in a review of an update to it, from the same object without configuration."""
    new = draft(world)
    old = orjson.loads(orjson.dumps(new))
    (old["spec"].get("spec") or old["spec"])["devices"].pop("config", None)
    ask(world, orjson.dumps(review(world, new, old=old)))


@when('the webhook is asked about it, with "{field}" written twice')
def _(world: World, field: str) -> None:
    """Send the manifest in a review in which a field of the first configuration stands twice, with one value."""
    obj = draft(world)
    parameters = manifests.look_up(obj, "spec.devices.config[0].opaque.parameters")
    once = orjson.dumps(parameters)
    again = orjson.dumps({field: parameters[field]})[:-1] + b"," + once[1:]
    ask(world, orjson.dumps(review(world, obj)).replace(once, again, 1))


@when("the webhook is asked about it without TLS")
def _(world: World) -> None:
    """Send the manifest in a review over plain HTTP."""
    ask(world, orjson.dumps(review(world, draft(world))), scheme="http")


@when('the webhook is sent {body} as "{content_type}"')
def _(world: World, body: str, content_type: str) -> None:
    """Send this body to where the webhook takes reviews."""
    ask(world, body.encode(), content_type=content_type)


@when('the webhook is asked for "{path}"')
def _(world: World, path: str) -> None:
    """GET a path of the webhook."""
    reply = endpoint(world).call("GET", path, None, timeout=world.run.patience)
    _remember(world, reply, f"GET {path}")


@then("the webhook answers with HTTP {code:d}")
def _(world: World, code: int) -> None:
    """The last call was answered with this HTTP status, over TLS with the certificate that the webhook was given."""
    reply = reply_of(world)
    world.check(reply.status == code, "the webhook answers", expected=f"HTTP {code}", observed=str(reply))


@then("the webhook gives no review")
def _(world: World) -> None:
    """The last call brought no AdmissionReview, whatever else it brought."""
    reply = reply_of(world)
    world.check(not answered(reply)[0], "nothing is reviewed", expected="no AdmissionReview", observed=str(reply))


@then("the answer has the uid of the question")
def _(world: World) -> None:
    """The response carries the uid of the request."""
    reply, uid = reply_of(world), world.memory[QUESTION]
    seen = answered(reply)[1].get("uid")
    world.check(seen == uid, "the uid is the question's", expected=f"response.uid {uid}", observed=str(reply))


@then("the answer is an AdmissionReview of the question's version")
def _(world: World) -> None:
    """apiVersion and kind of the answer are those of the question."""
    reply = reply_of(world)
    found = answered(reply)[0]
    ok = (found.get("apiVersion"), found.get("kind")) == (REVIEW_VERSION, "AdmissionReview")
    world.check(
        ok, "the answer is of the question's kind", expected=f"AdmissionReview of {REVIEW_VERSION}", observed=str(reply)
    )


@then('the answer has content type "{content_type}"')
def _(world: World, content_type: str) -> None:
    """The answer's Content-Type, parameters such as charset aside."""
    reply = reply_of(world)
    seen = reply.content_type.partition(";")[0].strip()
    world.check(seen == content_type, "the answer says what it is", expected=content_type, observed=str(reply))


@then("the webhook admits it")
def _(world: World) -> None:
    """The object is stored, or the webhook's own answer allows it."""
    allowed, _, seen = _outcome(world)
    world.check(allowed is True, "it is admitted", expected="admitted", observed=seen)


@then("the webhook refuses it with reason {reason:word}")
def _(world: World, reason: str) -> None:
    """The webhook's own answer refuses the object with this Status reason."""
    reply = reply_of(world)
    response = answered(reply)[1]
    status = response.get("status")
    ok = bool(response) and response.get("allowed", False) is False
    ok = ok and isinstance(status, dict) and status.get("reason") == reason
    world.check(ok, "it is refused", expected=f"allowed false, reason {reason}", observed=str(reply))


@then("the webhook refuses it because '{text}'")
def _(world: World, text: str) -> None:
    """The webhook, asked by the API server or by the harness, refuses the object, and its message holds this text."""
    allowed, said, seen = _outcome(world)
    ok = allowed is False and text in said
    world.check(ok, "it is refused with the cause", expected=f"refused, saying {text!r}", observed=seen)
