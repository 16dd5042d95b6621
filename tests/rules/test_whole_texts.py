"""No text of a YAML file ends at a ` #`, as in `source: docs/README.md; issue #968`, which YAML takes for a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("fixtures", "verification", "fake_nvml")
# A comment has a space after its #, unlike the number of an issue.
_CUT = re.compile(r"[ \t]+#[^\s#]")


def cut_texts(text: str) -> Iterator[str]:
    """Return the lines in which a value without quotes is followed by something that looks like a part of it."""
    lines = text.splitlines()
    for token in yaml.scan(text):
        if isinstance(token, yaml.ScalarToken) and token.plain:
            rest = lines[token.end_mark.line][token.end_mark.column :] if token.end_mark.line < len(lines) else ""
            if _CUT.match(rest):
                yield f"line {token.end_mark.line + 1}: {token.value!r} loses {rest.strip()!r}"


def files() -> list[Path]:
    return sorted(
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.yaml")
        if "bin" not in path.relative_to(ROOT).parts
    )


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_is_cut(path: Path) -> None:
    assert list(cut_texts(path.read_text())) == []


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("source: issue #968\n", True),
        ("source: one#1, #2 (fixed)\n", True),
        ("- a: b (fixed by #2)\n", True),
        ("source: 'issue #968'\n", False),
        ("source: >-\n  issue #968\n", False),
        ("source: issue (#968)  # a comment\n", False),
    ],
)
def test_a_cut_text_is_found(text: str, cut: bool) -> None:
    assert bool(list(cut_texts(text))) is cut
