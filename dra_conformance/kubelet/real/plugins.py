"""The drivers that a real kubelet has registered, read from its log.

The instances are the harness' own connections to the same sockets: calls through them are calls of the harness, beside
those of the kubelet. `RealKubelet` owns and closes them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.kubelet.calls import PluginHandle, PluginInstance
from dra_conformance.kubelet.errors import DriverNotRegistered
from dra_conformance.kubelet.real.log_follower import LogFollower, Plugin
from dra_conformance.kubelet.record import Record

_CALL_TIMEOUT = 45.0


class RealPlugins:
    """The plugins of the kubelet whose log follower `follower` returns; `folder` is its registration folder."""

    def __init__(self, follower: Callable[[], LogFollower], *, folder: Path, record: Record) -> None:
        self._follower = follower
        self._folder = folder
        self._record = record
        self._lines: dict[Plugin, PluginInstance] = {}

    def drivers(self) -> list[str]:
        """The names of all registered drivers."""
        return sorted({plugin.driver for plugin in self._follower().plugins()})

    def instances(self, driver: str) -> list[PluginInstance]:
        """All registered instances of a driver, oldest first."""
        registered = self._follower().plugins()
        # A plugin that came back at its old endpoint has another number, so its old connection is closed here.
        for plugin in [known for known in self._lines if known not in registered]:
            self._lines.pop(plugin).close()
        return [self._line(plugin) for plugin in self._follower().plugins(driver)]

    def get(self, driver: str) -> PluginInstance:
        """The newest instance. Raises DriverNotRegistered (rule DRA-273)."""
        found = self._follower().plugins(driver)
        if not found:
            raise DriverNotRegistered(self.explain(driver))
        return self._line(found[-1])

    def handle(self, driver: str) -> PluginHandle:
        """The driver, to be called by the harness."""
        return PluginHandle(lambda: self.get(driver))

    def explain(self, driver: str) -> str:
        """Return why a driver is not registered, with the contents of the registration folder."""
        others = [name for name in self.drivers() if name != driver]
        message = f"registered instead: {', '.join(others)}; " if others else ""
        held = sorted(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []
        return f"DRA driver {driver} is not registered; {message}{self._folder} holds {', '.join(held) or 'nothing'}"

    def close(self) -> None:
        """End the harness's own lines."""
        while self._lines:
            self._lines.popitem()[1].close()

    def _line(self, plugin: Plugin) -> PluginInstance:
        found = self._lines.get(plugin)
        if found is None:
            found = self._lines[plugin] = PluginInstance(
                driver=plugin.driver,
                endpoint=plugin.endpoint,
                version=plugin.service,
                registration_socket=self._folder,
                clock=RealClock(),
                record=self._record,
                timeout=_CALL_TIMEOUT,
            )
        return found
