"""RE2 patterns on top of Python's re.

Kubernetes uses Go's regexp, which is RE2: linear time, no back references, no look-around. A pattern with those
is rejected with Go's message. Others are rewritten so that Python's re returns the same matches (anchors,
ASCII classes, POSIX classes, scoped flags). Patterns on which Python would backtrack are matched in linear time by
`linear`. Compiled patterns are kept in a bounded cache. Script names such as ``\\p{Greek}`` are not supported. Source: https://pkg.go.dev/regexp/syntax.
"""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NoReturn

from . import linear
from .errors import CelRuntimeError

__all__ = ["Pattern", "compile_pattern"]

Ranges = tuple[tuple[int, int], ...]

_MAX_REPEAT: Final = 1000
# Without a leading zero: Go takes `a{01}` literally (regexp/syntax, parser.parseInt).
_REPEAT: Final = r"\{(?:0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)?)?\}"
_LAST: Final = sys.maxunicode


def _ranges(text: str) -> Ranges:
    """Return ranges of pairs of characters: ``azAZ`` is a-z and A-Z."""
    return tuple((ord(text[i]), ord(text[i + 1])) for i in range(0, len(text), 2))


_POSIX: Final[dict[str, Ranges]] = {
    "alnum": _ranges("09AZaz"),
    "alpha": _ranges("AZaz"),
    "ascii": _ranges("\x00\x7f"),
    "blank": _ranges("\t\t  "),
    "cntrl": _ranges("\x00\x1f\x7f\x7f"),
    "digit": _ranges("09"),
    "graph": _ranges("!~"),
    "lower": _ranges("az"),
    "print": _ranges(" ~"),
    "punct": _ranges("!/:@[`{~"),
    "space": _ranges("\t\r  "),
    "upper": _ranges("AZ"),
    "word": _ranges("09AZaz__"),
    "xdigit": _ranges("09AFaf"),
}
# RE2's classes are ASCII only, and \s has no vertical tab.
_PERL: Final[dict[str, Ranges]] = {
    "d": _ranges("09"),
    "s": _ranges("\t\n\f\r  "),
    "w": _ranges("09AZaz__"),
}
_CONTROL: Final = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_CATEGORIES: Final = frozenset(
    [
        *("C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn"),
        *("N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps"),
        *("S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs"),
    ]
)


class _Refused(Exception):
    """The pattern is not valid RE2."""


@dataclass(frozen=True, slots=True)
class _Flags:
    fold: bool = False
    multiline: bool = False
    dot_all: bool = False
    ungreedy: bool = False


class Pattern:
    """A compiled pattern."""

    def __init__(self, translated: str) -> None:
        self.compiled = re.compile(translated)
        self._program = linear.Program(translated) if linear.needs_linear(translated) else None

    def matches(self, text: str) -> bool:
        """Whether the pattern matches anywhere in a text."""
        return self.compiled.search(text) is not None if self._program is None else self._program.matches(text)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield begin and end of each match, from left to right; an empty one can follow directly after another."""
        if self._program is None:
            return (found.span() for found in self.compiled.finditer(text))
        return self._program.spans(text)


def compile_pattern(pattern: object, *, prefix: str = "") -> Pattern:
    """Compile an RE2 pattern. Raises CelRuntimeError (message after ``prefix``) if Go rejects it."""
    if not isinstance(pattern, str):
        raise CelRuntimeError("no such overload")
    try:
        return _compile(pattern)
    except _Refused as err:
        raise CelRuntimeError(f"{prefix}error parsing regexp: {err}") from None


@lru_cache(maxsize=512)
def _compile(pattern: str) -> Pattern:
    try:
        translated = _Translator(pattern).run()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Pattern(translated)
    except RecursionError:
        raise _Refused(f"expression nests too deeply: `{pattern}`") from None
    except linear.TooLargeError:
        raise _Refused(f"expression too large: `{pattern}`") from None
    except (re.error, OverflowError):
        raise _Refused(f"invalid regexp: `{pattern}`") from None


@lru_cache(maxsize=64)
def _category(name: str) -> Ranges:
    """All code points of a Unicode general category, as ranges."""
    out: list[tuple[int, int]] = []
    for code in range(_LAST + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if out and out[-1][1] == code - 1:
                out[-1] = (out[-1][0], code)
            else:
                out.append((code, code))
    return tuple(out)


def _complement(ranges: Ranges) -> Ranges:
    out, start = [], 0
    for low, high in sorted(ranges):
        if low > start:
            out.append((start, low - 1))
        start = max(start, high + 1)
    if start <= _LAST:
        out.append((start, _LAST))
    return tuple(out)


def _set(ranges: Ranges, *, negated: bool) -> str:
    # Python rejects an empty class.
    if not ranges:
        return "(?s:.)" if negated else "(?!)"
    body = "".join(f"{_code(low)}-{_code(high)}" if low != high else _code(low) for low, high in ranges)
    return f"[{'^' if negated else ''}{body}]"


def _code(code: int) -> str:
    return f"\\U{code:08x}"


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.pos = 0

    def run(self) -> str:
        out = self.alternatives(_Flags())
        if self.pos < len(self.text):
            self.refuse(f"unexpected ): `{self.text}`")
        return out

    def refuse(self, text: str) -> NoReturn:
        raise _Refused(text)

    def ahead(self, pattern: str) -> re.Match[str] | None:
        return re.compile(pattern).match(self.text, self.pos)

    def alternatives(self, flags: _Flags) -> str:
        """Translate all alternatives up to the end of the pattern or of this group."""
        out: list[str] = []
        atom = False
        while self.pos < len(self.text) and self.text[self.pos] != ")":
            ch = self.text[self.pos]
            if ch == "|":
                self.pos += 1
                out.append("|")
                atom = False
                continue
            if ch in "*+?" or (ch == "{" and self.ahead(_REPEAT)):
                if not atom:
                    self.refuse(f"missing argument to repetition operator: `{self.operator()}`")
                out.append(self.repetition(flags))
                continue
            changed = self.flag_change(flags)
            if changed is not None:
                flags = changed
                continue
            out.append(self.atom(ch, flags))
            atom = True
        return "".join(out)

    def operator(self) -> str:
        found = self.ahead(rf"(?:[*+?]|{_REPEAT})\??")
        return found.group() if found else ""

    def repetition(self, flags: _Flags) -> str:
        start = self.pos
        whole = self.operator()
        self.pos += len(whole)
        bare = whole.rstrip("?") or "?"
        lazy = whole != bare
        if bare.startswith("{"):
            # int() refuses more than 4,300 digits. There are no leading zeros, so six digits exceed the limit.
            low, _, high = (count[:6] for count in bare[1:-1].partition(","))
            if int(low) > _MAX_REPEAT or int(high or 0) > _MAX_REPEAT or (high and int(high) < int(low)):
                self.refuse(f"invalid repeat count: `{bare}`")
        following = self.operator()
        if following:
            self.refuse(f"invalid nested repetition operator: `{self.text[start : self.pos + len(following)]}`")
        return bare + ("?" if lazy != flags.ungreedy else "")

    def flag_change(self, flags: _Flags) -> _Flags | None:
        found = self.ahead(r"\(\?([imsU]*)(-[imsU]+)?\)")
        if found is None or found.group() == "(?)":
            return None
        self.pos = found.end()
        return self.with_flags(flags, found[1], found[2])

    def with_flags(self, flags: _Flags, on: str, off: str | None) -> _Flags:
        names = {"i": "fold", "m": "multiline", "s": "dot_all", "U": "ungreedy"}
        for letters, value in ((on, True), (off or "", False)):
            for letter in letters.lstrip("-"):
                flags = replace(flags, **{names[letter]: value})
        return flags

    def atom(self, ch: str, flags: _Flags) -> str:
        if ch == "(":
            return self.group(flags)
        if ch == "[":
            return self.fold(self.bracket(), flags)
        if ch == "\\":
            return self.escape(flags)
        self.pos += 1
        if ch == ".":
            return "(?s:.)" if flags.dot_all else r"[^\n]"
        if ch == "^":
            return "(?m:^)" if flags.multiline else r"\A"
        if ch == "$":
            # Python's $ also matches before a final line break, RE2's does not.
            return "(?m:$)" if flags.multiline else r"\Z"
        return self.literal(ch, flags)

    def literal(self, ch: str, flags: _Flags) -> str:
        return self.fold(re.escape(ch), flags) if ch.lower() != ch.upper() else re.escape(ch)

    def fold(self, piece: str, flags: _Flags) -> str:
        return f"(?i:{piece})" if flags.fold else piece

    def group(self, flags: _Flags) -> str:
        opening = "("
        named = self.ahead(r"\(\?P?<([A-Za-z0-9_]+)>")
        scoped = self.ahead(r"\(\?([imsU]*)(-[imsU]+)?:")
        if named:
            self.pos = named.end()
        elif scoped:
            self.pos = scoped.end()
            opening = "(?:"
            flags = self.with_flags(flags, scoped[1], scoped[2])
        elif self.ahead(r"\(\?"):
            found = self.ahead(r"\(\?(?:<?[=!]|P[=>]|.?)")
            self.refuse(f"invalid or unsupported Perl syntax: `{found.group() if found else '(?'}`")
        else:
            self.pos += 1
        body = self.alternatives(flags)
        if self.pos >= len(self.text):
            self.refuse(f"missing closing ): `{self.text}`")
        self.pos += 1
        return f"{opening}{body})"

    def escape(self, flags: _Flags) -> str:
        if self.pos + 1 >= len(self.text):
            self.refuse("trailing backslash at end of expression: ``")
        ch = self.text[self.pos + 1]
        special = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?a:\B)"}.get(ch)
        if special is not None:
            self.pos += 2
            return special
        if ch == "Q":
            end = self.text.find("\\E", self.pos + 2)
            literal = self.text[self.pos + 2 :] if end < 0 else self.text[self.pos + 2 : end]
            self.pos = len(self.text) if end < 0 else end + 2
            return "".join(self.literal(each, flags) for each in literal)
        known = self.named_class()
        if known is not None:
            return self.fold(_set(known, negated=False), flags)
        return self.literal(self.character(), flags)

    def named_class(self) -> Ranges | None:
        """``\\d``, ``\\W``, ``\\pL``, ``\\P{Lu}`` at the current place."""
        perl = self.ahead(r"\\([dswDSW])")
        if perl:
            self.pos = perl.end()
            ranges = _PERL[perl[1].lower()]
            return ranges if perl[1].islower() else _complement(ranges)
        found = self.ahead(r"\\([pP])(?:\{(\^?)([A-Za-z_]*)\}|(.))")
        if found is None:
            return None
        name = found[3] or found[4] or ""
        if name not in _CATEGORIES:
            self.refuse(f"invalid character class range: `{found.group()}`")
        self.pos = found.end()
        negated = (found[1] == "P") != (found[2] == "^")
        return _complement(_category(name)) if negated else _category(name)

    def character(self) -> str:
        """One escaped character."""
        start = self.pos
        ch = self.text[self.pos + 1]
        self.pos += 2
        if ch == "x":
            found = self.ahead(r"\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2})")
            if found is None or int(found[1] or found[2], 16) > _LAST:
                self.refuse(f"invalid escape sequence: `{self.text[start : self.pos]}`")
            self.pos = found.end()
            return chr(int(found[1] or found[2], 16))
        if ch == "0" or (ch in "1234567" and self.ahead("[0-7]")):
            found = self.ahead("[0-7]{0,2}")
            digits = ch + (found.group() if found else "")
            self.pos = start + 1 + len(digits)
            return chr(int(digits, 8))
        if ch in _CONTROL:
            return _CONTROL[ch]
        if ord(ch) >= 0x80 or ch.isalnum():
            self.refuse(f"invalid escape sequence: `\\{ch}`")
        return ch

    def bracket(self) -> str:
        start = self.pos
        self.pos += 1
        negated = self.text.startswith("^", self.pos)
        self.pos += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while first or not self.text.startswith("]", self.pos):
            if self.pos >= len(self.text):
                self.refuse(f"missing closing ]: `{self.text[start:]}`")
            first = False
            ranges += self.bracket_item()
        self.pos += 1
        return _set(tuple(ranges), negated=negated)

    def bracket_item(self) -> Ranges:
        posix = self.ahead(r"\[:(\^?)(\w+):\]")
        if posix:
            if posix[2] not in _POSIX:
                self.refuse(f"invalid character class range: `{posix.group()}`")
            self.pos = posix.end()
            return _complement(_POSIX[posix[2]]) if posix[1] else _POSIX[posix[2]]
        known = self.named_class() if self.text[self.pos] == "\\" else None
        if known is not None:
            return known
        start = self.pos
        low = self.bracket_character()
        if not self.ahead(r"-[^\]]"):
            return ((ord(low), ord(low)),)
        self.pos += 1
        high = self.bracket_character()
        if high < low:
            self.refuse(f"invalid character class range: `{self.text[start : self.pos]}`")
        return ((ord(low), ord(high)),)

    def bracket_character(self) -> str:
        if self.text[self.pos] != "\\":
            self.pos += 1
            return self.text[self.pos - 1]
        if self.pos + 1 >= len(self.text):
            self.refuse("trailing backslash at end of expression: ``")
        return self.character()
