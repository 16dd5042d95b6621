"""Checks over all claims: no device is allocated twice, and neither counters nor capacity are overcommitted.

Source: KEP-4381, KEP-4815, KEP-5075; rules DRA-133, DRA-153, DRA-189 to DRA-193, DRA-201, DRA-210 to DRA-212, DRA-235,
DRA-498 to DRA-508.
"""

from __future__ import annotations

from dra_conformance.oracle import device_requests
from dra_conformance.oracle.context import RESULTS, AllocatedDevice, CheckContext
from dra_conformance.oracle.device_requests import show
from dra_conformance.oracle.pools import DeviceId, Pool, PoolDevice, PoolId


def check_users(context: CheckContext) -> None:
    """No device is allocated twice, in this claim or in two (DRA-133, DRA-153, DRA-210, DRA-235)."""
    broken = context.findings.broken
    first_of: dict[DeviceId, AllocatedDevice] = {}
    for allocated in context.allocated:
        path = f"{allocated.path}.device"
        first = first_of.setdefault(allocated.result.id, allocated)
        if first is not allocated:
            _check_repeated(context, first, allocated)
        # Admin access does not exclude other claims (DRA-234).
        if allocated.result.admin_access:
            continue
        other_uses = context.other_uses(allocated.result.id)
        for use in other_uses:
            if not allocated.shared or not use.result.share_id:
                broken("DRA-133", f"{allocated.title} is allocated to claim {use.claim.title} too", path)
        share = allocated.result.share_id
        others = [
            one.result for one in context.allocated if one is not allocated and one.result.id == allocated.result.id
        ]
        others += [use.result for use in other_uses]
        if share and any(other.share_id == share for other in others):
            text = f"{allocated.title}: another result has the shareID {share} too"
            broken("DRA-201", text, f"{allocated.path}.shareID")


def _check_repeated(context: CheckContext, first: AllocatedDevice, second: AllocatedDevice) -> None:
    """A device may be in two results of one claim only when it is shared, and for two requests."""
    broken, path = context.findings.broken, f"{second.path}.device"
    if second.result.admin_access or first.result.admin_access:
        if not second.shared:
            broken("DRA-235", f"{second.title} is in this claim twice", path)
    elif first.result.request == second.result.request:
        broken("DRA-153", f"{second.title} serves request {second.result.request} twice", path)
    elif not second.shared:
        broken("DRA-133", f"{second.title} is in this claim twice and cannot be shared", path)


def check_counters(context: CheckContext) -> None:
    """The allocated devices of a pool consume no more than its counters (DRA-189 to DRA-193, DRA-211).

    Those on one counter set have a compatibility group in common (DRA-498).
    """
    own = {
        allocated.result.id: allocated.device
        for allocated in context.allocated
        if allocated.device and not allocated.result.admin_access
    }
    for pool_id in dict.fromkeys((driver, pool) for driver, pool, _ in own):
        _check_pool_counters(context, pool_id, [device for name, device in own.items() if name[:2] == pool_id])


def _check_pool_counters(context: CheckContext, pool_id: PoolId, own: list[PoolDevice]) -> None:
    consumed = {counter for device in own for counter in device.consumes}
    if not consumed:
        return
    counted = {device.id: device for device in own}
    for use in context.cluster.uses_by_pool.get(pool_id, ()):
        if use.claim.key != context.claim.key and use.result.id not in counted:
            other = context.cluster.pool_device(use.claim, use.result)
            if other is not None:
                counted[other.id] = other
    pool = context.cluster.pools[pool_id]
    if context.settings.on("DRADeviceCompatibilityGroups"):
        _check_groups(context, pool, own, list(counted.values()))
    for counter in sorted(consumed):
        total = sum(device.consumes.get(counter, 0) for device in counted.values())
        if counter not in pool.counters or total <= pool.counters[counter]:
            continue
        users = sorted(name for (_, _, name), device in counted.items() if counter in device.consumes)
        report = context.findings.unless_changed(*(one.metadata.changed for one in pool.current))
        if not any(counter in device.consumes and not _charged_before(context, device) for device in own):
            # Every device was charged with an earlier share, and the objects do not show which claim came first.
            report = context.findings.remark
        text = f"pool {pool.title}: counter {'/'.join(counter)} is {show(pool.counters[counter])}, yet {show(total)} "
        report("DRA-189", f"{text}is consumed, by {', '.join(users)}", RESULTS)


def _check_groups(context: CheckContext, pool: Pool, own: list[PoolDevice], counted: list[PoolDevice]) -> None:
    for counter_set in sorted({name for device in own for name in device.groups}):
        users = [device for device in counted if counter_set in device.groups]
        if frozenset.intersection(*(device.groups[counter_set] for device in users)):
            continue
        report = context.findings.unless_changed(*(one.metadata.changed for one in pool.current))
        if all(_charged_before(context, device) for device in own if counter_set in device.groups):
            report = context.findings.remark  # as for counters
        names = ", ".join(sorted(device.device.name for device in users))
        text = f"pool {pool.title}: {names} use counter set {counter_set} and have no compatibility group in common"
        report("DRA-498", text, RESULTS)


def _charged_before(context: CheckContext, device: PoolDevice) -> bool:
    """Whether another claim has a share of the device, so that this one may have been free of charge (DRA-211)."""
    return context.can_share(device) and any(use.result.share_id for use in context.other_uses(device.id))


def check_capacity(context: CheckContext) -> None:
    """All results of a shared device together consume no more than its capacity (DRA-212)."""
    for device_id in dict.fromkeys(allocated.result.id for allocated in context.allocated if allocated.shared):
        mine = [allocated for allocated in context.allocated if allocated.result.id == device_id]
        device = mine[0].device
        results = [allocated.result for allocated in mine if not allocated.result.admin_access]
        if device is None or not results:
            continue
        results += [use.result for use in context.other_uses(device_id)]
        for short, capacity in device.device.capacity.items():
            names = {short, device_requests.qualified(short, device.driver)}
            total = sum(
                device_requests.amount(value)
                for result in results
                for name, value in result.consumed_capacity.items()
                if name in names
            )
            if total > device_requests.amount(capacity.value):
                report = context.findings.unless_changed(device.resource_slice.metadata.changed)
                text = f"device {'/'.join(device_id)}: capacity {short} is {capacity.value}, yet {len(results)} "
                report("DRA-212", f"{text}results consume {show(total)}", RESULTS)
