"""Locations of the specification: features, fixtures and mutants, in a checkout or in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = _PACKAGE.parent
_INSTALLED = _PACKAGE / "_assets"


def _find(name: str) -> Path:
    installed = _INSTALLED / name
    return installed if installed.is_dir() else _CHECKOUT / name


def features() -> Path:
    """The folder of the features, one sub-folder a chapter."""
    return _find("features")


def fixtures() -> Path:
    """The folder of manifests, CRDs and the rule catalogue."""
    return _find("fixtures")


def mutants() -> Path:
    """Return the folder of the suite's own mutants, a subpackage."""
    return _PACKAGE / "mutants"
