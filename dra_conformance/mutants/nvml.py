"""Faults in the fake NVML: most change one line of its C sources, in a library that is built for the run.

Each mutant has the changed line verbatim, so that one whose line has moved fails instead of changing nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dra_conformance.engine.mutation import Patch, mutant
from fake_nvml.boards import Board
from fake_nvml.state import get_field
from fake_nvml.xids import SYSTEM_EVENT, SYSTEM_EVENT_UNBIND, Effects


@mutant("export-missing", rule="NVML-001")
def _(patch: Patch) -> None:
    """One function is not exported."""
    line = "API nvmlReturn_t nvmlDeviceGetCoolerInfo(void) { return fn_stub(__func__, 0); }"
    patch.source("system/stubs.c", line, "")


@mutant("any-structure-version-accepted", rule="NVML-006")
def _(patch: Patch) -> None:
    """The second memory structure is filled whatever its version is."""
    patch.source("device/memory.c", "if (out->version != VERSION(nvmlMemory_v2_t, 2)) return E_FUNCTION_NOT_FOUND;", "")


@mutant("newest-structure-for-all", rule="NVML-007")
def _(patch: Patch) -> None:
    """A caller of the fabric's second structure gets the third."""
    patch.source(
        "device/topology.c",
        "if (version == VERSION(nvmlGpuFabricInfo_v2_t, 2)) memcpy(out, &info, sizeof(nvmlGpuFabricInfo_v2_t));",
        "if (version == VERSION(nvmlGpuFabricInfo_v2_t, 2)) memcpy(out, &info, sizeof(info));",
    )


@mutant("old-name-new-layout", rule="NVML-008")
def _(patch: Patch) -> None:
    """The first process list has the entries of the second."""
    patch.source(
        "device/processes.c",
        "PROCESSES(nvmlDeviceGetComputeRunningProcesses, false, true)",
        "PROCESSES(nvmlDeviceGetComputeRunningProcesses, false, false)",
    )


@mutant("null-buffer-accepted", rule="NVML-009")
def _(patch: Patch) -> None:
    """NULL for the name returns success."""
    patch.source(
        "device/device.c",
        "    if (name == NULL) return E_INVALID_ARGUMENT;\n",
        "    if (name == NULL) return OK;\n",
    )


@mutant("long-text-truncated", rule="NVML-010")
def _(patch: Patch) -> None:
    """A text that does not fit is truncated instead of refused."""
    patch.source(
        "state/values.c",
        "    if (length >= size) return E_INSUFFICIENT_SIZE;",
        "    if (length >= size && size > 0) return memcpy(buffer, text, size), E_INSUFFICIENT_SIZE;",
    )


@mutant("uninitialised-reports-no-driver", rule="NVML-011")
def _(patch: Patch) -> None:
    """Without nvmlInit calls return DRIVER_NOT_LOADED."""
    patch.source(
        "state/session.c",
        "    if (!fn_initialized()) return E_UNINITIALIZED;\n    if (__atomic",
        "    if (!fn_initialized()) return E_DRIVER_NOT_LOADED;\n    if (__atomic",
    )


@mutant("first-shutdown-ends-all", rule="NVML-012")
def _(patch: Patch) -> None:
    """One nvmlShutdown ends every session of the process."""
    patch.source(
        "state/session.c",
        "__atomic_sub_fetch(&b->references, 1, __ATOMIC_RELEASE);",
        "b->references = 0;",
    )


@mutant("descriptor-left-open", rule="NVML-014")
def _(patch: Patch) -> None:
    """Every session leaves its descriptor of the state open."""
    patch.source("state/state.c", "MAP_SHARED, fd, 0);\n    close(fd);", "MAP_SHARED, fd, 0);")


@mutant("session-survives-fork", rule="NVML-015")
def _(patch: Patch) -> None:
    """A forked child continues in its parent's session."""
    patch.source("state/session.c", "(void)madvise(page, 4096, MADV_WIPEONFORK);", "")


@mutant("upper-case-uuids", rule="NVML-021")
def _(patch: Patch) -> None:
    """UUIDs are written in capitals."""
    patch.wrap("fake_nvml.state:gpu_uuid", lambda original: lambda node, index: original(node, index).upper())


@mutant("lower-case-bus-ids-rejected", rule="NVML-022")
def _(patch: Patch) -> None:
    """A PCI address in small letters is not understood."""
    patch.source(
        "system/system.c",
        "        if (!isxdigit((unsigned char)*at)) return false;",
        '        if (!isxdigit((unsigned char)*at) || strpbrk(text, "abcdef")) return false;',
    )


@mutant("unknown-index-not-found", rule="NVML-023")
def _(patch: Patch) -> None:
    """An index beyond the last GPU is NOT_FOUND."""
    patch.source(
        "system/system.c",
        "return hand_out(place, device);\n    return E_INVALID_ARGUMENT;",
        "return hand_out(place, device);\n    return E_NOT_FOUND;",
    )


@mutant("bus-id-with-short-domain", rule="NVML-024")
def _(patch: Patch) -> None:
    """The field busId has a domain of four digits, like busIdLegacy."""
    patch.source("device/pci.c", '"%08X:%02X:%02X.0", p->domain,', '"%04X:%02X:%02X.0", p->domain,')


@mutant("reserved-memory-not-counted", rule="NVML-025")
def _(patch: Patch) -> None:
    """The used memory of the first structure does not include reserved memory."""
    patch.source("device/memory.c", "    out->used = m.total - m.free; /*", "    out->used = m.used; /*")


@mutant("cuda-version-in-hundreds", rule="NVML-027")
def _(patch: Patch) -> None:
    """CUDA 13.0 is 1300."""
    patch.source(
        "system/system.c",
        "return node_value(offsetof(fn_State, cuda_version), version, sizeof(*version));",
        "rc = node_value(offsetof(fn_State, cuda_version), version, sizeof(*version)); *version /= 10; return rc;",
    )


@mutant("no-device-file-for-gpu-0", rule="NVML-029")
def _(patch: Patch) -> None:
    """The driver root lacks nvidia0."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda path, major, minor: None if path.name == "nvidia0" else original(path, major, minor)

    patch.wrap("fake_nvml.driver_root:_device", make)


@mutant("cpu-0-for-every-gpu", rule="NVML-030")
def _(patch: Patch) -> None:
    """sysfs names CPU 0 for every GPU."""
    patch.replace("fake_nvml.driver_root:_cpu_list", lambda cpus: "0")


@mutant("missing-mig-is-invalid-argument", rule="NVML-031")
def _(patch: Patch) -> None:
    """A board without MIG returns INVALID_ARGUMENT for MIG calls."""
    patch.source(
        "mig/mode.c",
        "    return rc == OK ? gpu->scalars[F_mig_mode_current].rc : rc;",
        "    return rc == OK && gpu->scalars[F_mig_mode_current].rc != OK ? E_INVALID_ARGUMENT : rc;",
    )


@mutant("mig-mode-needs-no-reset", rule="NVML-032", scenario="nvml/mig#on-ampere-the-mig-mode-changes-with-a-reset")
def _(patch: Patch) -> None:
    """Every GPU changes its MIG mode at once."""
    patch.source(
        "mig/mode.c",
        "            if (SCALAR(live, mig_mode_immediate)) SCALAR(live, mig_mode_current) = mode;",
        "            if (true) SCALAR(live, mig_mode_current) = mode;",
    )


@mutant("mig-mode-changes-with-instances", rule="NVML-033")
def _(patch: Patch) -> None:
    """The MIG mode can change while instances exist."""
    patch.source(
        "mig/mode.c",
        "        if (busy) {\n            *activation",
        "        if (false) {\n            *activation",
    )


@mutant("profile-number-as-id", rule="NVML-034")
def _(patch: Patch) -> None:
    """A profile's ID is the number that was queried."""
    patch.source(
        "mig/profiles.c",
        "    *out = gpu.profiles[profile];\n    return OK;",
        "    *out = gpu.profiles[profile];\n    out->id = profile;\n    return OK;",
    )


@mutant("missing-profile-is-invalid-argument", rule="NVML-035")
def _(patch: Patch) -> None:
    """A profile that the board lacks is an invalid argument."""
    patch.source(
        "mig/profiles.c",
        "    if (!gpu.profiles[profile].present) return E_NOT_SUPPORTED;",
        "    if (!gpu.profiles[profile].present) return E_INVALID_ARGUMENT;",
    )


@mutant("second-version-differs", rule="NVML-036")
def _(patch: Patch) -> None:
    """The first version has the decoders in the field of the copy engines."""
    patch.source(
        "mig/profiles.c",
        "    FILL(info, &p);",
        "    FILL(info, &p);\n    info->copyEngineCount = p.decoders + 1;",
    )


@mutant("placements-from-the-end", rule="NVML-037")
def _(patch: Patch) -> None:
    """Placements are listed from the last."""
    patch.source(
        "mig/profiles.c",
        "            placements[i].start = p->starts[i];",
        "            placements[i].start = p->starts[all - 1 - i];",
    )


@mutant("placements-overlap", rule="NVML-038")
def _(patch: Patch) -> None:
    """A placement of which a part is in use counts as free."""
    patch.source(
        "mig/instances.c",
        "(taken_slices(gpu) & span_of(start, p->size)) != 0) return false;",
        "(taken_slices(gpu) & span_of(start, 1)) != 0) return false;",
    )


@mutant("placement-in-use-error", rule="NVML-039")
def _(patch: Patch) -> None:
    """Creating an instance on a used placement returns IN_USE."""
    patch.source(
        "mig/instances.c",
        "else if (!fits(live, p, start)) rc = E_INSUFFICIENT_RESOURCES;",
        "else if (!fits(live, p, start)) rc = E_IN_USE;",
    )


@mutant("capacity-of-an-empty-gpu", rule="NVML-040")
def _(patch: Patch) -> None:
    """The remaining capacity is that of a GPU without instances."""
    # The lines after the changed one make the text unique in the file.
    line = "    *count = left;\n    return OK;\n}\n\n/* ---- GPU"
    patch.source("mig/instances.c", line, line.replace("left", "p.instances"))


@mutant("instance-limit-of-profile-ignored", rule="NVML-041")
def _(patch: Patch) -> None:
    """A profile's limit of instances is ignored."""
    patch.source(
        "mig/instances.c",
        "    return instances_of(gpu, p->id) < p->instances && compute_slices_used(gpu)",
        "    return instances_of(gpu, p->id) < 8 && compute_slices_used(gpu)",
    )


@mutant("mig-devices-without-uuid", rule="NVML-042")
def _(patch: Patch) -> None:
    """A MIG device has the UUID of its GPU."""
    patch.source(
        "device/device.c",
        "    if (h.kind == KIND_DEVICE) return read_text(h.gpu, S_uuid, uuid, size);",
        "    return read_text(h.gpu, S_uuid, uuid, size);",
    )


@mutant("compute-instance-names-the-gpu", rule="NVML-043")
def _(patch: Patch) -> None:
    """The device of a compute instance is the whole GPU."""
    patch.source(
        "mig/compute.c",
        "    out->device = handle_make(KIND_MIG, h.gpu, h.gi, h.ci, ci->serial); /* the MIG device itself */",
        "    out->device = handle_make(KIND_DEVICE, h.gpu, 0, 0, 0);",
    )


@mutant("gpu-instance-destroyed-with-contents", rule="NVML-044")
def _(patch: Patch) -> None:
    """A GPU instance can be destroyed together with its compute instances."""
    patch.source(
        "mig/instances.c",
        "        if (live->instances[h.gi].compute[i].used) rc = E_IN_USE;",
        "        (void)0;",
    )


@mutant("stale-handle-reaches-new-instance", rule="NVML-045")
def _(patch: Patch) -> None:
    """A handle to a destroyed instance reaches the instance that replaced it."""
    patch.source(
        "state/mig_lookup.c",
        "        if ((instance->serial & mask) != h->serial) return E_NOT_FOUND;",
        "        (void)mask;",
    )


@mutant("mig-device-count-with-mig-off", rule="NVML-047")
def _(patch: Patch) -> None:
    """A GPU reports a maximum of seven MIG devices in any mode."""
    patch.source("mig/mode.c", "*count = rc == OK && SCALAR(&gpu, mig_mode_current) ? 7 : 0;", "*count = 7;")


@mutant("mig-device-with-all-memory", rule="NVML-048")
def _(patch: Patch) -> None:
    """A MIG device has all memory of its GPU."""
    patch.source("device/memory.c", "        m->total = profile->memory_mib << 20;\n", "")


@mutant("remapped-rows-beside-instances", rule="NVML-051")
def _(patch: Patch) -> None:
    """Remapped rows are reported although instances exist."""
    patch.source("device/health.c", "    if (has_instances(&gpu)) return E_NOT_SUPPORTED;", "    (void)has_instances;")


@mutant("any-event-registered", rule="NVML-055")
def _(patch: Patch) -> None:
    """Every event type can be registered."""
    patch.source("events/events.c", "    if ((types & ~(supported | UNNAMED_TYPES)) != 0) return E_NOT_SUPPORTED;", "")


@mutant("events-of-all-gpus", rule="NVML-056")
def _(patch: Patch) -> None:
    """A set reports events of GPUs that it was not registered for."""
    patch.source(
        "events/event_sets.c",
        "        if ((__atomic_load_n(&s->mask[event.gpu], __ATOMIC_ACQUIRE) & event.type) == 0) continue;",
        "",
    )


@mutant("event-wait-returns-at-once", rule="NVML-057")
def _(patch: Patch) -> None:
    """A wait returns at once."""
    patch.source("events/event_sets.c", "(int64_t)timeout_ms * 1000000;", "(int64_t)timeout_ms * 0;")


@mutant("every-second-event-lost", rule="NVML-058")
def _(patch: Patch) -> None:
    """A set skips the event after each that it reports."""
    line = "        *out = event;\n        return true;"
    patch.source("events/event_sets.c", line, line.replace("return", "s->cursor++;\n        return"))


@mutant("whole-gpu-is-instance-0", rule="NVML-060")
def _(patch: Patch) -> None:
    """An event of a whole GPU names GPU instance 0."""
    patch.source("events/events.c", "    data->gpuInstanceId = event.gi;", "    data->gpuInstanceId = event.gi & 15;")


@mutant("handle-of-lost-gpu-returned", rule="NVML-061")
def _(patch: Patch) -> None:
    """nvmlDeviceGetHandle functions return a handle of a lost GPU."""
    patch.source("system/system.c", "    if (lost) return E_GPU_IS_LOST;", "    (void)lost;")


@mutant("xid-without-effect", rule="NVML-062")
def _(patch: Patch) -> None:
    """An XID is reported and has no other effect."""
    patch.replace("fake_nvml.incidents:effects_of", lambda xid: Effects())


@mutant("reload-keeps-volatile-counters", rule="NVML-063")
def _(patch: Patch) -> None:
    """A driver reload resets nothing."""

    def reload(self: Any) -> None:
        with self.change() as txn:
            txn.reload_driver()

    patch.replace("fake_nvml.node:Node.reload_driver", reload)


@mutant("first-version-of-another-clique", rule="NVML-066")
def _(patch: Patch) -> None:
    """The first version of the fabric's structure has another clique."""
    patch.source(
        "device/topology.c",
        "    out->cliqueId = (unsigned int)f.clique;",
        "    out->cliqueId = (unsigned int)f.clique + 1;",
    )


@mutant("single-node-has-a-cluster", rule="NVML-067")
def _(patch: Patch) -> None:
    """A node with switches of its own has a cluster UUID."""
    patch.source(
        "device/topology.c",
        "    memcpy(f->cluster, gpu.cluster_uuid, 16);",
        "    memset(f->cluster, 1, 16);",
    )


@mutant("clique-for-each-gpu", rule="NVML-068")
def _(patch: Patch) -> None:
    """Every GPU is in a clique of its own."""
    patch.source("device/topology.c", "    f->clique = SCALAR(&gpu, fabric_clique_id);", "    f->clique = h.gpu;")


@mutant("init-succeeds-without-gpus", rule="NVML-013")
def _(patch: Patch) -> None:
    """nvmlInit_v2 succeeds without any GPU."""
    line = "    if (head.gpu_count == 0 && (flags & 1) == 0) return E_DRIVER_NOT_LOADED;"
    patch.source("state/session.c", line, "")


@mutant("capability-files-not-created", rule="NVML-050")
def _(patch: Patch) -> None:
    """Capability files are not created with instances."""
    patch.source("mig/mode.c", "    txn_publish(txn);\n    caps_follow(gpu);", "    txn_publish(txn);")


@mutant("free-ends-a-wait", rule="NVML-064", patience=2)
def _(patch: Patch) -> None:
    """A set is freed under a thread that waits on it."""
    lines = "    event_set *s = set_find(set, KIND_EVENT_SET);\n    if (s != NULL) set_free(s);\n"
    locked = f"    session_events_begin();\n{lines}    session_events_end();\n"
    patch.source("events/events.c", locked, lines)


@mutant("last-shutdown-ends-a-wait", rule="NVML-064", patience=2)
def _(patch: Patch) -> None:
    """The last nvmlShutdown does not wait for a thread that waits for an event."""
    patch.source("state/session.c", "        if (last) session_events_begin();\n", "        last = false;\n")


@mutant("version-of-nvml-needs-a-session", rule="NVML-011")
def _(patch: Patch) -> None:
    """nvmlSystemGetNVMLVersion is refused before nvmlInit."""
    patch.source("system/system.c", "if (!fn_initialized() && session_node())", "if (false)")


@mutant("shared-serial-returns-first-gpu", rule="NVML-022")
def _(patch: Patch) -> None:
    """A serial number of several GPUs leads to one of them."""
    patch.source(
        "system/system.c",
        "        if (found != MAX_GPUS) return E_INVALID_ARGUMENT;",
        "        if (found != MAX_GPUS) continue;",
    )


@mutant("uuid-prefix-matches", rule="NVML-023")
def _(patch: Patch) -> None:
    """The beginning of a UUID is enough."""
    patch.source(
        "system/system.c",
        "if (read_text(i, S_uuid, own, sizeof(own)) == OK && strcmp(own, uuid) == 0) return hand_out(i, device);",
        "if (read_text(i, S_uuid, own, sizeof(own)) == OK && strncmp(own, uuid, strlen(uuid)) == 0)"
        " return hand_out(i, device);",
    )


@mutant("placement-anywhere", rule="NVML-039")
def _(patch: Patch) -> None:
    """A GPU instance may begin at any free memory slice."""
    patch.source(
        "mig/instances.c",
        "if (placement->size != p->size || !is_start(p, start)) rc",
        "if (placement->size != p->size) rc",
    )


@mutant("remap-failure-not-counted", rule="NVML-062")
def _(patch: Patch) -> None:
    """XID 64 has no effect on the remapped rows."""
    patch.wrap("fake_nvml.incidents:effects_of", lambda original: lambda xid: Effects() if xid == 64 else original(xid))


@mutant("mig-event-names-no-instance", rule="NVML-060")
def _(patch: Patch) -> None:
    """The event of a MIG device has the ids of a whole GPU."""
    patch.wrap("fake_nvml.node:Node.inject_xid", lambda original: lambda self, gpu, xid, **_: original(self, gpu, xid))


@mutant("profile-engines-swapped", rule="NVML-086")
def _(patch: Patch) -> None:
    """A profile has the JPEG engines in the field of the OFA engines, in every version of its information."""

    def swapped(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **values: original(
            *arguments, **{**values, "jpegs": values["ofas"], "ofas": values["jpegs"]}
        )

    patch.wrap("fake_nvml.boards:MigProfile", swapped)


@mutant("part-number-of-another-board", rule="NVML-026")
def _(patch: Patch) -> None:
    """The part number of the board is that of the GPU's chip."""

    def load(original: Callable[..., Board]) -> Callable[..., Board]:
        def changed(*arguments: Any, **options: Any) -> Board:
            board = original(*arguments, **options)
            return replace(board, values={**board.values, "board_part_number": board.values["gpu_part_number"]})

        return changed

    patch.wrap("fake_nvml.inventory:load_board", load)


@mutant("root-port-for-each-gpu", rule="NVML-087")
def _(patch: Patch) -> None:
    """Every GPU is below a root port of its own, also those on one PCIe switch."""
    patch.wrap("fake_nvml.driver_root:root_port", lambda original: lambda state, gpu: f"{original(state, gpu)}{gpu}")


@mutant("one-root-port-without-switches", rule="NVML-087")
def _(patch: Patch) -> None:
    """All GPUs without a PCIe switch are below one root port."""

    def port(original: Callable[..., str]) -> Callable[..., str]:
        return lambda state, gpu: original(state, 0 if get_field(state.gpus[gpu], "pcie_switch")[1] else gpu)

    patch.wrap("fake_nvml.driver_root:root_port", port)


@mutant("unbound-gpu-still-counted", rule="NVML-088")
def _(patch: Patch) -> None:
    """A GPU that is unbound from its driver stays among NVML's GPUs."""
    event = SYSTEM_EVENT | SYSTEM_EVENT_UNBIND
    patch.replace("fake_nvml.incidents:unbind", lambda txn, index: txn.event(index, event, 0))


@mutant("cluster-for-each-node", rule="NVML-067")
def _(patch: Patch) -> None:
    """Every node of a rack has a cluster UUID of its own."""

    def own(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda spec, tray, cluster, chassis: original(spec, tray, bytes([tray + 1]) + cluster[1:], chassis)

    patch.wrap("fake_nvml.rack:_in_tray", own)


@mutant("third-version-without-engines", rule="NVML-036")
def _(patch: Patch) -> None:
    """The third version of a profile's information has no copy engines."""
    line = "        info->capabilities = p->capabilities;"
    patch.source("mig/profiles.c", line, f"{line}\n        info->copyEngineCount = 0;")


@mutant("one-supported-event-type-is-enough", rule="NVML-055")
def _(patch: Patch) -> None:
    """Event types can be registered if one of them is supported."""
    patch.source(
        "events/events.c",
        "    if ((types & ~(supported | UNNAMED_TYPES)) != 0) return E_NOT_SUPPORTED;",
        "    if (types != 0 && (types & supported) == 0) return E_NOT_SUPPORTED;",
    )


@mutant("mig-device-has-the-temperature-of-its-gpu", rule="NVML-048")
def _(patch: Patch) -> None:
    """The temperature of the GPU is returned for its MIG devices."""
    line = "API nvmlReturn_t nvmlDeviceGetTemperature(handle_t device, unsigned int sensor, unsigned int *out) {"
    patch.source(
        "device/readings.c",
        line,
        f"{line}\n    fn_handle own;\n    if (fn_device(__func__, device, &own) == OK) device = "
        "handle_make(KIND_DEVICE, own.gpu, 0, 0, 0);",
    )


@mutant("first-layout-without-capability-files", rule="NVML-050")
def _(patch: Patch) -> None:
    """Instances that exist when the node is made have no capability files."""
    patch.replace("fake_nvml.driver_root:sync", lambda root, state: None)


@mutant("processes-of-all-gpus-in-every-list", rule="NVML-008")
def _(patch: Patch) -> None:
    """The list of every GPU has the processes of all GPUs."""

    def everywhere(original: Callable[..., None]) -> Callable[..., None]:
        def set_process(self: Any, gpu: int, pid: int, **options: Any) -> None:
            for index in range(len(self.gpus)):
                original(self, index, pid, **options)

        return set_process

    patch.wrap("fake_nvml.node:Node.set_process", everywhere)


@mutant("reset-of-one-gpu-resets-all", rule="NVML-032")
def _(patch: Patch) -> None:
    """The pending modes of every GPU become current when one is reset."""

    def everywhere(original: Callable[..., None]) -> Callable[..., None]:
        def reset(self: Any, gpu: int) -> None:
            for index in range(len(self.gpus)):
                original(self, index)

        return reset

    patch.wrap("fake_nvml.node:Node.reset", everywhere)


@mutant("first-version-differs-on-ampere", rule="NVML-036")
def _(patch: Patch) -> None:
    """The first version of a profile's information of an A100, with 14 multiprocessors a slice, has more engines."""
    line = "    FILL(info, &p);"
    patch.source("mig/profiles.c", line, f"{line}\n    if (p.multiprocessors % 14 == 0) info->copyEngineCount++;")


@mutant("empty-event-mask-refused", rule="NVML-055")
def _(patch: Patch) -> None:
    """Registering no event type is refused."""
    line = "    if ((types & ~(supported | UNNAMED_TYPES)) != 0) return E_NOT_SUPPORTED;"
    patch.source("events/events.c", line, f"{line}\n    if (types == 0) return E_INVALID_ARGUMENT;")
