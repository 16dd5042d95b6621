"""The exec probes of a container: when each is due, and what their results mean.

A container is started once its startup probe has succeeded; until then its other probes do not run. It is ready while
its readiness probe succeeds, and is ended if its startup or liveness probe fails as often as the probe allows.

`Probes` counts; its owner runs the commands and ends the container. The periods can be shorter than in the pod
(`Pace`), because a scenario must not wait for 10 s as a cluster does.

Source: pkg/kubelet/prober/worker.go (doProbe) and the defaults in pkg/apis/core/v1/defaults.go of Kubernetes 1.37.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from dra_conformance.kubelet.container_env import probe_command
from dra_conformance.kubelet.errors import KubeletError

Kind = Literal["startup", "readiness", "liveness"]
_KINDS: tuple[Kind, ...] = ("startup", "readiness", "liveness")

Pace = Callable[[float], float]
"""Returns the seconds from one probe to the next for a period of the pod's spec."""
Run = Callable[[Sequence[str], float], str]
"""Runs a command within so many seconds; returns why it failed, empty if it succeeded."""


@dataclass(slots=True)
class _Probe:
    """One probe, with its results since the container's start."""

    kind: Kind
    command: Sequence[str]
    delay: float
    period: float
    timeout: float
    failures_allowed: int
    successes_needed: int
    due: float = 0.0
    succeeded: bool = False
    in_a_row: int = 0
    last: bool | None = None

    @classmethod
    def read(cls, kind: Kind, container: Mapping[str, Any]) -> _Probe:
        spec = container[f"{kind}Probe"]
        command = (spec.get("exec") or {}).get("command")
        if not command:
            raise KubeletError(f"{kind} probe: only exec probes are emulated")
        return cls(
            kind=kind,
            command=probe_command(container, command),
            delay=float(spec.get("initialDelaySeconds") or 0),
            period=float(spec.get("periodSeconds") or 10),
            timeout=float(spec.get("timeoutSeconds") or 1),
            failures_allowed=int(spec.get("failureThreshold") or 3),
            successes_needed=int(spec.get("successThreshold") or 1),
        )

    def count(self, *, succeeded: bool) -> bool:
        """Count a result. Return whether it is the one that decides."""
        self.in_a_row = self.in_a_row + 1 if self.last is succeeded else 1
        self.last = succeeded
        return self.in_a_row >= (self.successes_needed if succeeded else self.failures_allowed)


@dataclass(slots=True)
class Probes:
    """The probes of one start of a container.

    `problem`: why it is not ready; empty if it is. `failed`: why it has to be ended; empty if it has not.
    """

    probes: Sequence[_Probe]
    pace: Pace
    problem: str = field(init=False, default="")
    failed: str = field(init=False, default="")

    @classmethod
    def of(cls, container: Mapping[str, Any], *, started_at: float, pace: Pace = lambda period: period) -> Probes:
        """Return the probes of a container that has just started. Raises KubeletError for one that is not emulated."""
        probes = [_Probe.read(kind, container) for kind in _KINDS if container.get(f"{kind}Probe")]
        for probe in probes:
            probe.due = started_at + (pace(probe.delay) if probe.delay else 0.0)
            # A liveness probe holds until it fails.
            probe.succeeded = probe.kind == "liveness"
        found = cls(probes, pace)
        found.problem = "it has not been probed yet" if found._waiting_for() else ""
        return found

    @property
    def started(self) -> bool:
        """Whether the startup probe has succeeded, or there is none."""
        return all(probe.succeeded for probe in self.probes if probe.kind == "startup")

    def run_due(self, now: Callable[[], float], run: Run) -> None:
        """Run the probes that are due, the startup probe first."""
        for probe in self.probes:
            if self.failed or (probe.kind != "startup") is not self.started or now() < probe.due:
                continue
            why = run(probe.command, probe.timeout)
            probe.due = now() + self.pace(probe.period)
            if probe.count(succeeded=not why):
                probe.succeeded = not why
                if why and probe.kind != "readiness":
                    self.failed = f"its {probe.kind} probe failed {probe.in_a_row} times: {why}"
            if probe.kind != "liveness":
                waiting = self._waiting_for()
                self.problem = (why or f"its {waiting[0]} probe has not succeeded yet") if waiting else ""

    def next_due(self) -> float | None:
        """Return when the next probe is due; None if there is none."""
        return min((one.due for one in self.probes if (one.kind == "startup") is not self.started), default=None)

    def _waiting_for(self) -> list[Kind]:
        return [probe.kind for probe in self.probes if probe.kind != "liveness" and not probe.succeeded]
