/* What a process in a container sees of its node.
 *
 * A container gets the state of the whole node, and the device files of its own devices. As in the real library the
 * device files decide: a GPU whose /dev/nvidiaN cannot be opened is left out, and the others are counted from 0
 * (NVIDIA/nvidia-docker issues 170 and 393; opened for reading and writing, as in the traces of issue 966). A MIG
 * device needs the capability files of its GPU instance and of its compute instance; that of mig/monitor shows all of them
 * ("Device Nodes and Capabilities" in NVIDIA's MIG User Guide). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "state/mig_lookup.h"
#include "state/visible.h"

#define CAP_MIG_MONITOR 2

static char g_dev[4096];  /* empty outside a container */
static uint64_t g_hidden; /* written at nvmlInit, under the lock of the session */

static bool in_container(void) { return g_dev[0] != 0; }

/* 0, or why the device file cannot be opened. A file without a driver behind its numbers is all that a fake GPU has. */
static int opened(const char *name) {
    char path[sizeof(g_dev) + 32];
    snprintf(path, sizeof(path), "%s/%s", g_dev, name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    return errno == ENXIO || errno == ENODEV ? 0 : errno;
}

/* Permissions only: the major number of capabilities is a dynamic one, so another driver of this machine may have it. */
static bool capable(unsigned int minor) {
    char path[sizeof(g_dev) + 48];
    snprintf(path, sizeof(path), "%s/nvidia-caps/nvidia-cap%u", g_dev, minor);
    return access(path, R_OK) == 0;
}

nvmlReturn_t visible_begin(const char *dev, const fn_map *map) {
    uint32_t count = 0;
    uint64_t hidden = 0;
    strcpy(g_dev, dev);
    if (in_container()) {
        int reason = opened("nvidiactl");
        if (reason != 0) return reason == ENOENT ? E_DRIVER_NOT_LOADED : E_UNKNOWN;
        nvmlReturn_t rc = map_snapshot(map, offsetof(fn_State, gpu_count), &count, sizeof(count));
        if (rc != OK) return rc;
    }
    for (unsigned int i = 0; i < count && i < MAX_GPUS; i++) {
        fn_Scalar minor;
        char name[32];
        nvmlReturn_t rc = map_snapshot(map,
                                       offsetof(fn_State, gpus) + i * sizeof(fn_Gpu) + offsetof(fn_Gpu, scalars) +
                                           F_minor_number * sizeof(fn_Scalar),
                                       &minor, sizeof(minor));
        if (rc != OK) return rc;
        snprintf(name, sizeof(name), "nvidia%u", (unsigned int)minor.value);
        if (minor.rc != OK || opened(name) != 0) hidden |= 1ull << i;
    }
    __atomic_store_n(&g_hidden, hidden, __ATOMIC_RELEASE);
    return OK;
}

uint64_t visible_hidden(void) { return __atomic_load_n(&g_hidden, __ATOMIC_ACQUIRE); }

bool visible_monitor(void) { return !in_container() || capable(CAP_MIG_MONITOR); }

bool visible_mig(const fn_Gpu *gpu, unsigned int gi, unsigned int ci) {
    if (visible_monitor()) return true;
    unsigned int minor = mig_minor((unsigned int)(SCALAR(gpu, minor_number) & 0xFFF), gi);
    return capable(minor) && capable(minor + 1 + ci);
}
