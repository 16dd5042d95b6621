@profile:scheduler-core @component:scheduler @needs:direct-binding @gate:DRADeviceBindingConditions
Feature: Binding conditions
  A device may need preparation before it can be used, such as attaching it through a fabric (KEP-5007). The scheduler
  allocates it, waits for the conditions that the device lists, and allocates again if they fail or time out.

  @DRA-129 @DRA-250 @DRA-253
  Scenario: The pod is bound once its device is ready
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "mine" for 1 of "gpu"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is reserved for pod "train" [DRA-250]
    And the ResourceClaim "mine" has: [DRA-250]
      | field                                                         | value             |
      | status.allocation.devices.results[0].bindingConditions        | [dra.test/ready]  |
      | status.allocation.devices.results[0].bindingFailureConditions | [dra.test/failed] |
    And the ResourceClaim "mine" has "status.allocation.allocationTimestamp" the present time [DRA-129]
    And pod "train" gets a Normal event "BindingConditionsPending" [DRA-253]
    And pod "train" stays unbound [DRA-250]
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1" [DRA-250]

  @DRA-255
  Scenario: The pod is bound once all of its devices are ready
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, bindingConditions: [dra.test/wired, dra.test/ready], bindingFailureConditions: [dra.test/failed]}
        - {name: b, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "mine" for 2 of "gpu"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "a" of claim "mine" reports "dra.test/ready" True
    And device "b" of claim "mine" reports "dra.test/ready" True
    Then pod "train" stays unbound
    When device "a" of claim "mine" reports "dra.test/wired" True
    Then pod "train" is bound to "n1"

  @DRA-251
  Scenario: A claim whose device fails to become ready is allocated again
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "mine" for 1 of "gpu"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/failed" True
    Then claim "mine" is allocated again, without device conditions
    And pod "train" stays unbound
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-252 @needs:virtual-clock
  Scenario: A claim whose device is not ready in time is allocated again
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "mine" for 1 of "gpu"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/ready" False
    And 500 seconds pass
    Then pod "train" stays unbound
    And the ResourceClaim "mine" has "status.devices[0].device" dev
    When 102 seconds pass
    Then claim "mine" is allocated again, without device conditions
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-252 @needs:virtual-clock @needs:scheduler-arguments
  Scenario: The binding timeout of the scheduler's configuration counts
    Given the scheduler binds pods itself
    And the scheduler has "bindingTimeout" 30s
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "mine" for 1 of "gpu"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/ready" False
    And 15 seconds pass
    Then pod "train" stays unbound
    And the ResourceClaim "mine" has "status.devices[0].device" dev
    When 17 seconds pass
    Then claim "mine" is allocated again, without device conditions

  @DRA-254
  Scenario: A device that binds to its node is allocated for this node only
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "fabric" with:
      """
      allNodes: true
      devices:
        - {name: far, bindsToNode: true, bindingConditions: [dra.test/ready],
           bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "mine" for 1 of "gpu"
    When a pod "train" using claim "mine" is created
    Then the ResourceClaim "mine" has:
      | field                          | value                                                                                            |
      | status.allocation.nodeSelector | {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]} |

  Scenario Outline: A scheduler without <feature> does not allocate devices that need it
    Given the scheduler has feature gate "<gate>" off
    And node "n1"
    And the objects of the manifest "allocation/newer_devices"
    And a ResourceClaim "newer" for 1 of "gpu" selecting 'device.attributes["$(sim)"].kind == "<kind>"'
    And a ResourceClaim "plain" for 1 of "gpu" selecting 'device.attributes["$(sim)"].kind == "plain"'
    When a pod "one" using claim "newer" is created
    And a pod "two" using claim "plain" is created
    Then claim "plain" is allocated the devices "plain"
    And claim "newer" stays unallocated

    @DRA-256 @needs:scheduler-gates @component:binder
    Examples:
      | feature            | gate                       | kind  |
      | binding conditions | DRADeviceBindingConditions | bound |

    @DRA-199 @needs:scheduler-gates @component:binder
    Examples:
      | feature                    | gate                    | kind      |
      | partitions                 | DRAPartitionableDevices | partition |
      | devices of different nodes | DRAPartitionableDevices | own-node  |
