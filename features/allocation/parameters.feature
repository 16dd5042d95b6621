@profile:scheduler-core @component:scheduler @component:binder
Feature: Requests select devices by their parameters
  A workload needs a GPU with a CUDA version, a NIC with RDMA and bandwidth, an FPGA of a board and frequency. Drivers
  publish them as attributes and capacities, and requests select by them.

  Scenario Outline: A <device> is selected by <what>
    Given node "n1"
    And the objects of the manifest "allocation/parameters"
    And a ResourceClaim "mine" for 1 of "<device>" selecting '<expression>'
    And a ResourceClaim "more" for 1 of "<device>" selecting '<expression>'
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "<found>"
    # The other devices of this kind are free and do not match.
    When a pod "late" using claim "more" is created
    Then claim "more" stays unallocated

    @DRA-164
    Examples:
      | device      | what                      | expression                                                                                                                                                                     | found |
      | accelerator | a range of CUDA versions  | device.attributes["$(sim)"].cudaDriverVersion.compareTo(semver("12.4.0")) >= 0 && device.attributes["$(sim)"].cudaDriverVersion.isLessThan(semver("13.0.0"))                   | gpu-1 |
      | accelerator | its newest CUDA version   | device.attributes["$(sim)"].cudaDriverVersion.major() >= 13                                                                                                                    | gpu-2 |
      | accelerator | an old CUDA version       | device.attributes["$(sim)"].cudaDriverVersion.isLessThan(semver("10.0.0"))                                                                                                     | gpu-0 |

    @DRA-163
    Examples:
      | device      | what                      | expression                                                                                                                                                                     | found |
      | accelerator | memory                    | device.capacity["$(sim)"].memory.compareTo(quantity("64Gi")) >= 0                                                                                                              | gpu-1 |
      | accelerator | memory and cores          | device.capacity["$(sim)"].memory.isLessThan(quantity("64Gi")) && device.capacity["$(sim)"].multiprocessors.compareTo(quantity("100")) >= 0                                     | gpu-2 |
      | nic         | bandwidth                 | device.capacity["$(sim)"].bandwidth.compareTo(quantity("400G")) >= 0                                                                                                           | nic-0 |

    @DRA-158
    Examples:
      | device      | what                      | expression                                                                                                                                                                     | found  |
      | nic         | RDMA and bandwidth        | device.attributes["$(sim)"].rdma && device.capacity["$(sim)"].bandwidth.compareTo(quantity("100G")) >= 0                                                                       | nic-2  |
      | nic         | RDMA and little bandwidth | device.attributes["$(sim)"].rdma && device.capacity["$(sim)"].bandwidth.isLessThan(quantity("100G"))                                                                           | nic-1  |
      | fpga        | its frequency             | device.attributes["$(sim)"].maxClockMHz > 600                                                                                                                                  | fpga-1 |
      | fpga        | board and frequency       | device.attributes["$(sim)"].board == "u250" && device.attributes["$(sim)"].maxClockMHz >= 400                                                                                  | fpga-2 |

  @DRA-158
  Scenario: One claim selects devices of three kinds, each by parameters of its own
    Given node "n1"
    And the objects of the manifest "allocation/parameters"
    And a ResourceClaim "pipeline" with:
      """
      requests:
        - {name: gpu, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["$(sim)"].cudaDriverVersion.isGreaterThan(semver("12.9.9"))'}}]}}
        - {name: nic, exactly: {deviceClassName: $(class:nic), selectors: [{cel: {expression: 'device.attributes["$(sim)"].rdma'}}, {cel: {expression: 'device.capacity["$(sim)"].bandwidth.isGreaterThan(quantity("100G"))'}}]}}
        - {name: fpga, exactly: {deviceClassName: $(class:fpga), selectors: [{cel: {expression: 'device.attributes["$(sim)"].maxClockMHz < 400'}}]}}
      """
    When a pod "train" using claim "pipeline" is created
    Then request "gpu" of claim "pipeline" is allocated the devices "gpu-2"
    And request "nic" of claim "pipeline" is allocated the devices "nic-2"
    And request "fpga" of claim "pipeline" is allocated the devices "fpga-0"

  @DRA-158
  Scenario: A pod waits until a device with its parameters is published
    Given node "n1"
    And node "n2"
    And the objects of the manifest "allocation/parameters"
    And a ResourceClaim "mine" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].cudaDriverVersion.compareTo(semver("13.1.0")) >= 0'
    When a pod "train" using claim "mine" is created
    Then pod "train" stays unbound
    And claim "mine" stays unallocated
    When a ResourceSlice "newer" is published with:
      """
      nodeName: $(node:n2)
      devices: [{name: gpu-9, attributes: {type: {string: gpu}, cudaDriverVersion: {version: "13.1.0"}}}]
      """
    Then pod "train" is bound to "n2"
    And claim "mine" is allocated the devices "gpu-9"
