"""The kubelet plugin for the devices of an inventory: the modules of the GPU plugin that do not depend on GPUs.

It owns its two sockets and the thread of its publisher between `start` and `stop`. Slices, checkpoint and CDI specs of
prepared claims stay when it stops, so that running pods keep their devices (rule NV-014).
"""

from __future__ import annotations

from contextlib import ExitStack

from dra_api.client import KubeClient
from dra_api.clock import Clock
from reference_impl.inventory_plugin.inventory import Inventory
from reference_impl.inventory_plugin.prepare import InventoryPreparer
from reference_impl.kubelet_plugin.node_service import ClaimStorage, publish, serve, slice_publisher, wait_published
from reference_impl.kubelet_plugin.options import KubeletPluginOptions
from reference_impl.kubelet_plugin.service import DriverService
from reference_impl.kubelet_plugin.slices import layout


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
        storage = ClaimStorage.of(self._client, options, clock=clock)
        self.preparer = InventoryPreparer(driver=options.driver_name, inventory=inventory, storage=storage)
        self.service = DriverService(claims=storage.claims, preparer=self.preparer)
        self.publisher = slice_publisher(self._client, options, clock=clock)

    def start(self) -> None:
        """Repair what a killed predecessor left, serve, register and publish. Raises ComponentError when it cannot."""
        options = self.options
        with ExitStack() as ending:
            options.make_data_dir()
            self.preparer.repair()
            serve(self.service, options, ending, clock=self._clock)
            publish(self.publisher, layout(self._inventory.devices, self._inventory.shared_counters), ending)
            self._ending = ending.pop_all()
        wait_published(self.publisher, self.name)

    def stop(self) -> None:
        """Leave the kubelet and end all threads; prepared claims and slices stay. Idempotent."""
        ending, self._ending = self._ending, None
        if ending is not None:
            ending.close()
