"""Mutants of the reference webhook: unusual requests, and the parts of a configuration that a check can overlook."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from dra_conformance.mutants.webhook import (
    CONFIGS,
    DOCUMENT,
    REVIEW,
    SERVER,
    change_answer,
    change_responses,
)


def _decide(patch: Patch, change: Callable[[Callable[..., Any], dict[str, Any]], Any]) -> None:
    """Decide on a request by `change`, which gets the original decision and the request."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def decide(request: Any, **more: Any) -> Any:
            return change(lambda changed: original(changed, **more), request)

        return decide

    patch.wrap(f"{REVIEW}:decide", make)


@mutant("webhook-disconnects-on-deep-nesting", rule="NV-130")
def _(patch: Patch) -> None:
    """A document that is nested too deeply ends the request with an internal error."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def read(body: bytes) -> Any:
            if body.startswith(b"[["):
                raise OSError("stack overflow")
            return original(body)

        return read

    patch.wrap(f"{DOCUMENT}:read", make)


@mutant("webhook-accepts-nan", rule="NV-130")
def _(patch: Patch) -> None:
    """NaN is read as a number, which is not in JSON."""
    patch.replace(f"{DOCUMENT}:_no_number", lambda text: float("nan"))


@mutant("webhook-reads-small-reviews-only", rule="NV-131")
def _(patch: Patch) -> None:
    """A review of more than 64 KiB is refused."""
    patch.replace(f"{SERVER}:_BODY_LIMIT", 64 * 1024)


@mutant("webhook-refuses-large-updates", rule="NV-131")
def _(patch: Patch) -> None:
    """A review of more than 300 KiB is refused: one object fits, two do not."""
    patch.replace(f"{SERVER}:_BODY_LIMIT", 300 * 1024)


@mutant("webhook-validates-on-every-path", rule="NV-131d")
def _(patch: Patch) -> None:
    """Reviews are answered on every path."""
    change_responses(patch, lambda original, path, *more: original("/validate-resource-claim-parameters", *more))


@mutant("webhook-ready-on-every-path", rule="NV-131d")
def _(patch: Patch) -> None:
    """Every path but that of reviews is answered as if it were /readyz."""

    def change(original: Callable[..., Any], path: str, *more: Any) -> Any:
        return original(path if path == "/validate-resource-claim-parameters" else "/readyz", *more)

    change_responses(patch, change)


@mutant("webhook-ignores-group", rule="NV-132")
def _(patch: Patch) -> None:
    """Claims of every group are validated."""

    def change(original: Callable[..., Any], request: Any) -> Any:
        return original({**request, "resource": {**request["resource"], "group": "resource.k8s.io"}})

    _decide(patch, change)


@mutant("webhook-refuses-without-message", rule="NV-132")
def _(patch: Patch) -> None:
    """The refusal of another resource has no message."""

    def change(found: dict[str, Any]) -> None:
        status = found["response"].get("status") or {}
        if status.get("reason") == "BadRequest":
            status["message"] = ""

    change_answer(patch, change)


@mutant("webhook-accepts-malformed-templates", rule="NV-132a")
def _(patch: Patch) -> None:
    """A template of the wrong shape is treated as empty."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def a(value: Any, kind: type, where: str) -> Any:
            template = where.startswith("spec.spec") and not isinstance(value, kind)
            return kind() if template else original(value, kind, where)

        return a

    patch.wrap(f"{REVIEW}:_a", make)


@mutant("webhook-reads-the-resource-before-conversion", rule="NV-133")
def _(patch: Patch) -> None:
    """The version of the original request decides, and not that to which the API server converted the object."""
    _decide(patch, lambda original, request: original({**request, "resource": request["requestResource"]}))


@mutant("webhook-supports-templates-in-v1-only", rule="NV-133")
def _(patch: Patch) -> None:
    """Templates in older versions are refused."""

    def change(original: Callable[..., Any], request: Any) -> Any:
        resource = request["resource"]
        old = resource["resource"] == "resourceclaimtemplates" and resource["version"] != "v1"
        return original({**request, "resource": {**resource, "version": "v0"}}) if old else original(request)

    _decide(patch, change)


@mutant("webhook-refuses-claims-without-devices", rule="NV-133")
def _(patch: Patch) -> None:
    """A claim without devices is refused as unreadable."""

    def change(original: Callable[..., Any], request: Any) -> Any:
        claim = (request.get("object") or {}).get("spec") or {}
        if "devices" not in (claim.get("spec") or claim):
            return {"allowed": False, "status": {"reason": "BadRequest", "message": "no devices"}}
        return original(request)

    _decide(patch, change)


@mutant("webhook-admits-dry-runs", rule="NV-133a")
def _(patch: Patch) -> None:
    """Dry runs are not validated."""
    _decide(patch, lambda original, request: {"allowed": True} if request.get("dryRun") else original(request))


@mutant("webhook-reports-first-unknown-field-only", rule="NV-133a")
def _(patch: Patch) -> None:
    """The refusal has the first unknown field of a configuration only."""
    patch.wrap(f"{CONFIGS}:_unknown", lambda original: lambda *what: original(*what)[:1])


@mutant("webhook-admits-parameters-that-are-no-object", rule="NV-133b")
def _(patch: Patch) -> None:
    """Parameters that are no object count as absent, and are admitted."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def check(parameters: Any, **more: Any) -> None:
            if isinstance(parameters, dict):
                original(parameters, **more)

        return check

    patch.wrap(f"{REVIEW}:check", make)


@mutant("webhook-validates-the-old-object", rule="NV-133d")
def _(patch: Patch) -> None:
    """The old object of an update is validated as well."""

    def change(original: Callable[..., Any], request: Any) -> Any:
        found = original(request)
        if request.get("operation") == "UPDATE" and found["allowed"]:
            return original({**request, "object": request["oldObject"]})
        return found

    _decide(patch, change)


@mutant("webhook-accepts-nested-duplicate-fields", rule="NV-133e")
def _(patch: Patch) -> None:
    """Duplicates are looked for among the outermost fields only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda value, where="": [] if where else original(value, where)

    patch.wrap(f"{REVIEW}:repeated_fields", make)
    patch.wrap(f"{DOCUMENT}:repeated_fields", make)


@mutant("webhook-validates-deletions", rule="NV-133i")
def _(patch: Patch) -> None:
    """A deletion is validated by the old object."""

    def change(original: Callable[..., Any], request: Any) -> Any:
        deleted = request.get("operation") == "DELETE"
        return original({**request, "object": request["oldObject"]} if deleted else request)

    _decide(patch, change)


def _review_without(patch: Patch, **expected: str) -> None:
    """Take a review with any value of a field as one with the expected value."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda review: original({**review, **expected} if isinstance(review, dict) else review)

    patch.wrap(f"{REVIEW}:request_of", make)


@mutant("webhook-ignores-the-kind-of-a-review", rule="NV-130")
def _(patch: Patch) -> None:
    """Of a review, apiVersion is compared only."""
    _review_without(patch, kind="AdmissionReview")


@mutant("webhook-ignores-the-group-of-a-review", rule="NV-130")
def _(patch: Patch) -> None:
    """Of the apiVersion of a review, the version is compared only."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def request_of(review: Any) -> Any:
            if isinstance(review, dict) and str(review.get("apiVersion")).endswith("/v1"):
                review = {**review, "apiVersion": "admission.k8s.io/v1"}
            return original(review)

        return request_of

    patch.wrap(f"{REVIEW}:request_of", make)


def _decoded(patch: Patch, change: Callable[[str, Any], Any]) -> None:
    """Decode parameters after each value in them is replaced by `change(field, value)`."""

    def walk(value: Any) -> Any:
        return {name: walk(change(name, one)) for name, one in value.items()} if isinstance(value, dict) else value

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda parameters, **more: original(walk(parameters), **more)

    patch.wrap(f"{CONFIGS}:decode", make)


def _crash(field: str, value: Any) -> Any:
    if field in ("kind", "apiVersion") and isinstance(value, list):
        raise TypeError("unhashable type: 'list'")
    return value


@mutant("webhook-disconnects-on-a-list-as-kind", rule="NV-133b")
def _(patch: Patch) -> None:
    """A kind or an apiVersion that is a list ends the request with an internal error."""
    _decoded(patch, _crash)


@mutant("webhook-reads-booleans-as-numbers", rule="NV-133f")
def _(patch: Patch) -> None:
    """True is read as 1."""
    _decoded(patch, lambda field, value: int(value) if field.endswith("Percentage") and value is True else value)


@mutant("webhook-accepts-any-memory-limit", rule="NV-133f")
def _(patch: Patch) -> None:
    """The type of a memory limit is not checked."""
    _decoded(patch, lambda field, value: "1Gi" if field == "defaultPinnedDeviceMemoryLimit" else value)


@mutant("webhook-reads-numbers-as-flags", rule="NV-318")
def _(patch: Patch) -> None:
    """Any value of a flag is read as true or false."""
    _decoded(patch, lambda field, value: bool(value) if field == "enableAPIDevice" else value)


@mutant("webhook-refuses-limits-in-bytes", rule="NV-141a")
def _(patch: Patch) -> None:
    """A memory limit that is a number is refused."""

    def change(field: str, value: Any) -> Any:
        return [] if field == "defaultPinnedDeviceMemoryLimit" and isinstance(value, int) else value

    _decoded(patch, change)


@mutant("webhook-refuses-null", rule="NV-141a")
def _(patch: Patch) -> None:
    """A field that is null counts as one of the wrong type."""
    _decoded(patch, lambda field, value: "null" if value is None else value)


@mutant("webhook-refuses-limits-by-device", rule="NV-141a")
def _(patch: Patch) -> None:
    """The keys of memory limits by device count as unknown fields."""

    def change(field: str, value: Any) -> Any:
        named = field == "mpsConfig" and isinstance(value, dict) and "defaultPerDevicePinnedMemoryLimit" in value
        return {**value, "0": "1Gi"} if named else value

    _decoded(patch, change)
