@profile:nvml @component:nvml
Feature: NVML's MIG
  A GPU is partitioned into GPU instances by memory slices. Drivers create and destroy instances through these calls. On
  a real GPU each scenario removes what it created.

  @NVML-031 @needs:chosen-gpus
  Scenario: A board without MIG does not support any MIG call
    Given NVML on the GPUs of "t4"
    Then these calls return
      | call                                                                  | returns       |
      | nvmlDeviceGetMigMode(gpu0, &current, &pending)                        | NOT_SUPPORTED |
      | nvmlDeviceSetMigMode(gpu0, 1, &activation)                            | NOT_SUPPORTED |
      | nvmlDeviceGetGpuInstanceProfileInfo(gpu0, 0, buffer)                  | NOT_SUPPORTED |
      | nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu0, 19, NULL, &count) | NOT_SUPPORTED |
      | nvmlDeviceCreateGpuInstance(gpu0, 19, &made)                          | NOT_SUPPORTED |

  @NVML-032 @needs:chosen-gpus
  Scenario: On Ampere the MIG mode changes with a reset
    Given NVML on the GPUs of "dgx-a100-40gb"
    Then these calls return
      | call                                           | returns | and set                   |
      | nvmlDeviceSetMigMode(gpu0, 1, &activation)     | SUCCESS | activation=RESET_REQUIRED |
      | nvmlDeviceGetMigMode(gpu0, &current, &pending) | SUCCESS | current=0, pending=1      |
    When the fake node changes
      """
      - {at: 0, reset: {gpu: 0}}
      """
    Then these calls return
      | call                                           | returns | and set              |
      | nvmlDeviceGetMigMode(gpu0, &current, &pending) | SUCCESS | current=1, pending=1 |

  @NVML-008 @NVML-032 @needs:chosen-gpus
  Scenario: A reset of one GPU changes the pending modes of that GPU
    Given NVML on the GPUs of "dgx-a100-40gb"
    Then these calls return [NVML-032]
      | call                                        | returns | and set                   |
      | nvmlDeviceSetMigMode(gpu1, 1, &activation)  | SUCCESS | activation=RESET_REQUIRED |
      | nvmlDeviceSetMigMode(gpu2, 1, &activation)  | SUCCESS | activation=RESET_REQUIRED |
      | nvmlDeviceSetEccMode(gpu1, 0)               | SUCCESS |                           |
      | nvmlDeviceGetEccMode(gpu1, &current, &next) | SUCCESS | current=1, next=0         |
    When the fake node changes
      """
      - {at: 0, process: {gpu: 1, pid: 1001, memory: 1048576}}
      - {at: 0, reset: {gpu: 1}}
      """
    Then these calls return [NVML-032]
      | call                                           | returns | and set              |
      | nvmlDeviceGetMigMode(gpu1, &current, &pending) | SUCCESS | current=1, pending=1 |
      | nvmlDeviceGetEccMode(gpu1, &current, &next)    | SUCCESS | current=0, next=0    |
      | nvmlDeviceGetMigMode(gpu2, &current, &pending) | SUCCESS | current=0, pending=1 |
      | nvmlDeviceGetMigMode(gpu0, &current, &pending) | SUCCESS | current=0, pending=0 |
    And these values agree for GPU 1 [NVML-008]
      | value                                       | expected |
      | memory of its processes                     | none     |
      | nvmlDeviceGetMemoryInfo(nvmlMemory_v2).used | 0        |

  @NVML-032 @disruptive
  Scenario: On Hopper the MIG mode changes at once
    Given NVML
    And MIG is on for GPU 0, without instances
    Then these calls return
      | call                                           | returns | and set              |
      | nvmlDeviceGetMigMode(gpu0, &current, &pending) | SUCCESS | current=1, pending=1 |

  @NVML-033 @disruptive
  Scenario: The MIG mode of a GPU with instances cannot be changed
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 19 is created
    Then switching MIG off on GPU 0 is refused with IN_USE
    And these calls return
      | call                                           | returns | and set              |
      | nvmlGpuInstanceDestroy(instance)               | SUCCESS |                      |
      | nvmlDeviceSetMigMode(gpu0, 0, &activation)     | SUCCESS | activation=SUCCESS   |
      | nvmlDeviceGetMigMode(gpu0, &current, &pending) | SUCCESS | current=0, pending=0 |

  @NVML-034
  Scenario: A profile's number is not its id
    Given NVML
    And GPU 0 supports MIG
    Then these values agree for GPU 0
      | value                                                | expected |
      | nvmlDeviceGetGpuInstanceProfileInfo(0).id            | 19       |
      | nvmlDeviceGetGpuInstanceProfileInfo(1).id            | 14       |
      | nvmlDeviceGetGpuInstanceProfileInfo(2).id            | 9        |
      | nvmlDeviceGetGpuInstanceProfileInfo(3).id            | 5        |
      | nvmlDeviceGetGpuInstanceProfileInfo(4).id            | 0        |
      | nvmlDeviceGetGpuInstanceProfileInfo(7).id            | 20       |
      | nvmlDeviceGetGpuInstanceProfileInfo(9).id            | 15       |
      | ids without placements among 19, 14, 9, 5, 0, 20, 15 | none     |

  @NVML-035
  Scenario: Unknown profile numbers and profiles of other boards fail differently
    Given NVML
    And GPU 0 supports MIG
    Then these calls return
      | call                                                  | returns          |
      | nvmlDeviceGetGpuInstanceProfileInfo(gpu0, 40, buffer) | INVALID_ARGUMENT |
      | nvmlDeviceGetGpuInstanceProfileInfo(gpu0, 5, buffer)  | NOT_SUPPORTED    |
      | nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu0, 99, NULL, &count) | INVALID_ARGUMENT or NOT_SUPPORTED |

  @NVML-036
  Scenario Outline: Both versions of profile <number> agree
    Given NVML
    And GPU 0 supports MIG
    Then these values agree for GPU 0
      | value                                      | expected                                   |
      | information of profile <number>, version 1 | information of profile <number>, version 2 |
      | information of profile <number>, version 3 | information of profile <number>, version 2 |

    Examples:
      | number |
      | 0      |
      | 1      |
      | 2      |
      | 3      |
      | 4      |
      | 7      |
      | 9      |

  @NVML-036 @needs:chosen-gpus
  Scenario Outline: All versions of all profiles agree on the GPUs of <gpus>
    Given NVML on the GPUs of "<gpus>"
    Then these values agree for every GPU
      | value                                | expected                             |
      | information of profile 0, version 1 | information of profile 0, version 2 |
      | information of profile 0, version 3 | information of profile 0, version 2 |
      | information of profile 1, version 1 | information of profile 1, version 2 |
      | information of profile 1, version 3 | information of profile 1, version 2 |
      | information of profile 2, version 1 | information of profile 2, version 2 |
      | information of profile 2, version 3 | information of profile 2, version 2 |
      | information of profile 3, version 1 | information of profile 3, version 2 |
      | information of profile 3, version 3 | information of profile 3, version 2 |
      | information of profile 4, version 1 | information of profile 4, version 2 |
      | information of profile 4, version 3 | information of profile 4, version 2 |
      | information of profile 7, version 1 | information of profile 7, version 2 |
      | information of profile 7, version 3 | information of profile 7, version 2 |
      | information of profile 9, version 1 | information of profile 9, version 2 |
      | information of profile 9, version 3 | information of profile 9, version 2 |

    # The inventory "mixed" has H200, H100, A100 with 80 GB, and two boards without MIG.
    Examples:
      | gpus          |
      | mixed         |
      | dgx-a100-40gb |
      | dgx-b200      |

  @NVML-037
  Scenario Outline: The placements of profile id <id> can be counted and are sorted, with MIG off
    Given NVML
    And GPU 0 supports MIG
    Then these values agree for GPU 0
      | value                 | expected                     |
      | placements of id <id> | sorted placements of id <id> |

    Examples:
      | id |
      | 19 |
      | 14 |
      | 9  |
      | 5  |
      | 0  |
      | 20 |
      | 15 |

  @NVML-038 @disruptive
  Scenario: GPU instances never overlap
    Given NVML
    And MIG is on for GPU 0, without instances
    When 120 GPU instances are created and destroyed in random order
    Then these values agree for GPU 0
      | value                              | expected |
      | memory slices of two GPU instances | none     |

  @NVML-021 @NVML-022 @NVML-038 @NVML-039 @NVML-041 @NVML-047 @needs:chosen-gpus
  Scenario: Layouts that overlap and identities of two GPUs are refused
    Given NVML that is not initialised
    Then no fake node has these GPUs [NVML-038]
      """
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [{profile: 3g.40gb, start: 0}, {profile: 4g.40gb, start: 0}]}]
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [{profile: 2g.20gb, start: 2}, {profile: 1g.10gb, start: 3}]}]
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [7g.80gb, 1g.10gb]}]
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [1g.20gb, 1g.20gb, 1g.20gb, 1g.20gb, 1g.20gb]}]
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [4g.40gb, 4g.40gb]}]
      """
    And no fake node has these GPUs [NVML-039]
      """
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [{profile: 2g.20gb, start: 1}]}]
      """
    And no fake node has these GPUs [NVML-041]
      """
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [1g.10gb+me, 1g.10gb+me]}]
      """
    And no fake node has these GPUs [NVML-047]
      """
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', mig: [1g.10gb], values: {mig_mode_current: 0}}]
      """
    And no fake node has these GPUs [NVML-021]
      """
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', uuid: GPU-99234567-89ab-cdef-0123-456789abcdef}, {board: t4-pcie-16gb, bus: '0000:06:00.0', uuid: GPU-99234567-89ab-cdef-0123-456789abcdef}]
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', values: {uuid: GPU-99234567-89ab-cdef-0123-456789abcdef}}, {board: t4-pcie-16gb, bus: '0000:06:00.0', uuid: GPU-99234567-89ab-cdef-0123-456789abcdef}]
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0', uuid: GPU-99234567}]
      """
    And no fake node has these GPUs [NVML-022]
      """
      [{board: h100-sxm5-80gb, bus: '0000:05:00.0'}, {board: h100-sxm5-80gb, bus: '0000:05:00.0'}]
      """

  @NVML-039 @disruptive
  Scenario: Creating a GPU instance at an occupied placement fails
    Given NVML
    And MIG is on for GPU 0, without instances
    When GPU instances of profile 9 are created at "4"
    Then these calls return
      | call                                                              | returns                |
      | nvmlDeviceCreateGpuInstanceWithPlacement(gpu0, 9, {4, 4}, &made)  | INSUFFICIENT_RESOURCES |
      | nvmlDeviceCreateGpuInstanceWithPlacement(gpu0, 9, {3, 4}, &made)  | INSUFFICIENT_RESOURCES or INVALID_ARGUMENT |
      | nvmlDeviceCreateGpuInstanceWithPlacement(gpu0, 14, {1, 2}, &made) | INSUFFICIENT_RESOURCES or INVALID_ARGUMENT |
      | nvmlDeviceCreateGpuInstanceWithPlacement(gpu0, 14, {0, 3}, &made) | INSUFFICIENT_RESOURCES or INVALID_ARGUMENT |
      | nvmlDeviceCreateGpuInstanceWithPlacement(gpu0, 14, {2, 2}, &made) | SUCCESS                                    |
      | nvmlDeviceCreateGpuInstanceWithPlacement(gpu0, 14, {2, 2}, &made) | INSUFFICIENT_RESOURCES                     |

  @NVML-040 @disruptive
  Scenario: As many GPU instances can be created as the remaining capacity says
    Given NVML
    And MIG is on for GPU 0, without instances
    When GPU instances of profile 9 are created at "0"
    Then the remaining capacity of profile 19 is the number of GPU instances that can be created
    When the GPU instance at 5 is destroyed
    And the GPU instance at 6 is destroyed
    Then the remaining capacity of profile 19 is the number of GPU instances that can be created

  @NVML-041 @disruptive
  Scenario: Only one GPU instance has the media extensions
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 20 is created
    Then these calls return
      | call                                         | returns                |
      | nvmlDeviceCreateGpuInstance(gpu0, 20, &made) | INSUFFICIENT_RESOURCES |

  @NVML-042 @disruptive
  Scenario: Each compute instance is one MIG device
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 19 is created
    Then these values agree for GPU 0
      | value                | expected |
      | UUIDs of MIG devices | none     |
    When a compute instance over the whole GPU instance is created
    Then these values agree for GPU 0
      | value                | expected    |
      | UUIDs of MIG devices | /MIG-[^,]+/ |

  @NVML-043 @disruptive
  Scenario: A compute instance's information names its MIG device
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 14 is created
    And a compute instance over the whole GPU instance is created
    Then these values agree for GPU 0
      | value                                 | expected             |
      | UUID of the compute instance's device | UUIDs of MIG devices |

  @NVML-044 @disruptive
  Scenario: A GPU instance is destroyed after its compute instance
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 14 is created
    And a compute instance over the whole GPU instance is created
    Then these calls return
      | call                                                 | returns   |
      | nvmlGpuInstanceDestroy(instance)                     | IN_USE    |
      | nvmlComputeInstanceDestroy(compute)                  | SUCCESS   |
      | nvmlGpuInstanceDestroy(instance)                     | SUCCESS   |
      | nvmlDeviceGetGpuInstanceById(gpu0, instance_id, &gi) | NOT_FOUND |

  @NVML-045 @disruptive
  Scenario: A handle to a destroyed GPU instance stays invalid
    Given NVML
    And MIG is on for GPU 0, without instances
    When GPU instances of profile 9 are created at "0"
    And the GPU instance at 0 is destroyed
    And GPU instances of profile 9 are created at "0"
    Then these calls return
      | call                                      | returns  |
      | nvmlGpuInstanceGetInfo(instance, buffer)  | an error |
      | nvmlGpuInstanceGetInfo(instance2, buffer) | SUCCESS  |

  # A restored node derives the serial numbers of its instances from the last one that was given before.
  @NVML-045 @needs:chosen-gpus
  Scenario: The handle of the compute instance that was made last stays invalid when its node is restored
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these calls return
      | call                                                    | returns |
      | nvmlDeviceGetGpuInstanceById(gpu1, 1, &first)           | SUCCESS |
      | nvmlGpuInstanceGetComputeInstanceById(first, 0, &inner) | SUCCESS |
      | nvmlComputeInstanceDestroy(inner)                       | SUCCESS |
      | nvmlGpuInstanceCreateComputeInstance(first, 2, &inner)  | SUCCESS |
      | nvmlComputeInstanceGetInfo_v2(inner, buffer)            | SUCCESS |
    When the fake node changes
      """
      - {at: 0, reset: {}}
      """
    Then these calls return
      | call                                                     | returns  |
      | nvmlComputeInstanceGetInfo_v2(inner, buffer)             | an error |
      | nvmlDeviceGetGpuInstanceById(gpu1, 1, &second)           | SUCCESS  |
      | nvmlGpuInstanceGetComputeInstanceById(second, 0, &inner) | SUCCESS  |
      | nvmlComputeInstanceGetInfo_v2(inner, buffer)             | SUCCESS  |

  @NVML-045 @needs:chosen-gpus
  Scenario: The handle of the GPU instance that was made last stays invalid when its node is restored
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these calls return
      | call                                                              | returns |
      | nvmlDeviceGetGpuInstanceById(gpu1, 13, &first)                    | SUCCESS |
      | nvmlGpuInstanceGetComputeInstanceById(first, 0, &inner)           | SUCCESS |
      | nvmlComputeInstanceDestroy(inner)                                 | SUCCESS |
      | nvmlGpuInstanceDestroy(first)                                     | SUCCESS |
      | nvmlDeviceCreateGpuInstanceWithPlacement(gpu1, 19, {6, 1}, &made) | SUCCESS |
      | nvmlGpuInstanceGetInfo(made, buffer)                              | SUCCESS |
    When the fake node changes
      """
      - {at: 0, reset: {}}
      """
    Then these calls return
      | call                                            | returns  |
      | nvmlGpuInstanceGetInfo(made, buffer)            | an error |
      | nvmlDeviceGetGpuInstanceById(gpu1, 13, &second) | SUCCESS  |
      | nvmlGpuInstanceGetInfo(second, buffer)          | SUCCESS  |

  @NVML-045 @needs:chosen-gpus
  Scenario: Handles from before a node was restored stay invalid
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these calls return
      | call                                                    | returns |
      | nvmlDeviceCreateGpuInstance(gpu2, 19, &made)            | SUCCESS |
      | nvmlDeviceGetGpuInstanceById(gpu1, 1, &first)           | SUCCESS |
      | nvmlDeviceGetGpuInstanceById(gpu2, 6, &other)           | SUCCESS |
      | nvmlGpuInstanceGetComputeInstanceById(first, 0, &inner) | SUCCESS |
      | nvmlGpuInstanceGetInfo(made, buffer)                    | SUCCESS |
      | nvmlGpuInstanceGetInfo(first, buffer)                   | SUCCESS |
      | nvmlComputeInstanceGetInfo_v2(inner, buffer)            | SUCCESS |
    When the fake node changes
      """
      - {at: 0, reset: {}}
      """
    Then these calls return
      | call                                                     | returns  |
      | nvmlGpuInstanceGetInfo(made, buffer)                     | an error |
      | nvmlGpuInstanceGetInfo(first, buffer)                    | an error |
      | nvmlGpuInstanceGetInfo(other, buffer)                    | an error |
      | nvmlComputeInstanceGetInfo_v2(inner, buffer)             | an error |
      | nvmlDeviceCreateGpuInstance(gpu2, 19, &again)            | SUCCESS  |
      | nvmlGpuInstanceGetInfo(made, buffer)                     | an error |
      | nvmlGpuInstanceGetInfo(again, buffer)                    | SUCCESS  |
      | nvmlDeviceGetGpuInstanceById(gpu1, 1, &second)           | SUCCESS  |
      | nvmlGpuInstanceGetComputeInstanceById(second, 0, &inner) | SUCCESS  |
      | nvmlGpuInstanceGetInfo(second, buffer)                   | SUCCESS  |
      | nvmlComputeInstanceGetInfo_v2(inner, buffer)             | SUCCESS  |
    When the fake node changes
      """
      - {at: 0, reset: {gpu: 1}}
      - {at: 0, reset: {}}
      """
    Then these calls return
      | call                                         | returns  |
      | nvmlGpuInstanceGetInfo(second, buffer)       | an error |
      | nvmlComputeInstanceGetInfo_v2(inner, buffer) | an error |
      | nvmlGpuInstanceGetInfo(again, buffer)        | an error |

  @NVML-046 @disruptive
  Scenario Outline: The ids of GPU instances of profile <profile> belong to their placements
    Given NVML
    And MIG is on for GPU 0, without instances
    When GPU instances of profile <profile> are created at "<starts>"
    Then these values agree for GPU 0
      | value                                      | expected |
      | number of different GPU instance ids       | <count>  |
      | GPU instance ids outside <first> to <last> | none     |
    When the GPU instance at <again> is destroyed
    And GPU instances of profile <profile> are created at "<again>"
    Then these values agree for GPU 0
      | value                     | expected                                     |
      | GPU instance ids by start | GPU instance ids by start before the removal |

    Examples:
      | profile | starts              | count | first | last | again |
      | 19      | 0, 1, 2, 3, 4, 5, 6 | 7     | 7     | 14   | 1     |
      | 14      | 0, 2, 4             | 3     | 3     | 6    | 2     |

  @NVML-049 @disruptive
  Scenario: Every process sees the instances of the others
    Given NVML
    And MIG is on for GPU 0, without instances
    When the program "count GPU instances of profile 19" runs in another process
    Then it prints "0 instances"
    When GPU instances of profile 19 are created at "0"
    Then it prints "1 instances"
    When the GPU instance at 0 is destroyed
    Then it prints "0 instances"

  @NVML-054
  Scenario Outline: The name of profile <number> follows from its memory
    Given NVML
    And GPU 0 supports MIG
    Then these values agree for GPU 0
      | value                    | expected                               |
      | name of profile <number> | name of profile <number> by its memory |

    Examples:
      | number |
      | 0      |
      | 1      |
      | 2      |
      | 3      |
      | 4      |
      | 7      |
      | 9      |

  @NVML-047
  Scenario: With MIG off there are no MIG devices
    Given NVML
    And GPU 0 supports MIG
    Then these calls return
      | call                                              | returns   | and set |
      | nvmlDeviceGetMaxMigDeviceCount(gpu0, &count)      | SUCCESS   | count=0 |
      | nvmlDeviceGetMigDeviceHandleByIndex(gpu0, 0, &gi) | NOT_FOUND |         |

  @NVML-048 @disruptive
  Scenario: A MIG device has the memory of its profile and the PCI address of its GPU
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 9 is created
    And a compute instance over the whole GPU instance is created
    And a GPU instance of profile 14 is created
    And a compute instance over the whole GPU instance is created
    And a GPU instance of profile 19 is created
    And a compute instance over the whole GPU instance is created
    Then these values agree for GPU 0
      | value                                                  | expected                     |
      | MIG devices with other memory than their profile       | none                         |
      | PCI addresses of its MIG devices                       | nvmlDeviceGetPciInfo().busId |
      | slices of its MIG devices                              | 3, 2, 1                      |
      | MIG devices without the name of their GPU and profile  | none                         |
      | readings of a whole GPU that a MIG device has          | none                         |
      | MIG devices whose parent is another GPU                | none                         |

  @NVML-047 @disruptive
  Scenario: The indexes of MIG devices can have holes
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 19 is created
    And a compute instance over the whole GPU instance is created
    And a GPU instance of profile 19 is created
    And a compute instance over the whole GPU instance is created
    And a GPU instance of profile 19 is created
    And a compute instance over the whole GPU instance is created
    Then these calls return
      | call                                              | returns   |
      | nvmlComputeInstanceDestroy(compute2)              | SUCCESS   |
      | nvmlDeviceGetMigDeviceHandleByIndex(gpu0, 0, &gi) | SUCCESS   |
      | nvmlDeviceGetMigDeviceHandleByIndex(gpu0, 1, &gi) | NOT_FOUND |
      | nvmlDeviceGetMigDeviceHandleByIndex(gpu0, 2, &gi) | SUCCESS   |
      | nvmlDeviceGetMigDeviceHandleByIndex(gpu0, 3, &gi) | NOT_FOUND |
      | nvmlGpuInstanceDestroy(instance2)                 | SUCCESS   |

  @NVML-051 @disruptive
  Scenario: Remapped rows are not supported while GPU instances exist
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 9 is created
    Then these calls return
      | call                                                                         | returns       |
      | nvmlDeviceGetRemappedRows(gpu0, &corrected, &uncorrected, &pending, &failed) | NOT_SUPPORTED |
      | nvmlGpuInstanceDestroy(instance)                                             | SUCCESS       |
      | nvmlDeviceGetRemappedRows(gpu0, &corrected, &uncorrected, &pending, &failed) | SUCCESS       |

  @NVML-050 @disruptive
  Scenario: Instances have capability files while they exist
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 14 is created
    And a compute instance over the whole GPU instance is created
    Then these values agree for GPU 0
      | value                              | expected |
      | capability files of both instances | exist    |
    And these calls return
      | call                                | returns |
      | nvmlComputeInstanceDestroy(compute) | SUCCESS |
      | nvmlGpuInstanceDestroy(instance)    | SUCCESS |
    And these values agree for GPU 0
      | value                              | expected |
      | capability files of both instances | none     |
