"""The checkpoint of the driver gpu.nvidia.com: damaged or old files, and the claims in it."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from dra_api.objects import Obj
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.core import manifests
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World
from dra_conformance.steps.driver_calls import calls, prepare, reference_to, succeeded

_PAUSES, _PAUSE = 4, 0.1
"""How often, and how long in seconds of real time, a driver can react while its clock advances."""

NO_CLAIM = "00000000-0000-0000-0000-000000000000"


@dataclass(slots=True)
class LastWait:
    """How long the last call took for which the scenario let time pass, in seconds of its clock."""

    seconds: float = 0.0


def checkpoint(world: World, node: str, driver: str = "") -> Path:
    """Return the path of the checkpoint of the driver under test, or of another one. Raises Untestable without one."""
    component = world.node(node)
    path = component.kubelet.plugins_dir / (driver or component.driver_name) / "checkpoint.json"
    if not path.is_file():
        raise Untestable(f"the driver has no {path.name}")
    return path


def entries(path: Path) -> Obj:
    """Return the claims of a checkpoint, by uid."""
    document = orjson.loads(path.read_bytes())
    found: Obj = (document.get("v2") or {}).get("preparedClaims") or {}
    return found


def rewrite(path: Path, change: Callable[[Obj], object]) -> None:
    """Change a checkpoint of the stopped reference driver and correct its checksums."""
    # Imported here: a run against another driver does not need the reference.
    from reference_impl.kubelet_plugin.checkpoint import checksum

    document = orjson.loads(path.read_bytes())
    change(document)
    if "v1" in document:
        document["checksum"] = checksum(document["v1"])
    if "v2" in document:
        # The checksum of v2 is that of v2 with a checksum of 0.
        document["v2"]["checksum"] = checksum({**document["v2"], "checksum": 0})
    path.write_bytes(orjson.dumps(document))


def add_entry_only(path: Path) -> None:
    """Add an entry without correcting the checksum."""
    document = orjson.loads(path.read_bytes())
    document["v2"]["preparedClaims"][NO_CLAIM] = {"checkpointState": "PrepareCompleted", "status": {}}
    path.write_bytes(orjson.dumps(document))


def change_checksum(path: Path) -> None:
    """Change the checksum of v1, with all others right."""
    document = orjson.loads(path.read_bytes())
    path.write_bytes(orjson.dumps({**document, "checksum": document["checksum"] ^ 1}))


def restore_checksum(path: Path) -> None:
    """Correct all checksums."""
    rewrite(path, lambda document: None)


def damage_v2(path: Path) -> None:
    """Add an entry to v2 without correcting its checksum; the checksum of v1 is right."""
    restore_checksum(path)
    add_entry_only(path)


def cut_in_half(path: Path) -> None:
    """Keep the first half of the file's bytes."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


CHANGES: dict[str, Callable[[Path], object]] = {
    "damaged in v1": change_checksum,
    "damaged in v2": damage_v2,
    "cut in half": cut_in_half,
    # A power failure leaves an empty file if the file was never synced.
    "empty": lambda path: path.write_bytes(b""),
    "of an unknown version": lambda path: path.write_bytes(orjson.dumps({"checksum": 0, "v9": {"claims": []}})),
    # After a reboot the kernel has another boot id than the checkpoint.
    "of an earlier boot": lambda path: rewrite(path, lambda document: document["v2"].update(nodeBootID=NO_CLAIM)),
    # Older releases of the driver wrote no boot id, and before that no v2.
    "without boot id": lambda path: rewrite(path, lambda document: document["v2"].pop("nodeBootID")),
    "of version 1 only": lambda path: rewrite(path, lambda document: document.pop("v2")),
}
"""The changes of a stopped driver's checkpoint that a scenario can make, by their name in sentences."""


@when('the checkpoint of the driver on "{node}" is {state}')
def _(world: World, node: str, state: str) -> None:
    """Change the checkpoint of the stopped driver: see CHANGES in this module."""
    if state not in CHANGES:
        raise SpecificationError(f"a checkpoint can be {', '.join(CHANGES)}, not {state!r}")
    CHANGES[state](checkpoint(world, node))


@when('the checkpoint of the driver on "{node}" has claim "{claim}" as unfinished')
def _(world: World, node: str, claim: str) -> None:
    """Give a completed claim of the stopped driver the state before the end of its Prepare, as a SIGKILL leaves it."""
    uid = reference_to(world, claim).uid

    def change(document: Obj) -> None:
        entry = document["v2"]["preparedClaims"][uid]
        entry |= {"checkpointState": "PrepareStarted", "name": claim, "namespace": world.namespace}
        for group in entry["preparedDevices"]:
            group["devices"] = []
        document["v1"]["preparedClaims"].pop(uid)

    rewrite(checkpoint(world, node), change)


@when('claim "{claim}" is prepared on "{node}" while {seconds:d} seconds pass')
def _(world: World, claim: str, node: str, seconds: int) -> None:
    """Call NodePrepareResources, and advance the clock second by second until it returns."""
    reference = reference_to(world, claim)
    done = threading.Event()

    def call() -> None:
        try:
            prepare(world, node, [reference])
        finally:
            done.set()

    before, start = len(calls(world).made), world.clock.monotonic()
    caller = threading.Thread(target=call, name="prepare", daemon=True)
    caller.start()
    for _second in range(seconds):
        # A short real time after each second lets the driver react to it.
        if done.wait(0.02):
            break
        world.clock.advance(1)
    caller.join(world.run.patience)
    if len(calls(world).made) == before:
        raise Untestable(f"the driver did not return within {seconds} seconds")
    world.state(LastWait).seconds = world.clock.monotonic() - start
    succeeded(world, calls(world).last, claim)


@then("the driver waited for at least {seconds:d} seconds")
def _(world: World, seconds: int) -> None:
    """The last call that was made while seconds passed took so many seconds of the scenario's clock."""
    took = world.state(LastWait).seconds
    world.check(took >= seconds, "duration of the call", expected=f"at least {seconds} s", observed=f"{took:.1f} s")


@then('the checkpoint of the driver on "{node}" has claim "{claim}" as {state:word}')
def _(world: World, node: str, claim: str, state: str) -> None:
    """checkpoint.json has the claim in this state in v2; completed claims are in v1 too, others are not."""
    document = orjson.loads(checkpoint(world, node).read_bytes())
    uid = reference_to(world, claim).uid
    entry = (document.get("v2") or {}).get("preparedClaims", {}).get(uid) or {}
    found = {"v2": entry.get("checkpointState"), "v1": uid in (document.get("v1") or {}).get("preparedClaims", {})}
    wanted = {"v2": state, "v1": state == "PrepareCompleted"}
    world.check(found == wanted, "the checkpoint", expected=wanted, observed=found)


@then('the checkpoint of the driver on "{node}" comes to be without claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """checkpoint.json comes to have no entry for the claim."""
    check_removed(world, node, claim)


@then('the checkpoint of the driver on "{node}" comes to be without claim "{claim}" after {seconds:d} seconds')
def _(world: World, node: str, claim: str, seconds: int) -> None:
    """The same, while the clock advances: the driver cleans up every so many seconds."""
    for _pause in range(_PAUSES):
        if reference_to(world, claim).uid not in entries(checkpoint(world, node)):
            break
        # In parts: a driver that begins to wait after the clock was advanced waits for the rest of them.
        world.pass_time(seconds)
        world.log.clock.wait(threading.Event(), _PAUSE)
    check_removed(world, node, claim)


@then('the checkpoint of the driver on "{node}" is accessible to its owner only')
def _(world: World, node: str) -> None:
    """The mode of checkpoint.json is 0600."""
    mode = stat.S_IMODE(checkpoint(world, node).stat().st_mode)
    world.check(mode == 0o600, "mode of the checkpoint", expected="0600", observed=f"{mode:04o}")


def check_removed(world: World, node: str, claim: str, driver: str = "") -> None:
    """Check that the checkpoint of a driver comes to have no entry for a claim; see `checkpoint`."""
    uid = reference_to(world, claim).uid

    def look() -> Seen:
        found = entries(checkpoint(world, node, driver))
        return uid not in found, {key: entry.get("checkpointState") for key, entry in found.items()}

    world.eventually(f"claim {claim} is removed from the checkpoint", look, expected=f"no entry {uid}")


@then('the checkpoint of the driver on "{node}" has the boot id of the kernel')
def _(world: World, node: str) -> None:
    """nodeBootID is that of /proc/sys/kernel/random/boot_id."""
    wanted = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    found = manifests.look_up(orjson.loads(checkpoint(world, node).read_bytes()), "v2.nodeBootID")
    world.check(found == wanted, "boot id of the checkpoint", expected=wanted, observed=found)


@then('the ComputeDomain driver on "{node}" comes to have claim "{claim}" as {state:word} in its checkpoint')
def _(world: World, node: str, claim: str, state: str) -> None:
    """Its checkpoint comes to have the claim in this state, an aborted one with the time."""
    path = checkpoint(world, node, DOMAIN_DRIVER)
    uid = reference_to(world, claim).uid

    def look() -> Seen:
        entry = entries(path).get(uid) or {}
        seen = {"state": entry.get("checkpointState"), "abortedAt": entry.get("abortedAt")}
        return seen["state"] == state and (state != "PrepareAborted" or bool(seen["abortedAt"])), seen

    world.eventually(f"claim {claim} in the checkpoint", look, expected=f"{state}, with abortedAt if it was aborted")


@then('the checkpoint of the ComputeDomain driver on "{node}" comes to be without claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """Its checkpoint comes to have no entry for the claim."""
    check_removed(world, node, claim, DOMAIN_DRIVER)
