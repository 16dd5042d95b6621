"""Keeps the parsed Gherkin documents of the shipped features between runs, in the user's cache folder.

Parsing them is a third of the start of `dra-conformance run`. The file is like Python's `.pyc` files: whoever can write
it can change the suite itself. So it is used only if it belongs to this user and no other can write it, and
`dra-conformance verify` does not use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

import orjson

from dra_api import regular_file

LARGEST = 64 << 20
"""Bytes of the file that are read at most; the shipped features take 5 MB."""


def folder() -> Path | None:
    """Return the cache folder of the XDG specification, None if this user has none."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The specification ignores relative paths.
    if os.path.isabs(named):
        return Path(named, "dra-conformance")
    try:
        return Path.home() / ".cache" / "dra-conformance"
    except RuntimeError:
        return None


class DocumentCache:
    """Documents by the digest of their text. A file that is missing, damaged or another user's is an empty cache.

    Args:
        path: the file, whose name has the version of the parser.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._stored: dict[str, Any] = self._read()
        self._used: dict[str, Any] = {}

    @classmethod
    def of_user(cls) -> DocumentCache:
        """Return the cache of this user."""
        parent = folder()
        return cls(parent / f"gherkin-{metadata.version('gherkin-official')}.json" if parent else None)

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

    def save(self) -> None:
        """Write the documents that were used if the file has others. That it cannot be written is no error."""
        if self._path is None or self._used.keys() == self._stored.keys():
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Another process may write at the same time. mkstemp makes a file that only this user can read and write.
            descriptor, aside = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(orjson.dumps(self._used))
                os.replace(aside, self._path)
            finally:
                Path(aside).unlink(missing_ok=True)

    def _read(self) -> dict[str, Any]:
        if self._path is None:
            return {}
        try:
            status = self._path.stat()
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return {}
            stored = orjson.loads(regular_file.read(self._path, limit=LARGEST))
        except (OSError, orjson.JSONDecodeError):
            return {}
        return stored if isinstance(stored, dict) else {}


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
