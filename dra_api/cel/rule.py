"""CEL for CRD validation rules (x-kubernetes-validations): ``self == oldSelf``.

A Rule is immutable and may be evaluated by any thread. ``self`` and ``oldSelf`` are dynamically typed here, so field
names are not checked against a schema. Source: k8s.io/apiserver/pkg/cel/environment/base.go (0.37, 0.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ..releases import DEFAULT_RELEASE
from .checker import Environment
from .declarations import BASE_FUNCTIONS
from .device import compile_checked, minor_of
from .functions import FUNCTIONS, FUNCTIONS_BEFORE_1_37
from .planner import Program, plan
from .types import DYN
from .values import NONE, Optional

__all__ = ["RULE_COST_LIMIT", "Rule", "compile_rule", "optional"]

RULE_COST_LIMIT: Final = 1_000_000
"""Runtime limit of one rule (k8s.io/apiserver/pkg/apis/cel PerCallLimit)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule; ``variables`` are the names it may use, ``uses_old_self`` whether it is a transition rule."""

    expression: str
    program: Program
    variables: tuple[str, ...]
    output_type: str

    def evaluate(self, values: Mapping[str, Any], *, cost_limit: int = RULE_COST_LIMIT) -> Any:
        """Return the value of the rule; absent variables are null. Raises CelRuntimeError and CostExceeded.

        Values are JSON-like: None, bool, int, float, str, list and dict with str keys.
        """
        return self.run(values, cost_limit=cost_limit)[0]

    def run(self, values: Mapping[str, Any], *, cost_limit: int = RULE_COST_LIMIT) -> tuple[Any, int]:
        """Return the result of evaluate() and its actual cost."""
        return self.program.run(tuple(values.get(name) for name in self.variables), cost_limit)


def compile_rule(
    expression: str, *, variables: tuple[str, ...] = ("self", "oldSelf"), version: str = DEFAULT_RELEASE
) -> Rule:
    """Compile a validation rule, or any expression over ``variables``; results are cached and shared.

    ``version`` is the Kubernetes minor release. Raises CelCompileError.
    """
    return _compile(expression, variables, minor_of(version) < 37)


def optional(value: Any) -> Optional:
    """Return the value as CEL's optional type, `optional.none()` for None: oldSelf of a rule with optionalOldSelf."""
    return NONE if value is None else Optional(value)


@lru_cache(maxsize=512)
def _compile(expression: str, variables: tuple[str, ...], before_1_37: bool) -> Rule:
    env = Environment(dict.fromkeys(variables, DYN), BASE_FUNCTIONS)
    checked = compile_checked(expression, env)
    functions = FUNCTIONS_BEFORE_1_37 if before_1_37 else FUNCTIONS
    program = plan(checked, variables, functions, before_1_37=before_1_37)
    return Rule(expression, program, variables, str(checked.output))
