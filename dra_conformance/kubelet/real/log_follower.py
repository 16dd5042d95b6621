"""Follow the JSON log of a real kubelet line by line.

The log provides the registered plugins, which a kubelet exposes nowhere else, and its calls to drivers, deletions of
slices and errors, recorded as events of `dra_conformance.core.events.kinds.kubelet`. The log is the kubelet's own
statement: verdicts rest on the calls that drivers received and on what the API server stores, wherever possible.

Source: pkg/kubelet/cm/dra/plugin, Kubernetes 1.34 to 1.36 (messages and keys at verbosity 4).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from dra_api.clock import RealClock
from dra_api.threads import report_exception
from dra_conformance.core.events import (
    KubeletHealth,
    KubeletLogCall,
    KubeletProblem,
    KubeletRegistration,
    KubeletSlices,
)
from dra_conformance.kubelet.record import Record

_TURN = 0.05
REGISTERED, UNREGISTERED = "Registered DRA plugin", "Unregistered DRA plugin"
_SERVES = "Starting Kubelet Plugin Manager"
_CALLS = {
    "Calling NodePrepareResources rpc": ("NodePrepareResources", "request"),
    "Done calling NodePrepareResources rpc": ("NodePrepareResources", "response"),
    "Calling NodeUnprepareResource rpc": ("NodeUnprepareResources", "request"),
    "Done calling NodeUnprepareResources rpc": ("NodeUnprepareResources", "response"),
}


@dataclass(frozen=True, slots=True)
class Plugin:
    """One registered instance of a driver."""

    driver: str
    endpoint: str
    service: str
    number: int
    """Tells the lives of an instance apart that comes back at its old endpoint."""


class LogFollower:
    """Follows the log at `path` between `start` and `stop`; `poke` is called whenever something was read."""

    def __init__(self, path: Path, *, record: Record, poke: Callable[[], None]) -> None:
        self._path = path
        self._record = record
        self._poke = poke
        self._lock = threading.Lock()
        self._plugins: list[Plugin] = []
        self._registrations = 0
        self.serves = False
        """Whether the kubelet has come as far as looking for plugins."""
        # Lines of an earlier life of the kubelet are not read again.
        self._offset = path.stat().st_size if path.exists() else 0
        self._rest = b""
        self._ended = threading.Event()
        self._clock = RealClock()
        self._thread = threading.Thread(target=self._follow, name="kubelet-follower", daemon=True)

    def start(self) -> None:
        """Start to read new lines."""
        self._thread.start()

    def stop(self) -> None:
        """Read the remaining lines and stop. Idempotent."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def plugins(self, driver: str = "") -> list[Plugin]:
        """The registered instances of a driver, or all, the oldest first."""
        with self._lock:
            return [plugin for plugin in self._plugins if driver in ("", plugin.driver)]

    def _follow(self) -> None:
        while not self._ended.is_set():
            self._read()
            self._clock.wait(self._ended, _TURN)  # a file that another program writes: there is no event
        self._read()

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            fresh = file.read()
        self._offset += len(fresh)
        # The last line may be incomplete; its rest comes with the next read.
        *lines, self._rest = (self._rest + fresh).split(b"\n")
        for line in lines:
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # output before logging was set up, or a panic
            if isinstance(entry, dict):
                try:
                    self._take(entry)
                except Exception as error:  # a line of an unexpected form must not hide the lines after it
                    report_exception(error)
        if lines:
            self._poke()

    def _take(self, entry: dict[str, Any]) -> None:
        message = str(entry.get("msg") or "")
        driver, endpoint = str(entry.get("driverName") or ""), str(entry.get("endpoint") or "")
        if message == REGISTERED:
            self._registrations += 1
            plugin = Plugin(driver, endpoint, str(entry.get("chosenService") or ""), self._registrations)
            with self._lock:
                self._plugins.append(plugin)
            self._record(
                KubeletRegistration(step="registered", driver=driver, endpoint=endpoint, service=plugin.service)
            )
        elif message == _SERVES:
            self.serves = True
        elif message == UNREGISTERED:
            with self._lock:
                self._plugins = [p for p in self._plugins if (p.driver, p.endpoint) != (driver, endpoint)]
            self._record(KubeletRegistration(step="removed", driver=driver, endpoint=endpoint))
        elif message in _CALLS:
            method, key = _CALLS[message]
            self._record(
                KubeletLogCall(
                    driver=driver,
                    endpoint=endpoint,
                    method=method,
                    request=entry.get("request") if key == "request" else None,
                    response=entry.get("response") if key == "response" else None,
                    error=str(entry.get("err") or ""),
                )
            )
        elif message == "Deleted ResourceSlices":
            self._record(KubeletSlices(step="wiped", selector=entry.get("fieldSelector")))
        elif "WatchResources" in message and "Unimplemented" in str(entry.get("err")):
            self._record(KubeletHealth(step="driver has no health service"))  # repeated every five seconds
        elif entry.get("err") and "v" not in entry and ("pod" in entry or "ResourceSlice" in message):
            # Errors have no verbosity `v`; informational entries with an error have one.
            self._record(KubeletProblem(message=f"{message}: {entry['err']}"))
