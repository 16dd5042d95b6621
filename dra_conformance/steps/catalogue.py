"""The catalogue of all step definitions, read from the step modules themselves."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from types import ModuleType

import dra_conformance.steps as package
from dra_conformance.engine.vocabulary import DEFINITIONS, StepDefinition


def modules() -> list[ModuleType]:
    """Import and return all step modules, by name."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if info.name != "catalogue")
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]


def catalogue(found: Sequence[ModuleType] | None = None) -> list[StepDefinition]:
    """Return every step definition, by module.

    Args:
        found: the modules to read, instead of all.
    """
    definitions: list[StepDefinition] = []
    for module in found if found is not None else modules():
        definitions.extend(vars(module).get(DEFINITIONS, ()))
    return definitions
