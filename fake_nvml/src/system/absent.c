/* Hardware that no inventory has: S-class units, excluded GPUs, interface cards, confidential computing. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "calls/enter.h"

/* No S-class unit, host interface card or excluded GPU exists on any board of the inventories. */
static nvmlReturn_t no_items(const char *function, unsigned int *count) {
    nvmlReturn_t rc = fn_enter(function);
    if (rc != OK) return rc;
    if (count == NULL) return E_INVALID_ARGUMENT;
    *count = 0;
    return OK;
}
API nvmlReturn_t nvmlUnitGetCount(unsigned int *count) { return no_items(__func__, count); }
API nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *count) { return no_items(__func__, count); }
API nvmlReturn_t nvmlGetBlacklistDeviceCount(unsigned int *count) { return no_items(__func__, count); }
API nvmlReturn_t nvmlSystemGetHicVersion(unsigned int *count, void *entries) {
    (void)entries;
    return no_items(__func__, count);
}
API nvmlReturn_t nvmlSystemGetNvlinkBwMode(unsigned int *mode) { return no_items(__func__, mode); }
API nvmlReturn_t nvmlSystemGetConfComputeGpusReadyState(unsigned int *ready) { return no_items(__func__, ready); }
/* Without items every index and every handle is invalid. */
static nvmlReturn_t no_such(const char *function) {
    nvmlReturn_t rc = fn_enter(function);
    return rc != OK ? rc : E_INVALID_ARGUMENT;
}
#define NO_SUCH(name, ...) \
    API nvmlReturn_t name(__VA_ARGS__) { return no_such(__func__); }
NO_SUCH(nvmlGetExcludedDeviceInfoByIndex, unsigned int index, void *info)
NO_SUCH(nvmlGetBlacklistDeviceInfoByIndex, unsigned int index, void *info)
NO_SUCH(nvmlUnitGetHandleByIndex, unsigned int index, handle_t *unit)
NO_SUCH(nvmlUnitGetUnitInfo, handle_t unit, void *info)
NO_SUCH(nvmlUnitGetLedState, handle_t unit, void *state)
NO_SUCH(nvmlUnitGetPsuInfo, handle_t unit, void *psu)
NO_SUCH(nvmlUnitGetTemperature, handle_t unit, unsigned int type, unsigned int *temperature)
NO_SUCH(nvmlUnitGetFanSpeedInfo, handle_t unit, void *speeds)
NO_SUCH(nvmlUnitGetDevices, handle_t unit, unsigned int *count, handle_t *devices)
NO_SUCH(nvmlUnitSetLedState, handle_t unit, unsigned int colour)

/* ---- confidential computing: off ---- */

API nvmlReturn_t nvmlSystemGetConfComputeState(nvmlConfComputeSystemState_t *state) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (state == NULL) return E_INVALID_ARGUMENT;
    memset(state, 0, sizeof(*state));
    return OK;
}
API nvmlReturn_t nvmlSystemGetConfComputeCapabilities(nvmlConfComputeSystemCaps_t *caps) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (caps == NULL) return E_INVALID_ARGUMENT;
    caps->cpuCaps = 0;
    caps->gpusCaps = 1; /* as the H200 answered with the feature off */
    return OK;
}
/* The limit of confidential computing's key rotation, as the H200 answered with the feature off. */
API nvmlReturn_t nvmlSystemGetConfComputeKeyRotationThresholdInfo(nvmlConfComputeGetKeyRotationThresholdInfo_t *info) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (info == NULL) return E_INVALID_ARGUMENT;
    if (info->version != VERSION(nvmlConfComputeGetKeyRotationThresholdInfo_t, 1)) return E_VERSION_MISMATCH;
    info->attackerAdvantage = 60;
    return OK;
}
API nvmlReturn_t nvmlSystemGetConfComputeSettings(nvmlSystemConfComputeSettings_v1_t *settings) {
    nvmlReturn_t rc = fn_enter(__func__);
    if (rc != OK) return rc;
    if (settings == NULL) return E_INVALID_ARGUMENT;
    if (settings->version != VERSION(nvmlSystemConfComputeSettings_v1_t, 1)) return E_VERSION_MISMATCH;
    memset((char *)settings + sizeof(settings->version), 0, sizeof(*settings) - sizeof(settings->version));
    return OK;
}
