"""What is in Docker, to compare before and after: containers, volumes, networks."""

from __future__ import annotations

from dra_conformance.control_plane.kind import programs

_LISTS = {
    "container": ["ps", "--all", "--format", "{{.Names}}"],
    "volume": ["volume", "ls", "--format", "{{.Name}}"],
    "network": ["network", "ls", "--format", "{{.Name}}"],
}


def there() -> frozenset[str]:
    """Return the names of all containers, volumes and networks."""
    found = set()
    for kind, words in _LISTS.items():
        done = programs.run([programs.DOCKER, *words], timeout=30.0)
        found |= {f"{kind} {name}" for name in done.stdout.split()}
    return frozenset(found)
