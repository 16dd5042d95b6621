"""The suite as a plugin of Sonobuoy: its manifest, and that every end of a run hands results over.

The tests have the part of Sonobuoy's worker, which waits for `done`, and of its aggregator, which reads the results.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import kubernetes_validate
import pytest
import yaml

from dra_conformance.cli import call, run
from dra_conformance.core.configuration import options_of
from dra_conformance.core.errors import ExitCode
from dra_conformance.rbac import job
from dra_conformance.report import sonobuoy

SCENARIO = "allocation/scheduling#devices-of-a-node-are-allocated-for-this-node"
RUN = ("--control-plane", "embedded", "--focus", f"^{SCENARIO} ")


def plugin(results: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dra_conformance", "sonobuoy", *words],
        env={**os.environ, "SONOBUOY_RESULTS_DIR": str(results)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def under_way(process: subprocess.Popen[str]) -> bool:
    """Wait until the run has a plan, and so a report."""
    assert process.stdout is not None
    return any(line.startswith("plan ") for line in process.stdout)


def received(results: Path) -> Mapping[str, str]:
    """Return what the worker sends: the status of each case by its name, of all files that the manifest names."""
    named = Path((results / "done").read_text().strip())
    cases: dict[str, str] = {}
    with tarfile.open(named) as archive:
        for member in archive.getmembers():
            assert member.isdir() or (member.isreg() and member.mode & 0o004), member.name
            content = archive.extractfile(member)
            if content is None or Path(member.name).name not in sonobuoy.RESULT_FILES:
                continue
            for case in ET.fromstring(content.read()).iter("testcase"):  # noqa: S314 - our own
                found = [one for one in ("failure", "error", "skipped") if case.find(one) is not None]
                cases[case.attrib["name"]] = found[0] if found else "passed"
    return cases


def verdict(results: Path) -> ET.Element:
    (case,) = ET.parse(results / sonobuoy.VERDICT).iter("testcase")  # noqa: S314 - our own
    return case


def message(results: Path) -> str:
    failure = verdict(results).find("failure")
    return "" if failure is None else failure.attrib["message"]


def test_a_run_that_passes_is_passed_for_sonobuoy(tmp_path: Path) -> None:
    with plugin(tmp_path, *RUN) as process:
        output = process.communicate()[0]
    assert process.returncode == ExitCode.OK, output
    cases = dict(received(tmp_path))
    assert cases.pop("Verdict of the run") == "passed"
    assert sorted(set(cases.values())) == ["passed", "skipped"]
    assert "results for Sonobuoy: " in output


def test_a_run_that_fails_is_failed_for_sonobuoy(tmp_path: Path) -> None:
    with plugin(tmp_path, *RUN, "--patience", "0.2", "--scheduler", "exec:sleep 1000") as process:
        output = process.communicate()[0]
    assert process.returncode == ExitCode.FAILURES, output
    cases = received(tmp_path)
    assert cases["Verdict of the run"] == "failure"
    assert list(cases.values()).count("failure") == 2
    assert message(tmp_path) == "exit code 1: failures; verdict: not-conformant"


def test_a_run_that_is_refused_is_failed_with_its_message(tmp_path: Path) -> None:
    with plugin(tmp_path, "--control-plane", "embedded", "--profil", "api") as process:
        process.communicate()
    assert process.returncode == ExitCode.USAGE
    assert received(tmp_path) == {"Verdict of the run": "failure"}
    assert message(tmp_path) == "exit code 4: usage; there is no report"
    assert "No such option '--profil'" in (verdict(tmp_path).findtext("system-out") or "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_a_signal_ends_hands_its_report_over(tmp_path: Path, number: signal.Signals) -> None:
    with plugin(tmp_path, "--control-plane", "embedded", "--profile", "scheduler-core") as process:
        assert under_way(process)
        process.send_signal(number)
        process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    assert received(tmp_path)["Verdict of the run"] == "failure"
    assert message(tmp_path).startswith("exit code 2: interrupted; verdict: ")


def test_a_run_that_is_killed_is_failed(tmp_path: Path) -> None:
    with plugin(tmp_path, "--control-plane", "embedded", "--profile", "scheduler-core") as process:
        assert under_way(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    assert received(tmp_path)["Verdict of the run"] == "failure"
    assert message(tmp_path).startswith("the run was ended by SIGKILL; ")


def test_done_names_the_verdict_if_there_is_no_place_for_the_archive(tmp_path: Path) -> None:
    (tmp_path / "dra-conformance.tar.gz").mkdir()
    with pytest.raises(OSError, match="Is a directory"):
        sonobuoy.hand_over(tmp_path, sonobuoy.End(code=0))
    (tmp_path / "dra-conformance.tar.gz").rmdir()
    named = sonobuoy.hand_over(tmp_path, sonobuoy.End(code=13, output=["x"]))
    assert (tmp_path / "done").read_text() == f"{named}\n"
    assert message(tmp_path) == "exit code 13: leftovers; there is no report"


@pytest.mark.parametrize("folder", ["", "/nowhere"])
def test_without_a_results_folder_nothing_is_run(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SONOBUOY_RESULTS_DIR", folder)
    assert call(["sonobuoy", *RUN]) == ExitCode.USAGE
    assert f"SONOBUOY_RESULTS_DIR is {folder!r}: there is no such folder" in capsys.readouterr().err


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert call(["job", "--sonobuoy", *words]) == ExitCode.OK
    found: dict[str, object] = yaml.safe_load(capsys.readouterr().out)
    return found


def test_the_plugin_is_a_pod_that_reads_the_kubeconfig_of_sonobuoys_configuration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = printed(capsys, "--profile", "api", "--skip", "a$(HOME)", "-n", "2")
    config, spec, pod = made["sonobuoy-config"], made["spec"], made["podSpec"]
    assert isinstance(config, dict)
    assert isinstance(spec, dict)
    assert isinstance(pod, dict)
    assert (config["driver"], config["plugin-name"]) == ("Job", "dra-conformance")
    assert (config["result-format"], config["result-files"]) == ("junit", ["junit.xml", "verdict.xml"])
    assert made["config-map"] == {"kubeconfig": job.KUBECONFIG_TEXT}
    assert spec["args"][:2] == ["dra_conformance", "sonobuoy"]
    # The kubelet replaces the variable of Sonobuoy, and nothing in the options.
    words = [word.replace("$(SONOBUOY_CONFIG_DIR)", "/config").replace("$$(", "$(") for word in spec["args"][2:]]
    given = run.command.make_context("run", [*words, "--out", "x", "--progress", "plain"]).params
    options = options_of({name.replace("_", "-"): value for name, value in given.items()})
    assert options.control_plane == "kubeconfig:/config/kubeconfig"
    assert (options.profile, options.skip, given["workers"]) == (("api",), ("a$(HOME)",), 2)
    volumes = [*pod["volumes"], {"name": "results", "emptyDir": {}}]
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    kubernetes_validate.validate(
        {**whole, "spec": {**pod, "containers": [spec], "volumes": volumes}}, "1.37", strict=True
    )


def test_the_plugin_of_the_emulated_control_plane_needs_no_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert "config-map" not in printed(capsys, "--control-plane", "embedded")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--shards", "4"), "--shards is for a Job"),
        (("--claim", "x"), "--claim is for a Job"),
        (("--control-plane", "kubeconfig:./config"), "the pods do not have this file"),
        (("--out", "x"), "out is set by the Job"),
    ],
)
def test_what_a_plugin_does_not_have_is_refused(
    words: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["job", "--sonobuoy", *words]) == ExitCode.USAGE
    assert text in capsys.readouterr().err
