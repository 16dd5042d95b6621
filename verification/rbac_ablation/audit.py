"""Read the audit log of a real API server: the requests of each user and agent, and whether they were allowed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import orjson

from dra_conformance.rbac.check import Need
from dra_conformance.rbac.table import AGENTS, HARNESS


def uses(path: Path, user: str) -> tuple[dict[Need, int], list[str]]:
    """Return how often each permission was used, by role, and the messages of refused requests."""
    used: defaultdict[Need, int] = defaultdict(int)
    refused: list[str] = []
    for line in path.read_bytes().splitlines():
        event = orjson.loads(line)
        # A watch that is still open has only started its response.
        if event["user"]["username"] != user or event["stage"] not in ("ResponseComplete", "ResponseStarted"):
            continue
        about = event.get("objectRef") or {}
        if not about.get("resource"):
            continue  # discovery and /version, which every authenticated user may read
        if event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid":
            refused.append(f"{event.get('userAgent')}: {event['verb']} {event['requestURI']}")
            continue
        plural, sub = about["resource"], about.get("subresource")
        resource = f"{plural}/{sub}" if sub else plural
        role = AGENTS.get(str(event.get("userAgent")), HARNESS)
        used[role, str(about.get("apiGroup", "")), resource, event["verb"]] += 1
    return dict(used), refused


def merged(parts: Iterable[dict[Need, int]]) -> dict[Need, int]:
    """Return the sum of several logs."""
    total: defaultdict[Need, int] = defaultdict(int)
    for part in parts:
        for need, count in part.items():
            total[need] += count
    return dict(total)
