"""Runs of the suite on a container, as a user starts them: the command line, with Docker named by DOCKER_HOST.

testcontainers' reaper is off: its image comes from a registry.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from verification.docker_engine.docker import Engine
from verification.third_party.catalogue import KUBERNETES

WITHOUT_REAPER = {"TESTCONTAINERS_RYUK_DISABLED": "true"}


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: exit code, everything it printed, its report as far as there is one."""

    code: int
    said: str
    report: Mapping[str, Any] = field(default_factory=dict)

    def verdicts(self) -> dict[str, str]:
        """The status of every scenario that was selected, by its id."""
        rows = self.report.get("scenarios") or ()
        return {row["id"]: row["status"] for row in rows if row["status"] != "filtered"}

    def reason(self, scenario: str) -> str:
        """Return why a scenario did not pass, or an empty string."""
        rows = self.report.get("scenarios") or ()
        return next((str(row.get("reason") or "") for row in rows if row["id"] == scenario), "")


class Runs:
    """Runs on `image` in `engine`. They write below `folder`; `left` lists what they did not remove."""

    def __init__(self, engine: Engine, image: str, *, folder: Path, bin_dir: Path) -> None:
        self.engine = engine
        self.image = image
        self.bin_dir = bin_dir
        self._reports = folder / "reports"
        # TMPDIR of the runs, so that `left` finds what they forgot there.
        self._work = folder / "tmp"
        for path in (self._reports, self._work):
            path.mkdir(mode=0o700)
        self._number = 0

    def environment(self) -> dict[str, str]:
        """The environment of a run."""
        return {**os.environ, **WITHOUT_REAPER, "DOCKER_HOST": self.engine.host, "TMPDIR": str(self._work)}

    def begin(self, *words: str, image: str = "") -> tuple[subprocess.Popen[str], Path]:
        """Start a run on the container; the process, and the folder of its report."""
        return self._begin("--control-plane", "k3s", "--k3s-image", image or self.image, *words)

    def end(self, process: subprocess.Popen[str], out: Path, *, within: float = 300.0) -> Ended:
        """Wait for a run, `within` seconds at most."""
        try:
            said, _ = process.communicate(timeout=within)
        finally:
            # After a timeout; a process that has ended is not affected.
            process.kill()
        path = out / "report.json"
        return Ended(process.returncode, said, orjson.loads(path.read_bytes()) if path.is_file() else {})

    def run(self, *words: str, image: str = "") -> Ended:
        """A whole run on the container."""
        return self.end(*self.begin(*words, image=image))

    def run_binaries(self, *words: str) -> Ended:
        """Run the same on the Kubernetes programs as processes, one for each component that k3s provides."""
        components: tuple[str, ...] = ("--scheduler", "kube-scheduler")
        for component in ("--claim-controller", "--taint-eviction"):
            components += (component, "kube-controller-manager")
        return self.end(*self._begin("--control-plane", "binaries", *self._programs(), *components, *words))

    def _programs(self) -> tuple[str, ...]:
        return "--kubernetes-version", KUBERNETES, "--bin-dir", str(self.bin_dir)

    def left(self) -> list[str]:
        """Return what runs left, in the engine and on disk."""
        mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if f"{self._work}/" in line]
        return [
            *self.engine.left(),
            *(f"in the folder for temporary files: {path.name}" for path in self._work.iterdir()),
            *(f"the mount {line}" for line in mounts),
        ]

    def _begin(self, *words: str) -> tuple[subprocess.Popen[str], Path]:
        self._number += 1
        out = self._reports / str(self._number)
        command: Sequence[str] = [sys.executable, "-m", "dra_conformance", "run", "--out", str(out), *words]
        return (
            subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env=self.environment(),
            ),
            out,
        )
