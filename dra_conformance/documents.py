"""YAML in, YAML out: safe loading with the fast C parser, and dumping that people like to read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from dra_conformance.errors import UsageError

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def load_all(text: str, *, where: str) -> list[Any]:
    """All documents of a YAML (or JSON) text, empty ones left out. Raises UsageError naming `where` and the line."""
    try:
        return [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{place}: does not parse as YAML: {problem}") from None


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
