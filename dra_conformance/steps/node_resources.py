"""What devices use of the allocatable resources of their node, and pods that fill a node (Kubernetes 1.37, alpha)."""

from __future__ import annotations

from typing import Any

from dra_api.objects import PODS, Obj
from dra_api.quantity import Quantity
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.pods import create_pod, pod_object, scheduler_of

FIELD = "nodeAllocatableResourceClaimStatuses"
_EACH = ("perPod", "perContainer")


@given('a pod "{pod}" that requests {amount} of {resource:word}')
@when('a pod "{pod}" that requests {amount} of {resource:word} is created')
def _(world: World, pod: str, amount: str, resource: str) -> None:
    """Create a pod without claims whose container has this request."""
    obj = pod_object(world, pod, [], scheduler=scheduler_of(world))
    obj["spec"]["containers"][0]["resources"] = {"requests": {resource: amount}}
    create_pod(world, obj)


@then('the status of pod "{pod}" has the node resources of its claims:')
def _(world: World, pod: str, docstring: str) -> None:
    """`status.nodeAllocatableResourceClaimStatuses` comes to be this (YAML): amounts by value, lists in any order."""
    wanted = _readable(manifests.parse_value(world.text(docstring)) or [])

    def look() -> Seen[dict[str, Any]]:
        held = _readable(((world.seen(PODS, pod) or {}).get("status") or {}).get(FIELD) or [])
        return held == wanted, held

    world.eventually(f"the status of pod {pod} has the node resources of its claims", look, expected=wanted)


def _readable(entries: list[Obj]) -> dict[str, Any]:
    """Return the entries by claim, with amounts in thousandths."""
    return {
        str(entry["resourceClaimName"]): {
            "containers": sorted(entry.get("containers") or ()),
            "mapping": {one["name"]: _milli(one["quantity"]) for one in entry.get("mapping") or ()},
            "overhead": {
                one["name"]: {
                    each: _milli(one[each]) for each in ("perPod", "perContainer") if one.get(each) is not None
                }
                for one in entry.get("overhead") or ()
            },
        }
        for entry in entries
    }


def _milli(quantity: object) -> int:
    return Quantity.parse(str(quantity)).milli_value
