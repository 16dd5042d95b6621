"""Run the suite under pytest in this process, isolated from the user's own pytest configuration."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.options import Order, RunOptions, to_json
from dra_conformance.engine import preflight
from dra_conformance.pytest_plugin import SUITE

# The run is ours, not the user's test run: no other plugin, no conftest.py, no cache, no rewritten bytecode.
_PYTEST = (
    "--disable-plugin-autoload",
    *("-p", "pytest_bdd.plugin"),
    *("-p", "dra_conformance.pytest_plugin"),
    *("-p", "no:terminal"),
    *("-p", "no:cacheprovider"),
    *("-p", "no:unraisableexception"),  # collects garbage five times at the end: half a second
    *("-p", "no:logging"),
    # Fixtures that no step uses: pytest-bdd asks each of them, before every step, whether it is the step's.
    *(
        word
        for name in ("doctest", "junitxml", "legacypath", "monkeypatch", "recwarn", "subtests")
        for word in ("-p", f"no:{name}")
    ),
    "--assert=plain",
    "--noconftest",
    *("-c", os.devnull),
)


def execute(options: RunOptions, *, workers: int | None = None, command: str = "") -> int:
    """Run the suite under pytest in this process; the exit code."""
    preflight.check(options)
    if options.component("driver").kind == "socket" and workers and workers > 1:
        raise UsageError("-n: one running driver cannot serve several workers at once", hint="Leave -n out.")
    folder = Path(options.out).absolute()
    temporary = folder / ".workers"
    spread = _spread(workers, temporary, fail_fast=options.fail_fast)
    handed = folder / ".order.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handed.write_bytes(to_json(Order(options=options, command=command)))
    except OSError as error:
        raise UsageError(
            f"cannot write to {error.filename}: {error.strerror}", hint="--out names another folder."
        ) from None
    aside = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if name in os.environ}
    # Until the session has handlers of its own (pytest_plugin/interrupts.py), which it takes back itself.
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = pytest.main(["--pyargs", SUITE, f"--dra-options={handed}", *_PYTEST, "--rootdir", str(folder), *spread])
    finally:
        signal.signal(signal.SIGTERM, previous)
        os.environ.update(aside)
        handed.unlink(missing_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
    return ExitCode.USAGE if code == pytest.ExitCode.USAGE_ERROR else int(code)


def _spread(workers: int | None, temporary: Path, *, fail_fast: bool) -> list[str]:
    if not workers:
        return []
    try:
        import xdist  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise UsageError("-n needs pytest-xdist", hint="pip install pytest-xdist") from None
    return ["-p", "xdist.plugin", "-n", str(workers), f"--basetemp={temporary}", *(["-x"] if fail_fast else [])]
