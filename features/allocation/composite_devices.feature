@profile:scheduler-core @component:scheduler @component:binder @gate:DRAPartitionableDevices
Feature: DPUs and composite devices
  A data processing unit has network and storage functions that share its ports and cores. A converged card is one device
  made of a GPU and a DPU. Device plugins count whole and parts as separate resources, and can allocate a part twice.

  Background:
    Given node "n1"
    And the objects of the manifest "allocation/composite"

  @DRA-133b
  Scenario: The functions of one claim are on one DPU that has cores for all of them
    Given a ResourceClaim "offload" with:
      """
      requests:
        - {name: net, exactly: {deviceClassName: $(class:part), selectors: [{cel: {expression: 'device.attributes["$(sim)"].type == "net"'}}]}}
        - {name: storage, exactly: {deviceClassName: $(class:part), selectors: [{cel: {expression: 'device.attributes["$(sim)"].type == "storage"'}}]}}
      constraints: [{matchAttribute: dra.test/card}]
      """
    And a ResourceClaim "whole" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "dpu"'
    And a ResourceClaim "next" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "net"'
    And a ResourceClaim "late" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "net"'
    When a pod "first" using claim "offload" is created
    Then the allocation of claim "offload" is valid
    And request "storage" of claim "offload" is allocated the devices "dpu-1-storage"
    When a pod "second" using claim "whole" is created
    Then claim "whole" is allocated the devices "dpu-0"
    When a pod "third" using claim "next" is created
    Then the allocation of claim "next" is valid
    When a pod "fourth" using claim "late" is created
    Then claim "late" stays unallocated

  @DRA-192
  Scenario: A converged card is given whole, and not while its GPU or its DPU is in use
    Given a ResourceClaim "gpu" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "gpu" && device.attributes["dra.test"].card == 0'
    And a ResourceClaim "card" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "converged"'
    And a ResourceClaim "other" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "converged"'
    And a ResourceClaim "port" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "net" && device.attributes["dra.test"].card == 1'
    And a ResourceClaim "near" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "net" && device.attributes["dra.test"].card == 0'
    When a pod "one" using claim "gpu" is created
    Then claim "gpu" is allocated the devices "gpu-0"
    When a pod "two" using claim "card" is created
    Then claim "card" is allocated the devices "converged-1"
    When a pod "three" using claim "other" is created
    Then claim "other" stays unallocated
    # The parts of the card that is in use are taken, those of the card of which only the GPU is in use are not.
    When a pod "four" using claim "port" is created
    Then claim "port" stays unallocated
    When a pod "five" using claim "near" is created
    Then claim "near" is allocated the devices "dpu-0-net-0"

  @DRA-133b
  Scenario: A GPU and a network function of the same card are allocated together
    Given a ResourceClaim "pair" with:
      """
      requests:
        - {name: gpu, exactly: {deviceClassName: $(class:part), selectors: [{cel: {expression: 'device.attributes["$(sim)"].type == "gpu"'}}]}}
        - {name: net, exactly: {deviceClassName: $(class:part), selectors: [{cel: {expression: 'device.attributes["$(sim)"].type == "net"'}}]}}
      constraints: [{matchAttribute: dra.test/card}]
      """
    And a ResourceClaim "storage" for 1 of "part" selecting 'device.attributes["$(sim)"].type == "storage" && device.attributes["dra.test"].card == 0'
    When a pod "one" using claim "storage" is created
    Then claim "storage" is allocated the devices "dpu-0-storage"
    When a pod "two" using claim "pair" is created
    Then request "gpu" of claim "pair" is allocated the devices "gpu-1"
    And the allocation of claim "pair" is valid
