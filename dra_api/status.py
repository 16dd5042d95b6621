"""Kubernetes Status errors, as the API server emulator and the fault proxy return them.

Every error response is a `StatusError`; the request pipeline converts it to the `Status` body of
`k8s.io/apimachinery/pkg/api/errors` (same code, reason, message and details). Values live for one request.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dra_api.gotext import go_quote

Obj = dict[str, Any]


class _Omit:
    """Marks an error without a value, like field.OmitValueType."""

    def __repr__(self) -> str:
        return "OMIT"


OMIT = _Omit()

_TYPE_TEXT = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "InternalError": "Internal error",
    "FieldValueTypeInvalid": "Invalid value",
}
# field.Error prints no bad value for these types (ErrorBody).
_WITHOUT_VALUE = frozenset({"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError"})


def _value_text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, (int, float)):
        return str(value)
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")  # as encoding/json does


@dataclass(frozen=True, slots=True)
class FieldError:
    """One validation failure (`field.Error` of apimachinery).

    `reason` is the cause type (`FieldValueInvalid` …), `field` the path as Kubernetes writes it, `detail` the text
    after the value, `bad_value` the invalid value, or OMIT.
    """

    reason: str
    field: str
    detail: str = ""
    bad_value: object = OMIT

    @property
    def body(self) -> str:
        """The error without its field: the `message` of a Status cause."""
        text = _TYPE_TEXT.get(self.reason, self.reason)
        if self.reason not in _WITHOUT_VALUE and self.bad_value is not OMIT:
            text = f"{text}: {_value_text(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def required(field: str, detail: str = "") -> FieldError:
    """field.Required."""
    return FieldError("FieldValueRequired", field, detail)


def invalid(field: str, value: object, detail: str) -> FieldError:
    """field.Invalid."""
    return FieldError("FieldValueInvalid", field, detail, value)


def not_supported(field: str, value: object, supported: Sequence[str]) -> FieldError:
    """field.NotSupported: the supported values are quoted, in the given order (upstream sorts them)."""
    detail = "supported values: " + ", ".join(go_quote(s) for s in supported) if supported else ""
    return FieldError("FieldValueNotSupported", field, detail, value)


def forbidden_field(field: str, detail: str) -> FieldError:
    """field.Forbidden."""
    return FieldError("FieldValueForbidden", field, detail)


def duplicate(field: str, value: object) -> FieldError:
    """field.Duplicate."""
    return FieldError("FieldValueDuplicate", field, "", value)


def not_found_field(field: str, value: object) -> FieldError:
    """field.NotFound."""
    return FieldError("FieldValueNotFound", field, "", value)


def too_many(field: str, actual: int, maximum: int) -> FieldError:
    """field.TooMany: items."""
    plural = "item" if maximum == 1 else "items"
    return FieldError("FieldValueTooMany", field, f"must have at most {maximum} {plural}", actual)


def too_long(field: str, maximum: int) -> FieldError:
    """field.TooLong: bytes."""
    plural = "byte" if maximum == 1 else "bytes"
    return FieldError("FieldValueTooLong", field, f"may not be more than {maximum} {plural}")


class StatusError(Exception):
    """An error response, with the fields of its Status body."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details: Obj = dict(details or {})
        self.headers: dict[str, str] = dict(headers or {})

    def body(self) -> Obj:
        """The metav1.Status object."""
        status: Obj = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        status["message"] = self.message
        if self.reason:
            status["reason"] = self.reason
        if self.details:
            status["details"] = self.details
        status["code"] = self.code
        return status


def qualified(plural: str, group: str) -> str:
    """Return a resource name for messages: `pods`, `resourceclaims.resource.k8s.io`."""
    return f"{plural}.{group}" if group else plural


def _details(group: str, kind: str, name: str = "", **more: object) -> Obj:
    found: Obj = {}
    if name:
        found["name"] = name
    if group:
        found["group"] = group
    if kind:
        found["kind"] = kind
    found.update(more)
    return found


def not_found(group: str, plural: str, name: str) -> StatusError:
    """404 NotFound."""
    message = f'{qualified(plural, group)} "{name}" not found'
    return StatusError(404, "NotFound", message, details=_details(group, plural, name))


def already_exists(group: str, plural: str, name: str) -> StatusError:
    """409 AlreadyExists."""
    message = f'{qualified(plural, group)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_details(group, plural, name))


OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(group: str, plural: str, name: str, detail: str = OPTIMISTIC_LOCK) -> StatusError:
    """409 Conflict."""
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {detail}'
    return StatusError(409, "Conflict", message, details=_details(group, plural, name))


def precondition_failed(group: str, plural: str, meta: Mapping[str, Any], *, uid: str) -> StatusError:
    """409 Conflict of a write with a UID precondition; `meta` is the metadata of the stored object."""
    key = "/".join(part for part in (group, plural, meta.get("namespace", ""), meta["name"]) if part)
    detail = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
    )
    return conflict(group, plural, meta["name"], detail)


def bad_request(message: str) -> StatusError:
    """400 BadRequest."""
    return StatusError(400, "BadRequest", message)


def forbidden(group: str, plural: str, name: str, detail: str) -> StatusError:
    """403 Forbidden."""
    subject = qualified(plural, group)
    named = f' "{name}"' if name else ""
    message = f"{subject}{named} is forbidden: {detail}" if subject else f"forbidden: {detail}"
    return StatusError(403, "Forbidden", message, details=_details(group, plural, name))


def invalid_object(group: str, kind: str, name: str, errors: Sequence[FieldError]) -> StatusError:
    """422 Invalid: the aggregate text and one cause for each error, as errors.NewInvalid builds them."""
    # An aggregate prints equal messages once; the causes below list them all.
    texts = list(dict.fromkeys(str(e) for e in errors))
    aggregate = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]" if texts else "<nil>"
    causes = [{"reason": e.reason, "message": e.body, "field": e.field} for e in errors]
    message = f'{qualified(kind, group)} "{name}" is invalid: {aggregate}'
    details = _details(group, kind, name)
    if causes:
        details["causes"] = causes
    return StatusError(422, "Invalid", message, details=details)


def expired(message: str) -> StatusError:
    """410 Expired (a resource version or continue token that is no longer available)."""
    return StatusError(410, "Expired", message)


def method_not_allowed() -> StatusError:
    """405 MethodNotAllowed of a path without a handler for the method."""
    return StatusError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def too_many_requests(message: str, retry_after_seconds: int) -> StatusError:
    """429 TooManyRequests."""
    return StatusError(
        429,
        "TooManyRequests",
        message,
        details={"retryAfterSeconds": retry_after_seconds},
        headers={"Retry-After": str(retry_after_seconds)},
    )


def unsupported_media_type(content_type: str, supported: Sequence[str]) -> StatusError:
    """415 UnsupportedMediaType."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: " + ", ".join(supported)
        if content_type
        else "the body of the request was in an unknown format"
    )
    return StatusError(415, "UnsupportedMediaType", message)


def not_acceptable(accepted: Sequence[str]) -> StatusError:
    """406 NotAcceptable."""
    return StatusError(406, "NotAcceptable", "only the following media types are accepted: " + ", ".join(accepted))


def internal_error(detail: str) -> StatusError:
    """500 InternalError."""
    return StatusError(
        500,
        "InternalError",
        f"Internal error occurred: {detail}",
        details={"causes": [{"message": detail}]},
    )
