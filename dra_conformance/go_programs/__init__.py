"""Go programs that options of the harness need: their sources, and how to build them.

`control_plane` links Kubernetes' own programs and etcd into one (`--control-plane binaries`); `containers` holds
containerd, runc and the process that every container of a scenario runs (`--kubelet kubelet`). The modules pin every
version; nothing is downloaded until `dra-conformance control-plane install --build` runs.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).resolve().parent
"""The folder of the Go modules."""

_NO_SNAPSHOTTERS = "no_btrfs,no_devmapper,no_zfs"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoProgram:
    """One program to build from a Go module.

    `package` is the import path or a relative folder; `env` adds to the environment of the Go command.
    """

    program: str
    package: str = "."
    ldflags: str = "-s -w"
    tags: str = ""
    modfile: str = ""
    env: Mapping[str, str] = field(default_factory=lambda: {"CGO_ENABLED": "0"})

    def build(self, go: str, module: Path, out: Path) -> subprocess.CompletedProcess[bytes]:
        """Compile the program into the folder `out`.

        Args:
            go: path of the Go command.
            module: folder of the module.
            out: folder that the program is written to; it must exist.

        Returns: the finished Go command with its output; the caller judges the exit code.
        """
        words = [go, "build", "-trimpath", "-ldflags", self.ldflags]
        if self.tags:
            words += ["-tags", self.tags]
        if self.modfile:
            words += ["-modfile", self.modfile]
        words += ["-o", str(out / self.program), self.package]
        return subprocess.run(words, cwd=module, env={**os.environ, **self.env}, capture_output=True, check=False)


CONTAINERD_VERSION = "v2.3.7"

CONTAINERS: tuple[GoProgram, ...] = (
    GoProgram(
        program="containerd",
        package="github.com/containerd/containerd/v2/cmd/containerd",
        tags=_NO_SNAPSHOTTERS,
        ldflags=f"-s -w -X github.com/containerd/containerd/v2/version.Version={CONTAINERD_VERSION}",
    ),
    GoProgram(
        program="containerd-shim-runc-v2", package="github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
    ),
    GoProgram(program="ctr", package="github.com/containerd/containerd/v2/cmd/ctr", tags=_NO_SNAPSHOTTERS),
    # Without libseccomp, whose headers few machines have; docs/how-to/real-kubelet.md explains what that changes.
    GoProgram(program="runc", package="github.com/opencontainers/runc", env={"CGO_ENABLED": "1"}),
    GoProgram(program="dra-node", package="./node"),
)
"""The programs of a node with real containers, from the module `containers`."""
