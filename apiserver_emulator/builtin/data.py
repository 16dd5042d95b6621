"""ConfigMaps and Secrets: keys, sizes, base64, `immutable`. Source: pkg/apis/core/validation."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from apiserver_emulator.strategy import BaseStrategy, RequestContext
from dra_api.objects import Obj
from dra_api.status import FieldError, forbidden_field, invalid, too_long

_DATA_KEY = re.compile(r"^[-._a-zA-Z0-9]+$")
_DATA_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_DATA_LIMIT = 1024 * 1024


class SecretStrategy(BaseStrategy):
    """Secrets: stringData becomes data; the type is fixed."""

    def default(self, obj: Obj) -> None:
        """Set the default type, Opaque."""
        obj.setdefault("type", "Opaque")
        text = obj.pop("stringData", None)
        if text:
            data = obj.setdefault("data", {})
            for key, value in text.items():
                data[key] = base64.b64encode(value.encode()).decode()

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """Keys are of one alphabet; the values have been checked as base64."""
        return [problem for key in obj.get("data") or () for problem in _key_errors("data", key)]

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """The type never changes; an immutable secret keeps its data."""
        problems = self.validate_create(new, ctx)
        if new.get("type") != old.get("type"):
            problems.append(invalid("type", new.get("type"), "field is immutable"))
        return problems + immutable_data_errors(new, old)


class ConfigMapStrategy(BaseStrategy):
    """ConfigMaps: keys of one alphabet, a mebibyte in all; immutable ones keep their data."""

    def default(self, obj: Obj) -> None:
        """Empty maps are left out, as Go does."""
        for field in ("data", "binaryData"):
            if field in obj and not obj[field]:
                del obj[field]

    def validate_create(self, obj: Obj, ctx: RequestContext) -> list[FieldError]:
        """ValidateConfigMap."""
        problems: list[FieldError] = []
        total = 0
        for field in ("data", "binaryData"):
            for key, value in (obj.get(field) or {}).items():
                problems += _key_errors(field, key)
                if field == "data" and key in (obj.get("binaryData") or ()):
                    problems.append(invalid(f"data[{key}]", key, "duplicate of key present in binaryData"))
                # The limit counts decoded bytes: binaryData is base64.
                total += len(value) * 3 // 4 if field == "binaryData" else len(value.encode())
        if total > _DATA_LIMIT:
            # Upstream names no field here, which prints like this.
            problems.append(too_long("[]", _DATA_LIMIT))
        return problems

    def validate_update(self, new: Obj, old: Obj, ctx: RequestContext) -> list[FieldError]:
        """As for a new one; see `immutable`."""
        return immutable_data_errors(new, old) + self.validate_create(new, ctx)


def _key_errors(field: str, key: str) -> list[FieldError]:
    """IsConfigMapKey: the errors in a key of a ConfigMap or Secret."""
    texts = [] if len(key) <= 253 else ["must be no more than 253 characters"]
    if not _DATA_KEY.match(key):
        texts.append(_DATA_KEY_TEXT)
    elif key in (".", ".."):
        texts.append(f"must not be '{key}'")
    elif key.startswith(".."):
        texts.append("must not start with '..'")
    return [invalid(f"{field}[{key}]", key, text) for text in texts]


def immutable_data_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Return the errors in a change of an object with `immutable: true`."""
    if not old.get("immutable"):
        return []
    problems: list[FieldError] = []
    if not new.get("immutable"):
        problems.append(forbidden_field("immutable", "field is immutable when `immutable` is set"))
    for field in ("data", "binaryData"):
        if new.get(field) != old.get(field):
            problems.append(forbidden_field(field, "field is immutable when `immutable` is set"))
    return problems


def secret_fields(obj: Obj) -> Mapping[str, str]:
    """By which fields secrets can be selected."""
    return {"type": obj.get("type", "")}
