"""The registry behind the `@needs:` tags.

Each tag has one function. Its name is the tag's with underscores, the first sentence of its docstring is the tag's
documentation, and it returns the reason why a target does not meet the requirement, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.features import Scenario
from dra_conformance.core.status import Status
from dra_conformance.engine.target import Target

Check = Callable[[Scenario, Target], str | None]


@dataclass(frozen=True, slots=True)
class Requirement:
    """One `@needs:` tag. A scenario whose requirement is unmet does not run and gets `status`."""

    name: str
    summary: str
    unmet: Check
    status: Status = Status.NOT_APPLICABLE


_registered: dict[str, Requirement] = {}


def requirement(*, status: Status = Status.NOT_APPLICABLE) -> Callable[[Check], Check]:
    """Register a function as the check of the tag `@needs:<its name>`.

    Raises SpecificationError if the tag has a check already, or if the function has no docstring.
    """

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", "-")
        summary = " ".join((check.__doc__ or "").split("\n\n")[0].split())
        if not summary:
            raise SpecificationError(f"the requirement {name} has no docstring")
        if name in _registered:
            raise SpecificationError(f"the requirement {name} is registered twice")
        _registered[name] = Requirement(name, summary, check, status)
        return check

    return register


def registered() -> list[Requirement]:
    """Return all requirements in the order of their names."""
    return [_registered[name] for name in sorted(_registered)]


def find(name: str) -> Requirement:
    """Return the requirement of the tag `@needs:<name>`. Raises SpecificationError if it has no check."""
    try:
        return _registered[name]
    except KeyError:
        raise SpecificationError(f"the tag @needs:{name} has no check in dra_conformance/engine/requirements") from None
