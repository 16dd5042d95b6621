/* The shapes that most getters of a device have: one scalar, one text, two values of one generation, one of several. */
#ifndef FNVML_GETTERS_H
#define FNVML_GETTERS_H

#include "calls/enter.h"

nvmlReturn_t get_u32(const char *function, handle_t device, unsigned int field, unsigned int *out, bool mig_too);
nvmlReturn_t get_u64(const char *function, handle_t device, unsigned int field, unsigned long long *out);
nvmlReturn_t get_text(const char *function, handle_t device, unsigned int field, char *out, unsigned int size);
nvmlReturn_t get_pair(const char *function, handle_t device, unsigned int f1, unsigned int f2, unsigned int *a,
                             unsigned int *b);
nvmlReturn_t get_choice(const char *function, handle_t device, unsigned int which, const unsigned int *fields,
                               unsigned int count, nvmlReturn_t beyond, unsigned int *out);
/* A value of a GPU within a call that has begun already. */
nvmlReturn_t scalar_of(handle_t device, unsigned int field, unsigned int *out);
nvmlReturn_t set_power_limit(const char *function, handle_t device, unsigned int limit);
nvmlReturn_t set_scalar(const char *function, handle_t device, unsigned int field, uint64_t value, uint64_t most);
/* A list that is always empty: no board of the inventories has such items. */
nvmlReturn_t empty_list(const char *function, handle_t device, unsigned int *count);

#define UINT(name, field) \
    API nvmlReturn_t name(handle_t device, unsigned int *out) { return get_u32(__func__, device, F_##field, out, false); }
#define UINT_MIG(name, field) \
    API nvmlReturn_t name(handle_t device, unsigned int *out) { return get_u32(__func__, device, F_##field, out, true); }
#define ULL(name, field) \
    API nvmlReturn_t name(handle_t device, unsigned long long *out) { return get_u64(__func__, device, F_##field, out); }
#define TEXT(name, field) \
    API nvmlReturn_t name(handle_t device, char *out, unsigned int size) { \
        return get_text(__func__, device, S_##field, out, size); \
    }
#define PAIR(name, first, second) \
    API nvmlReturn_t name(handle_t device, unsigned int *a, unsigned int *b) { \
        return get_pair(__func__, device, F_##first, F_##second, a, b); \
    }

/* A structure that begins with its version: the body runs once handle, pointer and version are right. */
#define VERSIONED(name, type, number, ...) \
    API nvmlReturn_t name(handle_t device, type *out) { \
        fn_handle h; \
        nvmlReturn_t rc = fn_gpu(__func__, device, &h); \
        if (rc != OK) return rc; \
        if (out == NULL) return E_INVALID_ARGUMENT; \
        if (out->version != VERSION(type, number)) return E_VERSION_MISMATCH; \
        uint64_t value = 0; \
        __VA_ARGS__ return rc; \
    }

#endif
