"""Keeps the parsed Gherkin documents of the shipped features between runs, beside Python's `.pyc` files.

Parsing them is a third of the start of `dra-conformance run`. As with `.pyc` files, the permissions of the file are
those of the suite itself, a folder that cannot be written is no error, and PYTHONDONTWRITEBYTECODE and
PYTHONPYCACHEPREFIX are obeyed. `dra-conformance verify` does not use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import tempfile
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from dra_api import regular_file

LARGEST = 64 << 20
"""Bytes of the file that are read at most; the shipped features take 5 MB."""


def path() -> Path:
    """Return the file, in the `__pycache__` of this module. Its name has the version of the parser."""
    folder = Path(importlib.util.cache_from_source(__file__)).parent
    return folder / f"gherkin-{metadata.version('gherkin-official')}.json"


class DocumentCache:
    """Documents by the digest of their text. A file that is missing or damaged is an empty cache.

    Args:
        path: the file, which is read when the first document is looked for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._used: dict[str, Any] = {}
        self._has_new = False

    def get(self, text: str) -> Any | None:
        """Return the document of a text, None if it is not known."""
        key = _key(text)
        found = self._stored.get(key)
        if found is not None:
            self._used[key] = found
        return found

    def add(self, text: str, document: Any) -> None:
        """Keep the document of a text."""
        self._used[_key(text)] = document
        self._has_new = True

    def save(self) -> None:
        """Write the documents that were used if one was added. That the file cannot be written is no error."""
        if sys.dont_write_bytecode or not self._has_new:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Another process may write at the same time.
            descriptor, aside = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(orjson.dumps(self._used))
                os.replace(aside, self._path)
            finally:
                Path(aside).unlink(missing_ok=True)

    @cached_property
    def _stored(self) -> dict[str, Any]:
        try:
            stored = orjson.loads(regular_file.read(self._path, limit=LARGEST))
        except (OSError, orjson.JSONDecodeError):
            return {}
        return stored if isinstance(stored, dict) else {}


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
