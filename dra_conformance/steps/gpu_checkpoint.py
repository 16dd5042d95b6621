"""What a driver keeps of claims in files of its own, in whatever format: damaged, lost, or from before a reboot.

A record of a claim is a file below the driver's plugin folder that has the claim's uid in it. Steps change and look for
records without knowledge of their format; `nvidia_checkpoint` has those for the format of NVIDIA's driver.
"""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dra_api import regular_file
from dra_conformance.components import fake_root
from dra_conformance.components.node import DOMAIN_DRIVER
from dra_conformance.core.errors import SpecificationError, Untestable
from dra_conformance.engine.vocabulary import then, when
from dra_conformance.engine.world import Seen, World, in_words
from dra_conformance.steps.driver_calls import calls, prepare, reference_to, succeeded

_PAUSES, _PAUSE = 4, 0.1
"""How often, and how long in seconds of real time, a driver can react while its clock advances."""

OTHER_BOOT = "00000000-0000-4000-8000-000000000000"


@dataclass(slots=True)
class LastWait:
    """How long the last call took for which the scenario let time pass, in seconds of its clock."""

    seconds: float = 0.0


@dataclass(slots=True)
class DamagedRecords:
    """The files that the scenario damaged, by node."""

    of_node: dict[str, list[Path]] = field(default_factory=dict)


# -- records -----------------------------------------------------------------------------------------------------------


def records(world: World, node: str, uid: str, driver: str = "") -> list[Path]:
    """Return the files of the driver under test, or of another one, that have a claim's uid in them."""
    component = world.node(node)
    folder = component.kubelet.plugins_dir / (driver or component.driver_name)
    found = []
    for path in sorted(folder.rglob("*")):
        # A driver may replace a file at any time.
        try:
            if stat.S_ISREG(path.lstat().st_mode) and uid.encode() in regular_file.read(path):
                found.append(path)
        except FileNotFoundError:
            continue
    return found


def recorded(world: World, node: str, claim: str, driver: str = "") -> list[Path]:
    """Return the records of a claim. Raises Untestable if there is none: the driver may write uids in another form."""
    found = records(world, node, reference_to(world, claim).uid, driver)
    if not found:
        raise Untestable(f"no file in the plugin folder of the driver has the uid of claim {claim}")
    return found


def cut_in_half(path: Path, _uid: bytes) -> None:
    """Keep the first half of the file's bytes."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def changed_at(find: Callable[[bytes, bytes], int]) -> Callable[[Path, bytes], None]:
    """Return a change of one hexadecimal digit of a uid, so that the file's syntax stays valid."""

    def change(path: Path, uid: bytes) -> None:
        data = bytearray(path.read_bytes())
        at = find(bytes(data), uid)
        data[at] = ord("1") if data[at] == ord("0") else ord("0")
        path.write_bytes(data)

    return change


DAMAGES: dict[str, Callable[[Path, bytes], object]] = {
    "cut in half": cut_in_half,
    # A power failure leaves an empty file if the file was never synced.
    "empty": lambda path, _uid: path.write_bytes(b""),
    "of an unknown format": lambda path, _uid: path.write_bytes(b'{"version": 9, "claims": []}'),
    "changed in the first uid": changed_at(lambda data, uid: data.find(uid)),
    "changed in the last uid": changed_at(lambda data, uid: data.rfind(uid)),
}
"""What can happen to the records of a stopped driver, by its name in sentences."""


@when('the record of claim "{claim}" on "{node}" is {damage}')
def _(world: World, claim: str, node: str, damage: str) -> None:
    """Damage each record of a claim of the stopped driver: see DAMAGES in this module."""
    if damage not in DAMAGES:
        raise SpecificationError(f"a record can be {', '.join(DAMAGES)}, not {damage!r}")
    for path in recorded(world, node, claim):
        DAMAGES[damage](path, reference_to(world, claim).uid.encode())
        world.state(DamagedRecords).of_node.setdefault(node, []).append(path)


@when('the damaged records of "{node}" are removed')
def _(world: World, node: str) -> None:
    """Remove the files that a step damaged, as an administrator does after the node was drained."""
    for path in world.state(DamagedRecords).of_node[node]:
        path.unlink(missing_ok=True)


@when('the kernel of "{node}" starts again')
def _(world: World, node: str) -> None:
    """Give the fake node another boot id, as a reboot does. The driver is stopped; its files stay."""
    path = Path(world.node(node).gpus.driver_root) / fake_root.BOOT_ID
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{OTHER_BOOT}\n")


@then('the driver on "{node}" has a record of claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """A file of the driver has the claim's uid now."""
    found = records(world, node, reference_to(world, claim).uid)
    names = in_words([path.name for path in found])
    world.check(bool(found), f"files with the uid of claim {claim}", expected="1 or more", observed=names)


@then('the driver on "{node}" comes to have no record of claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """No file of the driver comes to have the claim's uid."""
    check_removed(world, node, claim)


@then('the driver on "{node}" comes to have no record of claim "{claim}" after {seconds:d} seconds')
def _(world: World, node: str, claim: str, seconds: int) -> None:
    """The same, while the clock advances: the driver cleans up every so many seconds."""
    uid = reference_to(world, claim).uid
    for _pause in range(_PAUSES):
        if not records(world, node, uid):
            break
        # In parts: a driver that begins to wait after the clock was advanced waits for the rest of them.
        world.pass_time(seconds)
        world.log.clock.wait(threading.Event(), _PAUSE)
    check_removed(world, node, claim)


@then('the record of claim "{claim}" on "{node}" is accessible to its owner only')
def _(world: World, claim: str, node: str) -> None:
    """The mode of each file with the claim's uid is 0600."""
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in recorded(world, node, claim)}
    shown = {name: f"{mode:04o}" for name, mode in modes.items()}
    ok = all(mode == 0o600 for mode in modes.values())
    expected = dict.fromkeys(shown, "0600")
    world.check(ok, f"mode of the record of claim {claim}", expected=expected, observed=shown)


def check_removed(world: World, node: str, claim: str, driver: str = "") -> None:
    """Check that a driver comes to have no record of a claim; see `records`."""
    uid = reference_to(world, claim).uid

    def look() -> Seen[list[Any]]:
        found = [path.name for path in records(world, node, uid, driver)]
        return not found, found

    world.eventually(f"files of the driver with claim {claim}, uid {uid}", look, expected=[])


@then('the ComputeDomain driver on "{node}" comes to have no record of claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """No file of the ComputeDomain driver comes to have the claim's uid."""
    check_removed(world, node, claim, DOMAIN_DRIVER)


@then('the ComputeDomain driver on "{node}" has a record of claim "{claim}"')
def _(world: World, node: str, claim: str) -> None:
    """A file of the ComputeDomain driver comes to have the claim's uid."""
    uid = reference_to(world, claim).uid

    def look() -> Seen[str]:
        found = [path.name for path in records(world, node, uid, DOMAIN_DRIVER)]
        return bool(found), in_words(found)

    world.eventually(f"files with the uid of claim {claim}", look, expected="1 or more")


# -- calls that take long ----------------------------------------------------------------------------------------------


@when('claim "{claim}" is prepared on "{node}" while {seconds:d} seconds pass')
def _(world: World, claim: str, node: str, seconds: int) -> None:
    """Call NodePrepareResources, and advance the clock second by second until it returns; for a program, wait."""
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
    for _second in range(0 if world.uses_real_time else seconds):
        # A short real time after each second lets the driver react to it.
        if done.wait(0.02):
            break
        world.clock.advance(1)
    caller.join(world.run.patience + (seconds if world.uses_real_time else 0))
    if len(calls(world).made) == before:
        raise Untestable(f"the driver did not return within {seconds} seconds")
    world.state(LastWait).seconds = world.clock.monotonic() - start
    succeeded(world, calls(world).last, claim)


@then("the driver waited for at least {seconds:d} seconds")
def _(world: World, seconds: int) -> None:
    """The last call that was made while seconds passed took so many seconds of the scenario's clock."""
    took = world.state(LastWait).seconds
    world.check(took >= seconds, "duration of the call", expected=f"at least {seconds} s", observed=f"{took:.1f} s")
