"""Messages whose JSON form is not an object: times, quantities, int-or-string, raw JSON, Go durations, named lists.

Each is a pair of pure functions. `NULL` says that the value is Go's zero and JSON has null there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from apiserver_emulator.protobuf.wire import BYTES, VARINT, ProtobufError, delimited, fields, signed, tag, write_varint

_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Null:
    """The marker type of NULL."""


NULL = _Null()


@dataclass(frozen=True, slots=True)
class Special:
    """How one message reads and writes."""

    decode: Callable[[memoryview], Any]
    encode: Callable[[Any], bytes]


def _numbers(data: memoryview) -> dict[int, int]:
    found: dict[int, int] = {}
    for number, kind, value in fields(data):
        if kind != VARINT or not isinstance(value, int):
            raise ProtobufError(f"field {number} of a time or duration is not a number")
        found[number] = signed(value)
    return found


def _payload(data: memoryview) -> bytes:
    found = b""
    for number, kind, value in fields(data):
        if number != 1 or kind != BYTES or isinstance(value, int):
            raise ProtobufError(f"unexpected field {number} in a text or raw value")
        found = bytes(value)
    return found


def _moment(data: memoryview) -> datetime | None:
    found = _numbers(data)
    unknown = found.keys() - {1, 2}
    if unknown:
        raise ProtobufError(f"unknown field {min(unknown)} in a time")
    if not data:
        return None
    try:
        return _EPOCH + timedelta(seconds=found.get(1, 0), microseconds=found.get(2, 0) // 1000)
    except OverflowError as error:
        raise ProtobufError("a time lies outside the years 1 to 9999") from error


def _decode_time(data: memoryview) -> Any:
    moment = _moment(data)
    return NULL if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _decode_micro_time(data: memoryview) -> Any:
    moment = _moment(data)
    return NULL if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _encode_moment(value: Any) -> bytes:
    delta = datetime.fromisoformat(str(value)).astimezone(UTC) - _EPOCH
    seconds = delta.days * 86400 + delta.seconds
    return tag(1, VARINT) + write_varint(seconds) + tag(2, VARINT) + write_varint(delta.microseconds * 1000)


def _decode_text(data: memoryview) -> Any:
    return _payload(data).decode()


def _encode_text(value: Any) -> bytes:
    return delimited(1, str(value).encode())


def _decode_int_or_string(data: memoryview) -> Any:
    kind = number_value = 0
    text = ""
    for number, _, value in fields(data):
        if number == 1 and isinstance(value, int):
            kind = value
        elif number == 2 and isinstance(value, int):
            number_value = signed(value)
        elif number == 3 and not isinstance(value, int):
            text = bytes(value).decode()
        else:
            raise ProtobufError(f"unknown field {number} in an IntOrString")
    return text if kind == 1 else number_value


def _encode_int_or_string(value: Any) -> bytes:
    if isinstance(value, str):
        return tag(1, VARINT) + write_varint(1) + delimited(3, value.encode())
    return tag(1, VARINT) + write_varint(0) + tag(2, VARINT) + write_varint(int(value))


def _decode_raw(data: memoryview) -> Any:
    payload = _payload(data)
    if not payload:
        return NULL
    try:
        return json.loads(payload)
    except ValueError as error:
        raise ProtobufError(f"raw value is not JSON: {error}") from error


def _encode_raw(value: Any) -> bytes:
    return delimited(1, json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def _decode_duration(data: memoryview) -> Any:
    return go_duration(_numbers(data).get(1, 0))


def go_duration(nanoseconds: int) -> str:
    """time.Duration.String: `1h0m0s`, `1.5s`, `100ms`."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    if rest < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1000), ("ns", 1)):
            if rest >= size:
                return f"{sign}{_fraction(rest, size)}{unit}"
    hours, rest = divmod(rest, 3600 * 1_000_000_000)
    minutes, rest = divmod(rest, 60 * 1_000_000_000)
    text = f"{_fraction(rest, 1_000_000_000)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _fraction(value: int, size: int) -> str:
    whole, part = divmod(value, size)
    if not part:
        return str(whole)
    return f"{whole}." + str(part).rjust(len(str(size)) - 1, "0").rstrip("0")


_UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}


def _encode_duration(value: Any) -> bytes:
    text = str(value)
    total = 0
    for whole, part, unit in re.findall(r"(\d*)\.?(\d*)(h|ms|m|us|µs|ns|s)", text):
        total += int(whole or 0) * _UNITS[unit]
        if part:
            total += int(part) * _UNITS[unit] // 10 ** len(part)
    return tag(1, VARINT) + write_varint(-total if text.startswith("-") else total)


def _decode_items(data: memoryview) -> Any:
    found: list[str] = []
    for number, kind, value in fields(data):
        if number != 1 or kind != BYTES or isinstance(value, int):
            raise ProtobufError(f"unexpected field {number} in a list of strings")
        found.append(bytes(value).decode())
    return found


def _encode_items(value: Any) -> bytes:
    return b"".join(delimited(1, str(item).encode()) for item in value)


_TIME = Special(_decode_time, _encode_moment)
_RAW = Special(_decode_raw, _encode_raw)
_ITEMS = Special(_decode_items, _encode_items)

SPECIALS: dict[str, Special] = {
    f"{_META}.Time": _TIME,
    f"{_META}.MicroTime": Special(_decode_micro_time, _encode_moment),
    f"{_META}.Duration": Special(_decode_duration, _encode_duration),
    f"{_META}.FieldsV1": _RAW,
    f"{_META}.Verbs": _ITEMS,
    f"{_EXTENSIONS}.JSON": _RAW,
    "k8s.io.api.authentication.v1.ExtraValue": _ITEMS,
    "k8s.io.api.authorization.v1.ExtraValue": _ITEMS,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": Special(_decode_text, _encode_text),
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _RAW,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": Special(_decode_int_or_string, _encode_int_or_string),
}
