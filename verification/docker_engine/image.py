"""The image that replaces k3s': the Kubernetes programs, containerd, and the program that starts them.

Its name states that it is not k3s; its tag is the release of the programs. It is built locally from built third-party
programs.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

NAME = "not-k3s-but-its-contract"
_PROGRAMS = ("control-plane", "containerd", "containerd-shim-runc-v2", "dra-node")
_LINKS = {
    **dict.fromkeys(
        ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"), "control-plane"
    ),
    # The image has no shell and no other tools: the program `k3s` acts as these commands, too.
    **dict.fromkeys(("cat", "mount", "rm", "umount"), "k3s"),
    "dra-loopback": "dra-node",
}
ENTRYPOINT = ("/bin/k3s",)


def write(target: IO[bytes], *, bin_dir: Path) -> None:
    """Write the image's files as a tar archive."""
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, path in _files(bin_dir):
            archive.add(path.resolve(), name)
        for name, points_at in _LINKS.items():
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, points_at
            archive.addfile(link)


def _files(bin_dir: Path) -> Iterator[tuple[str, Path]]:
    yield "bin/k3s", bin_dir / "dra-cluster"
    for name in _PROGRAMS:
        yield f"bin/{name}", bin_dir / name


def needed(bin_dir: Path) -> Sequence[str]:
    """Return the files of the image that are not built."""
    return [path.name for _, path in _files(bin_dir) if not path.exists()]


def changes(entrypoint: Sequence[str] = ENTRYPOINT) -> list[str]:
    """Return the image's metadata as Dockerfile lines."""
    quoted = ", ".join(f'"{word}"' for word in entrypoint)
    return [f"ENTRYPOINT [{quoted}]", "ENV PATH=/bin"]


def nothing() -> bytes:
    """A tar archive without files."""
    made = io.BytesIO()
    tarfile.open(fileobj=made, mode="w").close()
    return made.getvalue()
