"""Nodes that move one by one from a device plugin to DRA while pods with `nvidia.com/gpu: 1` use all of them.

Every device is offered by the node's plugin first, and by its DRA driver after the move; the spec of the pods stays the
same, because a class has the name of the resource. A node is cordoned and drained, its plugin ends, its driver starts,
and pods return. The last step moves one node back. A drained pod is created again at once, as by its controller.

What must hold is checked meanwhile: no device is given out twice, by either side, no pod is refused by a kubelet, and
in the end all pods run.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_api.client import KubeClient, NotFound
from dra_api.clock import Clock, RealClock
from dra_api.component import Component
from dra_api.informer import Change, Informer
from dra_api.objects import DEVICE_CLASSES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj, name_of
from dra_api.rpc import ClaimRef, PluginServer, PreparedDevice, PrepareResult
from dra_api.rpc.device_plugin import ContainerAllocation, PluginDevice
from dra_api.rpc.pod_resources import PodResourcesClient
from dra_conformance.components.scripted_device_plugin import ScriptedDevicePlugin
from dra_conformance.kubelet import Kubelet
from reference_impl.claim_controller import ClaimController
from reference_impl.scheduler import Scheduler, SchedulerOptions
from verification.benchmarks.cluster import embedded
from verification.benchmarks.figures import Figure

RESOURCE = "nvidia.com/gpu"
DRIVER = "gpu.bench.dra.test"
_SECONDS = 120.0


@dataclass(slots=True)
class Outcome:
    """What a measurement found.

    `seconds` and `processor`: wall time and processor time of each part, all components included. `by_claim`: the pods
    that a claim serves after the move. `problems`: what went wrong.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    by_claim: int = 0


class _Plugin(ScriptedDevicePlugin):
    """A device plugin that reports each Allocate before it answers."""

    allocating: Callable[[Sequence[str]], None]

    def allocate(self, containers: Sequence[Sequence[str]]) -> Sequence[ContainerAllocation]:
        self.allocating([one for ids in containers for one in ids])
        return super().allocate(containers)


class _Driver:
    """A DRA driver that prepares what is allocated on its node, and reports it before it answers."""

    def __init__(self, client: KubeClient, node: str, preparing: Callable[[str, Sequence[str]], None]) -> None:
        self._client = client
        self._node = node
        self._preparing = preparing
        # The kubelet's calls for several pods come at the same time.
        self._lock = threading.Lock()
        self._prepared: dict[str, tuple[str, ...]] = {}

    def prepared(self, *, besides: str = "") -> Counter[str]:
        """Return the devices that are prepared for claims, without those of one."""
        with self._lock:
            return Counter(one for uid, names in self._prepared.items() if uid != besides for one in names)

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        """Prepare the devices of the claims' allocations."""
        found = {}
        for claim in claims:
            allocation = self._client.get(RESOURCE_CLAIMS, claim.name, claim.namespace)["status"]["allocation"]
            results = [one for one in allocation["devices"]["results"] if one["pool"] == self._node]
            names = tuple(one["device"] for one in results)
            # First, so that of two claims with one device at least one finds the other.
            with self._lock:
                self._prepared[claim.uid] = names
            self._preparing(claim.uid, names)
            devices = tuple(PreparedDevice((one["request"],), one["pool"], one["device"], ()) for one in results)
            found[claim.uid] = PrepareResult(devices)
        return found

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        """Forget the claims."""
        with self._lock:
            for claim in claims:
                self._prepared.pop(claim.uid, None)
        return {claim.uid: "" for claim in claims}


class _Node:
    """One node: its kubelet, and the plugin or the driver that offers its devices."""

    def __init__(self, client: Callable[[str], KubeClient], clock: Clock, name: str, root: Path, devices: int) -> None:
        self.name = name
        self.devices = [f"gpu-{number}" for number in range(devices)]
        self.problems: list[str] = []
        self._client = client("admin")
        self._clock = clock
        self.kubelet = Kubelet(client("kubelet"), clock, name, root)
        folder = self.kubelet.device_plugins_dir = root / "dp"
        self.plugin = _Plugin(
            alias="gpu",
            resource=RESOURCE,
            folder=folder,
            registry=self.kubelet.registration_dir,
            cdi_root=self.kubelet.cdi_roots[0],
            clock=clock,
            poke=lambda: None,
        )
        self.plugin.allocating = self._on_allocate
        self.plugin.offer([PluginDevice(one) for one in self.devices])
        self.driver = _Driver(client("driver"), name, self._on_prepare)
        self._server = PluginServer(
            self.driver,
            DRIVER,
            self.kubelet.plugins_dir / "d" / "dra.sock",
            self.kubelet.registration_dir / "d-reg.sock",
        )

    # -- checks ----------------------------------------------------------------------------------------------------

    def _on_allocate(self, ids: Sequence[str]) -> None:
        """Devices of claims, and of other pods, are not for the plugin to give."""
        self._expect_free(ids, self.driver.prepared() + Counter(self.by_plugin()))

    def _on_prepare(self, uid: str, names: Sequence[str]) -> None:
        self._expect_free(names, self.driver.prepared(besides=uid) + Counter(self.by_plugin()))

    def _expect_free(self, names: Sequence[str], taken: Mapping[str, int]) -> None:
        self.problems += [f"{self.name}: {one} is given out twice" for one in names if taken.get(one)]

    def by_plugin(self) -> list[str]:
        """Return the devices of the plugin that pods have, as the kubelet's PodResources API says."""
        client = PodResourcesClient(self.kubelet.pod_resources_socket, clock=self._clock)
        with contextlib.closing(client) as api:
            return [
                one
                for pod in api.list_pods()
                for container in pod.containers
                for devices in container.devices
                for one in devices.ids
            ]

    # -- moves -----------------------------------------------------------------------------------------------------

    def start_plugin(self) -> None:
        """Start the device plugin; return when the Node shows its devices."""
        self.plugin.serve()
        if error := self.plugin.register():
            self.problems.append(f"{self.name}: the plugin is refused: {error}")
        self._wait_allocatable(len(self.devices))

    def stop_plugin(self) -> None:
        """End the device plugin; return when the Node shows no device of it."""
        self.plugin.stop()
        self._wait_allocatable(0)

    def start_driver(self) -> None:
        """Start the DRA driver and publish its devices."""
        self._server.start()
        self.kubelet.wait_registered(DRIVER)
        slice_spec = {
            "driver": DRIVER,
            "nodeName": self.name,
            "pool": {"name": self.name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": one} for one in self.devices],
        }
        self._client.create(RESOURCE_SLICES, {"metadata": {"name": f"{self.name}-gpus"}, "spec": slice_spec})

    def stop_driver(self) -> None:
        """Withdraw the devices and end the DRA driver."""
        self._client.delete(RESOURCE_SLICES, f"{self.name}-gpus")
        self._server.stop()

    def cordon(self, on: bool) -> None:
        """Let no further pod on the node, or let them return."""
        self._client.patch(NODES, self.name, {"spec": {"unschedulable": on or None}}, kind="merge")

    def _wait_allocatable(self, wanted: int) -> None:
        def shown() -> bool:
            status = self._client.get(NODES, self.name).get("status") or {}
            return int((status.get("allocatable") or {}).get(RESOURCE, 0)) == wanted

        _wait(shown, f"{self.name} shows {wanted} of {RESOURCE}")

    def end(self) -> None:
        """End all that the node runs."""
        self._server.stop()
        self.plugin.stop()
        self.kubelet.end()


class _Pods:
    """The pods of the measurement by name, kept as they change."""

    def __init__(self, client: KubeClient, clock: Clock) -> None:
        self.known: dict[str, Obj] = {}
        self.refused: list[str] = []
        self._client = client
        self._count = 0
        self._changed = threading.Condition()
        self._informer = Informer(client, PODS, clock=clock)
        self._informer.on_change(self._on_pod)

    def __enter__(self) -> _Pods:
        self._informer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._informer.stop()

    def create(self) -> None:
        """Create a further pod for one device."""
        self._count += 1
        limits = {RESOURCE: "1"}
        container = {"name": "main", "image": "pause", "resources": {"limits": limits, "requests": limits}}
        spec = {"containers": [container], "terminationGracePeriodSeconds": 30}
        self._client.create(
            PODS, {"metadata": {"name": f"pod-{self._count:05d}", "namespace": "default"}, "spec": spec}
        )

    def drain(self, node: str) -> None:
        """Delete the pods of a node and create others in their place; return when they are gone."""
        with self._changed:
            names = [name for name, pod in self.known.items() if pod["spec"].get("nodeName") == node]
        for name in names:
            with contextlib.suppress(NotFound):
                self._client.delete(PODS, name, "default")
            self.create()
        self.wait(lambda pods: not any(pod["spec"].get("nodeName") == node for pod in pods), f"{node} is drained")

    def wait_running(self, count: int) -> None:
        """Wait until so many pods run."""
        self.wait(lambda pods: sum(_phase(pod) == "Running" for pod in pods) == count == len(pods), f"{count} pods run")

    def wait(self, holds: Callable[[list[Obj]], bool], what: str) -> None:
        """Wait for a condition of all pods. Raises TimeoutError."""
        with self._changed:
            if not self._changed.wait_for(lambda: holds(list(self.known.values())), _SECONDS):
                phases = Counter(_phase(pod) for pod in self.known.values())
                raise TimeoutError(f"not within {_SECONDS:g} s: {what}; pods by phase: {dict(phases)}")

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        with self._changed:
            if change.type == "DELETED":
                self.known.pop(name_of(pod), None)
            else:
                self.known[name_of(pod)] = pod
            if _phase(pod) == "Failed" and not pod["metadata"].get("deletionTimestamp"):
                self.refused.append(f"{name_of(pod)}: {pod['status'].get('reason')}: {pod['status'].get('message')}")
            self._changed.notify_all()


def run(*, pods: int, nodes: int, devices: int) -> Outcome:
    """Fill the nodes with pods, move all of them to DRA, and one of them back."""
    outcome = Outcome()
    clock = RealClock()
    with embedded() as plane, tempfile.TemporaryDirectory(prefix="dra-b-") as folder, contextlib.ExitStack() as stack:

        def client(who: str) -> KubeClient:
            return KubeClient(plane.transport(), user_agent=who)

        admin = client("admin")
        spec: dict[str, Any] = {
            "extendedResourceName": RESOURCE,
            "selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}],
        }
        admin.create(DEVICE_CLASSES, {"metadata": {"name": "gpu"}, "spec": spec})
        parts: list[Component] = [
            ClaimController(client("claim-controller"), clock=clock),
            Scheduler(client("scheduler"), clock=clock, options=SchedulerOptions(publish="direct")),
        ]
        for part in parts:
            part.start()
            stack.callback(part.stop)
        ours = []
        for number in range(nodes):
            node = _Node(client, clock, f"node-{number:02d}", Path(folder) / f"{number}", devices)
            stack.callback(node.end)
            node.kubelet.start()
            node.start_plugin()
            ours.append(node)
        with _Pods(admin, clock) as seen:
            with _timed(outcome, "fill"):
                for _ in range(pods):
                    seen.create()
                seen.wait_running(pods)
            with _timed(outcome, "move"):
                for node in ours:
                    _move(seen, node, node.stop_plugin, node.start_driver)
                seen.wait_running(pods)
            outcome.by_claim = _by_claim(seen)
            if outcome.by_claim != pods:
                outcome.problems.append(f"a claim serves {outcome.by_claim} of {pods} pods after the move")
            with _timed(outcome, "rollback"):
                _move(seen, ours[0], ours[0].stop_driver, ours[0].start_plugin)
                seen.wait_running(pods)
            back = len(ours[0].by_plugin())
            if _by_claim(seen) + back != pods or not back:
                outcome.problems.append(f"{back} of the pods have devices of the plugin after the move back")
            outcome.problems += [f"refused: {one}" for one in seen.refused]
        outcome.problems += [one for node in ours for one in node.problems]
    return outcome


def _move(seen: _Pods, node: _Node, end: Callable[[], None], begin: Callable[[], None]) -> None:
    """Move a node from one side to the other, without its pods."""
    node.cordon(True)
    seen.drain(node.name)
    end()
    begin()
    node.cordon(False)


def _by_claim(seen: _Pods) -> int:
    return sum("extendedResourceClaimStatus" in pod["status"] for pod in seen.known.values())


def _phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def _wait(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {_SECONDS:g} s: {what}")
        time.sleep(0.01)  # a benchmark on real time; no single event says that all pods have got there


@contextlib.contextmanager
def _timed(outcome: Outcome, part: str) -> Iterator[None]:
    began, used = time.monotonic(), time.process_time()
    yield
    outcome.seconds[part] = time.monotonic() - began
    outcome.processor[part] = time.process_time() - used


def figures() -> list[Figure]:
    """500 pods on 16 nodes of 32 devices: moved to DRA node by node, and one node back."""
    found = run(pods=500, nodes=16, devices=32)
    for problem in found.problems:
        print(f"  WRONG: {problem}")
    parts = {
        "fill": ("500 pods run with devices of plugins", ""),
        "move": ("16 nodes of 32 devices move to DRA, all pods run again", "< 30"),
        "rollback": ("one node moves back, all pods run again", ""),
    }
    return [
        Figure(what, "s", [found.seconds[part]], aim=aim, note=f"processor time {found.processor[part]:.1f} s")
        for part, (what, aim) in parts.items()
    ]
