/* PCI addresses as NVML writes them (pci.c). */
#ifndef FNVML_PCI_H
#define FNVML_PCI_H

#include <stdint.h>

typedef struct {
    uint32_t domain, bus, device, id, subsystem, class_code;
} pci_address;
void long_bus_id(const pci_address *p, char *out32);
void short_bus_id(const pci_address *p, char *out16);

#endif
