"""The registry behind the `@needs:` tags.

Each tag has one function. Its name is the tag's with underscores, and the first sentence of its docstring is the tag's
documentation. It returns None if a target meets the requirement, otherwise an `Unmet`:

- `untestable`: the harness cannot observe the behaviour on this target. The rules bind the target all the same.
- `not_applicable`: the version or the topology of the target cannot have the behaviour.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.features import Scenario
from dra_conformance.core.rules import Rule
from dra_conformance.core.status import Status
from dra_conformance.engine.target import Target


def every_rule(_rule: Rule) -> bool:
    """Select every rule of a scenario."""
    return True


@dataclass(frozen=True, slots=True)
class Unmet:
    """A requirement that a target does not meet: the status that it gives to rules, and the reason.

    `only` selects the rules with this status. The other rules of the scenario are untestable: they bind the target, and
    only this scenario cannot run.
    """

    status: Status
    reason: str
    only: Callable[[Rule], bool] = every_rule


def untestable(reason: str) -> Unmet:
    """Return the result for behaviour that the harness cannot observe."""
    return Unmet(Status.UNTESTABLE, reason)


def not_applicable(reason: str, *, only: Callable[[Rule], bool] = every_rule) -> Unmet:
    """Return the result for behaviour that the target cannot have; `only` selects the rules about that behaviour."""
    return Unmet(Status.NOT_APPLICABLE, reason, only)


Check = Callable[[Scenario, Target], Unmet | None]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One `@needs:` tag. A scenario whose requirement is unmet does not run."""

    name: str
    summary: str
    unmet: Check


_registered: dict[str, Requirement] = {}


def requirement(check: Check) -> Check:
    """Register a function as the check of the tag `@needs:<its name>`.

    Raises SpecificationError if the tag has a check already, or if the function has no docstring.
    """
    name = check.__name__.replace("_", "-")
    summary = " ".join((check.__doc__ or "").split("\n\n")[0].split())
    if not summary:
        raise SpecificationError(f"the requirement {name} has no docstring")
    if name in _registered:
        raise SpecificationError(f"the requirement {name} is registered twice")
    _registered[name] = Requirement(name, summary, check)
    return check


def registered() -> list[Requirement]:
    """Return all requirements in the order of their names."""
    return [_registered[name] for name in sorted(_registered)]


def find(name: str) -> Requirement:
    """Return the requirement of the tag `@needs:<name>`. Raises SpecificationError if it has no check."""
    try:
        return _registered[name]
    except KeyError:
        raise SpecificationError(f"the tag @needs:{name} has no check in dra_conformance/engine/requirements") from None
