"""The device manager in one life of a kubelet: plugins, the resources that they offer, and devices of pods.

Owns the connections, the checkpoint and the thread that writes the Node object, between `start` and `stop`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_conformance.kubelet.device_allocation import DeviceAllocator
from dra_conformance.kubelet.device_plugins import ConnectedPlugin, DeviceManager
from dra_conformance.kubelet.node_resources import NodeResources
from dra_conformance.kubelet.offered_resources import OfferedResources
from dra_conformance.kubelet.record import Record
from dra_conformance.kubelet.topology import Topology


class DeviceLife:
    """Device plugins of one node.

    Args:
        folder: the folder of device plugins, with `kubelet.sock` and the checkpoint.
        active: returns the uids of pods that have not ended.
        resync: called with the uids of pods whose devices may have another health.
        topology: the settings of the topology manager.
    """

    def __init__(
        self,
        folder: Path,
        *,
        client: KubeClient,
        clock: Clock,
        node: str,
        record: Record,
        active: Callable[[], Collection[str]],
        resync: Callable[[Iterable[str]], None],
        topology: Topology,
    ) -> None:
        self.offered = OfferedResources(clock)
        self.manager = DeviceManager(folder, clock=clock, record=record, changed=self._on_change)
        self.allocator = DeviceAllocator(self.manager, self.offered, record=record, active=active, aligned=topology)
        self._resync = resync
        # A plugin that ends and its successor report on two threads.
        self._change = threading.Lock()
        self._node = NodeResources(client, clock, node, self.offered, forgotten=self.allocator.save)

    def start(self) -> None:
        """Read the checkpoint, write the Node object, then serve plugins."""
        self.manager.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        has_checkpoint = self.allocator.load()
        self._node.start(reset=not has_checkpoint)
        self.manager.start()

    def stop(self) -> None:
        """Close all connections; the Node object stays as it is. Idempotent."""
        # First, because the end of the connections is not the end of the plugins.
        self._node.stop()
        self.manager.stop()

    def _on_change(self, plugin: ConnectedPlugin) -> None:
        resource = plugin.resource
        if plugin.ended is not None:
            with self._change:
                # Another plugin of the resource takes over, with the devices as they are (DP-012).
                if self.manager.serving(resource) is None:
                    self.offered.disconnect(resource)
        elif plugin.lists:
            with self._change:
                self.offered.take(resource, plugin.devices)
            self.allocator.save()
            self._resync(self.allocator.holders(resource))
        else:
            with self._change:
                self.offered.connect(resource)
        self._node.notify()
