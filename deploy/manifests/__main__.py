"""`python -m deploy.manifests`: write the manifests to `deploy/kubernetes`, the chart's templates to `deploy/chart`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from deploy.manifests import chart, render

DEPLOY = Path(__file__).resolve().parents[1]


def write(folder: Path, files: Iterable[tuple[str, str]]) -> list[Path]:
    """Write files below `folder` and return those that changed."""
    changed = []
    for name, content in files:
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    for path in [*write(DEPLOY / "kubernetes", render.files()), *write(DEPLOY / "chart", chart.files())]:
        print(path)
