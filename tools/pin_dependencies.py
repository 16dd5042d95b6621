"""Write the files with the versions and hashes of everything that `make` installs: `make pins` (needs the network).

`constraints.txt` has the versions. The files with hashes are `requirements.txt` (the dependencies of the installed
package), `requirements/*.txt` (what develops, builds and releases it) and `tests/fake_nvml/clients/*.txt` (NVML's
users; each file is its own list of versions).
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_CLIENTS = _ROOT / "tests/fake_nvml/clients"
_HEAD = "# {}: `pip install --require-hashes -r {}`.\n# Written by `make pins`.\n"
_EXTRAS = ("release", "fuzz", "generate")
"""Installed beside `dev`, each when it is needed."""
_PIN = re.compile(r"^[A-Za-z0-9._-]+==[^\s;]+", re.MULTILINE)


def main() -> int:
    """Write all files again; return the exit code."""
    document = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    project = document["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    run: list[str] = project["dependencies"]
    build = [*document["build-system"]["requires"], "editables"]  # hatchling imports it for `pip install -e`
    for path, lines, content in (
        ("requirements.txt", run, "Dependencies of the installed package"),
        ("requirements/build.txt", build, "What builds the package"),
        ("requirements/zig.txt", ["ziglang"], "The C compiler for a machine that has none, and for releases"),
        # Both at once, since they share packages.
        ("requirements/dev.txt", [*run, *build, *extras["dev"]], "Dependencies of the package and of its tests"),
        *((f"requirements/{name}.txt", extras[name], f"The extra `{name}`") for name in _EXTRAS),
    ):
        print(path)
        _write(path, lines, content, "-c", "constraints.txt")
    for client in sorted(_CLIENTS.glob("*.txt")):
        # Its packages run beside those of the environment: only they are installed, without their dependencies.
        path = str(client.relative_to(_ROOT))
        print(path)
        _write(path, _PIN.findall(client.read_text()), "A user of NVML", "--no-deps")
    return 0


def _write(path: str, lines: Sequence[str], content: str, *options: str) -> None:
    words = ["uv", "pip", "compile", "-q", "--python-version", "3.11", "--universal", "--generate-hashes"]
    words += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", *options, "-"]
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, input="\n".join(lines), check=True, text=True, stdout=subprocess.PIPE, cwd=_ROOT)
    (_ROOT / path).write_text(_HEAD.format(content, path) + done.stdout)


if __name__ == "__main__":
    sys.exit(main())
