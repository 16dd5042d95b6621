/* MIG: mode, GPU instances, compute instances and the devices they make.
 *
 * A GPU has eight memory slices. A GPU instance takes the slices [start, start+size) at one of its profile's starts, and its
 * id is its place in the binary tree over the slices: 0 for all eight, 1-2 for halves, 3-6 for pairs, 7-14 for single ones.
 * Handles carry the serial number of the instance, so one to a destroyed instance never reaches a later one. */
#include <stdio.h>

#include "core.h"

#define SLICES 8
#define PROFILE_COUNT_580 17 /* NVML_GPU_INSTANCE_PROFILE_COUNT of the 580 branch: the H200 answers INVALID_ARGUMENT from 17 on */

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount, encoderCount,
        jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
    unsigned int capabilities;
} gi_profile_v3;
_Static_assert(sizeof(gi_profile_v3) == 152, "nvmlGpuInstanceProfileInfo_v3_t");

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
        sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[96];
    unsigned int capabilities;
} ci_profile_v3;
_Static_assert(sizeof(ci_profile_v3) == 140, "nvmlComputeInstanceProfileInfo_v3_t");

/* Compute instance profiles: index is the enum, the value is the number of compute slices. Ids equal the enum on A100..GB200. */
static const unsigned char CI_SLICES[] = {1, 2, 3, 4, 7, 8, 6, 1};
#define CI_PROFILES 8

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

/* Numbers from the file are checked before they are used as shifts or indices: a damaged state must not crash a client. */
static unsigned int span_of(unsigned int start, unsigned int size) {
    return start < SLICES && size <= SLICES ? (((1u << size) - 1) << start) : (1u << SLICES) - 1;
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

static nvmlReturn_t mig_gpu(const char *function, handle_t device, fn_handle *h, fn_Gpu *gpu) {
    nvmlReturn_t rc = fn_device(function, device, h);
    if (rc != OK) return rc;
    if (h->kind != KIND_DEVICE) return E_INVALID_ARGUMENT;
    rc = read_gpu(h->gpu, gpu);
    return rc == OK ? gpu->scalars[F_mig_mode_current].rc : rc;
}

/* A GPU instance or compute instance handle: the device below it answers first. */
static nvmlReturn_t mig_instance(const char *function, handle_t handle, enum handle_kind kind, fn_handle *h, fn_Gpu *gpu,
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
static void commit_instances(fn_txn *txn, unsigned int gpu) {
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

/* ---- compute instances ---- */

/* Compute slices of a GPU instance, and how many of its profile fit when it is empty (0: not on this GPU instance). */
static unsigned int ci_capacity(const fn_Profile *gi_profile, unsigned int ci_profile) {
    unsigned int slices = mig_slices_of(ci_profile);
    if (slices == 0) return 0;
    if (ci_profile == 7) return gi_profile->slices == 1 && gi_profile->ofas != 0 ? 1 : 0; /* 1c of a 1g+me instance */
    if (slices > gi_profile->slices) return 0;
    if (slices == gi_profile->slices) return 1;
    if (gi_profile->slices == 4 && slices == 3) return 0;
    return gi_profile->slices / slices;
}
static unsigned int ci_multiprocessors(const fn_Gpu *gpu, const fn_Profile *gi_profile, unsigned int slices) {
    if (slices == gi_profile->slices) return gi_profile->multiprocessors;
    return slices * gpu->profiles[0].multiprocessors; /* so many single slices */
}
static unsigned int ci_span(const fn_Profile *gi_profile, unsigned int slices) {
    return slices == gi_profile->slices ? gi_profile->size : slices; /* seen: a full 3g at 0:4, a full 2g at 0:2 */
}
static unsigned int ci_taken(const fn_GpuInstance *gi) {
    unsigned int taken = 0;
    for (unsigned int i = 0; i < MAX_COMPUTE_INSTANCES; i++)
        if (gi->compute[i].used) taken |= span_of(gi->compute[i].start, gi->compute[i].size);
    return taken;
}
static bool ci_fits(const fn_GpuInstance *gi, const fn_Profile *p, unsigned int ci_profile, unsigned int start) {
    unsigned int slices = mig_slices_of(ci_profile), span = ci_span(p, slices);
    if (ci_capacity(p, ci_profile) == 0 || start % slices != 0) return false;
    if (slices < p->slices && start + slices > p->slices) return false;
    if (slices == p->slices && start != 0) return false;
    return (ci_taken(gi) & span_of(start, span)) == 0;
}
static bool ci_choose(const fn_GpuInstance *gi, const fn_Profile *p, unsigned int ci_profile, unsigned int *start) {
    for (unsigned int at = 0; at < p->slices; at++)
        if (ci_fits(gi, p, ci_profile, at)) {
            *start = at;
            return true;
        }
    return false;
}

static nvmlReturn_t ci_profile_info(const char *function, handle_t handle, unsigned int profile, unsigned int engine,
                                    ci_profile_v3 *out, unsigned int *p2p) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    nvmlReturn_t rc = mig_instance(function, handle, KIND_GPU_INSTANCE, &h, &gpu, &gi, NULL);
    if (rc != OK) return rc;
    if (profile > CI_PROFILES || engine > 0) return E_INVALID_ARGUMENT;
    const fn_Profile *p = mig_profile_of(&gpu, gi);
    if (p == NULL || ci_capacity(p, profile) == 0) return E_NOT_SUPPORTED;
    unsigned int slices = mig_slices_of(profile);
    memset(out, 0, sizeof(*out));
    *p2p = p->p2p;
    out->id = profile;
    out->sliceCount = slices;
    out->instanceCount = ci_capacity(p, profile);
    out->multiprocessorCount = ci_multiprocessors(&gpu, p, slices);
    out->sharedCopyEngineCount = p->copy_engines;
    out->sharedDecoderCount = p->decoders;
    out->sharedEncoderCount = p->encoders;
    out->sharedJpegCount = p->jpegs;
    out->sharedOfaCount = p->ofas;
    out->capabilities = p->capabilities;
    fn_ComputeInstance whole = {.profile = profile};
    mig_name(&gpu, gi, &whole, out->name, sizeof(out->name));
    return OK;
}

API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(handle_t handle, unsigned int profile, unsigned int engine,
                                                              nvmlComputeInstanceProfileInfo_t *out) {
    ci_profile_v3 info;
    unsigned int p2p;
    nvmlReturn_t rc = ci_profile_info(__func__, handle, profile, engine, &info, &p2p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->id = info.id;
    out->sliceCount = info.sliceCount;
    out->instanceCount = info.instanceCount;
    out->multiprocessorCount = info.multiprocessorCount;
    out->sharedCopyEngineCount = info.sharedCopyEngineCount;
    out->sharedDecoderCount = info.sharedDecoderCount;
    out->sharedEncoderCount = info.sharedEncoderCount;
    out->sharedJpegCount = info.sharedJpegCount;
    out->sharedOfaCount = info.sharedOfaCount;
    return OK;
}
API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(handle_t handle, unsigned int profile, unsigned int engine,
                                                               void *out) {
    ci_profile_v3 info;
    unsigned int p2p, version;
    nvmlReturn_t rc = ci_profile_info(__func__, handle, profile, engine, &info, &p2p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memcpy(&version, out, sizeof(version));
    info.version = version;
    if (version == VERSION(nvmlComputeInstanceProfileInfo_v2_t, 2)) {
        /* The second version is the third without the capabilities. */
        _Static_assert(sizeof(nvmlComputeInstanceProfileInfo_v2_t) == offsetof(ci_profile_v3, capabilities), "prefix");
        memcpy(out, &info, sizeof(nvmlComputeInstanceProfileInfo_v2_t));
    } else if (version == VERSION(ci_profile_v3, 3)) memcpy(out, &info, sizeof(info));
    else return E_VERSION_MISMATCH;
    return OK;
}

API nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(handle_t handle, unsigned int profile,
                                                                     nvmlComputeInstancePlacement_t *placements,
                                                                     unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_GPU_INSTANCE, &h, &gpu, &gi, NULL);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    const fn_Profile *p = mig_profile_of(&gpu, gi);
    if (p == NULL || ci_capacity(p, profile) == 0) return E_NOT_SUPPORTED;
    unsigned int all = ci_capacity(p, profile), slices = mig_slices_of(profile);
    if (placements != NULL) {
        if (*count < all) return E_INSUFFICIENT_SIZE;
        for (unsigned int i = 0; i < all; i++) {
            placements[i].start = i * slices;
            placements[i].size = ci_span(p, slices);
        }
    }
    *count = all;
    return OK;
}

API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(handle_t handle, unsigned int profile,
                                                                    unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_GPU_INSTANCE, &h, &gpu, &gi, NULL);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    const fn_Profile *p = mig_profile_of(&gpu, gi);
    if (p == NULL || ci_capacity(p, profile) == 0) return E_NOT_SUPPORTED;
    unsigned int left = 0;
    for (unsigned int at = 0; at < p->slices; at++) left += ci_fits(gi, p, profile, at);
    *count = left;
    return OK;
}

static nvmlReturn_t create_compute_instance(const char *function, handle_t handle, unsigned int profile,
                                            const nvmlComputeInstancePlacement_t *placement, bool placed, handle_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_instance(function, handle, KIND_GPU_INSTANCE, &h, &gpu, NULL, NULL);
    if (rc != OK) return rc;
    if (out == NULL || (placed && placement == NULL)) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    fn_GpuInstance *gi = &live->instances[h.gi];
    rc = mig_resolve(live, &h, NULL, NULL);
    const fn_Profile *p = rc == OK ? mig_profile_of(live, gi) : NULL;
    unsigned int start = 0, ci = 0;
    if (rc == OK && (p == NULL || ci_capacity(p, profile) == 0)) rc = profile > CI_PROFILES ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED;
    if (rc == OK && placed) {
        start = placement->start;
        unsigned int slices = mig_slices_of(profile);
        if (placement->size != ci_span(p, slices) || start >= p->slices || start % slices != 0) rc = E_INVALID_ARGUMENT;
        else if (!ci_fits(gi, p, profile, start)) rc = E_INSUFFICIENT_RESOURCES;
    } else if (rc == OK && !ci_choose(gi, p, profile, &start)) rc = E_INSUFFICIENT_RESOURCES;
    while (rc == OK && ci < MAX_COMPUTE_INSTANCES && gi->compute[ci].used) ci++;
    if (rc == OK && ci == MAX_COMPUTE_INSTANCES) rc = E_INSUFFICIENT_RESOURCES;
    if (rc != OK) {
        txn_abort(&txn);
        return rc;
    }
    unsigned int indices = 0; /* the lowest free MIG device index of this GPU */
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++)
        for (unsigned int j = 0; j < MAX_COMPUTE_INSTANCES; j++)
            if (live->instances[i].used && live->instances[i].compute[j].used)
                indices |= 1u << (live->instances[i].compute[j].mig_index & 31);
    unsigned int index = 0;
    while (index < 31 && (indices >> index & 1) != 0) index++;
    fn_ComputeInstance *slot = &gi->compute[ci];
    slot->used = 1;
    slot->serial = ++txn.state->next_serial;
    slot->profile = profile;
    slot->start = start;
    slot->size = ci_span(p, mig_slices_of(profile));
    slot->mig_index = index;
    *out = handle_make(KIND_COMPUTE_INSTANCE, h.gpu, h.gi, ci, slot->serial);
    commit_instances(&txn, h.gpu);
    return OK;
}
API nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(handle_t gi, unsigned int profile, handle_t *out) {
    return create_compute_instance(__func__, gi, profile, NULL, false, out);
}
API nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(handle_t gi, unsigned int profile,
                                                                   const nvmlComputeInstancePlacement_t *placement,
                                                                   handle_t *out) {
    return create_compute_instance(__func__, gi, profile, placement, true, out);
}

API nvmlReturn_t nvmlComputeInstanceDestroy(handle_t handle) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_COMPUTE_INSTANCE, &h, &gpu, NULL, NULL);
    if (rc != OK) return rc;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    rc = mig_resolve(live, &h, NULL, NULL);
    for (unsigned int i = 0; rc == OK && i < MAX_PROCESSES; i++)
        if (live->processes[i].used && live->processes[i].gi == h.gi && live->processes[i].ci == h.ci) rc = E_IN_USE;
    if (rc != OK) {
        txn_abort(&txn);
        return rc;
    }
    memset(&live->instances[h.gi].compute[h.ci], 0, sizeof(fn_ComputeInstance));
    commit_instances(&txn, h.gpu);
    return OK;
}

API nvmlReturn_t nvmlGpuInstanceGetComputeInstances(handle_t handle, unsigned int profile, handle_t *instances,
                                                    unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_GPU_INSTANCE, &h, &gpu, &gi, NULL);
    if (rc != OK) return rc;
    if (count == NULL || instances == NULL) return E_INVALID_ARGUMENT;
    const fn_Profile *p = mig_profile_of(&gpu, gi);
    if (p == NULL || ci_capacity(p, profile) == 0) return E_NOT_SUPPORTED;
    unsigned int found = 0, most = ci_capacity(p, profile);
    for (unsigned int ci = 0; ci < MAX_COMPUTE_INSTANCES && found < most; ci++)
        if (gi->compute[ci].used && gi->compute[ci].profile == profile)
            instances[found++] = handle_make(KIND_COMPUTE_INSTANCE, h.gpu, h.gi, ci, gi->compute[ci].serial);
    *count = found;
    return OK;
}

API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(handle_t handle, unsigned int ci, handle_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_GPU_INSTANCE, &h, &gpu, &gi, NULL);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (ci >= MAX_COMPUTE_INSTANCES || !gi->compute[ci].used) return E_NOT_FOUND;
    *out = handle_make(KIND_COMPUTE_INSTANCE, h.gpu, h.gi, ci, gi->compute[ci].serial);
    return OK;
}

API nvmlReturn_t nvmlComputeInstanceGetInfo_v2(handle_t handle, nvmlComputeInstanceInfo_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    const fn_ComputeInstance *ci;
    nvmlReturn_t rc = mig_instance(__func__, handle, KIND_COMPUTE_INSTANCE, &h, &gpu, &gi, &ci);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->device = handle_make(KIND_MIG, h.gpu, h.gi, h.ci, ci->serial); /* the MIG device itself */
    out->gpuInstance = handle_make(KIND_GPU_INSTANCE, h.gpu, h.gi, 0, gi->serial);
    out->id = h.ci;
    out->profileId = ci->profile;
    out->placement.start = ci->start;
    out->placement.size = ci->size;
    return OK;
}
/* The first version ends before the placement. */
API nvmlReturn_t nvmlComputeInstanceGetInfo(handle_t handle, void *out) {
    nvmlComputeInstanceInfo_t info;
    nvmlReturn_t rc = nvmlComputeInstanceGetInfo_v2(handle, &info);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memcpy(out, &info, offsetof(nvmlComputeInstanceInfo_t, placement));
    return OK;
}

/* ---- MIG devices ---- */

API nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(handle_t device, unsigned int index, handle_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    for (unsigned int gi = 0; gi < MAX_GPU_INSTANCES; gi++)
        for (unsigned int ci = 0; gpu.instances[gi].used && ci < MAX_COMPUTE_INSTANCES; ci++) {
            const fn_ComputeInstance *c = &gpu.instances[gi].compute[ci];
            if (c->used && c->mig_index == index) {
                *out = handle_make(KIND_MIG, h.gpu, gi, ci, c->serial);
                return OK;
            }
        }
    return E_NOT_FOUND;
}

API nvmlReturn_t nvmlDeviceIsMigDeviceHandle(handle_t device, unsigned int *is_mig) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (is_mig == NULL) return E_INVALID_ARGUMENT;
    *is_mig = h.kind == KIND_MIG;
    return OK;
}

static nvmlReturn_t mig_only(const char *function, handle_t device, fn_handle *h) {
    nvmlReturn_t rc = fn_device(function, device, h);
    return rc == OK && h->kind != KIND_MIG ? E_INVALID_ARGUMENT : rc;
}
API nvmlReturn_t nvmlDeviceGetGpuInstanceId(handle_t device, unsigned int *id) {
    fn_handle h;
    nvmlReturn_t rc = mig_only(__func__, device, &h);
    if (rc != OK) return rc;
    if (id == NULL) return E_INVALID_ARGUMENT;
    *id = h.gi;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetComputeInstanceId(handle_t device, unsigned int *id) {
    fn_handle h;
    nvmlReturn_t rc = mig_only(__func__, device, &h);
    if (rc != OK) return rc;
    if (id == NULL) return E_INVALID_ARGUMENT;
    *id = h.ci;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle_t device, handle_t *parent) {
    fn_handle h;
    nvmlReturn_t rc = mig_only(__func__, device, &h);
    if (rc != OK) return rc;
    if (parent == NULL) return E_INVALID_ARGUMENT;
    *parent = handle_make(KIND_DEVICE, h.gpu, 0, 0, 0);
    return OK;
}
API nvmlReturn_t nvmlDeviceGetAttributes_v2(handle_t device, nvmlDeviceAttributes_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    const fn_ComputeInstance *ci;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (h.kind != KIND_MIG) return E_NOT_SUPPORTED;
    if (out == NULL) return E_INVALID_ARGUMENT;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = mig_resolve(&gpu, &h, &gi, &ci);
    if (rc != OK) return rc;
    const fn_Profile *p = mig_profile_of(&gpu, gi);
    if (p == NULL) return E_UNKNOWN;
    out->multiprocessorCount = ci_multiprocessors(&gpu, p, mig_slices_of(ci->profile));
    out->sharedCopyEngineCount = p->copy_engines;
    out->sharedDecoderCount = p->decoders;
    out->sharedEncoderCount = p->encoders;
    out->sharedJpegCount = p->jpegs;
    out->sharedOfaCount = p->ofas;
    out->gpuInstanceSliceCount = p->slices;
    out->computeInstanceSliceCount = mig_slices_of(ci->profile);
    out->memorySizeMB = p->memory_mib;
    return OK;
}
/* The first version carries the same fields; its memory size is in the same place. */
API nvmlReturn_t nvmlDeviceGetAttributes(handle_t device, nvmlDeviceAttributes_t *out) {
    return nvmlDeviceGetAttributes_v2(device, out);
}
