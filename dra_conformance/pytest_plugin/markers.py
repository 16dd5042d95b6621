"""The markers of pytest that stand for the tags of scenarios.

`@DRA-258` is the marker `DRA-258`, and `@profile:driver-core` is `profile_driver_core`: pytest ends the name of a
registered marker at the first colon.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dra_conformance.core.features import Scenario
from dra_conformance.core.rules import Catalogue


def name_of(tag: str) -> str:
    """Return the name of the marker for a tag (without @). The name of a marker is its own."""
    return tag.replace(":", "_").replace("-", "_") if ":" in tag else tag


def lines(catalogue: Catalogue, scenarios: Iterable[Scenario]) -> Iterator[str]:
    """Yield a line of pytest's option `markers` for each rule, and for each other tag of the scenarios."""
    for rule in catalogue.values():
        yield f"{rule.id}: {rule.text}"
    for tag in sorted({tag for scenario in scenarios for tag in scenario.tags.all} - set(catalogue)):
        yield f"{name_of(tag)}: scenarios with the tag @{tag}"
