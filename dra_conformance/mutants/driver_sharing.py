"""Mutants of sharing and of flags in the GPU driver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant

OPTIONS = "reference_impl.kubelet_plugin.options"
COMMAND = "reference_impl.kubelet_plugin.command"
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


@mutant("mig-and-passthrough", rule="NV-004")
def _(patch: Patch) -> None:
    """Dynamic MIG and pass-through go together."""
    excluding(patch, HEALTH, MPS, VFIO_HEALTH)


@mutant("mig-and-health", rule="NV-005")
def _(patch: Patch) -> None:
    """Dynamic MIG and health go together."""
    excluding(patch, PASSTHROUGH, MPS, VFIO_HEALTH)


@mutant("passthrough-and-health", rule="NV-006")
def _(patch: Patch) -> None:
    """Pass-through and health go together."""
    excluding(patch, PASSTHROUGH, HEALTH, MPS)


@mutant("unknown-gates-passed-over", rule="NV-009")
def _(patch: Patch) -> None:
    """An unknown feature gate is ignored."""

    def make(original: Original) -> Original:
        def parse(cls: Any, text: str) -> Any:
            known = [item for item in text.split(",") if hasattr(cls, item.partition("=")[0])]
            return original(cls, ",".join(known))

        return parse

    patch.wrap(f"{OPTIONS}:FeatureGates.parse", make)


@mutant("shares-without-their-gate", rule="NV-010")
def _(patch: Patch) -> None:
    """Shares need no gate."""

    def make(original: Original) -> Original:
        def parse(cls: Any, text: str) -> Any:
            return replace(original(cls, text), ConsumableShares=True)

        return parse

    patch.wrap(f"{OPTIONS}:FeatureGates.parse", make)


@mutant("no-share-is-a-number", rule="NV-011")
def _(patch: Patch) -> None:
    """Any text is taken for a mode."""

    def make(original: Original) -> Original:
        def parse(cls: Any, text: str) -> Any:
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
    """A request takes every share unless it requests fewer."""

    def change(self: Any, capacity: dict[str, Any]) -> None:
        if "shares" in capacity:
            capacity["shares"]["requestPolicy"]["default"] = capacity["shares"]["value"]

    capacities(patch, change)


@mutant("no-memory-by-default-in-mode-memory", rule="NV-044")
def _(patch: Patch) -> None:
    """In the mode memory a request takes the minimum unless it requests more."""
    capacities(patch, default_memory("memory", "1Mi"))


@mutant("all-memory-by-default-with-shares", rule="NV-045")
def _(patch: Patch) -> None:
    """With a number of shares the first takes all memory."""
    capacities(patch, default_memory("count", None))


@mutant("all-memory-by-default-unlimited", rule="NV-045b")
def _(patch: Patch) -> None:
    """In the mode unlimited the first takes all memory."""
    capacities(patch, default_memory("unlimited", None))


@mutant("limits-in-bytes", rule="NV-045c")
def _(patch: Patch) -> None:
    """The memory limit is set in bytes."""

    def make(original: Original) -> Original:
        def limits(self: Any, position: int, consumed: Any) -> Any:
            return [text.replace("m", "") for text in original(self, position, consumed)]

        return limits

    patch.wrap(f"{SHARES}.limits", make)


@mutant("shares-clash", rule="NV-065")
def _(patch: Patch) -> None:
    """A device that one claim has a share of is refused to every other."""
    patch.wrap(
        f"{PREPARER}.clash",
        lambda original: lambda self, wanted, taken: wanted.device == taken.device or original(self, wanted, taken),
    )


@mutant("shares-with-any-configuration", rule="NV-065")
def _(patch: Patch) -> None:
    """The configurations of claims on one device are not compared."""
    patch.replace(f"{PREPARER}.check_shares", lambda self, claim, results, held: None)


@mutant("answers-without-share", rule="NV-067b")
def _(patch: Patch) -> None:
    """The answer leaves the share's id out."""

    def make(original: Original) -> Original:
        def held(self: Any, claim: Any, chosen: Any) -> Any:
            found = original(self, claim, chosen)
            return replace(found, answer=replace(found.answer, share_id=None))

        return held

    patch.wrap(f"{PREPARER}.held", make)


# -- time slices -------------------------------------------------------------------------------------------------------


@mutant("any-interval-will-do", rule="NV-084")
def _(patch: Patch) -> None:
    """An interval that does not exist is taken for the default."""

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


@mutant("no-config-no-slice", rule="NV-086")
def _(patch: Patch) -> None:
    """TimeSlicing without timeSlicingConfig sets nothing."""

    def make(original: Original) -> Original:
        def plan(self: Any, uid: str, chosen: Any) -> Any:
            return original(self, uid, [item for item in chosen if item.config.sharing.has_interval])

        return plan

    patch.wrap(f"{SHARING}:TimeSlicing.plan", make)


@mutant("empty-config-no-slice", rule="NV-088")
def _(patch: Patch) -> None:
    """An empty timeSlicingConfig is an error."""

    def make(original: Original) -> Original:
        def decode(parameters: Any, **how: Any) -> Any:
            if (parameters.get("sharing") or {}).get("timeSlicingConfig") == {}:
                raise RuntimeError("nil interval")
            return original(parameters, **how)

        return decode

    patch.wrap(f"{CONFIGS}:decode", make)


@mutant("mps-config-passed-over", rule="NV-087")
def _(patch: Patch) -> None:
    """An mpsConfig beside TimeSlicing is ignored."""

    def make(original: Original) -> Original:
        def plan(self: Any, uid: str, chosen: Any) -> Any:
            sharing = [replace(item.config.sharing, mps=None) for item in chosen]
            configs = [replace(item.config, sharing=own) for item, own in zip(chosen, sharing, strict=True)]
            return original(self, uid, [replace(i, config=c) for i, c in zip(chosen, configs, strict=True)])

        return plan

    patch.wrap(f"{SHARING}:TimeSlicing.plan", make)


@mutant("nvidia-smi-is-not-heard", rule="NV-089")
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
    patch.replace(f"{SHARING}:TimeSlicing.undo", lambda self, entry: None)


# -- MPS ---------------------------------------------------------------------------------------------------------------


@mutant("mps-limits-not-looked-at", rule="NV-090")
def _(patch: Patch) -> None:
    """Memory limits of MPS are not checked."""
    patch.replace("reference_impl.kubelet_plugin.mps:memory_limits", lambda settings, uuids: {})


@mutant("mps-percentages-not-looked-at", rule="NV-091")
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


@mutant("mps-says-nothing-to-containers", rule="NV-092")
def _(patch: Patch) -> None:
    """The containers do not learn of their daemon."""
    patch.replace(f"{MPS_DAEMON}.device_edits", lambda self, planned, device: {})


@mutant("mps-daemon-sees-every-gpu", rule="NV-092")
def _(patch: Patch) -> None:
    """The daemon does not receive the GPUs of the claim."""

    def make(original: Original) -> Original:
        def run(self: Any, daemon: Any, arguments: Any, **how: Any) -> None:
            original(self, {**daemon, "uuids": []}, arguments, **how)

        return run

    patch.wrap(f"{MPS_DAEMON}.run", make)


@mutant("mps-limits-are-kept-secret", rule="NV-092b")
def _(patch: Patch) -> None:
    """The daemon is started without limits."""

    def make(original: Original) -> Original:
        def daemon(self: Any, *what: Any) -> Any:
            return {**original(self, *what), "limits": {}}

        return daemon

    patch.wrap(f"{MPS_DAEMON}.daemon", make)


@mutant("mps-threads-are-kept-secret", rule="NV-092b")
def _(patch: Patch) -> None:
    """The daemon is started without a percentage."""

    def make(original: Original) -> Original:
        def daemon(self: Any, *what: Any) -> Any:
            return {**original(self, *what), "threads": None}

        return daemon

    patch.wrap(f"{MPS_DAEMON}.daemon", make)


@mutant("mps-limit-for-all-goes-first", rule="NV-092b")
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


@mutant("mps-daemon-lives-on", rule="NV-092c")
def _(patch: Patch) -> None:
    """Unprepare leaves the daemon running."""
    patch.replace(f"{MPS_DAEMON}.undo", lambda self, entry: None)


@mutant("mps-mode-stays-exclusive", rule="NV-092c")
def _(patch: Patch) -> None:
    """The GPU stays in exclusive mode."""

    def make(original: Original) -> Original:
        def end(self: Any, daemon: Any) -> None:
            original(self, {**daemon, "gpus": []})

        return end

    patch.wrap(f"{MPS_DAEMON}.end", make)


@mutant("mps-daemon-is-not-heard", rule="NV-092d")
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


@mutant("mps-in-shared-mode", rule="NV-092e")
def _(patch: Patch) -> None:
    """The GPU stays open to processes that do not go by the daemon."""

    def make(original: Original) -> Original:
        def apply(self: Any, planned: Any) -> None:
            original(self, {"mps": [{**daemon, "gpus": []} for daemon in planned.get("mps") or ()]})

        return apply

    patch.wrap(f"{MPS_DAEMON}.apply", make)


@mutant("mps-daemon-is-forgotten", rule="NV-092f")
def _(patch: Patch) -> None:
    """A driver that starts ends the daemons of its predecessor."""
    patch.wrap(f"{MPS_DAEMON}.sweep", lambda original: lambda self, claims: original(self, ()))


@mutant("mps-leaves-half-a-daemon", rule="NV-092d")
def _(patch: Patch) -> None:
    """The files of a daemon that did not start are kept."""
    patch.replace(f"{PREPARER}.withdraw", lambda self, uid, entry: None)
