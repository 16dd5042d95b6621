"""NVML's events: event sets, what they report and when, and what an error does to a GPU's counters."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from dra_conformance.components.nvml import NvmlLibrary
from dra_conformance.engine.vocabulary import given, then, when
from dra_conformance.engine.world import World

XID = 8
ALL = 0xFFFFFFFF


def _new_set(component: NvmlLibrary, gpus: list[int]) -> Any:
    events = component.module.nvmlEventSetCreate()
    for gpu in gpus:
        component.module.nvmlDeviceRegisterEvents(component.handle(gpu), XID, events)
    return events


_SLEEPS = """
import ctypes, resource, sys
library = ctypes.CDLL(sys.argv[1])
handle, events, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(64)
library.nvmlInit_v2()
library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
library.nvmlEventSetCreate(ctypes.byref(events))
library.nvmlDeviceRegisterEvents(handle, ctypes.c_ulonglong(8), events)
def looks():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
    library.nvmlEventSetWait_v2(events, data, 250)
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before
least = looks()
for _ in range(5):
    least = least if least < 4 else min(least, looks())
print(least, flush=True)
code = library.nvmlEventSetWait_v2(events, data, 60000)
print(code, int.from_bytes(data.raw[16:24], "little"), flush=True)
"""


@then("a process that waits for an event sleeps until XID {xid:d} wakes it")
def _(world: World, xid: int) -> None:
    """In a wait of 250 ms it looks at most at every tenth of a second; and the event ends a wait of a minute."""
    component = world.nvml()
    child = component.child(_SLEEPS, str(component.library))
    looks = child.line(world.run.patience)
    world.check(looks in ("1", "2", "3"), "how often it slept in one wait", expected="1 to 3", observed=looks)
    component.node.inject_xid(0, xid)
    heard = child.line(world.run.patience)
    world.check(heard == f"0 {xid}", "the event", expected=f"0 {xid}", observed=heard)


@given("an event set for the XIDs of every GPU")
def _(world: World) -> None:
    """A set of this scenario; a second one of the same kind may be asked for."""
    component = world.nvml()
    world.memory.setdefault("sets", []).append(_new_set(component, list(range(len(component.handles)))))


@given("an event set for the XIDs of GPU {gpu:d} alone")
def _(world: World, gpu: int) -> None:
    """Events of other GPUs are not asked for."""
    world.memory.setdefault("sets", []).append(_new_set(world.nvml(), [gpu]))


@when("XID {xid:d} is reported on GPU {gpu:d}")
def _(world: World, xid: int, gpu: int) -> None:
    """With what that XID does to the GPU."""
    world.nvml().handle(gpu)
    world.nvml().node.inject_xid(gpu, xid)


def _taken(component: NvmlLibrary, events: Any) -> list[tuple[int, int, int, int]]:
    """GPU, XID and instance ids of all events that lie in a set now, oldest first."""
    found: list[tuple[int, int, int, int]] = []
    while True:
        data = component.module.c_nvmlEventData_t()
        if component.call("nvmlEventSetWait_v2", events, ctypes.byref(data), 0):
            return found
        gpu = component.module.nvmlDeviceGetIndex(data.device)
        found.append((gpu, int(data.eventData), data.gpuInstanceId, data.computeInstanceId))


@then('each event set reports exactly the XIDs "{xids}" in this order')
def _(world: World, xids: str) -> None:
    """Each set gets each event that it asked for once, whoever else waits."""
    component = world.nvml()
    wanted = [int(word) for word in xids.split(",")] if xids.strip() else []
    for number, events in enumerate(world.memory["sets"]):
        found = [xid for _, xid, _, _ in _taken(component, events)]
        world.check(found == wanted, f"events of set {number + 1}", expected=wanted, observed=found)


@when("{count:d} events are reported on GPU {gpu:d} at once")
def _(world: World, count: int, gpu: int) -> None:
    """XIDs from 1 on, in one change."""
    world.nvml().handle(gpu)
    with world.nvml().node.change() as txn:
        for number in range(1, count + 1):
            txn.event(gpu, XID, number)


@then("the set has the newest {count:d} events up to {last:d}, in order and without a gap")
def _(world: World, count: int, last: int) -> None:
    """At least so many; what it lost are the oldest."""
    found = [xid for _, xid, _, _ in _taken(world.nvml(), world.memory["sets"][0])]
    wanted = list(range(last - len(found) + 1, last + 1))
    good = found == wanted and len(found) >= count
    shown = f"{len(found)} events, {found[:2]} to {found[-2:]}"
    world.check(good, "events", expected=f"{count} or more, ending with {last}", observed=shown)


@then("the event names GPU {gpu:d} as a whole")
def _(world: World, gpu: int) -> None:
    """Not within a MIG instance: both instance ids are 0xFFFFFFFF."""
    found = _taken(world.nvml(), world.memory["sets"][0])
    seen = [(event[0], event[2], event[3]) for event in found]
    world.check(seen == [(gpu, ALL, ALL)], "GPU and instance ids", expected=[(gpu, ALL, ALL)], observed=seen)


@then("an event that the GPU does not have cannot be registered")
def _(world: World) -> None:
    """A bit outside of the supported mask is NOT_SUPPORTED; the mask itself is taken."""
    component = world.nvml()
    nvml, handle = component.module, component.handle()
    mask = nvml.nvmlDeviceGetSupportedEventTypes(handle)
    events = nvml.nvmlEventSetCreate()
    taken = component.outcome(nvml.nvmlDeviceRegisterEvents, handle, mask, events)
    world.check(taken is None, "the supported mask", expected="taken", observed=taken)
    foreign = 1 << 40
    found = component.outcome(nvml.nvmlDeviceRegisterEvents, handle, foreign, events)
    world.check(found == "NOT_SUPPORTED", "a foreign bit", expected="NOT_SUPPORTED", observed=found)


@then("waiting for {milliseconds:d} ms without an event takes so long and ends in TIMEOUT")
def _(world: World, milliseconds: int) -> None:
    """Not shorter; a wait of 0 does not block."""
    component = world.nvml()
    events, data = world.memory["sets"][0], component.module.c_nvmlEventData_t()
    for timeout in (0, milliseconds):
        started = world.log.clock.monotonic()
        code = component.call("nvmlEventSetWait_v2", events, ctypes.byref(data), timeout)
        took = (world.log.clock.monotonic() - started) * 1000
        name = component.error_name(code)
        good = name == "TIMEOUT" and took >= timeout
        world.check(
            good, f"a wait of {timeout} ms", expected=f"TIMEOUT after {timeout} ms", observed=f"{name} {took:.0f} ms"
        )


@then("GPU {gpu:d} has one more uncorrected error, volatile and aggregate, and a pending row remap")
def _(world: World, gpu: int) -> None:
    """The counters have moved by the time that the event is there."""
    component = world.nvml()
    nvml, handle = component.module, component.handle(gpu)
    found = (
        nvml.nvmlDeviceGetTotalEccErrors(handle, 1, 0),
        nvml.nvmlDeviceGetTotalEccErrors(handle, 1, 1),
        nvml.nvmlDeviceGetRemappedRows(handle)[2],
    )
    world.check(found == (1, 1, 1), "volatile, aggregate, pending", expected=(1, 1, 1), observed=found)


@when("the driver is reloaded")
def _(world: World) -> None:
    """Open sessions end; the scenario begins a new one."""
    component = world.nvml()
    component.node.reload_driver()
    component.shut_down()
    component.init()


@then("GPU {gpu:d} has forgotten its volatile errors and kept its aggregate ones")
def _(world: World, gpu: int) -> None:
    """Volatile counters begin with the driver; aggregate ones live as long as the GPU."""
    component = world.nvml()
    ask, handle = component.module.nvmlDeviceGetTotalEccErrors, component.handle(gpu)
    found = (ask(handle, 1, 0), ask(handle, 1, 1))
    world.check(found == (0, 1), "volatile and aggregate", expected=(0, 1), observed=found)


@when("every {every:d}th call of {function:word} is made to fail with {error:word}")
def _(world: World, every: int, function: str, error: str) -> None:
    """A fault rule of the fake."""
    world.memory["rule"] = world.nvml().node.inject_fault(function, error=error, every=every)


@then("of {count:d} calls of nvmlDeviceGetName {failed:d} fail, are counted, and none fails once the rule is cleared")
def _(world: World, count: int, failed: int) -> None:
    """What was armed acts as told, and leaves no trace."""
    component = world.nvml()
    handle, buffer = component.handle(), ctypes.create_string_buffer(96)
    codes = [component.call("nvmlDeviceGetName", handle, buffer, 96) for _ in range(count)]
    hits = component.node.fault_hits(world.memory["rule"])
    seen = (sum(code != 0 for code in codes), hits)
    world.check(seen == (failed, failed), "failed calls and hits", expected=(failed, failed), observed=seen)
    component.node.clear_faults()
    after = [component.call("nvmlDeviceGetName", handle, buffer, 96) for _ in range(count)]
    world.check(not any(after), "after the rule is cleared", expected=[0] * count, observed=after)


@then("a thread that waits on the set comes back with an error when the set is freed")
def _(world: World) -> None:
    """Within the run's patience, although it was to wait for a minute."""
    component = world.nvml()
    events, data = world.memory["sets"][0], component.module.c_nvmlEventData_t()
    codes: list[int] = []
    done = threading.Event()

    def wait() -> None:
        codes.append(component.call("nvmlEventSetWait_v2", events, ctypes.byref(data), 60_000))
        done.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    world.log.clock.wait(done, 0.2)  # it sleeps by now
    component.call("nvmlEventSetFree", events)
    back = world.log.clock.wait(done, world.run.patience)
    world.check(
        back and codes[0] not in (0, 10),
        "the waiter",
        expected="back, with an error other than TIMEOUT",
        observed=[component.error_name(code) for code in codes] if back else "still waiting",
    )
