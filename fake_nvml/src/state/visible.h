/* What a process in a container sees of its node (visible.c). */
#ifndef FNVML_VISIBLE_H
#define FNVML_VISIBLE_H

#include "state/state.h"

/* Looks at the device files, at the first nvmlInit of a session. `dev` is the folder of the container's device files; empty
 * outside a container, where everything is visible. An error if the process cannot use the driver at all. */
nvmlReturn_t visible_begin(const char *dev, const fn_map *map);
uint64_t visible_hidden(void); /* a bit for each GPU that this process does not see */
/* Whether the process sees a MIG device of a GPU that it sees, and whether it may look at the whole of such a GPU. */
bool visible_mig(const fn_Gpu *gpu, unsigned int gi, unsigned int ci);
bool visible_monitor(void);

#endif
