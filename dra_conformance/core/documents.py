"""Loads YAML with errors for users, and dumps it in a readable form."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dra_api import plain_yaml, regular_file
from dra_conformance.core.errors import UsageError

_Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAPPING = yaml.MappingStartEvent(None, None, True, flow_style=False)
_MAPPING_END = yaml.MappingEndEvent()
_SEQUENCE = yaml.SequenceStartEvent(None, None, True, flow_style=False)
_SEQUENCE_END = yaml.SequenceEndEvent()


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
    """Return YAML text of mappings, lists and scalars, with the keys in their original order and without aliases."""
    written = io.StringIO()
    dumper = _Dumper(written, allow_unicode=True, width=110)
    try:
        for event in _document(dumper, value):
            dumper.emit(event)
    finally:
        dumper.dispose()
    return written.getvalue()


def _document(dumper: yaml.SafeDumper, value: Any) -> Iterator[yaml.Event]:
    """Yield the events of a document.

    `yaml.dump` makes a graph of nodes first and looks for aliases in it, which takes two seconds for a run's report.
    """
    scalars: dict[Any, yaml.ScalarEvent] = {}

    def scalar(one: Any) -> yaml.ScalarEvent:
        # By type as well: 1, 1.0 and True are equal.
        found = scalars.get((type(one), one))
        if found is None:
            found = scalars[type(one), one] = _scalar(dumper, one)
        return found

    def events(one: Any) -> Iterator[yaml.Event]:
        if isinstance(one, dict):
            yield _MAPPING
            for key, item in one.items():
                yield scalar(key)
                yield from events(item)
            yield _MAPPING_END
        elif isinstance(one, list | tuple):
            yield _SEQUENCE
            for item in one:
                yield from events(item)
            yield _SEQUENCE_END
        else:
            yield scalar(one)

    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    yield from events(value)
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _scalar(dumper: yaml.SafeDumper, value: Any) -> yaml.ScalarEvent:
    # The C writer fails on text that UTF-8 cannot encode, as in the output of a program.
    known = value.encode(errors="replace").decode() if isinstance(value, str) else value
    node = dumper.represent_data(known)
    if not isinstance(node, yaml.ScalarNode):
        raise TypeError(f"not a mapping, list or scalar: {value!r}")
    plain, quoted = (
        dumper.resolve(yaml.ScalarNode, node.value, implicit) == node.tag  # type: ignore[no-untyped-call]
        for implicit in ((True, False), (False, True))
    )
    return yaml.ScalarEvent(None, node.tag, (plain, quoted), node.value, style=node.style)
