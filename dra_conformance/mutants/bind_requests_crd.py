"""Faults in the CRD of BindRequests that the chapter bind_requests must catch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from dra_api.objects import Obj
from dra_conformance.engine.mutation import Patch, mutant


def change_crd(patch: Patch, change: Callable[[Obj], None]) -> None:
    """Install another BindRequest CRD: `change` gets its only version."""

    def wrapped(original: Any) -> Any:
        def load_all(*args: Any, **more: Any) -> list[Any]:
            found: list[Any] = copy.deepcopy(original(*args, **more))
            for obj in found:
                # The harness loads its other manifests with this function too.
                if (
                    isinstance(obj, dict)
                    and (obj.get("metadata") or {}).get("name") == "bindrequests.scheduling.run.ai"
                ):
                    change(obj["spec"]["versions"][0])
            return found

        return load_all

    patch.wrap("dra_conformance.core.documents:load_all", wrapped)


def spec_of(version: Obj) -> Obj:
    """The schema of spec."""
    found: Obj = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def devices_of(version: Obj) -> Obj:
    """The schema of allocation.devices in resourceClaimAllocations."""
    entries = spec_of(version)["properties"]["resourceClaimAllocations"]["items"]["properties"]
    found: Obj = entries["allocation"]["properties"]["devices"]["properties"]
    return found


@mutant("crd-without-status", rule="KAI-001")
def _(patch: Patch) -> None:
    """The CRD has no status subresource."""
    change_crd(patch, lambda version: version.pop("subresources"))


@mutant("crd-pod-name-required", rule="KAI-002")
def _(patch: Patch) -> None:
    """The CRD requires spec.podName."""
    change_crd(patch, lambda version: spec_of(version).update(required=["podName"]))


@mutant("crd-status-on-create", rule="KAI-003")
def _(patch: Patch) -> None:
    """Without the subresource, a new BindRequest can have a status."""
    change_crd(patch, lambda version: version.pop("subresources"))


@mutant("crd-results-optional", rule="KAI-004")
def _(patch: Patch) -> None:
    """Device results may lack any field."""
    change_crd(patch, lambda version: devices_of(version)["results"]["items"].pop("required"))


@mutant("crd-operator-no-default", rule="KAI-005")
def _(patch: Patch) -> None:
    """A toleration's operator has no default."""

    def change(version: Obj) -> None:
        tolerations = devices_of(version)["results"]["items"]["properties"]["tolerations"]
        del tolerations["items"]["properties"]["operator"]["default"]

    change_crd(patch, change)


@mutant("crd-parameters-pruned", rule="KAI-006")
def _(patch: Patch) -> None:
    """Opaque parameters lose their unknown fields."""

    def change(version: Obj) -> None:
        opaque = devices_of(version)["config"]["items"]["properties"]["opaque"]["properties"]
        opaque["parameters"].pop("x-kubernetes-preserve-unknown-fields")

    change_crd(patch, change)


@mutant("crd-keeps-unknown-fields", rule="KAI-006")
def _(patch: Patch) -> None:
    """Unknown fields of the spec are stored."""
    change_crd(patch, lambda version: spec_of(version).update({"x-kubernetes-preserve-unknown-fields": True}))


@mutant("crd-zones-unchecked", rule="KAI-007")
def _(patch: Patch) -> None:
    """A predicted zone may lack zone and amount."""
    change_crd(patch, lambda version: spec_of(version)["properties"]["predictedNUMAZones"]["items"].pop("required"))


@mutant("crd-type-enumerated", rule="KAI-008")
def _(patch: Patch) -> None:
    """receivedResourceType has a list of allowed values."""

    def change(version: Obj) -> None:
        spec_of(version)["properties"]["receivedResourceType"]["enum"] = ["Regular", "Fraction", "MigInstance"]

    change_crd(patch, change)
