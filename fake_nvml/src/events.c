/* Event sets: create, register, wait, free.
 *
 * Events lie in the ring of the state file; a set holds a cursor into it and a mask per GPU, in this process only. Waiting
 * is a futex sleep on the generation word, so an injection by another process wakes it at once. A sleep is cut into slices
 * of 100 ms, which bounds what a wake-up lost to a killed writer, a free or a shutdown can cost. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "core.h"

#define MAX_SETS 64
#define SLICE_NS 100000000

typedef struct {
    uint32_t used;
    uint32_t serial;
    uint32_t session;
    uint32_t lock;
    uint64_t cursor;
    uint64_t mask[MAX_GPUS];
    uint64_t since[MAX_GPUS]; /* events up to this number came before the registration */
} event_set;

static event_set g_sets[MAX_SETS];
static uint32_t g_next_serial;

static uint64_t head(void) {
    uint64_t value = 0;
    (void)node_value(offsetof(fn_State, event_head), &value, sizeof(value));
    return value;
}

API nvmlReturn_t nvmlEventSetCreate(handle_t *set) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (set == NULL) return E_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < MAX_SETS; i++) {
        event_set *s = &g_sets[i];
        uint32_t used = __atomic_load_n(&s->used, __ATOMIC_ACQUIRE);
        if (used == 1 && s->session != fn_session()) { /* left over from a former nvmlInit */
            (void)__atomic_compare_exchange_n(&s->used, &used, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
            used = __atomic_load_n(&s->used, __ATOMIC_ACQUIRE);
        }
        if (used != 0 || !__atomic_compare_exchange_n(&s->used, &used, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        s->serial = __atomic_add_fetch(&g_next_serial, 1, __ATOMIC_RELAXED) & 0xFFFFF;
        s->session = fn_session();
        s->cursor = head();
        memset(s->mask, 0, sizeof(s->mask));
        memset(s->since, 0, sizeof(s->since));
        __atomic_store_n(&s->used, 1, __ATOMIC_RELEASE);
        *set = handle_make(KIND_EVENT_SET, i, 0, 0, s->serial);
        return OK;
    }
    return E_INSUFFICIENT_RESOURCES;
}

static event_set *find(handle_t handle) {
    fn_handle h;
    if (!handle_read(handle, &h) || h.kind != KIND_EVENT_SET || h.gpu >= MAX_SETS) return NULL;
    event_set *s = &g_sets[h.gpu];
    if (__atomic_load_n(&s->used, __ATOMIC_ACQUIRE) != 1 || s->serial != h.serial || s->session != fn_session())
        return NULL;
    return s;
}

API nvmlReturn_t nvmlEventSetFree(handle_t set) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    event_set *s = find(set);
    if (s == NULL) return E_INVALID_ARGUMENT;
    __atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
    session_wake();
    return OK;
}

API nvmlReturn_t nvmlDeviceGetSupportedEventTypes(handle_t device, unsigned long long *types) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (types == NULL) return E_INVALID_ARGUMENT;
    uint64_t value;
    rc = read_scalar(h.gpu, F_supported_events, &value);
    if (rc == OK) *types = value;
    return rc;
}

API nvmlReturn_t nvmlDeviceRegisterEvents(handle_t device, unsigned long long types, handle_t set) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    event_set *s = find(set);
    if (s == NULL) return E_INVALID_ARGUMENT;
    uint64_t supported = 0;
    rc = read_scalar(h.gpu, F_supported_events, &supported);
    if (rc != OK) return rc;
    if ((types & ~supported) != 0) return E_NOT_SUPPORTED;
    if (__atomic_load_n(&s->mask[h.gpu], __ATOMIC_RELAXED) == 0) s->since[h.gpu] = head();
    __atomic_or_fetch(&s->mask[h.gpu], types, __ATOMIC_RELEASE);
    return OK;
}

/* Takes the next event for this set, in order; false when there is none. Threads that wait on one set share its events. */
static bool take(event_set *s, fn_Event *out) {
    const fn_map *map = fn_current();
    for (unsigned int damaged = 0;;) {
        uint64_t top = head();
        uint64_t at = __atomic_load_n(&s->cursor, __ATOMIC_ACQUIRE);
        if (at >= top) return false;
        uint64_t next = at + 1;
        if (top > RING_SIZE / 2 && next <= top - RING_SIZE / 2) next = top - RING_SIZE / 2 + 1; /* too slow: oldest dropped */
        fn_Event event = map_ring(map)[next % RING_SIZE];
        if (event.seq != next && ++damaged < 1000) continue;
        if (!__atomic_compare_exchange_n(&s->cursor, &at, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
        if (event.seq != next || event.gpu >= MAX_GPUS || next <= s->since[event.gpu]) continue;
        if ((__atomic_load_n(&s->mask[event.gpu], __ATOMIC_ACQUIRE) & event.type) == 0) continue;
        *out = event;
        return true;
    }
}

static nvmlReturn_t wait_event(const char *function, handle_t set, fn_Event *event, unsigned int timeout_ms) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (find(set) == NULL) return E_INVALID_ARGUMENT;
    int64_t deadline = monotonic_ns() + (int64_t)timeout_ms * 1000000;
    for (;;) {
        uint64_t gen = map_gen(fn_current());
        event_set *s = find(set);
        if (!fn_initialized()) return E_UNINITIALIZED;
        if (s == NULL) return E_INVALID_ARGUMENT;
        uint32_t alive = 0;
        rc = node_value(offsetof(fn_State, alive), &alive, sizeof(alive));
        if (rc == OK && alive != 1) rc = E_DRIVER_NOT_LOADED;
        if (rc != OK) return rc;
        if (take(s, event)) return OK;
        int64_t now = monotonic_ns();
        if (now >= deadline) return E_TIMEOUT;
        (void)map_wait(fn_current(), gen, deadline - now > SLICE_NS ? now + SLICE_NS : deadline);
    }
}

static nvmlReturn_t wait_data(const char *function, handle_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    fn_Event event;
    nvmlReturn_t rc = wait_event(function, set, &event, timeout_ms);
    if (rc != OK) return rc;
    handle_t device = handle_make(KIND_DEVICE, event.gpu, 0, 0, 0);
    memcpy((char *)data + offsetof(nvmlEventData_t, device), &device, sizeof(device));
    data->eventType = event.type;
    data->eventData = event.data;
    data->gpuInstanceId = event.gi;
    data->computeInstanceId = event.ci;
    return OK;
}

API nvmlReturn_t nvmlEventSetWait_v2(handle_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    if (data == NULL) return fn_initialized() ? E_INVALID_ARGUMENT : E_UNINITIALIZED;
    return wait_data(__func__, set, data, timeout_ms);
}

/* The first version of the structure ends before the instance ids. */
API nvmlReturn_t nvmlEventSetWait(handle_t set, void *data, unsigned int timeout_ms) {
    nvmlEventData_t full;
    if (data == NULL) return fn_initialized() ? E_INVALID_ARGUMENT : E_UNINITIALIZED;
    nvmlReturn_t rc = wait_data(__func__, set, &full, timeout_ms);
    if (rc == OK) memcpy(data, &full, offsetof(nvmlEventData_t, gpuInstanceId));
    return rc;
}
