/* Event sets: their table, how they take events and how they wait.
 *
 * Events are in the ring of the state file; a set has a cursor into it and a mask per GPU, in this process only. Waiting
 * is a futex sleep on the generation word, so an injection by another process wakes it at once. A sleep is cut into slices
 * of 100 ms, which bounds what a wake-up lost to a killed writer can cost. */
#define _GNU_SOURCE
#include "events/event_sets.h"
#include "state/values.h"

#define MAX_SETS 64
#define SLICE_NS 100000000

static event_set g_sets[MAX_SETS];
static uint32_t g_next_serial;

uint64_t ring_head(void) {
    uint64_t value = 0;
    (void)node_value(offsetof(fn_State, event_head), &value, sizeof(value));
    return value;
}

nvmlReturn_t set_create(enum handle_kind kind, handle_t *set) {
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
        s->kind = kind;
        s->cursor = ring_head();
        memset(s->mask, 0, sizeof(s->mask));
        memset(s->since, 0, sizeof(s->since));
        __atomic_store_n(&s->used, 1, __ATOMIC_RELEASE);
        *set = handle_make(kind, i, 0, 0, s->serial);
        return OK;
    }
    return E_INSUFFICIENT_RESOURCES;
}

event_set *set_find(handle_t handle, enum handle_kind kind) {
    fn_handle h;
    if (!handle_read(handle, &h) || h.kind != kind || h.gpu >= MAX_SETS) return NULL;
    event_set *s = &g_sets[h.gpu];
    if (__atomic_load_n(&s->used, __ATOMIC_ACQUIRE) != 1 || s->serial != h.serial || s->session != fn_session() || s->kind != kind)
        return NULL;
    return s;
}

void set_free(event_set *s) {
    __atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
}

/* Takes the next event for this set, in order; false when there is none. Threads that wait on one set share its events. */
bool set_take(event_set *s, fn_Event *out) {
    const fn_map *map = fn_current();
    for (unsigned int damaged = 0;;) {
        uint64_t top = ring_head();
        uint64_t at = __atomic_load_n(&s->cursor, __ATOMIC_ACQUIRE);
        if (at >= top) return false;
        uint64_t next = at + 1;
        if (top > RING_SIZE / 2 && next <= top - RING_SIZE / 2) next = top - RING_SIZE / 2 + 1; /* too slow: oldest dropped */
        fn_Event event = map_ring(map)[next % RING_SIZE];
        if (event.seq != next && ++damaged < 1000) continue;
        if (!__atomic_compare_exchange_n(&s->cursor, &at, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
        if (event.seq != next || event.gpu >= MAX_GPUS || next <= s->since[event.gpu]) continue;
        if ((s->kind == KIND_SYSTEM_EVENT_SET) != ((event.type & SYSTEM_EVENT) != 0)) continue;
        if ((__atomic_load_n(&s->mask[event.gpu], __ATOMIC_ACQUIRE) & event.type) == 0) continue;
        *out = event;
        return true;
    }
}

nvmlReturn_t set_wait(handle_t handle, enum handle_kind kind, fn_Event *event, unsigned int timeout_ms) {
    if (set_find(handle, kind) == NULL) return E_INVALID_ARGUMENT;
    int64_t deadline = monotonic_ns() + (int64_t)timeout_ms * 1000000;
    for (;;) {
        uint64_t gen = map_gen(fn_current());
        event_set *s = set_find(handle, kind);
        if (!fn_initialized()) return E_UNINITIALIZED;
        if (s == NULL) return E_INVALID_ARGUMENT;
        uint32_t alive = 0;
        nvmlReturn_t rc = node_value(offsetof(fn_State, alive), &alive, sizeof(alive));
        if (rc == OK && alive != 1) rc = E_DRIVER_NOT_LOADED;
        if (rc != OK) return rc;
        if (set_take(s, event)) return OK;
        int64_t now = monotonic_ns();
        if (now >= deadline) return E_TIMEOUT;
        (void)map_wait(fn_current(), gen, deadline - now > SLICE_NS ? now + SLICE_NS : deadline);
    }
}
