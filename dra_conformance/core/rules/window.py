"""Kubernetes minor versions, and the ranges of versions in which rules hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Managed clusters report versions such as v1.36.2-gke.100 or a minor version with a plus sign.
_FORM = re.compile(r"v?(\d+)\.(\d+)(?:\+|[.+-]\S*)?")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A Kubernetes minor version, such as 1.36."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse `1.36`, `v1.36.2` or `1.36+`. Raises ValueError for other text."""
        found = _FORM.fullmatch(text.strip())
        if not found:
            raise ValueError(f"{text!r} is not a Kubernetes version such as 1.36")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def outside(version: Version, since: str | None, until: str | None) -> str | None:
    """Return why `version` is outside of [since, until], or None if it is inside."""
    if since and version < Version.parse(since):
        return f"holds since Kubernetes {since}; the target is {version}"
    if until and version > Version.parse(until):
        return f"held until Kubernetes {until}; the target is {version}"
    return None
