"""The classification of survivors that no scenario can detect, in `unobservable.yaml`.

Every entry has a class and a reason. It names a mutant or, with `*` in place of operator and number, all mutants of a
function. The texts of log records, errors and `--help` need no entry. If more than 15 % of the mutants of a component
are called unobservable, the excess counts as survivors, so that the classification cannot replace scenarios.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec
import yaml

from verification.mutation_survey.components import ROOT
from verification.mutation_survey.mutants import Mutant

FILE = Path(__file__).resolve().parent / "unobservable.yaml"
MOST = 0.15
_RECORDING = "kubelet"
"""The component that records what it does in the log of the run."""


class Class(StrEnum):
    """Why a mutant cannot be observed from outside the component."""

    EQUIVALENT = "equivalent"  # the program does the same
    LOG_TEXT = "log-text"  # only a log or an error text changes, and no rule fixes it
    PERFORMANCE = "performance"  # only speed or memory changes
    IMPOSSIBLE_STATE = "impossible-state"  # a guard against a state that cannot occur


class Entry(msgspec.Struct, frozen=True, rename={"kind": "class"}, forbid_unknown_fields=True):
    """The class of a mutant and the reason."""

    kind: Class
    reason: str


def load(file: Path = FILE) -> dict[str, Entry]:
    """Return the entries by key of the mutant. Raises msgspec.ValidationError for a wrong entry."""
    return msgspec.convert(yaml.safe_load(file.read_text()) or {}, dict[str, Entry])


def problems(entries: Mapping[str, Entry], keys: Collection[str]) -> list[str]:
    """Return a message for each entry that names no mutant of the present source."""
    functions = {_function(key) for key in keys}
    return [f"{key}: there is no such mutant any more" for key in entries if key not in keys and key not in functions]


def of_functions(entries: Mapping[str, Entry], mutants: Iterable[Mutant]) -> dict[str, Entry]:
    """Return an entry for each mutant of a function that has an entry as a whole: `module:function:*`."""
    return {one.key: entries[_function(one.key)] for one in mutants if _function(one.key) in entries}


def _function(key: str) -> str:
    """Return the key of all mutants of a mutant's function."""
    return ":".join([*key.split(":")[:2], "*"])


def of_texts(mutants: Iterable[Mutant], root: Path = ROOT) -> dict[str, Entry]:
    """Return an entry for each mutant of a statement that only writes a log record or raises an error with a text, for
    each of a line that has only the help of an option, and for each that changes only `help` or `metavar` of one.

    A rule that fixes the text kills such a mutant, so it is no survivor. `_record(...)` writes to the log of the run in
    the emulated kubelet only; in other components it writes what rules judge.
    """
    entry = Entry(Class.LOG_TEXT, "the text of a log record, an error or --help")
    return {
        one.key: entry
        for one in mutants
        if one.line in _lines_of_texts(root / one.path, records=one.component == _RECORDING)
        or _is_help_only(one.before, one.after)
        or one.before in _metavars(root / one.path).get(one.line, ())
    }


@functools.cache
def _lines_of_texts(file: Path, *, records: bool) -> frozenset[int]:
    tree = ast.parse(file.read_text())
    found = {
        line
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.Expr, ast.Raise)) and _is_text_only(node, records=records)
        for line in _lines(node)
    }
    found.update(*(_lines_of_help(node) for node in ast.walk(tree) if isinstance(node, ast.Call)))
    found.update(*(_lines_of_help_names(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)))
    return frozenset(found)


def _lines(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _lines_of_help(call: ast.Call) -> set[int]:
    """Return the lines of a call of `add_argument` that have only its help."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return set()
    others = [call.func, *call.args, *(one.value for one in call.keywords if one.arg != "help")]
    taken = {line for one in others for line in _lines(one)}
    return {line for one in call.keywords if one.arg == "help" for line in _lines(one.value)} - taken


def _values_of(keyword: str, tree: ast.AST) -> set[int]:
    """Return the identities of the nodes that calls in a tree have as the value of a keyword."""
    return {
        id(one.value)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for one in call.keywords
        if one.arg == keyword
    }


def _lines_of_help_names(function: ast.FunctionDef) -> set[int]:
    """Return the lines that assign a text to a name which the function reads as `help=NAME` only."""
    helps = _values_of("help", function)
    names = [one for one in ast.walk(function) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    others = {one.id for one in names if id(one) not in helps}
    only = {one.id for one in names} - others
    return {
        line
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for line in _lines(node)
        if all(isinstance(target, ast.Name) and target.id in only for target in node.targets)
    }


def _is_help_only(before: str, after: str) -> bool:
    """Return whether two calls of `add_argument` differ in `help` and `metavar` only."""
    old, new = _argument(before), _argument(after)
    return old is not None and old == new


def _argument(text: str) -> str | None:
    """Return a call of `add_argument` without `help` and `metavar`; None for any other text."""
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "add_argument":
        return None
    call.keywords = [one for one in call.keywords if one.arg not in ("help", "metavar")]
    return ast.dump(call)


@functools.cache
def _metavars(file: Path) -> Mapping[int, frozenset[str]]:
    """Return the texts in the source that are a `metavar` and nothing else, by line."""
    source = file.read_text()
    tree = ast.parse(source)
    metavars = _values_of("metavar", tree)
    found: dict[int, set[str]] = {}
    others: dict[int, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and (text := ast.get_source_segment(source, node)):
            (found if id(node) in metavars else others).setdefault(node.lineno, set()).add(text)
    return {line: frozenset(texts - others.get(line, set())) for line, texts in found.items()}


def _is_text_only(statement: ast.Assign | ast.Expr | ast.Raise, *, records: bool) -> bool:
    """Return whether a statement is `log.warning(...)` or the like, or `raise SomeError("...")`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log")))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="_record"))):
            return records
        case ast.Assign(targets=[ast.Name(id="log")]):  # the name of a logger
            return True
        case ast.Raise(exc=ast.Call(args=[ast.Constant() | ast.JoinedStr()], keywords=[])):
            return True
    return False
