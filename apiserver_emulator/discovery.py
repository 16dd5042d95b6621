"""Discovery documents: /api, /apis and below, legacy and aggregated; /version.

Built from the resource table for each request: they are small and rarely requested.

Source: k8s.io/apiserver pkg/endpoints/discovery; KEP-3352 (aggregated discovery v2).
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson

from apiserver_emulator.resource_types import ResourceTable, ResourceType

Obj = dict[str, Any]

AGGREGATED_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

# Patch releases whose behaviour the storage rules were taken from.
_PATCH = {"1.34": "1.34.2", "1.35": "1.35.1", "1.36": "1.36.2", "1.37": "1.37.2"}

_SUBRESOURCE_KINDS = {
    "binding": ("", "", "Binding", ("create",)),
    "eviction": ("policy", "v1", "Eviction", ("create",)),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ("create",)),
    "finalize": ("", "", "", ("update",)),
    "scale": ("autoscaling", "v1", "Scale", ("get", "patch", "update")),
}

# Create-only resources that are not stored.
REVIEWS: dict[tuple[str, str], tuple[str, bool]] = {
    ("authorization.k8s.io", "selfsubjectaccessreviews"): ("SelfSubjectAccessReview", False),
    ("authorization.k8s.io", "selfsubjectrulesreviews"): ("SelfSubjectRulesReview", False),
    ("authorization.k8s.io", "subjectaccessreviews"): ("SubjectAccessReview", False),
    ("authorization.k8s.io", "localsubjectaccessreviews"): ("LocalSubjectAccessReview", True),
    ("authentication.k8s.io", "tokenreviews"): ("TokenReview", False),
    ("authentication.k8s.io", "selfsubjectreviews"): ("SelfSubjectReview", False),
    ("", "bindings"): ("Binding", True),
}


def version(kubernetes_version: str) -> Obj:
    """The /version document."""
    major, minor = kubernetes_version.split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"v{_PATCH.get(f'{major}.{minor}', kubernetes_version)}+dra-conformance",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "embedded",
    }


def api_versions(address: str) -> Obj:
    """/api."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    }


def groups(table: ResourceTable) -> dict[str, list[str]]:
    """Served groups and versions, the review groups included."""
    found = table.groups()
    for group, _ in REVIEWS:
        if group:
            found.setdefault(group, ["v1"])
    return found


def api_group(group: str, versions: list[str]) -> Obj:
    """One APIGroup."""
    entries = [{"groupVersion": f"{group}/{v}", "version": v} for v in versions]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": entries,
        "preferredVersion": entries[0],
    }


def api_group_list(table: ResourceTable) -> Obj:
    """/apis."""
    entries = [api_group(group, versions) for group, versions in groups(table).items() if group]
    for entry in entries:
        del entry["kind"], entry["apiVersion"]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": entries}


_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
# Storage versions of a real API server (1.36, 1.37) by those of this store, where they differ; discovery publishes
# their hash. A version is used for storage one release after it was added.
_STORED_AS = {
    ("resource.k8s.io", "DeviceTaintRule"): {"v1": "v1beta2", "v1beta2": "v1alpha3"},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {"v1": "v1beta1"},
    ("events.k8s.io", "Event"): {"core": "v1"},
}


def storage_hash(resource: ResourceType) -> str:
    """storageVersionHash: eight bytes of a digest of the kind that is stored (StorageVersionHash of apiserver)."""
    stored = resource.storage_version
    version = _STORED_AS.get((resource.group, resource.kind), {}).get(stored, stored)
    text = f"{resource.storage_key[0]}/{version}/{resource.kind}".encode()
    return base64.b64encode(hashlib.sha256(text).digest()[:8]).decode()


def resource_list(table: ResourceTable, group: str, version_name: str) -> Obj | None:
    """/api/v1 or /apis/<group>/<version>; None when nothing is served there."""
    entries: list[Obj] = []
    for resource in table.all():
        if resource.group != group or version_name not in resource.versions:
            continue
        entry: Obj = {
            "name": resource.plural,
            "singularName": resource.singular_name,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": _CUSTOM_VERBS if resource.custom else sorted(resource.verbs),
        }
        if resource.short_names:
            entry["shortNames"] = list(resource.short_names)
        if resource.categories:
            entry["categories"] = list(resource.categories)
        entry["storageVersionHash"] = storage_hash(resource)
        entries.append(entry)
        for sub in resource.subresources:
            sub_group, sub_version, kind, verbs = _SUBRESOURCE_KINDS.get(sub, ("", "", "", ("get", "patch", "update")))
            entry = {
                "name": f"{resource.plural}/{sub}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": kind or resource.kind,
                "verbs": list(verbs),
            }
            if sub_version:
                entry["group"], entry["version"] = sub_group, sub_version
            entries.append(entry)
    for (review_group, plural), (kind, namespaced) in REVIEWS.items():
        if review_group == group and version_name == "v1":
            entries.append(
                {
                    "name": plural,
                    "singularName": kind.lower(),
                    "namespaced": namespaced,
                    "kind": kind,
                    "verbs": ["create"],
                }
            )
    if not entries:
        return None
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{version_name}" if group else version_name,
        "resources": sorted(entries, key=lambda e: str(e["name"])),
    }


def aggregated(table: ResourceTable, *, core: bool) -> Obj:
    """APIGroupDiscoveryList v2 for /api (core) or /apis."""
    items: list[Obj] = []
    for group, versions in groups(table).items():
        if (group == "") != core:
            continue
        entry: Obj = {"metadata": {"name": group} if group else {}}
        entry["versions"] = [_aggregated_version(table, group, v) for v in versions]
        items.append(entry)
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _aggregated_version(table: ResourceTable, group: str, version_name: str) -> Obj:
    listed = resource_list(table, group, version_name) or {"resources": []}
    by_name: dict[str, Obj] = {}
    # Built-in kinds leave group and version of their own empty, custom resources do not.
    custom = any(resource.custom for resource in table.all() if resource.group == group)
    own = (group, version_name) if custom else ("", "")
    for entry in listed["resources"]:
        kind = {
            "group": entry.get("group", own[0]),
            "version": entry.get("version", own[1]),
            "kind": entry["kind"],
        }
        plural, slash, sub = entry["name"].partition("/")
        if slash:
            by_name[plural].setdefault("subresources", []).append(
                {"subresource": sub, "responseKind": kind, "verbs": entry["verbs"]}
            )
            continue
        found: Obj = {
            "resource": plural,
            "responseKind": kind,
            "scope": "Namespaced" if entry["namespaced"] else "Cluster",
            "singularResource": entry["singularName"],
            "verbs": entry["verbs"],
        }
        for name in ("shortNames", "categories"):
            if name in entry:
                found[name] = entry[name]
        by_name[plural] = found
    return {"version": version_name, "resources": list(by_name.values()), "freshness": "Current"}


def etag(document: Obj) -> str:
    """A strong tag of a document, which kubectl's cache sends back."""
    return '"' + hashlib.sha512(orjson.dumps(document)).hexdigest().upper()[:64] + '"'
