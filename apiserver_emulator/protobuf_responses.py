"""Responses in protobuf, for clients that accept nothing else. Pure functions around one request.

Clients that accept JSON too get JSON: client-go does, and decodes a response by its Content-Type. KAI's scheduler
accepts protobuf only, for its watches too.

Source: k8s.io/apiserver pkg/endpoints/handlers/negotiation; emicklei/go-restful (Route.matchesAccept).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import orjson

from apiserver_emulator.protobuf import ProtobufError, encode, encode_event
from apiserver_emulator.rendering import ACCEPTED, JSON, PROTOBUF
from apiserver_emulator.watch_stream import ErrorStream, WatchStream
from dra_api.request import Request
from dra_api.status import StatusError, not_acceptable
from dra_api.transport import Response

STREAM = f"{PROTOBUF};stream=watch"


class ProtobufStream:
    """A watch in frames of protobuf; passes everything else to the stream of JSON lines that it encodes."""

    content_type = STREAM
    line_end = b""

    def __init__(self, lines: WatchStream | ErrorStream) -> None:
        self._lines = lines

    @property
    def ended(self) -> bool:
        """Whether the watch has ended."""
        return self._lines.ended

    @ended.setter
    def ended(self, value: bool) -> None:
        self._lines.ended = value

    def set_waker(self, waker: Callable[[], None]) -> None:
        """Call `waker` from any thread whenever there may be something to poll."""
        self._lines.set_waker(waker)

    def seconds_to_next(self) -> float:
        """Return how long the consumer may sleep without missing a bookmark or the end."""
        return self._lines.seconds_to_next()

    def poll(self) -> list[bytes]:
        """Return all frames that are ready, without waiting. Raises ProtobufError."""
        return [_frame(line) for line in self._lines.poll()]

    def __iter__(self) -> Iterator[bytes]:
        return map(_frame, self._lines)

    def close(self) -> None:
        """End the watch from any thread."""
        self._lines.close()


Answer = Response | WatchStream | ErrorStream | ProtobufStream


def served(request: Request, handle: Callable[[Request], Answer]) -> Answer:
    """Return the response to a request, in a format that the client accepts."""
    if request.headers.get("accept", "").replace(" ", "").lower() not in (PROTOBUF, STREAM):
        return handle(request)
    request.protobuf = True
    # Handlers answer in JSON; the response is encoded at the end.
    request.headers = {**request.headers, "accept": JSON}
    answer = handle(request)
    if isinstance(answer, Response):
        return _encoded(answer)
    return answer if isinstance(answer, ProtobufStream) else ProtobufStream(answer)


def check_accepted(request: Request, verb: str, *, custom: bool) -> None:
    """Raise 406 before anything is done if the resource has none of the formats that the client accepts."""
    if request.protobuf:
        if custom:
            raise not_acceptable(ACCEPTED)
        return
    accept = request.headers.get("accept", "")
    if not accept or custom:
        return
    wanted = {choice.partition(";")[0].strip() for choice in accept.split(",")}
    if not wanted & {"*/*", *ACCEPTED}:
        streams = (f"{JSON};stream=watch", STREAM) if verb in ("list", "watch") else ()
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


def _frame(line: bytes) -> bytes:
    event = orjson.loads(line)
    return encode_event(event["type"], event["object"])
