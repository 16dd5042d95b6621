"""Authentication and authorization: 401 and 403 bodies, RBAC, reviews, impersonation, node identities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, delete, get, patch, post
from verification.fidelity.probes.objects import (
    CLAIMS,
    CORE,
    DRA,
    MAPS,
    PODS,
    RBAC,
    SLICES,
    claim,
    config_map,
    slice_of,
)

# A user without any role.
_OTHER_USER = ("nobody-special", ())
# The Node authorizer and NodeRestriction go by this prefix and this group.
_NODE = ("system:node:fid-node", ("system:nodes",))
_REVIEWS = "/apis/authorization.k8s.io/v1"


def _denied() -> Iterator[Probe]:
    table = {
        "get": get(MAPS + "/a", user=_OTHER_USER),
        "list": get(MAPS, user=_OTHER_USER),
        "list-all": get(CORE + "/configmaps", user=_OTHER_USER),
        "create": post(MAPS, config_map(), user=_OTHER_USER),
        "patch": patch(CLAIMS + "/c/status", {}, user=_OTHER_USER),
        "delete": delete(CLAIMS + "/c", user=_OTHER_USER),
        "delete-collection": delete(CLAIMS, user=_OTHER_USER),
        "cluster": get(SLICES, user=_OTHER_USER),
        "cluster-create": post(SLICES, slice_of(), user=_OTHER_USER),
        "path": get("/metrics", user=_OTHER_USER),
        "unknown": get("/apis/nothing.example.com/v1/things", user=_OTHER_USER),
        "discovery": get("/apis/resource.k8s.io", user=_OTHER_USER, keep=("kind", "name")),
        "version": get("/version", user=_OTHER_USER, keep="code"),
        "binding": post(PODS + "/p/binding", {}, user=_OTHER_USER),
        "watch-param": get(MAPS, query=(("watch", "true"), ("timeoutSeconds", "1")), user=_OTHER_USER),
    }
    for name, step in table.items():
        yield Probe(f"access/denied-{name}", (step,))
    bad = {"Authorization": "Bearer wrong"}
    none = {"Authorization": ""}
    for name, headers in {"bad-token": bad, "anonymous": none}.items():
        yield Probe(f"access/{name}-get", (get(MAPS, headers=headers),))
        yield Probe(f"access/{name}-healthz", (get("/healthz", headers=headers),))
        yield Probe(f"access/{name}-unknown", (get("/nothing", headers=headers),))
    yield Probe("access/basic", (get(MAPS, headers={"Authorization": "Basic YTpi"}),))


def _granted() -> Iterator[Probe]:
    role = {
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get", "list"]}],
    }
    binding: dict[str, Any] = {
        "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "fid-granted"}],
    }
    user = ("fid-granted", ())
    grant = (
        post(RBAC + "/namespaces/{ns}/roles", role),
        post(RBAC + "/namespaces/{ns}/rolebindings", binding),
        # kube-apiserver authorizes from a cache: a new role takes effect a moment later.
        get(CLAIMS, until=200, keep="code", user=user),
    )
    yield Probe("access/granted", (*grant, get(CLAIMS + "/c", user=user), post(CLAIMS, claim(), user=user)))
    yield Probe("access/granted-status", (*grant, patch(CLAIMS + "/c/status", {}, user=user)))
    yield Probe(
        "access/granted-review",
        (
            *grant,
            post(
                _REVIEWS + "/selfsubjectaccessreviews",
                _review("list", "resourceclaims"),
                user=user,
                keep=("status.allowed",),
            ),
            post(
                _REVIEWS + "/selfsubjectaccessreviews",
                _review("delete", "resourceclaims"),
                user=user,
                keep=("status.allowed",),
            ),
        ),
    )
    yield Probe(
        "access/role-ref-fixed",
        (
            *grant[:2],
            patch(RBAC + "/namespaces/{ns}/rolebindings/b", {"roleRef": {"name": "other"}}),
        ),
    )
    absent = {**binding, "roleRef": {**binding["roleRef"], "kind": "Nothing"}}
    yield Probe("access/role-ref-bad", (post(RBAC + "/namespaces/{ns}/rolebindings", absent),))
    yield Probe("access/role-bad", (post(RBAC + "/namespaces/{ns}/roles", {"metadata": {"name": "r"}, "rules": [{}]}),))
    path_rule = {"metadata": {"name": "{id}"}, "rules": [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]}
    yield Probe("access/cluster-role-path", (post(RBAC + "/clusterroles", path_rule),))
    yield Probe("access/escalation", (post(RBAC + "/namespaces/{ns}/roles", role, user=_OTHER_USER),))
    headers = {"Impersonate-User": "someone"}
    yield Probe("access/impersonate", (get(MAPS, headers=headers),))
    yield Probe("access/impersonate-denied", (get(MAPS, headers=headers, user=_OTHER_USER),))
    yield Probe("access/impersonate-path-denied", (get("/version", headers=headers, user=_OTHER_USER),))
    made = post(CLAIMS, claim(), headers=headers, user=_OTHER_USER)
    yield Probe("access/impersonate-write-denied", (made,))


def _review(verb: str, resource: str, **more: Any) -> dict[str, Any]:
    attributes = {"verb": verb, "resource": resource, "group": "resource.k8s.io", "namespace": "{ns}", **more}
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


def _reviews() -> Iterator[Probe]:
    endpoint = _REVIEWS + "/selfsubjectaccessreviews"
    yield Probe(
        "access/review-admin",
        (post(endpoint, _review("create", "resourceclaims"), keep=("status.allowed", "spec", "kind")),),
    )
    yield Probe("access/review-denied", (post(endpoint, _review("create", "resourceclaims"), user=_OTHER_USER),))
    yield Probe("access/review-empty", (post(endpoint, {"spec": {}}),))
    yield Probe(
        "access/review-path",
        (
            post(
                endpoint,
                {"spec": {"nonResourceAttributes": {"path": "/healthz", "verb": "get"}}},
                user=_OTHER_USER,
                keep=("status.allowed",),
            ),
        ),
    )
    both = {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}, "resourceAttributes": {"verb": "get"}}}
    yield Probe("access/review-both", (post(endpoint, both),))
    other = {
        "spec": {
            "user": "nobody-special",
            "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "{ns}"},
        }
    }
    yield Probe("access/review-other", (post(_REVIEWS + "/subjectaccessreviews", other, keep=("status.allowed",)),))
    yield Probe("access/review-other-empty", (post(_REVIEWS + "/subjectaccessreviews", {"spec": {}}),))
    yield Probe(
        "access/who-am-i",
        (
            post(
                "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                {},
                user=("someone", ("team",)),
                keep=("kind", "status.userInfo.username", "status.userInfo.groups"),
            ),
        ),
    )
    yield Probe(
        "access/rules-review",
        (
            post(
                _REVIEWS + "/selfsubjectrulesreviews",
                {"spec": {"namespace": "{ns}"}},
                user=_OTHER_USER,
                # Not the rules: they depend on the roles that a real control plane creates for itself.
                keep=("kind", "status.incomplete"),
            ),
        ),
    )
    token = {"spec": {"token": "wrong"}}
    yield Probe("access/token-review-wrong", (post("/apis/authentication.k8s.io/v1/tokenreviews", token),))
    yield Probe(
        "access/token-request",
        (
            post(CORE + "/namespaces/{ns}/serviceaccounts", {"metadata": {"name": "sa"}}, keep="code"),
            post(
                CORE + "/namespaces/{ns}/serviceaccounts/sa/token",
                {"spec": {"expirationSeconds": 3600}},
                # Not the token and its expiry, which differ every time.
                keep=("kind", "spec.expirationSeconds", "spec.audiences", "metadata.name"),
            ),
        ),
    )


def _nodes() -> Iterator[Probe]:
    own = slice_of(nodeName="fid-node")
    yield Probe("access/node-slice-own", (post(SLICES, own, user=_NODE),))
    yield Probe("access/node-slice-other", (post(SLICES, slice_of(nodeName="other"), user=_NODE),))
    yield Probe("access/node-slice-list", (get(SLICES, user=_NODE),))
    field = (("fieldSelector", "spec.nodeName=fid-node,metadata.name={id}"),)
    yield Probe("access/node-slice-list-own", (get(SLICES, user=_NODE, query=field, keep=("kind",)),))
    yield Probe(
        "access/node-slice-get-other", (post(SLICES, slice_of(), keep="none"), get(SLICES + "/{id}", user=_NODE))
    )
    yield Probe("access/node-claim", (post(CLAIMS, claim(), keep="none"), get(CLAIMS + "/c", user=_NODE)))
    yield Probe("access/node-claim-list", (get(CLAIMS, user=_NODE),))
    yield Probe("access/node-class", (get(DRA + "/deviceclasses", user=_NODE),))
    yield Probe("access/node-pods", (get(CORE + "/pods", user=_NODE),))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _denied()
    yield from _granted()
    yield from _reviews()
    yield from _nodes()
