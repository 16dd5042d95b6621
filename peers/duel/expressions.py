"""The duel over CEL: generated selectors on generated devices, compared on verdict, estimated and actual cost.

Expressions are mostly well typed, with missing keys, wrong types and run-time errors mixed in. Cost is compared where
both sides come to a verdict; messages are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import strategies as st

from dra_api import cel
from dra_api.objects import Obj
from peers.duel.cluster import GPU, Draw, attributes, one_in
from peers.duel.upstream import Upstream

Maker: TypeAlias = Callable[[Draw, int], str]
_UNLIMITED = 2**64 - 1
_SLIP = 10  # cost units, for each item of a list that a macro walks through
_ITEMS = 6
_FAILING = re.compile(r" [/%] |int\(|\.l\b|\.substring\(|\.asInteger\(|quantity\(\"x|semver\(\"1\.x|matches\(\"\(")
_LOOPS = re.compile(r"\.(?:filter|map|all|exists|exists_one)\(")
_HOME = f'device.attributes["{GPU}"]'
_SIZE = f'device.capacity["{GPU}"]'


@st.composite
def questions(draw: st.DrawFn) -> Obj:
    """One expression and the device that it is asked about, in the form of peers/allocator."""
    aspects = frozenset({"lists"}) if one_in(draw, 3) else frozenset()
    device: Obj = {"name": "d", "attributes": attributes(draw, aspects)}
    if not one_in(draw, 4):
        device["capacity"] = {"memory": {"value": draw(st.sampled_from(["1Gi", "0", "1500m", "40Gi"]))}}
    if one_in(draw, 2):
        device["allowMultipleAllocations"] = True
    depth = draw(st.integers(0, 4))
    text = _any(draw, depth) if one_in(draw, 12) else _bool(draw, depth)
    return {"expression": text, "driver": GPU, "device": device, "lists": draw(st.booleans())}


def _bool(draw: Draw, depth: int) -> str:
    makers: tuple[Maker, ...] = (_constant, _field, _guard, _compared, _texts, _amounts, _versions, _listed)
    if depth > 0:
        makers += (_joined, _joined, _negated, _chosen, _quantified, _bound)
    return draw(st.sampled_from(makers))(draw, depth)


def _constant(draw: Draw, depth: int) -> str:
    del depth
    return draw(st.sampled_from(["true", "false"]))


def _field(draw: Draw, depth: int) -> str:
    del depth
    return draw(
        st.sampled_from(
            [
                "device.allowMultipleAllocations",
                f"{_HOME}.ok",
                f'device.driver == "{GPU}"',
                f"{_HOME}.absent",
                f"{_HOME}.n",
            ]
        )
    )


def _guard(draw: Draw, depth: int) -> str:
    del depth
    key = draw(st.sampled_from(["n", "m", "s", "ok", "v", "l", "absent"]))
    return draw(
        st.sampled_from(
            [
                f'"{key}" in {_HOME}',
                f"has({_HOME}.{key})",
                f"{_HOME}.?{key}.hasValue()",
                f'"{GPU}" in device.attributes',
                '"other.example.com" in device.attributes',
                f'"memory" in {_SIZE}',
                f"size({_HOME}) > 2",
                f'device.attributes["other.example.com"].?{key}.orValue(1) == 1',
            ]
        )
    )


def _compared(draw: Draw, depth: int) -> str:
    operator = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
    return f"{_int(draw, depth)} {operator} {_int(draw, depth)}"


def _int(draw: Draw, depth: int) -> str:
    plain = [
        "0",
        "1",
        "2",
        "-1",
        "7",
        f"{_HOME}.n",
        f"{_HOME}.m",
        f"{_HOME}.?n.orValue(0)",
        f"size({_HOME})",
        "1.5",
        "2u",
    ]
    if depth <= 0 or one_in(draw, 2):
        return draw(st.sampled_from(plain))
    below = depth - 1
    form = draw(st.integers(0, 4))
    if form == 0:
        return f"({_int(draw, below)} {draw(st.sampled_from(['+', '-', '*', '/', '%']))} {_int(draw, below)})"
    if form == 1:
        return f"({_bool(draw, below)} ? {_int(draw, below)} : {_int(draw, below)})"
    if form == 2:
        return f"size({_text(draw, below)})"
    if form == 3:
        return f"int({draw(st.sampled_from([_text, _int]))(draw, below)})"
    return f"{_text(draw, below)}.indexOf({_text(draw, below)})"


def _text(draw: Draw, depth: int) -> str:
    plain = ['""', '"a"', '"b"', '"gpu"', '"1"', "device.driver", f"{_HOME}.s", f'{_HOME}.?s.orValue("a")']
    if depth <= 0 or one_in(draw, 2):
        return draw(st.sampled_from(plain))
    below = depth - 1
    form = draw(st.integers(0, 5))
    if form == 0:
        return f"({_text(draw, below)} + {_text(draw, below)})"
    if form == 1:
        return f"{_text(draw, below)}.{draw(st.sampled_from(['upperAscii', 'lowerAscii', 'trim']))}()"
    if form == 2:
        return f"string({_int(draw, below)})"
    if form == 3:
        return f"{_text(draw, below)}.replace({_text(draw, below)}, {_text(draw, below)})"
    if form == 4:
        return f"{_text(draw, below)}.substring({_int(draw, 0)})"
    return f"[{_text(draw, below)}, {_text(draw, below)}].join({_text(draw, below)})"


def _texts(draw: Draw, depth: int) -> str:
    left, right = _text(draw, depth - 1), _text(draw, depth - 1)
    if one_in(draw, 3):
        return f"{left} == {right}"
    if one_in(draw, 4):
        return f'{left}.matches("{draw(st.sampled_from(["^a", "gpu.*", "[ab]+$", "", "(", "a|b"]))}")'
    return f"{left}.{draw(st.sampled_from(['startsWith', 'endsWith', 'contains']))}({right})"


def _amount(draw: Draw, depth: int) -> str:
    plain = [
        f"{_SIZE}.memory",
        'quantity("1Gi")',
        'quantity("1500m")',
        'quantity("0")',
        f"{_SIZE}.absent",
        'quantity("x")',
    ]
    if depth <= 0 or one_in(draw, 2):
        return draw(st.sampled_from(plain))
    return f"{_amount(draw, depth - 1)}.{draw(st.sampled_from(['add', 'sub']))}({_amount(draw, depth - 1)})"


def _amounts(draw: Draw, depth: int) -> str:
    left, right = _amount(draw, depth - 1), _amount(draw, depth - 1)
    form = draw(st.integers(0, 4))
    if form == 0:
        return f"{left}.compareTo({right}) {draw(st.sampled_from(['==', '>=', '<']))} 0"
    if form == 1:
        return f"{left}.{draw(st.sampled_from(['isGreaterThan', 'isLessThan']))}({right})"
    if form == 2:
        return f"isQuantity({_text(draw, depth - 1)})"
    if form == 3:
        return f"{left}.asInteger() > {_int(draw, depth - 1)}"
    return f"{left} == {right}"


def _versions(draw: Draw, depth: int) -> str:
    del depth
    pool = [
        f"{_HOME}.v",
        'semver("1.2.3")',
        'semver("2.0.0-rc.1")',
        'semver("v1.0", true)',
        'semver("1.x")',
        f"{_HOME}.absent",
    ]
    left, right = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
    form = draw(st.integers(0, 3))
    if form == 0:
        return f"{left}.compareTo({right}) >= 0"
    if form == 1:
        return f"{left}.{draw(st.sampled_from(['major', 'minor', 'patch']))}() == 1"
    if form == 2:
        return f"{left} == {right}"
    return f"{left}.{draw(st.sampled_from(['isGreaterThan', 'isLessThan']))}({right})"


def _list(draw: Draw, depth: int) -> str:
    plain = ["[1, 2, 3]", "[]", f"{_HOME}.l", f"[{_HOME}.n, 1]", f"{_HOME}.?l.orValue([1])"]
    if depth <= 0 or one_in(draw, 2):
        return draw(st.sampled_from(plain))
    below = depth - 1
    form = draw(st.integers(0, 3))
    if form == 0:
        return f"[{_int(draw, below)}, {_int(draw, below)}]"
    if form == 1:
        return f"{_list(draw, below)}.map(x, x + {_int(draw, below)})"
    if form == 2:
        return f"{_list(draw, below)}.filter(x, x > {_int(draw, below)})"
    return f"({_list(draw, below)} + {_list(draw, below)})"


def _listed(draw: Draw, depth: int) -> str:
    many = _list(draw, depth - 1)
    form = draw(st.integers(0, 6))
    if form == 0:
        return f"{_int(draw, depth - 1)} in {many}"
    if form == 1:
        return f"size({many}) >= {_int(draw, depth - 1)}"
    if form == 2:
        return f"{many}.includes({_int(draw, depth - 1)})"
    if form == 3:
        relation = draw(st.sampled_from(["contains", "intersects", "equivalent"]))
        return f"sets.{relation}({many}, {_list(draw, depth - 1)})"
    if form == 4:
        return f"{many}.{draw(st.sampled_from(['sum', 'max', 'min']))}() > {_int(draw, depth - 1)}"
    if form == 5:
        return f"{many}.isSorted()"
    return f"{many} == {_list(draw, depth - 1)}"


def _joined(draw: Draw, depth: int) -> str:
    return f"({_bool(draw, depth - 1)} {draw(st.sampled_from(['&&', '||', '==', '!=']))} {_bool(draw, depth - 1)})"


def _negated(draw: Draw, depth: int) -> str:
    return f"!({_bool(draw, depth - 1)})"


def _chosen(draw: Draw, depth: int) -> str:
    return f"({_bool(draw, depth - 1)} ? {_bool(draw, depth - 1)} : {_bool(draw, depth - 1)})"


def _quantified(draw: Draw, depth: int) -> str:
    kind = draw(st.sampled_from(["all", "exists", "exists_one"]))
    operator = draw(st.sampled_from(["==", ">", "<="]))
    if one_in(draw, 4):
        return f"{_HOME}.{kind}(k, k != {_text(draw, 0)})"
    return f"{_list(draw, depth - 1)}.{kind}(x, x {operator} {_int(draw, depth - 1)})"


def _bound(draw: Draw, depth: int) -> str:
    return f"cel.bind(a, {_HOME}, {_bool(draw, depth - 1).replace(_HOME, 'a')})"


def _any(draw: Draw, depth: int) -> str:
    return draw(st.sampled_from([_int, _text, _list, _amount]))(draw, depth)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one side makes of an expression: `true`, `false`, `error` or `compile-error`, and what it costs."""

    outcome: str
    message: str = ""
    estimate: int = 0
    cost: int = 0

    @property
    def compared(self) -> tuple[str, int, int]:
        """What must be equal on both sides."""
        decided = self.outcome in ("true", "false")
        return self.outcome, self.estimate, self.cost if decided else 0


def theirs(upstream: Upstream, question: Obj) -> Verdict:
    """Upstream's verdict."""
    reply = upstream.ask({"cel": question})
    failed = reply["outcome"] in ("compile-error", "panic")
    return Verdict(reply["outcome"], reply.get("message", ""), 0 if failed else reply["maxCost"], reply["cost"])


def explain(question: Obj, upstream: Verdict, reference: Verdict) -> str:
    """The name of a known difference, or nothing.

    `cel-empty-list-type`: cel-go binds the element type of an empty list literal to the first overload that fits (bool)
    and keeps it in what is made of the list, so a longer chain of macros over `[]` may not compile.
    `cel-cost-of-absorbed-error`: a call whose operand is an error that `||`, `&&` or a loop later absorbs is counted by
    cel-go or not, depending on how its tracker's stack stands; verdict and estimate are equal.
    """
    mismatch = "no matching overload" in upstream.message
    if mismatch and "[]" in question["expression"] and re.search(r"applied to '\([^']*\bbool\b", upstream.message):
        return "cel-empty-list-type"
    same = (upstream.outcome, upstream.estimate) == (reference.outcome, reference.estimate)
    slip = _SLIP * (_ITEMS if _LOOPS.search(question["expression"]) else 1)
    if same and abs(upstream.cost - reference.cost) <= slip and _may_fail(question):
        return "cel-cost-of-absorbed-error"
    return ""


def _may_fail(question: Obj) -> bool:
    """Whether an operand may be an error: the expression selects something that the device lacks, or computes."""
    device = question["device"]
    there = {*device["attributes"], *(device.get("capacity") or {})}
    selected = re.findall(r"(?:]|\ba)\.(\w+)", question["expression"])
    return any(name not in there for name in selected) or _FAILING.search(question["expression"]) is not None


def ours(question: Obj) -> Verdict:
    """The verdict of dra_api.cel."""
    device, lists = question["device"], question["lists"]
    try:
        selector = cel.compile_selector(question["expression"], list_type_attributes=lists)
    except cel.CelCompileError as error:
        return Verdict("compile-error", str(error))
    estimate = _UNLIMITED if selector.estimated_cost is None else selector.estimated_cost
    try:
        view = cel.DeviceView(
            question["driver"],
            device.get("attributes"),
            device.get("capacity"),
            bool(device.get("allowMultipleAllocations")),
            list_type_attributes=lists,
        )
        value, cost = selector.evaluate(view)
    except cel.CelError as error:
        return Verdict("error", str(error), estimate)
    return Verdict(str(value).lower(), "", estimate, cost)
