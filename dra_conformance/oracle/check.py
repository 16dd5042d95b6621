"""Check of one allocation: every rule that it breaks, with a message and the field.

A pure function of the case. Each topic is one module; all of them read one `CheckContext`.

Source: KEP-4381 and the KEPs named in the modules of this package; the allocation groups F to K and M of the rules.
"""

from __future__ import annotations

from dra_conformance.oracle import (
    check_configs,
    check_constraints,
    check_node_selector,
    check_requests,
    check_reservations,
    check_results,
    check_sharing,
)
from dra_conformance.oracle.context import CheckContext
from dra_conformance.oracle.verdict import Case, Verdict


def check(case: Case) -> Verdict:
    """Return the rules that the claim's allocation and reservations break.

    A claim without an allocation can only break the rules of reservations.
    """
    context = CheckContext(case)
    if case.claim.status.allocation is not None:
        check_results.check(context)
        check_requests.check(context)
        check_sharing.check_users(context)
        check_constraints.check(context)
        check_sharing.check_counters(context)
        check_sharing.check_capacity(context)
        check_node_selector.check(context)
        check_configs.check(context)
    check_reservations.check(case, context.findings)
    return context.findings.verdict()
