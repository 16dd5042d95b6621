"""The checkpoint of NVIDIA's driver: its two sections, the states of claims, and files of older releases.

For drivers with the optional feature `nvidia-checkpoint`. Source: cmd/gpu-kubelet-plugin checkpoint.go and
checkpointv.go of kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0; pkg/kubelet/checkpointmanager/checksum and pkg/util/hash
of Kubernetes v1.37.2.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from dra_api import regular_file
from dra_api.objects import Obj
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.driver_calls import reference_to

_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193


def checkpoint(world: World, node: str, driver: str = "") -> Path:
    """Return the path of the checkpoint of the driver under test, or of another one. Raises Untestable without one."""
    component = world.node(node)
    path = component.kubelet.plugins_dir / (driver or component.driver_name) / "checkpoint.json"
    if not path.is_file():
        raise Untestable(f"the driver has no {path.name}")
    return path


def entries(path: Path) -> Obj:
    """Return the claims of a checkpoint, by uid."""
    document = orjson.loads(regular_file.read(path))
    found: Obj = (document.get("v2") or {}).get("preparedClaims") or {}
    return found


# -- checksums ---------------------------------------------------------------------------------------------------------


def kubelet_checksum(data: bytes) -> int:
    """Return the checksum of the kubelet's checkpoint manager for bytes: FNV-1a over a dump of them."""
    hashed = _FNV_OFFSET
    for byte in f"([]uint8)[{' '.join(map(str, data))}]".encode():
        hashed = ((hashed ^ byte) * _FNV_PRIME) & 0xFFFFFFFF
    return hashed


def _as_go(value: Obj) -> bytes:
    """Return JSON as Go writes it, in the order of the file."""
    text = orjson.dumps(value)
    for character in (b"&", b"<", b">"):
        text = text.replace(character, b"\\u%04x" % ord(character))
    return text


def nvidia_sums(document: Obj) -> tuple[int | None, int | None]:
    """Return the checksums of v1 and v2 of NVIDIA's driver: each over its section, with 0 in its place."""
    v1, v2 = document.get("v1"), document.get("v2")
    first = kubelet_checksum(_as_go({"checksum": 0, "v1": v1})) if v1 is not None else None
    return first, None if v2 is None else kubelet_checksum(_as_go({**v2, "checksum": 0}))


def reference_sums(document: Obj) -> tuple[int | None, int | None]:
    """Return the same as the reference driver computes them."""
    # Imported here: a run against another driver does not need the reference.
    from reference_impl.kubelet_plugin.checkpoint import checksum

    v1, v2 = document.get("v1"), document.get("v2")
    return None if v1 is None else checksum(v1), None if v2 is None else checksum({**v2, "checksum": 0})


def stored_sums(document: Obj) -> tuple[int | None, int | None]:
    """Return the checksums of a file."""
    v2 = document.get("v2")
    return (document.get("checksum") if "v1" in document else None), (None if v2 is None else v2.get("checksum"))


def rewrite(path: Path, change: Callable[[Obj], object]) -> None:
    """Change the checkpoint of a stopped driver and correct its checksums. Raises Untestable for unknown checksums."""
    document = orjson.loads(regular_file.read(path))
    known = next((sums for sums in (nvidia_sums, reference_sums) if sums(document) == stored_sums(document)), None)
    if known is None:
        raise Untestable(f"{path.name} has checksums of an unknown kind, so it cannot be changed")
    change(document)
    first, second = known(document)
    if first is not None:
        document["checksum"] = first
    if second is not None:
        document["v2"]["checksum"] = second
    path.write_bytes(_as_go(document))


def _without_allocations(document: Obj) -> None:
    for section in (document.get("v1") or {}, document.get("v2") or {}):
        for entry in (section.get("preparedClaims") or {}).values():
            (entry.get("status") or {}).pop("allocation", None)


BEFORE_REBOOT = "of another release and from before a reboot"
_EARLIER_BOOT = "11111111-2222-4333-8444-555555555555"

OLDER: dict[str, Callable[[Obj], object]] = {
    # Older releases of the driver wrote no boot id, and before that no v2.
    "without boot id": lambda document: document["v2"].pop("nodeBootID"),
    "of version 1 only": lambda document: document.pop("v2"),
    # Releases before v0.4 wrote the devices of a claim only.
    "without the allocations of its claims": _without_allocations,
    BEFORE_REBOOT: lambda document: document["v2"].update(nodeBootID=_EARLIER_BOOT),
}
"""The files of older releases, by their name in sentences."""


@when('the checkpoint of the driver on "{node}" is {kind}')
def _(world: World, node: str, kind: str) -> None:
    """Turn the checkpoint of the stopped driver into one of an older release: see OLDER in this module."""
    if kind not in OLDER:
        raise SpecificationError(f"a checkpoint can be {', '.join(OLDER)}, not {kind!r}")
    path = checkpoint(world, node)
    rewrite(path, OLDER[kind])
    if kind == BEFORE_REBOOT:
        # NVIDIA's driver has all of its state in the checkpoint; another release has no other files for it.
        for beside in path.parent.glob(f"{path.name}.*"):
            beside.unlink()


@then('the checkpoint of the driver on "{node}" has claim "{claim}" as {state:word}')
def _(world: World, node: str, claim: str, state: str) -> None:
    """checkpoint.json has the claim in this state in v2; completed claims are in v1 too, others are not."""
    document = orjson.loads(regular_file.read(checkpoint(world, node)))
    uid = reference_to(world, claim).uid
    entry = (document.get("v2") or {}).get("preparedClaims", {}).get(uid) or {}
    found = {"v2": entry.get("checkpointState"), "v1": uid in (document.get("v1") or {}).get("preparedClaims", {})}
    wanted = {"v2": state, "v1": state == "PrepareCompleted"}
    world.check(found == wanted, "the checkpoint", expected=wanted, observed=found)


@then('the checkpoint of the driver on "{node}" has the boot id of the kernel')
def _(world: World, node: str) -> None:
    """nodeBootID is that of /proc/sys/kernel/random/boot_id."""
    wanted = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
    found = manifests.look_up(orjson.loads(regular_file.read(checkpoint(world, node))), "v2.nodeBootID")
    world.check(found == wanted, "boot id of the checkpoint", expected=wanted, observed=found)


@then('the ComputeDomain driver on "{node}" comes to have claim "{claim}" as {state:word} in its checkpoint')
def _(world: World, node: str, claim: str, state: str) -> None:
    """Its checkpoint comes to have the claim in this state, an aborted one with the time."""
    path = checkpoint(world, node, DOMAIN_DRIVER)
    uid = reference_to(world, claim).uid

    def look() -> Seen[dict[str, Any]]:
        entry = entries(path).get(uid) or {}
        seen = {"state": entry.get("checkpointState"), "abortedAt": entry.get("abortedAt")}
        shown = {"state": str(seen["state"]), "abortedAt": str(seen["abortedAt"] or "not set")}
        return seen["state"] == state and (state != "PrepareAborted" or bool(seen["abortedAt"])), shown

    wanted = {"state": state, "abortedAt": "set" if state == "PrepareAborted" else "set or not set"}
    world.eventually(f"claim {claim} in the checkpoint", look, expected=wanted)
