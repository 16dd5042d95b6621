"""Frozen requirement sets: the MUST rules of a Kubernetes release, as they were when the set was frozen.

A set of `fixtures/requirements/vX.Y.yaml` has what a release requires of every implementation. Rules of one project
(NVIDIA's driver, ComputeDomains and device plugin, KAI, HAMi, NVML) are not part of it. A rule that the catalogue gets
later is not part of it either, until the set is frozen again (`python -m tools.freeze_requirements X.Y`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dra_api.feature_gates import FeatureGateError, known_gates
from dra_conformance.core import assets, documents
from dra_conformance.core.errors import SpecificationError
from dra_conformance.core.rules.catalogue import Catalogue, Rule
from dra_conformance.core.rules.window import Version, outside

_IDS_OF_PROJECTS = ("HAMI-", "KAI-", "NVML-")
_COMPONENTS_OF_PROJECTS = ("compute-domain-controller", "compute-domain-plugin", "compute-domain-daemon", "webhook")
_SOURCES_OF_PROJECTS = ("NVIDIA ",)
_PROPOSAL = "closed without a merge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Required:
    """One rule of a set. `provisional`: why it may still change in a later release; empty if it is stable."""

    component: str
    text: str
    provisional: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementSet:
    """The set of a release ("1.37"). `frozen` is the date on which it was frozen (YYYY-MM-DD)."""

    release: str
    frozen: str
    rules: Mapping[str, Required]


def releases() -> tuple[str, ...]:
    """Return the releases that have a frozen set, oldest first."""
    names = [path.stem.removeprefix("v") for path in (assets.fixtures() / "requirements").glob("v*.yaml")]
    return tuple(sorted(names, key=Version.parse))


def load(release: str) -> RequirementSet | None:
    """Return the frozen set of a release, or None if it has none.

    Raises:
        SpecificationError: the file is not a requirement set.
    """
    path = assets.fixtures() / "requirements" / f"v{release}.yaml"
    if not path.is_file():
        return None
    document = documents.load(path)
    try:
        rules = {str(name): Required(**row) for name, row in document.pop("rules").items()}
        found = RequirementSet(rules=rules, **document)
    except (AttributeError, KeyError, TypeError) as error:
        raise SpecificationError(f"{path.name} is not a requirement set: {error}") from None
    if found.release != release:
        raise SpecificationError(f"{path.name} is the requirement set of {found.release}")
    return found


def current(catalogue: Catalogue, release: str, *, date: str) -> RequirementSet:
    """Return the set that the catalogue has for a release now. `date` is written into it."""
    rules = {
        rule.id: Required(component=rule.component, text=rule.text, provisional=provisional(rule, release))
        for rule in catalogue.values()
        if is_required(rule, release)
    }
    return RequirementSet(release=release, frozen=date, rules=rules)


def is_required(rule: Rule, release: str) -> bool:
    """Whether a release requires this rule of every implementation."""
    of_project = (
        bool(rule.driver or rule.driver_since or rule.driver_until)
        or rule.component in _COMPONENTS_OF_PROJECTS
        or rule.id.startswith(_IDS_OF_PROJECTS)
        or rule.source.startswith(_SOURCES_OF_PROJECTS)
    )
    if rule.level != "MUST" or of_project:
        return False
    return outside(Version.parse(release), rule.since, rule.until) is None


def provisional(rule: Rule, release: str) -> str:
    """Return why a rule may change in a later release; empty if it is stable."""
    try:
        gates = known_gates(release)
    except FeatureGateError:
        gates = {}
    for name in rule.gates:
        stage = gates[name].stage if name in gates else "unknown"
        if stage != "GA":
            return f"feature gate {name} is {stage} in {release}"
    if rule.quirk:
        return "a known deviation of a release"
    return f"its source is a proposal that was {_PROPOSAL}" if _PROPOSAL in rule.source else ""


def differences(frozen: RequirementSet, now: RequirementSet) -> Iterator[str]:
    """Yield how the rules of a frozen set have changed, one line each. Rules that were added later are no change."""
    for name, old in frozen.rules.items():
        new = now.rules.get(name)
        if new is None:
            yield f"{name} is no longer a MUST rule of {frozen.release}: {old.text}"
            continue
        if old.component != new.component:
            yield f"{name} was a rule of the component {old.component} and is one of {new.component}"
        if old.text != new.text:
            yield f"{name} had the text {old.text!r} and has {new.text!r}"
        if old.provisional != new.provisional:
            yield f"{name} was {_stability(old)} and is {_stability(new)}"


def added(frozen: RequirementSet, now: RequirementSet) -> list[str]:
    """Return the rules that are not part of the frozen set."""
    return [name for name in now.rules if name not in frozen.rules]


def to_plain(found: RequirementSet) -> dict[str, Any]:
    """Return a set as its file has it."""
    rules = {
        name: {"component": one.component, "text": one.text}
        | ({"provisional": one.provisional} if one.provisional else {})
        for name, one in found.rules.items()
    }
    return {"release": found.release, "frozen": found.frozen, "rules": rules}


def _stability(one: Required) -> str:
    return f"provisional ({one.provisional})" if one.provisional else "stable"
