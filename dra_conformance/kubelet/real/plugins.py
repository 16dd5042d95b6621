"""The drivers that a real kubelet has registered, as far as its log tells them.

The instances here are lines of the harness's own to the same sockets: what is called through them, the harness calls,
beside the kubelet. Owned by `RealKubelet`, which closes them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dra_api.clock import RealClock
from dra_conformance.kubelet.calls import Faults, PluginHandle, PluginInstance
from dra_conformance.kubelet.errors import DriverNotRegistered
from dra_conformance.kubelet.real.log_follower import Diary, Plugin
from dra_conformance.kubelet.record import Record

_CALL_TIMEOUT = 45.0


class RealPlugins:
    """The plugins of the kubelet whose diary `diary` returns; `folder` is its registration folder."""

    def __init__(self, diary: Callable[[], Diary], *, folder: Path, record: Record) -> None:
        self._diary = diary
        self._folder = folder
        self._record = record
        self._lines: dict[Plugin, PluginInstance] = {}

    def drivers(self) -> list[str]:
        """The names of all registered drivers."""
        return sorted({plugin.driver for plugin in self._diary().plugins()})

    def instances(self, driver: str) -> list[PluginInstance]:
        """All registered instances of a driver, oldest first."""
        registered = self._diary().plugins()
        for plugin in [known for known in self._lines if known not in registered]:
            self._lines.pop(plugin).close()
        return [self._line(plugin) for plugin in self._diary().plugins(driver)]

    def get(self, driver: str) -> PluginInstance:
        """The newest instance. Raises DriverNotRegistered (rule DRA-273)."""
        found = self._diary().plugins(driver)
        if not found:
            raise DriverNotRegistered(self.explain(driver))
        return self._line(found[-1])

    def handle(self, driver: str) -> PluginHandle:
        """The driver, to be called by the harness."""
        return PluginHandle(driver, lambda: self.get(driver))

    def explain(self, driver: str) -> str:
        """Why a driver is not registered, in one sentence: what is in the registration folder instead."""
        others = [name for name in self.drivers() if name != driver]
        told = f"registered instead: {', '.join(others)}; " if others else ""
        held = sorted(path.name for path in self._folder.iterdir()) if self._folder.is_dir() else []
        return f"DRA driver {driver} is not registered; {told}{self._folder} holds {', '.join(held) or 'nothing'}"

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
                faults=Faults(),
                timeout=_CALL_TIMEOUT,
            )
        return found
