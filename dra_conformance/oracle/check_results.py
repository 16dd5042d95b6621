"""Check of each allocation result: its request and its device exist, and the device may be used for the request.

Source: KEP-4381, KEP-5055, KEP-5075; rules DRA-088, DRA-145 to DRA-149, DRA-158, DRA-161, DRA-199 to DRA-208, DRA-213,
DRA-219, DRA-220, DRA-233, DRA-250, DRA-256.
"""

from __future__ import annotations

from dra_conformance.oracle import device_requests
from dra_conformance.oracle.context import MAX_RESULTS, RESULTS, AllocatedDevice, CheckContext
from dra_conformance.oracle.device_requests import show
from dra_conformance.oracle.nodes import OPTIONAL_CALLS, NodeView
from dra_conformance.oracle.pools import PoolDevice
from dra_conformance.oracle.schema import Capacity, DeviceClass, ExactDeviceRequest, ObjectMeta, Toleration

# Without selectors, so that those of the request are checked although the class is missing.
_NO_CLASS = DeviceClass(metadata=ObjectMeta(name="unknown"))


def check(context: CheckContext) -> None:
    """Check every result on its own."""
    if len(context.allocated) > MAX_RESULTS:
        text = f"{len(context.allocated)} devices are more than {MAX_RESULTS}"
        context.findings.broken("DRA-157", text, RESULTS)
    for allocated in context.allocated:
        _check_request(context, allocated)
        if allocated.device is None:
            _check_absent(context, allocated)
        else:
            _check_device(context, allocated, allocated.device)


def _check_request(context: CheckContext, allocated: AllocatedDevice) -> None:
    """The request exists, and the result repeats its fields (DRA-088, DRA-220, DRA-233)."""
    result, request, broken = allocated.result, allocated.request, context.findings.broken
    if request is None:
        names = ", ".join(context.claim.requests_by_name) or "none"
        text = f"{allocated.title} is for request {result.request}; the claim's requests are: {names}"
        broken("DRA-088", text, f"{allocated.path}.request")
        return
    if result.admin_access != request.admin_access:
        has = "has" if result.admin_access else "lacks"
        text = f"{allocated.title} {has} admin access, unlike request {result.request}"
        broken("DRA-233", text, f"{allocated.path}.adminAccess")
    if context.settings.on("DRADeviceTaints") and _canonical(result.tolerations) != _canonical(request.tolerations):
        text = f"{allocated.title} does not carry the tolerations of request {result.request}"
        broken("DRA-220", text, f"{allocated.path}.tolerations")


def _canonical(tolerations: list[Toleration]) -> list[tuple[object, ...]]:
    return [(one.key, one.operator or "Equal", one.value, one.effect, one.toleration_seconds) for one in tolerations]


def _check_absent(context: CheckContext, allocated: AllocatedDevice) -> None:
    """Report a result whose device is not in the current generation of its pool (DRA-145, DRA-148)."""
    driver, name, device = allocated.result.id
    path = f"{allocated.path}.device"
    pool = context.cluster.pools.get((driver, name))
    if pool is None:
        text = f"{allocated.title} is of a pool that no slice names"
        context.findings.broken("DRA-145", text, f"{allocated.path}.pool")
        return
    report = context.findings.unless_changed(*(one.metadata.changed for one in pool.current))
    old = [one for one in pool.slices if any(listed.name == device for listed in one.spec.devices)]
    if not old:
        report("DRA-145", f"{allocated.title} is in no slice of generation {pool.generation} of its pool", path)
        return
    here = any(
        entry.node_access.includes(context.node or NodeView("")) is not False
        for entries in pool.by_name.values()
        for entry in entries
    )
    generation = max(one.spec.pool.generation for one in old)
    report(
        "DRA-145" if here else "DRA-148",
        f"{allocated.title} is in a slice of generation {generation}; the pool is at {pool.generation}",
        path,
    )


def _check_device(context: CheckContext, allocated: AllocatedDevice, device: PoolDevice) -> None:
    """The device can be used on the node and for the request, and its binding conditions are copied."""
    _check_pool(context, allocated, device)
    _check_node(context, allocated, device)
    _check_gates(context, allocated, device)
    _check_operations(context, allocated, device)
    if allocated.request is not None:
        _check_selectors(context, allocated, device, allocated.request)
        _check_taints(context, allocated, device, allocated.request)
        _check_consumption(context, allocated, device, allocated.request)
    result, broken = allocated.result, context.findings.broken
    if result.binding_conditions != device.device.binding_conditions:
        text = f"{allocated.title} has not the binding conditions of its device"
        broken("DRA-250", text, f"{allocated.path}.bindingConditions")
    if result.binding_failure_conditions != device.device.binding_failure_conditions:
        text = f"{allocated.title} has not the binding failure conditions of its device"
        broken("DRA-250", text, f"{allocated.path}.bindingFailureConditions")


def _check_pool(context: CheckContext, allocated: AllocatedDevice, device: PoolDevice) -> None:
    pool = context.cluster.pools[device.id[0], device.id[1]]
    problem = context.pool_problem(pool, context.node or NodeView(device.node_access.node_name))
    if not problem:
        return
    rule = "DRA-146" if not pool.complete else "DRA-149" if "listed twice" in problem else "DRA-194"
    if "compatibility groups" in problem:
        rule = "DRA-507"
    if rule == "DRA-146" and context.settings.release == 34:
        return  # 1.34 takes single devices from incomplete pools
    text = f"{allocated.title} is of a pool that cannot be used: {problem}"
    if not context.settings.fresh:
        text += "; the pool may have been different when the device was allocated"
    context.findings.broken_if_fresh(rule, text, f"{allocated.path}.pool")


def _check_node(context: CheckContext, allocated: AllocatedDevice, device: PoolDevice) -> None:
    node = context.node
    if node is None or (usable := device.node_access.includes(node)) is True:
        return
    per_device = device.resource_slice.spec.per_device_node_selection
    rule = "DRA-197" if per_device else "DRA-143" if device.node_access.node_selector else "DRA-141"
    if usable is None:
        text = f"unknown whether {allocated.title} can be used on node {node.name}: no such Node"
        context.findings.remark(rule, text, allocated.path)
    else:
        report = context.findings.unless_changed(device.resource_slice.metadata.changed)
        report(rule, f"{allocated.title} cannot be used on node {node.name}", f"{allocated.path}.device")


def _check_gates(context: CheckContext, allocated: AllocatedDevice, device: PoolDevice) -> None:
    """A device that needs a disabled feature is not allocated (DRA-199, DRA-256)."""
    broken = context.findings.broken
    partitioned = device.device.consumes_counters or device.resource_slice.spec.per_device_node_selection
    if partitioned and not context.settings.on("DRAPartitionableDevices"):
        broken("DRA-199", f"{allocated.title} needs partitionable devices, which are off", allocated.path)
    if device.device.binding_conditions and not context.settings.on("DRADeviceBindingConditions"):
        broken("DRA-256", f"{allocated.title} needs binding conditions, which are off", allocated.path)


def _check_operations(context: CheckContext, allocated: AllocatedDevice, device: PoolDevice) -> None:
    """The result has the skipNodeOperations of the slice, and its node can do without the calls (DRA-517, DRA-519)."""
    # Only while nothing has changed: neither the slice nor the gates of the scheduler and the features of the node.
    report = context.findings.broken_if_fresh
    skipped = device.resource_slice.spec.skip_node_operations
    if not context.settings.on(OPTIONAL_CALLS):
        if skipped:
            report("DRA-521", f"{allocated.title} needs optional node operations, which are off", allocated.path)
        return
    if sorted(allocated.result.skip_node_operations) != sorted(skipped):
        text = f"{allocated.title} has not the skipNodeOperations of its slice"
        report("DRA-517", text, f"{allocated.path}.skipNodeOperations")
    # By its own list: that of the slice may be another now.
    node = context.node
    if node is not None and allocated.result.skip_node_operations and node.calls_optional is False:
        text = f"{allocated.title} skips node operations, which node {node.name} does not declare"
        report("DRA-519", text, allocated.path)


def _check_selectors(
    context: CheckContext, allocated: AllocatedDevice, device: PoolDevice, request: ExactDeviceRequest
) -> None:
    name = allocated.result.request
    device_class = context.cluster.classes_by_name.get(request.device_class_name)
    if device_class is None:
        text = f"request {name} refers to the DeviceClass {request.device_class_name}, which does not exist"
        context.findings.broken_if_fresh("DRA-124", text, allocated.path)
        device_class = _NO_CLASS
    reason, failed = device_requests.unselected(device, request, device_class)
    if reason:
        report = context.findings.unless_changed(device.resource_slice.metadata.changed, device_class.metadata.changed)
        rule = "DRA-161" if failed else "DRA-158"
        report(rule, f"{allocated.title} does not satisfy request {name}: {reason}", f"{allocated.path}.device")


def _check_taints(
    context: CheckContext, allocated: AllocatedDevice, device: PoolDevice, request: ExactDeviceRequest
) -> None:
    if not context.settings.on("DRADeviceTaints"):
        return
    findings, path = context.findings, f"{allocated.path}.device"
    for taint in device_requests.untolerated(device, request):
        rule = "DRA-219" if request.admin_access else "DRA-213"
        shown = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        text = f"{allocated.title} has the taint {shown}, which request {allocated.result.request} does not tolerate"
        if findings.allocated_at is None or taint.time_added is None:
            findings.broken_if_fresh(rule, text, path)
        elif taint.time_added < findings.allocated_at:
            findings.broken(rule, text, path)
        elif taint.time_added == findings.allocated_at:
            # Kubernetes stores whole seconds: within one second the order is not known.
            findings.remark(rule, f"{text}; taint and allocation have the same second", path)


def _check_consumption(
    context: CheckContext, allocated: AllocatedDevice, device: PoolDevice, request: ExactDeviceRequest
) -> None:
    """The result's share and consumed capacity are those that the request leads to (DRA-201 to DRA-208)."""
    broken, result = context.findings.broken, allocated.result
    rule, reason = device_requests.too_small(device, request, shared=allocated.shared)
    if reason:
        report = context.findings.unless_changed(device.resource_slice.metadata.changed)
        report(rule, f"{allocated.title} {reason}", f"{allocated.path}.device")
    if not allocated.shared:
        for name, present in (("shareID", result.share_id), ("consumedCapacity", result.consumed_capacity)):
            if present:
                broken("DRA-208", f"{allocated.title} is exclusive, yet has a {name}", f"{allocated.path}.{name}")
        return
    # Admin access reserves nothing (DRA-234), so it needs no share.
    if request.admin_access and not result.share_id:
        return
    if not result.share_id:
        broken("DRA-201", f"{allocated.title} is shared, yet has no shareID", f"{allocated.path}.shareID")
    if not reason:
        _check_amounts(context, allocated, device, request)


def _check_amounts(
    context: CheckContext, allocated: AllocatedDevice, device: PoolDevice, request: ExactDeviceRequest
) -> None:
    requested = device_requests.requested_capacity(device, request)
    consumed = {
        device_requests.qualified(name, device.driver): device_requests.amount(value)
        for name, value in allocated.result.consumed_capacity.items()
    }
    path = f"{allocated.path}.consumedCapacity"
    for short, capacity in device.device.capacity.items():
        name = device_requests.qualified(short, device.driver)
        expected = device_requests.consumption(capacity, requested.get(name))
        found = consumed.pop(name, None)
        if found == expected:
            continue
        text = f"{allocated.title} consumes {show(found)} of {short}; the request needs {show(expected)}"
        # Without the gate of 1.37, steps of less than one unit are rounded differently; both results are accepted.
        exact = (context.settings.release or 0) >= 37 and context.settings.on("DRAFractionalCapacityRange")
        rounded = device_requests.fractional(capacity) and not exact
        unless_changed = context.findings.unless_changed(device.resource_slice.metadata.changed)
        report = context.findings.remark if rounded else unless_changed
        report(_amount_rule(capacity, requested=name in requested), text, path)
    for name in consumed:
        context.findings.broken("DRA-203", f"{allocated.title} consumes {name}, which the device does not have", path)


def _amount_rule(capacity: Capacity, *, requested: bool) -> str:
    policy = capacity.request_policy
    if requested:
        return "DRA-206" if policy and policy.valid_values else "DRA-204"
    return "DRA-202" if policy and policy.default is not None else "DRA-203"
