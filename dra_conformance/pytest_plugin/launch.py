"""Runs the suite under pytest in this process, isolated from the user's pytest configuration."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from dra_conformance.components.work_folder import remove_all_abandoned
from dra_conformance.core.errors import ExitCode, UsageError, cannot_write
from dra_conformance.core.folder_lock import lock
from dra_conformance.core.interrupts import Interrupts
from dra_conformance.core.option_checks import check_workers
from dra_conformance.core.options import Order, RunOptions, to_json
from dra_conformance.engine import preflight
from dra_conformance.pytest_plugin import SUITE
from dra_conformance.pytest_plugin.session import STATE

# No plugin, conftest.py, cache or configuration of the user's own tests.
_PYTEST = (
    "--disable-plugin-autoload",
    *("-p", "pytest_bdd.plugin"),
    *("-p", "dra_conformance.pytest_plugin"),
    *("-p", "no:terminal"),
    *("-p", "no:cacheprovider"),
    *("-p", "no:unraisableexception"),  # runs the garbage collector five times at the end, which takes half a second
    # Log records go to the event log instead.
    *("-p", "no:logging"),
    # Plugins whose fixtures no step uses: pytest-bdd inspects every fixture before every step.
    *(
        word
        for name in ("doctest", "junitxml", "legacypath", "monkeypatch", "recwarn", "subtests")
        for word in ("-p", f"no:{name}")
    ),
    "--assert=plain",
    "--noconftest",
    *("-c", os.devnull),
)


def execute(
    options: RunOptions, *, workers: int | None = None, command: str = "", plugins: Sequence[object] = ()
) -> int:
    """Run the suite under pytest in this process, with further pytest plugins, and return the exit code.

    Raises KeyboardInterrupt if the user interrupts the run before it has a session that can report it.
    """
    preflight.check(options)
    check_workers(options, workers)
    folder = Path(options.out).absolute()
    temporary = folder / ".workers"
    spread = _spread(workers, temporary, fail_fast=options.fail_fast)
    handed = folder / ".order.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = lock(folder)
        handed.write_bytes(to_json(Order(options=options, command=command)))
    except OSError as error:
        with contextlib.suppress(OSError):  # it may not exist
            handed.unlink()
        raise cannot_write(error, handed) from None
    # pytest would add the user's options and plugins to this run.
    aside = {name: os.environ.pop(name) for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if name in os.environ}
    interrupts = Interrupts()  # until the session installs its own
    interrupts.install()
    try:
        words = ["--pyargs", SUITE, f"--dra-options={handed}", *_PYTEST, "--rootdir", str(folder), *spread]
        ending = _Ending()
        code = pytest.main(words, plugins=[*plugins, ending])
    finally:
        interrupts.restore()
        os.environ.update(aside)
        handed.unlink(missing_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        if workers:  # pytest-xdist kills a worker that does not end within 10 s
            remove_all_abandoned()
        os.close(held)
    if code == pytest.ExitCode.INTERRUPTED and not ending.reported:
        raise KeyboardInterrupt
    return ExitCode.USAGE if code == pytest.ExitCode.USAGE_ERROR else int(code)


class _Ending:
    """A pytest plugin that sees whether the session ended with a report: pytest itself prints nothing here."""

    def __init__(self) -> None:
        self.reported = False

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        state = config.stash.get(STATE, None)
        self.reported = state is not None and state.finished


def _spread(workers: int | None, temporary: Path, *, fail_fast: bool) -> list[str]:
    if not workers:
        return []
    try:
        import xdist  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise UsageError("-n requires pytest-xdist", hint="Run `pip install pytest-xdist`.") from None
    return ["-p", "xdist.plugin", "-n", str(workers), f"--basetemp={temporary}", *(["-x"] if fail_fast else [])]
