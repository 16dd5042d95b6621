/* Values of the node, each read from one generation of the state (values.c). */
#ifndef FNVML_VALUES_H
#define FNVML_VALUES_H

#include "state/session.h"

nvmlReturn_t read_scalar(unsigned int gpu, unsigned int field, uint64_t *value);
nvmlReturn_t read_text(unsigned int gpu, unsigned int field, char *buffer, unsigned int size);
nvmlReturn_t read_gpu(unsigned int gpu, fn_Gpu *out);
nvmlReturn_t copy_text(const char *text, char *buffer, unsigned int size);
/* GPUs that were taken away keep their place in the state, so that handles of the others stay valid. */
nvmlReturn_t fn_gone(uint64_t *gone); /* a bit for each GPU that is removed, or hidden from this process */
bool fn_removed(unsigned int gpu);        /* whether it has such a bit */
nvmlReturn_t node_value(size_t offset, void *out, size_t size);

#endif
