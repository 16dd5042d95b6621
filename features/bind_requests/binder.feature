@profile:bind-requests @component:binder @needs:kai
Feature: The binder processes BindRequests
  The binder trusts the scheduler: it updates the claims, binds the pod, and then reports the phase.

  @KAI-100 @KAI-101 @KAI-103
  Scenario: A pod without claims is bound
    Given node "n1"
    And node "n2"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "n2" is created
    Then pod "plain" is bound to "n2" [KAI-100]
    And the BindRequest "plain" has "status.phase" Succeeded [KAI-100]
    And the Pod "plain" has "metadata.annotations['received-resource-type']" Regular [KAI-101]
    And the Pod "plain" has condition PodBound True with reason "Bound" [KAI-103]
    And the Pod "plain" has: [KAI-103]
      | field                                                  | value                 |
      | status.conditions[type=PodBound][0].message            | containing $(node:n2) |
      | status.conditions[type=PodBound][0].lastTransitionTime | the present time      |
    And pod "plain" gets a Normal event "Bound" that contains "$(node:n2)" [KAI-103]

  @KAI-186
  Scenario: A BindRequest that succeeded is kept
    Given node "n1"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "n1" is created
    Then the BindRequest "plain" keeps "status.phase" Succeeded

  @KAI-101
  Scenario: The resource type becomes an annotation of the pod
    Given node "n1"
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "n1" is created with:
      """
      receivedResourceType: MigInstance
      """
    Then the Pod "plain" has "metadata.annotations['received-resource-type']" MigInstance

  @KAI-102
  Scenario: Predicted NUMA zones become an annotation of the pod
    Given node "n1"
    And a pod "plain" without claims
    And a pod "without" without claims
    When a BindRequest "plain" of pod "plain" to "n1" is created with:
      """
      predictedNUMAZones: [{zone: "0", amount: {cpu: "2"}}]
      """
    And a BindRequest "without" of pod "without" to "n1" is created
    Then the Pod "plain" has:
      | field                                                          | value                                     |
      | metadata.annotations['kai.scheduler/numa-placement-predicted'] | as JSON [{zone: "0", amount: {cpu: "2"}}] |
    And pod "without" is bound to "n1"
    And the Pod "without" has "metadata.annotations['kai.scheduler/numa-placement-predicted']" null

  @KAI-104 @KAI-105 @KAI-187
  Scenario: The BindRequest's spec selects the pod, not its name or the pod's scheduler
    Given node "n1"
    And a pod "foreign" of scheduler "other-scheduler" without claims
    And a pod "named" without claims
    And a pod "unnamed" without claims
    And a BindRequest "foreign" of pod "foreign" to "n1"
    And a BindRequest "unnamed" of pod "named" to "n1"
    Then pod "foreign" is bound to "n1" [KAI-104]
    And pod "named" is bound to "n1" [KAI-105]
    And pod "unnamed" stays unbound [KAI-105]
    And no component has created a BindRequest [KAI-187]

  @KAI-106
  Scenario: A BindRequest that fails does not delay others
    Given node "n1"
    And a pod "lost" without claims
    And a pod "one" without claims
    And a pod "two" without claims
    And a BindRequest "lost" of pod "lost" to "never-was"
    And a BindRequest "one" of pod "one" to "n1"
    And a BindRequest "two" of pod "two" to "n1"
    Then pod "one" is bound to "n1"
    And pod "two" is bound to "n1"
    And the BindRequest "one" has "status.phase" Succeeded
    And the BindRequest "two" has "status.phase" Succeeded

  @KAI-106 @needs:faults
  Scenario: A device whose claim could not be written is given to another pod
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "refused" using claim "one"
    And a pod "train" using claim "two"
    And the API server answers 403 to the next 100 status updates of the ResourceClaim "one"
    When a BindRequest "refused" of pod "refused" to "n1" giving claim "one" the devices "dev-0" is created
    Then BindRequest "refused" fails with a reason
    When a BindRequest "train" of pod "train" to "n1" giving claim "two" the devices "dev-0" is created
    Then pod "train" is bound to "n1"
    And claim "two" is allocated the devices "dev-0"
    And pod "refused" stays unbound

  @KAI-130 @KAI-131 @KAI-138
  Scenario: A pod that is already bound stays on its node
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "here" using claim "claim"
    And pod "here" is bound by hand to "n1"
    And the ResourceClaim "claim" is remembered
    And a BindRequest "same" of pod "here" to "n1" giving claim "claim" the devices "dev-0"
    And a BindRequest "other" of pod "here" to "n2" giving claim "claim" the devices "dev-1"
    Then the BindRequest "same" has "status.phase" Succeeded [KAI-130]
    And the BindRequest "other" has "status.phase" Succeeded [KAI-131]
    And the Pod "here" keeps "spec.nodeName" $(node:n1) [KAI-131, KAI-138]
    And the ResourceClaim "claim" is unchanged [KAI-130]

  @KAI-138
  Scenario: Two BindRequests for one pod bind it once
    Given node "n1"
    And node "n2"
    And a pod "wanted" without claims
    And a BindRequest "first" of pod "wanted" to "n1"
    And a BindRequest "second" of pod "wanted" to "n2"
    Then the BindRequest "first" has "status.phase" Succeeded
    And the BindRequest "second" has "status.phase" Succeeded
    And pod "wanted" is bound

  @KAI-117 @KAI-179
  Scenario: A BindRequest that succeeded is not processed again
    Given node "n1"
    And a pod "plain" without claims
    And a BindRequest "plain" of pod "plain" to "n1"
    And "metadata.ownerReferences" of the BindRequest "plain" is set to null
    Then the BindRequest "plain" has "status.phase" Succeeded [KAI-179]
    When pod "plain" is force-deleted
    Given a pod "plain" without claims
    When "metadata.annotations" of the BindRequest "plain" is set to {touched: "yes"}
    Then pod "plain" stays unbound [KAI-117]
    And the BindRequest "plain" keeps "status.phase" Succeeded [KAI-179]
    When the binder is started again
    Then pod "plain" stays unbound [KAI-117]

  @KAI-100 @KAI-135
  Scenario: A BindRequest that is being deleted is not processed
    Given the binder is stopped
    And node "n1"
    And a pod "plain" without claims
    And a pod "other" without claims
    And a BindRequest "going" of pod "plain" to "n1"
    And the BindRequest "going" is being deleted
    And a BindRequest "staying" of pod "other" to "n1"
    When the binder is started
    Then pod "other" is bound to "n1" [KAI-100]
    And pod "plain" stays unbound [KAI-135]
    And the BindRequest "going" keeps "status.phase" null [KAI-135]

  @KAI-100 @KAI-136 @needs:virtual-clock
  Scenario: A BindRequest that is deleted between two attempts is not processed any more
    Given a pod "plain" without claims
    And a pod "other" without claims
    And a BindRequest "plain" of pod "plain" to "n1" with:
      """
      backoffLimit: 20
      """
    Then BindRequest "plain" fails with a reason [KAI-136]
    When the BindRequest "plain" is deleted
    # An attempt that has begun may continue. It must end before the node exists.
    And 2 seconds pass
    Given node "n1"
    When 10 seconds pass
    And a BindRequest "other" of pod "other" to "n1" is created
    Then pod "other" is bound to "n1" [KAI-100]
    And pod "plain" stays unbound [KAI-136]

  @KAI-184
  Scenario: BindRequests that are created while the binder is stopped are processed later
    Given the binder is stopped
    And node "n1"
    And a pod "plain" without claims
    And a BindRequest "plain" of pod "plain" to "n1"
    When the binder is started
    Then pod "plain" is bound to "n1"
    And the BindRequest "plain" has "status.phase" Succeeded

  @KAI-202 @KAI-177
  Scenario: A BindRequest for a fractional GPU without a group is deleted
    Given node "n1"
    And a pod "sharing" without claims
    When a BindRequest "sharing" of pod "sharing" to "n1" is created with:
      """
      receivedResourceType: Fraction
      receivedGPU: {count: 1, portion: "0.50"}
      """
    Then the BindRequest "sharing" is gone [KAI-202]
    And pod "sharing" stays unbound [KAI-202]
    And the Pod "sharing" keeps "status.conditions[type=PodBound][0].status" other than "True" [KAI-177]
    And pod "sharing" gets no event "Bound" [KAI-177]
