"""Calls from the kubelet to one driver instance: recorded, bounded in time, and faulty on request.

`PluginInstance` is one registered endpoint; it owns its connection until `close`. `Fault` bends calls on purpose, for
scenarios that show how a driver bears a slow, repeated or lost call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from dra_api.clock import Clock
from dra_api.rpc import ClaimRef, DRAPluginClient, PrepareResult, RpcError
from dra_conformance.core.events import KubeletCall
from dra_conformance.kubelet.record import Record

Method = Literal["NodePrepareResources", "NodeUnprepareResources"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Fault:
    """How the next calls of one method go wrong on the kubelet's side.

    `delay`: seconds to wait before the call. `repeat`: how often the same call is made in a row; the last answer
    counts. `concurrent`: make the repeated calls at the same time. `drop_answer`: make the call, then lose its answer
    as a crashed kubelet would. `times`: how many calls are bent; 0 means every call until cleared.
    """

    method: Method
    delay: float = 0.0
    repeat: int = 1
    concurrent: bool = False
    drop_answer: bool = False
    times: int = 1


class Faults:
    """The faults that are in force for one kubelet. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: list[tuple[Fault, int]] = []

    def add(self, fault: Fault) -> None:
        """Inject a fault into the next calls."""
        with self._lock:
            self._pending.append((fault, fault.times))

    def clear(self) -> None:
        """No faults from now on."""
        with self._lock:
            self._pending.clear()

    def take(self, method: Method) -> Fault | None:
        """Return the fault for the next call and count it as used."""
        with self._lock:
            for index, (fault, left) in enumerate(self._pending):
                if fault.method != method:
                    continue
                # Faults of one method are used in the order in which they were injected.
                if left == 1:
                    del self._pending[index]
                elif left > 1:
                    # A fault with `times` 0 is never used up.
                    self._pending[index] = (fault, left - 1)
                return fault
        return None


class PluginInstance:
    """One registered endpoint of a driver."""

    def __init__(
        self,
        *,
        driver: str,
        endpoint: str,
        version: str,
        registration_socket: Path,
        clock: Clock,
        record: Record,
        faults: Faults,
        timeout: float,
    ) -> None:
        self.driver = driver
        self.endpoint = endpoint
        self.version = version
        self.registration_socket = registration_socket
        self.client = DRAPluginClient(endpoint, version, clock=clock)
        self.stopping = threading.Event()
        self._clock = clock
        self._record = record
        self._faults = faults
        self._timeout = timeout

    @property
    def connected(self) -> bool:
        """Whether the connection is established."""
        return self.client.channel.connected

    def prepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = None) -> dict[str, PrepareResult]:
        """NodePrepareResources, exactly as answered. Raises RpcError."""
        return self._bent(
            "NodePrepareResources",
            claims,
            lambda: self.client.prepare(claims, timeout=timeout or self._timeout),
            lambda answer: {uid: asdict(result) for uid, result in answer.items()},
        )

    def unprepare(self, claims: Sequence[ClaimRef], *, timeout: float | None = None) -> dict[str, str]:
        """NodeUnprepareResources, exactly as answered. Raises RpcError."""
        return self._bent(
            "NodeUnprepareResources",
            claims,
            lambda: self.client.unprepare(claims, timeout=timeout or self._timeout),
            dict,
        )

    def close(self) -> None:
        """Close the connection and cancel everything that waits on it."""
        self.stopping.set()
        self.client.close()

    def _bent(
        self,
        method: Method,
        claims: Sequence[ClaimRef],
        call: Callable[[], T],
        show: Callable[[T], Mapping[str, Any]],
    ) -> T:
        fault = self._faults.take(method)
        if fault is None:
            return self._recorded(method, claims, call, show)
        if fault.delay:
            # The end of the instance also ends the delay.
            self._clock.wait(self.stopping, fault.delay)
        if fault.concurrent:
            with ThreadPoolExecutor(max_workers=fault.repeat) as pool:
                futures = [pool.submit(self._recorded, method, claims, call, show) for _ in range(fault.repeat)]
                answers = [future.result() for future in futures]
        else:
            answers = [self._recorded(method, claims, call, show) for _ in range(fault.repeat)]
        if fault.drop_answer:
            # gRPC reports UNAVAILABLE if the connection breaks during a call.
            raise RpcError(method, "UNAVAILABLE", "the answer was lost on request", self.endpoint)
        return answers[-1]

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one of several concurrent calls ended: its answer, or the error."""

    answer: Mapping[str, Any] | None
    error: RpcError | None = None


class PluginHandle:
    """A driver for direct calls, without pods or a scheduler.

    Every call goes to the instance that the kubelet would use at that moment (rule DRA-261). `current` finds it and
    raises DriverNotRegistered.
    """

    def __init__(self, driver: str, current: Callable[[], PluginInstance]) -> None:
        self.driver = driver
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

    def concurrently(
        self, calls: Sequence[tuple[Method, Sequence[ClaimRef]]], *, timeout: float | None = None
    ) -> list[Outcome]:
        """Make several calls at the same time; outcomes in the order of `calls`. Errors are returned, not raised."""
        instance = self._current()
        barrier = threading.Barrier(len(calls))

        def one(call: tuple[Method, Sequence[ClaimRef]]) -> Outcome:
            method, claims = call
            # The pool starts its threads one by one; the calls begin together.
            barrier.wait()
            try:
                if method == "NodePrepareResources":
                    return Outcome(instance.prepare(claims, timeout=timeout))
                return Outcome(instance.unprepare(claims, timeout=timeout))
            except RpcError as error:
                return Outcome(None, error)

        with ThreadPoolExecutor(max_workers=len(calls), thread_name_prefix="concurrent-call") as pool:
            return list(pool.map(one, calls))
