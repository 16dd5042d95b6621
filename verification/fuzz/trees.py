"""Mutation of JSON documents as trees: what changes of bytes reach only by chance.

A value is replaced by a surprising one, by another part of the document, or is wrapped; a key is dropped or copied.
"""

from __future__ import annotations

import random
from copy import deepcopy
from typing import Any

import orjson

SURPRISING: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, 1e308, -0.0,
    "", " ", "a", "A_b", "a/b", "0", "null", "true", "1e400", "-1Gi", "9223372036854775808", "1h0m0s", "\u0000",
    "\ud7ff", "é", "x" * 300, "2026-01-01T00:00:00Z", "2026-13-45T99:99:99Z", "0.0.0.0/0", "::1", "NoExecute", "*",
    [], {}, [[]], [{}], {"": None}, [None], {"a": {"a": {"a": {}}}},
)  # fmt: skip


def mutate(data: bytes, *, longest: int, seed: int) -> bytes | None:
    """Return a changed document of at most `longest` bytes, or None if there is none."""
    source = random.Random(seed)  # noqa: S311 - repeatable by its seed
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    places = list(_places(document))
    if not places:
        return None
    for _ in range(source.choice((1, 1, 2, 4))):
        container, key = source.choice(places)
        _change(container, key, places, source)
    try:
        found = orjson.dumps(document)
    except (TypeError, orjson.JSONEncodeError):
        return None
    return found if len(found) <= longest else None


def _places(value: Any) -> Any:
    """Yield every container of a document with each key or index in it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _has(container: Any, key: Any) -> bool:
    return key in container if isinstance(container, dict) else key < len(container)


def _change(container: Any, key: Any, places: list[tuple[Any, Any]], source: random.Random) -> None:
    if not _has(container, key):
        return  # an earlier change removed it
    match source.randrange(7):
        case 0 | 1:
            container[key] = source.choice(SURPRISING)
        case 2:
            other, at = source.choice(places)
            if _has(other, at):
                container[key] = deepcopy(other[at])
        case 3:
            container[key] = source.choice(([container[key]], {"a": container[key]}))
        case 4:
            del container[key]
        case 5 if isinstance(container, list):
            container.append(deepcopy(container[key]))
        case 5:
            container[f"{key}-2"] = container[key]
        case _:
            container[key] = _near(container[key], source)


def _near(value: Any, source: random.Random) -> Any:
    """Return a value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + source.choice((-1, 1, -value, 2**31))
    if isinstance(value, str) and value:
        at = source.randrange(len(value))
        return value[:at] + source.choice(("", "-", ".", "/", "A", "é", "\u0000", value)) + value[at + 1 :]
    if isinstance(value, list):
        return list(reversed(value))
    return value
