"""Wiring that all kubelet plugins of the reference share: stored state, sockets and published slices of one node.

The functions start things and register their end with the caller's ExitStack; the plugin owns the result.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from dra_api.client import KubeClient
from dra_api.clock import Clock
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.checkpoint import Checkpoint, kernel_boot_id
from reference_impl.kubelet_plugin.claims import ClaimReader
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.liveness import serve_liveness
from reference_impl.kubelet_plugin.metadata import MetadataFiles
from reference_impl.kubelet_plugin.nodelock import NodeLock
from reference_impl.kubelet_plugin.options import KubeletPluginOptions
from reference_impl.kubelet_plugin.service import DriverService, sockets
from reference_impl.kubelet_plugin.slices import SliceContent, SlicePublisher

log = logging.getLogger(__name__)

_FIRST_PUBLICATION = 10.0  # seconds that start waits until the API server and the Node object exist


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStorage:
    """State of prepared claims on one node: API server, checkpoint, CDI specs, metadata for containers, and the lock
    around all changes.
    """

    claims: ClaimReader
    checkpoint: Checkpoint
    cdi: CdiFolder
    metadata: MetadataFiles
    lock: NodeLock

    @classmethod
    def of(cls, client: KubeClient, options: KubeletPluginOptions, *, clock: Clock) -> ClaimStorage:
        """Return the storage in the plugin's own folders; nothing is opened yet."""
        boot_id = kernel_boot_id(DriverRoot(options.driver_root).procfs)
        return cls(
            claims=ClaimReader(client),
            checkpoint=Checkpoint(options.data_dir / "checkpoint.json", boot_id=boot_id),
            cdi=CdiFolder(options.cdi_root, vendor=f"k8s.{options.driver_name}", cdi_class="claim"),
            metadata=MetadataFiles(
                driver=options.driver_name,
                folder=options.data_dir / "metadata",
                cdi_root=options.cdi_root,
                enabled=options.gates.DeviceMetadata,
            ),
            lock=NodeLock(options.data_dir / "pu.lock", clock=clock, timeout=options.lock_timeout),
        )


def slice_publisher(client: KubeClient, options: KubeletPluginOptions, *, clock: Clock) -> SlicePublisher:
    """Return the publisher of the node's pool, not yet started."""
    return SlicePublisher(
        client,
        clock=clock,
        driver=options.driver_name,
        node_name=options.node_name,
        resync_delay=options.resync_delay,
        annotations=options.annotations,
    )


def serve(service: DriverService, options: KubeletPluginOptions, ending: ExitStack, *, clock: Clock) -> None:
    """Serve liveness probes and both sockets until `ending`. Raises OptionError for unusable addresses."""
    serve_liveness(options, ending, clock=clock)
    server = sockets(service, options, clock=clock)
    server.start()
    ending.callback(server.stop)


def publish(publisher: SlicePublisher, content: Sequence[SliceContent], ending: ExitStack) -> None:
    """Publish `content` as the whole pool until `ending`."""
    publisher.publish(content)
    publisher.start()
    ending.callback(publisher.stop)


def wait_published(publisher: SlicePublisher, name: str) -> None:
    """Wait for the first publication; after the time limit the plugin goes on and publishes in the background."""
    if not publisher.wait_published(_FIRST_PUBLICATION):
        log.warning("%s: no slice published yet; does the Node object exist?", name)
