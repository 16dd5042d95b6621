/* Workload power profiles of Blackwell, and the registers of a link's firmware.
 *
 * A profile's number is its bit in all masks, its place in the list of profiles and its id. Requests add up until they are
 * cleared. Among profiles that exclude each other the one with the lowest priority value is enforced; that value is the
 * profile's number here. The inventory lists the profiles of a board, and those that exclude each other. Sources: the
 * NVML reference for the calls; not verified on a Blackwell board. */
#include "calls/getters.h"

enum { IN_WORD = 32, IN_STATE = 64 }; /* bits: of a word of NVML's masks, of a field of the state */

static nvmlMask255_t mask_of(uint64_t bits) {
    nvmlMask255_t mask;
    memset(&mask, 0, sizeof(mask));
    mask.mask[0] = (unsigned int)bits;
    mask.mask[1] = (unsigned int)(bits >> IN_WORD);
    return mask;
}

static uint64_t bits_of(const nvmlMask255_t *mask) { return mask->mask[0] | (uint64_t)mask->mask[1] << IN_WORD; }

/* Whether a mask names a profile that the board does not have. */
static bool beyond(const nvmlMask255_t *mask, uint64_t supported) {
    unsigned int rest = 0;
    for (size_t word = IN_STATE / IN_WORD; word < sizeof(mask->mask) / sizeof(mask->mask[0]); word++) rest |= mask->mask[word];
    return rest != 0 || (bits_of(mask) & ~supported) != 0;
}

static uint64_t enforced(uint64_t requested, uint64_t exclusive) {
    uint64_t rivals = requested & exclusive;
    return (requested & ~exclusive) | (rivals & (~rivals + 1)); /* of the rivals only the lowest bit */
}

/* The beginning of all four: handle, structure and version are right, and the board has profiles. */
static nvmlReturn_t profiles_of(const char *function, handle_t device, const unsigned int *version, unsigned int wanted,
                                fn_handle *h, fn_Gpu *gpu) {
    nvmlReturn_t rc = fn_gpu(function, device, h);
    if (rc != OK) return rc;
    if (version == NULL) return E_INVALID_ARGUMENT;
    if (*version != wanted) return E_VERSION_MISMATCH;
    rc = read_gpu(h->gpu, gpu);
    return rc == OK ? gpu->scalars[F_power_profiles_supported].rc : rc;
}

API nvmlReturn_t nvmlDeviceWorkloadPowerProfileGetProfilesInfo(handle_t device, nvmlWorkloadPowerProfileProfilesInfo_v1_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = profiles_of(__func__, device, out == NULL ? NULL : &out->version,
                                  VERSION(nvmlWorkloadPowerProfileProfilesInfo_v1_t, 1), &h, &gpu);
    if (rc != OK) return rc;
    uint64_t supported = SCALAR(&gpu, power_profiles_supported), exclusive = SCALAR(&gpu, power_profiles_exclusive) & supported;
    out->perfProfilesMask = mask_of(supported);
    memset(out->perfProfile, 0, sizeof(out->perfProfile));
    for (unsigned int id = 0; id < IN_STATE; id++) {
        uint64_t own = (uint64_t)1 << id;
        if ((supported & own) == 0) continue;
        out->perfProfile[id].version = VERSION(nvmlWorkloadPowerProfileInfo_v1_t, 1);
        out->perfProfile[id].profileId = out->perfProfile[id].priority = id;
        out->perfProfile[id].conflictingmask = mask_of((exclusive & own) != 0 ? exclusive & ~own : 0);
    }
    return OK;
}

API nvmlReturn_t nvmlDeviceWorkloadPowerProfileGetCurrentProfiles(handle_t device,
                                                                  nvmlWorkloadPowerProfileCurrentProfiles_v1_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = profiles_of(__func__, device, out == NULL ? NULL : &out->version,
                                  VERSION(nvmlWorkloadPowerProfileCurrentProfiles_v1_t, 1), &h, &gpu);
    if (rc != OK) return rc;
    uint64_t requested = SCALAR(&gpu, power_profiles_requested) & SCALAR(&gpu, power_profiles_supported);
    out->perfProfilesMask = mask_of(SCALAR(&gpu, power_profiles_supported));
    out->requestedProfilesMask = mask_of(requested);
    out->enforcedProfilesMask = mask_of(enforced(requested, SCALAR(&gpu, power_profiles_exclusive)));
    return OK;
}

static nvmlReturn_t request(const char *function, handle_t device, const nvmlWorkloadPowerProfileRequestedProfiles_v1_t *wanted,
                            bool add) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = profiles_of(function, device, wanted == NULL ? NULL : &wanted->version,
                                  VERSION(nvmlWorkloadPowerProfileRequestedProfiles_v1_t, 1), &h, &gpu);
    if (rc != OK) return rc;
    if (beyond(&wanted->requestedProfilesMask, SCALAR(&gpu, power_profiles_supported))) return E_INVALID_ARGUMENT;
    uint64_t bits = bits_of(&wanted->requestedProfilesMask);
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    if (add) SCALAR(live, power_profiles_requested) |= bits;
    else SCALAR(live, power_profiles_requested) &= ~bits;
    txn_commit(&txn);
    return OK;
}
API nvmlReturn_t nvmlDeviceWorkloadPowerProfileSetRequestedProfiles(handle_t device,
                                                                    nvmlWorkloadPowerProfileRequestedProfiles_v1_t *wanted) {
    return request(__func__, device, wanted, true);
}
API nvmlReturn_t nvmlDeviceWorkloadPowerProfileClearRequestedProfiles(handle_t device,
                                                                      nvmlWorkloadPowerProfileRequestedProfiles_v1_t *wanted) {
    return request(__func__, device, wanted, false);
}

/* ---- link registers and their counters: for Blackwell and newer; not modelled, so no board here has the feature ---- */

API nvmlReturn_t nvmlDeviceReadWritePRM_v1(handle_t device, nvmlPRMTLV_v1_t *buffer) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    return buffer == NULL || buffer->dataSize > sizeof(buffer->data) ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED;
}

API nvmlReturn_t nvmlDeviceReadPRMCounters_v1(handle_t device, nvmlPRMCounterList_v1_t *list) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    return list == NULL || list->numCounters == 0 || list->counters == NULL ? E_INVALID_ARGUMENT : E_NOT_SUPPORTED;
}
