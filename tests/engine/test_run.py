"""Tests of complete runs, as processes: reports, interrupts, workers, and that nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
from pathlib import Path

import orjson
import pytest
from command_line import SUITE, CommandLine
from polling import wait_until

from dra_conformance.control_plane.own_objects import CLEANER
from dra_conformance.core.errors import ExitCode
from dra_conformance.report.verify import verify

ROWS = [f"good#a-node-is-there-n[{n}]" for n in range(1, 5)]
BAD = "bad#a-node-that-exists-is-expected-to-be-gone"
FILES = ["events.jsonl", "junit.xml", "report.html", "report.json", "report.yaml"]


def verified(cli: CommandLine) -> list[str]:
    """Return the findings of `verify`, in the folder of the run: its options have relative paths."""
    with contextlib.chdir(cli.folder):
        return verify(Path("dra-report"))[1]


def test_a_run_reports_every_scenario_and_verifies(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("good"), "--seed", "5", "--report", "json,yaml,junit,html")
    assert ended.code == ExitCode.OK
    assert ended.statuses == dict.fromkeys(ROWS, "passed")
    assert ended.report["verdict"] == "partial", "a selection is never conformant"
    assert ended.report["seed"] == 5
    assert ended.report["command"].startswith("dra-conformance run --progress plain --features probe")
    assert sorted(path.name for path in (cli.folder / "dra-report").iterdir()) == FILES
    assert sorted(path.name for path in cli.folder.iterdir()) == ["dra-report", "probe"]
    assert verified(cli) == []
    assert re.search(r"^probe +█+ +4/4 ", ended.out, re.MULTILINE)


def test_a_failure_shows_rule_expected_value_and_evidence(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("good", "bad"), "--report", "json,junit")
    assert ended.code == ExitCode.FAILURES
    assert ended.report["verdict"] == "not-conformant"
    assert ended.statuses == {**dict.fromkeys(ROWS, "passed"), BAD: "failed"}
    assert "✗ DRA-100 MUST failed" in ended.out
    assert "expected  no such object" in ended.out
    assert (cli.folder / "dra-report" / "failures" / f"probe.{BAD}" / "objects.json").is_file()
    repeat = re.search(r"repeat +dra-conformance (.*)", ended.out)
    assert repeat is not None
    assert "--features probe" in repeat[1]
    code, out, _ = cli.run("report")
    assert code == ExitCode.OK
    assert "✗ DRA-100 MUST failed" in out
    assert cli.run("report", "--format", "junit")[1] == (cli.folder / "dra-report" / "junit.xml").read_text()


def test_fail_fast_stops_at_the_first_failure(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("bad", "good"), "--fail-fast")
    assert ended.code == ExitCode.FAILURES
    assert ended.statuses == {BAD: "failed", **dict.fromkeys(ROWS, "filtered")}
    assert not ended.report["interrupted"]


def test_nothing_selected(cli: CommandLine) -> None:
    ended = cli.suite("--focus", "nothing is called so")
    assert ended.code == ExitCode.NOTHING_SELECTED
    assert ended.report["verdict"] == "invalid"


def test_a_verdict_below_the_required_one(cli: CommandLine) -> None:
    assert cli.suite(*cli.features("good"), "--require", "conformant").code == ExitCode.BELOW_REQUIRED


def test_waivers_from_the_configuration_file(cli: CommandLine) -> None:
    waiver = '[[waivers]]\nrule = "DRA-100"\nowner = "ann"\nreason = "known"\nexpires = 2100-01-01\n'
    (cli.folder / "dra-conformance.toml").write_text(waiver)
    ended = cli.suite(*cli.features("bad"))
    assert ended.code == ExitCode.OK
    assert ended.report["ruleStatistics"]["waived"] == 1
    (cli.folder / "probe" / "bad.feature").unlink()
    # Rules of scenarios that were left out are filtered; a waiver is stale only where its rule really passed.
    ended = cli.suite(*cli.features("good"))
    assert ended.report["waivers"][0]["state"] in ("active", "stale")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Given nobody knows this", "undefined step: Given nobody knows this"),
        ('Given the manifest "probe/missing"', None),
    ],
)
def test_an_undefined_step_is_an_error_of_the_suite(cli: CommandLine, text: str, said: str | None) -> None:
    options = cli.features("good")
    feature = f'@profile:api\nFeature: F\n  @DRA-100\n  Scenario: S\n    {text}\n    Then the Node "n" still exists\n'
    (cli.folder / "probe" / "odd.feature").write_text(feature)
    ended = cli.suite(*options)
    assert ended.code == ExitCode.HARNESS_ERROR
    assert ended.report["verdict"] == "invalid"
    if said:
        assert ended.report["problems"][0]["message"].startswith("probe/odd.feature:5: " + said)
        assert f"problem: probe/odd.feature:5: {said}" in ended.out
    else:
        assert ended.statuses["odd#s"] == "error"
        assert "there is no manifest fixtures/probe/missing" in ended.out


def test_an_unknown_tag_and_broken_gherkin_end_the_run_before_it_starts(cli: CommandLine) -> None:
    options = cli.features("good")
    (cli.folder / "probe" / "odd.feature").write_text("@profile:ap\nFeature: F\n  Scenario: S\n    Then x\n")
    ended = cli.suite(*options)
    assert (ended.code, ended.statuses) == (ExitCode.HARNESS_ERROR, {})
    assert "problem: probe/odd.feature:3: unknown tag @profile:ap\n  Did you mean @profile:api?" in ended.out
    (cli.folder / "probe" / "odd.feature").write_text("Feature: F\n  Scenario: S\n    Given x\n    nonsense\n")
    ended = cli.suite(*options)
    assert ended.code == ExitCode.HARNESS_ERROR
    assert "problem: probe/odd.feature:4: does not parse as Gherkin" in ended.out


def test_pytest_settings_of_the_user_have_no_effect(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    (cli.folder / "conftest.py").write_text("raise SystemExit('the conftest of somebody else')\n")
    (cli.folder / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    monkeypatch.setitem(os.environ, "PYTHONWARNINGS", "ignore")
    assert cli.suite(*cli.features("good")).code == ExitCode.OK


WAITING = b'"then","text":"the Node'
"""In the log from the begin of the step that waits. The plan, an earlier event, has the step's text too."""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["one-process", "workers"])
def test_a_signal_ends_the_run_with_a_report(cli: CommandLine, number: int, workers: list[str]) -> None:
    options = [*cli.features("good", "slow"), "--patience", "60", *workers]
    ended = cli.suite(
        *options,
        signal_when=lambda log: WAITING in log and log.count(b'"scenario-finished"') >= 4,
        number=number,
    )
    assert ended.code == ExitCode.INTERRUPTED
    assert ended.report["interrupted"]
    assert ended.report["exitCode"] == ExitCode.INTERRUPTED
    assert ended.statuses == {
        **dict.fromkeys(ROWS, "passed"),
        "slow#a-wait-never-ends": "filtered",
    }
    assert "interrupted" in ended.out
    assert verified(cli) == []


LOST = """
import os, signal

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), signal.{signal})  # Python drops what a handler raises in here

def pytest_bdd_before_step(step):
    if "{step}" in step.name:
        Dropped()
"""


@pytest.mark.parametrize(
    ("number", "step"),
    [(signal.SIGINT, "still exists"), (signal.SIGTERM, "is gone")],
    ids=["in-a-step-that-passes", "in-a-step-that-waits"],
)
def test_an_interrupt_that_python_drops_ends_the_run_too(cli: CommandLine, number: signal.Signals, step: str) -> None:
    cli.features("good", "slow")
    (cli.folder / "lost.py").write_text(LOST.format(signal=number.name, step=step))
    own = ["-p", "no:cacheprovider", "-p", "no:unraisableexception", "-p", "lost"]
    own += ["-k", "a_node_is_there or a_wait_never_ends", "--dra-features", "probe", "--dra-patience", "60"]
    process = cli.start("--pyargs", SUITE, *own, module="pytest")
    process.communicate(timeout=120)
    assert process.returncode == ExitCode.INTERRUPTED
    cli.nothing_left()
    report = orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())
    assert report["interrupted"]
    rows = {row["id"]: row["status"] for row in report["scenarios"] if row["id"].startswith("probe/")}
    passed = 0 if step == "still exists" else 4
    assert sorted(rows.values()) == ["filtered"] * (5 - passed) + ["passed"] * passed


AT_A_THREAD = """
import os, signal, threading

start = threading.Thread.start

def interrupted(self):
    if self.name.startswith("{thread}"):
        os.kill(os.getpid(), signal.SIGINT)
    start(self)

threading.Thread.start = interrupted
"""


@pytest.mark.parametrize(
    "thread", ["apiserver-controllers", "apiserver-https", "informer-dra-conformance", "fault-proxy"]
)
def test_an_interrupt_while_a_component_starts_ends_the_run(cli: CommandLine, thread: str) -> None:
    cli.features("slow")
    (cli.folder / "early.py").write_text(AT_A_THREAD.format(thread=thread))
    own = ["-p", "no:cacheprovider", "-p", "early", "-k", "a_wait_never_ends", "--dra-features", "probe"]
    process = cli.start("--pyargs", SUITE, *own, "--dra-watch-lag", "0.01", module="pytest")
    out, err = process.communicate(timeout=120)
    assert process.returncode == ExitCode.INTERRUPTED, out + err
    cli.nothing_left()
    assert orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())["interrupted"]


STOP_FAILS = """
from apiserver_emulator.emulator import ApiServerEmulator as Emulator

stop = Emulator.stop

def failing(self):
    stop(self)
    raise RuntimeError("one part is stuck")

Emulator.stop = failing
"""


def test_a_component_that_does_not_stop_makes_the_run_invalid(cli: CommandLine) -> None:
    cli.features("good")
    (cli.folder / "stuck.py").write_text(STOP_FAILS)
    own = ["-p", "no:cacheprovider", "-p", "stuck", "-k", "a_node_is_there", "--dra-features", "probe"]
    process = cli.start("--pyargs", SUITE, *own, module="pytest")
    out, err = process.communicate(timeout=120)
    assert process.returncode == ExitCode.HARNESS_ERROR, out + err
    cli.nothing_left()
    report = orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())
    assert report["verdict"] == "invalid"
    assert "the components did not stop: RuntimeError: one part is stuck" in out


def test_a_second_ctrl_c_does_not_stop_the_clean_up(cli: CommandLine) -> None:
    process = cli.start("run", *cli.features("slow"), "--patience", "60")
    wait_until(lambda: WAITING in cli.logged())
    os.killpg(process.pid, signal.SIGINT)
    for _ in range(5):
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED, f"{out}\n{err}"
    cli.nothing_left()


def test_a_killed_run_leaves_a_log_for_a_report(cli: CommandLine) -> None:
    process = cli.start("run", *cli.features("good", "slow"), "--patience", "60")
    wait_until(lambda: WAITING in cli.logged())
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    for line in cli.processes():
        assert "reference_impl" in line, "only what ran as a program of its own can outlive a SIGKILL"
    wait_until(lambda: cli.processes() == [])
    left = list(cli.temp.iterdir())
    assert [path.name.partition("-")[0] for path in left] == ["dra"]
    (cli.folder / "dra-report" / ".order.json").unlink()
    process = cli.start("report")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == ExitCode.OK
    assert "interrupted" in out


def test_the_next_run_removes_the_folder_of_a_killed_one_and_no_other(cli: CommandLine) -> None:
    process = cli.start("run", *cli.features("slow"), "--patience", "60")
    wait_until(lambda: WAITING in cli.logged())
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until(lambda: cli.processes() == [])
    (left,) = cli.temp.iterdir()
    foreign = cli.temp / "dra-somebody-elses"
    foreign.mkdir()
    (cli.folder / "probe" / "slow.feature").unlink()
    cli.start("run", *cli.features("good"), "--progress", "none").communicate(timeout=120)
    assert list(cli.temp.iterdir()) == [foreign]
    assert not left.exists()
    foreign.rmdir()


def test_a_run_removes_the_folders_of_its_killed_workers(cli: CommandLine) -> None:
    # pytest-xdist kills a worker whose cleanup takes more than 10 s, as on a busy machine.
    process = cli.start("run", *cli.features("slow"), "--patience", "60", "-n", "2", "--report", "json")
    wait_until(lambda: WAITING in cli.logged())
    workers = {owner(folder) for folder in cli.temp.glob("dra-*")} - {process.pid}
    assert workers
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=120)
    wait_until(lambda: cli.processes() == [])
    cli.nothing_left()


def owner(folder: Path) -> int:
    """Return the process that has the lock of a run's folder open."""
    (lock,) = folder.glob("*.lock")
    return next(int(fd.parts[2]) for fd in Path("/proc").glob("[0-9]*/fd/*") if readlink(fd) == str(lock))


def readlink(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:  # of a process that has ended
        return ""


def test_every_component_has_its_own_user_agent(cli: CommandLine) -> None:
    ended = cli.suite("--focus", "^(imex|mig)/end_to_end")
    assert ended.code == ExitCode.OK
    log = (cli.folder / "dra-report" / "events.jsonl").read_bytes().splitlines()
    agents = {event["agent"] for event in map(orjson.loads, log) if event["kind"] == "api"}
    parts = {
        "reference-claim-controller",
        "reference-scheduler",
        "reference-binder",
        "gpu-kubelet-plugin",
        "reference-compute-domain-controller",
        "reference-compute-domain-plugin",
        "simulated-imex-daemons",
        "kubelet",
    }
    # The cleanup writes only where a controller had not removed everything in time.
    assert agents - {CLEANER} == {"dra-conformance", *parts}


def test_workers_give_the_same_results(cli: CommandLine) -> None:
    alone = cli.suite(*cli.features("good", "bad"), "--seed", "3")
    spread = cli.suite(*cli.features("good", "bad"), "--seed", "3", "-n", "2")
    assert spread.code == alone.code == ExitCode.FAILURES
    assert spread.statuses == alone.statuses
    for key in ("verdict", "statistics", "ruleStatistics"):
        assert spread.report[key] == alone.report[key]
    assert re.search(r"^probe +█+ +5/5 ", spread.out, re.MULTILINE)
    assert not list((cli.folder / "dra-report").glob("events.gw*"))
    assert verified(cli) == []


def test_workers_and_fail_fast(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("bad", "good"), "--fail-fast", "-n", "2")
    assert ended.code == ExitCode.FAILURES
    assert ended.statuses[BAD] == "failed"
    assert not ended.report["interrupted"]


# -- pytest's own cli -------------------------------------------------------------------------------------------------


def pytest_run(cli: CommandLine, *args: str) -> tuple[int, str, dict[str, str]]:
    import orjson

    cli.features("good", "bad")
    own = ["-p", "no:cacheprovider", "--dra-features", "probe", "--dra-rule", "DRA-100", "--dra-patience", "0.5"]
    code, out, _ = cli.run("--pyargs", SUITE, *own, *args, module="pytest")
    report = orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())
    rows = {r["id"].removeprefix("probe/"): r["status"] for r in report["scenarios"] if r["id"].startswith("probe/")}
    return code, out, rows


def test_pytest_selects_by_keyword(cli: CommandLine) -> None:
    code, out, rows = pytest_run(cli, "-k", "a_node_is_there or a_node_that_exists")
    assert code == ExitCode.FAILURES
    assert rows == {**dict.fromkeys(ROWS, "passed"), BAD: "failed"}
    assert re.search(r"1 failed, \d+ passed", out)
    assert "expected no such object" in out


def test_pytest_selects_by_marker_and_stops_at_the_first_failure(cli: CommandLine) -> None:
    code, _, rows = pytest_run(
        cli, "-x", "-m", "DRA-100 and profile_claim_lifecycle", "-k", "a_node_is_there or a_node_that_exists"
    )
    assert code == ExitCode.FAILURES
    assert rows == {BAD: "failed", **dict.fromkeys(ROWS, "filtered")}


def test_pytest_spreads_over_workers(cli: CommandLine) -> None:
    code, _, rows = pytest_run(cli, "-n", "2", "--basetemp", "temp", "-k", "a_node_is_there or a_node_that_exists")
    assert code == ExitCode.FAILURES
    assert rows == {**dict.fromkeys(ROWS, "passed"), BAD: "failed"}


def test_pytest_reports_mistakes_as_usage_errors(cli: CommandLine) -> None:
    code, out, err = cli.run("--pyargs", SUITE, "-p", "no:cacheprovider", "--dra-driver", "exce:x", module="pytest")
    assert code == ExitCode.USAGE
    assert "ERROR: unknown driver 'exce' (choose from reference" in out + err
    code, out, err = cli.run("--pyargs", SUITE, "-p", "no:cacheprovider", "--dra-seed", "x", module="pytest")
    assert code == ExitCode.USAGE
    assert "argument --dra-seed: invalid int value: 'x'" in out + err


def test_the_plugin_has_no_effect_on_other_test_runs(cli: CommandLine) -> None:
    (cli.folder / "test_x.py").write_text(
        "import sys\ndef test_x(): assert 'dra_conformance.pytest_plugin.runner' not in sys.modules\n"
    )
    code, out, _ = cli.run("-p", "no:cacheprovider", "-q", module="pytest")
    assert code == 0, out
    assert not (cli.folder / "dra-report").exists()


# -- progress ----------------------------------------------------------------------------------------------------------


def test_a_run_ends_normally_if_the_reader_of_its_output_is_gone(cli: CommandLine) -> None:
    process = cli.start("run", *cli.features("good", "bad"))
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("dra-conformance  rules ")
    process.stdout.close()
    assert process.wait(120) == ExitCode.FAILURES
    assert process.stderr.read() == ""
    process.stderr.close()
    report = orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())
    assert report["exitCode"] == ExitCode.FAILURES
    cli.nothing_left()


def test_progress_is_live_on_a_terminal_and_plain_elsewhere(cli: CommandLine) -> None:
    ours, theirs = pty.openpty()
    process = cli.start("run", *cli.features("good", "bad"), stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:
            break
        if not chunk:
            break
        said += chunk
    assert process.wait(60) == ExitCode.FAILURES
    os.close(ours)
    assert b"\r\x1b[2K" in said
    assert b"\x1b[31m" in said
    code, out, _ = cli.run("run", *cli.features("good", "bad"))
    assert code == ExitCode.FAILURES
    assert "\x1b" not in out
    assert "\r" not in out


def test_progress_can_be_silent(cli: CommandLine) -> None:
    assert cli.run("run", *cli.features("good"), "--progress", "none") == (ExitCode.OK, "", "")


def test_a_terminal_without_unicode_is_supported(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    code, out, _ = cli.run("run", *cli.features("bad"))
    assert code == ExitCode.FAILURES
    assert "? DRA-100 MUST failed" in out


# -- a cluster ---------------------------------------------------------------------------------------------------------


def test_an_unreachable_cluster(cli: CommandLine, tmp_path: Path) -> None:
    from apiserver_emulator.emulator import ApiServerEmulator

    with ApiServerEmulator(directory=tmp_path / "api") as cluster:
        kubeconfig = cluster.kubeconfig
    # Nothing listens there any more.
    ended = cli.suite(*cli.features("good"), "--control-plane", f"kubeconfig:{kubeconfig}")
    assert ended.code == ExitCode.TARGET_UNREACHABLE
    assert ended.report["verdict"] == "invalid"
    assert "problem: " in ended.out


def test_a_kubeconfig_that_does_not_exist_is_a_usage_error(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("good"), "--control-plane", "kubeconfig:nowhere")
    assert ended.code == ExitCode.USAGE
    assert "cannot use the kubeconfig nowhere: no such file" in ended.err
    assert not (cli.folder / "dra-report").exists(), "the report of an earlier run stays"


def test_a_cluster_behind_a_kubeconfig(cli: CommandLine, tmp_path: Path) -> None:
    from apiserver_emulator.emulator import ApiServerEmulator

    with ApiServerEmulator(directory=tmp_path / "api") as cluster:
        ended = cli.suite(
            *cli.features("good"),
            *("--skip", r"\[[234]\]"),  # on a cluster waiting for quiet takes seconds
            *("--control-plane", f"kubeconfig:{cluster.kubeconfig}"),
            *("--claim-controller", "reference", "--scheduler", "none"),
        )
        assert ended.code == ExitCode.OK, ended.out
        assert ended.statuses == {ROWS[0]: "passed", **dict.fromkeys(ROWS[1:], "filtered")}
        assert ended.report["evidenceClass"] == "rehearsal"
        assert ended.report["target"]["kubernetesVersion"].startswith("v1.37")


FAILS_ONCE = """
from dra_conformance.cli import main
from dra_conformance.engine.checks import Checks

judge, judged = Checks.check, []

def check(self, ok, message, **more):
    judged.append(message)
    judge(self, ok and len(judged) > 1, message, **more)

Checks.check = check
main()
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_scenario_that_passes_on_a_retry_is_flaky(cli: CommandLine, workers: list[str]) -> None:
    (cli.folder / "fails_once.py").write_text(FAILS_ONCE)
    retried = ["run", "--progress", "plain", *cli.features("good"), "--focus", "^probe/good#.*1", "--retries", "2"]
    code, out, _ = cli.run(*retried, *workers, module="fails_once" if not workers else "dra_conformance")
    report = orjson.loads((cli.folder / "dra-report" / "report.json").read_bytes())
    if workers:  # each has a process of its own, where nothing fails: retries alone change nothing
        assert (code, report["verdict"]) == (ExitCode.OK, "partial")
        return
    assert code == ExitCode.FAILURES
    assert {row["status"] for row in report["scenarios"] if row["id"].startswith("probe/")} == {"passed", "flaky"}
    assert "passed on a retry only; at first: " in out
    assert cli.run("verify")[0] == ExitCode.OK


def test_a_scenario_that_fails_each_retry_is_failed(cli: CommandLine) -> None:
    ended = cli.suite(*cli.features("bad"), "--retries", "2", "--fail-fast")
    assert ended.code == ExitCode.FAILURES
    assert ended.statuses == {BAD: "failed"}
    assert cli.logged().count(b'"kind":"retry"') == 2


EARLY = """
import os, signal
from dra_conformance.cli import main
from dra_conformance.engine import plan

def interrupted(*args, **kwargs):
    exec("os.kill(os.getpid(), signal.SIGINT)")  # CPython remembers an interrupt of such code, see run_to_exit

plan.make = interrupted
main(["run", "--report", "json"])
"""


def test_an_interrupt_before_the_plan_says_so(cli: CommandLine) -> None:
    (cli.folder / "early.py").write_text(EARLY)
    assert cli.run(module="early") == (ExitCode.INTERRUPTED, "", "\ninterrupted\n")
    assert [path.name for path in (cli.folder / "dra-report").iterdir()] == ["events.jsonl"]  # of no scenario
