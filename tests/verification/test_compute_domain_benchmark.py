"""The measurements of ComputeDomains at a small size: over a rack, and many beside each other."""

from __future__ import annotations

from verification.benchmarks import compute_domain, compute_domains


def test_workers_run_on_a_rack_of_two_nodes() -> None:
    found = compute_domain.run(nodes=2)
    assert set(found) == {*compute_domain.STAGES, "processor", "memory"}
    assert 0 < found["bound"] <= found["running"]


def test_each_of_several_domains_costs_the_same_number_of_requests() -> None:
    few, more = compute_domains.run(3), compute_domains.run(6)
    assert few["others"] == more["others"] == 0
    # Watches and first lists are the same for both; conflicts between writers may repeat a few requests.
    assert more["requests"] <= 2.5 * few["requests"]
    assert more["processor"] > 0
