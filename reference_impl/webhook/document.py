"""Reads JSON and records repeated fields: strict decoding refuses them, ordinary readers drop them.

Pure functions over bytes. Source: sigs.k8s.io/json (strict), as k8s.io/apimachinery's serializer uses it; rule NV-133e.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn


class Members(dict[str, Any]):
    """A JSON object, and the names that it had more than once. The last value of each is kept, as everywhere."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs)
        self.repeated = [name for name, count in counts.items() if count > 1]


def read(body: bytes) -> object:
    """Return the document. Raises ValueError for invalid JSON, or for one that is nested too deeply."""
    try:
        return json.loads(body, object_pairs_hook=Members, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("the document is nested too deeply") from None


def repeated_fields(value: object, where: str = "") -> list[str]:
    """Return the paths of the fields that occur more than once in a document from `read`.

    Lists are not searched: no kind of configuration has one, so that decoding refuses them.
    """
    found: list[str] = []
    if isinstance(value, dict):
        found += [f"{where}{name}" for name in getattr(value, "repeated", ())]
        for name, content in value.items():
            found += repeated_fields(content, f"{where}{name}.")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")
