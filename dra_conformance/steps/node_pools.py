"""Node pools of KAI: the label that puts nodes, queues and PodGroups into a pool.

Source: KAI-Scheduler 0.12.0 docs/operator/scheduling-shards.md; rules KAI-420, KAI-421, KAI-425.
"""

from __future__ import annotations

from dra_api.objects import BIND_REQUESTS, NODES, POD_GROUPS, QUEUES, Resource
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.pod_groups import members

_LABEL = "kai.scheduler/node-pool"


def _set_pool(world: World, resource: Resource, name: str, pool: str | None) -> None:
    """Set the label of a node pool, or remove it; the scheduler has observed it afterwards."""
    namespace = world.namespace if resource.namespaced else None
    world.client.patch(resource, world.name(name), {"metadata": {"labels": {_LABEL: pool}}}, namespace)
    world.settle()


@given('Node "{node}" is in the node pool "{pool}"')
def _(world: World, node: str, pool: str) -> None:
    """Give a node the label of a pool."""
    _set_pool(world, NODES, node, pool)


@given('Queue "{queue}" is in the node pool "{pool}"')
def _(world: World, queue: str, pool: str) -> None:
    """Give a queue the label of a pool."""
    _set_pool(world, QUEUES, queue, pool)


@given('PodGroup "{group}" is in the node pool "{pool}"')
def _(world: World, group: str, pool: str) -> None:
    """Give a PodGroup the label of a pool."""
    _set_pool(world, POD_GROUPS, group, pool)


@when('PodGroup "{group}" is moved to the default node pool')
def _(world: World, group: str) -> None:
    """Remove the label of the pool from a PodGroup."""
    _set_pool(world, POD_GROUPS, group, None)


@then('no BindRequest of PodGroup "{group}" is to "{node}"')
def _(world: World, group: str, node: str) -> None:
    """No pod of the group has a BindRequest to a node."""

    def look() -> Seen[str]:
        ours = members(world, group)
        specs = [one.get("spec") or {} for one in world.all_seen(BIND_REQUESTS)]
        there = sorted(
            str(spec["podName"])
            for spec in specs
            if spec.get("podName") in ours and spec.get("selectedNode") == world.name(node)
        )
        return not there, in_words(there)

    world.stays(f"pods of PodGroup {group} with a BindRequest to {node}", look, expected="none")
