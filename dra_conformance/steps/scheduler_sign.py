"""A sign of a scheduler that it has observed what the scenario wrote, if its watches may be late.

Informers of different resources lag independently: a scheduler may receive a pod before a slice that was created
earlier. A pod would then be scheduled by an older state, and a correct scheduler would break a rule. So the harness
first lets the scheduler place a probe, whose node, slice, class and claim are newer than everything that the scenario
wrote. Each informer delivers its own resource in order; a scheduler that has placed the probe has observed the rest.

A DeviceTaintRule has no such effect: a scheduler that does not know the newest one gives a probe the device that this
rule taints. Probes follow until one of them gets its other device.

Source: client-go, tools/cache (one reflector for each resource), Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dra_api.allocations import results_of, results_of_allocation
from dra_api.objects import (
    BIND_REQUESTS,
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Obj,
)
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.invented_names import invented
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.references import requests_of, taint_rules
from dra_conformance.steps.scheduler_configuration import Configuration

TAINTED, CLEAN = "sign", "sign-too"
"""The devices of a probe; only a DeviceTaintRule makes a difference between them."""


@dataclass(slots=True)
class Signs:
    """The number of probes of a scenario, and its writes before the newest of them."""

    made: int = 0
    writes: int = 0


def wanted(
    *,
    scheduler: ComponentSpec,
    control_plane: str,
    components: tuple[str, ...],
    needs: tuple[str, ...],
    late_watches: bool,
) -> bool:
    """Return whether only the scheduler itself can show what it has observed."""
    if "scheduler" not in components or scheduler.kind in ("none", "cluster"):
        return False
    # Scenarios with faults break the probe too.
    if "faults" in needs:
        return False
    # The emulator knows which watches of this process have delivered; steps do not wait for those that are late on
    # purpose.
    return late_watches or not (scheduler.in_process and control_plane == "embedded")


def wait_observed(world: World, scheduler: str, metadata: Mapping[str, Obj]) -> None:
    """Wait until the scheduler under test has observed all earlier writes of the scenario.

    Returns at once if that is known already, and after the run's patience if the scheduler does not place the probe:
    the steps that follow judge why.

    Args:
        world: the scenario.
        scheduler: the schedulerName of the probe, or "".
        metadata: labels and annotations of the probe.
    """
    options, tags = world.run.options, world.scenario.tags
    signs = world.state(Signs)
    if signs.writes == world.objects.writes or not wanted(
        scheduler=options.component("scheduler"),
        control_plane=options.component("control-plane").kind,
        components=tags.components,
        needs=tags.needs,
        late_watches=bool(options.lag()),
    ):
        return
    # It observes everything when it starts.
    if "kai" in tags.needs and not world.components.running("scheduler"):
        return
    driver = ""
    if world.objects.has_created(DEVICE_TAINT_RULES):
        driver = invented(f"sign-{world.suffix}-{signs.made + 1}")
        world.create(taint_rule(taint_rules(world).api_version, driver))
    deadline = world.log.clock.monotonic() + world.run.patience
    while _place(world, signs, scheduler, metadata, driver) == TAINTED and driver:
        if world.log.clock.monotonic() > deadline:
            break
    if driver:
        world.client.delete_if_there(taint_rules(world), driver)
    signs.writes = world.objects.writes


def _place(world: World, signs: Signs, scheduler: str, metadata: Mapping[str, Obj], driver: str) -> str:
    """Let the scheduler place a probe, and delete it; return the device that it got, or "" if it was not placed."""
    signs.made += 1
    name = f"sign-{world.suffix}-{signs.made}"
    node, parts, pod = probe(name, world.namespace, driver=driver or invented(name))
    if scheduler:
        pod["spec"]["schedulerName"] = scheduler
    pod["metadata"].update(metadata)
    if world.state(Configuration).without_claims:
        del pod["spec"]["resourceClaims"]
    world.create(node)
    world.update(NODES, name, lambda stored: stored.update(status=node["status"]), subresource="status")
    for part in parts:
        world.create(part)
    world.create(pod)

    def look() -> Seen[str]:
        bound = bool(((world.seen(PODS, name) or {}).get("spec") or {}).get("nodeName"))
        return bound or bool(requests_of(world, name)), "not placed"

    world.wait(look)
    requests = requests_of(world, name)
    allocated = [one for request in requests for one in request["spec"].get("resourceClaimAllocations") or ()]
    results = results_of(world.seen(RESOURCE_CLAIMS, name))
    results += [result for one in allocated for result in results_of_allocation(one.get("allocation"))]
    for request in requests:
        world.client.delete_if_there(BIND_REQUESTS, request["metadata"]["name"], world.namespace)
    world.client.delete_if_there(PODS, name, world.namespace)
    for resource in (RESOURCE_SLICES, DEVICE_CLASSES, NODES):
        world.client.delete_if_there(resource, name)
    world.client.delete_if_there(RESOURCE_CLAIMS, name, world.namespace)
    # Steps that count BindRequests do not count this one.
    world.wait(lambda: (not requests_of(world, name), "still there"))
    return str(results[0].get("device")) if results else ""


def taint_rule(api_version: str, driver: str) -> Obj:
    """Return a DeviceTaintRule, of the driver's name, for the first device of each probe of the driver."""
    return {
        "apiVersion": api_version,
        "kind": DEVICE_TAINT_RULES.kind,
        "metadata": {"name": driver},
        "spec": {
            "deviceSelector": {"driver": driver, "device": TAINTED},
            "taint": {"key": "dra.test/sign", "effect": "NoSchedule"},
        },
    }


def probe(name: str, namespace: str, *, driver: str) -> tuple[Obj, list[Obj], Obj]:
    """Return a node, its slice with a class and a claim, and a pod that fits on this node only."""
    resources = {"cpu": "1", "memory": "1Gi", "pods": "1"}
    node: Obj = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        # Only the probe tolerates it, so that no pod of the scenario comes here.
        "spec": {"taints": [{"key": "dra.test/sign", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}],
        },
    }
    slice_: Obj = {
        "apiVersion": RESOURCE_SLICES.api_version,
        "kind": RESOURCE_SLICES.kind,
        "metadata": {"name": name},
        "spec": {
            "driver": driver,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [
                {"name": device, "attributes": {"dra.test/of": {"string": name}}} for device in (TAINTED, CLEAN)
            ],
        },
    }
    # Several probes can have one driver; each has the devices of its own slice only.
    own = f'device.driver == "{driver}" && device.attributes["dra.test"].of == "{name}"'
    device_class: Obj = {
        "apiVersion": DEVICE_CLASSES.api_version,
        "kind": DEVICE_CLASSES.kind,
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": own}}]},
    }
    claim: Obj = {
        "apiVersion": RESOURCE_CLAIMS.api_version,
        "kind": RESOURCE_CLAIMS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"devices": {"requests": [{"name": "sign", "exactly": {"deviceClassName": name}}]}},
    }
    pod: Obj = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "containers": [{"name": "sign", "image": "registry.k8s.io/pause:3.10"}],
            "resourceClaims": [{"name": "sign", "resourceClaimName": name}],
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
        },
    }
    return node, [slice_, device_class, claim], pod
