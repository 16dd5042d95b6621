"""The data of a report. Field names are those of `report.yaml` and `report.json`, in camelCase."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core.events import GpuOnNode, SuiteInfo, TargetInfo
from dra_conformance.core.status import ProfileStatus, Status, Verdict

API_VERSION = "dra-conformance/v1alpha1"


class Check(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One check: the rules that it judged, the expected and the observed value. `event` is its number in the log."""

    rules: tuple[str, ...]
    status: Status
    message: str
    expected: str
    observed: str
    step: str
    event: int


class Output(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The last lines of a program under test when its scenario failed. `file` is its log in the report directory."""

    program: str
    file: str
    lines: tuple[str, ...]


class Exchange(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A message between two parts of a failed scenario, or an event of one part (`source` is `target`).

    `time` is in seconds since the scenario began.
    """

    time: float
    source: str
    target: str
    text: str
    failed: bool = False


class ScenarioResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one planned scenario.

    `where` is file and line, `duration` and `cpu` are in seconds, `repeat` is a command that repeats the scenario.
    `timeline` and `repeat` are empty for scenarios that passed or do not apply. `crash` describes a program under test
    that ended by itself. `outputs` are the logs of programs under test, `objects` the file with the objects of the
    scenario, `exchanges` the messages between its parts, and `inventories` the names of the GPUs that it ran on; they
    are empty where `timeline` is.
    """

    id: str
    name: str
    chapter: str
    where: str
    rules: tuple[str, ...]
    status: Status
    reason: str = ""
    duration: float = 0.0
    cpu: float = 0.0
    failed_step: str = ""
    crash: str = ""
    checks: tuple[Check, ...] = ()
    timeline: tuple[str, ...] = ()
    outputs: tuple[Output, ...] = ()
    objects: str = ""
    exchanges: tuple[Exchange, ...] = ()
    inventories: tuple[str, ...] = ()
    repeat: str = ""
    evidence: str = ""


class RuleCounts(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Numbers of rules: those that bind the components under test, and how many of these were judged and passed."""

    binding: int = 0
    judged: int = 0
    passed: int = 0


class NotJudged(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Binding rules that were not judged, for one reason."""

    status: Status
    reason: str
    rules: tuple[str, ...]


class ProfileResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one profile.

    `must` counts the rules that are scored, `all_rules` also SHOULD and MAY. `deselected`: no rule that is scored was
    judged, because the user's selection left scenarios out. `statistics` has the number of rules by status.
    """

    name: str
    status: ProfileStatus
    deselected: bool
    must: RuleCounts
    all_rules: RuleCounts
    statistics: dict[str, int]
    not_judged: tuple[NotJudged, ...] = ()


class RuleResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one rule over all scenarios that judge it.

    `binds`: its component is under test. `limits` has the reasons why other scenarios of a judged rule did not run.
    `duration` and `cpu` are the seconds of all its scenarios; a scenario of several rules counts for each of them.
    """

    id: str
    level: str
    component: str
    text: str
    source: str
    status: Status
    binds: bool = True
    reason: str = ""
    limits: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    duration: float = 0.0
    cpu: float = 0.0


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A reason why the run could not judge its target. `exit` is the exit code.

    `scenarios`: those that found it. With several workers each of them finds that the target cannot be reached.
    """

    message: str
    hint: str
    exit: int
    scenarios: tuple[str, ...] = ()


class WaiverResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A waiver and its state: `active`, `expired`, or `stale` if the rule passes."""

    rule: str
    owner: str
    reason: str
    expires: str
    state: str


class ShardResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of a run (`run --shard`): shard `index` of `count`, and the log that its results come from.

    `ran` is the number of its scenarios that ran. `events` is the log, in the directory of the report.
    """

    index: int
    count: int
    run_id: str
    started_at: str
    duration: float
    ran: int
    seed: int
    command: str
    events: str
    events_sha256: str


class StepTime(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How often the same step ran with any values, and the seconds of all these steps."""

    text: str
    times: int
    seconds: float


class Inventory(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """GPUs that scenarios ran on: an inventory of the fake NVML by its name, or those of a machine (`real`)."""

    name: str
    real: bool = False
    gpus: tuple[GpuOnNode, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of one run. `caveats` are the limits of the verdict, such as a selection, retries, simulated parts.

    `duration` is in seconds, `cpu` the sum of its scenarios, `slow_steps` the steps that took longest.
    `program_warnings`: processes that programs under test left behind and that were killed, output that was cut.
    `shards` has one item if the run was one shard, and all that were merged in a merged report: `run_id`, `seed` and
    `command` are those of the first of them then, and `events_sha256` is the digest of the digests of their logs.
    """

    api_version: str = API_VERSION
    kind: str = "ConformanceReport"
    run_id: str
    started_at: str
    duration: float
    cpu: float = 0.0
    suite: SuiteInfo
    target: TargetInfo
    evidence_class: str
    profiles: tuple[str, ...]
    verdict: Verdict
    caveats: tuple[str, ...]
    exit_code: int
    interrupted: bool
    profile_results: tuple[ProfileResult, ...]
    statistics: dict[str, int]
    rule_statistics: dict[str, int]
    rules: tuple[RuleResult, ...]
    scenarios: tuple[ScenarioResult, ...]
    problems: tuple[Problem, ...] = ()
    waivers: tuple[WaiverResult, ...] = ()
    leftovers: tuple[str, ...] = ()
    program_warnings: tuple[str, ...] = ()
    slow_steps: tuple[StepTime, ...] = ()
    inventories: tuple[Inventory, ...] = ()
    seed: int = 0
    command: str = ""
    events_sha256: str = ""
    shards: tuple[ShardResult, ...] = ()


def to_plain(report: Report) -> dict[str, Any]:
    """Return the report as plain mappings and lists."""
    plain = msgspec.to_builtins(report, str_keys=True)
    assert isinstance(plain, dict)  # noqa: S101 - a struct always becomes a mapping
    return plain
