/* The session of this process: the reference count of nvmlInit and the node that it is attached to (session.c). */
#ifndef FNVML_SESSION_H
#define FNVML_SESSION_H

#include "state/state.h"

typedef struct {
    uint32_t alive, fault_count, log_calls;
} fn_watch;
_Static_assert(offsetof(fn_State, fault_count) == offsetof(fn_State, alive) + 4, "read as one");
_Static_assert(offsetof(fn_State, log_calls) == offsetof(fn_State, alive) + 8, "read as one");

/* nvmlInit in two halves, so that the caller can apply fault rules in between: begin locks the session and attaches to the
 * node at the first nvmlInit; end counts the session if rc is OK, unlocks and returns rc. */
nvmlReturn_t session_init_begin(unsigned int flags);
nvmlReturn_t session_init_end(nvmlReturn_t rc);
nvmlReturn_t session_shutdown(void);
nvmlReturn_t session_alive(fn_watch *now); /* OK while the session is open and its node is up */
bool session_node(void);                   /* attaches to the node without opening a session; false if there is none */

/* Calls on the event sets of GPUs follow each other in a process: while a thread waits for an event, the others, and the
 * last nvmlShutdown, return after its wait (recorded on one H100 and one H200, driver 580.159.04). */
void session_events_begin(void);
void session_events_end(void);

const fn_map *fn_current(void);
bool fn_initialized(void);
unsigned int fn_session(void);
nvmlReturn_t fn_write(fn_txn *txn); /* txn_begin on the node of this session */

#endif
