/* MIG: mode, GPU instances, compute instances and the devices they make.
 *
 * A GPU has eight memory slices. A GPU instance takes the slices [start, start+size) at one of its profile's starts, and its
 * id is its place in the binary tree over the slices: 0 for all eight, 1-2 for halves, 3-6 for pairs, 7-14 for single ones.
 * Handles carry the serial number of the instance, so one to a destroyed instance never reaches a later one. */
#include <stdio.h>

#include "mig.h"

#define PROFILE_COUNT_580 17 /* NVML_GPU_INSTANCE_PROFILE_COUNT of the 580 branch: the H200 answers INVALID_ARGUMENT from 17 on */

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount, encoderCount,
        jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
    unsigned int capabilities;
} gi_profile_v3;
_Static_assert(sizeof(gi_profile_v3) == 152, "nvmlGpuInstanceProfileInfo_v3_t");

/* Compute instance profiles: index is the enum, the value is the number of compute slices. Ids equal the enum on A100..GB200. */
static const unsigned char CI_SLICES[] = {1, 2, 3, 4, 7, 8, 6, 1};

unsigned int mig_slices_of(unsigned int ci_profile) { return ci_profile < CI_PROFILES ? CI_SLICES[ci_profile] : 0; }

nvmlReturn_t mig_resolve(const fn_Gpu *gpu, const fn_handle *h, const fn_GpuInstance **gi, const fn_ComputeInstance **ci) {
    if (h->gi >= MAX_GPU_INSTANCES || h->ci >= MAX_COMPUTE_INSTANCES) return E_INVALID_ARGUMENT;
    const fn_GpuInstance *instance = &gpu->instances[h->gi];
    uint32_t mask = (1u << 22) - 1;
    if (!instance->used) return E_NOT_FOUND;
    if (h->kind == KIND_GPU_INSTANCE) {
        if ((instance->serial & mask) != h->serial) return E_NOT_FOUND;
    } else if (!instance->compute[h->ci].used || (instance->compute[h->ci].serial & mask) != h->serial) return E_NOT_FOUND;
    if (gi != NULL) *gi = instance;
    if (ci != NULL) *ci = &instance->compute[h->ci];
    return OK;
}

static const fn_Profile *profile_by_id(const fn_Gpu *gpu, unsigned int id) {
    for (unsigned int i = 0; i < MAX_PROFILES; i++) {
        const fn_Profile *p = &gpu->profiles[i];
        if (p->present && p->id == id && p->size >= 1 && p->size <= SLICES && p->slices >= 1 && p->slices <= SLICES &&
            p->instances <= SLICES)
            return p;
    }
    return NULL;
}

const fn_Profile *mig_profile_of(const fn_Gpu *gpu, const fn_GpuInstance *gi) { return profile_by_id(gpu, gi->profile); }

void mig_uuid(const fn_Gpu *gpu, unsigned int gi, unsigned int ci, char *out) {
    const uint8_t *b = gpu->mig_uuids[(gi % MAX_GPU_INSTANCES) * MAX_COMPUTE_INSTANCES + ci % MAX_COMPUTE_INSTANCES];
    snprintf(out, 48, "MIG-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
             b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

/* "MIG 3g.40gb", or "MIG 1c.3g.40gb" for a compute instance that is smaller than its GPU instance. */
void mig_name(const fn_Gpu *gpu, const fn_GpuInstance *gi, const fn_ComputeInstance *ci, char *out, size_t size) {
    const fn_Profile *profile = mig_profile_of(gpu, gi);
    char text[sizeof(profile->name) + 1] = "";
    if (profile != NULL) memcpy(text, profile->name, sizeof(profile->name));
    unsigned int slices = ci == NULL ? 0 : mig_slices_of(ci->profile);
    if (slices == 0 || profile == NULL || slices == profile->slices) snprintf(out, size, "MIG %s", text);
    else snprintf(out, size, "MIG %uc.%s", slices, text);
}

/* ---- shared lookups ---- */

nvmlReturn_t mig_gpu(const char *function, handle_t device, fn_handle *h, fn_Gpu *gpu) {
    nvmlReturn_t rc = fn_device(function, device, h);
    if (rc != OK) return rc;
    if (h->kind != KIND_DEVICE) return E_INVALID_ARGUMENT;
    rc = read_gpu(h->gpu, gpu);
    return rc == OK ? gpu->scalars[F_mig_mode_current].rc : rc;
}

/* A GPU instance or compute instance handle: the device below it answers first. */
nvmlReturn_t mig_instance(const char *function, handle_t handle, enum handle_kind kind, fn_handle *h, fn_Gpu *gpu,
                                 const fn_GpuInstance **gi, const fn_ComputeInstance **ci) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (!handle_read(handle, h) || h->kind != kind) return E_INVALID_ARGUMENT;
    fn_handle device;
    rc = fn_device(function, handle_make(KIND_DEVICE, h->gpu, 0, 0, 0), &device);
    if (rc == OK) rc = read_gpu(h->gpu, gpu);
    if (rc == OK) rc = mig_resolve(gpu, h, gi, ci);
    return rc;
}

/* Ids of profiles that other boards have answer differently from ids that no board has (recorded on the H200). */
static bool known_elsewhere(unsigned int id) { return id == 6 || id == 10; }

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

/* The capability files follow under the lock, so that two makers of instances cannot undo each other's. */
void commit_instances(fn_txn *txn, unsigned int gpu) {
    txn_publish(txn);
    caps_follow(gpu);
    txn_abort(txn);
}

/* ---- mode ---- */

API nvmlReturn_t nvmlDeviceSetMigMode(handle_t device, unsigned int mode, nvmlReturn_t *activation) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (activation == NULL || mode > 1) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    *activation = OK;
    if (SCALAR(live, mig_mode_current) == mode) SCALAR(live, mig_mode_pending) = mode;
    else {
        bool busy = false;
        for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++) busy = busy || live->instances[i].used;
        for (unsigned int i = 0; i < MAX_PROCESSES; i++) busy = busy || live->processes[i].used;
        if (busy) {
            *activation = E_IN_USE;
            if (!SCALAR(live, mig_mode_immediate)) SCALAR(live, mig_mode_pending) = mode;
        } else {
            SCALAR(live, mig_mode_pending) = mode;
            if (SCALAR(live, mig_mode_immediate)) SCALAR(live, mig_mode_current) = mode;
            else *activation = E_RESET_REQUIRED;
        }
    }
    txn_commit(&txn);
    return OK;
}

API nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(handle_t device, unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK && rc != E_NOT_SUPPORTED) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    *count = rc == OK && SCALAR(&gpu, mig_mode_current) ? 7 : 0;
    return OK;
}

/* ---- GPU instance profiles ---- */

static nvmlReturn_t profile_by_enum(const char *function, handle_t device, unsigned int profile, fn_Profile *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(function, device, &h, &gpu);
    if (rc != OK) return rc;
    if (profile >= PROFILE_COUNT_580) return E_INVALID_ARGUMENT;
    if (!gpu.profiles[profile].present) return E_NOT_SUPPORTED;
    *out = gpu.profiles[profile];
    return OK;
}

static nvmlReturn_t fill_profile(const fn_Profile *p, void *out) {
    unsigned int version;
    memcpy(&version, out, sizeof(version));
    if (version == VERSION(nvmlGpuInstanceProfileInfo_v2_t, 2)) {
        nvmlGpuInstanceProfileInfo_v2_t *info = out;
        info->version = 0; /* the H200 hands the version back as 0 */
        info->id = p->id;
        info->isP2pSupported = p->p2p;
        info->sliceCount = p->slices;
        info->instanceCount = p->instances;
        info->multiprocessorCount = p->multiprocessors;
        info->copyEngineCount = p->copy_engines;
        info->decoderCount = p->decoders;
        info->encoderCount = p->encoders;
        info->jpegCount = p->jpegs;
        info->ofaCount = p->ofas;
        info->memorySizeMB = p->memory_mib;
        snprintf(info->name, sizeof(info->name), "MIG %.*s", (int)sizeof(p->name), p->name);
        return OK;
    }
    if (version == VERSION(gi_profile_v3, 3)) {
        gi_profile_v3 *info = out;
        info->version = 0;
        info->id = p->id;
        info->sliceCount = p->slices;
        info->instanceCount = p->instances;
        info->multiprocessorCount = p->multiprocessors;
        info->copyEngineCount = p->copy_engines;
        info->decoderCount = p->decoders;
        info->encoderCount = p->encoders;
        info->jpegCount = p->jpegs;
        info->ofaCount = p->ofas;
        info->memorySizeMB = p->memory_mib;
        snprintf(info->name, sizeof(info->name), "MIG %.*s", (int)sizeof(p->name), p->name);
        info->capabilities = p->capabilities;
        return OK;
    }
    return E_VERSION_MISMATCH;
}

API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(handle_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info) {
    fn_Profile p;
    nvmlReturn_t rc = profile_by_enum(__func__, device, profile, &p);
    if (rc != OK) return rc;
    if (info == NULL) return E_INVALID_ARGUMENT;
    info->id = p.id;
    info->isP2pSupported = p.p2p;
    info->sliceCount = p.slices;
    info->instanceCount = p.instances;
    info->multiprocessorCount = p.multiprocessors;
    info->copyEngineCount = p.copy_engines;
    info->decoderCount = p.decoders;
    info->encoderCount = p.encoders;
    info->jpegCount = p.jpegs;
    info->ofaCount = p.ofas;
    info->memorySizeMB = p.memory_mib;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(handle_t device, unsigned int profile, void *info) {
    fn_Profile p;
    nvmlReturn_t rc = profile_by_enum(__func__, device, profile, &p);
    if (rc != OK) return rc;
    return info == NULL ? E_INVALID_ARGUMENT : fill_profile(&p, info);
}
API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(handle_t device, unsigned int id, void *info) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (info == NULL) return E_INVALID_ARGUMENT;
    const fn_Profile *p = profile_by_id(&gpu, id);
    if (p == NULL) return known_elsewhere(id) ? E_NOT_FOUND : E_INVALID_ARGUMENT;
    return fill_profile(p, info);
}

API nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(handle_t device, unsigned int id,
                                                               nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    const fn_Profile *p = profile_by_id(&gpu, id);
    if (p == NULL) return known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
    unsigned int all = p->start_count <= MAX_STARTS ? p->start_count : MAX_STARTS;
    if (placements != NULL) {
        if (*count < all) return E_INSUFFICIENT_SIZE;
        for (unsigned int i = 0; i < all; i++) {
            placements[i].start = p->starts[i];
            placements[i].size = p->size;
        }
    }
    *count = all;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(handle_t device, unsigned int id,
                                                            nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    return nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, id, placements, count);
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
    const fn_Profile *found = profile_by_id(&gpu, id);
    if (found == NULL) return known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
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
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    const fn_Profile *p = profile_by_id(live, id);
    unsigned int start = 0;
    if (!SCALAR(live, mig_mode_current)) rc = E_NOT_SUPPORTED;
    else if (p == NULL) rc = known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
    else if (placed) {
        start = placement->start;
        if (placement->size != p->size || !is_start(p, start)) rc = E_INVALID_ARGUMENT;
        else if (!fits(live, p, start)) rc = E_INSUFFICIENT_RESOURCES;
    } else if (!choose(live, p, &start)) rc = E_INSUFFICIENT_RESOURCES;
    if (rc != OK) {
        txn_abort(&txn);
        return rc;
    }
    occupy(live, p, start);
    unsigned int gi = tree_id(start, p->size);
    live->instances[gi].serial = ++txn.state->next_serial;
    *out = handle_make(KIND_GPU_INSTANCE, h.gpu, gi, 0, live->instances[gi].serial);
    commit_instances(&txn, h.gpu);
    return OK;
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
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    rc = mig_resolve(live, &h, NULL, NULL);
    for (unsigned int i = 0; rc == OK && i < MAX_COMPUTE_INSTANCES; i++)
        if (live->instances[h.gi].compute[i].used) rc = E_IN_USE;
    if (rc != OK) {
        txn_abort(&txn);
        return rc;
    }
    memset(&live->instances[h.gi], 0, sizeof(live->instances[h.gi]));
    commit_instances(&txn, h.gpu);
    return OK;
}

API nvmlReturn_t nvmlDeviceGetGpuInstances(handle_t device, unsigned int id, handle_t *instances, unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (count == NULL || instances == NULL) return E_INVALID_ARGUMENT;
    if (!SCALAR(&gpu, mig_mode_current)) return E_NOT_SUPPORTED;
    const fn_Profile *p = profile_by_id(&gpu, id);
    if (p == NULL) return known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
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
