"""Tests of the report files: complete, well-formed, verifiable, and the replacement of older ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import orjson
import pytest
import yaml
from invented_runs import InventedRun

from dra_conformance.core.errors import UsageError
from dra_conformance.core.events import Event, EventLog, KubeletCall, ProgramOutput, ScenarioFinished
from dra_conformance.report import Report, build, files, junit
from dra_conformance.report.html import render as render_html
from dra_conformance.report.model import to_plain
from dra_conformance.report.page_templates import script
from dra_conformance.report.terminal import render as render_text
from dra_conformance.report.verify import differences, verify

BAD = 'a <b> & "c" \x00\x1b\ud800\ufffe ]]>'


def invented() -> InventedRun:
    return (
        InventedRun()
        .scenario("good")
        .scenario("bad", ["DRA-002"], status="failed", reason=BAD)
        .scenario("broken", ["DRA-003"], status="error")
        .scenario("left-out", ["DRA-004"], status="filtered", decided=True)
    )


def write(folder: Path, events: list[Event]) -> None:
    log = EventLog(folder / files.EVENTS)
    for event in events:
        log.append(event)
    log.close()
    files.write_all(files.from_folder(folder), folder)


def changes(folder: Path) -> list[str]:
    return differences(files.from_folder(folder), folder)


def test_junit_is_well_formed_and_counts_right() -> None:
    report = build(invented().events())
    root = ET.fromstring(junit.render(report))  # noqa: S314 - our own text
    suite = root.find("testsuite")
    assert suite is not None
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith('a <b> & "c"')
    assert [p.get("value") for p in suite.findall("testcase/properties/property[@name='rule']")] == [
        f"DRA-00{n}" for n in range(1, 5)
    ]


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [str(v) for k, v in attrs if k in ("src", "href", "srcset", "data", "action")]


def test_html_is_self_contained_and_escapes_output_of_targets() -> None:
    page = render_html(build(invented().events()))
    links = Links()
    links.feed(page)
    assert [one for one in links.outside if not one.startswith("#")] == []
    assert links.tags.count("script") == 1
    assert f"script-src '{(own := script('search.js')).digest}'\">" in page
    assert page.count(own.text) == 1
    assert not set(links.tags) & {"link", "iframe", "img", "object", "base"}
    assert not re.search(r"url\(|@import|https?://", page)
    assert "<b> &" not in page
    assert "a &lt;b&gt; &amp;" in page


def test_html_explains_untestable_scenarios_only_if_their_rule_is_not_judged() -> None:
    judged = InventedRun().scenario("good").scenario("unseen", status="untestable", decided=True)
    assert ">Failures</h2>" not in render_html(build(judged.events()))
    assert ">Failures</h2>" in render_html(build(InventedRun().scenario("unseen", status="untestable").events()))


def failed_with_output(reason: str = "") -> Report:
    """The report of a failure with the output of its driver, in a run with a second failure on a SHOULD."""
    run = InventedRun().scenario("weak", ["DRA-002"], status="failed").scenario("bad", status="failed", reason=reason)
    run.rule("DRA-002", level="SHOULD")
    output = ProgramOutput(program="driver on n1", file="logs/driver-n1.log", lines=("first", "panic: <b>"))
    found: list[Event] = []
    for event in run.events():
        if isinstance(event, ScenarioFinished) and event.scenario.endswith("bad"):
            found.append(msgspec.structs.replace(output, seq=event.seq, scenario=event.scenario, time=event.time))
            event = msgspec.structs.replace(event, objects="failures/probe.bad#bad/objects.json")
        found.append(event)
    return build(found)


def test_every_form_of_the_report_names_the_log_of_the_program_and_its_last_lines() -> None:
    report = failed_with_output()
    text = render_text(report)
    log = "  log       logs/driver-n1.log (driver on n1)\n            | first\n            | panic: <b>\n"
    assert log in text
    assert "  objects   failures/probe.bad#bad/objects.json\n" in text
    xml = ET.fromstring(junit.render(report)).find("testsuite/testcase[@name='bad']/failure")  # noqa: S314 - our own
    assert xml is not None
    assert "log: logs/driver-n1.log (driver on n1)\n  | first\n  | panic: <b>\n" in str(xml.text)
    assert "objects: failures/probe.bad#bad/objects.json" in str(xml.text)
    page = render_html(report)
    assert '<a href="logs/driver-n1.log">logs/driver-n1.log</a> (driver on n1)' in page
    assert "<pre>first\npanic: &lt;b&gt;</pre>" in page
    # The # of a scenario's id is part of the path.
    assert 'href="failures/probe.bad%23bad/objects.json"' in page


def test_failures_of_must_rules_come_first() -> None:
    report = failed_with_output()
    text, page = render_text(report), render_html(report)
    assert text.index("✗ DRA-001 MUST failed") < text.index("! DRA-002 SHOULD failed")
    cards = re.findall(r'<details class="failure row st-failed( lv-\w+)" id="failure-(\d)"', page)
    assert cards == [(" lv-MUST", "1"), (" lv-SHOULD", "2")]
    assert re.search(r'id="failure-1".*?<span class="level MUST">MUST</span> <b>DRA-001</b>', page, re.S)


def test_the_cause_of_a_failure_is_printed_once() -> None:
    run = InventedRun()
    said = "the driver answered with 17 bytes that are no message"
    for name in ("one", "two"):
        run.scenario(name, [f"DRA-{name}"], status="untestable", reason=said)
    text = render_text(build(run.events()))
    failures, _, summary = text.partition("scenarios  0 passed")
    assert (failures.count(said), summary.count(said)) == (1, 1)
    assert "✗ 1 more rule for the same reason as DRA-one\n  DRA-two\n" in failures
    page = render_html(build(run.events()))
    # The folded timelines end with it, too.
    assert page.count(f'<span class="soft">reason</span><span>{said}</span>') == 1
    assert page.count('the same as of <a href="#failure-1">failure 1</a>') == 1


def test_the_last_screen_of_a_terminal_leads_to_the_first_failure() -> None:
    """After many scenarios a terminal shows the end of the text, not its beginning."""
    run = InventedRun()
    crash = "panic: runtime error: index out of range [2]"
    for number in range(3):
        run.scenario(f"other{number}", [f"DRA-{100 + number}"], status="failed", reason=f"another {number}")
    for number in range(30):
        run.scenario(f"s{number}", [f"DRA-{200 + number}"], status="failed", reason=crash)
        run.scenario(f"u{number}", [f"DRA-{300 + number}"], status="untestable", reason=f"claim {number}: {crash}")
    events: list[Event] = []
    for event in run.events():
        if isinstance(event, ScenarioFinished) and event.reason == crash:
            event = msgspec.structs.replace(event, crash=crash)
            call = KubeletCall(
                driver="d",
                endpoint="/s",
                service="v1.DRAPlugin",
                method="NodePrepareResources",
                request={"claims": [{"namespace": "ns", "name": "train", "uid": "1"}]},
                response={},
                code="UNAVAILABLE",
                seconds=0.1,
                node="n1",
            )
            output = ProgramOutput(program="driver on n1", file="logs/driver-n1.log", lines=(crash,))
            events += [msgspec.structs.replace(one, scenario=event.scenario, time=event.time) for one in (call, output)]
        events.append(event)
    report = build(events)
    rows = render_text(report, folder=Path("out"), width=80).splitlines()
    assert len(rows) > 300
    screen = "\n".join(rows[-40:])
    assert "look first at DRA-200 MUST failed; 29 more rules failed for the same reason" in screen
    for part in ("NodePrepareResources claim train", "index out of range", "logs/driver-n1.log", "NOT-CONFORMANT"):
        assert part in screen
    # The reasons of rules that were not judged are above.
    assert "30 untestable: for 30 reasons, see above (DRA-300, DRA-301, DRA-302, DRA-303 and 26 more)" in screen
    assert "look first at" not in render_text(report, folder=Path("out"))


def test_a_failure_is_wrapped_in_a_terminal_and_its_command_is_not() -> None:
    report = failed_with_output()
    lines = render_text(report, width=40).splitlines()
    scenario = report.scenarios[1]
    assert f"  repeat    {scenario.repeat}" in lines
    whole = ("  repeat", "  objects", "verdict", "scenarios", "rules", "profiles", " ")
    assert [line for line in lines if len(line) > 40 and not line.startswith(whole)] == []


def test_html_folds_rules_that_were_not_judged() -> None:
    page = render_html(build(InventedRun().scenario("left", status="filtered").events()))
    assert "1 rules that were not judged" in page


def test_yaml_and_json_are_equal(tmp_path: Path) -> None:
    write(tmp_path, invented().events())
    assert (
        yaml.safe_load((tmp_path / "report.yaml").read_text())["statistics"]
        == (orjson.loads((tmp_path / "report.json").read_bytes())["statistics"])
    )


def test_terminal_shows_rule_expected_observed_and_repeat_command() -> None:
    text = render_text(build(InventedRun().scenario("bad", status="failed").events()), folder=Path("out"))
    for part in ("✗ DRA-001 MUST failed", "expected  a", "observed  b", "repeat    dra-conformance run"):
        assert part in text
    assert text.endswith("exit       1 (failures)\n")
    assert "\x1b" not in text
    assert "\x1b[31m" in render_text(build(invented().events()), color=True)


def test_an_unchanged_report_agrees_with_its_log(tmp_path: Path) -> None:
    write(tmp_path, invented().events())
    assert changes(tmp_path) == []


@pytest.mark.parametrize("name", files.NAMES)
def test_a_report_that_was_changed_is_found(tmp_path: Path, name: str) -> None:
    write(tmp_path, invented().events())
    path = tmp_path / name
    path.write_bytes(path.read_bytes().replace(b"failed", b"passed", 1))
    assert changes(tmp_path)
    path.unlink()
    if name == "report.json":
        with pytest.raises(UsageError, match=r"report\.json is missing"):
            verify(tmp_path)
    else:
        # As after `run --report json`.
        assert changes(tmp_path) == []


def test_a_log_that_was_changed_is_found(tmp_path: Path) -> None:
    write(tmp_path, invented().events())
    path = tmp_path / files.EVENTS
    path.write_bytes(path.read_bytes().replace(b'"ok":false', b'"ok":true', 1))
    found = "\n".join(changes(tmp_path))
    assert "eventsSha256" in found
    assert "DRA-002" in found


def test_a_scenario_taken_out_of_the_report_is_found(tmp_path: Path) -> None:
    write(tmp_path, invented().events())
    path = tmp_path / "report.json"
    report = orjson.loads(path.read_bytes())
    del report["scenarios"][1]
    report["scenarios"].append({"id": "made/up#one", "status": "passed"})
    path.write_bytes(orjson.dumps(report))
    found = "\n".join(changes(tmp_path))
    assert "probe/bad#bad is in the log but not in the report" in found
    assert "made/up#one is in the report but not in the log" in found


@pytest.mark.parametrize("content", [b"", b"[]", b"{"])
def test_an_unreadable_report_is_a_usage_error(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, invented().events())
    (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(UsageError, match=r"report\.json is no"):
        changes(tmp_path)


def test_clear_removes_the_files_of_a_run_and_no_others(tmp_path: Path) -> None:
    write(tmp_path, invented().events())
    ours = [tmp_path / "failures" / "a#b" / "objects.json", tmp_path / "logs" / "driver-n1.log"]
    theirs = [tmp_path / "logs" / "app.log", tmp_path / "notes.txt", tmp_path / "failures" / "mine" / "x"]
    for path in ours + theirs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    files.clear(tmp_path)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(theirs)


def test_clear_does_not_touch_a_folder_without_a_run(tmp_path: Path) -> None:
    (tmp_path / "report.html").touch()
    files.clear(tmp_path)
    assert (tmp_path / "report.html").exists()


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b1A\u202eend"


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container of a plain report, with a key or index of a text in it."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, str):
            yield value, key
        elif isinstance(item, (dict, list)):
            yield from leaves(item)


def test_no_text_of_a_report_controls_the_terminal() -> None:
    """Each text of a report in turn, because a target has a part in most of them."""
    plain = json.loads(json.dumps(to_plain(build(invented().events()))))
    tried = 0
    for holder, key in leaves(plain):
        before = holder[key]
        holder[key] = before + HOSTILE
        try:
            text = render_text(msgspec.convert(plain, Report), folder=Path("out"), durations=9)
        except (msgspec.ValidationError, KeyError):
            continue  # a status, or the name of a scenario that another place has as well
        finally:
            holder[key] = before
        tried += 1
        assert not [c for c in text if not c.isprintable() and c != "\n"], before
    assert tried > 50
