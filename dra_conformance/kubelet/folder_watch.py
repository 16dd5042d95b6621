"""Detect changes in one folder by inotify, without polling.

The watch owns its descriptors and its thread between `start` and `stop`. It reports only that something changed; the
listener reads the folder, so no event can be lost to a race. Source of the numbers: inotify(7).
"""

from __future__ import annotations

import ctypes
import os
import select
import threading
from collections.abc import Callable
from pathlib import Path

from dra_api.threads import report_exception, started
from dra_conformance.kubelet.joining import join

# linux/inotify.h: IN_ATTRIB, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE.
_MASK = 0x4 | 0x40 | 0x80 | 0x100 | 0x200


class FolderWatch:
    """Call `on_change()` after anything in `folder` was made, renamed, removed or changed its mode.

    The folder must exist. Calls come from the watch's own thread. Raises OSError when the kernel refuses the watch.
    """

    def __init__(self, folder: Path, on_change: Callable[[], None]) -> None:
        self._folder = folder
        self._on_change = on_change
        self._thread: threading.Thread | None = None
        self._inotify = -1
        self._wake = (-1, -1)

    def start(self) -> None:
        """Begin to watch."""
        libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._inotify < 0:
            raise OSError(ctypes.get_errno(), f"inotify_init1: {os.strerror(ctypes.get_errno())}")
        if libc.inotify_add_watch(self._inotify, os.fsencode(self._folder), _MASK) < 0:
            error = ctypes.get_errno()
            os.close(self._inotify)
            raise OSError(error, f"cannot watch {self._folder}: {os.strerror(error)}")
        # Closing a descriptor does not wake a thread that polls it, so a pipe ends the wait.
        self._wake = os.pipe2(os.O_CLOEXEC)
        self._thread = started(self._run, name=f"watch-{self._folder.name}")

    def stop(self) -> None:
        """End the watch and join its thread. Idempotent."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        os.write(self._wake[1], b"x")
        join(thread)
        for descriptor in (self._inotify, *self._wake):
            os.close(descriptor)

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._inotify, select.POLLIN)
        poll.register(self._wake[0], select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._wake[0] in ready:
                return
            # The events are only drained, because the listener reads the folder itself.
            os.read(self._inotify, 65536)
            try:
                self._on_change()
            except Exception as error:  # the next change must still be noticed
                report_exception(error)
