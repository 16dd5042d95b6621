"""Fills the seats of a scenario and empties them again.

Reference parts are started afresh for every scenario that names their seat, so no scenario can see what another left
in a part's memory; programs behind `exec:` start when first needed and live until the run ends, unless a step kills
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dra_api.client import KubeClient
from dra_api.part import Part
from dra_conformance.errors import TargetUnreachable
from dra_conformance.seats import reference
from dra_conformance.seats.process import ManagedProcess
from dra_conformance.seats.spec import SeatSpec, fill
from dra_conformance.seats.webhook import WebhookSeat

if TYPE_CHECKING:
    from dra_conformance.suite.run import Run
    from dra_conformance.suite.world import World


class Seats:
    """Who sits where in this run. `work` is the run's short-lived folder for sockets and state."""

    def __init__(self, run: Run, *, work: Path) -> None:
        self._run = run
        self._specs = run.options.seats()
        self._work = work
        self._processes: dict[str, ManagedProcess] = {}
        self._parts: dict[str, Part] = {}
        self.webhook = WebhookSeat(run, self._specs["webhook"], work=work)
        self.driver_came = False
        """Whether the driver under test has registered in this run, on any node."""

    def spec(self, seat: str) -> SeatSpec:
        """What sits in a seat."""
        return self._specs[seat]

    @property
    def work(self) -> Path:
        """The run's short-lived folder (mode 0700)."""
        return self._work

    def fill(self, world: World) -> None:
        """Start what the scenario's tags name; it stops when the scenario ends."""
        for seat in reference.CLUSTER_SEATS:
            if seat in world.scenario.tags.seats:
                self.start(seat)
                # A program that met faults is still backing off from them: the next scenario must not wait for that.
                end = self.kill if "faults" in world.scenario.tags.needs else self.empty
                world.cleanup.callback(end, seat)
        if "webhook" in world.scenario.tags.seats:
            self.webhook.start()
            world.cleanup.callback(self.webhook.release)

    def start(
        self,
        seat: str,
        *,
        settings: Mapping[str, str] | None = None,
        gates: Mapping[str, bool] | None = None,
        flags: Sequence[str] = (),
        arguments: Mapping[str, str] | None = None,
    ) -> None:
        """Fill one seat with what the run says.

        `settings` add to those of the option, for reference parts; `gates` add to the run's feature gates, for
        reference parts and Kubernetes' own programs; `flags` are a reference part's own (see `reference.build`);
        `arguments` are fields of DynamicResourcesArgs, for the reference scheduler and kube-scheduler.
        """
        spec = self._specs[seat]
        self._run.log.emit("seat", seat=seat, holds=spec.kind, action="start")
        if spec.kind == "reference":
            part = reference.build(
                seat,
                KubeClient(self._run.part_transport(seat), user_agent=f"reference-{seat}"),
                self._run.clock,
                revision=self._run.options.revision,
                settings={**spec.settings, **(settings or {})},
                gates={**self._run.options.gates(), **(gates or {})},
                flags=flags,
                arguments=arguments,
            )
            part.start()
            self._parts[seat] = part
        elif spec.kind == "exec" or spec.is_kubernetes:
            self._start_process(seat, spec, gates or {}, arguments or {})

    def empty(self, seat: str) -> None:
        """Stop the reference part in a seat, if there is one; programs stay."""
        part = self._parts.pop(seat, None)
        if part is not None:
            self._run.log.emit("seat", seat=seat, holds="reference", action="stop")
            part.stop()

    def restart(
        self,
        seat: str,
        *,
        settings: Mapping[str, str] | None = None,
        gates: Mapping[str, bool] | None = None,
        flags: Sequence[str] = (),
        arguments: Mapping[str, str] | None = None,
    ) -> None:
        """Stop or kill what is in a seat and start it again."""
        self.kill(seat)
        self.start(seat, settings=settings, gates=gates, flags=flags, arguments=arguments)

    def kill(self, seat: str) -> None:
        """End what is in a seat at once; a reference part in process can only be stopped."""
        process = self._processes.pop(seat, None)
        if process is not None:
            self._run.log.emit("seat", seat=seat, holds="exec", action="kill")
            process.kill()
        self.empty(seat)

    def running(self, seat: str) -> bool:
        """Whether something is alive in a seat that the run started."""
        process = self._processes.get(seat)
        return seat in self._parts or (process is not None and process.running)

    def ended(self, seat: str) -> str | None:
        """What the program in a seat said last, where it has ended by itself; None while it runs or is a part."""
        process = self._processes.get(seat)
        return process.last_lines() if process is not None and process.exit_code else None

    def stop(self) -> None:
        """Stop everything that was started."""
        for seat in list(self._parts):
            self.empty(seat)
        for process in self._processes.values():
            process.stop()
        self._processes.clear()
        self.webhook.stop()

    def _start_process(
        self, seat: str, spec: SeatSpec, gates: Mapping[str, bool], arguments: Mapping[str, str]
    ) -> None:
        held = self._processes.get(seat)
        if held is not None:
            if held.running:
                return
            if not spec.is_kubernetes:
                raise TargetUnreachable(
                    f"the {seat} ended with exit code {held.exit_code}", hint=f"It said last: {held.last_lines()}"
                )
            # What brought it down has been judged by the scenario before; in a cluster somebody would restart it too.
            self._run.log.emit("seat", seat=seat, holds=spec.kind, action="restart", exitCode=held.exit_code)
        kubeconfig = self._run.kubeconfig
        if spec.is_kubernetes:
            command = self._run.seat_command(spec.kind, seat, gates, arguments)
        else:
            kubeconfig = self._run.seat_kubeconfig(seat)
            command = [fill(word, {"kubeconfig": str(kubeconfig)}) for word in spec.command]
        process = ManagedProcess(
            seat, command, log_path=self._run.folder / "logs" / f"{seat}.log", env={"KUBECONFIG": str(kubeconfig)}
        )
        process.start()
        self._processes[seat] = process
