"""Kubernetes minor versions, revisions of KAI, releases of NVIDIA's driver, and ranges in which rules hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Managed clusters report versions such as v1.36.2-gke.100 or a minor version with a plus sign.
_FORM = re.compile(r"v?(\d+)\.(\d+)(?:\+|[.+-]\S*)?")
_RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A Kubernetes minor version, such as 1.37."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Parse `1.36`, `v1.36.2` or `1.36+`. Raises ValueError for other text."""
        found = _FORM.fullmatch(text.strip())
        if not found:
            raise ValueError(f"{text!r} is not a Kubernetes version such as 1.37")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """A release of NVIDIA's driver, such as v0.5.0."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Release:
        """Parse `v0.5.0`. Raises ValueError for other text."""
        found = _RELEASE.fullmatch(text.strip())
        if not found:
            raise ValueError(f"{text!r} is not a release of NVIDIA's driver such as v0.5.0")
        return cls(*(int(number) for number in found.groups()))

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}"


def outside(version: Version, since: str | None, until: str | None) -> str | None:
    """Return why `version` is outside of [since, until], or None if it is inside."""
    if since and version < Version.parse(since):
        return f"holds since Kubernetes {since}; the target is {version}"
    if until and version > Version.parse(until):
        return f"held until Kubernetes {until}; the target is {version}"
    return None


def outside_releases(release: Release, since: str | None, until: str | None) -> str | None:
    """Return why a release of NVIDIA's driver is outside of [since, until], or None if it is inside."""
    if since and release < Release.parse(since):
        return f"holds since release {since} of NVIDIA's driver; the rules of {release} apply (--driver-release)"
    if until and release > Release.parse(until):
        return f"held until release {until} of NVIDIA's driver; the rules of {release} apply (--driver-release)"
    return None


def outside_revisions(revision: str, since: str | None) -> str | None:
    """Return why a revision of KAI's protocol, such as `kai-0.12`, is before `since`, or None if it is not."""
    name, _, version = revision.partition("-")
    if since and name == "kai" and Version.parse(version) < Version.parse(since):
        return f"holds since KAI {since}; the rules of {revision} apply (--revision)"
    return None
