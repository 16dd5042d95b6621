"""Upstream's answers: the running program `verification/third_party/go/allocator`, one JSON line per request.

The creator of an `Upstream` closes it, which ends the program.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import TracebackType

import orjson

from dra_api.objects import Obj

PROGRAM = Path(__file__).resolve().parent.parent / "bin" / "dra-allocator"


def program_of(release: str) -> Path:
    """Return the program built with a release's library. 1.37 is the default of all other comparisons."""
    return PROGRAM if release in ("", "1.37") else PROGRAM.with_name(f"{PROGRAM.name}-{release}")


class UpstreamGone(RuntimeError):
    """The program is missing or has ended."""


class Upstream:
    """A running dra-allocator."""

    def __init__(self, program: Path = PROGRAM) -> None:
        if not program.exists():
            raise UpstreamGone(f"{program.name} is not built: `make third-party` builds it (needs Go)")
        self.version = subprocess.run(
            [str(program), "version"], check=True, capture_output=True, text=True
        ).stdout.strip()
        self._process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, question: Obj) -> Obj:
        """The answer to one case or expression (see verification/third_party/go/allocator). Raises UpstreamGone."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise UpstreamGone("dra-allocator was started without pipes")
        try:
            stdin.write(orjson.dumps(question) + b"\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise UpstreamGone(f"{PROGRAM.name} ended with {self._process.wait()}")
        answer: Obj = orjson.loads(line)
        if answer.get("outcome") == "malformed":
            raise ValueError(f"upstream cannot read the case: {answer.get('message')}")
        return answer

    def close(self) -> None:
        """End the program."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=30)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Upstream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
