"""The strategy of ResourceClaimTemplates. Stateless.

Source: pkg/registry/resource/resourceclaimtemplate/strategy.go, release 1.36; rules DRA-039, DRA-040, DRA-231.
"""

from __future__ import annotations

from typing import Any

from apiserver_emulator.dra.authorization import authorized_for_admin
from apiserver_emulator.dra.canonical import same
from apiserver_emulator.dra.checks import size
from apiserver_emulator.dra.requests import default_spec, drop_disabled, validate_spec
from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.metadata import ANNOTATION_LIMIT, label_errors, qualified_name_problems
from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.status import FieldError, forbidden_field, invalid, too_long

Obj = dict[str, Any]

_ALLOWED = frozenset({"labels", "annotations"})
# Go reports its own field name: the first letter lowered, nothing else.
_GO_NAMES = {"uid": "uID"}


class ResourceClaimTemplateStrategy(BaseStrategy):
    """Spec is immutable, and every update validates it again as new."""

    def default(self, obj: Obj) -> None:
        """Defaults of the claim spec inside."""
        spec = obj.setdefault("spec", {})
        default_spec(spec.setdefault("spec", {}))
        meta = spec.get("metadata") or {}
        for name in [name for name, value in meta.items() if value is None or value == ""]:
            del meta[name]
        spec["metadata"] = meta  # a struct in Go, which JSON cannot leave out

    def prepare_create(self, obj: Obj, ctx: RequestContext) -> None:
        """Disabled fields go."""
        drop_disabled(obj["spec"]["spec"], None, Rules.of(ctx))

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Admin access first, as upstream orders it, then the spec."""
        return authorized_for_admin(obj["spec"]["spec"], ctx) + _spec(obj["spec"], Rules.of(ctx))

    def prepare_update(self, new: Obj, old: Obj, ctx: RequestContext) -> None:
        """Disabled fields go, unless in use."""
        drop_disabled(new["spec"]["spec"], old["spec"]["spec"], Rules.of(ctx))

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The whole object as new, then immutability (DRA-039)."""
        rules = Rules.of(ctx)
        found = _spec(new["spec"], rules)
        if not same(new["spec"], old["spec"]):
            found.append(invalid("spec", new["spec"], "field is immutable"))
        if rules.minor < 35:
            # 1.34 validates the spec once more, with its expressions as stored ones.
            found += _spec(new["spec"], rules.as_stored(True))
        return found


def _spec(spec: Obj, rules: Rules) -> list[FieldError]:
    return _metadata(spec.get("metadata") or {}) + validate_spec(spec["spec"], "spec.spec", rules)


def _metadata(meta: Obj) -> list[FieldError]:
    path = "spec.metadata"
    found: list[FieldError] = []
    total = 0
    for key, value in (meta.get("annotations") or {}).items():
        # Case does not matter, as in the annotations of other objects.
        found += [invalid(f"{path}.annotations", key, text) for text in qualified_name_problems(key.lower())]
        total += size(key) + size(value)
    if total > ANNOTATION_LIMIT:
        found.append(too_long(f"{path}.annotations", ANNOTATION_LIMIT))
    found += label_errors(meta.get("labels"), f"{path}.labels")
    for name in sorted(meta.keys() - _ALLOWED):
        found.append(forbidden_field(f"{path}.{_GO_NAMES.get(name, name)}", "cannot be set"))
    return found
