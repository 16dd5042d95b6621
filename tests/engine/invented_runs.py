"""Event logs of invented runs, for tests of everything that is computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dra_conformance.core.events import (
    CheckMade,
    Event,
    PlannedRule,
    PlannedScenario,
    RunFinished,
    RunPlanned,
    RunStarted,
    ScenarioFinished,
    ScenarioStarted,
    SuiteInfo,
    TargetInfo,
)
from dra_conformance.core.status import Status


@dataclass
class InventedRun:
    """Collects events. `scenario` adds a planned scenario and, unless it does not run, its events."""

    options: dict[str, Any] = field(default_factory=dict)
    evidence: str = "rehearsal"
    simulated: tuple[str, ...] = ()
    _events: list[Event] = field(default_factory=list)
    _rows: list[PlannedScenario] = field(default_factory=list)
    _rules: dict[str, PlannedRule] = field(default_factory=dict)

    def rule(self, rule: str, *, level: str = "MUST", binds: bool = True) -> None:
        self._rules[rule] = PlannedRule(
            level=level, component="driver", text=f"{rule} holds.", source="a test", binds=binds
        )

    def scenario(
        self,
        name: str,
        rules: Sequence[str] = ("DRA-001",),
        *,
        status: str = "passed",
        checks: Sequence[tuple[str, bool]] | None = None,
        planned: dict[str, int] | None = None,
        decided: bool = False,
        begun: bool = True,
        ended: bool = True,
        reason: str = "",
        profiles: Sequence[str] = ("driver-core",),
        of_rules: dict[str, tuple[Status, str]] | None = None,
        seconds: float = 0.5,
        shard: int = 0,
    ) -> InventedRun:
        ident = f"probe/{name}#{name}"
        where = f"features/probe/{name}.feature:3"
        reason = reason or ("" if status == "passed" else f"{status} for a reason")
        for rule in rules:
            if rule not in self._rules:
                self.rule(rule)
        self._rows.append(
            PlannedScenario(
                id=ident,
                name=name,
                chapter="probe",
                where=where,
                rules=tuple(rules),
                checks=planned or dict.fromkeys(rules, 1),
                profiles=tuple(profiles),
                of_rules=of_rules or {},
                status=Status(status) if decided else None,
                reason=reason if decided else "",
                shard=shard,
            )
        )
        if decided or not begun:
            return self
        self.emit(ScenarioStarted(name=name, where=where, rules=tuple(rules)), ident)
        for rule, ok in checks if checks is not None else [(rule, status != "failed") for rule in rules]:
            check = CheckMade(rules=(rule,), ok=ok, message="it holds", expected="a", observed="b", step=f"Then {rule}")
            self.emit(check, ident)
        if ended:
            self.emit(
                ScenarioFinished(
                    status=Status(status), reason=reason, duration=seconds, cpu=seconds / 2, step="Then x"
                ),
                ident,
            )
        return self

    def emit(self, event: Event, scenario: str = "") -> InventedRun:
        number = len(self._events)
        self._events.append(msgspec.structs.replace(event, seq=number + 1, time=number / 10, scenario=scenario))
        return self

    def events(self, *, finished: bool = True, interrupted: bool = False, leftovers: Sequence[str] = ()) -> list[Event]:
        started = RunStarted(
            run_id="0123abcd",
            seed=7,
            started_at="2026-06-01T12:00:00Z",
            suite=SuiteInfo(name="dra-conformance", version="0", rules=3),
            options=self.options,
            target=TargetInfo(
                components={"driver": "reference"},
                driver="gpu.nvidia.com",
                kubernetes_version="1.36",
                control_plane="embedded",
                kubelet="harness",
                nvml="fake",
                evidence=self.evidence,
                simulated=self.simulated,
            ),
            command="dra-conformance run",
        )
        plan = RunPlanned(scenarios=tuple(self._rows), rules=self._rules)
        end = RunFinished(seq=9999, time=9.0, interrupted=interrupted, leftovers=tuple(leftovers))
        return [started, plan, *self._events, *([end] if finished else [])]
