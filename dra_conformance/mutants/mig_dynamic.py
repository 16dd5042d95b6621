"""Faults in dynamic MIG: the published devices and counters, and how instances are created and destroyed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.kubelet_plugin.devices import slots_of
from reference_impl.kubelet_plugin.mig_profiles import FILLING
from reference_impl.kubelet_plugin.slices import layout

DEVICES = "reference_impl.kubelet_plugin.devices"
INSTANCES = "reference_impl.kubelet_plugin.mig:MigInstances"
PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"
PLUGIN = "reference_impl.kubelet_plugin.plugin:KubeletPlugin"
NVML = "reference_impl.kubelet_plugin.discovery:Nvml"

Original = Callable[..., Any]


def is_place(device: Any) -> bool:
    """Whether a device is a placement for a MIG device."""
    return type(device).__name__ == "MigSlot"


def counting(patch: Patch, change: Callable[[Any, list[Any]], list[Any]]) -> None:
    """Change the counters that devices consume."""
    patch.wrap(f"{DEVICES}:counters_of", lambda original: lambda device: change(device, original(device)))


# -- slices ------------------------------------------------------------------------------------------------------------


@mutant("placements-have-uuids", rule="NV-034")
def _(patch: Patch) -> None:
    """A placement is published with a UUID made from its name."""

    def make(original: Original) -> Original:
        def attributes(device: Any) -> Any:
            found = original(device)
            return {**found, "uuid": {"string": f"MIG-{device.name}"}} if is_place(device) else found

        return attributes

    patch.wrap(f"{DEVICES}:attributes_of", make)


@mutant("placements-have-memory-slice-capacity", rule="NV-034")
def _(patch: Patch) -> None:
    """A placement is published with capacities memorySlice<n>, like an existing device."""

    def make(original: Original) -> Original:
        def capacity(device: Any) -> Any:
            found = original(device)
            return {**found, f"memorySlice{device.start}": {"value": "1"}} if is_place(device) else found

        return capacity

    patch.wrap(f"{DEVICES}:capacity_of", make)


@mutant("memory-slice-counters-from-zero", rule="NV-035")
def _(patch: Patch) -> None:
    """The memory slices of every placement start at 0."""

    def make(original: Original) -> Original:
        def slices(device: Any) -> Any:
            return range(device.profile.size) if is_place(device) else original(device)

        return slices

    patch.wrap(f"{DEVICES}:memory_slices", make)


@mutant("one-memory-slice-counter-for-each-device", rule="NV-035")
def _(patch: Patch) -> None:
    """Every placement consumes only its first memory slice."""

    def make(original: Original) -> Original:
        return lambda device: original(device)[:1] if is_place(device) else original(device)

    patch.wrap(f"{DEVICES}:memory_slices", make)


@mutant("placements-without-memory-slice-counters", rule="NV-035b")
def _(patch: Patch) -> None:
    """Placements consume no memory slices and half of the other counters."""

    def make(original: Original) -> Original:
        def consumed(minor: int, amounts: Any, slices: Any) -> Any:
            # A placement without memory slices consumes none of their counters.
            return original(minor, {name: number // 2 for name, number in amounts.items()}, [])

        return consumed

    patch.wrap("reference_impl.kubelet_plugin.devices:consumed", make)


@mutant("counters-of-earlier-claims-ignored", rule="NV-035b")
def _(patch: Patch) -> None:
    """The scheduler counts the consumption of one claim at a time and ignores earlier claims."""
    patch.wrap(
        "reference_impl.scheduler.allocator.counters:available", lambda original: lambda pool, names: original(pool, [])
    )


@mutant("whole-gpu-consumes-memory-only", rule="NV-036")
def _(patch: Patch) -> None:
    """The whole GPU consumes its memory and no other counter."""

    def change(device: Any, found: list[Any]) -> list[Any]:
        if is_place(device):
            return found
        return [{**use, "counters": {"memory": use["counters"]["memory"]}} for use in found]

    counting(patch, change)


@mutant("counters-in-camel-case", rule="NV-037")
def _(patch: Patch) -> None:
    """Counters lose the dashes of their names."""
    patch.wrap(
        "reference_impl.kubelet_plugin.partitions:counter_name",
        lambda original: lambda name: original(name).replace("-", ""),
    )


@mutant("gpus-share-counter-slices", rule="NV-038")
def _(patch: Patch) -> None:
    """Devices are packed into as few slices as possible, instead of one slice for each GPU."""

    def make(original: Original) -> Original:
        def slices(self: Any) -> Any:
            found = original(self)
            counters = [one for part in found for one in part.shared_counters]
            return layout([device for part in found for device in part.devices], counters)

        return slices

    patch.wrap(f"{PLUGIN}.slices", make)


@mutant(
    "two-gpus-in-a-slice",
    rule="NV-039",
    kubernetes_version="1.34",
    feature_gates=("DRAPartitionableDevices=true",),
)
def _(patch: Patch) -> None:
    """Two GPUs with their counters share a slice."""

    def make(original: Original) -> Original:
        def slices(self: Any) -> Any:
            found = original(self)
            return [
                replace(
                    one,
                    devices=one.devices + other.devices,
                    shared_counters=one.shared_counters + other.shared_counters,
                )
                for one, other in zip(found[::2], found[1::2], strict=True)
            ]

        return slices

    patch.wrap(f"{PLUGIN}.slices", make)


@mutant("boards-without-mig-left-out", rule="NV-040b")
def _(patch: Patch) -> None:
    """A GPU that cannot be partitioned is not published while MIG devices are created on demand."""

    def make(original: Original) -> Original:
        def publishable(self: Any, handle: Any, gpu: Any) -> Any:
            return original(self, handle, gpu) if gpu.partitioning is not None else []

        return publishable

    patch.wrap(f"{NVML}.publishable", make)


@mutant("ampere-published-as-whole-gpu", rule="NV-040")
def _(patch: Patch) -> None:
    """A GPU whose MIG mode needs a reset is also published as a whole GPU."""

    def make(original: Original) -> Original:
        def publishable(self: Any, handle: Any, gpu: Any) -> Any:
            found = original(self, handle, gpu)
            return found if gpu in found else [gpu, *found]

        return publishable

    patch.wrap(f"{NVML}.publishable", make)


@mutant(
    "profile-names-from-the-query",
    rule="NV-032",
    scenario="mig/dynamic_slices#the-placements-of-an-gpu-are-those-of-nvidia-s-table",
)
def _(patch: Patch) -> None:
    """Placements carry the index of the query instead of the profile id."""
    patch.wrap(
        "reference_impl.kubelet_plugin.devices:mig_name",
        lambda original: lambda minor, profile, number, start: original(minor, profile, number % 5, start),
    )


# -- instances ---------------------------------------------------------------------------------------------------------


@mutant("overlap-checked-by-name-only", rule="NV-060c")
def _(patch: Patch) -> None:
    """A device is in use only if another claim has one of the same name."""
    patch.replace(f"{PREPARER}.clash", lambda self, wanted, taken: wanted.device == taken.device)


@mutant("mig-devices-never-overlap", rule="NV-060c")
def _(patch: Patch) -> None:
    """Two MIG devices never overlap, whatever their memory slices."""

    def make(original: Original) -> Original:
        def clash(self: Any, wanted: Any, taken: Any) -> Any:
            # Dynamic MIG devices have this part in their names.
            both = "-mig-" in wanted.device and "-mig-" in taken.device
            return wanted.device == taken.device if both else original(self, wanted, taken)

        return clash

    patch.wrap(f"{PREPARER}.clash", make)


@mutant("mig-mode-stays-on", rule="NV-113")
def _(patch: Patch) -> None:
    """MIG mode is not switched off."""
    patch.replace(f"{INSTANCES}.settle", lambda self, gpu: None)


@mutant("instances-never-destroyed", rule="NV-113")
def _(patch: Patch) -> None:
    """Unprepare removes the claim and keeps its instances."""

    def make(original: Original) -> Original:
        def roll_back(self: Any, uid: str, entry: Any) -> None:
            # Without it the original destroys no instances.
            mig, self._mig = self._mig, None
            try:
                original(self, uid, entry)
            finally:
                self._mig = mig

        return roll_back

    patch.wrap(f"{PREPARER}.roll_back", make)


@mutant("incomplete-claim-owns-its-devices", rule="NV-113")
def _(patch: Patch) -> None:
    """Unprepare destroys the devices of its claim, whichever claim has them now."""

    def make(original: Original) -> Original:
        def roll_back(self: Any, uid: str, entry: Any) -> None:
            self.kept = lambda held: set()
            try:
                original(self, uid, entry)
            finally:
                del self.kept

        return roll_back

    patch.wrap(f"{PREPARER}.roll_back", make)


@mutant("failed-destruction-ignored", rule="NV-114")
def _(patch: Patch) -> None:
    """If an instance cannot be destroyed, the driver logs it and removes the claim."""

    def make(original: Original) -> Original:
        def destroy(self: Any, slot: Any) -> None:
            try:
                original(self, slot)
            except Exception:
                return

        return destroy

    patch.wrap(f"{INSTANCES}.destroy", make)


@mutant("missing-compute-instance-fails-unprepare", rule="NV-114")
def _(patch: Patch) -> None:
    """A GPU instance without its compute instance cannot be destroyed."""

    def make(original: Original) -> Original:
        def clear(self: Any, instance: Any) -> None:
            if not any(True for _ in self.computes(instance)):
                raise self._nvml.module.NVMLError(self._nvml.module.NVML_ERROR_NOT_FOUND)
            original(self, instance)

        return clear

    patch.wrap(f"{INSTANCES}.clear", make)


def _only_whole_devices_listed(patch: Patch) -> None:
    def make(original: Original) -> Original:
        def instances(self: Any, slot: Any) -> Any:
            # An instance without compute instances is no whole MIG device.
            return (one for one in original(self, slot) if any(True for _ in self.computes(one)))

        return instances

    patch.wrap(f"{INSTANCES}.instances", make)


@mutant("leftover-instances-kept-at-start", rule="NV-115")
def _(patch: Patch) -> None:
    """At start the driver does not check for leftover instances."""
    patch.replace(f"{INSTANCES}.sweep", lambda self, found, keep: [])


@mutant("instances-without-compute-instance-kept-at-start", rule="NV-115c")
def _(patch: Patch) -> None:
    """At start only MIG devices are destroyed, not GPU instances without a compute instance."""
    _only_whole_devices_listed(patch)


@mutant("all-instances-destroyed-at-start", rule="NV-115")
def _(patch: Patch) -> None:
    """At start every instance is destroyed, even those of claims."""
    patch.wrap(f"{INSTANCES}.sweep", lambda original: lambda self, found, keep: original(self, found, set()))


@mutant("incomplete-devices-ignored-at-start", rule="NV-115b")
def _(patch: Patch) -> None:
    """At start only instances that are whole MIG devices are destroyed."""
    _only_whole_devices_listed(patch)


@mutant("earlier-attempt-not-in-the-record", rule="NV-116")
def _(patch: Patch) -> None:
    """Prepare drops the record of an earlier attempt without undoing it."""

    def make(original: Original) -> Original:
        def prepare(self: Any, claim: Any) -> Any:
            entry = self._checkpoint.get(claim.uid)
            if entry is not None and not self.is_done(entry):
                self._checkpoint.drop(claim.uid)
            return original(self, claim)

        return prepare

    patch.wrap(f"{PREPARER}.prepare", make)


@mutant("leftover-at-placement-not-removed", rule="NV-116")
def _(patch: Patch) -> None:
    """An instance that a failed attempt left at the placement is not removed first."""

    def make(original: Original) -> Original:
        def realize(self: Any, uid: str, chosen: Any, held: Any) -> Any:
            if self._mig is None or not is_place(chosen.device):
                return original(self, uid, chosen, held)
            return replace(chosen, device=self._mig.create(chosen.device))

        return realize

    # Only the withdrawal of a failed Prepare destroys instances; the roll-back before a new attempt leaves them.
    def withdrawing(original: Original) -> Original:
        def withdraw(self: Any, uid: str, entry: Any) -> None:
            self.undoing = True
            try:
                original(self, uid, entry)
            finally:
                self.undoing = False

        return withdraw

    def rolling_back(original: Original) -> Original:
        def roll_back(self: Any, uid: str, entry: Any) -> None:
            mig = self._mig
            self._mig = mig if getattr(self, "undoing", False) else None
            try:
                original(self, uid, entry)
            finally:
                self._mig = mig

        return roll_back

    patch.wrap(f"{PREPARER}.realize", make)
    patch.wrap(f"{PREPARER}.withdraw", withdrawing)
    patch.wrap(f"{PREPARER}.roll_back", rolling_back)


@mutant("failed-prepare-not-rolled-back", rule="NV-116b")
def _(patch: Patch) -> None:
    """A failed Prepare is not rolled back."""
    patch.replace(f"{PREPARER}.withdraw", lambda self, uid, entry: None)


@mutant("nvml-chooses-the-placement", rule="NV-117")
def _(patch: Patch) -> None:
    """The instance is created at a placement that NVML chooses."""

    def make(original: Original) -> Original:
        def create(self: Any, slot: Any) -> Any:
            starts = [start for start in slot.profile.starts if start != slot.start]
            # The last other placement of the profile; NVML may choose any.
            return original(self, replace(slot, start=starts[-1]) if starts else slot)

        return create

    patch.wrap(f"{INSTANCES}.create", make)


@mutant("compute-profile-that-the-gpu-lacks", rule="NV-117")
def _(patch: Patch) -> None:
    """The compute instance of a device of seven slices gets the profile of eight (upstream issue 1480 is alike)."""
    patch.replace("reference_impl.kubelet_plugin.mig:FILLING", {**FILLING, 7: FILLING[8]})


@mutant("capabilities-of-the-first-instance", rule="NV-097b")
def _(patch: Patch) -> None:
    """Every MIG device gets the capability of the GPU's first GPU instance."""

    def make(original: Original) -> Original:
        def device_nodes(self: Any, device: Any) -> Any:
            if hasattr(device, "gi_id"):
                folder = self.procfs / f"driver/nvidia/capabilities/gpu{device.parent.minor}/mig"
                first = min(int(path.name.removeprefix("gi")) for path in folder.glob("gi*"))
                device = replace(device, gi_id=first)
            return original(self, device)

        return device_nodes

    patch.wrap("reference_impl.kubelet_plugin.driver_root:DriverRoot.device_nodes", make)


@mutant("whole-gpu-has-the-engines-of-two", rule="NV-036")
def _(patch: Patch) -> None:
    """The counters of the whole GPU are the sums of all profiles."""

    def amounts(self: Any) -> dict[str, int]:
        names = dict.fromkeys(name for profile in self.profiles for name in profile.amounts)
        return {name: sum(profile.amounts.get(name, 0) for profile in self.profiles) for name in names}

    patch.replace("reference_impl.kubelet_plugin.partitions:Partitioning.amounts", property(amounts))


@mutant("live-instances-not-recognised", rule="NV-052e")
def _(patch: Patch) -> None:
    """Prepare creates the instances of a claim anew if its CDI specification is lost."""
    patch.replace(f"{INSTANCES}.live", lambda self, slot: None)


@mutant("admin-access-destroys-instances", rule="NV-061b")
def _(patch: Patch) -> None:
    """Unprepare of a claim with admin access destroys the instance of another claim."""
    patch.replace(f"{PREPARER}.check_admin_access", lambda self, claim, results: None)
    patch.replace(f"{PREPARER}.kept", lambda self, held: set())


@mutant("clean-up-ends-with-the-first-error", rule="NV-415")
def _(patch: Patch) -> None:
    """The clean-up at start ends with the first MIG device that cannot be destroyed."""

    def make(original: Original) -> Original:
        def sweep(self: Any, found: Any, keep: Any) -> Any:
            for gpu in found.gpus:
                yield from original(self, replace(found, gpus=(gpu,)), keep)
                if any(True for slot in slots_of(gpu) if slot.name not in keep for _ in self.instances(slot)):
                    return

        return sweep

    patch.wrap(f"{INSTANCES}.sweep", make)
