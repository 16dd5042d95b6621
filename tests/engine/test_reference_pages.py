"""The generated reference pages are current, and the JSON Schema accepts what the suite accepts."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import pytest
from test_option_table import RUN_OPTIONS, WRONG, value_in_file

from dra_conformance.cli import call
from dra_conformance.core.option_schema import schema
from dra_conformance.core.option_table import Option
from tools import gen_reference


@pytest.mark.parametrize("name", ["cli.md", "configuration.md", "dra-conformance.schema.json"])
def test_a_generated_file_is_current(name: str) -> None:
    text = (gen_reference.FOLDER / name).read_text()
    assert text == gen_reference.pages()[name], "run `python -m tools.gen_reference`"


def test_the_command_prints_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(gen_reference.pages()["dra-conformance.schema.json"])


def valid(document: dict[str, Any]) -> bool:
    return jsonschema.Draft202012Validator(schema()).is_valid(document)


@pytest.mark.parametrize("option", RUN_OPTIONS, ids=lambda option: option.name)
def test_the_schema_accepts_every_example(option: Option) -> None:
    assert valid({option.name: value_in_file(option)})
    assert not valid({option.name: {"no": "value"}})


@pytest.mark.parametrize(
    "document",
    [
        {"drivr": "x"},
        *(
            WRONG[name][0]
            for name in ("component_values_parse", "values_are_choices", "profiles_exist", "numbers_are_in_range")
        ),
        WRONG["supported_features_exist"][0],
    ],
)
def test_the_schema_rejects_mistakes(document: dict[str, Any]) -> None:
    assert not valid(document)


def test_examples_of_the_page_are_valid() -> None:
    page = gen_reference.pages()["configuration.md"]
    blocks = [part.partition("```")[0] for part in page.split("```toml\n")[1:]]
    assert len(blocks) == 3
    for block in blocks:
        document = tomllib.loads(block)
        for waiver in document.get("waivers", ()):
            waiver["expires"] = waiver["expires"].isoformat()
        assert valid(document)
