"""`python -m verification docker`: is everything there, and then `inside` in a place of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from dra_conformance.kubelet.real import requirements
from verification.docker_engine import docker, image, place


def main(*, bin_dir: Path, absent: Callable[[str], int]) -> int:
    """Run the command and return its exit code. `absent` reports programs that are not built."""
    missing = [name for name in docker.PROGRAMS if not (bin_dir / name).exists()]
    if missing := list(dict.fromkeys([*missing, *image.needed(bin_dir)])):
        return absent(f"docker: {', '.join(missing)} not built (make third-party-all)")
    if lacking := [f"{need.name}: {need.lacks}" for need in requirements.look() if need.lacks]:
        # Not a failure in CI either: few of its machines may create namespaces and cgroups.
        print(f"docker: no engine runs here: {'; '.join(lacking)}; --control-plane k3s was not tried")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the engine's place is taken away then, too
    release = _release(bin_dir)
    words = [sys.executable, "-m", "verification.docker_engine.inside"]
    code, left = place.apart(lambda folder: [*words, str(folder), str(bin_dir), release])
    for each in left:
        print(f"  after the engine there is {each}")
    return 1 if left or code else 0


def _release(bin_dir: Path) -> str:
    """Return the release that the Kubernetes programs print."""
    shown = subprocess.run([bin_dir / "kube-apiserver", "--version"], capture_output=True, text=True, check=True)
    return shown.stdout.split()[-1]
