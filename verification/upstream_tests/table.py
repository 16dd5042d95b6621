"""The titles of upstream's tests with the rules that judge the same behaviour, read from titles.yaml and judged_by/."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
import yaml

from dra_conformance.core.rules import Catalogue, gaps

HERE = Path(__file__).resolve().parent
TITLES = HERE / "titles.yaml"
JUDGED_BY = HERE / "judged_by"

Reason = Literal[
    "not covered yet",
    "off by default",
    "refused before",
    "another release or gate",
    "upstream's own code",
    "not required",
    "needs hardware",
]
"""Why no rule judges a test."""

REASONS: Mapping[Reason, str] = {
    "not covered yet": "no rule judges this, although one could",
    "off by default": "a feature whose gate is off by default and that no component of the suite has",
    "refused before": "the API server refuses such an object, so that no scheduler receives it; a rule judges that",
    "another release or gate": "needs a cluster that changes its release or its gates, or that has DRA switched off",
    "upstream's own code": "tests a Go library, test driver or manifest of upstream, which no other program contains",
    "not required": "fixes a choice or a known weakness of upstream's implementation, which others need not share",
    "needs hardware": "runs programs on GPUs, of which the fake library has only the management interface",
}

Outcome = Literal["judged", "partly", "not judged"]


class File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The titles of one upstream file. `version` is the release of the module."""

    suite: str
    module: str
    version: str
    path: str
    titles: tuple[str, ...]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What judges some tests of a file, or why nothing does.

    `titles` are titles or patterns, in which `*` stands for any text. `lacks` is what of the test the rules leave out.
    Without rules there is a `reason`. `gaps` are the known rules of fixtures/not_covered.yaml that would judge the
    test, or for `refused before` the rules that judge the refusal.
    """

    titles: tuple[str, ...]
    rules: tuple[str, ...] = ()
    lacks: str = ""
    reason: Reason | None = None
    text: str = ""
    gaps: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """How far the rules judge the test."""
        if not self.rules:
            return "not judged"
        return "partly" if self.lacks else "judged"

    def problems(self) -> list[str]:
        """Return what contradicts itself."""
        found = []
        if bool(self.rules) == bool(self.reason):
            found.append("needs either rules or a reason")
        if self.lacks and not self.rules:
            found.append("has lacks without rules")
        if (self.text or self.gaps) and not self.reason:
            found.append("has text or gaps without a reason")
        if self.reason and not self.text:
            found.append("has a reason without a text")
        return [f"{self.titles[0] if self.titles else 'an entry without titles'}: {one}" for one in found]


class Judged(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The entries of one upstream file."""

    path: str
    tests: tuple[Entry, ...]


class Row(msgspec.Struct, frozen=True):
    """One test of upstream."""

    title: str
    entry: Entry


class Section(msgspec.Struct, frozen=True):
    """The tests of one upstream file."""

    file: File
    rows: tuple[Row, ...]

    def count(self, outcome: Outcome) -> int:
        """Return the number of tests with this outcome."""
        return sum(row.entry.outcome == outcome for row in self.rows)


class _Titles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: tuple[File, ...]


class _Entries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: tuple[Judged, ...]


T = TypeVar("T")


def _read(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.convert(yaml.safe_load(path.read_text()), kind)
    except (msgspec.ValidationError, yaml.YAMLError) as error:
        raise ValueError(f"{path.name}: {error}") from None


def files(path: Path = TITLES) -> tuple[File, ...]:
    """Return the upstream files with their titles. Raises ValueError for a file that cannot be read."""
    return _read(path, _Titles).files


def entries(folder: Path = JUDGED_BY) -> list[Judged]:
    """Return the entries of all upstream files. Raises ValueError for a file that cannot be read."""
    return [one for path in sorted(folder.glob("*.yaml")) for one in _read(path, _Entries).files]


def load() -> list[Section]:
    """Return all tests in the order of titles.yaml. Raises ValueError with every problem of the data."""
    rules = frozenset(Catalogue.load())
    return join(files(), entries(), rules=rules, known=rules | {one.id for one in gaps.load()})


def join(
    titles: Iterable[File], judged: Iterable[Judged], *, rules: frozenset[str], known: frozenset[str]
) -> list[Section]:
    """Return the tests with their entries.

    Args:
        titles: the upstream files.
        judged: the entries of each of them.
        rules: the ids of the catalogue.
        known: these, and those of known rules without a scenario.

    Raises: ValueError for an unknown rule, a test without an entry, and an entry without a test.
    """
    by_path: dict[str, tuple[Entry, ...]] = {}
    found: list[str] = []
    for one in judged:
        if one.path in by_path:
            found.append(f"{one.path} is listed twice")
        by_path[one.path] = one.tests
        found += [f"{one.path}: {line}" for entry in one.tests for line in _problems(entry, rules, known)]
    sections = []
    for file in titles:
        section, problems = _section(file, by_path.pop(file.path, ()))
        sections.append(section)
        found += [f"{file.path}: {line}" for line in problems]
    found += [f"{path}: no such file in titles.yaml" for path in by_path]
    if found:
        raise ValueError("\n".join(found))
    return sections


def _problems(entry: Entry, rules: frozenset[str], known: frozenset[str]) -> list[str]:
    unknown = [*(one for one in entry.rules if one not in rules), *(one for one in entry.gaps if one not in known)]
    return [*entry.problems(), *(f"{entry.titles[0]}: unknown rule {one}" for one in unknown)]


def _section(file: File, tests: tuple[Entry, ...]) -> tuple[Section, list[str]]:
    """Return the section of a file and the problems of its entries."""
    by_title = {title: entry for entry in tests for title in entry.titles}
    problems = [f"{title}: listed twice" for title in by_title if sum(entry.titles.count(title) for entry in tests) > 1]
    patterns = {title: re.compile(re.escape(title).replace(r"\*", ".*"), re.DOTALL) for title in by_title}
    used: set[str] = set()
    rows = []
    for title in file.titles:
        # The title itself, or the longest pattern: a group can have exceptions.
        matching = [title] if title in by_title else [one for one, form in patterns.items() if form.fullmatch(title)]
        if not matching:
            problems.append(f"{title}: no entry")
            continue
        best = max(matching, key=len)
        used.add(best)
        rows.append(Row(title, by_title[best]))
    problems += [f"{title}: no such test" for title in by_title if title not in used]
    return Section(file, tuple(rows)), problems
