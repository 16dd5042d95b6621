@profile:scheduler-core @component:scheduler @component:binder
Feature: Resource pools
  A driver publishes a pool in any number of slices. The scheduler does not use an incomplete or invalid pool, but still
  uses the other pools.

  @DRA-144
  Scenario: The node selector of an allocation merges the node selectors of its devices
    Given node "n1" with label "dra.test/rack" set to "r1"
    And a ResourceSlice "rack" with:
      """
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1]}]}]}
      devices: [{name: rack-0}]
      """
    And a ResourceSlice "host" with:
      """
      nodeSelector:
        nodeSelectorTerms:
          - {matchExpressions: [{key: dra.test/rack, operator: In, values: [r1]}, {key: kubernetes.io/hostname, operator: Exists}]}
      devices: [{name: host-0}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "both" for 2 of "accelerator"
    When a pod "train" using claim "both" is created
    Then claim "both" is allocated the devices "rack-0, host-0"
    And the ResourceClaim "both" has:
      | field                                                                       | value                                                  |
      | status.allocation.nodeSelector.nodeSelectorTerms[*].matchExpressions[*].key | in any order [[dra.test/rack, kubernetes.io/hostname]] |
      | status.allocation.nodeSelector.nodeSelectorTerms[0].matchFields             | empty                                                  |

  @DRA-144
  Scenario: Different requirements of two devices on one label are all in the node selector of the allocation
    Given node "n1" with label "dra.test/rack" set to "r1"
    And a ResourceSlice "racks" with:
      """
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1, r2]}]}]}
      devices: [{name: racks-0}]
      """
    And a ResourceSlice "others" with:
      """
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1, r3]}]}]}
      devices: [{name: others-0}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "both" for 2 of "accelerator"
    When a pod "train" using claim "both" is created
    Then claim "both" is allocated the devices "racks-0, others-0"
    # One requirement alone would allow a node that has only one of the devices.
    And the ResourceClaim "both" has:
      | field                                                                          | value                              |
      | status.allocation.nodeSelector.nodeSelectorTerms[*].matchExpressions[*].values | in any order [[[r1, r2], [r1, r3]]] |

  @DRA-147
  Scenario: Allocation mode All waits for an incomplete pool
    Given node "n1"
    And a ResourceSlice "half" with:
      """
      nodeName: $(node:n1)
      pool: {resourceSliceCount: 2}
      devices: [{name: d-1}]
      """
    And a ResourceSlice "whole" with:
      """
      nodeName: $(node:n1)
      devices: [{name: d-2}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    When a pod "train" using claim "all" is created
    Then the message of condition PodScheduled of the Pod "train" contains "$(slice:half)"
    And claim "all" stays unallocated

  @DRA-147
  Scenario: Allocation mode All waits for an invalid pool
    Given node "n1"
    And a ResourceSlice "broken" with:
      """
      nodeName: $(node:n1)
      pool: {name: twins, resourceSliceCount: 2}
      devices: [{name: twin}]
      """
    And a ResourceSlice "broken-too" with:
      """
      nodeName: $(node:n1)
      pool: {name: twins, resourceSliceCount: 2}
      devices: [{name: twin}]
      """
    And a ResourceSlice "whole" with:
      """
      nodeName: $(node:n1)
      devices: [{name: sound}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    When a pod "train" using claim "all" is created
    Then the message of condition PodScheduled of the Pod "train" contains "twins"
    And claim "all" stays unallocated

  @DRA-148
  Scenario: A device that the newest generation does not list is not allocated
    Given node "n1"
    And node "n2"
    And a ResourceSlice "old" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1, resourceSliceCount: 2}
      devices: [{name: gone}]
      """
    And a ResourceSlice "new" with:
      """
      nodeName: $(node:n2)
      pool: {name: pool, generation: 2}
      devices: [{name: here}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    Then claim "first" is allocated the devices "here"
    When a pod "two" using claim "second" is created
    Then claim "second" stays unallocated

  @DRA-148b
  Scenario: A device of the only slice of an older generation is not allocated
    Given node "n1"
    And node "n2"
    And a ResourceSlice "old" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1}
      devices: [{name: gone}]
      """
    And a ResourceSlice "new" with:
      """
      nodeName: $(node:n2)
      pool: {name: pool, generation: 2}
      devices: [{name: here}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    Then claim "first" is allocated the devices "here"
    When a pod "two" using claim "second" is created
    Then claim "second" stays unallocated

  @DRA-149
  Scenario: A pool that lists a device twice is not used
    Given node "n1"
    And a ResourceSlice "a-part" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 2}
      devices: [{name: twin}, {name: only}]
      """
    And a ResourceSlice "b-part" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 2}
      devices: [{name: twin}]
      """
    And a ResourceSlice "z-sound" with:
      """
      nodeName: $(node:n1)
      devices: [{name: sound}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "sound"

  @DRA-150
  Scenario: The condition of a pod that waits names an invalid pool
    Given node "n1"
    And a ResourceSlice "a-part" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 2}
      devices: [{name: twin}, {name: only}]
      """
    And a ResourceSlice "b-part" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 2}
      devices: [{name: twin}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then the message of condition PodScheduled of the Pod "train" contains "invalid resource pools"

  @DRA-151
  Scenario: Devices are allocated in the order of driver, pool, slice and list
    Given node "n1"
    And a ResourceSlice "s-2" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 2}
      devices: [{name: third}]
      """
    And a ResourceSlice "s-1" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 2}
      devices: [{name: first}, {name: a-second}]
      """
    And a ResourceSlice "s-0" with:
      """
      nodeName: $(node:n1)
      pool: {name: b}
      devices: [{name: a-fourth}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 4}}]
      """
    When a pod "train" using claim "all" is created
    Then the ResourceClaim "all" has "status.allocation.devices.results[*].device" [first, a-second, third, a-fourth]

  @DRA-152
  Scenario: Devices with binding conditions are allocated last
    Given node "n1"
    And a ResourceSlice "z-plain" with:
      """
      nodeName: $(node:n1)
      devices: [{name: plain}]
      """
    And a ResourceSlice "a-slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: slow, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "plain"
