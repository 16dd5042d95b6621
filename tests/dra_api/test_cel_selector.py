"""Device selectors by the rules DRA-016 to DRA-018 and DRA-159 to DRA-167, gates included.

Behaviour without other source: k8s.io/dynamic-resource-allocation/cel/compile.go 0.36.
"""

from __future__ import annotations

import re

import pytest

from dra_api.cel import (
    COST_LIMIT,
    CelCompileError,
    CelRuntimeError,
    CostExceeded,
    DeviceView,
    compile_rule,
    compile_selector,
    cost_of_derived_attribute,
    derive_attribute,
)

DRIVER = "gpu.example.com"
HERE = f'device.attributes["{DRIVER}"]'
VIEW = DeviceView(
    DRIVER,
    {
        "model": {"string": "A100"},
        "index": {"int": 3},
        "healthy": {"bool": True},
        "driverVersion": {"version": "1.10.0"},
        "nics": {"strings": ["a", "b"]},
        "ports": {"ints": [1, 2]},
        "levels": {"bools": [True]},
        "firmware": {"versions": ["1.0.0", "2.0.0"]},
        "rack.example.org/row": {"int": 7},
    },
    {"memory": {"value": "20Gi"}, "rack.example.org/power": {"value": "500m"}},
)


def matches(expression: str, view: DeviceView = VIEW) -> bool:
    return compile_selector(expression).matches(view)


def refusal(expression: str, **options: bool) -> str:
    with pytest.raises(CelCompileError) as caught:
        compile_selector(expression, **options)  # type: ignore[arg-type]
    return caught.value.message


def failure(expression: str, view: DeviceView = VIEW) -> str:
    with pytest.raises(CelRuntimeError) as caught:
        matches(expression, view)
    return caught.value.message


def test_dra_159_a_bare_name_belongs_to_the_driver() -> None:
    assert matches(f'{HERE}.model == "A100"')
    assert matches('device.attributes["rack.example.org"].row == 7')
    assert matches('device.capacity["rack.example.org"].power.isLessThan(quantity("1"))')


def test_dra_160_an_unknown_domain_is_an_empty_map() -> None:
    assert not matches('"unknown.example.com" in device.attributes')
    assert not matches('"x" in device.attributes["unknown.example.com"]')
    assert matches('size(device.attributes["unknown.example.com"]) == 0')
    assert not matches('has(device.capacity["unknown.example.com"].memory)')


def test_dra_161_a_missing_id_is_an_error() -> None:
    assert failure(f"{HERE}.nope == 1") == "no such key: nope"
    assert failure('device.attributes["unknown.example.com"].nope == 1') == "no such key: nope"
    assert failure(f'device.capacity["{DRIVER}"].nope.isLessThan(quantity("1"))') == "no such key: nope"


@pytest.mark.parametrize(
    "expression",
    [
        f"!has({HERE}.nope)",
        f"has({HERE}.model) && !(has({HERE}.nope) && {HERE}.nope == 1)",
        f'{HERE}.?nope.orValue("x") == "x"',
        f'!("nope" in {HERE})',
        f'{HERE}[?"nope"].orValue(true)',
        f"{HERE}.healthy || {HERE}.nope == 1",
        f"!(({HERE}.nope == 1) && false)",
    ],
)
def test_dra_162_guards_avoid_the_error(expression: str) -> None:
    assert matches(expression)


def test_dra_163_capacity_is_a_quantity() -> None:
    memory = f'device.capacity["{DRIVER}"].memory'
    assert matches(f'{memory}.compareTo(quantity("10Gi")) >= 0')
    assert not matches(f'{memory}.compareTo(quantity("40Gi")) >= 0')
    assert matches(f'{memory} == quantity("20480Mi")')


def test_dra_164_versions_are_semantic() -> None:
    assert matches(f'{HERE}.driverVersion.isGreaterThan(semver("1.9.5"))')
    assert not matches(f'{HERE}.driverVersion.isGreaterThan(semver("1.10.0"))')
    assert matches(f"{HERE}.driverVersion.minor() == 10")


def test_dra_165_bind_shortens_a_domain() -> None:
    assert matches(f'cel.bind(d, {HERE}, d.model == "A100" && d.index == 3)')
    assert matches(f'cel.bind(c, device.capacity["{DRIVER}"], c.memory.isGreaterThan(quantity("1Gi")))')
    assert "must be simple identifiers" in refusal("cel.bind(1, device.driver, true)")
    assert "undeclared reference" in refusal("cel.nosuch(x, device.driver, true)")


def test_dra_166_allow_multiple_allocations_needs_its_gate() -> None:
    shared = DeviceView(DRIVER, allow_multiple_allocations=True)
    assert matches("device.allowMultipleAllocations", shared)
    assert not matches("device.allowMultipleAllocations", DeviceView(DRIVER))
    assert "undefined field 'allowMultipleAllocations'" in refusal(
        "device.allowMultipleAllocations", consumable_capacity=False
    )
    with pytest.raises(CelCompileError, match="undefined field"):
        compile_selector("device.allowMultipleAllocations", version="1.33")


def test_a_stored_expression_may_use_what_a_gate_hides() -> None:
    off = {"consumable_capacity": False, "list_type_attributes": False}
    for expression in ("device.allowMultipleAllocations", f'{HERE}.model.includes("A100")'):
        refusal(expression, **off)
        compile_selector(expression, stored=True, consumable_capacity=False, list_type_attributes=False)
    with pytest.raises(CelCompileError):
        compile_selector(f"{HERE}.model.includes(1)", version="1.35", stored=True)


def test_a_list_needs_its_gate() -> None:
    with pytest.raises(CelRuntimeError, match="attribute nics: unsupported attribute value"):
        DeviceView(DRIVER, {"nics": {"strings": ["a"]}}, list_type_attributes=False)


def test_dra_167_includes_takes_scalars_and_lists() -> None:
    assert matches(f'{HERE}.nics.includes("b")')
    assert not matches(f'{HERE}.nics.includes("c")')
    assert matches(f'{HERE}.model.includes("A100")')
    assert matches(f"{HERE}.ports.includes(2) && {HERE}.levels.includes(true)")
    assert matches(f'{HERE}.firmware.includes(semver("2.0.0"))')
    assert not matches(f'{HERE}.driverVersion.includes("1.10.0")')
    assert matches("lists.range(60).includes(47)")
    assert matches("lists.range(49).includes(48)")
    older = compile_selector("lists.range(49).includes(48)", version="1.36")
    with pytest.raises(CelRuntimeError, match="'includes' function cannot be applied to lists longer than 48 values"):
        older.matches(VIEW)
    assert "undeclared reference to 'includes'" in refusal(f"{HERE}.nics.includes(1)", list_type_attributes=False)
    with pytest.raises(CelCompileError, match="includes"):
        compile_selector(f"{HERE}.nics.includes(1)", version="1.35")


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        # Answers of k8s.io/dynamic-resource-allocation/cel 0.36.6, asked through verification/third_party/go/allocator.
        (f"({HERE}.flags + [1, 2]).isSorted()", "no such overload: isSorted(list)"),
        (f"({HERE}.nics + [1, 2]).isSorted()", "no such overload: isSorted(list)"),
        (f'({HERE}.ports + ["a"]).isSorted()', "no such overload: isSorted(list)"),
        (f"({HERE}.flags + [1, 2]).max() == 2", "no such overload: max(list)"),
        (f"({HERE}.flags + [1, 2]).sum() == 4", "no such overload: sum(list)"),
        (f"{HERE}.builds.isSorted()", "no such overload: isSorted(list)"),
        (f"({HERE}.ports + [3]).isSorted()", True),
        (f"{HERE}.nics.isSorted()", True),
        (f"({HERE}.ports + [0]).min() == 0", True),
        (f"({HERE}.ports + [0]).isSorted()", False),
        ("[].isSorted()", True),
    ],
)
def test_a_list_function_looks_at_what_the_list_begins_with(expression: str, answer: bool | str) -> None:
    attributes = {
        "nics": {"strings": ["a", "b"]},
        "ports": {"ints": [1, 2]},
        "flags": {"bools": [True]},
        "builds": {"versions": ["1.2.3"]},
    }
    view = DeviceView(DRIVER, attributes, list_type_attributes=True)
    if isinstance(answer, str):
        with pytest.raises(CelRuntimeError, match=re.escape(answer)):
            compile_selector(expression, list_type_attributes=True).matches(view)
    else:
        assert compile_selector(expression, list_type_attributes=True).matches(view) is answer


def test_without_list_attributes_the_unknown_type_is_any() -> None:
    selector = compile_selector(f"{HERE}.healthy", list_type_attributes=False)
    assert selector.output_type == "google.protobuf.Any"
    assert selector.matches(VIEW)
    assert compile_selector(f"{HERE}.healthy").output_type == "dyn"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("size(device.driver)", "must evaluate to bool or the unknown type, not int"),
        ("[true]", "must evaluate to bool or the unknown type, not list(bool)"),
        ('duration("1s")', "must evaluate to bool or the unknown type, not google.protobuf.Duration"),
        (
            "device.nosuch == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'nosuch'\n | device.nosuch == 1\n | ......^",
        ),
        (
            "1 == 1.0",
            "compilation failed: ERROR: <input>:1:3: found no matching overload for '_==_' applied to"
            " '(int, double)'\n | 1 == 1.0\n | ..^",
        ),
        (
            "nosuch",
            "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nosuch' (in container '')"
            "\n | nosuch\n | ^",
        ),
    ],
)
def test_dra_016_what_does_not_compile(expression: str, message: str) -> None:
    assert refusal(expression) == message


def test_dra_016_syntax_errors_name_the_place() -> None:
    assert refusal("1 +").startswith(
        "compilation failed: ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', "
    )
    assert refusal("") != ""


def test_dra_017_ten_thousand_terms_compile() -> None:
    expression = " || ".join(["true"] * 1280)
    assert len(expression) <= 10 * 1024
    assert matches(expression)


def test_dra_018_nested_loops_are_too_complex() -> None:
    inner = "a != b && c != d"
    for name in "dcba":
        inner = f"device.attributes.all({name}, {inner})"
    selector = compile_selector(inner)
    # 22223043 is what Kubernetes 1.36.6 estimates for this expression.
    assert selector.estimated_cost == 22_223_043
    assert selector.too_complex
    simple = compile_selector('device.attributes.all(a, a != "")')
    assert simple.estimated_cost is not None
    assert simple.estimated_cost < COST_LIMIT
    assert not simple.too_complex


def test_the_run_time_limit_ends_an_evaluation() -> None:
    loop = compile_selector("lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))")
    with pytest.raises(CostExceeded, match="actual cost limit exceeded"):
        loop.matches(VIEW)
    assert compile_selector("lists.range(100).all(a, a >= 0)").matches(VIEW)
    with pytest.raises(CostExceeded):
        compile_selector("lists.range(100).all(a, a >= 0)").matches(VIEW, cost_limit=100)


def test_includes_on_a_list_without_a_known_size_is_too_complex_since_1_37() -> None:
    expression = f"{HERE}.?nics.orValue([]).includes(1)"
    assert compile_selector(expression).too_complex
    assert not compile_selector(expression, version="1.36").too_complex
    assert not compile_selector(f"{HERE}.nics.includes(1)").too_complex


def test_a_range_has_a_maximum_since_1_37() -> None:
    huge = "lists.range(9223372036854775807).size() > 0"
    assert failure(huge) == "lists.range: size 9223372036854775807 exceeds maximum allowed (1000000)"
    with pytest.raises(CostExceeded):
        compile_selector(huge, version="1.36").matches(VIEW)


@pytest.mark.parametrize(
    "expression",
    [
        " ".join(f"cel.bind(x{i + 1}, x{i} + x{i}," for i in range(40)).replace("x0", '"abcdefgh"')
        + " x40.size() > 0"
        + ")" * 40,
        " ".join(f"cel.bind(x{i + 1}, x{i} + x{i}," for i in range(40)).replace("x0", "[1,2,3,4]")
        + " x40.size() > 0"
        + ")" * 40,
    ],
    ids=["string", "list"],
)
def test_no_expression_eats_the_memory(expression: str) -> None:
    with pytest.raises(CostExceeded):
        matches(expression)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            f"{HERE}.model",
            "CEL result of type string could not be converted to bool:"
            " unsupported native conversion from string to 'bool'",
        ),
        (
            f"{HERE}.index",
            "CEL result of type int could not be converted to bool: unsupported type conversion from 'int' to bool",
        ),
    ],
)
def test_an_attribute_that_is_no_bool_does_not_select(expression: str, message: str) -> None:
    assert failure(expression) == message


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ({"version": "1.2"}, "attribute v: parse semantic version: No Major.Minor.Patch elements found"),
        ({}, "attribute v: unsupported attribute value"),
        ({"float": 1.5}, "attribute v: unsupported attribute value"),
    ],
)
def test_a_view_refuses_attributes_without_a_value(attribute: dict[str, object], message: str) -> None:
    with pytest.raises(CelRuntimeError) as caught:
        DeviceView(DRIVER, {"v": attribute})
    assert caught.value.message == message


def test_one_compilation_serves_all() -> None:
    assert compile_selector("device.driver == 'x'") is compile_selector("device.driver == 'x'")
    assert compile_rule("self == oldSelf") is compile_rule("self == oldSelf")


def test_a_wrong_version_says_what_to_write() -> None:
    with pytest.raises(ValueError, match=r"for example '1\.37'"):
        compile_selector("true", version="latest")


@pytest.mark.parametrize(
    ("rule", "new", "old", "result"),
    [
        ("self == oldSelf", {"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, True),
        ("self == oldSelf", {"a": 1}, {"a": 2}, False),
        ("self.replicas >= oldSelf.replicas", {"replicas": 3}, {"replicas": 2}, True),
        ("!has(oldSelf.x) || has(self.x)", {}, {"x": 1}, False),
        ("self.mode == 'All' ? self.count == 0 : self.count > 0", {"mode": "Single", "count": 1}, {}, True),
        ("self.items.all(i, i.startsWith('a') && i.size() <= 3)", {"items": ["a", "abc"]}, {}, True),
    ],
)
def test_validation_rules(rule: str, new: object, old: object, result: bool) -> None:
    assert compile_rule(rule).evaluate({"self": new, "oldSelf": old}) is result


def test_a_rule_keeps_bool_keys_and_numbers_apart() -> None:
    assert compile_rule("{true: 1, false: 2}[self.flag]").evaluate({"self": {"flag": True}}) == 1
    with pytest.raises(CelRuntimeError, match="no such key: true"):
        compile_rule("{1: 'a'}[dyn(self.flag)]").evaluate({"self": {"flag": True}})
    assert compile_rule("dyn(self.flag) == dyn(1)").evaluate({"self": {"flag": True}}) is False


@pytest.mark.parametrize(
    ("expression", "lists", "refused"),
    [
        ("1", False, ""),
        ("device.driver", False, ""),
        ("semver('1.2.3')", False, ""),
        ("device.attributes['a.b'].c", False, ""),
        ("[1]", True, ""),
        ("[1]", False, "must evaluate to a primitive scalar (string, integer, boolean, semver), not list(int)"),
        (
            "1.5",
            True,
            "must evaluate to a primitive scalar (string, integer, boolean, semver) or a list of these scalars, "
            "not double",
        ),
    ],
)
def test_result_of_a_derived_attribute(expression: str, lists: bool, refused: str) -> None:
    try:
        cost_of_derived_attribute(expression, version="1.37", list_type_attributes=lists)
        message = ""
    except CelCompileError as error:
        message = error.message
    assert message == refused


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1", {"int": 1}),
        ("device.driver", {"string": DRIVER}),
        (f"{HERE}.healthy", {"bool": True}),
        ("semver('1.2.3')", {"version": "1.2.3"}),
        (f"[{HERE}.index, {HERE}.index]", {"ints": [3, 3]}),
        ("[semver('1.2.3')]", {"versions": ["1.2.3"]}),
        ("['a'].filter(one, false)", {"strings": []}),
    ],
)
def test_a_derived_attribute_has_the_form_of_a_published_one(expression: str, expected: dict[str, object]) -> None:
    assert derive_attribute(expression, VIEW) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [(f"{HERE}.absent", "no such key: absent"), (f"[{HERE}.index, {HERE}.model]", "int, string")],
)
def test_a_derived_attribute_that_cannot_be_computed(expression: str, message: str) -> None:
    with pytest.raises(CelRuntimeError, match=message):
        derive_attribute(expression, VIEW)
