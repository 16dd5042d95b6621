"""Check of the allocation's config: from classes first, then from the claim, in order, each for the right requests.

Source: KEP-4381; rules DRA-177 to DRA-180, DRA-089.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dra_conformance.oracle.context import CheckContext
from dra_conformance.oracle.schema import Claim, Config, DeviceClass, ExactDeviceRequest
from dra_conformance.oracle.verdict import Violation

PATH = "status.allocation.devices.config"
MAX_ENTRIES = 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One config with the requests that it applies to."""

    opaque: dict[str, Any] | None
    requests: frozenset[str]


def covered(config: Config, used: Iterable[str]) -> frozenset[str]:
    """Return the requests among `used` that a config applies to; a config without requests applies to all."""
    named = set(config.requests)
    return frozenset(name for name in used if not named or name in named or name.partition("/")[0] in named)


def check(context: CheckContext) -> None:
    """Check the configs of classes and claim for the requests that have devices (DRA-177 to DRA-180)."""
    names = {allocated.result.request for allocated in context.allocated}
    chosen = [(name, request) for name, request in context.claim.requests_by_name.items() if name in names]
    classes = context.cluster.classes_by_name
    # Without a release the format of every release is accepted.
    strict = (context.settings.release or 0) >= 37
    changes = [
        classes[request.device_class_name].metadata.changed
        for _, request in chosen
        if request.device_class_name in classes
    ]
    for found in _problems(context.claim, chosen, classes, strict=strict):
        unless_changed = context.findings.unless_changed(*changes)
        report = unless_changed if found.rule == "DRA-178" else context.findings.broken
        report(found.rule, found.message, found.path)


def _problems(
    claim: Claim, chosen: Sequence[tuple[str, ExactDeviceRequest]], classes: dict[str, DeviceClass], *, strict: bool
) -> Iterator[Violation]:
    """Yield each violation. With `strict` each config of the claim must appear exactly once, as from 1.37 on."""
    allocation = claim.status.allocation
    entries = allocation.devices.config if allocation else []
    used = [name for name, _ in chosen]
    if len(entries) > MAX_ENTRIES:
        yield Violation("DRA-089", f"{len(entries)} config entries are more than {MAX_ENTRIES}", PATH)
    for number, entry in enumerate(entries):
        if entry.source not in ("FromClass", "FromClaim"):
            yield Violation("DRA-089", f"config source {entry.source!r} is unknown", f"{PATH}[{number}].source")
    sources = [entry.source for entry in entries]
    if "FromClass" in sources[sources.index("FromClaim") if "FromClaim" in sources else len(sources) :]:
        yield Violation("DRA-177", "a config of a class comes after one of the claim", PATH)
    yield from _from_classes([entry for entry in entries if entry.source == "FromClass"], chosen, classes)
    yield from _from_claim([entry for entry in entries if entry.source == "FromClaim"], claim, used, strict=strict)


def _from_classes(
    entries: Sequence[Config], chosen: Sequence[tuple[str, ExactDeviceRequest]], classes: dict[str, DeviceClass]
) -> Iterator[Violation]:
    users: dict[str, list[str]] = {}
    for name, request in chosen:
        users.setdefault(request.device_class_name, []).append(name)
    if any(name not in classes for name in users):
        return  # the check of results reports the missing class
    used = [name for name, _ in chosen]
    wanted = [
        Entry(config.opaque, frozenset(names)) for name, names in users.items() for config in classes[name].spec.config
    ]
    seen = [Entry(entry.opaque, covered(entry, used)) for entry in entries]
    if seen == wanted:
        return
    # 1.34 writes each class's configs once for every request that uses it, and without naming the request.
    repeated = [config.opaque for _, request in chosen for config in classes[request.device_class_name].spec.config]
    if [entry.opaque for entry in entries] == repeated and not any(entry.requests for entry in entries):
        return
    for rule, text in _difference(seen, wanted, "class"):
        yield Violation(rule, text, PATH)


def _from_claim(entries: Sequence[Config], claim: Claim, used: Sequence[str], *, strict: bool) -> Iterator[Violation]:
    wanted = [(config.opaque, _scope(config, used)) for config in claim.spec.devices.config if covered(config, used)]
    seen = [(entry.opaque, _scope(entry, used)) for entry in entries]
    if seen == wanted:
        return
    once = [one for number, one in enumerate(seen) if number == 0 or one != seen[number - 1]]
    if once == wanted:
        if strict:
            yield Violation("DRA-180", "a config of the claim appears more than once", PATH)
        return
    without_scope = [opaque for opaque, _ in wanted] == [opaque for opaque, _ in seen]
    if without_scope:
        yield Violation("DRA-179", "a config of the claim does not keep the requests that it names", PATH)
        return
    for rule, text in _difference(
        [Entry(opaque, names) for opaque, names in seen], [Entry(opaque, names) for opaque, names in wanted], "claim"
    ):
        yield Violation(rule, text, PATH)


def _scope(config: Config, used: Sequence[str]) -> frozenset[str]:
    """Return the requests that a config names; none if it covers all: schedulers since 1.37 leave the list out then."""
    return frozenset() if covered(config, used) == set(used) else frozenset(config.requests)


def _difference(seen: list[Entry], wanted: list[Entry], owner: str) -> Iterator[tuple[str, str]]:
    """Yield what is missing and what is surplus, or else that the order is wrong."""
    rule = "DRA-178" if owner == "class" else "DRA-179"
    missing = [entry for entry in wanted if entry not in seen]
    surplus = [entry for entry in seen if entry not in wanted]
    for entry in missing:
        yield rule, f"the {owner}'s config for {_names(entry)} of driver {_driver(entry)} is missing"
    for entry in surplus:
        yield rule, f"a config for {_names(entry)} of driver {_driver(entry)} comes from no {owner}"
    if not missing and not surplus:
        yield "DRA-177", f"the configs of the {owner} are not present once each and in order"


def _names(entry: Entry) -> str:
    return f"requests {', '.join(sorted(entry.requests))}" if entry.requests else "all requests"


def _driver(entry: Entry) -> str:
    return str((entry.opaque or {}).get("driver") or "unknown")
