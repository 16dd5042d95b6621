"""One trial in a forked process: a run of few scenarios, or a cleanup, in which one role lacks a permission.

Changes that a child makes to its modules end with it. Remaining objects are removed with the control plane, so a run
does not wait for them.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import orjson

from dra_api.transport import HttpTransport
from dra_conformance.cli import call
from dra_conformance.core.configuration import from_mapping
from dra_conformance.core.status import Status
from dra_conformance.engine.mutation import Patch
from dra_conformance.pytest_plugin.launch import execute
from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import CLEANUP
from verification.rbac_ablation import leftovers
from verification.rbac_ablation.environment import COMPONENTS
from verification.rbac_ablation.roles import ByHolder

CLEANS = "cleanup"
_CLEANUP_PATIENCE = 30
_BAD = (Status.FAILED, Status.ERROR, Status.UNTESTABLE)


@dataclass(frozen=True, slots=True)
class Trial:
    """The input of a trial. `users` represent the roles; `out` is a folder of its own; `patience` is in seconds.

    `scenarios` run until one does not pass. A trial of the cleanup needs none: it removes the objects of `run_id`.
    """

    need: Need
    users: Mapping[str, str]
    scenarios: tuple[str, ...]
    kubeconfig: Path
    admin: Path
    out: Path
    patience: float
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The scenario that did not pass, its status and its reason; `scenario` is empty if all passed."""

    scenario: str = ""
    status: str = ""
    reason: str = ""


def play(trial: Trial) -> Outcome:
    """Run one trial in a child process. Only the identity of its requests differs from an ordinary run."""
    trial.out.mkdir(parents=True)
    patch = Patch(trial.out)

    def by_role(original: Any) -> Any:
        return lambda self: ByHolder(original(self), trial.users)

    patch.wrap("dra_conformance.control_plane.kubeconfig:KubeconfigControlPlane.transport", by_role)
    if trial.need[0] == CLEANUP:
        return _clean(trial)
    patch.replace("dra_conformance.engine.run:Run.leftovers", lambda self: [])
    return _run(trial)


def _run(trial: Trial) -> Outcome:
    components = dict.fromkeys(COMPONENTS, "reference")
    options = from_mapping({**components, "control-plane": f"kubeconfig:{trial.kubeconfig}"}, where="access")
    options = msgspec.structs.replace(
        options,
        # With the blank that follows an id: an id must not match longer ones.
        focus=tuple(f"^{re.escape(name)} " for name in trial.scenarios),
        out=str(trial.out),
        progress="none",
        patience=trial.patience,
        report=("json",),
        # The first scenario that does not pass is the evidence.
        fail_fast=True,
    )
    execute(options)
    report = orjson.loads((trial.out / "report.json").read_bytes())
    rows = {row["id"]: row for row in report["scenarios"] if row["id"] in trial.scenarios}
    for row in rows.values():
        if row["status"] in _BAD:
            return Outcome(row["id"], row["status"], row["reason"])
    if report["problems"]:
        return Outcome(trial.scenarios[0], "problem", str(report["problems"][0]["message"]))
    left = [row for row in rows.values() if row["status"] != Status.PASSED]
    if left or not rows:  # the plan left it out
        return Outcome(trial.scenarios[0], left[0]["status"], left[0]["reason"]) if left else Outcome()
    return Outcome()


def _clean(trial: Trial) -> Outcome:
    """Create the objects of an interrupted run, and remove them without the permission."""
    transport = HttpTransport.from_kubeconfig(trial.admin)
    try:
        leftovers.leave(transport, trial.run_id)
    finally:
        transport.close()
    words = ["--run-id", trial.run_id, "--kubeconfig", str(trial.kubeconfig), "--patience", str(_CLEANUP_PATIENCE)]
    with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
        code = call([CLEANS, *words])
    return Outcome(CLEANS, f"exit {code}", "; ".join(_lines(said.getvalue()))) if code else Outcome()


def _lines(text: str) -> Sequence[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
