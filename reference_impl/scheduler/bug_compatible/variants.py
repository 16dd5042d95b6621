"""The three allocators of a release: which one the features select, and which features each ignores.

Pure functions. Deviations: stable-ignores-newer-fields, stable-hides-multiple-allocations, distinct-without-gate.

Source: structured/allocator.go NewAllocator of k8s.io/dynamic-resource-allocation v0.34.13 to v0.37.2: the first
variant that supports every enabled feature. Until 1.35 that is the stable one if no feature is enabled, and the
incubating one supports what the stable one supports since 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from reference_impl.scheduler.allocator.model import Claim, Device, Features, Request, Slice
from reference_impl.scheduler.bug_compatible.deviations import Release

Variant = Literal["stable", "incubating", "experimental"]


def variant_for(features: Features, release: Release) -> Variant:
    """Return the variant that kube-scheduler would use."""
    newer = features.binding_conditions or features.consumable_capacity
    if release.minor >= 37:
        newer = newer or features.fractional_ranges
    if release.minor >= 36:
        return "experimental" if features.list_attributes else "incubating" if newer else "stable"
    if newer:
        return "experimental"
    older = features.admin_access or features.prioritized_list or features.partitionable_devices
    return "incubating" if older or features.device_taints else "stable"


def knows_shares(variant: Variant, release: Release) -> bool:
    """Return whether a variant supports shares of devices, distinctAttribute, and devices that bind to a node."""
    return variant == "experimental" if release.minor < 36 else variant != "stable"


def claims_as_read(claims: Iterable[Claim], variant: Variant, release: Release) -> list[Claim]:
    """Return the claims with what the variant does not see left out (stable-ignores-newer-fields)."""
    return [claim if knows_shares(variant, release) else _without_capacity(claim) for claim in claims]


def claims_as_checked(claims: Iterable[Claim], variant: Variant, release: Release) -> list[Claim]:
    """Return the claims as the check of gates sees them: without fields that need no gate (distinct-without-gate)."""
    return [_without_distinct(claim) if knows_shares(variant, release) else claim for claim in claims]


def slice_as_read(item: Slice, variant: Variant, release: Release) -> Slice:
    """Return a slice with what the variant does not see of its devices left out (stable-hides-multiple-allocations)."""
    if knows_shares(variant, release):
        return item
    if not any(device.allow_multiple or device.binds_to_node for device in item.devices):
        return item
    return replace(item, devices=tuple(map(_plain, item.devices)))


def _plain(device: Device) -> Device:
    # Verdicts of selectors differ too, so the device's own are not shared.
    return replace(device, allow_multiple=False, binds_to_node=False, verdicts={})


def _without_capacity(claim: Claim) -> Claim:
    return replace(claim, requests=tuple(map(_request_without_capacity, claim.requests)))


def _request_without_capacity(request: Request) -> Request:
    return replace(request, alternatives=tuple(replace(sub, capacity=()) for sub in request.alternatives))


def _without_distinct(claim: Claim) -> Claim:
    return replace(claim, constraints=tuple(one for one in claim.constraints if one.kind != "distinctAttribute"))
