/* nvmlDeviceGetFieldValues: the field ids, their types, and their values in the state.
 *
 * Ids and types are those that an H200 answered with driver 580.159.04; an id outside the table is an invalid argument
 * there, one in a NONE range is not supported. The call itself succeeds; each entry carries its own return code. */
#define _GNU_SOURCE
#include <time.h>

#include "calls/enter.h"

enum { KIND_NONE, KIND_ZERO, KIND_FIELD, KIND_ECC, KIND_LIMIT };
enum { TYPE_DOUBLE, TYPE_UINT, TYPE_ULONG, TYPE_ULL, TYPE_LL, TYPE_INT, TYPE_USHORT };

typedef struct {
    unsigned short first, last;
    unsigned char type, kind;
    unsigned short one, two;
} field_row;

#define NONE(first, last, type) {first, last, type, KIND_NONE, 0, 0}
#define ZERO(id, type) {id, id, type, KIND_ZERO, 0, 0}
#define FIELD(id, type, scalar) {id, id, type, KIND_FIELD, F_##scalar, 0}
#define ECC_TOTAL(id, type, which) {id, id, type, KIND_ECC, F_ecc_##which##_sram, F_ecc_##which##_dram}
/* Limits count degrees above the maximum operating temperature, so they are not positive. */
#define LIMIT(id, type, threshold) {id, id, type, KIND_LIMIT, F_threshold_gpu_max, F_##threshold}

static const field_row ROWS[] = {
    FIELD(1, 3, ecc_mode_current), /* ECC_CURRENT */
    FIELD(2, 3, ecc_mode_pending), /* ECC_PENDING */
    ECC_TOTAL(3, 3, corrected_volatile), /* ECC_SBE_VOL_TOTAL */
    ECC_TOTAL(4, 3, uncorrected_volatile), /* ECC_DBE_VOL_TOTAL */
    ECC_TOTAL(5, 3, corrected_aggregate), /* ECC_SBE_AGG_TOTAL */
    ECC_TOTAL(6, 3, uncorrected_aggregate), /* ECC_DBE_AGG_TOTAL */
    NONE(7, 31, 3),
    NONE(32, 73, 0),
    FIELD(74, 3, violation_power), /* CLOCKS_EVENT_REASON_SW_POWER_CAP */
    FIELD(75, 3, violation_thermal), /* PERF_POLICY_THERMAL */
    FIELD(76, 3, violation_sync_boost), /* CLOCKS_EVENT_REASON_SYNC_BOOST */
    FIELD(77, 3, violation_board_limit), /* PERF_POLICY_BOARD_LIMIT */
    FIELD(78, 3, violation_low_utilization), /* PERF_POLICY_LOW_UTILIZATION */
    FIELD(79, 3, violation_reliability), /* PERF_POLICY_RELIABILITY */
    FIELD(80, 3, violation_total_app_clocks), /* PERF_POLICY_TOTAL_APP_CLOCKS */
    FIELD(81, 3, violation_total_base_clocks), /* PERF_POLICY_TOTAL_BASE_CLOCKS */
    FIELD(82, 1, temperature_memory), /* MEMORY_TEMP */
    FIELD(83, 3, energy_consumption), /* TOTAL_ENERGY_CONSUMPTION */
    NONE(84, 90, 0),
    FIELD(91, 1, nvlink_count), /* NVLINK_LINK_COUNT */
    NONE(92, 93, 3),
    FIELD(94, 1, pcie_replay_counter), /* PCIE_REPLAY_COUNTER */
    ZERO(95, 1), /* PCIE_REPLAY_ROLLOVER_COUNTER */
    NONE(96, 137, 0),
    NONE(138, 141, 3),
    FIELD(142, 3, remapped_rows_corrected), /* REMAPPED_COR */
    FIELD(143, 3, remapped_rows_uncorrected), /* REMAPPED_UNC */
    FIELD(144, 3, remapped_rows_pending), /* REMAPPED_PENDING */
    FIELD(145, 3, remapped_rows_failure), /* REMAPPED_FAILURE */
    NONE(146, 146, 1),
    ZERO(147, 0), /* NVSWITCH_CONNECTED_LINK_COUNT */
    NONE(148, 160, 0),
    NONE(161, 163, 3),
    NONE(164, 168, 1),
    ZERO(169, 1), /* PCIE_L0_TO_RECOVERY_COUNTER */
    NONE(170, 172, 1),
    ZERO(173, 1), /* PCIE_COUNT_CORRECTABLE_ERRORS */
    ZERO(174, 1), /* PCIE_COUNT_NAKS_RECEIVED */
    ZERO(175, 1), /* PCIE_COUNT_RECEIVER_ERROR */
    ZERO(176, 1), /* PCIE_COUNT_BAD_TLP */
    ZERO(177, 1), /* PCIE_COUNT_NAKS_SENT */
    ZERO(178, 1), /* PCIE_COUNT_BAD_DLLP */
    ZERO(179, 1), /* PCIE_COUNT_NON_FATAL_ERROR */
    ZERO(180, 1), /* PCIE_COUNT_FATAL_ERROR */
    ZERO(181, 1), /* PCIE_COUNT_UNSUPPORTED_REQ */
    ZERO(182, 1), /* PCIE_COUNT_LCRC_ERROR */
    ZERO(183, 1), /* PCIE_COUNT_LANE_ERROR */
    FIELD(184, 1, mig_mode_immediate), /* IS_RESETLESS_MIG_SUPPORTED */
    FIELD(185, 1, power_usage), /* POWER_AVERAGE */
    FIELD(186, 1, power_usage), /* POWER_INSTANT */
    FIELD(187, 1, power_limit_min), /* POWER_MIN_LIMIT */
    FIELD(188, 1, power_limit_max), /* POWER_MAX_LIMIT */
    FIELD(189, 1, power_limit_default), /* POWER_DEFAULT_LIMIT */
    FIELD(190, 1, power_limit), /* POWER_CURRENT_LIMIT */
    FIELD(191, 3, energy_consumption), /* ENERGY */
    FIELD(192, 1, power_limit), /* POWER_REQUESTED_LIMIT */
    LIMIT(193, 5, threshold_shutdown), /* TEMPERATURE_SHUTDOWN_TLIMIT */
    LIMIT(194, 5, threshold_slowdown), /* TEMPERATURE_SLOWDOWN_TLIMIT */
    LIMIT(195, 5, threshold_gpu_max), /* TEMPERATURE_MEM_MAX_TLIMIT */
    LIMIT(196, 5, threshold_gpu_max), /* TEMPERATURE_GPU_MAX_TLIMIT */
    ZERO(197, 1), /* PCIE_COUNT_TX_BYTES */
    ZERO(198, 1), /* PCIE_COUNT_RX_BYTES */
    FIELD(199, 1, mig_mode_immediate), /* IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE */
    NONE(200, 200, 1),
    NONE(201, 222, 0),
    NONE(223, 225, 1),
    ZERO(226, 1), /* RESET_STATUS */
    ZERO(227, 1), /* DRAIN_AND_RESET_STATUS */
    ZERO(228, 1), /* PCIE_OUTBOUND_ATOMICS_MASK */
    ZERO(229, 1), /* PCIE_INBOUND_ATOMICS_MASK */
    FIELD(230, 1, recovery_action), /* GET_GPU_RECOVERY_ACTION */
    NONE(231, 234, 1),
    NONE(235, 250, 0),
    NONE(251, 253, 1),
    NONE(254, 258, 0),
    NONE(259, 259, 1),
    NONE(260, 262, 0),
    NONE(263, 264, 1),
    NONE(265, 267, 0),
    NONE(268, 268, 1),
    ZERO(269, 3), /* CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN */
    ZERO(270, 3), /* CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN */
    ZERO(271, 3), /* CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN */
    NONE(272, 273, 3),
    NONE(275, 278, 0),
    NONE(279, 279, 6),
    NONE(280, 280, 1),
    NONE(281, 281, 0),
    NONE(282, 283, 6),
    NONE(284, 285, 0),
    NONE(286, 287, 6),
    NONE(288, 288, 0),
    NONE(294, 295, 0),
    ZERO(301, 3), /* REMAPPED_ROWS_COR_INACTIVE */
    ZERO(302, 3), /* REMAPPED_ROWS_UNC_INACTIVE */
};

static nvmlReturn_t read_row(const fn_Gpu *gpu, const field_row *row, nvmlFieldValue_t *out) {
    uint64_t value = 0;
    const fn_Scalar *one = &gpu->scalars[row->one], *two = &gpu->scalars[row->two];
    switch (row->kind) {
    case KIND_ZERO: break;
    case KIND_FIELD:
        if (one->rc != OK) return one->rc;
        value = one->value;
        break;
    case KIND_ECC:
        if (one->rc != OK) return one->rc;
        value = one->value + two->value;
        break;
    case KIND_LIMIT:
        if (one->rc != OK || two->rc != OK || gpu->scalars[F_margin_temperature].rc != OK) return E_NOT_SUPPORTED;
        value = one->value - two->value;
        break;
    default: return E_NOT_SUPPORTED;
    }
    if (row->type == TYPE_DOUBLE) out->value.dVal = (double)value;
    else if (row->type == TYPE_UINT) out->value.uiVal = (unsigned int)value;
    else if (row->type == TYPE_INT) out->value.siVal = (int)value;
    else out->value.ullVal = value;
    return OK;
}

API nvmlReturn_t nvmlDeviceGetFieldValues(handle_t device, int count, nvmlFieldValue_t *values) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (values == NULL || count <= 0) return E_INVALID_ARGUMENT;
    fn_Gpu gpu;
    rc = read_gpu(h.gpu, &gpu);
    if (rc != OK) return rc;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        nvmlFieldValue_t *out = &values[i];
        memset(&out->value, 0, sizeof(out->value));
        out->timestamp = (long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        out->latencyUsec = 0;
        out->valueType = 0;
        out->nvmlReturn = E_INVALID_ARGUMENT;
        for (size_t row = 0; row < sizeof(ROWS) / sizeof(ROWS[0]); row++)
            if (out->fieldId >= ROWS[row].first && out->fieldId <= ROWS[row].last) {
                out->valueType = ROWS[row].type;
                out->nvmlReturn = (unsigned int)read_row(&gpu, &ROWS[row], out);
                break;
            }
    }
    return OK;
}

/* Counters that are always 0 can be cleared; values of the GPU's state cannot. */
API nvmlReturn_t nvmlDeviceClearFieldValues(handle_t device, int count, nvmlFieldValue_t *values) {
    fn_handle h;
    nvmlReturn_t rc = fn_device(__func__, device, &h);
    if (rc != OK) return rc;
    if (values == NULL || count <= 0) return E_INVALID_ARGUMENT;
    for (int i = 0; i < count; i++) {
        values[i].nvmlReturn = E_INVALID_ARGUMENT;
        for (size_t row = 0; row < sizeof(ROWS) / sizeof(ROWS[0]); row++)
            if (values[i].fieldId >= ROWS[row].first && values[i].fieldId <= ROWS[row].last)
                values[i].nvmlReturn = ROWS[row].kind == KIND_ZERO ? OK : E_NOT_SUPPORTED;
    }
    return OK;
}
