"""Loads YAML with errors for users, and dumps it in a readable form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from dra_api import plain_yaml, regular_file
from dra_conformance.core.errors import UsageError

_Dumper: type[yaml.SafeDumper] = type("_Dumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {})
# The C writer fails on text that UTF-8 cannot encode, as in the output of a program.
_Dumper.add_representer(str, lambda dumper, text: dumper.represent_str(text.encode(errors="replace").decode()))


def load_all(text: str, *, where: str) -> list[Any]:
    """Return the documents of a YAML or JSON text, without empty ones.

    Args:
        text: one or several documents.
        where: the source of the text, for error messages.

    Raises:
        UsageError: the text is not valid YAML, nests too deeply, or has aliases that expand without bound.
    """
    try:
        return [document for document in plain_yaml.load_all(text) if document is not None]
    except plain_yaml.YAMLLimitError as error:
        raise UsageError(f"{where}, {error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{place}: not valid YAML: {problem}") from None


def load(path: Path) -> Any:
    """Return the only document of a file. Raises UsageError if the file is unreadable or has several documents."""
    try:
        text = regular_file.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    documents = load_all(text, where=path.name)
    if len(documents) > 1:
        raise UsageError(f"{path.name}: contains {len(documents)} documents; expected one")
    return documents[0] if documents else None


def dump(value: Any) -> str:
    """Return YAML text with the keys in their original order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
