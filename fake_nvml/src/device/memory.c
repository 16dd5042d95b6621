/* The memories of a GPU and of a MIG device. */
#include "calls/getters.h"
#include "state/mig_lookup.h"
#include "state/visible.h"

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
    } else if (SCALAR(&gpu, mig_mode_current) && !visible_monitor()) {
        return E_NO_PERMISSION; /* NVIDIA/nvidia-container-toolkit issue 842, k8s-device-plugin issue 399 */
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
    out->used = m.total - m.free; /* this version counts reserved memory as used */
    return OK;
}
API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(handle_t device, nvmlMemory_v2_t *out) {
    memory_view m;
    nvmlReturn_t rc = memory_of(__func__, device, &m);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (out->version != VERSION(nvmlMemory_v2_t, 2)) return E_FUNCTION_NOT_FOUND; /* so says release 580 */
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
    if (h.kind == KIND_MIG) { /* its slices' share less 1 MiB, as nvidia-smi prints it on H100 and A100 */
        const fn_GpuInstance *gi;
        rc = mig_resolve(&gpu, &h, &gi, NULL);
        if (rc != OK) return rc;
        uint64_t share = out->bar1Total / SLICES * (gi->size <= SLICES ? gi->size : SLICES);
        out->bar1Total = share > 1 << 20 ? share - (1 << 20) : 0;
        out->bar1Used = 0;
    }
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
