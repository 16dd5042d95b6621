"""A real API server with the optional APIs installed, an identity with the printed roles, and runs under it.

Owns the control plane while the context is open; runs are processes of their own that end before it does.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from dra_api.client import KubeClient
from dra_api.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, CRDS, KNOWN, Obj, name_of
from dra_conformance.control_plane.binaries import BinariesControlPlane
from dra_conformance.core import assets, documents
from dra_conformance.rbac.roles import PREFIX
from dra_conformance.rbac.table import HARNESS
from verification.third_party.catalogue import KUBERNETES

GATES = {"DRADeviceTaintRules": True, "DRAWorkloadResourceClaims": True, "GenericWorkload": True}
COMPONENTS = (
    "claim-controller",
    "scheduler",
    "binder",
    "kubelet",
    "driver",
    "compute-domain-controller",
    "compute-domain-plugin",
    "compute-domain-daemon",
    "taint-eviction",
)
OURS = [word for component in COMPONENTS for word in (f"--{component}", "reference")]
METRICS: Obj = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
_PATIENCE = "10"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user of the control plane, its kubeconfig, and the roles that were printed for it."""

    user: str
    kubeconfig: Path
    roles: list[Obj]


class Environment:
    """The open control plane."""

    def __init__(self, plane: BinariesControlPlane, folder: Path) -> None:
        self.plane = plane
        self.folder = folder
        self.admin = KubeClient(plane.transport(), user_agent="admin")
        self._runs = 0

    def identity(self, user: str, *options: str) -> Identity:
        """Grant a user what `dra-conformance rbac` prints for these options, and nothing else."""
        printed = _command("rbac", "--user", user, *options).stdout
        objects = [obj for obj in yaml.safe_load_all(printed) if obj]
        for obj in objects:
            # Two identities of one control plane: their roles must not have the same names.
            obj["metadata"]["name"] = f"{user}-{obj['metadata']['name']}"
            if "roleRef" in obj:
                obj["roleRef"]["name"] = f"{user}-{obj['roleRef']['name']}"
            resource = next(each for each in KNOWN if each.kind == obj["kind"])
            self.admin.create(resource, obj)
        # Without it, gates that are off by default would be unknown, and their scenarios not applicable.
        self._let_read_gates(user)
        roles = [obj for obj in objects if obj["kind"] == CLUSTER_ROLES.kind]
        return Identity(user, self.plane.kubeconfig_for(user), roles)

    def _let_read_gates(self, user: str) -> None:
        """Grant access to /metrics, which the roles do not contain: it shows gates that are off by default."""
        name = f"{user}-metrics"
        self.admin.create(CLUSTER_ROLES, {"metadata": {"name": name}, "rules": [METRICS]})
        cluster_role = {"apiGroup": CLUSTER_ROLES.group, "kind": CLUSTER_ROLES.kind, "name": name}
        subjects = [{"apiGroup": CLUSTER_ROLES.group, "kind": "User", "name": user}]
        self.admin.create(
            CLUSTER_ROLE_BINDINGS, {"metadata": {"name": name}, "roleRef": cluster_role, "subjects": subjects}
        )

    def run(self, who: Identity, *options: str, focus: Sequence[str] = ()) -> tuple[int, dict[str, Any]]:
        """Run the suite as a user; return exit code and report (empty if there is none)."""
        self._runs += 1
        out = self.folder / f"run-{self._runs}"
        # With the blank that follows an id: an id must not match longer ones.
        words = [word for each in focus for word in ("--focus", f"^{each} ")]
        result = _command(
            *("run", "--control-plane", f"kubeconfig:{who.kubeconfig}", "--out", str(out), "--progress", "none"),
            *("--report", "json", "--patience", _PATIENCE, *options, *words),
        )
        path = out / "report.json"
        return result.returncode, orjson.loads(path.read_bytes()) if path.is_file() else {}

    def planned(self, who: Identity) -> set[str]:
        """Return the scenarios that a run as this user would execute."""
        words = ("--control-plane", f"kubeconfig:{who.kubeconfig}", "--dry-run", *OURS)
        lines = [line.split() for line in _command("run", *words).stdout.splitlines()]
        return {line[1] for line in lines if len(line) > 1 and line[0] == "run"}

    def cleanup(self, who: Identity, run_id: str) -> tuple[int, str]:
        """Run `dra-conformance cleanup` as a user; return exit code and output."""
        words = ("--run-id", run_id, "--kubeconfig", str(who.kubeconfig), "--patience", "20")
        result = _command("cleanup", *words)
        return result.returncode, result.stdout + result.stderr


def role_of(cluster_role: Obj, user: str) -> str:
    """Return the role that a ClusterRole printed for a user of the environment belongs to."""
    return name_of(cluster_role).removeprefix(f"{user}-{PREFIX}").removeprefix("-") or HARNESS


def reduced(cluster_role: Obj, group: str, resource: str, verb: str) -> list[Obj]:
    """A role's rules without one verb on one resource."""
    found: list[Obj] = []
    for rule in cluster_role["rules"]:
        # One rule becomes up to two: the other resources, and this one with the other verbs.
        if group not in rule["apiGroups"] or resource not in rule["resources"] or verb not in rule["verbs"]:
            found.append(rule)
            continue
        others = [each for each in rule["resources"] if each != resource]
        verbs = [each for each in rule["verbs"] if each != verb]
        found += [{**rule, "resources": others}] if others else []
        found += [{**rule, "resources": [resource], "verbs": verbs}] if verbs else []
    return found


@contextlib.contextmanager
def stage(folder: Path, bin_dir: Path) -> Iterator[Environment]:
    """Start it and install the optional APIs, as an administrator would have. Raises TargetUnreachable."""
    plane = BinariesControlPlane(
        kubernetes_version=KUBERNETES,
        directory=folder / "real",
        logs=folder / "logs",
        bin_dir=str(bin_dir),
        feature_gates=GATES,
        audit=folder / "audit.jsonl",
    )
    with plane:
        made = Environment(plane, folder)
        for path in sorted((assets.fixtures() / "crds").glob("*.yaml")):
            for crd in documents.load_all(path.read_text(), where=path.name):
                made.admin.create(CRDS, crd)
        yield made


def rehearse(folder: Path, *options: str) -> Path:
    """Run the suite on the embedded control plane; its event log."""
    out = folder / "rehearsal"
    release = ("--kubernetes-version", KUBERNETES)
    _command("run", "--out", str(out), "--progress", "none", "--report", "json", *release, *options)
    return out / "events.jsonl"


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dra_conformance", *words], check=False, capture_output=True, text=True
    )
