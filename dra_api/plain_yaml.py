"""Loads YAML of others: safe types, no deep nesting, no aliases that expand without bound.

The parser of libyaml reads any depth, but PyYAML builds objects recursively in C and crashes. The limits are therefore
checked on the parser's events, before an object is built. All YAML that is not the project's own goes through here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import orjson
import yaml

from dra_api.nesting import DEEPEST

Loader: Final[type[yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C parser, if PyYAML has it

_MOST: Final = 1_000_000
"""Values and characters that aliases may add."""


class YAMLLimitError(yaml.YAMLError):
    """The text is YAML, but exceeds a limit."""


def load(text: str | bytes, loader: type[yaml.SafeLoader] | type[yaml.CSafeLoader] = Loader) -> Any:
    """Return the data of a text with one document. Raises yaml.YAMLError."""
    with valid_values():
        check(text)
        return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader


def load_all(text: str | bytes) -> list[Any]:
    """Return the data of all documents of a text. Raises yaml.YAMLError."""
    with valid_values():
        check(text)
        return list(yaml.load_all(text, Loader=Loader))


def as_json(document: Any) -> Any:
    """Return the data of a document as JSON has it: keys are texts, as after Kubernetes' conversion.

    Raises yaml.YAMLError for what JSON has not: bytes, sets, integers beyond 64 bits.
    """
    try:
        return orjson.loads(orjson.dumps(document, option=orjson.OPT_NON_STR_KEYS))
    except orjson.JSONEncodeError as error:
        raise yaml.YAMLError(f"a value has no form in JSON: {error}") from error


@contextmanager
def valid_values() -> Iterator[None]:
    """Raise yaml.YAMLError for values that PyYAML cannot convert, such as the date 2020-13-45."""
    try:
        yield
    except (ValueError, OverflowError, LookupError, AttributeError, TypeError) as error:
        raise yaml.YAMLError(f"a value is not of its type: {error}") from error


def check(text: str | bytes) -> None:
    """Raise YAMLLimitError if a text exceeds a limit, and yaml.YAMLError if it is not YAML."""
    size = added = document = 0
    sizes: dict[str, int] = {}
    # The collections that are open: their anchors, and the size before them.
    open_: list[tuple[str | None, int]] = []
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.ScalarEvent):
            size += 1
            if event.anchor:
                sizes[event.anchor] = 1 + len(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(open_) == DEEPEST:
                raise YAMLLimitError(f"document {document}: is nested too deeply: more than {DEEPEST} levels")
            open_.append((event.anchor, size))
            size += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_.pop()
            if anchor:
                sizes[anchor] = size - before
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_):
                raise YAMLLimitError(f"document {document}: an alias contains itself")
            expanded = sizes.get(event.anchor or "", 0)
            size += expanded
            added += expanded
            if added > _MOST:
                raise YAMLLimitError(f"document {document}: its aliases expand to more than {_MOST} values")
        elif isinstance(event, yaml.DocumentStartEvent):
            document += 1
            sizes.clear()
