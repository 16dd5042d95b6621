"""The command line: the message and the exit code of each mistake. No test starts a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dra_conformance.cli import call
from dra_conformance.core.errors import ExitCode


def run_command(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = call(list(argv))
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("argv", "err"),
    [
        (
            ["rnu"],
            "error: unknown command 'rnu' (choose from run, again, list, explain, ",
        ),
        (["zzz"], "error: unknown command 'zzz' (choose from run, again, list, explain, "),
        (["run", "--drivr", "x"], "error: No such option '--drivr'. (Did you mean one of: '--driver'"),
        (
            ["run", "extra"],
            "error: Got unexpected extra argument (extra)\n  Run `dra-conformance run --help` for the options.",
        ),
        (
            ["run", "--driver"],
            "error: Option '--driver' requires an argument.\n  Run `dra-conformance run --help` for the options.",
        ),
        (
            ["control-plane", "serve", "--dir"],
            "error: Option '--dir' requires an argument.\n  Run `dra-conformance control-plane serve --help` for",
        ),
        (["run", "-n", "-1"], "error: Invalid value for '-n' / '--workers': -1 is not in the range"),
        (
            ["run", "--driver", "exce:x"],
            "error: unknown driver 'exce' (choose from reference, exec:COMMAND, nvidia[:RELEASE], socket:PATH, "
            "cluster, none)\n"
            "  Did you mean exec?\n",
        ),
        (["run", "--profile", "driver"], "error: unknown profile 'driver' (choose from driver-core, "),
        (["run", "--rule", "DRA-999"], "error: there is no rule 'DRA-999' in the catalogue\n  Did you mean DRA-"),
        (["run", "--focus", "("], "error: --focus '(': not a regular expression"),
        (["run", "--features", "nowhere"], "error: --features nowhere: no such directory\n"),
        (["run", "--inventory", "dgx-h10"], "error: --inventory dgx-h10: "),
        (["run", "--driver", "exec:no-such-program"], "error: --driver exec: no program 'no-such-program' in"),
        (["run", "--config", "nowhere.toml"], "error: cannot read nowhere.toml: No such file or directory\n"),
        (["run", "--dry-run", "--rule", "x"], "error: there is no rule 'x'"),
        (["explain", "DRA-999"], "error: there is no rule 'DRA-999' in the catalogue\n"),
        (["explain"], "error: Missing argument 'RULE'."),
        (["list", "--profile", "x"], "error: unknown profile 'x' (choose from driver-core, "),
        (["list", "--component", "x"], "error: unknown component 'x' (choose from control-plane, "),
        (
            ["mutants", "--rule", "x"],
            "error: no mutant matches\n  Run `dra-conformance mutants --list` for all mutants.\n",
        ),
        (["report", "nowhere"], "error: nowhere is not a report directory: events.jsonl is missing\n"),
        (["summary"], "error: cannot read dra-report: No such file or directory\n  Name a report.json, a report.yaml"),
        (["badge"], "error: cannot read dra-report: No such file or directory\n"),
        (["diff", "nowhere", "."], "error: cannot read nowhere: No such file or directory\n"),
        (["diff", "."], "error: Missing argument 'NEW'."),
        (["history", "nowhere"], "error: nowhere is not a folder\n"),
        (["verify", "nowhere"], "error: nowhere has no finished run: events.jsonl is missing\n"),
    ],
)
def test_wrong_use_gives_a_message_and_exit_code_4(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], err: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, message = run_command(capsys, *argv)
    assert message.startswith(err)
    assert (code, out) == (ExitCode.USAGE, "")
    assert list(tmp_path.iterdir()) == [], "a mistake must leave no folder behind"


def test_a_socket_that_is_not_there_ends_in_10(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run_command(capsys, "run", "--driver", "socket:/nowhere/reg.sock")
    assert code == ExitCode.TARGET_UNREACHABLE
    assert err == (
        "error: --driver socket:/nowhere/reg.sock: no such socket\n"
        "  Is the driver running, and is this the path of its registration socket?\n"
    )


@pytest.mark.parametrize(
    ("text", "err"),
    [
        ("seed = [\n", "error: dra-conformance.toml: not valid TOML: "),
        ("sead = 1\n", "error: dra-conformance.toml: unknown key 'sead'\n  Did you mean seed?\n"),
        ("seed = 'x'\n", "error: dra-conformance.toml: seed: Expected `int | null`, got `str`\n"),
    ],
)
def test_a_broken_configuration_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, err: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dra-conformance.toml").write_text(text)
    code, _, message = run_command(capsys, "run")
    assert code == ExitCode.USAGE
    assert message.startswith(err)


def test_an_inventory_with_an_impossible_gpu(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "node.yaml").write_text("gpus:\n  - board: no-such-board\n")
    code, _, err = run_command(capsys, "run", "--inventory", "node.yaml")
    assert code == ExitCode.USAGE
    assert err.startswith("error: --inventory node.yaml: node.yaml:1: ")


def test_an_output_folder_that_cannot_be(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, err = run_command(capsys, "run", "--out", str(tmp_path / "file"))
    assert (code, err) == (
        ExitCode.USAGE,
        f"error: cannot write to {tmp_path}/file: File exists\n  Use --out for another directory.\n",
    )


def test_without_a_command_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys)
    assert code == ExitCode.USAGE
    assert "Exit codes: 0 all scored checks passed" in out
    assert run_command(capsys, "--help")[0] == ExitCode.OK
    for name in ("run", "list", "explain", "mutants", "report", "summary", "diff", "history", "badge", "verify"):
        code, out, _ = run_command(capsys, name, "--help")
        assert code == ExitCode.OK
        assert "Example" in out or name in ("verify",)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from dra_api import __version__

    assert run_command(capsys, "--version") == (ExitCode.OK, f"dra-conformance {__version__}\n", "")


@pytest.mark.parametrize("what", ["rules", "scenarios", "profiles", "steps"])
def test_lists_end_with_their_number(capsys: pytest.CaptureFixture[str], what: str) -> None:
    code, out, _ = run_command(capsys, "list", what)
    code_json, as_json, _ = run_command(capsys, "list", what, "--format", "json")
    assert code == code_json == ExitCode.OK
    assert out.endswith(f"\n{len(json.loads(as_json)[what])} {what}\n")


def test_lists_narrow_down(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run_command(capsys, "list", "rules", "--component", "binder", "--format", "json")[1])["rules"]
    assert {row["component"] for row in rows} == {"binder"}
    rows = json.loads(run_command(capsys, "list", "scenarios", "--profile", "api", "--format", "json")[1])["scenarios"]
    assert all("api" in row["profiles"] for row in rows)


def test_listing_rules_needs_neither_pytest_nor_the_parts() -> None:
    """What is not imported cannot be slow."""
    code = (
        "import sys; from dra_conformance.cli import call; call(['list', 'rules']);"
        "heavy = {'pytest', 'grpc', 'kubernetes', 'reference_impl', 'pynvml', 'jinja2'} & set(sys.modules);"
        "print(sorted(heavy), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_a_dry_run_starts_nothing_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run_command(capsys, "run", "--dry-run", "--profile", "api", "--kubernetes-version", "1.34")
    assert code == ExitCode.OK
    assert out.rstrip().endswith("to run; nothing was started")
    assert any(line.startswith("not-applicable") and "(" in line for line in out.splitlines())
    assert run_command(capsys, "run", "--dry-run", "--focus", "nothing is called so")[0] == ExitCode.NOTHING_SELECTED
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_selects_nothing_says_how_to_find_out(tmp_path: Path) -> None:
    words = ["run", "--focus", "no-such-scenario", "--out", str(tmp_path / "report")]
    done = subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == ExitCode.NOTHING_SELECTED
    assert "--dry-run" in done.stdout
