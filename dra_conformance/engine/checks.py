"""Checks of one scenario: judge a value now, after a wait, or once the system is idle.

Reports show the expected and the observed value of a check below each other. Therefore both have the same type and the
same format:

- If the expectation is a value, both are lists, mappings, numbers or texts: a sorted list with a sorted list, a mapping
  with a mapping of the same keys. None stands for an object or a value that is absent.
- If nothing may be found, the expectation is an empty list or mapping.
- If the expectation is a condition ("2 different devices"), both are texts: `in_words` renders the observed value.

If the values of a failed check are too long to be shown, what is equal in both is left out.

mypy checks the types. A value that a target returned has no static type (Any) and is shown as it is: its type can be
the difference.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson

from dra_conformance.core.errors import CheckFailed, Untestable
from dra_conformance.core.events import CheckMade, EventLog
from dra_conformance.core.processor_delay import Deadline, ProcessorDelay

Value = TypeVar("Value", str, float, list[Any], Mapping[Any, Any])
"""The common type of an expected and an observed value; either of them may also be None."""

Observed = TypeVar("Observed")
Seen = tuple[bool, Observed]
"""Whether a condition holds, and the observed value."""

_SHOWN = 600  # characters of a value in a report
_PAUSE = 0.05  # seconds between two looks at what no event reports
_SOON = 0.1  # the part of a wait after which a busy machine may be the reason


class Checks:
    """Makes and logs checks, with the rules of the current step.

    A `look` function returns whether a condition holds and the observed value. It is called after each event, so it
    must read stores, not the API server. `catch_up` waits for the harness's own stores, `settle` for an idle system;
    `patience` is in seconds. `crash` describes a program under test that has ended by itself, for the messages of
    failed checks.
    """

    def __init__(
        self,
        log: EventLog,
        *,
        patience: float,
        catch_up: Callable[[], None],
        settle: Callable[[], None],
        crash: Callable[[], str],
    ) -> None:
        self._log = log
        self._patience = patience
        self._catch_up = catch_up
        self._settle = settle
        self._crash = crash
        self._delay = ProcessorDelay()
        self._background_error: Exception | None = None
        self.rules: tuple[str, ...] = ()
        self.step = ""
        self.made = 0

    def in_background(self, act: Callable[[], object]) -> Callable[[], None]:
        """Return `act` for another thread, such as that of a component whose request it disturbs.

        Its error ends the scenario instead of the thread: see `raise_background_error`.
        """

        def guarded() -> None:
            try:
                act()
            except Exception as error:
                # The first error counts: later ones follow from it.
                self._background_error = self._background_error or error

        return guarded

    def raise_background_error(self) -> None:
        """Raise the error of an act of the scenario in another thread: without that act nothing is judged."""
        if self._background_error is not None:
            raise self._background_error

    def begin_step(self, step: str, rules: tuple[str, ...]) -> None:
        """Set the step and the rules of the checks that follow; `made` counts them from zero."""
        self.step, self.rules, self.made = step, rules, 0

    def check(
        self,
        ok: bool,
        message: str,
        *,
        expected: Value | None,
        observed: Value | None,
        rules: tuple[str, ...] | None = None,
    ) -> None:
        """Judge a condition and log the result. Raises CheckFailed, which ends the scenario.

        A condition that does not hold because an act of the scenario failed in another thread is not judged.

        `message` states the condition; a failure shows `expected` and `observed`. `rules` replaces the rules of the
        step, if a step judges several rows that concern different rules.
        """
        if not ok:
            self.raise_background_error()
        rules = self.rules if rules is None else rules
        self.made += 1
        expected_text, observed_text = show(expected), show(observed)
        if not ok and max(len(expected_text), len(observed_text)) >= _SHOWN:
            expected_text, observed_text = map(show, differing(expected, observed))
        # A missing effect says little if the cause is a crash.
        if not ok and (crash := self._crash()):
            message = f"{message}; {crash}"
        self._log.emit(
            CheckMade(
                rules=rules,
                ok=bool(ok),
                message=message,
                expected=expected_text,
                observed=observed_text,
                step=self.step,
            )
        )
        if not ok:
            raise CheckFailed(
                f"{message}: expected {expected_text}; saw {observed_text}",
                expected=expected_text,
                observed=observed_text,
                rules=rules,
            )

    def eventually(
        self,
        message: str,
        look: Callable[[], Seen[Value | None]],
        *,
        expected: Value | None,
        within: float | None = None,
    ) -> None:
        """Check that `look` returns (True, ...) within the run's patience, or within `within` seconds."""
        self._catch_up()
        self.check_seen(message, self.wait(look, within), expected=expected)

    def check_seen(self, message: str, seen: Seen[Value | None], *, expected: Value | None) -> None:
        """Judge the result of a wait."""
        self.check(seen[0], message, expected=expected, observed=seen[1])

    def wait(self, look: Callable[[], Seen[Observed]], within: float | None = None) -> Seen[Observed | None]:
        """Wait until `look` returns (True, ...) or time is up, and return its last result.

        Time in which the run's programs waited for a processor does not count: see `processor_delay`.
        """
        last: Seen[Observed | None] = (False, None)

        def holds() -> bool:
            nonlocal last
            last = look()
            return last[0]

        seconds = self._patience if within is None else within
        # Most conditions hold soon. Only then is it worth reading what the machine did with the programs.
        if self._log.wait_for(holds, seconds * _SOON):
            return last
        deadline = Deadline(self._log.clock, seconds * (1 - _SOON), self._delay)
        while (remaining := deadline.remaining) and not self._log.wait_for(holds, remaining):
            pass
        return last

    def poll(self, holds: Callable[[], bool], within: float | None = None) -> bool:
        """Call `holds`, which may send requests, until it returns True or time is up; return its last result.

        For what no event reports. `within` is in seconds, the run's patience by default.
        """
        if holds():
            return True
        clock = self._log.clock
        deadline = Deadline(clock, self._patience if within is None else within, self._delay)
        while not deadline.is_over():
            clock.wait(threading.Event(), _PAUSE)
            if holds():
                return True
        return False

    def require(self, message: str, look: Callable[[], Seen[object]], *, within: float | None = None) -> None:
        """Wait for a precondition. Raises Untestable if it does not hold in time: nothing can be judged then."""
        seen = self.wait(look, within)
        if not seen[0]:
            raise Untestable(f"{message}: saw {show(seen[1])}")

    def stays(
        self,
        message: str,
        look: Callable[[], Seen[Value | None]],
        *,
        expected: Value | None,
        seconds: float | None = None,
    ) -> None:
        """Check that `look` returns (True, ...) once the system is idle, and for `seconds` after that."""
        self._catch_up()
        self._settle()
        seen = look()
        if seen[0] and seconds:

            def broken() -> bool:
                nonlocal seen
                seen = look()
                return not seen[0]

            self._log.wait_for(broken, seconds)
        self.check(seen[0], message, expected=expected, observed=seen[1])


def in_words(value: object, *, depth: int = 4) -> str:
    """Return a value as text without JSON, for a check whose expectation is a sentence. Below `depth`, it is JSON."""
    if isinstance(value, Mapping) and depth:
        return "; ".join(f"{key}: {in_words(one, depth=depth - 1)}" for key, one in value.items()) or "none"
    if isinstance(value, list | tuple | set | frozenset) and depth:
        items = [(isinstance(one, Mapping), in_words(one, depth=depth - 1)) for one in value]
        return ", ".join(f"({text})" if is_mapping else text for is_mapping, text in items) or "none"
    return "none" if value is None else value if isinstance(value, str) else show(value)


def differing(one: object, other: object, *, depth: int = 8) -> tuple[object, object]:
    """Return two values without what is equal: fields of mappings, and the first and the last items of lists.

    Below `depth`, values are returned as they are.
    """
    if isinstance(one, Mapping) and isinstance(other, Mapping) and depth:
        unlike = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        pairs = {key: differing(one.get(key), other.get(key), depth=depth - 1) for key in unlike}
        return (
            {key: pair[0] for key, pair in pairs.items() if key in one},
            {key: pair[1] for key, pair in pairs.items() if key in other},
        )
    if isinstance(one, list) and isinstance(other, list):
        shorter = min(len(one), len(other))
        first = next((number for number in range(shorter) if one[number] != other[number]), shorter)
        left = range(1, shorter - first + 1)
        last = next((number - 1 for number in left if one[-number] != other[-number]), shorter - first)
        return one[first : len(one) - last], other[first : len(other) - last]
    return one, other


def show(value: object) -> str:
    """Return a value as reports show it: short, on one line."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = orjson.dumps(value, default=str).decode()
        except (orjson.JSONEncodeError, TypeError):
            text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
