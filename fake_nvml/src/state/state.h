/* The state file of a node: read-only mapping, consistent reads, waiting, and transactions (state.c).
 *
 * The library keeps no copy of the node: every call reads the mapped file (see fake_nvml/layout.py), so the next call sees
 * a change by any process. The library starts no thread, installs no signal handler, and has no constructor and no TLS. */
#ifndef FNVML_STATE_H
#define FNVML_STATE_H

#include "abi/nvml.h"
#include "state/layout.h"

#define SCALAR(g, name) ((g)->scalars[F_##name].value)

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

#endif
