"""Masks for values that differ between any two servers: generated names, uids, times, versions and tokens."""

from __future__ import annotations

import re
from typing import Any

_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
# Not the dates of the probes themselves, which are before 2025.
_TIME = re.compile(r"\b20(?:2[5-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")
# Names that the server completes: those of the probes, and of the token volume of every pod.
_GENERATED = re.compile(r"\b((?:gen|kube-api-access|event)-)[a-z0-9]{5}\b")
_VERSION = re.compile(r'((?:resource ?version|ResourceVersion)"?:? ?"?)\d+', re.IGNORECASE)
_TOO_OLD = re.compile(r"(too old resource version: |Too large resource version: )\d+(?: \(\d+\))?(, current: \d+)?")
_BAD = re.compile(r"\bBad_[a-z0-9]{5}\b")
_IN_RECORD = re.compile(r"(ResourceVersion in (?:record|the precondition|object meta):? )\(?\d+\)?")
# Of a document of OpenAPI, whose descriptions differ.
_HASH = re.compile(r"\?hash=[0-9A-F]+")
# A diff of Go values follows.
_DIFF = re.compile(r"(Forbidden: pod updates may not change fields other than [^\n]*)\n.*", re.DOTALL)
_AUDIT = re.compile(r"(127\.0\.0\.1|localhost|\[::1\]):\d+")
_AGE = re.compile(r"\A\d+s\Z")
_VERSION_KEYS = ("resourceVersion",)
# Compared by a few probes only (`managed`): it would repeat one difference in every response.
_DROPPED = {"managedFields"}


def text(found: str) -> str:
    """Return a text with such values replaced."""
    found = _UID.sub("UID", found)
    found = _TIME.sub("TIME", found)
    found = _GENERATED.sub(r"\1XXXXX", found)
    # Before _VERSION, which would leave the second number of this message.
    found = _TOO_OLD.sub(r"\1RV", found)
    found = _VERSION.sub(r"\1RV", found)
    found = _BAD.sub("Bad_XXXXX", found)
    found = _IN_RECORD.sub(r"\1(RV)", found)
    found = _HASH.sub("?hash=HASH", found)
    found = _DIFF.sub(r"\1", found)
    return _AUDIT.sub("SERVER", found)


def value(found: Any, *, managed: bool = False) -> Any:
    """Return a JSON value with such values replaced; `managed` keeps metadata.managedFields."""
    if isinstance(found, dict):
        return {key: _field(key, each, managed) for key, each in found.items() if managed or key not in _DROPPED}
    if isinstance(found, list):
        return [value(each, managed=managed) for each in found]
    return text(found) if isinstance(found, str) else found


def field(path: str, found: Any, *, managed: bool = False) -> Any:
    """Return the value of a path such as metadata.continue, masked."""
    return _field(path.rpartition(".")[2], found, managed)


def _field(key: str, found: Any, managed: bool) -> Any:
    if key in _VERSION_KEYS and isinstance(found, str) and found.isdigit():
        # "0" is a value of clients; no server assigns it to an object.
        return "RV" if found != "0" else found
    if key == "continue" and isinstance(found, str) and found:
        return "TOKEN"
    if key == "managedFields" and isinstance(found, list):
        # The order of entries depends on times of whole seconds.
        found = sorted(found, key=lambda entry: (entry.get("manager", ""), entry.get("operation", ""), str(entry)))
    if key == "cells":
        return _without_ages(found)
    return value(found, managed=managed)


def _without_ages(found: Any) -> Any:
    """Return the cells of a table without ages of a few seconds, which depend on the load of the machine."""
    if isinstance(found, list):
        return [_without_ages(each) for each in found]
    return _AGE.sub("AGE", text(found)) if isinstance(found, str) else found
