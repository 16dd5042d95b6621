"""The measurement of a ComputeDomain over a rack, at a small size: every worker runs, and each stage has its time."""

from __future__ import annotations

from verification.benchmarks import compute_domain


def test_workers_run_on_a_rack_of_two_nodes() -> None:
    found = compute_domain.run(nodes=2)
    assert set(found) == {*compute_domain.STAGES, "processor"}
    assert 0 < found["bound"] <= found["running"]
