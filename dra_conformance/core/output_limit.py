"""Limits the output files of programs: a program that prints without end must not fill the disk.

Programs write to their files directly. One thread looks at the sizes while there are files; the first part of a file
and what the program printed last are kept.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from functools import partial
from pathlib import Path
from typing import Final

from dra_api.threads import started
from dra_conformance.core.program_log import LOGGER

LIMIT: Final = 64 << 20
KEPT: Final = 16 << 20
"""Bytes: a file that is larger than `LIMIT` is cut after `KEPT`."""

_SECONDS: Final = 0.25  # a program prints about 100 MB in a second
_log = logging.getLogger(LOGGER)


class OutputLimit:
    """The files that are limited. Its thread ends with the last `release`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._removed: dict[Path, int] = {}
        self._users: dict[Path, int] = {}
        self._empty = threading.Event()

    def watch(self, path: Path) -> None:
        """Limit a file until `release`. Its writers must append."""
        with self._lock:
            self._users[path] = self._users.get(path, 0) + 1
            if len(self._users) == 1 and self._users[path] == 1:
                self._empty = threading.Event()
                started(partial(self._run, self._empty), name="output-limit")

    def release(self, path: Path) -> None:
        """End the limit of a file."""
        with self._lock:
            self._users[path] -= 1
            if not self._users[path]:
                del self._users[path]
                self._removed.pop(path, None)
            if not self._users:
                self._empty.set()

    def _run(self, empty: threading.Event) -> None:
        while not empty.wait(_SECONDS):
            with self._lock:
                for path in self._users:
                    # The next write to a full disk or a missing folder reports it.
                    with contextlib.suppress(OSError):
                        self._shorten(path)

    def _shorten(self, path: Path) -> None:
        size = path.stat().st_size
        if size <= LIMIT:
            return
        first = path not in self._removed
        self._removed[path] = self._removed.get(path, 0) + size - KEPT
        os.truncate(path, KEPT)
        with path.open("ab") as file:
            file.write(
                f"\n[dra-conformance: the output is larger than {LIMIT >> 20} MiB; "
                f"{self._removed[path]} bytes are left out here]\n".encode()
            )
        if first:
            _log.warning("%s: the output is larger than %s MiB and is not kept in full", path.name, LIMIT >> 20)


OUTPUT_LIMIT: Final = OutputLimit()
"""That of this process."""
