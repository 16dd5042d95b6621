"""`dra-conformance job` on a kind cluster: shards as pods, their reports by `kubectl cp`, one merged report.

The node image that is built here has no storage provisioner and no cluster DNS. The reports are in a local volume of
one worker, and the pods that use the API server of the cluster have its address in their hosts file.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import yaml

from deploy.manifests.parts import IMAGE, object_of, text_of
from dra_api.clock import RealClock
from dra_api.objects import Obj
from dra_conformance.control_plane.kind import programs
from dra_conformance.rbac.job import KUBECONFIG_TEXT, NAME
from verification.kind_cluster import images
from verification.kind_cluster.cluster import READY, Cluster, call
from verification.kind_cluster.existing import ours, settled
from verification.third_party.existing_cluster import objects_of

COUNTS = (1, 2, 4, 8)
EMBEDDED = ("--control-plane", "embedded", "--profile", "driver-core")
"""Each pod has a control plane of its own, so the shards do not wait for each other."""
ON_CLUSTER = ("--focus", "^claims/api_(taint_rules|pod_groups|partitions|tables)")
_READER, _NAMESPACE, _VOLUME = f"{NAME}-reports", NAME, "/var/lib/reports"
_BROKEN = ("failed", "error", "flaky")
HOST = KUBECONFIG_TEXT.partition("https://")[2].split()[0]
"""The API server in the kubeconfig of pods."""


def look(cluster: Cluster, archive: Path, archives: Path, folder: Path) -> Iterator[str]:
    """Yield what is not as expected on a cluster, which is left as it was. Raises AssertionError."""
    before = objects_of(cluster.plane.kubeconfig)
    cluster.load(archive)
    call([programs.DOCKER, "load", "--input", str(archive)], timeout=READY)
    cluster.load(archives / images.READER)
    expected: dict[str, str] = {}
    for count in COUNTS:
        report = _run(cluster, folder, EMBEDDED, shards=count)
        found = statuses(report)
        expected = expected or found
        yield from compared(expected, found, f"in {count} shards")
    report = _run(cluster, folder, ON_CLUSTER, shards=2)
    if not _passed(report):
        yield f"on the cluster no scenario passed: {report['verdict']}"
    for name, status in statuses(report).items():
        if status in _BROKEN:
            yield f"on the cluster {name} is {status}"
    yield from settled(cluster, before, "after the Jobs")


def _run(cluster: Cluster, folder: Path, options: Sequence[str], *, shards: int) -> Obj:
    """Run the suite in shards, print how long it takes, and return the merged report. Raises AssertionError."""
    words = ("job", "--shards", str(shards), "--reader-image", images.READER_IMAGE, *options)
    printed = ours(*words)
    if printed.returncode != 0:
        raise AssertionError(f"job ends with {printed.returncode}: {printed.stderr}")
    work = folder / f"shards-{shards}"
    made = [with_host(one, HOST, address(cluster)) for one in yaml.safe_load_all(printed.stdout)]
    took = ran(cluster, made, work)
    _merge(work)
    report: Obj = orjson.loads((work / "merged/report.json").read_bytes())
    passed, longest = _passed(report), report["duration"]
    what = "cluster" if options is ON_CLUSTER else "embedded"
    print(f"kind: {what}, {shards} shards: {took:.0f} s, longest shard {longest:.0f} s, {passed} passed", flush=True)
    return report


def ran(cluster: Cluster, made: Sequence[Obj], work: Path, *, read: Callable[[], None] = lambda: None) -> float:
    """Apply a Job and what belongs to it, copy its results to `work/reports` when it has ended, and delete it.

    `read` is called before the Job is deleted. Return the seconds until its end. Raises AssertionError.
    """
    shutil.rmtree(work, ignore_errors=True)
    (work / "manifests").mkdir(parents=True)
    (work / "manifests/job.yaml").write_text(text_of([*made, volume(cluster.workers[0])]), encoding="utf-8")
    cluster.on_node(cluster.workers[0], "mkdir", "--parents", _VOLUME)
    clock = RealClock()
    began = clock.monotonic()
    cluster.apply(work / "manifests")
    try:
        cluster.wait("all shards of the Job end", lambda: _ended(cluster))
        took = clock.monotonic() - began
        read()
        ready = ("wait", "--for=condition=Ready", f"pod/{_READER}", f"--timeout={READY:.0f}s")
        cluster.kubectl("--namespace", _NAMESPACE, *ready, timeout=READY + 30)
        cluster.copy_from(_READER, "/reports", work / "reports", namespace=_NAMESPACE)
    finally:
        cluster.delete(work / "manifests")
        cluster.on_node(cluster.workers[0], "rm", "--recursive", _VOLUME)
    return took


def _merge(work: Path) -> None:
    """Merge the reports with the suite of the image, whose version they have. Raises AssertionError."""
    reports = sorted(f"/work/reports/{path.name}" for path in (work / "reports").iterdir())
    words = [programs.DOCKER, "run", "--rm", "--user", "0:0", "--network", "none", "--tmpfs", "/tmp"]  # noqa: S108
    words += ["--volume", f"{work}:/work", IMAGE, "dra_conformance", "merge", *reports, "--out", "/work/merged"]
    merged = programs.run(words, timeout=READY)
    if not (work / "merged/report.json").is_file():
        raise AssertionError(f"merge ends with {merged.returncode}: {programs.last_lines(merged)}")


def with_host(made: Obj, host: str, address: str) -> Obj:
    """Return an object; if it is a Job, its pods find `host` at `address` without a DNS."""
    if made["kind"] == "Job":
        made["spec"]["template"]["spec"]["hostAliases"] = [{"ip": address, "hostnames": [host]}]
    return made


def volume(node: str) -> Obj:
    """Return a PersistentVolume on a node for the claim of the Job."""
    terms = [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]
    return {
        **object_of("v1", "PersistentVolume", NAME, namespace=""),
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": _NAMESPACE, "name": NAME},
            "local": {"path": _VOLUME},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}},
        },
    }


def statuses(report: Obj) -> dict[str, str]:
    """Return the status of each scenario that was to run."""
    return {row["id"]: row["status"] for row in report["scenarios"] if row["status"] != "filtered"}


def compared(expected: dict[str, str], found: dict[str, str], where: str) -> Iterator[str]:
    """Yield the scenarios with another status than expected."""
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            yield f"{where} {name} is {found.get(name)}, not {expected.get(name)}"


def _passed(report: Obj) -> int:
    return list(statuses(report).values()).count("passed")


def address(cluster: Cluster) -> str:
    """Return the address of the API server for pods."""
    service: Any = cluster.get("service", "kubernetes")
    return str(service["spec"]["clusterIP"])


def _ended(cluster: Cluster) -> bool:
    """Return whether each index has a result: the Job is complete, or some of its indexes have failed."""
    found = cluster.get("job", NAME, "--namespace", _NAMESPACE) or {}
    conditions = {one["type"] for one in found.get("status", {}).get("conditions", ()) if one["status"] == "True"}
    return bool(conditions & {"Complete", "Failed"})
