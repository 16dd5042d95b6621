@profile:nvml @component:nvml
Feature: Control of the fake NVML
  Tests choose the GPUs of the fake NVML in YAML files and change them while programs use them. A mistake in a file is
  reported, and a fault acts on the calls that it names, so a test never runs with GPUs or faults that its files do not name.

  @NVML-079 @needs:chosen-gpus
  Scenario: A mistake in an inventory is refused with its line and key
    Given NVML on the GPUs of "dgx-h100"
    Then each inventory in "refused_inventories" is refused with an error that names line and key
    And inventories that cannot be found or read are refused with an error that names them

  @NVML-077 @needs:chosen-gpus
  Scenario: A fault rule acts on the calls that it names and no longer than it should
    Given NVML on the GPUs of "dgx-h100"
    When the fake node changes
      """
      - {at: 0, fault: {function: nvmlDeviceGetTemperature, error: UNKNOWN, gpu: 1, after: 1, every: 2, times: 2}}
      - {at: 0, fault: {function: nvmlDeviceGetPower*, error: NVML_ERROR_NO_PERMISSION, gpu: 2}}
      - {at: 0, fault: {function: nvmlDeviceGetMinorNumber, error: TIMEOUT, program: no-such-program}}
      - {at: 0, fault: {function: nvmlDeviceGetSerial, delay: 0.04, times: 1}}
      - {at: 0, fault: {function: nvmlDeviceGetFanSpeed, error: 15, gpu: 3}}
      - {at: 0, fault: {function: nvmlDeviceGetBoardId, error: nvml_error_gpu_is_lost, probability: 1, seed: 4294967297, gpu: 3}}
      """
    Then nvmlDeviceGetSerial(gpu1, buffer, 96) takes at least 40 ms
    And these calls return
      | call                                      | returns                |
      | nvmlDeviceGetTemperature(gpu0, 0, &t)     | SUCCESS                |
      | nvmlDeviceGetTemperature(gpu1, 0, &t)     | SUCCESS                |
      | nvmlDeviceGetTemperature(gpu1, 0, &t)     | SUCCESS                |
      | nvmlDeviceGetTemperature(gpu1, 0, &t)     | UNKNOWN                |
      | nvmlDeviceGetTemperature(gpu1, 0, &t)     | SUCCESS                |
      | nvmlDeviceGetTemperature(gpu1, 0, &t)     | UNKNOWN                |
      | nvmlDeviceGetTemperature(gpu1, 0, &t)     | SUCCESS                |
      | nvmlDeviceGetTemperature(gpu1, 0, &t)     | SUCCESS                |
      | nvmlDeviceGetPowerUsage(gpu1, &p)         | SUCCESS                |
      | nvmlDeviceGetPowerUsage(gpu2, &p)         | NO_PERMISSION          |
      | nvmlDeviceGetPowerState(gpu2, &p)         | NO_PERMISSION          |
      | nvmlDeviceGetPerformanceState(gpu2, &p)   | SUCCESS                |
      | nvmlDeviceGetMinorNumber(gpu2, &n)        | SUCCESS                |
      | nvmlDeviceGetSerial(gpu1, buffer, 96)     | SUCCESS                |
      | nvmlDeviceGetFanSpeed(gpu3, &f)           | GPU_IS_LOST            |
      | nvmlDeviceGetBoardId(gpu3, &b)            | GPU_IS_LOST            |
      | nvmlDeviceGetBoardId(gpu3, &b)            | GPU_IS_LOST            |
    And the fault rules have acted 2, 2, 0, 1, 1, 2 times
    When the fake node changes
      """
      - {at: 0, clear_faults: {}}
      """
    Then these calls return
      | call                                  | returns |
      | nvmlDeviceGetPowerUsage(gpu2, &p)     | SUCCESS |
      | nvmlDeviceGetBoardId(gpu3, &b)        | SUCCESS |
    When the fake node changes
      """
      - {at: 0, fault: {function: nvmlDeviceGetBoardId, error: UNKNOWN, gpu: 3, times: 1}}
      - {at: 0, fault: {function: nvmlDeviceGetTemperature, error: UNKNOWN, gpu: 1}}
      """
    Then these calls return
      | call                                  | returns |
      | nvmlDeviceGetBoardId(gpu3, &b)        | UNKNOWN |
      | nvmlDeviceGetBoardId(gpu3, &b)        | SUCCESS |
      | nvmlDeviceGetTemperature(gpu1, 0, &t) | UNKNOWN |
    And the fault rules have acted 1, 1 times
    # The other rules stay, and the next one begins to count in the place of the one that is gone.
    When fault rule 1 is cleared
    And the fake node changes
      """
      - {at: 0, fault: {function: nvmlDeviceGetMinorNumber, error: UNKNOWN, gpu: 3}}
      """
    And fault rule 0 is cleared
    And the fake node changes
      """
      - {at: 0, fault: {function: nvmlDeviceGetBoardId, error: TIMEOUT, gpu: 3, after: 1}}
      """
    Then these calls return
      | call                                  | returns |
      | nvmlDeviceGetTemperature(gpu1, 0, &t) | SUCCESS |
      | nvmlDeviceGetMinorNumber(gpu3, &n)    | UNKNOWN |
      | nvmlDeviceGetBoardId(gpu3, &b)        | SUCCESS |
      | nvmlDeviceGetBoardId(gpu3, &b)        | TIMEOUT |
    And the fault rules have acted 1, 1 times
    When fault rule 1 is cleared
    Then these calls return
      | call                                  | returns |
      | nvmlDeviceGetMinorNumber(gpu3, &n)    | SUCCESS |
      | nvmlDeviceGetBoardId(gpu3, &b)        | TIMEOUT |

  @NVML-077 @needs:chosen-gpus
  Scenario: Fault rules with one seed act on the same calls
    Given NVML on the GPUs of "dgx-h100"
    When the fake node changes
      """
      - {at: 0, fault: {function: nvmlDeviceGetMinorNumber, error: UNKNOWN, gpu: 0, probability: 0.5, seed: 3}}
      - {at: 0, fault: {function: nvmlDeviceGetMinorNumber, error: UNKNOWN, gpu: 1, probability: 0.5, seed: 3}}
      - {at: 0, fault: {function: nvmlDeviceGetMinorNumber, error: UNKNOWN, gpu: 2, probability: 0.5, seed: 4}}
      - {at: 0, fault: {function: nvmlDeviceGetMinorNumber, error: UNKNOWN, gpu: 3, probability: 0.9, seed: 3}}
      """
    Then 40 calls of nvmlDeviceGetMinorNumber on each GPU fail as the table shows
      | GPU | same calls as on GPU 0 |
      | 1   | yes                    |
      | 2   | no                     |
      | 3   | no                     |
    And the fault rules have acted in 10 to 30, 10 to 30, 10 to 30, 31 to 40 of the calls

  @NVML-077 @needs:chosen-gpus
  Scenario: A node has at most 32 fault rules
    Given NVML on the GPUs of "dgx-h100"
    When the fake node changes as in "thirty_two_faults"
    Then the fake node refuses these changes
      """
      - {at: 0, fault: {function: nvmlDeviceGetBoardId, error: UNKNOWN}}  # faults: 32
      """
    And these calls return
      | call                               | returns |
      | nvmlDeviceGetMinorNumber(gpu3, &n) | TIMEOUT |
      | nvmlDeviceGetMinorNumber(gpu2, &n) | SUCCESS |
      | nvmlDeviceGetBoardId(gpu3, &b)     | SUCCESS |

  @NVML-090 @needs:chosen-gpus
  Scenario: Each fake node has its own folder and identities
    Given NVML on the GPUs of "dgx-h100"
    And nodes called twin, twin, other with the GPUs of "l40s"
    Then nodes 1 and 2 have the same identities, and node 3 has others
    And no node can be made in the folder of another node, or below its files
    And a node that is missing, damaged, of another version or closed is refused with the reason
    And the call log lists nvmlDeviceGetMinorNumber, nvmlDeviceGetBoardId on GPU 3, from the start of the log to its end
    And node 2 has a folder for its user alone, until it ends
    And nodes 1 and 1 have the same identities, and node 3 has others

  @NVML-090 @needs:chosen-gpus
  Scenario: Another process finds the library and the node by its variables
    Given NVML on the GPUs of "dgx-h100"
    When the program "load by name" runs in another process
    Then it prints "by name 8 GPUs, a copy 8 GPUs"

  @NVML-092 @needs:fake-nvml
  Scenario: The fake node of a machine is made once, and again when its inventory changes
    When the inventories of the machines are
      | file         | text |
      | default.yaml | t4   |
      | n2.yaml      | {driver_version: "580.1", cuda_version: "13.0", gpus: [{board: l40s-pcie-48gb, bus: "00000000:05:00.0"}, {board: t4-pcie-16gb, bus: "00000000:06:00.0"}]} |
      | n.yaml       | l40s |
    And an interrupted start has left files in the folder "d"
    Then the fake nodes of the machines are made or kept as the table shows
      | folder | machine | result | GPUs                  | identities |
      | a      | n1      | made   | Tesla T4              | new        |
      | a      | n1      | kept   | Tesla T4              | a n1       |
      | b      | n2      | made   | NVIDIA L40S, Tesla T4 | new        |
      | c      | n3      | made   | Tesla T4              | new        |
      | d      | n1      | made   | Tesla T4              | a n1       |
      | a      | n1      | kept   | Tesla T4              | a n1       |
      | c      | n4      | made   | Tesla T4              | new        |
    When the inventories of the machines are
      | file         | text  |
      | default.yaml | "t4"  |
      | n1.yaml      | t4    |
      | n2.yaml      | gpus: |
      | n5.yaml      | gpus: [ |
      | n6.yaml      | t5    |
      | n7.yaml      | {driver_version: "580.1", cuda_version: "13.0", gpus: [{board: t4-pcie-16gb}]} |
    Then the fake nodes of the machines are made or kept as the table shows
      | folder | machine | result | GPUs     | identities |
      | c      | n4      | made   | Tesla T4 | c n4       |
      | d      | n1      | kept   | Tesla T4 | a n1       |
    And the fake node of machine "n2" is refused with "n2.yaml"
    And the fake node of machine "n5" is refused with "not valid YAML"
    And the fake node of machine "n6" is refused with "no inventory is called 't5'"
    And the fake node of machine "n7" is refused with "n7.yaml:1: defaults.bus"
    When the inventories of the machines are
      | file    | text |
      | n1.yaml | t4   |
    Then the fake node of machine "n8" is refused with "neither n8.yaml nor default.yaml"
