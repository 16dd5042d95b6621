"""The admission webhook: called by an API server when objects are written, or by the harness itself."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

import orjson

from dra_api.objects import Obj, name_of
from dra_conformance.components.node import GPU_DRIVER
from dra_conformance.components.registration import register
from dra_conformance.components.webhook import GATES, Endpoint, Reply
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.core.events import WebhookCalled
from dra_conformance.core.values import expectation
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World, show
from dra_conformance.steps.objects import Requests, draft

REVIEW_VERSION = "admission.k8s.io/v1"
CONFIG_API = "resource.nvidia.com/v1beta1"


@dataclass(slots=True)
class Exchange:
    """The last call of the harness itself: the uid of its review, and the reply."""

    uid: str = ""
    reply: Reply | None = field(default=None)


def endpoint(world: World) -> Endpoint:
    """Return where the webhook listens. Raises Untestable if the harness cannot call it."""
    found = world.components.webhook.endpoint
    if found is None:
        raise Untestable("the harness cannot call this webhook itself")
    return found


def review(world: World, obj: Obj, *, old: Obj | None = None) -> Obj:
    """Return an AdmissionReview of an object as an API server sends it: of an update if there is an old object."""
    resource = manifests.resource_of(obj)
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    target = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    operation = "CREATE" if old is None else "UPDATE"
    # From the run's seed, so that a repeated run sends the same review.
    uid = str(uuid.UUID(int=world.run.random.getrandbits(128), version=4))
    world.state(Exchange).uid = uid
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


def send(
    world: World, body: bytes, *, content_type: str = "application/json", scheme: str = "https", path: str = ""
) -> None:
    """Send a body to the webhook and keep the reply for later steps. `path` is another path than that of reviews."""
    there, patience = endpoint(world), world.run.patience
    reply = there.call("POST", path or there.path, body, content_type=content_type, scheme=scheme, timeout=patience)
    _remember(world, reply, f"POST {path or scheme}", body)


def _remember(world: World, reply: Reply, request: str, body: bytes = b"") -> None:
    requests = world.state(Requests)
    requests.answer = requests.refusal = None
    world.state(Exchange).reply = reply
    world.log.emit(WebhookCalled(request=request, body=body.decode(errors="replace"), answer=str(reply)))


def reply_of(world: World) -> Reply:
    """Return the reply to the last call. Raises SpecificationError if no step called the webhook."""
    found = world.state(Exchange).reply
    if found is None:
        raise SpecificationError(f"{world.scenario.where}: no step before this one called the webhook")
    return found


def answered(reply: Reply) -> tuple[Obj, Obj]:
    """Return the AdmissionReview of a reply and its response; empty if there is none."""
    if reply.problem or reply.status != 200:
        return {}, {}
    try:
        found: Any = orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        return {}, {}
    response = found.get("response") if isinstance(found, dict) else None
    return (found, response) if isinstance(response, dict) else ({}, {})


def _outcome(world: World) -> tuple[bool | None, str, str]:
    """Return whether the webhook admitted (None: no decision), its message, and what was observed."""
    if world.state(Exchange).reply is not None:
        reply = reply_of(world)
        _, response = answered(reply)
        status = response.get("status")
        said = str(status.get("message") or "") if isinstance(status, dict) else ""
        # An API server, written in Go, decodes a missing `allowed` as false.
        allowed = response.get("allowed", False) if response else None
        return (allowed if isinstance(allowed, bool) else None), said, str(reply)
    answer, error = world.state(Requests).answer, world.state(Requests).refusal
    if error is None:
        return (None, "", "nothing") if answer is None else (True, "", f"stored: {show(answer)}")
    # The API server's own text for a denial; any other error means that the call to the webhook failed.
    denied = "admission webhook" in error.message and "denied the request" in error.message
    return (False if denied else None), error.message, f"{error.status} {error.reason}: {error.message}"


@given('the webhook runs with the feature gates "{gates}"')
def _(world: World, gates: str) -> None:
    """Restart the webhook with these gates of its driver on (comma-separated) and the others off."""
    names = words(gates)
    if unknown := set(names) - set(GATES):
        raise SpecificationError(f"{world.scenario.where}: no feature gate {', '.join(unknown)}; known: {GATES}")
    world.components.webhook.start(dict.fromkeys(names, True))


@given("the webhook is registered for the namespace")
def _(world: World) -> None:
    """Let the API server call the webhook for claims and templates of the scenario's namespace."""
    there = world.components.webhook.endpoint
    if there is not None:  # a cluster's own webhook is registered already
        register(world, url=there.url, authority=there.authority)


def add_configuration(world: World, driver: str, parameters: object) -> None:
    """Add an opaque configuration to the claim or template of the manifest."""
    obj = draft(world)
    spec = obj["spec"]["spec"] if "spec" in obj["spec"] else obj["spec"]
    spec["devices"].setdefault("config", []).append({"opaque": {"driver": driver, "parameters": parameters}})


@given('it is configured for "{driver}" with {parameters}')
def _(world: World, driver: str, parameters: str) -> None:
    """Add an opaque configuration with these parameters (YAML) to the claim or template of the manifest."""
    add_configuration(world, world.text(driver), manifests.parse_value(world.text(parameters)))


@given("it is configured with {kind:word} {fields}")
def _(world: World, kind: str, fields: str) -> None:
    """The same for gpu.nvidia.com, with a kind of resource.nvidia.com/v1beta1 and its fields (YAML)."""
    parameters = {"apiVersion": CONFIG_API, "kind": kind, **manifests.parse_value(fields)}
    add_configuration(world, GPU_DRIVER, parameters)


@when("a review of it is sent to the webhook")
def _(world: World) -> None:
    """Send the manifest in a review of a creation, without an API server."""
    send(world, orjson.dumps(review(world, draft(world))))


@when("a review of it is sent to the webhook {variant}")
def _(world: World, variant: str) -> None:
    """The same `without TLS`, `as a dry run`, `as a deletion`, `for the group "NAME"` or `as converted from "VERSION"`
    of the request; `as an update` from no configuration, or `as an update of` a configuration (YAML); or `with a
    duplicate FIELD` in the first configuration.
    """
    obj = draft(world)
    match variant.split():
        case ["without", "TLS"]:
            send(world, orjson.dumps(review(world, obj)), scheme="http")
        case ["as", "an", "update"]:
            old = orjson.loads(orjson.dumps(obj))
            (old["spec"].get("spec") or old["spec"])["devices"].pop("config", None)
            send(world, orjson.dumps(review(world, obj, old=old)))
        case ["as", "an", "update", "of", *_]:
            old = orjson.loads(orjson.dumps(obj))
            parameters = manifests.parse_value(variant.partition(" of ")[2])
            for entry in (old["spec"].get("spec") or old["spec"])["devices"]["config"]:
                entry["opaque"]["parameters"] = parameters
            send(world, orjson.dumps(review(world, obj, old=old)))
        case ["as", "a", "dry", "run"]:
            found = review(world, obj)
            found["request"]["dryRun"] = True
            found["request"]["options"]["dryRun"] = ["All"]
            send(world, orjson.dumps(found))
        case ["for", "the", "group", name]:
            found = review(world, obj)
            found["request"]["resource"]["group"] = name.strip('"')
            send(world, orjson.dumps(found))
        case ["as", "converted", "from", version]:
            found = review(world, obj)
            for part in ("Kind", "Resource"):
                found["request"][f"request{part}"] = {**found["request"][part.lower()], "version": version.strip('"')}
            send(world, orjson.dumps(found))
        case ["as", "a", "deletion"]:
            found = review(world, obj)
            found["request"] |= {"operation": "DELETE", "object": None, "oldObject": obj}
            send(world, orjson.dumps(found))
        case ["with", "a", "duplicate", name]:
            parameters = manifests.look_up(obj, "spec.devices.config[0].opaque.parameters")
            *parents, last = name.split(".")
            for step in parents:
                parameters = parameters[step]
            # JSON libraries do not write a field twice, so the duplicate is added to the bytes.
            once = orjson.dumps(parameters)
            twice = orjson.dumps({last: parameters[last]})[:-1] + b"," + once[1:]
            send(world, orjson.dumps(review(world, obj)).replace(once, twice, 1))
        case _:
            raise SpecificationError(f"{world.scenario.where}: no review can be sent {variant!r}")


@when('the body {body} is sent to the webhook as "{content_type}"')
def _(world: World, body: str, content_type: str) -> None:
    """Send this body to the path of the webhook for reviews."""
    send(world, body.encode(), content_type=content_type)


@when("a body of {count:d} nested lists is sent to the webhook")
def _(world: World, count: int) -> None:
    """Send a JSON document of lists in lists, deeper than decoders permit."""
    send(world, b"[" * count + b"]" * count)


@when('a review of it is sent to the path "{path}" of the webhook')
def _(world: World, path: str) -> None:
    """Send the manifest in a review of a creation to another path than that of reviews."""
    send(world, orjson.dumps(review(world, draft(world))), path=path)


@when('"{path}" of the webhook is requested')
def _(world: World, path: str) -> None:
    """GET a path of the webhook."""
    reply = endpoint(world).call("GET", path, None, timeout=world.run.patience)
    _remember(world, reply, f"GET {path}")


def reply_fields(reply: Reply) -> Obj:
    """Return a reply as a document: `code`, `contentType` without parameters, and the fields of the AdmissionReview.

    A response without `allowed` does not admit.
    """
    found, response = answered(reply)
    fields: Obj = {"code": reply.status, "contentType": reply.content_type.partition(";")[0].strip()}
    fields |= {key: found[key] for key in ("apiVersion", "kind") if key in found}
    if response:
        fields["response"] = {"allowed": False, **response}
    return fields


@then('the reply of the webhook has "{path}" {value}')
def _(world: World, path: str, value: str) -> None:
    """A field of the reply has this value (see `reply_fields`; core.values); `$(review)`: the review's uid."""
    reply = reply_of(world)
    wanted = value.replace("$(review)", world.state(Exchange).uid)
    what, seen = expectation(wanted), manifests.look_up(reply_fields(reply), path)
    # One field alone hides the cause, such as a reply that is no JSON or never came.
    message = f"{path} of the reply" if what.is_met(seen) else f"{path} of the reply; {reply}"
    world.check(what.is_met(seen), message, expected=what.shown, observed=what.show(seen))


@then("the webhook admits it")
def _(world: World) -> None:
    """The API server stores the object, or the webhook's response allows it."""
    allowed, _, seen = _outcome(world)
    observed = "admitted" if allowed is True else seen
    world.check(allowed is True, "it is admitted", expected="admitted", observed=observed)


@then("the webhook refuses it because '{text}'")
def _(world: World, text: str) -> None:
    """The webhook, called by the API server or by the harness, refuses the object with this text in its message."""
    allowed, said, seen = _outcome(world)
    ok = allowed is False and text in said
    observed = f"refused: {said}" if allowed is False else seen
    world.check(ok, "it is refused with the cause", expected=f"refused: …{text}…", observed=observed)
