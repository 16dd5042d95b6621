"""Prerequisites of the verification: in CI each must be met, elsewhere a missing one is reported."""

from __future__ import annotations

import os


def required() -> bool:
    """Return whether a missing prerequisite is a failure (CI=true)."""
    return os.environ.get("CI", "").lower() == "true"


def missing(reason: str) -> int:
    """Print why something was not verified, and return the exit code for it."""
    print(f"verification: {reason}" + ("; CI requires it" if required() else "; not verified"))
    return 1 if required() else 0
