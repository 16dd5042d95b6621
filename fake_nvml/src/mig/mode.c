/* MIG: its mode, and functions that the other sources of MIG share.
 *
 * A GPU has eight memory slices. A GPU instance takes the slices [start, start+size) at one of its profile's starts
 * (instances.c); a compute instance in it is a MIG device (compute.c). Handles carry the serial number of the
 * instance, so one to a destroyed instance never reaches a later one. */
#include "mig/mig.h"

/* ---- shared lookups ---- */

nvmlReturn_t mig_gpu(const char *function, handle_t device, fn_handle *h, fn_Gpu *gpu) {
    nvmlReturn_t rc = fn_device(function, device, h);
    if (rc != OK) return rc;
    if (h->kind != KIND_DEVICE) return E_INVALID_ARGUMENT;
    rc = read_gpu(h->gpu, gpu);
    return rc == OK ? gpu->scalars[F_mig_mode_current].rc : rc;
}

/* Reads the handle of a GPU instance or compute instance; errors of its device come first. */
nvmlReturn_t mig_instance(const char *function, handle_t handle, enum handle_kind kind, fn_handle *h, fn_Gpu *gpu,
                                 const fn_GpuInstance **gi, const fn_ComputeInstance **ci) {
    nvmlReturn_t rc = fn_instance(function, handle, kind, h);
    if (rc == OK) rc = read_gpu(h->gpu, gpu);
    if (rc == OK) rc = mig_resolve(gpu, h, gi, ci);
    return rc;
}

void commit_instances(fn_txn *txn, unsigned int gpu) {
    txn_publish(txn);
    caps_follow(gpu);
    txn_abort(txn);
}

nvmlReturn_t mig_change_begin(fn_txn *txn, const fn_handle *h, fn_Gpu **live) {
    nvmlReturn_t rc = fn_write(txn);
    if (rc != OK) return rc;
    *live = &txn->state->gpus[h->gpu];
    if (h->kind == KIND_DEVICE) rc = SCALAR(*live, mig_mode_current) ? OK : E_NOT_SUPPORTED;
    else rc = mig_resolve(*live, h, NULL, NULL);
    if (rc != OK) txn_abort(txn);
    return rc;
}

nvmlReturn_t mig_change_end(fn_txn *txn, const fn_handle *h, nvmlReturn_t rc) {
    if (rc == OK) commit_instances(txn, h->gpu);
    else txn_abort(txn);
    return rc;
}

handle_t mig_made(fn_txn *txn, enum handle_kind kind, unsigned int gpu, unsigned int gi, unsigned int ci, uint32_t *serial) {
    *serial = ++txn->state->next_serial;
    return handle_make(kind, gpu, gi, ci, *serial);
}

/* ---- mode ---- */

API nvmlReturn_t nvmlDeviceSetMigMode(handle_t device, unsigned int mode, nvmlReturn_t *activation) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK) return rc;
    if (activation == NULL || mode > 1) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    fn_Gpu *live = &txn.state->gpus[h.gpu];
    *activation = OK;
    if (SCALAR(live, mig_mode_current) == mode) SCALAR(live, mig_mode_pending) = mode;
    else {
        bool busy = false;
        for (unsigned int i = 0; i < MAX_GPU_INSTANCES; i++) busy = busy || live->instances[i].used;
        for (unsigned int i = 0; i < MAX_PROCESSES; i++) busy = busy || live->processes[i].used;
        if (busy) {
            *activation = E_IN_USE;
            if (!SCALAR(live, mig_mode_immediate)) SCALAR(live, mig_mode_pending) = mode;
        } else {
            SCALAR(live, mig_mode_pending) = mode;
            if (SCALAR(live, mig_mode_immediate)) SCALAR(live, mig_mode_current) = mode;
            else *activation = E_RESET_REQUIRED;
        }
    }
    txn_commit(&txn);
    return OK;
}

API nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(handle_t device, unsigned int *count) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = mig_gpu(__func__, device, &h, &gpu);
    if (rc != OK && rc != E_NOT_SUPPORTED) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    *count = rc == OK && SCALAR(&gpu, mig_mode_current) ? 7 : 0;
    return OK;
}
