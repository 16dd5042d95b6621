"""The differences between two records of the same probe, as paths with both values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two responses. `where` is step and path, such as `2.body.metadata.generation`."""

    probe: str
    request: str
    where: str
    embedded: Any
    real: Any


def differences(probe: str, embedded: list[Any], real: list[Any]) -> list[Difference]:
    """Return all differences of one probe, in the order of its steps."""
    found: list[Difference] = []
    # Not strict: a different number of steps is a difference, reported below.
    for number, (ours, theirs) in enumerate(zip(embedded, real, strict=False)):
        request = str(theirs.get("request"))
        if ours.get("code") != theirs.get("code"):
            row = (_short_of(ours), _short_of(theirs))
            found.append(Difference(probe, request, f"{number}.code", *row))
            continue  # one failed and one did not: nothing else can be compared
        found += [Difference(probe, request, f"{number}.{where}", *pair) for where, *pair in _walk("", ours, theirs)]
    if len(embedded) != len(real):
        found.append(Difference(probe, "", "steps", len(embedded), len(real)))
    return found


def _short_of(answer: Mapping[str, Any]) -> str:
    status = answer.get("status") or {}
    return f"{answer.get('code')} {status.get('reason') or ''} {status.get('message') or ''}".strip()


def _walk(path: str, ours: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        # Sorted, so that the page does not change with the order of keys.
        for key in sorted({*ours, *theirs}, key=str):
            yield from _walk(f"{path}.{key}".lstrip("."), ours.get(key, ABSENT), theirs.get(key, ABSENT))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _walk(f"{path}[{index}]", mine, other)
    # Python's 1, 1.0 and True are equal, but not in JSON.
    elif ours != theirs or type(ours) is not type(theirs):
        yield path, ours, theirs
