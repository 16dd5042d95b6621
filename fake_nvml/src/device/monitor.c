/* Functions of monitors beside the plain getters: samples, use by process, accounting, GPM.
 *
 * A fake GPU has no history: a buffer of samples repeats the present reading, one entry each utilisation period. */
#define _GNU_SOURCE
#include <time.h>

#include "calls/enter.h"

static uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#define SAMPLES 120

API nvmlReturn_t nvmlDeviceGetSamples(handle_t device, unsigned int type, unsigned long long since,
                                      unsigned int *value_type, unsigned int *count, nvmlSample_t *samples) {
    static const int fields[] = {F_power_usage,         F_utilization_gpu,     F_utilization_memory, F_utilization_encoder,
                                 F_utilization_decoder, F_clock_graphics,      F_clock_memory,       -1,
                                 F_utilization_jpeg,    F_utilization_ofa};
    fn_handle h;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (value_type == NULL || count == NULL || type >= sizeof(fields) / sizeof(fields[0])) return E_INVALID_ARGUMENT;
    if (fields[type] < 0) return E_NOT_SUPPORTED;
    uint64_t value, period = 0;
    rc = read_scalar(h.gpu, (unsigned int)fields[type], &value);
    if (rc != OK) return rc;
    *value_type = 1; /* unsigned int */
    if (samples == NULL) {
        *count = SAMPLES;
        return OK;
    }
    if (read_scalar(h.gpu, F_utilization_period, &period) != OK || period == 0) period = 100000;
    uint64_t end = now_us(), start = end - end % period;
    unsigned int room = *count < SAMPLES ? *count : SAMPLES, found = 0;
    while (found < room && start - (uint64_t)found * period > since) found++;
    if (found == 0) return E_NOT_FOUND;
    for (unsigned int i = 0; i < found; i++) {
        memset(&samples[i], 0, sizeof(samples[i]));
        samples[i].timeStamp = start - (uint64_t)(found - 1 - i) * period;
        samples[i].sampleValue.uiVal = (unsigned int)value;
    }
    *count = found;
    return OK;
}

/* ---- use of the GPU by each process ---- */

static bool in_view(const fn_Process *p, const fn_handle *h) {
    return p->used && (h->kind != KIND_MIG || (p->gi == h->gi && p->ci == h->ci));
}

API nvmlReturn_t nvmlDeviceGetProcessUtilization(handle_t device, nvmlProcessUtilizationSample_t *out, unsigned int *count,
                                                 unsigned long long since) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_utilization_gpu].rc;
    if (rc != OK) return rc;
    if (out == NULL) {
        *count = MAX_PROCESSES;
        return E_INSUFFICIENT_SIZE;
    }
    uint64_t now = now_us();
    unsigned int found = 0;
    for (unsigned int i = 0; i < MAX_PROCESSES && found < *count && now > since; i++) {
        const fn_Process *p = &gpu.processes[i];
        if (!in_view(p, &h)) continue;
        memset(&out[found], 0, sizeof(out[found]));
        out[found].pid = p->pid;
        out[found].timeStamp = now;
        out[found].smUtil = p->utilization;
        found++;
    }
    *count = found;
    return found == 0 ? E_NOT_FOUND : OK;
}

API nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(handle_t device, nvmlProcessesUtilizationInfo_v1_t *info) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (info == NULL) return E_INVALID_ARGUMENT;
    if (info->version != VERSION(nvmlProcessesUtilizationInfo_v1_t, 1)) return E_VERSION_MISMATCH;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_utilization_gpu].rc;
    if (rc != OK) return rc;
    unsigned int found = 0, room = info->processSamplesCount;
    uint64_t now = now_us();
    nvmlProcessUtilizationInfo_v1_t *out = info->procUtilArray;
    for (unsigned int i = 0; i < MAX_PROCESSES && now > info->lastSeenTimeStamp; i++) {
        const fn_Process *p = &gpu.processes[i];
        if (!in_view(p, &h)) continue;
        if (out != NULL && found < room) {
            memset(&out[found], 0, sizeof(out[found]));
            out[found].timeStamp = now;
            out[found].pid = p->pid;
            out[found].smUtil = p->utilization;
        }
        found++;
    }
    info->processSamplesCount = found;
    if (found == 0) return E_NOT_FOUND;
    return out == NULL || found > room ? E_INSUFFICIENT_SIZE : OK;
}

API nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(handle_t device, nvmlProcessDetailList_v1_t *list) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (list == NULL) return E_INVALID_ARGUMENT;
    if (list->version != VERSION(nvmlProcessDetailList_v1_t, 1)) return E_VERSION_MISMATCH;
    if (list->mode > 2) return E_INVALID_ARGUMENT;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    unsigned int found = 0, room = list->numProcArrayEntries;
    nvmlProcessDetail_v1_t *out = list->procArray;
    for (unsigned int i = 0; i < MAX_PROCESSES; i++) {
        const fn_Process *p = &gpu.processes[i];
        if (!in_view(p, &h) || list->mode == 2 || (p->graphics != 0) != (list->mode == 1)) continue;
        if (out != NULL && found < room) {
            memset(&out[found], 0, sizeof(out[found]));
            out[found].pid = p->pid;
            out[found].usedGpuMemory = p->memory;
            out[found].gpuInstanceId = p->gi;
            out[found].computeInstanceId = p->ci;
        }
        found++;
    }
    list->numProcArrayEntries = found;
    return found != 0 && (out == NULL || found > room) ? E_INSUFFICIENT_SIZE : OK;
}

/* ---- accounting: of running processes only; nothing remembers the ended ones ---- */

API nvmlReturn_t nvmlDeviceGetAccountingPids(handle_t device, unsigned int *count, unsigned int *pids) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_accounting_mode].rc;
    if (rc != OK) return rc;
    unsigned int found = 0, room = *count;
    for (unsigned int i = 0; i < MAX_PROCESSES && SCALAR(&gpu, accounting_mode) == 1; i++) {
        if (!gpu.processes[i].used) continue;
        if (pids != NULL && found < room) pids[found] = gpu.processes[i].pid;
        found++;
    }
    *count = found;
    return found != 0 && (pids == NULL || found > room) ? E_INSUFFICIENT_SIZE : OK;
}

API nvmlReturn_t nvmlDeviceGetAccountingStats(handle_t device, unsigned int pid, nvmlAccountingStats_t *out) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (out == NULL) return E_INVALID_ARGUMENT;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpu.scalars[F_accounting_mode].rc;
    if (rc != OK) return rc;
    for (unsigned int i = 0; i < MAX_PROCESSES && SCALAR(&gpu, accounting_mode) == 1; i++) {
        const fn_Process *p = &gpu.processes[i];
        if (!p->used || p->pid != pid) continue;
        memset(out, 0, sizeof(*out));
        out->gpuUtilization = p->utilization;
        out->maxMemoryUsage = p->memory;
        out->isRunning = 1;
        return OK;
    }
    return E_NOT_FOUND;
}

API nvmlReturn_t nvmlDeviceClearAccountingPids(handle_t device) {
    fn_handle h;
    uint64_t mode;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    return rc == OK ? read_scalar(h.gpu, F_accounting_mode, &mode) : rc; /* running processes stay listed */
}

/* ---- GPM: two samples, and metrics of the time between them ---- */

#define MAX_SAMPLES 1024

typedef struct {
    uint32_t used, serial, gpu, taken;
    uint64_t time_us;
    uint32_t busy, memory, decoder, jpeg, ofa, tx, rx;
} gpm_sample;

static gpm_sample g_samples[MAX_SAMPLES];
static uint32_t g_sample_serial;

static gpm_sample *gpm_find(handle_t handle) {
    fn_handle h;
    if (!handle_read(handle, &h) || h.kind != KIND_GPM_SAMPLE) return NULL;
    gpm_sample *s = &g_samples[h.gi << 6 | h.gpu];
    return __atomic_load_n(&s->used, __ATOMIC_ACQUIRE) == 1 && s->serial == h.serial ? s : NULL;
}

API nvmlReturn_t nvmlGpmSampleAlloc(handle_t *sample) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (sample == NULL) return E_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < MAX_SAMPLES; i++) {
        gpm_sample *s = &g_samples[i];
        uint32_t free_slot = 0;
        if (!__atomic_compare_exchange_n(&s->used, &free_slot, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) continue;
        s->serial = __atomic_add_fetch(&g_sample_serial, 1, __ATOMIC_RELAXED) & 0xFFFFF;
        s->taken = 0;
        __atomic_store_n(&s->used, 1, __ATOMIC_RELEASE);
        *sample = handle_make(KIND_GPM_SAMPLE, i & 63, i >> 6, 0, s->serial);
        return OK;
    }
    return E_MEMORY;
}

API nvmlReturn_t nvmlGpmSampleFree(handle_t sample) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    gpm_sample *s = gpm_find(sample);
    if (s == NULL) return E_INVALID_ARGUMENT;
    __atomic_store_n(&s->used, 0, __ATOMIC_RELEASE);
    return OK;
}

static nvmlReturn_t gpm_supported(const fn_Gpu *gpu) {
    const fn_Scalar *field = &gpu->scalars[F_gpm_supported];
    return field->rc == OK && field->value == 1 ? OK : E_NOT_SUPPORTED;
}

static nvmlReturn_t gpm_take(const char *function, handle_t device, handle_t sample, const unsigned int *gi) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(function, device, &h);
    if (rc == OK) rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpm_supported(&gpu);
    if (rc != OK) return rc;
    gpm_sample *s = gpm_find(sample);
    if (s == NULL || (gi != NULL && (*gi >= MAX_GPU_INSTANCES || !gpu.instances[*gi].used))) return E_INVALID_ARGUMENT;
    s->gpu = h.gpu;
    s->time_us = now_us();
    s->busy = (uint32_t)SCALAR(&gpu, utilization_gpu);
    s->memory = (uint32_t)SCALAR(&gpu, utilization_memory);
    s->decoder = (uint32_t)SCALAR(&gpu, utilization_decoder);
    s->jpeg = (uint32_t)SCALAR(&gpu, utilization_jpeg);
    s->ofa = (uint32_t)SCALAR(&gpu, utilization_ofa);
    s->tx = (uint32_t)SCALAR(&gpu, pcie_throughput_tx);
    s->rx = (uint32_t)SCALAR(&gpu, pcie_throughput_rx);
    s->taken = 1;
    return OK;
}
API nvmlReturn_t nvmlGpmSampleGet(handle_t device, handle_t sample) { return gpm_take(__func__, device, sample, NULL); }
API nvmlReturn_t nvmlGpmMigSampleGet(handle_t device, unsigned int gi, handle_t sample) {
    return gpm_take(__func__, device, sample, &gi);
}

API nvmlReturn_t nvmlGpmQueryDeviceSupport(handle_t device, nvmlGpmSupport_t *support) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (support == NULL) return E_INVALID_ARGUMENT;
    if (support->version != 1) return E_VERSION_MISMATCH;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) support->isSupportedDevice = gpm_supported(&gpu) == OK;
    return rc;
}

/* Ids below 14 are shares of the SMs' time; only the general ones are modelled apart from zero. */
static bool gpm_metric(const gpm_sample *a, const gpm_sample *b, unsigned int id, double *value) {
    double busy = (a->busy + b->busy) / 2.0;
    *value = 0;
    if (id >= 1 && id <= 13) *value = id <= 2 ? busy : id == 10 ? (a->memory + b->memory) / 2.0 : 0;
    else if (id == 20 || id == 21) *value = (id == 20 ? a->tx + b->tx : a->rx + b->rx) / 2.0 / 1024; /* KB/s to MiB/s */
    else if (id >= 30 && id <= 37) *value = (a->decoder + b->decoder) / 2.0;
    else if (id >= 40 && id <= 47) *value = (a->jpeg + b->jpeg) / 2.0;
    else if (id == 50) *value = (a->ofa + b->ofa) / 2.0;
    else return id >= 60 && id <= 97; /* NVLink traffic: none */
    return true;
}

typedef struct {
    unsigned int version, numMetrics;
    handle_t sample1, sample2;
    nvmlGpmMetric_t metrics[]; /* as many as the caller's branch has; numMetrics is their number */
} gpm_metrics_get;

API nvmlReturn_t nvmlGpmMetricsGet(gpm_metrics_get *get) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (get == NULL) return E_INVALID_ARGUMENT;
    if (get->version != 1) return E_VERSION_MISMATCH;
    const gpm_sample *a = gpm_find(get->sample1), *b = gpm_find(get->sample2);
    if (a == NULL || b == NULL || !a->taken || !b->taken || a->gpu != b->gpu || get->numMetrics > 512) return E_INVALID_ARGUMENT;
    for (unsigned int i = 0; i < get->numMetrics; i++)
        get->metrics[i].nvmlReturn =
            gpm_metric(a, b, get->metrics[i].metricId, &get->metrics[i].value) ? (unsigned int)OK : (unsigned int)E_NOT_SUPPORTED;
    return OK;
}

API nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(handle_t device, unsigned int *state) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc != OK) return rc;
    if (state == NULL) return E_INVALID_ARGUMENT;
    rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpm_supported(&gpu);
    if (rc == OK) *state = (unsigned int)SCALAR(&gpu, gpm_streaming);
    return rc;
}
API nvmlReturn_t nvmlGpmSetStreamingEnabled(handle_t device, unsigned int state) {
    fn_handle h;
    fn_Gpu gpu;
    nvmlReturn_t rc = fn_gpu(__func__, device, &h);
    if (rc == OK) rc = read_gpu(h.gpu, &gpu);
    if (rc == OK) rc = gpm_supported(&gpu);
    if (rc != OK) return rc;
    if (state > 1) return E_INVALID_ARGUMENT;
    fn_txn txn;
    rc = fn_write(&txn);
    if (rc != OK) return rc;
    SCALAR(&txn.state->gpus[h.gpu], gpm_streaming) = state;
    txn_commit(&txn);
    return OK;
}
