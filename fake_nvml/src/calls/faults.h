/* Fault rules of the node (faults.c) and its call log (call_log.c). */
#ifndef FNVML_FAULTS_H
#define FNVML_FAULTS_H

#include "state/session.h"

/* Applies the rules for one call: delays it, lets it hang, and returns the code that it must return. */
nvmlReturn_t fault(const char *function, int gpu);
void note(const char *function, int gpu, bool missing);
void program_name(char *out16);

#endif
