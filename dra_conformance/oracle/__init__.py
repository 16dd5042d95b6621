"""The judge: says whether an outcome is right, from the objects alone. It shares no code with the reference parts.

cluster = Cluster.of(objects)                  # dicts as the API server or kubectl gives them, any served version
judgement = judge(Case(cluster, claim))        # violations: rule, sentence, field
answer = could_be_allocated(Case(cluster, claim))   # yes with a witness, no, or unknown
"""

from dra_conformance.oracle.cluster import Cluster, read_claim
from dra_conformance.oracle.exists import Answer, could_all_be_allocated, could_be_allocated
from dra_conformance.oracle.judge import judge
from dra_conformance.oracle.verdict import Case, Judgement, Settings, Violation
from dra_conformance.oracle.well_formed import Malformed

__all__ = [
    "Answer",
    "Case",
    "Cluster",
    "Judgement",
    "Malformed",
    "Settings",
    "Violation",
    "could_all_be_allocated",
    "could_be_allocated",
    "judge",
    "read_claim",
]
