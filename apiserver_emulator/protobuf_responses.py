"""Responses in protobuf, for clients that accept nothing else. Pure functions around one request.

Clients that accept JSON too get JSON: client-go does, and decodes a response by its Content-Type. Watches are JSON
only.

Source: k8s.io/apiserver pkg/endpoints/handlers/negotiation; emicklei/go-restful (Route.matchesAccept).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import orjson

from apiserver_emulator.protobuf import ProtobufError, encode
from apiserver_emulator.rendering import ACCEPTED, JSON, PROTOBUF
from dra_api.request import Request
from dra_api.status import StatusError, not_acceptable
from dra_api.transport import Response

_Answer = TypeVar("_Answer")


def served(request: Request, handle: Callable[[Request], _Answer]) -> _Answer | Response:
    """Return the response to a request, in a format that the client accepts."""
    if request.headers.get("accept", "").replace(" ", "").lower() != PROTOBUF:
        return handle(request)
    request.protobuf = True
    # Handlers answer in JSON; the response is encoded at the end.
    request.headers = {**request.headers, "accept": JSON}
    answer = handle(request)
    return _encoded(answer) if isinstance(answer, Response) else answer


def check_accepted(request: Request, verb: str, *, custom: bool) -> None:
    """Raise 406 before anything is done if the resource has none of the formats that the client accepts."""
    if request.protobuf:
        if custom or verb == "watch":
            raise not_acceptable(ACCEPTED)
        return
    accept = request.headers.get("accept", "")
    if not accept or custom:
        return
    wanted = {choice.partition(";")[0].strip() for choice in accept.split(",")}
    if not wanted & {"*/*", *ACCEPTED}:
        streams = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch") if verb in ("list", "watch") else ()
        offered = ", ".join((*ACCEPTED, *streams))
        raise StatusError(
            406, "NotAcceptable", f"406: Not Acceptable\n\nAvailable representations: {offered}", details={}
        )


def _encoded(answer: Response) -> Response:
    if answer.headers.get("content-type") != JSON:
        return answer
    try:
        body = encode(orjson.loads(answer.body))
    except ProtobufError:
        # The answer is of a kind that has no protobuf form.
        refusal = not_acceptable(ACCEPTED)
        return Response(refusal.code, {"content-type": PROTOBUF}, encode(refusal.body()))
    return Response(answer.status, {**answer.headers, "content-type": PROTOBUF}, body)
