"""Allocation checks on the cluster of a running scenario.

Every call lists all objects that the checker reads from the API server once; nothing is cached.
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
from dra_conformance.oracle.check import check
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.decoding import decode
from dra_conformance.oracle.feasibility import Answer, could_be_allocated
from dra_conformance.oracle.schema import DecodedObject
from dra_conformance.oracle.verdict import Case, Settings, Verdict
from dra_conformance.oracle.well_formed import Malformed


class Release(Protocol):
    """A Kubernetes minor release."""

    @property
    def minor(self) -> int: ...  # noqa: D102


class Target(Protocol):
    """Version and feature gates of the system under test."""

    @property
    def kubernetes_version(self) -> Release: ...  # noqa: D102
    @property
    def feature_gates(self) -> Mapping[str, bool]: ...  # noqa: D102


class Run(Protocol):
    """A run of the suite."""

    def target(self) -> Target: ...  # noqa: D102


class World(Protocol):
    """The part of a scenario's World that the checker needs.

    It gives no access to components, so that nothing of the system under test can influence the verdict.
    """

    @property
    def namespace(self) -> str: ...  # noqa: D102
    @property
    def client(self) -> KubeClient: ...  # noqa: D102
    @property
    def run(self) -> Run: ...  # noqa: D102


_READ = (RESOURCE_SLICES, DEVICE_CLASSES, RESOURCE_CLAIMS, DEVICE_TAINT_RULES, NODES, PODS)


def read_cluster(client: KubeClient) -> Cluster:
    """Return all objects that the checker reads, in the versions that the API server serves.

    Raises Untestable for a stored object that the checker cannot decode.
    """
    decoded: list[DecodedObject] = []
    for resource in _READ:
        served = _served(client, resource)
        for obj in client.list(served).items if served is not None else ():
            try:
                # Items of a list response need not have apiVersion and kind.
                one = decode({**obj, "apiVersion": served.api_version, "kind": served.kind} if served else obj)
            except Malformed as error:
                raise Untestable(
                    f"the allocation checker cannot decode {resource.kind} {name_of(obj)}: {error}"
                ) from error
            if one is not None:
                decoded.append(one)
    return Cluster.of_decoded(decoded)


def _served(client: KubeClient, resource: Resource) -> Resource | None:
    if resource is not DEVICE_TAINT_RULES:
        return resource
    return client.first_served(resource, TAINT_RULE_VERSIONS)  # a feature gate decides whether it is served


def case_of(world: World, claim: str) -> Case:
    """Return a claim of the scenario in its current cluster. Raises Untestable if there is no such claim."""
    cluster = read_cluster(world.client)
    found = [one for one in cluster.claims if one.key == (world.namespace, claim)]
    if not found:
        raise Untestable(f"there is no claim {claim} to check")
    target = world.run.target()
    gates_off = frozenset(gate for gate, on in target.feature_gates.items() if not on)
    return Case(cluster, found[0], Settings(release=target.kubernetes_version.minor, gates_off=gates_off))


def check_claim(world: World, claim: str) -> Verdict:
    """Check the allocation of a claim of the scenario, among all claims of the cluster.

    The current objects are taken for those of the time of the allocation; only taints have a time of their own. A
    scenario therefore checks before it changes slices or classes. Raises Untestable if there is no such claim or it is
    not allocated.
    """
    case = case_of(world, claim)
    if case.claim.status.allocation is None:
        raise Untestable(f"claim {claim} is not allocated, so there is nothing to check")
    return check(case)


def could_claim_be_allocated(world: World, claim: str) -> Answer:
    """Return whether a valid allocation of the claim exists on some node of the cluster now."""
    return could_be_allocated(case_of(world, claim))
