"""The strategy of DeviceClasses. Stateless.

Source: pkg/registry/resource/deviceclass/strategy.go, pkg/apis/resource/validation/validation.go, release 1.36;
rules DRA-014 to DRA-018, DRA-027, DRA-041 to DRA-043.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra import canonical
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import each
from apiserver_emulator.dra.config import CONFIG_MAX, validate_configuration
from apiserver_emulator.dra.generation import follow
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.dra.selectors import validate_selectors
from apiserver_emulator.metadata import qualified_name_problems
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.status import FieldError, invalid

Obj = dict[str, Any]

_QUOTA_PREFIX = "requests."


class DeviceClassStrategy(BaseStrategy):
    """Return the errors in a change; unchanged expressions are checked as stored ones, leniently."""

    def default(self, obj: Obj) -> None:
        """Canonical form."""
        canonical.prune(obj.setdefault("spec", {}))

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Start the generation at 1; drop fields of disabled feature gates."""
        obj["metadata"]["generation"] = 1
        _drop_disabled(obj["spec"], None, Rules.of(ctx))

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """The spec, all of it new."""
        return _spec(obj["spec"], None, Rules.of(ctx))

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Drop first, then compare: a change that is dropped does not raise the generation."""
        _drop_disabled(new["spec"], old["spec"], Rules.of(ctx))
        follow(new, old)

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The spec beside the stored one; 1.34 also looks at it as new."""
        rules = Rules.of(ctx)
        found = _spec(new["spec"], None, rules) if rules.minor < 35 else []
        return found + _spec(new["spec"], old["spec"], rules)


def _drop_disabled(spec: Obj, old: Obj | None, rules: Rules) -> None:
    if not rules.on("DRAExtendedResource") and "extendedResourceName" not in (old or {}):
        spec.pop("extendedResourceName", None)


def _spec(spec: Obj, old: Obj | None, rules: Rules) -> list[FieldError]:
    selectors, config = spec.get("selectors") or [], spec.get("config") or []
    stored = old is not None and same(selectors, old.get("selectors") or [])
    found = validate_selectors(selectors, "spec.selectors", rules.as_stored(stored))
    stored_config = old is not None and same(config, old.get("config") or [])
    found += each(
        config,
        "spec.config",
        CONFIG_MAX,
        lambda entry, at: validate_configuration(entry, at, rules, stored=stored_config),
    )
    name = spec.get("extendedResourceName")
    if name is not None and rules.minor >= 37:
        found += [invalid("spec.extendedResourceName", name, text) for text in _resource_name_problems(name)]
    elif name is not None and not is_extended_resource_name(name):
        found.append(invalid("spec.extendedResourceName", name, "must be a valid extended resource name"))
    return found


def _resource_name_problems(name: str) -> list[str]:
    """The same rules as in `is_extended_resource_name`, with the texts of 1.37."""
    problems = []
    if "/" not in name:
        problems.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in name:
        problems.append('must not have "kubernetes.io/" domain')
    if name.startswith(_QUOTA_PREFIX):
        problems.append(f'must not have "{_QUOTA_PREFIX}" prefix')
    return problems + qualified_name_problems(_QUOTA_PREFIX + name)


def is_extended_resource_name(name: str) -> bool:
    """Whether a resource name is outside kubernetes.io and fits into a quota (v1helper.IsExtendedResourceName)."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not qualified_name_problems(_QUOTA_PREFIX + name)
