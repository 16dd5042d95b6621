"""Another process beside a scenario: it meets the same NVML, and says what it sees.

Started by `NvmlSeat.child`, which kills it when the scenario ends.
"""

from __future__ import annotations

import select
import subprocess
from contextlib import suppress

NOTHING = "nothing came"
"""What `Child.line` says where no line came in time."""


class Child:
    """Another process beside the run; lines go in, words come out. Killed by whoever made it (`NvmlSeat.child`)."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def line(self, patience: float) -> str:
        """The next line that it prints; what became of it where none comes in so many seconds."""
        out = self._process.stdout
        ready = out is not None and select.select([out], [], [], patience)[0]
        return out.readline().strip() if out is not None and ready else NOTHING

    def say(self, line: str) -> None:
        """Give it a line; one that has ended does not hear it."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(line + "\n")

    def words(self, patience: float) -> list[str]:
        """All that it prints until it ends, in so many seconds; its end, where that was not in order."""
        try:
            out, err = self._process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.kill()
            return [f"no end after {patience:g} s"]
        code = self._process.returncode
        return out.split() if code == 0 else [f"ended with {code}: {err.strip()[-200:]}"]

    def kill(self) -> None:
        """End it. Idempotent."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with suppress(OSError, ValueError):
                if stream is not None:
                    stream.close()
