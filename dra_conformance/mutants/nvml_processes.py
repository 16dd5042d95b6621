"""Faults in the fake NVML as processes see it: how it loads, who may change it, what half a change would be."""

from __future__ import annotations

from typing import Any

from dra_conformance.engine.mutation import Patch, mutant


@mutant("calls-what-it-lacks", rule="NVML-002")
def _(patch: Patch) -> None:
    """A function calls another one that is nowhere."""
    patch.source(
        "state/session.c",
        "API int fnvml_use_state(const char *path) {",
        "extern int nvmlNotThere(void) __attribute__((weak));\nAPI int fnvml_use_state(const char *path) {\n"
        "    if (nvmlNotThere != NULL) return nvmlNotThere();",
    )


@mutant("inner-name-exported", rule="NVML-003")
def _(patch: Patch) -> None:
    """A function of the library's own is seen from outside."""
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
            real.rename(link)

        return create

    patch.wrap("fake_nvml.driver_root:create", make)


@mutant("rates-change-places", rule="NVML-005")
def _(patch: Patch) -> None:
    """The memory's utilisation stands where the GPU's belongs."""
    patch.source(
        "device/readings.c",
        "device, F_utilization_gpu, F_utilization_memory, out",
        "device, F_utilization_memory, F_utilization_gpu, out",
    )


@mutant("signal-of-the-process-taken", rule="NVML-016")
def _(patch: Patch) -> None:
    """Initialisation catches a signal for the whole process."""
    patch.source(
        "state/session.c",
        "static nvmlReturn_t attach(unsigned int flags) {",
        "#include <signal.h>\nstatic nvmlReturn_t attach(unsigned int flags) {\n    signal(SIGUSR1, _exit);",
    )


@mutant("texts-shared-by-threads", rule="NVML-018")
def _(patch: Patch) -> None:
    """One buffer for the texts of all threads."""
    patch.source(
        "state/values.c",
        "    if (rc == OK) rc = text.rc;\n",
        "    static fn_Text shared;\n    extern int usleep(unsigned int);\n    shared = text;\n    usleep(20);\n"
        "    text = shared;\n    if (rc == OK) rc = text.rc;\n",
    )


@mutant("newer-layouts-taken", rule="NVML-019")
def _(patch: Patch) -> None:
    """A state of another layout is read as if it were one of ours."""
    patch.source("state/state.c", "header->layout_version != LAYOUT_VERSION || ", "")


@mutant("links-followed", rule="NVML-085")
def _(patch: Patch) -> None:
    """A symbolic link in the place of the state is followed."""
    patch.source("state/state.c", "flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK", "flags | O_CLOEXEC | O_NONBLOCK")


@mutant("counts-are-believed", rule="NVML-075")
def _(patch: Patch) -> None:
    """The number of GPUs that the state says is taken as it is."""
    patch.source(
        "system/system.c",
        "sizeof(count)) != OK || count > MAX_GPUS) return 0;",
        "sizeof(count)) != OK) return 0;",
    )


@mutant("no-permission-is-no-driver", rule="NVML-053")
def _(patch: Patch) -> None:
    """Who may not change the state is told that there is no driver."""
    patch.source(
        "state/state.c",
        "errno == EACCES || errno == EPERM || errno == EROFS ? E_NO_PERMISSION : E_DRIVER_NOT_LOADED",
        "E_DRIVER_NOT_LOADED",
    )


@mutant("reading-needs-writing", rule="NVML-076")
def _(patch: Patch) -> None:
    """The state is opened for writing by everybody."""
    patch.source("state/state.c", "open_state(path, O_RDONLY, &info, &fd);", "open_state(path, O_RDWR, &info, &fd);")


@mutant("readers-can-lock", rule="NVML-074", patience=2)
def _(patch: Patch) -> None:
    """Writers take a lock that a reader can hold, too."""
    patch.source(
        "state/state.c",
        "    do rc = fcntl(fd, F_OFD_SETLKW, &lock);",
        "    extern int flock(int, int);\n    do rc = flock(fd, type == F_RDLCK ? 1 : 2);",
    )


@mutant("written-in-place", rule="NVML-071")
def _(patch: Patch) -> None:
    """The MIG modes are written where readers look, one after the other."""
    patch.source(
        "mig/mode.c",
        "            SCALAR(live, mig_mode_pending) = mode;\n            if (SCALAR(live, mig_mode_immediate))",
        "            extern int usleep(unsigned int);\n"
        "            fn_Gpu *seen = &((fn_State *)((char *)txn.header + STATE_OFFSET(txn.header->gen)))->gpus[h.gpu];\n"
        "            SCALAR(seen, mig_mode_pending) = mode;\n            usleep(500);\n"
        "            SCALAR(seen, mig_mode_current) = mode;\n"
        "            SCALAR(live, mig_mode_pending) = mode;\n            if (SCALAR(live, mig_mode_immediate))",
    )


@mutant("two-readings-in-one-call", rule="NVML-072")
def _(patch: Patch) -> None:
    """A pair of numbers is read one after the other."""
    patch.source(
        "calls/getters.c",
        "    if (gpu.scalars[f2].rc != OK) return gpu.scalars[f2].rc;\n    *a",
        "    if (gpu.scalars[f2].rc != OK) return gpu.scalars[f2].rc;\n    uint64_t later;\n"
        "    extern int usleep(unsigned int);\n    usleep(300);\n"
        "    if (read_scalar(h.gpu, f2, &later) == OK) gpu.scalars[f2].value = later;\n    *a",
    )


@mutant("set-takes-two-steps", rule="NVML-073")
def _(patch: Patch) -> None:
    """Python changes a value in two transactions."""

    def make(original: Any) -> Any:
        def twice(self: Any, gpu: Any, field: str, value: Any) -> None:
            original(self, gpu, field, value)
            original(self, gpu, field, value)

        return twice

    patch.wrap("fake_nvml.node:Node.set", make)


@mutant("hangs-with-the-lock", rule="NVML-078", patience=2)
def _(patch: Patch) -> None:
    """A call that a rule holds back keeps the state locked meanwhile."""
    patch.source(
        "calls/faults.c",
        "            txn_commit(&txn);\n        }\n        if (!applies) continue;",
        "            txn_publish(&txn);\n            if (applies && rule->hang != 0) hang(i);\n"
        "            txn_abort(&txn);\n"
        "        }\n        if (!applies) continue;",
    )


@mutant("doubts-are-not-told", rule="NVML-084")
def _(patch: Patch) -> None:
    """Nothing is marked as unverified."""

    def make(original: Any) -> Any:
        return lambda spec: ((line, True) for line, _ in original(spec))

    patch.wrap("fake_nvml.describe:_board", make)


@mutant("capability-turned-round", rule="NVML-026")
def _(patch: Patch) -> None:
    """The compute capability's minor number comes first."""
    patch.source(
        "device/device.c",
        "PAIR(nvmlDeviceGetCudaComputeCapability, compute_capability_major, compute_capability_minor)",
        "PAIR(nvmlDeviceGetCudaComputeCapability, compute_capability_minor, compute_capability_major)",
    )


@mutant("ids-begin-elsewhere", rule="NVML-046")
def _(patch: Patch) -> None:
    """Instances of one slice have ids from 6 on."""
    patch.source("mig/instances.c", "size >= 2 ? 3 : 7;", "size >= 2 ? 3 : 6;")


@mutant("instances-remembered", rule="NVML-049")
def _(patch: Patch) -> None:
    """A process goes on with what it saw of MIG first."""
    patch.source(
        "mig/mode.c",
        "    rc = read_gpu(h->gpu, gpu);\n    return rc == OK ? gpu->scalars",
        "    static fn_Gpu kept;\n    static bool have;\n"
        "    if (!have) rc = read_gpu(h->gpu, &kept);\n    have = true;\n"
        "    *gpu = kept;\n    return rc == OK ? gpu->scalars",
    )


@mutant("profile-with-double-memory", rule="NVML-054")
def _(patch: Patch) -> None:
    """The first version of a profile tells twice its memory."""
    patch.source(
        "mig/profiles.c",
        "    FILL(info, &p);",
        "    FILL(info, &p);\n    info->memorySizeMB *= 2;",
    )


@mutant("newest-events-lost", rule="NVML-065")
def _(patch: Patch) -> None:
    """Who is too slow begins again behind all that there is."""
    patch.source(
        "events/event_sets.c",
        "next = top - RING_SIZE / 2 + 1; /* too slow: oldest dropped */",
        "next = top;",
    )


@mutant("links-of-the-first-only", rule="NVML-069", scenario="nvml/gpus#a-gpu-without-links-is-out-of-reach")
def _(patch: Patch) -> None:
    """Only the links of the GPU that asks are looked at."""
    patch.source("device/topology.c", "has_link(&one) && has_link(&two);", "has_link(&one);")


@mutant("fabric-of-all-nodes", rule="NVML-070")
def _(patch: Patch) -> None:
    """A change of the fabric reaches every node of the process."""
    nodes: list[Any] = []

    def create(original: Any) -> Any:
        def remembered(cls: Any, *args: Any, **options: Any) -> Any:
            nodes.append(original(cls, *args, **options))
            return nodes[-1]

        return remembered

    def change(original: Any) -> Any:
        def everywhere(self: Any, gpu: Any, field: str, value: Any) -> None:
            for node in nodes if field.startswith("fabric_") else [self]:
                original(node, gpu, field, value)

        return everywhere

    patch.wrap("fake_nvml.node:Node.create", create)
    patch.wrap("fake_nvml.node:Node.set", change)


@mutant("a-function-of-glibc-alone", rule="NVML-017")
def _(patch: Patch) -> None:
    """Initialisation asks for glibc's version, which musl has no function for."""
    patch.source(
        "state/session.c",
        "static nvmlReturn_t attach(unsigned int flags) {",
        "extern const char *gnu_get_libc_version(void);\nstatic nvmlReturn_t attach(unsigned int flags) {\n"
        "    if (gnu_get_libc_version() == NULL) return E_UNKNOWN;",
    )


@mutant("waits-look-again-and-again", rule="NVML-059")
def _(patch: Patch) -> None:
    """A waiter looks every 10 ms."""
    patch.source("events/event_sets.c", "#define SLICE_NS 100000000", "#define SLICE_NS 10000000")


@mutant("state-looked-up-in-every-call", rule="NVML-081")
def _(patch: Patch) -> None:
    """Each read of the state looks first whether its file is still there."""
    patch.source(
        "state/state.c",
        "nvmlReturn_t map_snapshot(const fn_map *map, size_t offset, void *out, size_t size) {",
        "nvmlReturn_t map_snapshot(const fn_map *map, size_t offset, void *out, size_t size) {\n"
        "    struct stat there;\n    if (stat(map->path, &there) != 0) return E_DRIVER_NOT_LOADED;",
    )


@mutant("index-not-supported", rule="NVML-083")
def _(patch: Patch) -> None:
    """nvmlDeviceGetIndex is left to those who need it."""
    place = "    uint64_t removed = 0; /* a GPU's index counts"
    patch.source("device/device.c", place, "    if (index != NULL) return E_NOT_SUPPORTED;\n" + place)


@mutant("other-cores-than-recorded", rule="NVML-082")
def _(patch: Patch) -> None:
    """The number of cores is another number of the GPU."""
    patch.source(
        "device/device.c",
        "UINT(nvmlDeviceGetNumGpuCores, gpu_cores)",
        "UINT(nvmlDeviceGetNumGpuCores, board_id)",
    )


@mutant("watts-without-fractions", rule="NVML-028")
def _(patch: Patch) -> None:
    """Watts are shown as whole numbers."""
    patch.replace("fake_nvml.smi_query:watts", lambda value: f"{value // 1000} W")
