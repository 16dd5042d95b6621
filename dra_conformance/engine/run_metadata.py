"""Describes a run for its event log: the suite, the target and the plan."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from dra_api import __version__
from dra_api.client import ApiError, KubeClient
from dra_api.clock import timestamp
from dra_api.objects import RESOURCE_SLICES, meta
from dra_api.transport import TransportError
from dra_conformance.control_plane import own_access
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.core import digests
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.events import PlannedRule, PlannedScenario, RunPlanned, RunStarted, SuiteInfo, TargetInfo
from dra_conformance.core.features import checks_of
from dra_conformance.core.isolation import NONE, Isolation
from dra_conformance.core.options import RunOptions, plain, redact
from dra_conformance.core.rules import Catalogue
from dra_conformance.engine import supported_features, target_isolation
from dra_conformance.engine.plan import Plan
from dra_conformance.engine.target import under_test
from fake_nvml import marker

_DEVICES = Path("/dev")


def started(
    options: RunOptions, catalogue: Catalogue, target: TargetInfo, *, run_id: str, seed: int, command: str
) -> RunStarted:
    """Return the first event of a run."""
    return RunStarted(
        run_id=run_id,
        seed=seed,
        started_at=timestamp(datetime.now(UTC)),
        suite=suite(catalogue, options.features),
        options=plain(options),
        target=target,
        command=command,
    )


def suite(catalogue: Catalogue, additional: Sequence[str] = ()) -> SuiteInfo:
    """Return the version of the suite and of Python. `additional`: directories with more feature files."""
    return SuiteInfo(
        name="dra-conformance",
        version=__version__,
        rules=len(catalogue),
        python=platform.python_version(),
        platform=f"{sys.platform} {platform.machine()}",
        rules_sha256=digests.of_rules(),
        features_sha256=digests.of_features(additional),
    )


def describe(
    options: RunOptions, control_plane: ControlPlane | None, resource_versions: Sequence[str], isolation: Isolation
) -> TargetInfo:
    """Return the report's description of the target; `control_plane` is None if the run has none."""
    components = {name: redact(str(spec)) for name, spec in options.components().items()}
    embedded = options.control_plane == "embedded"
    features = supported_features.find(options)
    rehearsal = embedded or (control_plane is not None and control_plane.evidence == "rehearsal")
    fake_gpus = _fake_gpus_of_another(options, control_plane)
    return TargetInfo(
        components=components,
        driver=options.driver_name,
        kubernetes_version=options.kubernetes_version if embedded else _version(control_plane),
        control_plane=_embedded(options) if embedded else _control_plane(control_plane, rehearsal=rehearsal),
        kubelet=_kubelet(components["kubelet"], control_plane),
        nvml=_nvml(options, fake_gpus=fake_gpus),
        resource_api=", ".join(resource_versions[:1]),
        revision=options.protocol,
        driver_release=options.nvidia_release,
        evidence="rehearsal" if rehearsal else "evidence",
        isolation=target_isolation.labels(
            options, isolation, as_administrator=isolation != NONE and _is_administrator(control_plane)
        ),
        under_test=tuple(sorted(under_test(options.components(), nvml=options.nvml))),
        simulated=_simulated(options, rehearsal=rehearsal, fake_gpus=fake_gpus),
        features=dict(features.supported),
        missing_features=dict(features.unsupported),
    )


def _simulated(options: RunOptions, *, rehearsal: bool, fake_gpus: str) -> tuple[str, ...]:
    """Return what is simulated of the system around the components under test."""
    own = options.component("driver").takes_fake_gpus
    parts = {
        "control plane": rehearsal,
        "kubelet": options.component("kubelet").kind == "reference",
        "GPUs": (own and options.nvml == "fake") or bool(fake_gpus),
        "MPS control daemons": own and options.nvml == "fake" and options.component("driver").kind == "exec",
    }
    return tuple(name for name, simulated in parts.items() if simulated)


def _fake_gpus_of_another(options: RunOptions, control_plane: ControlPlane | None) -> str:
    """Return what the report says of simulated GPUs of a driver that this run does not start; empty if it knows none.

    A running driver may say so in its slices. A cluster that the run makes starts later, on this machine, and has no
    other GPUs than this machine.
    """
    if control_plane is None or options.component("driver").kind not in ("socket", "cluster"):
        return ""
    if control_plane.own:
        return "" if any(_DEVICES.glob("nvidia[0-9]*")) else "GPUs of the driver (simulated: this machine has none)"
    try:
        client = KubeClient(control_plane.transport())
        slices = client.list(RESOURCE_SLICES, field_selector=f"spec.driver={options.driver_name}")
    except (ApiError, TransportError, TargetUnreachable):  # reported as the run's problem already
        return ""
    marks = ((meta(found).get("annotations") or {}).get(marker.ANNOTATION) for found in slices.items)
    return "fake NVML of the driver (simulated)" if marker.GPUS in marks else ""


def _is_administrator(control_plane: ControlPlane | None) -> bool:
    """Whether programs under test act as a user with every permission; a run that makes users gives them few."""
    if control_plane is None or control_plane.own:
        return False
    try:
        return own_access.may_do_everything(KubeClient(control_plane.transport()))
    except TargetUnreachable:
        return False


def _embedded(options: RunOptions) -> str:
    lag = options.lag()
    return "embedded emulation (simulated)" + (f", {lag}" if lag else "")


def _control_plane(control_plane: ControlPlane | None, *, rehearsal: bool) -> str:
    if control_plane is not None and control_plane.own:
        return f"{control_plane.name}, started by the run"
    return "embedded emulation (simulated), served outside the run" if rehearsal else "cluster"


def _nvml(options: RunOptions, *, fake_gpus: str) -> str:
    if options.nvml == "real":
        return "this machine's own"
    if options.component("driver").takes_fake_gpus:
        return f"fake NVML, inventory {options.inventory} (simulated)"
    return fake_gpus or "as the driver finds it"


def _kubelet(implementation: str, control_plane: ControlPlane | None) -> str:
    harness = "emulated kubelet (simulated)"
    kind, _, version = implementation.partition(":")
    if kind == "kubelet":
        version = version or _version(control_plane)
        return f"kubelet {version} with containers in scenarios of the component kubelet, else {harness}"
    return harness if implementation == "reference" else implementation


def _version(control_plane: ControlPlane | None) -> str:
    try:
        return control_plane.version() if control_plane is not None else ""
    except TargetUnreachable:  # reported as the run's problem already
        return ""


def planned(plan: Plan, catalogue: Catalogue) -> RunPlanned:
    """Return the plan: every scenario with its rules, and every rule that they judge."""
    rules = {rule for decision in plan.decisions for rule in decision.scenario.rules}
    return RunPlanned(
        scenarios=tuple(
            PlannedScenario(
                id=decision.scenario.id,
                name=decision.scenario.name,
                chapter=decision.scenario.chapter,
                where=decision.scenario.where,
                rules=decision.scenario.rules,
                checks=checks_of(decision.scenario),
                profiles=decision.scenario.tags.profiles,
                status=decision.status,
                reason=decision.reason,
                of_rules=dict(decision.of_rules),
                shard=decision.shard,
            )
            for decision in plan.decisions
        ),
        rules={rule: _rule(rule, catalogue, plan.under_test) for rule in sorted(rules)},
    )


def _rule(rule_id: str, catalogue: Catalogue, judged: frozenset[str]) -> PlannedRule:
    rule = catalogue[rule_id]
    return PlannedRule(
        level=rule.level,
        component=rule.component,
        text=rule.text,
        source=rule.source,
        binds=rule.component in judged,
    )
