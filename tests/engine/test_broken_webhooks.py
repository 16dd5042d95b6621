"""Tests of broken webhooks: one clear message or failed rules; no traceback, no leftover process."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from command_line import CommandLine, Ended

from dra_conformance.core.errors import ExitCode

PROGRAM = Path(__file__).resolve().parents[1] / "broken_webhooks" / "broken_webhook.py"
ASKED = "webhook/protocol#the-response-has-the-uid-and-the-version-of-the-review"
EXHAUSTIVE = pytest.mark.exhaustive
STORED = "webhook/admission#valid-configuration-in-manifest-is-stored[claim-v1]"


def run(cli: CommandLine, fault: str, *scenarios: str) -> Ended:
    """The scenarios against a webhook with this fault."""
    words = [sys.executable, str(PROGRAM), fault, "{port}", "{tls_cert}", "{tls_key}"]
    focus = [
        word for name in scenarios for word in ("--focus", "^" + name.replace("[", r"\[").replace("]", r"\]") + " ")
    ]
    # Only these are waited for to the end: the others must have the time to respond.
    patience = "1" if fault in ("hangs", "drips", "silent") else "60"
    return cli.suite("--webhook", f"exec:{shlex.join(words)}", "--patience", patience, *focus)


def seen(ended: Ended, scenario: str) -> tuple[str, str]:
    """Status and reason of a scenario."""
    row = next(row for row in ended.report["scenarios"] if row["id"] == scenario)
    return row["status"], row["reason"]


def test_a_webhook_that_exits_at_once(cli: CommandLine) -> None:
    ended = run(cli, "exits", ASKED)
    assert ended.code == ExitCode.TARGET_UNREACHABLE
    assert "the webhook ended with exit code 3 before it listened; last output: cannot read" in ended.out


def test_a_webhook_that_does_not_listen(cli: CommandLine) -> None:
    ended = run(cli, "silent", ASKED)
    assert ended.code == ExitCode.TARGET_UNREACHABLE
    assert "20 s after its start the webhook does not listen on 127.0.0.1:" in ended.out
    assert "waiting for a leader" in ended.out


@pytest.mark.parametrize(
    ("fault", "asked", "stored"),
    [
        ("plain", "does it serve plain HTTP?", "failed to call webhook"),
        ("garbage", "HTTP 200 application/json: \ufffd\ufffd no JSON", "the answer is not JSON"),
        pytest.param("list", "HTTP 200 application/json: []", "webhook response was absent", marks=EXHAUSTIVE),
        ("null", '{"response": null}', "webhook response was absent"),
        pytest.param("texts", '"uid": 3', "failed calling webhook", marks=EXHAUSTIVE),
        pytest.param("hangs", "no complete answer came within 1 s", "failed calling webhook", marks=EXHAUSTIVE),
        ("drips", "no complete answer came within 1 s", "context deadline exceeded"),
    ],
)
def test_a_webhook_with_wrong_responses_fails(cli: CommandLine, fault: str, asked: str, stored: str) -> None:
    ended = run(cli, fault, ASKED, STORED)
    assert ended.code == ExitCode.FAILURES
    assert ended.report["verdict"] == "not-conformant"
    for scenario, said in ((ASKED, asked), (STORED, stored)):
        status, reason = seen(ended, scenario)
        assert status == "failed"
        assert said in reason


def test_a_webhook_that_admits_everything_fails(cli: CommandLine) -> None:
    refused = "webhook/admission#time-slices-of-a-mig-device-are-refused"
    ended = run(cli, "admits", ASKED, STORED, refused)
    assert seen(ended, ASKED)[0] == seen(ended, STORED)[0] == "passed"
    assert seen(ended, refused)[0] == "failed"


def test_usage_errors_are_reported_before_anything_starts(cli: CommandLine) -> None:
    for options, said in (
        (["--webhook", f"exec:{sys.executable} {{prt}}"], "unknown placeholder {prt}"),
        (["--webhook", "reference:foo=1"], "the reference has no setting 'foo'"),
        (["--webhook", "refrence"], "unknown webhook 'refrence'"),
        (["--webhook-path", "validate"], "must be the path of a URL"),
        (["--webhook", "cluster"], "has no webhook"),
    ):
        code, out, err = cli.run("run", *options)
        assert code == ExitCode.USAGE
        assert said in out + err
