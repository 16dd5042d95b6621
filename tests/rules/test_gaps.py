import pytest

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.rules import Catalogue, gaps
from dra_conformance.core.rules.catalogue import RULE_ID


def test_a_rule_is_judged_or_a_gap_and_never_both():
    known = [gap.id for gap in gaps.load()]
    assert len(known) == len(set(known))
    assert all(RULE_ID.fullmatch(rule) for rule in known)
    assert not set(known) & set(Catalogue.load())


def test_a_gap_without_a_reason_is_refused(tmp_path):
    path = tmp_path / "not_covered.yaml"
    path.write_text("not_covered: [{id: DRA-001, text: something, reason: ''}]")
    with pytest.raises(SpecificationError, match="row 1"):
        gaps.load(path)
