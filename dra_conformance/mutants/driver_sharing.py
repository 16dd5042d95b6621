"""Mutants of sharing and of flags in the GPU driver."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from dra_api.quantity import Quantity
from dra_conformance.engine.mutation import Patch, mutant
from reference_impl.kubelet_plugin import configs
from reference_impl.kubelet_plugin.checkpoint import ClaimState
from reference_impl.kubelet_plugin.mps import memory_limits
from reference_impl.kubelet_plugin.partitions import MEBI

OPTIONS = "reference_impl.kubelet_plugin.options"
COMMAND = "reference_impl.kubelet_plugin.command"
FABRIC = "reference_impl.kubelet_plugin.fabric"
CONFIGS = "reference_impl.kubelet_plugin.configs"
SHARES = "reference_impl.kubelet_plugin.shares:ShareMode"
SHARING = "reference_impl.kubelet_plugin.sharing"
PREPARER = "reference_impl.kubelet_plugin.prepare:ClaimPreparer"

Original = Callable[..., Any]


# -- flags -------------------------------------------------------------------------------------------------------------


def excluding(patch: Patch, *pairs: tuple[str, str]) -> None:
    """Let only these gates exclude each other."""
    patch.replace(f"{OPTIONS}:EXCLUSIVE", pairs)


HEALTH = ("DynamicMIG", "NVMLDeviceHealthCheck")
PASSTHROUGH = ("DynamicMIG", "PassthroughSupport")
MPS = ("DynamicMIG", "MPSSupport")
VFIO_HEALTH = ("PassthroughSupport", "NVMLDeviceHealthCheck")


@mutant("mig-gate-with-pass-through-gate", rule="NV-004")
def _(patch: Patch) -> None:
    """Dynamic MIG and pass-through can be enabled together."""
    excluding(patch, HEALTH, MPS, VFIO_HEALTH)


@mutant("mig-gate-with-health-gate", rule="NV-005")
def _(patch: Patch) -> None:
    """Dynamic MIG and health can be enabled together."""
    excluding(patch, PASSTHROUGH, MPS, VFIO_HEALTH)


@mutant("pass-through-gate-with-health-gate", rule="NV-006")
def _(patch: Patch) -> None:
    """Pass-through and health can be enabled together."""
    excluding(patch, PASSTHROUGH, HEALTH, MPS)


@mutant("unknown-gates-ignored", rule="NV-009")
def _(patch: Patch) -> None:
    """An unknown feature gate is ignored."""

    def make(original: Original) -> Original:
        def parse(cls: Any, text: str) -> Any:
            known = [item for item in text.split(",") if hasattr(cls, item.partition("=")[0])]
            return original(cls, ",".join(known))

        return parse

    patch.wrap(f"{OPTIONS}:FeatureGates.parse", make)


@mutant("fabric-manager-needed-everywhere", rule="NV-311")
def _(patch: Patch) -> None:
    """With the gate the driver needs a Fabric Manager on every node."""
    patch.replace(f"{FABRIC}:has_fabric", lambda root: True)


@mutant("partitions-without-a-fabric", rule="NV-311")
def _(patch: Patch) -> None:
    """Every GPU is published as a partition of its own."""

    def make(original: Original) -> Original:
        return lambda device: {**original(device), "partition1": {"int": 1}}

    patch.wrap("reference_impl.kubelet_plugin.devices:attributes_of", make)


@mutant("fabric-without-its-manager", rule="NV-312")
def _(patch: Patch) -> None:
    """The driver starts on a fabric whose Fabric Manager it cannot reach."""
    patch.replace(f"{FABRIC}:has_fabric", lambda root: False)


@mutant("shares-without-their-gate", rule="NV-010")
def _(patch: Patch) -> None:
    """Shares need no gate."""

    def make(original: Original) -> Original:
        def parse(cls: Any, text: str) -> Any:
            return replace(original(cls, text), ConsumableShares=True)

        return parse

    patch.wrap(f"{OPTIONS}:FeatureGates.parse", make)


@mutant("any-text-is-a-sharing-mode", rule="NV-011")
def _(patch: Patch) -> None:
    """Any text is accepted as a sharing mode."""

    def make(original: Original) -> Original:
        def parse(cls: Any, text: str) -> Any:
            # The modes of the scenarios that need one keep their meaning.
            return original(cls, text if text in ("disabled", "memory", "unlimited", "4") else "unlimited")

        return parse

    patch.wrap(f"{SHARES}.parse", make)


@mutant("ignored-xids-not-read", rule="NV-120")
def _(patch: Patch) -> None:
    """--additional-xids-to-ignore has no effect."""
    patch.wrap(f"{COMMAND}:node_options", lambda original: lambda args, *, gates, **more: original(args, gates=gates))


@mutant("taints-without-the-health-gate", rule="NV-128")
def _(patch: Patch) -> None:
    """Events become taints whether or not the gate is on."""

    def make(original: Original) -> Original:
        def parse(cls: Any, text: str) -> Any:
            return replace(original(cls, text), NVMLDeviceHealthCheck=True)

        return parse

    patch.wrap(f"{OPTIONS}:FeatureGates.parse", make)


# -- shares ------------------------------------------------------------------------------------------------------------


def capacities(patch: Patch, change: Callable[[Any, dict[str, Any]], None]) -> None:
    """Bend the capacities of a shared device; `change(mode, capacity)` works on them in place."""

    def make(original: Original) -> Original:
        def entry(self: Any, device: Any) -> Any:
            found = original(self, device)
            change(self, found.get("capacity") or {})
            return found

        return entry

    patch.wrap(f"{SHARES}.entry", make)


def default_memory(mode: str, value: str | None) -> Callable[[Any, dict[str, Any]], None]:
    """Set the default of memory in one mode; None: all of it."""

    def change(self: Any, capacity: dict[str, Any]) -> None:
        if self.word == mode and "requestPolicy" in capacity.get("memory", {}):
            capacity["memory"]["requestPolicy"]["default"] = value or capacity["memory"]["value"]

    return change


@mutant("all-shares-by-default", rule="NV-043")
def _(patch: Patch) -> None:
    """A request gets all shares unless it requests fewer."""

    def change(self: Any, capacity: dict[str, Any]) -> None:
        if "shares" in capacity:
            capacity["shares"]["requestPolicy"]["default"] = capacity["shares"]["value"]

    capacities(patch, change)


@mutant("minimum-memory-by-default-in-mode-memory", rule="NV-044")
def _(patch: Patch) -> None:
    """In sharing mode memory, a request gets 1Mi unless it requests more."""
    capacities(patch, default_memory("memory", "1Mi"))


@mutant("all-memory-by-default-with-shares", rule="NV-045")
def _(patch: Patch) -> None:
    """In a mode with a number of shares, the first share consumes all memory."""
    capacities(patch, default_memory("count", None))


@mutant("all-memory-by-default-unlimited", rule="NV-045b")
def _(patch: Patch) -> None:
    """In sharing mode unlimited, the first share consumes all memory."""
    capacities(patch, default_memory("unlimited", None))


@mutant("shares-are-refused", rule="NV-065")
def _(patch: Patch) -> None:
    """A device of which one claim has a share is refused to every other claim."""
    patch.wrap(
        f"{PREPARER}.clash",
        lambda original: lambda self, wanted, taken: wanted.device == taken.device or original(self, wanted, taken),
    )


@mutant("shares-with-any-configuration", rule="NV-065")
def _(patch: Patch) -> None:
    """The configurations of claims on one device are not compared."""
    patch.replace(f"{PREPARER}.check_shares", lambda self, claim, results, held: None)


@mutant("admin-access-with-any-configuration", rule="NV-065")
def _(patch: Patch) -> None:
    """The configuration of a claim with admin access is compared with those of the shares."""

    def make(original: Original) -> Original:
        def check_shares(self: Any, claim: Any, results: Any, held: Any) -> None:
            original(self, claim, [replace(result, admin_access=False) for result in results], held)

        return check_shares

    patch.wrap(f"{PREPARER}.check_shares", make)


@mutant("share-id-lost-at-restart", rule="NV-067b")
def _(patch: Patch) -> None:
    """The checkpoint does not keep the ids of shares."""

    def make(original: Original) -> Original:
        def encode(device: Any) -> Any:
            return original(replace(device, answer=replace(device.answer, share_id=None)))

        return encode

    patch.wrap("reference_impl.kubelet_plugin.checkpoint:_encode_device", make)


@mutant("refused-claims-have-shares", rule="NV-065")
def _(patch: Patch) -> None:
    """The configuration of a claim that was refused is compared as well."""

    def make(original: Original) -> Original:
        def check_shares(self: Any, claim: Any, results: Any, held: Any) -> None:
            others = {uid: replace(entry, state=ClaimState.COMPLETED) for uid, entry in held.items()}
            original(self, claim, results, others)

        return check_shares

    patch.wrap(f"{PREPARER}.check_shares", make)


@mutant("memory-of-shares-rounded-up", rule="NV-044")
def _(patch: Patch) -> None:
    """The memory of a GPU that is no multiple of 1Mi is rounded up."""

    def make(original: Original) -> Original:
        def entry(self: Any, device: Any) -> Any:
            memory = int(Quantity.parse(device["capacity"]["memory"]["value"]).value)
            rounded = {"memory": {"value": str(-(-memory // MEBI) * MEBI)}}
            return original(self, {**device, "capacity": {**device["capacity"], **rounded}})

        return entry

    patch.wrap(f"{SHARES}.entry", make)


@mutant("device-of-two-shares-twice-in-the-spec", rule="NV-067b")
def _(patch: Patch) -> None:
    """The CDI specification has a device once for each share of the claim."""

    def make(original: Original) -> Original:
        def write_spec(self: Any, claim: Any, configured: Any, config_state: Any) -> None:
            cdi, names = self._cdi, [item.device.name for item in configured]

            def write(uid: str, devices: Any, edits: Any) -> None:
                by_name = {device["name"]: device for device in devices}
                cdi.write(uid, [by_name[cdi.device_name(uid, name)] for name in names], edits)

            self._cdi = SimpleNamespace(write=write, device_name=cdi.device_name)
            try:
                original(self, claim, configured, config_state)
            finally:
                self._cdi = cdi

        return write_spec

    patch.wrap(f"{PREPARER}.write_spec", make)


@mutant("response-without-share-id", rule="NV-067b")
def _(patch: Patch) -> None:
    """The response leaves out the share ID."""

    def make(original: Original) -> Original:
        def held(self: Any, claim: Any, chosen: Any) -> Any:
            found = original(self, claim, chosen)
            return replace(found, answer=replace(found.answer, share_id=None))

        return held

    patch.wrap(f"{PREPARER}.held", make)


# -- time slices -------------------------------------------------------------------------------------------------------


@mutant("any-interval-accepted", rule="NV-084")
def _(patch: Patch) -> None:
    """An interval that does not exist is treated as the default."""

    def make(original: Original) -> Original:
        def validate(config: Any, *gates: Any) -> None:
            if getattr(getattr(config, "sharing", None), "interval", None) != "Tiny":
                original(config, *gates)

        return validate

    patch.wrap(f"{CONFIGS}:validate", make)
    # sharing imports the table by name, so both modules need the longer one.
    patch.replace(f"{CONFIGS}:INTERVALS", {"Default": 0, "Short": 1, "Medium": 2, "Long": 3, "Tiny": 0})
    patch.replace(f"{SHARING}:INTERVALS", {"Default": 0, "Short": 1, "Medium": 2, "Long": 3, "Tiny": 0})


@mutant("intervals-shifted", rule="NV-085")
def _(patch: Patch) -> None:
    """Every interval is one longer."""
    patch.replace(f"{SHARING}:INTERVALS", {"Default": 0, "Short": 2, "Medium": 3, "Long": 4})


@mutant("time-slice-of-one-gpu-only", rule="NV-085")
def _(patch: Patch) -> None:
    """Only the first GPU of a claim gets its time slice."""

    def make(original: Original) -> Original:
        def plan(*args: Any) -> Any:
            found = original(*args)
            return {name: dict(list(slices.items())[:1]) for name, slices in found.items()}

        return plan

    patch.wrap(f"{SHARING}:TimeSlicing.plan", make)


@mutant("compute-mode-not-reset", rule="NV-085")
def _(patch: Patch) -> None:
    """The compute mode is not changed."""

    def make(original: Original) -> Original:
        def set_slice(self: Any, uuid: str, interval: str) -> None:
            run = self._run
            # -c is nvidia-smi's option for the compute mode.
            self._run = lambda words: None if "-c" in words else run(words)
            try:
                original(self, uuid, interval)
            finally:
                self._run = run

        return set_slice

    patch.wrap(f"{SHARING}:TimeSlicing.set", make)


@mutant("missing-time-slicing-config-sets-nothing", rule="NV-086")
def _(patch: Patch) -> None:
    """TimeSlicing without timeSlicingConfig sets nothing."""

    def make(original: Original) -> Original:
        def plan(self: Any, uid: str, chosen: Any) -> Any:
            return original(self, uid, [item for item in chosen if item.config.sharing.interval is not None])

        return plan

    patch.wrap(f"{SHARING}:TimeSlicing.plan", make)


@mutant("empty-time-slicing-config-fails", rule="NV-088")
def _(patch: Patch) -> None:
    """An empty timeSlicingConfig is an error."""

    def make(original: Original) -> Original:
        def decode(parameters: Any, **how: Any) -> Any:
            if (parameters.get("sharing") or {}).get("timeSlicingConfig") == {}:
                raise RuntimeError("nil interval")
            return original(parameters, **how)

        return decode

    patch.wrap(f"{CONFIGS}:decode", make)


@mutant("mps-config-beside-time-slicing-ignored", rule="NV-087")
def _(patch: Patch) -> None:
    """An mpsConfig beside TimeSlicing is ignored."""

    def make(original: Original) -> Original:
        def plan(self: Any, uid: str, chosen: Any) -> Any:
            # The original refuses a configuration with MPS settings.
            sharing = [replace(item.config.sharing, mps=None) for item in chosen]
            configs = [replace(item.config, sharing=own) for item, own in zip(chosen, sharing, strict=True)]
            return original(self, uid, [replace(i, config=c) for i, c in zip(chosen, configs, strict=True)])

        return plan

    patch.wrap(f"{SHARING}:TimeSlicing.plan", make)


@mutant("nvidia-smi-failure-ignored", rule="NV-089")
def _(patch: Patch) -> None:
    """The exit status of nvidia-smi is ignored."""

    def make(original: Original) -> Original:
        def call(self: Any, arguments: Any) -> None:
            try:
                original(self, arguments)
            except Exception:
                return

        return call

    patch.wrap(f"{SHARING}:NvidiaSmi.__call__", make)


@mutant("time-slices-stay", rule="NV-111")
def _(patch: Patch) -> None:
    """Unprepare leaves the time slice as it is."""
    patch.replace(f"{SHARING}:TimeSlicing.undo", lambda self, entry, in_use=(): None)


@mutant("time-slice-reset-under-other-claims", rule="NV-111b")
def _(patch: Patch) -> None:
    """Unprepare of one claim resets the time slice of a GPU that another claim shares."""
    patch.replace(f"{PREPARER}.in_use", lambda self, held: set())


@mutant("admin-access-keeps-the-time-slice", rule="NV-111b")
def _(patch: Patch) -> None:
    """The time slice of a GPU stays as long as a claim with admin access has it."""

    def in_use(self: Any, held: Any) -> set[str]:
        return {self._found().device(name).uuid for name in self.kept(held)}

    patch.replace(f"{PREPARER}.in_use", in_use)


@mutant("time-slices-of-a-sharing-claim-stay", rule="NV-111b")
def _(patch: Patch) -> None:
    """Unprepare resets no time slice of a claim that shares one of its GPUs."""

    def make(original: Original) -> Original:
        def undo(self: Any, entry: Any, in_use: Any = ()) -> None:
            if not set(entry.config_state.get("timeSlices") or ()) & set(in_use):
                original(self, entry)

        return undo

    patch.wrap(f"{SHARING}:TimeSlicing.undo", make)


@mutant("unprepare-ends-at-a-claim-that-fails", rule="NV-107b")
def _(patch: Patch) -> None:
    """The claims of a call after one that cannot be unprepared stay prepared, and the response lacks them."""

    def unprepare(self: Any, claims: Any) -> dict[str, str]:
        answers: dict[str, str] = {}
        for reference in claims:
            answers[reference.uid] = self.unprepare_one(reference)
            if answers[reference.uid]:
                break
        return answers

    patch.replace("reference_impl.kubelet_plugin.service:DriverService.unprepare", unprepare)


# -- MPS ---------------------------------------------------------------------------------------------------------------


@mutant("mps-limits-not-checked", rule="NV-090")
def _(patch: Patch) -> None:
    """Memory limits of MPS are not checked."""
    patch.replace("reference_impl.kubelet_plugin.mps:memory_limits", lambda settings, uuids: {})


@mutant("mps-percentages-not-checked", rule="NV-091")
def _(patch: Patch) -> None:
    """Thread percentages of MPS are not checked."""

    def make(original: Original) -> Original:
        def validate(config: Any, *gates: Any) -> None:
            sharing = getattr(config, "sharing", None)
            original(replace(config, sharing=replace(sharing, mps=None)) if sharing else config, *gates)

        return validate

    patch.wrap(f"{CONFIGS}:validate", make)


@mutant("mps-beside-shares", rule="NV-066")
def _(patch: Patch) -> None:
    """A claim that requests MPS is prepared although its device is shared."""
    patch.replace(f"{CONFIGS}:requests_mps", lambda config: False)


MPS_DAEMON = "reference_impl.kubelet_plugin.mps:Mps"


@mutant("mps-without-container-edits", rule="NV-092")
def _(patch: Patch) -> None:
    """The containers get no settings of their daemon."""
    patch.replace(f"{MPS_DAEMON}.device_edits", lambda self, planned, device: {})


@mutant("mps-daemon-sees-every-gpu", rule="NV-092")
def _(patch: Patch) -> None:
    """The daemon does not receive the GPUs of the claim."""

    def make(original: Original) -> Original:
        def run(self: Any, daemon: Any, arguments: Any, **how: Any) -> None:
            original(self, {**daemon, "uuids": []}, arguments, **how)

        return run

    patch.wrap(f"{MPS_DAEMON}.run", make)


@mutant("mps-daemon-without-limits", rule="NV-092b")
def _(patch: Patch) -> None:
    """The daemon is started without limits."""

    def make(original: Original) -> Original:
        def daemon(self: Any, *what: Any) -> Any:
            return {**original(self, *what), "limits": {}}

        return daemon

    patch.wrap(f"{MPS_DAEMON}.daemon", make)


@mutant("mps-daemon-without-percentage", rule="NV-092b")
def _(patch: Patch) -> None:
    """The daemon is started without a percentage."""

    def make(original: Original) -> Original:
        def daemon(self: Any, *what: Any) -> Any:
            return {**original(self, *what), "threads": None}

        return daemon

    patch.wrap(f"{MPS_DAEMON}.daemon", make)


@mutant("mps-limits-by-position-in-the-allocation", rule="NV-092b")
def _(patch: Patch) -> None:
    """An index among the limits counts the devices of the allocation, whose order is not that of their UUIDs."""

    def make(original: Original) -> Original:
        def daemon(self: Any, name: Any, group: Any) -> Any:
            settings = configs.mps_settings(group[0].config) or {}
            limits = memory_limits(settings, [item.device.uuid for item in group])
            return {**original(self, name, group), "limits": limits}

        return daemon

    patch.wrap(f"{MPS_DAEMON}.daemon", make)


@mutant("mps-general-limit-wins", rule="NV-092b")
def _(patch: Patch) -> None:
    """The limit for all devices wins over that of one."""

    def make(original: Original) -> Original:
        def limits(settings: Any, uuids: Any) -> Any:
            return original(
                {k: v for k, v in settings.items() if k != "defaultPerDevicePinnedMemoryLimit"}
                if "defaultPinnedDeviceMemoryLimit" in settings
                else settings,
                uuids,
            )

        return limits

    patch.wrap("reference_impl.kubelet_plugin.mps:memory_limits", make)


@mutant("mps-daemon-not-stopped", rule="NV-092c")
def _(patch: Patch) -> None:
    """Unprepare leaves the daemon running."""
    patch.replace(f"{MPS_DAEMON}.undo", lambda self, entry, in_use=(): None)


@mutant("mps-compute-mode-stays-exclusive", rule="NV-418")
def _(patch: Patch) -> None:
    """The GPU stays in exclusive mode."""

    def make(original: Original) -> Original:
        def end(self: Any, daemon: Any) -> None:
            # The compute mode is reset for each of these GPUs.
            original(self, {**daemon, "gpus": []})

        return end

    patch.wrap(f"{MPS_DAEMON}.end", make)


@mutant("mps-daemon-start-not-checked", rule="NV-092d")
def _(patch: Patch) -> None:
    """The start of the daemon is not checked."""

    def make(original: Original) -> Original:
        def run(self: Any, *what: Any, **how: Any) -> None:
            try:
                original(self, *what, **how)
            except Exception:
                return

        return run

    patch.wrap(f"{MPS_DAEMON}.run", make)


@mutant("mps-folders-not-mounted-by-bind", rule="NV-092")
def _(patch: Patch) -> None:
    """The mounts of a daemon's folders are no bind mounts: a container runtime cannot mount them."""
    patch.replace("reference_impl.kubelet_plugin.mps:_MOUNT_OPTIONS", ["rw", "nosuid", "nodev"])


@mutant("mps-compute-mode-stays-default", rule="NV-092e")
def _(patch: Patch) -> None:
    """The GPU stays open to processes that bypass the daemon."""

    def make(original: Original) -> Original:
        def apply(self: Any, planned: Any) -> None:
            # The compute mode is set for each of these GPUs.
            original(self, {"mps": [{**daemon, "gpus": []} for daemon in planned.get("mps") or ()]})

        return apply

    patch.wrap(f"{MPS_DAEMON}.apply", make)


@mutant("mps-daemon-ended-at-restart", rule="NV-092f")
def _(patch: Patch) -> None:
    """A driver that starts ends the daemons of its predecessor."""
    patch.wrap(f"{MPS_DAEMON}.sweep", lambda original: lambda self, claims: original(self, ()))


@mutant("failed-mps-daemon-leaves-files", rule="NV-092j")
def _(patch: Patch) -> None:
    """The files of a daemon that did not start are kept."""
    patch.replace(f"{PREPARER}.withdraw", lambda self, uid, entry: None)


@mutant("mps-files-stay-if-nvidia-smi-fails", rule="NV-092j")
def _(patch: Patch) -> None:
    """The folder of a daemon is kept until nvidia-smi has reset the compute mode, even if it was never set."""

    def make(original: Original) -> Original:
        def reserve(self: Any, daemon: Any) -> None:
            end = self.end
            self.end = lambda daemon: None
            try:
                original(self, daemon)
            finally:
                self.end = end

        return reserve

    patch.wrap(f"{MPS_DAEMON}.reserve", make)


@mutant("one-daemon-for-all-configurations", rule="NV-092g")
def _(patch: Patch) -> None:
    """A claim has one control daemon, with the settings of its first configuration."""

    def make(original: Any) -> Any:
        def plan(self: Any, claim_uid: str, configured: Any) -> Any:
            found = original(self, claim_uid, configured).get("mps")
            if not found:
                return {}
            merged = {**found[0], "uuids": [uuid for one in found for uuid in one["uuids"]]}
            return {"mps": [{**merged, "gpus": merged["uuids"]}]}

        return plan

    patch.wrap("reference_impl.kubelet_plugin.mps:Mps.plan", make)


@mutant("multi-user-not-passed-on", rule="NV-319")
def _(patch: Patch) -> None:
    """The daemon is started without -M."""

    def make(original: Original) -> Original:
        def daemon(self: Any, *what: Any) -> Any:
            return {**original(self, *what), "multiUser": False}

        return daemon

    patch.wrap(f"{MPS_DAEMON}.daemon", make)


@mutant("unfinished-mps-claim-forgotten", rule="NV-417")
def _(patch: Patch) -> None:
    """Nothing of a daemon that did not start is undone, also not by Unprepare."""
    patch.replace(f"{PREPARER}.withdraw", lambda self, uid, entry: None)

    def make(original: Original) -> Original:
        def roll_back(self: Any, uid: str, entry: Any) -> None:
            if entry.state is ClaimState.COMPLETED:
                original(self, uid, entry)

        return roll_back

    patch.wrap(f"{PREPARER}.roll_back", make)


@mutant("multi-user-on-every-gpu", rule="NV-092h")
def _(patch: Patch) -> None:
    """The compute capability is not checked."""
    patch.replace("reference_impl.kubelet_plugin.mps:_capability", lambda gpu: 9)


@mutant("daemons-of-former-boots-kept", rule="NV-092i")
def _(patch: Patch) -> None:
    """Nothing of claims that are no longer in the checkpoint is removed at start."""
    patch.replace("reference_impl.kubelet_plugin.mps:Mps.sweep", lambda self, claims: [])


@mutant("mps-failure-leaves-earlier-gpus-exclusive", rule="NV-418c")
def _(patch: Patch) -> None:
    """If the compute mode of a GPU cannot be set, the daemon's folder is removed and its other GPUs stay exclusive."""

    def make(original: Original) -> Original:
        def reserve(self: Any, daemon: Any) -> None:
            real = self.end
            self.end = lambda failed: real({**failed, "gpus": []})
            try:
                original(self, daemon)
            finally:
                self.end = real

        return reserve

    patch.wrap(f"{MPS_DAEMON}.reserve", make)


@mutant("mps-record-removed-before-compute-mode", rule="NV-418b")
def _(patch: Patch) -> None:
    """The folder of a daemon is removed before its GPUs are reset, so that a later Unprepare finds no daemon."""

    def make(original: Original) -> Original:
        def end(self: Any, daemon: Any) -> None:
            real = self._smi

            def smi(arguments: Any) -> Any:
                if "DEFAULT" in arguments:
                    shutil.rmtree(self.folder / daemon["id"], ignore_errors=True)
                return real(arguments)

            self._smi = smi
            try:
                original(self, daemon)
            except FileNotFoundError:
                return
            finally:
                self._smi = real

        return end

    patch.wrap(f"{MPS_DAEMON}.end", make)
