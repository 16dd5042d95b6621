"""Allocation checker: decides from API objects alone whether an allocation is valid, and whether one exists.

    cluster = Cluster.of(objects)                       # dicts as the API server returns them, of any served version
    verdict = check(Case(cluster, claim))               # violations: rule, message, field
    answer = could_be_allocated(Case(cluster, claim))   # yes with a witness, no, or unknown

The checker has its own decoding, node selectors, pools, constraints, capacity rounding and search. It shares four
modules of `dra_api` with the reference implementation: CEL evaluation (`cel`), quantities (`quantity`), semantic
versions (`semver`) and the conversion of older API versions to v1 (`versions`). The checker cannot find an error in
one of these; tests of their own compare them with upstream Kubernetes. An import contract keeps `reference_impl` out
of this package.
"""

from dra_conformance.oracle.check import check
from dra_conformance.oracle.cluster import Cluster, read_claim
from dra_conformance.oracle.double_offers import DoubleOffer, DoubleUse, double_offers, double_uses
from dra_conformance.oracle.feasibility import SMALL_BUDGET, Answer, could_all_be_allocated, could_be_allocated
from dra_conformance.oracle.verdict import Case, Settings, Verdict, Violation
from dra_conformance.oracle.well_formed import Malformed

__all__ = [
    "SMALL_BUDGET",
    "Answer",
    "Case",
    "Cluster",
    "DoubleOffer",
    "DoubleUse",
    "Malformed",
    "Settings",
    "Verdict",
    "Violation",
    "check",
    "could_all_be_allocated",
    "could_be_allocated",
    "double_offers",
    "double_uses",
    "read_claim",
]
