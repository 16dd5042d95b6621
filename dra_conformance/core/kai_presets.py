"""Commands of KAI's programs, as a checkout of the project builds them (`--scheduler kai`, `--binder kai`).

Flags and ports are those of 0.12.0: its scheduler has no flag for a kubeconfig, its metrics ports collide by default,
and neither binder nor scheduler has a readiness endpoint; they serve metrics when their clients exist. Source:
github.com/NVIDIA/KAI-scheduler v0.12.0, cmd/*/app/options.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dra_conformance.core import assets
from dra_conformance.core.companions import CompanionProgram, Companions
from dra_conformance.core.driver_presets import Preset
from dra_conformance.core.errors import unknown
from dra_conformance.core.option_table import KAI_RELEASES

KAI = "kai"

SCHEDULER_NAME = "kai-scheduler"
QUEUE_LABEL = ("kai.scheduler/queue", "default-queue")
"""The label with which the podgrouper puts a pod into a queue of the manifest (KAI docs/queues)."""

_REVISIONS = {"v0.12.0": "kai-0.12"}
_METRICS = "http://127.0.0.1:{port}/metrics"

_VOLUME_LIMIT = 5
_QUICK = ("--qps=1000", "--burst=2000")

_WORDS: Mapping[str, tuple[str, ...]] = {
    "binder": (
        *("binder", "--kubeconfig={kubeconfig}", *_QUICK),
        *("--metrics-bind-address=127.0.0.1:{port}", "--health-probe-bind-address=0"),
        # It serves claims too: the time in which PreBind must end.
        f"--volume-binding-timeout-seconds={_VOLUME_LIMIT}",
        "--resource-reservation-allocation-timeout=2",
        "{flags}",
    ),
    "scheduler": (
        *("scheduler", *_QUICK, "--listen-address=127.0.0.1:{port}", "--plugin-server-port=0"),
        # Shorter periods than the delay of its watch make it create a BindRequest twice.
        "--schedule-period=200ms",
        "--v=2",
        "{flags}",
    ),
}

_PODGROUPER = (
    *("-kubeconfig={kubeconfig}", "-qps=1000", "-burst=2000"),
    *("-metrics-bind-address=0", "-health-probe-bind-address=127.0.0.1:{port}"),
)


def kai(component: str, release: str) -> Preset:
    """Return KAI's program for a component. Raises UsageError for a release that is not pinned."""
    release = release or KAI_RELEASES[0]
    if release not in KAI_RELEASES:
        raise unknown("release of KAI", release, KAI_RELEASES)
    folder = assets.third_party_programs() / f"{KAI}-{release}"
    program, *words = _WORDS[component]
    schedules = component == "scheduler"
    beside = _of_scheduler(folder) if schedules else Companions(manifests=_role(folder, "binder"), ready=_METRICS)
    name = f"{KAI}:{release}"
    return Preset(
        name=name,
        label=name,
        command=(str(folder / program), *words),
        mounts=(),
        build=f"python -m verification build {'kai' if schedules else 'kai-binder'}",
        tools="Go",
        release="",
        revision=_REVISIONS[release],
        volume_limit=_VOLUME_LIMIT,
        companions=beside,
        scheduler_name=SCHEDULER_NAME if schedules else "",
        pod_labels=(QUEUE_LABEL,) if schedules else (),
        features=("evictions", "node-pools", "fair-share", "sub-groups", "pod-grouper", "volumes") if schedules else (),
    )


def _of_scheduler(folder: Path) -> Companions:
    return Companions(
        # The CRDs first: the other manifests have queues.
        manifests=(
            str(folder / "crds"),
            str(assets.fixtures() / "companions" / KAI / "queues.yaml"),
            *_role(folder, "scheduler"),
            *_role(folder, "podgrouper"),
        ),
        programs=(
            CompanionProgram(
                name="podgrouper",
                command=(str(folder / "podgrouper"), *_PODGROUPER),
                ready="http://127.0.0.1:{port}/readyz",
            ),
        ),
        ready=_METRICS,
    )


def _role(folder: Path, program: str) -> tuple[str, str]:
    """Return KAI's own ClusterRole of a program, and the binding to the program's user in this run."""
    return str(folder / "rbac" / f"{program}.yaml"), str(assets.fixtures() / "companions" / KAI / f"{program}.yaml")
