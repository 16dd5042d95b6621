"""What the checks install: the official example driver with its chart, Sonobuoy, and an image for `kubectl cp`.

The images are made without a registry.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from deploy.images import archive, debian

EXAMPLE_DRIVER, READER, CHART = "example-driver.tar", "reader.tar", "example-driver-chart"
READER_IMAGE = "reader:local"
SONOBUOY, SONOBUOY_IMAGE = "sonobuoy.tar", "dra-conformance/sonobuoy:local"
_EXAMPLE_DRIVER_IMAGE = "registry.k8s.io/dra-example-driver/dra-example-driver:v0.4.0"
"""The name and tag in the driver's own chart."""
_MODULE, _CHART = "sigs.k8s.io/dra-example-driver@v0.4.0", "deployments/helm/dra-example-driver"
_PLUGIN = "dra-example-kubeletplugin"
_SONOBUOY = "sonobuoy"
_SHELL = ("sh", "tar", "sleep", "cat", "ls")


def prepare(folder: Path, *, bin_dir: Path) -> str:
    """Write what is not in the folder; return why something cannot be written, empty if all is there.

    This is done before the engine starts: there is no network inside its namespaces.
    """
    if not (bin_dir / _PLUGIN).is_file():
        return f"there is no {bin_dir / _PLUGIN} (python -m verification build dra-example-driver)"
    try:
        if not (folder / READER).is_file():
            reader(folder / READER)
        if not (folder / EXAMPLE_DRIVER).is_file():
            example_driver(folder / EXAMPLE_DRIVER, bin_dir=bin_dir)
        if not (folder / SONOBUOY).is_file() and (bin_dir / _SONOBUOY).is_file():
            sonobuoy(folder / SONOBUOY, bin_dir=bin_dir)
    except debian.DebianError as error:
        return str(error)
    return "" if (folder / CHART).is_dir() else _chart(folder / CHART)


def _chart(target: Path) -> str:
    """Copy the chart of the example driver out of its module; return why it cannot be."""
    try:
        done = subprocess.run(["go", "mod", "download", "-json", _MODULE], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "Go is not installed; it downloads the module of the example driver"
    if done.returncode != 0:
        return f"{_MODULE}: {json.loads(done.stdout or '{}').get('Error') or done.stderr.strip()}"
    # Files of the module cache are read-only, and those of the copy must not be.
    shutil.copytree(Path(json.loads(done.stdout)["Dir"], _CHART), target, copy_function=shutil.copyfile)
    for folder in (target, *target.rglob("*/")):
        folder.chmod(0o755)
    return ""


def example_driver(target: Path, *, bin_dir: Path) -> None:
    """Write an archive of the official example driver, as built from its module."""
    with tempfile.TemporaryDirectory(prefix="dra-image-", dir=target.parent) as folder:
        work = Path(folder)
        debian.write(work / "debian.tar", ("libc6",), variant="extract")
        with archive.Layer(work / "driver.tar") as layer:
            layer.file(f"usr/bin/{_PLUGIN}", bin_dir / _PLUGIN)
        image = archive.Image(tags=[_EXAMPLE_DRIVER_IMAGE], environment={"PATH": "/usr/bin"})
        archive.write(target, image, [work / "debian.tar", work / "driver.tar"])


def reader(target: Path) -> None:
    """Write an archive of an image with a shell and tar, as `kubectl cp` needs it."""
    with tempfile.TemporaryDirectory(prefix="dra-image-", dir=target.parent) as folder:
        work = Path(folder)
        debian.write(work / "debian.tar", ("busybox-static",), variant="extract")
        with archive.Layer(work / "links.tar") as layer:
            for name in _SHELL:
                layer.link(f"usr/bin/{name}", "/bin/busybox")
        image = archive.Image(tags=[READER_IMAGE], environment={"PATH": "/usr/bin"})
        archive.write(target, image, [work / "debian.tar", work / "links.tar"])


def sonobuoy(target: Path, *, bin_dir: Path) -> None:
    """Write an archive of Sonobuoy as its own image has it: the program alone."""
    with tempfile.TemporaryDirectory(prefix="dra-image-", dir=target.parent) as folder:
        layer = Path(folder, "sonobuoy.tar")
        with archive.Layer(layer) as made:
            made.file(_SONOBUOY, bin_dir / _SONOBUOY)
        archive.write(target, archive.Image(tags=[SONOBUOY_IMAGE]), [layer])
