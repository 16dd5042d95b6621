"""Reads feature files: every scenario, expanded from its outline, with its tags and steps.

This module does not import pytest, so that `dra-conformance list` starts quickly.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gherkin.errors import CompositeParserException, ParserError

from dra_conformance.core import assets, document_cache, gherkin_documents
from dra_conformance.core import tags as tag_words
from dra_conformance.core.document_cache import DocumentCache
from dra_conformance.core.errors import SpecificationError, UsageError
from dra_conformance.core.tags import Tags

ROW_ID_MAX = 80
RULE_SUFFIX = re.compile(r"\s*\[([A-Z]+-\d{3}[a-z]?(?:,\s*[A-Z]+-\d{3}[a-z]?)*)\]$")

_read_before: dict[Path, tuple[int, tuple[Scenario, ...]]] = {}


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its kind (given, when or then), its text, its line, and the rules that it names in brackets."""

    kind: str
    text: str
    line: int
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario. `example` has the values of its row if it comes from an outline named `outline`."""

    id: str
    name: str
    chapter: str
    feature: str
    path: Path
    line: int
    tags: Tags
    steps: tuple[Step, ...]
    example: tuple[str, ...] = ()
    outline: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that this scenario judges."""
        return self.tags.rules

    @property
    def where(self) -> str:
        """The feature file and line, as messages show them."""
        return f"{shown(self.path)}:{self.line}"


@functools.cache
def shown(path: Path) -> str:
    """Return the path of a feature file as messages show it: below features/, or relative to the working folder."""
    for root, prefix in ((assets.features(), "features/"), (Path.cwd(), "")):
        if path.is_absolute() and path.is_relative_to(root):
            return prefix + path.relative_to(root).as_posix()
    return str(path)


def slug(text: str) -> str:
    """Return a name in the form that ids use."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def read_all(folders: Sequence[Path] | None = None, *, cached: bool = True) -> list[Scenario]:
    """Return all scenarios of all chapters, in file order.

    Args:
        folders: the folders of features, instead of the shipped one.
        cached: whether documents of the shipped features may come from an earlier run.

    Raises UsageError if a folder has no feature files, and SpecificationError if a feature does not parse, a tag is
    unknown or two scenarios have the same id.
    """
    found: list[Scenario] = []
    for folder in folders or [assets.features()]:
        if not folder.is_dir():
            raise UsageError(f"the features folder {folder} does not exist")
        paths = sorted(folder.resolve().rglob("*.feature"))
        if not paths:
            raise UsageError(f"the folder {folder} has no .feature file")
        cache = DocumentCache(document_cache.path()) if cached and folder == assets.features() else None
        for path in paths:
            found.extend(read_file(path, cache=cache))
        if cache:
            cache.save()
    seen: dict[str, Scenario] = {}
    for scenario in found:
        if other := seen.get(scenario.id):
            raise SpecificationError(f"{scenario.where} and {other.where} have the same id {scenario.id}; rename one")
        seen[scenario.id] = scenario
    return found


def focus_on(names: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of --focus that select exactly the scenarios with these ids; none for no id."""
    # The pattern is searched in id and name; the blank keeps longer ids out.
    return (f"^(?:{'|'.join(re.escape(name) for name in names)}) ",) if names else ()


def checks_of(scenario: Scenario) -> dict[str, int]:
    """Return the number of different Then steps for each rule."""
    steps: dict[str, set[str]] = defaultdict(set)
    for step in scenario.steps:
        if step.kind == "then":
            # Only a scenario with one rule may have steps that name none.
            for rule in step.rules or scenario.rules:
                steps[rule].add(step.text)
    return {rule: len(texts) for rule, texts in steps.items()}


def read_file(path: Path, *, cache: DocumentCache | None = None) -> list[Scenario]:
    """Return the scenarios of one feature file. Raises UsageError if it cannot be read."""
    # A file is parsed once as long as it does not change; forked mutants reuse the result.
    try:
        changed_at = path.stat().st_mtime_ns
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    known = _read_before.get(path)
    if known is None or known[0] != changed_at:
        known = _read_before[path] = (changed_at, _read(path, cache))
    return list(known[1])


def _read(path: Path, cache: DocumentCache | None) -> tuple[Scenario, ...]:
    chapter = path.parent.name
    try:
        document: Any = gherkin_documents.document(path, cache)
    except (ParserError, CompositeParserException) as error:
        raise SpecificationError(_syntax(path, error)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    feature = document.get("feature")
    found: list[Scenario] = []
    if feature is not None:
        _require_names(path, feature["children"], {})
        _children(path, chapter, feature, feature["children"], _names(feature), [], found)
    return tuple(found)


def _require_names(path: Path, children: Iterable[Any], seen: dict[str, int]) -> None:
    """Raise SpecificationError for two scenarios or outlines of one name: pytest-bdd would collect only the last."""
    for child in children:
        if "rule" in child:
            _require_names(path, child["rule"]["children"], seen)
        elif "scenario" in child:
            node = child["scenario"]
            name, line = slug(node["name"]), node["location"]["line"]
            if name in seen:
                raise SpecificationError(
                    f"{shown(path)}:{line}: the scenario has the name of that in line {seen[name]}; rename one"
                )
            seen[name] = line


def _syntax(path: Path, error: ParserError | CompositeParserException) -> str:
    """Return the parser's first error with file and line; its later errors follow from the first."""
    first = error.errors[0] if isinstance(error, CompositeParserException) else error
    line = (getattr(first, "location", None) or {}).get("line", "?")
    text = re.sub(r"^\(\d+:\d+\):\s*", "", str(first)).replace("\n", " ")
    return f"{shown(path)}:{line}: does not parse as Gherkin: {text}"


def _names(node: Any) -> list[str]:
    return [tag["name"] for tag in node.get("tags") or ()]


def _children(
    path: Path,
    chapter: str,
    feature: Any,
    children: Iterable[Any],
    inherited: list[str],
    background: list[Any],
    found: list[Scenario],
) -> None:
    for child in children:
        if "background" in child:
            # A new list, so that the background of a rule does not reach scenarios outside it.
            background = [*background, *child["background"]["steps"]]
        elif "rule" in child:
            rule = child["rule"]
            _children(path, chapter, feature, rule["children"], [*inherited, *_names(rule)], background, found)
        elif "scenario" in child:
            found.extend(_scenario(path, chapter, feature, child["scenario"], inherited, background))


def _scenario(
    path: Path, chapter: str, feature: Any, node: Any, inherited: list[str], background: list[Any]
) -> Iterable[Scenario]:
    base = f"{chapter}/{path.stem}#{slug(node['name'])}"
    where = f"{shown(path)}:{node['location']['line']}"
    own = [*inherited, *_names(node)]
    raw = [*background, *node["steps"]]
    if not node.get("examples"):
        yield Scenario(
            id=base,
            name=node["name"],
            chapter=chapter,
            feature=feature["name"],
            path=path,
            line=node["location"]["line"],
            tags=tag_words.read(own, where=where),
            steps=tuple(_steps(raw, {})),
            outline=node["name"],
        )
        return
    rows = _row_ids(node)
    for examples in node["examples"]:
        header = [cell["value"] for cell in (examples.get("tableHeader") or {}).get("cells", ())]
        tags = tag_words.read([*own, *_names(examples)], where=where)
        for row in examples.get("tableBody") or ():
            values = [cell["value"] for cell in row["cells"]]
            substitution = dict(zip(header, values, strict=True))
            yield Scenario(
                id=f"{base}[{rows[row['id']]}]",
                name=_substitute(node["name"], substitution),
                chapter=chapter,
                feature=feature["name"],
                path=path,
                line=row["location"]["line"],
                tags=tags,
                steps=tuple(_steps(raw, substitution)),
                example=tuple(values),
                outline=node["name"],
            )


def _row_ids(node: Any) -> dict[str, str]:
    """Return an id for each row of an outline: the values that its name shows, or all values if those are not unique.

    Long ids end in a hash, because ids are also names of folders.
    """
    shown: dict[str, str] = {}
    full: dict[str, str] = {}
    for examples in node["examples"]:
        header = [cell["value"] for cell in (examples.get("tableHeader") or {}).get("cells", ())]
        for row in examples.get("tableBody") or ():
            # The slug of a value without letters and digits is empty.
            cells = list(zip(header, (slug(cell["value"]) or "_" for cell in row["cells"]), strict=True))
            shown[row["id"]] = "-".join(value for name, value in cells if f"<{name}>" in node["name"])
            full[row["id"]] = "-".join(value for _, value in cells)
    chosen = shown if all(shown.values()) and len(set(shown.values())) == len(shown) else full
    return {row: _shortened(text) for row, text in chosen.items()}


def _shortened(text: str) -> str:
    if len(text) <= ROW_ID_MAX:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: ROW_ID_MAX - 9].rstrip('-')}-{digest}"


def _substitute(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    return text


def _steps(raw: Iterable[Any], values: dict[str, str]) -> Iterable[Step]:
    kind = "given"
    for node in raw:
        # `And`, `But` and `*` continue the kind of the step before.
        if node["keywordType"] in ("Context", "Action", "Outcome"):
            kind = {"Context": "given", "Action": "when", "Outcome": "then"}[node["keywordType"]]
        text = _substitute(node["text"], values)
        # Most steps name no rule, and the expression looks at every blank.
        named = RULE_SUFFIX.search(text) if text.endswith("]") else None
        rules = tuple(part.strip() for part in named[1].split(",")) if named else ()
        yield Step(kind, text, node["location"]["line"], rules)
