"""The judge on a scenario's own cluster: reads the objects as they are now and judges one claim among them.

The reading is one pass over the API server; nothing is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dra_api.client import KubeClient
from dra_api.objects import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    TAINT_RULE_VERSIONS,
    Resource,
    name_of,
)
from dra_conformance.core.errors import Untestable
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.decoding import decode
from dra_conformance.oracle.exists import Answer, could_be_allocated
from dra_conformance.oracle.judge import judge
from dra_conformance.oracle.schema import Fact
from dra_conformance.oracle.verdict import Case, Judgement, Settings
from dra_conformance.oracle.well_formed import Malformed


class Release(Protocol):
    """A Kubernetes minor release."""

    @property
    def minor(self) -> int: ...  # noqa: D102


class Target(Protocol):
    """What is known of the system under test."""

    @property
    def kubernetes_version(self) -> Release: ...  # noqa: D102
    @property
    def feature_gates(self) -> Mapping[str, bool]: ...  # noqa: D102


class Run(Protocol):
    """A run of the suite."""

    def target(self) -> Target: ...  # noqa: D102


class World(Protocol):
    """As much of a scenario's world as the judge needs; it cannot know more, for components lead to the accused."""

    @property
    def namespace(self) -> str: ...  # noqa: D102
    @property
    def client(self) -> KubeClient: ...  # noqa: D102
    @property
    def run(self) -> Run: ...  # noqa: D102


_READ = (RESOURCE_SLICES, DEVICE_CLASSES, RESOURCE_CLAIMS, DEVICE_TAINT_RULES, NODES, PODS)


def read_cluster(client: KubeClient) -> Cluster:
    """Everything that the judge wants to know, in the versions that are served.

    Raises Untestable for an object that the API server holds and the judge cannot read.
    """
    facts: list[Fact] = []
    for resource in _READ:
        served = _served(client, resource)
        for obj in client.list(served).items if served is not None else ():
            try:
                fact = decode({**obj, "apiVersion": served.api_version, "kind": served.kind} if served else obj)
            except Malformed as error:
                raise Untestable(f"the judge cannot read {resource.kind} {name_of(obj)}: {error}") from error
            if fact is not None:
                facts.append(fact)
    return Cluster.of_facts(facts)


def _served(client: KubeClient, resource: Resource) -> Resource | None:
    if resource is not DEVICE_TAINT_RULES:
        return resource
    return client.first_served(resource, TAINT_RULE_VERSIONS)  # behind a gate


def case_of(world: World, claim: str) -> Case:
    """The case of a claim of the scenario, as things are now. Raises Untestable when there is no such claim."""
    cluster = read_cluster(world.client)
    found = [one for one in cluster.claims if one.key == (world.namespace, claim)]
    if not found:
        raise Untestable(f"there is no claim {claim} to judge")
    target = world.run.target()
    gates_off = frozenset(gate for gate, on in target.feature_gates.items() if not on)
    return Case(cluster, found[0], Settings(release=target.kubernetes_version.minor, gates_off=gates_off))


def judge_claim(world: World, claim: str) -> Judgement:
    """Judge the allocation of a claim of the scenario, among all claims of the cluster.

    What the scenario has changed since the allocation counts as if it had always been so, unless its time says
    otherwise (taints have one): judge before changing slices or classes. Raises Untestable when there is no such claim,
    or it is not allocated.
    """
    case = case_of(world, claim)
    if case.claim.status.allocation is None:
        raise Untestable(f"claim {claim} is not allocated, so there is nothing to judge")
    return judge(case)


def could_claim_be_allocated(world: World, claim: str) -> Answer:
    """Whether a valid allocation of the claim exists on some node of the cluster, as things are now."""
    return could_be_allocated(case_of(world, claim))
