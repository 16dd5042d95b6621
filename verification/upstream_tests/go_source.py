"""Tokens and brackets of Go source, as far as the titles of tests need them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
    |(?P<text>"(?:\\.|[^"\\\n])*"|`[^`]*`)
    |(?P<rune>'(?:\\.|[^'\\\n])+')
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\d[\w.]*)
    |(?P<mark>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    """One token. The value of a `text` is that of the literal, without quotes."""

    kind: str
    value: str

    def is_mark(self, value: str) -> bool:
        """Report whether this is a certain bracket or other mark; a literal with the same text is not."""
        return self.kind == "mark" and self.value == value


@dataclass(frozen=True, slots=True)
class Span:
    """A range of tokens, without the brackets around it: `start` is inclusive, `end` is not."""

    start: int
    end: int


class Source:
    """The tokens of one file, and which brackets belong together."""

    def __init__(self, text: str) -> None:
        self.tokens = [
            Token(found.lastgroup, _value(found.lastgroup, found.group()))
            for found in _TOKEN.finditer(text)
            if found.lastgroup and found.lastgroup != "skip"
        ]
        self.closing: dict[int, int] = {}
        self.around: dict[int, int] = {}
        """The bracket that a token is in; -1 at the top level."""
        opened: list[int] = []
        for at, token in enumerate(self.tokens):
            if token.kind == "mark" and token.value in _CLOSING.values() and opened:
                self.closing[opened.pop()] = at
            self.around[at] = opened[-1] if opened else -1
            if token.kind == "mark" and token.value in _CLOSING:
                opened.append(at)
        if opened:
            raise ValueError(f"{len(opened)} brackets are not closed")

    def mark(self, at: int, value: str) -> bool:
        """Report whether the token at an index is this mark. An index behind the last token is none."""
        return 0 <= at < len(self.tokens) and self.tokens[at].is_mark(value)

    def name(self, at: int) -> str:
        """Return the name at an index, or an empty string if something else is there."""
        inside = 0 <= at < len(self.tokens) and self.tokens[at].kind == "name"
        return self.tokens[at].value if inside else ""

    def inside(self, at: int) -> Span:
        """Return the tokens between the bracket at an index and the one that closes it."""
        return Span(at + 1, self.closing[at])

    def arguments(self, at: int) -> list[Span]:
        """Return the arguments of the call whose opening bracket is at an index."""
        whole = self.inside(at)
        commas = [i for i in range(whole.start, whole.end) if self.mark(i, ",") and self.around[i] == at]
        spans = [
            Span(start, end)
            for start, end in zip([whole.start, *(i + 1 for i in commas)], [*commas, whole.end], strict=True)
        ]
        return [one for one in spans if one.start < one.end]

    def body(self, at: int) -> int | None:
        """Return the index of the bracket that opens the body of the function whose parameters open at an index."""
        i = self.closing[at] + 1
        while i < len(self.tokens) and not self.mark(i, "{"):
            if self.mark(i, "(") or self.mark(i, "["):
                i = self.closing[i]
            elif not (self.name(i) or self.mark(i, "*") or self.mark(i, ".") or self.mark(i, "]")):
                return None
            i += 1
        return i if i < len(self.tokens) else None


def _value(kind: str, literal: str) -> str:
    if kind != "text":
        return literal
    if literal.startswith("`"):
        return literal[1:-1]
    try:
        value = json.loads(literal)
    except ValueError:  # an escape that JSON does not have; no title has one
        return literal[1:-1]
    return str(value)
