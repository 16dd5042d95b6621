"""`kubectl dra conflicts`: what does not fit together in a cluster.

Devices that are allocated twice or beyond their counters, devices that a device plugin and DRA offer both, extended
resources of several DeviceClasses, pools whose slices schedulers cannot use, and claims that hold devices for pods that
are gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from dra_conformance.cli.kubectl_dra import pools, source, table
from dra_conformance.cli.kubectl_dra.source import Source
from dra_conformance.core.errors import ExitCode
from dra_conformance.oracle import Case, Cluster, Settings, check, double_offers, double_uses
from dra_conformance.oracle.schema import Claim, DeviceClass

_OVERCOMMITTED = ("DRA-189", "DRA-212")
_ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Conflict:
    """One finding about an object. `level`: conflict, or note for what may be on purpose or about to end."""

    level: str
    object: str
    finding: str


def conflicts(cluster: Cluster) -> Iterator[Conflict]:
    """Yield all findings: devices, nodes, classes, pools, claims."""
    yield from _allocated_twice(cluster)
    yield from _overcommitted(cluster)
    yield from _offered_twice(cluster)
    yield from _served_twice(cluster)
    yield from _pools(cluster)
    for claim in cluster.claims:
        yield from _claim(cluster, claim)


# -- devices -----------------------------------------------------------------------------------------------------------


def _allocated_twice(cluster: Cluster) -> Iterator[Conflict]:
    """Yield devices with two users of which one is no share (DRA-133)."""
    for device, uses in sorted(cluster.uses.items()):
        if len(uses) > 1 and not all(use.result.share_id for use in uses):
            claims = ", ".join(sorted({use.claim.title for use in uses}))
            yield Conflict("conflict", "/".join(device), f"is allocated {len(uses)} times: to {claims}")


def _overcommitted(cluster: Cluster) -> Iterator[Conflict]:
    """Yield counters and capacities that the allocations exceed together (DRA-189, DRA-212), each once."""
    seen: dict[str, Claim] = {}
    for claim in cluster.claims:
        if claim.status.allocation is None:
            continue
        for violation in check(Case(cluster, claim, Settings(fresh=False))).violations:
            if violation.rule in _OVERCOMMITTED:
                seen.setdefault(violation.message, claim)
    for message, claim in seen.items():
        yield Conflict("conflict", f"claim {claim.title}", message)


# -- device plugins ----------------------------------------------------------------------------------------------------


def _offered_twice(cluster: Cluster) -> Iterator[Conflict]:
    """Yield devices that a device plugin and claims share, or may share.

    A DeviceClass says by its extended resource name that its devices are those of the resource. Without one, a driver
    of the resource's domain, such as gpu.nvidia.com for nvidia.com/gpu, is a hint only.
    """
    for use in double_uses(cluster):
        yield Conflict("conflict", f"node {use.node}", use.message)
    offers = double_offers(cluster)
    for offer in offers:
        yield Conflict("conflict", f"node {offer.node}", f"{offer.message}: the same devices can be given away twice")
    known = {(offer.node, offer.resource) for offer in offers}
    for node in cluster.nodes:
        view = cluster.node_view(node.metadata.name)
        offered = {device.driver for pool in cluster.pools_for(view) for device in pool.devices(view)}
        for resource, amount in sorted(node.status.allocatable.items()):
            domain, slash, _ = resource.partition("/")
            drivers = sorted(driver for driver in offered if f".{driver}".endswith(f".{domain}"))
            if not slash or amount.value <= 0 or not drivers or (view.name, resource) in known:
                continue
            text = f"a device plugin offers {amount} {resource}, and {', '.join(drivers)} publishes devices"
            yield Conflict("note", f"node {view.name}", f"{text}: if they are the same, they can be given away twice")


# -- classes -----------------------------------------------------------------------------------------------------------


def _served_twice(cluster: Cluster) -> Iterator[Conflict]:
    """Yield extended resources that several DeviceClasses have; no event or status of Kubernetes reports them.

    Pods get devices of the youngest class, of equally old ones of the first by name (DRA-243).
    """
    of_resource: dict[str, list[DeviceClass]] = {}
    for one in cluster.classes:
        if one.spec.extended_resource_name:
            of_resource.setdefault(one.spec.extended_resource_name, []).append(one)
    for resource, classes in sorted(of_resource.items()):
        if len(classes) < 2:
            continue
        created = [one.metadata.creation_timestamp for one in classes]
        youngest = max((one for one in created if one), default=None)
        serves = min(one.metadata.name for one in classes if one.metadata.creation_timestamp == youngest)
        for one in sorted(classes, key=lambda one: one.metadata.name):
            reason = "of the same age, and first by name" if one.metadata.creation_timestamp == youngest else "younger"
            if one.metadata.name != serves:
                text = f"has the extended resource {resource}, but pods get devices of DeviceClass {serves} ({reason})"
                yield Conflict("note", f"DeviceClass {one.metadata.name}", text)


# -- pools and claims --------------------------------------------------------------------------------------------------


def _pools(cluster: Cluster) -> Iterator[Conflict]:
    nodes = {node.metadata.name for node in cluster.nodes}
    for pool in cluster.pools.values():
        title = f"pool {pool.title}"
        if (state := pools.state(pool)) != "complete":
            yield Conflict("conflict", title, f"is {state}; no device of it can be allocated")
        if old := sorted(one.metadata.name for one in pool.slices if one not in pool.current):
            text = f"generation {pool.generation} is the newest; older slices are left: {', '.join(old)}"
            yield Conflict("note", title, text)
        gone = {one.spec.node_name for one in pool.slices if one.spec.node_name} - nodes
        for name in sorted(gone) if nodes else ():
            yield Conflict("conflict", title, f"belongs to node {name}, which does not exist")


def _claim(cluster: Cluster, claim: Claim) -> Iterator[Conflict]:
    if claim.status.allocation is None or not cluster.pods:
        return
    title = f"claim {claim.title}"
    for consumer in claim.status.reserved_for:
        if consumer.resource != "pods" or consumer.api_group:
            continue
        pod = cluster.pods_by_uid.get(consumer.uid)
        if pod is None:
            yield Conflict("conflict", title, f"is reserved for pod {consumer.name}, which is gone ({consumer.uid})")
        elif pod.status.phase in _ENDED:
            yield Conflict("note", title, f"is reserved for pod {consumer.name}, which has ended")
    users = [
        pod
        for pod in cluster.pods
        if pod.metadata.namespace == claim.metadata.namespace and claim.metadata.name in pod.claim_names
    ]
    if not claim.status.reserved_for and not users:
        yield Conflict("note", title, "holds devices, and no pod uses it")


@click.command(name="conflicts")
@source.options
@table.FORMATS
def command(source: Source, output: str) -> int:
    """List what does not fit together, and exit with 1 if there is a conflict.

    Devices allocated twice or beyond their counters; devices that a device plugin and DRA offer both; incomplete or
    stale pools; claims that hold devices for pods that are gone. `dra-conformance check` judges each allocation by all
    rules.
    """
    found = list(conflicts(source.read().cluster))
    table.write(found, Conflict, output, nothing="no conflict")
    return ExitCode.FAILURES if any(one.level == "conflict" for one in found) else ExitCode.OK
