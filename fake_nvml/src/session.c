/* What one process holds: the reference count of nvmlInit, the mapping of its node, and how a handle is read.
 *
 * The session block sits on a page that fork() hands to a child as zeros (MADV_WIPEONFORK): like the real driver, a child
 * is uninitialised until it calls nvmlInit itself. The mapping is kept after nvmlShutdown, so a thread that is still
 * inside a call reads valid memory; it is reused by the next nvmlInit and unmapped when the library is closed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

typedef struct {
    uint32_t lock;
    uint32_t references;
    uint32_t sessions; /* counts nvmlInit after nvmlShutdown: old event sets are not those of this session */
    uint32_t reserved;
    uint64_t epoch;
} fn_session_block;

static fn_session_block *g_block; /* never freed before the library is closed */
static fn_map g_map;
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

static void lock(fn_session_block *b) {
    uint32_t free_word = 0;
    while (!__atomic_compare_exchange_n(&b->lock, &free_word, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        syscall(SYS_futex, &b->lock, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
        free_word = 0;
    }
}
static void unlock(fn_session_block *b) {
    __atomic_store_n(&b->lock, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &b->lock, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

const fn_map *fn_current(void) { return &g_map; }
bool fn_initialized(void) {
    fn_session_block *b = __atomic_load_n(&g_block, __ATOMIC_ACQUIRE);
    return b != NULL && __atomic_load_n(&b->references, __ATOMIC_ACQUIRE) != 0;
}
unsigned int fn_session(void) { return g_block == NULL ? 0 : g_block->sessions; }
void session_wake(void) {
    if (g_map.header != NULL) syscall(SYS_futex, &g_map.header->gen, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Binds this copy of the library to one node, whatever the environment says. Before nvmlInit. */
API int fnvml_use_state(const char *path) {
    if (path == NULL || strlen(path) >= sizeof(g_path)) return E_INVALID_ARGUMENT;
    strcpy(g_path, path);
    return OK;
}

static nvmlReturn_t find_state(char *path) {
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
    /* In a driver root the library lies in <node>/driver/usr/lib64, the state in <node>/state. */
    Dl_info self;
    if (dladdr((void *)(uintptr_t)&fn_current, &self) != 0 && self.dli_fname != NULL) {
        char real[PATH_MAX];
        if (realpath(self.dli_fname, real) != NULL) {
            for (int up = 0; up < 4; up++) {
                char *slash = strrchr(real, '/');
                if (slash == NULL) break;
                *slash = 0;
            }
            if (snprintf(path, 4096, "%s/state", real) < 4096 && access(path, R_OK) == 0) return OK;
        }
    }
    strcpy(path, "/run/fake-nvml/state");
    return OK;
}

static nvmlReturn_t attach(unsigned int flags) {
    char path[4096];
    nvmlReturn_t rc = find_state(path);
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

static nvmlReturn_t fault(const char *function, int gpu);

API nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
    fn_session_block *b = block();
    if (b == NULL) return E_MEMORY;
    lock(b);
    nvmlReturn_t rc = OK;
    if (b->references == 0) {
        rc = attach(flags);
        if (rc == OK) {
            b->epoch = __atomic_load_n(&g_map.header->epoch, __ATOMIC_ACQUIRE);
            b->sessions++;
        }
    }
    if (rc == OK) rc = fault("nvmlInitWithFlags", -1);
    if (rc == OK) __atomic_add_fetch(&b->references, 1, __ATOMIC_RELEASE);
    unlock(b);
    return rc;
}
API nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
API nvmlReturn_t nvmlInit(void) { return nvmlInitWithFlags(0); }

API nvmlReturn_t nvmlShutdown(void) {
    fn_session_block *b = block();
    if (b == NULL) return E_MEMORY;
    lock(b);
    nvmlReturn_t rc = E_UNINITIALIZED;
    if (b->references != 0) {
        rc = OK;
        if (__atomic_sub_fetch(&b->references, 1, __ATOMIC_RELEASE) == 0) session_wake();
    }
    unlock(b);
    return rc;
}

/* ---- faults: only reached while the node has rules ---- */

static void sleep_ms(uint32_t ms) {
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
}

/* A name, or a beginning of one that ends in a star. */
static bool matches(const char *pattern, size_t size, const char *function) {
    size_t length = strnlen(pattern, size);
    if (length > 0 && pattern[length - 1] == '*') return strncmp(pattern, function, length - 1) == 0;
    return strlen(function) == length && memcmp(pattern, function, length) == 0;
}

static void program_name(char *out16) {
    memset(out16, 0, 16);
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    ssize_t got = read(fd, out16, 15);
    close(fd);
    if (got > 0 && out16[got - 1] == '\n') out16[got - 1] = 0;
}

/* The same draw for the same seed and call number, whichever process makes the call. */
static uint32_t draw(uint32_t seed, uint32_t number) {
    uint64_t v = ((uint64_t)seed << 32 | number) + 0x9E3779B97F4A7C15ull;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9ull;
    v = (v ^ v >> 27) * 0x94D049BB133111EBull;
    return (uint32_t)((v ^ v >> 31) >> 32);
}

static bool due(const fn_Fault *rule) {
    if (rule->seen < rule->after || (rule->times != 0 && rule->hits >= rule->times)) return false;
    if (rule->every > 1 && (rule->seen - rule->after + 1) % rule->every != 0) return false;
    return rule->probability == 0 || draw(rule->seed, rule->seen) < rule->probability;
}

static bool armed(unsigned int number) {
    fn_Fault rule;
    if (!fn_initialized() || __atomic_load_n(&g_map.header->epoch, __ATOMIC_ACQUIRE) != g_block->epoch) return false;
    uint32_t is_alive = 0;
    if (map_snapshot(&g_map, offsetof(fn_State, alive), &is_alive, sizeof(is_alive)) != OK || is_alive != 1) return false;
    return map_snapshot(&g_map, offsetof(fn_State, faults) + number * sizeof(rule), &rule, sizeof(rule)) == OK && rule.active;
}

/* Until the rule is cleared, the driver is reloaded or the node ends; no lock is held meanwhile. */
static void hang(unsigned int number) {
    while (armed(number)) (void)map_wait(&g_map, map_gen(&g_map), monotonic_ns() + 100000000);
}

/* Counting is a transaction; a process that may not write still gets the fault, uncounted. */
static nvmlReturn_t fault(const char *function, int gpu) {
    uint32_t count = 0;
    if (map_snapshot(&g_map, offsetof(fn_State, fault_count), &count, sizeof(count)) != OK || count == 0) return OK;
    fn_Fault rules[MAX_FAULTS];
    if (map_snapshot(&g_map, offsetof(fn_State, faults), rules, sizeof(rules)) != OK) return OK;
    char program[16] = "";
    for (unsigned int i = 0; i < MAX_FAULTS; i++) {
        fn_Fault *rule = &rules[i];
        if (!rule->active || !matches(rule->function, sizeof(rule->function), function)) continue;
        if (rule->gpu >= 0 && rule->gpu != gpu) continue;
        if (rule->pid != 0 && rule->pid != (uint32_t)getpid()) continue;
        if (rule->program[0] != 0) {
            if (program[0] == 0) program_name(program);
            if (strncmp(rule->program, program, sizeof(program)) != 0) continue;
        }
        bool applies = due(rule);
        fn_txn txn;
        if (fn_write(&txn) == OK) {
            fn_Fault *live = &txn.state->faults[i];
            applies = live->active && due(live);
            live->seen++;
            if (applies) live->hits++;
            txn_commit(&txn);
        }
        if (!applies) continue;
        if (rule->delay_ms != 0) sleep_ms(rule->delay_ms);
        if (rule->hang != 0) hang(i);
        if (rule->rc != OK) return rule->rc;
    }
    return OK;
}

/* ---- the call log: one line a call, in a file beside the state, only while the node asks for it ---- */

#define LOG_LIMIT (64 << 20)

static void note(const char *function, int gpu, bool missing) {
    char path[sizeof(g_map.path) + 8], line[256], program[16];
    strcpy(path, g_map.path);
    char *slash = strrchr(path, '/');
    strcpy(slash == NULL ? path : slash + 1, "calls");
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW); /* made by who asked for the log */
    if (fd < 0) return;
    program_name(program);
    int length = snprintf(line, sizeof(line), "%lld %d %s %d %s %s\n", (long long)monotonic_ns(), (int)getpid(), function, gpu,
                          missing ? "missing" : "-", program);
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size < LOG_LIMIT && length > 0)
        (void)!write(fd, line, (size_t)length < sizeof(line) ? (size_t)length : sizeof(line) - 1);
    close(fd);
}

typedef struct {
    uint32_t alive, fault_count, log_calls;
} fn_watch;
_Static_assert(offsetof(fn_State, fault_count) == offsetof(fn_State, alive) + 4, "read as one");
_Static_assert(offsetof(fn_State, log_calls) == offsetof(fn_State, alive) + 8, "read as one");

static nvmlReturn_t alive(fn_watch *now) {
    if (!fn_initialized()) return E_UNINITIALIZED;
    if (__atomic_load_n(&g_map.header->epoch, __ATOMIC_ACQUIRE) != g_block->epoch) return E_DRIVER_NOT_LOADED;
    nvmlReturn_t rc = map_snapshot(&g_map, offsetof(fn_State, alive), now, sizeof(*now));
    if (rc != OK) return rc;
    return now->alive == 1 ? OK : E_DRIVER_NOT_LOADED;
}

static nvmlReturn_t enter(const char *function, bool missing) {
    fn_watch now;
    nvmlReturn_t rc = alive(&now);
    if (rc == OK && now.log_calls) note(function, -1, missing);
    return rc == OK && now.fault_count != 0 ? fault(function, -1) : rc;
}

nvmlReturn_t fn_enter(const char *function) { return enter(function, false); }

nvmlReturn_t fn_stub(const char *function, int newer) {
    nvmlReturn_t rc = enter(function, true);
    return rc != OK ? rc : newer ? E_FUNCTION_NOT_FOUND : E_NOT_SUPPORTED;
}

nvmlReturn_t fn_write(fn_txn *txn) { return txn_begin(txn, &g_map); }

/* ---- handles: 0x5E00 kkkk gggggg iiii ccc ssss… packed below 2^47, so that every runtime takes it for an address ---- */

#define HANDLE_BASE 0x5E0000000000ull
#define SERIAL_BITS 22

handle_t handle_make(enum handle_kind kind, unsigned int gpu, unsigned int gi, unsigned int ci, uint32_t serial) {
    uint64_t v = (((((uint64_t)kind << 6 | (gpu & 63)) << 4 | (gi & 15)) << 3 | (ci & 7)) << SERIAL_BITS) |
                 (serial & ((1u << SERIAL_BITS) - 1));
    return (handle_t)(uintptr_t)(HANDLE_BASE + (v << 1));
}

bool handle_read(handle_t handle, fn_handle *out) {
    uint64_t v = (uint64_t)(uintptr_t)handle;
    if (v < HANDLE_BASE || v >= HANDLE_BASE + (1ull << 40) || (v & 1) != 0) return false;
    v = (v - HANDLE_BASE) >> 1;
    out->serial = (uint32_t)(v & ((1u << SERIAL_BITS) - 1));
    v >>= SERIAL_BITS;
    out->ci = (unsigned int)(v & 7);
    out->gi = (unsigned int)((v >> 3) & 15);
    out->gpu = (unsigned int)((v >> 7) & 63);
    out->kind = (enum handle_kind)(v >> 13);
    return out->kind >= KIND_DEVICE && out->kind <= KIND_GPM_SAMPLE;
}

nvmlReturn_t fn_device(const char *function, handle_t device, fn_handle *out) {
    fn_watch now;
    nvmlReturn_t rc = alive(&now);
    if (rc != OK) return rc;
    if (now.log_calls) {
        bool known = handle_read(device, out);
        note(function, known ? (int)out->gpu : -1, false);
    }
    if (!handle_read(device, out) || (out->kind != KIND_DEVICE && out->kind != KIND_MIG)) return E_INVALID_ARGUMENT;
    for (;;) {
        uint64_t gen = map_gen(&g_map);
        const fn_State *state = map_state(&g_map, gen);
        bool known = out->gpu < state->gpu_count && out->gpu < MAX_GPUS && state->gpus[out->gpu].present;
        uint64_t lost = known ? SCALAR(&state->gpus[out->gpu], is_lost) : 0;
        uint64_t reset = known ? SCALAR(&state->gpus[out->gpu], reset_required) : 0;
        if (!map_stable(&g_map, gen)) continue;
        if (!known) return E_INVALID_ARGUMENT;
        if (lost) return E_GPU_IS_LOST;
        if (reset) return E_RESET_REQUIRED;
        break;
    }
    if (out->kind == KIND_MIG) {
        fn_Gpu gpu;
        rc = read_gpu(out->gpu, &gpu);
        if (rc == OK) rc = mig_resolve(&gpu, out, NULL, NULL);
        if (rc != OK) return rc;
    }
    return now.fault_count != 0 ? fault(function, (int)out->gpu) : OK;
}

nvmlReturn_t fn_gpu(const char *function, handle_t device, fn_handle *out) {
    nvmlReturn_t rc = fn_device(function, device, out);
    return rc == OK && out->kind == KIND_MIG ? E_NOT_SUPPORTED : rc;
}

/* ---- values ---- */

nvmlReturn_t read_scalar(unsigned int gpu, unsigned int field, uint64_t *value) {
    fn_Scalar scalar;
    nvmlReturn_t rc = map_snapshot(&g_map,
                                   offsetof(fn_State, gpus) + gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, scalars) +
                                       field * sizeof(fn_Scalar),
                                   &scalar, sizeof(scalar));
    if (rc == OK) rc = scalar.rc;
    if (rc == OK) *value = scalar.value;
    return rc;
}

nvmlReturn_t copy_text(const char *text, char *buffer, unsigned int size) {
    if (buffer == NULL) return E_INVALID_ARGUMENT;
    size_t length = strlen(text);
    if (length >= size) return E_INSUFFICIENT_SIZE;
    memcpy(buffer, text, length + 1);
    return OK;
}

nvmlReturn_t read_text(unsigned int gpu, unsigned int field, char *buffer, unsigned int size) {
    fn_Text text;
    nvmlReturn_t rc = map_snapshot(&g_map,
                                   offsetof(fn_State, gpus) + gpu * sizeof(fn_Gpu) + offsetof(fn_Gpu, strings) +
                                       field * sizeof(fn_Text),
                                   &text, sizeof(text));
    if (rc == OK) rc = text.rc;
    text.text[STRING_SIZE - 1] = 0;
    return rc == OK ? copy_text(text.text, buffer, size) : rc;
}

nvmlReturn_t read_gpu(unsigned int gpu, fn_Gpu *out) {
    if (gpu >= MAX_GPUS) return E_INVALID_ARGUMENT;
    return map_snapshot(&g_map, offsetof(fn_State, gpus) + gpu * sizeof(fn_Gpu), out, sizeof(*out));
}

nvmlReturn_t node_value(size_t offset, void *out, size_t size) { return map_snapshot(&g_map, offset, out, size); }

bool fn_removed(unsigned int gpu) {
    uint64_t removed = 0;
    return node_value(offsetof(fn_State, removed), &removed, sizeof(removed)) == OK && (removed >> (gpu & 63) & 1) != 0;
}
