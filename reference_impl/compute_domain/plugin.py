"""The kubelet plugin for `compute-domain.nvidia.com`, and the waiting that its claims need.

A channel claim labels its node, which starts an IMEX daemon there. Prepare waits for the daemon, within the timeout of
the kubelet. The plugin owns its threads and sockets between `start` and `stop`; slices and prepared
claims stay.

Source: cmd/compute-domain-kubelet-plugin driver.go at 95932046; rules NV-161, NV-162, NV-164, NV-383.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import ModuleType

from dra_api.client import KubeClient
from dra_api.clock import Clock
from dra_api.rpc import ClaimRef, PrepareResult
from reference_impl.compute_domain.channels import ChannelPreparer, published_devices
from reference_impl.compute_domain.fabric import Channels, clique_id
from reference_impl.compute_domain.host_imex import HostImex
from reference_impl.compute_domain.membership import Membership, PermanentError
from reference_impl.compute_domain.options import FabricGates, ImexOptions
from reference_impl.errors import ComponentError
from reference_impl.kubelet_plugin.cdi import CdiFolder
from reference_impl.kubelet_plugin.claims import AllocatedClaim, ClaimReader
from reference_impl.kubelet_plugin.discovery import Nvml
from reference_impl.kubelet_plugin.driver_root import DriverRoot
from reference_impl.kubelet_plugin.node_service import ClaimStorage, publish, serve, slice_publisher, wait_published
from reference_impl.kubelet_plugin.options import KubeletPluginOptions
from reference_impl.kubelet_plugin.service import DriverService
from reference_impl.kubelet_plugin.slices import layout
from reference_impl.loop import Loop

log = logging.getLogger(__name__)

_MIN_BACKOFF = 0.25
_MAX_BACKOFF = 3.0
_KEEP = "keep"
_READ_CLIQUE = "read clique"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeDomainPluginOptions:
    """Options of the ComputeDomain kubelet plugin.

    Arguments:
        node: folders and names; its `driver_name` is `compute-domain.nvidia.com`.
        gates: feature gates of this driver; those of `node` are the GPU driver's.
        imex: owner of the IMEX daemons.
        host_socket: control socket of the host's daemon, a path below the driver root.
        driver_namespace: namespace of the cliques.
        clique_id: the node's clique, instead of NVML's value; empty means no fabric.
        clique_label: whether the node shows its clique in the label nvidia.com/gpu.clique.
        patience: seconds that Prepare waits. Upstream waits 45 s and then leaves the claim out of its response, which a
            kubelet with the same timeout never receives; one second less delivers the reason.
    """

    node: KubeletPluginOptions
    gates: FabricGates
    imex: ImexOptions
    host_socket: str
    driver_namespace: str
    clique_id: str | None
    clique_label: bool = True
    patience: float = field(default=44.0)


class WaitingService(DriverService):
    """Tries the claims of a call again until each succeeded, failed for good, or time is up."""

    def __init__(
        self,
        *,
        claims: ClaimReader,
        preparer: ChannelPreparer,
        clock: Clock,
        patience: float,
        stopping: threading.Event,
    ) -> None:
        super().__init__(claims=claims, preparer=preparer)
        self._clock = clock
        self._patience = patience
        self._stopping = stopping
        self._changed = threading.Condition()
        self._changes = 0

    def changed(self) -> None:
        """Wake waiting claims after a change that may help them."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare claims; wait for those that may succeed later."""
        # Not in the loop: a claim that disappears while it waits is not a reason to fail the whole call.
        pending = [self._claims.fetch(reference) for reference in claims]
        answers: dict[str, PrepareResult] = {}
        deadline = self._clock.monotonic() + self._patience
        backoff = _MIN_BACKOFF
        while pending:
            # Read before the attempts, so that a change during an attempt ends the following wait at once.
            seen = self._changes
            waiting: list[tuple[AllocatedClaim, Exception]] = []
            for claim in pending:
                try:
                    answers[claim.uid] = PrepareResult(self._preparer.prepare(claim))
                except PermanentError as error:
                    answers[claim.uid] = self.failed(claim, error)
                except Exception as error:
                    waiting.append((claim, error))
            remaining = deadline - self._clock.monotonic()
            if not waiting or remaining <= 0 or self._stopping.is_set():
                answers |= {claim.uid: self.failed(claim, error) for claim, error in waiting}
                break
            pending = [claim for claim, _ in waiting]
            self._wait(seen, min(backoff, remaining))
            backoff = min(backoff * 2, _MAX_BACKOFF)
        return answers

    def failed(self, claim: AllocatedClaim, error: Exception) -> PrepareResult:
        """Return the result of a claim that could not be prepared."""
        log.warning("claim %s: %s", claim, error)
        return PrepareResult(error=f"error preparing devices for claim {claim}: prepare devices failed: {error}")

    def unprepare_one(self, reference: ClaimRef) -> str:
        """Undo one claim; others may have waited for its channel."""
        answer = super().unprepare_one(reference)
        self.changed()
        return answer

    def _wait(self, seen: int, seconds: float) -> None:
        deadline = self._clock.monotonic() + seconds
        with self._changed:
            while self._changes == seen and not self._stopping.is_set():
                if self._clock.monotonic() >= deadline:
                    return
                self._clock.condition_wait_until(self._changed, deadline)


class ComputeDomainPlugin:
    """A DRA driver for IMEX channels on one node. `nvml` has pynvml's names and may be None if `clique_id` is given."""

    _clique_id: str  # known from the start on

    def __init__(
        self, client: KubeClient, *, clock: Clock, nvml: ModuleType | None, options: ComputeDomainPluginOptions
    ) -> None:
        node = options.node
        self.name = f"compute-domain plugin {node.driver_name} on {node.node_name}"
        self.options = options
        self._clock = clock
        self._client = client
        self._nvml = nvml
        self._ending = ExitStack()
        root = DriverRoot(node.driver_root)
        storage = ClaimStorage.of(self._client, node, clock=clock)
        self._channels = Channels(root)
        self.membership = Membership(
            self._client,
            clock=clock,
            node_name=node.node_name,
            driver_namespace=options.driver_namespace,
            clique_id=lambda: self._clique_id,
            on_change=self._changed,
        )
        self._keeper: Loop[str] = Loop(
            self.name, self._keep, informers=self.membership.informers, clock=clock, workers=1, base_delay=1.0
        )
        self.preparer = ChannelPreparer(
            driver=node.driver_name,
            data_dir=node.data_dir,
            clock=clock,
            storage=storage,
            base_cdi=CdiFolder(node.cdi_root, vendor=f"k8s.{node.driver_name}", cdi_class="device"),
            root=root,
            channels=self._channels,
            membership=self.membership,
            host_imex=HostImex(root, socket=options.host_socket) if options.imex.host_managed else None,
            clique_id=lambda: self._clique_id,
        )
        self.service = WaitingService(
            claims=storage.claims,
            preparer=self.preparer,
            clock=clock,
            patience=options.patience,
            stopping=self._keeper.stopping,
        )
        self.publisher = slice_publisher(self._client, node, clock=clock)

    def start(self) -> None:
        """Find the clique, repair, serve, register and publish. Raises ComponentError if the fabric is unusable."""
        node = self.options.node
        with ExitStack() as ending:
            node.make_data_dir()
            self._channels.check()
            self._clique_id = self.find_clique()
            self.preparer.repair()
            # Before the sockets: a claim must find the informers filled.
            self._keeper.start()
            ending.callback(self._keeper.stop)
            self._keeper.queue.add(_KEEP)
            self._keeper.queue.add_after(_READ_CLIQUE, node.cleanup_interval)
            serve(self.service, node, ending, clock=self._clock)
            publish(self.publisher, layout(published_devices(host_managed=self.options.imex.host_managed)), ending)
            # Runs first at the end (last in, first out): the server waits for its calls.
            ending.callback(self._end_waits)
            self._ending = ending.pop_all()
        wait_published(self.publisher, self.name)

    def stop(self) -> None:
        """Leave the kubelet and end all threads; prepared claims, slices and labels stay. Idempotent."""
        self._ending.close()

    def find_clique(self) -> str:
        """Return the node's clique, from the options or else from NVML."""
        if self.options.clique_id is not None or self._nvml is None:
            return self.options.clique_id or ""
        nvml = Nvml(self._nvml)
        nvml.open()
        try:
            return clique_id(nvml, strict=self.options.gates.CrashOnNVLinkFabricErrors)
        finally:
            nvml.close()

    def _changed(self) -> None:
        self.service.changed()

    def _end_waits(self) -> None:
        self._keeper.stopping.set()
        self.service.changed()

    def _keep(self, key: str) -> None:
        """Show the clique on the Node, which may not exist yet, and clean up and read the clique from time to time."""
        if key == _READ_CLIQUE:
            self._read_clique()
        else:
            self.preparer.clean_stale()
        if self.options.clique_label:
            self.membership.show_clique(self._clique_id)
        self._keeper.queue.add_after(key, self.options.node.cleanup_interval)

    def _read_clique(self) -> None:
        """Take over the clique that NVML reports now; keep the last one if the fabric fails or is gone."""
        try:
            found = self.find_clique()
        except ComponentError as error:
            log.warning("%s: the clique stays %r: %s", self.name, self._clique_id, error)
            return
        if found and found != self._clique_id:
            log.info("%s: the clique changed from %r to %r", self.name, self._clique_id, found)
            self._clique_id = found
