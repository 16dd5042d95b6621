/* The session of this process: the reference count of nvmlInit and the mapping of its node.
 *
 * The session block sits on a page that fork() hands to a child as zeros (MADV_WIPEONFORK): like the real driver, a child
 * is uninitialised until it calls nvmlInit itself. The mapping is kept after nvmlShutdown, so a thread that is still
 * inside a call reads valid memory; it is reused by the next nvmlInit and unmapped when the library is closed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "state/futex.h"
#include "state/session.h"
#include "state/visible.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define IN_CONTAINER "/run/fake-nvml/state"

typedef struct {
    uint32_t lock;
    uint32_t references;
    uint32_t sessions; /* counts nvmlInit after nvmlShutdown: old event sets are not those of this session */
    uint32_t events;   /* the lock of session_events_begin */
    uint64_t epoch;
} fn_session_block;

static fn_session_block *g_block; /* never freed before the library is closed */
static fn_map g_map;
static char g_dev[4096];  /* the folder of the device files in a container; empty outside */
static char g_path[4096]; /* set by fnvml_use_state: a copy of the library bound to one node */

static fn_session_block *block(void) {
    fn_session_block *now = __atomic_load_n(&g_block, __ATOMIC_ACQUIRE);
    if (now != NULL) return now;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return NULL;
    (void)madvise(page, 4096, MADV_WIPEONFORK);
    if (!__atomic_compare_exchange_n(&g_block, &now, page, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        munmap(page, 4096);
        return now;
    }
    return page;
}

__attribute__((destructor)) static void unload(void) {
    map_close(&g_map);
    if (g_block != NULL) munmap(g_block, 4096);
    g_block = NULL;
}

static void lock(uint32_t *word) {
    uint32_t free_word = 0;
    while (!__atomic_compare_exchange_n(word, &free_word, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
        free_word = 0;
    }
}
static void unlock(uint32_t *word) {
    __atomic_store_n(word, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

const fn_map *fn_current(void) { return &g_map; }
bool fn_initialized(void) {
    fn_session_block *b = __atomic_load_n(&g_block, __ATOMIC_ACQUIRE);
    return b != NULL && __atomic_load_n(&b->references, __ATOMIC_ACQUIRE) != 0;
}
unsigned int fn_session(void) { return g_block == NULL ? 0 : g_block->sessions; }
void session_events_begin(void) { lock(&g_block->events); } /* after fn_enter, so the block exists */
void session_events_end(void) { unlock(&g_block->events); }

/* Binds this copy of the library to one node, regardless of the environment. Call it before nvmlInit. */
API int fnvml_use_state(const char *path) {
    if (path == NULL || strlen(path) >= sizeof(g_path)) return E_INVALID_ARGUMENT;
    strcpy(g_path, path);
    return OK;
}

/* Cuts the last `levels` components off; false if there are fewer. */
static bool cut(char *path, int levels) {
    for (; levels > 0; levels--) {
        char *slash = strrchr(path, '/');
        if (slash == NULL) return false;
        *slash = 0;
    }
    return true;
}

static nvmlReturn_t find_state(char *path, char *dev) {
    dev[0] = 0;
    if (g_path[0] != 0) {
        strcpy(path, g_path);
        return OK;
    }
    const char *named = secure_getenv("FAKE_NVML_STATE");
    if (named != NULL && named[0] != 0) {
        if (strlen(named) >= 4096) return E_DRIVER_NOT_LOADED;
        strcpy(path, named);
        return OK;
    }
    /* In a driver root the library is in <node>/driver/usr/lib64, the state in <node>/state. A container has both below its
     * own root: the library in usr/lib64, the state in run/fake-nvml, the device files in dev. */
    Dl_info self;
    char real[PATH_MAX];
    if (dladdr((void *)(uintptr_t)&fn_current, &self) != 0 && self.dli_fname != NULL && realpath(self.dli_fname, real) != NULL &&
        cut(real, 3)) {
        if (snprintf(path, 4096, "%s" IN_CONTAINER, real) < 4096 && snprintf(dev, 4096, "%s/dev", real) < 4096) {
            char above[PATH_MAX + 8];
            strcpy(above, real);
            if (cut(above, 1) && access(strcat(above, "/state"), R_OK) == 0) {
                dev[0] = 0;
                strcpy(path, above);
                return OK;
            }
            if (access(path, F_OK) == 0) return OK;
        }
    }
    strcpy(path, IN_CONTAINER);
    strcpy(dev, "/dev");
    return OK;
}

static nvmlReturn_t attach(unsigned int flags) {
    char path[4096];
    nvmlReturn_t rc = find_state(path, g_dev);
    if (rc != OK) return rc;
    fn_map fresh = {0};
    rc = map_open(&fresh, path);
    if (rc != OK) return rc;
    if (g_map.header != NULL && g_map.dev == fresh.dev && g_map.ino == fresh.ino) map_close(&fresh);
    else {
        map_close(&g_map);
        g_map = fresh;
    }
    struct {
        uint32_t gpu_count, cuda_version, alive, fault_count, log_calls;
        int32_t init_rc;
    } head;
    rc = map_snapshot(&g_map, 0, &head, sizeof(head));
    if (rc != OK) return rc;
    if (head.alive != 1) return E_DRIVER_NOT_LOADED;
    if (head.gpu_count > MAX_GPUS) return E_LIB_RM_VERSION_MISMATCH;
    if (head.init_rc != OK) return head.init_rc;
    if (head.gpu_count == 0 && (flags & 1) == 0) return E_DRIVER_NOT_LOADED;
    return OK;
}

bool session_node(void) {
    fn_session_block *b = block();
    if (b == NULL) return false;
    lock(&b->lock);
    if (g_map.header == NULL) (void)attach(1);
    unlock(&b->lock);
    return g_map.header != NULL;
}

nvmlReturn_t session_init_begin(unsigned int flags) {
    fn_session_block *b = block();
    if (b == NULL) return E_MEMORY;
    lock(&b->lock);
    if (b->references != 0) return OK;
    nvmlReturn_t rc = attach(flags);
    if (rc == OK) rc = visible_begin(g_dev, &g_map);
    if (rc == OK) {
        b->epoch = __atomic_load_n(&g_map.header->epoch, __ATOMIC_ACQUIRE);
        b->sessions++;
    }
    return rc;
}

nvmlReturn_t session_init_end(nvmlReturn_t rc) {
    fn_session_block *b = g_block;
    if (b == NULL) return rc; /* no memory: begin did not lock */
    if (rc == OK) __atomic_add_fetch(&b->references, 1, __ATOMIC_RELEASE);
    unlock(&b->lock);
    return rc;
}

nvmlReturn_t session_shutdown(void) {
    fn_session_block *b = block();
    if (b == NULL) return E_MEMORY;
    lock(&b->lock);
    nvmlReturn_t rc = E_UNINITIALIZED;
    if (b->references != 0) {
        bool last = b->references == 1;
        if (last) session_events_begin();
        __atomic_sub_fetch(&b->references, 1, __ATOMIC_RELEASE);
        if (last) session_events_end();
        rc = OK;
    }
    unlock(&b->lock);
    return rc;
}

nvmlReturn_t session_alive(fn_watch *now) {
    if (!fn_initialized()) return E_UNINITIALIZED;
    if (__atomic_load_n(&g_map.header->epoch, __ATOMIC_ACQUIRE) != g_block->epoch) return E_DRIVER_NOT_LOADED;
    nvmlReturn_t rc = map_snapshot(&g_map, offsetof(fn_State, alive), now, sizeof(*now));
    if (rc != OK) return rc;
    return now->alive == 1 ? OK : E_DRIVER_NOT_LOADED;
}

nvmlReturn_t fn_write(fn_txn *txn) { return txn_begin(txn, &g_map); }
