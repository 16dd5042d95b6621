"""Which of a release's three allocators the features select, and what each is blind to.

Pure functions. Deviations: stable-ignores-newer-fields, stable-hides-multiple-allocations, distinct-without-gate.

Source: structured/allocator.go NewAllocator of k8s.io/dynamic-resource-allocation v0.36.6: the first variant that knows
every feature that is on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from reference_impl.scheduler.allocator.model import Claim, Device, Features, Request, Slice

Variant = Literal["stable", "incubating", "experimental"]


def variant_for(features: Features) -> Variant:
    """The variant that kube-scheduler would use."""
    if features.list_attributes:
        return "experimental"
    return "incubating" if features.binding_conditions or features.consumable_capacity else "stable"


def claims_as_read(claims: Iterable[Claim], variant: Variant) -> list[Claim]:
    """The claims with what the variant does not see left out (stable-ignores-newer-fields)."""
    return [_without_capacity(claim) if variant == "stable" else claim for claim in claims]


def claims_as_checked(claims: Iterable[Claim], variant: Variant) -> list[Claim]:
    """The claims with what the variant uses unasked left out of the check of gates (distinct-without-gate)."""
    return [_without_distinct(claim) if variant != "stable" else claim for claim in claims]


def slice_as_read(piece: Slice, variant: Variant) -> Slice:
    """A slice with what the variant does not see of its devices left out (stable-hides-multiple-allocations)."""
    if variant != "stable" or not any(device.allow_multiple or device.binds_to_node for device in piece.devices):
        return piece
    return replace(piece, devices=tuple(map(_plain, piece.devices)))


def _plain(device: Device) -> Device:
    # Verdicts of selectors differ too, so the device's own are not shared.
    return replace(device, allow_multiple=False, binds_to_node=False, verdicts={})


def _without_capacity(claim: Claim) -> Claim:
    return replace(claim, requests=tuple(map(_request_without_capacity, claim.requests)))


def _request_without_capacity(request: Request) -> Request:
    return replace(request, alternatives=tuple(replace(sub, capacity=()) for sub in request.alternatives))


def _without_distinct(claim: Claim) -> Claim:
    return replace(claim, constraints=tuple(one for one in claim.constraints if one.kind != "distinctAttribute"))
