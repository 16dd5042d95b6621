"""`--control-plane kind` with `--kind-load` and `--kind-apply`: a system of the user in the cluster that the run makes.

The system is the reference system of `deploy/kubernetes`: scheduler, binder and driver in pods. The command is that of
docs/how-to/kind.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from deploy.manifests.render import SCHEDULER
from verification.kind_cluster.existing import judged, known_rules, ours
from verification.kind_cluster.manifests import FOLDER

_RUN = 1200.0
_COMPONENTS = ("driver", "scheduler", "binder")
_CHAPTERS = ("bind_requests/scheduler_decides", "bind_requests/binder#")


def look(image: str, archive: Path, out: Path) -> Iterator[str]:
    """Yield what is not as expected of a run with these images and manifests."""
    words = ["--control-plane", "kind", "--kind-image", image, "--kind-load", str(archive), "--kind-apply", str(FOLDER)]
    words += [word for name in _COMPONENTS for word in (f"--{name}", "cluster")]
    words += ["--scheduler-name", SCHEDULER, "--profile", "bind-requests"]
    words += [word for chapter in _CHAPTERS for word in ("--focus", f"^{chapter}")]
    ended = ours("run", *words, "--out", str(out), "--progress", "none", within=_RUN)
    yield from judged(ended, out, what="the reference system of --kind-apply", known=known_rules())
