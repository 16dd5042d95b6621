/* Getters and setters of one device. Most read one scalar of the state; the macros at the top are their shapes. */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "core.h"

static nvmlReturn_t get_u32(const char *function, handle_t device, unsigned int field, unsigned int *out, bool mig_too) {
    fn_handle h;
    uint64_t value;
    nvmlReturn_t rc = mig_too ? fn_device(function, device, &h) : fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    rc = read_scalar(h.gpu, field, &value);
    if (rc == OK) *out = (unsigned int)value;
    return rc;
}
static nvmlReturn_t get_u64(const char *function, handle_t device, unsigned int field, unsigned long long *out) {
    fn_handle h;
    uint64_t value;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    rc = read_scalar(h.gpu, field, &value);
    if (rc == OK) *out = value;
    return rc;
}
static nvmlReturn_t get_text(const char *function, handle_t device, unsigned int field, char *out, unsigned int size) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    return read_text(h.gpu, field, out, size);
}
/* Two values of one generation. */
static nvmlReturn_t get_pair(const char *function, handle_t device, unsigned int f1, unsigned int f2, unsigned int *a,
                             unsigned int *b) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (a == NULL || b == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    if (gpu.scalars[f1].rc != OK) return gpu.scalars[f1].rc;
    if (gpu.scalars[f2].rc != OK) return gpu.scalars[f2].rc;
    *a = (unsigned int)gpu.scalars[f1].value;
    *b = (unsigned int)gpu.scalars[f2].value;
    return OK;
}
/* One of several fields, chosen by an argument; outside the list the answer is `beyond`. */
static nvmlReturn_t get_choice(const char *function, handle_t device, unsigned int which, const unsigned int *fields,
                               unsigned int count, nvmlReturn_t beyond, unsigned int *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (which >= count) return beyond;
    uint64_t value;
    rc = read_scalar(h.gpu, fields[which], &value);
    if (rc == OK) *out = (unsigned int)value;
    return rc;
}
static nvmlReturn_t set_scalar(const char *function, handle_t device, unsigned int field, uint64_t value, uint64_t most) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (value > most) return E_INVALID_ARGUMENT;
    uint64_t now;
    rc = read_scalar(h.gpu, field, &now);
    if (rc != OK) return rc;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    txn.state->gpus[h.gpu].scalars[field].value = value;
    txn_commit(&txn);
    return OK;
}

#define UINT(name, field) \
    API nvmlReturn_t name(handle_t device, unsigned int *out) { return get_u32(__func__, device, F_##field, out, false); }
#define UINT_MIG(name, field) \
    API nvmlReturn_t name(handle_t device, unsigned int *out) { return get_u32(__func__, device, F_##field, out, true); }
#define ULL(name, field) \
    API nvmlReturn_t name(handle_t device, unsigned long long *out) { return get_u64(__func__, device, F_##field, out); }
#define TEXT(name, field) \
    API nvmlReturn_t name(handle_t device, char *out, unsigned int size) { \
        return get_text(__func__, device, S_##field, out, size); \
    }
#define PAIR(name, first, second) \
    API nvmlReturn_t name(handle_t device, unsigned int *a, unsigned int *b) { \
        return get_pair(__func__, device, F_##first, F_##second, a, b); \
    }

UINT_MIG(nvmlDeviceGetMinorNumber, minor_number)
UINT_MIG(nvmlDeviceGetBrand, brand)
UINT_MIG(nvmlDeviceGetArchitecture, architecture)
UINT_MIG(nvmlDeviceGetBoardId, board_id)
UINT(nvmlDeviceGetModuleId, module_id)
UINT(nvmlDeviceGetNumaNodeId, numa_node_id)
UINT(nvmlDeviceGetPersistenceMode, persistence_mode)
UINT(nvmlDeviceGetComputeMode, compute_mode)
UINT(nvmlDeviceGetPerformanceState, performance_state)
UINT(nvmlDeviceGetPowerState, power_state)
UINT(nvmlDeviceGetDisplayMode, display_mode)
UINT(nvmlDeviceGetDisplayActive, display_active)
UINT(nvmlDeviceGetDefaultEccMode, ecc_mode_default)
UINT(nvmlDeviceGetMemoryBusWidth, memory_bus_width)
UINT(nvmlDeviceGetPowerUsage, power_usage)
UINT(nvmlDeviceGetPowerManagementLimit, power_limit)
UINT(nvmlDeviceGetPowerManagementDefaultLimit, power_limit_default)
UINT(nvmlDeviceGetEnforcedPowerLimit, power_limit_enforced)
UINT(nvmlDeviceGetPowerManagementMode, power_management_mode)
UINT(nvmlDeviceGetPowerSource, power_source)
UINT(nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation)
UINT(nvmlDeviceGetMaxPcieLinkGeneration, pcie_generation_max)
UINT(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_generation_max_gpu)
UINT(nvmlDeviceGetCurrPcieLinkWidth, pcie_width)
UINT(nvmlDeviceGetMaxPcieLinkWidth, pcie_width_max)
UINT(nvmlDeviceGetPcieSpeed, pcie_speed)
UINT(nvmlDeviceGetPcieLinkMaxSpeed, pcie_link_max_speed)
UINT(nvmlDeviceGetPcieReplayCounter, pcie_replay_counter)
UINT(nvmlDeviceGetNumGpuCores, gpu_cores)
UINT(nvmlDeviceGetIrqNum, irq_number)
UINT(nvmlDeviceGetBusType, bus_type)
UINT(nvmlDeviceGetAdaptiveClockInfoStatus, adaptive_clock)
UINT(nvmlDeviceGetMultiGpuBoard, multi_gpu_board)
UINT(nvmlDeviceGetNumFans, fan_count)
UINT(nvmlDeviceGetInforomConfigurationChecksum, inforom_checksum)
UINT(nvmlDeviceGetAccountingMode, accounting_mode)
UINT(nvmlDeviceGetAccountingBufferSize, accounting_buffer_size)
UINT(nvmlDeviceGetVirtualizationMode, virtualization_mode)
UINT(nvmlDeviceGetRetiredPagesPendingStatus, retired_pages_pending)
UINT(nvmlDeviceGetGpcClkVfOffset, gpc_clock_offset)
UINT(nvmlDeviceGetMemClkVfOffset, memory_clock_offset)
ULL(nvmlDeviceGetTotalEnergyConsumption, energy_consumption)
ULL(nvmlDeviceGetCurrentClocksEventReasons, clocks_event_reasons)
ULL(nvmlDeviceGetCurrentClocksThrottleReasons, clocks_event_reasons)
ULL(nvmlDeviceGetSupportedClocksEventReasons, clocks_event_reasons_supported)
ULL(nvmlDeviceGetSupportedClocksThrottleReasons, clocks_event_reasons_supported)
TEXT(nvmlDeviceGetSerial, serial)
TEXT(nvmlDeviceGetBoardPartNumber, board_part_number)
TEXT(nvmlDeviceGetVbiosVersion, vbios_version)
TEXT(nvmlDeviceGetInforomImageVersion, inforom_image)
PAIR(nvmlDeviceGetCudaComputeCapability, compute_capability_major, compute_capability_minor)
PAIR(nvmlDeviceGetEccMode, ecc_mode_current, ecc_mode_pending)
PAIR(nvmlDeviceGetMigMode, mig_mode_current, mig_mode_pending)
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, power_limit_min, power_limit_max)
PAIR(nvmlDeviceGetEncoderUtilization, utilization_encoder, utilization_period)
PAIR(nvmlDeviceGetDecoderUtilization, utilization_decoder, utilization_period)
PAIR(nvmlDeviceGetJpgUtilization, utilization_jpeg, utilization_period)
PAIR(nvmlDeviceGetOfaUtilization, utilization_ofa, utilization_period)
PAIR(nvmlDeviceGetGspFirmwareMode, gsp_enabled, gsp_default)

API nvmlReturn_t nvmlDeviceSetPersistenceMode(handle_t device, unsigned int mode) {
    return set_scalar(__func__, device, F_persistence_mode, mode, 1);
}
API nvmlReturn_t nvmlDeviceSetComputeMode(handle_t device, unsigned int mode) {
    return set_scalar(__func__, device, F_compute_mode, mode, 3);
}
API nvmlReturn_t nvmlDeviceSetEccMode(handle_t device, unsigned int mode) {
    return set_scalar(__func__, device, F_ecc_mode_pending, mode, 1);
}
API nvmlReturn_t nvmlDeviceSetAccountingMode(handle_t device, unsigned int mode) {
    return set_scalar(__func__, device, F_accounting_mode, mode, 1);
}
API nvmlReturn_t nvmlDeviceSetPowerManagementLimit(handle_t device, unsigned int limit) {
    unsigned int low, high;
    nvmlReturn_t rc = get_pair(__func__, device, F_power_limit_min, F_power_limit_max, &low, &high);
    if (rc != OK) return rc;
    if (limit < low || limit > high) return E_INVALID_ARGUMENT;
    fn_handle h;
    fn_txn txn;
    (void)handle_read(device, &h);
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    SCALAR(&txn.state->gpus[h.gpu], power_limit) = limit;
    SCALAR(&txn.state->gpus[h.gpu], power_limit_enforced) = limit;
    txn_commit(&txn);
    return OK;
}

/* ---- identity ---- */

API nvmlReturn_t nvmlDeviceGetIndex(handle_t device, unsigned int *index) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (index == NULL) return E_INVALID_ARGUMENT;
    uint64_t removed = 0; /* a GPU's index counts those before it that are still there */
    rc = node_value(offsetof(fn_State, removed), &removed, sizeof(removed));
    if (rc != OK) return rc;
    *index = h.gpu - (unsigned int)__builtin_popcountll(removed & ((1ull << (h.gpu & 63)) - 1));
    if (h.kind == KIND_MIG) {
        fn_Gpu gpu;
        const fn_ComputeInstance *ci;
        rc = read_gpu(h.gpu, &gpu);
        if (rc == OK) rc = mig_resolve(&gpu, &h, NULL, &ci);
        if (rc == OK) *index = ci->mig_index;
    }
    return rc;
}

API nvmlReturn_t nvmlDeviceGetUUID(handle_t device, char *uuid, unsigned int size) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (uuid == NULL) return E_INVALID_ARGUMENT;
    if (h.kind == KIND_DEVICE) return read_text(h.gpu, S_uuid, uuid, size);
    fn_Gpu gpu;
    char text[48];
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    mig_uuid(&gpu, h.gi, h.ci, text);
    return copy_text(text, uuid, size);
}

API nvmlReturn_t nvmlDeviceGetName(handle_t device, char *name, unsigned int size) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (name == NULL) return E_INVALID_ARGUMENT;
    if (h.kind == KIND_DEVICE) return read_text(h.gpu, S_name, name, size);
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    const fn_ComputeInstance *ci;
    char text[STRING_SIZE + 80], mig[64];
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = mig_resolve(&gpu, &h, &gi, &ci);
    if (rc != OK) return rc;
    gpu.strings[S_name].text[STRING_SIZE - 1] = 0;
    mig_name(&gpu, gi, ci, mig, sizeof(mig));
    snprintf(text, sizeof(text), "%s %s", gpu.strings[S_name].text, mig);
    return copy_text(text, name, size);
}

API nvmlReturn_t nvmlDeviceGetInforomVersion(handle_t device, unsigned int object, char *out, unsigned int size) {
    static const unsigned int fields[] = {S_inforom_oem, S_inforom_ecc, S_inforom_power};
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL || object > 3) return E_INVALID_ARGUMENT;
    return object < 3 ? read_text(h.gpu, fields[object], out, size) : E_NOT_SUPPORTED;
}

API nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(handle_t device, char *version) {
    return get_text(__func__, device, S_gsp_version, version, 64);
}

#define VERSIONED(name, type, number, ...) \
    API nvmlReturn_t name(handle_t device, type *out) { \
        fn_handle h; \
        nvmlReturn_t rc = fn_gpu(__func__, device, &h); \
        if (rc != OK) return rc; \
        if (out == NULL) return E_INVALID_ARGUMENT; \
        if (out->version != VERSION(type, number)) return E_VERSION_MISMATCH; \
        uint64_t value = 0; \
        __VA_ARGS__ return rc; \
    }

VERSIONED(nvmlDeviceGetPdi, nvmlPdi_t, 1, {
    rc = read_scalar(h.gpu, F_pdi, &value);
    if (rc == OK) out->value = value;
})
VERSIONED(nvmlDeviceGetMarginTemperature, nvmlMarginTemperature_v1_t, 1, {
    rc = read_scalar(h.gpu, F_margin_temperature, &value);
    if (rc == OK) out->marginTemperature = (int)value;
})
VERSIONED(nvmlDeviceGetAddressingMode, nvmlDeviceAddressingMode_t, 1, {
    rc = read_scalar(h.gpu, F_addressing_mode, &value);
    if (rc == OK) out->value = (unsigned int)value;
})
VERSIONED(nvmlDeviceGetCapabilities, nvmlDeviceCapabilities_v1_t, 1, {
    rc = read_scalar(h.gpu, F_capabilities, &value);
    if (rc == OK) out->capMask = (unsigned int)value;
})
VERSIONED(nvmlDeviceGetTemperatureV, nvmlTemperature_v1_t, 1, {
    if (out->sensorType != 0) return E_INVALID_ARGUMENT;
    rc = read_scalar(h.gpu, F_temperature_gpu, &value);
    if (rc == OK) out->temperature = (int)value;
})
VERSIONED(nvmlDeviceGetFanSpeedRPM, nvmlFanSpeedInfo_t, 1, {
    rc = read_scalar(h.gpu, F_fan_count, &value);
    if (rc == OK) rc = out->fan >= value ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED;
})
VERSIONED(nvmlDeviceGetRepairStatus, nvmlRepairStatus_t, 1, {
    uint64_t tpc = 0;
    rc = read_scalar(h.gpu, F_repair_channel_pending, &value);
    if (rc == OK) rc = read_scalar(h.gpu, F_repair_tpc_pending, &tpc);
    if (rc == OK) {
        out->bChannelRepairPending = (unsigned int)value;
        out->bTpcRepairPending = (unsigned int)tpc;
    }
})
VERSIONED(nvmlDeviceGetCurrentClockFreqs, nvmlDeviceClockText_v1_t, 1, {
    fn_Gpu gpu;
    (void)value;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    if (gpu.scalars[F_clock_graphics].rc != OK) return gpu.scalars[F_clock_graphics].rc;
    unsigned long long memory = SCALAR(&gpu, clock_memory);
    snprintf(out->str, sizeof(out->str),
             "nvclock=%llu, nvclockmin=%llu, nvclockmax=%llu, nvclockeditable=0, memclock=%llu, memclockmin=%llu, "
             "memclockmax=%llu, memclockeditable=0, memTransferRate=%llu, memTransferRatemin=%llu, "
             "memTransferRatemax=%llu, memTransferRateeditable=0",
             (unsigned long long)SCALAR(&gpu, clock_graphics), (unsigned long long)SCALAR(&gpu, clock_min_graphics),
             (unsigned long long)SCALAR(&gpu, clock_max_graphics), memory, memory, memory, 2 * memory, 2 * memory, 2 * memory);
})
VERSIONED(nvmlDeviceGetPerformanceModes, nvmlDeviceClockText_v1_t, 1, {
    fn_Gpu gpu;
    (void)value;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    if (gpu.scalars[F_clock_graphics].rc != OK) return gpu.scalars[F_clock_graphics].rc;
    size_t at = 0;
    static const unsigned int clocks[] = {F_memory_clock_supported_1, F_memory_clock_supported_0};
    for (unsigned int i = 0, perf = 0; i < 2; i++) { /* slowest memory clock first */
        unsigned long long m = gpu.scalars[clocks[i]].value;
        if (gpu.scalars[clocks[i]].rc != OK || m == 0) continue;
        int n = snprintf(out->str + at, sizeof(out->str) - at,
                         "%sperf=%u, nvclock=%llu, nvclockmin=%llu, nvclockmax=%llu, nvclockeditable=0, memclock=%llu, "
                         "memclockmin=%llu, memclockmax=%llu, memclockeditable=0, memTransferRate=%llu, "
                         "memTransferRatemin=%llu, memTransferRatemax=%llu, memTransferRateeditable=0",
                         perf == 0 ? "" : " ; ", perf, (unsigned long long)SCALAR(&gpu, clock_min_graphics),
                         (unsigned long long)SCALAR(&gpu, clock_min_graphics),
                         (unsigned long long)SCALAR(&gpu, clock_max_graphics), m, m, m, 2 * m, 2 * m, 2 * m);
        at += (size_t)n;
        perf++;
    }
})

API nvmlReturn_t nvmlDeviceGetUnrepairableMemoryFlag_v1(handle_t device, nvmlUnrepairableMemoryStatus_v1_t *out) {
    fn_handle h;
    uint64_t value;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    rc = read_scalar(h.gpu, F_unrepairable_memory, &value);
    if (rc == OK) out->unrepairableMemory = (unsigned int)value;
    return rc;
}
API nvmlReturn_t nvmlDeviceGetC2cModeInfoV(handle_t device, nvmlC2cModeInfo_v1_t *out) {
    return get_u32(__func__, device, F_c2c_enabled, out == NULL ? NULL : &out->isC2cEnabled, false);
}

/* ---- PCI ---- */

typedef struct {
    uint32_t domain, bus, device, id, subsystem, class_code;
} pci_address;

static nvmlReturn_t pci_of(const char *function, handle_t device, pci_address *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    return node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu), out, sizeof(*out));
}
static void long_bus_id(const pci_address *p, char *out32) {
    snprintf(out32, 32, "%08X:%02X:%02X.0", p->domain, p->bus & 0xFF, p->device & 0xFF);
}
static void short_bus_id(const pci_address *p, char *out16) {
    snprintf(out16, 16, "%04X:%02X:%02X.0", p->domain & 0xFFFF, p->bus & 0xFF, p->device & 0xFF);
}

API nvmlReturn_t nvmlDeviceGetPciInfo_v3(handle_t device, nvmlPciInfo_t *out) {
    pci_address p;
    nvmlReturn_t rc = pci_of(__func__, device, &p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    short_bus_id(&p, out->busIdLegacy);
    long_bus_id(&p, out->busId);
    out->domain = p.domain;
    out->bus = p.bus;
    out->device = p.device;
    out->pciDeviceId = p.id;
    out->pciSubSystemId = p.subsystem;
    return OK;
}
/* The second version has the short address only, and four reserved words at its end. */
API nvmlReturn_t nvmlDeviceGetPciInfo_v2(handle_t device, nvmlPciInfo_v2_t *out) {
    pci_address p;
    nvmlReturn_t rc = pci_of(__func__, device, &p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    short_bus_id(&p, out->busId);
    out->domain = p.domain;
    out->bus = p.bus;
    out->device = p.device;
    out->pciDeviceId = p.id;
    out->pciSubSystemId = p.subsystem;
    return OK;
}
/* The first version ends before the subsystem id. */
API nvmlReturn_t nvmlDeviceGetPciInfo(handle_t device, void *out) {
    nvmlPciInfo_v2_t info;
    nvmlReturn_t rc = nvmlDeviceGetPciInfo_v2(device, &info);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memcpy(out, &info, offsetof(nvmlPciInfo_v2_t, pciSubSystemId));
    return OK;
}
API nvmlReturn_t nvmlDeviceGetPciInfoExt(handle_t device, nvmlPciInfoExt_v1_t *out) {
    pci_address p;
    nvmlReturn_t rc = pci_of(__func__, device, &p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (out->version != VERSION(nvmlPciInfoExt_v1_t, 1)) return E_VERSION_MISMATCH;
    long_bus_id(&p, out->busId);
    out->domain = p.domain;
    out->bus = p.bus;
    out->device = p.device;
    out->pciDeviceId = p.id;
    out->pciSubSystemId = p.subsystem;
    out->baseClass = p.class_code >> 16 & 0xFF;
    out->subClass = p.class_code >> 8 & 0xFF;
    return OK;
}

API nvmlReturn_t nvmlDeviceGetPcieThroughput(handle_t device, unsigned int counter, unsigned int *out) {
    static const unsigned int fields[] = {F_pcie_throughput_tx, F_pcie_throughput_rx};
    return get_choice(__func__, device, counter, fields, 2, E_INVALID_ARGUMENT, out);
}

/* ---- memory ---- */

typedef struct {
    uint64_t total, reserved, used, free;
} memory_view;

static nvmlReturn_t memory_of(const char *function, handle_t device, memory_view *m) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    m->total = SCALAR(&gpu, memory_total);
    m->reserved = SCALAR(&gpu, memory_reserved);
    m->used = SCALAR(&gpu, memory_used);
    if (h.kind == KIND_MIG) {
        const fn_GpuInstance *gi;
        rc = mig_resolve(&gpu, &h, &gi, NULL);
        if (rc != OK) return rc;
        const fn_Profile *profile = mig_profile_of(&gpu, gi);
        if (profile == NULL) return E_UNKNOWN;
        m->total = profile->memory_mib << 20;
        m->reserved = 0;
        m->used = 0;
        for (unsigned int i = 0; i < MAX_PROCESSES; i++)
            if (gpu.processes[i].used && gpu.processes[i].gi == h.gi) m->used += gpu.processes[i].memory;
    } else if (gpu.scalars[F_memory_total].rc != OK) return gpu.scalars[F_memory_total].rc;
    uint64_t taken = m->reserved + m->used;
    m->free = taken < m->total ? m->total - taken : 0;
    return OK;
}

API nvmlReturn_t nvmlDeviceGetMemoryInfo(handle_t device, nvmlMemory_t *out) {
    memory_view m;
    nvmlReturn_t rc = memory_of(__func__, device, &m);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->total = m.total;
    out->free = m.free;
    out->used = m.total - m.free; /* this version counts what is reserved as used */
    return OK;
}
API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(handle_t device, nvmlMemory_v2_t *out) {
    memory_view m;
    nvmlReturn_t rc = memory_of(__func__, device, &m);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (out->version != VERSION(nvmlMemory_v2_t, 2)) return E_VERSION_MISMATCH;
    out->total = m.total;
    out->reserved = m.reserved;
    out->free = m.free;
    out->used = m.used;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(handle_t device, nvmlBAR1Memory_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_bar1_total].rc;
    if (rc != OK) return rc;
    out->bar1Total = SCALAR(&gpu, bar1_total);
    out->bar1Used = SCALAR(&gpu, bar1_used);
    out->bar1Free = out->bar1Total - out->bar1Used;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(handle_t device, nvmlConfComputeMemSizeInfo_t *out) {
    memory_view m;
    nvmlReturn_t rc = memory_of(__func__, device, &m);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->protectedMemSizeKib = 0;
    out->unprotectedMemSizeKib = (m.total - m.reserved) >> 10;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetConfComputeProtectedMemoryUsage(handle_t device, nvmlMemory_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    return OK;
}

/* ---- readings ---- */

API nvmlReturn_t nvmlDeviceGetUtilizationRates(handle_t device, nvmlUtilization_t *out) {
    return get_pair(__func__, device, F_utilization_gpu, F_utilization_memory, out == NULL ? NULL : &out->gpu,
                    out == NULL ? NULL : &out->memory);
}
API nvmlReturn_t nvmlDeviceGetDynamicPstatesInfo(handle_t device, nvmlGpuDynamicPstatesInfo_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    uint64_t gpu = 0, memory = 0;
    rc = read_scalar(h.gpu, F_utilization_gpu, &gpu);
    if (rc == OK) rc = read_scalar(h.gpu, F_utilization_memory, &memory);
    if (rc != OK) return rc;
    memset(out, 0, sizeof(*out));
    for (int i = 0; i < 4; i++) out->utilization[i].bIsPresent = 1;
    out->utilization[0].percentage = (unsigned int)gpu;
    out->utilization[1].percentage = (unsigned int)memory;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetTemperature(handle_t device, unsigned int sensor, unsigned int *out) {
    static const unsigned int fields[] = {F_temperature_gpu};
    return get_choice(__func__, device, sensor, fields, 1, E_INVALID_ARGUMENT, out);
}
API nvmlReturn_t nvmlDeviceGetTemperatureThreshold(handle_t device, unsigned int which, unsigned int *out) {
    static const unsigned int fields[] = {
        F_threshold_shutdown,     F_threshold_slowdown,         F_threshold_memory_max,   F_threshold_gpu_max,
        F_threshold_acoustic_min, F_threshold_acoustic_current, F_threshold_acoustic_max, F_threshold_gps_current};
    return get_choice(__func__, device, which, fields, 8, E_INVALID_ARGUMENT, out);
}

#define CLOCKS(prefix) {F_##prefix##_graphics, F_##prefix##_sm, F_##prefix##_memory, F_##prefix##_video}
#define CLOCK(name, prefix, beyond) \
    API nvmlReturn_t name(handle_t device, unsigned int type, unsigned int *out) { \
        static const unsigned int fields[] = CLOCKS(prefix); \
        return get_choice(__func__, device, type, fields, 4, beyond, out); \
    }
CLOCK(nvmlDeviceGetClockInfo, clock, E_NOT_SUPPORTED) /* the H200 answers so for a type beyond the four */
CLOCK(nvmlDeviceGetMaxClockInfo, clock_max, E_INVALID_ARGUMENT)
CLOCK(nvmlDeviceGetApplicationsClock, clock_app, E_INVALID_ARGUMENT)
CLOCK(nvmlDeviceGetDefaultApplicationsClock, clock_app_default, E_INVALID_ARGUMENT)
CLOCK(nvmlDeviceGetMaxCustomerBoostClock, clock_boost, E_INVALID_ARGUMENT)

API nvmlReturn_t nvmlDeviceGetClock(handle_t device, unsigned int type, unsigned int id, unsigned int *out) {
    switch (id) {
    case 0: return nvmlDeviceGetClockInfo(device, type, out);
    case 1: return nvmlDeviceGetApplicationsClock(device, type, out);
    case 2: return nvmlDeviceGetDefaultApplicationsClock(device, type, out);
    case 3: return nvmlDeviceGetMaxCustomerBoostClock(device, type, out);
    default: return fn_initialized() ? E_INVALID_ARGUMENT : E_UNINITIALIZED;
    }
}
API nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(handle_t device, unsigned int *count, unsigned int *clocks) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    uint64_t value[2] = {0, 0};
    rc = read_scalar(h.gpu, F_memory_clock_supported_0, &value[0]);
    if (rc != OK) return rc;
    (void)read_scalar(h.gpu, F_memory_clock_supported_1, &value[1]);
    unsigned int room = *count;
    *count = value[1] != 0 ? 2 : 1;
    if (clocks == NULL || room < *count) return E_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < *count; i++) clocks[i] = (unsigned int)value[i];
    return OK;
}
/* Steps of 15 MHz from the highest clock down, as nvidia-smi lists them on every data centre board. */
API nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(handle_t device, unsigned int memory, unsigned int *count,
                                                      unsigned int *clocks) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (count == NULL || memory == 0) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_clock_max_graphics].rc;
    if (rc != OK) return rc;
    if (memory != SCALAR(&gpu, memory_clock_supported_0) && memory != SCALAR(&gpu, memory_clock_supported_1))
        return E_NOT_FOUND;
    unsigned int high = (unsigned int)SCALAR(&gpu, clock_max_graphics), low = (unsigned int)SCALAR(&gpu, clock_min_graphics);
    unsigned int room = *count, need = high >= low && low > 0 ? (high - low) / 15 + 1 : 1;
    *count = need;
    if (clocks == NULL || room < need) return E_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < need; i++) clocks[i] = high - 15 * i;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetSupportedPerformanceStates(handle_t device, unsigned int *states, unsigned int size) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (states == NULL) return E_INVALID_ARGUMENT;
    uint64_t a = 32, b = 32;
    rc = read_scalar(h.gpu, F_performance_state_supported_0, &a);
    if (rc != OK) return rc;
    (void)read_scalar(h.gpu, F_performance_state_supported_1, &b);
    unsigned int room = size / sizeof(*states);
    if (room < 2) return E_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < room; i++) states[i] = 32; /* "unknown" ends the list */
    states[0] = (unsigned int)a;
    states[1] = (unsigned int)b;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpcClkMinMaxVfOffset(handle_t device, int *low, int *high) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (low == NULL || high == NULL) return E_INVALID_ARGUMENT;
    *low = *high = 0;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetMemClkMinMaxVfOffset(handle_t device, int *low, int *high) {
    return nvmlDeviceGetGpcClkMinMaxVfOffset(device, low, high);
}
API nvmlReturn_t nvmlDeviceGetViolationStatus(handle_t device, unsigned int policy, nvmlViolationTime_t *out) {
    static const int fields[] = {F_violation_power,
                                 F_violation_thermal,
                                 F_violation_sync_boost,
                                 F_violation_board_limit,
                                 F_violation_low_utilization,
                                 F_violation_reliability,
                                 -1,
                                 -1,
                                 -1,
                                 -1,
                                 F_violation_total_app_clocks,
                                 F_violation_total_base_clocks};
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL || policy > 11 || fields[policy] < 0) return E_INVALID_ARGUMENT;
    uint64_t value;
    rc = read_scalar(h.gpu, (unsigned int)fields[policy], &value);
    if (rc != OK) return rc;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->referenceTime = (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
    out->violationTime = value;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetAPIRestriction(handle_t device, unsigned int api, unsigned int *out) {
    static const unsigned int fields[] = {F_api_restriction_application_clocks, F_api_restriction_auto_boost};
    return get_choice(__func__, device, api, fields, 2, E_INVALID_ARGUMENT, out);
}
API nvmlReturn_t nvmlDeviceGetEncoderCapacity(handle_t device, unsigned int type, unsigned int *out) {
    static const unsigned int fields[] = {F_encoder_capacity_h264, F_encoder_capacity_hevc, F_encoder_capacity_av1};
    return get_choice(__func__, device, type, fields, 3, E_INVALID_ARGUMENT, out);
}
API nvmlReturn_t nvmlDeviceGetAutoBoostedClocksEnabled(handle_t device, unsigned int *on, unsigned int *standard) {
    return get_pair(__func__, device, F_auto_boost, F_auto_boost, on, standard);
}
API nvmlReturn_t nvmlDeviceGetEncoderStats(handle_t device, unsigned int *sessions, unsigned int *fps, unsigned int *latency) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (sessions == NULL || fps == NULL || latency == NULL) return E_INVALID_ARGUMENT;
    *sessions = *fps = *latency = 0;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetFBCStats(handle_t device, nvmlFBCStats_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    return OK;
}
static nvmlReturn_t empty_list(const char *function, handle_t device, unsigned int *count) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    *count = 0;
    return OK;
}
#define EMPTY(name) \
    API nvmlReturn_t name(handle_t device, unsigned int *count, void *items) { \
        (void)items; \
        return empty_list(__func__, device, count); \
    }
EMPTY(nvmlDeviceGetEncoderSessions)
EMPTY(nvmlDeviceGetFBCSessions)

/* With confidential computing off, the H200 answered Unknown Error. */
API nvmlReturn_t nvmlDeviceGetConfComputeGpuCertificate(handle_t device, void *certificate) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    return certificate == NULL ? E_INVALID_ARGUMENT : E_UNKNOWN;
}

/* The black box of the InfoROM has never been flushed. */
API nvmlReturn_t nvmlDeviceGetLastBBXFlushTime(handle_t device, unsigned long long *timestamp, unsigned long *duration) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    return timestamp == NULL || duration == NULL ? E_INVALID_ARGUMENT : E_NOT_READY;
}

/* No board of the inventories has a fan that NVML reports, so every fan index is out of range. */
static nvmlReturn_t fan(const char *function, handle_t device, unsigned int index, const void *out) {
    fn_handle h;
    uint64_t count = 0;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc == OK) rc = read_scalar(h.gpu, F_fan_count, &count);
    if (rc != OK) return rc;
    return out == NULL || index >= count ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED;
}
#define FAN(name) \
    API nvmlReturn_t name(handle_t device, unsigned int index, unsigned int *out) { return fan(__func__, device, index, out); }
FAN(nvmlDeviceGetFanSpeed_v2)
FAN(nvmlDeviceGetTargetFanSpeed)
FAN(nvmlDeviceGetFanControlPolicy_v2)
API nvmlReturn_t nvmlDeviceGetMinMaxFanSpeed(handle_t device, unsigned int *low, unsigned int *high) {
    return fan(__func__, device, 0, low == NULL || high == NULL ? NULL : low);
}

/* ---- ECC, remapping, repair ---- */

static nvmlReturn_t ecc_field(unsigned int type, unsigned int counter, bool dram, unsigned int *field) {
    static const unsigned int fields[2][2][2] = {
        {{F_ecc_corrected_volatile_sram, F_ecc_corrected_volatile_dram},
         {F_ecc_corrected_aggregate_sram, F_ecc_corrected_aggregate_dram}},
        {{F_ecc_uncorrected_volatile_sram, F_ecc_uncorrected_volatile_dram},
         {F_ecc_uncorrected_aggregate_sram, F_ecc_uncorrected_aggregate_dram}}};
    if (type > 1 || counter > 1) return E_INVALID_ARGUMENT;
    *field = fields[type][counter][dram];
    return OK;
}
API nvmlReturn_t nvmlDeviceGetTotalEccErrors(handle_t device, unsigned int type, unsigned int counter,
                                             unsigned long long *out) {
    fn_handle h;
    unsigned int sram, dram;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL || ecc_field(type, counter, false, &sram) != OK || ecc_field(type, counter, true, &dram) != OK)
        return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[sram].rc;
    if (rc == OK) *out = gpu.scalars[sram].value + gpu.scalars[dram].value;
    return rc;
}
/* Of the locations, boards with row remapping answer for DRAM (2) and for SRAM as a whole (7). */
API nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(handle_t device, unsigned int type, unsigned int counter,
                                                 unsigned int location, unsigned long long *out) {
    fn_handle h;
    unsigned int field;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL || location > 7 || ecc_field(type, counter, location == 2, &field) != OK) return E_INVALID_ARGUMENT;
    if (location != 2 && location != 7) return E_NOT_SUPPORTED;
    uint64_t value;
    rc = read_scalar(h.gpu, field, &value);
    if (rc == OK) *out = value;
    return rc;
}
VERSIONED(nvmlDeviceGetSramEccErrorStatus, nvmlEccSramErrorStatus_v1_t, 1, {
    fn_Gpu gpu;
    (void)value;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_ecc_corrected_volatile_sram].rc;
    if (rc != OK) return rc;
    memset((char *)out + sizeof(out->version), 0, sizeof(*out) - sizeof(out->version));
    out->aggregateUncSecDed = SCALAR(&gpu, ecc_uncorrected_aggregate_sram);
    out->aggregateCor = SCALAR(&gpu, ecc_corrected_aggregate_sram);
    out->volatileUncSecDed = SCALAR(&gpu, ecc_uncorrected_volatile_sram);
    out->volatileCor = SCALAR(&gpu, ecc_corrected_volatile_sram);
    out->aggregateUncBucketOther = SCALAR(&gpu, ecc_uncorrected_aggregate_sram);
})
API nvmlReturn_t nvmlDeviceClearEccErrorCounts(handle_t device, unsigned int counter) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (counter > 1) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    for (unsigned int type = 0; type < 2; type++)
        for (unsigned int dram = 0; dram < 2; dram++) {
            unsigned int field;
            if (ecc_field(type, counter, dram != 0, &field) == OK) txn.state->gpus[h.gpu].scalars[field].value = 0;
        }
    txn_commit(&txn);
    return OK;
}

static bool has_instances(const fn_Gpu *gpu) {
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++)
        if (gpu->instances[i].used) return true;
    return false;
}
API nvmlReturn_t nvmlDeviceGetRemappedRows(handle_t device, unsigned int *corrected, unsigned int *uncorrected,
                                           unsigned int *pending, unsigned int *failure) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (corrected == NULL || uncorrected == NULL || pending == NULL || failure == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_remapped_rows_corrected].rc;
    if (rc != OK) return rc;
    if (has_instances(&gpu)) return E_NOT_SUPPORTED; /* documented: not available while MIG instances are active */
    *corrected = (unsigned int)SCALAR(&gpu, remapped_rows_corrected);
    *uncorrected = (unsigned int)SCALAR(&gpu, remapped_rows_uncorrected);
    *pending = (unsigned int)SCALAR(&gpu, remapped_rows_pending);
    *failure = (unsigned int)SCALAR(&gpu, remapped_rows_failure);
    return OK;
}
API nvmlReturn_t nvmlDeviceGetRemappedRows_v2(handle_t device, nvmlRemappedRowsInfo_v2_t *out) {
    unsigned int c, u, p, f;
    nvmlReturn_t rc = nvmlDeviceGetRemappedRows(device, &c, &u, &p, &f);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->corrActiveRemaps = c;
    out->corrInactiveRemaps = 0;
    out->uncActiveRemaps = u;
    out->uncInactiveRemaps = 0;
    out->bPending = p;
    out->bfailureOccurred = f;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(handle_t device, nvmlRowRemapperHistogramValues_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_row_remapper_max].rc;
    if (rc != OK) return rc;
    out->max = (unsigned int)SCALAR(&gpu, row_remapper_max);
    out->high = (unsigned int)SCALAR(&gpu, row_remapper_high);
    out->partial = (unsigned int)SCALAR(&gpu, row_remapper_partial);
    out->low = (unsigned int)SCALAR(&gpu, row_remapper_low);
    out->none = (unsigned int)SCALAR(&gpu, row_remapper_none);
    return OK;
}

/* ---- processes: each version writes its own layout ---- */

static nvmlReturn_t processes(const char *function, handle_t device, bool graphics, bool first_layout, unsigned int *count,
                              void *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    unsigned int room = *count, found = 0;
    for (unsigned int i = 0; i < MAX_PROCESSES; i++) {
        const fn_Process *p = &gpu.processes[i];
        if (!p->used || (p->graphics != 0) != graphics) continue;
        if (h.kind == KIND_MIG && (p->gi != h.gi || p->ci != h.ci)) continue;
        if (out != NULL && found < room) {
            nvmlProcessInfo_v2_t entry = {
                .pid = p->pid, .usedGpuMemory = p->memory, .gpuInstanceId = p->gi, .computeInstanceId = p->ci};
            size_t size = first_layout ? offsetof(nvmlProcessInfo_v2_t, gpuInstanceId) : sizeof(entry);
            memcpy((char *)out + found * size, &entry, size);
        }
        found++;
    }
    *count = found;
    return found > room || (found > 0 && out == NULL) ? E_INSUFFICIENT_SIZE : OK;
}
#define PROCESSES(name, graphics, first) \
    API nvmlReturn_t name(handle_t device, unsigned int *count, void *out) { \
        return processes(__func__, device, graphics, first, count, out); \
    }
PROCESSES(nvmlDeviceGetComputeRunningProcesses, false, true)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, false, false)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, false, false)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, true, true)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, true, false)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, true, false)
#define NO_PROCESSES(name) \
    API nvmlReturn_t name(handle_t device, unsigned int *count, void *out) { \
        (void)out; \
        return empty_list(__func__, device, count); \
    }
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3)

/* ---- affinity and topology ---- */

API nvmlReturn_t nvmlDeviceGetCpuAffinity(handle_t device, unsigned int words, unsigned long *set) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (set == NULL || words == 0) return E_INVALID_ARGUMENT;
    uint64_t own[AFFINITY_WORDS];
    rc = node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, cpu_affinity), own, sizeof(own));
    for (unsigned int i = 0; rc == OK && i < words; i++) set[i] = i < AFFINITY_WORDS ? own[i] : 0;
    return rc;
}
API nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(handle_t device, unsigned int words, unsigned long *set,
                                                     unsigned int scope) {
    if (scope > 1) return fn_initialized() ? E_INVALID_ARGUMENT : E_UNINITIALIZED;
    return nvmlDeviceGetCpuAffinity(device, words, set);
}
API nvmlReturn_t nvmlDeviceGetMemoryAffinity(handle_t device, unsigned int words, unsigned long *set, unsigned int scope) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (set == NULL || words == 0 || scope > 1) return E_INVALID_ARGUMENT;
    uint64_t own;
    rc = node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, memory_affinity), &own, sizeof(own));
    for (unsigned int i = 0; rc == OK && i < words; i++) set[i] = i == 0 ? own : 0;
    return rc;
}

enum { INTERNAL = 0, SINGLE_SWITCH = 10, HOST_BRIDGE = 30, NUMA_NODE = 40, SYSTEM = 50 };

static nvmlReturn_t ancestor(unsigned int a, unsigned int b, unsigned int *level) {
    fn_Gpu one, two;
    nvmlReturn_t rc = read_gpu(a, &one);
    if (rc == OK) rc = read_gpu(b, &two);
    if (rc != OK) return rc;
    if (a == b) *level = INTERNAL;
    else if (one.scalars[F_pcie_switch].rc == OK && two.scalars[F_pcie_switch].rc == OK &&
             SCALAR(&one, pcie_switch) == SCALAR(&two, pcie_switch))
        *level = SINGLE_SWITCH;
    else *level = SCALAR(&one, numa_node) == SCALAR(&two, numa_node) ? NUMA_NODE : SYSTEM;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(handle_t first, handle_t second, unsigned int *level) {
    fn_handle a, b;
    nvmlReturn_t rc = fn_device(__func__, first, &a);
    if (rc == OK) rc = fn_device(__func__, second, &b);
    if (rc != OK) return rc;
    return level == NULL ? E_INVALID_ARGUMENT : ancestor(a.gpu, b.gpu, level);
}
API nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(handle_t device, unsigned int level, unsigned int *count,
                                                  handle_t *devices) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    unsigned int all = 0, room = *count, found = 0;
    rc = node_value(offsetof(fn_State, gpu_count), &all, sizeof(all));
    for (unsigned int i = 0; rc == OK && i < all && i < MAX_GPUS; i++) {
        unsigned int own = 0;
        if (i == h.gpu || fn_removed(i)) continue;
        rc = ancestor(h.gpu, i, &own);
        if (rc != OK || own > level) continue;
        if (devices != NULL && found < room) devices[found] = handle_make(KIND_DEVICE, i, 0, 0, 0);
        found++;
    }
    if (rc == OK) *count = devices == NULL || found < room ? found : room;
    return rc;
}
API nvmlReturn_t nvmlDeviceOnSameBoard(handle_t first, handle_t second, int *same) {
    fn_handle a, b;
    nvmlReturn_t rc = fn_gpu(__func__, first, &a);
    if (rc == OK) rc = fn_gpu(__func__, second, &b);
    if (rc != OK) return rc;
    if (same == NULL) return E_INVALID_ARGUMENT;
    *same = a.gpu == b.gpu;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetP2PStatus(handle_t first, handle_t second, unsigned int index, unsigned int *status) {
    fn_handle a, b;
    nvmlReturn_t rc = fn_gpu(__func__, first, &a);
    if (rc == OK) rc = fn_gpu(__func__, second, &b);
    if (rc != OK) return rc;
    if (status == NULL || index > 5) return E_INVALID_ARGUMENT;
    fn_Gpu one, two;
    rc = read_gpu(a.gpu, &one);
    if (rc == OK) rc = read_gpu(b.gpu, &two);
    if (rc != OK) return rc;
    bool linked = one.links[0].present && one.links[0].active && two.links[0].present && two.links[0].active;
    if (index == 2) *status = linked ? 0 : 5; /* NVLink: OK, or not supported */
    else *status = 0;
    return OK;
}

/* ---- NVLink and fabric ---- */

static nvmlReturn_t link_of(const char *function, handle_t device, unsigned int link, fn_Link *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    uint64_t count = 0;
    rc = read_scalar(h.gpu, F_nvlink_count, &count);
    if (rc != OK) return rc;
    if (link >= count || link >= MAX_LINKS) return E_INVALID_ARGUMENT;
    rc = node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, links) + link * sizeof(fn_Link), out,
                    sizeof(*out));
    return rc == OK && !out->present ? E_NOT_SUPPORTED : rc;
}
API nvmlReturn_t nvmlDeviceGetNvLinkState(handle_t device, unsigned int link, unsigned int *active) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (active == NULL) return E_INVALID_ARGUMENT;
    *active = l.active;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkVersion(handle_t device, unsigned int link, unsigned int *version) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    return get_u32(__func__, device, F_nvlink_version, version, false);
}
API nvmlReturn_t nvmlDeviceGetNvLinkCapability(handle_t device, unsigned int link, unsigned int capability,
                                               unsigned int *out) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (out == NULL || capability > 5) return E_INVALID_ARGUMENT;
    *out = capability == 4 ? 0 : 1; /* P2P, system memory, atomics of both, valid; no SLI */
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(handle_t device, unsigned int link, unsigned int *type) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (type == NULL) return E_INVALID_ARGUMENT;
    *type = l.remote_type;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(handle_t device, unsigned int link, nvmlPciInfo_t *out) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (!l.active) return E_NOT_SUPPORTED;
    pci_address p = {l.domain, l.bus, l.device, l.pci_device_id, 0, 0};
    memset(out, 0, sizeof(*out));
    short_bus_id(&p, out->busIdLegacy);
    long_bus_id(&p, out->busId);
    out->domain = p.domain;
    out->bus = p.bus;
    out->device = p.device;
    out->pciDeviceId = p.id;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(handle_t device, unsigned int link, unsigned int counter,
                                                 unsigned long long *out) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (out == NULL || counter > 4) return E_INVALID_ARGUMENT;
    *out = l.errors[counter];
    return OK;
}

typedef struct {
    uint64_t state, status, clique, health_mask, health_summary;
    uint8_t cluster[16];
} fabric_view;

static nvmlReturn_t fabric_of(const char *function, handle_t device, fabric_view *f) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_fabric_state].rc;
    if (rc != OK) return rc;
    memset(f, 0, sizeof(*f));
    f->state = SCALAR(&gpu, fabric_state);
    if (f->state != 3) return OK; /* status, clique and cluster are valid only when registration has completed */
    f->status = SCALAR(&gpu, fabric_status);
    f->clique = SCALAR(&gpu, fabric_clique_id);
    f->health_mask = SCALAR(&gpu, fabric_health_mask);
    f->health_summary = SCALAR(&gpu, fabric_health_summary);
    memcpy(f->cluster, gpu.cluster_uuid, 16);
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpuFabricInfo(handle_t device, nvmlGpuFabricInfo_t *out) {
    fabric_view f;
    nvmlReturn_t rc = fabric_of(__func__, device, &f);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memcpy(out->clusterUuid, f.cluster, 16);
    out->status = (unsigned int)f.status;
    out->cliqueId = (unsigned int)f.clique;
    out->state = (unsigned char)f.state;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(handle_t device, void *out) {
    fabric_view f;
    nvmlReturn_t rc = fabric_of(__func__, device, &f);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    unsigned int version;
    memcpy(&version, out, sizeof(version));
    nvmlGpuFabricInfo_v3_t info;
    memset(&info, 0, sizeof(info));
    info.version = version;
    memcpy(info.clusterUuid, f.cluster, 16);
    info.status = (unsigned int)f.status;
    info.cliqueId = (unsigned int)f.clique;
    info.state = (unsigned char)f.state;
    info.healthMask = (unsigned int)f.health_mask;
    info.healthSummary = (unsigned char)f.health_summary;
    _Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, healthMask) == offsetof(nvmlGpuFabricInfo_v3_t, healthMask),
                   "the second version is a prefix of the third");
    if (version == VERSION(nvmlGpuFabricInfo_v2_t, 2)) memcpy(out, &info, sizeof(nvmlGpuFabricInfo_v2_t));
    else if (version == VERSION(nvmlGpuFabricInfo_v3_t, 3)) memcpy(out, &info, sizeof(info));
    else return E_VERSION_MISMATCH;
    return OK;
}
