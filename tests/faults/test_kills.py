"""The death of a component at one of its writes: which requests reach the API server."""

from __future__ import annotations

import pytest

from dra_conformance.core.errors import SpecificationError
from dra_conformance.faults.kills import Death, Moment, moment_called
from dra_conformance.faults.model import Call

PODS = "/api/v1/namespaces/mine/pods"
CLAIM = "/apis/resource.k8s.io/v1/namespaces/mine/resourceclaims/c/status"


def call(method: str, path: str, component: str = "binder") -> Call:
    return Call.of(component, method, path, ())


@pytest.mark.parametrize(("moment", "forwarded"), [("before", False), ("after", True)])
def test_the_chosen_write_is_the_first_or_the_last_that_counts(moment: Moment, forwarded: bool) -> None:
    deaths: list[str] = []
    death = Death("binder", "mine", 2, moment, on_death=lambda: deaths.append("dead"))
    assert death(call("PATCH", f"{PODS}/a")) is None
    fault = death(call("PUT", CLAIM))
    assert fault is not None
    assert fault.lost
    assert fault.forwards is forwarded
    if forwarded:
        assert not death.dead
        assert fault.then is not None
        fault.then()  # the server has carried the write out
    assert death.dead
    assert deaths == ["dead"]
    assert death.write == "update resourceclaims/status"


def test_a_dead_component_reaches_nothing_and_others_everything() -> None:
    death = Death("binder", "mine", 1, "before")
    assert death(call("POST", PODS)) is not None
    for method, path in [("GET", PODS), ("POST", PODS), ("GET", "/api/v1/nodes"), ("PATCH", f"{PODS}/a")]:
        fault = death(call(method, path))
        assert fault is not None
        assert not fault.forwards
        assert death(call(method, path, "scheduler")) is None
    assert death.write == "create pods"


def test_reads_and_other_namespaces_do_not_count() -> None:
    death = Death("binder", "mine", 1, "before")
    for method, path in [("GET", PODS), ("POST", "/api/v1/namespaces/other/pods"), ("PATCH", "/api/v1/nodes/n1")]:
        assert death(call(method, path)) is None
    assert not death.dead


def test_a_misspelt_moment_is_reported() -> None:
    assert moment_called("after") == "after"
    with pytest.raises(SpecificationError, match="only before or after it"):
        moment_called("during")
