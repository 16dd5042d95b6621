"""Queues of KAI: what the pods of a queue may take in all, and who of them gets a BindRequest.

KAI uses queues that have a parent only, so that each queue of a scenario is below another one.

Source: KAI-Scheduler 0.12.0 docs/queues/README.md, docs/priority/README.md; rules KAI-300 to KAI-318, KAI-059,
KAI-063.
"""

from __future__ import annotations

from typing import Any

from dra_api.objects import BIND_REQUESTS, POD_GROUPS, QUEUES, Obj
from dra_conformance.core import manifests
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.pod_groups import create_group, create_member, members

_OPEN: Obj = {"quota": 0, "limit": -1, "overQuotaWeight": 1}


def _create_queue(world: World, queue: str, parent: str, resources: str, priority: int | None = None) -> None:
    """Create a queue; what `resources` (YAML) leaves out has no quota and no limit, as in KAI's chart."""
    given_values: dict[str, Obj] = manifests.parse_value(resources)
    spec: Obj = {"resources": {name: {**_OPEN, **given_values.get(name, {})} for name in ("cpu", "gpu", "memory")}}
    if parent:
        spec["parentQueue"] = world.name(parent)
    if priority is not None:
        spec["priority"] = priority
    world.create(
        {
            "apiVersion": QUEUES.api_version,
            "kind": QUEUES.kind,
            "metadata": {"name": world.name(queue)},
            "spec": spec,
        }
    )


@given('a top Queue "{queue}" with {resources}')
@when('a top Queue "{queue}" with {resources} is created')
def _(world: World, queue: str, resources: str) -> None:
    """Create a queue at the top; resources (YAML) that are not named have no limit."""
    _create_queue(world, queue, "", resources)


@given('a Queue "{queue}" below "{parent}" with {resources}')
@when('a Queue "{queue}" below "{parent}" with {resources} is created')
def _(world: World, queue: str, parent: str, resources: str) -> None:
    """Create a queue below another one; resources (YAML) that are not named have no limit."""
    _create_queue(world, queue, parent, resources)


@given('a Queue "{queue}" below "{parent}" of priority {priority:d}')
def _(world: World, queue: str, parent: str, priority: int) -> None:
    """Create a queue without quota and limit, with this priority."""
    _create_queue(world, queue, parent, "{}", priority)


@when('"{resource}" of Queue "{queue}" is changed to {value}')
def _(world: World, resource: str, queue: str, value: str) -> None:
    """Change the amounts of a resource of a queue (YAML)."""
    change = {"spec": {"resources": {resource: manifests.parse_value(value)}}}
    world.client.patch(QUEUES, world.name(queue), change)


@given('the quota of Queue "{queue}" is {amounts}')
def _(world: World, queue: str, amounts: str) -> None:
    """Change the quota of each named resource of a queue (YAML); the limits stay."""
    quotas = manifests.parse_value(amounts)
    change = {"spec": {"resources": {name: {"quota": value} for name, value in quotas.items()}}}
    world.client.patch(QUEUES, world.name(queue), change)


@given('a PodGroup "{group}" of Queue "{queue}"')
def _(world: World, group: str, queue: str) -> None:
    """Create a PodGroup whose pods are placed one by one, and can be preempted."""
    create_group(world, group, 1, world.namespace, queue=world.name(queue), preemptibility="preemptible")


@given('a PodGroup "{group}" of Queue "{queue}" that needs {pods:d} pods')
def _(world: World, group: str, queue: str, pods: int) -> None:
    """Create a PodGroup whose pods are placed together, and can be preempted."""
    create_group(world, group, pods, world.namespace, queue=world.name(queue), preemptibility="preemptible")


@given('a PodGroup "{group}" of Queue "{queue}" that cannot be preempted')
def _(world: World, group: str, queue: str) -> None:
    """Create a PodGroup whose pods are placed one by one and stay."""
    create_group(world, group, 1, world.namespace, queue=world.name(queue), preemptibility="non-preemptible")


@when('PodGroup "{group}" moves to Queue "{queue}"')
def _(world: World, group: str, queue: str) -> None:
    """Change the queue of a PodGroup."""
    world.client.patch(POD_GROUPS, world.name(group), {"spec": {"queue": world.name(queue)}}, world.namespace)


@given('pods "{prefix}" 1 to {count:d} of PodGroup "{group}" using template "{template}" and requesting {amount}')
def _(world: World, prefix: str, count: int, group: str, template: str, amount: str) -> None:
    """Create pods prefix-1 …, each with a claim of its own from the template and with requests (YAML)."""
    requests = _amounts(amount)
    for number in range(1, count + 1):
        create_member(world, f"{prefix}-{number}", group, template, requests=requests)


@given('pods "{prefix}" 1 to {count:d} of PodGroup "{group}" requesting {amount}')
def _(world: World, prefix: str, count: int, group: str, amount: str) -> None:
    """Create pods prefix-1 … without claims, with requests (YAML)."""
    requests = _amounts(amount)
    for number in range(1, count + 1):
        create_member(world, f"{prefix}-{number}", group, "", requests=requests)


def _amounts(amount: str) -> dict[str, str]:
    return {name: str(value) for name, value in manifests.parse_value(amount).items()}


@then('{count:d} pods of PodGroup "{group}" get BindRequests')
def _(world: World, count: int, group: str) -> None:
    """So many pods of the group have one BindRequest each."""

    def look() -> Seen[str]:
        ours = members(world, group)
        named = [str((one.get("spec") or {}).get("podName")) for one in world.all_seen(BIND_REQUESTS)]
        found: list[Any] = sorted(pod for pod in named if pod in ours)
        return len(found) == len(set(found)) == count, f"BindRequests of pods {in_words(found)}"

    world.wait(look)
    world.stays(f"the BindRequests of PodGroup {group}", look, expected=f"BindRequests of {count} pods")
