"""The controller of ResourcePoolStatusRequests: it counts the devices of pools once for each request.

A request that matches an incomplete pool stays without status; it is calculated again when a slice changes. Here the
controller reads stored objects, so that a status has all that was stored before the request.

Source: pkg/controller/resourcepoolstatusrequest/controller.go, release 1.37; k8s.io/api resource/v1alpha3 types.go.
Differences: kube-controller-manager gives up an incomplete pool after five attempts within a second, deletes old
requests, and subtracts an allocated device with a taint from the available ones twice, which types.go excludes:
unavailable devices "are not allocated".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apiserver_emulator.controllers.pool_summaries import PoolDevice, partition_summary, shareable_summary
from apiserver_emulator.controllers.writes import ControllerWrites
from apiserver_emulator.core import Core
from apiserver_emulator.store import Event, Key, Record, TypeKey
from dra_api.clock import timestamp

Obj = dict[str, Any]

REQUESTS: TypeKey = ("resource.k8s.io", "resourcepoolstatusrequests")
SLICES: TypeKey = ("resource.k8s.io", "resourceslices")
CLAIMS: TypeKey = ("resource.k8s.io", "resourceclaims")
RULES: TypeKey = ("resource.k8s.io", "devicetaintrules")
GATE = "DRAResourcePoolStatus"
_BARRING = ("NoSchedule", "NoExecute")
_ERROR_MAX = 256


class PoolStatusController:
    """Writes the status of each request once. Keeps nothing between calls.

    It does nothing unless `enabled`: clients that write statuses themselves would find them written.
    """

    def __init__(self, core: Core) -> None:
        self.enabled = False
        self._core = core
        name = "resourcepoolstatusrequest-controller"
        self._writes = ControllerWrites(core, account=name, agent=name)

    def affected(self, kind: TypeKey, event: Event) -> list[Key]:
        """Return the requests to calculate after a commit."""
        if not self.enabled or not self._core.feature_gates.get(GATE, False):
            return []
        if kind == REQUESTS:
            return [event.key] if event.type == "ADDED" else []
        if kind != SLICES:
            return []
        records = self._core.store.snapshot(REQUESTS)[0]
        return [("", record.obj["metadata"]["name"]) for record in records if not record.obj.get("status")]

    def calculate(self, key: Key) -> None:
        """Write the status of a request that has none, unless a pool is incomplete. Raises StatusError."""
        record = self._core.store.get(REQUESTS, key)
        if record is None or record.obj.get("status"):
            return
        pools = self._pools(record.obj["spec"])
        if all(len(slices) >= slices[0]["pool"]["resourceSliceCount"] for slices in pools.values()):
            self._writes.replace_status(REQUESTS, key, lambda found: self._status(found, pools))

    def _objects(self, kind: TypeKey) -> Iterator[Obj]:
        if self._core.resources.find(*kind) is not None:
            for record in self._core.store.snapshot(kind)[0]:
                yield record.obj

    def _pools(self, spec: Obj) -> dict[str, list[Obj]]:
        """Return the specs of the newest slices of each pool that a request matches, by name."""
        pools: dict[str, list[Obj]] = {}
        for item in self._objects(SLICES):
            found = item["spec"]
            pool = found["pool"]
            if found["driver"] != spec["driver"] or spec.get("poolName", pool["name"]) != pool["name"]:
                continue
            held = pools.setdefault(pool["name"], [found])
            newest = held[0]["pool"].get("generation", 0)
            generation = pool.get("generation", 0)
            if generation > newest:
                pools[pool["name"]] = [found]
            elif generation == newest and held[0] is not found:
                held.append(found)
        return dict(sorted(pools.items()))

    def _status(self, request: Record, pools: dict[str, list[Obj]]) -> Obj:
        spec = request.obj["spec"]
        listed = list(pools)[: spec["limit"]]
        statuses = [self._pool(spec, name, pools[name]) for name in listed]
        complete = {
            "type": "Complete",
            "status": "True",
            "reason": "CalculationComplete",
            "message": f"Calculated status for {len(statuses)} pools",
            "lastTransitionTime": timestamp(self._core.clock.now()),
        }
        return {"poolCount": len(pools), **({"pools": statuses} if statuses else {}), "conditions": [complete]}

    def _pool(self, request: Obj, name: str, slices: list[Obj]) -> Obj:
        driver = request["driver"]
        used = _used(self._objects(CLAIMS), driver, name)
        barred = [rule["spec"] for rule in self._objects(RULES)]
        devices = _devices(slices, request.get("defaultPartitionTypeAttribute"))
        out = [one for one in devices if one.name not in used and _unavailable(one, driver, name, barred)]
        taken = sum(one.name in used for one in devices)
        status: Obj = {
            "driver": driver,
            "poolName": name,
            "generation": slices[0]["pool"].get("generation", 0),
            "resourceSliceCount": len(slices),
            "totalDevices": len(devices),
            "allocatedDevices": taken,
            "unavailableDevices": len(out),
            "availableDevices": len(devices) - taken - len(out),
        }
        nodes = {found.get("nodeName", "") for found in slices}
        if len(nodes) == 1 and "" not in nodes:
            status["nodeName"] = nodes.pop()
        return status | self._summaries(driver, name, slices, devices, used)

    def _summaries(
        self, driver: str, name: str, slices: list[Obj], devices: list[PoolDevice], used: dict[str, list[Obj]]
    ) -> Obj:
        if int(self._core.kubernetes_version.split(".")[1]) < 37:
            return {}
        counters = [found for spec in slices for found in spec.get("sharedCounters") or ()]
        partitions, problem = partition_summary(devices, counters, used, pool=f"{driver}/{name}")
        shareable = shareable_summary(devices, used)
        found: Obj = {"partitionSummary": partitions} if partitions else {}
        if shareable:
            found["shareableSummary"] = shareable
        if problem:
            found["validationError"] = problem.encode()[:_ERROR_MAX].decode(errors="ignore")
        return found


def _devices(slices: list[Obj], default: str | None) -> list[PoolDevice]:
    """Return the devices of a pool. The default type counts only if no slice of the pool has one of its own."""
    declared = any(spec.get("partitionTypeAttribute") for spec in slices)
    fallback = None if declared else default
    return [
        PoolDevice(device, driver=spec["driver"], type_attribute=spec.get("partitionTypeAttribute") or fallback or "")
        for spec in slices
        for device in spec.get("devices") or ()
    ]


def _used(claims: Iterator[Obj], driver: str, pool: str) -> dict[str, list[Obj]]:
    """Return the allocations of devices of a pool by device, without those for administrators."""
    found: dict[str, list[Obj]] = {}
    for claim in claims:
        allocation = (claim.get("status") or {}).get("allocation") or {}
        for result in (allocation.get("devices") or {}).get("results") or ():
            if (result["driver"], result["pool"]) == (driver, pool) and not result.get("adminAccess"):
                found.setdefault(result["device"], []).append(result)
    return found


def _unavailable(device: PoolDevice, driver: str, pool: str, rules: list[Obj]) -> bool:
    """Return whether a taint of a device, or of a rule that selects it, bars it from allocation."""
    if any(taint.get("effect") in _BARRING for taint in device.raw.get("taints") or ()):
        return True
    own = {"driver": driver, "pool": pool, "device": device.name}
    return any(
        rule["taint"].get("effect") in _BARRING
        and (selector := rule.get("deviceSelector")) is not None
        and all(own.get(field) == value for field, value in selector.items())
        for rule in rules
    )
