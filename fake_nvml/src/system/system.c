/* Errors, versions and the list of devices. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "calls/enter.h"
#include "state/mig_lookup.h"
#include "state/visible.h"

API const char *nvmlErrorString(nvmlReturn_t code) {
    switch (code) {
    case 0: return "Success";
    case 1: return "Uninitialized";
    case 2: return "Invalid Argument";
    case 3: return "Not Supported";
    case 4: return "Insufficient Permissions";
    case 5: return "Already Initialized";
    case 6: return "Not Found";
    case 7: return "Insufficient Size";
    case 8: return "Insufficient External Power";
    case 9: return "Driver Not Loaded";
    case 10: return "Timeout";
    case 11: return "Interrupt Request Issue";
    case 12: return "NVML Shared Library Not Found";
    case 13: return "Function Not Found";
    case 14: return "Corrupted infoROM";
    case 15: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 17: return "GPU access blocked by the operating system";
    case 18: return "Driver/library version mismatch";
    case 19: return "In use by another client";
    case 20: return "Insufficient Memory";
    case 21: return "No data";
    case 22: return "vGPU ECC not supported";
    case 23: return "Insufficient Resources";
    case 24: return "Invalid Frequency";
    case 25: return "Argument version mismatch";
    case 26: return "Requested functionality has been deprecated";
    case 27: return "System is not in ready state";
    case 28: return "No supported GPUs were found";
    case 29: return "Resource not in correct state to perform requested operation";
    case 30: return "Reset type is not supported for given device";
    default: return "Unknown Error";
    }
}

static nvmlReturn_t text_at(size_t offset, char *buffer, unsigned int size) {
    if (buffer == NULL) return E_INVALID_ARGUMENT;
    fn_Text text;
    nvmlReturn_t rc = node_value(offset, &text, sizeof(text));
    if (rc == OK) rc = text.rc;
    text.text[STRING_SIZE - 1] = 0;
    return rc == OK ? copy_text(text.text, buffer, size) : rc;
}

static nvmlReturn_t node_text(const char *function, size_t offset, char *buffer, unsigned int size) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    return text_at(offset, buffer, size);
}

API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length) {
    return node_text(__func__, offsetof(fn_State, driver_version), version, length);
}
/* The one version that can be asked for before nvmlInit (recorded on one H100). */
API nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length) {
    if (!fn_initialized() && session_node()) return text_at(offsetof(fn_State, nvml_version), version, length);
    return node_text(__func__, offsetof(fn_State, nvml_version), version, length);
}
API nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_v1_t *info, unsigned int length) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (info == NULL) return E_INVALID_ARGUMENT;
    if (info->version != VERSION(nvmlSystemDriverBranchInfo_v1_t, 1)) return E_VERSION_MISMATCH;
    return node_text(__func__, offsetof(fn_State, driver_branch), info->branch, length);
}
static nvmlReturn_t cuda_version(const char *function, int *version) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (version == NULL) return E_INVALID_ARGUMENT;
    return node_value(offsetof(fn_State, cuda_version), version, sizeof(*version));
}
API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { return cuda_version(__func__, version); }
API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return cuda_version(__func__, version); }

API nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (name == NULL || length == 0) return E_INVALID_ARGUMENT;
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return E_NOT_FOUND;
    size_t got = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    if (got == 0) return E_NOT_FOUND;
    text[got] = 0; /* the first argument ends at its own NUL */
    if (length > 1 && strlen(text) >= length) text[length - 1] = 0;
    return copy_text(text, name, length);
}

/* ---- devices ---- */

static nvmlReturn_t count_gpus(const char *function, unsigned int *count) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    struct {
        uint32_t all, others[7];
        uint64_t head, dropped, removed;
    } state;
    _Static_assert(offsetof(fn_State, removed) == offsetof(__typeof__(state), removed), "read as one");
    rc = node_value(0, &state, sizeof(state));
    if (rc == OK) *count = state.all - (unsigned int)__builtin_popcountll(state.removed | visible_hidden());
    return rc;
}
API nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) { return count_gpus(__func__, count); }
API nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) { return count_gpus(__func__, count); }

static handle_t gpu_handle(unsigned int index) { return handle_make(KIND_DEVICE, index, 0, 0, 0); }

static unsigned int gpu_count(void) {
    unsigned int count = 0;
    if (node_value(offsetof(fn_State, gpu_count), &count, sizeof(count)) != OK || count > MAX_GPUS) return 0;
    return count;
}

/* Looking up a lost GPU returns the same error as any other call on it. */
static nvmlReturn_t hand_out(unsigned int index, handle_t *device) {
    uint64_t lost = 0;
    if (fn_removed(index)) return E_NOT_FOUND;
    nvmlReturn_t rc = read_scalar(index, F_is_lost, &lost);
    if (rc != OK) return rc;
    if (lost) return E_GPU_IS_LOST;
    *device = gpu_handle(index);
    return OK;
}

static nvmlReturn_t by_index(const char *function, unsigned int index, handle_t *device) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (device == NULL) return E_INVALID_ARGUMENT;
    unsigned int count = gpu_count(), place = 0;
    for (; place < count; place++)
        if (!fn_removed(place) && index-- == 0) return hand_out(place, device);
    return E_INVALID_ARGUMENT;
}
API nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, handle_t *device) { return by_index(__func__, index, device); }
API nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, handle_t *device) {
    return by_index(__func__, index, device);
}

static nvmlReturn_t by_uuid(const char *uuid, handle_t *device) {
    unsigned int count = gpu_count();
    if (strncmp(uuid, "MIG-", 4) == 0) {
        /* "MIG-<uuid>", and the form before driver R470: "MIG-GPU-<uuid>/<gi>/<ci>". */
        for (unsigned int i = 0; i < count; i++) {
            fn_Gpu gpu;
            if (read_gpu(i, &gpu) != OK || !gpu.present || (visible_hidden() >> i & 1) != 0) continue;
            for (unsigned int gi = 0; gi < MAX_GPU_INSTANCES; gi++) {
                const fn_GpuInstance *instance = &gpu.instances[gi];
                for (unsigned int ci = 0; instance->used && ci < MAX_COMPUTE_INSTANCES; ci++) {
                    if (!instance->compute[ci].used || !visible_mig(&gpu, gi, ci)) continue;
                    char own[48], old[160];
                    mig_uuid(&gpu, gi, ci, own);
                    gpu.strings[S_uuid].text[STRING_SIZE - 1] = 0;
                    snprintf(old, sizeof(old), "MIG-%s/%u/%u", gpu.strings[S_uuid].text, gi, ci);
                    if (strcmp(uuid, own) == 0 || strcmp(uuid, old) == 0) {
                        if (SCALAR(&gpu, is_lost)) return E_GPU_IS_LOST;
                        *device = handle_make(KIND_MIG, i, gi, ci, instance->compute[ci].serial);
                        return OK;
                    }
                }
            }
        }
        return E_NOT_FOUND;
    }
    for (unsigned int i = 0; i < count; i++) {
        char own[STRING_SIZE];
        if (read_text(i, S_uuid, own, sizeof(own)) == OK && strcmp(own, uuid) == 0) return hand_out(i, device);
    }
    return E_NOT_FOUND;
}

API nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, handle_t *device) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (uuid == NULL || device == NULL) return E_INVALID_ARGUMENT;
    return by_uuid(uuid, device);
}

API nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, handle_t *device) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (uuid == NULL || device == NULL) return E_INVALID_ARGUMENT;
    if (uuid->version != VERSION(nvmlUUID_t, 1)) return E_VERSION_MISMATCH;
    char text[64];
    if (uuid->type == 1) {
        size_t length = 0;
        while (length < sizeof(uuid->value.str) && uuid->value.str[length] != 0) length++;
        if (length == sizeof(uuid->value.str)) return E_INVALID_ARGUMENT;
        memcpy(text, uuid->value.str, length + 1);
        return by_uuid(text, device);
    }
    if (uuid->type != 2) return E_INVALID_ARGUMENT;
    for (int form = 0; form < 2; form++) {
        char *at = text + sprintf(text, form == 0 ? "GPU-" : "MIG-");
        for (int i = 0; i < 16; i++) {
            if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
            at += sprintf(at, "%02x", (unsigned int)(unsigned char)uuid->value.bytes[i]);
        }
        rc = by_uuid(text, device);
        if (rc != E_NOT_FOUND) return rc;
    }
    return E_NOT_FOUND;
}

API nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, handle_t *device) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (serial == NULL || device == NULL) return E_INVALID_ARGUMENT;
    unsigned int found = MAX_GPUS;
    for (unsigned int i = 0, count = gpu_count(); i < count; i++) {
        char own[STRING_SIZE];
        if (fn_removed(i) || read_text(i, S_serial, own, sizeof(own)) != OK || strcmp(own, serial) != 0) continue;
        if (found != MAX_GPUS) return E_INVALID_ARGUMENT; /* two GPUs of one module share a serial number */
        found = i;
    }
    return found == MAX_GPUS ? E_NOT_FOUND : hand_out(found, device);
}

/* "[domain:]bus:device[.function]", hexadecimal, any case; the domain in four or eight digits. */
static bool parse_bus_id(const char *text, unsigned int *domain, unsigned int *bus, unsigned int *dev) {
    unsigned long part[4] = {0, 0, 0, 0};
    int colons = 0;
    for (const char *c = text; *c != 0; c++) colons += *c == ':';
    if (colons != 1 && colons != 2) return false;
    const char *at = text;
    for (int i = 2 - colons; i < 4; i++) {
        if (!isxdigit((unsigned char)*at)) return false;
        char *end;
        part[i] = strtoul(at, &end, 16);
        if (part[i] > 0xFFFFFFFFul || end - at > 8) return false;
        at = end;
        if (i < 2) {
            if (*at++ != ':') return false;
        } else if (i == 2) {
            if (*at == 0) break;
            if (*at++ != '.') return false;
        } else if (*at != 0) return false;
    }
    if (part[1] > 0xFF || part[2] > 0x1F || part[3] != 0) return false;
    *domain = (unsigned int)part[0];
    *bus = (unsigned int)part[1];
    *dev = (unsigned int)part[2];
    return true;
}

static nvmlReturn_t by_bus_id(const char *function, const char *id, handle_t *device) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (id == NULL || device == NULL) return E_INVALID_ARGUMENT;
    unsigned int want[3];
    if (!parse_bus_id(id, &want[0], &want[1], &want[2])) return E_INVALID_ARGUMENT;
    for (unsigned int i = 0, count = gpu_count(); i < count; i++) {
        uint32_t own[3];
        rc = node_value(offsetof(fn_State, gpus) + i * sizeof(fn_Gpu) + offsetof(fn_Gpu, domain), own, sizeof(own));
        if (rc != OK) return rc;
        if (memcmp(own, want, sizeof(own)) == 0) return hand_out(i, device);
    }
    return E_NOT_FOUND;
}
API nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, handle_t *device) { return by_bus_id(__func__, id, device); }
API nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, handle_t *device) {
    return by_bus_id(__func__, id, device);
}

API nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpu, unsigned int *count, handle_t *devices) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    unsigned int room = *count, found = 0;
    for (unsigned int i = 0, all = gpu_count(); i < all && cpu < AFFINITY_WORDS * 64; i++) {
        uint64_t word = 0;
        rc = node_value(offsetof(fn_State, gpus) + i * sizeof(fn_Gpu) + offsetof(fn_Gpu, cpu_affinity) + cpu / 64 * 8,
                        &word, sizeof(word));
        if (rc != OK) return rc;
        if ((word >> (cpu % 64) & 1) == 0 || fn_removed(i)) continue;
        if (devices != NULL && found < room) devices[found] = gpu_handle(i);
        found++;
    }
    *count = found;
    return OK;
}
