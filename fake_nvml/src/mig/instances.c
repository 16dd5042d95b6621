/* GPU instances: the solver that places them, and their making and destroying.
 *
 * An instance's id is its place in the binary tree over the memory slices: 0 for all eight, 1-2 for halves, 3-6 for pairs,
 * 7-14 for single ones. */
#include "mig/mig.h"
#include "state/visible.h"

static unsigned int taken_slices(const fn_Gpu *gpu) {
    unsigned int taken = 0;
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++)
        if (gpu->instances[i].used) taken |= span_of(gpu->instances[i].start, gpu->instances[i].size);
    return taken;
}

static unsigned int instances_of(const fn_Gpu *gpu, unsigned int profile_id) {
    unsigned int count = 0;
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++)
        count += gpu->instances[i].used && gpu->instances[i].profile == profile_id;
    return count;
}

static unsigned int compute_slices_used(const fn_Gpu *gpu) {
    unsigned int used = 0;
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++) {
        const fn_Profile *profile = gpu->instances[i].used ? mig_profile_of(gpu, &gpu->instances[i]) : NULL;
        if (profile != NULL) used += profile->slices;
    }
    return used;
}

static bool fits(const fn_Gpu *gpu, const fn_Profile *p, unsigned int start) {
    if (start >= SLICES || start + p->size > SLICES || (taken_slices(gpu) & span_of(start, p->size)) != 0) return false;
    return instances_of(gpu, p->id) < p->instances && compute_slices_used(gpu) + p->slices <= 7;
}

static bool is_start(const fn_Profile *p, unsigned int start) {
    for (unsigned int i = 0; i < p->start_count && i < MAX_STARTS; i++)
        if (p->starts[i] == start) return true;
    return false;
}

static unsigned int tree_id(unsigned int start, unsigned int size) {
    unsigned int first = size >= 8 ? 0 : size >= 4 ? 1 : size >= 2 ? 3 : 7;
    return first + start / (size == 0 ? 1 : size);
}

static void occupy(fn_Gpu *gpu, const fn_Profile *p, unsigned int start) {
    fn_GpuInstance *slot = &gpu->instances[tree_id(start, p->size)];
    memset(slot, 0, sizeof(*slot));
    slot->used = 1;
    slot->profile = p->id;
    slot->start = start;
    slot->size = p->size;
}

/* The driver's choice, as seen on H100: the last free place (first 3g at 4, then 2g at 0; 1g at 6 beside 4g at 0). */
static bool choose(const fn_Gpu *gpu, const fn_Profile *p, unsigned int *start) {
    for (unsigned int i = p->start_count < MAX_STARTS ? p->start_count : MAX_STARTS; i-- > 0;)
        if (fits(gpu, p, p->starts[i])) {
            *start = p->starts[i];
            return true;
        }
    return false;
}

API nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(handle_t device, unsigned int id, unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    const fn_Profile *found = mig_profile_by_id(&gpu, id);
    if (found == NULL) return mig_known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
    fn_Profile p = *found;
    unsigned int left = 0, start;
    for (; choose(&gpu, &p, &start); left++) occupy(&gpu, &p, start);
    *count = left;
    return OK;
}

/* ---- GPU instances ---- */

static nvmlReturn_t create_gpu_instance(const char *function, handle_t device, unsigned int id,
                                        const nvmlGpuInstancePlacement_t *placement, bool placed, handle_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(function, device, &h, &gpu);
    if (rc != OK) return rc;
    if (out == NULL || (placed && placement == NULL)) return E_INVALID_ARGUMENT;
    fn_txn txn;
    fn_Gpu *live;
    rc = mig_change_begin(&txn, &h, &live);
    if (rc != OK) return rc;
    const fn_Profile *p = mig_profile_by_id(live, id);
    unsigned int start = 0;
    if (p == NULL) rc = mig_known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
    else if (placed) {
        start = placement->start;
        if (placement->size != p->size || !is_start(p, start)) rc = E_INVALID_ARGUMENT;
        else if (!fits(live, p, start)) rc = E_INSUFFICIENT_RESOURCES;
    } else if (!choose(live, p, &start)) rc = E_INSUFFICIENT_RESOURCES;
    if (rc == OK) {
        unsigned int gi = tree_id(start, p->size);
        occupy(live, p, start);
        *out = mig_made(&txn, KIND_GPU_INSTANCE, h.gpu, gi, 0, &live->instances[gi].serial);
    }
    return mig_change_end(&txn, &h, rc);
}
API nvmlReturn_t nvmlDeviceCreateGpuInstance(handle_t device, unsigned int id, handle_t *out) {
    return create_gpu_instance(__func__, device, id, NULL, false, out);
}
API nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(handle_t device, unsigned int id,
                                                          const nvmlGpuInstancePlacement_t *placement, handle_t *out) {
    return create_gpu_instance(__func__, device, id, placement, true, out);
}

API nvmlReturn_t nvmlGpuInstanceDestroy(handle_t handle) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_GPU_INSTANCE, &h, &gpu, NULL, NULL);
    if (rc != OK) return rc;
    fn_txn txn;
    fn_Gpu *live;
    rc = mig_change_begin(&txn, &h, &live);
    if (rc != OK) return rc;
    for (unsigned int i = 0; i < MAX_COMPUTE_INSTANCES; i++)
        if (live->instances[h.gi].compute[i].used) rc = E_IN_USE;
    if (rc == OK) memset(&live->instances[h.gi], 0, sizeof(live->instances[h.gi]));
    return mig_change_end(&txn, &h, rc);
}

API nvmlReturn_t nvmlDeviceGetGpuInstances(handle_t device, unsigned int id, handle_t *instances, unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (count == NULL || instances == NULL) return E_INVALID_ARGUMENT;
    if (!visible_monitor()) return E_NO_PERMISSION;
    const fn_Profile *p = mig_profile_by_id(&gpu, id); /* with MIG off there are none of a profile, which is no error */
    if (p == NULL) return mig_known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
    unsigned int found = 0; /* callers size the array by instanceCount, which `fits` never exceeds */
    for (unsigned int gi = 0; gi < MAX_GPU_INSTANCES && found < p->instances; gi++)
        if (gpu.instances[gi].used && gpu.instances[gi].profile == id)
            instances[found++] = handle_make(KIND_GPU_INSTANCE, h.gpu, gi, 0, gpu.instances[gi].serial);
    *count = found;
    return OK;
}

API nvmlReturn_t nvmlDeviceGetGpuInstanceById(handle_t device, unsigned int gi, handle_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (!visible_monitor()) return E_NO_PERMISSION;
    if (gi >= MAX_GPU_INSTANCES || !gpu.instances[gi].used) return E_NOT_FOUND;
    *out = handle_make(KIND_GPU_INSTANCE, h.gpu, gi, 0, gpu.instances[gi].serial);
    return OK;
}

API nvmlReturn_t nvmlGpuInstanceGetInfo(handle_t handle, nvmlGpuInstanceInfo_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_GPU_INSTANCE, &h, &gpu, &gi, NULL);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->device = handle_make(KIND_DEVICE, h.gpu, 0, 0, 0);
    out->id = h.gi;
    out->profileId = gi->profile;
    out->placement.start = gi->start;
    out->placement.size = gi->size;
    return OK;
}
