"""Another process beside a scenario: it meets the same NVML, and says what it sees.

Started by `NvmlLibrary.child`, which kills it when the scenario ends. An interpreter takes its time to begin on a busy
machine, and that is nothing of NVML's: so it says a first line before anything that is judged.
"""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from contextlib import suppress

NOTHING = "nothing came"
"""What `Child.line` says where no line came in time."""

_HEAD = "import ctypes, os, sys\nprint('here', flush=True)\n"
_BEGIN = 120.0  # seconds; it guards against an interpreter that never starts


class Child:
    """A Python program in a process of its own; lines go in, lines and words come out."""

    def __init__(self, executable: str, code: str, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by kill
        self._process = subprocess.Popen(
            [executable, "-c", _HEAD + code, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._come = b""
        self._open = True
        self.began = self.line(_BEGIN) == "here"

    def _more(self, patience: float) -> bool:
        """Take what it prints next; False when it has closed, or printed nothing in so many seconds."""
        out = self._process.stdout
        if not self._open or out is None or not select.select([out], [], [], patience)[0]:
            return False
        data = os.read(out.fileno(), 65536)
        self._open = bool(data)
        self._come += data
        return self._open

    def line(self, patience: float) -> str:
        """The next line that it prints; NOTHING where none comes in so many seconds, empty where it has ended."""
        while b"\n" not in self._come and self._more(patience):
            continue
        line, newline, rest = self._come.partition(b"\n")
        if not newline and self._open:
            return NOTHING
        self._come = rest
        return line.decode(errors="replace").strip()

    def say(self, line: str) -> None:
        """Give it a line; one that has ended does not hear it."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()

    def words(self, patience: float) -> list[str]:
        """All that it prints until it ends; its end, where that was not in order or did not come in so many seconds."""
        while self._more(patience):
            continue
        if self._open:
            self.kill()
            return [f"no end after {patience:g} s"]
        code = self._process.wait()
        if code == 0:
            return self._come.decode(errors="replace").split()
        self._errors.seek(0)
        return [f"ended with {code}: {self._errors.read().decode(errors='replace').strip()[-200:]}"]

    def kill(self) -> None:
        """End it. Idempotent."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        self._open = False
