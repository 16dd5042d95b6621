"""Mutants: small named faults in the reference that a scenario must catch.

A mutant is a function in `dra_conformance/mutants/` that patches one thing. It runs in a forked process with the
scenarios of the rule that it breaks, and is killed if one of them fails on a check of that rule. A scenario that ends
in an error or with an unmet precondition does not kill a mutant, because it did not judge the rule.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_conformance.core import assets
from dra_conformance.core.errors import SpecificationError, UsageError
from dra_conformance.core.rules.catalogue import RULE_ID
from dra_conformance.core.shard import Shard
from dra_conformance.engine import signatures
from fake_nvml import build


class Patch:
    """Replaces or wraps functions, methods and constants, which are named `module:attribute.path`.

    `scratch` is a folder for files that a mutant builds; the creator of the patch removes it.
    """

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def replace(self, target: str, new: Any) -> None:
        """Replace the target by `new`. Raises SpecificationError like `wrap`."""
        holder, name, original = self.find(target)
        self._put(target, holder, name, original, new)

    def wrap(self, target: str, make: Callable[[Any], Any]) -> None:
        """Replace the target by `make(original)`; static and class methods keep their kind.

        Raises SpecificationError if there is no such target, or if the replacement has other parameters: calls would
        raise TypeError, and no scenario would judge the fault.
        """
        holder, name, original = self.find(target)
        # getattr would unwrap static methods, class methods and properties.
        raw = holder.__dict__.get(name) if isinstance(holder, type) else None
        if isinstance(raw, (staticmethod, classmethod)):
            self._put(target, holder, name, raw.__func__, make(raw.__func__), type(raw))
        elif isinstance(raw, property):
            self._put(target, holder, name, raw.fget, make(raw.fget), property)
        else:
            self._put(target, holder, name, original, make(original))

    def _put(self, target: str, holder: Any, name: str, original: Any, new: Any, kind: Any = lambda new: new) -> None:
        if reason := signatures.difference(original, new):
            raise SpecificationError(f"the mutant of {target} cannot be called as the target is: {reason}")
        setattr(holder, name, kind(new))

    def source(self, file: str, old: str, new: str) -> None:
        """Let every node of the run use a fake NVML library with one text of a C source file replaced.

        Raises SpecificationError if the file has no such text, or several.
        """
        try:
            library = build.variant(self.scratch, file, old, new) / "libnvidia-ml.so.1"
        except ValueError as error:
            raise SpecificationError(f"the mutant's target does not exist: {error}") from None
        self.replace("fake_nvml.node:library_path", lambda: library)

    @staticmethod
    def find(target: str) -> tuple[Any, str, Any]:
        """Return the object or module that has the target, the attribute's name and its value.

        Raises SpecificationError if there is no such target.
        """
        module, _, path = target.partition(":")
        try:
            holder: Any = importlib.import_module(module)
            *parents, name = path.split(".")
            for parent in parents:
                holder = getattr(holder, parent)
            return holder, name, getattr(holder, name)
        except (ImportError, AttributeError) as error:
            raise SpecificationError(f"the mutant's target {target} does not exist: {error}") from None


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault. `scenario` must kill it; if empty, any scenario of the rule may."""

    id: str
    rule: str
    apply: Callable[[Patch], None]
    purpose: str
    scenario: str = ""
    options: dict[str, Any] = field(default_factory=dict)


_REGISTER = "__dra_mutant__"


def mutant(
    name: str, *, rule: str, scenario: str = "", **options: Any
) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Declare a mutant: its id, the rule that it breaks, and the run options that it needs.

    Raises SpecificationError if the function has no docstring.
    """
    if not RULE_ID.fullmatch(rule):
        raise SpecificationError(f"mutant {name}: {rule!r} is not a rule id")

    def declare(function: Callable[[Patch], None]) -> Callable[[Patch], None]:
        purpose = " ".join((function.__doc__ or "").split())
        if not purpose:
            raise SpecificationError(f"mutant {name} has no docstring that describes the fault")
        # Mutants share the function name `_`, so a list in their module keeps them.
        registered = function.__globals__.setdefault(_REGISTER, [])
        registered.append(Mutant(name, rule, function, purpose, scenario, options))
        return function

    return declare


def load(folder: Path | None = None) -> list[Mutant]:
    """Return all mutants of a folder (default: the suite's own).

    Raises UsageError if there is no such folder, and SpecificationError if two mutants have the same id.
    """
    where = folder or assets.mutants()
    if not where.is_dir():
        raise UsageError(
            f"there is no folder of mutants at {where}", hint="Run this from a checkout or the full wheel."
        )
    found: dict[str, Mutant] = {}
    for path in sorted(where.glob("*.py")):
        if path.name.startswith("_"):
            continue
        name = f"dra_conformance_mutants.{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise SpecificationError(f"cannot load {path.name}")
        module = importlib.util.module_from_spec(spec)
        # Before it runs: dataclasses look their module up by name.
        sys.modules[name] = module
        spec.loader.exec_module(module)
        for one in [*vars(module).get(_REGISTER, ()), *getattr(module, "MUTANTS", ())]:
            if one.id in found and found[one.id] is not one:
                raise SpecificationError(f"{path.name}: two mutants have the id {one.id}")
            found[one.id] = one
    return list(found.values())


def in_shard(mutant_id: str, shard: Shard) -> bool:
    """Return whether a mutant belongs to a shard.

    Only its id decides, so a new mutant moves no other one and a part stays the same from run to run.
    """
    return zlib.crc32(mutant_id.encode()) % shard.count == shard.index - 1
