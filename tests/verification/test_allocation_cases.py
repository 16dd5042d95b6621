"""The cases of the allocation benchmark are solved within the allocator's limit of steps.

Their searches are short only because the allocator recognizes interchangeable requests and counts what is left. No
scenario is large enough to show that.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dra_api.objects import Obj
from verification.benchmarks import allocation_cases as cases
from verification.benchmarks.allocator import Ready

_WHOLE = [f"gpu-{gpu}-gpu-0" for gpu in range(7)]
_CASES: dict[str, tuple[Obj, str]] = {
    "eight claims": (cases.case(cases.node_slices(0, cases.gpus(8)), cases.singles(8)), "allocated"),
    "matched": (cases.matched(), "allocated"),
    "partitions": (cases.mig(()), "allocated"),
    "partitions of one GPU": (cases.mig(_WHOLE), "allocated"),
    "one partition too few": (cases.mig([*_WHOLE, "gpu-7-1g-18gb-0"]), "unallocatable"),
    "shares": (cases.shares("10Gi"), "allocated"),
    "large shares": (cases.shares("60Gi"), "allocated"),
    "large shares beside others": (cases.shares("60Gi", used=112), "allocated"),
    "nodes that are full": (cases.cluster(20, full=18), "allocated"),
}


@pytest.mark.parametrize(("case", "outcome"), _CASES.values(), ids=_CASES)
def test_a_case_is_solved(case: Obj, outcome: str) -> None:
    assert Ready(case).once() == outcome


@pytest.mark.parametrize("size", [8, 32, 128])
@pytest.mark.parametrize(
    "family",
    [
        cases.too_many_requests,
        cases.too_many_counted,
        cases.last_two_match,
        cases.distinct_short,
        cases.last_matches_nothing,
    ],
)
def test_what_cannot_be_allocated_is_found_out(family: Callable[[int], Obj], size: int) -> None:
    assert Ready(family(size)).once() == "unallocatable"
