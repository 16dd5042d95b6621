"""Reviews and token requests: questions that are answered and not stored.

Source: authorization.k8s.io/v1, authentication.k8s.io/v1.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import orjson

from apiserver_emulator.auth import ANONYMOUS, Authenticator, RbacAuthorizer, service_account_user
from apiserver_emulator.core import Core
from apiserver_emulator.decoding import decode_body
from apiserver_emulator.discovery import REVIEWS
from apiserver_emulator.node_authorizer import restrict_token
from apiserver_emulator.registry.admission import admit
from apiserver_emulator.resource_types import ResourceType
from dra_api.clock import parse_timestamp, timestamp
from dra_api.request import Request, RequestInfo, User
from dra_api.status import FieldError, bad_request, conflict, invalid, invalid_object, not_found
from dra_api.transport import Response

Obj = dict[str, Any]

_ISSUER = "https://kubernetes.default.svc.cluster.local"

_END_TOLERANCE = timedelta(seconds=60)
DEFAULT_TOKEN_S = 3600
MIN_TOKEN_S = 600
POD_NAME = "authentication.kubernetes.io/pod-name"
POD_UID = "authentication.kubernetes.io/pod-uid"
NODE_NAME = "authentication.kubernetes.io/node-name"
NODE_UID = "authentication.kubernetes.io/node-uid"


_EXACTLY_ONE = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


def _access_errors(spec: Obj, *, named: bool, minor: int) -> list[FieldError]:
    """ValidateSubjectAccessReviewSpec; `named`: the review names a user."""
    wanted, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    problems: list[FieldError] = []
    if wanted is not None and path is not None:
        shown = {"Path": path.get("path", ""), "Verb": path.get("verb", "")}
        detail = "cannot be specified in combination with resourceAttributes"
        field = "spec.nonResourceAttributes"
        if minor >= 37:
            field, detail = "spec", _EXACTLY_ONE
        problems.append(invalid(field, shown, detail))
    elif wanted is None and path is None:
        problems.append(invalid("spec" if minor >= 37 else "spec.resourceAttributes", None, _EXACTLY_ONE))
    if named and not spec.get("user") and not spec.get("groups"):
        problems.append(invalid("spec.user", "", "at least one of user or group must be specified"))
    return problems


class Reviews:
    """Answers them."""

    def __init__(self, core: Core, authenticator: Authenticator, rbac: RbacAuthorizer) -> None:
        self._core = core
        self._authenticator = authenticator
        self._rbac = rbac

    def answer(self, request: Request, info: RequestInfo) -> Response:
        """One review."""
        kind = REVIEWS[(info.group, info.resource)][0]
        context = self._core.context(request, info)
        body: Obj = {}
        if request.body or kind != "SelfSubjectReview":
            body = _decoded(request, kind, info.group)
        user = request.user or ANONYMOUS
        spec = body.get("spec") or {}
        if kind in ("SelfSubjectAccessReview", "SubjectAccessReview", "LocalSubjectAccessReview"):
            if kind != "SelfSubjectAccessReview":
                user = User(
                    spec.get("user", ""),
                    uid=spec.get("uid", ""),
                    groups=tuple(spec.get("groups") or ()),
                    extra={k: tuple(v) for k, v in (spec.get("extra") or {}).items()},
                )
            if problems := _access_errors(spec, named=kind != "SelfSubjectAccessReview", minor=context.minor):
                raise invalid_object(info.group, "", "", problems)
            status: Obj = self._access(user, spec)
        elif kind == "TokenReview":
            status = self._token_status(spec.get("token", ""))
        elif kind == "SelfSubjectReview":
            status = {"userInfo": _user_info(user)}
        else:
            status = self._rules(user, spec.get("namespace", ""))
        metadata = body.get("metadata") or {}
        answer: Obj = {"kind": kind, "apiVersion": f"{info.group}/v1", "metadata": metadata, "spec": spec}
        namespaced = REVIEWS[(info.group, info.resource)][1]
        resource = ResourceType(info.group, info.resource, kind, ("v1",), "v1", namespaced=namespaced)
        if context.minor < 37:  # webhooks do not get reviews since 1.37
            admit(self._core, resource, "CREATE", info, context, dict(answer), None)
        answer["status"] = status
        return Response(201, {"content-type": "application/json"}, orjson.dumps(answer))

    def _access(self, user: User, spec: Obj) -> Obj:
        wanted: Obj | None = spec.get("resourceAttributes")
        path: Obj = spec.get("nonResourceAttributes") or {}
        if wanted is not None:
            question = RequestInfo(
                wanted.get("verb", ""),
                "",
                wanted.get("group", ""),
                wanted.get("version", ""),
                wanted.get("namespace", ""),
                wanted.get("resource", ""),
                wanted.get("name", ""),
                wanted.get("subresource", ""),
            )
        else:
            question = RequestInfo(path.get("verb", ""), path.get("path", ""))
        allowed, why_not = self._rbac.decide(user, question)
        status: Obj = {"allowed": allowed}
        if why_not and not allowed:
            status["reason"] = why_not
        return status

    def _rules(self, user: User, namespace: str) -> Obj:
        resource_rules, path_rules = [], []
        rules = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}] if user.is_master else []
        for rule in [*rules, *self._rbac.rules(user, namespace)]:
            if rule.get("resources"):
                resource_rules.append(
                    {k: rule[k] for k in ("verbs", "apiGroups", "resources", "resourceNames") if k in rule}
                )
            if rule.get("nonResourceURLs"):
                path_rules.append({k: rule[k] for k in ("verbs", "nonResourceURLs") if k in rule})
        return {"resourceRules": resource_rules, "nonResourceRules": path_rules, "incomplete": False}

    def _token_status(self, token: str) -> Obj:
        user = self._authenticator.user(token)
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(user), "audiences": [_ISSUER]}

    def token(self, request: Request, info: RequestInfo) -> Response:
        """POST serviceaccounts/<name>/token: a token that may be bound to a pod."""
        account = self._core.store.get(("", "serviceaccounts"), (info.namespace, info.name))
        if account is None:
            raise not_found("", "serviceaccounts", info.name)
        body = _decoded(request, "TokenRequest", "authentication.k8s.io")
        spec = dict(body.get("spec") or {})
        seconds = spec.get("expirationSeconds", DEFAULT_TOKEN_S)
        if seconds < MIN_TOKEN_S:
            raise invalid_object(
                "authentication.k8s.io",
                "TokenRequest",
                "",
                [invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")],
            )
        reference = spec.get("boundObjectRef")
        pod = self._core.lookup("", "pods", info.namespace, (reference or {}).get("name", ""))
        restrict_token(info.name, reference, request.user or ANONYMOUS, pod)
        resource = ResourceType(info.group, info.resource, "TokenRequest", ("v1",), "v1")
        metadata = {"name": info.name, "namespace": info.namespace}
        made = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata, "spec": spec}
        admit(self._core, resource, "CREATE", info, self._core.context(request, info), made, None)
        # Reads the pod again, as upstream does: webhooks ran since, and the pod can be gone.
        extra = self._bound(reference, info)
        expires = self._core.clock.now() + timedelta(seconds=seconds)
        user = service_account_user(info.namespace, info.name, uid=account.obj["metadata"]["uid"], extra=extra)
        spec.setdefault("expirationSeconds", seconds)
        spec.setdefault("audiences", [_ISSUER])
        answer = {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": info.name,
                "namespace": info.namespace,
                "creationTimestamp": timestamp(self._core.clock.now()),
            },
            "spec": spec,
            "status": {
                "token": self._authenticator.issue(user, expires=expires, is_bound=lambda: self._is_bound(info, user)),
                "expirationTimestamp": timestamp(expires),
            },
        }
        return Response(201, {"content-type": "application/json"}, orjson.dumps(answer))

    def _is_bound(self, info: RequestInfo, user: User) -> bool:
        """Return whether the account of a token, and the pod that it may be bound to, are the ones it was issued for.

        A pod in deletion counts until a minute after its end, as upstream (Validator, expirationTolerance).
        """
        account = self._core.lookup("", "serviceaccounts", info.namespace, info.name)
        if account is None or account["metadata"]["uid"] != user.uid:
            return False
        if POD_UID not in user.extra:
            return True
        pod = self._core.lookup("", "pods", info.namespace, user.extra[POD_NAME][0])
        if pod is None or pod["metadata"]["uid"] != user.extra[POD_UID][0]:
            return False
        end = pod["metadata"].get("deletionTimestamp")
        return end is None or parse_timestamp(end) + _END_TOLERANCE > self._core.clock.now()

    def _bound(self, reference: Obj | None, info: RequestInfo) -> dict[str, tuple[str, ...]]:
        if not reference:
            return {}
        # Tokens bound to Secrets and Nodes are not emulated: they are issued unbound.
        if reference.get("kind") != "Pod":
            return {}
        name = reference.get("name", "")
        pod = self._core.store.get(("", "pods"), (info.namespace, name))
        if pod is None:
            raise not_found("", "pods", name)
        uid = pod.obj["metadata"]["uid"]
        if reference.get("uid") and reference["uid"] != uid:
            raise conflict(
                "",
                "Pod",
                name,
                f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. The "
                "object might have been deleted and then recreated",
            )
        extra: dict[str, tuple[str, ...]] = {POD_NAME: (name,), POD_UID: (uid,)}
        node = (pod.obj.get("spec") or {}).get("nodeName")
        if node:
            extra[NODE_NAME] = (node,)
            record = self._core.store.get(("", "nodes"), ("", node))
            if record is not None:
                extra[NODE_UID] = (record.obj["metadata"]["uid"],)
        return extra


def _decoded(request: Request, kind: str, group: str) -> Obj:
    """Return the object in the body. Raises 400 for another kind."""
    found = decode_body(request.body, request.headers.get("content-type", ""), kind=kind).obj
    if found.get("kind") not in (None, "", kind):
        sent, version = found["kind"], found.get("apiVersion", "")
        # The Go types, as upstream's scheme names them.
        types = f"({version.rpartition('/')[2]}.{sent}) to ({group.partition('.')[0]}.{kind})"
        raise bad_request(
            f'{sent} in version "{version}" cannot be handled as a {kind}: converting {types}: unknown conversion'
        )
    return found


def _user_info(user: User) -> Obj:
    found: Obj = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        found["uid"] = user.uid
    if user.extra:
        found["extra"] = {k: list(v) for k, v in user.extra.items()}
    return found
