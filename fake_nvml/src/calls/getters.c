/* The forms that most getters and setters of a device have; getters.h has the macros over them. */
#include "calls/getters.h"

nvmlReturn_t get_u32(const char *function, handle_t device, unsigned int field, unsigned int *out, bool mig_too) {
    fn_handle h;
    uint64_t value;
    nvmlReturn_t rc = mig_too ? fn_device(function, device, &h) : fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    rc = read_scalar(h.gpu, field, &value);
    if (rc == OK) *out = (unsigned int)value;
    return rc;
}
nvmlReturn_t get_u64(const char *function, handle_t device, unsigned int field, unsigned long long *out) {
    fn_handle h;
    uint64_t value;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    rc = read_scalar(h.gpu, field, &value);
    if (rc == OK) *out = value;
    return rc;
}
nvmlReturn_t get_text(const char *function, handle_t device, unsigned int field, char *out, unsigned int size) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    return read_text(h.gpu, field, out, size);
}
/* Two values of one generation. */
nvmlReturn_t get_pair(const char *function, handle_t device, unsigned int f1, unsigned int f2, unsigned int *a,
                             unsigned int *b) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (a == NULL || b == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    if (gpu.scalars[f1].rc != OK) return gpu.scalars[f1].rc;
    if (gpu.scalars[f2].rc != OK) return gpu.scalars[f2].rc;
    *a = (unsigned int)gpu.scalars[f1].value;
    *b = (unsigned int)gpu.scalars[f2].value;
    return OK;
}
/* One of several fields, chosen by an argument; outside the list the result is `beyond`. */
nvmlReturn_t get_choice(const char *function, handle_t device, unsigned int which, const unsigned int *fields,
                               unsigned int count, nvmlReturn_t beyond, unsigned int *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    if (which >= count) return beyond;
    uint64_t value;
    rc = read_scalar(h.gpu, fields[which], &value);
    if (rc == OK) *out = (unsigned int)value;
    return rc;
}
nvmlReturn_t set_scalar(const char *function, handle_t device, unsigned int field, uint64_t value, uint64_t most) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (value > most) return E_INVALID_ARGUMENT;
    uint64_t now;
    rc = read_scalar(h.gpu, field, &now);
    if (rc != OK) return rc;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    txn.state->gpus[h.gpu].scalars[field].value = value;
    txn_commit(&txn);
    return OK;
}

nvmlReturn_t scalar_of(handle_t device, unsigned int field, unsigned int *out) {
    fn_handle h;
    uint64_t value;
    if (out == NULL || !handle_read(device, &h)) return E_INVALID_ARGUMENT;
    nvmlReturn_t rc = read_scalar(h.gpu, field, &value);
    if (rc == OK) *out = (unsigned int)value;
    return rc;
}

nvmlReturn_t set_power_limit(const char *function, handle_t device, unsigned int limit) {
    unsigned int low, high;
    nvmlReturn_t rc = get_pair(function, device, F_power_limit_min, F_power_limit_max, &low, &high);
    if (rc != OK) return rc;
    if (limit < low || limit > high) return E_INVALID_ARGUMENT;
    fn_handle h;
    fn_txn txn;
    (void)handle_read(device, &h);
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    SCALAR(&txn.state->gpus[h.gpu], power_limit) = limit;
    SCALAR(&txn.state->gpus[h.gpu], power_limit_enforced) = limit;
    txn_commit(&txn);
    return OK;
}

nvmlReturn_t empty_list(const char *function, handle_t device, unsigned int *count) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    *count = 0;
    return OK;
}
