"""Reads the rule catalogue from `fixtures/rules/*.yaml`.

A row is one rule. The catalogue is read once for each run and never changes. An invalid row is an error that names the
file and the rule.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dra_api.feature_gates import GATES
from dra_conformance.core import assets, documents
from dra_conformance.core.errors import SpecificationError, UsageError
from dra_conformance.core.optional_features import FEATURES
from dra_conformance.core.rules.window import Release, Version

RULE_ID = re.compile(r"(?:DP|DRA|HAMI|KAI|NV|NVML)-\d{3}[a-z]?")
LEVELS = ("MUST", "SHOULD", "MAY")
_RANGES: Mapping[str, type[Version | Release]] = {
    "since": Version,
    "until": Version,
    "driver_since": Release,
    "driver_until": Release,
    "kai_since": Version,
}
COMPONENTS = (
    "control-plane",
    "claim-controller",
    "scheduler",
    "binder",
    "kubelet",
    "driver",
    "compute-domain-controller",
    "compute-domain-plugin",
    "compute-domain-daemon",
    "device-plugin",
    "taint-eviction",
    "webhook",
    "nvml",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    `text`: the rule in one sentence.
    `level`: MUST, SHOULD or MAY, as the source has it.
    `component`: the component that the rule binds.
    `source`: the file and release that has the rule, or the run that showed it.
    `since`, `until`: Kubernetes minor versions, inclusive.
    `gates`: feature gates that must be on; `gate` in the file, one name or a list.
    `feature`: the optional feature that the rule depends on, one of dra_conformance.core.optional_features.
    `driver`: the name of the only driver that the rule binds, itself or through its webhook.
    `driver_since`, `driver_until`: releases of NVIDIA's driver, inclusive; the run selects one (`--driver-release`).
    `kai_since`: the first revision of KAI's BindRequest protocol with what the rule is about; `--revision` selects one.
    `quirk`: the rule describes a known deviation of one release.
    `why`: the consequence of breaking the rule.
    `mistake`: the usual mistake of implementers.
    `corrected`: what was wrong in an earlier text of the rule.
    """

    id: str
    text: str
    level: str
    component: str
    source: str
    since: str | None = None
    until: str | None = None
    gates: tuple[str, ...] = ()
    feature: str = ""
    driver: str = ""
    driver_since: str | None = None
    driver_until: str | None = None
    kai_since: str | None = None
    quirk: bool = False
    why: str = ""
    mistake: str = ""
    corrected: str = field(default="")

    @property
    def scored(self) -> bool:
        """Whether a failure makes a target not conformant. SHOULD and MAY are reported only."""
        return self.level == "MUST"


class Catalogue(Mapping[str, Rule]):
    """All adopted rules by id, in the order of their ids."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self._rules = dict(sorted(rules.items()))

    @classmethod
    def load(cls, folder: Path | None = None) -> Catalogue:
        """Read all files of a folder (default: the suite's own). Raises SpecificationError for an invalid row."""
        found: dict[str, Rule] = {}
        for path in sorted((folder or assets.fixtures() / "rules").glob("*.yaml")):
            for rule in _read(path, path.stat().st_mtime_ns):
                if rule.id in found:
                    raise SpecificationError(f"{path.name}: rule {rule.id} has two rows")
                found[rule.id] = rule
        return cls(found)

    def __getitem__(self, key: str) -> Rule:
        return self._rules[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def find(self, rule_id: str) -> Rule:
        """Return the rule with this id. Raises UsageError, with the nearest ids, if there is none."""
        # An id may end in a small letter (DRA-234b), which upper() changes.
        rule = self._rules.get(rule_id.upper()) or self._rules.get(rule_id)
        if rule is None:
            near = get_close_matches(rule_id.upper(), self._rules, n=3)
            hint = f"Did you mean {', '.join(near)}?" if near else "`dra-conformance list rules` prints all rules."
            raise UsageError(f"there is no rule {rule_id!r} in the catalogue", hint=hint)
        return rule


@functools.cache
def _read(path: Path, _changed_at: int) -> tuple[Rule, ...]:
    """Parse a file once as long as it does not change; forked mutants reuse the result."""
    document = documents.load(path) or {}
    if not isinstance(document, dict) or not set(document) <= {"defaults", "rules"}:
        raise SpecificationError(f"{path.name}: a catalogue file has `defaults` and `rules`, nothing else")
    rows, defaults = document.get("rules") or [], document.get("defaults") or {}
    if not isinstance(rows, list) or not isinstance(defaults, dict):
        raise SpecificationError(f"{path.name}: `rules` is a list and `defaults` a mapping")
    return tuple(_rule(row, f"{path.name}, row {number}", defaults) for number, row in enumerate(rows, start=1))


def _rule(row: Any, where: str, defaults: Mapping[str, Any]) -> Rule:
    if not isinstance(row, dict):
        raise SpecificationError(f"{where}: a rule is a mapping, not {type(row).__name__}")
    row = {**defaults, **row}
    known = {item.name for item in fields(Rule)} - {"gates"} | {"gate"}
    if unknown := set(row) - known:
        raise SpecificationError(f"{where}: unknown field {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    if missing := {"id", "text", "level", "component", "source"} - {key for key, value in row.items() if value}:
        raise SpecificationError(f"{where} ({row.get('id', 'no id')}): missing {', '.join(sorted(missing))}")
    for key, kind in _RANGES.items():
        if isinstance(row.get(key), float) and row[key] * 100 % 10 == 0:
            raise SpecificationError(f"{where}: {key}: YAML reads 1.30 as 1.3; quote the version")
        if row.get(key) is not None:
            row[key] = str(row[key])
            try:
                kind.parse(row[key])
            except ValueError as error:
                raise SpecificationError(f"{where}: {key}: {error}") from None
    if not RULE_ID.fullmatch(str(row["id"])):
        raise SpecificationError(f"{where}: {row['id']!r} is not a rule id such as DRA-001")
    if row["level"] not in LEVELS:
        raise SpecificationError(f"{where}: level {row['level']!r} is not one of {', '.join(LEVELS)}")
    if row["component"] not in COMPONENTS:
        raise SpecificationError(f"{where}: component {row['component']!r} is not one of {', '.join(COMPONENTS)}")
    if row.get("feature", "") not in ("", *FEATURES):
        raise SpecificationError(f"{where}: feature {row['feature']!r} is not one of {', '.join(FEATURES)}")
    gates = row.pop("gate", None) or ()
    row["gates"] = (gates,) if isinstance(gates, str) else tuple(gates)
    if bad := [gate for gate in row["gates"] if gate not in GATES]:
        raise SpecificationError(f"{where}: gate {bad[0]!r} is not one of {', '.join(GATES)}")
    if not isinstance(row.get("quirk", False), bool):
        raise SpecificationError(f"{where}: quirk is true or false, not {row['quirk']!r}")
    for key in ("text", "source", "why", "mistake", "corrected"):
        if key in row:
            row[key] = " ".join(str(row[key]).split())
    return Rule(**row)
