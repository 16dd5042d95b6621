@profile:bind-requests @component:binder @needs:kai
Feature: The binder writes claims
  The binder copies the allocations of a BindRequest to the status of the claims, and reserves the claims for the pod.

  @KAI-041 @KAI-107
  Scenario: A named claim is allocated and reserved
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim" as "mine"
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-1" is created
    Then claim "claim" has the allocation of entry "mine" in the BindRequest "train" [KAI-041]
    And claim "claim" has the allocation of entry "mine" in the BindRequest "train" [KAI-107]
    And claim "claim" is reserved for pod "train" [KAI-107]
    And claim "claim" is reserved for exactly the pods "train" [KAI-107]

  @KAI-041b @needs:binder-gates
  Scenario: With its feature gate off, pods with claims are not bound
    Given the binder has dynamic resource allocation off
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "with" using claim "claim"
    And a pod "without" without claims
    When a BindRequest "with" of pod "with" to "n1" giving claim "claim" the devices "dev-1" is created
    And a BindRequest "without" of pod "without" to "n1" is created
    Then pod "without" is bound to "n1"
    And BindRequest "with" fails with a reason
    And pod "with" stays unbound
    And claim "claim" stays unallocated

  @KAI-107
  Scenario: Configuration is copied to the claim
    Given node "n1" with 1 devices
    And the objects of the manifest "bind_requests/configured"
    And a pod "train" using claim "configured"
    And the objects of the manifest "bind_requests/configured-request"
    Then claim "configured" has the allocation of entry "configured" in the BindRequest "configured-request"
    And pod "train" is bound to "n1"

  @KAI-108 @component:claim-controller
  Scenario: A claim from a template is allocated and reserved
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one"
    And pod "train" has its claim "generated"
    When a BindRequest "train" of pod "train" to "n1" giving claim "gpu" the devices "dev-1" is created
    Then claim "generated" is allocated the devices "dev-1"
    And claim "generated" is reserved for exactly the pods "train"
    And pod "train" is bound to "n1"

  @KAI-108 @component:claim-controller
  Scenario: Two claims from one template get the devices of their own entries
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one" as "left, right"
    And pod "train" has its claim "one" for entry "left"
    And pod "train" has its claim "two" for entry "right"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      right: dev-2
      left: dev-0
      """
    Then pod "train" is bound to "n1"
    And claim "one" is allocated the devices "dev-0"
    And claim "two" is allocated the devices "dev-2"
    And claim "one" is reserved for exactly the pods "train"
    And claim "two" is reserved for exactly the pods "train"

  @KAI-108b
  Scenario: A pod's claim from a template that is not its own is not used
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "foreign" for 1 of "accelerator"
    # Without a template, no claim controller of the cluster makes another claim.
    And a pod "train" using template "unused"
    And "status.resourceClaimStatuses" of the Pod "train" is set to [{name: gpu, resourceClaimName: foreign}]
    When a BindRequest "train" of pod "train" to "n1" giving claim "gpu" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound
    And claim "foreign" stays unallocated

  @KAI-108c
  Scenario: A pod is bound without a claim that it does not need
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    # Without a template, no claim controller of the cluster makes another claim.
    And a pod "train" using template "unused"
    And "status.resourceClaimStatuses" of the Pod "train" is set to [{name: gpu}]
    When a BindRequest "train" of pod "train" to "n1" is created
    Then pod "train" is bound to "n1"
    And claim "mine" stays unallocated

  @KAI-114
  Scenario: Several claims of one pod are allocated and reserved
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "a" for 1 of "accelerator"
    And a ResourceClaim "b" for 2 of "accelerator"
    And a pod "train" using claim "a, b"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      b: dev-0, dev-2
      a: dev-1
      """
    Then claim "a" is allocated the devices "dev-1"
    And claim "b" is allocated the devices "dev-0, dev-2"
    And claim "a" is reserved for pod "train"
    And claim "b" is reserved for pod "train"
    And pod "train" is bound to "n1"

  @KAI-110b
  Scenario: A claim is not deleted under its pod
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1"
    Then pod "train" is bound to "n1"
    When the ResourceClaim "claim" is deleted
    Then the ResourceClaim "claim" keeps "status.allocation.devices.results[*].device" [dev-1]
    And claim "claim" is reserved for exactly the pods "train"

  @KAI-110b
  Scenario: A claim with another finalizer is protected as well
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And "metadata.finalizers" of the ResourceClaim "claim" is set to [example.com/audit]
    And a pod "train" using claim "claim"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "train" is bound to "n1"
    And the ResourceClaim "claim" has "metadata.finalizers" in any order [example.com/audit, resource.kubernetes.io/delete-protection]

  @KAI-110b @needs:faults
  Scenario: A claim is protected although the first try to protect it failed
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the API server answers 500 to the next 1 updates of ResourceClaim, if there are any
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      backoffLimit: 3
      resourceClaimAllocations:
        - name: claim
          allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-1}]}}
      """
    And every fault has affected a request
    And the binder is started again
    Then pod "train" is bound to "n1"
    And the ResourceClaim "claim" has "metadata.finalizers" [resource.kubernetes.io/delete-protection]

  @KAI-110b @component:claim-controller
  Scenario: A named claim is free again when its pod is gone
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And a pod "stays" using claim "other"
    And a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1"
    And a BindRequest "stays" of pod "stays" to "n1" giving claim "other" the devices "dev-0"
    Then pod "train" is bound to "n1"
    And pod "stays" is bound to "n1"
    When pod "train" is force-deleted
    Then claim "claim" is deallocated
    And claim "claim" is reserved for exactly the pods ""
    And claim "other" is allocated the devices "dev-0"

  @KAI-107b
  Scenario: A device of one claim is not given to a second claim
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And a pod "one" using claim "first"
    And a pod "two" using claim "third, second"
    And a BindRequest "one" of pod "one" to "n1" giving claim "first" the devices "dev-1"
    Then pod "one" is bound to "n1"
    When a BindRequest "two" of pod "two" to "n1" is created giving:
      """
      third: dev-2
      second: dev-1
      """
    Then BindRequest "two" fails with a reason
    And pod "two" stays unbound
    And claim "second" stays unallocated
    And claim "first" is allocated the devices "dev-1"

  @KAI-107b
  Scenario: A claim is not given two devices if the second one is that of another claim
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 2 of "accelerator"
    And a pod "one" using claim "first"
    And a pod "two" using claim "second"
    And a BindRequest "one" of pod "one" to "n1" giving claim "first" the devices "dev-1"
    Then pod "one" is bound to "n1"
    When a BindRequest "two" of pod "two" to "n1" giving claim "second" the devices "dev-2, dev-1" is created
    Then BindRequest "two" fails with a reason
    And pod "two" stays unbound
    And claim "second" stays unallocated
    And claim "first" is allocated the devices "dev-1"

  @KAI-107b
  Scenario: Of two BindRequests with one device only one is carried out
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a pod "one" using claim "first"
    And a pod "two" using claim "second"
    And a BindRequest "one" of pod "one" to "n1" giving claim "first" the devices "dev-1"
    And a BindRequest "two" of pod "two" to "n1" giving claim "second" the devices "dev-1"
    When the binder is started
    Then exactly 1 of the claims "first, second" are allocated
    And every BindRequest is Succeeded or Failed
    And every bound pod has its devices
    And every allocation is valid, and no device is allocated twice

  @KAI-107b
  Scenario: Of two claims that have one device neither is given to its pod
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And claim "first" holds the devices "dev-1" of "n1"
    And claim "second" holds the devices "dev-1" of "n1"
    And a pod "one" using claim "first"
    And a pod "two" using claim "second"
    When a BindRequest "one" of pod "one" to "n1" giving claim "first" the devices "dev-1" is created
    And a BindRequest "two" of pod "two" to "n1" giving claim "second" the devices "dev-1" is created
    Then BindRequest "one" fails with a reason
    And BindRequest "two" fails with a reason
    And pod "one" stays unbound
    And pod "two" stays unbound

  @KAI-107b
  Scenario: A device that a BindRequest was refused is given to another claim once it is free
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And claim "first" holds the devices "dev-1" of "n1"
    And a pod "two" using claim "second"
    And a pod "three" using claim "third"
    And a BindRequest "two" of pod "two" to "n1" giving claim "second" the devices "dev-1"
    Then BindRequest "two" fails with a reason
    # Before the device is free: a binder may try a failed BindRequest again.
    When the BindRequest "two" is deleted
    And the ResourceClaim "first" is deleted
    And a BindRequest "three" of pod "three" to "n1" giving claim "third" the devices "dev-1" is created
    Then pod "three" is bound to "n1"
    And claim "third" is allocated the devices "dev-1"
    And claim "second" stays unallocated

  @KAI-107b @gate:DRAExtendedResource
  Scenario: A device of a claim is not given to a pod's extended resources
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a ResourceClaim "first" for 1 of "accelerator"
    And claim "first" holds the devices "dev-1" of "n1"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - {name: container-0-request-0,
             exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
        allocation:
          devices:
            results: [{request: container-0-request-0, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-1}]
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound
    And every allocation is valid, and no device is allocated twice

  @KAI-111
  Scenario: A second consumer is added to the first
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    And a pod "second" using claim "shared"
    And a BindRequest "first" of pod "first" to "n1" giving claim "shared" the devices "dev-0"
    Then pod "first" is bound to "n1"
    When a BindRequest "second" of pod "second" to "n1" giving claim "shared" the devices "dev-0" is created
    Then pod "second" is bound to "n1"
    And claim "shared" is reserved for exactly the pods "first, second"

  @KAI-111 @needs:faults
  Scenario: A binding that fails leaves the first consumer its claim
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    And a pod "second" using claim "shared"
    And a BindRequest "first" of pod "first" to "n1" giving claim "shared" the devices "dev-1"
    Then pod "first" is bound to "n1"
    Given the API server answers 500 to the next 100 bindings of Pod
    When a BindRequest "second" of pod "second" to "n1" giving claim "shared" the devices "dev-1" is created
    Then BindRequest "second" fails with a reason
    And claim "shared" is reserved for pod "first"
    And the ResourceClaim "shared" keeps "status.reservedFor[*].name" containing first
    And the ResourceClaim "shared" keeps "status.allocation.devices.results[*].device" [dev-1]

  @KAI-111 @KAI-112
  Scenario: A pod is not added to reservedFor twice
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "first" using claim "claim"
    And a pod "train" using claim "claim"
    And a pod "last" using claim "claim"
    And claim "claim" is reserved by hand for pods "first, train, last"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-0" is created
    Then pod "train" is bound to "n1" [KAI-112]
    And claim "claim" is reserved for exactly the pods "first, train, last" [KAI-111, KAI-112]

  @KAI-120
  Scenario: A claim under two names of the pod is reserved once
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim" as "left, right"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      left: dev-0
      right: dev-0
      """
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved for exactly the pods "train"

  @KAI-113
  Scenario: An existing allocation is not changed
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "train" using claim "claim"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    # KAI 0.17 binds the pod, a stricter binder refuses.
    Then the BindRequest "train" has "status.phase" like "Succeeded|Failed"
    And the ResourceClaim "claim" keeps "status.allocation.devices.results[*].device" in any order [dev-0]

  @KAI-113b
  Scenario Outline: A pod is not bound while its second claim has <other>
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "free" for 1 of "accelerator"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "claim" is set to {devices: {results: <results>}}
    And a pod "train" using claim "free, claim"
    And the ResourceClaim "free" is remembered
    And the ResourceClaim "claim" is remembered
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      free: dev-2
      claim: dev-0
      """
    Then BindRequest "train" fails with a reason that names "claim"
    And pod "train" stays unbound
    And the ResourceClaim "free" is unchanged
    And the ResourceClaim "claim" is unchanged

    Examples:
      | other                                   | results                                                                                                                              |
      | another device                          | [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-1}]                                                                    |
      | a device of this name in another pool   | [{request: gpu, driver: $(sim), pool: other, device: dev-0}]                                                                         |
      | a device of this name of another driver | [{request: gpu, driver: other.dra.test, pool: $(node:n1), device: dev-0}]                                                            |
      | one device more                         | [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0}, {request: gpu, driver: $(sim), pool: $(node:n1), device: dev-1}] |

    @gate:DRAConsumableCapacity
    Examples:
      | other                                   | results                                                                                                                              |
      | a share of the device                   | [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0, shareID: 5d0aa1f2-3c44-4d0e-9a55-6c1de1a8e0b7}]                       |

  @KAI-113c
  Scenario: A pod is not bound to a node that cannot use the devices of its claim
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "here" for 1 of "accelerator"
    And a ResourceClaim "there" for 1 of "accelerator"
    And claim "here" holds the devices "dev-0" of "n1"
    And claim "there" holds the devices "dev-0" of "n2"
    And a pod "good" using claim "here"
    And a pod "bad" using claim "here, there"
    And a ResourceClaim "free" for 1 of "accelerator"
    And a pod "torn" using claim "free"
    When a BindRequest "good" of pod "good" to "n1" giving claim "here" the devices "dev-0" is created
    And a BindRequest "bad" of pod "bad" to "n1" is created with:
      """
      resourceClaimAllocations:
        - name: here
          allocation:
            devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0}]}
            nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
        - name: there
          allocation:
            devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n2), device: dev-0}]}
            nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n2)]}]}]}
      """
    And a BindRequest "torn" of pod "torn" to "n1" is created with:
      """
      resourceClaimAllocations:
        - name: free
          allocation:
            devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n2), device: dev-1}]}
            nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n2)]}]}]}
      """
    Then pod "good" is bound to "n1"
    And claim "here" is reserved for exactly the pods "good"
    And BindRequest "bad" fails with a reason that names "there"
    And pod "bad" stays unbound
    And BindRequest "torn" fails with a reason
    And pod "torn" stays unbound

  @KAI-113c
  Scenario: A pod is not bound to a node that its allocated claim is not for, whatever the BindRequest says
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "there" for 1 of "accelerator"
    And claim "there" holds the devices "dev-0" of "n2"
    And a pod "bad" using claim "there"
    # Without a node selector, an allocation can be used on every node.
    When a BindRequest "bad" of pod "bad" to "n1" is created with:
      """
      resourceClaimAllocations:
        - {name: there, allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n2), device: dev-0}]}}}
      """
    Then BindRequest "bad" fails with a reason that names "there"
    And pod "bad" stays unbound
    And claim "there" is reserved for exactly the pods ""

  @KAI-115b
  Scenario: A pod is not bound while one of its claims is neither allocated nor in the BindRequest
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "given" for 1 of "accelerator"
    And a ResourceClaim "forgotten" for 1 of "accelerator"
    And a pod "train" using claim "given, forgotten"
    And the ResourceClaim "given" is remembered
    When a BindRequest "train" of pod "train" to "n1" giving claim "given" the devices "dev-0" is created
    Then BindRequest "train" fails with a reason that names "forgotten"
    And pod "train" stays unbound
    And the ResourceClaim "given" is unchanged

  @KAI-116
  Scenario: Entries for a pod without claims are ignored
    Given node "n1" with 2 devices
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "n1" giving claim "none" the devices "dev-1" is created
    Then pod "plain" is bound to "n1"
    And the BindRequest "plain" has "status.phase" Succeeded

  @KAI-161
  Scenario Outline: A restarted binder completes a binding whose claim is <state>
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1"
    And claim "claim" holds the devices "dev-1" of "n1"
    And claim "claim" is reserved by hand for pods "<pods>"
    When the binder is started
    Then pod "train" is bound to "n1"
    And claim "claim" is allocated the devices "dev-1"
    And claim "claim" is reserved for exactly the pods "train"
    And the BindRequest "train" has "status.phase" Succeeded

    Examples:
      | state                      | pods  |
      | allocated                  |       |
      | allocated and reserved     | train |

  @KAI-109 @needs:faults
  Scenario Outline: No pod is bound before its <which> claim is written
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "train" using claim "one, two"
    And the API server answers 403 to the next 100 status updates of the ResourceClaim "<refused>"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-0
      two: dev-1
      """
    # The binder has tried to write the claim.
    And every fault has affected a request
    Then pod "train" stays unbound

    Examples:
      | which  | refused |
      | first  | one     |
      | second | two     |

  @KAI-109 @KAI-109b
  Scenario: Claims are written before the pod is bound, and the phase after it
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "train" using claim "one, two"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-0
      two: dev-1
      """
    Then claim "one" is allocated and reserved before pod "train" is bound [KAI-109]
    And claim "two" is allocated and reserved before pod "train" is bound [KAI-109]
    And pod "train" is bound before the BindRequest "train" succeeds [KAI-109b]

  @KAI-157 @needs:faults
  Scenario Outline: The BindRequest fails if the update of its <which> claim is answered with <code>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "train" using claim "one, two"
    And the API server answers <code> to the next 100 status updates of the ResourceClaim "<refused>"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-0
      two: dev-1
      """
    Then BindRequest "train" fails with a reason

    Examples:
      | which  | refused | code |
      | first  | one     | 403  |
      | second | two     | 403  |
      | second | two     | 500  |

  @KAI-154 @needs:faults
  Scenario: A conflicting update of a claim is retried
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the API server answers 409 to the next 4 status updates of ResourceClaim
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved for pod "train"
    And the BindRequest "train" has "status.phase" Succeeded

  @KAI-155 @needs:faults
  Scenario Outline: Endless conflicts of the <which> claim make the BindRequest fail
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "train" using claim "one, two"
    And the API server answers 409 to the next 100000 status updates of the ResourceClaim "<conflicting>"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-0
      two: dev-1
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound

    Examples:
      | which  | conflicting |
      | first  | one         |
      | second | two         |

  @KAI-156 @needs:faults
  Scenario: A conflict does not lose another pod's reservation
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-1" of "n1"
    And a pod "rival" using claim "claim"
    And a pod "train" using claim "claim"
    And pod "rival" is added to claim "claim" while the binder writes it
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved for exactly the pods "rival, train"
