"""Matches a pattern in linear time, for patterns on which the backtracking of Python could take exponential time.

The program is Thompson's NFA with prioritized threads (Pike), as in RE2 and Go's regexp: https://swtch.com/~rsc/regexp/
regexp2.html. It is built from the tree of Python's own parser. Python's engine still tests single characters and
assertions, so that classes and flags mean the same with both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Final

_LARGEST: Final = 100_000
"""Instructions; repetition counts of up to 1,000 multiply."""

_REPEATS: Final = frozenset({_constants.MAX_REPEAT, _constants.MIN_REPEAT})
_ACCEPT: Final = None

Test = Callable[[str], object]


class TooLargeError(Exception):
    """The program would be larger than the limit."""


@dataclass(slots=True)
class _Character:
    """Accept one character and go to the next instruction."""

    test: Test


@dataclass(slots=True)
class _Assertion:
    """Go to the next instruction if a condition holds at the position."""

    leaf: re.Pattern[str]


@dataclass(slots=True)
class _Split:
    """Go to each target, the first with priority."""

    targets: list[int] = field(default_factory=list)


def needs_linear(pattern: str) -> bool:
    """Whether a valid pattern has two places of choice in a row or in each other, so that backtracking is expensive."""
    return _choices(_parser.parse(pattern)) > 1


def _choices(tree: Any) -> int:
    found = 0
    for op, value in tree:
        if op in _REPEATS:
            low, high, body = value
            inner = _choices(body)
            # A choice inside of a repetition is made again and again.
            found += 2 * inner if high > 1 else inner
            found += low != high
        elif op is _constants.BRANCH:
            found += 1 + sum(map(_choices, value[1]))
        elif op is _constants.SUBPATTERN:
            found += _choices(value[3])
    return found


class Program:
    """A compiled pattern. Immutable after its construction; any thread can use it."""

    def __init__(self, pattern: str) -> None:
        """Compile a pattern that Python accepts. Raises TooLargeError."""
        self._code: list[_Character | _Assertion | _Split | None] = []
        self._tests: dict[str, Test] = {}
        tree = _parser.parse(pattern)
        self._state = tree.state
        self._add(tree, tree.state.flags)
        self._code.append(_ACCEPT)

    def matches(self, text: str) -> bool:
        """Whether the pattern matches anywhere in a text."""
        return self._first(text, 0, any_=True) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield begin and end of the matches, as Go's regexp finds them; empty ones after a match are included."""
        at = 0
        while at <= len(text) and (found := self._first(text, at)) is not None:
            yield found
            at = found[1] + (found[0] == found[1])

    # -- construction --------------------------------------------------------------------------------------------------

    def _emit(self, instruction: _Character | _Assertion | _Split) -> int:
        if len(self._code) >= _LARGEST:
            raise TooLargeError
        self._code.append(instruction)
        return len(self._code) - 1

    def _split(self) -> _Split:
        made = _Split()
        self._emit(made)
        return made

    @property
    def _next(self) -> int:
        return len(self._code)

    def _add(self, tree: Any, flags: int) -> None:
        for op, value in tree:
            if op in _REPEATS:
                low, high, body = value
                self._repeat(low, high, body, flags, greedy=op is _constants.MAX_REPEAT)
            elif op is _constants.BRANCH:
                self._branch(value[1], flags)
            elif op is _constants.SUBPATTERN:
                _, added, removed, body = value
                self._add(body, _combined(flags, added, removed))
            elif op is _constants.AT:
                self._emit(_Assertion(self._leaf(op, value, flags)))
            elif op is _constants.FAILURE:
                self._emit(_Split())
            else:
                self._emit(_Character(self._test(op, value, flags)))

    def _test(self, op: Any, value: Any, flags: int) -> Test:
        """Return the test of a character, which repetitions share."""
        key = f"{op} {value} {flags}"
        if key not in self._tests:
            self._tests[key] = lru_cache(maxsize=512)(self._leaf(op, value, flags).match)
        return self._tests[key]

    def _leaf(self, op: Any, value: Any, flags: int) -> re.Pattern[str]:
        found: re.Pattern[str] = _compiler.compile(_parser.SubPattern(self._state, [(op, value)]), flags)
        return found

    def _branch(self, alternatives: list[Any], flags: int) -> None:
        first, ends = self._split(), []
        for alternative in alternatives:
            first.targets.append(self._next)
            self._add(alternative, flags)
            ends.append(self._split())
        for end in ends:
            end.targets.append(self._next)

    def _repeat(self, low: int, high: Any, body: Any, flags: int, *, greedy: bool) -> None:
        for _ in range(low):
            self._add(body, flags)
        endless = high is _constants.MAXREPEAT
        leaving: list[_Split] = []
        for _ in range(1 if endless else high - low):
            begin, choice = self._next, self._split()
            leaving.append(choice)
            choice.targets.append(self._next)
            self._add(body, flags)
            if endless:
                self._split().targets.append(begin)
        for choice in leaving:
            choice.targets.append(self._next)
            if not greedy:
                choice.targets.reverse()

    # -- matching ------------------------------------------------------------------------------------------------------

    def _first(self, text: str, begin: int, *, any_: bool = False) -> tuple[int, int] | None:
        """Return the first match from a position on, the one that Python prefers; with `any_`, any that ends first."""
        found: tuple[int, int] | None = None
        threads: list[tuple[int, int]] = []
        seen: set[int] = set()
        for at in range(begin, len(text) + 1):
            if found is None:
                self._follow(0, at, text, at, threads, seen)
            if not threads:
                if found is not None:
                    break
                seen.clear()
                continue
            following: list[tuple[int, int]] = []
            seen = set()
            for place, start in threads:
                instruction = self._code[place]
                if instruction is _ACCEPT:
                    found = (start, at)
                    if any_:
                        return found
                    break  # the threads behind have less priority
                if at < len(text) and isinstance(instruction, _Character) and instruction.test(text[at]):
                    self._follow(place + 1, start, text, at + 1, following, seen)
            threads = following
        return found

    def _follow(
        self, place: int, start: int, text: str, at: int, threads: list[tuple[int, int]], seen: set[int]
    ) -> None:
        """Add the threads that an instruction leads to without a character, in the order of their priority."""
        pending = [place]
        while pending:
            here = pending.pop()
            if here in seen:
                continue
            seen.add(here)
            instruction = self._code[here]
            if isinstance(instruction, _Split):
                pending.extend(reversed(instruction.targets))
            elif isinstance(instruction, _Assertion):
                if instruction.leaf.match(text, at):
                    pending.append(here + 1)
            else:
                threads.append((here, start))


def _combined(flags: int, added: int, removed: int) -> int:
    """Return the flags inside of a group; a group that sets one of the types of text replaces the other."""
    if added & _parser.TYPE_FLAGS:
        flags &= ~_parser.TYPE_FLAGS
    found: int = (flags | added) & ~removed
    return found
