"""A report folder on a full disk, and one that another run uses."""

from __future__ import annotations

import fcntl
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine

FOCUS = "claims/api_nodes#a-node-deletes-an-existing-slice-of-its-own"


def limit_files() -> None:
    """Let every file end at 100 kB, as on a full disk; Python gets EFBIG instead of ENOSPC."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["one-process", "workers"])
def test_a_full_disk_is_one_sentence_and_exit_code_3(cli: CommandLine, options: tuple[str, ...]) -> None:
    more: dict[str, Any] = {"preexec_fn": limit_files, "stderr": subprocess.STDOUT}
    words = ("run", "--progress", "plain", "--focus", FOCUS, *options)
    process = cli.start(*words, **more)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 3, out
    assert "Traceback" not in out
    assert "cannot write to " in out
    assert "File too large" in out
    cli.nothing_left()
    # What was written is usable.
    _, out, err = cli.run("report", "dra-report")
    assert "verdict    INVALID" in out, out + err


def test_evidence_that_cannot_be_written_is_one_sentence_and_exit_code_3(cli: CommandLine) -> None:
    folder = cli.folder / "dra-report"
    folder.mkdir()
    (folder / "failures").write_text("a file of the user")
    ended = cli.suite(*cli.features("bad"))
    assert ended.code == 3, ended.out
    assert "cannot write to dra-report/failures" in ended.out
    assert list(ended.statuses.values()) == ["failed"]


def test_a_second_run_in_the_same_folder_refuses(cli: CommandLine) -> None:
    folder = cli.folder / "dra-report"
    folder.mkdir()
    (folder / "events.jsonl").write_text("of the first run")
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    code, out, err = cli.run("run", *cli.features("good"))
    assert code == 4, out
    assert f"another run writes to {folder}" in err
    assert (folder / "events.jsonl").read_text() == "of the first run"
    os.close(descriptor)
    assert cli.suite(*cli.features("good")).code == 0


def test_the_pytest_entry_point_takes_the_lock_too(cli: CommandLine) -> None:
    folder = Path(cli.folder / "dra-report")
    folder.mkdir()
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    code, out, err = cli.run("--pyargs", "dra_conformance.scenarios", module="pytest")
    assert code == 4, out
    assert "another run writes to " in out + err
    os.close(descriptor)
