/* Errors and repairs: ECC counters, remapped rows. */
#include "calls/getters.h"

/* ---- ECC, remapping, repair ---- */

static nvmlReturn_t ecc_field(unsigned int type, unsigned int counter, bool dram, unsigned int *field) {
    static const unsigned int fields[2][2][2] = {
        {{F_ecc_corrected_volatile_sram, F_ecc_corrected_volatile_dram},
         {F_ecc_corrected_aggregate_sram, F_ecc_corrected_aggregate_dram}},
        {{F_ecc_uncorrected_volatile_sram, F_ecc_uncorrected_volatile_dram},
         {F_ecc_uncorrected_aggregate_sram, F_ecc_uncorrected_aggregate_dram}}};
    if (type > 1 || counter > 1) return E_INVALID_ARGUMENT;
    *field = fields[type][counter][dram];
    return OK;
}
API nvmlReturn_t nvmlDeviceGetTotalEccErrors(handle_t device, unsigned int type, unsigned int counter,
                                             unsigned long long *out) {
    fn_handle h;
    unsigned int sram, dram;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL || ecc_field(type, counter, false, &sram) != OK || ecc_field(type, counter, true, &dram) != OK)
        return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[sram].rc;
    if (rc == OK) *out = gpu.scalars[sram].value + gpu.scalars[dram].value;
    return rc;
}
/* Of the locations, boards with row remapping support DRAM (2) and SRAM as a whole (7). */
API nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(handle_t device, unsigned int type, unsigned int counter,
                                                 unsigned int location, unsigned long long *out) {
    fn_handle h;
    unsigned int field;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL || location > 7 || ecc_field(type, counter, location == 2, &field) != OK) return E_INVALID_ARGUMENT;
    if (location != 2 && location != 7) return E_NOT_SUPPORTED;
    uint64_t value;
    rc = read_scalar(h.gpu, field, &value);
    if (rc == OK) *out = value;
    return rc;
}
VERSIONED(nvmlDeviceGetSramEccErrorStatus, nvmlEccSramErrorStatus_v1_t, 1, {
    fn_Gpu gpu;
    (void)value;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_ecc_corrected_volatile_sram].rc;
    if (rc != OK) return rc;
    memset((char *)out + sizeof(out->version), 0, sizeof(*out) - sizeof(out->version));
    out->aggregateUncSecDed = SCALAR(&gpu, ecc_uncorrected_aggregate_sram);
    out->aggregateCor = SCALAR(&gpu, ecc_corrected_aggregate_sram);
    out->volatileUncSecDed = SCALAR(&gpu, ecc_uncorrected_volatile_sram);
    out->volatileCor = SCALAR(&gpu, ecc_corrected_volatile_sram);
    out->aggregateUncBucketOther = SCALAR(&gpu, ecc_uncorrected_aggregate_sram);
})
API nvmlReturn_t nvmlDeviceClearEccErrorCounts(handle_t device, unsigned int counter) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (counter > 1) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    for (unsigned int type = 0; type < 2; type++)
        for (unsigned int dram = 0; dram < 2; dram++) {
            unsigned int field;
            if (ecc_field(type, counter, dram != 0, &field) == OK) txn.state->gpus[h.gpu].scalars[field].value = 0;
        }
    txn_commit(&txn);
    return OK;
}

static bool has_instances(const fn_Gpu *gpu) {
    for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++)
        if (gpu->instances[i].used) return true;
    return false;
}
static nvmlReturn_t remapped_rows(const char *function, handle_t device, unsigned int *corrected, unsigned int *uncorrected,
                                  unsigned int *pending, unsigned int *failure) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc != OK) return rc;
    if (corrected == NULL || uncorrected == NULL || pending == NULL || failure == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_remapped_rows_corrected].rc;
    if (rc != OK) return rc;
    if (has_instances(&gpu)) return E_NOT_SUPPORTED; /* documented: not available while MIG instances are active */
    *corrected = (unsigned int)SCALAR(&gpu, remapped_rows_corrected);
    *uncorrected = (unsigned int)SCALAR(&gpu, remapped_rows_uncorrected);
    *pending = (unsigned int)SCALAR(&gpu, remapped_rows_pending);
    *failure = (unsigned int)SCALAR(&gpu, remapped_rows_failure);
    return OK;
}
API nvmlReturn_t nvmlDeviceGetRemappedRows(handle_t device, unsigned int *corrected, unsigned int *uncorrected,
                                           unsigned int *pending, unsigned int *failure) {
    return remapped_rows(__func__, device, corrected, uncorrected, pending, failure);
}
API nvmlReturn_t nvmlDeviceGetRemappedRows_v2(handle_t device, nvmlRemappedRowsInfo_v2_t *out) {
    unsigned int c, u, p, f;
    nvmlReturn_t rc = remapped_rows(__func__, device, &c, &u, &p, &f);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    out->corrActiveRemaps = c;
    out->corrInactiveRemaps = 0;
    out->uncActiveRemaps = u;
    out->uncInactiveRemaps = 0;
    out->bPending = p;
    out->bfailureOccurred = f;
    return OK;
}
API nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(handle_t device, nvmlRowRemapperHistogramValues_t *out) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_row_remapper_max].rc;
    if (rc != OK) return rc;
    out->max = (unsigned int)SCALAR(&gpu, row_remapper_max);
    out->high = (unsigned int)SCALAR(&gpu, row_remapper_high);
    out->partial = (unsigned int)SCALAR(&gpu, row_remapper_partial);
    out->low = (unsigned int)SCALAR(&gpu, row_remapper_low);
    out->none = (unsigned int)SCALAR(&gpu, row_remapper_none);
    return OK;
}
