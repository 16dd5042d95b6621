/* How GPUs, CPUs and each other are near: affinity, PCI topology, NVLink and the fabric. */
#include "calls/getters.h"
#include "device/pci.h"

/* ---- affinity and topology ---- */

static nvmlReturn_t near_cpus(const char *function, handle_t device, unsigned int words, unsigned long *set,
                              unsigned int scope) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    if (set == NULL || words == 0 || scope > 1) return E_INVALID_ARGUMENT;
    uint64_t own[AFFINITY_WORDS];
    rc = node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, cpu_affinity), own, sizeof(own));
    for (unsigned int i = 0; rc == OK && i < words; i++) set[i] = i < AFFINITY_WORDS ? own[i] : 0;
    return rc;
}
API nvmlReturn_t nvmlDeviceGetCpuAffinity(handle_t device, unsigned int words, unsigned long *set) {
    return near_cpus(__func__, device, words, set, 0);
}
API nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(handle_t device, unsigned int words, unsigned long *set,
                                                     unsigned int scope) {
    return near_cpus(__func__, device, words, set, scope);
}
API nvmlReturn_t nvmlDeviceGetMemoryAffinity(handle_t device, unsigned int words, unsigned long *set, unsigned int scope) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (set == NULL || words == 0 || scope > 1) return E_INVALID_ARGUMENT;
    uint64_t own;
    rc = node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, memory_affinity), &own, sizeof(own));
    for (unsigned int i = 0; rc == OK && i < words; i++) set[i] = i == 0 ? own : 0;
    return rc;
}

enum { SINGLE_SWITCH = 10, HOST_BRIDGE = 30, NUMA_NODE = 40, SYSTEM = 50 };

static nvmlReturn_t ancestor(unsigned int a, unsigned int b, unsigned int *level) {
    fn_Gpu one, two;
    nvmlReturn_t rc = read_gpu(a, &one);
    if (rc == OK) rc = read_gpu(b, &two);
    if (rc != OK) return rc;
    if (a == b) return E_NOT_SUPPORTED; /* recorded on one H100 */
    if (one.scalars[F_pcie_switch].rc == OK && two.scalars[F_pcie_switch].rc == OK &&
             SCALAR(&one, pcie_switch) == SCALAR(&two, pcie_switch))
        *level = SINGLE_SWITCH;
    else *level = SCALAR(&one, numa_node) == SCALAR(&two, numa_node) ? NUMA_NODE : SYSTEM;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(handle_t first, handle_t second, unsigned int *level) {
    fn_handle a, b;
    nvmlReturn_t rc = fn_device(__func__, first, &a);
    if (rc == OK) rc = fn_second(second, true, &b);
    if (rc != OK) return rc;
    return level == NULL ? E_INVALID_ARGUMENT : ancestor(a.gpu, b.gpu, level);
}
API nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(handle_t device, unsigned int level, unsigned int *count,
                                                  handle_t *devices) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    unsigned int all = 0, room = *count, found = 0;
    rc = node_value(offsetof(fn_State, gpu_count), &all, sizeof(all));
    for (unsigned int i = 0; rc == OK && i < all && i < MAX_GPUS; i++) {
        unsigned int own = 0;
        if (i == h.gpu || fn_removed(i)) continue;
        rc = ancestor(h.gpu, i, &own);
        if (rc != OK || own > level) continue;
        if (devices != NULL && found < room) devices[found] = handle_make(KIND_DEVICE, i, 0, 0, 0);
        found++;
    }
    if (rc == OK) *count = devices == NULL || found < room ? found : room;
    return rc;
}
API nvmlReturn_t nvmlDeviceOnSameBoard(handle_t first, handle_t second, int *same) {
    fn_handle a, b;
    nvmlReturn_t rc = fn_gpu(__func__, first, &a);
    if (rc == OK) rc = fn_second(second, false, &b);
    if (rc != OK) return rc;
    if (same == NULL) return E_INVALID_ARGUMENT;
    *same = a.gpu == b.gpu;
    return OK;
}
/* Whether any link is up: GPUs meet at their switches, so each needs one. */
static bool has_link(const fn_Gpu *gpu) {
    for (unsigned int link = 0; link < MAX_LINKS; link++)
        if (gpu->links[link].present && gpu->links[link].active) return true;
    return false;
}
API nvmlReturn_t nvmlDeviceGetP2PStatus(handle_t first, handle_t second, unsigned int index, unsigned int *status) {
    fn_handle a, b;
    nvmlReturn_t rc = fn_gpu(__func__, first, &a);
    if (rc == OK) rc = fn_second(second, false, &b);
    if (rc != OK) return rc;
    if (status == NULL || index > 5) return E_INVALID_ARGUMENT;
    fn_Gpu one, two;
    rc = read_gpu(a.gpu, &one);
    if (rc == OK) rc = read_gpu(b.gpu, &two);
    if (rc != OK) return rc;
    bool linked = has_link(&one) && has_link(&two);
    if (a.gpu == b.gpu && index < 5) *status = 5; /* a GPU is no peer of itself: recorded on one H100 */
    else if (index == 2) *status = linked ? 0 : 5; /* NVLink: OK, or not supported */
    else *status = 0;
    return OK;
}

/* ---- NVLink and fabric ---- */

static nvmlReturn_t link_of(const char *function, handle_t device, unsigned int link, fn_Link *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    uint64_t count = 0;
    rc = read_scalar(h.gpu, F_nvlink_count, &count);
    if (rc != OK) return rc;
    if (link >= count || link >= MAX_LINKS) return E_INVALID_ARGUMENT;
    rc = node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, links) + link * sizeof(fn_Link), out,
                    sizeof(*out));
    return rc == OK && !out->present ? E_NOT_SUPPORTED : rc;
}
API nvmlReturn_t nvmlDeviceGetNvLinkState(handle_t device, unsigned int link, unsigned int *active) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (active == NULL) return E_INVALID_ARGUMENT;
    *active = l.active;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkVersion(handle_t device, unsigned int link, unsigned int *version) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    return scalar_of(device, F_nvlink_version, version);
}
API nvmlReturn_t nvmlDeviceGetNvLinkCapability(handle_t device, unsigned int link, unsigned int capability,
                                               unsigned int *out) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (out == NULL || capability > 5) return E_INVALID_ARGUMENT;
    *out = capability == 4 ? 0 : 1; /* P2P, system memory, atomics of both, valid; no SLI */
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(handle_t device, unsigned int link, unsigned int *type) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (type == NULL) return E_INVALID_ARGUMENT;
    *type = l.remote_type;
    return OK;
}
static nvmlReturn_t far_end(const char *function, handle_t device, unsigned int link, const void *out, pci_address *p) {
    fn_Link l;
    nvmlReturn_t rc = link_of(function, device, link, &l);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (!l.active) return E_NOT_SUPPORTED;
    *p = (pci_address){l.domain, l.bus, l.device, l.pci_device_id, 0, 0};
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(handle_t device, unsigned int link, nvmlPciInfo_t *out) {
    pci_address p;
    nvmlReturn_t rc = far_end(__func__, device, link, out, &p);
    if (rc != OK) return rc;
    memset(out, 0, sizeof(*out));
    short_bus_id(&p, out->busIdLegacy);
    long_bus_id(&p, out->busId);
    out->domain = p.domain;
    out->bus = p.bus;
    out->device = p.device;
    out->pciDeviceId = p.id;
    return OK;
}
/* The first version has the older structure, without the long address. */
API nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(handle_t device, unsigned int link, nvmlPciInfo_v2_t *out) {
    pci_address p;
    nvmlReturn_t rc = far_end(__func__, device, link, out, &p);
    if (rc != OK) return rc;
    memset(out, 0, sizeof(*out));
    short_bus_id(&p, out->busId);
    out->domain = p.domain;
    out->bus = p.bus;
    out->device = p.device;
    out->pciDeviceId = p.id;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(handle_t device, unsigned int link, unsigned int counter,
                                                 unsigned long long *out) {
    fn_Link l;
    nvmlReturn_t rc = link_of(__func__, device, link, &l);
    if (rc != OK) return rc;
    if (out == NULL || counter > 4) return E_INVALID_ARGUMENT;
    *out = l.errors[counter];
    return OK;
}

typedef struct {
    uint64_t state, status, clique, health_mask, health_summary;
    uint8_t cluster[16];
} fabric_view;

static nvmlReturn_t fabric_of(const char *function, handle_t device, fabric_view *f) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_fabric_state].rc;
    if (rc != OK) return rc;
    memset(f, 0, sizeof(*f));
    f->state = SCALAR(&gpu, fabric_state);
    if (f->state != 3) return OK; /* status, clique and cluster are valid only when registration has completed */
    f->status = SCALAR(&gpu, fabric_status);
    f->clique = SCALAR(&gpu, fabric_clique_id);
    f->health_mask = SCALAR(&gpu, fabric_health_mask);
    f->health_summary = SCALAR(&gpu, fabric_health_summary);
    memcpy(f->cluster, gpu.cluster_uuid, 16);
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpuFabricInfo(handle_t device, nvmlGpuFabricInfo_t *out) {
    fabric_view f;
    nvmlReturn_t rc = fabric_of(__func__, device, &f);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memcpy(out->clusterUuid, f.cluster, 16);
    out->status = (unsigned int)f.status;
    out->cliqueId = (unsigned int)f.clique;
    out->state = (unsigned char)f.state;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(handle_t device, void *out) {
    fabric_view f;
    nvmlReturn_t rc = fabric_of(__func__, device, &f);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    unsigned int version;
    memcpy(&version, out, sizeof(version));
    nvmlGpuFabricInfo_v3_t info;
    memset(&info, 0, sizeof(info));
    info.version = version;
    memcpy(info.clusterUuid, f.cluster, 16);
    info.status = (unsigned int)f.status;
    info.cliqueId = (unsigned int)f.clique;
    info.state = (unsigned char)f.state;
    info.healthMask = (unsigned int)f.health_mask;
    info.healthSummary = (unsigned char)f.health_summary;
    _Static_assert(offsetof(nvmlGpuFabricInfo_v2_t, healthMask) == offsetof(nvmlGpuFabricInfo_v3_t, healthMask),
                   "the second version is a prefix of the third");
    if (version == VERSION(nvmlGpuFabricInfo_v2_t, 2)) memcpy(out, &info, sizeof(nvmlGpuFabricInfo_v2_t));
    else if (version == VERSION(nvmlGpuFabricInfo_v3_t, 3)) memcpy(out, &info, sizeof(info));
    else return E_VERSION_MISMATCH;
    return OK;
}
