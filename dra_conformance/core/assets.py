"""Locations of the specification's files, in a checkout or in an installed wheel."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_CHECKOUT = _PACKAGE.parent
_INSTALLED = _PACKAGE / "_assets"


def _find(name: str) -> Path:
    # A wheel has the files inside the package, a checkout has them at its root.
    installed = _INSTALLED / name
    return installed if installed.is_dir() else _CHECKOUT / name


def features() -> Path:
    """Return the directory of the feature files, with one subdirectory for each chapter."""
    return _find("features")


def fixtures() -> Path:
    """Return the directory of manifests, CRDs and the rule catalogue."""
    return _find("fixtures")


def mutants() -> Path:
    """Return the directory of the suite's own mutants, a subpackage."""
    return _PACKAGE / "mutants"


def third_party_results() -> Path:
    """Return the directory of the expected results of third-party programs, which only a checkout has."""
    return _CHECKOUT / "verification" / "third_party" / "expected"


def third_party_programs() -> Path:
    """Return the directory of built third-party programs, which only a checkout has."""
    return _CHECKOUT / "verification" / "bin"


def relative(path: Path) -> str:
    """Return a path for people: relative to the checkout or to the directory of the installed packages."""
    return path.relative_to(_CHECKOUT).as_posix() if path.is_relative_to(_CHECKOUT) else str(path)
