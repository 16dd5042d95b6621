"""A probe that shows that a binder has observed what the scenario wrote.

A binder reads pods, nodes and BindRequests through one informer each, and these lag independently: a BindRequest may
reach it before the pod that was created earlier. A correct binder fails such a BindRequest, for good if it has no
backoffLimit. A scheduler never writes one that early, because it has observed the pod itself. So the harness first lets
the binder bind a probe, whose pod and node are newer than everything that the scenario wrote.

Source: client-go, tools/cache (one reflector for each resource); KAI-Scheduler 0.12.0
pkg/binder/controllers/bindrequest_controller.go (pod and node from the cache, "not found" is a failed attempt).
"""

from __future__ import annotations

from dataclasses import dataclass

from dra_api.objects import BIND_REQUESTS, NODES, PODS, Obj
from dra_conformance.core.component_spec import ComponentSpec
from dra_conformance.engine.world import World
from dra_conformance.steps.pods import BY_HAND, add_pod, look_bound, pod_object

_RETRIES = 10


@dataclass(slots=True)
class Signs:
    """The number of probes of a scenario, and its creations before the newest of them."""

    made: int = 0
    created: int = 0


def wanted(binder: ComponentSpec, *, control_plane: str, late_watches: bool) -> bool:
    """Return whether only the binder itself can show what it has observed."""
    if binder.in_process:
        # The emulator knows which watches of this process have delivered, unless they are late on purpose.
        return late_watches or control_plane != "embedded"
    return binder.kind in ("exec", "reference")


def wait_observed(world: World) -> None:
    """Wait until the binder has observed all earlier creations of the scenario, if its watches may be late.

    Returns at once if nothing is new, for other binders, and in scenarios with faults, which would break the probe; and
    after the run's patience if the binder does not bind the probe: the steps that follow judge why.
    """
    signs, options = world.state(Signs), world.run.options
    control_plane = options.component("control-plane").kind
    if (
        not wanted(options.component("binder"), control_plane=control_plane, late_watches=bool(options.lag()))
        or "faults" in world.scenario.tags.needs
        or not world.components.running("binder")
        or signs.created == world.objects.created
    ):
        return
    signs.made += 1
    name = f"sign-{world.suffix}-{signs.made}"
    world.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    pod = add_pod(world, pod_object(world, name, [], scheduler=BY_HAND))
    world.create(request(name, world.namespace))
    world.wait(lambda: look_bound(world, name))
    world.client.delete_if_there(BIND_REQUESTS, name, world.namespace)
    world.client.delete_if_there(PODS, name, pod["metadata"]["namespace"])
    world.client.delete_if_there(NODES, name)
    signs.created = world.objects.created


def request(name: str, namespace: str) -> Obj:
    """Return the BindRequest of the probe. It may be early too, so that it has retries."""
    return {
        "apiVersion": BIND_REQUESTS.api_version,
        "kind": BIND_REQUESTS.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {"selected-node": name}},
        "spec": {
            "podName": name,
            "selectedNode": name,
            "receivedResourceType": "Regular",
            "receivedGPU": {"portion": "0.00"},
            "backoffLimit": _RETRIES,
        },
    }
