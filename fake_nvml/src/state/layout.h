/* Written by gen_layout.py from fake_nvml/layout.py and fields.py. Do not edit. */
#ifndef FNVML_LAYOUT_H
#define FNVML_LAYOUT_H
#include <stddef.h>
#include <stdint.h>

#define FNVML_MAGIC 0x314C4D564E4B4146ULL
#define LAYOUT_VERSION 3
#define MAX_GPUS 64
#define MAX_PROFILES 18
#define MAX_STARTS 8
#define MAX_GPU_INSTANCES 15
#define MAX_COMPUTE_INSTANCES 8
#define MAX_LINKS 18
#define MAX_FAULTS 32
#define MAX_PROCESSES 16
#define RING_SIZE 4096
#define STRING_SIZE 96
#define AFFINITY_WORDS 16
#define SCALAR_COUNT 174
#define STRING_COUNT 12

enum scalar_field {
    F_minor_number,
    F_brand,
    F_architecture,
    F_compute_capability_major,
    F_compute_capability_minor,
    F_board_id,
    F_module_id,
    F_numa_node,
    F_numa_node_id,
    F_persistence_mode,
    F_compute_mode,
    F_performance_state,
    F_power_state,
    F_display_mode,
    F_display_active,
    F_ecc_mode_current,
    F_ecc_mode_pending,
    F_ecc_mode_default,
    F_memory_total,
    F_memory_reserved,
    F_memory_used,
    F_bar1_total,
    F_bar1_used,
    F_memory_bus_width,
    F_temperature_gpu,
    F_temperature_memory,
    F_margin_temperature,
    F_threshold_shutdown,
    F_threshold_slowdown,
    F_threshold_memory_max,
    F_threshold_gpu_max,
    F_threshold_acoustic_min,
    F_threshold_acoustic_current,
    F_threshold_acoustic_max,
    F_threshold_gps_current,
    F_power_usage,
    F_power_limit,
    F_power_limit_default,
    F_power_limit_min,
    F_power_limit_max,
    F_power_limit_enforced,
    F_power_management_mode,
    F_power_source,
    F_energy_consumption,
    F_utilization_gpu,
    F_utilization_memory,
    F_utilization_encoder,
    F_utilization_decoder,
    F_utilization_jpeg,
    F_utilization_ofa,
    F_utilization_period,
    F_clock_graphics,
    F_clock_sm,
    F_clock_memory,
    F_clock_video,
    F_clock_min_graphics,
    F_clock_max_graphics,
    F_clock_max_sm,
    F_clock_max_memory,
    F_clock_max_video,
    F_clock_app_graphics,
    F_clock_app_sm,
    F_clock_app_memory,
    F_clock_app_video,
    F_clock_app_default_graphics,
    F_clock_app_default_sm,
    F_clock_app_default_memory,
    F_clock_app_default_video,
    F_clock_boost_graphics,
    F_clock_boost_sm,
    F_clock_boost_memory,
    F_clock_boost_video,
    F_clocks_event_reasons,
    F_clocks_event_reasons_supported,
    F_memory_clock_supported_0,
    F_memory_clock_supported_1,
    F_performance_state_supported_0,
    F_performance_state_supported_1,
    F_pcie_generation,
    F_pcie_generation_max,
    F_pcie_generation_max_gpu,
    F_pcie_width,
    F_pcie_width_max,
    F_pcie_speed,
    F_pcie_link_max_speed,
    F_pcie_replay_counter,
    F_pcie_throughput_tx,
    F_pcie_throughput_rx,
    F_pcie_switch,
    F_gpu_cores,
    F_irq_number,
    F_bus_type,
    F_adaptive_clock,
    F_multi_gpu_board,
    F_fan_count,
    F_gsp_enabled,
    F_gsp_default,
    F_inforom_checksum,
    F_accounting_mode,
    F_accounting_buffer_size,
    F_virtualization_mode,
    F_addressing_mode,
    F_capabilities,
    F_auto_boost,
    F_api_restriction_application_clocks,
    F_api_restriction_auto_boost,
    F_encoder_capacity_h264,
    F_encoder_capacity_hevc,
    F_encoder_capacity_av1,
    F_gpc_clock_offset,
    F_memory_clock_offset,
    F_ecc_corrected_volatile_sram,
    F_ecc_corrected_volatile_dram,
    F_ecc_corrected_aggregate_sram,
    F_ecc_corrected_aggregate_dram,
    F_ecc_uncorrected_volatile_sram,
    F_ecc_uncorrected_volatile_dram,
    F_ecc_uncorrected_aggregate_sram,
    F_ecc_uncorrected_aggregate_dram,
    F_remapped_rows_corrected,
    F_remapped_rows_uncorrected,
    F_remapped_rows_pending,
    F_remapped_rows_failure,
    F_row_remapper_max,
    F_row_remapper_high,
    F_row_remapper_partial,
    F_row_remapper_low,
    F_row_remapper_none,
    F_retired_pages_pending,
    F_repair_channel_pending,
    F_repair_tpc_pending,
    F_unrepairable_memory,
    F_recovery_action,
    F_supported_events,
    F_mig_mode_current,
    F_mig_mode_pending,
    F_mig_mode_immediate,
    F_c2c_enabled,
    F_nvlink_version,
    F_nvlink_count,
    F_fabric_state,
    F_fabric_status,
    F_fabric_clique_id,
    F_fabric_health_mask,
    F_fabric_health_summary,
    F_pdi,
    F_cc_protected_memory,
    F_is_lost,
    F_reset_required,
    F_violation_power,
    F_violation_thermal,
    F_violation_sync_boost,
    F_violation_board_limit,
    F_violation_low_utilization,
    F_violation_reliability,
    F_violation_total_app_clocks,
    F_violation_total_base_clocks,
    F_platform_slot,
    F_platform_tray,
    F_platform_host_id,
    F_platform_peer_type,
    F_nvlink_encryption,
    F_retired_pages_single_bit,
    F_retired_pages_double_bit,
    F_gpm_supported,
    F_gpm_streaming,
    F_drain_state,
    F_clock_locked_graphics_min,
    F_clock_locked_graphics_max,
    F_clock_locked_memory_min,
    F_clock_locked_memory_max,
    F_power_profiles_supported,
    F_power_profiles_exclusive,
    F_power_profiles_requested,
};
enum string_field {
    S_name,
    S_uuid,
    S_serial,
    S_board_part_number,
    S_vbios_version,
    S_inforom_image,
    S_inforom_oem,
    S_inforom_ecc,
    S_inforom_power,
    S_gsp_version,
    S_gpu_part_number,
    S_platform_chassis_serial,
};

typedef struct {
    unsigned long long value;
    int rc;
    unsigned int reserved;
} fn_Scalar;
_Static_assert(sizeof(fn_Scalar) == 16, "fn_Scalar");
_Static_assert(offsetof(fn_Scalar, value) == 0, "fn_Scalar.value");
_Static_assert(offsetof(fn_Scalar, rc) == 8, "fn_Scalar.rc");
_Static_assert(offsetof(fn_Scalar, reserved) == 12, "fn_Scalar.reserved");

typedef struct {
    char text[96];
    int rc;
} fn_Text;
_Static_assert(sizeof(fn_Text) == 100, "fn_Text");
_Static_assert(offsetof(fn_Text, text) == 0, "fn_Text.text");
_Static_assert(offsetof(fn_Text, rc) == 96, "fn_Text.rc");

typedef struct {
    unsigned int present;
    unsigned int active;
    unsigned int remote_type;
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pci_device_id;
    unsigned int reserved;
    unsigned long long errors[5];
} fn_Link;
_Static_assert(sizeof(fn_Link) == 72, "fn_Link");
_Static_assert(offsetof(fn_Link, present) == 0, "fn_Link.present");
_Static_assert(offsetof(fn_Link, active) == 4, "fn_Link.active");
_Static_assert(offsetof(fn_Link, remote_type) == 8, "fn_Link.remote_type");
_Static_assert(offsetof(fn_Link, domain) == 12, "fn_Link.domain");
_Static_assert(offsetof(fn_Link, bus) == 16, "fn_Link.bus");
_Static_assert(offsetof(fn_Link, device) == 20, "fn_Link.device");
_Static_assert(offsetof(fn_Link, pci_device_id) == 24, "fn_Link.pci_device_id");
_Static_assert(offsetof(fn_Link, reserved) == 28, "fn_Link.reserved");
_Static_assert(offsetof(fn_Link, errors) == 32, "fn_Link.errors");

typedef struct {
    unsigned int present;
    unsigned int id;
    unsigned int p2p;
    unsigned int slices;
    unsigned int instances;
    unsigned int multiprocessors;
    unsigned int copy_engines;
    unsigned int decoders;
    unsigned int encoders;
    unsigned int jpegs;
    unsigned int ofas;
    unsigned int size;
    unsigned int start_count;
    unsigned int starts[8];
    unsigned int capabilities;
    unsigned long long memory_mib;
    char name[48];
} fn_Profile;
_Static_assert(sizeof(fn_Profile) == 144, "fn_Profile");
_Static_assert(offsetof(fn_Profile, present) == 0, "fn_Profile.present");
_Static_assert(offsetof(fn_Profile, id) == 4, "fn_Profile.id");
_Static_assert(offsetof(fn_Profile, p2p) == 8, "fn_Profile.p2p");
_Static_assert(offsetof(fn_Profile, slices) == 12, "fn_Profile.slices");
_Static_assert(offsetof(fn_Profile, instances) == 16, "fn_Profile.instances");
_Static_assert(offsetof(fn_Profile, multiprocessors) == 20, "fn_Profile.multiprocessors");
_Static_assert(offsetof(fn_Profile, copy_engines) == 24, "fn_Profile.copy_engines");
_Static_assert(offsetof(fn_Profile, decoders) == 28, "fn_Profile.decoders");
_Static_assert(offsetof(fn_Profile, encoders) == 32, "fn_Profile.encoders");
_Static_assert(offsetof(fn_Profile, jpegs) == 36, "fn_Profile.jpegs");
_Static_assert(offsetof(fn_Profile, ofas) == 40, "fn_Profile.ofas");
_Static_assert(offsetof(fn_Profile, size) == 44, "fn_Profile.size");
_Static_assert(offsetof(fn_Profile, start_count) == 48, "fn_Profile.start_count");
_Static_assert(offsetof(fn_Profile, starts) == 52, "fn_Profile.starts");
_Static_assert(offsetof(fn_Profile, capabilities) == 84, "fn_Profile.capabilities");
_Static_assert(offsetof(fn_Profile, memory_mib) == 88, "fn_Profile.memory_mib");
_Static_assert(offsetof(fn_Profile, name) == 96, "fn_Profile.name");

typedef struct {
    unsigned int used;
    unsigned int serial;
    unsigned int profile;
    unsigned int start;
    unsigned int size;
    unsigned int mig_index;
} fn_ComputeInstance;
_Static_assert(sizeof(fn_ComputeInstance) == 24, "fn_ComputeInstance");
_Static_assert(offsetof(fn_ComputeInstance, used) == 0, "fn_ComputeInstance.used");
_Static_assert(offsetof(fn_ComputeInstance, serial) == 4, "fn_ComputeInstance.serial");
_Static_assert(offsetof(fn_ComputeInstance, profile) == 8, "fn_ComputeInstance.profile");
_Static_assert(offsetof(fn_ComputeInstance, start) == 12, "fn_ComputeInstance.start");
_Static_assert(offsetof(fn_ComputeInstance, size) == 16, "fn_ComputeInstance.size");
_Static_assert(offsetof(fn_ComputeInstance, mig_index) == 20, "fn_ComputeInstance.mig_index");

typedef struct {
    unsigned int used;
    unsigned int serial;
    unsigned int profile;
    unsigned int start;
    unsigned int size;
    unsigned int reserved;
    fn_ComputeInstance compute[8];
} fn_GpuInstance;
_Static_assert(sizeof(fn_GpuInstance) == 216, "fn_GpuInstance");
_Static_assert(offsetof(fn_GpuInstance, used) == 0, "fn_GpuInstance.used");
_Static_assert(offsetof(fn_GpuInstance, serial) == 4, "fn_GpuInstance.serial");
_Static_assert(offsetof(fn_GpuInstance, profile) == 8, "fn_GpuInstance.profile");
_Static_assert(offsetof(fn_GpuInstance, start) == 12, "fn_GpuInstance.start");
_Static_assert(offsetof(fn_GpuInstance, size) == 16, "fn_GpuInstance.size");
_Static_assert(offsetof(fn_GpuInstance, reserved) == 20, "fn_GpuInstance.reserved");
_Static_assert(offsetof(fn_GpuInstance, compute) == 24, "fn_GpuInstance.compute");

typedef struct {
    unsigned int used;
    unsigned int pid;
    unsigned int graphics;
    unsigned int gi;
    unsigned int ci;
    unsigned int utilization;
    unsigned long long memory;
} fn_Process;
_Static_assert(sizeof(fn_Process) == 32, "fn_Process");
_Static_assert(offsetof(fn_Process, used) == 0, "fn_Process.used");
_Static_assert(offsetof(fn_Process, pid) == 4, "fn_Process.pid");
_Static_assert(offsetof(fn_Process, graphics) == 8, "fn_Process.graphics");
_Static_assert(offsetof(fn_Process, gi) == 12, "fn_Process.gi");
_Static_assert(offsetof(fn_Process, ci) == 16, "fn_Process.ci");
_Static_assert(offsetof(fn_Process, utilization) == 20, "fn_Process.utilization");
_Static_assert(offsetof(fn_Process, memory) == 24, "fn_Process.memory");

typedef struct {
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pci_device_id;
    unsigned int pci_subsystem_id;
    unsigned int pci_class;
    unsigned int present;
    unsigned int reserved;
    unsigned char cluster_uuid[16];
    unsigned long long cpu_affinity[16];
    unsigned long long memory_affinity;
    fn_Scalar scalars[174];
    fn_Text strings[12];
    fn_Link links[18];
    fn_Profile profiles[18];
    unsigned char mig_uuids[120][16];
    fn_GpuInstance instances[15];
    fn_Process processes[16];
} fn_Gpu;
_Static_assert(sizeof(fn_Gpu) == 13728, "fn_Gpu");
_Static_assert(offsetof(fn_Gpu, domain) == 0, "fn_Gpu.domain");
_Static_assert(offsetof(fn_Gpu, bus) == 4, "fn_Gpu.bus");
_Static_assert(offsetof(fn_Gpu, device) == 8, "fn_Gpu.device");
_Static_assert(offsetof(fn_Gpu, pci_device_id) == 12, "fn_Gpu.pci_device_id");
_Static_assert(offsetof(fn_Gpu, pci_subsystem_id) == 16, "fn_Gpu.pci_subsystem_id");
_Static_assert(offsetof(fn_Gpu, pci_class) == 20, "fn_Gpu.pci_class");
_Static_assert(offsetof(fn_Gpu, present) == 24, "fn_Gpu.present");
_Static_assert(offsetof(fn_Gpu, reserved) == 28, "fn_Gpu.reserved");
_Static_assert(offsetof(fn_Gpu, cluster_uuid) == 32, "fn_Gpu.cluster_uuid");
_Static_assert(offsetof(fn_Gpu, cpu_affinity) == 48, "fn_Gpu.cpu_affinity");
_Static_assert(offsetof(fn_Gpu, memory_affinity) == 176, "fn_Gpu.memory_affinity");
_Static_assert(offsetof(fn_Gpu, scalars) == 184, "fn_Gpu.scalars");
_Static_assert(offsetof(fn_Gpu, strings) == 2968, "fn_Gpu.strings");
_Static_assert(offsetof(fn_Gpu, links) == 4168, "fn_Gpu.links");
_Static_assert(offsetof(fn_Gpu, profiles) == 5464, "fn_Gpu.profiles");
_Static_assert(offsetof(fn_Gpu, mig_uuids) == 8056, "fn_Gpu.mig_uuids");
_Static_assert(offsetof(fn_Gpu, instances) == 9976, "fn_Gpu.instances");
_Static_assert(offsetof(fn_Gpu, processes) == 13216, "fn_Gpu.processes");

typedef struct {
    unsigned int active;
    int rc;
    int gpu;
    unsigned int pid;
    unsigned int after;
    unsigned int times;
    unsigned int delay_ms;
    unsigned int seen;
    unsigned int every;
    unsigned int probability;
    unsigned int seed;
    unsigned int hang;
    unsigned long long hits;
    char program[16];
    char function[80];
} fn_Fault;
_Static_assert(sizeof(fn_Fault) == 152, "fn_Fault");
_Static_assert(offsetof(fn_Fault, active) == 0, "fn_Fault.active");
_Static_assert(offsetof(fn_Fault, rc) == 4, "fn_Fault.rc");
_Static_assert(offsetof(fn_Fault, gpu) == 8, "fn_Fault.gpu");
_Static_assert(offsetof(fn_Fault, pid) == 12, "fn_Fault.pid");
_Static_assert(offsetof(fn_Fault, after) == 16, "fn_Fault.after");
_Static_assert(offsetof(fn_Fault, times) == 20, "fn_Fault.times");
_Static_assert(offsetof(fn_Fault, delay_ms) == 24, "fn_Fault.delay_ms");
_Static_assert(offsetof(fn_Fault, seen) == 28, "fn_Fault.seen");
_Static_assert(offsetof(fn_Fault, every) == 32, "fn_Fault.every");
_Static_assert(offsetof(fn_Fault, probability) == 36, "fn_Fault.probability");
_Static_assert(offsetof(fn_Fault, seed) == 40, "fn_Fault.seed");
_Static_assert(offsetof(fn_Fault, hang) == 44, "fn_Fault.hang");
_Static_assert(offsetof(fn_Fault, hits) == 48, "fn_Fault.hits");
_Static_assert(offsetof(fn_Fault, program) == 56, "fn_Fault.program");
_Static_assert(offsetof(fn_Fault, function) == 72, "fn_Fault.function");

typedef struct {
    unsigned int gpu_count;
    unsigned int cuda_version;
    unsigned int alive;
    unsigned int fault_count;
    unsigned int log_calls;
    int init_rc;
    unsigned int next_serial;
    unsigned long long event_head;
    unsigned long long events_dropped;
    unsigned long long removed;
    fn_Text driver_version;
    fn_Text nvml_version;
    fn_Text driver_branch;
    unsigned int reserved[2];
    fn_Fault faults[32];
    fn_Gpu gpus[64];
} fn_State;
_Static_assert(sizeof(fn_State) == 883824, "fn_State");
_Static_assert(offsetof(fn_State, gpu_count) == 0, "fn_State.gpu_count");
_Static_assert(offsetof(fn_State, cuda_version) == 4, "fn_State.cuda_version");
_Static_assert(offsetof(fn_State, alive) == 8, "fn_State.alive");
_Static_assert(offsetof(fn_State, fault_count) == 12, "fn_State.fault_count");
_Static_assert(offsetof(fn_State, log_calls) == 16, "fn_State.log_calls");
_Static_assert(offsetof(fn_State, init_rc) == 20, "fn_State.init_rc");
_Static_assert(offsetof(fn_State, next_serial) == 24, "fn_State.next_serial");
_Static_assert(offsetof(fn_State, event_head) == 32, "fn_State.event_head");
_Static_assert(offsetof(fn_State, events_dropped) == 40, "fn_State.events_dropped");
_Static_assert(offsetof(fn_State, removed) == 48, "fn_State.removed");
_Static_assert(offsetof(fn_State, driver_version) == 56, "fn_State.driver_version");
_Static_assert(offsetof(fn_State, nvml_version) == 156, "fn_State.nvml_version");
_Static_assert(offsetof(fn_State, driver_branch) == 256, "fn_State.driver_branch");
_Static_assert(offsetof(fn_State, reserved) == 356, "fn_State.reserved");
_Static_assert(offsetof(fn_State, faults) == 368, "fn_State.faults");
_Static_assert(offsetof(fn_State, gpus) == 5232, "fn_State.gpus");

typedef struct {
    unsigned long long seq;
    unsigned long long type;
    unsigned long long data;
    unsigned int gpu;
    unsigned int gi;
    unsigned int ci;
    unsigned int reserved;
} fn_Event;
_Static_assert(sizeof(fn_Event) == 40, "fn_Event");
_Static_assert(offsetof(fn_Event, seq) == 0, "fn_Event.seq");
_Static_assert(offsetof(fn_Event, type) == 8, "fn_Event.type");
_Static_assert(offsetof(fn_Event, data) == 16, "fn_Event.data");
_Static_assert(offsetof(fn_Event, gpu) == 24, "fn_Event.gpu");
_Static_assert(offsetof(fn_Event, gi) == 28, "fn_Event.gi");
_Static_assert(offsetof(fn_Event, ci) == 32, "fn_Event.ci");
_Static_assert(offsetof(fn_Event, reserved) == 36, "fn_Event.reserved");

typedef struct {
    unsigned long long magic;
    unsigned int layout_version;
    unsigned int reserved;
    unsigned long long file_size;
    unsigned long long epoch;
    unsigned long long gen;
    unsigned char padding[4056];
} fn_Header;
_Static_assert(sizeof(fn_Header) == 4096, "fn_Header");
_Static_assert(offsetof(fn_Header, magic) == 0, "fn_Header.magic");
_Static_assert(offsetof(fn_Header, layout_version) == 8, "fn_Header.layout_version");
_Static_assert(offsetof(fn_Header, reserved) == 12, "fn_Header.reserved");
_Static_assert(offsetof(fn_Header, file_size) == 16, "fn_Header.file_size");
_Static_assert(offsetof(fn_Header, epoch) == 24, "fn_Header.epoch");
_Static_assert(offsetof(fn_Header, gen) == 32, "fn_Header.gen");
_Static_assert(offsetof(fn_Header, padding) == 40, "fn_Header.padding");

#endif
