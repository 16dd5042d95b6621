"""Events of a run as a whole."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core.events.kinds.event import Event
from dra_conformance.core.isolation import NOT_ISOLATED
from dra_conformance.core.status import Status

Call = tuple[str, str, str, str]
"""User agent, verb, API group, resource (with `/subresource`)."""


class SuiteInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The suite that ran: its version, the number of rules in its catalogue, and the Python that ran it.

    `rulesSha256` and `featuresSha256` are digests of the catalogue and of all feature files.
    """

    name: str
    version: str
    rules: int
    python: str = ""
    platform: str = ""
    rules_sha256: str = ""
    features_sha256: str = ""


class TargetInfo(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The system under test. `evidence` is `rehearsal` for a simulated control plane, else `evidence`.

    `driver_release` is the release of NVIDIA's driver whose rules apply.
    `isolation` has the programs under test: `user`, `namespace`, `cluster`, or `not isolated` with a reason.
    `under_test` has the components that the run judges, `simulated` the parts of a system that the suite simulates.
    `features` and `missing_features` are the optional features that the target supports, or not, each with how this is
    known.
    """

    components: dict[str, str]
    driver: str
    kubernetes_version: str
    control_plane: str
    kubelet: str
    nvml: str
    resource_api: str = ""
    revision: str = ""
    driver_release: str = ""
    evidence: str = "evidence"
    isolation: dict[str, str] = msgspec.field(default_factory=dict)
    under_test: tuple[str, ...] = ()
    simulated: tuple[str, ...] = ()
    features: dict[str, str] = msgspec.field(default_factory=dict)
    missing_features: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def not_isolated(self) -> dict[str, str]:
        """The programs under test that could have changed the results, with the reasons."""
        return {name: how for name, how in self.isolation.items() if how.startswith(NOT_ISOLATED)}


class RunStarted(Event, tag="run-started", frozen=True, kw_only=True):
    """The first event: the suite, its options and the target. Secrets are removed from `options` and `command`."""

    run_id: str
    seed: int
    started_at: str
    suite: SuiteInfo
    options: dict[str, Any]
    target: TargetInfo
    command: str


class PlannedScenario(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One scenario of the plan. `checks`: number of Then steps for each rule.

    `status` is set if the scenario does not run; `of_rules` has the status and reason of rules for which they differ.
    `shard`: the shard that runs the scenario, with --shard; 0 if none does.
    """

    id: str
    name: str
    chapter: str
    where: str
    rules: tuple[str, ...]
    checks: dict[str, int]
    profiles: tuple[str, ...] = ()
    status: Status | None = None
    reason: str = ""
    of_rules: dict[str, tuple[Status, str]] = msgspec.field(default_factory=dict)
    shard: int = 0


class PlannedRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """One rule of the plan, as the catalogue has it. `binds`: its component is under test."""

    level: str
    component: str
    text: str
    source: str
    binds: bool = True


class RunPlanned(Event, tag="plan", frozen=True, kw_only=True):
    """The plan: all scenarios of the selected profiles, and the rules that they judge."""

    scenarios: tuple[PlannedScenario, ...] = ()
    rules: dict[str, PlannedRule] = msgspec.field(default_factory=dict)


class ControlPlaneReady(Event, tag="control-plane", frozen=True, kw_only=True):
    """The control plane is ready, `ready` seconds after the start of the run."""

    name: str
    ready: float


class LogRecord(Event, tag="log", frozen=True, kw_only=True):
    """A warning or error that a component of the harness or of the reference logged."""

    level: str
    logger: str
    text: str


class CallsMade(Event, tag="calls", frozen=True, kw_only=True):
    """The API calls since the last event of this kind: user agent, verb, API group, resource."""

    made: tuple[Call, ...]


class ProblemFound(Event, tag="problem", frozen=True, kw_only=True):
    """The run cannot judge its target. `exit` is the exit code."""

    message: str
    hint: str
    exit: int


class WorkerFinished(Event, tag="worker-finished", frozen=True, kw_only=True):
    """The last event of a worker process. `leftovers`: objects that it could not delete."""

    leftovers: tuple[str, ...] = ()


class RunFinished(Event, tag="run-finished", frozen=True, kw_only=True):
    """The last event of a run that ended. `leftovers`: objects that could not be deleted."""

    interrupted: bool = False
    leftovers: tuple[str, ...] = ()
