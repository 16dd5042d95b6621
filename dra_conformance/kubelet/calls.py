"""Calls from the kubelet to one driver instance, recorded and bounded in time.

`PluginInstance` is one registered endpoint; it owns its connection until `close`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeVar

from dra_api.clock import Clock
from dra_api.rpc import ClaimRef, DRAPluginClient, PrepareResult, RpcError
from dra_conformance.core.events import KubeletCall
from dra_conformance.kubelet.record import Record

Method = Literal["NodePrepareResources", "NodeUnprepareResources"]
T = TypeVar("T")


class PluginInstance:
    """One registered endpoint of a driver.

    `version` is the DRA service that is called, `health` the health service that is watched; empty: none.
    """

    def __init__(
        self,
        *,
        driver: str,
        endpoint: str,
        version: str,
        health: str = "",
        registration_socket: Path,
        clock: Clock,
        record: Record,
        timeout: float,
    ) -> None:
        self.driver = driver
        self.endpoint = endpoint
        self.version = version
        self.health = health
        self.registration_socket = registration_socket
        self.client = DRAPluginClient(endpoint, version, clock=clock)
        self.stopping = threading.Event()
        self._clock = clock
        self._record = record
        self._timeout = timeout

    @property
    def connected(self) -> bool:
        """Whether the connection is established."""
        return self.client.channel.connected

    def prepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = None) -> dict[str, PrepareResult]:
        """NodePrepareResources, exactly as answered. Raises RpcError."""
        return self._recorded(
            "NodePrepareResources",
            claims,
            lambda: self.client.prepare(claims, timeout=timeout or self._timeout),
            lambda answer: {uid: asdict(result) for uid, result in answer.items()},
        )

    def unprepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = None) -> dict[str, str]:
        """NodeUnprepareResources, exactly as answered. Raises RpcError."""
        return self._recorded(
            "NodeUnprepareResources",
            claims,
            lambda: self.client.unprepare(claims, timeout=timeout or self._timeout),
            dict,
        )

    def close(self) -> None:
        """Close the connection and cancel everything that waits on it."""
        self.stopping.set()
        self.client.close()

    def _recorded(
        self,
        method: Method,
        claims: Sequence[ClaimRef],
        call: Callable[[], T],
        show: Callable[[T], Mapping[str, Any]],
    ) -> T:
        begun = self._clock.monotonic()

        def record(*, code: str, response: Mapping[str, Any] | None = None, error: str = "") -> None:
            self._record(
                KubeletCall(
                    driver=self.driver,
                    endpoint=self.endpoint,
                    service=self.version,
                    method=method,
                    request={"claims": [asdict(claim) for claim in claims]},
                    code=code,
                    seconds=round(self._clock.monotonic() - begun, 6),
                    response=dict(response or {}),
                    error=error,
                )
            )

        try:
            answer = call()
        except RpcError as error:
            record(code=error.code, error=error.details)
            raise
        record(code="OK", response={"claims": show(answer)})
        return answer


class PluginHandle:
    """A driver for direct calls, without pods or a scheduler.

    Every call goes to the instance that the kubelet would use at that moment (rule DRA-261). `current` finds it and
    raises DriverNotRegistered.
    """

    def __init__(self, current: Callable[[], PluginInstance]) -> None:
        self._current = current

    @property
    def instance(self) -> PluginInstance:
        """The instance that calls go to now."""
        return self._current()

    def prepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = None) -> dict[str, PrepareResult]:
        """NodePrepareResources with just these claims; `timeout` in seconds. Raises RpcError."""
        return self._current().prepare(claims, timeout=timeout)

    def unprepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = None) -> dict[str, str]:
        """NodeUnprepareResources with just these claims; `timeout` in seconds. Raises RpcError."""
        return self._current().unprepare(claims, timeout=timeout)
