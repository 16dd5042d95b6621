"""Event logs of runs that never happened, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_conformance.core.events import Event


@dataclass
class Story:
    """Collects events; `scenario` adds a planned scenario and, unless it is left out, what became of it."""

    options: dict[str, Any] = field(default_factory=dict)
    evidence: str = "rehearsal"
    _events: list[Event] = field(default_factory=list)
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _rules: dict[str, dict[str, str]] = field(default_factory=dict)

    def rule(self, rule: str, *, level: str = "MUST") -> None:
        self._rules[rule] = {"level": level, "component": "driver", "text": f"{rule} holds.", "source": "a test"}

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
    ) -> Story:
        ident = f"probe/{name}#{name}"
        reason = reason or ("" if status == "passed" else f"{status} for a reason")
        for rule in rules:
            if rule not in self._rules:
                self.rule(rule)
        self._rows.append(
            {
                "id": ident,
                "name": name,
                "chapter": "probe",
                "where": f"features/probe/{name}.feature:3",
                "rules": list(rules),
                "checks": planned or dict.fromkeys(rules, 1),
                "status": status if decided else None,
                "reason": reason if decided else "",
            }
        )
        if decided or not begun:
            return self
        self._tell("scenario-started", ident, name=name)
        for rule, ok in checks if checks is not None else [(rule, status != "failed") for rule in rules]:
            self._tell(
                "check", ident, rules=[rule], ok=ok, message="it holds", expected="a", observed="b", step=f"Then {rule}"
            )
        if ended:
            self._tell("scenario-finished", ident, status=status, reason=reason, duration=0.5, step="Then x")
        return self

    def tell(self, kind: str, **data: Any) -> Story:
        self._tell(kind, "", **data)
        return self

    def _tell(self, kind: str, scenario: str, **data: Any) -> None:
        self._events.append(Event(len(self._events) + 1, len(self._events) / 10, kind, scenario, data))

    def events(self, *, finished: bool = True, interrupted: bool = False, leftovers: Sequence[str] = ()) -> list[Event]:
        started = {
            "runId": "0123abcd",
            "seed": 7,
            "startedAt": "2026-06-01T12:00:00Z",
            "suite": {"name": "dra-conformance", "version": "0", "rules": 3},
            "options": self.options,
            "target": {
                "components": {"driver": "reference"},
                "driver": "gpu.nvidia.com",
                "kubernetesVersion": "1.36",
                "controlPlane": "embedded",
                "kubelet": "harness",
                "nvml": "fake",
                "evidence": self.evidence,
            },
            "command": "dra-conformance run",
        }
        head = [
            Event(0, 0.0, "run-started", "", started),
            Event(0, 0.0, "plan", "", {"scenarios": self._rows, "rules": self._rules}),
        ]
        tail = [Event(9999, 9.0, "run-finished", "", {"interrupted": interrupted, "leftovers": list(leftovers)})]
        return head + self._events + (tail if finished else [])
