"""Mutants: small named faults, applied to the reference from outside, that a scenario must catch.

A mutant is a function in `dra_conformance/mutants/` that patches one thing. It runs in a forked process, together
with the scenarios of the rule that it breaks; it is killed when one of them fails on a check of that rule. A scenario
that ends in an error or an unmet precondition kills nothing: that would be luck.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_conformance.core import assets
from dra_conformance.core.errors import SpecificationError, UsageError
from dra_conformance.core.rules.catalogue import RULE_ID
from dra_conformance.engine import signatures


class Patch:
    """What a mutant may do: replace or wrap a function, method or constant named `module:attribute.path`.

    `scratch` is a folder for what a mutant builds; whoever made the patch removes it.
    """

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch

    def replace(self, target: str, new: Any) -> None:
        """Put `new` in the place of the target. Raises SpecificationError as `wrap` does."""
        holder, name, original = self.find(target)
        self._put(target, holder, name, original, new)

    def wrap(self, target: str, make: Callable[[Any], Any]) -> None:
        """Put `make(original)` in the place of the target; static and class methods stay what they are.

        Raises SpecificationError when there is no such target, or when what was made takes other arguments: such a
        mutant would die of a TypeError, and that proves nothing.
        """
        holder, name, original = self.find(target)
        raw = holder.__dict__.get(name) if isinstance(holder, type) else None
        if isinstance(raw, (staticmethod, classmethod)):
            self._put(target, holder, name, raw.__func__, make(raw.__func__), type(raw))
        elif isinstance(raw, property):
            self._put(target, holder, name, raw.fget, make(raw.fget), property)
        else:
            self._put(target, holder, name, original, make(original))

    def _put(self, target: str, holder: Any, name: str, original: Any, new: Any, kind: Any = lambda new: new) -> None:
        if told := signatures.difference(original, new):
            raise SpecificationError(f"the mutant of {target} cannot be called as the target is: {told}")
        setattr(holder, name, kind(new))

    def source(self, file: str, old: str, new: str) -> None:
        """Let every node of the run use a fake NVML library with one text of a C source file replaced."""
        # Deferred: only the mutants of the C library compile it.
        from fake_nvml import build

        library = build.variant(self.scratch, file, old, new) / "libnvidia-ml.so.1"
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
            raise SpecificationError(f"the mutant's target {target} is not there: {error}") from None


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault. `scenario` names the scenario that must kill it; empty: any that judges the rule."""

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
    """Declare a mutant: `name` is its id, `rule` the rule that it breaks; `options` are run options that it needs."""
    if not RULE_ID.fullmatch(rule):
        raise SpecificationError(f"mutant {name}: {rule!r} is no rule id")

    def declare(function: Callable[[Patch], None]) -> Callable[[Patch], None]:
        purpose = " ".join((function.__doc__ or "").split())
        if not purpose:
            raise SpecificationError(f"mutant {name} has no docstring: say what it breaks")
        # Mutants share the function name `_`, so their module keeps the list.
        held = function.__globals__.setdefault(_REGISTER, [])
        held.append(Mutant(name, rule, function, purpose, scenario, options))
        return function

    return declare


def load(folder: Path | None = None) -> list[Mutant]:
    """All mutants of a folder (default: the suite's own). Raises SpecificationError for two of one name."""
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
        sys.modules[name] = module
        spec.loader.exec_module(module)
        for one in [*vars(module).get(_REGISTER, ()), *getattr(module, "MUTANTS", ())]:
            if one.id in found and found[one.id] is not one:
                raise SpecificationError(f"{path.name}: two mutants are called {one.id}")
            found[one.id] = one
    return list(found.values())
