"""What a report holds. The field names are those of `report.yaml` and `report.json`, in kebab-free camelCase."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core.status import Status, Verdict

API_VERSION = "dra-conformance/v1alpha1"


class Check(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One check as it was made: the rules it judged, what was expected and what was seen."""

    rules: tuple[str, ...]
    status: Status
    message: str
    expected: str
    observed: str
    step: str
    event: int


class ScenarioResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One scenario of the plan. `where` is file and line; `duration` is seconds; `timeline` only for failures."""

    id: str
    name: str
    chapter: str
    where: str
    rules: tuple[str, ...]
    status: Status
    reason: str = ""
    duration: float = 0.0
    failed_step: str = ""
    checks: tuple[Check, ...] = ()
    timeline: tuple[str, ...] = ()
    repeat: str = ""
    evidence: str = ""


class RuleResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One rule over all scenarios that judge it."""

    id: str
    level: str
    component: str
    text: str
    source: str
    status: Status
    reason: str = ""
    scenarios: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of one run."""

    api_version: str = API_VERSION
    kind: str = "ConformanceReport"
    run_id: str
    started_at: str
    duration: float
    suite: dict[str, Any]
    target: dict[str, Any]
    evidence_class: str
    profiles: tuple[str, ...]
    verdict: Verdict
    exit_code: int
    interrupted: bool
    statistics: dict[str, int]
    rule_statistics: dict[str, int]
    rules: tuple[RuleResult, ...]
    scenarios: tuple[ScenarioResult, ...]
    problems: tuple[dict[str, Any], ...] = ()
    waivers: tuple[dict[str, Any], ...] = ()
    leftovers: tuple[str, ...] = ()
    seed: int = 0
    command: str = ""
    events_sha256: str = ""


def to_plain(report: Report) -> dict[str, Any]:
    """The report as plain mappings and lists."""
    plain = msgspec.to_builtins(report, str_keys=True)
    assert isinstance(plain, dict)  # noqa: S101 - a struct always becomes a mapping
    return plain
