/* The address of a GPU on the PCI bus, in the structures of all versions. */
#define _GNU_SOURCE
#include <stdio.h>

#include "calls/getters.h"
#include "device/pci.h"

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
