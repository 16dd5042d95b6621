"""A control plane with few objects, and a transport that can fail: what the tests of binder and controllers share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import yaml

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient, NotFound
from dra_api.clock import AdvanceableClock
from dra_api.component import Component
from dra_api.informer import Informer
from dra_api.objects import (
    BIND_REQUESTS,
    CRDS,
    EVENTS,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    Resource,
    name_of,
)
from dra_api.releases import DEFAULT_RELEASE
from dra_api.transport import Response, Stream, Transport, TransportError

ROOT = Path(__file__).resolve().parents[2]
DRIVER = "gpu.example.com"

Fault = Callable[[str, str, Callable[[], Response]], Response]


def refusal(code: int, reason: str, message: str = "injected") -> Response:
    """An answer with a Status object."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    return Response(code, {}, orjson.dumps(body))


class FaultyTransport:
    """Forwards requests, unless `fault` returns a failure; records all writes."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.fault: Fault | None = None
        self.writes: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def request(self, method: str, path: str, **rest: Any) -> Response:
        def send() -> Response:
            return self.inner.request(method, path, **rest)

        if method != "GET" and "/events" not in path:
            with self._lock:
                self.writes.append((method, path))
        fault = self.fault
        return fault(method, path, send) if fault else send()

    def stream(self, path: str, **rest: Any) -> Stream | Response:
        return self.inner.stream(path, **rest)

    def close(self) -> None:
        return


def fail_times(count: int, method: str, suffix: str, answer: Callable[[], Response]) -> Fault:
    """A fault: the first `count` requests of `method` on paths that end in `suffix` get `answer`."""
    left = [count]

    def fault(seen: str, path: str, send: Callable[[], Response]) -> Response:
        if seen == method and path.endswith(suffix) and left[0] > 0:
            left[0] -= 1
            return answer()
        return send()

    return fault


def dead_after(writes: int) -> Fault:
    """A fault: the connection is gone for good after `writes` writes (events do not count)."""
    left = [writes]

    def fault(method: str, path: str, send: Callable[[], Response]) -> Response:
        if method != "GET" and "/events" not in path:
            left[0] -= 1
        if left[0] < 0:
            raise TransportError("connection refused (injected)")
        return send()

    return fault


class Cluster:
    """Objects in one namespace of one control plane, and waiting for what becomes of them."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.client = KubeClient(transport, user_agent="test", namespace="default")
        self.clock = AdvanceableClock()
        self._informers: dict[Resource, Informer] = {}
        self._components: list[Component] = []

    def close(self) -> None:
        for component in self._components:
            component.stop()
        for informer in self._informers.values():
            informer.stop()

    def run(self, component: Component) -> None:
        self._components.append(component)
        component.start()

    @contextmanager
    def running(self, component: Component) -> Iterator[None]:
        component.start()
        try:
            yield
        finally:
            component.stop()

    # -- making ----------------------------------------------------------------------------------------------------

    def install_bind_requests(self) -> None:
        crd = yaml.safe_load((ROOT / "fixtures/crds/bindrequests.yaml").read_text())
        self.client.create(CRDS, crd)
        assert self.eventually(lambda: self.client.serves(BIND_REQUESTS)), "the CRD is not served"

    def node(self, name: str = "n1", **labels: str) -> Obj:
        return self.client.create(NODES, {"metadata": {"name": name, "labels": labels}})

    def pod(
        self,
        name: str,
        *,
        claims: dict[str, str] | None = None,
        templates: dict[str, str] | None = None,
        node: str = "",
        **metadata: Any,
    ) -> Obj:
        wanted = [{"name": key, "resourceClaimName": value} for key, value in (claims or {}).items()]
        wanted += [{"name": key, "resourceClaimTemplateName": value} for key, value in (templates or {}).items()]
        container: Obj = {"name": "c", "image": "busybox"}
        spec: Obj = {"containers": [container]}
        if wanted:
            spec["resourceClaims"] = wanted
            container["resources"] = {"claims": [{"name": item["name"]} for item in wanted]}
        if node:
            spec["nodeName"] = node
        return self.client.create(PODS, {"metadata": {"name": name, "namespace": "default", **metadata}, "spec": spec})

    def claim_spec(self) -> Obj:
        return {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}

    def claim(self, name: str, **metadata: Any) -> Obj:
        body = {"metadata": {"name": name, "namespace": "default", **metadata}, "spec": self.claim_spec()}
        return self.client.create(RESOURCE_CLAIMS, body)

    def template(self, name: str, **metadata: Any) -> Obj:
        spec: Obj = {"spec": self.claim_spec()}
        if metadata:
            spec["metadata"] = metadata
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
        return self.client.create(RESOURCE_CLAIM_TEMPLATES, body)

    def allocation(self, device: str = "gpu-0", *, node: str = "n1", pool: str = "", **result: Any) -> Obj:
        found = {"request": "r", "driver": DRIVER, "pool": pool or node, "device": device, **result}
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        return {"devices": {"results": [found]}, "nodeSelector": {"nodeSelectorTerms": [term]}}

    def allocate(self, name: str, allocation: Obj, *pods: Obj, protect: bool = True) -> Obj:
        """Write a claim's status as a scheduler would."""
        claim = self.client.get(RESOURCE_CLAIMS, name)
        if protect:
            claim["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
            claim = self.client.update(RESOURCE_CLAIMS, claim)
        status: Obj = {"allocation": allocation}
        if pods:
            status["reservedFor"] = [
                {"resource": "pods", "name": name_of(pod), "uid": pod["metadata"]["uid"]} for pod in pods
            ]
        return self.client.update_status(RESOURCE_CLAIMS, {**claim, "status": status})

    def bind_request(
        self,
        pod: str,
        node: str = "n1",
        *,
        allocations: dict[str, Obj | None] | None = None,
        name: str = "",
        owner: Obj | None = None,
        **spec: Any,
    ) -> Obj:
        metadata: Obj = {"name": name or pod, "namespace": "default", "labels": {"selected-node": node}}
        if owner is not None:
            uid = owner["metadata"]["uid"]
            metadata["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": name_of(owner), "uid": uid}]
        body: Obj = {"podName": pod, "selectedNode": node, "receivedResourceType": "Regular", **spec}
        if allocations is not None:
            body["resourceClaimAllocations"] = [
                {"name": key, **({"allocation": value} if value is not None else {})}
                for key, value in allocations.items()
            ]
        return self.client.create(BIND_REQUESTS, {"metadata": metadata, "spec": body})

    def slice(self, *devices: str, node: str = "n1", generation: int = 1, taints: Sequence[Obj] = ()) -> Obj:
        body = {
            "metadata": {"name": f"{node}-{generation}"},
            "spec": {
                "driver": DRIVER,
                "nodeName": node,
                "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
                "devices": [{"name": device, **({"taints": list(taints)} if taints else {})} for device in devices],
            },
        }
        return self.client.create(RESOURCE_SLICES, body)

    def run_pod(self, name: str, node: str = "n1") -> None:
        self.client.patch(PODS, name, {"status": {"phase": "Running"}}, subresource="status")

    def finish_pod(self, name: str, phase: str = "Succeeded") -> None:
        self.client.patch(PODS, name, {"status": {"phase": phase}}, subresource="status")

    # -- reading and waiting ---------------------------------------------------------------------------------------

    def get(self, resource: Resource, name: str) -> Obj:
        return self.client.get(resource, name)

    def gone(self, resource: Resource, name: str) -> bool:
        try:
            self.client.get(resource, name)
        except NotFound:
            return True
        return False

    def informer(self, resource: Resource) -> Informer:
        if resource not in self._informers:
            informer = self._informers[resource] = Informer(self.client, resource, clock=self.clock)
            informer.start()
            assert informer.wait_synced(5)
        return self._informers[resource]

    def wait(self, resource: Resource, name: str, predicate: Callable[[Obj], Any], timeout: float = 60.0) -> Obj:
        """The object once `predicate` holds for it; fails with the object that it is instead."""
        informer = self.informer(resource)
        namespace = "default" if resource.namespaced else ""

        def holds() -> bool:
            obj = informer.get(name, namespace)
            return obj is not None and bool(predicate(obj))

        assert informer.wait_for(holds, timeout), f"{resource} {name} is {informer.get(name, namespace)}"
        found = informer.get(name, namespace)
        assert found is not None
        return found

    def wait_gone(self, resource: Resource, name: str, timeout: float = 60.0) -> None:
        informer = self.informer(resource)
        namespace = "default" if resource.namespaced else ""
        assert informer.wait_for(lambda: informer.get(name, namespace) is None, timeout), f"{resource} {name} is there"

    def phase(self, name: str, phase: str, timeout: float = 60.0) -> Obj:
        return self.wait(BIND_REQUESTS, name, lambda obj: (obj.get("status") or {}).get("phase") == phase, timeout)

    def events(self, pod: str) -> list[tuple[str, str, str]]:
        return [
            (obj["type"], obj["reason"], obj["message"])
            for obj in self.client.list(EVENTS, "default").items
            if obj["involvedObject"]["name"] == pod
        ]

    def wait_event(self, pod: str, reason: str, *, text: str = "", timeout: float = 60.0) -> str:
        """Return the message of the last event of a pod for a reason that has the text, after waiting for one."""
        informer = self.informer(EVENTS)

        def found() -> list[str]:
            return [
                obj["message"]
                for obj in informer.list()
                if obj["involvedObject"]["name"] == pod and obj["reason"] == reason and text in obj["message"]
            ]

        assert informer.wait_for(lambda: bool(found()), timeout), f"no event {reason} on {pod}: {self.events(pod)}"
        return found()[-1]

    def eventually(self, predicate: Callable[[], bool], timeout: float = 60.0) -> bool:
        never = threading.Event()
        for _ in range(int(timeout / 0.02)):
            if predicate():
                return True
            never.wait(0.02)
        return predicate()

    def settle(self, seconds: float = 0.3) -> None:
        """Give the parts time to do what they should not."""
        threading.Event().wait(seconds)


def condition(pod: Obj, type_: str) -> Obj:
    """Return one condition of a pod; an empty dict if it has none."""
    return next((item for item in pod.get("status", {}).get("conditions") or () if item["type"] == type_), {})


@contextmanager
def emulated_cluster(
    directory: Path, *, nodes: Sequence[str] = (), bind_requests: bool = False, release: str = DEFAULT_RELEASE
) -> Iterator[Cluster]:
    """A cluster on an emulated API server of its own, with these nodes and on request the CRD of BindRequests."""
    plane = ApiServerEmulator(directory=directory, https=False, kubernetes_version=release)
    plane.start()
    found = Cluster(plane.transport())
    try:
        if bind_requests:
            found.install_bind_requests()
        for node in nodes:
            found.node(node, **{"kubernetes.io/hostname": node})
        yield found
    finally:
        found.close()
        plane.stop()
