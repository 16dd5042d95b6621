"""The Kubernetes minor releases of the project, the oldest first, and the one that holds where none is named."""

from __future__ import annotations

RELEASES = ("1.34", "1.35", "1.36", "1.37")
"""Releases that the catalogue and the emulated API server cover."""

DEFAULT_RELEASE = RELEASES[-1]
"""The default of every setting that names a Kubernetes release."""
