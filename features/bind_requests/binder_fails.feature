@profile:bind-requests @component:binder @needs:kai
Feature: Failed BindRequests
  A BindRequest that cannot be processed gets the phase Failed and a reason; its pod stays unbound and gets an event.
  The scheduler acts on the phase only, so without it the pod would wait for ever.

  @KAI-134 @KAI-170 @KAI-171
  Scenario: A BindRequest to a missing node fails
    Given node "n1"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "never-was" is created
    Then BindRequest "plain" fails with a reason that names "$(node:never-was)" [KAI-134]
    And BindRequest "plain" fails with a reason [KAI-170]
    And the Pod "plain" has condition PodBound False with reason "BindingError" [KAI-170]
    And the Pod "plain" has: [KAI-170]
      | field                                                  | value                        |
      | status.conditions[type=PodBound][0].message            | containing $(node:never-was) |
      | status.conditions[type=PodBound][0].lastTransitionTime | the present time             |
    And pod "plain" gets a Warning event "BindingError" that contains "$(node:never-was)" [KAI-170]
    And BindRequest "plain" counts 0 failed attempts [KAI-171]
    And pod "plain" stays unbound [KAI-134]

  @KAI-132 @KAI-134
  Scenario: A BindRequest without a node or a pod fails
    Given node "n1"
    And a pod "plain" without claims
    And a pod "other" without claims
    And a BindRequest "nodeless" of pod "plain" to "n1" with:
      """
      selectedNode: null
      """
    And a BindRequest "podless" of pod "other" to "n1" with:
      """
      podName: null
      """
    Then BindRequest "nodeless" fails with a reason [KAI-134]
    And pod "plain" stays unbound [KAI-134]
    And BindRequest "podless" fails with a reason [KAI-132]
    And pod "other" stays unbound [KAI-132]

  @KAI-170b @needs:virtual-clock
  Scenario: The condition's time changes with its status only
    Given node "n1"
    And a pod "plain" without claims
    And a BindRequest "plain" of pod "plain" to "never-was"
    Then the Pod "plain" has condition PodBound False with reason "BindingError"
    Given the binder is stopped
    When "status.conditions[0].lastTransitionTime" of the Pod "plain" is set to "2026-01-01T00:00:00Z"
    And "spec.selectedNode" of the BindRequest "plain" is set to still-missing
    And the binder is started
    Then the Pod "plain" has "status.conditions[type=PodBound][0].message" containing still-missing
    And the Pod "plain" has "status.conditions[type=PodBound][0].lastTransitionTime" "2026-01-01T00:00:00Z"
    When "spec.selectedNode" of the BindRequest "plain" is set to $(node:n1)
    Then the Pod "plain" has condition PodBound True with reason "Bound"
    And the Pod "plain" has "status.conditions[type=PodBound][0].lastTransitionTime" the present time

  @KAI-134
  Scenario: A missing node leaves the claims unallocated
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    When a BindRequest "train" of pod "train" to "never-was" giving claim "claim" the devices "dev-0" is created
    Then BindRequest "train" fails with a reason
    And claim "claim" stays unallocated

  @KAI-132 @KAI-133 @KAI-185
  Scenario: A BindRequest without its pod fails, and succeeds once the pod exists
    Given node "n1"
    And a BindRequest "late" of pod "late" to "n1"
    Then BindRequest "late" fails with a reason that names "late" [KAI-132]
    Given a pod "late" without claims
    When "metadata.annotations" of the BindRequest "late" is set to {touched: "yes"}
    Then pod "late" is bound to "n1" [KAI-133, KAI-185]
    And the BindRequest "late" has "status.phase" Succeeded [KAI-133]

  @KAI-185
  Scenario Outline: A change of the <what> of a Failed BindRequest makes the binder try again
    Given a pod "plain" without claims
    And a BindRequest "plain" of pod "plain" to "<node>"
    Then BindRequest "plain" fails with a reason
    Given node "n1"
    When "<field>" of the BindRequest "plain" is set to <value>
    Then pod "plain" is bound to "n1"
    And the BindRequest "plain" has "status.phase" Succeeded

    Examples:
      | what        | node      | field                | value            |
      | annotations | n1        | metadata.annotations | {touched: "yes"} |
      | labels      | n1        | metadata.labels      | {touched: "yes"} |
      | spec        | never-was | spec.selectedNode    | $(node:n1)       |

  @KAI-185 @needs:faults
  Scenario: A change that is made while the failure is written makes the binder try again
    Given node "n1"
    And a pod "plain" without claims
    And the BindRequest "plain" is changed to "n1" while the binder writes its status
    And a BindRequest "plain" of pod "plain" to "never-was"
    Then pod "plain" is bound to "n1"
    And the BindRequest "plain" has "status.phase" Succeeded

  @KAI-178 @needs:virtual-clock
  Scenario: An attempt within the limit succeeds without a change of the BindRequest
    Given a pod "plain" without claims
    And a pod "late" without claims
    And a BindRequest "plain" of pod "plain" to "n1" with:
      """
      backoffLimit: 5
      """
    And a BindRequest "late" of pod "late" to "n1" with:
      """
      backoffLimit: 9
      """
    Then BindRequest "plain" has counted a failed attempt
    And BindRequest "late" has counted a failed attempt
    Given node "n1"
    When 8 seconds pass
    Then pod "plain" is bound to "n1"
    And pod "late" is bound to "n1"
    And the BindRequest "plain" has "status.phase" Succeeded
    And the BindRequest "late" has "status.phase" Succeeded

  @KAI-174b @needs:virtual-clock
  Scenario Outline: No attempt follows the last one of <limit>
    Given a pod "plain" without claims
    And a pod "other" without claims
    And a BindRequest "plain" of pod "plain" to "n1" with:
      """
      backoffLimit: <limit>
      """
    Then BindRequest "plain" fails with a reason
    When <wait> seconds pass
    And <wait> seconds pass
    Then BindRequest "plain" counts <count> failed attempts
    Given node "n1"
    And a BindRequest "other" of pod "other" to "n1"
    When 30 seconds pass
    Then pod "other" is bound to "n1"
    And pod "plain" stays unbound

    Examples:
      | limit | wait | count |
      | null  | 1    | 0     |
      | 0     | 1    | 0     |
      | 1     | 1    | 1     |
      | 3     | 9    | 3     |

  @KAI-160b @needs:faults
  Scenario: After the last attempt the pod's own reservations are released
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "shared" for 1 of "accelerator"
    And claim "shared" holds the devices "dev-0" of "n1"
    And a pod "first" using claim "shared"
    And claim "shared" is reserved by hand for pods "first"
    And "metadata.finalizers" of the ResourceClaim "two" is set to [dra.test/first, dra.test/last]
    And a pod "train" using claim "one, two, shared"
    And the API server answers 500 to the next 100 bindings of Pod
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-2
      two: dev-1
      shared: dev-0
      """
    Then BindRequest "train" fails with a reason
    And claim "one" is deallocated
    And claim "two" is deallocated
    And claim "one" is reserved for exactly the pods ""
    And claim "two" is reserved for exactly the pods ""
    And the ResourceClaim "one" has "metadata.finalizers" without resource.kubernetes.io/delete-protection
    And the ResourceClaim "two" has "metadata.finalizers" [dra.test/first, dra.test/last]
    And claim "shared" is reserved for exactly the pods "first"
    And the ResourceClaim "shared" keeps "status.allocation.devices.results[*].device" [dev-0]
    Given "metadata.finalizers" of the ResourceClaim "two" is set to null

  @KAI-160b @needs:faults
  Scenario: A reservation that cannot be released does not keep the pod's others
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "stuck" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "shared" for 1 of "accelerator"
    And claim "stuck" holds the devices "dev-2" of "n1"
    And claim "shared" holds the devices "dev-0" of "n1"
    And a pod "first" using claim "shared"
    And claim "shared" is reserved by hand for pods "first"
    And a pod "train" using claim "stuck, two, shared"
    And claim "stuck" is reserved by hand for pods "train"
    And the API server answers 403 to the next 100 status updates of the ResourceClaim "stuck"
    And the API server answers 500 to the next 100 bindings of Pod
    When a BindRequest "train" of pod "train" to "n1" giving claim "two" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason
    And claim "two" is deallocated
    And claim "two" is reserved for exactly the pods ""
    And claim "shared" is reserved for exactly the pods "first"
    And the ResourceClaim "shared" keeps "status.allocation.devices.results[*].device" [dev-0]

  @KAI-160b @needs:faults
  Scenario: The reservation of a pod is released although another pod of its name is bound
    Given the binder is stopped
    And node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "train" using claim "one, two"
    And pod "train" is replaced by another of its name, bound to "n2", while the binder writes claim "two"
    And a BindRequest "train" of pod "train" to "n1" giving:
      """
      one: dev-1
      two: dev-0
      """
    And "metadata.ownerReferences" of the BindRequest "train" is set to null
    When the binder is started
    Then the Pod "train" is replaced
    And claim "one" is reserved for exactly the pods ""
    And claim "two" is reserved for exactly the pods ""
    And claim "one" is deallocated
    And claim "two" is deallocated

  @KAI-181
  Scenario: A request for a share of a GPU with a group and no amount does not stop the binder
    Given node "n1"
    And a pod "sharing" without claims
    And a pod "plain" without claims
    And a BindRequest "sharing" of pod "sharing" to "n1" with:
      """
      receivedResourceType: Fraction
      selectedGPUGroups: [group]
      receivedGPU: null
      """
    And a BindRequest "plain" of pod "plain" to "n1"
    Then pod "plain" is bound to "n1"
    And BindRequest "sharing" fails with a reason
    And pod "sharing" stays unbound

  @KAI-140
  Scenario: A pod of the same name in another namespace is not bound
    Given node "n1"
    And a pod "twin" without claims in another namespace
    When a BindRequest "twin" of pod "twin" to "n1" is created
    Then BindRequest "twin" fails with a reason
    And pod "twin" of the other namespace stays unbound

  @KAI-137
  Scenario: A pod that is being deleted is not bound
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "going" using claim "claim"
    And the Pod "going" is being deleted
    When a BindRequest "going" of pod "going" to "n1" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "going" fails with a reason
    And pod "going" stays unbound

  @KAI-137b
  Scenario Outline: A pod that ended as <phase> is not bound, and its claim is not allocated
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "done" using claim "claim"
    And "status.phase" of the Pod "done" is set to <phase>
    When a BindRequest "done" of pod "done" to "n1" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "done" fails with a reason
    And pod "done" stays unbound
    And claim "claim" stays unallocated

    Examples:
      | phase     |
      | Succeeded |
      | Failed    |

  @KAI-139 @needs:faults
  Scenario: A pod that replaces another of its name is not bound
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "plain" using claim "claim"
    And pod "plain" is replaced by another of its name while the binder writes claim "claim"
    When a BindRequest "plain" of pod "plain" to "n1" giving claim "claim" the devices "dev-1" is created
    Then the Pod "plain" is replaced
    And pod "plain" stays unbound

  @KAI-139c @needs:faults
  Scenario: A BindRequest whose pod was created again is not carried out for the new pod
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "plain" using claim "claim"
    And a pod "other" without claims
    And pod "plain" is replaced by another of its name before the binder reads it, if it reads it
    When a BindRequest "plain" of pod "plain" to "n1" giving claim "claim" the devices "dev-1" is created
    And every fault has affected a request
    And a BindRequest "other" of pod "other" to "n1" is created
    Then pod "other" is bound to "n1"
    And the Pod "plain" is replaced
    And pod "plain" stays unbound
    And claim "claim" stays unallocated

  @KAI-150 @KAI-152 @KAI-151 @KAI-164
  Scenario: Entries that match no claim make the BindRequest fail
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And a pod "train" using claim "claim, other"
    And a pod "misled" using claim "other"
    And a pod "claimless" using claim "third, not-there"
    And a BindRequest "empty" of pod "train" to "n1" with:
      """
      resourceClaimAllocations:
        - name: other
          allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0}]}}
        - {name: claim}
      """
    And a BindRequest "misled" of pod "misled" to "n1" giving:
      """
      other: dev-0
      someone-elses: dev-1
      """
    And a BindRequest "claimless" of pod "claimless" to "n1" giving:
      """
      third: dev-0
      not-there: dev-1
      """
    Then BindRequest "empty" fails with a reason that names "claim" [KAI-150]
    And BindRequest "misled" fails with a reason that names "someone-elses" [KAI-151]
    And BindRequest "claimless" fails with a reason that names "not-there" [KAI-152]
    And BindRequest "claimless" fails with a reason that names "DynamicResources" [KAI-164]
    And BindRequest "claimless" fails with a reason that names "$(namespace)/claimless" [KAI-164]
    And pod "train" stays unbound [KAI-150]
    And pod "misled" stays unbound [KAI-151]
    And pod "claimless" stays unbound [KAI-152]

  @KAI-153
  Scenario: A template claim that does not exist yet makes the BindRequest fail
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    # Without a template, no claim controller of the cluster makes the claim.
    And a pod "train" using template "unused"
    When a BindRequest "train" of pod "train" to "n1" giving claim "gpu" the devices "dev-0" is created
    Then BindRequest "train" fails with a reason that names "gpu"
    And pod "train" stays unbound

  @KAI-158
  Scenario: A claim with 256 consumers makes the BindRequest fail
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "free" for 1 of "accelerator"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "train" using claim "free, claim"
    And claim "claim" is also reserved for a list of 256 {resource: pods, name: p$n, uid: uid-$n}
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      free: dev-1
      claim: dev-0
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound

  @KAI-158
  Scenario: A claim that is being deleted makes the BindRequest fail
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "free" for 1 of "accelerator"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "train" using claim "free, claim"
    And the ResourceClaim "claim" is being deleted
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      free: dev-1
      claim: dev-0
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound

  @KAI-158b
  Scenario: A claim that is being deleted is not used although it is reserved for the pod
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "free" for 1 of "accelerator"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "train" using claim "free, claim"
    And claim "claim" is reserved by hand for pods "train"
    And the ResourceClaim "claim" is being deleted
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      free: dev-1
      claim: dev-0
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound

  @KAI-163 @needs:faults @needs:virtual-clock
  Scenario: A BindRequest fails if the updates of its claim get no response in time, and is tried again
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the API server leaves all status updates of ResourceClaim without a response
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      backoffLimit: 5
      resourceClaimAllocations:
        - name: claim
          allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-1}]}}
      """
    And every fault has affected a request
    And 110 percent of the binder's time limit for claims pass
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound
    When the API server responds to all requests again
    Then pod "train" is bound to "n1"
    And claim "claim" is allocated the devices "dev-1"
    And claim "claim" is reserved for exactly the pods "train"
    And the BindRequest "train" has "status.phase" Succeeded

  @KAI-160 @needs:faults
  Scenario Outline: A pod whose binding is refused with <code> is not bound
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "train" using claim "one, two"
    And the API server answers <code> to the next 100 bindings of Pod
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-2
      two: dev-1
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound

    Examples:
      | code |
      | 403  |
      | 409  |
      | 500  |

  @KAI-160 @KAI-161 @needs:faults
  Scenario Outline: A binding that is refused with <code> can be requested again
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "train" using claim "one, two"
    And the API server answers <code> to the next 1 bindings of Pod
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-2
      two: dev-1
      """
    Then BindRequest "train" fails with a reason [KAI-160]
    When the BindRequest "train" is deleted
    And a BindRequest "again" of pod "train" to "n1" is created giving:
      """
      one: dev-2
      two: dev-1
      """
    Then pod "train" is bound to "n1" [KAI-161]
    And claim "one" is allocated the devices "dev-2" [KAI-161]
    And claim "two" is allocated the devices "dev-1" [KAI-161]
    And claim "one" is reserved for exactly the pods "train" [KAI-161]
    And claim "two" is reserved for exactly the pods "train" [KAI-161]

    Examples:
      | code |
      | 403  |
      | 409  |
      | 500  |

  @KAI-172 @KAI-174 @KAI-180
  Scenario: Failed attempts are counted up to the limit
    Given node "n1"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "never-was" is created with:
      """
      backoffLimit: 1
      """
    Then BindRequest "plain" fails with a reason [KAI-180]
    And BindRequest "plain" counts 1 failed attempts [KAI-172]
    When "metadata.annotations" of the BindRequest "plain" is set to {touched: "yes"}
    Then BindRequest "plain" counts 1 failed attempts [KAI-174]
    And the BindRequest "plain" keeps "status.phase" Failed [KAI-180]

  @KAI-172b
  Scenario: The second failed attempt is counted as well
    Given node "n1"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "never-was" is created with:
      """
      backoffLimit: 2
      """
    Then BindRequest "plain" fails with a reason
    # The change causes an attempt, unless a retry came first; either is the second.
    When "metadata.annotations" of the BindRequest "plain" is set to {touched: "yes"}
    Then BindRequest "plain" counts 2 failed attempts

  @KAI-175 @needs:virtual-clock
  Scenario: Every attempt is counted, and the waits between attempts grow
    Given node "n1"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "never-was" is created with:
      """
      backoffLimit: 9
      """
    Then the failed attempts of BindRequest "plain" are counted after 0, 1, 3, 7 seconds

  @KAI-173
  Scenario: With a backoffLimit of zero attempts are not counted
    Given node "n1"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "never-was" is created with:
      """
      backoffLimit: 0
      """
    Then BindRequest "plain" fails with a reason
    And BindRequest "plain" counts 0 failed attempts

  @KAI-178 @KAI-184
  Scenario: A retry succeeds once the cause is fixed
    Given a pod "plain" without claims
    And a BindRequest "plain" of pod "plain" to "n1"
    Then BindRequest "plain" fails with a reason [KAI-178]
    Given node "n1"
    When the binder is started again
    Then pod "plain" is bound to "n1" [KAI-184]
    And the BindRequest "plain" has "status.phase" Succeeded [KAI-178]

  @KAI-178b
  Scenario: The reason of a failure does not stay when a retry succeeds
    Given node "n1"
    And a pod "plain" without claims
    And a pod "lost" without claims
    And a BindRequest "lost" of pod "lost" to "never-was"
    And a BindRequest "plain" of pod "plain" to "never-was"
    Then BindRequest "plain" fails with a reason
    And BindRequest "lost" fails with a reason
    When "spec.selectedNode" of the BindRequest "plain" is set to $(node:n1)
    Then pod "plain" is bound to "n1"
    And BindRequest "plain" succeeds without the reason of its failure
    And BindRequest "lost" fails with a reason

  @KAI-177
  Scenario Outline: A pod that stays unbound is not reported as bound (<retries>)
    Given node "n1"
    And a pod "plain" without claims
    And a BindRequest "plain" of pod "plain" to "never-was" with:
      """
      backoffLimit: <limit>
      """
    Then BindRequest "plain" fails with a reason
    When "metadata.annotations" of the BindRequest "plain" is set to {touched: "yes"}
    Then the Pod "plain" keeps "status.conditions[type=PodBound][0].status" other than "True"
    And pod "plain" gets no event "Bound"

    Examples:
      | retries                      | limit |
      | without retries              | null  |
      | with a retry after a failure | 1     |

  @KAI-182 @needs:faults
  Scenario Outline: Writing the phase is retried after <code>
    Given node "n1"
    And a pod "plain" without claims
    And the API server answers <code> to the next 2 status updates of BindRequest
    When a BindRequest "plain" of pod "plain" to "n1" is created
    Then pod "plain" is bound to "n1"
    And the BindRequest "plain" has "status.phase" Succeeded

    Examples:
      | code |
      | 409  |
      | 500  |

  @KAI-182b @needs:faults
  Scenario: A phase that could not be written is written when the BindRequest changes
    Given node "n1"
    And a pod "plain" without claims
    And the API server answers 500 to the next 1 status updates of BindRequest
    When a BindRequest "plain" of pod "plain" to "n1" is created
    And every fault has affected a request
    And "metadata.annotations" of the BindRequest "plain" is set to {touched: "yes"}
    Then the BindRequest "plain" has "status.phase" Succeeded
    And pod "plain" is bound to "n1"

  @KAI-183 @needs:faults
  Scenario: A pod is not bound without its annotations
    Given node "n1"
    And a pod "plain" without claims
    And the API server answers 500 to the next 100 updates of Pod
    When a BindRequest "plain" of pod "plain" to "n1" is created
    Then BindRequest "plain" fails, or succeeds with annotation "received-resource-type" on pod "plain"
