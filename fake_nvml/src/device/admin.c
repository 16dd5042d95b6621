/* Administration of a GPU beside its modes: drain, remove, discover, lock clocks; and the identity of rack, module and
 * vGPU host. */
#include "calls/getters.h"
#include "events/event_sets.h"

/* ---- drain, remove, discover: by PCI address ---- */

static nvmlReturn_t by_address(const char *function, const nvmlPciInfo_t *pci, const fn_State *state, unsigned int *found) {
    (void)function;
    for (unsigned int i = 0; i < state->gpu_count && i < MAX_GPUS; i++) {
        const fn_Gpu *gpu = &state->gpus[i];
        if (gpu->domain == pci->domain && gpu->bus == pci->bus && gpu->device == pci->device) {
            *found = i;
            return OK;
        }
    }
    return E_NOT_FOUND;
}

static bool in_use(const fn_Gpu *gpu) {
    for (unsigned int i = 0; i < MAX_PROCESSES; i++)
        if (gpu->processes[i].used) return true;
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++)
        if (gpu->instances[i].used) return true;
    return false;
}

enum admin_act { ACT_DRAIN, ACT_REMOVE, ACT_DISCOVER };

static nvmlReturn_t act(const char *function, const nvmlPciInfo_t *pci, enum admin_act what, unsigned int value) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (pci == NULL || value > 1) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    unsigned int index = 0;
    rc = by_address(function, pci, txn.state, &index);
    fn_Gpu *gpu = &txn.state->gpus[index];
    uint64_t bit = 1ull << index;
    if (rc == OK && what != ACT_DISCOVER && !gpu->present) rc = E_NOT_FOUND;
    if (rc == OK && what == ACT_REMOVE && in_use(gpu)) rc = E_IN_USE;
    if (rc == OK && what == ACT_DRAIN) rc = gpu->scalars[F_drain_state].rc;
    if (rc != OK) {
        txn_abort(&txn);
        return rc;
    }
    if (what == ACT_DRAIN) SCALAR(gpu, drain_state) = value;
    else {
        gpu->present = what == ACT_DISCOVER;
        txn.state->removed = what == ACT_REMOVE ? txn.state->removed | bit : txn.state->removed & ~bit;
        if (what == ACT_DISCOVER) SCALAR(gpu, drain_state) = 0;
        txn_event(&txn, index, SYSTEM_EVENT | (what == ACT_REMOVE ? SYSTEM_EVENT_UNBIND : SYSTEM_EVENT_BIND), 0, NO_INSTANCE,
                  NO_INSTANCE);
    }
    txn_commit(&txn);
    return OK;
}
API nvmlReturn_t nvmlDeviceModifyDrainState(const nvmlPciInfo_t *pci, unsigned int state) {
    return act(__func__, pci, ACT_DRAIN, state);
}
API nvmlReturn_t nvmlDeviceRemoveGpu_v2(const nvmlPciInfo_t *pci, unsigned int gpu_state, unsigned int link_state) {
    if (gpu_state > 1 || link_state > 1) return fn_initialized() ? E_INVALID_ARGUMENT : E_UNINITIALIZED;
    return act(__func__, pci, ACT_REMOVE, 0);
}
/* The first version has the older structure and no further arguments; both begin alike up to the address. */
API nvmlReturn_t nvmlDeviceRemoveGpu(const nvmlPciInfo_t *pci) { return act(__func__, pci, ACT_REMOVE, 0); }
API nvmlReturn_t nvmlDeviceDiscoverGpus(const nvmlPciInfo_t *pci) { return act(__func__, pci, ACT_DISCOVER, 0); }
API nvmlReturn_t nvmlDeviceQueryDrainState(const nvmlPciInfo_t *pci, unsigned int *state) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (pci == NULL || state == NULL) return E_INVALID_ARGUMENT;
    unsigned int count = 0;
    rc = node_value(offsetof(fn_State, gpu_count), &count, sizeof(count));
    for (unsigned int i = 0; rc == OK && i < count && i < MAX_GPUS; i++) {
        fn_Gpu gpu;
        rc = read_gpu(i, &gpu);
        if (rc != OK || !gpu.present || gpu.domain != pci->domain || gpu.bus != pci->bus || gpu.device != pci->device) continue;
        if (gpu.scalars[F_drain_state].rc != OK) return gpu.scalars[F_drain_state].rc;
        *state = (unsigned int)SCALAR(&gpu, drain_state);
        return OK;
    }
    return rc == OK ? E_NOT_FOUND : rc;
}

/* ---- locked clocks: two values in one transaction, within the range of the GPU ---- */

static nvmlReturn_t lock_clocks(const char *function, handle_t device, unsigned int low, unsigned int high, bool memory) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc == OK) rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    unsigned int most = memory ? F_clock_max_memory : F_clock_max_graphics;
    unsigned int from = memory ? F_clock_locked_memory_min : F_clock_locked_graphics_min;
    unsigned int to = memory ? F_clock_locked_memory_max : F_clock_locked_graphics_max;
    if (gpu.scalars[from].rc != OK || gpu.scalars[most].rc != OK) return E_NOT_SUPPORTED;
    if (low > high || low > gpu.scalars[most].value) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    txn.state->gpus[h.gpu].scalars[from].value = low;
    txn.state->gpus[h.gpu].scalars[to].value = high;
    txn_commit(&txn);
    return OK;
}
API nvmlReturn_t nvmlDeviceSetGpuLockedClocks(handle_t device, unsigned int low, unsigned int high) {
    return lock_clocks(__func__, device, low, high, false);
}
API nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(handle_t device, unsigned int low, unsigned int high) {
    return lock_clocks(__func__, device, low, high, true);
}
API nvmlReturn_t nvmlDeviceResetGpuLockedClocks(handle_t device) { return lock_clocks(__func__, device, 0, 0, false); }
API nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(handle_t device) { return lock_clocks(__func__, device, 0, 0, true); }

/* ---- power limit and application clocks ---- */

API nvmlReturn_t nvmlDeviceSetPowerManagementLimit_v2(handle_t device, const nvmlPowerValue_v2_t *value) {
    if (!fn_initialized()) return E_UNINITIALIZED;
    if (value == NULL) return E_INVALID_ARGUMENT;
    if (value->version != VERSION(nvmlPowerValue_v2_t, 2)) return E_VERSION_MISMATCH;
    if (value->powerScope > 2) return E_INVALID_ARGUMENT;
    if (value->powerScope != 0) return E_NOT_SUPPORTED; /* module and memory limits are not modelled */
    return set_power_limit(__func__, device, value->powerValueMw);
}

static nvmlReturn_t application_clocks(const char *function, handle_t device, bool standard, unsigned int memory,
                                       unsigned int graphics) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc == OK) rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_clock_app_graphics].rc;
    if (rc == OK) rc = gpu.scalars[F_clock_app_memory].rc;
    if (rc != OK) return rc;
    if (standard) {
        memory = (unsigned int)SCALAR(&gpu, clock_app_default_memory);
        graphics = (unsigned int)SCALAR(&gpu, clock_app_default_graphics);
    } else if ((memory != SCALAR(&gpu, memory_clock_supported_0) && memory != SCALAR(&gpu, memory_clock_supported_1)) ||
               graphics < SCALAR(&gpu, clock_min_graphics) || graphics > SCALAR(&gpu, clock_max_graphics))
        return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    SCALAR(live, clock_app_memory) = memory;
    SCALAR(live, clock_app_graphics) = graphics;
    if (live->scalars[F_clock_app_sm].rc == OK) SCALAR(live, clock_app_sm) = graphics;
    txn_commit(&txn);
    return OK;
}
API nvmlReturn_t nvmlDeviceSetApplicationsClocks(handle_t device, unsigned int memory, unsigned int graphics) {
    return application_clocks(__func__, device, false, memory, graphics);
}
API nvmlReturn_t nvmlDeviceResetApplicationsClocks(handle_t device) { return application_clocks(__func__, device, true, 0, 0); }

/* ---- platform: where in a rack the GPU sits ---- */

API nvmlReturn_t nvmlDeviceGetPlatformInfo(handle_t device, void *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    unsigned int version;
    memcpy(&version, out, sizeof(version));
    /* Both versions have one layout; the second names its fields anew. */
    _Static_assert(sizeof(nvmlPlatformInfo_v1_t) == sizeof(nvmlPlatformInfo_v2_t), "one layout");
    if (version != VERSION(nvmlPlatformInfo_v1_t, 1) && version != VERSION(nvmlPlatformInfo_v2_t, 2)) return E_VERSION_MISMATCH;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_platform_slot].rc;
    if (rc != OK) return rc;
    nvmlPlatformInfo_v2_t info;
    memset(&info, 0, sizeof(info));
    info.version = version;
    gpu.strings[S_platform_chassis_serial].text[STRING_SIZE - 1] = 0;
    if (gpu.strings[S_platform_chassis_serial].rc == OK)
        memcpy(info.chassisSerialNumber, gpu.strings[S_platform_chassis_serial].text, sizeof(info.chassisSerialNumber) - 1);
    info.slotNumber = (char)SCALAR(&gpu, platform_slot);
    info.trayIndex = (char)SCALAR(&gpu, platform_tray);
    info.hostId = (char)SCALAR(&gpu, platform_host_id);
    info.peerType = (char)SCALAR(&gpu, platform_peer_type);
    info.moduleId = (char)SCALAR(&gpu, module_id);
    memcpy(out, &info, sizeof(info));
    return OK;
}

API nvmlReturn_t nvmlDeviceGetNvLinkInfo(handle_t device, void *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    unsigned int version;
    memcpy(&version, out, sizeof(version));
    bool first = version == VERSION(nvmlNvLinkInfo_v1_t, 1);
    if (!first && version != VERSION(nvmlNvLinkInfo_v2_t, 2)) return E_VERSION_MISMATCH;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_nvlink_count].rc;
    if (rc == OK && !gpu.links[0].present) rc = E_NOT_SUPPORTED;
    if (rc != OK) return rc;
    memset((char *)out + sizeof(version), 0, (first ? sizeof(nvmlNvLinkInfo_v1_t) : sizeof(nvmlNvLinkInfo_v2_t)) - sizeof(version));
    ((nvmlNvLinkInfo_v1_t *)out)->isNvleEnabled = (unsigned int)SCALAR(&gpu, nvlink_encryption);
    return OK; /* no firmware of a link is modelled: the second version lists none */
}

API nvmlReturn_t nvmlDeviceResetNvLinkErrorCounters(handle_t device, unsigned int link) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc == OK) rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_nvlink_count].rc;
    if (rc != OK) return rc;
    if (link >= SCALAR(&gpu, nvlink_count) || link >= MAX_LINKS) return E_INVALID_ARGUMENT;
    if (!gpu.links[link].present) return E_NOT_SUPPORTED;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    memset(txn.state->gpus[h.gpu].links[link].errors, 0, sizeof(gpu.links[link].errors));
    txn_commit(&txn);
    return OK;
}

/* ---- retired pages: boards before row remapping; addresses are invented, one page after the other ---- */

static nvmlReturn_t retired(const char *function, handle_t device, unsigned int cause, unsigned int *count,
                            unsigned long long *addresses, unsigned long long *times) {
    static const unsigned int fields[] = {F_retired_pages_single_bit, F_retired_pages_double_bit};
    fn_handle h;
    uint64_t pages;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (count == NULL || cause > 1) return E_INVALID_ARGUMENT;
    rc = read_scalar(h.gpu, fields[cause], &pages);
    if (rc != OK) return rc;
    unsigned int room = *count;
    *count = (unsigned int)pages;
    if (pages == 0) return OK;
    if (addresses == NULL || room < pages) return E_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < pages; i++) {
        addresses[i] = (0x100000ull + (cause << 16) + i) << 12;
        if (times != NULL) times[i] = 0;
    }
    return OK;
}
API nvmlReturn_t nvmlDeviceGetRetiredPages(handle_t device, unsigned int cause, unsigned int *count,
                                           unsigned long long *addresses) {
    return retired(__func__, device, cause, count, addresses, NULL);
}
API nvmlReturn_t nvmlDeviceGetRetiredPages_v2(handle_t device, unsigned int cause, unsigned int *count,
                                              unsigned long long *addresses, unsigned long long *times) {
    return retired(__func__, device, cause, count, addresses, times);
}

/* ---- vGPU: none is licensed and no type exists, as the H200 answered ---- */

static nvmlReturn_t no_licences(const char *function, handle_t device, void *out, size_t size) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, size);
    return OK;
}
#define LICENCES(name, type) \
    API nvmlReturn_t name(handle_t device, type *out) { return no_licences(__func__, device, out, sizeof(*out)); }
LICENCES(nvmlDeviceGetGridLicensableFeatures, nvmlGridLicensableFeatures_t)
LICENCES(nvmlDeviceGetGridLicensableFeatures_v2, nvmlGridLicensableFeatures_v2_t)
LICENCES(nvmlDeviceGetGridLicensableFeatures_v3, nvmlGridLicensableFeatures_v3_t)
LICENCES(nvmlDeviceGetGridLicensableFeatures_v4, nvmlGridLicensableFeatures_v4_t)

API nvmlReturn_t nvmlGetVgpuVersion(nvmlVgpuVersion_t *supported, nvmlVgpuVersion_t *current) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (supported == NULL || current == NULL) return E_INVALID_ARGUMENT;
    supported->minVersion = current->minVersion = 1179649; /* 18.1 and 26.1, as that driver branch answered */
    supported->maxVersion = current->maxVersion = 1703937;
    return OK;
}
