"""Findings of one check: certain violations, and remarks about what may have changed since the allocation.

Mutable, and owned by the check that creates it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from dra_conformance.oracle.verdict import Verdict, Violation

Report = Callable[[str, str, str], None]
"""Records one finding: rule, message, field."""


@dataclass
class Findings:
    """Collects violations and remarks.

    `allocated_at` is the time of the allocation, when known. `fresh` means that no object has changed since then.
    """

    fresh: bool
    allocated_at: datetime | None
    violations: list[Violation] = field(default_factory=list)
    remarks: list[Violation] = field(default_factory=list)

    def broken(self, rule: str, message: str, path: str) -> None:
        """Record a certain violation."""
        self.violations.append(Violation(rule, message, path))

    def remark(self, rule: str, message: str, path: str) -> None:
        """Record a possible violation."""
        self.remarks.append(Violation(rule, message, path))

    def broken_if_fresh(self, rule: str, message: str, path: str) -> None:
        """Record a violation if nothing can have changed since the allocation, else a remark."""
        (self.broken if self.fresh else self.remark)(rule, message, path)

    def unless_changed(self, *changes: datetime | None) -> Report:
        """Return the method that records a finding about objects that last changed at these times.

        A finding is only a remark when one of the objects has changed since the allocation.
        """
        # Objects of a running scenario are fresh: the scenario itself is responsible for what it changes.
        changed = not self.fresh and any(
            self.allocated_at is not None and change is not None and change > self.allocated_at for change in changes
        )
        if not changed:
            return self.broken
        return lambda rule, message, path: self.remark(rule, f"{message}; it has changed since the allocation", path)

    def verdict(self) -> Verdict:
        """Return the findings in the order in which they were recorded, each once."""
        return Verdict(tuple(dict.fromkeys(self.violations)), tuple(dict.fromkeys(self.remarks)))
