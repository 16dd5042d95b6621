"""`kubectl dra users`: each allocated device with its claim and pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import click

from dra_conformance.cli.kubectl_dra import source, table
from dra_conformance.cli.kubectl_dra.source import Source
from dra_conformance.core.errors import ExitCode
from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.nodes import only_node
from dra_conformance.oracle.schema import Claim, Result


@dataclass(frozen=True, slots=True)
class DeviceUser:
    """One allocated device. `use`: shared, with the consumed capacity, or admin access; empty for a whole device."""

    device: str
    node: str
    claim: str
    request: str
    use: str
    pods: tuple[str, ...]


def users(cluster: Cluster) -> Iterator[DeviceUser]:
    """Yield a row for each allocation result, by device."""
    rows = [
        DeviceUser(
            "/".join(result.id),
            _node(cluster, claim, result),
            claim.title,
            result.request,
            _use(result),
            tuple(consumer.name for consumer in claim.status.reserved_for),
        )
        for claim in cluster.claims
        for result in claim.results
    ]
    yield from sorted(rows, key=lambda row: (row.device, row.claim, row.request))


def _node(cluster: Cluster, claim: Claim, result: Result) -> str:
    """Return the node that has the device, or that the pods of the claim run on."""
    device = cluster.pool_device(claim, result)
    if device is not None and device.node_access.node_name:
        return device.node_access.node_name
    if claim.status.allocation is not None and (pinned := only_node(claim.status.allocation.node_selector)):
        return pinned
    pods = (cluster.pods_by_uid.get(consumer.uid) for consumer in claim.status.reserved_for)
    return ",".join(sorted({pod.spec.node_name for pod in pods if pod is not None and pod.spec.node_name}))


def _use(result: Result) -> str:
    if result.admin_access:
        return "admin access"
    if not result.share_id:
        return ""
    taken = ",".join(f"{name}={amount}" for name, amount in result.consumed_capacity.items())
    return f"share {taken}".rstrip()


@click.command(name="users")
@source.options
@click.option("--node", default="", metavar="NAME", help="Only devices of this node.")
@click.option("--device", default="", metavar="TEXT", help="Only devices with this text in DRIVER/POOL/DEVICE.")
@table.FORMATS
def command(source: Source, node: str, device: str, output: str) -> int:
    """List each allocated device with its claim and the pods that it is reserved for.

    -n lists claims of one namespace only.
    """
    rows = [
        row
        for row in users(source.read().cluster)
        if (not node or node in row.node.split(","))
        and device in row.device
        and (not source.namespace or row.claim.startswith(f"{source.namespace}/"))
    ]
    table.write(rows, DeviceUser, output, nothing="no device is allocated")
    return ExitCode.OK
