"""Every field of a pod that the API server validates: a wrong value, and the values next to it that are right.

The steps of a probe that are refused store nothing, so many of them share a namespace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from verification.fidelity.probe import STRATEGIC, Probe, delete, patch, post, put
from verification.fidelity.probes.objects import PODS, pod

_ONE = PODS + "/p"
_CONTAINER: dict[str, Any] = {"name": "a", "image": "x"}


def _with(*more: Mapping[str, Any]) -> dict[str, Any]:
    """A spec with one container for each argument, which changes the default one."""
    return {"containers": [{**_CONTAINER, "name": f"c{at}", **one} for at, one in enumerate(more)]}


def _node_affinity(*expressions: dict[str, Any], terms: list[Any] | None = None) -> dict[str, Any]:
    found = [{"matchExpressions": list(expressions)}] if terms is None else terms
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": found}}}
    }


def _expression(operator: str, *values: str, key: str = "a") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def _volumes(*mounts: dict[str, Any]) -> dict[str, Any]:
    return {
        "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {}}],
        "containers": [{**_CONTAINER, "volumeMounts": list(mounts)}],
    }


_LONG = "l" * 64
_REFUSED: dict[str, tuple[dict[str, Any], ...]] = {
    "containers": (
        _with({"name": _LONG}),
        _with({"name": "Not_Valid"}),
        _with({"image": " x"}),
        _with({"image": "x "}),
        _with({"image": " "}),
        _with({}, {"image": ""}),
        {**_with({}), "initContainers": [{"name": "c0", "image": "x"}]},
        {**_with({}), "initContainers": [{"name": "i", "image": ""}, {"name": "i", "image": "x"}]},
    ),
    "numbers": (
        {"activeDeadlineSeconds": 0},
        {"activeDeadlineSeconds": -1},
        {"activeDeadlineSeconds": 2**31},
        {"nodeName": "Not_Valid"},
        {"restartPolicy": "never"},
    ),
    "ports": (
        _with({"ports": [{"name": "p"}]}),
        _with({"ports": [{"containerPort": 0}]}),
        _with({"ports": [{"containerPort": -1}]}),
        _with({"ports": [{"containerPort": 65536}]}),
        _with({"ports": [{"containerPort": 80}, {"containerPort": 65536}]}, {"ports": [{"containerPort": -1}]}),
    ),
    "mounts": (
        _volumes({"name": "", "mountPath": "/v"}),
        _volumes({"name": "v", "mountPath": ""}),
        _volumes({"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/v"}),
        _volumes({"name": "v", "mountPath": "/v"}, {"name": "u", "mountPath": "/u"}),
    ),
    "tolerations": (
        {"tolerations": [{"operator": "Equal", "value": "v"}]},
        {"tolerations": [{"value": "v"}]},
        {"tolerations": [{"key": "a b", "operator": "Exists"}]},
        {"tolerations": [{"key": "a", "value": "a b"}]},
        {"tolerations": [{"key": "a", "operator": "Equal", "value": "a b"}]},
        {"tolerations": [{"key": "a", "operator": "Exists", "value": "v"}]},
        {"tolerations": [{"key": "a", "operator": "Exists", "effect": "Never"}]},
        {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]},
        {"tolerations": [{"operator": "Exists"}, {"key": "a", "effect": "Never"}, {"key": "b", "operator": "Odd"}]},
    ),
    "node-selector": (
        {"nodeSelector": {"a": "a b"}},
        {"nodeSelector": {"a": "b", "c": "d e"}},
        {"nodeSelector": {"": "x"}},
    ),
    "node-affinity": (
        _node_affinity(terms=[]),
        _node_affinity(_expression("NotIn")),
        _node_affinity(_expression("Exists", "v")),
        _node_affinity(_expression("DoesNotExist", "v")),
        _node_affinity(_expression("Gt")),
        _node_affinity(_expression("Lt", "1", "2")),
        _node_affinity(_expression("Odd", "1")),
        _node_affinity(_expression("In", "1", key="a b")),
        _node_affinity(_expression("In", "1"), _expression("Exists", "v")),
        _node_affinity(
            terms=[{"matchExpressions": [_expression("Exists")]}, {"matchExpressions": [_expression("In")]}]
        ),
    ),
    "resources": (
        _with({"resources": {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "2"}}}),
        _with({"resources": {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "1"}}}),
        _with({"resources": {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1500m"}}}),
        _with({"resources": {"limits": {"memory": "1Gi"}, "requests": {"memory": "1025Mi"}}}),
        _with({}, {"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1001m"}}}),
        _with({"resources": {"requests": {"example.com/a": "1", "example.com/b": "1"}}}),
    ),
    "gates": (
        {"schedulingGates": [{"name": "not valid"}]},
        {"schedulingGates": [{"name": ""}]},
        {"schedulingGates": [{"name": "a"}, {"name": "b"}, {"name": "a"}]},
    ),
    "claims": (
        {"resourceClaims": [{"name": _LONG, "resourceClaimName": "c"}]},
        {"resourceClaims": [{"name": "", "resourceClaimName": "c"}]},
        {"resourceClaims": [{"name": "g", "resourceClaimName": "c" * 254}]},
        {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "c" * 254}]},
        {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "Not_Valid"}]},
        {"resourceClaims": [{"name": "g", "resourceClaimName": ""}]},
        {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}], **_with({"resources": {"claims": [{}]}})},
        {
            "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
            **_with({"resources": {"claims": [{"name": "h"}]}}),
        },
        {
            "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
            **_with({"resources": {"claims": [{"name": "g", "request": "Not_Valid"}]}}),
        },
        {
            "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
            **_with({}, {"resources": {"claims": [{"name": "g", "request": "r"}, {"name": "g", "request": "r"}]}}),
        },
        {
            "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
            **_with({"resources": {"claims": [{"name": "g", "request": "r"}, {"name": "g"}]}}),
        },
        {
            "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
            **_with({}),
            "initContainers": [{"name": "i", "image": "x", "resources": {"claims": [{"name": "h"}]}}],
        },
    ),
}
"""Specs that are refused, by subject."""

_ACCEPTED: dict[str, dict[str, Any]] = {
    "edges": {
        "activeDeadlineSeconds": 1,
        "nodeSelector": {"a": "", "example.com/b": "c.d"},
        "tolerations": [
            {"operator": "Exists"},
            {"key": "a"},
            {"key": "a", "operator": "Equal", "value": "v", "effect": "NoExecute", "tolerationSeconds": 0},
            {"key": "b", "operator": "Exists", "effect": "PreferNoSchedule"},
            {"key": "b", "operator": "Exists", "effect": "NoSchedule"},
        ],
        **_node_affinity(
            _expression("In", "1", "2"),
            _expression("NotIn", "1"),
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
            _expression("Gt", "1"),
            _expression("Lt", "9"),
        ),
    },
    "longest": {"activeDeadlineSeconds": 2**31 - 1, **_with({"name": "l" * 63})},
    "ports": _with({"ports": [{"containerPort": 1}, {"containerPort": 65535, "protocol": "UDP", "name": "u"}]}),
    "mounts": {
        **_volumes({"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/w", "readOnly": True}),
        "initContainers": [{"name": "i", "image": "x", "volumeMounts": [{"name": "w", "mountPath": "/v"}]}],
    },
    "resources": _with(
        {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m"}}},
        {"resources": {"limits": {"example.com/gpu": "2"}, "requests": {"example.com/gpu": "2"}}},
        {"resources": {"requests": {"cpu": "100m"}}},
    ),
    "claims": {
        "resourceClaims": [
            {"name": "g", "resourceClaimName": "c" * 253},
            {"name": "h", "resourceClaimTemplateName": "t.example.com"},
        ],
        **_with(
            {"resources": {"claims": [{"name": "g", "request": "r"}, {"name": "g", "request": "s"}]}},
            {"resources": {"claims": [{"name": "g"}, {"name": "h"}]}},
        ),
    },
}


def _creations() -> Iterator[Probe]:
    for name, specs in _REFUSED.items():
        steps = tuple(post(PODS, pod(**spec), keep=("spec",)) for spec in specs)
        yield Probe(f"pod-fields/{name}", steps, pods=True)
    for name, spec in _ACCEPTED.items():
        yield Probe(f"pod-fields/good-{name}", (post(PODS, pod(**spec), keep=("spec", "status.qosClass")),), pods=True)


def _quality() -> Iterator[Probe]:
    """The quality of service class of a pod depends on all its containers."""
    whole = {"limits": {"cpu": "1", "memory": "1Gi"}}
    table: dict[str, dict[str, Any]] = {
        "second-none": _with({"resources": whole}, {}),
        "second-part": _with({"resources": whole}, {"resources": {"limits": {"cpu": "1"}}}),
        "both": _with({"resources": whole}, {"resources": whole}),
        "init": {**_with({"resources": whole}), "initContainers": [{"name": "i", "image": "x"}]},
        "init-only": {**_with({}), "initContainers": [{"name": "i", "image": "x", "resources": whole}]},
        "extended-only": _with({"resources": {"limits": {"example.com/gpu": "1"}}}),
        "less": _with({"resources": {**whole, "requests": {"cpu": "500m"}}}),
        "zero": _with({"resources": {"limits": {"cpu": "0", "memory": "0"}}}),
        "storage": _with({"resources": {"limits": {"ephemeral-storage": "1Gi"}}}),
    }
    for name, spec in table.items():
        yield Probe(f"pod-fields/quality-{name}", (post(PODS, pod(**spec), keep=("status.qosClass",)),), pods=True)


def _changes() -> Iterator[Probe]:
    """Updates of fields that can only shrink or only grow."""
    first = post(
        PODS,
        pod(
            activeDeadlineSeconds=60,
            tolerations=[{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}],
        ),
        keep="none",
    )
    keep = ("spec.activeDeadlineSeconds", "spec.tolerations", "metadata.generation")

    def changed(**spec: Any) -> Any:
        return patch(_ONE, {"spec": spec}, keep=keep)

    deadlines = (changed(activeDeadlineSeconds=n) for n in (61, 60, 59, -1, 0, None))
    yield Probe("pod-fields/change-deadline", (first, *deadlines), pods=True)
    own = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 9}
    tolerations: tuple[list[dict[str, Any]], ...] = (
        [{**own, "tolerationSeconds": 5}],
        [{**own, "key": "b"}],
        [own, {"key": "c", "operator": "Sometimes"}],
        [own, {"key": "b", "operator": "Exists"}],
        [],
    )
    steps = (changed(tolerations=list_) for list_ in tolerations)
    yield Probe("pod-fields/change-tolerations", (first, *steps), pods=True)
    containers = patch(_ONE, {"spec": {"containers": [{"name": "b", "image": "x"}]}}, STRATEGIC, keep=keep)
    init = patch(_ONE, {"spec": {"initContainers": [{"name": "b", "image": "x"}]}}, STRATEGIC, keep="status")
    renamed = patch(_ONE, {"spec": {"containers": [{"name": "b", "image": "x"}]}}, keep="status")
    bad_image = patch(_ONE, {"spec": {"containers": [{"name": "main", "image": " x"}]}}, STRATEGIC, keep=keep)
    yield Probe("pod-fields/change-containers", (first, containers, init, renamed, bad_image), pods=True)
    grace = post(PODS, pod(terminationGracePeriodSeconds=5, restartPolicy="Never"), keep="none")
    more = (patch(_ONE, {"spec": {name: value}}, keep="status") for name, value in _FIXED.items())
    yield Probe("pod-fields/change-fixed", (grace, *more), pods=True)
    gates = [{"name": "example.com/a"}, {"name": "example.com/b"}]
    gated = post(PODS, pod(schedulingGates=gates, nodeSelector={"a": "b"}), keep="none")
    steps_of_gates = (
        patch(_ONE, {"spec": {"schedulingGates": [gates[0], {"name": "example.com/c"}]}}),
        patch(_ONE, {"spec": {"nodeSelector": {"a": "c"}}}),
        patch(_ONE, {"spec": {"nodeSelector": {"a": None}}}),
        patch(_ONE, {"spec": {"nodeSelector": {"d": "e"}}}, keep=("spec.nodeSelector",)),
        patch(_ONE, {"spec": {"schedulingGates": [gates[1]]}}, keep=("spec.schedulingGates", "status.conditions")),
        patch(_ONE, {"spec": {"hostNetwork": True}}, keep="status"),
        patch(_ONE, {"spec": {"schedulingGates": []}}, keep=("spec.schedulingGates", "status.conditions")),
        patch(_ONE, {"spec": {"nodeSelector": {"f": "g"}}}, keep="status"),
    )
    yield Probe("pod-fields/change-gates", (gated, *steps_of_gates), pods=True)
    one, two = _expression("In", "x"), _expression("In", "y", key="b")
    affinities = (
        _node_affinity(one),
        _node_affinity(two),
        _node_affinity(two, one),
        _node_affinity(one, two),
        _node_affinity(one),
        _node_affinity(terms=[{"matchExpressions": [one, two]}, {"matchExpressions": [one]}]),
        _node_affinity(
            terms=[{"matchExpressions": [one, two], "matchFields": [_expression("In", "n", key="metadata.name")]}]
        ),
        _node_affinity(one, two),
        {"affinity": None},
        _node_affinity(terms=[{"matchExpressions": [two]}, {"matchExpressions": [one]}]),
    )
    keep_affinity = ("spec.affinity",)
    narrower = (patch(_ONE, {"spec": each}, keep=keep_affinity) for each in affinities)
    yield Probe("pod-fields/change-gated-affinity", (gated, *narrower), pods=True)


_FIXED: dict[str, Any] = {
    "terminationGracePeriodSeconds": 9,
    "restartPolicy": "Always",
    "serviceAccountName": "other",
    "hostNetwork": True,
    "schedulerName": "other",
    "affinity": {"nodeAffinity": {}},
}


def _statuses() -> Iterator[Probe]:
    spec = pod(
        resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}, {"name": "h", "resourceClaimName": "c"}],
        containers=[
            {**_CONTAINER, "resources": {"limits": {"example.com/gpu": "1"}}},
            {"name": "b", "image": "x", "resources": {"limits": {"example.com/nic": "1"}}},
        ],
        initContainers=[{"name": "i", "image": "x", "resources": {"limits": {"example.com/gpu": "1"}}}],
    )
    first = post(PODS, spec, keep="none")
    keep = ("status",)

    def status(**fields: Any) -> Any:
        return patch(_ONE + "/status", {"status": fields}, keep=keep)

    yield Probe(
        "pod-fields/status-claims",
        (
            first,
            status(resourceClaimStatuses=[{"name": "g"}, {"name": "g"}]),
            status(resourceClaimStatuses=[{"name": "x"}, {"name": "g"}]),
            status(resourceClaimStatuses=[{"name": "g", "resourceClaimName": "c" * 254}]),
            status(resourceClaimStatuses=[{"name": "g", "resourceClaimName": "Not_Valid"}]),
            status(resourceClaimStatuses=[{"name": "g", "resourceClaimName": "made"}, {"name": "h"}]),
        ),
        pods=True,
    )
    one = {"containerName": "a", "resourceName": "example.com/gpu", "requestName": "r"}
    two = {"containerName": "b", "resourceName": "example.com/nic", "requestName": "s"}
    mappings: tuple[list[dict[str, Any]], ...] = (
        [one, one],
        [{**one, "containerName": "z"}],
        [{**one, "resourceName": "example.com/nic"}],
        [{**one, "requestName": "Not_Valid"}],
        [one, {**two, "containerName": "a"}],
        [{**one, "containerName": "z", "requestName": "Not_Valid"}],
        [one, two, {**one, "containerName": "i", "requestName": "t"}],
    )
    extended = (
        status(extendedResourceClaimStatus={"resourceClaimName": "c", "requestMappings": each}) for each in mappings
    )
    bad = status(extendedResourceClaimStatus={"resourceClaimName": "Not_Valid", "requestMappings": [one]})
    yield Probe("pod-fields/status-extended", (first, bad, *extended), pods=True)
    condition = {"type": "A", "status": "False", "lastTransitionTime": "2020-01-02T03:04:05Z"}
    conditions = patch(_ONE + "/status", {"status": {"conditions": [condition]}}, STRATEGIC, keep=keep)
    unknown = {**condition, "type": "B", "status": "Unknown", "reason": "R", "message": "m"}
    second = patch(_ONE + "/status", {"status": {"conditions": [unknown]}}, STRATEGIC, keep=keep)
    yield Probe("pod-fields/status-conditions", (first, conditions, second), pods=True)
    named = {**pod(), "metadata": {"name": "p", "labels": {"a": "b"}}, "status": {"phase": "Running"}}
    yield Probe(
        "pod-fields/status-put",
        (
            post(PODS, pod(), keep="none"),
            put(_ONE + "/status", named, keep=("status", "metadata.labels", "spec.nodeName", "metadata.generation")),
            put(_ONE, {**named, "spec": {}}, keep="status"),
        ),
        pods=True,
    )


_CLAIMED: dict[str, Any] = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}]}


def _mirrors() -> Iterator[Probe]:
    """A pod with the annotation of a static pod, which only a node may create."""
    annotations = {"kubernetes.io/config.mirror": "x"}
    node = ("system:node:{id}", ("system:nodes",))
    claimed = pod(resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    made = post("/api/v1/nodes", {"metadata": {"name": "{id}"}}, keep="none")
    owner = {"apiVersion": "v1", "kind": "Node", "name": "{id}", "uid": "{0.metadata.uid}", "controller": True}

    def mirror(body: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        spec = {**body["spec"], "nodeName": "{id}", **more.pop("spec", {})}
        metadata = {"name": "p", "annotations": annotations, "ownerReferences": [owner], **more}
        return {**body, "metadata": metadata, "spec": spec}

    plain = pod()
    bodies = {
        "no-annotation": mirror(plain, annotations={}),
        "other-node": mirror(plain, spec={"nodeName": "elsewhere"}),
        "no-owner": mirror(plain, ownerReferences=[]),
        "two-owners": mirror(plain, ownerReferences=[owner, {**owner, "name": "x", "controller": False}]),
        "owner-kind": mirror(plain, ownerReferences=[{**owner, "kind": "Pod"}]),
        "owner-name": mirror(plain, ownerReferences=[{**owner, "name": "x"}]),
        "owner-uid": mirror(plain, ownerReferences=[{**owner, "uid": "x"}]),
        "owner-controller": mirror(plain, ownerReferences=[{**owner, "controller": False}]),
        "owner-blocks": mirror(plain, ownerReferences=[{**owner, "blockOwnerDeletion": True}]),
        "claims": mirror(claimed),
        "secret": mirror(plain, spec={"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}),
        "map": mirror(plain, spec={"volumes": [{"name": "v", "configMap": {"name": "m"}}]}),
        "projected": mirror(
            plain, spec={"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "m"}}]}}]}
        ),
        "volume-claim": mirror(plain, spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}]}),
        "environment": mirror(plain, spec={"containers": [{**_CONTAINER, "envFrom": [{"secretRef": {"name": "s"}}]}]}),
        "account": mirror(plain, spec={"serviceAccountName": "x"}),
    }
    for name, body in bodies.items():
        yield Probe(f"mirror/{name}", (made, post(PODS, body, user=node)), pods=True)
    good = post(PODS, mirror(plain), user=node, keep=("metadata.annotations", "metadata.ownerReferences"))
    mark = patch(_ONE + "/status", {"status": {"phase": "Running"}}, user=node, keep=("status.phase",))
    away = patch(_ONE + "/status", {"metadata": {"labels": {"a": "b"}}}, user=node, keep=("metadata.labels",))
    entry = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "c"}]}
    listed = patch(_ONE + "/status", {"status": entry}, user=node)
    gone = delete(_ONE, {"gracePeriodSeconds": 0}, user=node, keep="status")
    yield Probe("mirror/good", (made, good, mark, away, listed, gone), pods=True)
    absent = {**mirror(plain), "spec": {**plain["spec"], "nodeName": "{id}"}}
    absent["metadata"] = {**absent["metadata"], "ownerReferences": [{**owner, "uid": "u"}]}
    yield Probe("mirror/no-node", (post(PODS, absent, user=node),), pods=True)
    # A pod that the scheduler bound: its claims are no concern of the node.
    bound = post(PODS, {**pod(nodeName="{id}", **_CLAIMED), "metadata": {"name": "p"}}, keep="none")
    extended = {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}}
    steps = (
        patch(_ONE + "/status", {"status": entry}, user=node),
        patch(_ONE + "/status", {"status": extended}, user=node),
        patch(_ONE + "/status", {"metadata": {"annotations": {"a": "b"}}}, user=node, keep=("metadata.annotations",)),
        patch(_ONE + "/status", {"status": {"phase": "Running"}}, user=node, keep=("status.phase",)),
        delete(_ONE, {"gracePeriodSeconds": 5}, user=("system:node:other", ("system:nodes",)), keep="all"),
    )
    yield Probe("mirror/bound", (made, bound, *steps), pods=True)
    # An administrator may create one, but not with claims.
    yield Probe("mirror/admin", (made, post(PODS, mirror(claimed), keep=("metadata.annotations",))), pods=True)


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _creations()
    yield from _quality()
    yield from _changes()
    yield from _statuses()
    yield from _mirrors()
