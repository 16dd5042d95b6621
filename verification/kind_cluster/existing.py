"""The suite as the administrator of another cluster runs it: `--control-plane kubeconfig`, `--driver cluster`.

The administrator has a cluster and the official example driver, installed with its own chart. Of this project there is
the harness only, outside the cluster, and what `dra-conformance rbac` prints, applied as it is. The run uses a service
account with these permissions.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import yaml

from dra_api.objects import Obj
from verification.kind_cluster import helm, images
from verification.kind_cluster.cluster import Cluster
from verification.third_party.catalogue import load
from verification.third_party.existing_cluster import objects_of

DRIVER = "gpu.example.com"
OPTIONS = ("--driver", "cluster", "--driver-name", DRIVER, "--profile", "driver-core", "--profile", "api")
_FOCUS = ("--focus", "^(driver/prepare|claims/api_claims)")
"""The scenarios of both profiles take a quarter of an hour."""
_DRIVERS, _RELEASE = "dra-example-driver", "example"
_KNOWN = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_NAMESPACE, _PRINTED = "dra-conformance", "printed.yaml"
_RUN = 600.0
BROKEN = ("failed", "error", "flaky")
"""The statuses of a rule that is wrong unless it is known to be broken."""
WITH_VERDICT = (0, 1, 3, 12)
"""Exit codes of runs whose report has what is wrong: 3 if a scenario ended in an error."""


def look(cluster: Cluster, archives: Path, folder: Path) -> Iterator[str]:
    """Yield what is not as expected on a new cluster, which is left as it was. Raises AssertionError."""
    new = objects_of(cluster.plane.kubeconfig)
    cluster.load(archives / images.EXAMPLE_DRIVER)
    helm.install(cluster, _RELEASE, archives / images.CHART, namespace=_DRIVERS)
    cluster.wait("the example driver publishes its devices", lambda: len(_pools(cluster)) == len(cluster.workers))
    before = objects_of(cluster.plane.kubeconfig)
    user = folder / "user.kubeconfig"
    yield from _judge(cluster, user, folder)
    # A pod of a DaemonSet on a node of a scenario ends when the cluster collects the pods of lost nodes.
    yield from settled(cluster, before, "after the run")
    helm.uninstall(cluster, _RELEASE, namespace=_DRIVERS)
    # The kubelet deletes the ResourceSlices of a driver half a minute after the driver has ended.
    cluster.wait("the slices of the driver are deleted", lambda: not _pools(cluster))
    yield from settled(cluster, new, "without the example driver")


def _judge(cluster: Cluster, user: Path, folder: Path) -> Iterator[str]:
    """Grant, check, run, clean up and withdraw, as docs/how-to/your-cluster.md describes it."""
    (folder / "permissions").mkdir()
    printed = ours("rbac", "--control-plane", "kubeconfig", *OPTIONS).stdout
    Path(folder, "permissions", _PRINTED).write_text(printed, encoding="utf-8")
    cluster.apply(folder / "permissions")
    user.touch(mode=0o600)
    user.write_text(json.dumps(kubeconfig_of(cluster.plane.kubeconfig, _token(cluster))), encoding="utf-8")
    plane = ("--control-plane", f"kubeconfig:{user}", *OPTIONS)
    doctor = ours("doctor", *plane)
    if doctor.returncode != 0:
        yield f"doctor ends with {doctor.returncode}:\n{doctor.stdout[-2000:]}"
    done = ours("run", *plane, *_FOCUS, "--out", str(folder / "existing"), "--progress", "none")
    yield from judged(done, folder / "existing", what="the example driver of the cluster", known=known_rules())
    cleaned = ours("cleanup", "--kubeconfig", str(user))
    # Resources of other profiles are "not checked": the printed permissions do not include them.
    if "no objects found" not in cleaned.stdout:
        yield f"cleanup ends with {cleaned.returncode}:\n{cleaned.stdout[-2000:]}"
    cluster.delete(folder / "permissions")


def report_of(
    done: subprocess.CompletedProcess[str], out: Path, *, known: Collection[str]
) -> Generator[str, None, Obj | None]:
    """Yield what is wrong with the report of a run, and return the report; None if there is none.

    Wrong are rules that fail and are not `known` to, rules that lack a permission, and problems of the run.
    """
    if done.returncode not in WITH_VERDICT or not (out / "report.json").is_file():
        yield f"the run ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return None
    report: Obj = orjson.loads((out / "report.json").read_bytes())
    yield from (f"the run ended with {done.returncode}: {problem['message']}" for problem in report["problems"])
    for rule in report["rules"]:
        lacks = "missing permission" in str(rule["reason"])
        if lacks or (rule["status"] in BROKEN and rule["id"] not in known):
            yield f"{rule['id']} {rule['status']}: {rule['reason']}"
    return report


def judged(done: subprocess.CompletedProcess[str], out: Path, *, what: str, known: Collection[str]) -> Iterator[str]:
    """Print how many scenarios of the run of `what` passed; yield what is wrong, also that none passed."""
    report = yield from report_of(done, out, known=known)
    if report is None:
        return
    statuses = [row["status"] for row in report["scenarios"]]
    counted = {status: statuses.count(status) for status in sorted(set(statuses) - {"filtered"})}
    print(f"kind: {what}: {counted}", flush=True)
    if "passed" not in counted:
        yield "no scenario passed"


def known_rules() -> set[str]:
    """Return the rules that Kubernetes' own programs are known to break."""
    return {rule for one in load() if one.name in _KNOWN for rule in one.broken_rules}


def ours(*words: str, within: float = _RUN) -> subprocess.CompletedProcess[str]:
    """Run a command of the suite on this machine, for `within` seconds at most."""
    command = [sys.executable, "-m", "dra_conformance", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=within)


def kubeconfig_of(administrator: Path, token: str) -> Mapping[str, Any]:
    """Return a kubeconfig for the cluster of another kubeconfig, with a token."""
    given = yaml.safe_load(administrator.read_text(encoding="utf-8"))
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kind", "cluster": given["clusters"][0]["cluster"]}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "user", "context": {"cluster": "kind", "user": "user"}}],
        "current-context": "user",
    }


def differences(before: Mapping[str, str], after: Mapping[str, str], when: str) -> Iterator[str]:
    """Yield the objects that are there and were not, and those that are gone, by UID."""
    for what, uids in (("there is", after.keys() - before), ("there is no", before.keys() - after)):
        names = sorted({**before, **after}[uid] for uid in uids)
        if names:
            yield f"{when} {what} {', '.join(names)}"


def settled(cluster: Cluster, before: Mapping[str, str], when: str) -> Iterator[str]:
    """Wait until the cluster has the objects that it had; yield the differences if it does not get there."""
    try:
        cluster.wait("", lambda: not list(differences(before, objects_of(cluster.plane.kubeconfig), "")))
    except AssertionError:
        yield from differences(before, objects_of(cluster.plane.kubeconfig), when)


def _token(cluster: Cluster) -> str:
    return cluster.kubectl("--namespace", _NAMESPACE, "create", "token", _NAMESPACE, "--duration", "4h").strip()


def _pools(cluster: Cluster) -> set[str]:
    return {one["spec"]["pool"]["name"] for one in cluster.items("resourceslices") if one["spec"]["driver"] == DRIVER}
