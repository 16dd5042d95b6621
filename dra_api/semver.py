"""Semantic versions 2.0.0, as DRA version attributes and the CEL semver library read them.

A version is immutable; parse() creates it. Grammar and precedence are those of https://semver.org/spec/v2.0.0.html;
messages follow github.com/blang/semver/v4, which Kubernetes uses, and normalize() follows
k8s.io/apiserver/pkg/cel/library/semverlib.go (0.36).
"""

from __future__ import annotations

from functools import lru_cache, total_ordering
from typing import Final

from dra_api.gotext import go_quote

__all__ = ["SemVer", "SemVerError"]

_NUMBERS: Final = frozenset("0123456789")
_ALPHANUM: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_UINT64_MAX: Final = 2**64 - 1


class SemVerError(ValueError):
    """The text is not a semantic version; the message names the invalid part."""


@total_ordering
class SemVer:
    """A parsed version. Equality, order and hash follow precedence, so build metadata does not count.

    Source: https://semver.org/spec/v2.0.0.html section 11.
    """

    __slots__ = ("_key", "build", "major", "minor", "patch", "prerelease")

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...]
    build: tuple[str, ...]

    def __init__(
        self,
        major: int,
        minor: int,
        patch: int,
        *,
        prerelease: tuple[int | str, ...] = (),
        build: tuple[str, ...] = (),
    ) -> None:
        set_ = object.__setattr__
        set_(self, "major", major)
        set_(self, "minor", minor)
        set_(self, "patch", patch)
        set_(self, "prerelease", prerelease)
        set_(self, "build", build)
        # A version without prerelease sorts after all of its prereleases; numbers sort before words.
        rank = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in prerelease)
        set_(self, "_key", (major, minor, patch, not prerelease, rank))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"SemVer is immutable; cannot set {name!r}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (_parse, (str(self),))

    @staticmethod
    def parse(text: str, *, normalize: bool = False) -> SemVer:
        """Parse ``text``. Raises SemVerError. ``normalize``: also accept the forms that normalize_text() accepts."""
        return _parse(normalize_text(text)) if normalize else _parse(text)

    @staticmethod
    def is_valid(text: str, *, normalize: bool = False) -> bool:
        """Whether ``text`` parses."""
        try:
            SemVer.parse(text, normalize=normalize)
        except SemVerError:
            return False
        return True

    def compare(self, other: SemVer) -> int:
        """Return -1, 0 or 1 by precedence."""
        mine, theirs = self._order(), other._order()
        return (mine > theirs) - (mine < theirs)

    def _order(self) -> tuple[object, ...]:
        key: tuple[object, ...] = object.__getattribute__(self, "_key")
        return key

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SemVer):
            return NotImplemented
        return self._order() == other._order()

    def __lt__(self, other: SemVer) -> bool:
        if not isinstance(other, SemVer):
            return NotImplemented
        return self._order() < other._order()

    def __hash__(self) -> int:
        return hash(self._order())

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += "-" + ".".join(str(part) for part in self.prerelease)
        if self.build:
            text += "+" + ".".join(self.build)
        return text

    def __repr__(self) -> str:
        return f"SemVer({str(self)!r})"


def normalize_text(text: str) -> str:
    """Drop a leading ``v``, drop leading zeros, and fill missing minor and patch with 0.

    Source: semverlib.go normalizeAndParse (Kubernetes 1.33+). Raises SemVerError when a short version carries
    prerelease or build metadata.
    """
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            if not stripped or stripped[0] not in _NUMBERS:
                stripped = "0" + stripped
            parts[index] = stripped
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise SemVerError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _number(text: str, what: str) -> int:
    if not _NUMBERS.issuperset(text):
        raise SemVerError(f"Invalid character(s) found in {what.lower()} number {go_quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise SemVerError(f"{what} number must not contain leading zeroes {go_quote(text)}")
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise SemVerError('strconv.ParseUint: parsing "": invalid syntax')
    # The length limit prevents int() from parsing an arbitrarily long number.
    if len(text) > 20 or int(text) > _UINT64_MAX:
        raise SemVerError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return int(text)


def _prerelease_part(text: str) -> int | str:
    if not text:
        raise SemVerError("Prerelease is empty")
    if _NUMBERS.issuperset(text):
        if len(text) > 1 and text[0] == "0":
            raise SemVerError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        return _uint64(text)
    if not _ALPHANUM.issuperset(text):
        raise SemVerError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return text


def _build_part(text: str) -> str:
    if not text:
        raise SemVerError("Build meta data is empty")
    if not _ALPHANUM.issuperset(text):
        raise SemVerError(f"Invalid character(s) found in build meta data {go_quote(text)}")
    return text


@lru_cache(maxsize=1024)
def _parse(text: str) -> SemVer:
    if not text:
        raise SemVerError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemVerError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "Major")
    minor = _number(parts[1], "Minor")
    rest, plus, build = parts[2].partition("+")
    patch, dash, prerelease = rest.partition("-")
    patch_number = _number(patch, "Patch")
    return SemVer(
        major,
        minor,
        patch_number,
        prerelease=tuple(_prerelease_part(part) for part in prerelease.split(".")) if dash else (),
        build=tuple(_build_part(part) for part in build.split(".")) if plus else (),
    )
