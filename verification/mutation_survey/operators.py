"""The mutation operators: mutmut's, and four for faults that mutmut does not make.

mutmut changes comparisons, arguments, assigned values, numbers, strings, keywords and Boolean operators. A condition
without a comparison, a result, a loop and a statement stay as they are, although the faults of people are often there:
a forgotten call, a condition that is the wrong way round, a list that is not gone through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import libcst as cst
from mutmut.mutation import mutators

Operator = Callable[[cst.CSTNode], Iterable[cst.CSTNode]]


def _first_only(operator: Operator) -> Operator:
    """Return an operator that makes only the first change of another one.

    mutmut changes a string in three ways (marked, lower case, upper case). They are one fault for a scenario.
    """

    def first(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
        yield from list(operator(node))[:1]

    return first


def negate_condition(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Negate the condition of if, while and of a comprehension, unless another operator changes it."""
    if isinstance(node, (cst.If, cst.While, cst.CompIf)) and not isinstance(
        node.test, (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation, cst.NamedExpr)
    ):
        inner = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield node.with_changes(test=cst.UnaryOperation(cst.Not(), inner))


def return_none(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Return None instead of a value."""
    if isinstance(node, cst.Return) and node.value is not None:
        if isinstance(node.value, cst.Name) and node.value.value in ("None", "True", "False"):
            return  # True and False have an operator of their own
        yield node.with_changes(value=cst.Name("None"))


def empty_loop(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Go through nothing in a for loop or a comprehension; keep every element in a comprehension with a condition."""
    if isinstance(node, cst.For):
        yield node.with_changes(iter=cst.Tuple([]))
    elif isinstance(node, cst.CompFor):
        if node.ifs:
            yield node.with_changes(ifs=node.ifs[1:])
        elif node.asynchronous is None:
            yield node.with_changes(iter=cst.Tuple([]))


def remove_call(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Remove a statement that is only a call."""
    if isinstance(node, cst.Expr) and isinstance(node.value, (cst.Call, cst.Await, cst.Yield)):
        yield cst.Pass()


def _name(operator: Callable[..., object]) -> str:
    return operator.__name__.removeprefix("operator_").replace("_", "-")


def _table() -> Sequence[tuple[type, str, Operator]]:
    found: list[tuple[type, str, Operator]] = []
    for kind, operator in mutators.mutation_operators:
        name = _name(operator)
        found.append((kind, name, _first_only(operator) if name == "string" else operator))
    found += [(cst.CSTNode, _name(one), one) for one in (negate_condition, return_none, empty_loop, remove_call)]
    return found


OPERATORS: Sequence[tuple[type, str, Operator]] = _table()
"""Node class, name and function of every operator."""
