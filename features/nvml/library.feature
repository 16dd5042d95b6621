@profile:nvml @component:nvml
Feature: NVML as a shared library
  Programs in C, Go and Python load one shared library. It treats versions, buffers and sessions in the same way,
  whether NVIDIA's driver or a file provides its values.

  @NVML-001 @needs:stand-in-nvml
  Scenario: The library exports every function that pynvml looks up
    Given NVML
    Then the library file has these properties
      | property                | value |
      | missing names of pynvml | none  |

  @NVML-002
  Scenario Outline: The library can be loaded with <flags>
    Given NVML
    When the program "load with <flags>" runs in another process
    Then it prints "init 0, shutdown 0"

    Examples:
      | flags                     |
      | RTLD_NOW                  |
      | RTLD_LAZY and RTLD_GLOBAL |

  @NVML-002
  Scenario: The library needs no NVML function of another library
    Given NVML
    Then the library file has these properties
      | property             | value |
      | undefined NVML names | none  |

  @NVML-003 @needs:stand-in-nvml
  Scenario: The library exports names of NVML only
    Given NVML
    Then the library file has these properties
      | property             | value |
      | other exported names | none  |

  @NVML-004
  Scenario: The file name has the driver's version and the SONAME does not
    Given NVML
    Then the library file has these properties
      | property  | value                               |
      | file name | libnvidia-ml.so. and driver version |
      | file type | regular                             |
      | SONAME    | libnvidia-ml.so.1                   |

  @NVML-005 @needs:fake-nvml
  Scenario: Each number is in its own field of a structure
    Given NVML
    When the fake node changes
      """
      - at: 0
        set: {gpu: 0, memory_total: 85899345920, memory_reserved: 7340032, memory_used: 11534336,
              bar1_total: 13631488, bar1_used: 3145728, utilization_gpu: 17, utilization_memory: 19}
      """
    Then these values agree for GPU 0
      | value                                           | expected    |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).total    | 85899345920 |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).reserved | 7340032     |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used     | 11534336    |
      | nvmlDeviceGetBAR1MemoryInfo().bar1Total         | 13631488    |
      | nvmlDeviceGetBAR1MemoryInfo().bar1Used          | 3145728     |
      | nvmlDeviceGetBAR1MemoryInfo().bar1Free          | 10485760    |
      | nvmlDeviceGetUtilizationRates().gpu             | 17          |
      | nvmlDeviceGetUtilizationRates().memory          | 19          |
    And these values agree for every GPU but GPU 0
      | value                                       | expected     |
      | nvmlDeviceGetUtilizationRates().gpu         | 0            |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used | 0            |

  @NVML-006
  Scenario Outline: <function> rejects wrong versions and writes nothing
    Given NVML
    Then <function> returns for these versions of its structure
      | version         | returns | structure |
      | 0               | <error> | unchanged |
      | 99              | <error> | unchanged |
      | 8 bytes larger  | <error> | unchanged |
      | 8 bytes smaller | <error> | unchanged |

    Examples:
      | function                             | error                                            |
      | nvmlDeviceGetMemoryInfo_v2           | FUNCTION_NOT_FOUND or ARGUMENT_VERSION_MISMATCH  |
      | nvmlDeviceGetGpuFabricInfoV          | ARGUMENT_VERSION_MISMATCH                        |
      | nvmlDeviceGetGpuInstanceProfileInfoV | INVALID_ARGUMENT or ARGUMENT_VERSION_MISMATCH    |

  @NVML-007
  Scenario Outline: <function> does not write beyond the caller's structure
    Given NVML
    Then <function> returns for these versions of its structure
      | version | returns | structure |
      | its own | SUCCESS | filled    |

    Examples:
      | function                             |
      | nvmlDeviceGetMemoryInfo_v2           |
      | nvmlDeviceGetGpuFabricInfoV          |
      | nvmlDeviceGetGpuInstanceProfileInfoV |

  @NVML-008 @needs:fake-nvml
  Scenario: Each version of the process list has its own layout
    Given NVML
    When the fake node changes
      """
      - {at: 0, process: {gpu: 0, pid: 1001, memory: 1048576}}
      - {at: 0, process: {gpu: 0, pid: 1002, memory: 1048576}}
      - {at: 0, process: {gpu: 0, pid: 1003, memory: 1048576}}
      """
    Then these values agree for GPU 0
      | value                                                                         | expected         |
      | process ids in the 16-byte entries of nvmlDeviceGetComputeRunningProcesses    | 1001, 1002, 1003 |
      | process ids in the 24-byte entries of nvmlDeviceGetComputeRunningProcesses_v2 | 1001, 1002, 1003 |
      | process ids in the 24-byte entries of nvmlDeviceGetComputeRunningProcesses_v3 | 1001, 1002, 1003 |

  @NVML-008 @needs:fake-nvml
  Scenario: Each GPU lists its own processes
    Given NVML
    When the fake node changes
      """
      - {at: 0, process: {gpu: 0, pid: 1001, memory: 1048576}}
      - {at: 0, process: {gpu: 0, pid: 1002, memory: 2097152}}
      - {at: 0, process: {gpu: 1, pid: 1001, memory: 4194304, utilization: 30}}
      - {at: 0, process: {gpu: 0, pid: 1002, memory: 8388608}}
      """
    Then these values agree for GPU 0
      | value                                                                         | expected                   |
      | process ids in the 24-byte entries of nvmlDeviceGetComputeRunningProcesses_v3 | 1001, 1002                 |
      | memory of its processes                                                       | 1001 1048576, 1002 8388608 |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used                                   | 9437184                    |
      | process ids in the 24-byte entries of nvmlDeviceGetGraphicsRunningProcesses_v3 | none                      |
    And these values agree for GPU 1
      | value                                       | expected     |
      | memory of its processes                     | 1001 4194304 |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used | 4194304      |
    And these values agree for GPU 2
      | value                   | expected |
      | memory of its processes | none     |
    When the fake node changes
      """
      - {at: 0, process: {gpu: 0, pid: 1001, memory: 0}}
      """
    Then these values agree for GPU 0
      | value                                       | expected     |
      | memory of its processes                     | 1002 8388608 |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used | 8388608      |
    And these values agree for GPU 1
      | value                   | expected     |
      | memory of its processes | 1001 4194304 |
    When the fake node changes
      """
      - {at: 0, process: {gpu: 1, pid: 1003, memory: 65536, graphics: true, utilization: 7}}
      """
    Then these values agree for GPU 1
      | value                                                                          | expected         |
      | memory of its processes                                                        | 1001 4194304     |
      | process ids in the 24-byte entries of nvmlDeviceGetGraphicsRunningProcesses_v3 | 1003             |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used                                    | 4259840          |
      | utilization of its processes                                                   | 1001 30, 1003 7  |
    And these values agree for GPU 0
      | value                        | expected |
      | utilization of its processes | 1002 0   |
    When the fake node changes as in "sixteen_processes"
    Then the fake node refuses these changes
      """
      - {at: 0, process: {gpu: 2, pid: 17, memory: 1024}}  # GPU 2: 16 processes
      - {at: 0, process: {gpu: 2, pid: 4, memory: 1099511627776}}  # process 4: 1099511627776 bytes of GPU 2
      """
    And these values agree for GPU 2
      | value                                                                         | expected |
      | process ids in the 24-byte entries of nvmlDeviceGetComputeRunningProcesses_v3 | 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used                                   | 16384 |

  @NVML-008 @needs:chosen-gpus
  Scenario: Each MIG device lists its own processes
    Given NVML on the GPUs of this suite's inventory "distinct"
    When the fake node changes
      """
      - {at: 0, process: {gpu: 2, pid: 1001, memory: 1048576, gi: 12, ci: 0}}
      - {at: 0, process: {gpu: 2, pid: 1001, memory: 2097152, gi: 6, ci: 0}}
      - {at: 0, process: {gpu: 2, pid: 1002, memory: 4194304, gi: 6, ci: 0}}
      - {at: 0, process: {gpu: 1, pid: 1001, memory: 8388608, gi: 1, ci: 0}}
      - {at: 0, process: {gpu: 2, pid: 1001, memory: 16777216, gi: 12, ci: 0}}
      - {at: 0, process: {gpu: 2, pid: 1002, memory: 1024, gi: 6, ci: 1}}
      """
    Then these values agree for GPU 2
      | value                                       | expected                                    |
      | processes of its MIG devices                | 1/0, 12/0 1001:16777216, 6/0 1001:2097152 1002:4194304 |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used | 23069696                                    |
    And these values agree for GPU 1
      | value                        | expected                    |
      | processes of its MIG devices | 1/0 1001:8388608, 13/0, 5/0 |
    When the fake node changes
      """
      - {at: 0, process: {gpu: 2, pid: 1001, memory: 0, gi: 6, ci: 0}}
      """
    Then these values agree for GPU 2
      | value                        | expected                                  |
      | processes of its MIG devices | 1/0, 12/0 1001:16777216, 6/0 1002:4194304 |

  @NVML-009
  Scenario: NULL instead of a result's address is an invalid argument
    Given NVML
    Then these calls return
      | call                                      | returns          |
      | nvmlDeviceGetCount_v2(NULL)               | INVALID_ARGUMENT |
      | nvmlDeviceGetHandleByIndex_v2(0, NULL)    | INVALID_ARGUMENT |
      | nvmlDeviceGetName(gpu0, NULL, 96)         | INVALID_ARGUMENT |
      | nvmlDeviceGetMemoryInfo(gpu0, NULL)       | INVALID_ARGUMENT |
      | nvmlDeviceGetPciInfo_v3(gpu0, NULL)       | INVALID_ARGUMENT |
      | nvmlDeviceGetUtilizationRates(gpu0, NULL) | INVALID_ARGUMENT |
      | nvmlDeviceGetTemperature(gpu0, 0, NULL)   | INVALID_ARGUMENT |
      | nvmlEventSetCreate(NULL)                  | INVALID_ARGUMENT |
      | nvmlSystemGetDriverVersion(NULL, 80)      | INVALID_ARGUMENT |

  @NVML-010
  Scenario Outline: <function> does not write part of a text
    Given NVML
    Then <function> returns for these sizes of its buffer
      | size           | returns           | buffer    |
      | 1              | INSUFFICIENT_SIZE | unchanged |
      | length         | INSUFFICIENT_SIZE | unchanged |
      | length and NUL | SUCCESS           | filled    |

    Examples:
      | function                   |
      | nvmlDeviceGetName          |
      | nvmlDeviceGetUUID          |
      | nvmlDeviceGetVbiosVersion  |
      | nvmlSystemGetDriverVersion |
      | nvmlSystemGetNVMLVersion   |

  @NVML-011
  Scenario: Before nvmlInit only nvmlErrorString and nvmlSystemGetNVMLVersion work
    Given NVML that is not initialised
    Then these calls return
      | call                                   | returns         |
      | nvmlDeviceGetCount_v2(&count)          | UNINITIALIZED   |
      | nvmlDeviceGetHandleByIndex_v2(0, &gpu) | UNINITIALIZED   |
      | nvmlSystemGetDriverVersion(buffer, 80) | UNINITIALIZED   |
      | nvmlSystemGetNVMLVersion(buffer, 80)   | SUCCESS         |
      | nvmlEventSetCreate(&set)               | UNINITIALIZED   |
      | nvmlShutdown()                         | UNINITIALIZED   |
      | nvmlErrorString(0)                     | "Success"       |
      | nvmlErrorString(1)                     | "Uninitialized" |

  @NVML-012
  Scenario: Each nvmlInit needs its nvmlShutdown
    Given NVML that is not initialised
    Then these calls return
      | call                          | returns       |
      | nvmlInit_v2()                 | SUCCESS       |
      | nvmlInit_v2()                 | SUCCESS       |
      | nvmlInit_v2()                 | SUCCESS       |
      | nvmlShutdown()                | SUCCESS       |
      | nvmlDeviceGetCount_v2(&count) | SUCCESS       |
      | nvmlShutdown()                | SUCCESS       |
      | nvmlDeviceGetCount_v2(&count) | SUCCESS       |
      | nvmlShutdown()                | SUCCESS       |
      | nvmlDeviceGetCount_v2(&count) | UNINITIALIZED |
      | nvmlShutdown()                | UNINITIALIZED |

  @NVML-012 @needs:fake-nvml
  Scenario: A failed nvmlInit opens no session
    Given NVML
    When the fake node changes
      """
      - {at: 0, fail_init: {error: LIB_RM_VERSION_MISMATCH}}
      """
    Then these calls return
      | call                          | returns                 |
      | nvmlShutdown()                | SUCCESS                 |
      | nvmlInit_v2()                 | LIB_RM_VERSION_MISMATCH |
      | nvmlDeviceGetCount_v2(&count) | UNINITIALIZED           |
      | nvmlShutdown()                | UNINITIALIZED           |
    When the fake node changes
      """
      - {at: 0, fail_init: {error: NVML_ERROR_DRIVER_NOT_LOADED}}
      """
    Then these calls return
      | call                 | returns           |
      | nvmlInitWithFlags(0) | DRIVER_NOT_LOADED |
    When the fake node changes
      """
      - {at: 0, fail_init: {error: 0}}
      """
    Then these calls return
      | call                          | returns       |
      | nvmlInit_v2()                 | SUCCESS       |
      | nvmlDeviceGetCount_v2(&count) | SUCCESS       |
      | nvmlShutdown()                | SUCCESS       |
      | nvmlShutdown()                | UNINITIALIZED |

  @NVML-013 @needs:chosen-gpus
  Scenario: On a node without GPUs only nvmlInitWithFlags succeeds
    Given NVML that is not initialised, on the GPUs of "no-gpus"
    Then these calls return
      | call                 | returns  |
      | nvmlInit_v2()        | an error |
      | nvmlInitWithFlags(1) | SUCCESS  |
      | nvmlShutdown()       | SUCCESS  |

  @NVML-014
  Scenario: Sessions leave no open files and no mappings behind
    Given NVML that is not initialised
    When the program "200 sessions" runs in another process
    Then it prints "more files 0, more mappings 0, next session 0"

  @NVML-015
  Scenario: A forked child is not initialised
    Given NVML
    When the program "fork" runs in another process
    Then it prints "child 1, child after nvmlInit 0, parent 0"

  @NVML-018
  Scenario: Many threads get the values that one thread gets alone
    Given NVML
    When the program "32 threads" runs in another process
    Then it prints "wrong values 0"

  @NVML-053
  Scenario: A process without privileges cannot change modes
    Given NVML
    When the program "set modes without privileges" runs in another process
    Then it prints "PersistenceMode 4, ComputeMode 4"
