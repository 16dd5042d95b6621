"""YAML in, YAML out: safe loading with the fast C parser, and dumping that people like to read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from dra_conformance.core.errors import UsageError

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def load_all(text: str, *, where: str) -> list[Any]:
    """All documents of a YAML (or JSON) text, empty ones left out. Raises UsageError naming `where` and the line."""
    if _too_deep(text):
        raise UsageError(f"{where}: is nested too deeply")
    try:
        found = list(yaml.load_all(text, Loader=_Loader))
        for number, document in enumerate(found, start=1) if "*" in text and "&" in text else ():
            _require_finite(document, f"{where}, document {number}" if len(found) > 1 else where)
        return [document for document in found if document is not None]
    except RecursionError:
        raise UsageError(f"{where}: is nested too deeply") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{place}: does not parse as YAML: {problem}") from None


_DEEPEST, _MOST = 2_000, 1_000_000


def _too_deep(text: str) -> bool:
    """Whether brackets or dashes nest so deeply that the C parser, which does not look, would end the process."""
    if text.count("[") + text.count("{") > _DEEPEST:
        depth = 0
        for bracket in re.finditer(r"[\[\]{}]", text):
            depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
            if depth > _DEEPEST:
                return True
    return any(mark * _DEEPEST in text for mark in ("- ", "? "))


def _require_finite(document: Any, where: str) -> None:
    """Refuse aliases (`*name`) that contain themselves, or that stand for more than anybody means.

    Raises UsageError.
    """
    sizes: dict[int, int] = {}
    open_: set[int] = set()
    pending: list[tuple[Any, bool]] = [(document, False)]
    while pending:
        value, seen_below = pending.pop()
        if not isinstance(value, dict | list):
            continue
        inner = list(value.values()) if isinstance(value, dict) else value
        if seen_below:
            open_.discard(id(value))
            sizes[id(value)] = 1 + sum(sizes.get(id(one), 1) for one in inner)
            if sizes[id(value)] > _MOST:
                raise UsageError(f"{where}: its aliases stand for more than {_MOST} values")
        elif id(value) not in sizes:
            if id(value) in open_:
                raise UsageError(f"{where}: an alias contains itself")
            open_.add(id(value))
            pending.append((value, True))
            pending.extend((one, False) for one in inner)


def load(path: Path) -> Any:
    """The only document of a file. Raises UsageError when it cannot be read or holds several."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    documents = load_all(text, where=path.name)
    if len(documents) > 1:
        raise UsageError(f"{path.name}: holds {len(documents)} documents; one is expected")
    return documents[0] if documents else None


def dump(value: Any) -> str:
    """YAML with keys in the order given."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
