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
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is reserved for pod "train" [DRA-250]
    And the ResourceClaim "mine" has: [DRA-250]
      | field                                                         | value             |
      | status.allocation.devices.results[0].bindingConditions        | [dra.test/ready]  |
      | status.allocation.devices.results[0].bindingFailureConditions | [dra.test/failed] |
    And the ResourceClaim "mine" has "status.allocation.allocationTimestamp" the present time [DRA-129]
    And pod "train" gets a Normal event "BindingConditionsPending" [DRA-253]
    And pod "train" stays unbound [DRA-250]
    # Both consumers of the claim wait for its device.
    When a pod "second" using claim "mine" is created
    Then claim "mine" is reserved for exactly the pods "train, second" [DRA-250]
    And pod "second" stays unbound [DRA-250]
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1" [DRA-250]
    And pod "second" is bound to "n1" [DRA-250]

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
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 2 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "a" of claim "mine" reports "dra.test/ready" True
    And device "b" of claim "mine" reports "dra.test/ready" True
    Then pod "train" stays unbound
    When device "a" of claim "mine" reports "dra.test/wired" True
    Then pod "train" is bound to "n1"

  @DRA-255 @gate:DRAConsumableCapacity
  Scenario: The pod is bound once each share of its device is ready
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: dev, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {bandwidth: 4}}}}
        - {name: b, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {bandwidth: 4}}}}
      """
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" stays unbound
    When device "dev" of claim "mine" reports "dra.test/ready" True
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
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/failed" True
    Then claim "mine" is allocated again, without device conditions
    And pod "train" stays unbound
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-251
  Scenario: A claim is allocated again if its second device fails while the first is ready
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
        - {name: b, bindingConditions: [dra.test/ready],
           bindingFailureConditions: [dra.test/failed, dra.test/broken]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 2 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "a" of claim "mine" reports "dra.test/ready" True
    And device "a" of claim "mine" reports "dra.test/broken" True
    And device "b" of claim "mine" reports "dra.test/failed" False
    Then pod "train" stays unbound
    And the ResourceClaim "mine" has "status.devices[1].device" b
    When device "b" of claim "mine" reports "dra.test/broken" True
    Then claim "mine" is allocated again, without device conditions
    And pod "train" stays unbound
    When device "a" of claim "mine" reports "dra.test/ready" True
    And device "b" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-255
  Scenario: The pod is bound once the devices of all of its claims are ready
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "plain" with:
      """
      nodeName: $(node:n1)
      devices: [{name: plain, attributes: {dra.test/slow: {bool: false}}}]
      """
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, attributes: {dra.test/slow: {bool: true}}, bindingConditions: [dra.test/ready],
           bindingFailureConditions: [dra.test/failed]}
        - {name: b, attributes: {dra.test/slow: {bool: true}}, bindingConditions: [dra.test/ready],
           bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "none" for 1 of "accelerator" selecting '!device.attributes["dra.test"].slow'
    And a ResourceClaim "first" for 1 of "accelerator" selecting 'device.attributes["dra.test"].slow'
    And a ResourceClaim "second" for 1 of "accelerator" selecting 'device.attributes["dra.test"].slow'
    And a pod "train" using claim "none, first, second"
    Then claim "first" is reserved for pod "train"
    And claim "second" is reserved for pod "train"
    When device "a" of claim "first" reports "dra.test/ready" True
    Then pod "train" stays unbound
    When device "b" of claim "second" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"
    And claim "none" is reserved for pod "train"

  @DRA-250 @gate:DRAExtendedResource
  Scenario: A pod with an extended resource is bound once the device behind it is ready
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: one}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the extended resource claim of pod "train" is allocated the devices "dev"
    And pod "train" stays unbound
    When "status.devices" of the ResourceClaim of pod "train" is set to [{driver: $(sim), pool: one, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}]
    Then pod "train" is bound to "n1"

  @DRA-250 @gate:DRAExtendedResource
  Scenario: A pod with a claim and an extended resource is bound once the device behind the extended resource is ready
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: one}
      devices: [{name: dev, attributes: {dra.test/role: {string: slow}}, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a ResourceSlice "quick" with:
      """
      nodeName: $(node:n1)
      pool: {name: two}
      devices: [{name: other, attributes: {dra.test/role: {string: quick}}}]
      """
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a ResourceClaim "mine" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "quick"'
    When a pod "train" using claim "mine" is created with:
      """
      containers:
        - {name: main, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: mine}], requests: {$(suffix).dra.test/gpu: "1"}, limits: {$(suffix).dra.test/gpu: "1"}}}
      """
    Then the extended resource claim of pod "train" is allocated the devices "dev"
    And pod "train" stays unbound
    When "status.devices" of the ResourceClaim of pod "train" is set to [{driver: $(sim), pool: one, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}]
    Then pod "train" is bound to "n1"

  @DRA-255
  Scenario: The condition of a device does not count for a device of its name in another pool
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "one" with:
      """
      nodeName: $(node:n1)
      pool: {name: one}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a ResourceSlice "two" with:
      """
      nodeName: $(node:n1)
      pool: {name: two}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a ResourceSlice "other-driver" with:
      """
      driver: other-$(suffix).dra.test
      nodeName: $(node:n1)
      pool: {name: one}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" selecting 'device.driver.endsWith("-$(suffix).dra.test")'
    And a ResourceClaim "mine" for 3 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When "status.devices" of the ResourceClaim "mine" is set to [{driver: $(sim), pool: one, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}, {driver: other-$(suffix).dra.test, pool: one, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}]
    Then pod "train" stays unbound
    When "status.devices" of the ResourceClaim "mine" is set to [{driver: $(sim), pool: one, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}, {driver: $(sim), pool: two, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}]
    Then pod "train" stays unbound
    When "status.devices" of the ResourceClaim "mine" is set to [{driver: $(sim), pool: one, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}, {driver: $(sim), pool: two, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}, {driver: other-$(suffix).dra.test, pool: one, device: dev, conditions: [{type: dra.test/ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}]
    Then pod "train" is bound to "n1"

  @DRA-251
  Scenario: Two pods of a claim are bound after its device has failed once
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "one" using claim "shared"
    Then claim "shared" is reserved for pod "one"
    Given a pod "two" using claim "shared"
    Then claim "shared" is reserved for exactly the pods "one, two"
    When device "dev" of claim "shared" reports "dra.test/failed" True
    Then claim "shared" is allocated again, without device conditions
    When device "dev" of claim "shared" reports "dra.test/ready" True
    Then pod "one" is bound to "n1"
    And pod "two" is bound to "n1"
    And claim "shared" is reserved for exactly the pods "one, two"

  @DRA-255b @DRA-255c
  Scenario: A pod is not bound while its claim is deallocated, and the claim is allocated again
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
        - {name: b, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a pod "train" using claim "first, second"
    Then claim "first" is reserved for pod "train" [DRA-255b]
    And claim "second" is reserved for pod "train" [DRA-255b]
    When device "a" of claim "first" reports "dra.test/ready" True
    And device "b" of claim "second" reports "dra.test/ready" False
    And "status" of the ResourceClaim "second" is set to {}
    Then pod "train" stays unbound [DRA-255b]
    And claim "second" is allocated again, without device conditions [DRA-255c]
    When device "b" of claim "second" reports "dra.test/ready" True
    Then pod "train" is bound to "n1" [DRA-255c]

  @DRA-139 @needs:faults
  Scenario: A pod whose device is ready and that cannot be bound at first is bound later
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And the API server answers 403 to the next 1 bindings of Pod
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"
    And claim "mine" is reserved for exactly the pods "train"
    And the ResourceClaim "mine" has "status.devices[0].device" dev

  @DRA-252 @needs:virtual-clock
  Scenario: A pod is bound to a device that is ready, however old the allocation is
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"
    # More than the binding timeout.
    When 700 seconds pass
    And a pod "late" using claim "mine" is created
    Then pod "late" is bound to "n1"
    And claim "mine" is reserved for exactly the pods "train, late"

  @DRA-252 @needs:virtual-clock
  Scenario: A claim whose device is not ready in time is allocated again
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
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

  @DRA-252 @needs:virtual-clock
  Scenario: A claim is allocated again if one of two devices is not ready in time
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
        - {name: b, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "early" for 1 of "accelerator"
    And a ResourceClaim "late" for 1 of "accelerator"
    And a pod "one" using claim "early"
    Then claim "early" is reserved for pod "one"
    When device "a" of claim "early" reports "dra.test/ready" False
    And 300 seconds pass
    And a pod "two" using claim "early, late" is created
    Then claim "late" is reserved for pod "two"
    When device "b" of claim "late" reports "dra.test/ready" True
    And 200 seconds pass
    Then pod "two" stays unbound
    And the ResourceClaim "early" has "status.devices[0].device" a
    When device "a" of claim "early" reports "dra.test/ready" False
    And 102 seconds pass
    Then claim "early" is allocated again, without device conditions
    When device "a" of claim "early" reports "dra.test/ready" True
    Then pod "one" is bound to "n1"
    And pod "two" is bound to "n1"

  @DRA-252 @needs:virtual-clock @component:claim-controller
  Scenario: Of two allocations the older one ends the wait for both devices
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
        - {name: b, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "early" for 1 of "accelerator"
    And a ResourceClaim "late" for 1 of "accelerator"
    And a pod "one" using claim "early"
    Then claim "early" is reserved for pod "one"
    When device "a" of claim "early" reports "dra.test/ready" False
    And 300 seconds pass
    And a pod "two" using claim "early, late" is created
    Then claim "late" is reserved for pod "two"
    When device "b" of claim "late" reports "dra.test/ready" False
    And pod "one" is force-deleted
    And 200 seconds pass
    Then pod "two" stays unbound
    And the ResourceClaim "early" has "status.devices[0].device" a
    When 102 seconds pass
    Then claim "early" is allocated again, without device conditions
    When device "a" of claim "early" reports "dra.test/ready" True
    And device "b" of claim "late" reports "dra.test/ready" True
    Then pod "two" is bound to "n1"

  @DRA-252c @needs:virtual-clock
  Scenario: An allocation without a timestamp has no binding timeout
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: one}
      devices:
        - {name: a, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
        - {name: b, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "timeless" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "timeless" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: one, device: a, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]}}
    And a ResourceClaim "timed" for 1 of "accelerator"
    And a pod "one" using claim "timeless"
    And a pod "two" using claim "timed"
    Then claim "timeless" is reserved for pod "one"
    And claim "timed" is reserved for pod "two"
    And the ResourceClaim "timeless" keeps "status.allocation.allocationTimestamp" null
    When device "a" of claim "timeless" reports "dra.test/ready" False
    And device "b" of claim "timed" reports "dra.test/ready" False
    And 602 seconds pass
    Then claim "timed" is allocated again, without device conditions
    And pod "one" stays unbound
    And the ResourceClaim "timeless" keeps "status.allocation.allocationTimestamp" null
    When device "a" of claim "timeless" reports "dra.test/ready" True
    Then pod "one" is bound to "n1"

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
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
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
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then the ResourceClaim "mine" has:
      | field                          | value                                                                                            |
      | status.allocation.nodeSelector | {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]} |

  Scenario Outline: A scheduler without <feature> does not allocate devices that need it
    Given the scheduler has feature gate "<gate>" off
    And node "n1"
    And the objects of the manifest "allocation/newer_devices"
    And a ResourceClaim "newer" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].kind == "<kind>"'
    And a ResourceClaim "plain" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].kind == "plain"'
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

  Scenario Outline: A scheduler without <feature> does not allocate claims that request it
    Given the scheduler has feature gate "<gate>" off
    And the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1"
    And a ResourceSlice "shared" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, attributes: {dra.test/port: {int: 0}}, capacity: {bandwidth: {value: 10}}}
        - {name: b, attributes: {dra.test/port: {int: 1}}, capacity: {bandwidth: {value: 10}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "newer" with:
      """
      requests: [<request>]
      constraints: <constraints>
      """
    And a ResourceClaim "plain" for 1 of "accelerator"
    When a pod "one" using claim "newer" is created
    And a pod "two" using claim "plain" is created
    Then pod "two" is bound to "n1"
    And claim "newer" stays unallocated

    @DRA-199b @needs:scheduler-gates @component:binder
    Examples:
      | feature           | gate                  | request                                                                                           | constraints |
      | capacity requests | DRAConsumableCapacity | {name: a, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {bandwidth: 1}}}} | []          |
      | alternatives      | DRAPrioritizedList    | {name: a, firstAvailable: [{name: b, deviceClassName: $(class:accelerator)}]}                     | []          |

    @DRA-199c @needs:scheduler-gates @component:binder
    Examples:
      | feature           | gate                  | request                                                                        | constraints                          |
      | admin access      | DRAAdminAccess        | {name: a, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}} | []                                   |
      | distinctAttribute | DRAConsumableCapacity | {name: a, exactly: {deviceClassName: $(class:accelerator), count: 2}}          | [{distinctAttribute: dra.test/port}] |
