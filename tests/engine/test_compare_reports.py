"""`diff`, `history`, `badge` and `summary`: what they print of real and of damaged or hostile reports."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import orjson
import pytest
from command_line import CommandLine
from invented_runs import InventedRun
from test_cli import run_command

from dra_conformance.core import documents
from dra_conformance.core.errors import ExitCode, UsageError
from dra_conformance.core.status import ProfileStatus, Status, Verdict
from dra_conformance.report import badge, build, comparison, history, markdown, stored
from dra_conformance.report.comparison import Change, change_of, compare
from dra_conformance.report.comparison_text import render
from dra_conformance.report.model import Report, to_plain

HOSTILE = (
    "x</code></pre></td></table></details></title><script>alert(1)</script> @team #1 `a` | [l](http://e.example)"
    '\n\n# heading\n\n- \x1b[31mred \u202e"\x07&\ufffe'
)
"""Ends every element, is Markdown, mentions a team, and has characters that a terminal or XML must not get."""


def report_of(invented: InventedRun, **more: Any) -> Report:
    return msgspec.structs.replace(build(invented.events()), **more)


def written(path: Path, report: Report | dict[str, Any]) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(to_plain(report) if isinstance(report, Report) else report))
    return str(path)


def old_and_new() -> tuple[Report, Report]:
    old = (
        InventedRun()
        .scenario("stays")
        .scenario("breaks", ["DRA-002"])
        .scenario("mends", ["DRA-003"], status="failed")
        .scenario("comes", ["DRA-004"], status="filtered", decided=True)
        .scenario("goes", ["DRA-005"])
        .scenario("bad", ["DRA-006"], status="failed")
        .scenario("gone", ["DRA-007"])
    )
    new = (
        InventedRun()
        .scenario("stays")
        .scenario("breaks", ["DRA-002"], status="failed")
        .scenario("mends", ["DRA-003"])
        .scenario("comes", ["DRA-004"])
        .scenario("goes", ["DRA-005"], status="filtered", decided=True)
        .scenario("bad", ["DRA-006"], status="untestable")
        .scenario("added", ["DRA-008"])
    )
    return report_of(old), report_of(new)


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("passed", "passed", None),
        ("passed", "failed", Change.NEW_FAILURE),
        ("passed", "flaky", Change.NEW_FAILURE),
        ("filtered", "failed", Change.NEW_FAILURE),
        ("waived", "failed", Change.NEW_FAILURE),
        (None, "untestable", Change.NEW_FAILURE),
        ("failed", "error", Change.OTHER),
        ("failed", "passed", Change.FIXED),
        ("waived", "passed", Change.FIXED),
        ("untestable", "passed", Change.FIXED),
        ("failed", "filtered", Change.NO_LONGER_JUDGED),
        ("passed", "not-supported", Change.NO_LONGER_JUDGED),
        ("untestable", "filtered", Change.OTHER),
        ("failed", "waived", Change.OTHER),
        ("not-applicable", "passed", Change.NEWLY_JUDGED),
        ("filtered", "waived", Change.NEWLY_JUDGED),
        ("filtered", "not-applicable", Change.OTHER),
        (None, "passed", Change.ADDED),
        ("failed", None, Change.REMOVED),
    ],
)
def test_the_change_of_a_rule(old: str | None, new: str | None, change: Change | None) -> None:
    assert change_of(old and Status(old), new and Status(new)) is change


def test_every_rule_is_under_its_change() -> None:
    found = compare(*old_and_new())
    assert {change: [rule.id for rule in found.of(change)] for change in Change} == {
        Change.NEW_FAILURE: ["DRA-002"],
        Change.FIXED: ["DRA-003"],
        Change.NEWLY_JUDGED: ["DRA-004"],
        Change.NO_LONGER_JUDGED: ["DRA-005"],
        Change.ADDED: ["DRA-008"],
        Change.REMOVED: ["DRA-007"],
        Change.OTHER: ["DRA-006"],
    }
    assert found.still_failing == ("DRA-006",)
    assert "--focus '^probe/breaks#breaks '" in found.of(Change.NEW_FAILURE)[0].repeat


def test_the_text_of_a_comparison() -> None:
    assert render(compare(*old_and_new()), width=80) == (
        """\
old        2026-06-01T12:00:00Z run 0123abcd suite 0 Kubernetes 1.36
           not-conformant (rehearsal)
new        2026-06-01T12:00:00Z run 0123abcd suite 0 Kubernetes 1.36
           not-conformant (rehearsal)

new failures (1)
  ✗ DRA-002 MUST  passed -> failed
      DRA-002 holds.
      reason: probe/breaks#breaks: it holds

fixed (1)
  ✓ DRA-003 MUST  failed -> passed
      DRA-003 holds.

newly judged (1)
  1 filtered -> passed (DRA-004)

no longer judged (1)
  1 passed -> filtered: filtered for a reason (DRA-005)

rules added (1)
  1 none -> passed (DRA-008)

rules removed (1)
  1 passed -> none (DRA-007)

other changes (1)
  1 failed -> untestable: untestable for a reason (DRA-006)

still failing (1)
  DRA-006

profiles   driver-core  not-conformant  (6 -> 5 of 7 rules judged)
verdict    NOT-CONFORMANT  (regression)
failures   `dra-conformance summary NEW` prints expected and observed values
"""
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for name, report in zip(("1", "2"), old_and_new(), strict=True):
        components = {"driver": "exec:./a-plugin-with-a-long-name --of=" + name * 50}
        written(
            tmp_path / name / "report.json",
            msgspec.structs.replace(
                report,
                target=msgspec.structs.replace(report.target, components=components),
                rules=tuple(msgspec.structs.replace(rule, text="A long text. " * 20) for rule in report.rules),
            ),
        )
    for argv in (["diff", str(tmp_path / "1"), str(tmp_path / "2")], ["history", str(tmp_path)]):
        lines = run_command(capsys, *argv)[1].splitlines()
        assert width / 2 < max(len(line) for line in lines) <= width


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (InventedRun().scenario("a"), InventedRun().scenario("a"), ExitCode.OK),
        (InventedRun().scenario("a"), InventedRun().scenario("a", status="failed"), ExitCode.FAILURES),
        (InventedRun().scenario("a", status="failed"), InventedRun().scenario("a"), ExitCode.OK),
        (InventedRun().scenario("a", status="failed"), InventedRun().scenario("a", status="failed"), ExitCode.OK),
        # No failure, but nothing is known of the profile any more.
        (InventedRun().scenario("a"), InventedRun().scenario("a", status="filtered", decided=True), ExitCode.FAILURES),
        (InventedRun().scenario("a"), InventedRun().scenario("a", profiles=["driver-gpu"]), ExitCode.FAILURES),
        # The run is invalid, and no rule or profile says so.
        (InventedRun().scenario("a"), InventedRun().scenario("a").scenario("b", [], status="error"), ExitCode.FAILURES),
    ],
)
def test_the_exit_code_of_diff(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, old: InventedRun, new: InventedRun, code: ExitCode
) -> None:
    paths = [written(tmp_path / name, report_of(run)) for name, run in (("old.json", old), ("new.json", new))]
    for form in ("text", "json", "markdown"):
        found, out, _ = run_command(capsys, "diff", *paths, "--format", form)
        assert (found, bool(out)) == (code, True)


def test_a_reason_of_several_rules_is_printed_once() -> None:
    old = InventedRun().scenario("breaks", ["DRA-002", "DRA-003"]).scenario("too", ["DRA-004"])
    new = InventedRun().scenario("breaks", ["DRA-002", "DRA-003"], status="failed")
    found = compare(report_of(old), report_of(new.scenario("too", ["DRA-004"], status="failed")))
    text, page = render(found, width=100), markdown.compared(found)
    for printed in (text, page):
        assert printed.count("breaks: it holds") == 1
        assert printed.count("that of DRA-002") == 1
        assert printed.count("too: it holds") == 1
    assert [rule.reason.count("breaks: it holds") for rule in found.rules] == [1, 1, 0], "JSON has them all"


def test_a_failed_should_rule_is_shown_and_is_no_regression() -> None:
    old, new = InventedRun().scenario("a"), InventedRun().scenario("a")
    for run, status in ((old, "passed"), (new, "failed")):
        run.rule("DRA-002", level="SHOULD")
        run.scenario("b", ["DRA-002"], status=status)
    found = compare(report_of(old), report_of(new))
    assert not found.regression
    assert "! DRA-002 SHOULD  passed -> failed" in render(found, width=80)


def test_differences_of_suite_version_and_target_are_named() -> None:
    old = report_of(InventedRun().scenario("a"))
    new = msgspec.structs.replace(
        old,
        suite=msgspec.structs.replace(old.suite, version="1"),
        target=msgspec.structs.replace(old.target, kubernetes_version="1.37", components={"driver": "exec:./x"}),
        profiles=("driver-core",),
    )
    text = render(compare(old, new), width=100)
    assert "The runs differ in suite, Kubernetes version, target and selection:\n" in text
    for line in ("suite version: 0 -> 1", "Kubernetes: 1.36 -> 1.37", "component driver: reference -> exec:./x"):
        assert f"\n  {line}\n" in text
    assert "differ" not in render(compare(old, old), width=100)
    assert "**The runs differ in suite, Kubernetes version, target and selection:**" in markdown.compared(
        compare(old, new)
    )


def test_json_of_a_comparison(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old, new = old_and_new()
    out = run_command(
        capsys, "diff", written(tmp_path / "a.json", old), written(tmp_path / "b.json", new), "--format", "json"
    )[1]
    found = orjson.loads(out)
    assert (found["kind"], found["regression"], found["stillFailing"]) == ("ReportComparison", True, ["DRA-006"])
    assert found["profiles"][0]["oldRules"] == {"binding": 7, "judged": 6, "passed": 4}
    assert {rule["id"]: rule["change"] for rule in found["rules"]}["DRA-003"] == "fixed"


def test_reports_of_real_runs(cli: CommandLine) -> None:
    """A rule fails in the second run. In the first one, its scenarios outside of the selection left it unjudged."""
    for name, features in (("1", ["good"]), ("2", ["bad"])):
        for path in cli.folder.glob("probe/*"):
            path.unlink()
        cli.suite(*cli.features(*features), "--report", "json,yaml")
        shutil.copytree(cli.folder / "dra-report", cli.folder / "runs" / name)
    code, out, _ = cli.run("diff", "runs/1", "runs/2/report.yaml")
    assert code == ExitCode.FAILURES
    assert "✗ DRA-100 MUST  filtered -> failed\n" in out
    assert cli.run("diff", "runs/2", "runs/1")[0] == ExitCode.OK
    code, out, _ = cli.run("history", "runs")
    lines = out.splitlines()
    assert (code, len(lines)) == (ExitCode.OK, 6)
    assert "first report" in lines[3]
    assert "1 newly failed" in lines[5]
    code, out, _ = cli.run("summary")
    assert code == ExitCode.OK
    assert out.startswith("## DRA conformance: not-conformant (rehearsal)\n")
    assert "<code>dra-conformance run --features probe" in out
    code, out, _ = cli.run("badge", "runs/2", "--out", "badge.svg")
    assert (code, out) == (ExitCode.OK, "")
    assert "not-conformant (rehearsal)" in (cli.folder / "badge.svg").read_text()


# Damaged reports


def damaged(**changes: Any) -> bytes:
    return orjson.dumps({**to_plain(report_of(InventedRun().scenario("a"))), **changes})


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("r.json", b"", "Input data was truncated"),
        ("r.json", b"[]", "Expected `object`, got `array`"),
        ("r.json", b'{"a":' * 200_000, "nested too deeply"),
        ("r.json", b'{"kind": "\xff"}', "'utf-8' codec can't decode"),
        ("r.json", b'{"kind": "ConformanceReport"}', "Object missing required field"),
        ("r.json", damaged(kind="Pod"), "Invalid enum value 'Pod' - at `$.kind`"),
        ("r.json", damaged(apiVersion="dra-conformance/v2"), "Invalid enum value"),
        ("r.json", damaged(startedAt="yesterday"), "time data 'yesterday' does not match"),
        ("r.json", damaged(verdict="\x1b[32mfine"), r"Invalid enum value '\x1b[32mfine'"),
        ("r.json", damaged(rules=[{"id": 1}]), "Expected `str`, got `int` - at `$.rules[0].id`"),
        ("r.json", damaged(seed=0).replace(b'"seed":0', b'"seed":' + b"9" * 5000), "Integer value out of range"),
        ("r.yaml", b"\xff", "'utf-8' codec can't decode"),
        ("r.yaml", b"a: [", "not valid YAML"),
        ("r.yaml", b"[" * 100_000, "nested too deeply"),
        ("r.yaml", b"startedAt: 2026-13-45", "a value is not of its type"),
        ("r.yaml", b"a: 1\n---\nb: 1\n", "it has 2 documents"),
        ("r.yaml", b"", "it has 0 documents"),
        ("r.yaml", b"a: &a [*a]", "an alias contains itself"),
        ("r.yaml", b"1: 2", "Expected `str`"),
    ],
)
def test_a_damaged_report_is_one_message(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: bytes, cause: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    good = written(tmp_path / "good.json", report_of(InventedRun().scenario("a")))
    for argv in (["diff", good, str(path)], ["diff", str(path), good], ["badge", str(path)], ["summary", str(path)]):
        code, out, err = run_command(capsys, *argv)
        assert (code, out) == (ExitCode.USAGE, "")
        assert err.startswith("error: ")
        assert cause in err
        assert str(path) in err
        assert len(err) < 1000
        assert "\x1b" not in err
        assert len(err.splitlines()) == 2


def test_what_is_no_report_file_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")  # reading it would never end
    (tmp_path / "empty").mkdir()
    large = tmp_path / "large.json"
    large.write_bytes(damaged())
    monkeypatch.setattr(stored, "LARGEST", large.stat().st_size - 1)
    for name, cause in {
        "nowhere": "cannot read {}: No such file or directory\n  Name a report.json",
        "empty": "{} has no report: report.json or report.yaml is missing\n  `dra-conformance report DIR",
        "pipe": "{} is not a file\n  Write the report to a file first.",
        "large.json": "{} is not a report: it is larger than ",
    }.items():
        code, _, err = run_command(capsys, "summary", str(tmp_path / name))
        assert code == ExitCode.USAGE
        assert err.startswith("error: " + cause.format(tmp_path / name))


def test_a_report_of_a_later_suite_with_more_fields_is_read(tmp_path: Path) -> None:
    report = report_of(InventedRun().scenario("a"))
    plain = to_plain(report)
    for part in (plain, plain["suite"], plain["target"], plain["rules"][0]):
        part["new"] = {"x": [1]}
    assert to_plain(stored.read(Path(written(tmp_path / "r.json", plain)))) == to_plain(report)


def test_json_and_yaml_are_the_same_report(tmp_path: Path) -> None:
    report = report_of(old_run := InventedRun().scenario("a", status="failed"))
    (tmp_path / "report.yaml").write_text(documents.dump(to_plain(report_of(old_run))))
    assert to_plain(stored.read(tmp_path)) == to_plain(report)


# Hostile reports


def hostile() -> Report:
    """A report with `HOSTILE` in every text."""
    report = to_plain(report_of(InventedRun().scenario("a").scenario("b", ["DRA-002"], status="failed")))
    report["problems"] = [{"message": HOSTILE, "hint": HOSTILE, "exit": 3}]
    kept = {"apiVersion", "kind", "startedAt", "verdict", "status", "id", "level"}

    def changed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: changed(inner, name) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [changed(inner, key) for inner in value]
        return HOSTILE if isinstance(value, str) and key not in kept else value

    found: Report = msgspec.convert(changed(report), Report)
    rules = {rule.id for rule in found.rules}
    assert rules == {"DRA-001", "DRA-002"}
    return msgspec.structs.replace(found, rules=tuple(_named(rule, found) for rule in found.rules))


def _named(rule: Any, report: Report) -> Any:
    return msgspec.structs.replace(rule, scenarios=tuple(scenario.id for scenario in report.scenarios))


class Page(HTMLParser):
    """The tags of a page, and its text outside of code. Raises AssertionError if tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.outside = ""
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "br":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "code" not in self._open:
            self.outside += data


def test_text_of_a_target_is_neither_markdown_nor_html() -> None:
    good = report_of(InventedRun().scenario("a").scenario("b", ["DRA-002"]))
    for text in (markdown.summary(hostile()), markdown.compared(compare(good, hostile()))):
        page = Page(text)
        assert page.tags <= {"table", "tr", "th", "td", "code", "pre", "details", "summary", "b", "br"}
        assert not set("@#`|[\x1b\u202e\ufffe") & set(re.sub("^#+ ", "", page.outside, flags=re.MULTILINE))
        assert "\x1b" not in text
        assert "\u202e" not in text
        # Markdown is possible only after a blank line: each block after one is a heading, bold, or complete HTML.
        for block in text.split("\n\n"):
            assert re.match(r"#+ DRA conformance|#+ \d+ failed|\*\*The runs|<(table|details|p)\b", block)
            if block.startswith("<"):
                Page(block)


def test_a_terminal_gets_no_control_characters(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = [written(tmp_path / "a" / "report.json", hostile()), written(tmp_path / "b.json", old_and_new()[0])]
    for argv in (["diff", *paths], ["diff", *reversed(paths)], ["history", str(tmp_path)]):
        out = run_command(capsys, *argv)[1]
        assert all(character.isprintable() for character in out.replace("\n", ""))


def test_a_badge_of_a_hostile_report_is_one_svg_without_links() -> None:
    text = badge.render(msgspec.structs.replace(hostile(), evidence_class=HOSTILE))
    root = ET.fromstring(text)  # noqa: S314 - our own text
    assert {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root.iter()} == {
        "svg",
        "title",
        "rect",
        "g",
        "text",
    }
    assert not re.search(r"href|url\(|style", text)
    assert float(root.get("width", "0")) < 400


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_badge_shows_the_verdict_with_contrast(verdict: Verdict) -> None:
    report = report_of(InventedRun(evidence="evidence").scenario("a"), verdict=verdict)
    root = ET.fromstring(badge.render(report))  # noqa: S314 - our own text
    space = {"s": "http://www.w3.org/2000/svg"}
    assert [text.text for text in root.findall(".//s:text", space)] == ["DRA conformance", verdict.value]
    title = root.findtext("s:title", "", space)
    assert title == root.get("aria-label")
    assert f"{verdict.value}. Run of 2026-06-01T12:00:00Z" in title
    for color in {rect.get("fill", "") for rect in root.findall("s:rect", space)}:
        assert 1.05 / (luminance(color) + 0.05) >= 4.5


def luminance(color: str) -> float:
    """Return the relative luminance of a color, as WCAG 2.2 defines it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_badge_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", report_of(InventedRun().scenario("a")))
    code, out, err = run_command(capsys, "badge", path, "--out", str(tmp_path / "no" / "badge.svg"))
    assert (code, out) == (ExitCode.USAGE, "")
    assert err.startswith(f"error: cannot write {tmp_path}/no/badge.svg: No such file or directory\n")


ODD = (None, "", -1, 10**30, 1e308, [], {}, True, "x" * 5000, "\n" * 50, "\x00", "passed", "{{ x }}", [[]], {"a": 1})


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every mapping or list below a value, each with one of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(pairs):
        yield value, key
        yield from places(inner)


def test_a_report_with_random_values_is_read_or_refused(tmp_path: Path) -> None:
    good, path, rng = old_and_new()[0], tmp_path / "r.json", random.Random(7)  # noqa: S311 - a test, with a fixed seed
    read = 0
    for _ in range(400):
        plain = orjson.loads(orjson.dumps(to_plain(old_and_new()[1])))
        holder, key = rng.choice(list(places(plain)))
        holder[key] = rng.choice(ODD)
        path.write_bytes(msgspec.json.encode(plain))
        try:
            report = stored.read(path)
        except UsageError:
            continue
        read += 1
        for found in (compare(good, report), compare(report, good)):
            assert len(markdown.compared(found)) < 65_536
            assert max(map(len, render(found, width=60).splitlines())) <= 60
        assert len(markdown.summary(report)) < 65_536
        ET.fromstring(badge.render(report))  # noqa: S314 - our own text
        assert history.read([path])[1] == []
    assert 50 < read < 350


# Summary


def many_failures(number: int, text: str) -> Report:
    run = InventedRun()
    for each in range(number):
        run.scenario(f"s{each}", [f"DRA-{each}"], status="failed")
    report = report_of(run)
    return msgspec.structs.replace(
        report, rules=tuple(msgspec.structs.replace(rule, text=text, reason=text) for rule in report.rules)
    )


@pytest.mark.parametrize("text", ["short", '"' * 100_000])
def test_a_summary_is_shorter_than_a_comment_may_be(text: str) -> None:
    failed = many_failures(400, text)
    passed = msgspec.structs.replace(
        failed, rules=tuple(msgspec.structs.replace(rule, status=Status.PASSED) for rule in failed.rules)
    )
    page = markdown.summary(failed)
    assert 20_000 < len(page) < 65_536
    assert "### 400 failed rules" in page
    left = re.search(r"<p>(\d+) more parts left out", page)
    assert left
    assert int(left[1]) + page.count("<details>") == 400
    page = markdown.compared(compare(passed, failed))
    assert len(page) < 65_536
    assert "<b>new failures (400)</b>" in page
    assert "more</td></tr>" in page
    lines = render(compare(passed, failed), width=80).splitlines()
    assert len(lines) < 1_500
    assert "  300 more (--format json lists all)" in lines


def test_few_failures_are_open_and_many_are_folded() -> None:
    assert markdown.summary(many_failures(3, "x")).count("<details open>") == 3
    assert "<details open>" not in markdown.summary(many_failures(4, "x"))


def test_a_summary_has_what_to_act_on() -> None:
    page = markdown.summary(report_of(InventedRun().scenario("good").scenario("bad", ["DRA-002"], status="failed")))
    rows = dict(re.findall(r'<tr><th align="left">(\w+)</th><td>(.*)</td></tr>', page))
    assert "<td><code>driver-core</code></td><td>not-conformant</td><td>2 of 2</td>" in page
    assert rows["rules"] == "1 passed, 1 failed"
    assert (rows["expected"], rows["observed"]) == ("<pre><code>a</code></pre>", "<pre><code>b</code></pre>")
    assert "--focus &#39;^probe/bad#bad &#39;" in rows["repeat"]


def test_rules_that_a_failure_kept_from_being_judged_belong_to_it() -> None:
    run = InventedRun().scenario(
        "a", ["DRA-001", "DRA-002", "DRA-003"], status="failed", checks=[("DRA-003", False)], planned={}
    )
    page = markdown.summary(report_of(run.scenario("b", ["DRA-004"], status="failed")))
    assert "### 2 failed rules, 2 untestable rules" in page
    assert re.findall(r"<summary>✗ <code>(DRA-\d+)</code>.*?:", page) == ["DRA-003", "DRA-004"]
    assert "<code>DRA-003</code> <code>MUST</code> failed and 2 more rules for the same reason:" in page
    assert "<code>DRA-001, DRA-002</code>" in page


def test_rules_of_one_crash_are_one_failure() -> None:
    report = many_failures(3, "x")
    crash = "the driver ended with exit code 1"
    scenarios = tuple(msgspec.structs.replace(one, crash=crash) for one in report.scenarios)
    page = markdown.summary(msgspec.structs.replace(report, scenarios=scenarios))
    assert page.count("<details") == 1
    assert "and 2 more rules for the same reason" in page
    assert "<code>DRA-1, DRA-2</code>" in page


# History


def dated(day: int, run: InventedRun, **target: Any) -> Report:
    report = report_of(run, started_at=f"2026-06-{day:02}T12:00:00Z")
    return msgspec.structs.replace(report, target=msgspec.structs.replace(report.target, **target))


def test_history_is_by_time_and_compares_with_the_same_target(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "130")
    monkeypatch.chdir(tmp_path)
    good, bad = InventedRun().scenario("a"), InventedRun().scenario("a", status="failed")
    written(tmp_path / "runs/z/report.json", dated(1, good))
    written(tmp_path / "runs/b/report.json", dated(2, bad, kubernetes_version="1.37"))
    written(tmp_path / "runs/a/deeper/report.json", dated(3, bad))
    (tmp_path / "runs/a/deeper/report.yaml").write_text("is not read, because there is a report.json")
    (tmp_path / "runs/a/loop").symlink_to(tmp_path / "runs")
    (tmp_path / "runs/a/report.yaml").write_text(documents.dump(to_plain(dated(4, good))))
    code, out, err = run_command(capsys, "history", "runs")
    assert (code, err) == (ExitCode.OK, "")
    assert out == (
        """\
date (UTC)        verdict        passed failed not judged
target: reference components; Kubernetes 1.36; embedded
2026-06-01 12:00  conformant          1      0          0  first report  (runs/z/report.json)
target: reference components; Kubernetes 1.37; embedded
2026-06-02 12:00  not-conformant      0      1          0  first report  (runs/b/report.json)
target: reference components; Kubernetes 1.36; embedded
2026-06-03 12:00  not-conformant      0      1          0  1 newly failed  (runs/a/deeper/report.json)
2026-06-04 12:00  conformant          1      0          0  1 fixed  (runs/a/report.yaml)
"""
    )


def test_history_lists_the_others_if_a_report_is_damaged(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    written(tmp_path / "a" / "report.json", dated(1, InventedRun().scenario("a")))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "report.json").write_text("{")
    code, out, err = run_command(capsys, "history", str(tmp_path), "--format", "json")
    assert code == ExitCode.USAGE
    assert [entry["passed"] for entry in orjson.loads(out)["reports"]] == [1]
    assert err.startswith(f"error: {tmp_path}/b/report.json is not a report: ")


def test_history_needs_a_folder_with_reports(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert run_command(capsys, "history", str(tmp_path / "no"))[2].startswith(f"error: {tmp_path}/no is not a folder\n")
    assert run_command(capsys, "history", str(tmp_path))[2].startswith(f"error: no report below {tmp_path}: ")
    for name in ("a", "b"):
        written(tmp_path / name / "report.json", report_of(InventedRun().scenario("a")))
    monkeypatch.setattr(history, "MOST", 1)
    assert run_command(capsys, "history", str(tmp_path))[2].startswith(f"error: more than 1 reports below {tmp_path}\n")


def test_history_counts_every_rule_once() -> None:
    run = InventedRun()
    for number, status in enumerate(Status):
        run.scenario(f"s{number}", [f"DRA-{number}"], status=status.value)
    path = Path("r/report.json")
    entry = history._entry(path, report_of(run))
    assert entry.passed + entry.failed + entry.waived + entry.not_judged == len(Status)
    assert (entry.passed, entry.failed, entry.waived) == (1, len(comparison.BAD), 1)


def test_every_profile_status_has_a_rank() -> None:
    assert set(comparison._BEST_FIRST) == set(ProfileStatus)
