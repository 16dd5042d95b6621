"""Another Python process beside a scenario, which loads the same NVML and prints its observations.

`NvmlLibrary.child` starts it and kills it at the end of the scenario. An interpreter may start slowly on a busy
machine, which is no property of NVML, so the process prints a first line before anything that is judged.
"""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
from contextlib import suppress

NOTHING = "nothing came"
"""The result of `Child.line` if no line came in time."""

_HEAD = "import ctypes, os, sys\nprint('started', flush=True)\n"
_BEGIN = 120.0  # seconds; it guards against an interpreter that never starts


class Child:
    """A Python program in a process of its own, with lines as input and output."""

    def __init__(self, executable: str, code: str, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
        # A file instead of a pipe: it is read after the exit only, and a full pipe would block the process.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by kill
        self._process = subprocess.Popen(
            [executable, "-c", _HEAD + code, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._read_bytes = b""
        self._open = True
        self.began = self.line(_BEGIN) == "started"

    def _more(self, patience: float) -> bool:
        """Read more output; return False at its end, or if there was none within `patience` seconds."""
        out = self._process.stdout
        if not self._open or out is None or not select.select([out], [], [], patience)[0]:
            return False
        # Unbuffered: select does not see what a buffered reader has already read.
        data = os.read(out.fileno(), 65536)
        self._open = bool(data)
        self._read_bytes += data
        return self._open

    def line(self, patience: float) -> str:
        """Return the next line of output; NOTHING if none comes within `patience` seconds, empty after the exit."""
        while b"\n" not in self._read_bytes and self._more(patience):
            continue
        line, newline, rest = self._read_bytes.partition(b"\n")
        if not newline and self._open:
            return NOTHING
        self._read_bytes = rest
        return line.decode(errors="replace").strip()

    def say(self, line: str) -> None:
        """Write a line to its input; a process that has ended ignores it."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(f"{line}\n".encode())
                self._process.stdin.flush()

    def words(self, patience: float) -> list[str]:
        """Return all words that it prints until it exits.

        If it fails, or does not exit within `patience` seconds, the result is one text about that.
        """
        while self._more(patience):
            continue
        if self._open:
            self.kill()
            return [f"no end after {patience:g} s"]
        code = self._process.wait()
        if code == 0:
            return self._read_bytes.decode(errors="replace").split()
        self._errors.seek(0)
        return [f"ended with {code}: {self._errors.read().decode(errors='replace').strip()[-200:]}"]

    def kill(self) -> None:
        """Kill the process. Idempotent."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
        self._open = False
