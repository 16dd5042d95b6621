"""The suite as a plugin of Sonobuoy in a pod of a kind cluster: what Sonobuoy shows is what the report says.

The run has a scenario that kube-controller-manager is known to fail, so that passed and failed tests are compared.
"""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
import yaml

from dra_api.objects import Obj
from dra_conformance.rbac import job
from verification.kind_cluster import images, shards
from verification.kind_cluster.cluster import READY, Cluster
from verification.kind_cluster.existing import ours, settled
from verification.third_party.existing_cluster import objects_of

PROGRAM = "sonobuoy"
_RULES = ("DRA-100", "DRA-101", "DRA-104")
_BROKEN = "DRA-104"
"""The rule of these that kube-controller-manager breaks (verification/third_party/expected)."""
_SKIPPED = ("not-applicable", "not-supported", "waived")
_VERDICT = "Verdict of the run"
_REPORT = f"plugins/{job.NAME}/results/global/dra-report/report.json"
_RUN_MINUTES = 20


def look(cluster: Cluster, archive: Path, archives: Path, folder: Path) -> Iterator[str]:
    """Yield what is not as expected on a cluster, which is left as it was. Raises AssertionError."""
    before = objects_of(cluster.plane.kubeconfig)
    cluster.load(archive)
    cluster.load(archives / images.SONOBUOY)
    work = folder / "sonobuoy"
    work.mkdir()
    (work / "plugin.yaml").write_text(yaml.safe_dump(_plugin(cluster)), encoding="utf-8")
    try:
        words = ["--plugin", "plugin.yaml", "--sonobuoy-image", images.SONOBUOY_IMAGE, "--image-pull-policy", "Never"]
        words += ["--skip-preflight=dnscheck", f"--wait={_RUN_MINUTES}", "--wait-output=silent"]
        _sonobuoy(cluster, work, "run", *words)
        results = work / _sonobuoy(cluster, work, "retrieve").strip()
        shown = yaml.safe_load(_sonobuoy(cluster, work, "results", str(results), "--plugin", job.NAME, "--mode=dump"))
        yield from compared(shown, _report(results))
    finally:
        _sonobuoy(cluster, work, "delete", "--wait")
    yield from settled(cluster, before, "after Sonobuoy")


def _plugin(cluster: Cluster) -> Obj:
    """Return the plugin that `job --sonobuoy` prints, for a cluster without a DNS. Raises AssertionError."""
    rules = (word for rule in _RULES for word in ("--rule", rule))
    printed = ours("job", "--sonobuoy", "--profile", "claim-lifecycle", *rules)
    if printed.returncode != 0:
        raise AssertionError(f"job --sonobuoy ends with {printed.returncode}: {printed.stderr}")
    made: Obj = yaml.safe_load(printed.stdout)
    made["podSpec"]["hostAliases"] = [{"ip": shards.address(cluster), "hostnames": [shards.HOST]}]
    return made


def _report(results: Path) -> Obj:
    """Return the report in an archive of Sonobuoy. Raises AssertionError."""
    with tarfile.open(results) as opened:
        member = opened.extractfile(_REPORT) if _REPORT in opened.getnames() else None
        if member is None:
            raise AssertionError(f"the archive of Sonobuoy has no {_REPORT}, but {opened.getnames()[:50]}")
        report: Obj = orjson.loads(member.read())
    return report


def compared(shown: Obj, report: Obj) -> Iterator[str]:
    """Yield where Sonobuoy's results differ from the report of the run."""
    tests = dict(_tests(shown))
    verdict = tests.pop(_VERDICT, "missing")
    # In JUnit, which Sonobuoy reads, a scenario that cannot be judged is a failure.
    statuses = shards.statuses(report).values()
    counted = Counter(tests.values())
    expected = Counter("passed" if status == "passed" else "failed" for status in statuses if status not in _SKIPPED)
    print(f"kind: Sonobuoy shows {dict(counted)}, and the verdict {verdict}", flush=True)
    if any(counted[status] != expected[status] for status in ("passed", "failed")):
        yield f"Sonobuoy shows {dict(counted)}; the report has {dict(expected)}"
    if verdict != ("failed" if report["exitCode"] else "passed"):
        yield f"Sonobuoy shows the verdict {verdict}; the exit code of the run is {report['exitCode']}"
    broken = [rule["id"] for rule in report["rules"] if rule["status"] == "failed"]
    if broken != [_BROKEN]:
        yield f"the run breaks {broken}, and {_BROKEN} was expected"


def _tests(item: Obj) -> Iterator[tuple[str, str]]:
    """Yield name and status of each test below an item of Sonobuoy's results."""
    inner = item.get("items") or []
    if not inner:
        yield item["name"], item["status"]
    for one in inner:
        yield from _tests(one)


def _sonobuoy(cluster: Cluster, work: Path, *words: str) -> str:
    """Run a command of Sonobuoy in a folder of its own, and return its output. Raises AssertionError."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(work), "KUBECONFIG": str(cluster.plane.kubeconfig)}
    done = subprocess.run(
        [PROGRAM, *words],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=_RUN_MINUTES * 60 + READY,
    )
    if done.returncode != 0:
        pods = cluster.kubectl("get", "pods", "--all-namespaces", "--output", "wide")
        raise AssertionError(f"sonobuoy {words[0]}: {done.stdout[-1000:]}{done.stderr[-2000:]}\n{pods}")
    return done.stdout
