"""A thousand expressions against what Kubernetes itself answered.

``cel_golden.jsonl`` was recorded by running k8s.io/dynamic-resource-allocation/cel 0.36.6 (selectors, both feature
gates on) and k8s.io/apiserver/pkg/cel/environment 0.36.6 (rules), with cel-go 0.26.0, on the device and the variables
below. Half of the expressions were written by hand, half came from a random generator. A line has the compile error, or
the static type, the estimated worst-case cost, and either the run-time error or the value and its actual cost.
``cel_golden_1_37.jsonl`` has the lines that are different with 0.37.2 and cel-go 0.29.2.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from dra_api.cel import CelCompileError, CelRuntimeError, DeviceView, compile_rule, compile_selector
from dra_api.cel.checker import Environment
from dra_api.cel.declarations import BASE_FUNCTIONS
from dra_api.cel.device import compile_checked
from dra_api.cel.estimate import estimate
from dra_api.cel.operators import to_string
from dra_api.cel.types import DYN
from dra_api.cel.values import Cidr, Duration, Ip, Optional, Timestamp, TypeValue, Uint, Url, from_key

GOLDEN = Path(__file__).with_name("cel_golden.jsonl")
CASES: list[dict[str, Any]] = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
CHANGED: dict[tuple[str, str], dict[str, Any]] = {
    (case["in"], case["expr"]): case
    for line in GOLDEN.with_name("cel_golden_1_37.jsonl").read_text(encoding="utf-8").splitlines()
    for case in [json.loads(line)]
}

DEVICE = DeviceView(
    "gpu.nvidia.com",
    {
        "type": {"string": "gpu"},
        "index": {"int": 0},
        "big": {"bool": True},
        "driverVersion": {"version": "1.2.3"},
        "other.com/x": {"string": "y"},
        "mods": {"strings": ["a", "b"]},
    },
    {"memory": {"value": "40Gi"}},
    allow_multiple_allocations=True,
)
# Numbers are doubles because the recording read them from JSON into Go's any.
VARIABLES: dict[str, Any] = {
    "self": {
        "a": 1.0,
        "l": [1.0, 2.0, 3.0],
        "s": "str",
        "t": "hello world",
        "m": {"x": 1.0, "y": "z"},
        "n": None,
        "b": True,
        "e": [],
        "sl": ["b", "a", "c"],
        "nest": {"p": {"q": [{"r": "v"}]}},
    },
    "oldSelf": {"a": 1.0},
}


def _double(value: float) -> str:
    if math.isnan(value):
        return 'double("NaN")'
    if math.isinf(value):
        return 'double("Infinity")' if value > 0 else 'double("-Infinity")'
    return repr(value)


def _bytes(value: bytes) -> str:
    return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'


def shown(value: Any) -> str:
    """A value as cel-go's types.Format writes it."""
    simple = {None: "null", True: "true", False: "false"}
    if value is None or value is True or value is False:
        return simple[value]
    kind = value.__class__
    if kind is str:
        return json.dumps(value, ensure_ascii=False)
    if kind is Uint:
        return f"{int(value)}u"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(from_key(key))}: {shown(item)}" for key, item in value.items()) + "}"
    if kind is Optional:
        return f"optional.of({shown(value.value)})" if value.present else "optional.none()"
    writers: dict[type, Any] = {
        float: _double,
        bytes: _bytes,
        Duration: lambda v: f'duration("{v}")',
        Timestamp: lambda v: f'timestamp("{v}")',
        TypeValue: lambda v: v.name,
        Ip: to_string,
        Cidr: to_string,
        Url: lambda v: v.text,
    }
    return str(writers.get(kind, str)(value))


def normal(text: str) -> str:
    """Go prints doubles in its own way and maps in any order; compare what is left."""
    try:
        return repr(float(text))
    except ValueError:
        return "".join(sorted(text)) if text.startswith("{") else text


def test_every_line_that_changed_has_its_older_answer() -> None:
    older = {(case["in"], case["expr"]): case for case in CASES}
    assert CHANGED.keys() <= older.keys()
    assert not [key for key, case in CHANGED.items() if case == older[key]]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['in']}-{i}" for i, case in enumerate(CASES)])
@pytest.mark.parametrize("version", ["1.36", "1.37"])
def test_same_as_kubernetes(case: dict[str, Any], version: str) -> None:
    expression = case["expr"]
    if version == "1.37":
        case = CHANGED.get((case["in"], expression), case)
    if "compile_error" in case:
        with pytest.raises(CelCompileError) as caught:
            (compile_selector if case["in"] == "selector" else compile_rule)(expression, version=version)
        if "Syntax error" in case["compile_error"]:
            # Only the first syntax error is found here; ANTLR goes on after it.
            first = case["compile_error"].split("\nERROR")[0]
            assert caught.value.message.startswith(first)
        else:
            assert caught.value.message == case["compile_error"]
        return
    if case["in"] == "selector":
        selector = compile_selector(expression, version=version)
        assert (selector.output_type, selector.estimated_cost) == (case["type"], case["max"])
    else:
        rule = compile_rule(expression, version=version)
        checked = compile_checked(expression, Environment({"self": DYN, "oldSelf": DYN}, BASE_FUNCTIONS))
        cost = estimate(checked, lambda _: None, before_1_37=version == "1.36").max
        assert (rule.output_type, cost) == (case["type"], case["max"])
    if "error" in case:
        with pytest.raises(CelRuntimeError) as failed:
            selector.evaluate(DEVICE) if case["in"] == "selector" else rule.run(VARIABLES)
        assert failed.value.message == case["error"]
        return
    value, cost = selector.evaluate(DEVICE) if case["in"] == "selector" else rule.run(VARIABLES)
    assert normal(shown(value)) == normal(case["result"])
    assert cost == case["cost"]
