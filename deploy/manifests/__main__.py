"""`python -m deploy.manifests`: write the manifests to `deploy/kubernetes`."""

from __future__ import annotations

from pathlib import Path

from deploy.manifests.render import write

FOLDER = Path(__file__).resolve().parents[1] / "kubernetes"

if __name__ == "__main__":
    for path in write(FOLDER):
        print(path)
