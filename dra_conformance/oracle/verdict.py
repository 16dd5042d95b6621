"""What the judge says: which rules an outcome breaks, and what it could not tell."""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_conformance.oracle.cluster import Cluster
from dra_conformance.oracle.schema import Claim


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One broken rule: its id in the catalogue, a sentence about this claim, and the field where it shows."""

    rule: str
    message: str
    path: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The outcome of judging one claim.

    `violations` are certain. `remarks` are what looks wrong but may have changed after the allocation was made, or
    what cannot be told from the objects at hand; they break nothing.
    """

    violations: tuple[Violation, ...] = ()
    remarks: tuple[Violation, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


@dataclass(frozen=True, slots=True)
class Settings:
    """How the system under judgement is set up.

    `release` is the Kubernetes minor (36 for 1.36), None when unknown: then every form is accepted that some release
    writes. `gates_off` are feature gates that are off. With `fresh` the objects are as they were when the allocation
    was made; without it they may have changed since, so what is younger than the allocation breaks nothing.
    """

    release: int | None = None
    gates_off: frozenset[str] = frozenset()
    fresh: bool = True

    def on(self, gate: str) -> bool:
        """Whether a feature gate is on."""
        return gate not in self.gates_off


@dataclass(frozen=True, slots=True)
class Case:
    """One claim in its cluster. Other claims of the cluster are the other allocations; the claim itself may be among
    them in another state, which does not count."""

    cluster: Cluster
    claim: Claim
    settings: Settings = field(default_factory=Settings)
