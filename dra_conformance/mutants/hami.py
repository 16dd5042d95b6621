"""Mutants of the driver's slices of memory and cores, and of what it gives to HAMi-core."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.kubelet_plugin import limiter
from reference_impl.kubelet_plugin.prepare import PrepareError

SHARES = "reference_impl.kubelet_plugin.shares"
LIMITER = "reference_impl.kubelet_plugin.limiter:Limiter"
PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"
PUBLISHER = "reference_impl.kubelet_plugin.slices:SlicePublisher"
HEALTH = "reference_impl.kubelet_plugin.health"

Original = Callable[..., Any]


# -- slices ------------------------------------------------------------------------------------------------------------


def entries(patch: Patch, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the published devices of the mode memory-and-cores in place."""

    def make(original: Original) -> Original:
        def entry(self: Any, device: Any) -> Any:
            found = original(self, device)
            if self.limited:
                change(found)
            return found

        return entry

    patch.wrap(f"{SHARES}:ShareMode.entry", make)


def policy(device: Any, name: str) -> Any:
    """Return the request policy of a capacity."""
    return device["capacity"][name]["requestPolicy"]


@mutant("fifty-cores", rule="HAMI-001")
def _(patch: Patch) -> None:
    """A GPU has 50 cores."""
    patch.replace(f"{SHARES}:CORES", 50)


@mutant("slices-of-one-claim-only", rule="HAMI-001")
def _(patch: Patch) -> None:
    """A GPU with memory and cores can be allocated once."""

    def change(device: Any) -> None:
        device["allowMultipleAllocations"] = False
        for capacity in device["capacity"].values():
            # The API server refuses a policy for a device that is allocated once.
            capacity.pop("requestPolicy", None)

    entries(patch, change)


@mutant("at-least-one-core", rule="HAMI-001")
def _(patch: Patch) -> None:
    """A request for no cores gets one."""
    entries(patch, lambda device: policy(device, "cores")["validRange"].update(min="1"))


@mutant("at-least-two-mebibytes", rule="HAMI-002")
def _(patch: Patch) -> None:
    """The smallest slice of memory is 2Mi."""
    entries(patch, lambda device: policy(device, "memory")["validRange"].update(min="2Mi"))


@mutant("no-memory-without-a-request", rule="HAMI-002")
def _(patch: Patch) -> None:
    """A request without memory takes the minimum."""
    entries(patch, lambda device: policy(device, "memory").update(default="1Mi"))


@mutant("memory-in-bytes", rule="HAMI-003")
def _(patch: Patch) -> None:
    """The memory of a slice is what NVML reports."""
    # Rounding divides by a MiB and multiplies by it.
    patch.replace(f"{SHARES}:MEBI", 1)


@mutant("cores-never-used-up", rule="HAMI-004")
def _(patch: Patch) -> None:
    """A claim consumes none of the cores that it requests."""

    def change(device: Any) -> None:
        device["capacity"]["cores"]["value"] = "100000"
        del device["capacity"]["cores"]["requestPolicy"]

    entries(patch, change)


@mutant("no-more-than-one-share", rule="HAMI-004")
def _(patch: Patch) -> None:
    """Every share takes at least 99 cores."""
    entries(patch, lambda device: policy(device, "cores")["validRange"].update(min="99"))


@mutant("one-pool-for-all-nodes", rule="HAMI-004b")
def _(patch: Patch) -> None:
    """The pools of all nodes have one name, and a scheduler counts the shares of all nodes together."""

    def make(original: Original) -> Original:
        def spec(self: Any, *args: Any) -> Any:
            found = original(self, *args)
            return {**found, "pool": {**found["pool"], "name": "gpus", "resourceSliceCount": 1}}

        return spec

    patch.wrap(f"{PUBLISHER}._spec", make)
    patch.replace(f"{PUBLISHER}.is_mine", lambda self, found: True)


# -- containers --------------------------------------------------------------------------------------------------------


def variables(patch: Patch, change: Callable[[list[dict[str, int]]], list[dict[str, int]]]) -> None:
    """Compute the limits from other amounts than the claim consumes, one entry for each GPU."""

    def make(original: Original) -> Original:
        def limits(self: Any, consumed: Any) -> Any:
            return original(self, change([dict(one) for one in consumed]))

        return limits

    patch.wrap(f"{LIMITER}.limits", make)


@mutant("limits-in-bytes", rule="HAMI-005")
def _(patch: Patch) -> None:
    """The memory limit has the number of MiB without a unit."""

    def make(original: Original) -> Original:
        return lambda self, consumed: [text.removesuffix("m") for text in original(self, consumed)]

    patch.wrap(f"{LIMITER}.limits", make)


@mutant("sixty-percent-for-all", rule="HAMI-005")
def _(patch: Patch) -> None:
    """Every container is limited to 60 percent of the cores."""
    variables(patch, lambda consumed: [{**one, "cores": 60} for one in consumed])


@mutant("memory-not-limited", rule="HAMI-005")
def _(patch: Patch) -> None:
    """Only the cores are limited."""
    variables(patch, lambda consumed: [{"cores": one["cores"]} for one in consumed if one])


@mutant("sixty-percent-for-admin-access", rule="HAMI-005b")
def _(patch: Patch) -> None:
    """A container whose claim consumes nothing is limited to 60 percent of the cores."""
    variables(patch, lambda consumed: [one or {"cores": 60} for one in consumed])


@mutant("only-the-first-gpu-limited", rule="HAMI-006")
def _(patch: Patch) -> None:
    """Only the first GPU of a claim has limits."""
    variables(patch, lambda consumed: consumed[:1])


@mutant("one-limit-for-all-gpus", rule="HAMI-006")
def _(patch: Patch) -> None:
    """All GPUs of a claim have the limits of the first."""
    variables(patch, lambda consumed: [consumed[0] for _ in consumed])


@mutant("limits-in-the-order-of-the-claim", rule="HAMI-006b")
def _(patch: Patch) -> None:
    """The limits are numbered in the order of the allocation."""
    patch.replace(f"{LIMITER}.ordered", lambda self, gpus: list(gpus))


@mutant("limits-in-the-order-of-names", rule="HAMI-006b")
def _(patch: Patch) -> None:
    """The limits are numbered in the order of the names of the devices, gpu-10 before gpu-2."""
    patch.replace(f"{LIMITER}.ordered", lambda self, gpus: sorted(gpus))


@mutant("shares-take-turns", rule="HAMI-007")
def _(patch: Patch) -> None:
    """A GPU of which one claim has a share is refused to other claims."""
    patch.wrap(
        f"{PREPARER}.clash",
        lambda original: lambda self, wanted, taken: wanted.device == taken.device or original(self, wanted, taken),
    )


@mutant("limits-of-the-first-claim", rule="HAMI-007")
def _(patch: Patch) -> None:
    """The second claim on a node gets the limits of the first."""
    first: list[Any] = []

    def make(original: Original) -> Original:
        def limits(self: Any, consumed: Any) -> Any:
            first.append(consumed)
            return original(self, first[0])

        return limits

    patch.wrap(f"{LIMITER}.limits", make)


@mutant("gpu-twice-in-a-claim-refused", rule="HAMI-007b")
def _(patch: Patch) -> None:
    """A claim that has a GPU twice is refused."""

    def make(original: Original) -> Original:
        def configure(self: Any, claim: Any, results: Any) -> Any:
            if len({result.device for result in results}) < len(results):
                raise PrepareError("multiple device")
            return original(self, claim, results)

        return configure

    patch.wrap(f"{PREPARER}.configure", make)


@mutant("last-share-counts", rule="HAMI-007d")
def _(patch: Patch) -> None:
    """Of two shares of one GPU in a claim, the last one is the limit."""

    add_up = limiter.consumed_of

    def last(results: Any) -> Any:
        return {device: add_up([(device, consumed)])[device] for device, consumed in results}

    # The preparer has the function under a name of its own, and still adds shares up.
    patch.replace("reference_impl.kubelet_plugin.limiter:consumed_of", last)


@mutant("limits-of-the-first-container", rule="HAMI-007c")
def _(patch: Patch) -> None:
    """Every claim of a pod has the limits of the first."""
    first: list[Any] = []

    def make(original: Original) -> Original:
        def edits(self: Any, planned: Any) -> Any:
            first.append(planned)
            return {**original(self, planned), "env": original(self, first[0]).get("env", [])}

        return edits

    patch.wrap(f"{LIMITER}.edits", make)


def mounts(patch: Patch, change: Callable[[list[Any]], list[Any]]) -> None:
    """Change the mounts that containers get for HAMi-core."""

    def make(original: Original) -> Original:
        def edits(self: Any, planned: Any) -> Any:
            found = original(self, planned)
            return {**found, "mounts": change(found["mounts"])} if "mounts" in found else found

        return edits

    patch.wrap(f"{LIMITER}.edits", make)


@mutant("limits-without-the-library", rule="HAMI-008")
def _(patch: Patch) -> None:
    """Containers get the variables only."""
    patch.replace(f"{LIMITER}.library", lambda self: [])


@mutant("library-not-preloaded", rule="HAMI-008")
def _(patch: Patch) -> None:
    """The library is mounted, and no process loads it."""
    mounts(patch, lambda found: [one for one in found if one["containerPath"] != "/etc/ld.so.preload"])


@mutant("library-can-be-replaced", rule="HAMI-008")
def _(patch: Patch) -> None:
    """A container can write the library of the node."""
    mounts(patch, lambda found: [{**one, "options": ["rw", "bind"]} for one in found])


@mutant("one-cache-file-for-all", rule="HAMI-009")
def _(patch: Patch) -> None:
    """All claims of the node have one cache file."""
    patch.replace(f"{LIMITER}.claim_folder", lambda self, uid: self.folder / "claims/all")


@mutant("cache-file-cannot-be-written", rule="HAMI-009")
def _(patch: Patch) -> None:
    """The directory of the cache file is mounted read-only."""
    mounts(patch, lambda found: [{**one, "options": ["ro", "bind"]} for one in found])


@mutant("cache-directory-not-created", rule="HAMI-009")
def _(patch: Patch) -> None:
    """The directory of the cache file does not exist on the node."""
    patch.replace(f"{LIMITER}.apply", lambda self, planned: None)


@mutant("a-lock-for-each-claim", rule="HAMI-010")
def _(patch: Patch) -> None:
    """Claims have locks of their own."""

    def own(found: list[Any]) -> list[Any]:
        # The first mount is that of the claim's cache file.
        return [
            {**one, "hostPath": found[0]["hostPath"]} if "vgpulock" in one["containerPath"] else one for one in found
        ]

    mounts(patch, own)


@mutant("no-lock", rule="HAMI-010")
def _(patch: Patch) -> None:
    """Containers have no directory for the lock."""
    mounts(patch, lambda found: [one for one in found if "vgpulock" not in one["containerPath"]])


# -- life --------------------------------------------------------------------------------------------------------------


@mutant("prepared-shares-refused", rule="HAMI-011")
def _(patch: Patch) -> None:
    """A claim with a share that is prepared already is refused, as in HAMi's driver."""

    def repeat(self: Any, claim: Any, entry: Any) -> Any:
        raise PrepareError("claims in PrepareCompleted state are not supported")

    patch.replace(f"{PREPARER}.repeat", repeat)


@mutant("repeated-prepare-without-limits", rule="HAMI-011")
def _(patch: Patch) -> None:
    """A repeated Prepare writes a specification without limits."""

    def make(original: Original) -> Original:
        def repeat(self: Any, claim: Any, entry: Any) -> Any:
            self._cdi.path(claim.uid).unlink()
            return original(self, claim, replace(entry, config_state={}))

        return repeat

    patch.wrap(f"{PREPARER}.repeat", make)


@mutant("repeated-prepare-empties-the-cache", rule="HAMI-011b")
def _(patch: Patch) -> None:
    """A repeated Prepare creates the directory of the cache file again."""

    def make(original: Original) -> Original:
        def repeat(self: Any, claim: Any, entry: Any) -> Any:
            self._limiter.undo(entry)
            self._limiter.apply(dict(entry.config_state))
            return original(self, claim, entry)

        return repeat

    patch.wrap(f"{PREPARER}.repeat", make)


@mutant("shares-before-a-restart-refused", rule="HAMI-012")
def _(patch: Patch) -> None:
    """A restarted driver refuses to prepare the claims that it finds in its checkpoint."""

    def remember(original: Original) -> Original:
        def repair(self: Any) -> None:
            original(self)
            self.former = set(self._checkpoint.claims())

        return repair

    def refuse(original: Original) -> Original:
        def repeat(self: Any, claim: Any, entry: Any) -> Any:
            if claim.uid in self.former:
                raise PrepareError("prepared by another process")
            return original(self, claim, entry)

        return repeat

    patch.wrap(f"{PREPARER}.repair", remember)
    patch.wrap(f"{PREPARER}.repeat", refuse)


@mutant("shares-count-twice-after-a-restart", rule="HAMI-012")
def _(patch: Patch) -> None:
    """A restarted driver counts the shares of its checkpoint twice."""

    def remember(original: Original) -> Original:
        def repair(self: Any) -> None:
            original(self)
            self.former = {f"{uid}-again": entry for uid, entry in self._checkpoint.claims().items()}

        return repair

    def count(original: Original) -> Original:
        return lambda self, results, held: original(self, results, {**held, **self.former})

    patch.wrap(f"{PREPARER}.repair", remember)
    patch.wrap(f"{PREPARER}.check_capacity", count)


@mutant("all-shares-unprepared-together", rule="HAMI-013")
def _(patch: Patch) -> None:
    """Unprepare of a claim removes the specifications of all claims."""

    def make(original: Original) -> Original:
        def remove(self: Any, uid: str) -> None:
            for other in (uid, *self._checkpoint.claims()):
                original(self, other)

        return remove

    patch.wrap(f"{PREPARER}.remove_spec", make)


@mutant("all-cache-files-removed-together", rule="HAMI-013b")
def _(patch: Patch) -> None:
    """Unprepare of a claim removes the cache files of all claims."""

    def undo(self: Any, entry: Any, in_use: Any = ()) -> None:
        shutil.rmtree(self.folder / "claims", ignore_errors=True)

    patch.replace(f"{LIMITER}.undo", undo)


@mutant("cache-files-stay", rule="HAMI-013c")
def _(patch: Patch) -> None:
    """Unprepare leaves the cache file."""
    patch.replace(f"{LIMITER}.undo", lambda self, entry, in_use=(): None)


@mutant("capacity-not-checked", rule="HAMI-014")
def _(patch: Patch) -> None:
    """The node does not check the capacity of a GPU."""
    patch.replace(f"{PREPARER}.check_capacity", lambda self, results, held: None)


@mutant("capacity-checked-for-each-claim-alone", rule="HAMI-014")
def _(patch: Patch) -> None:
    """A share may be as large as the GPU, whatever other claims have."""
    patch.wrap(f"{PREPARER}.check_capacity", lambda original: lambda self, results, held: original(self, results, {}))


@mutant("capacity-checked-for-one-share-of-a-claim", rule="HAMI-014")
def _(patch: Patch) -> None:
    """Of two shares of one GPU in a claim only the last is checked."""

    def make(original: Original) -> Original:
        return lambda self, results, held: original(self, list({one.device: one for one in results}.values()), held)

    patch.wrap(f"{PREPARER}.check_capacity", make)


@mutant("shares-of-a-healthy-gpu", rule="HAMI-015")
def _(patch: Patch) -> None:
    """A GPU is reported healthy after an error."""
    patch.replace(f"{HEALTH}:DeviceHealthBook.problem", lambda self, device: "")
