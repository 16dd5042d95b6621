"""Second writes: another owner, finalizer, manager, label or version than the first write had, and second selectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from verification.fidelity.probe import STRATEGIC, Probe, apply, delete, get, patch, post, watch
from verification.fidelity.probes.custom import definition
from verification.fidelity.probes.objects import (
    CLAIMS,
    CLASSES,
    CRDS,
    MAPS,
    NS,
    PODS,
    RBAC,
    SLICES,
    at,
    claim,
    config_map,
    device_class,
    pod,
    slice_of,
)

_ONE = MAPS + "/a"
_WATCHED = "/api/v1/watch/namespaces/{ns}/configmaps/a"
_RULES = "/apis/resource.k8s.io/v1beta2/devicetaintrules"


def _owner(name: str, step: int) -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": f"{{{step}.metadata.uid}}"}]


def _metadata() -> Iterator[Probe]:
    child = MAPS + "/child"
    yield Probe(
        "gc/owner-replaced",
        (
            post(MAPS, config_map(), keep="none"),
            post(MAPS, config_map("b"), keep="none"),
            post(MAPS, config_map("child", ownerReferences=_owner("a", 0)), keep="code"),
            patch(child, {"metadata": {"ownerReferences": _owner("b", 1)}}, keep="code"),
            delete(MAPS + "/b", keep="code"),
            get(child, until=404, keep="status"),
        ),
    )
    held = ["example.com/a", "example.com/b"]
    exchanged = patch(_ONE, {"metadata": {"finalizers": ["example.com/b", "example.com/c"]}})
    yield Probe(
        "finalizers/exchanged-in-deletion",
        (
            post(MAPS, config_map(finalizers=held), keep="none"),
            delete(_ONE, keep="code"),
            exchanged,
            get(_ONE, keep=("metadata.finalizers",)),
            patch(_ONE, {"metadata": {"finalizers": None}}, keep="code"),
        ),
    )
    yield Probe(
        "finalizers/merged-again",
        (
            post(MAPS, config_map(finalizers=held), keep="none"),
            patch(_ONE, {"metadata": {"finalizers": held[1:]}}, STRATEGIC, keep=("metadata.finalizers",)),
            patch(_ONE, {"metadata": {"finalizers": None}}, keep="code"),
        ),
    )
    for name, path, body in (("slice", SLICES, slice_of()), ("class", CLASSES, device_class())):
        one = f"{path}/{{id}}"
        body["metadata"]["finalizers"] = ["example.com/a"]
        yield Probe(
            f"deletion/generation-{name}",
            (
                post(path, body, keep=("metadata.generation",)),
                delete(one, keep="code"),
                get(one, keep=("metadata.generation", "metadata.finalizers")),
                patch(one, {"metadata": {"finalizers": None}}, keep="code"),
            ),
        )


def _managers() -> Iterator[Probe]:
    made = post(MAPS, config_map(), query=(("fieldManager", "one"),), keep="none")
    yield Probe("apply/manager-that-updated", (made, apply(_ONE, config_map(data={"k": "w"}), "one")))
    labels = {"metadata": {"name": "{id}", "labels": {"a": "1", "b": "2"}}, "kind": "DeviceClass", "spec": {}}
    fewer = {"metadata": {"name": "{id}", "labels": {"a": "1"}}, "kind": "DeviceClass", "spec": {}}
    kept = ("metadata.labels", "metadata.managedFields")
    yield Probe(
        "apply/two-versions",
        (
            apply(CLASSES + "/{id}", {"apiVersion": "resource.k8s.io/v1", **labels}, "one", keep="code"),
            apply(
                at("v1beta1", CLASSES) + "/{id}",
                {"apiVersion": "resource.k8s.io/v1beta1", **fewer},
                "one",
                keep=kept,
                managed=True,
            ),
        ),
    )


def _reads() -> Iterator[Probe]:
    made, other = post(MAPS, config_map(), keep="none"), post(MAPS, config_map("b"), keep="none")
    future = get(MAPS, query=(("resourceVersion", "999999999"),), keep="status")
    yield Probe("list/future-version", (made, future))
    changes = (patch(MAPS + "/b", {"data": {"k": "x"}}, keep="none"), patch(_ONE, {"data": {"k": "w"}}, keep="none"))
    selected = (("fieldSelector", "metadata.namespace={ns}"), ("resourceVersion", "{1.metadata.resourceVersion}"))
    yield Probe("watch/name-and-field-selector", (made, other, watch(_WATCHED, 1, *changes, query=selected)))
    named = ("fieldSelector", "metadata.name=a")
    query = (("allowWatchBookmarks", "true"), named)
    yield Probe("watch/initial-bookmark-unset", (made, watch(MAPS, 2, query=query)))
    both = (("fieldSelector", "metadata.name=a,metadata.namespace={ns}"),)
    yield Probe("watch/name-twice", (made, watch(_WATCHED, 2, changes[1], query=both)))


def _limits() -> Iterator[Probe]:
    taint = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    counters = {"consumesCounters": [{"counterSet": "s", "counters": {"m": {"value": "1"}}}]}
    for name, last in (("taint", taint), ("counter", counters)):
        devices = [{"name": f"d-{number}"} for number in range(64)]
        yield Probe(
            f"slice/last-device-with-{name}", (post(SLICES, slice_of("{id}", *devices, {"name": "z", **last})),)
        )
    taint_rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "{id}"},
        "spec": {
            "deviceSelector": {"driver": "{id}.example.com"},
            "taint": {"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2020-01-02T03:04:05Z"},
        },
    }
    other_value = patch(f"{_RULES}/{{id}}", {"spec": {"taint": {"value": "w"}}}, keep=("spec.taint",))
    yield Probe("taint-rule/value-changed", (post(_RULES, taint_rule, keep="code"), other_value))
    user = {"resource": "pods", "name": "p", "uid": "u"}
    with_status = patch(CLAIMS + "/c", {"status": {"reservedFor": [user]}}, keep=("status",))
    yield Probe("status/first-by-the-main-resource", (post(CLAIMS, claim(), keep="none"), with_status))


def _things() -> Iterator[Probe]:
    group = "{id}.example.com"
    things = f"/apis/{group}/v1/namespaces/{{ns}}/things"
    free = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    kind = definition(group, version={"schema": free, "selectableFields": [], "additionalPrinterColumns": []})
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"size": 1}}
    yield Probe(
        "status/first-by-the-main-resource-of-a-thing",
        (
            post(CRDS, kind, keep="none"),
            get(things, until=200, keep="code", patience=8.0),
            post(things, thing, keep="code"),
            patch(things + "/t", {"status": {"ready": True}}, keep=("spec", "status")),
        ),
    )


def _quotas() -> Iterator[Probe]:
    gpus = "requests.example.com/gpu"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {gpus: "9"}}}
    shared = NS + "/resourcequotas"

    def container(name: str, count: int, **more: Any) -> dict[str, Any]:
        resources = {"limits": {"example.com/gpu": str(count)}, "requests": {"example.com/gpu": str(count)}}
        return {"name": name, "image": "i", "resources": resources, **more}

    before = [container("sidecar", 2, restartPolicy="Always"), container("prepare", 3)]
    with_sidecar = pod(initContainers=before, containers=[container("main", 1)])
    used = {"status.used": {gpus: "5"}}
    yield Probe(
        "quota/init-container-beside-a-sidecar",
        (
            post(shared, quota, keep="none"),
            get(shared + "/q", until_body={"status.used": {gpus: "0"}}, keep="code"),
            post(PODS, with_sidecar, keep="code"),
            get(shared + "/q", until_body=used, patience=8.0, keep=("status.used",)),
        ),
        pods=True,
    )


def _permissions() -> Iterator[Probe]:
    group = "rbac.authorization.k8s.io"
    maps = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "patch"]}
    role = {"metadata": {"name": "{id}"}, "rules": [maps]}
    subject = {"kind": "User", "apiGroup": group, "name": "{id}-user"}
    binding = {
        "metadata": {"name": "{id}"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "{id}"},
        "subjects": [subject],
    }
    user = {"Impersonate-User": "{id}-user"}
    in_namespace = RBAC + "/namespaces/{ns}"
    yield Probe(
        "apply/creates-without-permission",
        (
            post(MAPS, config_map(), keep="none"),
            post(in_namespace + "/roles", role, keep="none"),
            post(in_namespace + "/rolebindings", binding, keep="none"),
            get(_ONE, headers=user, until=200, patience=5.0, keep="code"),
            apply(_ONE, config_map(data={"other": "v"}), headers=user, keep="code"),
            apply(MAPS + "/b", config_map("b"), headers=user, keep="status"),
        ),
    )


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _metadata()
    yield from _managers()
    yield from _reads()
    yield from _limits()
    yield from _things()
    yield from _quotas()
    yield from _permissions()
