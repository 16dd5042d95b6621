"""`--scheduler reference:bug-compatible=…` from the command line: the suite judges it as it judges kube-scheduler."""

from __future__ import annotations

import pytest
from command_line import CommandLine

from reference_impl.scheduler.bug_compatible import RELEASES, UnknownRelease, release
from verification.third_party.catalogue import load


@pytest.mark.exhaustive
def test_the_component_fails_the_rules_that_kube_scheduler_fails(cli: CommandLine) -> None:
    """The rules of allocation that kube-scheduler 1.36.2 breaks, and no others of those that stand beside them."""
    (program,) = (one for one in load() if one.name == "kube-scheduler-1.36")
    # Not part of the allocator: DRA-226c (a panic of the slice tracker), DRA-126b (the queue), DRA-128b and DRA-128d
    # (reservations), DRA-133g (the write after a conflict), DRA-240b and DRA-248b (the cache of classes), and DRA-255c
    # (binding conditions). Not reproduced yet: DRA-157b, DRA-189b and DRA-212b, which are
    # kubernetes/kubernetes#141922, #140518 and #140702.
    elsewhere = {"DRA-126b", "DRA-128b", "DRA-128d", "DRA-133g", "DRA-226c", "DRA-240b", "DRA-248b", "DRA-255c"}
    not_yet = {"DRA-157b", "DRA-189b", "DRA-212b"}
    failed = {rule for rule, row in program.broken_rules.items() if row.status == "failed"}
    broken = failed - elsewhere - not_yet
    beside = {"DRA-168", "DRA-178", "DRA-192", "DRA-216", "DRA-233", "DRA-234"}
    words = [word for rule in sorted(broken | beside) for word in ("--rule", rule)]
    ended = cli.suite(
        "--kubernetes-version", "1.36", "--scheduler", "reference:publish=direct,bug-compatible=1.36.2", *words
    )
    found = {row["id"]: row["status"] for row in ended.report["rules"]}
    assert {rule for rule in broken | beside if found[rule] == "failed"} == broken
    assert {found[rule] for rule in beside} == {"passed"}


def test_an_unknown_release_is_a_usage_error(cli: CommandLine) -> None:
    with pytest.raises(UnknownRelease, match=r"only the deviations of 1\.34, 1\.35, 1\.36, 1\.36\.2, 1\.37 are known"):
        release("1.40")
    ended = cli.suite("--scheduler", "reference:bug-compatible=1.40")
    assert ended.code == 4
    assert "only the deviations of" in ended.err
    assert RELEASES == ("1.34", "1.35", "1.36", "1.36.2", "1.37")
