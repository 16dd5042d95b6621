"""Converts source text to tokens by the lexical rules of CEL.g4 (cel-go 0.26 parser/gen/CEL.g4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Token", "tokenize"]

_ESC: Final = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING: Final = (
    rf'"""(?:{_ESC}|[^\\])*?"""'
    rf"|'''(?:{_ESC}|[^\\])*?'''"
    rf'|"(?:{_ESC}|[^\\"\n\r])*"'
    rf"|'(?:{_ESC}|[^\\'\n\r])*'"
    r'|[rR]"""(?s:.)*?"""'
    r"|[rR]'''(?s:.)*?'''"
    r'|[rR]"[^"\n\r]*"'
    r"|[rR]'[^'\n\r]*'"
)
_TOKEN: Final = re.compile(
    r"(?P<SPACE>[\t \r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>[bB](?:{_STRING}))"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<NUM_UINT>0x[0-9a-fA-F]+[uU]|[0-9]+[uU])"
    r"|(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<OP>==|!=|<=|>=|&&|\|\||[<>\[\]{}().,\-!?:+*/%])"
)
_WORDS: Final = frozenset({"in", "true", "false", "null"})


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is an operator or keyword itself, or the grammar's name of a literal; ``pos`` is a code point offset."""

    kind: str
    text: str
    pos: int


def tokenize(source: str) -> tuple[list[Token], list[tuple[int, str]]]:
    """Return the tokens, ending with one of kind ``EOF``, and invalid text as (offset, text)."""
    tokens: list[Token] = []
    bad: list[tuple[int, str]] = []
    pos, end = 0, len(source)
    while pos < end:
        found = _TOKEN.match(source, pos)
        if found is None:
            stop = _bad_end(source, pos)
            bad.append((pos, source[pos:stop]))
            pos = stop
            continue
        kind, text = found.lastgroup or "", found.group()
        if kind == "OP" or text in _WORDS:
            tokens.append(Token(text, text, pos))
        elif kind != "SPACE":
            tokens.append(Token(kind, text, pos))
        pos = found.end()
    tokens.append(Token("EOF", "<EOF>", end))
    return tokens, bad


def _bad_end(source: str, pos: int) -> int:
    """Return the end of invalid text: ANTLR stops at the first character with which no rule can continue."""
    first = source[pos]
    if first in "\"'":
        found = re.compile(rf"{first}(?:{_ESC}|[^\\{first}\n\r])*").match(source, pos)
        stop = found.end() if found else pos + 1
        # The offending character belongs to the message; an escape contributes its backslash and letter.
        if stop < len(source):
            stop += 2 if source[stop] == "\\" else 1
        return min(stop, len(source))
    if first in "=&|":
        return min(pos + 2, len(source))
    return pos + 1
