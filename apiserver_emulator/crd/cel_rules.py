"""x-kubernetes-validations of custom resources: compiled once for a definition, run on each write.

Source: KEP-2876; k8s.io/apiextensions-apiserver pkg/apiserver/schema/cel/validation.go (scope of rules, transition
rules, correlation of list items, texts). The language itself is in `dra_api.cel`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from dra_api.cel import CelCompileError, CelError, Rule, check_rule, compile_rule, optional
from dra_api.status import OMIT, FieldError, invalid

Obj = dict[str, Any]

_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


# For each kind of expression: its name in upstream's messages and the type of its result.
_RESULTS = {"rule": ("cel expression", "bool"), "messageExpression": ("messageExpression", "string")}


class _CompiledRule:
    __slots__ = ("definition", "message", "rule")

    def __init__(self, definition: Obj) -> None:
        self.definition = definition
        self.rule: Rule = compile_rule(definition["rule"])
        expression = definition.get("messageExpression")
        self.message: Rule | None = compile_rule(expression) if expression else None

    @property
    def transition(self) -> bool:
        return "oldSelf" in self.definition["rule"]

    @property
    def optional(self) -> bool:
        """Whether oldSelf is an optional value, so that the rule applies without an old value too."""
        return bool(self.definition.get("optionalOldSelf"))

    def variables(self, value: Any, old: Any) -> dict[str, Any]:
        return {"self": value, "oldSelf": optional(old) if self.optional else old}

    @property
    def named(self) -> str:
        """The text that stands for the rule in the message of a failed evaluation."""
        return str(self.definition.get("message") or self.definition["rule"]).strip()

    def text(self, value: Any, old: Any) -> str:
        # Without an old value an expression that uses it fails, even if it is optional in the rule.
        if self.message is not None and (old is not None or "oldSelf" not in self.definition["messageExpression"]):
            try:
                found = self.message.evaluate(self.variables(value, old))
            except CelError:
                found = None
            # Blank and multi-line texts are not used, as upstream: `message` follows.
            if isinstance(found, str) and found.strip() and "\n" not in found:
                return found
        return self.named if self.definition.get("message") else f"failed rule: {self.named}"


class SchemaRules:
    """All rules of one structural schema, in its shape."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._rules = [_CompiledRule(rule) for rule in schema.get("x-kubernetes-validations") or ()]
        self._type = str(schema.get("type", ""))
        self._list_type = schema.get("x-kubernetes-list-type", "atomic")
        self._map_keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        self._properties = {name: SchemaRules(sub) for name, sub in (schema.get("properties") or {}).items()}
        self._properties = {name: sub for name, sub in self._properties.items() if sub.present}
        extra, items = schema.get("additionalProperties"), schema.get("items")
        self._extra = SchemaRules(extra) if isinstance(extra, dict) else None
        self._items = SchemaRules(items) if isinstance(items, dict) else None

    @property
    def present(self) -> bool:
        """Whether there is any rule here or below."""
        return bool(
            self._rules
            or self._properties
            or (self._extra is not None and self._extra.present)
            or (self._items is not None and self._items.present)
        )

    def errors(self, value: Any, old: Any, path: str = "") -> list[FieldError]:
        """Return the violated rules; `old` is the stored value, None if there is no value to compare with."""
        problems: list[FieldError] = []
        for rule in self._rules:
            problems += self._check(rule, value, old, path)
        if isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, sub in value.items():
                if sub is None:
                    continue
                if name in self._properties:
                    problems += self._properties[name].errors(sub, before.get(name), f"{path}.{name}" if path else name)
                elif self._extra is not None:
                    problems += self._extra.errors(sub, before.get(name), f"{path}[{name}]")
        elif isinstance(value, list) and self._items is not None and self._items.present:
            earlier = self._earlier(old)
            for at, item in enumerate(value):
                problems += self._items.errors(item, earlier.get(self._key(item)), f"{path}[{at}]")
        return problems

    def _key(self, item: Any) -> bytes:
        if self._list_type == "map" and isinstance(item, dict):
            return orjson.dumps([item.get(key) for key in self._map_keys])
        return b""

    def _earlier(self, old: Any) -> dict[bytes, Any]:
        """Old items by key: only items of a list of type map can be correlated."""
        if self._list_type != "map" or not isinstance(old, list):
            return {}
        return {self._key(item): item for item in old}

    def _check(self, rule: _CompiledRule, value: Any, old: Any, path: str) -> list[FieldError]:
        if rule.transition and old is None and not rule.optional:
            return []
        where = (
            path + rule.definition.get("fieldPath", "") if path else rule.definition.get("fieldPath", "").lstrip(".")
        )
        field = where or "<nil>"
        try:
            found = rule.rule.evaluate(rule.variables(value, old))
        except CelError as error:
            return [invalid(path or "<nil>", self._type, f"{error} evaluating rule: {rule.named}")]
        if found is True:
            return []
        reason = rule.definition.get("reason") or "FieldValueInvalid"
        # Of an object or a list nothing is shown beside a message.
        shown = OMIT if isinstance(value, (dict, list)) else value
        # A duplicate value has no message in Go's field errors.
        text = "" if reason == "FieldValueDuplicate" else rule.text(value, old)
        return [FieldError(reason, field, text, shown)]


def rule_errors(schema: Mapping[str, Any], field: str, *, root: bool = False) -> list[FieldError]:
    """Rules of a definition that do not compile; `root`: its schema is that of the whole object."""
    problems: list[FieldError] = []
    for at, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        where = f"{field}.x-kubernetes-validations[{at}]"
        if not str(rule.get("rule", "")).strip():
            problems.append(FieldError("FieldValueRequired", f"{where}.rule", "rule is not specified"))
            continue
        for name in ("rule", "messageExpression"):
            if rule.get(name):
                what, wanted = _RESULTS[name]
                try:
                    found = check_rule(rule[name], schema, root=root, optional=bool(rule.get("optionalOldSelf")))
                except CelCompileError as error:
                    prefix = "" if name == "rule" else f"{name} "
                    text = f"{prefix}compilation failed: {error}"
                    problems.append(invalid(f"{where}.{name}", _internal(rule), text))
                else:
                    if found not in (wanted, "dyn"):
                        text = f"{what} must evaluate to a {wanted}"
                        problems.append(invalid(f"{where}.{name}", _internal(rule), text))
        if rule.get("reason") and rule["reason"] not in _REASONS:
            problems.append(
                FieldError(
                    "FieldValueNotSupported",
                    f"{where}.reason",
                    "supported values: " + ", ".join(f'"{name}"' for name in _REASONS),
                    rule["reason"],
                )
            )
        if rule.get("message") and "\n" in rule["message"]:
            problems.append(invalid(f"{where}.message", rule["message"], "must not contain line breaks"))
    return problems


def _internal(rule: Mapping[str, Any]) -> Obj:
    """A rule as Go's internal type is quoted."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
