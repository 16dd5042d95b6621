"""Node pools of KAI: the label that puts nodes, queues and PodGroups into a pool.

Source: KAI-Scheduler 0.12.0 docs/operator/scheduling-shards.md; rules KAI-013, KAI-074 and KAI-420 to
KAI-425.
"""

from __future__ import annotations

from dra_api.objects import BIND_REQUESTS, NODES, POD_GROUPS, QUEUES, Obj, Resource, meta, name_of
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.bind_requests import request_object, write
from dra_conformance.steps.pod_groups import members
from dra_conformance.steps.scheduler_configuration import Configuration, restart

_LABEL = "kai.scheduler/node-pool"
_REPLICA = "-of-another-pool"


def _serving(pool: str) -> str:
    """Return the flag of KAI's scheduler that chooses its pool; the key of the label is the default one."""
    return f"--partition-label-value={pool}"


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
        specs = [one["spec"] for one in _requests_of(world, group)]
        there = sorted(str(spec["podName"]) for spec in specs if spec.get("selectedNode") == world.name(node))
        return not there, in_words(there)

    world.stays(f"pods of PodGroup {group} with a BindRequest to {node}", look, expected="none")


def _requests_of(world: World, group: str) -> list[Obj]:
    """Return the BindRequests of the pods of a PodGroup."""
    ours = members(world, group)
    return [one for one in world.all_seen(BIND_REQUESTS) if (one.get("spec") or {}).get("podName") in ours]


@given('the scheduler serves the node pool "{pool}"')
def _(world: World, pool: str) -> None:
    """Restart the scheduler for the pool, for this scenario only."""
    world.state(Configuration).flags.append(_serving(pool))
    restart(world)


@given('another scheduler serves the node pool "{pool}"')
def _(world: World, pool: str) -> None:
    """Start the program of the scheduler a second time, for the pool, beside the one that runs."""
    world.cleanup.callback(world.components.kill, "scheduler" + _REPLICA)
    world.components.start("scheduler", flags=[_serving(pool)], replica=_REPLICA)


@given('a BindRequest "{name}" of pod "{pod}" to "{node}" of the node pool "{pool}"')
def _(world: World, name: str, pod: str, node: str, pool: str) -> None:
    """Create a BindRequest with the label of a pool."""
    request = request_object(world, name, pod, node)
    request["metadata"]["labels"][_LABEL] = pool
    write(world, request)


@then('each BindRequest of PodGroup "{group}" is to "{node}" and has the label of node pool "{pool}"')
def _(world: World, group: str, node: str, pool: str) -> None:
    """The pods of the group that have BindRequests go to the node, and the BindRequests have the label."""

    def look() -> Seen[str]:
        found = {
            name_of(one): (one["spec"].get("selectedNode"), (meta(one).get("labels") or {}).get(_LABEL))
            for one in _requests_of(world, group)
        }
        return set(found.values()) == {(world.name(node), pool)}, in_words(found)

    world.eventually(f"node and pool of the BindRequests of PodGroup {group}", look, expected=f"{node}, {pool}")


@then('no BindRequest of PodGroup "{group}" has the label of a node pool')
def _(world: World, group: str) -> None:
    """The pods of the group have BindRequests, and none of these has the label."""

    def look() -> Seen[str]:
        labels = {name_of(one): (meta(one).get("labels") or {}) for one in _requests_of(world, group)}
        wrong = sorted(name for name, one in labels.items() if _LABEL in one)
        return bool(labels) and not wrong, in_words(wrong) if labels else "no BindRequest"

    world.eventually(f"BindRequests of PodGroup {group} with the label of a pool", look, expected="none")
