@profile:bind-requests @component:binder @needs:kai
Feature: The binder waits for binding conditions
  A device may need preparation before it can be used (KEP-5007), and its driver starts when the claim is allocated.
  The binder allocates the claim, so it also waits for the binding conditions and handles their timeout.

  @DRA-250b
  Scenario: The pod is bound once its device is ready
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: slow, generation: 1, resourceSliceCount: 1}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And a pod "second" using claim "mine"
    And the objects of the manifest "bind_requests/slow-request"
    Then claim "mine" is reserved for pod "train"
    And the ResourceClaim "mine" has "status.allocation.allocationTimestamp" set
    # Both consumers of the claim wait for its device.
    When a BindRequest "second" of pod "second" to "n1" is created
    Then claim "mine" is reserved for pod "second"
    And pod "train" stays unbound
    And pod "second" stays unbound
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"
    And pod "second" is bound to "n1"
    And the BindRequest "slow-request" has "status.phase" Succeeded

  @DRA-250b
  Scenario: The time of an allocation is written if its second device has binding conditions
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: slow, generation: 1, resourceSliceCount: 1}
      devices:
        - {name: fast}
        - {name: slow, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 2 of "accelerator"
    And a pod "train" using claim "mine"
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      resourceClaimAllocations:
        - name: mine
          allocation:
            devices:
              results:
                - {request: gpu, driver: $(sim), pool: slow, device: fast}
                - {request: gpu, driver: $(sim), pool: slow, device: slow,
                   bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    Then claim "mine" is reserved for pod "train"
    And the ResourceClaim "mine" has "status.allocation.allocationTimestamp" set
    And pod "train" stays unbound
    When device "slow" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-250b @needs:virtual-clock
  Scenario: A pod is bound to a device that is ready, however old the allocation is
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: slow, generation: 1, resourceSliceCount: 1}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the objects of the manifest "bind_requests/slow-request"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"
    # More than the binding timeout.
    When 700 seconds pass
    And a pod "late" using claim "mine" is created
    And a BindRequest "late" of pod "late" to "n1" is created
    Then pod "late" is bound to "n1"
    And claim "mine" is reserved for exactly the pods "train, late"

  @DRA-250b @gate:DRAExtendedResource
  Scenario: A pod with extended resources is bound once their device is ready
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: slow, generation: 1, resourceSliceCount: 1}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "mine" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - {name: container-0-request-0, exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
        allocation:
          devices:
            results:
              - {request: container-0-request-0, driver: $(sim), pool: slow, device: dev,
                 bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
      """
    Then claim "mine" is reserved for pod "train"
    And pod "train" stays unbound
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-251b
  Scenario: A device that fails to get ready fails the BindRequest
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: slow, generation: 1, resourceSliceCount: 1}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the objects of the manifest "bind_requests/slow-request"
    Then claim "mine" is reserved for pod "train"
    When device "dev" of claim "mine" reports "dra.test/failed" True
    Then the BindRequest "slow-request" has "status.phase" Failed
    And claim "mine" is deallocated
    And pod "train" stays unbound

  @DRA-252b @needs:virtual-clock
  Scenario: A device that is not ready in time fails the BindRequest
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: slow, generation: 1, resourceSliceCount: 1}
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the objects of the manifest "bind_requests/slow-request"
    Then claim "mine" is reserved for pod "train"
    And pod "train" stays unbound
    When 500 seconds pass
    Then pod "train" stays unbound
    And claim "mine" is reserved for pod "train"
    When 102 seconds pass
    Then the BindRequest "slow-request" has "status.phase" Failed
    And claim "mine" is deallocated
    And pod "train" stays unbound

  @DRA-250b @component:scheduler
  Scenario: A pod is bound once the devices that the scheduler selected are ready
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the scheduler gives pod "train" a device for claim "mine"
    Then claim "mine" is reserved for pod "train"
    And pod "train" stays unbound
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @KAI-232 @component:scheduler @gate:DRADeviceBindingConditions @since:1.36
  Scenario: A pod whose device failed to get ready is scheduled again
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the scheduler gives pod "train" a device for claim "mine"
    And the binder waits for the device of claim "mine" before it binds pod "train"
    When device "dev" of claim "mine" reports "dra.test/failed" True
    Then claim "mine" is allocated again, without device conditions
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-250b
  Scenario: The pod is bound once the devices of both of its claims are ready
    Given node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      pool: {name: slow, generation: 1, resourceSliceCount: 1}
      devices:
        - {name: one, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}
        - {name: two, bindingConditions: [dra.test/ready, dra.test/linked], bindingFailureConditions: [dra.test/failed]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a pod "train" using claim "first, second"
    And the objects of the manifest "bind_requests/two-slow-devices"
    Then claim "first" is reserved for pod "train"
    And claim "second" is reserved for pod "train"
    When device "one" of claim "first" reports "dra.test/ready" True
    Then pod "train" stays unbound
    When device "two" of claim "second" reports "dra.test/ready" True
    Then pod "train" stays unbound
    When device "two" of claim "second" reports "dra.test/linked" True
    Then pod "train" is bound to "n1"
    And the BindRequest "two-slow-devices" has "status.phase" Succeeded
