/* Getters and setters of one device: its modes and identity. Most read one scalar of the state; getters.h has the shapes. */
#define _GNU_SOURCE
#include <stdio.h>

#include "calls/getters.h"
#include "state/mig_lookup.h"

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
    return set_power_limit(__func__, device, limit);
}

/* ---- identity ---- */

API nvmlReturn_t nvmlDeviceGetIndex(handle_t device, unsigned int *index) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (index == NULL) return E_INVALID_ARGUMENT;
    uint64_t gone = 0; /* a GPU's index counts those before it that are still there */
    rc = fn_gone(&gone);
    if (rc != OK) return rc;
    *index = h.gpu - (unsigned int)__builtin_popcountll(gone & ((1ull << (h.gpu & 63)) - 1));
    if (h.kind == KIND_MIG) {
        fn_Gpu gpu;
        const fn_ComputeInstance *ci;
        rc = read_gpu(h.gpu, &gpu);
        if (rc == OK) rc = mig_resolve(&gpu, &h, NULL, &ci);
        if (rc == OK) *index = mig_index_of(&gpu, ci->mig_index);
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
