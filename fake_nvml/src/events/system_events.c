/* Events of the system: the driver was bound to a GPU, or unbound. They are in the ring of the GPUs' events. */
#include "calls/enter.h"
#include "events/event_sets.h"

#define SUPPORTED (SYSTEM_EVENT_UNBIND | SYSTEM_EVENT_BIND)

#define BEGIN(type, version_number) \
    nvmlReturn_t rc = fn_enter(__func__); \
    if (rc != OK) return rc; \
    if (request == NULL) return E_INVALID_ARGUMENT; \
    if (request->version != VERSION(type, version_number)) return E_VERSION_MISMATCH;

API nvmlReturn_t nvmlSystemEventSetCreate(nvmlSystemEventSetCreateRequest_v1_t *request) {
    BEGIN(nvmlSystemEventSetCreateRequest_v1_t, 1)
    handle_t set;
    rc = set_create(KIND_SYSTEM_EVENT_SET, &set);
    if (rc == OK) request->set = set;
    return rc;
}

API nvmlReturn_t nvmlSystemEventSetFree(nvmlSystemEventSetFreeRequest_v1_t *request) {
    BEGIN(nvmlSystemEventSetFreeRequest_v1_t, 1)
    event_set *set = set_find(request->set, KIND_SYSTEM_EVENT_SET);
    if (set == NULL) return E_INVALID_ARGUMENT;
    set_free(set);
    return OK;
}

API nvmlReturn_t nvmlSystemRegisterEvents(nvmlSystemRegisterEventRequest_v1_t *request) {
    BEGIN(nvmlSystemRegisterEventRequest_v1_t, 1)
    event_set *set = set_find(request->set, KIND_SYSTEM_EVENT_SET);
    if (set == NULL) return E_INVALID_ARGUMENT;
    if ((request->eventTypes & ~SUPPORTED) != 0) return E_NOT_SUPPORTED;
    uint64_t head = ring_head();
    for (unsigned int gpu = 0; gpu < MAX_GPUS; gpu++) { /* of every GPU, those too that come later */
        if (__atomic_load_n(&set->mask[gpu], __ATOMIC_RELAXED) == 0) set->since[gpu] = head;
        __atomic_or_fetch(&set->mask[gpu], request->eventTypes, __ATOMIC_RELEASE);
    }
    return OK;
}

API nvmlReturn_t nvmlSystemEventSetWait(nvmlSystemEventSetWaitRequest_v1_t *request) {
    BEGIN(nvmlSystemEventSetWaitRequest_v1_t, 1)
    if (request->data == NULL || request->dataSize == 0) return E_INVALID_ARGUMENT;
    nvmlSystemEventData_v1_t *data = request->data;
    int64_t deadline = monotonic_ns() + (int64_t)request->timeoutms * 1000000;
    unsigned int found = 0;
    request->numEvent = 0;
    while (found < request->dataSize) {
        fn_Event event;
        int64_t left = found > 0 ? 0 : deadline - monotonic_ns(); /* after the first event, only those that are in the ring already */
        rc = set_wait(request->set, KIND_SYSTEM_EVENT_SET, &event, left > 0 ? (unsigned int)((left + 999999) / 1000000) : 0);
        if (rc != OK) break;
        fn_Gpu gpu;
        rc = read_gpu(event.gpu, &gpu);
        if (rc != OK) break;
        data[found].eventType = event.type & SUPPORTED;
        data[found].gpuId = gpu.domain << 16 | gpu.bus << 8 | gpu.device;
        found++;
    }
    request->numEvent = found;
    return found > 0 ? OK : rc;
}
