"""The binder's pure decisions: attempts, node selectors, sameness of allocations."""

from __future__ import annotations

from typing import Any

import pytest

from dra_api.objects import Obj
from reference_impl.binder import attempts, claims
from reference_impl.binder.failure import BindFailure


def request(limit: int | None, failed: int = 0) -> Obj:
    spec: Obj = {} if limit is None else {"backoffLimit": limit}
    return {"metadata": {"name": "p"}, "spec": spec, "status": {"failedAttempts": failed}}


@pytest.mark.parametrize(
    ("limit", "failed", "after", "final"),
    [(None, 0, 0, True), (0, 0, 0, True), (1, 0, 1, True), (3, 0, 1, False), (3, 1, 2, False), (3, 2, 3, True)],
)
def test_attempts_count_up_to_the_limit(limit: int | None, failed: int, after: int, final: bool) -> None:
    count = attempts.after_failure(request(limit, failed))
    assert (count, attempts.is_final(request(limit, failed), count)) == (after, final)


def test_the_wait_doubles() -> None:
    assert [attempts.retry_delay(request(20, failed)) for failed in range(5)] == [1, 2, 4, 8, 16]
    assert attempts.retry_delay(request(20, 5000)) == 2.0**30


def test_a_status_change_is_no_change() -> None:
    one, two = request(3), request(3, 2)
    assert attempts.fingerprint(one) == attempts.fingerprint(two)
    two["metadata"]["annotations"] = {"a": "b"}
    assert attempts.fingerprint(one) != attempts.fingerprint(two)


def allocation(**changes: Any) -> Obj:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "x", **changes.pop("result", {})}
    return {"devices": {"results": [result]}, **changes}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (allocation(allocationTimestamp="2026-01-01T00:00:00Z"), True),
        (allocation(result={"adminAccess": False, "tolerations": []}), True),
        (allocation(result={"device": "y"}), False),
        (allocation(result={"shareID": "s"}), False),
        (allocation(nodeSelector={"nodeSelectorTerms": []}), True),
        (allocation(result={"pool": "q"}), False),
    ],
)
def test_sameness_of_allocations(other: Obj, same: bool) -> None:
    assert claims.same_allocation(allocation(), other) is same


def test_a_tolerations_operator_defaults_to_equal() -> None:
    one = allocation(result={"tolerations": [{"key": "k", "value": "v", "effect": "NoExecute"}]})
    two = allocation(result={"tolerations": [{"key": "k", "value": "v", "effect": "NoExecute", "operator": "Equal"}]})
    assert claims.same_allocation(one, two)


def test_the_claim_of_a_pod() -> None:
    pod: Obj = {"spec": {"resourceClaims": [{"name": "t", "resourceClaimTemplateName": "x"}]}, "status": {}}
    with pytest.raises(BindFailure, match="template"):
        claims.claim_name(pod, {"name": "t", "resourceClaimTemplateName": "x"})
    pod["status"] = {"resourceClaimStatuses": [{"name": "t"}]}
    assert claims.claim_name(pod, {"name": "t"}) is None
    pod["status"] = {"resourceClaimStatuses": [{"name": "t", "resourceClaimName": "c"}]}
    assert claims.claim_name(pod, {"name": "t"}) == "c"
    assert claims.claim_name(pod, {"name": "t", "resourceClaimName": "named"}) == "named"
