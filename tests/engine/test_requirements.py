"""The registry behind the `@needs:` tags."""

from __future__ import annotations

import pytest

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.features import Scenario
from dra_conformance.core.tags import NEEDS
from dra_conformance.engine import requirements
from dra_conformance.engine.requirements.registry import Unmet, requirement
from dra_conformance.engine.target import Target
from tools import gen_tags


def test_every_tag_has_a_check_and_every_check_a_tag() -> None:
    assert {each.name for each in requirements.registered()} == set(NEEDS)


def test_a_tag_without_a_check_is_an_error() -> None:
    with pytest.raises(SpecificationError, match="@needs:a-quantum-gpu has no check"):
        requirements.find("a-quantum-gpu")


def test_a_requirement_is_documented_in_one_sentence() -> None:
    for each in requirements.registered():
        assert each.summary.endswith("."), each.name


def test_a_check_is_registered_once_and_documented() -> None:
    def gpu_driver(scenario: Scenario, target: Target) -> Unmet | None:
        """A second check of the same tag."""
        return None

    def undocumented(scenario: Scenario, target: Target) -> Unmet | None:
        return None

    with pytest.raises(SpecificationError, match="gpu-driver is registered twice"):
        requirement(gpu_driver)
    with pytest.raises(SpecificationError, match="undocumented has no docstring"):
        requirement(undocumented)


def test_the_page_of_tags_is_current() -> None:
    assert gen_tags.PAGE.read_text() == gen_tags.page(), "run python -m tools.gen_tags"
