"""Input of all checks of one allocation: the claim, its cluster, and its results joined with requests and devices.

A `CheckContext` lives for one check. Only its `findings` change.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_conformance.oracle import nodes
from dra_conformance.oracle.cluster import Cluster, DeviceUse
from dra_conformance.oracle.findings import Findings
from dra_conformance.oracle.nodes import NodeView
from dra_conformance.oracle.pools import DeviceId, Pool, PoolDevice
from dra_conformance.oracle.schema import Claim, ExactDeviceRequest, Result
from dra_conformance.oracle.verdict import Case, Settings

MAX_RESULTS = 32
RESULTS = "status.allocation.devices.results"


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One allocation result, with the request and the device that it refers to, if they exist.

    `shared` is true for a device that allows multiple allocations.
    """

    number: int
    result: Result
    request: ExactDeviceRequest | None
    device: PoolDevice | None
    shared: bool

    @property
    def path(self) -> str:
        """The field path of the result."""
        return f"{RESULTS}[{self.number}]"

    @property
    def title(self) -> str:
        """The device's driver, pool and name for messages."""
        return f"device {'/'.join(self.result.id)}"


class CheckContext:
    """One claim with its allocation, read once for all checks."""

    def __init__(self, case: Case) -> None:
        self.cluster: Cluster = case.cluster
        self.claim: Claim = case.claim
        self.settings: Settings = case.settings
        allocation = self.claim.status.allocation
        self.findings = Findings(case.settings.fresh, allocation.allocation_timestamp if allocation else None)
        self.selector = allocation.node_selector if allocation else None
        self.node_name = nodes.only_node(self.selector)
        self.allocated = [self._allocated(number, result) for number, result in enumerate(self.claim.results)]

    def _allocated(self, number: int, result: Result) -> AllocatedDevice:
        device = self.cluster.pool_device(self.claim, result)
        # Of an unknown device only the shareID shows that it was shared.
        shared = bool(result.share_id) if device is None else self.can_share(device)
        return AllocatedDevice(number, result, self.claim.requests_by_name.get(result.request), device, shared)

    @property
    def node(self) -> NodeView | None:
        """The node that the allocation is pinned to; None when it is not pinned to one."""
        return self.cluster.node_view(self.node_name) if self.node_name else None

    def can_share(self, device: PoolDevice) -> bool:
        """Whether several results may have the device."""
        return device.device.allow_multiple_allocations and self.settings.on("DRAConsumableCapacity")

    def pool_problem(self, pool: Pool, node: NodeView) -> str:
        """Why no device of the pool may be used on a node, or an empty text."""
        on = self.settings.on
        partitionable, grouped = on("DRAPartitionableDevices"), on("DRADeviceCompatibilityGroups")
        return pool.problem(node, partitionable=partitionable, grouped=grouped)

    def other_uses(self, device: DeviceId) -> list[DeviceUse]:
        """The results of other claims that have the device."""
        return [use for use in self.cluster.uses.get(device, ()) if use.claim.key != self.claim.key]
