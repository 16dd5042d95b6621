"""Devices that a node offers, or pods use, both by a device plugin and by DRA, as the allocation checker finds them."""

from __future__ import annotations

from dra_api.objects import PODS, Obj
from dra_conformance.engine.vocabulary import then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.oracle import double_offers, double_uses
from dra_conformance.oracle.live import read_cluster


def _offered(world: World, node: str) -> list[str]:
    """Return the resources that a node offers in both ways."""
    found = double_offers(read_cluster(world.client))
    return sorted(one.resource for one in found if one.node == world.name(node))


@then('node "{node}" offers "{resource}" both by a device plugin and by DRA')
def _(world: World, node: str, resource: str) -> None:
    """The node has some of the resource allocatable, and free devices of a class with that resource name."""
    wanted = world.text(resource)
    seen = _offered(world, node)
    world.check(wanted in seen, "resources that are offered twice", expected=[wanted], observed=seen)


@then('node "{node}" offers "{resource}" by DRA only')
def _(world: World, node: str, resource: str) -> None:
    """The node has no device plugin for the resource, or one without devices."""

    def look() -> Seen[list[str]]:
        seen = _offered(world, node)
        return world.text(resource) not in seen, seen

    world.eventually("resources that are offered twice", look, expected=[])


@when('the kubelet reports the devices "{devices}" of "{resource}" in the status of pod "{pod}"')
def _(world: World, devices: str, resource: str, pod: str) -> None:
    """Write `allocatedResourcesStatus` of the pod's first container, as the kubelet of a node with a plugin does."""
    health = [{"resourceID": device, "health": "Healthy"} for device in words(devices)]

    def change(obj: Obj) -> None:
        container = obj["spec"]["containers"][0]
        obj["status"]["containerStatuses"] = [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "allocatedResourcesStatus": [{"name": world.text(resource), "resources": health}],
            }
        ]

    world.update(PODS, pod, change, subresource="status")


@then('device "{device}" of "{node}" is used by pod "{pod}" and by claim "{claim}"')
def _(world: World, device: str, node: str, pod: str, claim: str) -> None:
    """The pod has the device through a device plugin, and the claim has it too."""
    wanted = (f"{world.namespace}/{pod}", f"{world.namespace}/{claim}", device)
    found = double_uses(read_cluster(world.client))
    seen = [(one.pod, one.claim, one.device.rpartition("/")[2]) for one in found if one.node == world.name(node)]
    world.check(wanted in seen, "devices that are used twice", expected=[wanted], observed=seen)
