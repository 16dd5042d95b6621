/* Processes that use a GPU, in the layouts of three versions. */
#include "calls/getters.h"

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
