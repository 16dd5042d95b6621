"""Gangs of workers of a ComputeDomain, over numbered nodes: node-1 and on.

The scheduler chooses the node of each worker, so that steps name workers by their node.
"""

from __future__ import annotations

from dra_api.objects import PODS, name_of
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.compute_domain_racks import check_phases
from dra_conformance.steps.compute_domains import check_labels, write_daemons
from dra_conformance.steps.references import claims_of, requests_of


def numbered(first: int, last: int) -> list[str]:
    """Return the names of numbered nodes."""
    return [f"node-{number}" for number in range(first, last + 1)]


@when('nodes {first:d} to {last:d} have {state:word} daemons of the clique "{clique}" in ComputeDomain "{name}"')
def _(world: World, first: int, last: int, state: str, clique: str, name: str) -> None:
    """Write daemon pods and entries of this readiness, in place of the daemons, in the order of the nodes."""
    write_daemons(world, name, [(node, state, clique, state) for node in numbered(first, last)], world.driver_namespace)


@then('the ComputeDomain labels of nodes {first:d} to {last:d} become "{name}"')
def _(world: World, first: int, last: int, name: str) -> None:
    """These Nodes come to have the label of the domain; `none`: no such label."""
    check_labels(world, numbered(first, last), name, stay=False)


@then('the ComputeDomain labels of nodes {first:d} to {last:d} stay "{name}"')
def _(world: World, first: int, last: int, name: str) -> None:
    """These Nodes have the label of the domain (`none`: no such label) once the system is idle."""
    check_labels(world, numbered(first, last), name, stay=True)


@then('the workers of ComputeDomain "{name}" on nodes {first:d} to {last:d} reach phase {phase:word}')
def _(world: World, name: str, first: int, last: int, phase: str) -> None:
    """Each of these nodes comes to have one pod of the scenario, in this phase."""
    check_phases(world, name, numbered(first, last), phase, keep=False)


@then('the workers of ComputeDomain "{name}" on nodes {first:d} to {last:d} keep phase {phase:word}')
def _(world: World, name: str, first: int, last: int, phase: str) -> None:
    """Each of these nodes has one pod of the scenario, in this phase, once the system is idle."""
    check_phases(world, name, numbered(first, last), phase, keep=True)


@when('pods "{prefix}" 1 to {count:d} are deleted')
def _(world: World, prefix: str, count: int) -> None:
    """Delete the pods prefix-1 … with their own grace period, each as soon as the one before it is accepted."""
    for number in range(1, count + 1):
        # Its claims are found by its uid when it is gone.
        claims_of(world, f"{prefix}-{number}")
    for number in range(1, count + 1):
        world.client.delete(PODS, f"{prefix}-{number}", world.namespace)


@then('nothing is left of pods "{prefix}" 1 to {count:d}')
def _(world: World, prefix: str, count: int) -> None:
    """Neither the pods prefix-1 … nor their claims nor BindRequests that name them exist, once the system is idle."""
    pods = [f"{prefix}-{number}" for number in range(1, count + 1)]

    def look() -> Seen[str]:
        left = {
            "pods": [pod for pod in pods if world.seen(PODS, pod) is not None],
            "claims": sorted(name_of(claim) for pod in pods for claim in claims_of(world, pod)),
            "BindRequests": sorted(name_of(request) for pod in pods for request in requests_of(world, pod)),
        }
        return not any(left.values()), in_words({kind: names for kind, names in left.items() if names})

    what, expected = f"what is left of {count} pods", "none"
    world.eventually(what, look, expected=expected)
    world.stays(what, look, expected=expected)
