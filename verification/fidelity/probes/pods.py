"""Pods: defaults, immutable fields, binding, eviction, deletion, claims in pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import STRATEGIC, Probe, Step, delete, get, patch, post, put
from verification.fidelity.probes.objects import CORE, NS, PODS, pod

# Not metadata: labels and names are the same in every probe of this table.
_KEPT = ("spec", "status")
_ONE = PODS + "/p"

_CREATE: dict[str, dict[str, Any]] = {
    "plain": {},
    "no-containers": {"containers": []},
    "container-no-name": {"containers": [{"image": "x"}]},
    "container-no-image": {"containers": [{"name": "main"}]},
    "container-twice": {"containers": [{"name": "a", "image": "x"}, {"name": "a", "image": "x"}]},
    "latest": {"containers": [{"name": "a", "image": "x:latest"}]},
    "requests": {"containers": [{"name": "a", "image": "x", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]},
    "requests-over-limits": {
        "containers": [{"name": "a", "image": "x", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}}}]
    },
    "extended-fraction": {
        "containers": [{"name": "a", "image": "x", "resources": {"limits": {"example.com/gpu": "500m"}}}]
    },
    "extended-request-only": {
        "containers": [{"name": "a", "image": "x", "resources": {"requests": {"example.com/gpu": "1"}}}]
    },
    "extended": {"containers": [{"name": "a", "image": "x", "resources": {"limits": {"example.com/gpu": "1"}}}]},
    "best-effort-claims": {
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
        "containers": [{"name": "a", "image": "x", "resources": {"claims": [{"name": "g"}]}}],
    },
    "claims-request": {
        "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}],
        "containers": [{"name": "a", "image": "x", "resources": {"claims": [{"name": "g", "request": "r"}]}}],
    },
    "claims-undeclared": {"containers": [{"name": "a", "image": "x", "resources": {"claims": [{"name": "g"}]}}]},
    "claims-both": {"resourceClaims": [{"name": "g", "resourceClaimName": "c", "resourceClaimTemplateName": "t"}]},
    "claims-neither": {"resourceClaims": [{"name": "g"}]},
    "claims-twice": {
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}, {"name": "g", "resourceClaimName": "d"}]
    },
    "claims-bad-name": {"resourceClaims": [{"name": "Not_Valid", "resourceClaimName": "c"}]},
    "claims-bad-claim": {"resourceClaims": [{"name": "g", "resourceClaimName": "Not_Valid"}]},
    "claims-used-twice": {
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
        "containers": [{"name": "a", "image": "x", "resources": {"claims": [{"name": "g"}, {"name": "g"}]}}],
    },
    "claims-whole-and-part": {
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
        "containers": [
            {"name": "a", "image": "x", "resources": {"claims": [{"name": "g"}, {"name": "g", "request": "r"}]}}
        ],
    },
    "gates": {"schedulingGates": [{"name": "example.com/wait"}]},
    "gates-with-node": {"schedulingGates": [{"name": "example.com/wait"}], "nodeName": "n"},
    "gates-twice": {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
    "priority-class-absent": {"priorityClassName": "nothing"},
    "priority-system": {"priorityClassName": "system-node-critical"},
    "priority-given": {"priority": 7},
    "service-account-absent": {"serviceAccountName": "nobody"},
    "node-name": {"nodeName": "n-1"},
    "selector-bad": {"nodeSelector": {"not valid": "x"}},
    "toleration-bad": {"tolerations": [{"key": "a", "operator": "Sometimes"}]},
    "toleration-seconds": {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}]},
    "restart-bad": {"restartPolicy": "Perhaps"},
    "grace-negative": {"terminationGracePeriodSeconds": -1},
    "scheduler": {"schedulerName": "mine"},
    "init": {"initContainers": [{"name": "i", "image": "x"}]},
    "volume": {
        "volumes": [{"name": "v", "emptyDir": {}}],
        "containers": [{"name": "a", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
    },
    "volume-undeclared": {
        "containers": [{"name": "a", "image": "x", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]
    },
    "probes": {
        "containers": [
            {
                "name": "a",
                "image": "x",
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"port": 80}},
                "env": [{"name": "E", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            }
        ]
    },
    "port-bad": {"containers": [{"name": "a", "image": "x", "ports": [{"containerPort": 70000}]}]},
    "affinity": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]
                }
            }
        }
    },
    "affinity-bad": {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}]
                }
            }
        }
    },
}

_CHANGE: dict[str, Any] = {
    "image": {"spec": {"containers": [{"name": "main", "image": "registry.example/app:2"}]}},
    "image-empty": {"spec": {"containers": [{"name": "main", "image": ""}]}},
    "command": {"spec": {"containers": [{"name": "main", "command": ["x"]}]}},
    "node-name": {"spec": {"nodeName": "n-1"}},
    "claims": {"spec": {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]}},
    "deadline": {"spec": {"activeDeadlineSeconds": 30}},
    "toleration": {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}},
    "selector": {"spec": {"nodeSelector": {"a": "b"}}},
    "gate-added": {"spec": {"schedulingGates": [{"name": "example.com/late"}]}},
    "status-ignored": {"status": {"phase": "Running"}},
    "label": {"metadata": {"labels": {"a": "b"}}},
    "priority": {"spec": {"priority": 9}},
}


def _binding(target: str = "{id}", **more: Any) -> dict[str, Any]:
    metadata = {"name": "p", **more.pop("metadata", {})}
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": target, **more},
    }


def _bindings() -> Iterator[Probe]:
    first = post(PODS, pod(), keep="none")
    endpoint = _ONE + "/binding"
    node = get(_ONE, keep=("spec.nodeName", "status.conditions", "metadata.annotations", "metadata.labels"))
    gated = post(PODS, pod(schedulingGates=[{"name": "example.com/wait"}]), keep="none")
    # Two of each: one that the Binding has as well, with another value.
    own, more = {"example.com/both": "pod", "pod": "a"}, {"example.com/both": "binding", "binding": "b"}
    marked = post(PODS, {**pod(), "metadata": {"name": "p", "labels": own, "annotations": own}}, keep="none")
    table: dict[str, tuple[Step, ...]] = {
        "labels-beside": (marked, post(endpoint, _binding(metadata={"labels": more})), node),
        "annotations-beside": (marked, post(endpoint, _binding(metadata={"annotations": more})), node),
        "bound": (first, post(endpoint, _binding()), node),
        "twice": (first, post(endpoint, _binding(), keep="none"), post(endpoint, _binding("n-2")), node),
        "same-twice": (first, post(endpoint, _binding(), keep="none"), post(endpoint, _binding())),
        "uid-right": (first, post(endpoint, _binding(metadata={"uid": "{0.metadata.uid}"})), node),
        "uid-wrong": (first, post(endpoint, _binding(metadata={"uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"}))),
        "version-wrong": (first, post(endpoint, _binding(metadata={"resourceVersion": "1"}))),
        "no-target": (first, post(endpoint, _binding(""))),
        "kind-bad": (first, post(endpoint, _binding(kind="Pod"))),
        "kind-empty": (first, post(endpoint, _binding(kind=""))),
        "absent": (post(endpoint, _binding()),),
        "gated": (gated, post(endpoint, _binding())),
        "annotations": (first, post(endpoint, _binding(metadata={"annotations": {"a": "b"}})), node),
        "labels": (first, post(endpoint, _binding(metadata={"labels": {"topology.kubernetes.io/zone": "b"}})), node),
        # The collection `bindings`, which clients used before the subresource.
        "old-path": (first, post(NS + "/bindings", _binding()), node),
        "dry": (first, post(endpoint, _binding(), query=(("dryRun", "All"),)), node),
        "deleted": (
            post(PODS, {**pod(), "metadata": {"name": "p", "finalizers": ["example.com/guard"]}}, keep="none"),
            delete(_ONE, keep="none"),
            post(endpoint, _binding()),
        ),
        "other-name": (first, post(endpoint, _binding(metadata={"name": "q"}))),
    }
    for name, steps in table.items():
        yield Probe(f"binding/{name}", steps, pods=True)


def _evictions() -> Iterator[Probe]:
    first = post(PODS, pod(), keep="none")
    endpoint = _ONE + "/eviction"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    gone = get(_ONE, keep=("metadata.deletionGracePeriodSeconds", "status.phase"))
    labelled = post(PODS, {**pod(), "metadata": {"name": "p", "labels": {"a": "b"}}}, keep="none")
    table: dict[str, tuple[Step, ...]] = {
        "pending": (first, post(endpoint, eviction), gone),
        "bound": (first, post(_ONE + "/binding", _binding(), keep="none"), post(endpoint, eviction), gone),
        "grace": (
            first,
            post(_ONE + "/binding", _binding(), keep="none"),
            post(endpoint, {**eviction, "deleteOptions": {"gracePeriodSeconds": 5}}),
            gone,
        ),
        "dry": (first, post(endpoint, {**eviction, "deleteOptions": {"dryRun": ["All"]}}), gone),
        "absent": (post(endpoint, eviction),),
        "other-name": (first, post(endpoint, {**eviction, "metadata": {"name": "q"}})),
        "uid-wrong": (
            first,
            post(
                endpoint,
                {**eviction, "deleteOptions": {"preconditions": {"uid": "0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11"}}},
            ),
        ),
        "old-version": (first, post(endpoint, {**eviction, "apiVersion": "policy/v1beta1"})),
    }
    for name, steps in table.items():
        yield Probe(f"eviction/{name}", steps, pods=True)
    budget = {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"a": "b"}}}}
    budgets = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
    bound = post(_ONE + "/binding", _binding(), keep="none")
    # A budget protects running pods only: a pending pod is evicted in spite of it.
    running = patch(_ONE + "/status", {"status": {"phase": "Running"}}, keep="none")
    yield Probe(
        "eviction/budget-pending", (labelled, post(budgets, budget, keep="code"), post(endpoint, eviction)), pods=True
    )
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    steps = (labelled, bound, running, patch(_ONE + "/status", ready, keep="code"), post(budgets, budget, keep="code"))
    yield Probe("eviction/budget-running", (*steps, post(endpoint, eviction, keep="status")), pods=True)


def _deletions() -> Iterator[Probe]:
    first = post(PODS, pod(), keep="none")
    bound = post(_ONE + "/binding", _binding(), keep="none")
    marks = ("metadata.deletionGracePeriodSeconds", "status.phase", "metadata.name")
    gone = get(_ONE, keep=marks)
    table: dict[str, tuple[Step, ...]] = {
        "pending": (first, delete(_ONE), gone),
        "bound": (first, bound, delete(_ONE), gone),
        "bound-now": (first, bound, delete(_ONE, {"gracePeriodSeconds": 0}, keep=marks), gone),
        # An update in the grace period does not end it.
        "bound-updated": (
            first,
            bound,
            delete(_ONE, keep="none"),
            patch(_ONE, {"metadata": {"labels": {"late": "yes"}}}, keep=("metadata.labels", *marks)),
            gone,
        ),
        # A second deletion may shorten the grace period and never extend it.
        "bound-shorter": (
            first,
            bound,
            delete(_ONE, keep="none"),
            delete(_ONE, {"gracePeriodSeconds": 5}, keep=marks),
            gone,
        ),
        "bound-longer": (
            first,
            bound,
            delete(_ONE, keep="none"),
            delete(_ONE, {"gracePeriodSeconds": 90}, keep=marks),
            gone,
        ),
        "bound-then-now": (
            first,
            bound,
            delete(_ONE, keep="none"),
            delete(_ONE, {"gracePeriodSeconds": 0}, keep=marks),
            gone,
        ),
        "done": (
            first,
            bound,
            patch(_ONE + "/status", {"status": {"phase": "Succeeded"}}, keep="none"),
            delete(_ONE, keep=marks),
            gone,
        ),
        "again": (first, bound, delete(_ONE, keep="none"), delete(_ONE, keep=marks)),
        "collection": (first, bound, delete(PODS, keep=("items.metadata.name",)), gone),
    }
    for name, steps in table.items():
        yield Probe(f"pod-delete/{name}", steps, pods=True)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    for name, spec in _CREATE.items():
        yield Probe(f"pod/create-{name}", (post(PODS, pod(**spec), keep=_KEPT),), pods=True)
    first = post(PODS, pod(), keep="none")
    for name, change in _CHANGE.items():
        yield Probe(f"pod/change-{name}", (first, patch(_ONE, change, STRATEGIC, keep=_KEPT)), pods=True)
    ungate = {"spec": {"schedulingGates": None}}
    gated = post(PODS, pod(schedulingGates=[{"name": "example.com/wait"}]), keep="none")
    yield Probe("pod/ungated", (gated, patch(_ONE, ungate, keep=_KEPT)), pods=True)
    # A gated pod may still become harder to place.
    narrow = {"spec": {"nodeSelector": {"a": "b"}}}
    yield Probe("pod/gated-selector", (gated, patch(_ONE, narrow, keep=_KEPT)), pods=True)
    yield Probe("pod/replaced", (first, put(_ONE, pod(), keep=_KEPT)), pods=True)
    statuses: dict[str, Any] = {
        "phase": {"phase": "Running"},
        "claims": {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "c"}]},
        "condition": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]},
        "nominated": {"nominatedNodeName": "n-1"},
    }
    for name, status in statuses.items():
        yield Probe(
            f"pod/status-{name}", (first, patch(_ONE + "/status", {"status": status}, STRATEGIC, keep=_KEPT)), pods=True
        )
    claimed = post(PODS, pod(resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}]), keep="none")
    made = {"status": {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g-1"}]}}
    yield Probe("pod/status-claim-made", (claimed, patch(_ONE + "/status", made, STRATEGIC, keep=_KEPT)), pods=True)
    extended = {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}}}
    yield Probe("pod/status-extended", (first, patch(_ONE + "/status", extended, STRATEGIC, keep=_KEPT)), pods=True)
    # No kubelet runs: only the refusal can be compared.
    yield Probe("pod/log", (first, get(_ONE + "/log", keep="status")), pods=True)
    yield Probe("pod/read-whole", (first, get(_ONE)), pods=True)
    yield Probe(
        "pod/scheduled-to-absent-node",
        (post(PODS, pod(nodeName="nowhere"), keep=_KEPT), get(CORE + "/nodes/nowhere")),
        pods=True,
    )
    yield from _bindings()
    yield from _evictions()
    yield from _deletions()
