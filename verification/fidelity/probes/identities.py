"""Nodes as clients (Node authorizer, NodeRestriction), tokens of service accounts, impersonation, and reviews."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import Probe, Step, delete, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CORE,
    DRA,
    MAPS,
    NS,
    PODS,
    RBAC,
    SLICES,
    claim,
    config_map,
    pod,
    slice_of,
)

# The probe's own node, whose name is its id.
_NODE = ("system:node:{id}", ("system:nodes",))
_ONE_NODE = CORE + "/nodes/{id}"
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_REVIEWS = "/apis/authorization.k8s.io/v1"
_ACCOUNTS = NS + "/serviceaccounts"


def _bound(**spec: Any) -> Step:
    return post(PODS, pod(nodeName="{id}", **spec), keep="none")


def _own(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"holderIdentity": "me"}}


def _nodes() -> Iterator[Probe]:
    new = {"metadata": {"name": "{id}"}}
    other = {"metadata": {"name": "{id}-other"}}
    secret = {"metadata": {"name": "s"}}
    table: dict[str, tuple[Step, ...]] = {
        "node-create": (post(CORE + "/nodes", new, user=_NODE, keep="status"),),
        "node-create-other": (post(CORE + "/nodes", other, user=_NODE, keep="status"),),
        "node-get": (post(CORE + "/nodes", new, keep="none"), get(_ONE_NODE, user=_NODE, keep="status")),
        "node-get-other": (post(CORE + "/nodes", other, keep="none"), get(_ONE_NODE + "-other", user=_NODE)),
        "node-get-absent": (get(_ONE_NODE, user=_NODE),),
        "node-list": (get(CORE + "/nodes", user=_NODE),),
        "node-list-own": (
            get(CORE + "/nodes", query=(("fieldSelector", "metadata.name={id}"),), user=_NODE, keep="status"),
        ),
        "node-list-other": (get(CORE + "/nodes", query=(("fieldSelector", "metadata.name=x"),), user=_NODE),),
        "node-label": (
            post(CORE + "/nodes", new, keep="none"),
            patch(_ONE_NODE, {"metadata": {"labels": {"example.com/a": "b"}}}, user=_NODE, keep="status"),
        ),
        "node-status": (
            post(CORE + "/nodes", new, keep="none"),
            patch(_ONE_NODE + "/status", {"status": {"capacity": {"cpu": "1"}}}, user=_NODE, keep="status"),
        ),
        "node-status-other": (
            post(CORE + "/nodes", other, keep="none"),
            patch(_ONE_NODE + "-other/status", {}, user=_NODE),
        ),
        "node-delete": (post(CORE + "/nodes", new, keep="none"), delete(_ONE_NODE, user=_NODE)),
        "lease-create": (post(_LEASES, _own("{id}"), user=_NODE, keep="status"),),
        "lease-get": (post(_LEASES, _own("{id}"), keep="none"), get(_LEASES + "/{id}", user=_NODE, keep="status")),
        "lease-get-other": (post(_LEASES, _own("{id}-x"), keep="none"), get(_LEASES + "/{id}-x", user=_NODE)),
        "lease-patch": (
            post(_LEASES, _own("{id}"), keep="none"),
            patch(_LEASES + "/{id}", {"spec": {"leaseTransitions": 1}}, user=_NODE, keep="status"),
        ),
        "lease-delete": (
            post(_LEASES, _own("{id}"), keep="none"),
            delete(_LEASES + "/{id}", user=_NODE, keep="status"),
        ),
        "lease-list": (get(_LEASES, user=_NODE),),
        "lease-elsewhere": (get("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/{id}", user=_NODE),),
        "pods-own": (get(CORE + "/pods", query=(("fieldSelector", "spec.nodeName={id}"),), user=_NODE, keep="status"),),
        "pods-other": (get(CORE + "/pods", query=(("fieldSelector", "spec.nodeName=x"),), user=_NODE),),
        "pod-get": (_bound(), get(PODS + "/p", user=_NODE, keep="status")),
        "pod-get-unbound": (post(PODS, pod(), keep="none"), get(PODS + "/p", user=_NODE)),
        "pod-get-other": (post(PODS, pod(nodeName="x"), keep="none"), get(PODS + "/p", user=_NODE)),
        "pod-get-absent": (get(PODS + "/p", user=_NODE),),
        "pod-status": (
            _bound(),
            patch(PODS + "/p/status", {"status": {"phase": "Running"}}, user=_NODE, keep="status"),
        ),
        "pod-status-other": (
            post(PODS, pod(nodeName="x"), keep="none"),
            patch(PODS + "/p/status", {"status": {"phase": "Running"}}, user=_NODE),
        ),
        "pod-label": (_bound(), patch(PODS + "/p", {"metadata": {"labels": {"a": "b"}}}, user=_NODE)),
        "pod-delete": (_bound(), delete(PODS + "/p", {"gracePeriodSeconds": 0}, user=_NODE, keep="status")),
        "pod-delete-other": (post(PODS, pod(nodeName="x"), keep="none"), delete(PODS + "/p", user=_NODE)),
        "pod-log": (_bound(), get(PODS + "/p/log", user=_NODE, keep="status")),
        "pod-create": (post(PODS, pod(nodeName="{id}"), user=_NODE),),
        "class-get": (get(DRA + "/deviceclasses/x", user=_NODE),),
        "template-get": (get(DRA + "/namespaces/{ns}/resourceclaimtemplates/x", user=_NODE),),
        "service-list": (get(NS + "/services", user=_NODE, keep="status"),),
        "event": (
            post(
                NS + "/events",
                {"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"}},
                user=_NODE,
                keep="status",
            ),
        ),
        "event-get": (get(NS + "/events/e", user=_NODE),),
        "slices-delete-own": (
            delete(SLICES, query=(("fieldSelector", "spec.nodeName={id}"),), user=_NODE, keep="status"),
        ),
        "slices-delete-all": (delete(SLICES, user=_NODE),),
        "slice-get-own": (
            post(SLICES, slice_of(nodeName="{id}"), keep="none"),
            get(SLICES + "/{id}", user=_NODE, keep="status"),
        ),
        "slice-delete-own": (
            post(SLICES, slice_of(nodeName="{id}"), keep="none"),
            delete(SLICES + "/{id}", user=_NODE, keep="status"),
        ),
        "slice-update-own": (
            post(SLICES, slice_of(nodeName="{id}"), keep="none"),
            patch(SLICES + "/{id}", {"metadata": {"labels": {"a": "b"}}}, user=_NODE, keep="status"),
        ),
        "slice-update-other": (
            post(SLICES, slice_of(), keep="none"),
            patch(SLICES + "/{id}", {"metadata": {"labels": {"a": "b"}}}, user=_NODE),
        ),
        "slice-status": (
            post(SLICES, slice_of(nodeName="{id}"), keep="none"),
            get(SLICES + "/{id}/status", user=_NODE),
        ),
        "account-get": (
            post(_ACCOUNTS, {"metadata": {"name": "sa"}}, keep="none"),
            _bound(serviceAccountName="sa"),
            get(_ACCOUNTS + "/sa", user=_NODE, keep="status"),
        ),
        "account-get-other": (get(_ACCOUNTS + "/default", user=_NODE, keep="status"),),
        "account-token": (
            post(_ACCOUNTS, {"metadata": {"name": "sa"}}, keep="none"),
            _bound(serviceAccountName="sa"),
            post(_ACCOUNTS + "/sa/token", {"spec": {}}, user=_NODE, keep="status"),
        ),
        "token-review": (
            post("/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {"token": "x"}}, user=_NODE, keep="status"),
        ),
        "claims-list": (get(CLAIMS, user=_NODE),),
        "claims-list-named": (get(CLAIMS, query=(("fieldSelector", "metadata.name=c"),), user=_NODE),),
        "claim-patch": (post(CLAIMS, claim(), keep="none"), patch(CLAIMS + "/c", {}, user=_NODE)),
        "secret-list": (get(NS + "/secrets", user=_NODE),),
        "map-unrelated": (post(MAPS, config_map(), keep="none"), get(MAPS + "/a", user=_NODE)),
    }
    for name, steps in table.items():
        yield Probe(f"identity/{name}", steps, pods=True)
    container = {"name": "main", "image": "x"}
    references: dict[str, dict[str, Any]] = {
        "volume": {"volumes": [{"name": "v", "{what}": {"{key}": "s"}}]},
        "projected": {"volumes": [{"name": "v", "projected": {"sources": [{"{what}": {"name": "s"}}]}}]},
        "env-from": {"containers": [{**container, "envFrom": [{"{what}Ref": {"name": "s"}}]}]},
        "env": {
            "containers": [
                {**container, "env": [{"name": "E", "valueFrom": {"{what}KeyRef": {"name": "s", "key": "k"}}}]}
            ]
        },
        "init-env": {
            "initContainers": [
                {
                    **container,
                    "name": "i",
                    "env": [{"name": "E", "valueFrom": {"{what}KeyRef": {"name": "s", "key": "k"}}}],
                }
            ]
        },
        "second-volume": {"volumes": [{"name": "u", "emptyDir": {}}, {"name": "v", "{what}": {"{key}": "s"}}]},
    }
    for what, key, path in (("secret", "secretName", NS + "/secrets"), ("configMap", "name", MAPS)):
        for name, spec in references.items():
            made = _replaced(spec, what, key)
            steps = (post(path, secret, keep="none"), _bound(**made), get(path + "/s", user=_NODE, keep="status"))
            yield Probe(f"identity/{what.lower()}-{name}", steps, pods=True)
        # The same name in another kind of object does not count.
        crossed = _replaced(
            references["volume"], *(("configMap", "name") if what == "secret" else ("secret", "secretName"))
        )
        steps = (post(path, secret, keep="none"), _bound(**crossed), get(path + "/s", user=_NODE))
        yield Probe(f"identity/{what.lower()}-crossed", steps, pods=True)
        one = (("fieldSelector", "metadata.name=s"),)
        steps = (post(path, secret, keep="none"), _bound(**made), get(path, query=one, user=_NODE, keep="status"))
        yield Probe(f"identity/{what.lower()}-list-named", steps, pods=True)
        steps = (post(path, secret, keep="none"), _bound(**made), patch(path + "/s", {}, user=_NODE))
        yield Probe(f"identity/{what.lower()}-patch", steps, pods=True)
    pulls = (post(NS + "/secrets", secret, keep="none"), _bound(imagePullSecrets=[{"name": "s"}]))
    yield Probe("identity/secret-pull", (*pulls, get(NS + "/secrets/s", user=_NODE, keep="status")), pods=True)
    by_name = _bound(resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    made_claim = post(CLAIMS, claim(), keep="none")
    yield Probe("identity/claim-named", (made_claim, by_name, get(CLAIMS + "/c", user=_NODE, keep="status")), pods=True)
    status = PODS + "/p/status"
    by_template = _bound(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    entry = patch(status, {"status": {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "c"}]}}, keep="none")
    got = get(CLAIMS + "/c", user=_NODE, keep="status")
    # The graph of kube-apiserver's Node authorizer follows the pod a moment later.
    granted = get(CLAIMS + "/c", user=_NODE, keep="status", until=200, patience=5.0)
    yield Probe("identity/claim-template", (made_claim, by_template, got, entry, granted), pods=True)
    extended = patch(
        status, {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}}}
    )
    yield Probe("identity/claim-extended", (made_claim, _bound(), got, extended, granted), pods=True)
    mirror = {"kubernetes.io/config.mirror": "x"}

    def static(**more: Any) -> dict[str, Any]:
        annotations = more.pop("annotations", mirror)
        made: dict[str, Any] = pod(**{"nodeName": "{id}", **more})
        return {**made, "metadata": {"name": "p", "annotations": annotations}}

    mirrors: dict[str, dict[str, Any]] = {
        "plain": static(),
        "unannotated": static(annotations={"a": "b"}),
        "other-node": static(nodeName="x"),
        "account": static(serviceAccountName="sa"),
        "claims": static(resourceClaims=[{"name": "g", "resourceClaimName": "c"}]),
        "secret": static(volumes=[{"name": "v", "secret": {"secretName": "s"}}]),
    }
    for name, body in mirrors.items():
        steps = (
            post(CORE + "/nodes", new, keep="none"),
            post(PODS, body, user=_NODE, keep="all" if name != "plain" else "status"),
        )
        yield Probe(f"identity/mirror-{name}", steps, pods=True)


def _replaced(found: Any, what: str, key: str) -> Any:
    if isinstance(found, dict):
        return {_replaced(name, what, key): _replaced(value, what, key) for name, value in found.items()}
    if isinstance(found, list):
        return [_replaced(each, what, key) for each in found]
    return found.replace("{what}", what).replace("{key}", key) if isinstance(found, str) else found


def _tokens() -> Iterator[Probe]:
    account = post(_ACCOUNTS, {"metadata": {"name": "sa"}}, keep="code")
    keep = ("kind", "spec.expirationSeconds", "spec.audiences", "spec.boundObjectRef", "metadata.name")
    endpoint = _ACCOUNTS + "/sa/token"
    bodies: dict[str, Any] = {
        "default": {},
        "spec": {"spec": {}},
        "short": {"spec": {"expirationSeconds": 599}},
        "shortest": {"spec": {"expirationSeconds": 600}},
        "audience": {"spec": {"audiences": ["vault"]}},
        "pod": {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}},
        "pod-uid": {
            "spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "{0.metadata.uid}"}}
        },
        "pod-uid-wrong": {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "x"}}},
        "pod-absent": {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "q"}}},
        "wrong-kind": {"kind": "ConfigMap", "apiVersion": "v1"},
    }
    for name, body in bodies.items():
        made = post(PODS, pod(serviceAccountName="sa"), keep="none")
        # The pod first, so that step 0 has its uid; it needs the account.
        steps = (post(_ACCOUNTS, {"metadata": {"name": "sa"}}, keep="none"), made)
        body = _shifted(body)
        yield Probe(f"token/{name}", (*steps, post(endpoint, body, keep=keep)), pods=True)
    yield Probe("token/absent", (post(endpoint, {"spec": {}}),))
    yield Probe("token/dry", (account, post(endpoint, {"spec": {}}, query=(("dryRun", "All"),), keep=keep)))
    yield Probe("token/get", (account, get(endpoint)))
    issue = post(endpoint, {"spec": {}}, keep="none")
    review = {"spec": {"token": "{1.status.token}"}}
    shown = ("status.authenticated", "status.user.username", "status.user.groups", "status.audiences")
    yield Probe(
        "token/review", (account, issue, post("/apis/authentication.k8s.io/v1/tokenreviews", review, keep=shown))
    )
    bound = post(endpoint, {"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}}}, keep="none")
    review = {"spec": {"token": "{2.status.token}"}}
    made = post(PODS, pod(serviceAccountName="sa", nodeName="n-1"), keep="none")
    yield Probe(
        "token/review-pod",
        (account, made, bound, post("/apis/authentication.k8s.io/v1/tokenreviews", review, keep=shown)),
        pods=True,
    )


def _shifted(body: Any) -> Any:
    """The pod is the second object that these probes create."""
    if isinstance(body, dict):
        return {name: _shifted(value) for name, value in body.items()}
    return "{1.metadata.uid}" if body == "{0.metadata.uid}" else body


def _impersonation() -> Iterator[Probe]:
    who = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    keep = ("status.userInfo.username", "status.userInfo.groups", "status.userInfo.extra", "status.userInfo.uid")
    table: dict[str, dict[str, str]] = {
        "user": {"Impersonate-User": "someone"},
        "group": {"Impersonate-User": "someone", "Impersonate-Group": "team"},
        "account": {"Impersonate-User": "system:serviceaccount:n:a"},
        "account-group": {"Impersonate-User": "system:serviceaccount:n:a", "Impersonate-Group": "team"},
        "anonymous": {"Impersonate-User": "system:anonymous"},
        "authenticated": {"Impersonate-User": "someone", "Impersonate-Group": "system:authenticated"},
        "unauthenticated": {"Impersonate-User": "someone", "Impersonate-Group": "system:unauthenticated"},
        "extra": {"Impersonate-User": "someone", "Impersonate-Extra-Scopes": "view"},
        "extra-escaped": {"Impersonate-User": "someone", "Impersonate-Extra-Example.com%2fa": "x"},
        "group-alone": {"Impersonate-Group": "team"},
        "master": {"Impersonate-User": "someone", "Impersonate-Group": "system:masters"},
        "node": {"Impersonate-User": "system:node:n", "Impersonate-Group": "system:nodes"},
    }
    for name, headers in table.items():
        yield Probe(
            f"impersonate/{name}",
            (post(who, {}, headers=headers, keep=keep), get(MAPS, headers=headers, keep="status")),
        )
    # A role for one user and one group.
    user = ("{id}-user", ())
    rules = [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["someone"]},
        {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["team"]},
    ]
    role = {"metadata": {"name": "{id}"}, "rules": rules}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "{id}"}
    subject = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "{id}-user"}
    binding = {"metadata": {"name": "{id}"}, "roleRef": reference, "subjects": [subject]}
    grant = (
        post(RBAC + "/clusterroles", role, keep="none"),
        post(RBAC + "/clusterrolebindings", binding, keep="none"),
        get(MAPS, headers={"Impersonate-User": "someone"}, user=user, until=403, keep="none"),
    )
    for name in ("user", "group", "account"):
        yield Probe(f"impersonate/granted-{name}", (*grant, get(MAPS, headers=table[name], user=user, keep="status")))


def _roles() -> Iterator[Probe]:
    review = _REVIEWS + "/subjectaccessreviews"
    rules: dict[str, list[dict[str, Any]]] = {
        "all": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
        "status": [{"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["update"]}],
        "any-status": [{"apiGroups": ["resource.k8s.io"], "resources": ["*/status"], "verbs": ["update"]}],
        "any-of-claims": [{"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/*"], "verbs": ["update"]}],
        "named": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "create"], "resourceNames": ["a", "b"]}
        ],
        "second": [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
            {"apiGroups": ["", "resource.k8s.io"], "resources": ["pods", "resourceclaims"], "verbs": ["list", "get"]},
        ],
        "path": [{"nonResourceURLs": ["/logs", "/metrics/*"], "verbs": ["get"]}],
        "none": [],
    }
    questions: list[dict[str, str]] = [
        {"verb": "get", "resource": "pods"},
        {"verb": "get", "resource": "pods", "name": "a"},
        {"verb": "get", "resource": "pods", "name": "c"},
        {"verb": "list", "resource": "pods"},
        {"verb": "create", "resource": "pods"},
        {"verb": "delete", "resource": "pods", "name": "a"},
        {"verb": "update", "group": "resource.k8s.io", "resource": "resourceclaims", "subresource": "status"},
        {"verb": "update", "group": "resource.k8s.io", "resource": "resourceclaims"},
        {"verb": "update", "group": "other.io", "resource": "resourceclaims", "subresource": "status"},
        {"verb": "update", "group": "resource.k8s.io", "resource": "resourceclaims", "subresource": "binding"},
        {"verb": "get", "group": "resource.k8s.io", "resource": "resourceclaims"},
        {"path": "/logs", "verb": "get"},
        {"path": "/metrics/x", "verb": "get"},
        {"path": "/metrics", "verb": "get"},
        {"path": "/logs", "verb": "post"},
    ]
    subjects: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "user": ({"kind": "User", "name": "{id}-u"}, {"user": "{id}-u"}),
        "group": ({"kind": "Group", "name": "{id}-g"}, {"user": "x", "groups": ["other", "{id}-g"]}),
        "account": (
            {"kind": "ServiceAccount", "name": "sa", "namespace": "{ns}"},
            {"user": "system:serviceaccount:{id}:sa"},
        ),
        "account-other": (
            {"kind": "ServiceAccount", "name": "sa", "namespace": "{ns}"},
            {"user": "system:serviceaccount:other:sa"},
        ),
    }

    def asked(question: dict[str, str], who: dict[str, Any], namespace: str, **more: Any) -> Step:
        if "path" in question:
            spec = {**who, "nonResourceAttributes": question}
        else:
            spec = {**who, "resourceAttributes": {**question, "namespace": namespace}}
        return post(review, {"spec": spec}, keep=("status.allowed",), **more)

    for scope in ("cluster", "namespaced", "cluster-in-namespace"):
        for name, rule in rules.items():
            if name == "path" and scope != "cluster":
                continue
            yield from _granted(scope, name, rule, subjects["user"], questions, asked)
    for name, pair in subjects.items():
        if name != "user":
            yield from _granted("namespaced", f"for-{name}", rules["second"], pair, questions[:4], asked)


def _granted(scope: str, name: str, rule: Any, pair: Any, questions: Any, asked: Any) -> Iterator[Probe]:
    subject, who = pair
    local = scope == "namespaced"
    kind = "Role" if local else "ClusterRole"
    roles = RBAC + ("/namespaces/{ns}/roles" if local else "/clusterroles")
    in_namespace = scope != "cluster"
    bindings = RBAC + ("/namespaces/{ns}/rolebindings" if in_namespace else "/clusterrolebindings")
    if subject["kind"] != "ServiceAccount":
        subject = {**subject, "apiGroup": "rbac.authorization.k8s.io"}
    # The sign that the role is known: a verb that no other role has.
    sign = {"apiGroups": ["sign.example.com"], "resources": ["signs"], "verbs": ["see"]}
    own = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "{id}-sign"}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "{id}"}
    wait = asked(
        {"verb": "see", "group": "sign.example.com", "resource": "signs"},
        {"user": "{id}-sign"},
        "{ns}",
        until_body={"status.allowed": True},
        patience=5.0,
    )
    steps = (
        post(roles, {"metadata": {"name": "{id}"}, "rules": [*rule, sign]}, keep="none"),
        post(
            bindings,
            {"metadata": {"name": "{id}"}, "roleRef": reference, "subjects": [own, subject]},
            keep="none",
        ),
        wait,
    )
    inside = [asked(question, who, "{ns}") for question in questions]
    outside = [asked(question, who, "elsewhere") for question in questions[:2]]
    everywhere = [asked(question, who, "") for question in questions[:2]]
    yield Probe(f"rbac/{scope}-{name}", (*steps, *inside, *outside, *everywhere))


def _reviews() -> Iterator[Probe]:
    local = _REVIEWS + "/namespaces/{ns}/localsubjectaccessreviews"
    attributes = {"verb": "get", "resource": "pods", "namespace": "{ns}"}
    spec = {"user": "someone", "resourceAttributes": attributes}
    yield Probe(
        "review/local", (post(local, {"metadata": {"namespace": "{ns}"}, "spec": spec}, keep=("status.allowed",)),)
    )
    wrong = {"kind": "ConfigMap", "apiVersion": "v1", "spec": spec}
    yield Probe("review/wrong-kind", (post(_REVIEWS + "/subjectaccessreviews", wrong),))
    yield Probe("review/get", (get(_REVIEWS + "/subjectaccessreviews"),))
    yield Probe(
        "review/groups-only",
        (
            post(
                _REVIEWS + "/subjectaccessreviews",
                {"spec": {"groups": ["system:masters"], "resourceAttributes": attributes}},
                keep=("status.allowed",),
            ),
        ),
    )
    yield Probe("review/not-json", (post(_REVIEWS + "/subjectaccessreviews", b"{"),))
    yield Probe("review/empty", (post(_REVIEWS + "/subjectaccessreviews", b""),))
    masters = {
        "spec": {
            "user": "someone",
            "groups": ["system:masters"],
            "resourceAttributes": {"verb": "delete", "resource": "nodes"},
        }
    }
    yield Probe("review/masters", (post(_REVIEWS + "/subjectaccessreviews", masters, keep=("status.allowed",)),))
    put_ = put(_REVIEWS + "/subjectaccessreviews", {"spec": spec})
    yield Probe("review/put", (put_,))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _nodes()
    yield from _tokens()
    yield from _impersonation()
    yield from _roles()
    yield from _reviews()
