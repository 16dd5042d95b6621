"""Generated CEL selectors on generated devices, compared by result, estimated and actual cost.

Most expressions are well typed; missing keys, wrong types and run-time errors are mixed in. Cost is compared if both
sides have a result. Messages are not compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dra_api import cel
from dra_api.objects import Obj
from verification.differential.cluster import GPU, attributes, retype
from verification.differential.rng import Dice
from verification.differential.upstream import Upstream

Maker: TypeAlias = Callable[[Dice, int], str]
# Go's math.MaxUint64: an estimate without an upper bound.
_UNLIMITED = 2**64 - 1
_SLIP = 10  # cost units, for each item of a list that a macro walks through
_ITEMS = 6
_FAILING = re.compile(r" [/%] |int\(|\.l\b|\.substring\(|\.asInteger\(|quantity\(\"x|semver\(\"1\.x|matches\(\"\(")
_LOOPS = re.compile(r"\.(?:filter|map|all|exists|exists_one)\(")
_HOME = f'device.attributes["{GPU}"]'
_SIZE = f'device.capacity["{GPU}"]'


def question(dice: Dice) -> Obj:
    """Return one expression and its device in the form of verification/third_party/go/allocator."""
    aspects = frozenset({"lists"}) if dice.one_in(3) else frozenset()
    device: Obj = {"name": "d", "attributes": attributes(dice, aspects)}
    while dice.one_in(3):  # changes of a driver to devices whose selectors stay
        retype(dice, device["attributes"], lists=bool(aspects))
    if not dice.one_in(4):
        device["capacity"] = {"memory": {"value": dice.pick(["1Gi", "0", "1500m", "40Gi"])}}
    if dice.one_in(2):
        device["allowMultipleAllocations"] = True
    depth = dice.integer(0, 4)
    text = _any(dice, depth) if dice.one_in(12) else _bool(dice, depth)
    return {"expression": text, "driver": GPU, "device": device, "lists": dice.pick([False, True])}


def _bool(dice: Dice, depth: int) -> str:
    makers: tuple[Maker, ...] = (_constant, _field, _guard, _compared, _texts, _amounts, _versions, _listed)
    if depth > 0:
        makers += (_joined, _joined, _negated, _chosen, _quantified, _bound)
    return dice.pick(makers)(dice, depth)


def _constant(dice: Dice, depth: int) -> str:
    del depth
    return dice.pick(["true", "false"])


def _field(dice: Dice, depth: int) -> str:
    del depth
    return dice.pick(
        [
            "device.allowMultipleAllocations",
            f"{_HOME}.ok",
            f'device.driver == "{GPU}"',
            f"{_HOME}.absent",
            f"{_HOME}.n",
        ]
    )


def _guard(dice: Dice, depth: int) -> str:
    del depth
    key = dice.pick(["n", "m", "s", "ok", "v", "l", "absent"])
    return dice.pick(
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


def _compared(dice: Dice, depth: int) -> str:
    operator = dice.pick(["==", "!=", "<", "<=", ">", ">="])
    return f"{_int(dice, depth)} {operator} {_int(dice, depth)}"


def _int(dice: Dice, depth: int) -> str:
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
    if depth <= 0 or dice.one_in(2):
        return dice.pick(plain)
    below = depth - 1
    form = dice.integer(0, 4)
    if form == 0:
        return f"({_int(dice, below)} {dice.pick(['+', '-', '*', '/', '%'])} {_int(dice, below)})"
    if form == 1:
        return f"({_bool(dice, below)} ? {_int(dice, below)} : {_int(dice, below)})"
    if form == 2:
        return f"size({_text(dice, below)})"
    if form == 3:
        return f"int({dice.pick([_text, _int])(dice, below)})"
    return f"{_text(dice, below)}.indexOf({_text(dice, below)})"


def _text(dice: Dice, depth: int) -> str:
    plain = ['""', '"a"', '"b"', '"gpu"', '"1"', "device.driver", f"{_HOME}.s", f'{_HOME}.?s.orValue("a")']
    if depth <= 0 or dice.one_in(2):
        return dice.pick(plain)
    below = depth - 1
    form = dice.integer(0, 5)
    if form == 0:
        return f"({_text(dice, below)} + {_text(dice, below)})"
    if form == 1:
        return f"{_text(dice, below)}.{dice.pick(['upperAscii', 'lowerAscii', 'trim'])}()"
    if form == 2:
        return f"string({_int(dice, below)})"
    if form == 3:
        return f"{_text(dice, below)}.replace({_text(dice, below)}, {_text(dice, below)})"
    if form == 4:
        return f"{_text(dice, below)}.substring({_int(dice, 0)})"
    return f"[{_text(dice, below)}, {_text(dice, below)}].join({_text(dice, below)})"


def _texts(dice: Dice, depth: int) -> str:
    left, right = _text(dice, depth - 1), _text(dice, depth - 1)
    if dice.one_in(3):
        return f"{left} == {right}"
    if dice.one_in(4):
        return f'{left}.matches("{dice.pick(["^a", "gpu.*", "[ab]+$", "", "(", "a|b"])}")'
    return f"{left}.{dice.pick(['startsWith', 'endsWith', 'contains'])}({right})"


def _amount(dice: Dice, depth: int) -> str:
    plain = [
        f"{_SIZE}.memory",
        'quantity("1Gi")',
        'quantity("1500m")',
        'quantity("0")',
        f"{_SIZE}.absent",
        'quantity("x")',
    ]
    if depth <= 0 or dice.one_in(2):
        return dice.pick(plain)
    return f"{_amount(dice, depth - 1)}.{dice.pick(['add', 'sub'])}({_amount(dice, depth - 1)})"


def _amounts(dice: Dice, depth: int) -> str:
    left, right = _amount(dice, depth - 1), _amount(dice, depth - 1)
    form = dice.integer(0, 4)
    if form == 0:
        return f"{left}.compareTo({right}) {dice.pick(['==', '>=', '<'])} 0"
    if form == 1:
        return f"{left}.{dice.pick(['isGreaterThan', 'isLessThan'])}({right})"
    if form == 2:
        return f"isQuantity({_text(dice, depth - 1)})"
    if form == 3:
        return f"{left}.asInteger() > {_int(dice, depth - 1)}"
    return f"{left} == {right}"


def _versions(dice: Dice, depth: int) -> str:
    del depth
    pool = [
        f"{_HOME}.v",
        'semver("1.2.3")',
        'semver("2.0.0-rc.1")',
        'semver("v1.0", true)',
        'semver("1.x")',
        f"{_HOME}.absent",
    ]
    left, right = dice.pick(pool), dice.pick(pool)
    form = dice.integer(0, 3)
    if form == 0:
        return f"{left}.compareTo({right}) >= 0"
    if form == 1:
        return f"{left}.{dice.pick(['major', 'minor', 'patch'])}() == 1"
    if form == 2:
        return f"{left} == {right}"
    return f"{left}.{dice.pick(['isGreaterThan', 'isLessThan'])}({right})"


def _list(dice: Dice, depth: int) -> str:
    plain = ["[1, 2, 3]", "[]", f"{_HOME}.l", f"[{_HOME}.n, 1]", f"{_HOME}.?l.orValue([1])"]
    if depth <= 0 or dice.one_in(2):
        return dice.pick(plain)
    below = depth - 1
    form = dice.integer(0, 3)
    if form == 0:
        return f"[{_int(dice, below)}, {_int(dice, below)}]"
    if form == 1:
        return f"{_list(dice, below)}.map(x, x + {_int(dice, below)})"
    if form == 2:
        return f"{_list(dice, below)}.filter(x, x > {_int(dice, below)})"
    return f"({_list(dice, below)} + {_list(dice, below)})"


def _listed(dice: Dice, depth: int) -> str:
    many = _list(dice, depth - 1)
    form = dice.integer(0, 6)
    if form == 0:
        return f"{_int(dice, depth - 1)} in {many}"
    if form == 1:
        return f"size({many}) >= {_int(dice, depth - 1)}"
    if form == 2:
        return f"{many}.includes({_int(dice, depth - 1)})"
    if form == 3:
        relation = dice.pick(["contains", "intersects", "equivalent"])
        return f"sets.{relation}({many}, {_list(dice, depth - 1)})"
    if form == 4:
        return f"{many}.{dice.pick(['sum', 'max', 'min'])}() > {_int(dice, depth - 1)}"
    if form == 5:
        return f"{many}.isSorted()"
    return f"{many} == {_list(dice, depth - 1)}"


def _joined(dice: Dice, depth: int) -> str:
    return f"({_bool(dice, depth - 1)} {dice.pick(['&&', '||', '==', '!='])} {_bool(dice, depth - 1)})"


def _negated(dice: Dice, depth: int) -> str:
    return f"!({_bool(dice, depth - 1)})"


def _chosen(dice: Dice, depth: int) -> str:
    return f"({_bool(dice, depth - 1)} ? {_bool(dice, depth - 1)} : {_bool(dice, depth - 1)})"


def _quantified(dice: Dice, depth: int) -> str:
    kind = dice.pick(["all", "exists", "exists_one"])
    operator = dice.pick(["==", ">", "<="])
    if dice.one_in(4):
        return f"{_HOME}.{kind}(k, k != {_text(dice, 0)})"
    return f"{_list(dice, depth - 1)}.{kind}(x, x {operator} {_int(dice, depth - 1)})"


def _bound(dice: Dice, depth: int) -> str:
    return f"cel.bind(a, {_HOME}, {_bool(dice, depth - 1).replace(_HOME, 'a')})"


def _any(dice: Dice, depth: int) -> str:
    return dice.pick([_int, _text, _list, _amount])(dice, depth)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one side: `true`, `false`, `error` or `compile-error`, and its cost."""

    outcome: str
    message: str = ""
    estimate: int = 0
    cost: int = 0

    @property
    def compared(self) -> tuple[str, int, int]:
        """The values that must be equal on both sides."""
        decided = self.outcome in ("true", "false")
        return self.outcome, self.estimate, self.cost if decided else 0


def theirs(upstream: Upstream, question: Obj) -> Verdict:
    """Upstream's verdict."""
    reply = upstream.call({"cel": question})
    failed = reply["outcome"] in ("compile-error", "panic")
    return Verdict(reply["outcome"], reply.get("message", ""), 0 if failed else reply["maxCost"], reply["cost"])


def explain(question: Obj, upstream: Verdict, reference: Verdict) -> str:
    """Return the name of a known difference, or an empty string.

    `cel-empty-list-type`: cel-go binds the element type of an empty list literal to the first overload that fits (bool)
    and keeps it in derived values, so a longer chain of macros over `[]` may not compile.
    `cel-cost-of-absorbed-error`: whether cel-go counts a call whose operand is an error that `||`, `&&` or a loop later
    absorbs depends on its cost tracker's stack; result and estimate are equal.
    """
    mismatch = "no matching overload" in upstream.message
    if mismatch and "[]" in question["expression"] and re.search(r"applied to '[^']*\bbool\b", upstream.message):
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
        )
        value, cost = selector.evaluate(view)
    except cel.CelError as error:
        return Verdict("error", str(error), estimate)
    return Verdict(str(value).lower(), "", estimate, cost)
