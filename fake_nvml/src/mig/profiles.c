/* The profiles of GPU instances: sizes and placements. The rows come from the board's file. */
#include <stdio.h>

#include "mig/mig.h"

#define PROFILE_COUNT_580 17 /* NVML_GPU_INSTANCE_PROFILE_COUNT of the 580 branch: the H200 returns INVALID_ARGUMENT from 17 on */

typedef struct {
    unsigned int version, id, sliceCount, instanceCount, multiprocessorCount, copyEngineCount, decoderCount, encoderCount,
        jpegCount, ofaCount;
    unsigned long long memorySizeMB;
    char name[96];
    unsigned int capabilities;
} gi_profile_v3;
_Static_assert(sizeof(gi_profile_v3) == 152, "nvmlGpuInstanceProfileInfo_v3_t");

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

/* Fields that all versions of the structure have, at different offsets. */
#define FILL(info, p)                                       \
    do {                                                    \
        (info)->id = (p)->id;                               \
        (info)->sliceCount = (p)->slices;                   \
        (info)->instanceCount = (p)->instances;             \
        (info)->multiprocessorCount = (p)->multiprocessors; \
        (info)->copyEngineCount = (p)->copy_engines;        \
        (info)->decoderCount = (p)->decoders;               \
        (info)->encoderCount = (p)->encoders;               \
        (info)->jpegCount = (p)->jpegs;                     \
        (info)->ofaCount = (p)->ofas;                       \
        (info)->memorySizeMB = (p)->memory_mib;             \
    } while (0)

static nvmlReturn_t fill_profile(const fn_Profile *p, void *out) {
    unsigned int version;
    memcpy(&version, out, sizeof(version));
    if (version == VERSION(nvmlGpuInstanceProfileInfo_v2_t, 2)) {
        nvmlGpuInstanceProfileInfo_v2_t *info = out;
        info->version = 0; /* the H200 hands the version back as 0 */
        FILL(info, p);
        info->isP2pSupported = p->p2p;
        snprintf(info->name, sizeof(info->name), "MIG %.*s", (int)sizeof(p->name), p->name);
        return OK;
    }
    if (version == VERSION(gi_profile_v3, 3)) {
        gi_profile_v3 *info = out;
        info->version = 0;
        FILL(info, p);
        snprintf(info->name, sizeof(info->name), "MIG %.*s", (int)sizeof(p->name), p->name);
        info->capabilities = p->capabilities;
        return OK;
    }
    return E_INVALID_ARGUMENT; /* not ARGUMENT_VERSION_MISMATCH: so says release 580 */
}

API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(handle_t device, unsigned int profile, nvmlGpuInstanceProfileInfo_t *info) {
    fn_Profile p;
    nvmlReturn_t rc = profile_by_enum(__func__, device, profile, &p);
    if (rc != OK) return rc;
    if (info == NULL) return E_INVALID_ARGUMENT;
    FILL(info, &p);
    info->isP2pSupported = p.p2p;
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
    const fn_Profile *p = mig_profile_by_id(&gpu, id);
    if (p == NULL) return mig_known_elsewhere(id) ? E_NOT_FOUND : E_INVALID_ARGUMENT;
    return fill_profile(p, info);
}

static nvmlReturn_t possible_placements(const char *function, handle_t device, unsigned int id,
                                        nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(function, device, &h, &gpu);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    const fn_Profile *p = mig_profile_by_id(&gpu, id);
    if (p == NULL) return mig_known_elsewhere(id) ? E_NOT_SUPPORTED : E_INVALID_ARGUMENT;
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
API nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(handle_t device, unsigned int id,
                                                               nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    return possible_placements(__func__, device, id, placements, count);
}
API nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(handle_t device, unsigned int id,
                                                            nvmlGpuInstancePlacement_t *placements, unsigned int *count) {
    return possible_placements(__func__, device, id, placements, count);
}
