"""The package on every Python that this machine has: `make interpreters`.

For each supported version, the wheel and the pinned dependencies are installed into an empty environment. There all
modules are imported, one chapter of the suite runs, and pytest collects the tests. Versions that the machine lacks are
listed as not run; the CI workflow has a job for each.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions that the project supports."""
_ROOT = Path(__file__).resolve().parents[1]
_PACKAGES = ("dra_api", "fake_nvml", "reference_impl", "apiserver_emulator", "dra_conformance")
_CHAPTER = "^nvml/"
_IMPORT_ALL = f"""
import importlib, pkgutil
names = [
    module.name
    for package in map(importlib.import_module, {_PACKAGES})
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    if not module.name.endswith("__main__")
]
for name in names:
    importlib.import_module(name)
print(len(names), "modules")
"""


def find(version: str) -> Path | None:
    """Return an interpreter of a version: from PATH, pyenv or uv; None if there is none that starts."""
    return next((path for path in _candidates(version) if _version_of(path).startswith(f"{version}.")), None)


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    for folder in os.get_exec_path():
        yield Path(folder) / name
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/{name}"), reverse=True)
    if uv := shutil.which("uv"):
        found = _output([uv, "python", "find", "--no-python-downloads", version])
        yield from map(Path, found.split("\n")[:1])


def _version_of(python: Path) -> str:
    # A shim of pyenv exists even if no version behind it does.
    words = [str(python), "-c", "import platform; print(platform.python_version())"]
    return _output(words) if python.is_file() else ""


def _output(words: Sequence[str]) -> str:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def check(python: Path, wheel: Path, folder: Path) -> str:
    """Install and try the wheel in a new environment; return what failed, or an empty string.

    Args:
        python: the interpreter.
        wheel: the wheel.
        folder: an empty folder for the environment.
    """
    own = folder / "venv/bin/python"
    # Not the packages of the checkout: what is imported and run is the wheel.
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    pip = [str(own), "-m", "pip", "--disable-pip-version-check", "--no-input", "-q", "install"]
    steps: dict[str, tuple[list[str], Path]] = {
        "environment": ([str(python), "-m", "venv", str(folder / "venv")], folder),
        "dependencies": ([*pip, "--require-hashes", "-r", str(_ROOT / "requirements/dev.txt")], folder),
        "wheel": ([*pip, "--no-deps", str(wheel)], folder),
        "imports": ([str(own), "-c", _IMPORT_ALL], folder),
        "suite": (
            [str(own), "-m", "dra_conformance", "run", "--focus", _CHAPTER, "--progress", "none", "--out", "report"],
            folder,
        ),
        "tests": ([str(own), "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "tests"], _ROOT),
    }
    for name, (words, cwd) in steps.items():
        done = subprocess.run(words, check=False, capture_output=True, text=True, cwd=cwd, env=clean)
        if done.returncode != 0:
            last = (done.stdout + done.stderr).strip().splitlines()[-8:]
            return "\n  ".join((f"{name} (exit code {done.returncode})", *last))
    return ""


def _build(folder: Path) -> Path:
    words = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel", "--no-deps"]
    subprocess.run([*words, "--no-build-isolation", "-w", str(folder), str(_ROOT)], check=True)
    return next(folder.glob("*.whl"))


def main(words: Sequence[str], *, versions: Iterable[str] = VERSIONS) -> int:
    """Try every version and print a table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m verification interpreters", description=__doc__)
    parser.add_argument("--wheel", type=Path, help="test this wheel (default: build one from the checkout)")
    parser.add_argument("--require", action="append", default=[], metavar="VERSION", help="fail if it is not found")
    options = parser.parse_args(words)
    passed: list[str] = []
    failed: list[str] = []
    absent: list[str] = []
    with tempfile.TemporaryDirectory(prefix="dra-interpreters-") as scratch:
        wheel = options.wheel.resolve() if options.wheel else _build(Path(scratch))
        for version in versions:
            python = find(version)
            if python is None:
                absent.append(version)
                print(f"{version:6} not run: not found", flush=True)
                continue
            exact = _version_of(python)
            folder = Path(scratch) / version
            folder.mkdir()
            problem = check(python, wheel, folder)
            (failed if problem else passed).append(exact)
            print(f"{version:6} {exact}: {f'FAILED: {problem}' if problem else 'ok'}", flush=True)
            shutil.rmtree(folder)
    required = sorted(set(absent) & set(options.require))
    parts = (("ok", passed), ("failed", failed), ("not found", absent), ("but required", required))
    print("interpreters: " + "; ".join(f"{name}: {', '.join(found)}" for name, found in parts if found))
    return int(bool(failed or required or not passed))
