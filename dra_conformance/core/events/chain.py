"""The hash chain of an event log.

Each line has the SHA-256 of the line before it in the field `prev`, so a changed, inserted or removed line breaks the
chain. The last digest, the head, is kept in the memory of the process that writes the log; a program that rewrites the
whole file cannot change it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True, slots=True)
class Seal:
    """The state of a log that its writer remembers: the number of lines, the last digest, the digest of the file."""

    lines: int
    head: str
    sha256: str


class Chain:
    """Computes the digests of a log while it is written. Not thread-safe: the log calls it under its lock."""

    def __init__(self) -> None:
        self._file = hashlib.sha256()
        self._lines = 0
        self.head = ""

    def add(self, line: bytes) -> None:
        """Add one line, including its newline."""
        self._file.update(line)
        self._lines += 1
        self.head = hashlib.sha256(line[:-1]).hexdigest()

    def seal(self) -> Seal:
        """Return the state after the last line."""
        return Seal(self._lines, self.head, self._file.hexdigest())


class _Link(msgspec.Struct):
    seq: int = 0
    prev: str = ""


_decoder = msgspec.json.Decoder(_Link)


def breaks(content: bytes) -> Iterator[str]:
    """Yield a description of each line that does not continue the line before it, by digest or by number."""
    before = ""
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            link = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield f"line {number} is not an event"
        else:
            if link.seq != number:
                yield f"line {number} has the number {link.seq}"
            if link.prev != before:
                yield f"line {number} does not continue the line before it: a line was changed, added or removed"
        before = hashlib.sha256(line).hexdigest()


def difference(content: bytes, seal: Seal) -> str:
    """Return how a log differs from the one that its writer remembers; empty if it does not."""
    if hashlib.sha256(content).hexdigest() == seal.sha256:
        return ""
    lines = content.count(b"\n")
    if lines != seal.lines:
        return f"it has {lines} lines, and {seal.lines} were written"
    return next(breaks(content), "its content was replaced")
