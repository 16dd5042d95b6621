"""Shares of GPUs that a scheduler gives: pods that want a part of a GPU, the GPU groups of their BindRequests.

Source: KAI-Scheduler 0.12.0 docs/gpu-sharing/README.md, pkg/scheduler/gpu_sharing; rules KAI-017, KAI-018, KAI-381 to
KAI-388.
"""

from __future__ import annotations

from dra_api.objects import BIND_REQUESTS, Obj
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.gpu_reservations import CONFIG_MAP
from dra_conformance.steps.pods import create_pod, pod_object, scheduler_of


@given('a pod "{pod}" that shares GPUs by {annotations}')
@when('a pod "{pod}" that shares GPUs by {annotations} is created')
def _(world: World, pod: str, annotations: str) -> None:
    """Create a pod with these annotations (YAML), as KAI's admission leaves it: it names its ConfigMaps."""
    obj = pod_object(world, pod, [], scheduler=scheduler_of(world))
    wanted: dict[str, str] = {key: str(value) for key, value in manifests.parse_value(annotations).items()}
    held: Obj = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = {**held, CONFIG_MAP: f"{pod}-shares", **wanted}
    create_pod(world, obj)


@then('the BindRequests of pods "{pods}" name {count:d} GPU groups')
def _(world: World, pods: str, count: int) -> None:
    """Each of the pods has a BindRequest with GPU groups, and together they name so many different ones."""
    wanted = words(pods)

    def look() -> Seen[str]:
        specs = [request.get("spec") or {} for request in world.all_seen(BIND_REQUESTS)]
        found = {
            str(spec.get("podName")): [str(group) for group in spec.get("selectedGPUGroups") or ()] for spec in specs
        }
        groups = {group for pod in wanted for group in found.get(pod, ())}
        shown = in_words([f"{pod}: {', '.join(found.get(pod) or ['none'])}" for pod in wanted])
        return all(found.get(pod) for pod in wanted) and len(groups) == count, shown

    world.eventually(f"GPU groups of pods {pods}", look, expected=f"{count} groups in all, at least one for each pod")
