"""A root file system of Debian packages, made by mmdebstrap from the mirror that this machine uses."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

SUITE = "bookworm"
# Documentation is left out, except the licences.
_WITHOUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*")


class DebianError(Exception):
    """mmdebstrap is missing or failed; the text has the cause and the next step."""


def write(target: Path, packages: Sequence[str], *, variant: str = "essential") -> None:
    """Write a root file system as a tar file.

    Args:
        target: the tar file.
        packages: names of packages, whose dependencies are added.
        variant: mmdebstrap's; `extract` unpacks the files of the packages and runs nothing of them.

    Raises: DebianError.
    """
    if shutil.which("mmdebstrap") is None:
        raise DebianError("mmdebstrap is not installed: on Debian or Ubuntu, `apt-get install mmdebstrap`")
    words = ["mmdebstrap", f"--variant={variant}", f"--include={','.join(packages)}"]
    words.append('--aptopt=APT::Install-Recommends "false"')
    words += [f"--dpkgopt=path-exclude={pattern}" for pattern in _WITHOUT]
    words += ["--dpkgopt=path-include=/usr/share/doc/*/copyright", SUITE, str(target)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join(done.stderr.strip().splitlines()[-6:])
        raise DebianError(f"mmdebstrap failed; apt must reach its mirror:\n{last}")
