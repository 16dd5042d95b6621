"""Checks of single values that the kinds share: names, qualified names, label values, UUIDs, JSON objects, addresses.

Each returns field errors with Kubernetes' texts. Pure functions. Source: k8s.io/apimachinery pkg/api/validate/content,
pkg/apis/resource/validation/validation.go, release 1.36.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import orjson

from apiserver_emulator.dra.rules import Rules
from apiserver_emulator.metadata import (
    LABEL,
    LABEL_TEXT,
    LABEL_VALUE,
    SUBDOMAIN,
    SUBDOMAIN_TEXT,
    VALUE_TEXT,
    qualified_name_problems,
    too_long_text,
)
from dra_api.status import FieldError, duplicate, invalid, not_supported, required, too_long, too_many

Obj = dict[str, Any]
T = TypeVar("T")

DRIVER_NAME_MAX = 63
POOL_NAME_MAX = 253
IDENTIFIER_MAX = 32
# The longest valid key: domain, slash, identifier.
_KEY_SHOWN_MAX = 63 + 1 + IDENTIFIER_MAX

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# The double blanks between the examples are upstream's.
_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMERIC = r"(0|[1-9]\d*)"
_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER = re.compile(
    rf"{_NUMERIC}\.{_NUMERIC}\.{_NUMERIC}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_CASELESS_TEXT = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'Example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_REASON_TEXT = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)


def _long(limit: int) -> str:
    # DNS names count characters in their text, label names and values bytes; both count bytes.
    return f"must be no more than {limit} characters"


def size(text: str) -> int:
    """Length in bytes, as Go counts."""
    return len(text.encode())


def label(value: str, path: str) -> list[FieldError]:
    """A DNS-1123 label."""
    found = [invalid(path, value, _long(63))] if size(value) > 63 else []
    if not LABEL.fullmatch(value):
        text = "must not contain dots" if SUBDOMAIN.fullmatch(value) else LABEL_TEXT
        found.append(invalid(path, value, text))
    return found


def subdomain(value: str, path: str) -> list[FieldError]:
    """A DNS-1123 subdomain."""
    found = [invalid(path, value, _long(253))] if size(value) > 253 else []
    if not SUBDOMAIN.fullmatch(value):
        found.append(invalid(path, value, SUBDOMAIN_TEXT))
    return found


def driver_name(value: str, path: str) -> list[FieldError]:
    """A driver name: a subdomain in any case, of at most 63 bytes."""
    if not value:
        return [required(path)]
    found = [too_long(path, DRIVER_NAME_MAX)] if size(value) > DRIVER_NAME_MAX else []
    lower = value.lower()
    if size(lower) > 253:
        found.append(invalid(path, value, _long(253)))
    if not SUBDOMAIN.fullmatch(lower):
        found.append(invalid(path, value, SUBDOMAIN_TEXT))
    return found


def config_driver_name(value: str, path: str, rules: Rules) -> list[FieldError]:
    """The driver of a configuration: a driver name, for which 1.37 has texts of its own."""
    if rules.minor < 37 or not value:
        return driver_name(value, path)
    found = []
    if len(value) > DRIVER_NAME_MAX:
        found.append(FieldError("FieldValueTooLong", path, f"may not be more than {DRIVER_NAME_MAX} characters"))
    lower = value.lower()
    if size(lower) > 253:
        found.append(invalid(path, value, too_long_text(253)))
    if not SUBDOMAIN.fullmatch(lower):
        found.append(invalid(path, value, _CASELESS_TEXT))
    return found


def pool_name(value: str, path: str) -> list[FieldError]:
    """A pool name: subdomains joined by slashes, at most 253 bytes (DRA-055)."""
    if not value:
        return [required(path)]
    found = [too_long(path, POOL_NAME_MAX)] if size(value) > POOL_NAME_MAX else []
    for part in value.split("/"):
        found += subdomain(part, path)
    return found


def device_class_name(value: str, path: str) -> list[FieldError]:
    """A required DeviceClass name (DRA-013)."""
    return subdomain(value, path) if value else [required(path)]


def identifier(value: str, path: str) -> list[FieldError]:
    """A C identifier of at most 32 bytes."""
    found = [too_long(path, IDENTIFIER_MAX)] if size(value) > IDENTIFIER_MAX else []
    if not _IDENTIFIER.fullmatch(value):
        found.append(invalid(path, value, _IDENTIFIER_TEXT))
    return found


def qualified_name(value: str, path: str) -> list[FieldError]:
    """`identifier` or `domain/identifier`. More than one slash slips through, as it does upstream (DRA-062)."""
    parts = value.split("/")
    if len(parts) == 1:
        return identifier(parts[0], path)
    if len(parts) > 2:
        return []
    domain, name = parts
    found = driver_name(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    found += identifier(name, path) if name else [invalid(path, "", "the name must not be empty")]
    return found


def fully_qualified_name(value: str, path: str) -> list[FieldError]:
    """A qualified name with a domain (DRA-022)."""
    found = qualified_name(value, path)
    if "/" not in value:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        found.append(invalid(path, value, text))
    return found


def label_name(value: str, path: str) -> list[FieldError]:
    """A label key."""
    return [invalid(path, value, text) for text in qualified_name_problems(value)]


def label_value(value: str, path: str) -> list[FieldError]:
    """A label value."""
    found = [invalid(path, value, too_long_text(63))] if size(value) > 63 else []
    if not LABEL_VALUE.fullmatch(value):
        found.append(invalid(path, value, VALUE_TEXT))
    return found


def uid(value: str, path: str, rules: Rules) -> list[FieldError]:
    """A lower-case RFC 4122 UUID (DRA-090)."""
    if _UUID.fullmatch(value):
        return []
    if rules.minor >= 37:
        return [invalid(path, value, "must be a lowercase UUID in 8-4-4-4-12 format")]
    problem = _uuid_problem(value)
    if problem:
        return [invalid(path, value, f"error validating uid: {problem}")]
    text = (
        "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
        "characters"
    )
    return [invalid(path, value, text)]


def _uuid_problem(value: str) -> str:
    # The forms that github.com/google/uuid accepts: plain, urn:uuid:, braces, and 32 bare digits.
    length = size(value)
    if length == 45:
        if value[:9].lower() != "urn:uuid:":
            return f'invalid urn prefix: "{value[:9]}"'
        value = value[9:]
    elif length == 38:
        if value[0] != "{" or value[-1] != "}":
            return "invalid bracketed UUID format"
        value = value[1:37]
    elif length == 32:
        return "" if re.fullmatch(r"[0-9a-fA-F]{32}", value) else "invalid UUID format"
    elif length != 36:
        return f"invalid UUID length: {length}"
    return "" if re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", value) else "invalid UUID format"


def semantic_version(value: str, path: str, *, limit: int) -> list[FieldError]:
    """A semver 2.0.0 version of limited length (DRA-061)."""
    found = []
    if not _SEMVER.fullmatch(value):
        found.append(invalid(path, value, "must be a string compatible with semver.org spec 2.0.0"))
    if size(value) > limit:
        found.append(too_long(path, limit))
    return found


def raw_object(value: Any, path: str, *, limit: int, stored: bool) -> list[FieldError]:
    """Raw JSON that must be an object (DRA-026, DRA-027, DRA-093).

    The limit counts the compact encoding; a real server counts the bytes as sent, blanks included.
    """
    if value is None:
        return [required(path)]
    if not stored and len(orjson.dumps(value)) > limit:
        return [too_long(path, limit)]
    if not isinstance(value, dict):
        return [invalid(path, "<value omitted>", "must be a valid JSON object")]
    return []


def interface_address(value: str, path: str) -> list[FieldError]:
    """An address with prefix length in canonical form (DRA-093)."""
    canonical = _canonical_address(value)
    if canonical is None:
        text = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        return [invalid(path, value, text)]
    if canonical != value:
        return [invalid(path, value, f'must be in canonical form ("{canonical}")')]
    return []


def _canonical_address(value: str) -> str | None:
    address, slash, prefix = value.partition("/")
    # Python accepts an IPv6 zone in an address, Go does not accept it in a CIDR.
    if not slash or not re.fullmatch(r"[0-9]+", prefix, re.ASCII) or "%" in address:
        return None
    if "." in address and ":" not in address:
        # Go's sloppy parser reads leading zeros as decimal.
        parts = address.split(".")
        if all(re.fullmatch(r"[0-9]+", part, re.ASCII) for part in parts):
            address = ".".join(str(int(part)) for part in parts)
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return None
    bits = int(prefix)
    if bits > ip.max_prefixlen:
        return None
    # Go prints an IPv4-mapped address as IPv4.
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return f"{ip.ipv4_mapped}/{bits - 96 if bits > 32 else bits}"
    return f"{ip}/{bits}"


def conditions(values: Sequence[Obj], path: str, rules: Rules) -> list[FieldError]:
    """metav1.Condition entries: unique types, known statuses, reason and time present."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for at, condition in enumerate(values):
        here = f"{path}[{at}]"
        type_ = condition.get("type", "")
        if type_ in seen:
            found.append(duplicate(here if rules.minor >= 37 else f"{here}.type", type_))
        seen.add(type_)
        if not type_ and rules.minor >= 37:
            found.append(required(f"{here}.type", "is required"))
        else:
            found += label_name(type_, f"{here}.type")
        status = condition.get("status", "")
        if not status and rules.minor >= 37:
            found.append(required(f"{here}.status"))
        elif status not in ("True", "False", "Unknown"):
            found.append(not_supported(f"{here}.status", status, ("False", "True", "Unknown")))
        if condition.get("observedGeneration", 0) < 0:
            text = "must be greater than or equal to zero"
            found.append(invalid(f"{here}.observedGeneration", condition["observedGeneration"], text))
        if not condition.get("lastTransitionTime"):
            found.append(required(f"{here}.lastTransitionTime"))
        reason = condition.get("reason", "")
        if not reason:
            found.append(required(f"{here}.reason"))
        else:
            if not _REASON.fullmatch(reason):
                found.append(invalid(f"{here}.reason", reason, _REASON_TEXT))
            if size(reason) > 1024:
                found.append(too_long(f"{here}.reason", 1024))
        if size(condition.get("message", "")) > 32768:
            found.append(too_long(f"{here}.message", 32768))
    return found


def each(items: Sequence[T], path: str, limit: int, check: Callable[[T, str], list[FieldError]]) -> list[FieldError]:
    """A list of at most `limit` items (negative: any number), each checked. Too many items are not looked at."""
    if 0 <= limit < len(items):
        return [too_many(path, len(items), limit)]
    return [error for at, item in enumerate(items) for error in check(item, f"{path}[{at}]")]


def unique(
    items: Sequence[T],
    path: str,
    limit: int,
    check: Callable[[T, str], list[FieldError]],
    *,
    key: Callable[[T], Hashable],
    key_field: str,
    rules: Rules,
    show: Callable[[T], object] | None = None,
    whole: bool = False,
) -> list[FieldError]:
    """Like `each`, and no two items may have the same key.

    `key_field` is the field at which 1.34 reports a duplicate, "" for the item; `show` returns the reported value.
    `whole`: since 1.37 the reported value is the whole item.
    """
    if whole and rules.minor >= 37 and show is None:
        show = _itself
    found = each(items, path, limit, check)
    # The excess is reported already; upstream does not look for duplicates then.
    if 0 <= limit < len(items):
        return found
    seen: set[Hashable] = set()
    for at, item in enumerate(items):
        value = key(item)
        if value in seen:
            here = f"{path}[{at}]"
            found.append(
                duplicate(rules.duplicate_at(here, key_field) if key_field else here, show(item) if show else value)
            )
        seen.add(value)
    return found


def _itself(item: object) -> object:
    return item


def mapping(
    items: Mapping[str, T],
    path: str,
    limit: int,
    *,
    rules: Rules,
    check_key: Callable[[str, str], list[FieldError]],
    check: Callable[[T, str], list[FieldError]],
    shown: int = _KEY_SHOWN_MAX,
) -> list[FieldError]:
    """A map of at most `limit` entries. Errors of a key are on the map since 1.36, on the entry before."""
    if 0 <= limit < len(items):
        return [too_many(path, len(items), limit)]
    found: list[FieldError] = []
    for key in sorted(items):
        entry = f"{path}[{_shorten(key, shown)}]"
        found += check_key(key, path if rules.minor >= 36 else entry)
        found += check(items[key], entry)
    return found


def _shorten(text: str, limit: int) -> str:
    if len(text) <= max(limit, 16):
        return text
    rest = max(limit, 16) - 3
    return text[: (rest + 1) // 2] + "..." + text[len(text) - rest // 2 :]


def strings(values: Iterable[Any]) -> str:
    """JSON text of values, for messages."""
    return json.dumps(list(values), separators=(",", ":"))
