/* Where a GPU sits on the PCI bus, and its memories. */
#define _GNU_SOURCE
#include <stdio.h>

#include "getters.h"
#include "mig.h"

/* ---- PCI ---- */


static nvmlReturn_t pci_of(const char *function, handle_t device, pci_address *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    return node_value(offsetof(fn_State, gpus) + h.gpu * sizeof(fn_Gpu), out, sizeof(*out));
}
void long_bus_id(const pci_address *p, char *out32) {
    snprintf(out32, 32, "%08X:%02X:%02X.0", p->domain, p->bus & 0xFF, p->device & 0xFF);
}
void short_bus_id(const pci_address *p, char *out16) {
    snprintf(out16, 16, "%04X:%02X:%02X.0", p->domain & 0xFFFF, p->bus & 0xFF, p->device & 0xFF);
}

/* The numbers that every version of the structure has, under the same names. */
#define FILL_PCI(out, p)                                                                                               \
    ((out)->domain = (p).domain, (out)->bus = (p).bus, (out)->device = (p).device, (out)->pciDeviceId = (p).id,       \
     (out)->pciSubSystemId = (p).subsystem)

API nvmlReturn_t nvmlDeviceGetPciInfo_v3(handle_t device, nvmlPciInfo_t *out) {
    pci_address p;
    nvmlReturn_t rc = pci_of(__func__, device, &p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    short_bus_id(&p, out->busIdLegacy);
    long_bus_id(&p, out->busId);
    FILL_PCI(out, p);
    return OK;
}
/* The second version has the short address only, and four reserved words at its end. */
static nvmlReturn_t short_info(const char *function, handle_t device, nvmlPciInfo_v2_t *out) {
    pci_address p;
    nvmlReturn_t rc = pci_of(function, device, &p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    short_bus_id(&p, out->busId);
    FILL_PCI(out, p);
    return OK;
}
API nvmlReturn_t nvmlDeviceGetPciInfo_v2(handle_t device, nvmlPciInfo_v2_t *out) { return short_info(__func__, device, out); }
/* The first version ends before the subsystem id. */
API nvmlReturn_t nvmlDeviceGetPciInfo(handle_t device, void *out) {
    nvmlPciInfo_v2_t info;
    nvmlReturn_t rc = short_info(__func__, device, &info);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memcpy(out, &info, offsetof(nvmlPciInfo_v2_t, pciSubSystemId));
    return OK;
}
API nvmlReturn_t nvmlDeviceGetPciInfoExt(handle_t device, nvmlPciInfoExt_v1_t *out) {
    pci_address p;
    nvmlReturn_t rc = pci_of(__func__, device, &p);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (out->version != VERSION(nvmlPciInfoExt_v1_t, 1)) return E_VERSION_MISMATCH;
    long_bus_id(&p, out->busId);
    FILL_PCI(out, p);
    out->baseClass = p.class_code >> 16 & 0xFF;
    out->subClass = p.class_code >> 8 & 0xFF;
    return OK;
}

API nvmlReturn_t nvmlDeviceGetPcieThroughput(handle_t device, unsigned int counter, unsigned int *out) {
    static const unsigned int fields[] = {F_pcie_throughput_tx, F_pcie_throughput_rx};
    return get_choice(__func__, device, counter, fields, 2, E_INVALID_ARGUMENT, out);
}

/* ---- memory ---- */

typedef struct {
    uint64_t total, reserved, used, free;
} memory_view;

static nvmlReturn_t memory_of(const char *function, handle_t device, memory_view *m) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    m->total = SCALAR(&gpu, memory_total);
    m->reserved = SCALAR(&gpu, memory_reserved);
    m->used = SCALAR(&gpu, memory_used);
    if (h.kind == KIND_MIG) {
        const fn_GpuInstance *gi;
        rc = mig_resolve(&gpu, &h, &gi, NULL);
        if (rc != OK) return rc;
        const fn_Profile *profile = mig_profile_of(&gpu, gi);
        if (profile == NULL) return E_UNKNOWN;
        m->total = profile->memory_mib << 20;
        m->reserved = 0;
        m->used = 0;
        for (unsigned int i = 0; i < MAX_PROCESSES; i++)
            if (gpu.processes[i].used && gpu.processes[i].gi == h.gi) m->used += gpu.processes[i].memory;
    } else if (gpu.scalars[F_memory_total].rc != OK) return gpu.scalars[F_memory_total].rc;
    uint64_t taken = m->reserved + m->used;
    m->free = taken < m->total ? m->total - taken : 0;
    return OK;
}

API nvmlReturn_t nvmlDeviceGetMemoryInfo(handle_t device, nvmlMemory_t *out) {
    memory_view m;
    nvmlReturn_t rc = memory_of(__func__, device, &m);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->total = m.total;
    out->free = m.free;
    out->used = m.total - m.free; /* this version counts what is reserved as used */
    return OK;
}
API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(handle_t device, nvmlMemory_v2_t *out) {
    memory_view m;
    nvmlReturn_t rc = memory_of(__func__, device, &m);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (out->version != VERSION(nvmlMemory_v2_t, 2)) return E_VERSION_MISMATCH;
    out->total = m.total;
    out->reserved = m.reserved;
    out->free = m.free;
    out->used = m.used;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(handle_t device, nvmlBAR1Memory_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_bar1_total].rc;
    if (rc != OK) return rc;
    out->bar1Total = SCALAR(&gpu, bar1_total);
    out->bar1Used = SCALAR(&gpu, bar1_used);
    if (h.kind == KIND_MIG) { /* its slices' share less 1 MiB, as nvidia-smi prints it on H100 and A100 */
        const fn_GpuInstance *gi;
        rc = mig_resolve(&gpu, &h, &gi, NULL);
        if (rc != OK) return rc;
        uint64_t share = out->bar1Total / SLICES * (gi->size <= SLICES ? gi->size : SLICES);
        out->bar1Total = share > 1 << 20 ? share - (1 << 20) : 0;
        out->bar1Used = 0;
    }
    out->bar1Free = out->bar1Total - out->bar1Used;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetConfComputeMemSizeInfo(handle_t device, nvmlConfComputeMemSizeInfo_t *out) {
    memory_view m;
    nvmlReturn_t rc = memory_of(__func__, device, &m);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->protectedMemSizeKib = 0;
    out->unprotectedMemSizeKib = (m.total - m.reserved) >> 10;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetConfComputeProtectedMemoryUsage(handle_t device, nvmlMemory_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    memset(out, 0, sizeof(*out));
    return OK;
}
