/* The capability files of MIG in the driver root, as the driver makes and removes them with the instances.
 *
 * They are in driver/proc/driver/nvidia/capabilities and driver/dev/nvidia-caps beside the state; a node without a driver
 * root has none. They follow the state after each transaction that creates or destroys an instance. A process that
 * is killed in between leaves old files, which the next one, or fake_nvml.driver_root.sync, updates. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "mig/mig.h"

#define MAJOR_CAPS 511

/* One capability: a file that names the minor number, and the device file of that number. */
static void show(int root, const char *folder, unsigned int minor) {
    char path[160], device[64], text[96];
    snprintf(path, sizeof(path), "%s/access", folder);
    int fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return;
    int length = snprintf(text, sizeof(text), "DeviceFileMinor: %u\nDeviceFileMode: 256\nDeviceFileModify: 1\n", minor);
    (void)!write(fd, text, (size_t)length);
    close(fd);
    snprintf(device, sizeof(device), "dev/nvidia-caps/nvidia-cap%u", minor);
    if (mknodat(root, device, S_IFCHR | 0666, makedev(MAJOR_CAPS, minor)) == 0 || errno == EEXIST) return;
    fd = openat(root, device, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666); /* no device files here: a plain one */
    if (fd >= 0) close(fd);
}

static void hide(int root, const char *folder, unsigned int minor) {
    char path[160];
    snprintf(path, sizeof(path), "%s/access", folder);
    (void)unlinkat(root, path, 0);
    (void)unlinkat(root, folder, AT_REMOVEDIR);
    snprintf(path, sizeof(path), "dev/nvidia-caps/nvidia-cap%u", minor);
    (void)unlinkat(root, path, 0);
}

void caps_follow(unsigned int index) {
    fn_Gpu gpu;
    char base[sizeof(fn_current()->path) + 8];
    strcpy(base, fn_current()->path);
    char *slash = strrchr(base, '/');
    if (slash == NULL || read_gpu(index, &gpu) != OK || gpu.scalars[F_minor_number].rc != OK) return;
    strcpy(slash + 1, "driver");
    int root = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (root < 0) return;
    unsigned int number = (unsigned int)(SCALAR(&gpu, minor_number) & 0xFFF);
    char above[96], folder[112], inner[128];
    snprintf(above, sizeof(above), "proc/driver/nvidia/capabilities/gpu%u", number);
    (void)mkdirat(root, above, 0755);
    snprintf(above, sizeof(above), "proc/driver/nvidia/capabilities/gpu%u/mig", number);
    (void)mkdirat(root, above, 0755);
    for (unsigned int gi = 0; gi < MAX_GPU_INSTANCES; gi++) {
        const fn_GpuInstance *instance = &gpu.instances[gi];
        snprintf(folder, sizeof(folder), "%s/gi%u", above, gi);
        if (instance->used) (void)mkdirat(root, folder, 0755);
        for (unsigned int ci = 0; ci < MAX_COMPUTE_INSTANCES; ci++) {
            snprintf(inner, sizeof(inner), "%s/ci%u", folder, ci);
            unsigned int minor = mig_minor(number, gi) + 1 + ci;
            if (instance->used && instance->compute[ci].used) {
                (void)mkdirat(root, inner, 0755);
                show(root, inner, minor);
            } else if (faccessat(root, inner, F_OK, 0) == 0) hide(root, inner, minor);
        }
        if (instance->used) show(root, folder, mig_minor(number, gi));
        else if (faccessat(root, folder, F_OK, 0) == 0) hide(root, folder, mig_minor(number, gi));
    }
    close(root);
}
