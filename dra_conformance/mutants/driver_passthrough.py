"""Mutants of pass-through in the GPU driver."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

PASSTHROUGH = "reference_impl.kubelet_plugin.passthrough"
THROUGH = f"{PASSTHROUGH}:Passthrough"
PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"
CONFIGS = "reference_impl.kubelet_plugin.configs"

Original = Callable[..., Any]


@mutant("only-first-gpu-for-pass-through", rule="NV-175")
def _(patch: Patch) -> None:
    """Only the first GPU can be passed through."""
    patch.wrap(f"{THROUGH}.discover", lambda original: lambda self, found: original(self, found)[:1])


@mutant("gpus-with-mig-devices-passed-through", rule="NV-175c")
def _(patch: Patch) -> None:
    """A GPU that has MIG devices can be passed through."""

    def make(original: Original) -> Original:
        return lambda self, found: original(self, replace(found, devices=()))

    patch.wrap(f"{THROUGH}.discover", make)


@mutant("pass-through-without-its-gate", rule="NV-175b")
def _(patch: Patch) -> None:
    """GPUs are passed through even if the gate is off."""

    def make(original: Original) -> Original:
        def start(self: Any, client: Any, **how: Any) -> None:
            gates = replace(how["options"].gates, PassthroughSupport=True)
            original(self, client, **{**how, "options": replace(how["options"], gates=gates)})

        return start

    patch.wrap("reference_impl.kubelet_plugin.plugin:KubeletPlugin.__init__", make)


@mutant("never-bound-to-vfio", rule="NV-176")
def _(patch: Patch) -> None:
    """The GPU stays with the driver nvidia."""
    patch.replace(f"{THROUGH}.apply", lambda self, planned: None)


@mutant("vfio-with-nvidia-files", rule="NV-176")
def _(patch: Patch) -> None:
    """The container also gets the device files of the driver nvidia."""

    def make(original: Original) -> Original:
        def edits(self: Any, planned: Any) -> Any:
            found = original(self, planned)
            return {**found, "deviceNodes": [*found.get("deviceNodes", ()), *self._root.control_nodes()]}

        return edits

    patch.wrap(f"{THROUGH}.edits", make)


@mutant("cdi-version-older-than-its-fields", rule="NV-176c")
def _(patch: Patch) -> None:
    """The CDI specifications of claims have a version that has no hostPath of device nodes."""
    patch.replace("reference_impl.kubelet_plugin.cdi:CDI_VERSION", "0.3.0")


@mutant("gpu-never-returned-to-nvidia", rule="NV-177")
def _(patch: Patch) -> None:
    """The GPU stays with vfio-pci."""
    patch.replace(f"{THROUGH}.undo", lambda self, entry, in_use=(): None)


@mutant("driver-override-not-cleared", rule="NV-177")
def _(patch: Patch) -> None:
    """driver_override still names vfio-pci after the GPU was returned."""

    def make(original: Original) -> Original:
        def rebind(self: Any, address: str, driver: str) -> None:
            original(self, address, driver)
            # Afterwards, because the original clears it.
            (self._root.sysfs / "bus/pci/devices" / address / "driver_override").write_text("vfio-pci\n")

        return rebind

    patch.wrap(f"{THROUGH}.rebind", make)


@mutant("persistence-mode-not-recorded", rule="NV-177b")
def _(patch: Patch) -> None:
    """The persistence mode of the GPU is not recorded."""
    patch.replace("reference_impl.kubelet_plugin.persistence:PersistenceMode.is_on", lambda self, address: False)


@mutant("persistence-mode-before-the-driver", rule="NV-177b")
def _(patch: Patch) -> None:
    """The persistence mode is switched on before the GPU is bound to its driver."""

    def make(original: Original) -> Original:
        def undo(self: Any, entry: Any, in_use: Collection[str] = ()) -> None:
            for address in (entry.config_state.get("passthrough") or {}).get("persistent", ()):
                self.persistence.switch_on(address)
            # Emptied, so that the original does not switch the mode on a second time after the driver is back.
            state = {name: {**held, "persistent": []} for name, held in entry.config_state.items()}
            original(self, replace(entry, config_state=state))

        return undo

    patch.wrap(f"{THROUGH}.undo", make)


@mutant("persistence-mode-of-the-first-gpu", rule="NV-177b")
def _(patch: Patch) -> None:
    """The persistence mode is switched on for the first GPU of a claim only."""

    def make(original: Original) -> Original:
        def undo(self: Any, entry: Any, in_use: Collection[str] = ()) -> None:
            held = entry.config_state.get("passthrough")
            first = {"passthrough": {**held, "persistent": held["persistent"][:1]}} if held else {}
            original(self, replace(entry, config_state={**entry.config_state, **first}))

        return undo

    patch.wrap(f"{THROUGH}.undo", make)


@mutant("both-names-stay-published", rule="NV-178")
def _(patch: Patch) -> None:
    """Both names of a GPU stay published."""
    patch.replace(f"{PREPARER}.hidden_twins", lambda self: set())


@mutant("published-devices-not-restored", rule="NV-178")
def _(patch: Patch) -> None:
    """No update is triggered when a claim is unprepared."""

    def make(original: Original) -> Original:
        def unprepare(self: Any, uid: str) -> None:
            self._on_change = lambda: None
            original(self, uid)

        return unprepare

    patch.wrap(f"{PREPARER}.unprepare", make)


@mutant("pass-through-device-stays-published", rule="NV-178b")
def _(patch: Patch) -> None:
    """The device for pass-through of a prepared GPU stays published."""

    def make(original: Original) -> Original:
        return lambda self: {name for name in original(self) if "vfio" not in name}

    patch.wrap(f"{PREPARER}.hidden_twins", make)


@mutant("both-names-of-a-gpu-allocated", rule="NV-179")
def _(patch: Patch) -> None:
    """The two names of a GPU are treated as different devices."""
    patch.replace(f"{PREPARER}.clash", lambda self, wanted, taken: wanted.device == taken.device)


@mutant("no-api-device", rule="NV-180")
def _(patch: Patch) -> None:
    """enableAPIDevice does nothing."""
    patch.replace(f"{THROUGH}.edits", lambda self, planned: {})


@mutant("always-legacy", rule="NV-180b")
def _(patch: Patch) -> None:
    """IOMMUFD is never used."""

    def make(original: Original) -> Original:
        def describe(self: Any, *what: Any) -> Any:
            return replace(original(self, *what), iommufd=False)

        return describe

    patch.wrap(f"{THROUGH}.describe", make)


@mutant("unknown-vfio-fields-ignored", rule="NV-180c")
def _(patch: Patch) -> None:
    """Unknown fields are ignored."""

    def make(original: Original) -> Original:
        def decode(parameters: Any, **how: Any) -> Any:
            # Lenient for this kind only, because other rules judge the others.
            return original(parameters, strict=parameters.get("kind") != "VfioDeviceConfig")

        return decode

    patch.wrap(f"{CONFIGS}:decode", make)


@mutant("any-backend-policy-accepted", rule="NV-180c")
def _(patch: Patch) -> None:
    """Every backend policy is accepted."""

    def make(original: Original) -> Original:
        def validate(config: Any, *gates: Any) -> None:
            # Only VfioDeviceConfig has this field.
            if not hasattr(config, "backend_policy"):
                original(config, *gates)

        return validate

    patch.wrap(f"{CONFIGS}:validate", make)


@mutant("first-vfio-config-wins", rule="NV-180d")
def _(patch: Patch) -> None:
    """The first of several configurations is used for all devices."""

    def make(original: Original) -> Original:
        def plan(self: Any, uid: str, chosen: Any) -> Any:
            configs = [item.config for item in chosen if item.device.type == "vfio"]
            return original(self, uid, [replace(item, config=configs[0]) for item in chosen] if configs else chosen)

        return plan

    patch.wrap(f"{THROUGH}.plan", make)


@mutant("failed-prepare-keeps-vfio-binding", rule="NV-181")
def _(patch: Patch) -> None:
    """A Prepare that fails leaves GPUs bound to vfio-pci."""
    patch.replace(f"{PREPARER}.withdraw", lambda self, uid, entry: None)


@mutant("processes-on-gpu-not-checked", rule="NV-182")
def _(patch: Patch) -> None:
    """The processes on the GPU are not checked."""
    patch.replace(f"{THROUGH}.check_free", lambda self, device: None)


@mutant("use-of-the-first-gpu-checked", rule="NV-182")
def _(patch: Patch) -> None:
    """Only the first GPU of a claim is checked for users and for its driver."""

    def make(original: Original) -> Original:
        def plan(self: Any, claim_uid: str, configured: Any) -> Any:
            check, checked = self.check_free, list[Any]()

            def first(device: Any) -> None:
                if not checked:
                    checked.append(device)
                    check(device)

            self.check_free = first
            try:
                return original(self, claim_uid, configured)
            finally:
                del self.check_free

        return plan

    patch.wrap(f"{THROUGH}.plan", make)


@mutant("missing-iommu-not-detected", rule="NV-183")
def _(patch: Patch) -> None:
    """A driver without IOMMU starts, with nothing to pass through."""
    patch.replace(f"{THROUGH}.check", lambda self: None)
    patch.replace(f"{THROUGH}.discover", lambda self, found: ())


@mutant("passed-through-gpus-returned-at-start", rule="NV-184")
def _(patch: Patch) -> None:
    """A starting driver binds GPUs that are passed through to nvidia again."""

    def make(original: Original) -> Original:
        def repair(self: Any) -> None:
            original(self)
            for entry in self._checkpoint.claims().values():
                self._passthrough.undo(entry)

        return repair

    patch.wrap(f"{PREPARER}.repair", make)


@mutant("unfinished-claims-keep-their-gpu", rule="NV-181b")
def _(patch: Patch) -> None:
    """At start the GPUs of unfinished claims stay bound to vfio-pci."""
    patch.replace("reference_impl.kubelet_plugin.prepare:ClaimPreparer.withdraw", lambda self, uid, entry: None)


@mutant("memory-of-the-first-bar", rule="NV-175")
def _(patch: Patch) -> None:
    """The addressable memory is that of the registers."""
    patch.replace(f"{PASSTHROUGH}:addressable", lambda resource: 16 << 20)


@mutant("powers-of-two-are-rounded-up", rule="NV-175")
def _(patch: Patch) -> None:
    """Addressable memory that is a power of two is rounded up to the next one."""

    def make(original: Original) -> Original:
        def addressable(resource: Any) -> int:
            total: int = original(resource)
            words = [int(word, 0) for word in resource.read_text().splitlines()[0].split()]
            return 2 * total if total == words[1] - words[0] + 1 else total

        return addressable

    patch.wrap(f"{PASSTHROUGH}:addressable", make)


@mutant("returned-gpus-not-found-again", rule="NV-184")
def _(patch: Patch) -> None:
    """A driver that started without a GPU in NVML does not look for it again."""
    patch.replace("reference_impl.kubelet_plugin.plugin:KubeletPlugin._twins_changed", lambda self: self.publish())


@mutant("persistence-mode-always-switched-on", rule="NV-420")
def _(patch: Patch) -> None:
    """Every GPU is in persistence mode after it was passed through."""
    patch.replace("reference_impl.kubelet_plugin.persistence:PersistenceMode.is_on", lambda self, address: True)


@mutant("devices-read-once-after-unprepare", rule="NV-407")
def _(patch: Patch) -> None:
    """After Unprepare the driver publishes the GPUs that NVML lists at that moment, and never looks again."""

    def make(original: Original) -> Original:
        def changed(self: Any) -> None:
            self._found = self._discover()
            self.publish()

        return changed

    patch.wrap("reference_impl.kubelet_plugin.plugin:KubeletPlugin._twins_changed", make)


@mutant("unfinished-pass-through-forgotten", rule="NV-408")
def _(patch: Patch) -> None:
    """Unprepare of a claim whose Prepare failed removes its record only."""

    def make(original: Original) -> Original:
        def roll_back(self: Any, uid: str, entry: Any) -> None:
            if entry.state.name == "COMPLETED":
                original(self, uid, entry)

        return roll_back

    patch.wrap(f"{PREPARER}.roll_back", make)
