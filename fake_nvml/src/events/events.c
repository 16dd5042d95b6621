/* Events of GPUs: which there are, register, wait, free. Sets live in event_sets.c. */
#include "calls/enter.h"
#include "events/event_sets.h"

/* Bits that name no event type, which a GPU of release 580 accepts beside those of its mask. */
#define UNNAMED_TYPES 0x60ull

API nvmlReturn_t nvmlEventSetCreate(handle_t *set) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (set == NULL) return E_INVALID_ARGUMENT;
    session_events_begin();
    rc = set_create(KIND_EVENT_SET, set);
    session_events_end();
    return rc;
}

API nvmlReturn_t nvmlEventSetFree(handle_t set) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    session_events_begin();
    event_set *s = set_find(set, KIND_EVENT_SET);
    if (s != NULL) set_free(s);
    session_events_end();
    return s == NULL ? E_INVALID_ARGUMENT : OK;
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

static nvmlReturn_t set_register(handle_t set, unsigned int gpu, uint64_t types) {
    event_set *s = set_find(set, KIND_EVENT_SET);
    if (s == NULL) return E_INVALID_ARGUMENT;
    uint64_t supported = 0;
    nvmlReturn_t rc = read_scalar(gpu, F_supported_events, &supported);
    if (rc != OK) return rc;
    if ((types & ~(supported | UNNAMED_TYPES)) != 0) return E_NOT_SUPPORTED;
    if (__atomic_load_n(&s->mask[gpu], __ATOMIC_RELAXED) == 0) s->since[gpu] = ring_head();
    __atomic_or_fetch(&s->mask[gpu], types, __ATOMIC_RELEASE);
    return OK;
}

API nvmlReturn_t nvmlDeviceRegisterEvents(handle_t device, unsigned long long types, handle_t set) {
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    session_events_begin();
    rc = set_register(set, h.gpu, types);
    session_events_end();
    return rc;
}

static nvmlReturn_t wait_data(const char *function, handle_t set, nvmlEventData_t *data, unsigned int timeout_ms) {
    fn_Event event;
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    session_events_begin();
    rc = set_wait(set, KIND_EVENT_SET, &event, timeout_ms);
    session_events_end();
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
