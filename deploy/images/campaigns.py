"""The image of long campaigns: that of the components, with a checkout, the tools of `make test` and dra-allocator.

Differential tests, the mutation survey and explorations need the source and the package `verification`, which the wheel
does not have. `docker run IMAGE verification.mutation_survey --help` starts one of them.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from deploy.images import archive, components

_ROOT = Path(__file__).resolve().parents[2]
_CHECKOUT, _TOOLS = "opt/checkout", "opt/tools"
_BUILT = "fake_nvml/lib"
"""What a checkout has after `make`, and git does not list."""
_PROGRAM = "dra-allocator"


def image() -> archive.Image:
    """Return how the image is called and started."""
    base = components.image()
    name, _, version = base.tags[0].rpartition(":")
    path = ":".join(f"/{folder}" for folder in (_CHECKOUT, components.SITE, _TOOLS))
    return replace(base, tags=[f"{name}-campaigns:{version}"], environment={**base.environment, "PYTHONPATH": path})


def write(target: Path, *, bin_dir: Path, report: Callable[[str], None] = lambda text: None) -> str:
    """Write the archive of the image and return the image's name.

    Args:
        target: the archive.
        bin_dir: the folder with dra-allocator.
        report: receives a line for each step.

    Raises: ComponentImageError, DebianError.
    """
    program = bin_dir / _PROGRAM
    if not program.is_file():
        raise components.ComponentImageError(f"there is no {program} (make third-party)")
    with tempfile.TemporaryDirectory(prefix="dra-image-", dir=target.parent) as folder:
        work = Path(folder)
        layers = components.layers(work, report=report)
        report("installing the tools of make test")
        requirements = ("--require-hashes", "-r", str(_ROOT / "requirements/dev.txt"))
        components.pip("install", "--no-compile", "--target", str(work / "tools"), *requirements)
        report("writing the image")
        with archive.Layer(work / "checkout.tar") as layer:
            layer.tree(_TOOLS, work / "tools")
            for name in _files():
                layer.copy(f"{_CHECKOUT}/{name}", _ROOT / name)
            layer.tree(f"{_CHECKOUT}/{_BUILT}", _ROOT / _BUILT)
            layer.file(f"{_CHECKOUT}/verification/bin/{_PROGRAM}", program)
        archive.write(target, image(), [*layers, work / "checkout.tar"])
    return image().tags[0]


def _files() -> list[str]:
    """Return the files of the checkout that git lists and that are there. Raises ComponentImageError."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise components.ComponentImageError(f"git ls-files: {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0") if name and (_ROOT / name).is_file()]
