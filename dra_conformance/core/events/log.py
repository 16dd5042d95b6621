"""An append-only log of JSON lines.

Data comes from the runner, the components, the steps and the recorders; the file belongs to the run's own folder and is
complete up to the last check even when the process is killed. Waiters are woken by every append: the log is also how
steps wait for something to happen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from dra_api.clock import Clock, RealClock
from dra_conformance.core.errors import UsageError

T = TypeVar("T")
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `time` is seconds since the run began; `scenario` is empty outside scenarios."""

    seq: int
    time: float
    kind: str
    scenario: str
    data: Mapping[str, Any] = field(default_factory=dict)


def _encode(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode(errors="replace")
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {_cleaned(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_cleaned(item) for item in value]
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    return _cleaned(_encode(value))


class EventLog:
    """Writes events to a file (mode 0600) and keeps those of the current scenario for its timeline.

    `path` None keeps events in memory only. Thread-safe.
    """

    def __init__(self, path: Path | None = None, *, clock: Clock | None = None, keep_all: bool = False) -> None:
        self._clock = clock or RealClock()
        self._start = self._clock.monotonic()
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # an older file could be readable by others
            path.touch(mode=0o600)
            self._file = path.open("wb")
        self.changed = threading.Condition()
        self._sequence = 0
        self._scenario = ""
        self._keep_all = keep_all
        self._kept: list[Event] = []

    @property
    def clock(self) -> Clock:
        """The clock that waits run on."""
        return self._clock

    @property
    def count(self) -> int:
        """How many events there are so far."""
        return self._sequence

    def begin_scenario(self, scenario: str) -> None:
        """Events belong to `scenario` from now on."""
        with self.changed:
            self._scenario = scenario
            if not self._keep_all:
                self._kept.clear()

    def end_scenario(self) -> None:
        """Events belong to no scenario from now on."""
        with self.changed:
            self._scenario = ""

    def emit(self, kind: str, data: Mapping[str, Any] = _NOTHING, /, **more: Any) -> Event:
        """Append one event and wake all waiters."""
        with self.changed:
            self._sequence += 1
            event = Event(
                self._sequence,
                round(self._clock.monotonic() - self._start, 6),
                kind,
                self._scenario,
                {**data, **more},
            )
            self._kept.append(event)
            self._write(event)
            self.changed.notify_all()
            return event

    def _write(self, event: Event) -> None:
        if self._file is None or self._file.closed:
            return
        line = {"seq": event.seq, "t": event.time, "kind": event.kind, "scenario": event.scenario, "data": event.data}
        try:
            encoded = orjson.dumps(line, default=_encode, option=orjson.OPT_NON_STR_KEYS)
        except TypeError:  # what a target said holds half a character, or a number beyond 64 bits
            encoded = orjson.dumps(_cleaned(line))
        self._file.write(encoded + b"\n")
        if event.kind in _FLUSHED:
            self._file.flush()

    def append(self, event: Event) -> None:
        """Append an event of another log (a worker's) under the next number, its time and scenario kept."""
        with self.changed:
            self._sequence += 1
            self._write(Event(self._sequence, event.time, event.kind, event.scenario, event.data))

    def record(self, kind: str, data: Mapping[str, Any]) -> None:
        """Append one event; the form that parts below the harness are given."""
        self.emit(kind, data)

    def poke(self) -> None:
        """Wake all waiters without an event: something outside the log changed."""
        with self.changed:
            self.changed.notify_all()

    def kept(self, *kinds: str) -> list[Event]:
        """Events of the current scenario (or all, with keep_all), of some kinds or of every kind."""
        with self.changed:
            return [event for event in self._kept if not kinds or event.kind in kinds]

    def wait_for(self, look: Callable[[], T | None], timeout: float) -> T | None:
        """Call `look` after every event until it returns something true, at most `timeout` seconds.

        `look` must not block. Returns what it returned last.
        """
        deadline = self._clock.monotonic() + timeout
        while True:
            with self.changed:
                before = self._sequence
            found = look()  # outside the lock: it may take locks of its own
            if found:
                return found
            with self.changed:
                remaining = deadline - self._clock.monotonic()
                if remaining <= 0:
                    return found
                if self._sequence == before:
                    # At most 0.1 s: stores that change without an event (an informer's list) are seen all the same.
                    self._clock.condition_wait(self.changed, min(remaining, 0.1))

    def close(self) -> None:
        """Flush and close the file. Later events are kept in memory only."""
        with self.changed:
            if self._file is not None:
                self._file.close()


_FLUSHED = frozenset(
    {"run-started", "plan", "scenario-started", "scenario-finished", "check", "run-finished", "problem"}
)


def read(path: Path) -> Iterator[Event]:
    """Read a log back. A torn last line (a killed run) is left out; anything else unreadable raises UsageError."""
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            raw = orjson.loads(line)
            yield Event(raw["seq"], raw["t"], raw["kind"], raw["scenario"], raw["data"])
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            if number >= len(lines) - 1:
                return
            raise UsageError(f"{path.name}, line {number}: not an event of a run: {error}") from None
