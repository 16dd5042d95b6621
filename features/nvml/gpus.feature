@profile:nvml @component:nvml
Feature: NVML's GPUs
  A driver finds GPUs by index, UUID and PCI address, sizes workloads by their memory, and places them near their CPUs.
  All lookups lead to the same GPU, and NVML agrees with the files of the machine.

  @NVML-021
  Scenario: A UUID identifies one GPU in every session
    Given NVML
    Then these values agree for every GPU
      | value                    | expected                                        |
      | nvmlDeviceGetUUID()      | /GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/ |
      | other GPUs with its UUID | none                                            |
    And these calls return
      | call           | returns |
      | nvmlShutdown() | SUCCESS |
      | nvmlInit_v2()  | SUCCESS |
    And these values agree for every GPU
      | value               | expected                  |
      | nvmlDeviceGetUUID() | UUID in the first session |

  @NVML-022
  Scenario: All lookups lead to the same GPU
    Given NVML
    Then these values agree for every GPU
      | value                              | expected |
      | index by index                     | index    |
      | index by UUID                      | index    |
      | index by PCI address               | index    |
      | index by short PCI address         | index    |
      | index by PCI address in lower case | index    |
      | index by short PCI address in lower case | index |

  @NVML-022 @needs:fake-nvml
  Scenario Outline: A lookup by serial number returns <result> on the GPUs of "<gpus>"
    Given NVML on the GPUs of "<gpus>"
    Then these values agree for every GPU
      | value                  | expected |
      | index by serial number | <result> |

    # The two GPUs of a GB200 module share a serial number.
    Examples:
      | gpus             | result           |
      | dgx-h100         | index            |
      | gb200-nvl72-node | INVALID_ARGUMENT |

  @NVML-023
  Scenario: Lookups of GPUs that do not exist fail
    Given NVML
    Then these calls return
      | call                                                                        | returns          |
      | nvmlDeviceGetCount_v2(&count)                                               | SUCCESS          |
      | nvmlDeviceGetHandleByIndex_v2(count, &gpu)                                  | INVALID_ARGUMENT |
      | nvmlDeviceGetHandleByUUID("GPU-00000000-0000-0000-0000-000000000000", &gpu) | NOT_FOUND        |
      | nvmlDeviceGetHandleByUUID("GPU-", &gpu) | INVALID_ARGUMENT or NOT_FOUND |
      | nvmlDeviceGetHandleByUUID("gpu0", &gpu) | INVALID_ARGUMENT or NOT_FOUND |
      | nvmlDeviceGetHandleByUUID("", &gpu) | INVALID_ARGUMENT or NOT_FOUND |
      | nvmlDeviceGetHandleByPciBusId_v2("00000000:FF:1F.0", &gpu)                  | NOT_FOUND        |
      | nvmlDeviceGetHandleByPciBusId_v2("00000000:FF", &gpu)                  | INVALID_ARGUMENT or NOT_FOUND        |

  @NVML-024
  Scenario: PCI addresses have domains of eight and of four digits
    Given NVML
    Then these values agree for every GPU
      | value                              | expected                         |
      | nvmlDeviceGetPciInfo().busId       | PCI address with 8 domain digits |
      | nvmlDeviceGetPciInfo().busIdLegacy | PCI address with 4 domain digits |

  @NVML-024
  Scenario: busId without its first four digits is a PCI device in sysfs
    Given NVML
    Then these values agree for every GPU
      | value                                               | expected |
      | sysfs folder of busId without its first four digits | exists   |

  @NVML-025
  Scenario: The parts of the memory add up to its total
    Given NVML
    Then these values agree for every GPU
      | value                   | expected                           |
      | total memory, version 1 | used and free memory, version 1    |
      | total memory, version 2 | used, free and reserved, version 2 |
      | total memory, version 2 | total memory, version 1            |

  @NVML-026
  Scenario: Name, architecture, brand and compute capability are those of one board
    Given NVML
    Then these values agree for every GPU
      | value                                            | expected                  |
      | name, architecture, brand and compute capability | the board with its PCI id |

  @NVML-027
  Scenario: The versions of driver and CUDA have their documented form
    Given NVML
    Then these values agree for GPU 0
      | value                            | expected                   |
      | nvmlSystemGetDriverVersion()     | /[0-9]{3}([.][0-9]+){1,2}/ |
      | nvmlSystemGetCudaDriverVersion() | /1[0-9]{3}0/               |

  @NVML-029
  Scenario: A minor number names a device file
    Given NVML
    Then these values agree for every GPU
      | value                           | expected |
      | device file of the minor number | exists   |

  @NVML-030
  Scenario: NVML and sysfs report the same CPUs near a GPU
    Given NVML
    Then these values agree for every GPU
      | value             | expected              |
      | CPUs near the GPU | CPUs of local_cpulist |

  @NVML-061 @needs:fake-nvml
  Scenario: A lost GPU does not affect the others
    Given NVML
    When XID 79 is reported on GPU 2
    Then these calls return
      | call                                   | returns     |
      | nvmlDeviceGetHandleByIndex_v2(2, &gpu) | GPU_IS_LOST |
    And these values agree for every GPU but GPU 2
      | value                | expected                            |
      | nvmlDeviceGetCount() | number of GPUs in the first session |
      | nvmlDeviceGetName()  | name in the first session           |
      | view by the node     | view by NVML                        |
    And the node shows GPU 2 as lost, and no other

  @NVML-061 @needs:fake-nvml
  Scenario: A lost GPU comes back after a power cycle
    Given NVML
    When XID 48 is reported on GPU 1
    And XID 79 is reported on GPU 1
    And XID 95 is reported on GPU 2
    And the fake node changes
      """
      - {at: 0, lose: {gpu: 2}}
      """
    Then these calls return
      | call                                   | returns     |
      | nvmlDeviceGetHandleByIndex_v2(1, &gpu) | GPU_IS_LOST |
      | nvmlDeviceGetHandleByIndex_v2(2, &gpu) | GPU_IS_LOST |
      | nvmlDeviceGetHandleByIndex_v2(3, &gpu) | SUCCESS     |
      | nvmlDeviceGetHandleByIndex_v2(4, &sick) | SUCCESS    |
    When the fake node changes
      """
      - {at: 0, set: {gpu: 3, reset_required: 1}}
      - {at: 0, set: {gpu: 4, reset_required: 1, recovery_action: N/A}}
      """
    Then these calls return
      | call                                 | returns        |
      | nvmlDeviceGetTemperature(gpu, 0, &t) | RESET_REQUIRED |
      | nvmlDeviceGetTemperature(sick, 0, &t) | RESET_REQUIRED |
    When the fake node changes
      """
      - {at: 0, reset: {gpu: 3}}
      - {at: 0, recover: {gpu: 4}}
      """
    Then these calls return
      | call                                 | returns |
      | nvmlDeviceGetTemperature(gpu, 0, &t) | SUCCESS |
      | nvmlDeviceGetTemperature(sick, 0, &t) | SUCCESS |
    And these values agree for GPU 4
      | value           | expected      |
      | field value 230 | NOT_SUPPORTED |
    When the fake node changes
      """
      - {at: 0, recover: {gpu: 2}}
      """
    Then these calls return
      | call                                   | returns     |
      | nvmlDeviceGetHandleByIndex_v2(1, &gpu) | GPU_IS_LOST |
      | nvmlDeviceGetHandleByIndex_v2(2, &gpu) | SUCCESS     |
    And these values agree for GPU 2
      | value                             | expected                      |
      | nvmlDeviceGetUUID()               | UUID in the first session     |
      | nvmlDeviceGetTotalEccErrors(1, 0) | 0                             |
      | nvmlDeviceGetTotalEccErrors(1, 1) | 1                             |
      | field value 230                   | 0                             |

  @NVML-088 @needs:chosen-gpus
  Scenario: A GPU that is unbound from its driver is not among NVML's GPUs
    Given NVML on the GPUs of "dgx-h100"
    And an event set of the system
    When the fake node changes
      """
      - {at: 0, remove: {gpu: 1}}
      """
    Then these values agree for GPU 1
      | value                                            | expected                           |
      | nvmlDeviceGetUUID()                              | UUID of GPU 2 in the first session |
      | GPUs of the first session that are found by UUID | 0, 2, 3, 4, 5, 6, 7                |
      | index by index                                   | 1                                  |
    And the system has reported unbind of GPU 1 since the last check
    When the fake node changes
      """
      - {at: 0, remove: {gpu: 5}}
      - {at: 0, remove: {gpu: 0}}
      - {at: 0, restore: {gpu: 1}}
      """
    Then these values agree for GPU 1
      | value                                            | expected                           |
      | nvmlDeviceGetUUID()                              | UUID of GPU 2 in the first session |
      | nvmlDeviceGetCount()                             | 6                                  |
      | GPUs of the first session that are found by UUID | 1, 2, 3, 4, 6, 7                   |
    And the system has reported unbind of GPU 5, unbind of GPU 0, bind of GPU 1 since the last check
    When the fake node changes
      """
      - {at: 0, restore: {gpu: 0}}
      - {at: 0, restore: {gpu: 5}}
      """
    Then these values agree for every GPU
      | value               | expected                  |
      | nvmlDeviceGetUUID() | UUID in the first session |
    And the system has reported bind of GPU 0, bind of GPU 5 since the last check

  @NVML-066
  Scenario: All versions of the fabric information agree
    Given NVML
    Then these values agree for every GPU
      | value                         | expected                      |
      | fabric information, version 2 | fabric information, version 1 |
      | fabric information, version 3 | fabric information, version 1 |

  @NVML-066 @needs:chosen-gpus
  Scenario: All versions of the fabric information agree in every state of the registration
    Given NVML on the GPUs of "gb200-nvl72-node"
    When the fake node changes
      """
      - {at: 0, set: {gpu: 0, fabric_state: 1}}
      - {at: 0, set: {gpu: 1, fabric_state: 2}}
      - {at: 0, set: {gpu: 2, fabric_status: 17}}
      - {at: 0, set: {gpu: 3, fabric_clique_id: 5}}
      """
    Then these values agree for every GPU
      | value                         | expected                      |
      | fabric information, version 2 | fabric information, version 1 |
      | fabric information, version 3 | fabric information, version 1 |
    And these values agree for GPU 0
      | value        | expected |
      | fabric state | 1        |
    And these values agree for GPU 1
      | value        | expected |
      | fabric state | 2        |
    And these values agree for GPU 2
      | value         | expected |
      | fabric state  | 3        |
      | fabric status | 17       |
      | fabric clique | 2        |
    And these values agree for GPU 3
      | value         | expected |
      | fabric status | 0        |
      | fabric clique | 5        |

  @NVML-067 @needs:chosen-gpus
  Scenario: A node with its own NVLink switches has no cluster UUID
    Given NVML on the GPUs of "dgx-h100"
    Then these values agree for every GPU
      | value               | expected                             |
      | fabric state        | 3                                    |
      | fabric status       | 0                                    |
      | fabric cluster UUID | 00000000-0000-0000-0000-000000000000 |

  @NVML-068 @needs:chosen-gpus
  Scenario: All GPUs of a rack's node are in one clique
    Given NVML on the GPUs of "gb200-nvl72-node"
    Then these values agree for every GPU
      | value                         | expected                                     |
      | fabric state                  | 3                                            |
      | fabric cluster UUID           | /(?!00000000-0000-0000-0000-000000000000).+/ |
      | fabric information, version 2 | fabric information of GPU 0                  |

  @NVML-067 @needs:fake-nvml
  Scenario: The nodes of a rack have one cluster and their own GPUs
    Given a rack of 3 nodes
    Then all 12 GPUs of the rack are in one cluster and one clique, and no two have one UUID
    And the GPUs of its nodes are in these places of one chassis
      | node | slot | tray |
      | 1    | 1    | 0    |
      | 2    | 2    | 1    |
      | 3    | 3    | 2    |
    And another rack has another cluster and chassis and other GPUs, and no rack has 0 nodes

  @NVML-069 @needs:several-gpus
  Scenario: GPUs reach each other over NVLink in both directions
    Given NVML
    Then these values agree for every GPU
      | value                          | expected                     |
      | GPUs that it reaches by NVLink | GPUs that reach it by NVLink |

  @NVML-069 @needs:fake-nvml
  Scenario: A GPU without active links reaches no other GPU
    Given NVML on the GPUs of "dgx-h100"
    When the fake node changes
      """
      [{at: 0, link: {gpu: 2, link: 0, active: false}}, {at: 0, link: {gpu: 2, link: 1, active: false}},
       {at: 0, link: {gpu: 2, link: 2, active: false}}, {at: 0, link: {gpu: 2, link: 3, active: false}},
       {at: 0, link: {gpu: 2, link: 4, active: false}}, {at: 0, link: {gpu: 2, link: 5, active: false}},
       {at: 0, link: {gpu: 2, link: 6, active: false}}, {at: 0, link: {gpu: 2, link: 7, active: false}},
       {at: 0, link: {gpu: 2, link: 8, active: false}}, {at: 0, link: {gpu: 2, link: 9, active: false}},
       {at: 0, link: {gpu: 2, link: 10, active: false}}, {at: 0, link: {gpu: 2, link: 11, active: false}},
       {at: 0, link: {gpu: 2, link: 12, active: false}}, {at: 0, link: {gpu: 2, link: 13, active: false}},
       {at: 0, link: {gpu: 2, link: 14, active: false}}, {at: 0, link: {gpu: 2, link: 15, active: false}},
       {at: 0, link: {gpu: 2, link: 16, active: false}}, {at: 0, link: {gpu: 2, link: 17, active: false}}]
      """
    Then these values agree for GPU 2
      | value                          | expected |
      | GPUs that it reaches by NVLink | none     |
      | GPUs that reach it by NVLink   | none     |
    And these values agree for every GPU but GPU 2
      | value                          | expected                      |
      | GPUs that it reaches by NVLink | all GPUs but itself and GPU 2 |
    When the fake node changes
      """
      - {at: 0, link: {gpu: 2, link: 5, active: true}}
      - {at: 0, link: {gpu: 3, link: 0, active: false}}
      """
    Then these values agree for GPU 2
      | value                          | expected            |
      | GPUs that it reaches by NVLink | 0, 1, 3, 4, 5, 6, 7 |
      | NVLinks that are up            | 5                   |
    And these values agree for GPU 3
      | value                          | expected                                                      |
      | GPUs that it reaches by NVLink | 0, 1, 2, 4, 5, 6, 7                                           |
      | NVLinks that are up            | 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17     |

  @NVML-083
  Scenario: Monitoring programs can list the GPUs
    Given NVML
    Then every function that gpustat, nvitop and go-nvlib call succeeds or is not supported

  @NVML-083 @needs:chosen-gpus
  Scenario Outline: Monitoring programs can list the GPUs of <gpus>
    Given NVML on the GPUs of "<gpus>"
    Then every function that gpustat, nvitop and go-nvlib call succeeds or is not supported

    Examples:
      | gpus             |
      | mixed            |
      | gb200-nvl72-node |

  @NVML-082 @needs:chosen-gpus
  Scenario Outline: Getters return the values that were recorded on an <board>
    Given NVML on the GPUs of "<inventory>"
    Then every getter returns the value that was recorded on the GPU's board

    Examples:
      | board | inventory |
      | H200  | h200      |
      | H100  | h100      |

  @NVML-082
  Scenario: Getters return the values that were recorded on this board
    Given NVML
    Then every getter returns the value that was recorded on the GPU's board

  @NVML-028 @needs:chosen-gpus
  Scenario: The values of an H200 render to the recorded text of nvidia-smi
    Given NVML on the GPUs of "h200"
    Then its values render to the text that nvidia-smi printed on an H200

  @NVML-028b @needs:chosen-gpus
  Scenario: The values of GPUs that all differ render to lines with the same labels
    Given NVML on the GPUs of this suite's inventory "distinct"
    When the fake node changes
      """
      - {at: 0, process: {gpu: 3, pid: 4711, memory: 3145728}}
      - {at: 0, process: {gpu: 3, pid: 4712, memory: 5242880}}
      - {at: 0, process: {gpu: 3, pid: 4713, memory: 1048576, graphics: true}}
      - {at: 0, lose: {gpu: 1}}
      - {at: 0, set: {gpu: 3, fabric_state: 1}}
      - {at: 0, set: {gpu: 2, fabric_status: 999, fabric_health_summary: 3}}
      """
    Then its values render to the text "distinct_nvidia_smi"

  @NVML-028b @needs:chosen-gpus
  Scenario: Values that a GPU does not support render to N/A
    Given NVML on the GPUs of "t4"
    Then its values render to the text "t4_nvidia_smi"

  @NVML-028b @needs:chosen-gpus
  Scenario: The power profiles of a B200 render to their names
    Given NVML on the GPUs of "dgx-b200"
    When the fake node changes
      """
      - {at: 0, set: {gpu: 0, power_profiles_requested: 8199}}
      """
    Then its values render to the text "b200_nvidia_smi"
