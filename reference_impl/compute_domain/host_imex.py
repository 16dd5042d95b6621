"""The nvidia-imex daemon that a node's administrator runs: it must be ready before a channel is prepared.

Runs nvidia-imex-ctl of the driver root for each check, as the driver does.

Source: cmd/compute-domain-kubelet-plugin nvlib.go (checkHostIMEXReady) at 95932046; rule NV-171c.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from reference_impl.compute_domain.membership import NotYetError
from reference_impl.kubelet_plugin.driver_root import DriverRoot

_TIMEOUT = 10.0


class HostImex:
    """The node's own daemon. `socket` is its control socket, a path below the driver root."""

    def __init__(self, root: DriverRoot, *, socket: str) -> None:
        self._root = root
        self._socket = Path(f"{root.root}/{socket}")

    def check_ready(self) -> None:
        """Raise NotYetError until the daemon reports READY, and other errors if the program cannot be run."""
        program = self._root.imex_control()
        if program is None:
            raise NotYetError(f"nvidia-imex-ctl is not in the driver root {self._root.root}: is nvidia-imex installed?")
        # Upstream runs it in a chroot of the driver root, which needs privileges that the check does not need.
        done = subprocess.run(
            [str(program), "-q", f"--u={self._socket}"], capture_output=True, timeout=_TIMEOUT, check=False
        )
        output = (done.stdout + done.stderr).decode(errors="replace").strip()
        # As a word: NOT_READY holds the letters, too.
        if done.returncode != 0 or "READY" not in output.split():
            raise NotYetError(
                f"the host's nvidia-imex is not ready: nvidia-imex-ctl exits with {done.returncode} and says "
                f"{output[:300]!r}"
            )
