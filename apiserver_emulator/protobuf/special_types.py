"""Messages whose JSON form is not an object: times, quantities, int-or-string, raw JSON, Go durations, named lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from apiserver_emulator.protobuf.errors import ProtobufError
from dra_api.nesting import DEEPEST, json_too_deep

_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Null:
    """The type of NULL."""


NULL = _Null()
"""The value of a message that is Go's zero value, for which JSON has null."""


@dataclass(frozen=True, slots=True)
class Special:
    """`decode(message)` returns the JSON value, `encode(value, message)` sets the fields of a new message."""

    decode: Callable[[Any], Any]
    encode: Callable[[Any, Any], None]


def _moment(message: Any) -> datetime | None:
    # Without any field it is Go's zero time.
    if not message.ListFields():
        return None
    try:
        return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError as error:
        raise ProtobufError("a time is outside of the years 1 to 9999") from error


def _decode_time(message: Any) -> Any:
    moment = _moment(message)
    return NULL if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _decode_micro_time(message: Any) -> Any:
    moment = _moment(message)
    return NULL if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _encode_moment(value: Any, message: Any) -> None:
    delta = datetime.fromisoformat(str(value)).astimezone(UTC) - _EPOCH
    message.seconds = delta.days * 86400 + delta.seconds
    message.nanos = delta.microseconds * 1000


def _decode_quantity(message: Any) -> Any:
    return message.string


def _encode_quantity(value: Any, message: Any) -> None:
    message.string = str(value)


_INT, _STRING = 0, 1  # IntOrString.type


def _decode_int_or_string(message: Any) -> Any:
    return message.strVal if message.type == _STRING else message.intVal


def _encode_int_or_string(value: Any, message: Any) -> None:
    if isinstance(value, str):
        message.type, message.strVal = _STRING, value
    else:
        message.type, message.intVal = _INT, int(value)


def _raw(field: str) -> Special:
    """Raw JSON in a field of bytes."""

    def decode(message: Any) -> Any:
        payload = getattr(message, field)
        if not payload:
            return NULL
        if json_too_deep(payload):
            raise ProtobufError(f"raw value exceeds max depth of {DEEPEST} levels")
        try:
            return json.loads(payload)
        except ValueError as error:
            raise ProtobufError(f"raw value is not JSON: {error}") from error

    def encode(value: Any, message: Any) -> None:
        setattr(message, field, json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())

    return Special(decode, encode)


def _decode_items(message: Any) -> Any:
    return list(message.items)


def _encode_items(value: Any, message: Any) -> None:
    message.items.extend(str(item) for item in value)


_ITEMS = Special(_decode_items, _encode_items)

SPECIALS: dict[str, Special] = {
    f"{_META}.Time": Special(_decode_time, _encode_moment),
    f"{_META}.MicroTime": Special(_decode_micro_time, _encode_moment),
    f"{_META}.FieldsV1": _raw("Raw"),
    f"{_META}.Verbs": _ITEMS,
    f"{_EXTENSIONS}.JSON": _raw("raw"),
    "k8s.io.api.authentication.v1.ExtraValue": _ITEMS,
    "k8s.io.api.authorization.v1.ExtraValue": _ITEMS,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": Special(_decode_quantity, _encode_quantity),
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _raw("raw"),
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": Special(_decode_int_or_string, _encode_int_or_string),
}
