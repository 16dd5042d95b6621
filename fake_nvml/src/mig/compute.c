/* Compute instances, and the MIG devices that they make; see mig.c. */
#include <stdio.h>

#include "mig/mig.h"
#include "state/visible.h"

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount,
        sharedEncoderCount, sharedJpegCount, sharedOfaCount;
    char name[96];
    unsigned int capabilities;
} ci_profile_v3;
_Static_assert(sizeof(ci_profile_v3) == 140, "nvmlComputeInstanceProfileInfo_v3_t");

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
    /* The first version is the part of the third between version and name. */
    _Static_assert(sizeof(*out) == offsetof(ci_profile_v3, name) - offsetof(ci_profile_v3, id), "middle");
    memcpy(out, &info.id, sizeof(*out));
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

/* The lowest that no MIG device of this GPU has. */
static unsigned int free_mig_index(const fn_Gpu *gpu) {
    unsigned int taken = 0, index = 0;
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++)
        for (unsigned int j = 0; j < MAX_COMPUTE_INSTANCES; j++)
            if (gpu->instances[i].used && gpu->instances[i].compute[j].used)
                taken |= 1u << (gpu->instances[i].compute[j].mig_index & 31);
    while (index < 31 && (taken >> index & 1) != 0) index++;
    return index;
}

static nvmlReturn_t create_compute_instance(const char *function, handle_t handle, unsigned int profile,
                                            const nvmlComputeInstancePlacement_t *placement, bool placed, handle_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_instance(function, handle, KIND_GPU_INSTANCE, &h, &gpu, NULL, NULL);
    if (rc != OK) return rc;
    if (out == NULL || (placed && placement == NULL)) return E_INVALID_ARGUMENT;
    fn_txn txn;
    fn_Gpu *live;
    rc = mig_change_begin(&txn, &h, &live);
    if (rc != OK) return rc;
    fn_GpuInstance *gi = &live->instances[h.gi];
    const fn_Profile *p = mig_profile_of(live, gi);
    unsigned int start = 0, slices = mig_slices_of(profile), ci = 0;
    if (p == NULL || ci_capacity(p, profile) == 0) rc = profile > CI_PROFILES ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED;
    else if (placed) {
        start = placement->start;
        if (placement->size != ci_span(p, slices) || start >= p->slices || start % slices != 0) rc = E_INVALID_ARGUMENT;
        else if (!ci_fits(gi, p, profile, start)) rc = E_INSUFFICIENT_RESOURCES;
    } else if (!ci_choose(gi, p, profile, &start)) rc = E_INSUFFICIENT_RESOURCES;
    while (ci < MAX_COMPUTE_INSTANCES && gi->compute[ci].used) ci++;
    if (rc == OK && ci == MAX_COMPUTE_INSTANCES) rc = E_INSUFFICIENT_RESOURCES;
    if (rc == OK) {
        fn_ComputeInstance *slot = &gi->compute[ci];
        slot->mig_index = free_mig_index(live); /* before the slot counts as used */
        slot->used = 1;
        slot->profile = profile;
        slot->start = start;
        slot->size = ci_span(p, slices);
        *out = mig_made(&txn, KIND_COMPUTE_INSTANCE, h.gpu, h.gi, ci, &slot->serial);
    }
    return mig_change_end(&txn, &h, rc);
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
    fn_Gpu *live;
    rc = mig_change_begin(&txn, &h, &live);
    if (rc != OK) return rc;
    for (unsigned int i = 0; i < MAX_PROCESSES; i++)
        if (live->processes[i].used && live->processes[i].gi == h.gi && live->processes[i].ci == h.ci) rc = E_IN_USE;
    if (rc == OK) memset(&live->instances[h.gi].compute[h.ci], 0, sizeof(fn_ComputeInstance));
    return mig_change_end(&txn, &h, rc);
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

static nvmlReturn_t compute_info(const char *function, handle_t handle, nvmlComputeInstanceInfo_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    const fn_ComputeInstance *ci;
    nvmlReturn_t rc = mig_instance(function, handle, KIND_COMPUTE_INSTANCE, &h, &gpu, &gi, &ci);
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
API nvmlReturn_t nvmlComputeInstanceGetInfo_v2(handle_t handle, nvmlComputeInstanceInfo_t *out) {
    return compute_info(__func__, handle, out);
}
/* The first version ends before the placement. */
API nvmlReturn_t nvmlComputeInstanceGetInfo(handle_t handle, void *out) {
    nvmlComputeInstanceInfo_t info;
    nvmlReturn_t rc = compute_info(__func__, handle, &info);
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
            if (c->used && visible_mig(&gpu, gi, ci) && mig_index_of(&gpu, c->mig_index) == index) {
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
static nvmlReturn_t device_attributes(const char *function, handle_t device, nvmlDeviceAttributes_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    const fn_GpuInstance *gi;
    const fn_ComputeInstance *ci;
    nvmlReturn_t rc = fn_device(function, device, &h);
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
API nvmlReturn_t nvmlDeviceGetAttributes_v2(handle_t device, nvmlDeviceAttributes_t *out) {
    return device_attributes(__func__, device, out);
}
/* The first version carries the same fields; its memory size is in the same place. */
API nvmlReturn_t nvmlDeviceGetAttributes(handle_t device, nvmlDeviceAttributes_t *out) {
    return device_attributes(__func__, device, out);
}
