"""`python -m verification kind [--start-engine] [--ci] [--only CHECK ...]`: is everything there, and then `inside`."""

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
from verification.kind_cluster import images
from verification.kind_cluster.inside import COMPONENTS, NODE, START, options

ARCHIVES = Path(__file__).resolve().parents[2] / "build/images"


def main(words: Sequence[str], *, bin_dir: Path) -> int:
    """Run the command and return its exit code; 0 with a line `kind: not run` without its prerequisites."""
    try:
        given = options().parse_args(words)
    except SystemExit as error:  # --help, or an option that it does not have
        return ExitCode.USAGE if error.code else ExitCode.OK
    # The program that was built here, if kind is not installed.
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH") or os.defpath, str(bin_dir)])
    start_engine = given.start_engine
    if reason := lacking(start_engine=start_engine):
        print(f"kind: not run: {reason}")
        return 0
    if not given.ci and (reason := images.prepare(ARCHIVES, bin_dir=bin_dir)):
        print(f"kind: an image of the checks is missing: {reason}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the clusters are deleted then, too
    command = [sys.executable, "-m", "verification.kind_cluster.inside"]
    checks = [word for word in words if word != START]
    if not start_engine:
        with tempfile.TemporaryDirectory(prefix="dra-kind-") as folder:
            return subprocess.run(
                [*command, folder, str(ARCHIVES), *checks], cwd=ARCHIVES.parents[1], check=False
            ).returncode
    code, left = place.apart(lambda folder: [*command, str(folder), str(ARCHIVES), START, *checks])
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
