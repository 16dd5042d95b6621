"""A node with fake GPUs on an embedded control plane: what the tests of both kubelet plugins share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

import fake_nvml
from apiserver_emulator.emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.component import Component
from dra_api.informer import Informer
from dra_api.objects import COMPUTE_DOMAINS, CRDS, NODES, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj, Resource
from dra_api.rpc import V1, ClaimRef, DRAPluginClient
from reference_impl.kubelet_plugin.options import FeatureGates, KubeletPluginOptions
from reference_impl.kubelet_plugin.plugin import KubeletPlugin

ROOT = Path(__file__).resolve().parents[2]


class Bench:
    """One control plane, one clock, any number of nodes with their folders."""

    def __init__(self, base: Path, plane: ApiServerEmulator, clock: AdvanceableClock) -> None:
        self.base = base
        self.plane = plane
        self.clock = clock
        self.client = KubeClient(plane.transport(), user_agent="test", namespace="default")
        self.components: list[Component] = []
        self.machines: dict[str, fake_nvml.Node] = {}
        self._informers: dict[Resource, Informer] = {}

    # -- life ------------------------------------------------------------------------------------------------------

    def run(self, component: Component) -> None:
        self.components.append(component)
        component.start()

    def close(self) -> None:
        for component in reversed(self.components):
            component.stop()
        for informer in self._informers.values():
            informer.stop()
        for machine in self.machines.values():
            machine.close()

    # -- nodes and plugins -----------------------------------------------------------------------------------------

    def node(self, name: str, inventory: str = "dgx-h100") -> fake_nvml.Node:
        self.client.create(NODES, {"metadata": {"name": name}})
        machine = self.machines[name] = fake_nvml.Node.create(inventory, self.base / name / "machine")
        return machine

    def options(self, node: str, **changes: Any) -> KubeletPluginOptions:
        base = self.base / node
        settings: dict[str, Any] = {
            "node_name": node,
            "plugins_dir": base / "p",
            "registrar_dir": base / "r",
            "cdi_root": base / "cdi",
            "driver_root": self.machines[node].driver_root,
            "resync_delay": 0.05,
            **changes,
        }
        return KubeletPluginOptions(**settings)

    def gpu_plugin(self, node: str, *, health: bool = True, **changes: Any) -> KubeletPlugin:
        made = KubeletPlugin(
            self.client,
            clock=self.clock,
            nvml=fake_nvml.load_pynvml(self.machines[node]),
            options=self.options(node, gates=FeatureGates(NVMLDeviceHealthCheck=health), **changes),
        )
        self.run(made)
        return made

    @contextmanager
    def kubelet(self, node: str, driver: str = "gpu.nvidia.com", *, version: str = V1) -> Iterator[DRAPluginClient]:
        client = DRAPluginClient(self.base / node / "p" / driver / "dra.sock", version)
        try:
            yield client
        finally:
            client.close()

    # -- objects ---------------------------------------------------------------------------------------------------

    def crds(self) -> None:
        for name in ("computedomains", "computedomaincliques"):
            self.client.create(CRDS, yaml.safe_load((ROOT / f"fixtures/crds/{name}.yaml").read_text()))
        assert self.eventually(lambda: self.client.serves(COMPUTE_DOMAINS))

    def claim(
        self,
        name: str,
        *devices: str,
        node: str = "n1",
        driver: str = "gpu.nvidia.com",
        namespace: str = "default",
        config: list[Obj] | None = None,
        **result: Any,
    ) -> ClaimRef:
        """An allocated claim, as scheduler and binder leave it."""
        spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "any"}}]}}
        made = self.client.create(RESOURCE_CLAIMS, {"metadata": {"name": name, "namespace": namespace}, "spec": spec})
        results = [{"request": "r", "driver": driver, "pool": node, "device": device, **result} for device in devices]
        if results:
            devices_part: Obj = {"results": results}
            if config:
                devices_part["config"] = config
            self.client.update_status(RESOURCE_CLAIMS, {**made, "status": {"allocation": {"devices": devices_part}}})
        return ClaimRef(namespace, made["metadata"]["uid"], name)

    def slices(self, driver: str = "gpu.nvidia.com") -> list[Obj]:
        found = self.client.list(RESOURCE_SLICES).items
        return [obj for obj in found if obj["spec"]["driver"] == driver]

    # -- waiting ---------------------------------------------------------------------------------------------------

    def watch(self, resource: Resource) -> Informer:
        if resource not in self._informers:
            informer = self._informers[resource] = Informer(self.client, resource, clock=self.clock)
            informer.start()
            assert informer.wait_synced(10)
        return self._informers[resource]

    def eventually(self, predicate: Callable[[], object], resource: Resource = NODES, timeout: float = 60.0) -> bool:
        """Check again after every change of `resource`, and once at the end."""
        if predicate():
            return True
        return self.watch(resource).wait_for(lambda: bool(predicate()), timeout)


@contextmanager
def bench(base: Path, **settings: Any) -> Iterator[Bench]:
    """A bench with a control plane of its own."""
    clock = AdvanceableClock()
    with ApiServerEmulator(directory=base / "plane", clock=clock, https=False, **settings) as plane:
        made = Bench(base, plane, clock)
        try:
            yield made
        finally:
            made.close()
