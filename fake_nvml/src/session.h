/* What the session's sources share: is the node alive (session.c), do fault rules apply (faults.c), is the call written
 * down (call_log.c). */
#ifndef FNVML_SESSION_H
#define FNVML_SESSION_H

#include "core.h"

typedef struct {
    uint32_t alive, fault_count, log_calls;
} fn_watch;
_Static_assert(offsetof(fn_State, fault_count) == offsetof(fn_State, alive) + 4, "read as one");
_Static_assert(offsetof(fn_State, log_calls) == offsetof(fn_State, alive) + 8, "read as one");

/* What applies to one call of a program's: its delay, its hang, and the code it returns. */
nvmlReturn_t fault(const char *function, int gpu);
void note(const char *function, int gpu, bool missing);
void program_name(char *out16);

#endif
