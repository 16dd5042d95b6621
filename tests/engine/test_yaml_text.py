"""report.yaml says the same as report.json, with one line for each row that did not run."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dra_conformance.report import yaml_text

RAN = {"id": "a", "status": "passed", "reason": "", "checks": [{"rules": ["DRA-001"]}]}
LEFT_OUT = {"id": "b", "status": "filtered", "reason": 'not selected by "--rule"', "duration": 0.0, "checks": []}


def read(plain: dict[str, Any]) -> Any:
    return yaml.safe_load(yaml_text.render(plain))


@pytest.mark.parametrize("name", ["rules", "scenarios"])
@pytest.mark.parametrize("rows", [[], [RAN], [LEFT_OUT], [LEFT_OUT, RAN, RAN, LEFT_OUT, LEFT_OUT, RAN]])
def test_the_text_reads_back_as_the_report(name: str, rows: list[dict[str, Any]]) -> None:
    plain = {"kind": "ConformanceReport", name: rows, "seed": 1}
    assert read(plain) == plain
    assert list(read(plain)) == list(plain)


@pytest.mark.parametrize("reason", ["line\nbreak", "\x7f", "\x85 and \ufeff", "tab\t", "{a: [b]} # c", "\N{SNOWMAN}"])
def test_text_that_yaml_writes_differently_reads_back(reason: str) -> None:
    plain = {"scenarios": [{**LEFT_OUT, "reason": reason}]}
    assert read(plain) == plain


def test_a_row_that_did_not_run_takes_one_line() -> None:
    lines = yaml_text.render({"scenarios": [LEFT_OUT, RAN]}).splitlines()
    assert lines[1].startswith('- {"id":"b"')
    assert lines[2] == "- id: a"
