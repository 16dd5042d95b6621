@profile:nvml @component:nvml
Feature: NVML's values
  Drivers publish values of GPUs as attributes, and name devices by the memory of profiles. Each getter returns the value
  of its own field and its own GPU, and a board has the values that are documented or were recorded of it.

  @NVML-005 @NVML-079 @needs:chosen-gpus
  Scenario: Each getter returns its own value of a GPU
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then the fake node refuses the changes in "refused_changes" [NVML-079]
    And the fake node refuses the changes in "refused_values" [NVML-079]
    And these values agree for GPU 0 [NVML-005]
      | value                                                     | expected                                 |
      | nvmlDeviceGetName()                                       | Distinct 1                               |
      | nvmlDeviceGetUUID()                                       | GPU-01234567-89ab-cdef-0123-456789abcdef |
      | nvmlDeviceGetSerial()                                     | 1324000000457                            |
      | nvmlDeviceGetBoardPartNumber()                            | part 2                                   |
      | nvmlDeviceGetVbiosVersion()                               | version 4                                |
      | nvmlDeviceGetInforomImageVersion()                        | version 5                                |
      | nvmlDeviceGetInforomVersion(0)                            | 6.1                                      |
      | nvmlDeviceGetInforomVersion(1)                            | 7.1                                      |
      | nvmlDeviceGetInforomVersion(2)                            | 8.1                                      |
      | nvmlDeviceGetGspFirmwareVersion()                         | 9.9.9                                    |
      | nvmlDeviceGetMinorNumber()                                | 205                                      |
      | nvmlDeviceGetBrand()                                      | 11                                       |
      | nvmlDeviceGetArchitecture()                               | 12                                       |
      | nvmlDeviceGetCudaComputeCapability()[0]                   | 13                                       |
      | nvmlDeviceGetCudaComputeCapability()[1]                   | 14                                       |
      | nvmlDeviceGetBoardId()                                    | 1042                                     |
      | nvmlDeviceGetModuleId()                                   | 47                                       |
      | nvmlDeviceGetNumaNodeId()                                 | 16                                       |
      | nvmlDeviceGetPersistenceMode()                            | 0                                        |
      | nvmlDeviceGetComputeMode()                                | 3                                        |
      | nvmlDeviceGetPerformanceState()                           | 8                                        |
      | nvmlDeviceGetPowerState()                                 | 6                                        |
      | nvmlDeviceGetDisplayMode()                                | 0                                        |
      | nvmlDeviceGetDisplayActive()                              | 1                                        |
      | nvmlDeviceGetEccMode()[0]                                 | 0                                        |
      | nvmlDeviceGetEccMode()[1]                                 | 1                                        |
      | nvmlDeviceGetDefaultEccMode()                             | 0                                        |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).total              | 75161927680                              |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).reserved           | 314572800                                |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used               | 1610612736                               |
      | nvmlDeviceGetBAR1MemoryInfo().bar1Total                   | 128849018880                             |
      | nvmlDeviceGetBAR1MemoryInfo().bar1Used                    | 7168                                     |
      | nvmlDeviceGetMemoryBusWidth()                             | 5121                                     |
      | nvmlDeviceGetTemperature(0)                               | 41                                       |
      | field value 82                                            | 42                                       |
      | nvmlDeviceGetMarginTemperature()                          | -43                                      |
      | nvmlDeviceGetTemperatureThreshold(0)                      | 104                                      |
      | nvmlDeviceGetTemperatureThreshold(1)                      | 103                                      |
      | nvmlDeviceGetTemperatureThreshold(2)                      | 102                                      |
      | nvmlDeviceGetTemperatureThreshold(3)                      | 101                                      |
      | nvmlDeviceGetTemperatureThreshold(4)                      | 44                                       |
      | nvmlDeviceGetTemperatureThreshold(5)                      | 45                                       |
      | nvmlDeviceGetTemperatureThreshold(6)                      | 46                                       |
      | nvmlDeviceGetTemperatureThreshold(7)                      | 48                                       |
      | field value 193                                           | -3                                       |
      | field value 194                                           | -2                                       |
      | nvmlDeviceGetPowerUsage()                                 | 123250                                   |
      | nvmlDeviceGetPowerManagementLimit()                       | 610000                                   |
      | nvmlDeviceGetPowerManagementDefaultLimit()                | 620000                                   |
      | nvmlDeviceGetPowerManagementLimitConstraints()[0]         | 210000                                   |
      | nvmlDeviceGetPowerManagementLimitConstraints()[1]         | 690000                                   |
      | nvmlDeviceGetEnforcedPowerLimit()                         | 605000                                   |
      | nvmlDeviceGetPowerManagementMode()                        | 0                                        |
      | nvmlDeviceGetPowerSource()                                | 1                                        |
      | nvmlDeviceGetTotalEnergyConsumption()                     | 5000                                     |
      | nvmlDeviceGetUtilizationRates().gpu                       | 51                                       |
      | nvmlDeviceGetUtilizationRates().memory                    | 52                                       |
      | nvmlDeviceGetEncoderUtilization()[0]                      | 53                                       |
      | nvmlDeviceGetDecoderUtilization()[0]                      | 54                                       |
      | nvmlDeviceGetJpgUtilization()[0]                          | 55                                       |
      | nvmlDeviceGetOfaUtilization()[0]                          | 56                                       |
      | nvmlDeviceGetEncoderUtilization()[1]                      | 57000                                    |
      | nvmlDeviceGetClockInfo(0)                                 | 1200                                     |
      | nvmlDeviceGetClockInfo(1)                                 | 1201                                     |
      | nvmlDeviceGetClockInfo(2)                                 | 1202                                     |
      | nvmlDeviceGetClockInfo(3)                                 | 1203                                     |
      | nvmlDeviceGetMinMaxClockOfPState(0, 8)[0]                 | 204                                      |
      | nvmlDeviceGetMaxClockInfo(0)                              | 1305                                     |
      | nvmlDeviceGetMaxClockInfo(1)                              | 1306                                     |
      | nvmlDeviceGetMaxClockInfo(2)                              | 1307                                     |
      | nvmlDeviceGetMaxClockInfo(3)                              | 1308                                     |
      | nvmlDeviceGetApplicationsClock(0)                         | 1209                                     |
      | nvmlDeviceGetApplicationsClock(1)                         | 1210                                     |
      | nvmlDeviceGetApplicationsClock(2)                         | 1211                                     |
      | nvmlDeviceGetApplicationsClock(3)                         | 1212                                     |
      | nvmlDeviceGetDefaultApplicationsClock(0)                  | 1213                                     |
      | nvmlDeviceGetDefaultApplicationsClock(1)                  | 1214                                     |
      | nvmlDeviceGetDefaultApplicationsClock(2)                  | 1215                                     |
      | nvmlDeviceGetDefaultApplicationsClock(3)                  | 1216                                     |
      | nvmlDeviceGetMaxCustomerBoostClock(0)                     | 1217                                     |
      | nvmlDeviceGetMaxCustomerBoostClock(1)                     | 1218                                     |
      | nvmlDeviceGetMaxCustomerBoostClock(2)                     | 1219                                     |
      | nvmlDeviceGetMaxCustomerBoostClock(3)                     | 1220                                     |
      | nvmlDeviceGetCurrentClocksEventReasons()                  | 8                                        |
      | nvmlDeviceGetSupportedClocksEventReasons()                | 12                                       |
      | nvmlDeviceGetSupportedMemoryClocks()[0]                   | 1309                                     |
      | nvmlDeviceGetSupportedMemoryClocks()[1]                   | 611                                      |
      | nvmlDeviceGetSupportedPerformanceStates()[0]              | 8                                        |
      | nvmlDeviceGetSupportedPerformanceStates()[1]              | 7                                        |
      | nvmlDeviceGetCurrPcieLinkGeneration()                     | 2                                        |
      | nvmlDeviceGetMaxPcieLinkGeneration()                      | 4                                        |
      | nvmlDeviceGetGpuMaxPcieLinkGeneration()                   | 6                                        |
      | nvmlDeviceGetCurrPcieLinkWidth()                          | 4                                        |
      | nvmlDeviceGetMaxPcieLinkWidth()                           | 12                                       |
      | nvmlDeviceGetPcieSpeed()                                  | 16001                                    |
      | nvmlDeviceGetPcieLinkMaxSpeed()                           | 7                                        |
      | nvmlDeviceGetPcieReplayCounter()                          | 61                                       |
      | nvmlDeviceGetPcieThroughput(0)                            | 62                                       |
      | nvmlDeviceGetPcieThroughput(1)                            | 63                                       |
      | nvmlDeviceGetNumGpuCores()                                | 16777                                    |
      | nvmlDeviceGetIrqNum()                                     | 77                                       |
      | nvmlDeviceGetBusType()                                    | 1                                        |
      | nvmlDeviceGetAdaptiveClockInfoStatus()                    | 0                                        |
      | nvmlDeviceGetMultiGpuBoard()                              | 1                                        |
      | nvmlDeviceGetNumFans()                                    | 3                                        |
      | nvmlDeviceGetGspFirmwareMode()[0]                         | 0                                        |
      | nvmlDeviceGetGspFirmwareMode()[1]                         | 1                                        |
      | nvmlDeviceGetInforomConfigurationChecksum()               | 65                                       |
      | nvmlDeviceGetAccountingMode()                             | 1                                        |
      | nvmlDeviceGetAccountingBufferSize()                       | 66                                       |
      | nvmlDeviceGetVirtualizationMode()                         | 2                                        |
      | nvmlDeviceGetAddressingMode()                             | 2                                        |
      | nvmlDeviceGetAutoBoostedClocksEnabled()[0]                | 1                                        |
      | nvmlDeviceGetAPIRestriction(0)                            | 1                                        |
      | nvmlDeviceGetAPIRestriction(1)                            | 0                                        |
      | nvmlDeviceGetEncoderCapacity(0)                           | 67                                       |
      | nvmlDeviceGetEncoderCapacity(1)                           | 68                                       |
      | nvmlDeviceGetEncoderCapacity(2)                           | 69                                       |
      | nvmlDeviceGetGpcClkVfOffset()                             | -70                                      |
      | nvmlDeviceGetMemClkVfOffset()                             | -71                                      |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7)                  | 1001                                     |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2)                  | 1020                                     |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 7)                  | 1300                                     |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2)                  | 5000                                     |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7)                  | 2001                                     |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2)                  | 2020                                     |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7)                  | 2300                                     |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2)                  | 6000                                     |
      | field value 142                                           | 72                                       |
      | field value 143                                           | 73                                       |
      | field value 144                                           | 1                                        |
      | field value 145                                           | 1                                        |
      | nvmlDeviceGetRowRemapperHistogram().max                   | 2561                                     |
      | nvmlDeviceGetRowRemapperHistogram().high                  | 74                                       |
      | nvmlDeviceGetRowRemapperHistogram().partial               | 75                                       |
      | nvmlDeviceGetRowRemapperHistogram().low                   | 76                                       |
      | nvmlDeviceGetRowRemapperHistogram().none                  | 78                                       |
      | nvmlDeviceGetRetiredPagesPendingStatus()                  | 1                                        |
      | retired pages of cause 0                                  | 2                                        |
      | retired pages of cause 1                                  | 5                                        |
      | nvmlDeviceGetRepairStatus()[0]                            | 1                                        |
      | nvmlDeviceGetRepairStatus()[1]                            | 0                                        |
      | nvmlDeviceGetUnrepairableMemoryFlag_v1()                  | 1                                        |
      | field value 230                                           | 3                                        |
      | nvmlDeviceGetSupportedEventTypes()                        | 25                                       |
      | field value 184                                           | 0                                        |
      | nvmlDeviceGetC2cModeInfoV().isC2cEnabled                  | 1                                        |
      | nvmlDeviceGetNvLinkVersion(0)                             | 5                                        |
      | NVLinks that are up                                       | 0, 1, 2, 3                               |
      | encryption of NVLinks                                     | 1                                        |
      | fabric state                                              | 3                                        |
      | fabric status                                             | 8                                        |
      | fabric clique                                             | 81                                       |
      | fabric health mask                                        | 85                                       |
      | fabric health summary                                     | 2                                        |
      | fabric cluster UUID                                       | 5f0e4d3c-2b1a-4987-8654-3210fedcba98     |
      | nvmlDeviceGetPdi()                                        | 83                                       |
      | nvmlGpmQueryDeviceSupport().isSupportedDevice             | 0                                        |
      | drain state                                               | 1                                        |
      | field value 74                                            | 85000                                    |
      | field value 75                                            | 86000000                                 |
      | field value 76                                            | 87000000000                              |
      | field value 77                                            | 88                                       |
      | field value 78                                            | 89                                       |
      | field value 79                                            | 90                                       |
      | field value 80                                            | 91                                       |
      | field value 81                                            | 92                                       |
      | platform chassisSerialNumber                              | chassis 10                               |
      | platform slotNumber                                       | 93                                       |
      | platform trayIndex                                        | 94                                       |
      | platform hostId                                           | 95                                       |
      | platform peerType                                         | 1                                        |
      | platform moduleId                                         | 47                                       |

  @NVML-005 @needs:chosen-gpus
  Scenario: A changed value is one of its GPU only
    Given NVML on the GPUs of this suite's inventory "distinct"
    When the fake node changes
      """
      - {at: 0, set: {gpu: GPU-01234567-89ab-cdef-0123-456789abcdef, temperature_gpu: 77 C, name: Changed, power_usage: N/A}}
      - {at: 0, set: {gpu: 3, margin_temperature: -5, recovery_action: 2, memory_used: 2 GiB}}
      - {at: 0, set: {gpu: 2, temperature_gpu: 36C, power_limit_enforced: " 0.5 kW ", clock_sm: 1.5 GHz, persistence_mode: 0, memory_reserved: 1024 B,
                      energy_consumption: 7 mJ, bar1_used: 1 GiB, violation_power: 3 us, clock_memory: 2600 MHz, fan_count: 0}}
      # The steps are played in the order of their times.
      - {at: 0.02, set: {gpu: 1, temperature_gpu: 51}}
      - {at: 0.01, set: {gpu: 1, temperature_gpu: 50, utilization_gpu: 100 %, performance_state: 15, power_source: 2,
                         recovery_action: 4, persistence_mode: 1, name: XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX,
                         pcie_width: 16, power_limit: 400 W, gpc_clock_offset: -2147483648}}
      - {at: 0.01, set: {gpu: 1, power_limit_max: 400000, gpc_clock_offset: 2147483647, fabric_state: 0, performance_state_supported_1: 32}}
      """
    Then these values agree for GPU 0
      | value                         | expected      |
      | nvmlDeviceGetTemperature(0)   | 77            |
      | nvmlDeviceGetName()           | Changed       |
      | nvmlDeviceGetPowerUsage()     | NOT_SUPPORTED |
      | nvmlDeviceGetMarginTemperature() | -43        |
    And these values agree for GPU 1
      | value                                        | expected   |
      | nvmlDeviceGetTemperature(0)                  | 51         |
      | nvmlDeviceGetUtilizationRates().gpu          | 100        |
      | nvmlDeviceGetPerformanceState()              | 15         |
      | nvmlDeviceGetSupportedPerformanceStates()    | 2          |
      | nvmlDeviceGetPowerSource()                   | 2          |
      | field value 230                              | 4          |
      | nvmlDeviceGetName()                          | XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX |
      | nvmlDeviceGetPowerManagementLimit()          | 400000     |
      | nvmlDeviceGetGpcClkVfOffset()                | 2147483647 |
    And these values agree for GPU 2
      | value                         | expected      |
      | nvmlDeviceGetTemperature(0)   | 36            |
      | nvmlDeviceGetName()           | NVIDIA H200   |
      | nvmlDeviceGetPowerUsage()     | 76289         |
      | nvmlDeviceGetEnforcedPowerLimit() | 500000    |
      | nvmlDeviceGetClockInfo(1)     | 1500          |
      | nvmlDeviceGetClockInfo(2)     | 2600          |
      | nvmlDeviceGetPersistenceMode() | 0            |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).reserved | 1024 |
      | nvmlDeviceGetTotalEnergyConsumption() | 7     |
      | nvmlDeviceGetBAR1MemoryInfo().bar1Used | 1073741824 |
      | field value 74                | 3000          |
    And these values agree for GPU 3
      | value                         | expected      |
      | nvmlDeviceGetMarginTemperature() | -5         |
      | field value 230               | 2             |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used | 2147483648 |
      | nvmlDeviceGetTemperature(0)   | 34            |

  @NVML-022 @NVML-024 @NVML-030 @needs:chosen-gpus
  Scenario: GPUs of several PCI domains have their own addresses, CPUs and neighbours
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these values agree for GPU 0 [NVML-024]
      | value                                              | expected                 |
      | nvmlDeviceGetPciInfo().busId                       | 0000A2B3:3C:1D.0         |
      | nvmlDeviceGetPciInfo().busIdLegacy                 | A2B3:3C:1D.0             |
      | nvmlDeviceGetPciInfo().domain                      | 41651                    |
      | nvmlDeviceGetPciInfo().bus                         | 60                       |
      | nvmlDeviceGetPciInfo().device                      | 29                       |
      | nvmlDeviceGetPciInfo().pciDeviceId                 | 590352606                |
      | nvmlDeviceGetPciInfo().pciSubSystemId              | 381751518                |
      | CPUs near the GPU                                  | 2, 3, 4, 5, 67, 130, 131 |
      | memory nodes near the GPU                          | 5                        |
      | levels of the topology above it and each other GPU | 50, 50, 50               |
      | NVLinks that are up                                | 0, 1, 2, 3               |
      | switch at NVLink 0                                 | 0000000A:0B:0C.0 10de    |
      | switch at NVLink 1                                 | 0000000D:0E:0F.0 10de    |
      | switch at NVLink 2                                 | 00000010:11:12.0 10de    |
      | switch at NVLink 3                                 | 0000000A:0B:0C.0 10de    |
    And these values agree for GPU 1 [NVML-030]
      | value                                              | expected         |
      | nvmlDeviceGetPciInfo().busId                       | 00000002:05:00.0 |
      | nvmlDeviceGetMinorNumber()                         | 1                |
      | CPUs near the GPU                                  | 64               |
      | memory nodes near the GPU                          | 3                |
      | levels of the topology above it and each other GPU | 50, 10, 40       |
      | NVLinks that are up                                | none             |
      | platform slotNumber                                | 31               |
    And these values agree for GPU 2 [NVML-030]
      | value                                              | expected      |
      | CPUs near the GPU                                  | 8, 9          |
      | memory nodes near the GPU                          | none          |
      | levels of the topology above it and each other GPU | 50, 10, 50    |
    And these values agree for GPU 3 [NVML-022]
      | value                                              | expected                                 |
      | nvmlDeviceGetUUID()                                | GPU-99234567-89ab-cdef-0123-456789abcdef |
      | levels of the topology above it and each other GPU | 50, 40, 50                               |
      | index by serial number                             | INVALID_ARGUMENT                         |
      | fabric state                                       | 2                                        |
      | fabric clique                                      | 0                                        |
    And these values agree for every GPU [NVML-022]
      | value                           | expected |
      | index by PCI address            | index    |
      | index by short PCI address      | index    |
      | index by UUID                   | index    |
      | device file of the minor number | exists   |

  @NVML-042 @NVML-046 @needs:chosen-gpus
  Scenario: GPUs of two models have MIG devices of several profiles
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these values agree for GPU 1 [NVML-046]
      | value                     | expected                                                                        |
      | GPU instances             | 1 of profile 9 at 0:4, 5 of profile 14 at 4:2, 13 of profile 19 at 6:1          |
      | MIG devices               | 1/0 3g.3c 42 SM 40192 MiB, 5/0 2g.2c 28 SM 19968 MiB, 13/0 1g.1c 14 SM 9728 MiB |
      | nvmlDeviceGetMigMode()[0] | 1                                                                               |
      | nvmlDeviceGetMigMode()[1] | 1                                                                               |
    And these values agree for GPU 2 [NVML-046]
      | value         | expected                                                                         |
      | GPU instances | 1 of profile 5 at 0:4, 12 of profile 19 at 5:1, 6 of profile 15 at 6:2           |
      | MIG devices   | 6/0 1g.1c 26 SM 33280 MiB, 12/0 1g.1c 16 SM 16384 MiB, 1/0 4g.4c 64 SM 71424 MiB |
    And these values agree for every GPU [NVML-042]
      | value                                                                           | expected |
      | MIG devices whose UUID has another version than 5, or another MIG device has it | none     |

  @NVML-026 @needs:chosen-gpus
  Scenario Outline: The GPUs of <gpus> have the values of their captured boards
    Given NVML on the GPUs of "<gpus>"
    Then these values agree for every GPU
      | value                                               | expected                  |
      | name, architecture, brand and compute capability    | the board with its PCI id |
      | values that differ from those of its captured board | none                      |

    Examples:
      | gpus             |
      | dgx-a100-40gb    |
      | dgx-a100-80gb    |
      | dgx-h100         |
      | dgx-h200         |
      | dgx-b200         |
      | gb200-nvl72-node |
      | gb300-nvl72-node |
      | l40s             |
      | t4               |

  # Left out are what no listing shows: the memory of 1g.10gb on H100, the larger profiles of B200 and GB200.
  @NVML-086 @needs:chosen-gpus
  Scenario: The GPU instance profiles of an A100 with 40 GB are those that nvidia-smi prints
    Given NVML on the GPUs of "dgx-a100-40gb"
    Then these values agree for every GPU
      | value                  | expected                                                                      |
      | GPU instance profile 0 | 1g.5gb id 19 x7 1 slices 4864 MiB 14 SM 1/0/0/0/0 P2P 0 at 0,1,2,3,4,5,6:1    |
      | GPU instance profile 7 | 1g.5gb+me id 20 x1 1 slices 4864 MiB 14 SM 1/1/0/1/1 P2P 0 at 0,1,2,3,4,5,6:1 |
      | GPU instance profile 9 | 1g.10gb id 15 x4 1 slices 9856 MiB 14 SM 1/1/0/0/0 P2P 0 at 0,2,4,6:2         |
      | GPU instance profile 1 | 2g.10gb id 14 x3 2 slices 9856 MiB 28 SM 2/1/0/0/0 P2P 0 at 0,2,4:2           |
      | GPU instance profile 2 | 3g.20gb id 9 x2 3 slices 19968 MiB 42 SM 3/2/0/0/0 P2P 0 at 0,4:4             |
      | GPU instance profile 3 | 4g.20gb id 5 x1 4 slices 19968 MiB 56 SM 4/2/0/0/0 P2P 0 at 0:4               |
      | GPU instance profile 4 | 7g.40gb id 0 x1 7 slices 40192 MiB 98 SM 7/5/0/1/1 P2P 0 at 0:8               |

  @NVML-086 @needs:chosen-gpus
  Scenario: The GPU instance profiles of an A100 with 80 GB are those that nvidia-smi prints
    Given NVML on the GPUs of "dgx-a100-80gb"
    Then these values agree for every GPU
      | value                  | expected                                                                       |
      | GPU instance profile 0 | 1g.10gb id 19 x7 1 slices 9728 MiB 14 SM 1/0/0/0/0 P2P 0 at 0,1,2,3,4,5,6:1    |
      | GPU instance profile 7 | 1g.10gb+me id 20 x1 1 slices 9728 MiB 14 SM 1/1/0/1/1 P2P 0 at 0,1,2,3,4,5,6:1 |
      | GPU instance profile 9 | 1g.20gb id 15 x4 1 slices 19968 MiB 14 SM 1/1/0/0/0 P2P 0 at 0,2,4,6:2         |
      | GPU instance profile 1 | 2g.20gb id 14 x3 2 slices 19968 MiB 28 SM 2/1/0/0/0 P2P 0 at 0,2,4:2           |
      | GPU instance profile 2 | 3g.40gb id 9 x2 3 slices 40192 MiB 42 SM 3/2/0/0/0 P2P 0 at 0,4:4              |
      | GPU instance profile 3 | 4g.40gb id 5 x1 4 slices 40192 MiB 56 SM 4/2/0/0/0 P2P 0 at 0:4                |
      | GPU instance profile 4 | 7g.80gb id 0 x1 7 slices 80896 MiB 98 SM 7/5/0/1/1 P2P 0 at 0:8                |

  @NVML-086 @needs:chosen-gpus
  Scenario: The GPU instance profiles of an H100 are those that nvidia-smi prints
    Given NVML on the GPUs of "dgx-h100"
    Then these values agree for every GPU
      | value                  | expected                                                                             |
      | GPU instance profile 0 | /1g.10gb id 19 x7 1 slices [0-9]+ MiB 16 SM 1/1/0/1/0 P2P 0 at 0,1,2,3,4,5,6:1/      |
      | GPU instance profile 7 | /1g.10gb[+]me id 20 x1 1 slices [0-9]+ MiB 16 SM 1/1/0/1/1 P2P 0 at 0,1,2,3,4,5,6:1/ |
      | GPU instance profile 9 | 1g.20gb id 15 x4 1 slices 20096 MiB 26 SM 1/1/0/1/0 P2P 0 at 0,2,4,6:2               |
      | GPU instance profile 1 | 2g.20gb id 14 x3 2 slices 20096 MiB 32 SM 2/2/0/2/0 P2P 0 at 0,2,4:2                 |
      | GPU instance profile 2 | 3g.40gb id 9 x2 3 slices 40448 MiB 60 SM 3/3/0/3/0 P2P 0 at 0,4:4                    |
      | GPU instance profile 3 | 4g.40gb id 5 x1 4 slices 40448 MiB 64 SM 4/4/0/4/0 P2P 0 at 0:4                      |
      | GPU instance profile 4 | 7g.80gb id 0 x1 7 slices 81152 MiB 132 SM 8/7/0/7/1 P2P 0 at 0:8                     |

  @NVML-086 @needs:chosen-gpus
  Scenario: The GPU instance profiles of an H200 are those that nvidia-smi prints
    Given NVML on the GPUs of "dgx-h200"
    Then these values agree for every GPU
      | value                  | expected                                                                        |
      | GPU instance profile 0 | 1g.18gb id 19 x7 1 slices 16384 MiB 16 SM 1/1/0/1/0 P2P 0 at 0,1,2,3,4,5,6:1    |
      | GPU instance profile 7 | 1g.18gb+me id 20 x1 1 slices 16384 MiB 16 SM 1/1/0/1/1 P2P 0 at 0,1,2,3,4,5,6:1 |
      | GPU instance profile 9 | 1g.35gb id 15 x4 1 slices 33280 MiB 26 SM 1/1/0/1/0 P2P 0 at 0,2,4,6:2          |
      | GPU instance profile 1 | 2g.35gb id 14 x3 2 slices 33280 MiB 32 SM 2/2/0/2/0 P2P 0 at 0,2,4:2            |
      | GPU instance profile 2 | 3g.71gb id 9 x2 3 slices 71424 MiB 60 SM 3/3/0/3/0 P2P 0 at 0,4:4               |
      | GPU instance profile 3 | 4g.71gb id 5 x1 4 slices 71424 MiB 64 SM 4/4/0/4/0 P2P 0 at 0:4                 |
      | GPU instance profile 4 | 7g.141gb id 0 x1 7 slices 143360 MiB 132 SM 8/7/0/7/1 P2P 0 at 0:8              |

  @NVML-086 @needs:chosen-gpus
  Scenario: The GPU instance profiles of a B200 are those that nvidia-smi prints
    Given NVML on the GPUs of "dgx-b200"
    Then these values agree for every GPU
      | value                  | expected                                                                        |
      | GPU instance profile 0 | 1g.23gb id 19 x7 1 slices 22528 MiB 18 SM 2/1/0/1/0 P2P 0 at 0,1,2,3,4,5,6:1    |
      | GPU instance profile 7 | 1g.23gb+me id 20 x1 1 slices 22528 MiB 18 SM 2/1/0/1/1 P2P 0 at 0,1,2,3,4,5,6:1 |
      | GPU instance profile 9 | 1g.45gb id 15 x4 1 slices 45312 MiB 30 SM 2/1/0/1/0 P2P 0 at 0,2,4,6:2          |
      | GPU instance profile 1 | 2g.45gb id 14 x3 2 slices 45312 MiB 36 SM 4/2/0/2/0 P2P 0 at 0,2,4:2            |

  @NVML-086 @needs:chosen-gpus
  Scenario: The GPU instance profiles of a GB200 are those that nvidia-smi prints
    Given NVML on the GPUs of "gb200-nvl72-node"
    Then these values agree for every GPU
      | value                  | expected                                                                        |
      | GPU instance profile 0 | 1g.23gb id 19 x7 1 slices 22528 MiB 18 SM 2/1/0/1/0 P2P 0 at 0,1,2,3,4,5,6:1    |
      | GPU instance profile 7 | 1g.23gb+me id 20 x1 1 slices 22528 MiB 18 SM 2/1/0/1/1 P2P 0 at 0,1,2,3,4,5,6:1 |
      | GPU instance profile 9 | 1g.47gb id 15 x4 1 slices 46592 MiB 32 SM 2/1/0/1/0 P2P 0 at 0,2,4,6:2          |
      | GPU instance profile 1 | 2g.47gb id 14 x3 2 slices 46592 MiB 38 SM 4/2/0/2/0 P2P 0 at 0,2,4:2            |

  @NVML-005 @NVML-022 @NVML-027 @NVML-030 @NVML-046 @NVML-087 @needs:chosen-gpus
  Scenario: GPUs at the ends of ranges have their own values
    Given NVML on the GPUs of this suite's inventory "edges"
    Then these values agree for GPU 0 [NVML-027]
      | value                              | expected |
      | nvmlSystemGetDriverVersion()       | 600.1    |
      | nvmlSystemGetCudaDriverVersion()   | 13010    |
    And these values agree for GPU 0 [NVML-005]
      | value                              | expected |
      | nvmlSystemGetNVMLVersion()         | 13.600.1 |
      | nvmlSystemGetDriverBranch().branch | r600_00  |
    And these values agree for GPU 0 [NVML-030]
      | value                     | expected      |
      | CPUs near the GPU         | 63, 64, 1023  |
      | memory nodes near the GPU | none          |
    And these values agree for GPU 1 [NVML-030]
      | value                     | expected      |
      | CPUs near the GPU         | 0             |
      | memory nodes near the GPU | 0             |
    And these values agree for GPU 2 [NVML-030]
      | value                     | expected      |
      | CPUs near the GPU         | none          |
      | memory nodes near the GPU | 63            |
    And these values agree for GPU 3 [NVML-030]
      | value                     | expected      |
      | CPUs near the GPU         | none          |
      | memory nodes near the GPU | none          |
    And these values agree for GPU 0 [NVML-046]
      | value         | expected |
      | GPU instances | 0 of profile 0 at 0:8 |
      | MIG devices   | 0/0 7g.7c 132 SM 81152 MiB |
    And these values agree for GPU 1 [NVML-046]
      | value         | expected |
      | GPU instances | 1 of profile 5 at 0:4, 2 of profile 9 at 4:4 |
      | MIG devices   | 1/0 4g.4c 64 SM 40448 MiB, 2/0 3g.3c 60 SM 40448 MiB |
    And these values agree for GPU 2 [NVML-046]
      | value         | expected |
      | GPU instances | 7 of profile 19 at 0:1, 8 of profile 19 at 1:1, 9 of profile 19 at 2:1, 10 of profile 20 at 3:1, 11 of profile 19 at 4:1, 12 of profile 19 at 5:1, 13 of profile 19 at 6:1 |
      | MIG devices   | 13/0 1g.1c 14 SM 4864 MiB, 12/0 1g.1c 14 SM 4864 MiB, 10/0 1g.1c 14 SM 4864 MiB, 11/0 1g.1c 14 SM 4864 MiB, 9/0 1g.1c 14 SM 4864 MiB, 8/0 1g.1c 14 SM 4864 MiB, 7/0 1g.1c 14 SM 4864 MiB |
    And these values agree for GPU 0 [NVML-087]
      | value                         | expected |
      | PCIe root of its device       | pci0000:00 |
      | GPUs below its PCIe root port | 0, 2     |
      | sysfs numa_node               | -1       |
      | sysfs local_cpulist           | 63-64,1023 |
    And these values agree for GPU 1 [NVML-087]
      | value                         | expected |
      | PCIe root of its device       | pci0001:09 |
      | GPUs below its PCIe root port | 1        |
      | sysfs numa_node               | 0        |
    And these values agree for GPU 3 [NVML-087]
      | value                         | expected |
      | PCIe root of its device       | pciffff:fe |
      | GPUs below its PCIe root port | 3        |
      | sysfs numa_node               | -1       |
      | sysfs irq                     | 2147483648 |
    And these values agree for GPU 2 [NVML-022]
      | value                                 | expected |
      | nvmlDeviceGetPciInfo().busId          | 00000000:0B:00.0 |
      | nvmlDeviceGetSerial()                 | /165[0-4][0-9]{9}/ |
      | index by serial number                | INVALID_ARGUMENT |
    And these values agree for GPU 2 [NVML-005]
      | value                                 | expected            |
      | nvmlDeviceGetTotalEnergyConsumption() | 9223372036854775807 |
      | nvmlDeviceGetClockInfo(1)             | 4294967295          |
    And these values agree for GPU 3 [NVML-022]
      | value                                 | expected |
      | nvmlDeviceGetPciInfo().busId          | 0000FFFF:FF:10.0 |
      | nvmlDeviceGetSerial()                 | /165[0-4][0-9]{9}/ |
    And these values agree for GPU 0 [NVML-022]
      | value                                 | expected |
      | nvmlDeviceGetPciInfo().busId          | 00000000:00:1F.0 |
      | nvmlDeviceGetSerial()                 | /165[0-4][0-9]{9}/ |
      | index by serial number                | index    |
    And these values agree for GPU 1 [NVML-022]
      | value                                 | expected |
      | nvmlDeviceGetPciInfo().busId          | 00000001:0A:00.0 |
      | nvmlDeviceGetSerial()                 | /165[0-4][0-9]{9}/ |
      | index by serial number                | index    |
    And these values agree for every GPU [NVML-022]
      | value            | expected     |
      | view by the node | view by NVML |
