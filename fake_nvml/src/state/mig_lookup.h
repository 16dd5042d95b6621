/* MIG rows of the state: which instance a handle names, and the UUIDs, names and profiles of instances (mig_lookup.c). */
#ifndef FNVML_MIG_LOOKUP_H
#define FNVML_MIG_LOOKUP_H

#include "abi/handles.h"
#include "state/state.h"

#define SLICES 8
#define CI_PROFILES 8
#define CAPS_PER_INSTANCE 9 /* the GPU instance itself and eight compute instances */

/* The capability's minor number of a GPU instance; those of its compute instances follow. */
static inline unsigned int mig_minor(unsigned int gpu_minor, unsigned int gi) {
    return 3 + gpu_minor * MAX_GPU_INSTANCES * CAPS_PER_INSTANCE + CAPS_PER_INSTANCE * gi;
}

nvmlReturn_t mig_resolve(const fn_Gpu *gpu, const fn_handle *h, const fn_GpuInstance **gi, const fn_ComputeInstance **ci);
unsigned int mig_index_of(const fn_Gpu *gpu, unsigned int index); /* that of this process: it counts those it sees */
void mig_uuid(const fn_Gpu *gpu, unsigned int gi, unsigned int ci, char *out48);
const fn_Profile *mig_profile_of(const fn_Gpu *gpu, const fn_GpuInstance *gi);
unsigned int mig_slices_of(unsigned int ci_profile);
void mig_name(const fn_Gpu *gpu, const fn_GpuInstance *gi, const fn_ComputeInstance *ci, char *out, size_t size);
const fn_Profile *mig_profile_by_id(const fn_Gpu *gpu, unsigned int id);

#endif
