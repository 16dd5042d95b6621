"""Paths, methods, content types, discovery, OpenAPI and protobuf."""

from __future__ import annotations

from collections.abc import Iterator

from verification.fidelity.probe import Probe, Step, delete, get, patch, post, put
from verification.fidelity.probes.objects import (
    CLAIMS,
    CORE,
    DRA,
    MAPS,
    MERGED,
    PODS,
    PROTOBUF,
    SLICES,
    at,
    claim,
    config_map,
    pod,
)


def _unknown() -> Iterator[Probe]:
    table = {
        "root-path": get("/nothing"),
        "api-version": get("/api/v2/pods"),
        "group": get("/apis/nothing.example.com"),
        "group-version": get("/apis/resource.k8s.io/v9"),
        "resource": get(DRA + "/nothings"),
        "resource-named": get(DRA + "/namespaces/{ns}/nothings/x"),
        "resource-core": get(CORE + "/nothings"),
        "namespaced-at-cluster": get(DRA + "/resourceclaims/x"),
        "cluster-in-namespace": get(DRA + "/namespaces/{ns}/resourceslices"),
        "double-slash": get("//api/v1/pods"),
        "trailing-slash": get(CORE + "/namespaces/", keep="code"),
        "subresource": get(MAPS + "/a/nothing"),
        "put-collection": put(MAPS, config_map()),
        "patch-collection": patch(MAPS, {}),
        "post-one": post(MAPS + "/a", config_map()),
        "post-slice-status": post(SLICES + "/x/status", {}),
        "post-all-namespaces": post(CORE + "/configmaps", config_map()),
        "method-options": Step("OPTIONS", MAPS),
        "method-odd": Step("FROB", MAPS),
        "method-head": Step("HEAD", MAPS, keep="code"),
        "delete-root": delete("/api"),
        "post-version": post("/version", {}, keep="code"),
        "healthz-nothing": get("/healthz/nothing"),
        "three-parts": get("/nothing/resource.k8s.io/v1"),
        "two-parts": get("/nothing/resource.k8s.io"),
        "api-below": get("/api/v1/namespaces/{ns}/configmaps/a/b/c"),
        "group-version-post": post(DRA, {}, keep="code"),
    }
    for name, step in table.items():
        yield Probe(f"unknown/{name}", (step,))


def _types() -> Iterator[Probe]:
    for name, kind in {
        "text": "text/plain",
        "xml": "application/xml",
        "form": "application/x-www-form-urlencoded",
        "charset": "application/json; charset=utf-8",
        "none": "",
        "star": "*/*",
        "merge": "application/merge-patch+json",
    }.items():
        yield Probe(f"type/post-{name}", (post(MAPS, config_map(), content_type=kind),))
    yaml = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
    yield Probe("type/post-yaml", (post(MAPS, yaml, content_type="application/yaml"),))
    first = post(MAPS, config_map(), keep="none")
    for name, accept in {
        "text": "text/plain",
        "star": "*/*",
        "yaml": "application/yaml",
        "several": "application/xml, application/json",
        "weights": "application/json;q=0.5",
        "odd-table": "application/json;as=Chair;v=v1;g=meta.k8s.io",
        "none": "",
        "cbor": "application/cbor",
    }.items():
        # YAML is compared by code only: the order of keys is not defined.
        keep = "code" if name == "yaml" else "all"
        yield Probe(f"type/accept-{name}", (first, get(MAPS + "/a", headers={"Accept": accept}, keep=keep)))
    yield Probe("type/accept-text-list", (get(MAPS, headers={"Accept": "text/plain"}),))
    yield Probe("type/error-yaml", (get(MAPS + "/a", headers={"Accept": "application/yaml"}, keep="code"),))
    protobuf = {"Accept": PROTOBUF}
    yield Probe("protobuf/get", (first, get(MAPS + "/a", headers=protobuf)))
    yield Probe("protobuf/claim", (post(CLAIMS, claim(), keep="none"), get(CLAIMS + "/c", headers=protobuf)))
    # Other probes create slices at the same time: this selector matches none of them.
    none = (("fieldSelector", "spec.nodeName=nowhere"),)
    yield Probe("protobuf/slices", (get(SLICES, query=none, headers=protobuf),))
    yield Probe("protobuf/pods", (post(PODS, pod(), keep="none"), get(PODS, headers=protobuf)), pods=True)
    yield Probe("protobuf/missing", (get(CLAIMS + "/c", headers=protobuf),))
    yield Probe("protobuf/not-protobuf", (post(MAPS, b"{}", content_type=PROTOBUF),))
    yield Probe("protobuf/short", (post(MAPS, b"k8s\x00", content_type=PROTOBUF),))
    # a ConfigMap named a: Unknown{typeMeta{v1, ConfigMap}, raw{metadata{name: a}}}
    body = b"k8s\x00" + b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap" + b"\x12\x05\x0a\x03\x0a\x01a"
    yield Probe("protobuf/post", (post(MAPS, body, content_type=PROTOBUF), get(MAPS + "/a")))
    # Request and response in protobuf, as typed clients of client-go send them.
    both = (post(MAPS, body, content_type=PROTOBUF, headers=protobuf), get(MAPS + "/a"))
    yield Probe("protobuf/post-both", both)


def _discovery() -> Iterator[Probe]:
    yield Probe("discovery/api", (get("/api", keep=("kind", "versions")),))
    for version in ("v1", "v1beta2", "v1beta1", "v1alpha3"):
        yield Probe(f"discovery/resource-{version}", (get(f"/apis/resource.k8s.io/{version}"),))
    yield Probe("discovery/resource", (get("/apis/resource.k8s.io"),))
    for group in ("coordination.k8s.io/v1", "apiextensions.k8s.io/v1", "policy/v1", "scheduling.k8s.io/v1"):
        yield Probe(f"discovery/{group.partition('/')[0]}", (get(f"/apis/{group}"),))
    keep = ("kind", "groups.name")
    yield Probe("discovery/groups", (get("/apis", keep=keep),))
    whole = ("kind", "apiVersion", "metadata")
    yield Probe("discovery/merged", (get("/apis", headers=MERGED, keep=whole),))
    yield Probe(
        "discovery/merged-core",
        (get("/api", headers=MERGED, keep=("items.metadata", "items.versions.version", *whole)),),
    )
    for group in ("resource.k8s.io", "coordination.k8s.io", "policy", "scheduling.k8s.io", "apiextensions.k8s.io"):
        found = ("items", "metadata.name", group)
        listed = get("/apis", only=("groups", "name", group))
        yield Probe(f"discovery/listed-{group}", (listed, get("/apis", headers=MERGED, only=found)))
    for kind in ("configmaps", "events", "namespaces", "nodes", "pods", "secrets", "serviceaccounts", "bindings"):
        yield Probe(f"discovery/core-{kind}", (get(CORE, only=("resources", "name", kind)),))
    for kind in (
        "pods/binding",
        "pods/status",
        "pods/eviction",
        "nodes/status",
        "serviceaccounts/token",
        "namespaces/finalize",
    ):
        yield Probe(f"discovery/core-{kind}", (get(CORE, only=("resources", "name", kind)),))
    for group, kinds in {
        "authorization.k8s.io": ("selfsubjectaccessreviews", "localsubjectaccessreviews", "subjectaccessreviews"),
        "authentication.k8s.io": ("tokenreviews", "selfsubjectreviews"),
        "rbac.authorization.k8s.io": ("roles", "clusterroles", "rolebindings", "clusterrolebindings"),
        "apps": ("daemonsets", "daemonsets/status", "deployments"),
        "admissionregistration.k8s.io": ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
        "events.k8s.io": ("events",),
    }.items():
        steps = tuple(get(f"/apis/{group}/v1", only=("resources", "name", kind)) for kind in kinds)
        yield Probe(f"discovery/kinds-{group}", steps)
    # Not the resources: the emulator serves a part of the core group.
    yield Probe("discovery/core", (get(CORE, keep=("kind", "groupVersion")),))
    yield Probe("discovery/version", (get("/version", keep=("major", "minor")),))
    for path in ("healthz", "livez", "readyz"):
        yield Probe(f"discovery/{path}", (get(f"/{path}"),))
    yield Probe("openapi/index", (get("/openapi/v3", keep=("paths.nothing",)),))
    for group in ("resource.k8s.io/v1", "resource.k8s.io/v1beta1"):
        path = f"/openapi/v3/apis/{group}"
        yield Probe(f"openapi/{group}", (get(path, keep=("openapi",)),))
        yield Probe(f"openapi/{group}-security", (get(path, keep=("components.securitySchemes",)),))
    yield Probe("openapi/unknown", (get("/openapi/v3/apis/nothing.example.com/v1"),))
    yield Probe("openapi/v2", (get("/openapi/v2", keep=("swagger",)),))


def _versions() -> Iterator[Probe]:
    for one in ("v1", "v1beta2", "v1beta1"):
        for other in ("v1", "v1beta2", "v1beta1"):
            body = _claim_in(one)
            steps = (post(at(one, CLAIMS), body), get(at(other, CLAIMS) + "/c"))
            yield Probe(f"versions/claim-{one}-{other}", steps)
            made = post(at(one, SLICES), _slice_in(one))
            yield Probe(f"versions/slice-{one}-{other}", (made, get(at(other, SLICES) + "/{id}")))
    yield Probe(
        "versions/managed",
        (
            post(at("v1beta1", CLAIMS), _claim_in("v1beta1"), keep="none"),
            patch(CLAIMS + "/c", {"metadata": {"labels": {"a": "b"}}}, managed=True),
            get(at("v1beta1", CLAIMS) + "/c", managed=True),
        ),
    )


def _claim_in(version: str) -> dict[str, object]:
    exact = {"deviceClassName": "gpu.example.com", "count": 2, "allocationMode": "ExactCount"}
    request = {"name": "r", **exact} if version == "v1beta1" else {"name": "r", "exactly": exact}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [request]}},
    }


def _slice_in(version: str) -> dict[str, object]:
    device = {"attributes": {"a": {"string": "x"}}, "capacity": {"m": {"value": "1Gi"}}}
    devices = [{"name": "gpu-0", "basic": device}] if version == "v1beta1" else [{"name": "gpu-0", **device}]
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": "{id}"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def probes() -> Iterator[Probe]:
    """Yield the probes of this table."""
    yield from _unknown()
    yield from _types()
    yield from _discovery()
    yield from _versions()
