"""Parses feature files, each once for a run: pytest-bdd and the workers of pytest-xdist reuse what was parsed.

Parsing all feature files takes about 0.6 CPU seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from gherkin.parser import Parser, ParserContext
from gherkin.token import Token
from gherkin.token_scanner import TokenScanner

from dra_conformance.core.document_cache import DocumentCache

_documents: dict[str, tuple[int, Any]] = {}


def document(path: Path, cache: DocumentCache | None = None) -> Any:
    """Return the Gherkin document of a file, parsed once as long as the file does not change.

    Args:
        path: the file.
        cache: where to look for the document before the file is parsed, and to keep it.

    Raises OSError and UnicodeDecodeError if the file cannot be read, and ParserError or CompositeParserException if it
    is not valid.
    """
    changed_at = path.stat().st_mtime_ns
    known = _documents.get(str(path))
    if known is None or known[0] != changed_at:
        text = path.read_text(encoding="utf-8")
        found = cache.get(text) if cache else None
        if found is None:
            found = _Parser().parse(TokenScanner(text))
            if cache:
                cache.add(text, found)
        known = _documents[str(path)] = (changed_at, found)
    return known[1]


def is_parsed(path: Path) -> bool:
    """Whether a file was parsed, here or in the process that `load` got it from."""
    return str(path) in _documents


def dump() -> bytes:
    """Return all parsed documents, for `load` in another process."""
    return orjson.dumps(_documents)


def load(dumped: bytes) -> None:
    """Use the documents that another process parsed."""
    _documents.update({path: (changed_at, parsed) for path, (changed_at, parsed) in orjson.loads(dumped).items()})


class _Parser(Parser):
    """The parser of Gherkin; the original builds a table of its 56 states for each line, a quarter of its time."""

    def __init__(self) -> None:
        super().__init__()
        self._states: dict[int, Callable[[Token, ParserContext], int]] = {}

    def match_token(self, state: int, token: Token, context: ParserContext) -> int:
        """Match a line in a state, and return the next state."""
        if state not in self._states:
            self._states[state] = getattr(self, f"match_token_at_{state}")
        return self._states[state](token, context)
