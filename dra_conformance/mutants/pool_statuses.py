"""Faults in the controller of ResourcePoolStatusRequests, alpha in Kubernetes 1.37."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_api.quantity import Quantity
from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.api_patches import forget

_MODULE = "apiserver_emulator.controllers.pool_statuses"
_SUMMARIES = "apiserver_emulator.controllers.pool_summaries"
_CONTROLLER = f"{_MODULE}:PoolStatusController"
_STRATEGY = "apiserver_emulator.dra.pool_status_request"
_Function = Callable[..., Any]
_GATED: dict[str, Any] = {
    "kubernetes_version": "1.37",
    "feature_gates": ("DRAResourcePoolStatus=true", "DRAPartitionableDevicesType=true"),
}


def _after(patch: Patch, target: str, change: Callable[..., Any]) -> None:
    """Let `change(result, *arguments)` replace the result of a function."""
    patch.wrap(target, lambda original: lambda *args, **more: change(original(*args, **more), *args))


def _pools(patch: Patch, change: Callable[[Any, Any], Any]) -> None:
    """Change the pools that a request matches; `change` gets them and the spec of the request."""
    _after(patch, f"{_CONTROLLER}._pools", lambda pools, _self, spec: change(pools, spec))


def _status(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Change a status before it is written."""
    _after(patch, f"{_CONTROLLER}._status", lambda status, *_: change(status))


@mutant("statuses-in-reverse-order", rule="DRA-303", **_GATED)
def _(patch: Patch) -> None:
    """Pools are sorted the other way round."""
    _pools(patch, lambda pools, _spec: dict(reversed(pools.items())))


@mutant("one-slice-of-a-pool-counts", rule="DRA-303", **_GATED)
def _(patch: Patch) -> None:
    """Only the devices of one slice of a pool are counted."""
    patch.wrap(f"{_MODULE}:_devices", lambda original: lambda slices, default: original(slices[:1], default))


@mutant("former-generations-count", rule="DRA-303", **_GATED)
def _(patch: Patch) -> None:
    """The slices of all generations of a pool are counted."""

    def make(original: _Function) -> _Function:
        def pools(self: Any, spec: Any) -> Any:
            found = original(self, spec)
            for name, slices in found.items():
                for item in self._objects(("resource.k8s.io", "resourceslices")):
                    own = item["spec"]
                    if own["driver"] == spec["driver"] and own["pool"]["name"] == name and own not in slices:
                        slices.append(own)
            return found

        return pools

    patch.wrap(f"{_CONTROLLER}._pools", make)


@mutant("allocated-devices-are-available", rule="DRA-303", **_GATED)
def _(patch: Patch) -> None:
    """Devices of claims are not subtracted."""
    patch.wrap(f"{_MODULE}:_used", lambda original: lambda *args: {})


@mutant("nodes-of-pools-left-out", rule="DRA-303", **_GATED)
def _(patch: Patch) -> None:
    """A pool on one node does not name it."""

    def without_node(status: Any) -> Any:
        for pool in status.get("pools", ()):
            pool.pop("nodeName", None)
        return status

    _status(patch, without_node)


@mutant("answered-requests-follow-the-pools", rule="DRA-303", **_GATED)
def _(patch: Patch) -> None:
    """A status is written again when slices change, and the API server stores it."""

    def affected(original: _Function) -> _Function:
        def all_requests(self: Any, kind: Any, event: Any) -> Any:
            if kind == ("resource.k8s.io", "resourceslices"):
                records = self._core.store.snapshot(("resource.k8s.io", "resourcepoolstatusrequests"))[0]
                return [("", record.obj["metadata"]["name"]) for record in records]
            return original(self, kind, event)

        return all_requests

    def calculate(_original: _Function) -> _Function:
        def every_time(self: Any, key: Any) -> None:
            self._writes.replace_status(
                ("resource.k8s.io", "resourcepoolstatusrequests"),
                key,
                lambda found: self._status(found, self._pools(found.obj["spec"])),
            )

        return every_time

    patch.wrap(f"{_CONTROLLER}.affected", affected)
    patch.wrap(f"{_CONTROLLER}.calculate", calculate)
    patch.wrap(f"{_STRATEGY}:ResourcePoolStatusRequestStrategy.validate_update", lambda _: lambda *_args: [])


@mutant("limit-ignored", rule="DRA-304", **_GATED)
def _(patch: Patch) -> None:
    """All pools are listed."""

    def make(original: _Function) -> _Function:
        def status(self: Any, request: Any, pools: Any) -> Any:
            unlimited = request.copy()
            unlimited["spec"]["limit"] = 1000
            return original(self, type(request)(unlimited, request.raw, request.rv), pools)

        return status

    patch.wrap(f"{_CONTROLLER}._status", make)


@mutant("listed-pools-are-the-count", rule="DRA-304", **_GATED)
def _(patch: Patch) -> None:
    """poolCount is the number of listed pools."""
    _status(patch, lambda status: {**status, "poolCount": len(status.get("pools", ()))})


@mutant("name-of-the-pool-ignored", rule="DRA-304b", **_GATED)
def _(patch: Patch) -> None:
    """A request for one pool lists all pools of the driver."""
    patch.wrap(
        f"{_CONTROLLER}._pools",
        lambda original: (
            lambda self, spec: original(self, {key: value for key, value in spec.items() if key != "poolName"})
        ),
    )


@mutant("limit-of-nothing", rule="DRA-305", **_GATED)
def _(patch: Patch) -> None:
    """Any limit is accepted."""
    forget(patch, f"{_STRATEGY}:_spec", "Invalid", r"spec\.limit")


@mutant("limit-of-ten-thousand", rule="DRA-305", **_GATED)
def _(patch: Patch) -> None:
    """A limit may be greater than 1000."""
    patch.replace(f"{_STRATEGY}:LIMIT_MAX", 10000)


@mutant("no-driver-accepted", rule="DRA-305", **_GATED)
def _(patch: Patch) -> None:
    """A request may name no driver."""
    forget(patch, f"{_STRATEGY}:_spec", "Required", r"spec\.driver")


@mutant("limit-of-a-thousand-by-default", rule="DRA-305", **_GATED)
def _(patch: Patch) -> None:
    """The limit is the greatest one by default."""
    patch.replace(f"{_STRATEGY}:LIMIT_DEFAULT", 1000)


@mutant("unknown-driver-without-status", rule="DRA-306", **_GATED)
def _(patch: Patch) -> None:
    """A request that matches nothing is left without status."""

    def make(original: _Function) -> _Function:
        def calculate(self: Any, key: Any) -> None:
            record = self._core.store.get(("resource.k8s.io", "resourcepoolstatusrequests"), key)
            if record is not None and self._pools(record.obj["spec"]):
                original(self, key)

        return calculate

    patch.wrap(f"{_CONTROLLER}.calculate", make)


@mutant("shares-are-devices", rule="DRA-562", **_GATED)
def _(patch: Patch) -> None:
    """Each claim on a shared device is an allocated device."""

    def make(original: _Function) -> _Function:
        def pool(self: Any, request: Any, name: str, slices: Any) -> Any:
            found = original(self, request, name, slices)
            claims = self._objects(("resource.k8s.io", "resourceclaims"))
            results = [
                result
                for claim in claims
                for result in ((claim.get("status") or {}).get("allocation") or {})
                .get("devices", {})
                .get("results", ())
                if (result["driver"], result["pool"]) == (request["driver"], name)
            ]
            return {**found, "allocatedDevices": len(results)}

        return pool

    patch.wrap(f"{_CONTROLLER}._pool", make)


@mutant("shared-devices-are-not-allocated", rule="DRA-562", **_GATED)
def _(patch: Patch) -> None:
    """A device with shares counts as free."""

    def make(original: _Function) -> _Function:
        return lambda *args: {
            name: results for name, results in original(*args).items() if not any(one.get("shareID") for one in results)
        }

    patch.wrap(f"{_MODULE}:_used", make)


def _summary(patch: Patch, change: Callable[..., Any]) -> None:
    patch.wrap(f"{_MODULE}:shareable_summary", lambda original: lambda devices, used: change(original, devices, used))


@mutant("exclusive-capacity-is-shared", rule="DRA-562b", **_GATED)
def _(patch: Patch) -> None:
    """The capacity of all devices of a pool is summed up."""

    def change(original: _Function, devices: Any, used: Any) -> Any:
        every = [replace(device, raw={**device.raw, "allowMultipleAllocations": True}) for device in devices]
        found, own = original(every, used), original(devices, used)
        return own and {**own, "capacity": found["capacity"]}

    _summary(patch, change)


@mutant("last-share-is-the-consumed-capacity", rule="DRA-562b", **_GATED)
def _(patch: Patch) -> None:
    """Only one claim on a device counts."""
    _summary(
        patch,
        lambda original, devices, used: original(devices, {name: results[-1:] for name, results in used.items()}),
    )


@mutant("summary-without-shared-devices", rule="DRA-562b", **_GATED)
def _(patch: Patch) -> None:
    """Every pool has a summary."""
    none = {"fullyAvailableDevices": 0, "partiallyAvailableDevices": 0}
    _summary(patch, lambda original, devices, used: original(devices, used) or none)


@mutant("used-devices-are-fully-available", rule="DRA-562b", **_GATED)
def _(patch: Patch) -> None:
    """A device with capacity left is fully available."""

    def change(original: _Function, devices: Any, used: Any) -> Any:
        found = original(devices, used)
        total = found and found["fullyAvailableDevices"] + found["partiallyAvailableDevices"]
        return found and {**found, "fullyAvailableDevices": total, "partiallyAvailableDevices": 0}

    _summary(patch, change)


@mutant("admin-access-allocates", rule="DRA-563", **_GATED)
def _(patch: Patch) -> None:
    """A claim with admin access counts as a user of its devices."""

    def make(original: _Function) -> _Function:
        def used(claims: Any, driver: str, pool: str) -> Any:
            def ordinary() -> Any:
                for claim in claims:
                    allocation = (claim.get("status") or {}).get("allocation") or {}
                    results = [
                        {key: value for key, value in result.items() if key != "adminAccess"}
                        for result in (allocation.get("devices") or {}).get("results") or ()
                    ]
                    yield {"status": {"allocation": {"devices": {"results": results}}}}

            return original(ordinary(), driver, pool)

        return used

    patch.wrap(f"{_MODULE}:_used", make)


def _rules(patch: Patch, change: Callable[[Any], Any]) -> None:
    patch.wrap(
        f"{_MODULE}:_unavailable",
        lambda original: lambda device, driver, pool, rules: original(device, driver, pool, change(rules)),
    )


@mutant("rules-make-nothing-unavailable", rule="DRA-564", **_GATED)
def _(patch: Patch) -> None:
    """DeviceTaintRules are not read."""
    _rules(patch, lambda _rules: [])


@mutant("taints-of-slices-ignored", rule="DRA-564", **_GATED)
def _(patch: Patch) -> None:
    """Only DeviceTaintRules make devices unavailable."""
    patch.wrap(
        f"{_MODULE}:_unavailable",
        lambda original: lambda device, *args: original(replace(device, raw={"name": device.name}), *args),
    )


@mutant("no-execute-is-available", rule="DRA-564", **_GATED)
def _(patch: Patch) -> None:
    """Devices with a NoExecute taint are available."""
    patch.replace(f"{_MODULE}:_BARRING", ("NoSchedule",))


@mutant("every-effect-bars", rule="DRA-564", **_GATED)
def _(patch: Patch) -> None:
    """Taints with effect None make devices unavailable."""
    patch.replace(f"{_MODULE}:_BARRING", ("NoSchedule", "NoExecute", "None"))


@mutant("rule-without-selector-selects-all", rule="DRA-564", **_GATED)
def _(patch: Patch) -> None:
    """A DeviceTaintRule without deviceSelector makes all devices unavailable."""
    _rules(patch, lambda rules: [{"deviceSelector": {}, **rule} for rule in rules])


@mutant("allocated-and-tainted-twice", rule="DRA-564b", **_GATED)
def _(patch: Patch) -> None:
    """An allocated device with a taint is subtracted twice, as in kube-controller-manager 1.37.2."""

    def make(original: _Function) -> _Function:
        def pool(self: Any, request: Any, name: str, slices: Any) -> Any:
            found = original(self, request, name, slices)
            out = sum(bool(device.get("taints")) for spec in slices for device in spec.get("devices") or ())
            left = found["totalDevices"] - found["allocatedDevices"] - out
            return {**found, "unavailableDevices": out, "availableDevices": max(left, 0)}

        return pool

    patch.wrap(f"{_CONTROLLER}._pool", make)


@mutant("unallocated-partitions-are-allocatable", rule="DRA-565", **_GATED)
def _(patch: Patch) -> None:
    """Every partition that no claim uses is allocatable."""
    patch.wrap(f"{_SUMMARIES}:_subtract", lambda _original: lambda left, cost: None)


@mutant("types-share-the-counters", rule="DRA-565", **_GATED)
def _(patch: Patch) -> None:
    """A type is counted with what types before it have left."""

    def make(original: _Function) -> _Function:
        def entry(attribute: str, kind: str, group: Any, free: Any, used: Any) -> Any:
            found = original(attribute, kind, group, free, used)
            for key, amount in group.cost.items():
                for _ in range(found["allocatable"]):
                    free[key] = free.get(key, Quantity(0)) - amount
            return found

        return entry

    patch.wrap(f"{_SUMMARIES}:_entry", make)


def _partitions(patch: Patch, change: Callable[[Any], Any]) -> None:
    """Change the devices that partition_summary gets."""
    patch.wrap(
        f"{_MODULE}:partition_summary",
        lambda original: lambda devices, *args, **more: original(change(list(devices)), *args, **more),
    )


@mutant("first-cost-for-all", rule="DRA-566", **_GATED)
def _(patch: Patch) -> None:
    """All partitions of a type count with the cost of the first one."""

    def alike(devices: Any) -> Any:
        cost = next((d.raw["consumesCounters"] for d in devices if d.raw.get("consumesCounters")), None)
        return [
            replace(device, raw={**device.raw, "consumesCounters": cost})
            if device.raw.get("consumesCounters")
            else device
            for device in devices
        ]

    _partitions(patch, alike)


@mutant("error-instead-of-numbers", rule="DRA-566", **_GATED)
def _(patch: Patch) -> None:
    """A pool with a validationError has no numbers of devices."""

    def without(status: Any) -> Any:
        for pool in status.get("pools", ()):
            if "validationError" in pool:
                for name in [key for key in pool if key.endswith("Devices")]:
                    del pool[name]
        return status

    _status(patch, without)


@mutant("incomplete-pools-are-counted", rule="DRA-567", **_GATED)
def _(patch: Patch) -> None:
    """The devices of the slices that are there are counted."""

    def make(_original: _Function) -> _Function:
        def calculate(self: Any, key: Any) -> None:
            record = self._core.store.get(("resource.k8s.io", "resourcepoolstatusrequests"), key)
            if record is not None and not record.obj.get("status"):
                pools = self._pools(record.obj["spec"])
                self._writes.replace_status(
                    ("resource.k8s.io", "resourcepoolstatusrequests"), key, lambda found: self._status(found, pools)
                )

        return calculate

    patch.wrap(f"{_CONTROLLER}.calculate", make)


@mutant("incomplete-pools-stay-so", rule="DRA-567", **_GATED)
def _(patch: Patch) -> None:
    """No request of a driver gets a status once one of its pools was incomplete."""
    late: set[str] = set()

    def make(original: _Function) -> _Function:
        def calculate(self: Any, key: Any) -> None:
            record = self._core.store.get(("resource.k8s.io", "resourcepoolstatusrequests"), key)
            if record is None:
                return
            pools = self._pools(record.obj["spec"])
            if any(len(slices) < slices[0]["pool"]["resourceSliceCount"] for slices in pools.values()):
                late.add(record.obj["spec"]["driver"])
            if record.obj["spec"]["driver"] not in late:
                original(self, key)

        return calculate

    patch.wrap(f"{_CONTROLLER}.calculate", make)


@mutant("default-type-overrides-slices", rule="DRA-568", **_GATED)
def _(patch: Patch) -> None:
    """The type that a request names comes before that of a slice."""
    patch.wrap(
        f"{_MODULE}:_devices",
        lambda original: (
            lambda slices, default: [
                replace(device, type_attribute=default or device.type_attribute) for device in original(slices, default)
            ]
        ),
    )


@mutant("default-type-ignored", rule="DRA-568", **_GATED)
def _(patch: Patch) -> None:
    """Partitions of slices without a type are not counted."""
    patch.wrap(f"{_MODULE}:_devices", lambda original: lambda slices, default: original(slices, None))


@mutant("default-type-dropped", rule="DRA-568", **_GATED)
def _(patch: Patch) -> None:
    """The API server drops the default type from a request."""

    def make(original: _Function) -> _Function:
        def prepare(self: Any, obj: Any, ctx: Any) -> None:
            original(self, obj, ctx)
            obj["spec"].pop("defaultPartitionTypeAttribute", None)

        return prepare

    patch.wrap(f"{_STRATEGY}:ResourcePoolStatusRequestStrategy.prepare_create", make)
