"""Loads YAML safely with the C parser of libyaml, and dumps it in a readable form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from dra_conformance.core.errors import UsageError

_MERGE = "tag:yaml.org,2002:merge"
_MERGED_AT_ONCE = 100  # mappings below one `<<`
_MERGED_KEYS = 10_000  # keys of one mapping with `<<`
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """The safe loader with a limit on merge keys (`<<`): merges of merges grow exponentially."""

    _merged = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        sources = [value for key, value in node.value if key.tag == _MERGE]
        if any(len(source.value) > _MERGED_AT_ONCE for source in sources if isinstance(source, yaml.SequenceNode)):
            raise yaml.constructor.ConstructorError(None, None, "merges too many mappings", node.start_mark)
        super().flatten_mapping(node)
        if sources:
            self._merged += len(node.value)
            if len(node.value) > _MERGED_KEYS or self._merged > _MOST:
                raise yaml.constructor.ConstructorError(None, None, "its merge keys expand too far", node.start_mark)


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
    if _too_deep(text):
        raise UsageError(f"{where}: is nested too deeply")
    try:
        found = list(yaml.load_all(text, Loader=_Loader))
        # A text without both marks has no aliases and needs no walk.
        for number, document in enumerate(found, start=1) if "*" in text and "&" in text else ():
            _require_finite(document, f"{where}, document {number}" if len(found) > 1 else where)
        return [document for document in found if document is not None]
    except RecursionError:
        raise UsageError(f"{where}: is nested too deeply") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or str(error)
        raise UsageError(f"{place}: not valid YAML: {problem}") from None
    except (ValueError, LookupError, AttributeError) as error:
        # PyYAML's constructors raise these for a value that its type does not have: 2026-13-45, `!!bool x`, `!!int ""`.
        raise UsageError(f"{where}: not valid YAML: a value is not of its type: {error}") from None


_DEEPEST = 2_000  # levels of nesting
_MOST = 1_000_000  # values after the expansion of aliases


def _too_deep(text: str) -> bool:
    """Whether brackets or dashes nest so deeply that the C parser, which has no limit, would overflow its stack."""
    # Counting is cheap, and most texts have too few brackets to be too deep.
    if text.count("[") + text.count("{") > _DEEPEST:
        depth = 0
        for bracket in re.finditer(r"[\[\]{}]", text):
            # Brackets in quoted text need not be balanced; a negative depth would hide what follows.
            depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
            if depth > _DEEPEST:
                return True
    # Lists can nest on one line: `- - - x`.
    return any(mark * _DEEPEST in text for mark in ("- ", "? "))


def _require_finite(document: Any, where: str) -> None:
    """Raise UsageError for an alias (`*name`) that contains itself, or for aliases that expand to too many values."""
    sizes: dict[int, int] = {}
    open_: set[int] = set()
    pending: list[tuple[Any, bool]] = [(document, False)]
    # Without recursion: a document may nest deeper than Python's limit.
    while pending:
        value, seen_below = pending.pop()
        if not isinstance(value, dict | list):
            continue
        inner = list(value.values()) if isinstance(value, dict) else value
        if seen_below:
            open_.discard(id(value))
            sizes[id(value)] = 1 + sum(sizes.get(id(one), 1) for one in inner)
            if sizes[id(value)] > _MOST:
                raise UsageError(f"{where}: its aliases expand to more than {_MOST} values")
        elif id(value) not in sizes:
            if id(value) in open_:
                raise UsageError(f"{where}: an alias contains itself")
            open_.add(id(value))
            # To be visited again below its inner values, whose sizes are known then.
            pending.append((value, True))
            pending.extend((one, False) for one in inner)


def load(path: Path) -> Any:
    """Return the only document of a file. Raises UsageError if the file is unreadable or has several documents."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from None
    documents = load_all(text, where=path.name)
    if len(documents) > 1:
        raise UsageError(f"{path.name}: contains {len(documents)} documents; expected one")
    return documents[0] if documents else None


def dump(value: Any) -> str:
    """Return YAML text with the keys in their original order."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
