"""A scheduler on the embedded API server, for tests: objects in, decisions out."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from apiserver_emulator import ApiServerEmulator
from dra_api.client import KubeClient
from dra_api.clock import RealClock
from dra_api.informer import Informer
from dra_api.objects import (
    BIND_REQUESTS,
    CRDS,
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
    Resource,
    name_of,
)
from reference_impl.scheduler import Scheduler, SchedulerOptions

CRD = Path(__file__).parents[2] / "fixtures" / "crds" / "bindrequests.yaml"
NAMESPACE = "ns"


class SchedulingCluster:
    """An API server with the BindRequest CRD, one namespace, and helpers to write and to wait."""

    def __init__(self, plane: ApiServerEmulator, *, bind_requests: bool) -> None:
        self.plane = plane
        self.clock = RealClock()
        self.client = KubeClient(plane.transport(), user_agent="test")
        if bind_requests:
            self.client.create(CRDS, yaml.safe_load(CRD.read_text()))
        self.client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        self._informers: dict[Resource, Informer] = {}

    def follow(self, resource: Resource) -> Informer:
        if resource not in self._informers:
            informer = Informer(self.client, resource, clock=self.clock)
            informer.start()
            assert informer.wait_synced(10)
            self._informers[resource] = informer
        return self._informers[resource]

    def close(self) -> None:
        for informer in self._informers.values():
            informer.stop()

    def nodes(self, *names: str, **status: Obj) -> None:
        for name in names:
            made = self.client.create(NODES, {"metadata": {"name": name}})
            if status:
                self.client.update_status(NODES, {**made, "status": status})

    def create(self, *objects: Obj) -> list[Obj]:
        resources = {
            "ResourceClaim": RESOURCE_CLAIMS,
            "ResourceSlice": RESOURCE_SLICES,
            "DeviceClass": DEVICE_CLASSES,
            "Pod": PODS,
        }
        return [self.client.create(resources[obj["kind"]], _without_uid(obj)) for obj in objects]

    def pod(self, name: str, *claims: str, **spec: object) -> Obj:
        return self.client.create(
            PODS,
            {
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {
                    "containers": [{"name": "c", "image": "i"}],
                    "resourceClaims": [{"name": claim, "resourceClaimName": claim} for claim in claims],
                    **spec,
                },
            },
        )

    def wait(self, resource: Resource, found: Callable[[list[Obj]], bool], *, timeout: float = 60.0) -> list[Obj]:
        informer = self.follow(resource)
        assert informer.wait_for(lambda: found(informer.list()), timeout), informer.list()
        return informer.list()

    def bind_request_of(self, pod: str, *, timeout: float = 60.0) -> Obj:
        def of_pod(requests: list[Obj]) -> list[Obj]:
            return [request for request in requests if request["spec"]["podName"] == pod]

        return of_pod(self.wait(BIND_REQUESTS, lambda requests: bool(of_pod(requests)), timeout=timeout))[0]

    def condition(self, pod: str, *, reason: str) -> str:
        """The message of the pod's PodScheduled=False condition once it has `reason`."""

        def message(pods: list[Obj]) -> str:
            for obj in pods:
                for condition in obj["status"].get("conditions") or () if name_of(obj) == pod else ():
                    if (condition["type"], condition.get("reason")) == ("PodScheduled", reason):
                        return str(condition["message"])
            return ""

        return message(self.wait(PODS, lambda pods: bool(message(pods))))

    def event(self, pod: str, reason: str) -> str:
        def message(events: list[Obj]) -> str:
            return next(
                (e["message"] for e in events if e["reason"] == reason and e["involvedObject"]["name"] == pod), ""
            )

        return message(self.wait(EVENTS, lambda events: bool(message(events))))


def _without_uid(obj: Obj) -> Obj:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "uid"}}


@contextlib.contextmanager
def scheduling_cluster(*, bind_requests: bool = True, https: bool = False) -> Iterator[SchedulingCluster]:
    with tempfile.TemporaryDirectory() as directory:
        plane = ApiServerEmulator(directory=Path(directory), seed=1, https=https)
        plane.start()
        cluster = SchedulingCluster(plane, bind_requests=bind_requests)
        try:
            yield cluster
        finally:
            cluster.close()
            plane.stop()


@contextlib.contextmanager
def running(cluster: SchedulingCluster, **options: object) -> Iterator[Scheduler]:
    client = KubeClient(cluster.plane.transport(), user_agent="scheduler")
    scheduler = Scheduler(client, clock=cluster.clock, options=SchedulerOptions(**options))  # type: ignore[arg-type]
    try:
        scheduler.start()
        yield scheduler
    finally:
        scheduler.stop()
        client.transport.close()
