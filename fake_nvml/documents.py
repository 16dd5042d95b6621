"""YAML files read with the line of every key, so that errors can name it.

Reads files that a user wrote or that ship with the package; only plain scalars, lists and mappings (safe loader).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from dra_api import plain_yaml, regular_file
from fake_nvml.errors import InventoryError

Path_ = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: plain data, and the line of each path inside it."""

    path: Path
    data: Any
    lines: Mapping[Path_, int] = field(repr=False)

    def error(self, where: Path_, message: str) -> InventoryError:
        """Return an error that names this file, and line and key of the path `where`."""
        # The nearest enclosing path that the file has: a missing key has no line.
        line = next((self.lines[where[:n]] for n in range(len(where), -1, -1) if where[:n] in self.lines), 1)
        key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in where).lstrip(".")
        return InventoryError(f"{self.path}:{line}: {key + ': ' if key else ''}{message}")

    def mapping(self, where: Path_, value: Any) -> dict[str, Any]:
        """`value` as a mapping with text keys."""
        if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
            raise self.error(where, f"must be a mapping of names to values, not {kind_of(value)}")
        return value

    def sequence(self, where: Path_, value: Any) -> list[Any]:
        """`value` as a list."""
        if not isinstance(value, list):
            raise self.error(where, f"must be a list, not {kind_of(value)}")
        return value

    def known(self, where: Path_, value: Mapping[str, Any], allowed: Iterable[str]) -> None:
        """Every key of `value` is allowed; the error names the nearest one that is."""
        names = list(allowed)
        for key in value:
            if key not in names:
                raise self.error((*where, key), f"unknown key. {nearest(key, names)}")


def kind_of(value: Any) -> str:
    """How a person would call the type of `value`."""
    if value is None:
        return "nothing"
    return {
        dict: "a mapping",
        list: "a list",
        str: "a text",
        bool: "true or false",
        int: "a whole number",
        float: "a number",
    }.get(type(value), type(value).__name__)


def nearest(name: str, names: Iterable[str]) -> str:
    """Advice: the closest allowed name, or all of them when none is close."""
    allowed = sorted(names)
    close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {close[0]!r}?"
    shown = ", ".join(allowed[:20]) + (", …" if len(allowed) > 20 else "")
    return f"Allowed: {shown}"


def read(path: Path) -> Document:
    """Parse one file.

    Raises: InventoryError when it cannot be read, is not YAML, or repeats a key.
    """
    try:
        text = regular_file.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InventoryError(f"{path}: cannot be read: {error}") from error
    return _parsed(path, text)


@lru_cache(maxsize=64)
def _parsed(path: Path, text: str) -> Document:
    """Parse a text once; nothing changes a document.

    The key is the text, not the time of the file: two writes within a tick of the clock have the same time.
    """
    lines: dict[Path_, int] = {}
    loader = plain_yaml.Loader(text)
    try:
        plain_yaml.check(text)
        root = loader.get_single_node()
        with plain_yaml.valid_values():
            data = _plain(path, loader, root, (), lines) if root is not None else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        raise InventoryError(f"{path}{line}: not valid YAML: {getattr(error, 'problem', None) or error}") from error
    finally:
        loader.dispose()
    return Document(path=path, data=data, lines=lines)


def _plain(path: Path, loader: yaml.SafeLoader, node: yaml.Node, where: Path_, lines: dict[Path_, int]) -> Any:
    # The line of a key, set by its mapping, takes precedence over that of its value.
    lines.setdefault(where, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        out: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, (str, int)):
                raise InventoryError(f"{path}:{key_node.start_mark.line + 1}: a key must be a plain name")
            if key in out:
                raise InventoryError(f"{path}:{key_node.start_mark.line + 1}: {key}: written twice in one mapping")
            lines[(*where, key)] = key_node.start_mark.line + 1
            out[key] = _plain(path, loader, value_node, (*where, key), lines)
        return out
    if isinstance(node, yaml.SequenceNode):
        return [_plain(path, loader, item, (*where, index), lines) for index, item in enumerate(node.value)]
    return loader.construct_object(node, deep=True)
