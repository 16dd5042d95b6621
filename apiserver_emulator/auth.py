"""Authentication by bearer tokens, and authorization by RBAC objects.

Tokens are random and opaque. `Authenticator` keeps them in memory until the server ends; nothing logs them. The
authorizer reads roles and bindings from the store for each request, so a change takes effect at once.

Source: pkg/registry/rbac/validation (rule matching), k8s.io/apiserver endpoints/filters (texts of 401 and 403).
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from apiserver_emulator.node_authorizer import NodeAuthorizer
from apiserver_emulator.selectors import parse_fields
from apiserver_emulator.store import Store
from dra_api.gotext import go_quote
from dra_api.request import RequestInfo, User
from dra_api.status import StatusError, bad_request, forbidden

Obj = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
ADMIN = User("kubernetes-admin", groups=("system:masters", "system:authenticated"))
ANONYMOUS = User("system:anonymous", groups=("system:unauthenticated",))

# Every authenticated user may read these without a role (system:discovery, system:public-info-viewer), and may create
# about themselves (system:basic-user).
_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY_PATHS = ("/api", "/apis", "/openapi", "/healthz", "/livez", "/readyz", "/version")
_EVERYBODY = frozenset({"system:authenticated", "system:unauthenticated"})
_ACCOUNT = "system:serviceaccount:"
_NAME_IS = ("metadata.name", "=")
_SELF_REVIEWS = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"})


@dataclass(frozen=True, slots=True)
class Token:
    """One bearer token's meaning. `is_bound` returns whether the objects that it is bound to are still there."""

    user: User
    expires: datetime | None = None
    is_bound: Callable[[], bool] | None = None


class Authenticator:
    """Bearer tokens to users."""

    def __init__(self, now: Any) -> None:
        self._now = now
        self._tokens: dict[str, Token] = {}
        self._lock = threading.Lock()

    def issue(self, user: User, *, expires: datetime | None = None, is_bound: Callable[[], bool] | None = None) -> str:
        """A new token for a user."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._tokens[token] = Token(user, expires, is_bound)
        return token

    def user(self, token: str) -> User | None:
        """Whose token this is; None when it is unknown or expired, or when what it is bound to is gone."""
        # Without the lock: one dict lookup is atomic.
        found = self._tokens.get(token)
        if found is None or (found.expires is not None and found.expires <= self._now()):
            return None
        return found.user if found.is_bound is None or found.is_bound() else None

    def authenticate(self, headers: Mapping[str, str]) -> User:
        """The user of a request. Raises 401 for a bad token; no token is the anonymous user."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":  # only `impersonated` reads the header
            return ANONYMOUS
        user = self.user(token.strip())
        if user is None:
            raise StatusError(401, "Unauthorized", "Unauthorized")
        return user


def service_account_user(
    namespace: str, name: str, *, uid: str = "", extra: Mapping[str, tuple[str, ...]] | None = None
) -> User:
    """Return the user that a service account's token authenticates."""
    return User(
        f"system:serviceaccount:{namespace}:{name}",
        uid=uid,
        groups=("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"),
        extra=extra or {},
    )


def impersonated(
    user: User, headers: Mapping[str, str], rbac: RbacAuthorizer, *, request: RequestInfo | None = None
) -> User:
    """Return the user that the Impersonate-* headers name. Raises 403 if `user` may not impersonate it.

    `request`: the request itself, which releases with ConstrainedImpersonation (1.36) name in the refusal.
    """
    name = headers.get("impersonate-user", "")
    groups = tuple(g.strip() for g in headers.get("impersonate-group", "").split(",") if g.strip())
    if not name:
        shown = ", ".join(go_quote(group) for group in groups)
        raise bad_request(
            f'requested &user.DefaultInfo{{Name:"", UID:"", Groups:[]string{{{shown}}}, '
            "Extra:map[string][]string(nil)} without impersonating a user name"
        )
    extra = {
        key.removeprefix("impersonate-extra-").replace("%2f", "/"): tuple(v.strip() for v in value.split(","))
        for key, value in headers.items()
        if key.startswith("impersonate-extra-")
    }
    uid = headers.get("impersonate-uid", "")
    for impersonation in _impersonations(name, uid=uid, groups=groups, extra=extra):
        if not (user.is_master or rbac.allowed(user, impersonation)):
            if request is not None:
                impersonation = replace(request, verb=f"impersonate-on:user-info:{request.verb}")
            raise denied(user, impersonation)
    # A service account has its own groups, unless the request names groups.
    if name.startswith(_ACCOUNT) and not groups:
        namespace, _, account = name.removeprefix(_ACCOUNT).partition(":")
        return service_account_user(namespace, account, uid=uid, extra=extra)
    if name != "system:anonymous" and not {"system:authenticated", "system:unauthenticated"} & {*groups}:
        groups = (*groups, "system:authenticated")
    return User(name, uid=uid, groups=groups, extra=extra)


def _impersonations(
    name: str, *, uid: str, groups: Iterable[str], extra: Mapping[str, Iterable[str]]
) -> Iterator[RequestInfo]:
    """Yield what a client must be allowed to impersonate: the name, the uid, each group and each extra value."""
    namespace, _, account = name.removeprefix(_ACCOUNT).partition(":")
    if name.startswith(_ACCOUNT) and namespace and account:
        yield RequestInfo("impersonate", "", "", "v1", namespace, "serviceaccounts", account)
    else:
        yield RequestInfo("impersonate", "", "", "v1", "", "users", name)
    if uid:
        yield RequestInfo("impersonate", "", "authentication.k8s.io", "v1", "", "uids", uid)
    for group in groups:
        yield RequestInfo("impersonate", "", "", "v1", "", "groups", group)
    for key, values in extra.items():
        for value in values:
            yield RequestInfo("impersonate", "", "authentication.k8s.io", "v1", "", "userextras", value, key)


def named_by_selector(info: RequestInfo) -> RequestInfo:
    """Return a request as authorizers get it: a list of one name, by field selector, has that name."""
    if info.verb not in ("list", "watch", "deletecollection") or not info.field_selector:
        return info
    names = [value for field, operator, value in parse_fields(info.field_selector) if (field, operator) == _NAME_IS]
    return replace(info, name=names[0]) if names else info


def denied(user: User, info: RequestInfo, reason: str = "") -> StatusError:
    """The 403 of the authorization filter; `reason` is the authorizer's."""
    who = f"User {go_quote(user.name)} cannot {info.verb} "
    if not info.is_resource:
        return forbidden("", "", "", f"{who}path {go_quote(info.path)}")
    resource = info.resource + (f"/{info.subresource}" if info.subresource else "")
    text = f"{who}resource {go_quote(resource)} in API group {go_quote(info.group)}"
    if info.namespace:
        text += f" in the namespace {go_quote(info.namespace)}"
    else:
        text += " at the cluster scope"
    if reason:
        text += f": {reason}"
    return forbidden(info.group, info.resource, info.name, text)


class RbacAuthorizer:
    """Roles, ClusterRoles and their bindings, read from the store; node identities have an authorizer of their own."""

    def __init__(self, store: Store, *, minor: int) -> None:
        self._store = store
        self._nodes = NodeAuthorizer(store)
        self.set_release(minor)

    def set_release(self, minor: int) -> None:
        """Give the reasons of a release."""
        # Since 1.37 a reason begins with the name of the authorizer.
        self._node_prefix = "node: " if minor >= 37 else ""

    def allowed(self, user: User, info: RequestInfo) -> bool:
        """Whether some authorizer allows it."""
        return self.decide(user, info)[0]

    def decide(self, user: User, info: RequestInfo) -> tuple[bool, str]:
        """Decide by the Node authorizer, then by RBAC."""
        if user.is_master:
            return True, ""
        allowed, why_not = self._nodes.decide(user, info)
        if allowed or self._role_allows(user, info):
            return True, ""
        return False, f"{self._node_prefix}{why_not}" if why_not else ""

    def _role_allows(self, user: User, info: RequestInfo) -> bool:
        if not info.is_resource:
            return self._path_allowed(user, info)
        if (
            info.verb == "create"
            and info.group in ("authorization.k8s.io", "authentication.k8s.io")
            and info.resource in _SELF_REVIEWS
        ):
            return "system:authenticated" in user.groups
        return any(_rule_allows(rule, info) for rule in self.rules(user, info.namespace))

    def _path_allowed(self, user: User, info: RequestInfo) -> bool:
        # For anonymous users too (system:public-info-viewer): every user of a request is in one of these groups.
        if info.verb == "get" and info.path in _PUBLIC_PATHS and not _EVERYBODY.isdisjoint(user.groups):
            return True
        if (
            info.verb == "get"
            and "system:authenticated" in user.groups
            and any(info.path == path or info.path.startswith(path + "/") for path in _DISCOVERY_PATHS)
        ):
            return True
        for rule in self.rules(user, ""):
            if not _has(rule.get("verbs"), info.verb):
                continue
            for pattern in rule.get("nonResourceURLs") or ():
                if pattern == info.path or (pattern.endswith("*") and info.path.startswith(pattern[:-1])):
                    return True
        return False

    def rules(self, user: User, namespace: str) -> Iterator[Obj]:
        """All rules that bind the user cluster-wide and in a namespace."""
        for binding in self._objects("clusterrolebindings", ""):
            if _binds(binding, user, ""):
                yield from self._role_rules(binding["roleRef"], "")
        if namespace:
            for binding in self._objects("rolebindings", namespace):
                if _binds(binding, user, namespace):
                    yield from self._role_rules(binding["roleRef"], namespace)

    def _objects(self, plural: str, namespace: str) -> list[Obj]:
        return [record.obj for record in self._store.snapshot((RBAC, plural), namespace)[0]]

    def _role_rules(self, reference: Obj, namespace: str) -> list[Obj]:
        if reference.get("kind") == "ClusterRole":
            record = self._store.get((RBAC, "clusterroles"), ("", reference.get("name", "")))
        else:
            record = self._store.get((RBAC, "roles"), (namespace, reference.get("name", "")))
        return list(record.obj.get("rules") or ()) if record else []


def _binds(binding: Obj, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        if kind == "ServiceAccount":
            where = subject.get("namespace") or namespace
            if user.name == f"system:serviceaccount:{where}:{name}":
                return True
    return False


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)


def _rule_allows(rule: Obj, info: RequestInfo) -> bool:
    if not (_has(rule.get("verbs"), info.verb) and _has(rule.get("apiGroups"), info.group)):
        return False
    # A request without a name (create, most lists) never matches a rule with resourceNames.
    names = rule.get("resourceNames")
    if names and info.name not in names:
        return False
    resources = rule.get("resources") or ()
    combined = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    if "*" in resources or combined in resources:
        return True
    return bool(info.subresource) and f"*/{info.subresource}" in resources
