"""The suite on `--control-plane kind`: a part of every chapter about what the cluster's own components decide."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from verification.kind_cluster.existing import BROKEN, report_of
from verification.third_party.catalogue import load

CHAPTERS = {
    "kube-apiserver": "claims/api_claims",
    "kube-controller-manager": "claims/lifecycle",
    "kube-scheduler": "allocation/alternatives",
}
"""The scenarios that judge each component, by the begin of their ids. All of them take much longer."""


def look(image: str, out: Path) -> Iterator[str]:
    """Run the chapters on a kind cluster with this node image; yield what is not as expected.

    The rules that Kubernetes' programs are known to break are those of `verification/third_party/expected`.
    """
    words = [sys.executable, "-m", "dra_conformance", "run", "--control-plane", "kind", "--kind-image", image]
    words += [word for chapter in CHAPTERS.values() for word in ("--focus", f"^{chapter}")]
    # Without workers: each would have a cluster of its own.
    words += ["--out", str(out), "--progress", "none"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    known = {rule for one in load() if one.name in CHAPTERS for rule in one.broken_rules}
    report = yield from report_of(done, out, known=known)
    if report is None:
        return
    for component, chapter in CHAPTERS.items():
        statuses = [row["status"] for row in report["scenarios"] if row["id"].startswith(chapter)]
        passed = statuses.count("passed")
        broken = sum(status in (*BROKEN, "untestable") for status in statuses)
        print(f"kind: {component}: {passed} scenarios passed, {broken} did not", flush=True)
        if not passed:
            yield f"no scenario of {chapter} passed"
