"""Incidents of GPUs as changes of the node's state: an XID, a recovery, a reset, a restored node.

Each function runs within one transaction of the node (`Node`).
"""

from __future__ import annotations

import ctypes

from fake_nvml.fields import SCALARS
from fake_nvml.layout import Gpu, State
from fake_nvml.state import NO_INSTANCE, Transaction, get_field, set_field
from fake_nvml.xids import (
    EVENT_DOUBLE_BIT_ECC,
    EVENT_XID,
    SYSTEM_EVENT,
    SYSTEM_EVENT_BIND,
    SYSTEM_EVENT_UNBIND,
    effects_of,
)


def report_xid(txn: Transaction, index: int, xid: int, *, gi: int = NO_INSTANCE, ci: int = NO_INSTANCE) -> None:
    """Report an XID on GPU `index`, after the effects of that XID on the GPU (`xids`)."""
    effects = effects_of(xid)
    device = txn.state.gpus[index]
    for field, amount in effects.add.items():
        # A counter that the GPU does not support stays unsupported.
        value, rc = get_field(device, field)
        if rc == 0:
            set_field(device, field, int(value) + amount)
    for field, amount in effects.set.items():
        _, rc = get_field(device, field)
        if rc == 0:
            set_field(device, field, amount)
    txn.event(index, EVENT_XID, xid, gi=gi, ci=ci)
    if effects.double_bit_ecc:
        txn.event(index, EVENT_DOUBLE_BIT_ECC, 0, gi=gi, ci=ci)


def reset_volatile(device: Gpu) -> None:
    """Set the volatile ECC counters to 0, as a driver reload does."""
    for field in SCALARS:
        if "_volatile_" in field and get_field(device, field)[1] == 0:
            set_field(device, field, 0)


def recover(device: Gpu) -> None:
    """Bring a GPU back, as a power cycle does; it needs no reset afterwards."""
    set_field(device, "is_lost", 0)
    set_field(device, "reset_required", 0)
    reset_volatile(device)
    if get_field(device, "recovery_action")[1] == 0:
        set_field(device, "recovery_action", 0)


def reset(device: Gpu) -> None:
    """Make pending modes current and remove MIG instances and processes."""
    for pending, current in (
        ("ecc_mode_pending", "ecc_mode_current"),
        ("mig_mode_pending", "mig_mode_current"),
    ):
        value, rc = get_field(device, pending)
        if rc == 0:
            set_field(device, current, value)
    set_field(device, "reset_required", 0)
    for table in (device.instances, device.processes):
        ctypes.memset(table, 0, ctypes.sizeof(table))
    set_field(device, "memory_used", 0)


def restore(state: State, first: bytes) -> None:
    """Restore the node's first generation; events stay, and old handles do not name new instances."""
    head, serial = state.event_head, state.next_serial
    ctypes.memmove(ctypes.byref(state), first, len(first))
    state.event_head = head
    # Serials are never used again, so that a handle of before does not name an instance of now.
    state.next_serial += serial
    for gpu in state.gpus[: state.gpu_count]:
        for instance in gpu.instances:
            instance.serial += serial
            for compute in instance.compute:
                compute.serial += serial


def unbind(txn: Transaction, index: int) -> None:
    """Unbind the driver from GPU `index`: NVML no longer lists it, and a system event reports that."""
    txn.state.gpus[index].present = 0
    txn.state.removed |= 1 << index
    txn.event(index, SYSTEM_EVENT | SYSTEM_EVENT_UNBIND, 0)


def bind(txn: Transaction, index: int) -> None:
    """Bind the driver to GPU `index` again."""
    txn.state.gpus[index].present = 1
    txn.state.removed &= ~(1 << index)
    txn.event(index, SYSTEM_EVENT | SYSTEM_EVENT_BIND, 0)


def hold(device: Gpu, pid: int, *, memory: int, utilization: int, graphics: bool, gi: int, ci: int) -> bool:
    """Set the `memory` in bytes that process `pid` uses of the GPU or an instance; 0 removes it.

    Returns False if the table of processes is full.
    """
    rows = [row for row in device.processes if row.used and row.pid == pid and row.gi == gi and row.ci == ci]
    if not rows and memory:
        rows = [row for row in device.processes if not row.used][:1]
        if not rows:
            return False
    for row in rows:
        row.used, row.pid, row.memory, row.gi, row.ci = int(memory > 0), pid, memory, gi, ci
        row.utilization, row.graphics = utilization, int(graphics)
    set_field(device, "memory_used", sum(row.memory for row in device.processes if row.used))
    return True
