"""PodGroups of scheduling.k8s.io: validation, defaults, the immutable spec, statuses of claims, the protection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import APPLY, JSON_PATCH, Probe, Step, delete, get, patch, post, put
from verification.fidelity.probes.objects import PODS, pod

Obj = dict[str, Any]

_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/{ns}/podgroups"
_GROUP = _GROUPS + "/g"
_BASIC: Obj = {"basic": {}}
_TEMPLATE: Obj = {"name": "gpu", "resourceClaimTemplateName": "one"}
_CLAIM: Obj = {"name": "net", "resourceClaimName": "mine"}


def _group(*claims: Any, policy: Any = None, **spec: Any) -> Obj:
    spec = {"schedulingPolicy": _BASIC if policy is None else policy, **spec}
    if claims:
        spec["resourceClaims"] = [*claims]
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": spec,
    }


def _created() -> Iterator[Probe]:
    table: dict[str, Obj] = {
        "basic": _group(),
        "gang": _group(policy={"gang": {"minCount": 2}}),
        "gang-zero": _group(policy={"gang": {"minCount": 0}}),
        "gang-negative": _group(policy={"gang": {"minCount": -1}}),
        "gang-empty": _group(policy={"gang": {}}),
        "no-policy": _group(policy={}),
        "two-policies": _group(policy={"basic": {}, "gang": {"minCount": 2}}),
        "claims": _group(_TEMPLATE, _CLAIM),
        "four-claims": _group(*({**_TEMPLATE, "name": f"c{number}"} for number in range(4))),
        "five-claims": _group(*({**_TEMPLATE, "name": f"c{number}"} for number in range(5))),
        "claims-of-one-name": _group(_TEMPLATE, {**_CLAIM, "name": "gpu"}),
        "claim-without-source": _group({"name": "gpu"}),
        "claim-with-both": _group({**_TEMPLATE, **_CLAIM}),
        "claim-without-name": _group({"resourceClaimName": "mine"}),
        "claim-name": _group({**_TEMPLATE, "name": "Not_A_Label"}),
        "claim-long-name": _group({**_TEMPLATE, "name": "n" * 64}),
        "claim-template-name": _group({"name": "gpu", "resourceClaimTemplateName": "Not_A_Name"}),
        "claim-claim-name": _group({"name": "gpu", "resourceClaimName": ""}),
        "empty-claims": {**_group(), "spec": {"schedulingPolicy": _BASIC, "resourceClaims": []}},
        "mode": _group(disruptionMode={"all": {}}),
        "no-mode": _group(disruptionMode={}),
        "two-modes": _group(disruptionMode={"all": {}, "single": {}}),
        "status": {**_group(), "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "x"}]}},
        "finalizer": {**_group(), "metadata": {"name": "g", "finalizers": ["example.com/own"]}},
        "type": {**_group(), "spec": {"schedulingPolicy": _BASIC, "resourceClaims": "x"}},
    }
    for name, body in table.items():
        yield Probe(f"pod-group/create-{name}", (post(_GROUPS, body, managed=True),))


def _changed() -> Iterator[Probe]:
    made = post(_GROUPS, _group(_TEMPLATE, _CLAIM), keep="none")
    table: dict[str, Step] = {
        "label": patch(_GROUP, {"metadata": {"labels": {"a": "b"}}}),
        "policy": patch(_GROUP, {"spec": {"schedulingPolicy": {"basic": None, "gang": {"minCount": 2}}}}),
        "policy-both": patch(_GROUP, {"spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}}),
        "policy-neither": patch(_GROUP, {"spec": {"schedulingPolicy": {"basic": None}}}),
        "policy-none": patch(_GROUP, {"spec": {"schedulingPolicy": None}}),
        "claims": patch(_GROUP, [{"op": "remove", "path": "/spec/resourceClaims/0"}], kind=JSON_PATCH),
        "mode": patch(_GROUP, {"spec": {"disruptionMode": {"single": None, "all": {}}}}),
        "status-by-spec": patch(_GROUP, {"status": {"resourceClaimStatuses": [{"name": "gpu"}]}}),
        "status": patch(_GROUP + "/status", _statuses({"name": "gpu", "resourceClaimName": "x"})),
        "status-without-claim": patch(_GROUP + "/status", _statuses({"name": "gpu"})),
        "status-unknown": patch(_GROUP + "/status", _statuses({"name": "other", "resourceClaimName": "x"})),
        "status-twice": patch(_GROUP + "/status", _statuses({"name": "gpu"}, {"name": "gpu"})),
        "status-claim-name": patch(_GROUP + "/status", _statuses({"name": "gpu", "resourceClaimName": "A_B"})),
        "status-and-spec": patch(
            _GROUP + "/status", {**_statuses({"name": "gpu"}), "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}}
        ),
        "finalizer": patch(_GROUP, {"metadata": {"finalizers": None}}),
    }
    for name, step in table.items():
        yield Probe(f"pod-group/change-{name}", (made, step, get(_GROUP)))
    applied = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        **_statuses({"name": "gpu", "resourceClaimName": "x"}),
    }
    query = (("fieldManager", "controller"), ("force", "true"))
    other = {**applied, **_statuses({"name": "net", "resourceClaimName": "y"})}
    yield Probe(
        "pod-group/apply-statuses",
        (
            made,
            patch(_GROUP + "/status", applied, query=query, kind=APPLY, managed=True),
            # Another manager adds its entry; the first one then owns none, so that its entry goes.
            patch(_GROUP + "/status", other, query=(("fieldManager", "b"),), kind=APPLY, managed=True),
            patch(_GROUP + "/status", {**applied, "status": {}}, query=query, kind=APPLY, managed=True),
        ),
    )
    gang = post(_GROUPS, _group(policy={"gang": {"minCount": 2}}), keep="none")
    for name, count in (("higher", 3), ("lower", 1), ("zero", 0), ("negative", -1)):
        step = patch(_GROUP, {"spec": {"schedulingPolicy": {"gang": {"minCount": count}}}})
        yield Probe(f"pod-group/change-count-{name}", (gang, step))
    basic = patch(_GROUP, {"spec": {"schedulingPolicy": {"basic": {}, "gang": None}}})
    yield Probe("pod-group/change-gang", (gang, basic))
    both = patch(_GROUP, {"spec": {"schedulingPolicy": {"basic": {}}}})
    yield Probe("pod-group/change-gang-both", (gang, both))
    yield Probe("pod-group/replace-missing", (put(_GROUP, _group()),))


def _statuses(*entries: Obj) -> Obj:
    return {"status": {"resourceClaimStatuses": [*entries]}}


def _protected() -> Iterator[Probe]:
    member = pod(schedulingGroup={"podGroupName": "g"})
    yield Probe("pod-group/delete", (post(_GROUPS, _group(), keep="none"), delete(_GROUP), get(_GROUP, until=404)))
    yield Probe(
        "pod-group/delete-used",
        (
            post(_GROUPS, _group(), keep="none"),
            post(PODS, member, keep=("spec.schedulingGroup",)),
            delete(_GROUP),
            get(_GROUP, keep=("metadata.finalizers",)),
            delete(PODS + "/p", query=(("gracePeriodSeconds", "0"),), keep="code"),
            get(_GROUP, until=404),
        ),
        pods=True,
    )
    yield Probe(
        "pod-group/pod-changes-group",
        (
            post(PODS, member, keep="code"),
            patch(PODS + "/p", {"spec": {"schedulingGroup": {"podGroupName": "h"}}}),
        ),
        pods=True,
    )


def probes() -> Iterator[Probe]:
    """Return the probes of this table."""
    yield from _created()
    yield from _changed()
    yield from _protected()
