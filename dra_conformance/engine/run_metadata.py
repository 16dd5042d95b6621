"""What the event log says of a run as a whole: the suite, the target, the plan. Pure functions."""

from __future__ import annotations

import platform
import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from dra_api import __version__
from dra_conformance.control_plane.base import ControlPlane
from dra_conformance.core.errors import TargetUnreachable
from dra_conformance.core.options import RunOptions, redact
from dra_conformance.core.rules import Catalogue
from dra_conformance.engine.plan import Plan


def suite(catalogue: Catalogue) -> dict[str, Any]:
    """Which suite runs, and on what."""
    return {
        "name": "dra-conformance",
        "version": __version__,
        "rules": len(catalogue),
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
    }


def describe(
    options: RunOptions, control_plane: ControlPlane | None, resource_versions: Sequence[str]
) -> dict[str, Any]:
    """What the report says of the target; `control_plane` is None where the run made none."""
    components = {name: redact(str(spec)) for name, spec in options.components().items()}
    embedded = options.control_plane == "embedded"
    rehearsal = embedded or (control_plane is not None and control_plane.evidence == "rehearsal")
    return {
        "components": components,
        "driver": options.driver_name,
        "kubernetesVersion": options.kubernetes_version if embedded else _version(control_plane),
        "controlPlane": _embedded(options) if embedded else _control_plane(control_plane, rehearsal=rehearsal),
        "kubelet": _kubelet(components["kubelet"], control_plane),
        "nvml": _nvml(options, components["driver"]),
        "resourceApi": ", ".join(resource_versions[:1]),
        "revision": options.revision,
        "evidence": "rehearsal" if rehearsal else "evidence",
    }


def _embedded(options: RunOptions) -> str:
    lag = options.watch_lag
    return "embedded emulation (simulated)" + (f", watches up to {lag:g} s late" if lag else "")


def _control_plane(held: ControlPlane | None, *, rehearsal: bool) -> str:
    if held is not None and held.own:
        return f"{held.name}, started by the run"
    return "embedded emulation (simulated), served outside the run" if rehearsal else "cluster"


def _nvml(options: RunOptions, driver: str) -> str:
    if options.nvml == "real":
        return "this machine's own"
    simulated = driver.startswith("reference")
    return f"fake NVML, inventory {options.inventory} (simulated)" if simulated else "as the driver finds it"


def _kubelet(holds: str, control_plane: ControlPlane | None) -> str:
    harness = "harness kubelet (simulated)"
    if holds == "kubelet":
        version = _version(control_plane)
        return f"kubelet {version} with containers in scenarios of the component kubelet, else {harness}"
    return harness if holds == "reference" else holds


def _version(control_plane: ControlPlane | None) -> str:
    try:
        return control_plane.version() if control_plane is not None else ""
    except TargetUnreachable:  # told as the run's problem already
        return ""


def planned(plan: Plan, catalogue: Catalogue) -> dict[str, Any]:
    """The plan: every scenario with its rules, and every rule that it judges."""
    rules: dict[str, Any] = {}
    rows = []
    for decision in plan.decisions:
        scenario = decision.scenario
        steps: dict[str, set[str]] = defaultdict(set)
        for step in scenario.steps:
            if step.kind == "then":
                for rule in step.rules or scenario.rules:
                    steps[rule].add(step.text)
        rows.append(
            {
                "id": scenario.id,
                "name": scenario.name,
                "chapter": scenario.chapter,
                "where": scenario.where,
                "rules": scenario.rules,
                "checks": {rule: len(texts) for rule, texts in steps.items()},
                "status": decision.status.value if decision.status else None,
                "reason": decision.reason,
            }
        )
        for rule_id in scenario.rules:
            row = catalogue[rule_id]
            rules[rule_id] = {"level": row.level, "component": row.component, "text": row.text, "source": row.source}
    return {"scenarios": rows, "rules": dict(sorted(rules.items()))}
