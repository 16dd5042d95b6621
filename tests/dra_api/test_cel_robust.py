"""Generated expressions: what was written is what is parsed, and nothing but CEL's own errors comes out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_api.cel import CelError, CelRuntimeError, DeviceView, compile_rule, compile_selector
from dra_api.cel.ast import Call, Expr, Ident, ListExpr, Literal, MapExpr, Select
from dra_api.cel.parser import parse
from dra_api.cel.patterns import compile_pattern

Shape = tuple[object, ...]
Written = tuple[str, Shape]

NAMES = st.sampled_from(["a", "bc", "self", "_x", "d1"])
BINARY = st.sampled_from(
    [("+", "_+_"), ("-", "_-_"), ("*", "_*_"), ("/", "_/_"), ("%", "_%_"), ("<", "_<_"), ("==", "_==_"), ("in", "@in")]
)


def leaf() -> st.SearchStrategy[Written]:
    return st.one_of(
        st.integers(0, 2**63 - 1).map(lambda n: (str(n), ("lit", n))),
        st.integers(0, 2**31).map(lambda n: (hex(n), ("lit", n))),
        st.floats(0, 1e300, allow_nan=False).map(lambda x: (f"{x:.17e}", ("lit", x))),
        st.text("ab 'é😀", max_size=5).map(lambda s: ('"' + s + '"', ("lit", s))),
        st.sampled_from([("true", ("lit", True)), ("null", ("lit", None))]),
        NAMES.map(lambda n: (n, ("name", n))),
    )


def grow(inner: st.SearchStrategy[Written]) -> st.SearchStrategy[Written]:
    return st.one_of(
        st.tuples(inner, BINARY, inner).map(
            lambda t: (f"({t[0][0]} {t[1][0]} {t[2][0]})", ("call", t[1][1], (t[0][1], t[2][1])))
        ),
        st.tuples(inner, inner, inner).map(
            lambda t: (f"({t[0][0]} ? {t[1][0]} : {t[2][0]})", ("call", "_?_:_", tuple(x[1] for x in t)))
        ),
        st.tuples(inner, NAMES).map(lambda t: (f"({t[0][0]}).{t[1]}", ("select", t[0][1], t[1]))),
        st.tuples(inner, NAMES, inner).map(
            lambda t: (f"({t[0][0]}).{t[1]}({t[2][0]})", ("method", t[1], t[0][1], (t[2][1],)))
        ),
        st.tuples(inner, inner).map(lambda t: (f"({t[0][0]})[{t[1][0]}]", ("call", "_[_]", (t[0][1], t[1][1])))),
        st.lists(inner, max_size=3).map(
            lambda xs: (f"[{', '.join(x[0] for x in xs)}]", ("list", tuple(x[1] for x in xs)))
        ),
        st.lists(st.tuples(inner, inner), max_size=2).map(
            lambda xs: (
                "{" + ", ".join(f"{k[0]}: {v[0]}" for k, v in xs) + "}",
                ("map", tuple((k[1], v[1]) for k, v in xs)),
            )
        ),
        inner.map(lambda x: (f"!({x[0]})", ("call", "!_", (x[1],)))),
        st.tuples(inner, inner).map(lambda t: (f"({t[0][0]} && {t[1][0]})", ("call", "_&&_", (t[0][1], t[1][1])))),
    )


def shape(expr: Expr) -> Shape:
    match expr:
        case Literal():
            return ("lit", expr.value)
        case Ident():
            return ("name", expr.name)
        case Select():
            return ("select", shape(expr.operand), expr.field)
        case ListExpr():
            return ("list", tuple(map(shape, expr.elements)))
        case MapExpr():
            return ("map", tuple((shape(e.key), shape(e.value)) for e in expr.entries))
        case Call(target=None):
            return ("call", expr.function, tuple(map(shape, expr.args)))
        case Call() if expr.target is not None:
            return ("method", expr.function, shape(expr.target), tuple(map(shape, expr.args)))
    raise AssertionError(expr)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.recursive(leaf(), grow, max_leaves=12))
def test_the_tree_is_what_was_written(written: Written) -> None:
    text, expected = written
    # Chains of && are kept flat, so compare their text form only after flattening both.
    assert flat(shape(parse(text, macros=frozenset()))) == flat(expected)


def flat(node: object) -> object:
    if not isinstance(node, tuple):
        return node
    node = tuple(flat(part) for part in node)
    if node[:2] == ("call", "_&&_"):
        terms: list[object] = []
        operands = node[2]
        assert isinstance(operands, tuple)
        for part in operands:
            terms += list(part[2]) if isinstance(part, tuple) and part[:2] == ("call", "_&&_") else [part]
        return ("call", "_&&_", tuple(terms))
    return node


WORDS = [
    "self",
    "self.a",
    "self.l[0]",
    "oldSelf",
    "device",
    "device.driver",
    'device.attributes["d"].x',
    "1",
    "0u",
    "2.5",
    '"s"',
    'b"x"',
    "true",
    "null",
    "[]",
    "{}",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ".",
    "?",
    ":",
    ",",
    "+",
    "-",
    "*",
    "/",
    "%",
    "!",
    "&&",
    "||",
    "==",
    "!=",
    "<",
    ">=",
    "in",
    "has(",
    "all(x,",
    "exists(x,",
    "map(x,",
    "filter(x,",
    "size(",
    "string(",
    "int(",
    "duration(",
    "timestamp(",
    "quantity(",
    "semver(",
    ".?a",
    "[?0]",
    ".orValue(",
    ".matches(",
    ".split(",
    ".format(",
    ".sort()",
    ".sum()",
    ".flatten(",
    "optional.of(",
    "optional.none()",
    "cel.bind(v,",
    "v",
    "x",
    "cidr(",
    "ip(",
    "url(",
    ".transformMap(k,",
    "sets.contains(",
    "lists.range(",
    "'é'",
    "9223372036854775807",
    "-9223372036854775808",
    "r'\\d+'",
    '"%s',
    '%d"',
    ".find(",
    "type(",
    "dyn(",
    ".slice(",
    "//",
    "`",
    "@",
    "\\",
]
VIEW = DeviceView("d", {"x": {"int": 1}, "l": {"strings": ["a"]}}, {"m": {"value": "1Gi"}})
VALUES = {"self": {"a": 1, "l": [1, 2.5, "s", None, True]}, "oldSelf": None}


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join))
def test_word_salad_only_raises_cel_errors(text: str) -> None:
    for run in (lambda: compile_rule(text).evaluate(VALUES), lambda: compile_selector(text).matches(VIEW)):
        with suppress(CelError):
            run()


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_any_text_only_raises_cel_errors(text: str) -> None:
    with suppress(CelError):
        compile_selector(text)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text("ab(|)[]{}*+?^$.\\d1,-:<>!=iPpLQE\n", max_size=12))
def test_any_pattern_is_compiled_or_refused(pattern: str) -> None:
    with suppress(CelRuntimeError):
        compile_pattern(pattern).matches("ab1\n")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a{1}b", "ab"),
        ("a{0,}b", "b"),
        ("a{01}", "a{01}"),
        ("a{1,02}", "a{1,02}"),
        ("a{,2}", "a{,2}"),
        ("{01}", "{01}"),
    ],
)
def test_a_repeat_count_has_no_leading_zero(pattern: str, text: str) -> None:
    assert compile_pattern(pattern).compiled.fullmatch(text)


@pytest.mark.parametrize("count", ["1001", "2,1", "0,1001", "9" * 5000, "0," + "9" * 5000, "9" * 5000 + ","])
def test_a_repeat_count_above_the_limit_is_refused(count: str) -> None:
    with pytest.raises(CelRuntimeError, match=rf"invalid repeat count: `\{{{count}\}}`"):
        compile_pattern(f"a{{{count}}}")


@pytest.mark.parametrize("pattern", ["a{0," + "0" * 5000 + "1}", "a{" + "0" * 5000 + "1,2}"])
def test_a_long_repeat_count_with_leading_zeros_is_literal_text(pattern: str) -> None:
    assert compile_pattern(pattern).compiled.fullmatch(pattern)


ZEROS, NINES = "0" * 5000, "9" * 5000  # int() refuses more than 4,300 digits


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (f"int('-{ZEROS}12')", -12),
        (f"uint('{ZEROS}12') == 12u", True),
        (f"{ZEROS}12 == 12", True),
        (f"-{ZEROS}12", -12),
        (f"{ZEROS}12u == 12u", True),
        (f"0x{ZEROS}C", 12),
        (f"isQuantity('{NINES}')", True),
        (f"quantity('{NINES}').isLessThan(quantity('{NINES}9'))", True),
        (f"timestamp('2020-01-01T00:00:00Z').getHours('+{ZEROS}2:00')", 2),
    ],
    ids=lambda text: str(text)[:12],
)
def test_numbers_may_have_any_number_of_digits(expression: str, value: object) -> None:
    assert compile_rule(expression, variables=()).evaluate({}) == value


@pytest.mark.parametrize(
    "expression",
    [
        *(f"{kind}('{NINES}')" for kind in ("int", "uint")),
        f"int('-{NINES}')",
        *(NINES, f"-{NINES}", f"{NINES}u", f"0x{NINES}"),
        *(f"duration('{digits}s')" for digits in (NINES, ZEROS)),
        *(f"timestamp('2020-01-01T00:00:00Z').getHours('+{hours}:00')" for hours in (NINES, "²", "٢")),
    ],
    ids=lambda text: f"{text[:12]}…{text[-9:]}",
)
def test_numbers_out_of_range_are_errors_of_cel(expression: str) -> None:
    with pytest.raises(CelError):
        compile_rule(expression, variables=()).evaluate({})


@pytest.mark.parametrize(
    ("build", "fine"),
    [
        (lambda n: "(" * n + "1" + ")" * n, 100),
        (lambda n: "[" * n + "1" + "]" * n, 100),
        (lambda n: "1" + "+1" * n, 200),
        (lambda n: "self" + ".a" * n, 200),
        (lambda n: "true ? 1 : " * n + "1", 100),
        (lambda n: "[1].map(x, " * n + "1" + ")" * n, 20),
    ],
)
def test_depth_ends_in_an_error_never_in_a_crash(build: object, fine: int) -> None:
    assert callable(build)
    compile_rule(build(fine))
    with pytest.raises(CelError, match="recursion"):
        compile_rule(build(2000))


def test_threads_share_a_selector() -> None:
    selector = compile_selector(
        'device.attributes["d"].l.exists(i, i == "a") && cel.bind(v, device.attributes["d"].x, v + v == 2)'
    )
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: selector.matches(VIEW), range(2000)))
