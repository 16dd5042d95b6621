/* The state file: mapping, consistent reads, waiting and transactions. Also the control library's exports (fnvml_*).
 *
 * Copy and flip: a writer locks the file, copies the current half to the other one, changes that, and publishes it by
 * storing gen+1. A writer that dies at any instruction before the store has changed nothing that readers look at; the
 * kernel releases its lock. Readers take no lock: they use the half of the generation they saw and read again if it moved.
 * The lock is an open-file-description write lock, which needs a writable descriptor: a process that may only read the
 * state cannot hold up writers. Waiters sleep on the low word of gen, in the shared mapping, so a read-only mapping will do. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "state/futex.h"
#include "state/state.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the state file is little-endian"
#endif

int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static nvmlReturn_t open_state(const char *path, int flags, struct stat *info, int *out) {
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno == EACCES || errno == EPERM || errno == EROFS ? E_NO_PERMISSION : E_DRIVER_NOT_LOADED;
    if (fstat(fd, info) != 0 || !S_ISREG(info->st_mode)) {
        close(fd);
        return E_DRIVER_NOT_LOADED;
    }
    if ((uint64_t)info->st_size != FILE_SIZE) {
        close(fd);
        return E_LIB_RM_VERSION_MISMATCH;
    }
    *out = fd;
    return OK;
}

nvmlReturn_t map_open(fn_map *map, const char *path) {
    struct stat info;
    int fd = -1;
    if (strlen(path) >= sizeof(map->path)) return E_DRIVER_NOT_LOADED;
    nvmlReturn_t rc = open_state(path, O_RDONLY, &info, &fd);
    if (rc != OK) return rc;
    void *base = mmap(NULL, FILE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (base == MAP_FAILED) return E_MEMORY;
    const fn_Header *header = base;
    if (header->magic != FNVML_MAGIC || header->layout_version != LAYOUT_VERSION || header->file_size != FILE_SIZE) {
        munmap(base, FILE_SIZE);
        return E_LIB_RM_VERSION_MISMATCH;
    }
    map->header = header;
    map->dev = (uint64_t)info.st_dev;
    map->ino = (uint64_t)info.st_ino;
    strcpy(map->path, path);
    return OK;
}

void map_close(fn_map *map) {
    if (map->header != NULL) munmap((void *)(uintptr_t)map->header, FILE_SIZE);
    map->header = NULL;
}

static int lock_file(int fd, short type) {
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET};
    int rc;
    do rc = fcntl(fd, F_OFD_SETLKW, &lock);
    while (rc != 0 && errno == EINTR);
    return rc;
}

nvmlReturn_t map_snapshot(const fn_map *map, size_t offset, void *out, size_t size) {
    for (int attempt = 0; attempt < 1000; attempt++) {
        uint64_t gen = map_gen(map);
        memcpy(out, (const char *)map_state(map, gen) + offset, size);
        if (map_stable(map, gen)) return OK;
    }
    /* A storm of writers: hold them off for one read. */
    struct stat info;
    int fd = -1;
    nvmlReturn_t rc = open_state(map->path, O_RDONLY, &info, &fd);
    if (rc != OK) return rc;
    if (lock_file(fd, F_RDLCK) == 0) memcpy(out, (const char *)map_state(map, map_gen(map)) + offset, size);
    else rc = E_UNKNOWN;
    close(fd);
    return rc;
}

int map_wait(const fn_map *map, uint64_t gen, int64_t deadline_ns) {
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    const uint32_t *word = (const uint32_t *)&map->header->gen; /* low half */
    long rc = syscall(SYS_futex, word, FUTEX_WAIT_BITSET, (uint32_t)gen, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    return rc != 0 && errno == ETIMEDOUT ? 1 : 0;
}

nvmlReturn_t txn_begin(fn_txn *txn, const fn_map *map) {
    struct stat info;
    nvmlReturn_t rc = open_state(map->path, O_RDWR, &info, &txn->fd);
    if (rc != OK) return rc;
    if ((uint64_t)info.st_dev != map->dev || (uint64_t)info.st_ino != map->ino) {
        close(txn->fd);
        return E_DRIVER_NOT_LOADED;
    }
    char *base = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, txn->fd, 0);
    if (base == MAP_FAILED || lock_file(txn->fd, F_WRLCK) != 0) {
        if (base != MAP_FAILED) munmap(base, FILE_SIZE);
        close(txn->fd);
        return E_UNKNOWN;
    }
    txn->header = (fn_Header *)base;
    uint64_t gen = txn->header->gen;
    const fn_State *active = (const fn_State *)(base + STATE_OFFSET(gen));
    txn->state = (fn_State *)(base + STATE_OFFSET(gen + 1));
    txn->ring = (fn_Event *)(base + RING_OFFSET);
    size_t count = active->gpu_count <= MAX_GPUS ? active->gpu_count : MAX_GPUS;
    memcpy(txn->state, active, offsetof(fn_State, gpus) + count * sizeof(fn_Gpu));
    return OK;
}

static void txn_end(fn_txn *txn) {
    munmap(txn->header, FILE_SIZE);
    close(txn->fd);
    txn->header = NULL;
}

void txn_publish(fn_txn *txn) {
    const void *word = &txn->header->gen;
    __atomic_store_n(&txn->header->gen, txn->header->gen + 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void txn_commit(fn_txn *txn) {
    txn_publish(txn);
    txn_end(txn);
}

void txn_abort(fn_txn *txn) { txn_end(txn); }

void txn_event(fn_txn *txn, uint32_t gpu, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci) {
    uint64_t seq = txn->state->event_head + 1;
    fn_Event *slot = &txn->ring[seq % RING_SIZE];
    slot->type = type;
    slot->data = data;
    slot->gpu = gpu;
    slot->gi = gi;
    slot->ci = ci;
    slot->seq = seq;
    txn->state->event_head = seq;
}

/* ---- exports of the control library: the Python side reads and writes through the same code ---- */
#ifdef FNVML_CONTROL

typedef struct {
    fn_map map;
    fn_txn txn;
} fnvml_node;

API fnvml_node *fnvml_open(const char *path, int *rc) {
    fnvml_node *node = calloc(1, sizeof(*node));
    *rc = node == NULL ? E_MEMORY : map_open(&node->map, path);
    if (*rc != OK) {
        free(node);
        node = NULL;
    }
    return node;
}
API void fnvml_close(fnvml_node *node) {
    map_close(&node->map);
    free(node);
}
API fn_State *fnvml_begin(fnvml_node *node, int *rc) {
    *rc = txn_begin(&node->txn, &node->map);
    return *rc == OK ? node->txn.state : NULL;
}
API void fnvml_commit(fnvml_node *node) { txn_commit(&node->txn); }
API void fnvml_abort(fnvml_node *node) { txn_abort(&node->txn); }
API void fnvml_event(fnvml_node *node, uint32_t gpu, uint64_t type, uint64_t data, uint32_t gi, uint32_t ci) {
    txn_event(&node->txn, gpu, type, data, gi, ci);
}
API void fnvml_bump_epoch(fnvml_node *node) {
    __atomic_add_fetch(&node->txn.header->epoch, 1, __ATOMIC_RELEASE);
}
API int fnvml_snapshot(const fnvml_node *node, uint64_t offset, void *out, uint64_t size) {
    if (offset > sizeof(fn_State) || size > sizeof(fn_State) - offset) return E_INVALID_ARGUMENT;
    return map_snapshot(&node->map, offset, out, size);
}
API uint64_t fnvml_generation(const fnvml_node *node) { return map_gen(&node->map); }
API int fnvml_wait(const fnvml_node *node, uint64_t gen, int64_t timeout_ns) {
    return map_wait(&node->map, gen, monotonic_ns() + timeout_ns);
}
API uint64_t fnvml_file_size(void) { return FILE_SIZE; }
API uint64_t fnvml_state_offset(void) { return STATE_OFFSET(0); }

#endif
