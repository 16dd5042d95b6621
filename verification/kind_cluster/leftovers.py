"""What a run could leave, to compare before and after: containers, volumes, networks, contexts of the user."""

from __future__ import annotations

from pathlib import Path

import yaml

from dra_conformance.control_plane.kind import programs

_LISTS = {
    "container": ["ps", "--all", "--format", "{{.Names}}"],
    "volume": ["volume", "ls", "--format", "{{.Name}}"],
    "network": ["network", "ls", "--format", "{{.Name}}"],
}


def there() -> frozenset[str]:
    """Return the names of all containers, volumes and networks, and the contexts of the user's own kubeconfig."""
    found = set()
    for kind, words in _LISTS.items():
        done = programs.run([programs.DOCKER, *words], timeout=30.0)
        found |= {f"{kind} {name}" for name in done.stdout.split()}
    return frozenset(found | contexts(Path("~/.kube/config").expanduser()))


def contexts(kubeconfig: Path) -> set[str]:
    """Return the contexts of a kubeconfig; none if there is no such file."""
    if not kubeconfig.is_file():
        return set()
    document = yaml.safe_load(kubeconfig.read_text(encoding="utf-8")) or {}
    return {f"context {one['name']}" for one in document.get("contexts") or ()}
