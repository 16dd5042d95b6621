"""What happens to the GPUs of a node, as changes of its state: an XID, a recovery, a reset, a new beginning.

Each is called within one transaction of the node (`Node`), which ends its life.
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
    """The event of an XID on GPU `index`, after what that XID does to the GPU (`xids`)."""
    effects = effects_of(xid)
    device = txn.state.gpus[index]
    for field, amount in effects.add.items():
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


def forget_volatile(device: Gpu) -> None:
    """Volatile ECC counters begin with the driver."""
    for field in SCALARS:
        if "_volatile_" in field and get_field(device, field)[1] == 0:
            set_field(device, field, 0)


def recover(device: Gpu) -> None:
    """A power cycle: the GPU is back, and waits for no reset."""
    set_field(device, "is_lost", 0)
    set_field(device, "reset_required", 0)
    forget_volatile(device)
    if get_field(device, "recovery_action")[1] == 0:
        set_field(device, "recovery_action", 0)


def reset(device: Gpu) -> None:
    """Pending modes become current; MIG instances and processes are gone."""
    for pending, current in (
        ("ecc_mode_pending", "ecc_mode_current"),
        ("mig_mode_pending", "mig_mode_current"),
    ):
        value, rc = get_field(device, pending)
        if rc == 0:
            set_field(device, current, value)
    set_field(device, "reset_required", 0)
    for instance in device.instances:
        instance.used = 0
        for compute in instance.compute:
            compute.used = 0
    for row in device.processes:
        row.used = 0


def begin_again(state: State, first: bytes) -> None:
    """The node's first generation again; events stay sent, and handles of before reach no instance of after."""
    head, serial = state.event_head, state.next_serial
    ctypes.memmove(ctypes.byref(state), first, len(first))
    state.event_head = head
    state.next_serial += serial
    for gpu in state.gpus[: state.gpu_count]:
        for instance in gpu.instances:
            instance.serial += serial
            for compute in instance.compute:
                compute.serial += serial


def unbind(txn: Transaction, index: int) -> None:
    """The driver is taken from GPU `index`: it is gone for NVML, and the system says so."""
    txn.state.gpus[index].present = 0
    txn.state.removed |= 1 << index
    txn.event(index, SYSTEM_EVENT | SYSTEM_EVENT_UNBIND, 0)


def bind(txn: Transaction, index: int) -> None:
    """The driver has GPU `index` again."""
    txn.state.gpus[index].present = 1
    txn.state.removed &= ~(1 << index)
    txn.event(index, SYSTEM_EVENT | SYSTEM_EVENT_BIND, 0)


def hold(device: Gpu, pid: int, *, memory: int, utilization: int, graphics: bool, gi: int, ci: int) -> bool:
    """Process `pid` holds `memory` bytes of the GPU or of an instance, 0 ends it; False where the table is full."""
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
