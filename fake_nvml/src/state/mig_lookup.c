/* MIG rows of the state, read without any call to NVML. Handles carry the serial number of the instance, so one to a
 * destroyed instance never reaches a later one. */
#include <stdio.h>

#include "state/mig_lookup.h"
#include "state/visible.h"

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

const fn_Profile *mig_profile_by_id(const fn_Gpu *gpu, unsigned int id) {
    for (unsigned int i = 0; i < MAX_PROFILES; i++) {
        const fn_Profile *p = &gpu->profiles[i];
        if (p->present && p->id == id && p->size >= 1 && p->size <= SLICES && p->slices >= 1 && p->slices <= SLICES &&
            p->instances <= SLICES)
            return p;
    }
    return NULL;
}

const fn_Profile *mig_profile_of(const fn_Gpu *gpu, const fn_GpuInstance *gi) { return mig_profile_by_id(gpu, gi->profile); }

unsigned int mig_index_of(const fn_Gpu *gpu, unsigned int index) {
    if (visible_monitor()) return index;
    unsigned int before = 0;
    for (unsigned int gi = 0; gi < MAX_GPU_INSTANCES; gi++)
        for (unsigned int ci = 0; gpu->instances[gi].used && ci < MAX_COMPUTE_INSTANCES; ci++) {
            const fn_ComputeInstance *c = &gpu->instances[gi].compute[ci];
            before += c->used && c->mig_index < index && visible_mig(gpu, gi, ci);
        }
    return before;
}

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
