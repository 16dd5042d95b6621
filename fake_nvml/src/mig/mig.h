/* Shared by the sources of MIG: mode (mode.c), profiles (profiles.c), GPU instances (instances.c), and compute instances
 * with their MIG devices (compute.c). */
#ifndef FNVML_MIG_H
#define FNVML_MIG_H

#include "calls/enter.h"
#include "state/mig_lookup.h"

/* Numbers from the file are checked before they are used as shifts or indices: a damaged state must not crash a client. */
static inline unsigned int span_of(unsigned int start, unsigned int size) {
    return start < SLICES && size <= SLICES ? (((1u << size) - 1) << start) : (1u << SLICES) - 1;
}

/* The GPU of a MIG call: its handle is a whole GPU's, and the board has MIG. */
nvmlReturn_t mig_gpu(const char *function, handle_t device, fn_handle *h, fn_Gpu *gpu);
/* Reads the handle of a GPU instance or compute instance; errors of its device come first. */
nvmlReturn_t mig_instance(const char *function, handle_t handle, enum handle_kind kind, fn_handle *h, fn_Gpu *gpu,
                          const fn_GpuInstance **gi, const fn_ComputeInstance **ci);
/* A change of a GPU's instances, from its begin to its end. The begin looks up the handle again, now
 * under the lock; `live` is the copy to change. The end commits, or takes everything back where rc is an error, and hands rc
 * on. mig_made returns the handle of a new instance and sets its serial number. */
nvmlReturn_t mig_change_begin(fn_txn *txn, const fn_handle *h, fn_Gpu **live);
nvmlReturn_t mig_change_end(fn_txn *txn, const fn_handle *h, nvmlReturn_t rc);
handle_t mig_made(fn_txn *txn, enum handle_kind kind, unsigned int gpu, unsigned int gi, unsigned int ci, uint32_t *serial);
/* The capability files follow under the lock, so that two makers of instances cannot undo each other's. */
void commit_instances(fn_txn *txn, unsigned int gpu);
void caps_follow(unsigned int gpu); /* caps.c: the capability files of the driver root, after instances came or went */

/* Ids of profiles of other boards have other return codes than ids that no board has (recorded on the H200). */
static inline bool mig_known_elsewhere(unsigned int id) { return id == 6 || id == 10; }

#endif
