"""Reads `fixtures/not_covered.yaml`: known rules without a scenario, each with the reason.

A rule is either in the catalogue, with scenario and mutant, or in this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dra_conformance.core import assets, documents
from dra_conformance.core.errors import SpecificationError


@dataclass(frozen=True, slots=True)
class Gap:
    """One rule that no scenario judges."""

    id: str
    text: str
    reason: str


def load(path: Path | None = None) -> list[Gap]:
    """Return all gaps. Raises SpecificationError for a row without id, text or reason."""
    source = path or assets.fixtures() / "not_covered.yaml"
    gaps = []
    for number, row in enumerate((documents.load(source) or {}).get("not_covered") or (), start=1):
        values = [str(row.get(key) or "").strip() for key in ("id", "text", "reason")]
        if not all(values):
            raise SpecificationError(f"{source.name}, row {number}: id, text and reason must not be empty")
        gaps.append(Gap(*values))
    return gaps
