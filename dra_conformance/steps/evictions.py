"""Pods that a scheduler evicts for others: priorities, and which pods are gone or on their way.

Source: KAI-Scheduler 0.12.0 docs/priority/README.md, docs/fairness/README.md; docs/elastic/README.md,
docs/plugins/minruntime.md; rules KAI-234, KAI-308, KAI-368 to KAI-375, KAI-430 to KAI-440.
"""

from __future__ import annotations

from dra_api.objects import PODS, PRIORITY_CLASSES, QUEUES, meta
from dra_conformance.engine.vocabulary import given, then, words
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.pod_groups import create_group, members
from dra_conformance.steps.scheduler_configuration import Configuration, restart


@given('a PriorityClass "{name}" with value {value:d}')
def _(world: World, name: str, value: int) -> None:
    """Create a PriorityClass for PodGroups; KAI takes values from 100 on as not preemptible."""
    world.create(
        {
            "apiVersion": PRIORITY_CLASSES.api_version,
            "kind": PRIORITY_CLASSES.kind,
            "metadata": {"name": world.name(name)},
            "value": value,
        }
    )


@given('a PodGroup "{group}" of Queue "{queue}" with PriorityClass "{priority}"')
def _(world: World, group: str, queue: str, priority: str) -> None:
    """Create a PodGroup whose pods are placed one by one; the priority decides whether they can be preempted."""
    create_group(world, group, 1, world.namespace, queue=world.name(queue), priorityClassName=world.name(priority))


@given('a PodGroup "{group}" of Queue "{queue}" with PriorityClass "{priority}" that needs {pods:d} pods')
def _(world: World, group: str, queue: str, priority: str, pods: int) -> None:
    """Create a PodGroup whose first pods, this number, are placed together."""
    create_group(world, group, pods, world.namespace, queue=world.name(queue), priorityClassName=world.name(priority))


@given('"{field:word}" of Queue "{queue}" is {duration:word}')
def _(world: World, field: str, queue: str, duration: str) -> None:
    """Set a duration in the spec of a queue, such as preemptMinRuntime."""
    world.client.patch(QUEUES, world.name(queue), {"spec": {field: duration}})
    world.settle()


@given("the scheduler evicts the rest of a gang after {seconds:d} seconds")
def _(world: World, seconds: int) -> None:
    """Restart the scheduler with KAI's flag for the time that a gang may be incomplete, for this scenario only."""
    world.state(Configuration).flags.append(f"--default-staleness-grace-period={seconds}s")
    restart(world)


def _evicted(world: World, group: str) -> list[str]:
    """Return the pods of a group that are gone or being deleted."""
    pods = {pod: world.seen(PODS, pod) for pod in members(world, group)}
    return sorted(name for name, pod in pods.items() if pod is None or meta(pod).get("deletionTimestamp"))


@then('{count:d} pods of PodGroup "{group}" are evicted')
def _(world: World, count: int, group: str) -> None:
    """So many pods of the group are deleted, or being deleted."""

    def look() -> Seen[str]:
        gone = _evicted(world, group)
        return len(gone) == count, f"deleted: {in_words(gone)}"

    world.wait(look)
    world.stays(f"the pods of PodGroup {group} that are evicted", look, expected=f"{count} pods deleted")


@then('{count:d} pods of the PodGroups "{groups}" are evicted')
def _(world: World, count: int, groups: str) -> None:
    """So many pods of these groups together are deleted, or being deleted."""

    def look() -> Seen[str]:
        gone = [pod for group in words(groups) for pod in _evicted(world, group)]
        return len(gone) == count, f"deleted: {in_words(gone)}"

    world.wait(look)
    world.stays(f"the pods of PodGroups {groups} that are evicted", look, expected=f"{count} pods deleted")


@then('no pod of PodGroup "{group}" is evicted')
def _(world: World, group: str) -> None:
    """No pod of the group is deleted, once the system is idle."""

    def look() -> Seen[str]:
        gone = _evicted(world, group)
        return not gone, f"deleted: {in_words(gone)}"

    world.stays(f"the pods of PodGroup {group} that are evicted", look, expected="deleted: none")
