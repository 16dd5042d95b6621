"""Faults in the fake NVML as processes see it: how it loads, who may change it, what half a change would be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from fake_nvml.xids import Effects


# A weak symbol: the library still loads, with the undefined name in its symbol table.
@mutant("undefined-symbol", rule="NVML-002")
def _(patch: Patch) -> None:
    """A function refers to a symbol that no library defines."""
    patch.source(
        "state/session.c",
        "API int fnvml_use_state(const char *path) {",
        "extern int nvmlNotThere(void) __attribute__((weak));\nAPI int fnvml_use_state(const char *path) {\n"
        "    if (nvmlNotThere != NULL) return nvmlNotThere();",
    )


@mutant("internal-symbol-exported", rule="NVML-003")
def _(patch: Patch) -> None:
    """An internal function of the library is exported."""
    patch.source("abi/handles.c", "\nhandle_t handle_make(", "\nAPI handle_t handle_make(")


@mutant("file-without-version", rule="NVML-004")
def _(patch: Patch) -> None:
    """The driver root's library has no version in its name."""

    def make(original: Any) -> Any:
        def create(root: Any, library: Any, state: Any) -> None:
            original(root, library, state)
            link = root / "usr/lib64/libnvidia-ml.so.1"
            real = link.resolve()
            link.unlink()
            # The file itself takes the name of the link.
            real.rename(link)

        return create

    patch.wrap("fake_nvml.driver_root:create", make)


@mutant("utilisation-rates-swapped", rule="NVML-005")
def _(patch: Patch) -> None:
    """The utilisations of GPU and memory are swapped."""
    patch.source(
        "device/readings.c",
        "device, F_utilization_gpu, F_utilization_memory, out",
        "device, F_utilization_memory, F_utilization_gpu, out",
    )


# The sleep gives other threads time to overwrite the shared buffer.
@mutant("text-buffer-shared-by-threads", rule="NVML-018")
def _(patch: Patch) -> None:
    """All threads share one buffer for texts."""
    patch.source(
        "state/values.c",
        "    if (rc == OK) rc = text.rc;\n",
        "    static fn_Text shared;\n    extern int usleep(unsigned int);\n    shared = text;\n    usleep(20);\n"
        "    text = shared;\n    if (rc == OK) rc = text.rc;\n",
    )


@mutant("missing-permission-reported-as-no-driver", rule="NVML-053")
def _(patch: Patch) -> None:
    """A process that may not change the state gets DRIVER_NOT_LOADED."""
    patch.source(
        "state/state.c",
        "errno == EACCES || errno == EPERM || errno == EROFS ? E_NO_PERMISSION : E_DRIVER_NOT_LOADED",
        "E_DRIVER_NOT_LOADED",
    )


@mutant("compute-capability-reversed", rule="NVML-026")
def _(patch: Patch) -> None:
    """The compute capability's minor number comes first."""
    patch.source(
        "device/device.c",
        "PAIR(nvmlDeviceGetCudaComputeCapability, compute_capability_major, compute_capability_minor)",
        "PAIR(nvmlDeviceGetCudaComputeCapability, compute_capability_minor, compute_capability_major)",
    )


@mutant("instance-ids-start-at-6", rule="NVML-046")
def _(patch: Patch) -> None:
    """Instances of one slice have IDs from 6."""
    patch.source("mig/instances.c", "size >= 2 ? 3 : 7;", "size >= 2 ? 3 : 6;")


@mutant("mig-state-cached", rule="NVML-049")
def _(patch: Patch) -> None:
    """A process continues with the MIG devices that it read first."""
    patch.source(
        "mig/mode.c",
        "    rc = read_gpu(h->gpu, gpu);\n    return rc == OK ? gpu->scalars",
        "    static fn_Gpu kept;\n    static bool have;\n"
        "    if (!have) rc = read_gpu(h->gpu, &kept);\n    have = true;\n"
        "    *gpu = kept;\n    return rc == OK ? gpu->scalars",
    )


@mutant("profile-with-double-memory", rule="NVML-054")
def _(patch: Patch) -> None:
    """The first version of a profile has twice its memory."""
    patch.source(
        "mig/profiles.c",
        "    FILL(info, &p);",
        "    FILL(info, &p);\n    info->memorySizeMB *= 2;",
    )


@mutant(
    "links-of-first-gpu-only", rule="NVML-069", scenario="nvml/gpus#a-gpu-without-active-links-reaches-no-other-gpu"
)
def _(patch: Patch) -> None:
    """Only the links of the first GPU are checked."""
    patch.source("device/topology.c", "has_link(&one) && has_link(&two);", "has_link(&one);")


@mutant("index-not-supported", rule="NVML-083")
def _(patch: Patch) -> None:
    """nvmlDeviceGetIndex returns NOT_SUPPORTED."""
    place = "    uint64_t gone = 0; /* a GPU's index counts"
    patch.source("device/device.c", place, "    if (index != NULL) return E_NOT_SUPPORTED;\n" + place)


@mutant("core-count-not-as-recorded", rule="NVML-082")
def _(patch: Patch) -> None:
    """The number of cores differs from the recorded one."""
    patch.source(
        "device/device.c",
        "UINT(nvmlDeviceGetNumGpuCores, gpu_cores)",
        "UINT(nvmlDeviceGetNumGpuCores, board_id)",
    )


@mutant("power-as-whole-watts", rule="NVML-028")
def _(patch: Patch) -> None:
    """Watts are shown as whole numbers."""
    patch.replace("fake_nvml.smi_query:watts", lambda value: f"{value // 1000} W")


@mutant("power-profiles-shifted", rule="NVML-028b")
def _(patch: Patch) -> None:
    """Each workload power profile has the name of the next one."""
    patch.wrap("fake_nvml.smi_query:_POWER_PROFILES", lambda names: (*names[1:], names[0]))


@mutant("failed-init-counted", rule="NVML-012")
def _(patch: Patch) -> None:
    """A failed nvmlInit opens a session."""
    line = "    if (rc == OK) __atomic_add_fetch(&b->references, 1, __ATOMIC_RELEASE);"
    patch.source("state/session.c", line, line.replace("if (rc == OK) ", ""))


@mutant("mig-device-lists-all-processes", rule="NVML-008")
def _(patch: Patch) -> None:
    """The process list of a MIG device has the processes of its GPU."""
    patch.source(
        "device/processes.c",
        "        if (h.kind == KIND_MIG && (p->gi != h.gi || p->ci != h.ci)) continue;",
        "",
    )


@mutant("two-gpus-with-one-identity", rule="NVML-021")
def _(patch: Patch) -> None:
    """Two GPUs of an inventory can have the same UUID."""
    patch.replace("fake_nvml.inventory:_unique", lambda document, gpus: None)


@mutant("recovery-action-kept", rule="NVML-062")
def _(patch: Patch) -> None:
    """No XID changes the recovery action."""

    def kept(original: Callable[[int], Effects]) -> Callable[[int], Effects]:
        def effects_of(xid: int) -> Effects:
            effects = original(xid)
            return replace(effects, set={name: v for name, v in effects.set.items() if name != "recovery_action"})

        return effects_of

    patch.wrap("fake_nvml.incidents:effects_of", kept)


@mutant("unbind-event-of-next-bus", rule="NVML-088")
def _(patch: Patch) -> None:
    """Events of the system name the GPU of another bus."""
    patch.source("events/system_events.c", "gpu.domain << 16 | gpu.bus << 8", "gpu.domain << 16 | (gpu.bus ^ 1) << 8")
