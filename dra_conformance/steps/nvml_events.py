"""NVML's events: event sets, the events that they receive, and waits."""

from __future__ import annotations

import ctypes
import re
import threading
from dataclasses import dataclass, field
from typing import Any, Final

from dra_conformance.components.nvml import OK, NvmlLibrary
from dra_conformance.components.nvml_calls import CallNames
from dra_conformance.core.errors import SpecificationError
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import World
from dra_conformance.steps.nvml import FirstSession

XID: Final = 8
NO_INSTANCE: Final = 0xFFFFFFFF
_ASLEEP: Final = 0.2  # seconds after which a thread that waits is in its futex call


@dataclass(slots=True)
class Wait:
    """A wait for an event in a thread of its own, and how it ended."""

    timeout: int = 0
    code: str = "still waiting"
    took: float = 0.0
    errors: str = "not read"
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Events:
    """The event sets of a scenario, and its wait."""

    sets: list[Any] = field(default_factory=list)
    wait: Wait = field(default_factory=Wait)
    system: Any = None


@given("an event set for the XIDs of {gpus}")
def _(world: World, gpus: str) -> None:
    """Create an event set, register it for the XIDs of `every GPU` or of one, and bind its handle: `set`."""
    _event_set(world, XID, gpus)


@given("an event set for the event types {types:d} of {gpus}")
def _(world: World, types: int, gpus: str) -> None:
    """Create an event set, register it for a mask of event types, and bind its handle: `set`."""
    _event_set(world, types, gpus)


@given("XIDs are registered with it for GPU {gpu:d}")
def _(world: World, gpu: int) -> None:
    """Register the last event set for the XIDs of one more GPU."""
    library = world.nvml()
    library.module.nvmlDeviceRegisterEvents(library.handle(gpu), XID, world.state(Events).sets[-1])


def _event_set(world: World, types: int, gpus: str) -> None:
    library = world.nvml()
    nvml = library.module
    one = re.fullmatch(r"GPU (\d+)", gpus)
    if one is None and gpus != "every GPU":
        raise SpecificationError(f"which GPUs are {gpus!r}?", hint="every GPU, or GPU 0.")
    events = nvml.nvmlEventSetCreate()
    for handle in [library.handle(int(one.group(1)))] if one else library.handles:
        nvml.nvmlDeviceRegisterEvents(handle, types, events)
    world.state(Events).sets.append(events)
    world.state(CallNames).bind_handle("set", events)


@when("XID {xid:d} is reported on GPU {gpu:d}")
def _(world: World, xid: int, gpu: int) -> None:
    """Report an XID on a fake GPU, with the effects of that XID on the GPU."""
    world.nvml().handle(gpu)
    world.nvml().node.inject_xid(gpu, xid)


def _received(library: NvmlLibrary, events: Any) -> list[dict[str, str]]:
    """Take all events that an event set has now, oldest first."""
    found: list[dict[str, str]] = []
    while True:
        data = library.module.c_nvmlEventData_t()
        # With a timeout of 0 the call returns a waiting event, or TIMEOUT if there is none.
        if library.call("nvmlEventSetWait_v2", events, ctypes.byref(data), 0):
            return found
        gi, ci = ("none" if i == NO_INSTANCE else str(i) for i in (data.gpuInstanceId, data.computeInstanceId))
        found.append(
            {
                "GPU": str(library.module.nvmlDeviceGetIndex(data.device)),
                "type": str(data.eventType),
                "XID": str(data.eventData),
                "GPU instance": gi,
                "compute instance": ci,
            }
        )


@then("each event set receives these events")
def _(world: World, datatable: list[list[str]]) -> None:
    """Compare the events of each set with the table, in order.

    Columns: any of GPU, type, XID, GPU instance and compute instance.
    """
    for number, events in enumerate(world.state(Events).sets):
        found = [[event[name] for name in datatable[0]] for event in _received(world.nvml(), events)]
        world.check(found == datatable[1:], f"events of set {number + 1}", expected=datatable[1:], observed=found)


@when("a thread waits {milliseconds:d} ms for an event")
def _(world: World, milliseconds: int) -> None:
    """Start a thread that waits on the first event set; the scenario goes on when it sleeps or has ended."""
    library, events, clock = world.nvml(), world.state(Events).sets[0], world.log.clock
    wait = world.state(Events).wait = Wait(milliseconds)

    def run() -> None:
        data = library.module.c_nvmlEventData_t()
        started = clock.monotonic()
        code = library.call("nvmlEventSetWait_v2", events, ctypes.byref(data), milliseconds)
        if code == OK:
            found = library.outcome(library.module.nvmlDeviceGetTotalEccErrors, data.device, 1, 0)
            wait.errors = f"{found} uncorrected"
        wait.took = (clock.monotonic() - started) * 1000
        wait.code = library.error_name(code)
        wait.done.set()

    threading.Thread(target=run, name="nvml-wait", daemon=True).start()
    clock.wait(wait.done, _ASLEEP)


@then("the thread gets an event and then reads {count:d} uncorrected errors")
def _(world: World, count: int) -> None:
    """Check that the wait ended with an event, and what the thread read of its GPU directly afterwards."""
    wait = world.state(Events).wait
    world.log.clock.wait(wait.done, world.run.patience)
    expected = ["SUCCESS", f"{count} uncorrected"]
    observed = [wait.code, wait.errors]
    world.check(observed == expected, "counters behind an event", expected=expected, observed=observed)


# -- events of the system ------------------------------------------------------------------------------------------

_SYSTEM_EVENTS: Final = {1: "unbind", 2: "bind"}  # nvmlSystemEventTypeGpuDriverUnbind and -Bind


@given("an event set of the system")
def _(world: World) -> None:
    """Create an event set for GPUs that are bound to their driver or unbound from it."""
    nvml = world.nvml().module
    events = nvml.nvmlSystemEventSetCreate(nvml.nvmlSystemEventSetCreateRequest_v1)
    nvml.nvmlSystemRegisterEvents(nvml.nvmlSystemRegisterEventRequest_v1, sum(_SYSTEM_EVENTS), events)
    world.state(Events).system = events


@then("the system has reported {names} since the last check")
def _(world: World, names: str) -> None:
    """Take the events of the system that wait now, and compare their names and GPUs, in order."""
    nvml = world.nvml().module
    request = nvml.c_nvmlSystemEventSetWaitRequest_v1_t()
    rows = (nvml.c_nvmlSystemEventData_v1_t * 8)()
    request.timeoutms, request.set, request.data, request.dataSize = 0, world.state(Events).system, rows, len(rows)
    code = world.nvml().call("nvmlSystemEventSetWait", ctypes.byref(request))
    count = request.numEvent if code == OK else 0
    gpus = {gpu: index for index, gpu in enumerate(world.state(FirstSession).ids)}
    found = [f"{_SYSTEM_EVENTS.get(row.eventType, row.eventType)} of GPU {gpus.get(row.gpuId)}" for row in rows[:count]]
    world.check(found == words(names), "events of the system", expected=words(names), observed=found)


@then("the wait ends with TIMEOUT")
def _(world: World) -> None:
    """Check that the wait ended with TIMEOUT, and not before its time."""
    wait, clock = world.state(Events).wait, world.log.clock
    clock.wait(wait.done, world.run.patience + wait.timeout / 1000)
    good = wait.code == "TIMEOUT" and wait.took >= wait.timeout
    world.check(
        good,
        f"a wait of {wait.timeout} ms",
        expected="TIMEOUT",
        observed=wait.code if good else f"{wait.code} after {wait.took:.0f} ms",
    )
