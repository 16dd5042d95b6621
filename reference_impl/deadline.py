"""Requests that end at a deadline, so that a server that does not respond cannot hold its caller past it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from dra_api.transport import RequestOptions, Response, Transport, TransportAround, TransportError


class WithDeadline(TransportAround):
    """Ends requests when `seconds_left` has passed, and sends none when nothing is left; watches have no deadline.

    `passed` is the message of the error then.
    """

    def __init__(self, inner: Transport, seconds_left: Callable[[], float], passed: str) -> None:
        super().__init__(inner)
        self._seconds_left = seconds_left
        self._passed = passed

    def request(self, method: str, path: str, **options: Unpack[RequestOptions]) -> Response:
        """Forward a request with a timeout. Raises TransportError after the deadline."""
        left = self._seconds_left()
        if left <= 0:
            raise TransportError(f"{method} {path}: {self._passed}")
        options["timeout"] = left
        return super().request(method, path, **options)
