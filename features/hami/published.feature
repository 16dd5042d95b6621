@profile:hami @component:driver @gate:DRAConsumableCapacity
Feature: GPUs are published with slices of memory and cores
  A driver that slices GPUs publishes each GPU once. Claims request memory and cores of it, and the scheduler counts
  both.

  @HAMI-001 @HAMI-002
  Scenario: Every GPU has memory and cores that claims can request
    Given node "n1" running the driver with slices of memory and cores
    Then every published device on "n1" has: [HAMI-001]
      | field                                       | value |
      | allowMultipleAllocations                    | true  |
      | capacity.cores.value                        | 100   |
      | capacity.cores.requestPolicy.default        | 100   |
      | capacity.cores.requestPolicy.validRange.min | 0     |
      | capacity.cores.requestPolicy.validRange.max | 100   |
      | capacity.cores.requestPolicy.validRange.step | 1     |
    And every published device on "n1" has: [HAMI-002]
      | field                                         | value                         |
      | capacity.memory.requestPolicy.default         | same as capacity.memory.value |
      | capacity.memory.requestPolicy.validRange.min  | 1Mi                           |
      | capacity.memory.requestPolicy.validRange.max  | same as capacity.memory.value |
      | capacity.memory.requestPolicy.validRange.step | 1Mi                           |

  @HAMI-003 @needs:fake-nvml
  Scenario: A GPU whose memory is not a whole number of MiB is published
    # One byte less than 80Gi.
    Given the GPUs of "n1" have in NVML:
      | memory_total |
      | 85899345919  |
    And node "n1" with a kubelet
    When the driver with slices of memory and cores is started on "n1"
    Then the driver on "n1" comes to publish at least one device
    And GPU 0 on "n1" is published with:
      | field                                        | value   |
      | capacity.memory.value                        | 81919Mi |
      | capacity.memory.requestPolicy.validRange.max | 81919Mi |

  @HAMI-004 @component:claim-controller @component:scheduler @component:binder
  Scenario: Claims share the GPUs of a node until their cores are used up
    Given node "n1" running the driver with slices of memory and cores
    And a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "one" for all of "gpu" with capacity {cores: 60, memory: 1Gi}
    And a ResourceClaim "two" for all of "gpu" with capacity {cores: 40, memory: 1Gi}
    And a ResourceClaim "three" for all of "gpu" with capacity {cores: 1, memory: 1Gi}
    And a pod "first" using claim "one"
    Then pod "first" is bound to "n1"
    When a pod "second" using claim "two" is created
    Then pod "second" is bound to "n1"
    When a pod "third" using claim "three" is created
    Then claim "three" stays unallocated
    When pod "second" is force-deleted
    Then pod "third" is bound to "n1"

  @HAMI-004 @component:claim-controller @component:scheduler @component:binder
  Scenario: A claim without a request for memory takes all of it
    Given node "n1" running the driver with slices of memory and cores
    And a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "one" for all of "gpu" with capacity {cores: 10}
    And a ResourceClaim "two" for all of "gpu" with capacity {cores: 10, memory: 1Mi}
    And a pod "first" using claim "one"
    Then pod "first" is bound to "n1"
    When a pod "second" using claim "two" is created
    Then claim "two" stays unallocated
    When pod "first" is force-deleted
    Then pod "second" is bound to "n1"

  @HAMI-004 @component:claim-controller @component:scheduler @component:binder
  Scenario: A claim consumes whole MiB of memory
    Given node "n1" running the driver with slices of memory and cores
    And a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "slice" for 1 of "gpu" with capacity {cores: 30, memory: 1G}
    When a pod "train" using claim "slice" is created
    Then request "gpu" of claim "slice" takes {cores: 30, memory: 954Mi}

  @HAMI-004b @component:claim-controller @component:scheduler @component:binder
  Scenario: Each node has GPUs of its own
    Given node "n1" running the driver with slices of memory and cores
    And node "n2" running the driver with slices of memory and cores
    And a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "one" for all of "gpu" with capacity {cores: 60, memory: 1Gi}
    And a ResourceClaim "two" for all of "gpu" with capacity {cores: 60, memory: 1Gi}
    And a ResourceClaim "three" for all of "gpu" with capacity {cores: 60, memory: 1Gi}
    And a pod "first" using claim "one"
    Then pod "first" is bound
    When a pod "second" using claim "two" is created
    Then pod "second" is bound
    And pods "first" and "second" are bound to different nodes
    When a pod "third" using claim "three" is created
    Then claim "three" stays unallocated
