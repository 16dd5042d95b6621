/* The C ABI that all sources share: return codes, opaque handles and the version number of a structure. */
#ifndef FNVML_NVML_H
#define FNVML_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "abi/nvml_types.h"

#define API __attribute__((visibility("default")))

typedef int nvmlReturn_t;
typedef void *handle_t; /* devices, GPU instances, compute instances and event sets are opaque pointers, never followed */

enum {
    OK = 0,
    E_UNINITIALIZED = 1,
    E_INVALID_ARGUMENT = 2,
    E_NOT_SUPPORTED = 3,
    E_NO_PERMISSION = 4,
    E_NOT_FOUND = 6,
    E_INSUFFICIENT_SIZE = 7,
    E_DRIVER_NOT_LOADED = 9,
    E_TIMEOUT = 10,
    E_FUNCTION_NOT_FOUND = 13,
    E_GPU_IS_LOST = 15,
    E_RESET_REQUIRED = 16,
    E_LIB_RM_VERSION_MISMATCH = 18,
    E_IN_USE = 19,
    E_MEMORY = 20,
    E_NO_DATA = 21,
    E_INSUFFICIENT_RESOURCES = 23,
    E_VERSION_MISMATCH = 25,
    E_NOT_READY = 27,
    E_UNKNOWN = 999,
};

#define NO_INSTANCE 0xFFFFFFFFu
#define VERSION(type, number) ((unsigned int)(sizeof(type) | ((unsigned int)(number) << 24)))

#endif
