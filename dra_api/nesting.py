"""The limit for nested data that others write, and its check for JSON. Parsers are recursive and would crash."""

from __future__ import annotations

import re
from typing import Final

DEEPEST: Final = 200
"""Levels of lists and mappings. Objects of Kubernetes have about 20; Python's own limit is between 300 and 1,000."""

# An unterminated text ends with the data, so that each byte is read once.
_MARKS: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def json_too_deep(data: bytes) -> bool:
    """Whether brackets nest deeper than the limit."""
    # Counting is cheap, and most data has too few brackets to be too deep.
    if data.count(b"[") + data.count(b"{") <= DEEPEST:
        return False
    depth = 0
    for mark in _MARKS.finditer(data):
        if mark[0] in (b"[", b"{"):
            depth += 1
            if depth > DEEPEST:
                return True
        elif mark[0] in (b"]", b"}"):
            depth -= 1
    return False
