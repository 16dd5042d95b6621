"""The image of the harness and the reference components, with the fake NVML inside.

It has Debian's Python, the wheel with its dependencies, and a shell for the simulated programs of fake nodes, but no
package manager. Processes run as user 65532, and write below /tmp only. `docker run IMAGE dra_conformance run` starts
the harness, `docker run IMAGE reference_impl scheduler` a component. The pods of ComputeDomains start
`compute-domain-daemon` in it, as root.
"""

from __future__ import annotations

import compileall
import hashlib
import py_compile
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import dra_api
from deploy.images import archive, debian

NAME = "dra-conformance"
USER = 65532
_ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = ("python3", "ca-certificates", "libstdc++6", "netbase", "tzdata", "busybox-static")
SHELL = ("sh", "cat", "rm")
"""The programs of busybox that the simulated programs use: nvidia-smi, nvidia-imex and others are shell scripts."""
SITE = "opt/dra-conformance"
"""The folder of the wheel and its dependencies."""
_PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/tmp:/sbin/nologin\n"
DAEMON = "usr/local/bin/compute-domain-daemon"
"""The program that the DaemonSets of ComputeDomains name."""
DAEMON_PROGRAM = """#!/usr/bin/python3
# The daemon of a ComputeDomain in a pod. The image has no nvidia-imex: a simulated one connects the pods over TCP.
import runpy
import sys

sys.argv[1:] = ["compute-domain-daemon", "--in-cluster", "--simulated-imex", *sys.argv[1:]]
runpy.run_module("reference_impl", run_name="__main__", alter_sys=True)
"""
_GROUP = f"root:x:0:\nnonroot:x:{USER}:\n"
# The interpreter that pip ran with must be the image's: compiled modules and bytecode are of one minor release.
PYTHON = (3, 11)


class ComponentImageError(Exception):
    """The wheel or its dependencies cannot be installed; the text has the cause."""


def image() -> archive.Image:
    """Return how the image is called and started."""
    return archive.Image(
        tags=[f"{NAME}:{dra_api.__version__}"],
        entrypoint=["/usr/bin/python3", "-m"],
        user=f"{USER}:{USER}",
        environment={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": f"/{SITE}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONUNBUFFERED": "1",
            "HOME": "/tmp",  # noqa: S108 - inside the container
            "LANG": "C.UTF-8",
        },
    )


def write(target: Path, *, report: Callable[[str], None] = lambda text: None) -> str:
    """Write the archive of the image and return the image's name.

    Args:
        target: the archive.
        report: receives a line for each step.

    Raises: ComponentImageError, DebianError.
    """
    if sys.version_info[:2] != PYTHON:
        wanted = ".".join(map(str, PYTHON))
        raise ComponentImageError(f"the image has Debian's Python {wanted}: run this with Python {wanted}, too")
    with tempfile.TemporaryDirectory(prefix="dra-image-", dir=target.parent) as folder:
        work = Path(folder)
        made = layers(work, report=report)
        report("writing the image")
        archive.write(target, image(), made)
    return image().tags[0]


def layers(work: Path, *, report: Callable[[str], None] = lambda text: None) -> list[Path]:
    """Write the layers of the image into a folder, and return them in their order. Raises as `write` does."""
    report("reading Debian packages")
    debian.write(work / "debian.tar", _PACKAGES, variant="extract")
    report("installing the wheel")
    _install(work)
    with archive.Layer(work / "site.tar") as layer:
        layer.text("etc/passwd", _PASSWD)
        layer.text("etc/group", _GROUP)
        for name in SHELL:
            layer.link(f"bin/{name}", "busybox")
        layer.folder("tmp", mode=0o1777)
        layer.text(DAEMON, DAEMON_PROGRAM, mode=0o755)
        layer.tree(SITE, work / "site")
    return [work / "debian.tar", work / "site.tar"]


def _install(work: Path) -> None:
    """Build the wheel and install it with its dependencies into the folder `site`."""
    wheels, site = work / "wheels", work / "site"
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(wheels), str(_ROOT))
    (wheel,) = wheels.glob("*.whl")
    # With its own hash, so that one call installs all: a second one would not add to the folder of scripts.
    own = work / "wheel.txt"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own.write_text(f"dra-conformance @ {wheel.resolve().as_uri()} --hash=sha256:{digest}\n")
    pinned = ("-r", str(_ROOT / "requirements.txt"), "-r", str(own))
    pip("install", "--no-compile", "--target", str(site), "--require-hashes", *pinned)
    compileall.compile_dir(
        str(site),
        quiet=2,
        workers=1,
        # The times of the files are those of the image, not those that the bytecode was made of.
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        stripdir=str(site),
        prependdir=f"/{SITE}",
    )


def pip(*arguments: str) -> None:
    """Call pip of this interpreter. Raises ComponentImageError."""
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "-q", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-6:])
        raise ComponentImageError(f"pip {arguments[0]} failed:\n{last}")
