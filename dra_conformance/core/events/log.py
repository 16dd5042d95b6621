"""An append-only log of JSON lines.

The runner, the components, the steps and the recorders emit events. The file is in the run's report folder and is
complete up to the last check even if the process is killed. Every append wakes the threads that wait in `wait_for`.

The lines are a hash chain (`chain`). The writer keeps its head and the results in memory, so a program that changes the
file changes no result, and `difference` finds the change.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from dra_api.clock import Clock, RealClock
from dra_conformance.core.errors import SuiteError, UsageError, cannot_write
from dra_conformance.core.events import chain
from dra_conformance.core.events.chain import Chain, Seal
from dra_conformance.core.events.kinds import (
    AnyEvent,
    ApiWrite,
    CheckMade,
    Event,
    ProblemFound,
    RunFinished,
    RunPlanned,
    RunStarted,
    ScenarioFinished,
    ScenarioStarted,
)
from dra_conformance.core.events.results import Results

T = TypeVar("T")
E = TypeVar("E", bound=Event)

# The file must be complete up to these events even if the process is killed right after.
_FLUSHED = (RunStarted, RunPlanned, ScenarioStarted, ScenarioFinished, CheckMade, RunFinished, ProblemFound)


def _encode(value: Any) -> Any:
    """Convert a value that JSON does not have; events contain data of programs under test."""
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {_cleaned(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(item) for item in value]
    return value


_encoder = msgspec.json.Encoder(enc_hook=_encode)
_decoder = msgspec.json.Decoder(cast("type[AnyEvent]", AnyEvent))


def encode(event: Event) -> bytes:
    """Return the JSON of an event. Text that is not valid Unicode gets replacement characters."""
    try:
        return _encoder.encode(event)
    except UnicodeEncodeError:
        # Lone surrogates are rare, so only an event that has them is copied.
        return _encoder.encode(_cleaned(msgspec.to_builtins(event, str_keys=True, enc_hook=_encode)))


class EventLog:
    """Writes events to a file (mode 0600) and keeps those of the current scenario for its timeline.

    `path` None keeps events in memory only; `keep_all` keeps those of earlier scenarios too. Thread-safe.
    """

    def __init__(self, path: Path | None = None, *, clock: Clock | None = None, keep_all: bool = False) -> None:
        self._clock = clock or RealClock()
        self._start = self._clock.monotonic()
        self._path = path
        self._chain = Chain()
        self._results = Results()
        self.failure: SuiteError | None = None
        """Why the file is incomplete; events are kept in memory then."""
        self._file = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)  # an older file could be readable by others
            path.touch(mode=0o600)
            self._file = path.open("wb")
        self.changed = threading.Condition()
        self._sequence = 0
        self._activity = 0
        self._scenario = ""
        self._keep_all = keep_all
        self._kept: list[Event] = []

    @property
    def clock(self) -> Clock:
        """The clock of waits."""
        return self._clock

    @property
    def count(self) -> int:
        """The number of events so far."""
        return self._sequence

    @property
    def activity(self) -> int:
        """The number of events so far that show work: the renewal of a Lease goes on while a component is idle.

        Changes of objects that others use on an existing cluster show none either.
        """
        return self._activity

    def begin_scenario(self, scenario: str) -> None:
        """Set the scenario of the events that follow."""
        with self.changed:
            self._scenario = scenario
            if not self._keep_all:
                self._kept.clear()

    def end_scenario(self) -> None:
        """The events that follow belong to no scenario."""
        with self.changed:
            self._scenario = ""

    def emit(self, event: Event, *, shows_work: bool = True) -> None:
        """Append an event under the next number and wake all waiters. Raises TypeError if it is not an event.

        `shows_work` False leaves `activity` as it is.
        """
        if not isinstance(event, Event):
            raise TypeError(f"not an event: {event!r}")
        with self.changed:
            self._sequence += 1
            self._activity += shows_work and not _is_renewal(event)
            # Under the lock, so that numbers, times and lines of the file have one order.
            stamped = msgspec.structs.replace(
                event,
                seq=self._sequence,
                time=round(self._clock.monotonic() - self._start, 6),
                scenario=self._scenario,
            )
            self._kept.append(self._write(stamped))
            self.changed.notify_all()

    def append(self, event: Event) -> None:
        """Append an event of a worker's log under the next number; its time and scenario stay."""
        with self.changed:
            self._sequence += 1
            self._activity += 1
            self._write(msgspec.structs.replace(event, seq=self._sequence))

    def _write(self, event: Event) -> Event:
        """Write an event as the next line of the chain, and return it with the digest of the line before."""
        if self._file is None or (self._file.closed and self.failure is None):
            return event
        linked = msgspec.structs.replace(event, prev=self._chain.head)
        line = encode(linked) + b"\n"
        self._chain.add(line)
        self._results.add(linked, line)
        if self.failure is None:
            try:
                self._file.write(line)
                if isinstance(event, _FLUSHED):
                    self._file.flush()
            except OSError as error:
                self.fail(error)
        return linked

    def fail(self, error: OSError) -> None:
        """Keep further events in memory only, because a file of the run cannot be written. The run is then invalid."""
        self.failure = self.failure or SuiteError(cannot_write(error, self._path).message)
        if self._file is not None:
            # Closes the file also if the rest of its buffer cannot be written.
            with contextlib.suppress(OSError):
                self._file.close()

    def seal(self) -> Seal:
        """Return the digests and the number of the lines written so far, from memory."""
        with self.changed:
            return self._chain.seal()

    def results(self) -> list[AnyEvent]:
        """Return the events that a report needs, from memory."""
        with self.changed:
            return [_decoder.decode(line) for line in self._results.lines()]

    def difference(self) -> str:
        """Return how the file differs from what was written, after `close`; empty if it does not."""
        if self._path is None or self.failure is not None:
            return ""
        try:
            content = self._path.read_bytes()
        except OSError as error:
            return f"it cannot be read: {error.strerror}"
        return chain.difference(content, self.seal())

    def poke(self) -> None:
        """Wake all waiters without an event, because a store that they read has changed."""
        with self.changed:
            self.changed.notify_all()

    def kept(self, kind: type[E]) -> list[E]:
        """Return the events of one kind of the current scenario (or of all, with `keep_all`)."""
        with self.changed:
            return [event for event in self._kept if isinstance(event, kind)]

    def wait_for(self, look: Callable[[], T | None], timeout: float) -> T | None:
        """Call `look` after every event until it returns something true, at most `timeout` seconds.

        `look` must not block. Returns its last result.
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
                    # At most 0.1 s, because some stores change without an event (an informer's list).
                    self._clock.condition_wait(self.changed, min(remaining, 0.1))

    def close(self) -> None:
        """Flush and close the file. Later events are kept in memory only."""
        with self.changed:
            if self._file is not None and self.failure is None:
                try:
                    self._file.close()
                except OSError as error:
                    self.fail(error)


_LEASE = re.compile(r"/leases/[^/?]+(\?|$)")


def _is_renewal(event: Event) -> bool:
    return isinstance(event, ApiWrite) and event.method in ("PUT", "PATCH") and bool(_LEASE.search(event.path))


def read(path: Path) -> Iterator[AnyEvent]:
    """Read a log. The incomplete last line of a killed run is left out; any other malformed line raises UsageError."""
    return parse(path.read_bytes(), name=path.name)


def parse(content: bytes, *, name: str) -> Iterator[AnyEvent]:
    """Return the events of a log's content, as `read` does. `name` is for messages."""
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            yield _decoder.decode(line)
        except msgspec.ValidationError as error:
            raise UsageError(f"{name}, line {number}: not an event of a run: {error}") from None
        except RecursionError:
            raise UsageError(f"{name}, line {number}: not an event of a run: it is nested too deeply") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if number >= len(lines) - 1:
                return
            raise UsageError(f"{name}, line {number}: not an event of a run: {error}") from None
