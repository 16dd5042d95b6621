"""What lies on a node with the driver gpu.nvidia.com: its checkpoint, its lock, the driver root, sysfs, the CDI folder.

The files belong to the node of the scenario and go with it. Where a sentence breaks something, it says how.
"""

from __future__ import annotations

import fcntl
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from dra_api.objects import RESOURCE_CLAIMS, Obj, uid_of
from dra_conformance.core.errors import Untestable
from dra_conformance.engine.vocabulary import given, then, when, words
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.claims import claim_object, claim_spec, driver_class
from dra_conformance.steps.driver_calls import calls, prepare, reference_to, start_anew, succeeded
from dra_conformance.steps.gpu_driver import checkpoint

# -- the checkpoint ----------------------------------------------------------------------------------------------------


def rewrite(world: World, node: str, change: Callable[[Obj], None]) -> None:
    """Change the checkpoint of the stopped reference driver and mend its checksums."""
    from reference_impl.kubelet_plugin.checkpoint import checksum

    path = checkpoint(world, node)
    document = orjson.loads(path.read_bytes())
    change(document)
    if "v1" in document:
        document["checksum"] = checksum(document["v1"])
    if "v2" in document:
        document["v2"]["checksum"] = checksum({**document["v2"], "checksum": 0})
    path.write_bytes(orjson.dumps(document))


def entries(world: World, node: str) -> Obj:
    """The claims of the checkpoint, by uid."""
    document = orjson.loads(checkpoint(world, node).read_bytes())
    found: Obj = (document.get("v2") or {}).get("preparedClaims") or {}
    return found


@when('the checkpoint of the driver on "{node}" is of another boot')
def _(world: World, node: str) -> None:
    """Write another kernel's boot id into the checkpoint, checksums and all: what a reboot looks like."""
    rewrite(world, node, lambda document: document["v2"].update(nodeBootID="00000000-0000-0000-0000-000000000000"))


@when('the checkpoint of the driver on "{node}" has no boot id')
def _(world: World, node: str) -> None:
    """Take the boot id out of the checkpoint, as drivers wrote it that knew of none."""
    rewrite(world, node, lambda document: document["v2"].pop("nodeBootID"))


@when('the checkpoint of the driver on "{node}" has only its v1 part')
def _(world: World, node: str) -> None:
    """Leave only what the first version of the driver wrote."""
    rewrite(world, node, lambda document: document.pop("v2"))


@when('the checkpoint of the driver on "{node}" is cut in half')
def _(world: World, node: str) -> None:
    """Keep the first half of the file's bytes."""
    path = checkpoint(world, node)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@when('the checkpoint of the driver on "{node}" is empty')
def _(world: World, node: str) -> None:
    """Leave no byte in the file: what a power cut makes of a file that was never synced."""
    checkpoint(world, node).write_bytes(b"")


@when('the checkpoint of the driver on "{node}" is from the future')
def _(world: World, node: str) -> None:
    """Leave a part that this driver cannot know, and no other."""
    checkpoint(world, node).write_bytes(orjson.dumps({"checksum": 0, "v9": {"claims": []}}))


@when('the driver on "{node}" is started again')
def _(world: World, node: str) -> None:
    """Start the stopped driver; nothing is waited for."""
    start_anew(world, world.node(node))


@then('the checkpoint of the driver on "{node}" comes to be without claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """checkpoint.json comes to have no entry for the claim."""
    uid = reference_to(world, claim).uid

    def look() -> Seen:
        found = entries(world, node)
        return uid not in found, {key: entry.get("checkpointState") for key, entry in found.items()}

    world.eventually(f"claim {claim} is forgotten", look, expected=f"no entry {uid}")


@then('the checkpoint of the driver on "{node}" has the boot id of the kernel')
def _(world: World, node: str) -> None:
    """nodeBootID is that of /proc/sys/kernel/random/boot_id."""
    wanted = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    document = orjson.loads(checkpoint(world, node).read_bytes())
    found = (document.get("v2") or {}).get("nodeBootID")
    world.check(found == wanted, "boot id of the checkpoint", expected=wanted, observed=found)


@when('the claim "{claim}" is replaced by another of its name')
def _(world: World, claim: str) -> None:
    """Delete a claim, finalizers and all, and create one of the same name."""
    before = reference_to(world, claim).uid
    world.client.patch(RESOURCE_CLAIMS, claim, {"metadata": {"finalizers": None}}, world.namespace)
    world.client.delete(RESOURCE_CLAIMS, claim, world.namespace)
    world.require("the claim is gone", lambda: (uid_of(world.seen(RESOURCE_CLAIMS, claim) or {}) != before, before))
    world.create(claim_object(world, claim, claim_spec(driver_class(world))))
    world.settle()  # a driver that reads claims from a cache has to have heard of both


# -- files that cannot be written --------------------------------------------------------------------------------------


@when('the CDI folder of "{node}" cannot be written')
def _(world: World, node: str) -> None:
    """Put a plain file in the folder's place and the folder aside; its containers' specifications are kept."""
    root = world.node(node).kubelet.cdi_roots[0]
    if root.is_dir():
        root.rename(root.with_name(f"{root.name}-aside"))
    root.touch()


@when('the CDI folder of "{node}" can be written again')
def _(world: World, node: str) -> None:
    """Put the folder back."""
    root = world.node(node).kubelet.cdi_roots[0]
    root.unlink()
    aside = root.with_name(f"{root.name}-aside")
    if aside.is_dir():
        aside.rename(root)


@when('the disk of the driver on "{node}" is full')
def _(world: World, node: str) -> None:
    """Allow the driver's process no byte more in any file (RLIMIT_FSIZE): writes fail as on a full disk."""
    limit_files(world, node, 0)


@when('the disk of the driver on "{node}" has room again')
def _(world: World, node: str) -> None:
    """Lift that limit."""
    limit_files(world, node, resource.RLIM_INFINITY)


def limit_files(world: World, node: str, size: int) -> None:
    """Set the largest file, in bytes, that the driver's process may write. Raises Untestable where that is refused."""
    pid = world.node(node).driver_process.pid or 0
    try:
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))
    except (OSError, ValueError) as error:
        raise Untestable(f"the driver's process cannot be limited: {error}") from error


# -- the lock ----------------------------------------------------------------------------------------------------------


@given('the node lock of the driver on "{node}" is held by another process')
def _(world: World, node: str) -> None:
    """Lock pu.lock through an open file of our own, as a second plugin of the node does."""
    component = world.node(node)
    file = (component.kubelet.plugins_dir / component.driver_name / "pu.lock").open("a+")
    world.cleanup.callback(file.close)
    fcntl.flock(file, fcntl.LOCK_EX)
    world.memory["node-lock"] = file


@when('the node lock of the driver on "{node}" is let go')
def _(world: World, node: str) -> None:
    """Unlock it."""
    world.memory["node-lock"].close()


@when('claim "{claim}" is prepared on "{node}" while {seconds:d} seconds pass')
def _(world: World, claim: str, node: str, seconds: int) -> None:
    """Call NodePrepareResources, and let time pass second by second until it answers."""
    reference = reference_to(world, claim)
    done = threading.Event()

    def call() -> None:
        try:
            prepare(world, node, [reference])
        finally:
            done.set()

    before = len(calls(world).made)
    caller = threading.Thread(target=call, name="prepare", daemon=True)
    caller.start()
    for _second in range(seconds):
        if done.wait(0.02):
            break
        world.clock.advance(1)
    caller.join(world.run.patience)
    if len(calls(world).made) == before:
        raise Untestable(f"the driver did not answer within {seconds} seconds")
    succeeded(world, calls(world).last, claim)


# -- the driver root and sysfs -----------------------------------------------------------------------------------------


@given('the driver libraries of "{node}" are gone')
def _(world: World, node: str) -> None:
    """Take the libraries that carry the driver's version out of the driver root."""
    for path in libraries(world, node):
        path.rename(path.with_name(f"aside-{path.name}"))


@when('the driver libraries of "{node}" are there again')
def _(world: World, node: str) -> None:
    """Put them back."""
    for path in (world.node(node).gpus.driver_root / "usr/lib64").glob("aside-*"):
        path.rename(path.with_name(path.name.removeprefix("aside-")))


def libraries(world: World, node: str) -> list[Path]:
    """The libraries of a node's driver root that are named after the driver's version."""
    folder: Path = world.node(node).gpus.driver_root / "usr/lib64"
    return [path for path in folder.glob("lib*.so.*") if not path.is_symlink()]


def sysfs_of(world: World, node: str, gpu: int) -> Path:
    """The link of a GPU in sysfs."""
    component = world.node(node)
    bus = component.gpus.gpus[gpu].bus_id.lower()[4:]
    link: Path = component.gpus.driver_root / "sys/bus/pci/devices" / bus
    if not link.is_symlink():
        raise Untestable(f"the fake node has no {link}")
    return link


@given('sysfs on "{node}" has no entry for GPU {gpu:d}')
def _(world: World, node: str, gpu: int) -> None:
    """Take a GPU out of the node's sysfs."""
    sysfs_of(world, node, gpu).unlink()


@given('sysfs on "{node}" puts GPU {gpu:d} on NUMA node {number}')
def _(world: World, node: str, gpu: int, number: str) -> None:
    """Change numa_node of a GPU; -1 means that it is near to none."""
    (sysfs_of(world, node, gpu) / "numa_node").write_text(f"{number}\n")


@given('NVML on "{node}" does not know "{field}" of GPU {gpu:d}')
def _(world: World, node: str, field: str, gpu: int) -> None:
    """Let the getters of a field answer Not Supported."""
    world.node(node).gpus.set(gpu, field, "N/A")


def published(world: World, node: str, gpu: int) -> Obj:
    """The device that is the whole GPU of an index; one that is not published is a failed check."""
    component = world.node(node)
    uuid = component.gpus.get(gpu, "uuid")
    for device in component.devices():
        if ((device.get("attributes") or {}).get("uuid") or {}).get("string") == uuid:
            return device
    names = [device["name"] for device in component.devices()]
    world.check(False, f"GPU {gpu} is published", expected=uuid, observed=names)
    return {}


@then('GPU {gpu:d} on "{node}" is published without "{attributes}"')
def _(world: World, gpu: int, node: str, attributes: str) -> None:
    """The device is there and has none of these attributes."""
    found = published(world, node, gpu)["attributes"]
    there = {name: found[name] for name in words(attributes) if name in found}
    world.check(not there, f"attributes of GPU {gpu}", expected=f"none of {attributes}", observed=there or "none")


@then('GPU {gpu:d} on "{node}" is published with "{attributes}"')
def _(world: World, gpu: int, node: str, attributes: str) -> None:
    """The device has all of these attributes."""
    found = published(world, node, gpu)["attributes"]
    world.check(
        set(words(attributes)) <= set(found), f"attributes of GPU {gpu}", expected=attributes, observed=sorted(found)
    )


@then('GPU {gpu:d} on "{node}" is published on NUMA node {number:d}')
def _(world: World, gpu: int, node: str, number: int) -> None:
    """Its attribute resource.kubernetes.io/numaNode is this int, or the list of it (DRAListTypeAttributes)."""
    found: Any = published(world, node, gpu)["attributes"].get("resource.kubernetes.io/numaNode")
    ok = found in ({"int": number}, {"ints": [number]})
    world.check(ok, f"NUMA node of GPU {gpu}", expected={"int": number}, observed=found or "none")


@then('GPU {gpu:d} on "{node}" is published without any capacity')
def _(world: World, gpu: int, node: str) -> None:
    """The device is there and has no capacity."""
    found = published(world, node, gpu).get("capacity")
    world.check(not found, f"capacity of GPU {gpu}", expected="none", observed=found or "none")
