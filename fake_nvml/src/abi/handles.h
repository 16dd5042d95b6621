/* Handles: opaque pointers that encode what they name; never dereferenced (handles.c). */
#ifndef FNVML_HANDLES_H
#define FNVML_HANDLES_H

#include "abi/nvml.h"

enum handle_kind { KIND_DEVICE = 1, KIND_MIG = 2, KIND_GPU_INSTANCE = 3, KIND_COMPUTE_INSTANCE = 4, KIND_EVENT_SET = 5, KIND_GPM_SAMPLE = 6,
                   KIND_SYSTEM_EVENT_SET = 7 };

typedef struct {
    enum handle_kind kind;
    unsigned int gpu, gi, ci;
    uint32_t serial;
} fn_handle;

handle_t handle_make(enum handle_kind kind, unsigned int gpu, unsigned int gi, unsigned int ci, uint32_t serial);
bool handle_read(handle_t handle, fn_handle *out);

#endif
