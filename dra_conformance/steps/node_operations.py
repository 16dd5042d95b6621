"""Slices that skip node operations, and allocation results that do (Kubernetes 1.37, alpha)."""

from __future__ import annotations

from typing import Any

from dra_api.allocations import results_of
from dra_api.objects import RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World


@when('the ResourceSlice "{name}" comes to skip the node operations {operations}')
def _(world: World, name: str, operations: str) -> None:
    """Write `spec.skipNodeOperations` (YAML) of a slice, and wait until all components have received it."""

    def change(stored: Obj) -> None:
        stored["spec"]["skipNodeOperations"] = manifests.parse_value(operations)

    world.update(RESOURCE_SLICES, world.name(name), change)
    world.catch_up()
    world.wait_for_watches()


@then('the results of claim "{claim}" skip the node operations:')
def _(world: World, claim: str, docstring: str) -> None:
    """The allocation results come to have these `skipNodeOperations` by device (YAML), each list in any order."""
    wanted = {device: sorted(operations) for device, operations in manifests.parse_value(docstring).items()}

    def look() -> Seen[dict[str, Any]]:
        held = {
            str(result["device"]): sorted(result.get("skipNodeOperations") or ())
            for result in results_of(world.seen(RESOURCE_CLAIMS, claim))
        }
        return held == wanted, held

    world.eventually(f"the results of claim {claim} skip node operations", look, expected=wanted)
