"""Validating admission webhooks: which requests they get, what they are sent, and what their responses do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import JSON_PATCH, Probe, Step, apply, delete, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    CORE,
    MAPS,
    PODS,
    SLICES,
    TEMPLATES,
    at,
    claim,
    config_map,
    device_class,
    exact,
    pod,
    slice_of,
)

_CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_ANY = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
_OURS = {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}}
# The object that shows that the API server knows the configuration.
_SIGN = {"ready": "yes"}


def _rule(resource: str = "configmaps", **more: Any) -> dict[str, Any]:
    # Namespaced: a namespace selector does not keep cluster-scoped objects of other probes out.
    return {**_ANY, "resources": [resource], "scope": "Namespaced", **more}


def _hook(path: str, *rules: dict[str, Any], name: str = "probe.example.com", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "clientConfig": {"url": "{hook}" + path, "caBundle": "{hook-ca}"},
        "rules": list(rules) or [_rule()],
        "namespaceSelector": _OURS,
        "objectSelector": {"matchExpressions": [{"key": "ready", "operator": "DoesNotExist"}]},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def _configuration(*hooks: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "{id}"},
        "webhooks": list(hooks),
    }


def _with(*hooks: dict[str, Any]) -> tuple[Step, ...]:
    """Create a configuration and wait until the API server uses it. Takes two steps."""
    sign = _hook("/deny", name="ready.example.com", objectSelector={"matchLabels": _SIGN})
    made = config_map("ready", labels=_SIGN)
    return (
        post(_CONFIGURATIONS, _configuration(*hooks, sign), keep="none"),
        post(MAPS, made, query=(("dryRun", "All"),), until=400, patience=5.0, keep="none"),
    )


def _responses() -> Iterator[Probe]:
    create = post(MAPS, config_map())
    for name in (
        "allow",
        "deny",
        "deny-message",
        "deny-reason",
        "deny-both",
        "deny-code",
        "deny-low-code",
        "deny-details",
        "deny-warn",
        "warn",
        "nothing",
        "no-uid",
        "uid",
        "kind",
        "version",
    ):
        yield Probe(f"webhook/{name}", (*_with(_hook(f"/{name}")), create, get(MAPS + "/a", keep="status")))
    # The messages of these errors are those of Go's HTTP and JSON libraries.
    for name in ("error", "text", "list", "slow"):
        for policy in ("Fail", "Ignore"):
            hook = _hook(f"/{name}", failurePolicy=policy, timeoutSeconds=1)
            steps = (*_with(hook), post(MAPS, config_map(), keep="status"), get(MAPS + "/a", keep="status"))
            yield Probe(f"webhook/{name}-{policy.lower()}", steps)
    closed = {"url": "https://127.0.0.1:1/x", "caBundle": "{hook-ca}"}
    unknown = {"service": {"namespace": "{ns}", "name": "absent", "path": "/x"}, "caBundle": "{hook-ca}"}
    for name, client in {"closed": closed, "service": unknown, "no-authority": {"url": "{hook}/allow"}}.items():
        for policy in ("Fail", "Ignore"):
            hook = _hook("", failurePolicy=policy, clientConfig=client)
            steps = (*_with(hook), post(MAPS, config_map(), keep="status"), get(MAPS + "/a", keep="status"))
            yield Probe(f"webhook/{name}-{policy.lower()}", steps)
    yield Probe("webhook/service-message", (*_with(_hook("", clientConfig=unknown)), create))


def _requests() -> Iterator[Probe]:
    """Yield probes of the reviews that a webhook receives: `/echo` denies with the request as message."""
    first = post(MAPS, config_map(), keep="none")
    guarded = post(MAPS, config_map(finalizers=["example.com/x"]), keep="none")
    dry = (("dryRun", "All"),)
    # Objects come before the configuration, which would deny them too.
    table: dict[str, tuple[tuple[Step, ...], tuple[Step, ...]]] = {
        "create": ((), (post(MAPS, config_map()),)),
        "create-dry": ((), (post(MAPS, config_map(), query=dry),)),
        "create-generated": ((), (post(MAPS, config_map("", generateName="gen-"), keep="status"),)),
        "create-manager": ((), (post(MAPS, config_map(), query=(("fieldManager", "me"),)),)),
        "create-strict": ((), (post(MAPS, config_map(), query=(("fieldValidation", "Strict"),)),)),
        "create-user": ((), (post(MAPS, config_map(), user=("fid-admin", ("system:masters",))),)),
        "update": ((first,), (put(MAPS + "/a", config_map(data={"k": "w"})),)),
        "update-same": ((first,), (put(MAPS + "/a", config_map()),)),
        "update-dry": ((first,), (put(MAPS + "/a", config_map(data={"k": "w"}), query=dry),)),
        "merge": ((first,), (patch(MAPS + "/a", {"data": {"k": "w"}}),)),
        "merge-absent": ((), (patch(MAPS + "/a", {"data": {"k": "w"}}),)),
        "json-patch": ((first,), (patch(MAPS + "/a", [{"op": "remove", "path": "/data/k"}], JSON_PATCH),)),
        "apply-new": ((), (apply(MAPS + "/a", config_map()),)),
        "apply-forced": ((first,), (apply(MAPS + "/a", config_map(data={"k": "w"}), force=True),)),
        "delete": ((first,), (delete(MAPS + "/a"), get(MAPS + "/a", keep="status"))),
        "delete-options": ((first,), (delete(MAPS + "/a", {"propagationPolicy": "Orphan", "gracePeriodSeconds": 0}),)),
        "delete-dry": ((first,), (delete(MAPS + "/a", query=dry),)),
        "delete-guarded": ((guarded,), (delete(MAPS + "/a"),)),
        "delete-absent": ((), (delete(MAPS + "/a"),)),
        "invalid": ((), (post(MAPS, config_map("Bad_Name")),)),
        "twice": ((first,), (post(MAPS, config_map()),)),
        "read": ((first,), (get(MAPS + "/a", keep="status"),)),
    }
    for name, (before, after) in table.items():
        yield Probe(f"webhook/echo-{name}", (*before, *_with(_hook("/echo")), *after))
    # All names of a collection: the label keeps kube-root-ca.crt out.
    one = post(MAPS, config_map(labels={"both": "yes"}), keep="none")
    gone = delete(MAPS, query=(("labelSelector", "both"),))
    yield Probe("webhook/echo-delete-collection", (one, *_with(_hook("/echo")), gone))


def _resources() -> Iterator[Probe]:
    template: dict[str, Any] = {"metadata": {"name": "t"}, "spec": {"spec": {"devices": {"requests": [exact()]}}}}
    for name, path, body, plural in (
        ("claim", CLAIMS, claim(), "resourceclaims"),
        ("template", TEMPLATES, template, "resourceclaimtemplates"),
        ("pod", PODS, pod(), "pods"),
    ):
        hooks = _with(_hook("/echo", _rule(plural)))
        yield Probe(f"webhook/echo-{name}", (*hooks, post(path, body)), pods=name == "pod")
    # Cluster-scoped objects have no namespace: a label keeps other probes' objects out.
    mine = {"matchLabels": {"only": "{id}"}}
    cluster: tuple[tuple[str, str, dict[str, Any], str], ...] = (
        ("slice", SLICES, slice_of(metadata={"labels": {"only": "{id}"}}), "resourceslices"),
        ("class", CLASSES, device_class(), "deviceclasses"),
        (
            "namespace",
            CORE + "/namespaces",
            {"metadata": {"name": "{id}-two", "labels": {"only": "{id}"}}},
            "namespaces",
        ),
    )
    for name, path, body, plural in cluster:
        labelled = {**body, "metadata": {**body["metadata"], "labels": {"only": "{id}"}}}
        # The namespace selector applies to namespaces as well, by their own labels.
        spaces: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"only": "{id}"}}} if name == "namespace" else {}
        hook = _hook("/echo", _rule(plural, scope="*"), objectSelector=mine, **spaces)
        yield Probe(f"webhook/echo-{name}", (*_with(hook), post(path, labelled)))
        if name == "namespace":
            other = _hook("/echo", _rule(plural, scope="*"), objectSelector=mine)
            yield Probe("webhook/namespace-unselected", (*_with(other), post(path, labelled, keep="status")))
    change = {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u-1"}]}}
    made = post(CLAIMS, claim(), keep="none")
    rules = {
        "status": "resourceclaims/status",
        "main": "resourceclaims",
        "both": "resourceclaims/*",
        "star": "*",
        "stars": "*/*",
        "other": "resourceclaims/binding",
        "any-status": "*/status",
    }
    for name, plural in rules.items():
        hooks = _with(_hook("/echo", _rule(plural)))
        keep = "status" if name in ("main", "star", "other") else "all"
        step = patch(CLAIMS + "/c/status", change, keep=keep)
        # A webhook for all resources would refuse the service account of the namespace, so it has to exist before.
        later = plural.startswith("*")
        yield Probe(f"webhook/subresource-{name}", (made, *hooks, step), pods=later)
        labels = patch(CLAIMS + "/c", {"metadata": {"labels": {"a": "b"}}}, keep="status")
        yield Probe(f"webhook/resource-{name}", (made, *hooks, labels), pods=later)
    bound = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    steps = (post(PODS, pod(), keep="none"), *_with(_hook("/echo", _rule("pods/binding"))))
    yield Probe("webhook/echo-binding", (*steps, post(PODS + "/p/binding", bound)), pods=True)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    steps = (post(PODS, pod(), keep="none"), *_with(_hook("/deny-message", _rule("pods", operations=["DELETE"]))))
    yield Probe(
        "webhook/evicted", (*steps, post(PODS + "/p/eviction", eviction), get(PODS + "/p", keep="status")), pods=True
    )
    # Equivalent: a rule of one version gets requests of all versions, converted.
    for policy in ("Equivalent", "Exact"):
        for version in ("v1", "v1beta1"):
            rule = _rule("resourceclaims", apiGroups=["resource.k8s.io"], apiVersions=[version])
            hooks = _with(_hook("/echo", rule, matchPolicy=policy))
            yield Probe(f"webhook/versions-{policy}-{version}", (*hooks, post(at("v1beta2", CLAIMS), _beta())))
            yield Probe(f"webhook/versions-update-{policy}-{version}", (made, *hooks, _relabelled("v1beta2")))


def _relabelled(version: str) -> Step:
    """Change the labels of the claim in another version."""
    return patch(at(version, CLAIMS) + "/c", {"metadata": {"labels": {"a": "b"}}})


def _beta() -> dict[str, Any]:
    return {**claim(), "apiVersion": "resource.k8s.io/v1beta2"}


def _matches() -> Iterator[Probe]:
    create = post(MAPS, config_map(labels={"app": "a", "level": "two"}), keep="status")
    rules: dict[str, dict[str, Any]] = {
        "operation": _rule(operations=["CREATE"]),
        "operation-other": _rule(operations=["UPDATE", "DELETE"]),
        "operation-two": _rule(operations=["UPDATE", "CREATE"]),
        "group": _rule(apiGroups=[""]),
        "group-other": _rule(apiGroups=["apps"]),
        "version": _rule(apiVersions=["v1"]),
        "version-other": _rule(apiVersions=["v1beta1"]),
        "resource-other": _rule("secrets"),
        "scope-namespaced": _rule(scope="Namespaced"),
        "scope-cluster": _rule(scope="Cluster"),
        "scope-any": _rule(scope="*"),
    }
    for name, rule in rules.items():
        yield Probe(f"webhook/rule-{name}", (*_with(_hook("/deny", rule)), create))
    two = _hook("/deny", _rule("secrets"), _rule("pods", operations=["UPDATE"]), _rule())
    yield Probe("webhook/rule-third", (*_with(two), create))
    selectors: dict[str, Any] = {
        "labels": {"matchLabels": {"app": "a"}},
        "labels-other": {"matchLabels": {"app": "b"}},
        "labels-two": {"matchLabels": {"app": "a", "level": "one"}},
        "in": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b", "a"]}]},
        "in-other": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["b"]}]},
        "not-in": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]},
        "not-in-own": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b", "a"]}]},
        "not-in-absent": {"matchExpressions": [{"key": "none", "operator": "NotIn", "values": ["b"]}]},
        "exists": {"matchExpressions": [{"key": "level", "operator": "Exists"}]},
        "exists-absent": {"matchExpressions": [{"key": "none", "operator": "Exists"}]},
        "absent": {"matchExpressions": [{"key": "none", "operator": "DoesNotExist"}]},
        "absent-present": {"matchExpressions": [{"key": "level", "operator": "DoesNotExist"}]},
        "both": {
            "matchLabels": {"app": "a"},
            "matchExpressions": [{"key": "level", "operator": "In", "values": ["three"]}],
        },
    }
    for name, selector in selectors.items():
        yield Probe(f"webhook/objects-{name}", (*_with(_hook("/deny", objectSelector=selector)), create))
        if name in ("labels", "labels-two", "in-other", "exists", "absent"):
            spaces = {**selector}
            ours = {"matchLabels": {**_OURS["matchLabels"], **spaces.get("matchLabels", {})}}
            full = {**spaces, **ours}
            hooks = _with(_hook("/deny", namespaceSelector=full))
            yield Probe(f"webhook/spaces-{name}", (*hooks, create), labels={"app": "a", "level": "one"})
    # An update matches by the labels of either side.
    hooks = _with(_hook("/deny", _rule(operations=["UPDATE"]), objectSelector={"matchLabels": {"app": "a"}}))
    made = post(MAPS, config_map(labels={"app": "a"}), keep="none")
    plain = post(MAPS, config_map(), keep="none")
    away = patch(MAPS + "/a", {"metadata": {"labels": None}}, keep="status")
    there = patch(MAPS + "/a", {"metadata": {"labels": {"app": "a"}}}, keep="status")
    yield Probe("webhook/objects-leaves", (*hooks, made, away))
    yield Probe("webhook/objects-enters", (*hooks, plain, there))
    yield Probe("webhook/objects-neither", (*hooks, plain, patch(MAPS + "/a", {"data": {"k": "w"}}, keep="status")))
    # Two webhooks: all must allow.
    several: dict[str, tuple[str, str]] = {
        "allow-deny": ("/allow", "/deny-message"),
        "deny-allow": ("/deny-message", "/allow"),
        "allow-allow": ("/allow", "/allow"),
        "warn-warn": ("/warn", "/allow"),
    }
    for name, (one, other) in several.items():
        hooks = _with(_hook(one), _hook(other, name="second.example.com"))
        yield Probe(f"webhook/two-{name}", (*hooks, post(MAPS, config_map())))
    gone = delete(_CONFIGURATIONS + "/{id}", keep="code")
    again = post(MAPS, config_map(), until=201, patience=5.0, keep="status")
    yield Probe("webhook/removed", (*_with(_hook("/deny")), gone, again))
    # Webhooks do not get their own configurations.
    own = _hook(
        "/deny", _rule("validatingwebhookconfigurations", scope="*"), objectSelector={"matchLabels": {"only": "{id}"}}
    )
    label = patch(_CONFIGURATIONS + "/{id}", {"metadata": {"labels": {"only": "{id}"}}}, keep="status")
    yield Probe("webhook/own-configuration", (*_with(own), label))
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "{ns}"}}}
    everything = _hook("/deny", _rule("*/*"))
    local = post(
        "/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews",
        {"metadata": {"namespace": "{ns}"}, "spec": {**review["spec"], "user": "someone"}},
        keep="status",
    )
    yield Probe("webhook/reviews", (*_with(everything), local), pods=True)
    yield Probe("webhook/dry-side-effects", (*_with(_hook("/allow", sideEffects="NoneOnDryRun")), _dry()))
    yield Probe("webhook/token", (*_with(_hook("/deny-message", _rule("serviceaccounts/token"))), *_token()))


def _dry() -> Step:
    return post(MAPS, config_map(), query=(("dryRun", "All"),), keep="status")


def _token() -> tuple[Step, ...]:
    accounts = CORE + "/namespaces/{ns}/serviceaccounts"
    return (
        post(accounts, {"metadata": {"name": "sa"}}, keep="code"),
        post(accounts + "/sa/token", {"spec": {"expirationSeconds": 3600}}, keep="status"),
    )


def _definitions() -> Iterator[Probe]:
    def made(*hooks: dict[str, Any], **more: Any) -> Step:
        # A namespace that does not exist: these webhooks must get no request.
        apart = [
            {**hook, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "nowhere"}}} for hook in hooks
        ]
        return post(_CONFIGURATIONS, _configuration(*apart), **more)

    bare = {"name": "a.b.c", "clientConfig": {"url": "https://a.example"}, "sideEffects": "None"}
    bare["admissionReviewVersions"] = ["v1"]
    service = {"service": {"namespace": "n", "name": "s"}}
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    only = {**bare, "clientConfig": {"url": "https://a.example"}, "rules": [rule]}
    table: dict[str, tuple[dict[str, Any], ...]] = {
        "none": (),
        "defaults": (only,),
        "service": ({**only, "clientConfig": service},),
        "service-port": ({**only, "clientConfig": {"service": {**service["service"], "port": 8443, "path": "/x"}}},),
        "name-short": ({**only, "name": "a.b"},),
        "name-empty": ({**only, "name": ""},),
        "names-equal": (only, only),
        "two": (only, {**only, "name": "d.e.f"}),
        "no-versions": ({**only, "admissionReviewVersions": []},),
        "versions-unknown": ({**only, "admissionReviewVersions": ["v9"]},),
        "versions-old": ({**only, "admissionReviewVersions": ["v1beta1"]},),
        "versions-both": ({**only, "admissionReviewVersions": ["v9", "v1"]},),
        "effects": ({**only, "sideEffects": "Some"},),
        "effects-none": ({k: v for k, v in only.items() if k != "sideEffects"},),
        "effects-dry": ({**only, "sideEffects": "NoneOnDryRun"},),
        "client-both": ({**only, "clientConfig": {"url": "https://a.example", **service}},),
        "client-neither": ({**only, "clientConfig": {}},),
        "timeout-0": ({**only, "timeoutSeconds": 0},),
        "timeout-1": ({**only, "timeoutSeconds": 1},),
        "timeout-30": ({**only, "timeoutSeconds": 30},),
        "timeout-31": ({**only, "timeoutSeconds": 31},),
        "second-wrong": (only, {**only, "name": "d.e", "sideEffects": "Some", "timeoutSeconds": 99}),
    }
    for name, hooks in table.items():
        yield Probe(f"webhook/define-{name}", (made(*hooks),))
    whole = put(_CONFIGURATIONS + "/{id}", _configuration({**only, "timeoutSeconds": 31}))
    yield Probe("webhook/define-update", (made(only, keep="none"), whole))
    label = patch(_CONFIGURATIONS + "/{id}", {"metadata": {"labels": {"a": "b"}}}, keep=("metadata.generation",))
    yield Probe("webhook/define-label", (made(only, keep="none"), label))
    change = patch(_CONFIGURATIONS + "/{id}", {"webhooks": []}, keep=("metadata.generation", "webhooks"))
    yield Probe("webhook/define-change", (made(only, keep=("metadata.generation",)), change))


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _responses()
    yield from _requests()
    yield from _resources()
    yield from _matches()
    yield from _definitions()
