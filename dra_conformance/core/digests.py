"""Digests of the rules and feature files that a run used, so that `verify` can compare them with its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from dra_conformance.core import assets


def of_rules() -> str:
    """Return the SHA-256 of the rule catalogue."""
    folder = assets.fixtures() / "rules"
    return _digest((folder, path) for path in sorted(folder.glob("*.yaml")))


def of_features(additional: Sequence[str] = ()) -> str:
    """Return the SHA-256 of the feature files, with those of additional directories."""
    folders = [assets.features(), *(Path(folder) for folder in additional)]
    return _digest((folder, path) for folder in folders for path in sorted(folder.rglob("*.feature")))


def _digest(files: Iterable[tuple[Path, Path]]) -> str:
    # Names too, relative to the directory: the same suite has the same digest in a checkout and in a wheel.
    found = hashlib.sha256()
    for folder, path in files:
        found.update(path.relative_to(folder).as_posix().encode() + b"\0")
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
