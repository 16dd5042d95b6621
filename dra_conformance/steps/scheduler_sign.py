"""A sign of a scheduler that it has observed what the scenario wrote, if its watches may be late.

Informers of different resources lag independently: a scheduler may receive a pod before a slice that was created
earlier. A pod would then be scheduled by an older state, and a correct scheduler would break a rule. So the harness
first lets the scheduler place a probe, whose node, slice, class and claim are newer than everything that the scenario
wrote. Each informer delivers its own resource in order; a scheduler that has placed the probe has observed the rest.

Source: client-go, tools/cache (one reflector for each resource), Kubernetes 1.36.
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import DEVICE_CLASSES, NODES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Obj
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.core.invented_names import invented
from dra_conformance.engine.world import World


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
    # Scenarios with faults break the probe too; BindRequests of a probe would be counted with those of the scenario.
    if "faults" in needs or "kai" in needs:
        return False
    # The emulator knows which watches of this process have delivered; steps do not wait for those that are late on
    # purpose.
    return late_watches or not (scheduler.in_process and control_plane == "embedded")


def wait_observed(world: World) -> None:
    """Wait until the scheduler under test has observed all earlier writes of the scenario.

    Returns at once if that is known already, and after the run's patience if the scheduler does not place the probe:
    the steps that follow judge why.
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
    signs.made += 1
    name = f"sign-{world.suffix}-{signs.made}"
    node, parts, pod = probe(name, world.namespace)
    if options.scheduler_name_of_pods:
        pod["spec"]["schedulerName"] = options.scheduler_name_of_pods
    pod["metadata"].update(labels=options.pod_labels, annotations=options.pod_annotations)
    world.create(node)
    world.update(NODES, name, lambda stored: stored.update(status=node["status"]), subresource="status")
    for part in parts:
        world.create(part)
    world.create(pod)
    world.wait(lambda: (bool(((world.seen(PODS, name) or {}).get("spec") or {}).get("nodeName")), "not placed"))
    world.client.delete_if_there(PODS, name, world.namespace)
    for resource in (RESOURCE_SLICES, DEVICE_CLASSES, NODES):
        world.client.delete_if_there(resource, name)
    world.client.delete_if_there(RESOURCE_CLAIMS, name, world.namespace)
    signs.writes = world.objects.writes


def probe(name: str, namespace: str) -> tuple[Obj, list[Obj], Obj]:
    """Return a node, its slice with a class and a claim, and a pod that fits on this node only."""
    driver = invented(name)
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
            "devices": [{"name": "sign"}],
        },
    }
    device_class: Obj = {
        "apiVersion": DEVICE_CLASSES.api_version,
        "kind": DEVICE_CLASSES.kind,
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]},
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
