"""Faults written by hand from the source: mistakes that a developer could make, in YAML files.

Operators make small changes of syntax. A person makes others: a loop that ends too early, a comparison of names in
place of uids, a status that is written before the work is done. They are written from the component and the documents
of upstream, without the scenarios and mutants of the suite at hand.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml

from verification.mutation_survey import components
from verification.mutation_survey.components import COMPONENTS, ROOT
from verification.mutation_survey.mutants import Mutant

FOLDER = Path(__file__).resolve().parent / "faults"
OPERATOR = "fault"


class FaultError(ValueError):
    """A file of faults is wrong, or a fault no longer fits the source."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A change of a source file: `old` occurs exactly once in it and is replaced by `new`.

    `fault` describes the mistake in a sentence. `path` is relative to the root of the checkout.
    """

    fault: str
    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Edited:
    """A fault as a mutant, and the whole source of its file with the change."""

    mutant: Mutant
    source: str


def load(files: Iterable[Path]) -> list[Fault]:
    """Return the faults of all files. Raises FaultError for a file that cannot be read."""
    found: list[Fault] = []
    for file in files:
        try:
            found += msgspec.convert(yaml.safe_load(file.read_text()), list[Fault])
        except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
            raise FaultError(f"{file}: {error}") from error
    return found


def edited(fault: Fault, root: Path = ROOT) -> Edited:
    """Apply a fault to the present source.

    Raises FaultError if its text does not occur exactly once, if the result is not valid Python, or if the file belongs
    to no component.
    """
    file = root / fault.path
    source = file.read_text() if file.is_file() else ""
    if (count := source.count(fault.old)) != 1:
        raise FaultError(f"{fault.fault} ({fault.path}): its text occurs {count} times in the file, not once")
    changed = source.replace(fault.old, fault.new)
    try:
        ast.parse(changed, fault.path)
    except SyntaxError as error:
        raise FaultError(f"{fault.fault} ({fault.path}): {error}") from error
    component = next((one for one in COMPONENTS if file in components.files_of(one, root)), None)
    if component is None:
        raise FaultError(f"{fault.fault}: {fault.path} belongs to no component")
    first = source[: source.index(fault.old)].count("\n") + 1
    lines = range(first, first + len(fault.old.splitlines()))
    statement, in_function = _place(source, first)
    module = components.module_of(file, root)
    text = hashlib.sha256(f"{fault.old}\0{fault.new}".encode()).hexdigest()[:8]
    mutant = Mutant(
        key=f"{module}:{OPERATOR}:{text}",
        component=component.name,
        module=module,
        path=fault.path,
        line=first,
        reached_at=tuple(dict.fromkeys((*lines, statement))),
        every_line=True,
        in_function=in_function,
        function=fault.fault,
        operator=OPERATOR,
        number=0,
        before=fault.old,
        after=fault.new,
    )
    return Edited(mutant, changed)


def _place(source: str, line: int) -> tuple[int, bool]:
    """Return the first line of the innermost statement that has a line, and whether it is in a function.

    Lines of constants have no code of their own, and those outside of functions run only in the first import.
    """
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    in_function = any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in around)
    return max((node.lineno for node in around), default=line), in_function
