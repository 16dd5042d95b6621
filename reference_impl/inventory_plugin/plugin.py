"""The kubelet plugin for the devices of an inventory: the pieces of the GPU plugin that know nothing of GPUs.

It owns its two sockets and the thread of its publisher between `start` and `stop`. Slices, checkpoint and CDI specs of
prepared claims stay when it stops, so that running pods keep their devices (rule NV-014).
"""

from __future__ import annotations

import logging
from contextlib import ExitStack

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.rpc import PluginServer
from reference_impl.inventory_plugin.inventory import Inventory
from reference_impl.inventory_plugin.prepare import InventoryPreparer
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.checkpoint import Checkpoint, kernel_boot_id
from reference_impl.kubelet_plugin.claims import ClaimReader
from reference_impl.kubelet_plugin.liveness import serve_liveness
from reference_impl.kubelet_plugin.nodelock import NodeLock
from reference_impl.kubelet_plugin.options import KubeletPluginOptions
from reference_impl.kubelet_plugin.service import DriverService, sockets
from reference_impl.kubelet_plugin.slices import SlicePublisher, layout

log = logging.getLogger(__name__)

_FIRST_PUBLICATION = 10.0  # seconds that start gives the API server and the Node object to be there


class InventoryPlugin:
    """A DRA driver on one node. One instance starts once; a restart is a new instance over the same folders."""

    def __init__(
        self, client: KubeClient, *, clock: Clock, inventory: Inventory, options: KubeletPluginOptions
    ) -> None:
        self.name = f"inventory plugin {options.driver_name} on {options.node_name}"
        self.options = options
        self._clock = clock
        self._client = client.as_agent("inventory-kubelet-plugin")
        self._inventory = inventory
        self._ending: ExitStack | None = None
        self.preparer = InventoryPreparer(
            driver=options.driver_name,
            inventory=inventory,
            checkpoint=Checkpoint(options.data_dir / "checkpoint.json", boot_id=kernel_boot_id()),
            cdi=CdiFolder(options.cdi_root, vendor=f"k8s.{options.driver_name}"),
            lock=NodeLock(options.data_dir / "pu.lock", clock=clock, timeout=options.lock_timeout),
        )
        self.service = DriverService(claims=ClaimReader(self._client), preparer=self.preparer)
        self.publisher = SlicePublisher(
            self._client,
            clock=clock,
            driver=options.driver_name,
            node_name=options.node_name,
            resync_delay=options.resync_delay,
            on_error=lambda error: log.error("%s: %s", self.name, error),
        )
        self.server: PluginServer | None = None

    def start(self) -> None:
        """Repair what a killed predecessor left, serve, register and publish. Raises ComponentError when it cannot."""
        if self._ending is not None:
            return
        options = self.options
        with ExitStack() as ending:
            options.make_data_dir()
            self.preparer.repair()
            serve_liveness(options, ending, clock=self._clock)
            self.server = sockets(self.service, options, clock=self._clock)
            self.server.start()
            ending.callback(self.server.stop)
            self.publisher.start()
            ending.callback(self.publisher.stop)
            self.publisher.publish(layout(self._inventory.devices, self._inventory.shared_counters))
            self._ending = ending.pop_all()
        if not self.publisher.wait_published(_FIRST_PUBLICATION):
            log.warning("%s: no slice published yet; does the Node object exist?", self.name)

    def stop(self) -> None:
        """Leave the kubelet and end all threads; prepared claims and slices stay. Idempotent."""
        ending, self._ending = self._ending, None
        if ending is not None:
            ending.close()
