"""Writes report.yaml: the content of report.json, with one line for each row that did not run.

A run of one rule has thousands of rows that were not selected. As blocks they took half a second and hid what ran.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import orjson

from dra_conformance.core import documents
from dra_conformance.core.status import Status

_LISTS = ("rules", "scenarios")


def render(plain: Mapping[str, Any]) -> str:
    """Return the text of a report, which `report.model.to_plain` made a mapping of plain values."""
    return "".join(_parts(plain))


def _parts(plain: Mapping[str, Any]) -> Iterator[str]:
    for key, value in plain.items():
        if key in _LISTS and value:
            yield f"{key}:\n"
            yield from _rows(value)
        else:
            yield documents.dump({key: value})


def _rows(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for in_one_line, group in groupby(((_one_line(row), row) for row in rows), key=lambda pair: bool(pair[0])):
        if in_one_line:
            yield from (line for line, _ in group)
        else:
            yield documents.dump([row for _, row in group])


def _one_line(row: Mapping[str, Any]) -> str:
    """Return the row as JSON, which is YAML, in one line; nothing if it ran or YAML would need other escapes."""
    if row.get("status") != Status.FILTERED:
        return ""
    text = orjson.dumps(row).decode()
    return f"- {text}\n" if text.isprintable() else ""
