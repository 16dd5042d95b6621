"""The named string formats of the CEL format library: format.dns1123Label().validate(x) and others.

Pure data and functions. Sources: k8s.io/apiserver/pkg/cel/library/format.go, k8s.io/apimachinery/pkg/util/validation
and pkg/api/validate/content, k8s.io/kube-openapi/pkg/validation/strfmt (release 0.36), messages included.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from .network import check_request_uri
from .values import NamedFormat

__all__ = ["FORMATS"]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = _LABEL + r"(\." + _LABEL + ")*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
    " and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-',"
    " start with an alphabetic character, and end with an alphanumeric character"
)
_KEY_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character"
)
_UUID: Final = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")

Check = Callable[[str], list[str]]


def _too_long(length: int) -> str:
    return f"must be no more than {length} characters"


def _regex(text: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


def _label(value: str) -> list[str]:
    errors = [_too_long(63)] if len(value.encode()) > 63 else []
    if not re.fullmatch(_LABEL, value):
        if re.fullmatch(_SUBDOMAIN, value):
            errors.append("must not contain dots")
        else:
            errors.append(_regex(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return errors


def _label_1035(value: str) -> list[str]:
    errors = [_too_long(63)] if len(value.encode()) > 63 else []
    if not re.fullmatch(_LABEL_1035, value):
        errors.append(_regex(_LABEL_1035_TEXT, _LABEL_1035, "my-name", "abc-123"))
    return errors


def _subdomain(value: str) -> list[str]:
    errors = [_too_long(253)] if len(value.encode()) > 253 else []
    if not re.fullmatch(_SUBDOMAIN, value):
        errors.append(_regex(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return errors


def _as_prefix(check: Check) -> Check:
    """Allow a trailing dash, since a suffix is appended to a name prefix (generic.go maskTrailingDash)."""
    return lambda value: check(value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value)


def _qualified_name(value: str) -> list[str]:
    errors: list[str] = []
    parts = value.split("/")
    if len(parts) > 2:
        text = _regex(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc")
        return [f"a valid label key {text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        elif not re.fullmatch(_SUBDOMAIN, parts[0]) or len(parts[0].encode()) > 253:
            if len(parts[0].encode()) > 253:
                errors.append("prefix part must be no more than 253 bytes")
            if not re.fullmatch(_SUBDOMAIN, parts[0]):
                errors.append("prefix part " + _regex(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_KEY, name):
        errors.append("name part " + _regex(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc"))
    return errors


def _label_value(value: str) -> list[str]:
    errors = ["must be no more than 63 bytes"] if len(value.encode()) > 63 else []
    if not re.fullmatch(f"({_KEY})?", value):
        errors.append(_regex(_VALUE_TEXT, f"({_KEY})?", "MyValue", "my_value", "12345"))
    return errors


def _uri(value: str) -> list[str]:
    problem = check_request_uri(value)
    return [problem] if problem else []


def _uuid(value: str) -> list[str]:
    return [] if _UUID.fullmatch(value) else ["does not match the UUID format"]


def _byte(value: str) -> list[str]:
    return [] if _BASE64.fullmatch(value) else ["invalid base64"]


def _is_date(value: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        return False
    try:
        date(int(value[:4]) or 4, int(value[5:7]), int(value[8:]))
    except ValueError:
        return False
    return True


def _date(value: str) -> list[str]:
    return [] if _is_date(value) else ["invalid date"]


def _datetime(value: str) -> list[str]:
    parts = value.lower().split("t")
    found = _TIME.fullmatch(parts[1]) if len(value) >= 4 and len(parts) >= 2 else None
    if found is None or not _is_date(parts[0]):
        return ["invalid datetime"]
    return [] if found[1] <= "23" and found[2] <= "59" and found[3] <= "59" else ["invalid datetime"]


FORMATS: Final[dict[str, NamedFormat]] = {
    "dns1123Label": NamedFormat("DNS1123Label", _label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", _label_1035, 30),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _as_prefix(_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _as_prefix(_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _as_prefix(_label_1035), 30),
    "labelValue": NamedFormat("LabelValue", _label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _uuid, 70),
    "byte": NamedFormat("byte", _byte, 84),
    "date": NamedFormat("date", _date, 71),
    "datetime": NamedFormat("datetime", _datetime, 71),
}
