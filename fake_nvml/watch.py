"""Changes of a node as lines of text: the difference of two generations, and events.

`changes` is a pure function of two copies of the state; `Watch` reads those and the ring of events from an open node,
which its owner closes. Changes between two reads are reported as one.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from types import TracebackType

from fake_nvml import fault_list
from fake_nvml.layout import RING_SIZE, Event, Gpu, State
from fake_nvml.node import Node
from fake_nvml.state import FILE_SIZE, NO_INSTANCE, RC_NOT_SUPPORTED, SCALAR_INDEX, STRING_INDEX, get_field
from fake_nvml.xids import EVENT_XID, SYSTEM_EVENT


class Watch:
    """Follows a node from the moment it was made; see the module."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._file = os.open(node.state_path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        # Before the copy: a change in between is reported later, but not lost.
        self._generation = node.generation
        self._seen = node.read()

    def next(self, timeout: float) -> list[str]:
        """Lines for what happened since the last call, as soon as something did; none after `timeout` seconds."""
        if not self._node.wait_change(self._generation, timeout):
            return []
        self._generation = self._node.generation
        before, self._seen = self._seen, self._node.read()
        events = read_events(self._file, before.event_head, self._seen.event_head)
        # System events show as changes.
        shown = [describe_event(event) for event in events if not event.type & SYSTEM_EVENT]
        return [*shown, *changes(before, self._seen)]

    @property
    def over(self) -> bool:
        """The node has ended."""
        return not self._seen.alive or not self._node.state_path.exists()

    def __enter__(self) -> Watch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)


def read_events(file: int, after: int, until: int) -> list[Event]:
    """Events of the ring whose numbers are above `after` and at most `until`, oldest first; those that the ring no
    longer has are left out.

    Args:
        file: an open descriptor of the state file, which need only be readable.
    """
    found = []
    for number in range(max(after, until - RING_SIZE) + 1, until + 1):
        # The ring is the last part of the file.
        place = FILE_SIZE + (number % RING_SIZE - RING_SIZE) * ctypes.sizeof(Event)
        event = Event.from_buffer_copy(os.pread(file, ctypes.sizeof(Event), place))
        # A writer may have overwritten the place since `until` was read.
        if event.seq == number:
            found.append(event)
    return found


def describe_event(event: Event) -> str:
    """One event: an XID by its number, others by the bit of nvmlEventType*."""
    where = "" if event.gi == NO_INSTANCE else f", GPU instance {event.gi}"
    where += "" if event.ci == NO_INSTANCE else f", compute instance {event.ci}"
    what = f"XID {event.data}" if event.type == EVENT_XID else f"event 0x{event.type:x}, data {event.data}"
    return f"GPU {event.gpu}: {what}{where}"


def changes(before: State, after: State) -> list[str]:
    """One line for each thing that differs between two generations of a node."""
    lines = []
    if before.init_rc != after.init_rc:
        lines.append(f"nvmlInit answers {fault_list.error_name(after.init_rc)}")
    # Without the count of hits: each faulty call changes it.
    old, new = ({line.rpartition(" hits ")[0] for line in fault_list.describe(state)} for state in (before, after))
    lines += [f"fault gone: {line}" for line in sorted(old - new)]
    lines += [f"fault: {line}" for line in sorted(new - old)]
    for index in range(after.gpu_count):
        old_gpu, new_gpu = before.gpus[index], after.gpus[index]
        # One comparison of bytes: most GPUs have not changed.
        if bytes(old_gpu) != bytes(new_gpu):
            lines += [f"GPU {index}: {text}" for text in _gpu(old_gpu, new_gpu)]
    if before.alive and not after.alive:
        lines.append("the node has ended")
    return lines


def _gpu(before: Gpu, after: Gpu) -> Iterator[str]:
    if before.present != after.present:
        yield "bound to its driver" if after.present else "unbound from its driver"
    for name in (*SCALAR_INDEX, *STRING_INDEX):
        old, new = _shown(before, name), _shown(after, name)
        if old != new:
            yield f"{name} {old} -> {new}"
    for number, (old_link, new_link) in enumerate(zip(before.links, after.links, strict=True)):
        if old_link.active != new_link.active:
            yield f"NVLink {number} {'up' if new_link.active else 'down'}"
    yield from _instances(before, after)
    held, holds = _processes(before), _processes(after)
    yield from (f"process {pid} gone" for pid in sorted(held.keys() - holds.keys()))
    for pid in sorted(holds):
        if held.get(pid) != holds[pid]:
            yield f"process {pid} holds {holds[pid] >> 20} MiB"


def _shown(gpu: Gpu, name: str) -> str:
    value, code = get_field(gpu, name)
    return str(value) if code == 0 else "N/A" if code == RC_NOT_SUPPORTED else fault_list.error_name(code)


def _instances(before: Gpu, after: Gpu) -> Iterator[str]:
    names = {profile.id: profile.name.decode() for profile in after.profiles if profile.present}
    for number, (old, new) in enumerate(zip(before.instances, after.instances, strict=True)):
        if (old.used, old.serial) != (new.used, new.serial):
            if old.used:
                yield f"GPU instance {number} destroyed"
            if new.used:
                yield f"GPU instance {number} made: {names.get(new.profile, new.profile)} at {new.start}"
        for inner, (had, has) in enumerate(zip(old.compute, new.compute, strict=True)):
            if (had.used, had.serial) != (has.used, has.serial) and (has.used or new.used):
                # Not for an instance that went with its GPU instance, which has a line already.
                yield f"compute instance {inner} of GPU instance {number} {'made' if has.used else 'destroyed'}"


def _processes(gpu: Gpu) -> dict[int, int]:
    return {int(process.pid): int(process.memory) for process in gpu.processes if process.used}
