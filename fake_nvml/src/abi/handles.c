/* Handles: 0x5E00 kkkk gggggg iiii ccc ssss… packed below 2^47, so that every runtime takes it for an address. */
#include "abi/handles.h"

#define HANDLE_BASE 0x5E0000000000ull
#define SERIAL_BITS 22

handle_t handle_make(enum handle_kind kind, unsigned int gpu, unsigned int gi, unsigned int ci, uint32_t serial) {
    uint64_t v = (((((uint64_t)kind << 6 | (gpu & 63)) << 4 | (gi & 15)) << 3 | (ci & 7)) << SERIAL_BITS) |
                 (serial & ((1u << SERIAL_BITS) - 1));
    return (handle_t)(uintptr_t)(HANDLE_BASE + (v << 1));
}

bool handle_read(handle_t handle, fn_handle *out) {
    uint64_t v = (uint64_t)(uintptr_t)handle;
    if (v < HANDLE_BASE || v >= HANDLE_BASE + (1ull << 40) || (v & 1) != 0) return false;
    v = (v - HANDLE_BASE) >> 1;
    out->serial = (uint32_t)(v & ((1u << SERIAL_BITS) - 1));
    v >>= SERIAL_BITS;
    out->ci = (unsigned int)(v & 7);
    out->gi = (unsigned int)((v >> 3) & 15);
    out->gpu = (unsigned int)((v >> 7) & 63);
    out->kind = (enum handle_kind)(v >> 13);
    return out->kind >= KIND_DEVICE && out->kind <= KIND_SYSTEM_EVENT_SET;
}
