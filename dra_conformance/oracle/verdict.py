"""Input and result of an allocation check."""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.schema import Claim


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One broken rule: its id in the catalogue, a message about this claim, and the path of the field."""

    rule: str
    message: str
    path: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of the check of one claim.

    `violations` are certain. `remarks` are possible violations: the objects may have changed since the allocation, or
    do not show enough. Remarks do not make a claim invalid.
    """

    violations: tuple[Violation, ...] = ()
    remarks: tuple[Violation, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Settings:
    """Configuration of the cluster whose allocations are checked.

    `release` is the Kubernetes minor (36 for 1.36); with None the format of any release is accepted. `gates_off` are
    disabled feature gates. `fresh` means that no object has changed since the allocation. Otherwise a violation that
    depends on an object that changed later is only a remark.
    """

    release: int | None = None
    gates_off: frozenset[str] = frozenset()
    fresh: bool = True

    def on(self, gate: str) -> bool:
        """Whether a feature gate is on."""
        return gate not in self.gates_off


@dataclass(frozen=True, slots=True)
class Case:
    """One claim in its cluster. The cluster may contain the same claim in another state, which is ignored."""

    cluster: Cluster
    claim: Claim
    settings: Settings = field(default_factory=Settings)
