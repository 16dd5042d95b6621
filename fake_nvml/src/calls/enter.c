/* The beginning of every exported call, and nvmlInit and nvmlShutdown themselves. */
#include "calls/enter.h"

#include "calls/faults.h"
#include "state/mig_lookup.h"

static nvmlReturn_t init(const char *function, unsigned int flags) {
    nvmlReturn_t rc = session_init_begin(flags);
    if (rc == OK) rc = fault(function, -1);
    return session_init_end(rc);
}
API nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { return init(__func__, flags); }
API nvmlReturn_t nvmlInit_v2(void) { return init(__func__, 0); }
API nvmlReturn_t nvmlInit(void) { return init(__func__, 0); }
API nvmlReturn_t nvmlShutdown(void) { return session_shutdown(); }

static nvmlReturn_t enter(const char *function, bool missing) {
    fn_watch now;
    nvmlReturn_t rc = session_alive(&now);
    if (rc == OK && now.log_calls) note(function, -1, missing);
    return rc == OK && now.fault_count != 0 ? fault(function, -1) : rc;
}

nvmlReturn_t fn_enter(const char *function) { return enter(function, false); }

nvmlReturn_t fn_stub(const char *function, int newer) {
    nvmlReturn_t rc = enter(function, true);
    return rc != OK ? rc : newer ? E_FUNCTION_NOT_FOUND : E_NOT_SUPPORTED;
}

/* The beginning of a call on a GPU or an instance in it; `kinds` has a bit for each accepted kind of handle. Without a
 * function it is not the beginning: the handle alone is looked at. */
static nvmlReturn_t begin(const char *function, handle_t handle, unsigned int kinds, fn_handle *out) {
    fn_watch now;
    nvmlReturn_t rc = session_alive(&now);
    if (rc != OK) return rc;
    bool readable = handle_read(handle, out);
    if (now.log_calls && function != NULL) note(function, readable ? (int)out->gpu : -1, false);
    if (!readable || (kinds >> out->kind & 1) == 0) return E_INVALID_ARGUMENT;
    for (;;) {
        uint64_t gen = map_gen(fn_current());
        const fn_State *state = map_state(fn_current(), gen);
        bool known = out->gpu < state->gpu_count && out->gpu < MAX_GPUS && state->gpus[out->gpu].present;
        uint64_t lost = known ? SCALAR(&state->gpus[out->gpu], is_lost) : 0;
        uint64_t reset = known ? SCALAR(&state->gpus[out->gpu], reset_required) : 0;
        if (!map_stable(fn_current(), gen)) continue;
        if (!known) return E_INVALID_ARGUMENT;
        if (lost) return E_GPU_IS_LOST;
        if (reset) return E_RESET_REQUIRED;
        break;
    }
    if (out->kind != KIND_DEVICE) {
        fn_Gpu gpu;
        rc = read_gpu(out->gpu, &gpu);
        if (rc == OK) rc = mig_resolve(&gpu, out, NULL, NULL);
        if (rc != OK) return rc;
    }
    return now.fault_count != 0 && function != NULL ? fault(function, (int)out->gpu) : OK;
}

nvmlReturn_t fn_device(const char *function, handle_t device, fn_handle *out) {
    return begin(function, device, 1u << KIND_DEVICE | 1u << KIND_MIG, out);
}

nvmlReturn_t fn_second(handle_t device, bool mig_too, fn_handle *out) {
    nvmlReturn_t rc = fn_device(NULL, device, out);
    return rc == OK && out->kind == KIND_MIG && !mig_too ? E_NOT_SUPPORTED : rc;
}

nvmlReturn_t fn_instance(const char *function, handle_t instance, enum handle_kind kind, fn_handle *out) {
    return begin(function, instance, 1u << kind, out);
}

nvmlReturn_t fn_gpu(const char *function, handle_t device, fn_handle *out) {
    nvmlReturn_t rc = fn_device(function, device, out);
    return rc == OK && out->kind == KIND_MIG ? E_NOT_SUPPORTED : rc;
}
