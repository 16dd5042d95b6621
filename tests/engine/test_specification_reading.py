"""Tests of reading features, tags, rows and sentences; every mistake is reported with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_conformance.core import documents, features, tags
from dra_conformance.core.errors import SpecificationError, UsageError
from dra_conformance.core.rules import Catalogue, Version
from dra_conformance.core.rules.window import outside
from dra_conformance.engine import plan, vocabulary
from dra_conformance.engine.vocabulary import Sentence, StepDefinition

ROW = "{id: DRA-001, text: It holds., level: MUST, component: driver, source: a file}"


def feature(folder: Path, text: str, name: str = "probe") -> Path:
    path = folder / "chapter" / f"{name}.feature"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def scenario_of(folder: Path, *steps: str, rules: str = "@DRA-001") -> list[features.Scenario]:
    lines = "\n".join(f"    {step}" for step in steps)
    feature(folder, f"@profile:api\nFeature: F\n  {rules}\n  Scenario: S\n{lines}\n")
    return features.read_all([folder])


# -- features ----------------------------------------------------------------------------------------------------------


def test_each_row_of_an_outline_becomes_a_scenario(tmp_path: Path) -> None:
    path = feature(
        tmp_path,
        """@profile:api @component:driver
Feature: F
  Background:
    Given a world
  Rule: R
    @DRA-001 @since:1.35
    Scenario Outline: The <thing> holds
      When <thing> is <value>
      Then it holds [DRA-001]
      But <value> does not

      @DRA-002
      Examples:
        | thing | value |
        | one   | 1     |
        | two   | 2     |
""",
    )
    one, two = features.read_file(path)
    assert one.id == "chapter/probe#the-thing-holds[one]"
    assert (one.name, two.name) == ("The one holds", "The two holds")
    assert one.example == ("one", "1")
    assert one.rules == ("DRA-001", "DRA-002")
    assert one.tags.since == "1.35"
    assert [(s.kind, s.text) for s in two.steps] == [
        ("given", "a world"),
        ("when", "two is 2"),
        ("then", "it holds [DRA-001]"),
        ("then", "2 does not"),
    ]
    assert one.steps[2].rules == ("DRA-001",)


def test_two_scenarios_with_one_id_are_an_error(tmp_path: Path) -> None:
    feature(tmp_path, "Feature: F\n  Scenario: A b\n    Then x\n  Scenario: A-b\n    Then x\n")
    with pytest.raises(SpecificationError, match="rename one"):
        features.read_all([tmp_path])


def test_two_outlines_of_one_name_are_an_error(tmp_path: Path) -> None:
    outline = "  Scenario Outline: A <what>\n    Then x\n    Examples:\n      | what |\n      | {} |\n"
    feature(tmp_path, "Feature: F\n" + outline.format("b") + outline.format("c"))
    with pytest.raises(SpecificationError, match=r"chapter/probe\.feature:7: .* line 2; rename one"):
        features.read_all([tmp_path])


def test_a_syntax_error_is_reported_with_its_line(tmp_path: Path) -> None:
    feature(tmp_path, "Feature: F\n  Scenario: S\n    Given x\n    nonsense\n    more\n")
    with pytest.raises(SpecificationError, match=r"chapter/probe\.feature:4: does not parse as Gherkin: expected") as e:
        features.read_all([tmp_path])
    assert "\n" not in e.value.message


def test_a_folder_without_features_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no \.feature file"):
        features.read_all([tmp_path])
    with pytest.raises(UsageError, match="does not exist"):
        features.read_all([tmp_path / "missing"])


# -- tags --------------------------------------------------------------------------------------------------------------


def test_tags_are_parsed() -> None:
    read = tags.read(
        [
            "@DRA-001",
            "@profile:api",
            "@component:driver",
            "@needs:kai",
            "@gate:X",
            "@since:1.34",
            "@since:1.36",
            "@disruptive",
        ],
        where="here",
    )
    assert (read.rules, read.profiles, read.components) == (("DRA-001",), ("api",), ("driver",))
    assert (read.needs, read.gates, read.since, read.disruptive) == (("kai",), ("X",), "1.36", True)


@pytest.mark.parametrize(
    ("tag", "hint"),
    [
        ("@profile:driver-cor", "Did you mean @profile:driver-core?"),
        ("@component:drivr", "Did you mean @component:driver?"),
        ("@DRA-1", "docs/how-to/writing-a-scenario.md"),
        ("@wip", "docs/how-to/writing-a-scenario.md"),
        ("@component:", ""),
        ("@disruptiv", "Did you mean @disruptive?"),
    ],
)
def test_an_unknown_tag_is_an_error_with_a_hint(tag: str, hint: str) -> None:
    with pytest.raises(SpecificationError, match=f"here: unknown tag {tag}") as error:
        tags.read([tag], where="here")
    assert hint in error.value.hint


def test_an_invalid_version_is_an_error() -> None:
    with pytest.raises(SpecificationError, match="not a Kubernetes version"):
        tags.read(["@since:new"], where="here")


# -- catalogue ---------------------------------------------------------------------------------------------------------


def load(folder: Path, text: str) -> Catalogue:
    (folder / "rows.yaml").write_text(text)
    return Catalogue.load(folder)


def test_defaults_fill_rows(tmp_path: Path) -> None:
    rows = "- {id: DRA-002, text: 'It\n   holds.'}\n- {id: DRA-001, text: So., level: MAY, since: 1.35}\n"
    found = load(tmp_path, f"defaults: {{level: MUST, component: driver, source: x}}\nrules:\n{rows}")
    assert list(found) == ["DRA-001", "DRA-002"]
    assert found["DRA-002"].text == "It holds."
    assert (found["DRA-001"].scored, found["DRA-002"].scored) == (False, True)
    assert found["DRA-001"].since == "1.35"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROW.replace("DRA-001", "DRA-1"), "'DRA-1' is not a rule id"),
        (ROW.replace("MUST", "WILL"), "level 'WILL' is not one of MUST, SHOULD, MAY"),
        (ROW.replace("component: driver", "component: cook"), "component 'cook' is not one of"),
        (ROW.replace("a file", "''"), "missing source"),
        (ROW.replace("source", "sauce"), "unknown field sauce"),
        (ROW.replace("}", ", since: soon}"), "since: 'soon' is not a Kubernetes version"),
        (ROW.replace("}", ", since: 1.30}"), "quote the version"),
        (ROW.replace("}", ", driver_since: '0.5'}"), "driver_since: '0.5' is not a release of NVIDIA's driver"),
        (ROW.replace("}", ", quirk: perhaps}"), "quirk is true or false"),
        ("just text", "a rule is a mapping, not str"),
        (f"{ROW}\n- {ROW}", "rule DRA-001 has two rows"),
    ],
)
def test_an_invalid_row_is_reported_with_file_and_row(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(SpecificationError, match=r"rows\.yaml") as error:
        load(tmp_path, f"rules:\n- {row}\n")
    assert said in error.value.message


@pytest.mark.parametrize("text", ["[]", "- 1", "rules: {}", "rulez: []", "text"])
def test_an_invalid_catalogue_file_is_an_error(tmp_path: Path, text: str) -> None:
    if text == "[]":
        assert len(load(tmp_path, text)) == 0
        return
    with pytest.raises(SpecificationError, match=r"rows\.yaml"):
        load(tmp_path, text if text != "rules: {}" else "rules: {a: b}")


def test_a_rule_is_found_in_any_case_and_near_ids_are_suggested(tmp_path: Path) -> None:
    found = load(tmp_path, f"rules:\n- {ROW}\n")
    assert found.find("dra-001").id == "DRA-001"
    with pytest.raises(UsageError, match="there is no rule 'DRA-010'") as error:
        found.find("DRA-010")
    assert error.value.hint == "Did you mean DRA-001?"


@pytest.mark.parametrize("text", ["v1.36.2", "1.36+", "v1.36.1-gke.1", " 1.36 "])
def test_valid_versions_are_parsed(text: str) -> None:
    assert str(Version.parse(text)) == "1.36"


@pytest.mark.parametrize("text", ["1.36x", "1", "", "v1."])
def test_invalid_versions_are_errors(text: str) -> None:
    with pytest.raises(ValueError, match="not a Kubernetes version"):
        Version.parse(text)


def test_version_ranges_are_inclusive() -> None:
    at = Version(1, 35)
    assert outside(at, "1.35", "1.35") is None
    assert outside(at, "1.36", None) == "holds since Kubernetes 1.36; the target is 1.35"
    assert outside(at, None, "1.34") == "held until Kubernetes 1.34; the target is 1.35"
    assert Version(1, 9) < Version(1, 10)


def test_invalid_yaml_is_reported_with_file_and_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"m\.yaml, line 3: not valid YAML: "):
        documents.load_all("a: 1\nb: [\n", where="m.yaml")
    with pytest.raises(UsageError, match="cannot read"):
        documents.load(tmp_path / "missing.yaml")


# -- vocabulary --------------------------------------------------------------------------------------------------------


def definition(kind: str, text: str) -> StepDefinition:
    return StepDefinition(kind, text, "A purpose.", "steps.test", print, Sentence(text))


@pytest.mark.parametrize(
    ("sentence", "text", "fields"),
    [
        ('pod "{p}" has {n:d} claims', 'pod "a b" has -3 claims', {"p": "a b", "n": -3}),
        ("waits {s:f} s", "waits 1.5 s [DRA-001]", {"s": 1.5}),
        ("{reason:word} at {rest}", "Invalid at a.b [DRA-001, KAI-002]", {"reason": "Invalid", "rest": "a.b"}),
        ('pod "{p}" runs', 'pod "a" runs not', None),
        ('pod "{p}" runs', 'pod "a" and pod "b" runs', None),
        ("a (b)", "a (b)", {}),
    ],
)
def test_sentences_return_their_fields(sentence: str, text: str, fields: dict[str, object] | None) -> None:
    assert Sentence(sentence).parse_arguments(text) == fields
    assert Sentence(sentence).is_matching(text) is (fields is not None)


def test_an_undefined_step_suggests_the_nearest_sentence(tmp_path: Path) -> None:
    scenarios = scenario_of(tmp_path, 'Given node "n1" running a driver', "Then it holds")
    known = [definition("given", 'node "{node}" running the driver'), definition("then", "it holds")]
    with pytest.raises(SpecificationError, match=r'probe\.feature:5: undefined step: Given node "n1" running') as error:
        vocabulary.check(scenarios, known)
    assert 'Nearest: node "{node}" running the driver.' in error.value.hint


def test_a_step_matches_sentences_of_its_keyword_only(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="undefined step: Then it holds"):
        vocabulary.check(scenario_of(tmp_path, "Then it holds"), [definition("when", "it holds")])


def test_an_ambiguous_step_is_an_error(tmp_path: Path) -> None:
    known = [definition("then", "it {how}"), definition("then", "it holds")]
    with pytest.raises(SpecificationError, match="ambiguous step"):
        vocabulary.check(scenario_of(tmp_path, "Then it holds"), known)


# -- how features and catalogue fit together ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "rules", "said"),
    [
        (["Then x"], "@DRA-009", "@DRA-009 is not in the rule catalogue"),
        (["Given x"], "@DRA-001", "no Then step"),
        (["Then x"], "@disruptive", "no rule tag"),
        (["Then x [DRA-002]"], "@DRA-001", r"\[DRA-002\] is not a tag of the scenario"),
        (["Then x [DRA-001]", "Then y"], "@DRA-001 @DRA-002", "every Then step names its own"),
        (["Then x [DRA-001]"], "@DRA-001 @DRA-002", "no Then step checks DRA-002"),
    ],
)
def test_a_scenario_that_cannot_judge_is_an_error(tmp_path: Path, steps: list[str], rules: str, said: str) -> None:
    catalogue = load(tmp_path, f"rules:\n- {ROW}\n- {ROW.replace('001', '002')}\n")
    with pytest.raises(SpecificationError, match=said):
        plan.check_specification(scenario_of(tmp_path, *steps, rules=rules), catalogue)


def test_a_scenario_without_a_profile_is_an_error(tmp_path: Path) -> None:
    feature(tmp_path, "Feature: F\n  @DRA-001\n  Scenario: S\n    Then x\n")
    with pytest.raises(SpecificationError, match="belongs to no profile"):
        plan.check_specification(features.read_all([tmp_path]), load(tmp_path, f"rules:\n- {ROW}\n"))
