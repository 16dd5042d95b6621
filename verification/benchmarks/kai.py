"""BindRequests on one real API server, in turns: the reference, KAI as a whole, and kube-scheduler, which has none.

KAI as a whole is its podgrouper, scheduler and binder, with the options of the presets `--scheduler kai` and `--binder
kai`. Its podgrouper makes a PodGroup for each pod that has none, which is part of the measurement. kube-scheduler does
not read PodGroups of KAI, so that gangs are measured without it. Needs the programs of `make third-party`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dra_api.client import AlreadyExists, KubeClient
from dra_api.clock import RealClock
from dra_api.objects import CRDS, POD_GROUPS, QUEUES, Obj
from dra_conformance.components import crds, readiness
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core import assets, documents
from dra_conformance.core.companions import PORT
from dra_conformance.core.component_spec import fill
from dra_conformance.core.driver_presets import Preset
from dra_conformance.core.kai_presets import KAI, QUEUE_LABEL, SCHEDULER_NAME, kai
from dra_conformance.core.option_table import KAI_RELEASES
from dra_conformance.core.process import ManagedProcess
from verification.benchmarks import real
from verification.benchmarks.cluster import BIN, pod
from verification.benchmarks.figures import Figure
from verification.benchmarks.real import Outcome, Start

PODS, GANG, ROUNDS = 200, 8, 3
# On a busy machine KAI binds two pods a second.
_LIMIT = 300.0
_QUEUES = assets.fixtures() / "companions" / KAI / "queues.yaml"
_CRDS = BIN / f"{KAI}-{KAI_RELEASES[0]}" / "crds"
OURS, THEIRS, KUBE = "reference, BindRequest", "KAI whole", "kube-scheduler"


def kai_whole(plane: BinariesControlPlane, folder: Path) -> list[ManagedProcess]:
    """KAI's podgrouper, scheduler and binder."""
    scheduler, binder = kai("scheduler", ""), kai("binder", "")
    grouper = scheduler.companions.programs[0]
    return [
        _program(grouper.name, grouper.command, plane, folder),
        _program("scheduler", _command(scheduler), plane, folder),
        _program("binder", _command(binder), plane, folder),
    ]


def _command(preset: Preset) -> tuple[str, ...]:
    """Return the words of a preset without `{flags}`."""
    return tuple(word for word in preset.command if word != "{flags}")


def _program(name: str, words: tuple[str, ...], plane: BinariesControlPlane, folder: Path) -> ManagedProcess:
    kubeconfig = str(plane.kubeconfig)
    values = {"kubeconfig": kubeconfig, PORT: str(readiness.free_port())}
    command = [fill(word, values) for word in words]
    return ManagedProcess(name, command, log_path=folder / f"{name}.log", env={"KUBECONFIG": kubeconfig})


SCHEDULERS: Mapping[str, Start] = {KUBE: real.kube_scheduler, OURS: real.reference("bind-request"), THEIRS: kai_whole}


def _workload(name: str, *, gangs: bool) -> real.Workload:
    """Return what one of the schedulers gets: its name in the pods, KAI's queue, PodGroups."""
    theirs = name == THEIRS

    def prepare(client: KubeClient) -> None:
        for path in sorted(_CRDS.glob("*.yaml")) if theirs else ():
            for crd in documents.load_all(path.read_text(), where=str(path)):
                with suppress(AlreadyExists):
                    client.create(CRDS, crd)
                    crds.wait_served(client, crd, RealClock())
        for queue in documents.load_all(_QUEUES.read_text(), where=str(_QUEUES)):
            client.create(QUEUES, queue)
        for number in range(PODS // GANG if gangs else 0):
            spec = {"minMember": GANG, "queue": QUEUE_LABEL[1]}
            client.create(POD_GROUPS, {"metadata": {"name": f"gang-{number}", "namespace": "default"}, "spec": spec})

    def make(number: int) -> Obj:
        made: Obj = pod(f"pod-{number:04d}")
        if theirs:
            made["metadata"]["labels"] = dict([QUEUE_LABEL])
            made["spec"]["schedulerName"] = SCHEDULER_NAME
        if gangs:
            made["metadata"]["annotations"] = {"pod-group-name": f"gang-{number // GANG}"}
        return made

    return real.Workload(make, prepare)


def figures() -> list[Figure]:
    """Measure pods with a claim each on 50 nodes of 8 devices, one by one and in gangs of 8."""
    if not (BIN / "kube-apiserver").exists() or not Path(kai("scheduler", "").command[0]).exists():
        print("  not built: make third-party")
        return []
    found = []
    for gangs in (False, True):
        names = [name for name in SCHEDULERS if not (gangs and name == KUBE)]
        rounds = [{name: _measured(name, gangs=gangs) for name in names} for _ in range(ROUNDS)]
        found += [_figure(name, gangs, [one[name] for one in rounds], rounds) for name in names]
    return found


def _measured(name: str, *, gangs: bool) -> Outcome:
    workload = _workload(name, gangs=gangs)
    outcome = real.measure(SCHEDULERS[name], pods=PODS, workload=workload, may_double=name == THEIRS, limit=_LIMIT)
    print(f"  {name}: {PODS / outcome.whole:.1f} pods/s", file=sys.stderr, flush=True)
    return outcome


def _figure(name: str, gangs: bool, runs: list[Outcome], rounds: list[dict[str, Outcome]]) -> Figure:
    rates = [run.pods / run.whole for run in runs]
    last = runs[-1]
    cpu = ", ".join(f"{program} {ms:.1f}" for program, ms in last.cpu.items())
    note = f"to the last phase and event {last.pods / last.reported:.0f} pods/s, {last.reported_cpu:.1f} ms and "
    note += f"{last.reported_writes:.1f} writes a pod in all; CPU ms a pod: {cpu}"
    if name == OURS:
        for other in (KUBE, THEIRS):
            if other in rounds[0]:
                theirs = Figure("", "", [one[other].pods / one[other].whole for one in rounds])
                note = f"{Figure('', '', rates).middle / theirs.middle:.2f} x {other}; {note}"
    if doubled := [device for run in runs for device in run.doubled]:
        note = f"DEVICES IN TWO CLAIMS: {len(doubled)}; {note}"
    shape = f"gangs of {GANG}, " if gangs else ""
    aim = {OURS: ">= 2 x KAI" + ("" if gangs else ", >= 1 x kube-scheduler")}.get(name, "")
    return Figure(f"{PODS} pods, {shape}{name}, start to last bind", "pods/s", rates, aim=aim, note=note)
