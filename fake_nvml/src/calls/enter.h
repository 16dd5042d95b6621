/* The beginning of every exported call: session, handle, device and fault rules are checked here (enter.c). */
#ifndef FNVML_ENTER_H
#define FNVML_ENTER_H

#include "abi/handles.h"
#include "state/values.h"

/* Every exported function starts here, once: is the library initialised, is the node alive, does a fault apply? A fault
 * rule counts what programs call, so no exported function calls another one. */
nvmlReturn_t fn_enter(const char *function);
/* The same plus the device: its handle must name a present GPU that is neither lost nor waiting for a reset. */
nvmlReturn_t fn_device(const char *function, handle_t device, fn_handle *out);
/* As fn_device, but for a MIG handle it returns NOT_SUPPORTED. */
nvmlReturn_t fn_gpu(const char *function, handle_t device, fn_handle *out);
/* The same for a GPU instance or a compute instance, whose handle must not be stale. */
nvmlReturn_t fn_instance(const char *function, handle_t instance, enum handle_kind kind, fn_handle *out);
/* The second GPU of a call that has two: as fn_device (`mig_too`) or fn_gpu, but it is the first that faults look at. */
nvmlReturn_t fn_second(handle_t device, bool mig_too, fn_handle *out);
nvmlReturn_t fn_stub(const char *function, int newer);

#endif
