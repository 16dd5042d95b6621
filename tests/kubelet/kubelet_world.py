"""A node with a small driver of its own, on a fake API server."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from fake_kube_api import FakeApi

from dra_api.client import KubeClient
from dra_api.clock import AdvanceableClock
from dra_api.objects import PODS
from dra_api.rpc import ClaimRef, DeviceHealth, HealthFeed, PluginServer, PreparedDevice, PrepareResult
from dra_conformance.core.events import KubeletEvent
from dra_conformance.kubelet import Kubelet

NODE = "node-1"
DRIVER = "gpu.example.com"


class LogFollower:
    """The kubelet's events as mappings, and a way to wait for them."""

    def __init__(self) -> None:
        self.records: list[tuple[str, dict[str, Any]]] = []
        self.changed = threading.Condition()

    def __call__(self, event: KubeletEvent) -> None:
        data = msgspec.to_builtins(event)
        with self.changed:
            self.records.append((data.pop("kind"), data))
            self.changed.notify_all()

    def of(self, kind: str, **wanted: Any) -> list[dict[str, Any]]:
        with self.changed:
            return [
                data
                for name, data in self.records
                if name == f"kubelet-{kind}" and all(data.get(key) == value for key, value in wanted.items())
            ]

    def calls(self, method: str) -> list[list[str]]:
        """The claim names of each call of a method."""
        return [
            [claim["name"] for claim in data["request"]["claims"]]
            for data in self.of("call")
            if data["method"] == f"Node{method}Resources"
        ]

    def wait(self, true: Callable[[], Any], timeout: float = 60.0) -> Any:
        with self.changed:
            deadline = threading.Event()
            timer = threading.Timer(timeout, deadline.set)
            timer.start()
            try:
                while not (found := true()):
                    assert not deadline.is_set(), f"not within {timeout} s; log ends with {self.records[-6:]}"
                    self.changed.wait(0.02)
                return found
            finally:
                timer.cancel()


class Driver:
    """Prepares any claim with one CDI device a request, as told by the test."""

    def __init__(self, cdi: Path, name: str = DRIVER) -> None:
        self.name, self.cdi = name, cdi
        self.devices: dict[str, tuple[PreparedDevice, ...]] = {}
        self.prepare_error: dict[str, str] = {}
        self.unprepare_error: dict[str, str] = {}
        self.prepared: list[list[ClaimRef]] = []
        self.unprepared: list[list[ClaimRef]] = []
        self.answer: Mapping[str, PrepareResult] | None = None
        self.hold: threading.Event | None = None
        self.entered = threading.Event()
        self.write_spec = True

    def prepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, PrepareResult]:
        self.prepared.append(list(claims))
        self.entered.set()
        if self.hold is not None:
            self.hold.wait(60)
        if self.answer is not None:
            return self.answer
        return {claim.uid: self._one(claim) for claim in claims}

    def _one(self, claim: ClaimRef) -> PrepareResult:
        if error := self.prepare_error.get(claim.name):
            return PrepareResult(error=error)
        device = PreparedDevice(("gpu",), NODE, f"dev-{claim.name}", (f"{self.name}/gpu={claim.name}",), "share-1")
        devices = self.devices.get(claim.name, (device,))
        if self.write_spec:
            spec(self.cdi / f"{claim.name}.json", [i for d in devices for i in d.cdi_device_ids])
        return PrepareResult(devices)

    def unprepare(self, claims: Sequence[ClaimRef]) -> Mapping[str, str]:
        self.unprepared.append(list(claims))
        return {claim.uid: self.unprepare_error.get(claim.name, "") for claim in claims}


class HealthyDriver(Driver):
    def __init__(self, cdi: Path, name: str = DRIVER) -> None:
        super().__init__(cdi, name)
        self.feed = HealthFeed()

    def watch_health(self) -> Iterator[Sequence[DeviceHealth]]:
        return self.feed.watch_health()


def spec(path: Path, ids: Sequence[str]) -> None:
    if not ids:
        return
    kind = ids[0].split("=")[0]
    devices = [
        {
            "name": device_id.split("=")[1],
            "containerEdits": {
                "env": [f"DEVICE_{device_id.split('=')[1].replace('-', '_').upper()}=1"],
                "deviceNodes": [{"path": f"/dev/{device_id.split('=')[1]}"}],
            },
        }
        for device_id in dict.fromkeys(ids)
    ]
    common = {"env": ["COMMON=yes"], "mounts": [{"hostPath": "/opt/lib", "containerPath": "/usr/lib/vendor"}]}
    document = {"cdiVersion": "0.6.0", "kind": kind, "devices": devices, "containerEdits": common}
    path.write_text(json.dumps(document))


class World:
    """One node, its API server and everything that must end with the test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.api = FakeApi()
        self.clock = AdvanceableClock()
        self.log = LogFollower()
        self.servers: list[PluginServer] = []
        self.kubelet = self.make()

    def make(self, **options: Any) -> Kubelet:
        client = KubeClient(self.api, user_agent="kubelet")
        self.kubelet = Kubelet(client, self.clock, NODE, self.root, log=self.log, **options)
        return self.kubelet

    def serve(self, driver: Driver, *, instance: str = "", start: bool = True, **options: Any) -> PluginServer:
        server = PluginServer(
            driver,
            driver.name,
            self.kubelet.plugins_dir / f"{driver.name}{instance}.sock",
            self.kubelet.registration_dir / f"{driver.name}{instance}-reg.sock",
            **options,
        )
        self.servers.append(server)
        if start:
            server.start()
        return server

    def driver(self, kind: type[Driver] = Driver, name: str = DRIVER) -> Driver:
        driver = kind(self.kubelet.cdi_roots[0], name)
        self.serve(driver)
        self.kubelet.wait_registered(name)
        self.wait_connected(name)
        return driver

    def wait_connected(self, name: str = DRIVER) -> None:
        self.log.wait(lambda: any(instance.connected for instance in self.kubelet.plugins.instances(name)))

    def claim(self, name: str, *pods: str, driver: str = DRIVER, uid: str = "", **result: Any) -> dict[str, Any]:
        """An allocated claim, reserved for pods by name (their uid is `uid-<name>`)."""
        results = [
            {"driver": d, "pool": NODE, "device": f"dev-{name}", "request": "gpu", **result} for d in driver.split()
        ]
        return self.api.put(
            "resourceclaims",
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": name, "namespace": "default", "uid": uid or f"uid-claim-{name}"},
                "spec": {},
                "status": {
                    "allocation": {"devices": {"results": results}},
                    "reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"} for pod in pods],
                },
            },
        )

    def pod(self, name: str, *claims: str, uses: Sequence[str] | None = None, **more: Any) -> dict[str, Any]:
        """A pod bound to the node; container `main` uses all claims, or `uses` as `claim` or `claim/request`."""
        wanted = []
        for use in claims if uses is None else uses:
            claim, _, request = use.partition("/")
            wanted.append({"name": claim, **({"request": request} if request else {})})
        return self.api.put(
            "pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "namespace": "default", "uid": more.pop("uid", f"uid-{name}")},
                "spec": {
                    "nodeName": NODE,
                    "containers": [{"name": "main", "image": "i", "resources": {"claims": wanted}}],
                    "resourceClaims": [{"name": claim, "resourceClaimName": claim} for claim in claims],
                    **more,
                },
                "status": {"phase": "Pending"},
            },
        )

    def status(self, pod: str) -> dict[str, Any]:
        found = self.api.get("pods", pod)
        return dict(found["status"]) if found else {}

    def phase(self, pod: str) -> str:
        return str(self.status(pod).get("phase", "gone"))

    def wait_phase(self, pod: str, phase: str) -> None:
        self.log.wait(lambda: self.phase(pod) == phase)

    def delete(self, pod: str) -> None:
        KubeClient(self.api).delete(PODS, pod, "default")

    def slice(self, name: str, *, node: str | None = NODE, driver: str = DRIVER) -> None:
        where = {"nodeName": node} if node else {"allNodes": True}
        self.api.put("resourceslices", {"metadata": {"name": name}, "spec": {"driver": driver, **where}})

    def slices(self) -> list[str]:
        return [item["metadata"]["name"] for item in self.api.all("resourceslices")]

    def close(self) -> None:
        for server in self.servers:
            server.stop(grace=0)
        self.kubelet.stop()
        self.api.close()
