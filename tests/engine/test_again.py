"""`dra-conformance again`: repeats one scenario of a run with the options of its log."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import msgspec
import orjson
import pytest
from command_line import CommandLine
from invented_runs import InventedRun

from dra_conformance.cli import again, call
from dra_conformance.cli import cli as program
from dra_conformance.core.configuration import from_mapping, options_of
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.events import PlannedScenario, RunPlanned, RunStarted
from dra_conformance.core.events.log import encode, read
from dra_conformance.core.options import plain
from dra_conformance.report import files, repeat
from dra_conformance.report.build import build

BAD = "probe/bad#a-node-that-exists-is-expected-to-be-gone"


def run_of(
    given: dict[str, Any], *, profiles: tuple[str, ...] = ("driver-core",)
) -> tuple[PlannedScenario, RunStarted]:
    options = plain(from_mapping(given, where="test"))
    events = InventedRun(options=options).scenario("a", status="failed", profiles=profiles).events()
    started = next(event for event in events if isinstance(event, RunStarted))
    plan = next(event for event in events if isinstance(event, RunPlanned))
    return plan.scenarios[0], started


def stored_run(folder: Path, invented: InventedRun) -> None:
    folder.mkdir()
    events = invented.events()
    (folder / files.EVENTS).write_bytes(b"".join(encode(event) + b"\n" for event in events))
    files.write_all(build(events), folder, ["json"])


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_again_has_the_options_of_the_run_and_leaves_its_report(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("good", "bad"), "--watch-lag", "0.01", "--seed", "11", "--retries", "1")
    assert ended.code == ExitCode.FAILURES
    before = content(cli.folder / "dra-report")
    # Not read: the options are those of the run.
    (cli.folder / "dra-conformance.toml").write_text('patience = 30\nskip = ["bad"]\n')
    code, out, err = cli.run("again", BAD)
    assert code == ExitCode.FAILURES, out + err
    assert content(cli.folder / "dra-report") == before
    made = cli.folder / "dra-report-again"
    report = orjson.loads((made / "report.json").read_bytes())
    assert {row["id"]: row["status"] for row in report["scenarios"] if row["status"] != "filtered"} == {BAD: "failed"}
    assert report["seed"] == 11
    assert shlex.split(report["command"])[:3] == ["dra-conformance", "again", BAD]
    first, second = (
        next(event for event in read(folder / files.EVENTS) if isinstance(event, RunStarted)).options
        for folder in (cli.folder / "dra-report", made)
    )
    differing = {key for key in first if first[key] != second[key]}
    assert differing == {"focus", "out", "progress"}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {
            "driver-name": "nic.example.com",
            "driver": "exec:~/p --x 'a b'",
            "feature-gates": ["DRAConsumableCapacity=true"],
            "watch-lag": "0.1,pods=0.05",
            "patience": 7.5,
            "fail-fast": True,
            "allow-disruptive": True,
            "supported-features": ["configuration", "health"],
            "declaration": {"valid": ["{apiVersion: nic.example.com/v1, kind: X}"], "invalid": []},
            "report": ["json"],
        },
        {"control-plane": "kubeconfig:./k", "driver": "reference", "scheduler": "cluster"},
        {"control-plane": "kubeconfig:./k", "driver": "socket:/run/x.sock"},
        {"control-plane": "kind", "scheduler": "reference"},
    ],
    ids=["defaults", "many", "reference-driver-on-a-cluster", "running-driver", "reference-scheduler-on-kind"],
)
def test_all_options_are_those_of_the_run(given: dict[str, Any]) -> None:
    scenario, started = run_of({**given, "skip": ["b"], "rule": ["DRA-100"]})
    found = from_mapping(repeat.usable_options(scenario, started), where="test")
    home = {"driver": given["driver"].replace("~", str(Path.home()))} if "~" in given.get("driver", "") else {}
    wanted = from_mapping({**given, **home}, where="test")
    assert msgspec.structs.replace(found, focus=(), seed=None) == wanted
    # The command line that a failure shows means the same.
    words = shlex.split(repeat.command_line(scenario, started))[2:]
    run = program.get_command(click.Context(program), "run")
    assert run is not None
    params = run.make_context("run", words, **program.context_settings).params
    typed = options_of({name.replace("_", "-"): value for name, value in params.items()})
    assert msgspec.structs.replace(typed, focus=(), seed=None) == from_mapping(given, where="test")


def test_the_companions_of_a_component_are_repeated() -> None:
    companions = {"scheduler": {"manifests": ["a.yaml"]}}
    own = {"control-plane": "binaries", "scheduler": "exec:./s --kubeconfig={kubeconfig}"}
    scenario, started = run_of({**own, "companions": companions})
    assert repeat.usable_options(scenario, started)["companions"]["scheduler"]["manifests"] == ["a.yaml"]
    assert "companions" not in repeat.command_line(scenario, started)


def test_a_scenario_of_a_profile_on_request_is_selected_with_its_profile() -> None:
    scenario, started = run_of({"profile": ["fault-sweep"]}, profiles=("fault-sweep",))
    assert repeat.usable_options(scenario, started)["profile"] == ["fault-sweep"]
    assert "--profile fault-sweep" in repeat.command_line(scenario, started)


def test_a_secret_that_the_log_lacks_is_an_error() -> None:
    scenario, started = run_of({"driver": "exec:./p --token=abc"})
    with pytest.raises(UsageError, match="the option driver of the run had a secret") as error:
        repeat.usable_options(scenario, started)
    assert "--driver 'exec:./p --token=***'" in error.value.hint


def test_mistakes_have_a_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def message(*words: str) -> str:
        assert call(["again", *words]) == ExitCode.USAGE
        return capsys.readouterr().err

    assert message("x") == (
        "error: dra-report is not a report directory: events.jsonl is missing\n"
        "  Name the report directory of a run, or run the suite first.\n"
    )
    stored_run(tmp_path / "dra-report", InventedRun().scenario("prepares").scenario("restarts"))
    assert message("prepare") == (
        "error: the run in dra-report has no scenario 'prepare'\n  Did you mean probe/prepares#prepares?\n"
    )
    assert "Did you mean probe/restarts#restarts" in message("probe/restart#retarts")
    assert message("zzzz").endswith("`dra-conformance report dra-report` has the scenarios.\n")
    assert "--out ./dra-report is the report directory" in message("prepares", "--out", "./dra-report").replace(
        "--out dra-report", "--out ./dra-report"
    )
    stored_run(tmp_path / "cut", InventedRun())
    log = (tmp_path / "cut" / files.EVENTS).read_bytes().splitlines(keepends=True)
    (tmp_path / "cut" / files.EVENTS).write_bytes(log[0])
    assert "cut has no plan of a run" in message("x", "cut")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("driver", 7, "driver: Expected `str`, got `int`"),
        ("features", "x", "features: Expected `array`, got `str`"),
        ("of-a-newer-version", True, "unknown key 'of-a-newer-version'"),
        ("control-plane", ["x"], "control-plane: Expected `str`, got `array`"),
        ("scheduler", "nonsense", "unknown scheduler 'nonsense'"),
        ("companions", 7, "companions: Expected `object`, got `int`"),
    ],
)
def test_a_damaged_log_is_one_message(
    key: str, value: object, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored_run(tmp_path / "r", InventedRun(options={key: value}).scenario("a"))
    assert call(["again", "probe/a#a", str(tmp_path / "r")]) == ExitCode.USAGE
    text = capsys.readouterr()
    assert text.out == ""
    assert message in text.err
    assert len(text.err.splitlines()) <= 2


def test_a_scenario_is_found_by_id_place_and_name() -> None:
    row, _ = run_of({})
    other = msgspec.structs.replace(row, id="probe/b#b", where="features/probe/b.feature:9", name="twice")
    third = msgspec.structs.replace(other, id="probe/b#c", where="features/probe/b.feature:12")
    rows = [row, other, third]
    assert again.find("probe/b#b", rows, Path("r")) is other
    assert again.find("features/probe/b.feature:12", rows, Path("r")) is third
    assert again.find(row.name, rows, Path("r")) is row
    with pytest.raises(UsageError, match="'twice' is the name of 2 scenarios") as error:
        again.find("twice", rows, Path("r"))
    assert error.value.hint == "Name one of probe/b#b, probe/b#c."


@pytest.mark.parametrize(("folder", "expected"), [("dra-report", "dra-report-again"), ("runs/one/", "runs/one-again")])
def test_the_repetition_has_a_folder_beside_the_run(folder: str, expected: str) -> None:
    assert again.beside(Path(folder)) == Path(expected)


def test_completion_offers_scenarios_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("_DRA_CONFORMANCE_COMPLETE", "bash_complete")

    def offered(line: str, number: int) -> list[str]:
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(number))
        with pytest.raises(SystemExit):
            program.main([], prog_name="dra-conformance")
        return [text.partition(",")[2] for text in capsys.readouterr().out.splitlines() if text]

    assert offered("dra-conformance again ", 2) == []
    stored_run(tmp_path / "dra-report", InventedRun().scenario("good").scenario("bad", status="failed"))
    assert offered("dra-conformance again ", 2) == ["probe/bad#bad"]
    assert offered("dra-conformance again probe/g", 2) == ["probe/good#good"]
