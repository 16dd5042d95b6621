@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai
Feature: Devices in BindRequests are in use
  The binder updates the claims some time after the scheduler has written a BindRequest. A scheduler that looks
  only at claims would allocate one device to two pods in that time.

  @KAI-050 @KAI-052
  Scenario: Eight pods for three devices get three BindRequests
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And pods "train" 1 to 8 each using a claim of their own with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator)}}]
      """
    Then 3 pods get BindRequests, with 3 distinct devices [KAI-050, KAI-052]

  @KAI-052
  Scenario: Devices in an existing BindRequest are not allocated again
    Given the scheduler is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And pods "train" 1 to 2 each using a claim of their own with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator)}}]
      """
    And a BindRequest "train-1" of pod "train-1" to "n1" giving claim "train-1" the devices "dev-0"
    When the scheduler is started
    Then the BindRequest of pod "train-2" gives claim "train-2" the devices "dev-1"

  @KAI-052
  Scenario: Devices of all claims in an existing BindRequest are not allocated again until it is deleted
    Given the scheduler is stopped
    And node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "left" for 1 of "accelerator"
    And a ResourceClaim "right" for 1 of "accelerator"
    And a ResourceClaim "pair" for 2 of "accelerator"
    And a ResourceClaim "more" for 3 of "accelerator"
    When a pod "first" using claim "left" is created with:
      """
      resourceClaims: [{name: left, resourceClaimName: right}, {name: other, resourceClaimName: left}]
      """
    And a pod "second" using claim "pair" is created
    And a pod "third" using claim "more" is created
    Given a BindRequest "promised" of pod "first" to "n1" with:
      """
      resourceClaimAllocations:
        - {name: unknown, allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-3}]}}}
        - {name: left, allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0}]}}}
        - {name: other, allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-2}]}}}
      """
    When the scheduler is started
    Then the BindRequest of pod "second" gives claim "pair" the devices "dev-1, dev-3"
    And pod "third" gets no BindRequest
    When pod "first" is force-deleted
    And pod "second" is force-deleted
    Then the BindRequest of pod "third" gives claim "more" the devices "dev-0, dev-1, dev-2"

  @KAI-051
  Scenario: Allocation mode All selects all devices of a node
    Given node "n1" with 3 devices
    And node "n2"
    And a ResourceSlice "second-pool" with:
      """
      nodeName: $(node:n1)
      pool: {name: second, generation: 1, resourceSliceCount: 1}
      devices: [{name: extra-0}, {name: extra-1}]
      """
    And a ResourceSlice "other-driver" with:
      """
      driver: other-$(suffix).dra.test
      nodeName: $(node:n1)
      pool: {name: other, generation: 1, resourceSliceCount: 1}
      devices: [{name: dev-3}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    When a pod "train" using claim "all" is created
    Then the BindRequest of pod "train" gives claim "all" the devices "dev-0, dev-1, dev-2, extra-0, extra-1"
    And pod "train" gets exactly one BindRequest

  @KAI-052
  Scenario: Devices of a shared claim stay in use while one of its two BindRequests is left
    Given the scheduler is stopped
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a ResourceClaim "own" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    And a pod "second" using claim "shared"
    And a pod "third" using claim "own"
    And a BindRequest "first" of pod "first" to "n1" giving claim "shared" the devices "dev-0"
    And a BindRequest "second" of pod "second" to "n1" giving claim "shared" the devices "dev-0"
    When the scheduler is started
    And pod "first" is deleted
    Then the BindRequest "first" is gone
    And pod "third" gets no BindRequest
    When pod "second" is deleted
    Then the BindRequest of pod "third" gives claim "own" the devices "dev-0"

  @KAI-053
  Scenario: A pod that ended before it was bound releases its devices
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a pod "former" using claim "first"
    And a ResourceClaim "second" for 1 of "accelerator"
    Then the BindRequest of pod "former" has "spec.selectedNode" $(node:n1)
    When "status.phase" of the Pod "former" is set to Failed
    And a pod "next" using claim "second" is created
    Then the BindRequest of pod "next" has "spec.selectedNode" $(node:n1)

  @KAI-054
  Scenario: Claims that are allocated on two nodes cannot be used by one pod
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "here" for 1 of "accelerator"
    And a ResourceClaim "there" for 1 of "accelerator"
    And claim "here" holds the devices "dev-0" of "n1"
    And claim "there" holds the devices "dev-0" of "n2"
    And a pod "torn" using claim "here, there"
    Then pod "torn" gets no BindRequest

  @KAI-010 @KAI-055 @KAI-056 @KAI-044 @KAI-042
  Scenario: No BindRequest is written for an impossible claim
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "greedy" for 3 of "accelerator"
    And a ResourceClaim "pair" for 2 of "accelerator"
    And a ResourceClaim "single" for 1 of "accelerator"
    And a ResourceClaim "classless" for 1 of "nothing"
    And a ResourceClaim "modest" for 1 of "accelerator"
    And a pod "greedy" using claim "greedy"
    # The two nodes have enough devices together, but neither node has all of them.
    And a pod "torn" using claim "pair, single"
    And a pod "classless" using claim "single, classless"
    And a pod "claimless" using claim "single, not-there"
    And a pod "modest" using claim "modest"
    # The scheduler has tried the pods that were created before.
    Then pod "modest" gets exactly one BindRequest [KAI-010]
    And pod "greedy" gets no BindRequest [KAI-055]
    And pod "torn" gets no BindRequest [KAI-056]
    And pod "classless" gets no BindRequest [KAI-044]
    And pod "claimless" gets no BindRequest [KAI-042]

  @KAI-450 @gate:DRAPrioritizedList
  Scenario: A BindRequest allocates a claim with alternatives, or is not created
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "choice" with:
      """
      requests:
        - name: gpu
          firstAvailable:
            - {name: many, deviceClassName: $(class:accelerator), count: 5}
            - {name: one, deviceClassName: $(class:accelerator)}
      """
    And a ResourceClaim "plain" for 1 of "accelerator"
    And a pod "choosing" using claim "choice"
    And a pod "plain" using claim "plain"
    # The scheduler has tried the pod that was created before.
    Then the BindRequest of pod "plain" gives claim "plain" 1 devices on its node
    And every BindRequest of pod "choosing" has devices for claim "choice"

  @KAI-452
  Scenario: A claim that is being deleted is not used
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "going" for 1 of "accelerator"
    And a ResourceClaim "plain" for 1 of "accelerator"
    And the ResourceClaim "going" is being deleted
    And a pod "late" using claim "plain, going"
    And a pod "plain" using claim "plain"
    # The scheduler has tried the pod that was created before.
    Then the BindRequest of pod "plain" gives claim "plain" 1 devices on its node
    And pod "late" gets no BindRequest

  @KAI-453
  Scenario: A claim that was not created for the pod is not used for its template
    Given the claim-controller is stopped
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "foreign" for 1 of "accelerator"
    And a ResourceClaim "plain" for 1 of "accelerator"
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "late" using template "one"
    And "status.resourceClaimStatuses" of the Pod "late" is set to [{name: gpu, resourceClaimName: foreign}]
    And a pod "plain" using claim "plain"
    # The scheduler has tried the pod that was created before.
    Then the BindRequest of pod "plain" gives claim "plain" 1 devices on its node
    And pod "late" gets no BindRequest

  @KAI-042
  Scenario: A pod is scheduled once its claim exists
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a pod "early" using claim "late"
    And a ResourceClaim "late" for 1 of "accelerator"
    Then the BindRequest of pod "early" gives claim "late" 1 devices on its node

  @KAI-043
  Scenario: A pod waits until its claim is generated from the template
    Given the claim-controller is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one"
    Then pod "train" gets no BindRequest
    When the claim-controller is started
    Then pod "train" gets exactly one BindRequest

  @KAI-047
  Scenario: Claims for other devices than GPUs need no queue
    Given node "n1" with 1 devices
    And a DeviceClass "network" for those devices
    And a ResourceClaim "shared" for 1 of "network"
    When a pod "train" using claim "shared" is created
    Then pod "train" gets exactly one BindRequest

  @KAI-049
  Scenario: A claim has at most 256 consumers
    Given the claim-controller is stopped
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And claim "claim" is also reserved for a list of 255 {resource: pods, name: p$n, uid: uid-$n}
    And a pod "last" using claim "claim"
    Then pod "last" gets exactly one BindRequest
    When claim "claim" is also reserved for {resource: pods, name: p255, uid: uid-255}
    And a pod "late" using claim "claim" is created
    Then pod "late" gets no BindRequest

  @KAI-049b
  Scenario: A pod that is one of the 256 consumers of a claim gets a BindRequest
    Given the claim-controller is stopped
    And the scheduler is stopped
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "train" using claim "claim"
    And a pod "late" using claim "claim"
    And claim "claim" is reserved by hand for pods "train"
    And claim "claim" is also reserved for a list of 255 {resource: pods, name: p$n, uid: uid-$n}
    When the scheduler is started
    Then pod "train" gets exactly one BindRequest
    And pod "late" gets no BindRequest

  @KAI-040 @needs:faults
  Scenario: Without dynamic resource allocation, pods with claims are not scheduled
    Given the scheduler starts on an API server without resource.k8s.io
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "with" using claim "claim"
    And a pod "without" without claims
    Then the BindRequest of pod "without" has "spec.selectedNode" $(node:n1)
    And the Pod "with" has condition PodScheduled False with reason "Unschedulable"
    And the message of condition PodScheduled of the Pod "with" contains "claim"
    And pod "with" gets no BindRequest

  @KAI-040b @needs:scheduler-gates
  Scenario: With its feature gate off, pods with claims are not scheduled
    Given the scheduler has dynamic resource allocation off
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "with" using claim "claim"
    And a pod "without" without claims
    Then the BindRequest of pod "without" has "spec.selectedNode" $(node:n1)
    And pod "with" gets no BindRequest

  @KAI-317
  Scenario Outline: A node whose condition <condition> is <status> gets no pods
    Given node "n1"
    And node "n2"
    And "status.conditions" of the Node "n1" is set to [{type: <condition>, status: "<status>"}]
    # A scheduler that has seen the devices has seen the condition, which was written before.
    And node "n1" has {example.com/accelerator: 1, example.com/nic: 1} of a device plugin
    And node "n2" has {example.com/nic: 1} of a device plugin
    # Not a GPU: in a cluster with a GPU driver another node could serve it.
    And a pod "only-n1" requesting {example.com/accelerator: 1}
    And a pod "plain" requesting {example.com/nic: 1}
    # The scheduler has tried the pod that was created before.
    Then the BindRequest of pod "plain" has "spec.selectedNode" $(node:n2)
    And pod "only-n1" gets no BindRequest
    When "status.conditions" of the Node "n1" is set to [{type: <condition>, status: "<healthy>"}]
    Then the BindRequest of pod "only-n1" has "spec.selectedNode" $(node:n1)

    Examples:
      | condition          | status  | healthy |
      | Ready              | False   | True    |
      | Ready              | Unknown | True    |
      | MemoryPressure     | True    | False   |
      | DiskPressure       | Unknown | False   |
      | PIDPressure        | True    | False   |
      | NetworkUnavailable | True    | False   |
