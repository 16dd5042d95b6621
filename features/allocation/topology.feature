@profile:scheduler-core @component:scheduler @component:binder @gate:DRAPrioritizedList
Feature: Topology-aware allocation
  A GPU and a NIC are fastest on one PCIe root, then on one NUMA node, then on one socket. A claim expresses this with
  alternatives that have constraints of their own.

  @DRA-186b
  Scenario Outline: GPU and NIC share <what>
    Given node "n1"
    And the objects of the manifest "allocation/two_sockets"
    And claim "others" in use holds the "gpu" devices "<gpus>" and the "nic" devices "<nics>" of "n1"
    When a pod "train" using claim "near" is created
    Then request "nic/<alternative>" of claim "near" is allocated the devices "<nic>"
    And request "gpu" of claim "near" is allocated the devices "<gpu>"
    And the allocation of claim "near" is valid

    Examples:
      | what                              | gpus                | nics                | alternative | gpu   | nic   |
      | a PCIe root, if one is free       | 0, 2, 4, 6          | 1, 3, 5             | root        | gpu-7 | nic-7 |
      | a NUMA node, if no root is free   | 0, 2, 4, 5, 6, 7    | 1, 2, 3, 4, 5, 6, 7 | numa        | gpu-1 | nic-0 |
      | a socket, if no NUMA node is free | 0, 1, 3, 4, 5, 6, 7 | 2, 3, 4, 5, 6, 7, 1 | socket      | gpu-2 | nic-0 |
      | the node, if nothing else is free | 0, 1, 2, 3, 4, 5, 6 | 1, 2, 3, 4, 5, 6, 7 | anywhere    | gpu-7 | nic-0 |

  @DRA-133b @gate:DRAPartitionableDevices @gate:DRAConsumableCapacity
  Scenario: A board is selected by its capacity, its partitions by attributes
    Given node "n1"
    And the objects of the manifest "allocation/fpga"
    And a ResourceClaim "large" for 1 of "fpga" selecting 'device.capacity["$(sim)"].luts.compareTo(quantity("900k")) >= 0'
    And a ResourceClaim "units" with:
      """
      requests:
        - {name: unit,
           exactly: {deviceClassName: $(class:unit), count: 2, selectors: [{cel: {expression: 'device.attributes["dra.test"].board == 1'}}]}}
      constraints: [{matchAttribute: dra.test/board}, {distinctAttribute: dra.test/region}]
      """
    When a pod "filter" using claim "units" is created
    Then claim "units" is allocated the devices "board-1-a, board-1-b"
    When a pod "model" using claim "large" is created
    Then claim "large" is allocated the devices "board-2"
