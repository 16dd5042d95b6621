/* Shared by all sources: return codes, handles, the state reader and the transaction writer.
 *
 * The library keeps no copy of the node: every call reads the mapped state file (see fake_nvml/layout.py), so a change by
 * any process is seen by the next call. It starts no thread, installs no signal handler, has no constructor and no TLS. */
#ifndef FNVML_CORE_H
#define FNVML_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "layout.h"
#include "nvml_types.h"

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

/* ---- the state file (state.c) ---- */

typedef struct {
    const fn_Header *header; /* read-only mapping of the whole file */
    uint64_t dev, ino;
    char path[4096];
} fn_map;

#define STATE_OFFSET(copy) (sizeof(fn_Header) + (size_t)((copy) & 1) * sizeof(fn_State))
#define RING_OFFSET (sizeof(fn_Header) + 2 * sizeof(fn_State))
#define FILE_SIZE (RING_OFFSET + (size_t)RING_SIZE * sizeof(fn_Event))

static inline const fn_State *map_state(const fn_map *map, uint64_t gen) {
    return (const fn_State *)((const char *)map->header + STATE_OFFSET(gen));
}
static inline const fn_Event *map_ring(const fn_map *map) {
    return (const fn_Event *)((const char *)map->header + RING_OFFSET);
}
static inline uint64_t map_gen(const fn_map *map) { return __atomic_load_n(&map->header->gen, __ATOMIC_ACQUIRE); }

/* A generation is stable while `gen` has not moved: the writer of gen+1 works on the other copy, but the writer of gen+2
 * may already overwrite this one before it publishes, so any move means "read again". */
static inline bool map_stable(const fn_map *map, uint64_t gen) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(&map->header->gen, __ATOMIC_RELAXED) == gen;
}

typedef struct {
    int fd;
    fn_Header *header;
    fn_State *state; /* the inactive copy, to be changed */
    fn_Event *ring;
} fn_txn;

nvmlReturn_t map_open(fn_map *map, const char *path);
void map_close(fn_map *map);
nvmlReturn_t map_snapshot(const fn_map *map, size_t offset, void *out, size_t size); /* part of one generation */
int map_wait(const fn_map *map, uint64_t gen, int64_t deadline_ns);                  /* until gen moves or the deadline */
int64_t monotonic_ns(void);

nvmlReturn_t txn_begin(fn_txn *txn, const fn_map *map);
void txn_commit(fn_txn *txn);
void txn_publish(fn_txn *txn); /* the first half of txn_commit: seen by all, the lock still held; txn_abort then ends it */
void txn_abort(fn_txn *txn);
void txn_event(fn_txn *txn, uint32_t gpu, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci);

/* ---- the session of this process (session.c) ---- */

enum handle_kind { KIND_DEVICE = 1, KIND_MIG = 2, KIND_GPU_INSTANCE = 3, KIND_COMPUTE_INSTANCE = 4, KIND_EVENT_SET = 5, KIND_GPM_SAMPLE = 6,
                   KIND_SYSTEM_EVENT_SET = 7 };

typedef struct {
    enum handle_kind kind;
    unsigned int gpu, gi, ci;
    uint32_t serial;
} fn_handle;

handle_t handle_make(enum handle_kind kind, unsigned int gpu, unsigned int gi, unsigned int ci, uint32_t serial);
bool handle_read(handle_t handle, fn_handle *out);

/* Every exported function starts here, once: is the library initialised, is the node alive, does a fault apply? A fault
 * rule counts what programs call, so no exported function calls another one. */
nvmlReturn_t fn_enter(const char *function);
/* The same plus the device: its handle must name a present GPU that is neither lost nor waiting for a reset. */
nvmlReturn_t fn_device(const char *function, handle_t device, fn_handle *out);
/* As fn_device, but a MIG handle answers NOT_SUPPORTED. */
nvmlReturn_t fn_gpu(const char *function, handle_t device, fn_handle *out);
/* The same for a GPU instance or a compute instance, whose handle must not be stale. */
nvmlReturn_t fn_instance(const char *function, handle_t instance, enum handle_kind kind, fn_handle *out);
/* The second GPU of a call that has two: as fn_device (`mig_too`) or fn_gpu, but it is the first that faults look at. */
nvmlReturn_t fn_second(handle_t device, bool mig_too, fn_handle *out);
nvmlReturn_t fn_stub(const char *function, int newer);
const fn_map *fn_current(void);
bool fn_initialized(void);
unsigned int fn_session(void);
nvmlReturn_t fn_write(fn_txn *txn); /* txn_begin on the node of this session */

nvmlReturn_t read_scalar(unsigned int gpu, unsigned int field, uint64_t *value);
nvmlReturn_t read_text(unsigned int gpu, unsigned int field, char *buffer, unsigned int size);
nvmlReturn_t read_gpu(unsigned int gpu, fn_Gpu *out);
nvmlReturn_t copy_text(const char *text, char *buffer, unsigned int size);
/* GPUs that were taken away keep their place in the state, so that handles of the others stay valid. */
bool fn_removed(unsigned int gpu);
nvmlReturn_t node_value(size_t offset, void *out, size_t size);

/* ---- MIG (mig.c), used by device.c ---- */
nvmlReturn_t mig_resolve(const fn_Gpu *gpu, const fn_handle *h, const fn_GpuInstance **gi, const fn_ComputeInstance **ci);
void mig_uuid(const fn_Gpu *gpu, unsigned int gi, unsigned int ci, char *out48);
const fn_Profile *mig_profile_of(const fn_Gpu *gpu, const fn_GpuInstance *gi);
unsigned int mig_slices_of(unsigned int ci_profile);
void mig_name(const fn_Gpu *gpu, const fn_GpuInstance *gi, const fn_ComputeInstance *ci, char *out, size_t size);

void caps_follow(unsigned int gpu); /* caps.c: the driver root's capability files, after instances came or went */

void session_wake(void); /* wakes this process's own event waiters (shutdown, free) */

#define SCALAR(g, name) ((g)->scalars[F_##name].value)

#endif
