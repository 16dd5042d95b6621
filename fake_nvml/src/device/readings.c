/* Readings that move on a live GPU (utilisation, temperature, clocks) and values of clocks, encoders and fans. */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include "calls/getters.h"

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
CLOCK(nvmlDeviceGetClockInfo, clock, E_NOT_SUPPORTED) /* as the H200 for a type beyond the four */
CLOCK(nvmlDeviceGetMaxClockInfo, clock_max, E_INVALID_ARGUMENT)
CLOCK(nvmlDeviceGetApplicationsClock, clock_app, E_INVALID_ARGUMENT)
CLOCK(nvmlDeviceGetDefaultApplicationsClock, clock_app_default, E_INVALID_ARGUMENT)
CLOCK(nvmlDeviceGetMaxCustomerBoostClock, clock_boost, E_INVALID_ARGUMENT)

API nvmlReturn_t nvmlDeviceGetClock(handle_t device, unsigned int type, unsigned int id, unsigned int *out) {
    static const unsigned int fields[][4] = {CLOCKS(clock), CLOCKS(clock_app), CLOCKS(clock_app_default), CLOCKS(clock_boost)};
    if (id > 3) return fn_initialized() ? E_INVALID_ARGUMENT : E_UNINITIALIZED;
    return get_choice(__func__, device, type, fields[id], 4, id == 0 ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT, out);
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
static nvmlReturn_t offset_range(const char *function, handle_t device, int *low, int *high) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (low == NULL || high == NULL) return E_INVALID_ARGUMENT;
    *low = *high = 0;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpcClkMinMaxVfOffset(handle_t device, int *low, int *high) {
    return offset_range(__func__, device, low, high);
}
API nvmlReturn_t nvmlDeviceGetMemClkMinMaxVfOffset(handle_t device, int *low, int *high) {
    return offset_range(__func__, device, low, high);
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
