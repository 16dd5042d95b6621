"""The served resources of resource.k8s.io, by Kubernetes release and runtime-config.

Source: k8s.io/api/resource types (introduced and removed releases), pkg/registry/resource/rest/storage_resource.go,
pkg/printers/internalversion/printers.go (columns). Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_emulator.dra import conversion
from apiserver_emulator.dra.device_class import DeviceClassStrategy
from apiserver_emulator.dra.device_taint_rule import DeviceTaintRuleStrategy
from apiserver_emulator.dra.pool_status_request import ResourcePoolStatusRequestStrategy
from apiserver_emulator.dra.resource_claim import ResourceClaimStrategy
from apiserver_emulator.dra.resource_claim_template import ResourceClaimTemplateStrategy
from apiserver_emulator.dra.resource_slice import ResourceSliceStrategy, field_names, slice_fields
from apiserver_emulator.resource_types import Column, ResourceTable, ResourceType

Obj = dict[str, Any]

GROUP = "resource.k8s.io"
# The first and the last minor release that can serve each version.
_CORE_KINDS = {"v1": (34, 99), "v1beta2": (34, 99), "v1beta1": (34, 37)}
_VERSIONS: dict[str, dict[str, tuple[int, int]]] = {
    "deviceclasses": _CORE_KINDS,
    "resourceclaims": _CORE_KINDS,
    "resourceclaimtemplates": _CORE_KINDS,
    "resourceslices": _CORE_KINDS,
    "devicetaintrules": {"v1": (37, 99), "v1beta2": (36, 99), "v1alpha3": (34, 38)},
    "resourcepoolstatusrequests": {"v1alpha3": (36, 99)},
}
_ON_BY_DEFAULT = frozenset({"v1"})
_OFF_WORDS = frozenset({"false", "0"})


def served_versions(
    plural: str, kubernetes_version: str, runtime_config: Mapping[str, str | bool] | None = None
) -> tuple[str, ...]:
    """The versions in which a resource is served, most stable first.

    `runtime_config` is kube-apiserver's flag: `api/all`, `api/beta`, `api/alpha`, `resource.k8s.io/v1beta1` or
    `resource.k8s.io/v1beta1/resourceslices`, each true or false. Only v1 is served by default.
    """
    minor = int(kubernetes_version.removeprefix("v").split(".")[1])
    config = dict(runtime_config or {})
    found = []
    for version, (first, last) in _VERSIONS[plural].items():
        if not first <= minor <= last:
            continue
        stage = "alpha" if "alpha" in version else "beta" if "beta" in version else "ga"
        keys = ("api/all", f"api/{stage}", f"{GROUP}/{version}", f"{GROUP}/{version}/{plural}")
        enabled = version in _ON_BY_DEFAULT
        # From the least to the most specific key: the last one decides.
        for key in keys:
            if key in config:
                enabled = _is_on(config[key])
        if enabled:
            found.append(version)
    return tuple(found)


def _is_on(value: str | bool) -> bool:
    return value if isinstance(value, bool) else value.strip().lower() not in _OFF_WORDS


def _storage(plural: str, minor: int) -> str:
    # v1 for the four core kinds; for the others the newest version of the release.
    return next(version for version, (first, last) in _VERSIONS[plural].items() if first <= minor <= last)


def register(
    table: ResourceTable,
    *,
    kubernetes_version: str,
    runtime_config: Mapping[str, str | bool] | None = None,
    node_restriction: bool = True,
) -> None:
    """Add the group's resources to a table.

    `kubernetes_version` is the emulated minor ("1.36"); with `node_restriction`, nodes have access to their own slices
    only, as in clusters of kubeadm. A resource that no version serves is omitted.
    """
    minor = int(kubernetes_version.removeprefix("v").split(".")[1])
    for resource in _resources(minor, node_restriction=node_restriction):
        versions = served_versions(resource.plural, kubernetes_version, runtime_config)
        if versions:
            table.add(_with_versions(resource, versions, _storage(resource.plural, minor)))


def _with_versions(resource: ResourceType, versions: tuple[str, ...], storage: str) -> ResourceType:
    fields = {name: getattr(resource, name) for name in ResourceType.__dataclass_fields__}
    return ResourceType(**{**fields, "versions": versions, "storage_version": storage})


def _resources(minor: int, *, node_restriction: bool) -> list[ResourceType]:
    common: dict[str, Any] = {"group": GROUP, "versions": (), "storage_version": ""}
    return [
        ResourceType(
            **common,
            plural="deviceclasses",
            kind="DeviceClass",
            namespaced=False,
            strategy=DeviceClassStrategy(),
            conversion=conversion.CLASS,
        ),
        ResourceType(
            **common,
            plural="resourceclaims",
            kind="ResourceClaim",
            subresources=("status",),
            strategy=ResourceClaimStrategy(),
            conversion=conversion.CLAIM,
            columns=(Column("State", claim_state),),
        ),
        ResourceType(
            **common,
            plural="resourceclaimtemplates",
            kind="ResourceClaimTemplate",
            strategy=ResourceClaimTemplateStrategy(),
            conversion=conversion.TEMPLATE,
        ),
        ResourceType(
            **common,
            plural="resourceslices",
            kind="ResourceSlice",
            namespaced=False,
            strategy=ResourceSliceStrategy(node_restriction=node_restriction),
            conversion=conversion.SLICE,
            fields=slice_fields,
            field_names=field_names(minor),
            columns=(
                Column("Node", lambda obj: obj["spec"].get("nodeName") or "<unset>"),
                Column("Driver", lambda obj: obj["spec"].get("driver", "")),
                Column("Pool", lambda obj: obj["spec"]["pool"].get("name", "")),
            ),
        ),
        ResourceType(
            **common,
            plural="devicetaintrules",
            kind="DeviceTaintRule",
            namespaced=False,
            subresources=("status",) if minor >= 35 else (),
            strategy=DeviceTaintRuleStrategy(),
        ),
        ResourceType(
            **common,
            plural="resourcepoolstatusrequests",
            kind="ResourcePoolStatusRequest",
            namespaced=False,
            subresources=("status",),
            strategy=ResourcePoolStatusRequestStrategy(),
        ),
    ]


def claim_state(claim: Obj) -> str:
    """The State column of a claim: deleted, allocated, reserved, or pending."""
    status = claim.get("status") or {}
    states = []
    if "deletionTimestamp" in claim["metadata"]:
        states.append("deleted")
    if status.get("allocation") is None:
        if "deletionTimestamp" not in claim["metadata"]:
            states.append("pending")
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return ",".join(states)
