"""Reads the AdmissionReview that a webhook answers with, as untrusted data.

Pure functions. A value of another type than the API's makes the call fail, as it does in kube-apiserver, which decodes
the answer into its types.

Source: k8s.io/api admission/v1 types.go, k8s.io/apiserver pkg/admission/plugin/webhook/request/admissionreview.go and
k8s.io/apimachinery pkg/apis/meta/v1 types.go (v0.36).
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import orjson

from dra_api.gotext import go_quote
from dra_api.objects import Obj

MAX_SIZE = 16 << 20
"""Bytes of an answer. A webhook that sends more fails; kube-apiserver would read it all."""
_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]


class CallError(Exception):
    """The call of a webhook failed."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class _Cause(_Part, frozen=True, kw_only=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class _Details(_Part, frozen=True, kw_only=True):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: list[_Cause] = []
    retry_after_seconds: _Int32 = 0


class Status(_Part, frozen=True, kw_only=True):
    """The reason of a refusal. `details` have the types of the API's StatusDetails."""

    message: str = ""
    reason: str = ""
    code: _Int32 = 0
    details: dict[str, Any] = {}


class Answer(_Part, frozen=True, kw_only=True):
    """The `response` of an AdmissionReview, without what only mutating webhooks send."""

    uid: str = ""
    allowed: bool = False
    warnings: list[str] = []
    status: Status = Status()


def read(data: bytes, *, api_version: str, uid: str) -> Answer:
    """Return the answer in a response body.

    Args:
        data: the body.
        api_version: of the review that was sent; the answer must have the same.
        uid: of the request.

    Raises: CallError with kube-apiserver's text, where it has one.
    """
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise CallError(f"failed to call webhook: the answer is not JSON ({error})") from error
    response = body.get("response") if isinstance(body, dict) else None
    if not isinstance(response, dict):
        raise CallError("received invalid webhook response: webhook response was absent")
    if body.get("kind") != "AdmissionReview" or body.get("apiVersion") != api_version:
        raise CallError(
            f"received invalid webhook response: expected webhook response of {api_version}, Kind=AdmissionReview, "
            f"got {body.get('apiVersion')}, Kind={body.get('kind')}"
        )
    if response.get("uid") != uid:
        given = response.get("uid") or ""
        raise CallError(
            f"received invalid webhook response: expected response.uid={go_quote(uid)}, got {go_quote(str(given))}"
        )
    return _typed(response)


def _typed(response: Obj) -> Answer:
    try:
        found = msgspec.convert(_without_nulls(response), Answer)
        msgspec.convert(found.status.details, _Details)
    except msgspec.ValidationError as error:
        raise CallError(f"failed to call webhook: a value of the answer is not of its type: {error}") from error
    return found


def _without_nulls(value: Any) -> Any:
    # Go reads null as an absent value.
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
