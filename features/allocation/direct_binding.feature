@profile:scheduler-core @component:scheduler @needs:direct-binding
Feature: Schedulers that bind pods themselves
  A scheduler that updates claims and binds pods keeps both consistent when a step fails.

  @DRA-131
  Scenario: An unreserved allocation that does not fit the pod is replaced
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "mine" holds the devices "dev-9" of "gone"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "dev-0"
    And pod "train" is bound to "n1"

  @DRA-482 @since:1.37 @gate:DRAPrioritizedList
  Scenario: Configuration that names all requests is for all, without their names
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator)}}
        - {name: c, firstAvailable: [{name: big, deviceClassName: $(class:accelerator), count: 8}, {name: small, deviceClassName: $(class:accelerator)}]}
      config:
        - {requests: [a, c], opaque: {driver: $(sim), parameters: {by: both}}}
        - {requests: [c/small, a], opaque: {driver: $(sim), parameters: {by: chosen}}}
        - {requests: [a, c/big], opaque: {driver: $(sim), parameters: {by: other}}}
        - {requests: [c], opaque: {driver: $(sim), parameters: {by: one}}}
      """
    When a pod "train" using claim "mine" is created
    Then the ResourceClaim "mine" has:
      | field                                                                     | value                      |
      | status.allocation.devices.config[*].opaque.parameters.by                  | [both, chosen, other, one] |
      | status.allocation.devices.config[opaque.parameters.by=both][0].requests   | null                       |
      | status.allocation.devices.config[opaque.parameters.by=chosen][0].requests | null                       |
      | status.allocation.devices.config[opaque.parameters.by=other][*].requests  | [[a, c/big]]               |
      | status.allocation.devices.config[opaque.parameters.by=one][*].requests    | [[c]]                      |

  @DRA-132
  Scenario: An allocation that another pod uses is kept
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "mine" holds the devices "dev-9" of "gone"
    And a pod "other" without claims
    And claim "mine" is reserved by hand for pods "other"
    When a pod "train" using claim "mine" is created
    Then the Pod "train" has condition PodScheduled False with reason "Unschedulable"
    And the ResourceClaim "mine" keeps "status.allocation.devices.results[*].device" in any order [dev-9]

  @DRA-132
  Scenario: An allocation that another user of the pod's name has is kept
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "mine" holds the devices "dev-9" of "gone"
    And claim "mine" is also reserved for a list of 1 {apiGroup: batch.example.com, resource: workers, name: train, uid: another}
    When a pod "train" using claim "mine" is created
    Then the Pod "train" has condition PodScheduled False with reason "Unschedulable"
    And the ResourceClaim "mine" keeps "status.allocation.devices.results[*].device" [dev-9]

  @DRA-131 @DRA-132
  Scenario Outline: Of two allocations that fit no node, the unused one is removed (<order>)
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "<used>" for 1 of "accelerator"
    And a ResourceClaim "<unused>" for 1 of "accelerator"
    And claim "<used>" holds the devices "dev-8" of "gone"
    And claim "<unused>" holds the devices "dev-9" of "gone"
    And a pod "other" without claims
    And claim "<used>" is reserved by hand for pods "other"
    When a pod "train" using claim "<used>, <unused>" is created
    Then claim "<unused>" is deallocated [DRA-131]
    And the ResourceClaim "<used>" keeps "status.allocation.devices.results[*].device" [dev-8] [DRA-132]
    And pod "train" stays unbound [DRA-132]

    Examples:
      | order                               | used | unused |
      | the used is first in the alphabet   | busy | idle   |
      | the unused is first in the alphabet | used | free   |

  @DRA-139 @needs:faults
  Scenario: A pod that cannot be bound loses its reservation, and the claim stays allocated
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And the API server answers 403 to the next 1000 bindings of Pod
    When a pod "train" using claim "mine, other" is created
    Then claim "mine" is allocated the devices "dev-0"
    And claim "mine" is reserved for exactly the pods ""
    And claim "other" is reserved for exactly the pods ""
    And the ResourceClaim "mine" keeps "status.allocation.devices.results[*].device" in any order [dev-0]
    And the ResourceClaim "other" keeps "status.allocation.devices.results[*].device" in any order [dev-1]

  @DRA-128 @DRA-139 @needs:faults
  Scenario: A pod that cannot be bound uses its allocation and reserves it again in the next attempt
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a ResourceClaim "free" for 1 of "accelerator"
    And the API server answers 403 to the next 1 bindings of Pod
    When a pod "train" using claim "mine, other" is created
    Then pod "train" is bound to "n1" [DRA-139]
    And claim "mine" is reserved for exactly the pods "train" [DRA-128]
    And claim "other" is reserved for exactly the pods "train" [DRA-128]
    When a pod "late" using claim "free" is created
    Then pod "late" is bound to "n1" [DRA-139]

  @DRA-128d @needs:faults
  Scenario: A pod has its reservation when it is bound, although no watch says that it lost the one of a failed attempt
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When the watches of ResourceClaim break and are not served
    Given the API server answers 403 to the next 1 bindings of Pod
    When a pod "train" using claim "mine" is created
    And every fault has affected a request
    And watches are served again
    Then pod "train" is bound to "n1"
    And claim "mine" is reserved for pod "train" at the time of its binding

  @DRA-106 @DRA-128
  Scenario: A pod does not use a claim that it does not own
    Given the scheduler binds pods itself
    And node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "foreign" for 1 of "accelerator"
    And a ResourceClaim "others" for 1 of "accelerator"
    And a ResourceClaim "former" for 1 of "accelerator"
    And a ResourceClaim "own" for 1 of "accelerator"
    And a pod "train" using template "unused"
    And a pod "serve" using template "unused"
    And a pod "again" using template "unused"
    And "metadata.ownerReferences" of the ResourceClaim "others" is set to [{apiVersion: v1, kind: Pod, name: train, uid: $(uid:train), controller: true}]
    # An owner with the pod's name and another uid. The garbage collector keeps an object with an owner of an unknown group.
    And "metadata.ownerReferences" of the ResourceClaim "former" is set to [{apiVersion: dra.test/v1, kind: Pod, name: again, uid: $(uid:train), controller: true}]
    And "status.resourceClaimStatuses" of the Pod "train" is set to [{name: gpu, resourceClaimName: foreign}]
    And "status.resourceClaimStatuses" of the Pod "serve" is set to [{name: gpu, resourceClaimName: others}]
    And "status.resourceClaimStatuses" of the Pod "again" is set to [{name: gpu, resourceClaimName: former}]
    When a pod "later" using claim "own" is created
    Then claim "own" is reserved for pod "later" [DRA-128]
    And pod "train" stays unbound [DRA-106]
    And claim "foreign" stays unallocated [DRA-106]
    And pod "serve" stays unbound [DRA-106]
    And claim "others" stays unallocated [DRA-106]
    And pod "again" stays unbound [DRA-106]
    And claim "former" stays unallocated [DRA-106]

  @DRA-128 @DRA-139 @needs:faults
  Scenario Outline: Pods with two claims are bound when the API server <does> <what>
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And the API server <does> the next <number> <what>
    When a pod "one" using claim "first, second" is created
    Then pod "one" is bound to "n1" [DRA-139]
    When every fault has affected a request
    And a pod "two" using claim "third, second" is created
    Then pod "two" is bound to "n1" [DRA-139]
    And claim "first" is reserved for exactly the pods "one" [DRA-128]
    And claim "second" is reserved for exactly the pods "one, two" [DRA-128]
    And claim "third" is reserved for exactly the pods "two" [DRA-128]
    And the ResourceClaim "second" has "metadata.finalizers" [resource.kubernetes.io/delete-protection] [DRA-128]

    Examples:
      | does                 | number | what                            |
      | loses its answers to | 1      | updates of ResourceClaim        |
      | answers 409 to       | 1      | updates of ResourceClaim        |
      | answers 403 to       | 2      | updates of ResourceClaim        |
      | loses its answers to | 2      | status updates of ResourceClaim |
      | answers 409 to       | 2      | status updates of ResourceClaim |
      | answers 403 to       | 1      | status updates of ResourceClaim |
      | answers 500 to       | 3      | status updates of ResourceClaim |
      | answers 403 to       | 1      | bindings of Pod                 |

  @DRA-139 @needs:faults
  Scenario: A pod whose third claim cannot be allocated has no reservation of the others
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And the API server answers 403 to the next 1000 status updates of the ResourceClaim "third"
    When a pod "train" using claim "first, second, third" is created
    Then claim "first" is allocated the devices "dev-0"
    And claim "second" is allocated the devices "dev-1"
    And claim "first" is reserved for exactly the pods ""
    And claim "second" is reserved for exactly the pods ""
    And claim "third" stays unallocated
    And pod "train" stays unbound

  @DRA-139 @needs:faults
  Scenario: A pod whose second claim goes to another user while the scheduler writes it has no reservation of the first
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "own" for 1 of "accelerator"
    And a ResourceClaim "wanted" for 1 of "accelerator"
    # The scheduler has chosen the device of this name in the pool of the other node.
    And claim "wanted" is allocated "dev-1" of "n2" and reserved for another user while the scheduler writes it
    When a pod "train" using claim "own, wanted" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n1)}
      """
    Then claim "wanted" is allocated the devices "dev-1"
    And claim "own" is allocated the devices "dev-0"
    And claim "own" is reserved for exactly the pods ""
    And pod "train" stays unbound

  @DRA-133b @needs:faults
  Scenario Outline: A claim that <change> while the scheduler writes it is allocated anew
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And claim "mine" <change> while the scheduler writes it
    When a pod "train" using claim "other, mine" is created
    Then pod "train" is bound to "n1"
    And claim "mine" is reserved for exactly the pods "train"
    And claim "other" is reserved for exactly the pods "train"
    And the allocation of claim "mine" is valid
    And the allocation of claim "other" is valid

    Examples:
      | change                             |
      | is replaced by another of its name |
      | is changed                         |

  @DRA-133g @needs:faults
  Scenario: A claim that is replaced by a larger one while the scheduler writes it is allocated what it asks for
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "mine" is replaced by one for 2 of "accelerator" while the scheduler writes it
    When a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n1"
    And the allocation of claim "mine" is valid

  @DRA-139 @needs:faults
  Scenario: A pod that cannot be bound leaves the reservations of other pods
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a ResourceClaim "own" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    Then pod "first" is bound to "n1"
    Given the API server answers 403 to the next 1000 bindings of the Pod "second"
    When a pod "second" using claim "own, shared" is created
    Then claim "own" is allocated the devices "dev-1"
    And claim "own" is reserved for exactly the pods ""
    And claim "shared" is reserved for exactly the pods "first"
    And the ResourceClaim "own" keeps "status.allocation.devices.results[*].device" in any order [dev-1]

  @DRA-139 @needs:faults
  Scenario: A pod that another scheduler has bound is not reported as scheduled to the node of the lost decision
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And node "n2"
    And pod "train" is bound to "n2" while the scheduler binds it
    When a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n2"
    And pod "train" gets no event "Scheduled"
    And claim "mine" is reserved for exactly the pods ""

  @DRA-133
  Scenario: A device of the second pool of a node is allocated once
    # A binder may refuse a device that is in use, and so hide what the scheduler does.
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "first" with:
      """
      nodeName: $(node:n1)
      pool: {name: a-pool}
      devices: [{name: dev-a, attributes: {dra.test/role: {string: a}}}]
      """
    And a ResourceSlice "second" with:
      """
      nodeName: $(node:n1)
      pool: {name: b-pool}
      devices: [{name: dev-b, attributes: {dra.test/role: {string: b}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "a"'
    And a ResourceClaim "two" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "b"'
    And a ResourceClaim "three" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "b"'
    When a pod "one" using claim "one" is created
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "two" is created
    Then pod "two" is bound to "n1"
    When a pod "three" using claim "three" is created
    Then pod "three" stays unbound
    And claim "three" stays unallocated

  @DRA-128
  Scenario: A pod that is created again under its name is bound, and so is one of another name
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then pod "train" is bound to "n1"
    When pod "train" is force-deleted
    And a pod "train" using claim "other, mine" is created
    Then pod "train" is bound to "n1"
    And claim "other" is reserved for exactly the pods "train"
    And claim "mine" is reserved for pod "train"

  @DRA-128c
  Scenario: The finalizers that others have added to a claim are kept
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And "metadata.finalizers" of the ResourceClaim "other" is set to [dra.test/first, dra.test/last]
    When a pod "train" using claim "mine, other" is created
    Then pod "train" is bound to "n1"
    And the ResourceClaim "other" has "metadata.finalizers" in any order [dra.test/first, dra.test/last, resource.kubernetes.io/delete-protection]
    And the ResourceClaim "mine" has "metadata.finalizers" [resource.kubernetes.io/delete-protection]

  @DRA-726
  Scenario: A claim whose allocation has no timestamp is reserved for a pod
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: one}
      devices: [{name: a}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "old" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "old" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: one, device: a}]}}
    When a pod "pod" using claim "old" is created
    Then pod "pod" is bound to "n1"
    And claim "old" is reserved for pod "pod"
