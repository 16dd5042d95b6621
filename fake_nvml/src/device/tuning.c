/* Settings of an administrator: permissions, boost, clock offsets and fans; and the CPUs of the calling thread.
 *
 * Data centre boards have no automatic boost, no offsets to choose from and no fan of their own: setters return the code
 * that the getters returned on the H200. */
#define _GNU_SOURCE
#include <sched.h>

#include "calls/getters.h"

API nvmlReturn_t nvmlDeviceSetAPIRestriction(handle_t device, unsigned int api, unsigned int restricted) {
    static const unsigned int fields[] = {F_api_restriction_application_clocks, F_api_restriction_auto_boost};
    if (api > 1) return fn_initialized() ? E_INVALID_ARGUMENT : E_UNINITIALIZED;
    return set_scalar(__func__, device, fields[api], restricted, 1);
}
API nvmlReturn_t nvmlDeviceSetAutoBoostedClocksEnabled(handle_t device, unsigned int enabled) {
    return set_scalar(__func__, device, F_auto_boost, enabled, 1);
}
API nvmlReturn_t nvmlDeviceSetDefaultAutoBoostedClocksEnabled(handle_t device, unsigned int enabled, unsigned int flags) {
    (void)flags; /* none is defined */
    return set_scalar(__func__, device, F_auto_boost, enabled, 1);
}

/* ---- clock offsets: readable, and there is room for none ---- */

static nvmlReturn_t set_offset(const char *function, handle_t device, unsigned int field, int offset) {
    return set_scalar(function, device, field, (uint64_t)(offset < 0 ? -(int64_t)offset : offset), 0);
}
API nvmlReturn_t nvmlDeviceSetGpcClkVfOffset(handle_t device, int offset) {
    return set_offset(__func__, device, F_gpc_clock_offset, offset);
}
API nvmlReturn_t nvmlDeviceSetMemClkVfOffset(handle_t device, int offset) {
    return set_offset(__func__, device, F_memory_clock_offset, offset);
}

/* The field behind a clock's offset, once handle, structure, clock and state of performance are right. */
static nvmlReturn_t offset_field(const char *function, handle_t device, const nvmlClockOffset_v1_t *info, unsigned int *field,
                                 uint64_t *value) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (info == NULL) return E_INVALID_ARGUMENT;
    if (info->version != VERSION(nvmlClockOffset_v1_t, 1)) return E_VERSION_MISMATCH;
    if (info->type > 2 || info->pstate > 15) return E_INVALID_ARGUMENT;
    *field = info->type == 2 ? F_memory_clock_offset : F_gpc_clock_offset;
    return read_scalar(h.gpu, *field, value);
}
API nvmlReturn_t nvmlDeviceGetClockOffsets(handle_t device, nvmlClockOffset_v1_t *info) {
    unsigned int field;
    uint64_t value;
    nvmlReturn_t rc = offset_field(__func__, device, info, &field, &value);
    if (rc != OK) return rc;
    info->clockOffsetMHz = (int)value;
    info->minClockOffsetMHz = info->maxClockOffsetMHz = 0;
    return OK;
}
API nvmlReturn_t nvmlDeviceSetClockOffsets(handle_t device, const nvmlClockOffset_v1_t *info) {
    unsigned int field;
    uint64_t value;
    nvmlReturn_t rc = offset_field(__func__, device, info, &field, &value);
    if (rc != OK) return rc;
    return info->clockOffsetMHz == 0 ? OK : E_INVALID_ARGUMENT;
}

/* ---- fans ---- */

static nvmlReturn_t fan_at(const char *function, handle_t device, unsigned int index) {
    fn_handle h;
    uint64_t count = 0;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc == OK) rc = read_scalar(h.gpu, F_fan_count, &count);
    if (rc != OK) return rc;
    return index >= count ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED; /* fans that turn are not modelled */
}
API nvmlReturn_t nvmlDeviceSetFanSpeed_v2(handle_t device, unsigned int fan, unsigned int speed) {
    (void)speed;
    return fan_at(__func__, device, fan);
}
API nvmlReturn_t nvmlDeviceSetDefaultFanSpeed_v2(handle_t device, unsigned int fan) { return fan_at(__func__, device, fan); }
API nvmlReturn_t nvmlDeviceSetFanControlPolicy(handle_t device, unsigned int fan, unsigned int policy) {
    (void)policy;
    return fan_at(__func__, device, fan);
}
/* The first version has one fan only; a board without fans returns Not Supported, as the H200 did. */
API nvmlReturn_t nvmlDeviceGetFanSpeed(handle_t device, unsigned int *speed) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    return speed == NULL ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED;
}

/* ---- the CPUs of the calling thread ---- */

API nvmlReturn_t nvmlDeviceSetCpuAffinity(handle_t device) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    uint64_t own[AFFINITY_WORDS];
    rc = node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, cpu_affinity), own, sizeof(own));
    if (rc != OK) return rc;
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned int cpu = 0; cpu < AFFINITY_WORDS * 64 && cpu < CPU_SETSIZE; cpu++)
        if (own[cpu / 64] >> (cpu % 64) & 1) CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof(set), &set) == 0 ? OK : E_UNKNOWN; /* this machine has none of the node's CPUs */
}
API nvmlReturn_t nvmlDeviceClearCpuAffinity(handle_t device) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    cpu_set_t set;
    memset(&set, 0xFF, sizeof(set)); /* the kernel takes those that there are */
    return sched_setaffinity(0, sizeof(set), &set) == 0 ? OK : E_UNKNOWN;
}

/* ---- the range of a clock in one of the states of performance that the board has ---- */

API nvmlReturn_t nvmlDeviceGetMinMaxClockOfPState(handle_t device, unsigned int type, unsigned int state, unsigned int *low,
                                                  unsigned int *high) {
    static const unsigned int most[] = {F_clock_max_graphics, F_clock_max_sm, F_clock_max_memory, F_clock_max_video};
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc == OK) rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    if (low == NULL || high == NULL || type > 3) return E_INVALID_ARGUMENT;
    bool first = gpu.scalars[F_performance_state_supported_0].rc == OK && SCALAR(&gpu, performance_state_supported_0) == state;
    bool second = gpu.scalars[F_performance_state_supported_1].rc == OK && SCALAR(&gpu, performance_state_supported_1) == state;
    if (!first && !second) return E_INVALID_ARGUMENT;
    if (gpu.scalars[most[type]].rc != OK) return gpu.scalars[most[type]].rc;
    *high = (unsigned int)gpu.scalars[most[type]].value;
    *low = (unsigned int)SCALAR(&gpu, clock_min_graphics);
    if (type == 2) { /* memory has one clock in each state */
        if (state != 0 && gpu.scalars[F_memory_clock_supported_1].rc == OK) *high = (unsigned int)SCALAR(&gpu, memory_clock_supported_1);
        *low = *high;
    }
    return OK;
}

/* ---- the InfoROM: sound where the board has one; a fault rule makes it corrupted ---- */

API nvmlReturn_t nvmlDeviceValidateInforom(handle_t device) {
    fn_handle h;
    char version[STRING_SIZE];
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    return rc == OK ? read_text(h.gpu, S_inforom_image, version, sizeof(version)) : rc;
}
