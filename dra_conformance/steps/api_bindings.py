"""Bindings and evictions of pods, and tokens of service accounts.

`it` is the pod that the scenario created last (`dra_conformance.steps.objects`).
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus

import orjson

from dra_api.client import ApiError
from dra_api.objects import PODS, SERVICE_ACCOUNTS, Obj, Resource, name_of
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.api_machinery import object_called
from dra_conformance.steps.objects import attempt, draft, mapping_of

_TOKEN_REVIEWS = Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False)


@dataclass
class Evictions:
    """The statuses of the evictions that were sent at the same time."""

    statuses: list[int] = field(default_factory=list)


@dataclass
class Tokens:
    """The token that the scenario was issued last."""

    token: str = ""


def _post(world: World, subresource: str, body: Obj, *, dry_run: bool = False) -> None:
    query = [("dryRun", "All")] if dry_run else []
    path = PODS.path(world.namespace, name_of(draft(world)), subresource)
    attempt(world, lambda: world.client.raw("POST", path, body=orjson.dumps(body), query=query))


def _bind(world: World, node: str, metadata: Obj | None = None, *, dry_run: bool = False) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": world.text(node)}
    meta = {"name": name_of(draft(world)), "namespace": world.namespace, **(metadata or {})}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
    _post(world, "binding", binding, dry_run=dry_run)


@when('it is bound to "{node}"')
def _(world: World, node: str) -> None:
    """Create a Binding of the pod, without preconditions."""
    _bind(world, node)


@when('a dry run binds it to "{node}"')
def _(world: World, node: str) -> None:
    """Create a Binding of the pod with `dryRun=All`."""
    _bind(world, node, dry_run=True)


@when('it is bound to "{node}" with annotations {annotations}')
def _(world: World, node: str, annotations: str) -> None:
    """Create a Binding of the pod that has annotations."""
    _bind(world, node, {"annotations": mapping_of(world, annotations)})


@when('it is bound to "{node}" with labels {labels}')
def _(world: World, node: str, labels: str) -> None:
    """Create a Binding of the pod that has labels."""
    _bind(world, node, {"labels": mapping_of(world, labels)})


@when('it is bound to "{node}" with the {field:word} of the {which:word} object')
def _(world: World, node: str, field: str, which: str) -> None:
    """Create a Binding with the `uid` or `resourceVersion` of the `former` or the `current` pod."""
    _bind(world, node, {field: object_called(world, which)["metadata"][field]})


@when("it is evicted with the {field:word} of the {which:word} object")
def _(world: World, field: str, which: str) -> None:
    """Create an Eviction whose preconditions have the `uid` or `resourceVersion` of the `former` or `current` pod."""
    preconditions = {field: object_called(world, which)["metadata"][field]}
    metadata = {"name": name_of(draft(world)), "namespace": world.namespace}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    _post(world, "eviction", {**eviction, "deleteOptions": {"preconditions": preconditions}})


@given('ready pods "{pods}" and a PodDisruptionBudget "{budget}" that allows {count:d} disruptions')
def _(world: World, pods: str, budget: str, count: int) -> None:
    """Create pods that run and are ready, and a budget for them; wait until its status allows the disruptions."""
    names = words(pods)
    for name in names:
        pod = world.manifest("claims/plain-pod")
        pod["metadata"] |= {"name": name, "labels": {"guarded-by": budget}}
        pod["spec"]["nodeName"] = world.name("without-kubelet")
        world.create(pod)
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        world.client.patch(PODS, name, {"status": status}, world.namespace, subresource="status")
    path = f"/apis/policy/v1/namespaces/{world.namespace}/poddisruptionbudgets"
    healthy = len(names) - count
    spec = {"minAvailable": healthy, "selector": {"matchLabels": {"guarded-by": budget}}}
    world.client.raw("POST", path, body=orjson.dumps({"metadata": {"name": budget}, "spec": spec}))
    if not world.run.has_controllers:
        counted = {
            "observedGeneration": 1,
            "disruptionsAllowed": count,
            "currentHealthy": len(names),
            "desiredHealthy": healthy,
            "expectedPods": len(names),
        }
        kind = "application/merge-patch+json"
        body = orjson.dumps({"status": counted})
        world.client.raw("PATCH", f"{path}/{budget}/status", body=body, content_type=kind)
    # Polled: the suite watches no budgets.
    if not world.poll(lambda: _allowed_disruptions(world, f"{path}/{budget}") == count):
        raise Untestable(f"the status of the budget does not allow {count} disruptions")


def _allowed_disruptions(world: World, path: str) -> int:
    return int((world.client.raw("GET", path).get("status") or {}).get("disruptionsAllowed", 0))


@when('the pods "{pods}" are evicted at the same time')
def _(world: World, pods: str) -> None:
    """Create an Eviction of each pod, all at the same time, and count those that are accepted."""
    names = words(pods)
    barrier = threading.Barrier(len(names))

    def evict(name: str) -> int:
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": world.namespace}}
        # The pool starts its threads one by one; the requests begin together.
        barrier.wait()
        try:
            world.client.raw("POST", PODS.path(world.namespace, name, "eviction"), body=orjson.dumps(body))
        except ApiError as error:
            return error.status
        return HTTPStatus.CREATED

    with ThreadPoolExecutor(max_workers=len(names), thread_name_prefix="concurrent-eviction") as pool:
        world.state(Evictions).statuses = list(pool.map(evict, names))


@then("{count:d} of the evictions are accepted, and the others are refused with {code:d}")
def _(world: World, count: int, code: int) -> None:
    """As many of the evictions that were sent at the same time are accepted."""
    seen = sorted(world.state(Evictions).statuses)
    expected = sorted([int(HTTPStatus.CREATED)] * count + [code] * (len(seen) - count))
    world.check(seen == expected, "evictions at the same time", expected=expected, observed=seen)


# -- tokens ------------------------------------------------------------------------------------------------------------


def _reviewed(world: World, token: str) -> Obj:
    """Return the status of a TokenReview."""
    review = {"apiVersion": _TOKEN_REVIEWS.api_version, "kind": _TOKEN_REVIEWS.kind, "spec": {"token": token}}
    status: Obj = world.client.create(_TOKEN_REVIEWS, review).get("status") or {}
    return status


@given('a service account "{name}"')
def _(world: World, name: str) -> None:
    """Create a service account in the scenario's namespace."""
    _create_account(world, name)


def _create_account(world: World, name: str) -> None:
    world.create(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": world.namespace}}
    )


@when('the service account "{name}" is deleted and created again')
def _(world: World, name: str) -> None:
    """Replace a service account by one of the same name with another uid."""
    world.client.delete(SERVICE_ACCOUNTS, name, world.namespace)
    _create_account(world, name)


@when('a token of the service account "{name}" is requested with {spec}')
def _(world: World, name: str, spec: str) -> None:
    """Create a TokenRequest, and keep the token."""
    world.state(Tokens).token = ""
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": mapping_of(world, spec)}

    def issue() -> Obj:
        answer = world.client.create(
            SERVICE_ACCOUNTS,
            {**request, "metadata": {"name": name, "namespace": world.namespace}},
            subresource="token",
            name=name,
        )
        world.state(Tokens).token = str(answer["status"]["token"])
        return answer

    attempt(world, issue)


@then('a review of the token names "{user}" with {extra}')
def _(world: World, user: str, extra: str) -> None:
    """A TokenReview authenticates the token as this user, whose extra fields have these values."""
    status = _reviewed(world, world.state(Tokens).token)
    fields = mapping_of(world, extra)
    wanted = {"authenticated": True, "username": world.text(user), "extra": fields}
    found = status.get("user") or {}
    seen = {
        "authenticated": bool(status.get("authenticated")),
        "username": str(found.get("username", "")),
        "extra": {key: (found.get("extra") or {}).get(key) for key in fields},
    }
    world.check(seen == wanted, "the token is of the service account and the pod", expected=wanted, observed=seen)


@then("a review comes to authenticate the token")
def _(world: World) -> None:
    """A TokenReview authenticates the issued token, at most after the run's patience."""
    _check_authenticated(world, True)


@then("a review comes not to authenticate the token")
def _(world: World) -> None:
    """A TokenReview does not authenticate the issued token any more, at most after the run's patience."""
    _check_authenticated(world, False)


def _check_authenticated(world: World, wanted: bool) -> None:
    token = world.state(Tokens).token

    def authenticated() -> bool:
        return bool(_reviewed(world, token).get("authenticated"))

    # Polled: the API server keeps the result of a review for some seconds, and reads pods and accounts from a watch.
    seen = wanted if world.poll(lambda: authenticated() == wanted) else not wanted
    world.check(seen == wanted, "the token is authenticated", expected=wanted, observed=seen)


@then('a review of the token "{token}" does not authenticate it')
def _(world: World, token: str) -> None:
    """A TokenReview of a text that the API server did not issue names no user."""
    seen = bool(_reviewed(world, token).get("authenticated"))
    world.check(not seen, "the token is not authenticated", expected=False, observed=seen)
