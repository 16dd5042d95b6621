"""Options of a write: dry run, field validation, field manager, deletion options; and the warnings of its response.

Source: k8s.io/apimachinery pkg/apis/meta/v1/validation, k8s.io/apiserver pkg/endpoints/handlers.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from apiserver_emulator.decoding import decode_body
from apiserver_emulator.type_meta import unregistered
from dra_api.objects import Obj
from dra_api.request import Request
from dra_api.status import FieldError, bad_request, invalid, invalid_object, not_supported, too_long
from dra_api.transport import Response

_WARNINGS_MAX: Final = 4096
_WARNING_MAX: Final = 256
"""Characters of all warnings of a response; above, each is shortened to the second number."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Query options of a write."""

    dry_run: bool
    validation: str
    manager: str
    validation_sent: bool

    @classmethod
    def of(cls, request: Request) -> WriteOptions:
        """Read and check them. Raises 400 or 422."""
        dry = request.params("dryRun")
        if any(value != "All" for value in dry):
            raise invalid_object(
                "meta.k8s.io",
                "CreateOptions" if request.method == "POST" else "UpdateOptions",
                "",
                [FieldError("FieldValueNotSupported", "dryRun", 'supported values: "All"', dry)],
            )
        validation = request.param("fieldValidation") or "Warn"
        if validation not in ("Ignore", "Warn", "Strict"):
            raise invalid_object(
                "meta.k8s.io",
                {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(request.method, "PatchOptions"),
                "",
                [not_supported("fieldValidation", validation, ("", "Ignore", "Strict", "Warn"))],
            )
        manager = request.param("fieldManager")
        if problems := _manager_errors(manager):
            kind = {"POST": "CreateOptions", "PUT": "UpdateOptions"}.get(request.method, "PatchOptions")
            raise invalid_object("meta.k8s.io", kind, "", problems)
        return cls(bool(dry), validation, manager, bool(request.param("fieldValidation")))

    @property
    def sent(self) -> Obj:
        """The options that the request has, as an admission webhook gets them."""
        found: Obj = {"fieldManager": self.manager} if self.manager else {}
        return {**found, "fieldValidation": self.validation} if self.validation_sent else found

    def manager_for(self, request: Request) -> str:
        """The field manager: the parameter, or the first part of the User-Agent."""
        return self.manager or request.user_agent.split("/", 1)[0][:128] or "unknown"


def _manager_errors(manager: str) -> list[FieldError]:
    """ValidateFieldManager: at most 128 bytes, printable."""
    problems = [too_long("fieldManager", 128)] if len(manager.encode()) > 128 else []
    for at, letter in enumerate(manager):
        if not letter.isprintable():
            detail = f"invalid character U+{ord(letter):04X} (at position {at})"
            problems.append(invalid("fieldManager", manager, detail))
            break
    return problems


def delete_options(request: Request) -> Obj:
    """DeleteOptions from the body, or from the query when there is no body. Raises 400 or 422."""
    options: Obj = {}
    if request.body:
        options = decode_body(request.body, request.headers.get("content-type", "")).obj
        if options.get("kind") not in (None, "", "DeleteOptions"):
            raise bad_request(unregistered(options["kind"], options.get("apiVersion", "")))
    else:
        if request.param("gracePeriodSeconds"):
            try:
                options["gracePeriodSeconds"] = int(request.param("gracePeriodSeconds"))
            except ValueError as error:
                text = request.param("gracePeriodSeconds")
                raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error
        if request.param("propagationPolicy"):
            options["propagationPolicy"] = request.param("propagationPolicy")
        if request.param("orphanDependents"):
            options["orphanDependents"] = request.flag("orphanDependents")
        if request.params("dryRun"):
            options["dryRun"] = request.params("dryRun")
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        raise invalid_object("meta.k8s.io", "DeleteOptions", "", [invalid("propagationPolicy", policy, detail)])
    if policy not in (None, "Foreground", "Background", "Orphan"):
        raise invalid_object(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            [
                FieldError(
                    "FieldValueNotSupported",
                    "propagationPolicy",
                    'supported values: "Foreground", "Background", "Orphan", "nil"',
                    policy,
                )
            ],
        )
    if any(value != "All" for value in options.get("dryRun") or ()):
        raise invalid_object(
            "meta.k8s.io",
            "DeleteOptions",
            "",
            [FieldError("FieldValueNotSupported", "dryRun", 'supported values: "All"', options["dryRun"])],
        )
    return options


def with_warnings(answer: Response, warnings: Sequence[str]) -> Response:
    """Add warnings of a request as headers (one header, comma separated, as RFC 7234 allows)."""
    if not warnings:
        return answer
    texts = ", ".join(
        '299 - "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in _shown_warnings(warnings)
    )
    return Response(answer.status, {**answer.headers, "warning": texts}, answer.body) if texts else answer


def _shown_warnings(warnings: Iterable[str]) -> list[str]:
    """Return what a response can have: each warning once, none with control characters, all shortened if they are long.

    Source: k8s.io/apiserver pkg/endpoints/filters/warning.go, k8s.io/apimachinery pkg/util/net/http.go (v0.36).
    """
    texts = [text for text in dict.fromkeys(warnings) if text and not any(map(_is_control, text))]
    if sum(map(len, texts)) <= _WARNINGS_MAX:
        return texts
    shown: list[str] = []
    for text in texts:
        shown.append(text[:_WARNING_MAX])
        if sum(map(len, shown)) >= _WARNINGS_MAX:
            break
    return shown


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs")
