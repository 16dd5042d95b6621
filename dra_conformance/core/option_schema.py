"""The JSON Schema of dra-conformance.toml: types from RunOptions, everything else from the table of options."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_conformance.core import optional_features
from dra_conformance.core.option_table import OPTIONS, Option, kind_of
from dra_conformance.core.options import RunOptions
from dra_conformance.core.tags import PROFILES


def schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12)."""
    found = msgspec.json.schema(RunOptions)
    definitions = found["$defs"]
    options = definitions.pop("RunOptions")
    for option in OPTIONS:
        if option.in_file:
            options["properties"][option.name].update(_details(option))
    # One-line titles instead of docstrings, which describe the Python classes.
    for definition in (options, *definitions.values()):
        definition.pop("description", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **options,
        "title": "dra-conformance.toml",
        "$defs": definitions,
    }


def _details(option: Option) -> dict[str, Any]:
    details: dict[str, Any] = {"description": f"{option.help} {option.note}".strip()}
    if option.multiple:
        if values := _values(option):
            details["items"] = {"type": "string", "enum": list(values)}
    elif option.is_component:
        kinds = "|".join(kind_of(choice) for choice in option.choices)
        details["pattern"] = f"^\\s*({kinds})(:|\\s*$)"
    elif option.choices:
        details["enum"] = [*option.choices, *([] if option.default else [option.default])]
    if option.minimum is not None and option.maximum is not None:
        details |= {"minimum": option.minimum, "maximum": option.maximum}
    if option.example and option.type == "text":
        details["examples"] = [[option.example] if option.multiple else option.example]
    return details


def _values(option: Option) -> tuple[str, ...]:
    known = {"profiles": tuple(PROFILES), "supported-features": tuple(optional_features.choices())}
    return known.get(option.completion, option.choices)
