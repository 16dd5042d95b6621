"""`python -m verification kind [--start-engine] [--ci]`: is everything there, and then `inside`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dra_conformance.control_plane.kind import programs
from dra_conformance.core.errors import ExitCode, TargetUnreachable
from verification.docker_engine import place
from verification.kind_cluster.inside import COMPONENTS, NODE, START, SUBSET

ARCHIVES = Path(__file__).resolve().parents[2] / "build/images"


def main(words: Sequence[str], *, bin_dir: Path) -> int:
    """Run the command and return its exit code; 0 with a line `kind: not run` without its prerequisites."""
    if set(words) - {START, SUBSET}:
        print(f"usage: python -m verification kind [{START}] [{SUBSET}]", file=sys.stderr)
        return ExitCode.USAGE
    # The program that was built here, if kind is not installed.
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH") or os.defpath, str(bin_dir)])
    start_engine = START in words
    if reason := lacking(start_engine=start_engine):
        print(f"kind: not run: {reason}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the clusters are deleted then, too
    command = [sys.executable, "-m", "verification.kind_cluster.inside"]
    subset = [word for word in words if word == SUBSET]
    if not start_engine:
        with tempfile.TemporaryDirectory(prefix="dra-kind-") as folder:
            return subprocess.run(
                [*command, folder, str(ARCHIVES), *subset], cwd=ARCHIVES.parents[1], check=False
            ).returncode
    code, left = place.apart(lambda folder: [*command, str(folder), str(ARCHIVES), START, *subset])
    for each in left:
        print(f"  after the engine there is {each}")
    return 1 if left or code else 0


def lacking(*, start_engine: bool, archives: Path = ARCHIVES) -> str:
    """Return the first prerequisite that is not there, with the next step; empty if all are."""
    for name, target in ((NODE, "images-node"), (COMPONENTS, "images")):
        if not (archives / name).is_file():
            return f"there is no {archives / name} (make {target})"
    if start_engine:
        missing = [name for name in ("dockerd", programs.DOCKER, programs.KIND) if shutil.which(name) is None]
        return f"{', '.join(missing)} not in PATH (Debian: docker.io; make third-party-node)" if missing else ""
    try:
        programs.require(programs.DEFAULT_IMAGE)
    except TargetUnreachable as error:
        return f"{error.message.removeprefix('--control-plane kind: ')} ({error.hint})"
    return ""
