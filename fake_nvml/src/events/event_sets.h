/* Event sets of GPUs and of the system, shared by events.c and system_events.c (event_sets.c). */
#ifndef FNVML_EVENT_SETS_H
#define FNVML_EVENT_SETS_H

#include "abi/handles.h"
#include "state/state.h"

/* In the ring, an event of the system has this bit beside its type: the types of both kinds are the same small numbers. */
#define SYSTEM_EVENT (1ull << 62)
#define SYSTEM_EVENT_UNBIND 1
#define SYSTEM_EVENT_BIND 2

typedef struct {
    uint32_t used;
    uint32_t serial;
    uint32_t session;
    uint32_t kind; /* of its handle: a device set or a system set */
    uint64_t cursor;
    uint64_t mask[MAX_GPUS];
    uint64_t since[MAX_GPUS]; /* events up to this number came before the registration */
} event_set;

nvmlReturn_t set_create(enum handle_kind kind, handle_t *set);
event_set *set_find(handle_t handle, enum handle_kind kind);
void set_free(event_set *set);
uint64_t ring_head(void);
/* Takes the next event that a set is registered for, in order; false when there is none. */
bool set_take(event_set *set, fn_Event *out);
/* The same, and sleeps until there is one. */
nvmlReturn_t set_wait(handle_t handle, enum handle_kind kind, fn_Event *event, unsigned int timeout_ms);

#endif
