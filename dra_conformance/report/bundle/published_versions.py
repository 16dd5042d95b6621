"""The versions that drivers publish in ResourceSlices, from the event log of a run."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dra_conformance.core.events import Event, ObjectChanged
from dra_conformance.core.invented_names import is_invented
from dra_conformance.core.plain_text import one_line

_MOST = 20
"""Versions of one driver, at most."""


class PublishedVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel", order=True):
    """One attribute of type version, with a value that devices of a driver have."""

    driver: str
    attribute: str
    value: str

    def __str__(self) -> str:
        return f"{self.driver} {self.attribute} {self.value}"


def published(events: Iterable[Event]) -> tuple[PublishedVersion, ...]:
    """Return the versions in the ResourceSlices of a run, sorted; of each driver 20 at most, of invented ones none."""
    found: dict[str, set[PublishedVersion]] = {}
    for event in events:
        if not isinstance(event, ObjectChanged) or event.resource != "resourceslices":
            continue
        versions = event.summary.get("versions")
        driver = one_line(str(event.summary.get("driver")))
        if is_invented(driver):
            continue
        own = found.setdefault(driver, set())
        for name, values in versions.items() if isinstance(versions, dict) else ():
            for value in values if isinstance(values, list) else ():
                one = PublishedVersion(driver=driver, attribute=one_line(str(name)), value=one_line(str(value)))
                if len(own) < _MOST:
                    own.add(one)
    return tuple(sorted(one for own in found.values() for one in own))
