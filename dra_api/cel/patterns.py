"""RE2 patterns on top of Python's re.

Kubernetes uses Go's regexp, which is RE2: linear time, no back references, no look-around, no possessive or atomic
groups. A pattern that needs those is refused with Go's words, the few spellings that differ are rewritten, and the
rest means the same in both. Compiled patterns are kept in a bounded cache. Source: https://pkg.go.dev/regexp/syntax.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Final

from .errors import CelRuntimeError

__all__ = ["compile_pattern"]

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# Go's Perl classes are ASCII only, also inside a set.
_PERL: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_UNICODE: Final = {
    "L": "[^\\W\\d_]",
    "N": "\\d",
    "Nd": "\\d",
}
_MAX_REPEAT: Final = 1000


class _Refused(Exception):
    """The pattern is not RE2."""


def compile_pattern(pattern: str, *, prefix: str = "") -> re.Pattern[str]:
    """Compile an RE2 pattern; raises CelRuntimeError (message after ``prefix``) when Go would refuse it."""
    try:
        return _compile(pattern)
    except _Refused as err:
        raise CelRuntimeError(f"{prefix}error parsing regexp: {err}") from None


@lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    translated = _Translator(pattern).run()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(translated)
    except (re.error, OverflowError, RecursionError):
        raise _Refused(f"invalid regexp: `{pattern}`") from None


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.pos = 0
        self.out: list[str] = []
        self.dollar_multiline: list[bool] = [False]

    def run(self) -> str:
        if self.text.startswith(("*", "+", "?")):
            raise _Refused(f"missing argument to repetition operator: `{self.text[0]}`")
        depth = 0
        while self.pos < len(self.text):
            ch = self.text[self.pos]
            if ch == "\\":
                self.escape()
            elif ch == "[":
                self.set()
            elif ch == "(":
                depth += 1
                self.group()
            elif ch == ")":
                depth -= 1
                if depth < 0:
                    raise _Refused(f"unexpected ): `{self.text}`")
                self.plain(ch)
            elif ch == "$":
                # Go's $ without (?m) is the very end of the text; Python's also matches before a last newline.
                self.out.append(r"(?:$(?!\n))" if not self.multiline() else "$")
                self.pos += 1
            elif ch in "*+?":
                self.repeat()
            elif ch == "{":
                self.counted()
            else:
                self.plain(ch)
        if depth:
            raise _Refused(f"missing closing ): `{self.text}`")
        return "".join(self.out)

    def multiline(self) -> bool:
        return re.match(r"\(\?[a-zA-Z]*m[a-zA-Z]*[-):]", self.text) is not None

    def plain(self, ch: str) -> None:
        self.out.append(ch)
        self.pos += 1

    def group(self) -> None:
        rest = self.text[self.pos :]
        if not rest.startswith("(?"):
            self.plain("(")
            return
        named = re.match(r"\(\?P?<([A-Za-z0-9_]+)>", rest)
        if named:
            self.out.append(f"(?P<{named[1]}>" if named[1][0].isalpha() or named[1][0] == "_" else "(")
            self.pos += named.end()
            return
        flags = re.match(r"\(\?([imsU]*)(-[imsU]+)?([):])", rest)
        if flags is None:
            found = re.match(r"\(\?(?:<?[=!]|P[=>]|.?)", rest)
            shown = found.group() if found else "(?"
            raise _Refused(f"invalid or unsupported Perl syntax: `{shown}`")
        self.flags(flags)

    def flags(self, found: re.Match[str]) -> None:
        on, off, close = found[1], (found[2] or "").lstrip("-"), found[3]
        if "U" in on + off:
            raise _Refused("invalid or unsupported Perl syntax: `(?U`")
        self.pos += found.end()
        letters = on + (f"-{off}" if off else "")
        if close == ":":
            self.out.append(f"(?{letters}:")
            return
        # Flags for the rest of the group: Python allows them only as a scoped group.
        start = self.pos
        depth, index = 0, start
        while index < len(self.text):
            ch = self.text[index]
            if ch == "\\":
                index += 1
            elif ch == "(":
                depth += 1
            elif ch == ")":
                if depth == 0:
                    break
                depth -= 1
            index += 1
        inner = _Translator(self.text[start:index])
        multiline = "m" in on or self.multiline()
        inner.multiline = lambda: multiline  # type: ignore[method-assign]
        body = inner.run()
        self.out.append(f"(?{letters}:{body})" if letters else body)
        self.pos = index

    def repeat(self) -> None:
        ch = self.text[self.pos]
        follower = self.text[self.pos + 1 : self.pos + 2]
        if follower in ("*", "+") or self.text[self.pos + 1 : self.pos + 3] == "??":
            end = self.pos + 2
            raise _Refused(f"invalid nested repetition operator: `{self.text[self.pos : end]}`")
        self.plain(ch)
        if follower == "?":
            self.plain("?")

    def counted(self) -> None:
        found = re.compile(r"\{([0-9]+)(?:,([0-9]*))?\}").match(self.text, self.pos)
        if found is None:
            self.out.append(r"\{")
            self.pos += 1
            return
        low, high = int(found[1][:6]), int((found[2] or "0")[:6])
        if low > _MAX_REPEAT or high > _MAX_REPEAT or (found[2] and high < low):
            raise _Refused(f"invalid repeat count: `{found.group()}`")
        self.out.append(found.group())
        self.pos = found.end()
        if self.text[self.pos : self.pos + 1] in ("*", "+", "{") and self.pos < len(self.text):
            raise _Refused(f"invalid nested repetition operator: `{found.group()}{self.text[self.pos]}`")

    def escape(self) -> None:
        if self.pos + 1 >= len(self.text):
            raise _Refused("trailing backslash at end of expression: ``")
        ch = self.text[self.pos + 1]
        self.pos += 2
        if ch in _PERL:
            self.out.append(f"[{_PERL[ch]}]")
        elif ch.lower() in _PERL:
            self.out.append(f"[^{_PERL[ch.lower()]}]")
        elif ch == "b" or ch == "B":
            self.out.append(f"(?a:\\{ch})")
        elif ch == "A":
            self.out.append(r"\A")
        elif ch == "z":
            self.out.append(r"\Z")
        elif ch == "Q":
            end = self.text.find("\\E", self.pos)
            literal = self.text[self.pos :] if end < 0 else self.text[self.pos : end]
            self.pos = len(self.text) if end < 0 else end + 2
            self.out.append(re.escape(literal))
        elif ch in "pP":
            self.out.append(self.unicode_class(ch))
        else:
            self.out.append(self.character(ch))

    def unicode_class(self, ch: str) -> str:
        found = re.compile(r"\{\^?([A-Za-z_]+)\}|([A-Za-z])").match(self.text, self.pos)
        name = (found[1] or found[2]) if found else ""
        if found is None or name not in _UNICODE or ch == "P":
            raise _Refused(f"invalid character class range: `\\{ch}{found.group() if found else ''}`")
        self.pos = found.end()
        return _UNICODE[name]

    def character(self, ch: str) -> str:
        """An escaped character, outside or inside a set."""
        if ch == "x":
            found = re.compile(r"\{([0-9A-Fa-f]{1,8})\}|([0-9A-Fa-f]{2})").match(self.text, self.pos)
            if found is None or int(found[1] or found[2], 16) > 0x10FFFF:
                raise _Refused("invalid escape sequence: `\\x`")
            self.pos = found.end()
            return re.escape(chr(int(found[1] or found[2], 16)))
        if ch == "0" or (ch in "1234567" and self.text[self.pos : self.pos + 1] in tuple("01234567")):
            found = re.compile(r"[0-7]{0,2}").match(self.text, self.pos)
            digits = ch + (found.group() if found else "")
            self.pos += len(digits) - 1
            return re.escape(chr(int(digits, 8)))
        if ch in "aftnrv":
            return "\\" + ch
        if ord(ch) < 0x80 and not ch.isalnum():
            return re.escape(ch)
        raise _Refused(f"invalid escape sequence: `\\{ch}`")

    def set(self) -> None:
        start = self.pos
        self.pos += 1
        out = ["["]
        if self.text[self.pos : self.pos + 1] == "^":
            out.append("^")
            self.pos += 1
        first = True
        while True:
            if self.pos >= len(self.text):
                raise _Refused(f"missing closing ]: `{self.text[start:]}`")
            ch = self.text[self.pos]
            if ch == "]" and not first:
                self.pos += 1
                break
            first = False
            out.append(self.set_item(ch))
        out.append("]")
        self.out.append("".join(out))

    def set_item(self, ch: str) -> str:
        posix = re.compile(r"\[:(\^?)(\w+):\]").match(self.text, self.pos)
        if posix:
            if posix[2] not in _POSIX or posix[1]:
                raise _Refused(f"invalid character class range: `{posix.group()}`")
            self.pos = posix.end()
            return _POSIX[posix[2]]
        if ch != "\\":
            self.pos += 1
            # Python warns about, or gives meaning to, these doubled inside a set.
            return "\\" + ch if ch in "[&~|" else ch
        if self.pos + 1 >= len(self.text):
            raise _Refused("trailing backslash at end of expression: ``")
        letter = self.text[self.pos + 1]
        self.pos += 2
        if letter in _PERL:
            return _PERL[letter]
        if letter.lower() in _PERL:
            return "\\" + letter
        if letter in "pP":
            name = self.unicode_class(letter)
            return "\\d" if name == "\\d" else "a-zA-Z\u00aa-\U000323af"
        return self.character(letter)
