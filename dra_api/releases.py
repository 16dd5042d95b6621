"""The Kubernetes minor releases of the project, the oldest first, and the one that holds where none is named."""

from __future__ import annotations

RELEASES = ("1.34", "1.35", "1.36", "1.37")
"""Releases that the catalogue and the emulated API server cover."""

DEFAULT_RELEASE = RELEASES[-1]
"""The default of every setting that names a Kubernetes release."""


def previous(version: str) -> str | None:
    """Return the minor release before that of a version such as v1.37.2; None if the project does not cover it."""
    major, minor = version.removeprefix("v").split(".")[:2]
    release = f"{major}.{int(minor) - 1}"
    return release if release in RELEASES else None
