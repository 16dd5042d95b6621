@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai
Feature: The scheduler cleans up failed BindRequests
  The binder sets the phase of a BindRequest and never deletes it. If the scheduler does not delete a failed BindRequest,
  its pod waits forever; if it deletes any other BindRequest, a pod can be bound twice.

  @KAI-070 @needs:no-binder
  Scenario: A failed BindRequest is replaced
    Given node "n1"
    And a pod "plain" without claims
    When "status" of the BindRequest of pod "plain" is set to {phase: Failed, reason: by hand}
    Then the BindRequest of pod "plain" is replaced

  @KAI-070 @needs:faults
  Scenario: A BindRequest that fails before the answer to its creation arrives is replaced
    Given node "n1"
    And the BindRequest of pod "plain" fails before the scheduler has the answer to its creation
    And a pod "plain" without claims
    When the BindRequest of pod "plain" has failed
    Then the BindRequest of pod "plain" is replaced

  @KAI-070
  Scenario: All failed BindRequests of a pod are deleted, and those of other pods are kept
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a pod "other" without claims
    And a BindRequest "first" of pod "plain" to "n1"
    And a BindRequest "second" of pod "plain" to "n1"
    And a BindRequest "kept" of pod "other" to "n1"
    And "status" of the BindRequest "first" is set to {phase: Failed, reason: by hand}
    And "status" of the BindRequest "second" is set to {phase: Failed, reason: by hand}
    When the scheduler is started
    Then the BindRequest "first" is gone
    And the BindRequest "second" is gone
    And pod "plain" gets exactly one BindRequest
    And the BindRequest "kept" still exists

  @KAI-010 @KAI-071 @KAI-072 @KAI-077
  Scenario: A BindRequest with attempts left is kept
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a pod "other" without claims
    And a pod "new" without claims
    And a BindRequest "other-name" of pod "plain" to "n1" with:
      """
      backoffLimit: 3
      """
    And a BindRequest "spent" of pod "other" to "n1" with:
      """
      backoffLimit: 2
      """
    When the scheduler is started
    Then pod "new" gets exactly one BindRequest [KAI-010]
    And pod "plain" gets exactly one BindRequest [KAI-077]
    When "status" of the BindRequest "other-name" is set to {phase: Failed, reason: by hand, failedAttempts: 2}
    And "status" of the BindRequest "spent" is set to {phase: Failed, reason: by hand, failedAttempts: 2}
    # The scheduler has observed the earlier change.
    Then the BindRequest "spent" is gone [KAI-072]
    And the BindRequest "other-name" still exists [KAI-071]
    And pod "plain" gets exactly one BindRequest [KAI-071]

  @KAI-072
  Scenario: A BindRequest without attempts left is replaced
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a BindRequest "other-name" of pod "plain" to "n1" with:
      """
      backoffLimit: 3
      """
    When the scheduler is started
    And "status" of the BindRequest "other-name" is set to {phase: Failed, reason: by hand, failedAttempts: 3}
    Then the BindRequest "other-name" is gone
    And pod "plain" gets exactly one BindRequest

  @KAI-073
  Scenario Outline: A BindRequest to a missing node is replaced (<phase>)
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a BindRequest "stale" of pod "plain" to "never-was"
    And "status" of the BindRequest "stale" is set to {phase: <phase>, reason: by hand}
    When the scheduler is started
    Then the BindRequest "stale" is gone
    And the BindRequest of pod "plain" has "spec.selectedNode" $(node:n1)

    Examples:
      | phase     |
      | Failed    |
      | Succeeded |

  @KAI-073
  Scenario: A BindRequest whose node is removed is replaced
    Given the scheduler is stopped
    And node "n1"
    And node "n2"
    And a pod "plain" without claims
    And a pod "second" without claims
    And a pod "other" without claims
    And a BindRequest "lost" of pod "plain" to "n1"
    And a BindRequest "lost-too" of pod "second" to "n1"
    When the scheduler is started
    Then pod "other" gets exactly one BindRequest
    When the Node "n1" is deleted
    Then the BindRequest "lost" is gone
    And the BindRequest "lost-too" is gone
    And the BindRequest of pod "plain" has "spec.selectedNode" $(node:n2)
    And the BindRequest of pod "second" has "spec.selectedNode" $(node:n2)

  @KAI-457
  Scenario: A pod whose node is removed before it is bound gets devices of another node
    Given the scheduler is stopped
    And node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And a pod "other" without claims
    And a BindRequest "lost" of pod "train" to "n1" giving claim "claim" the devices "dev-1"
    When the scheduler is started
    Then pod "other" gets exactly one BindRequest
    When the Node "n1" is deleted
    Then the BindRequest "lost" is gone
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2)
    And the BindRequest of pod "train" gives claim "claim" 1 devices on its node

  @KAI-482 @needs:faults
  Scenario Outline: A BindRequest whose deletion is answered with <code> does not stop the scheduler
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a BindRequest "stale" of pod "plain" to "never-was"
    And the API server answers <code> to the next 100000 deletions of BindRequest
    When the scheduler is started
    And every fault has affected a request
    Given a pod "other" without claims
    Then pod "other" gets exactly one BindRequest

    Examples:
      | code |
      | 404  |
      | 500  |

  @KAI-075
  Scenario: A BindRequest that succeeded is kept
    Given node "n1"
    And a pod "plain" without claims
    When "status" of the BindRequest of pod "plain" is set to {phase: Succeeded}
    Then pod "plain" gets exactly one BindRequest
    And the BindRequest of pod "plain" has "status.phase" Succeeded

  @KAI-076
  Scenario: A BindRequest counts against the node's resources
    Given node "n1"
    And node "n1" has {nvidia.com/gpu: 1} of a device plugin
    And a pod "first" requesting {nvidia.com/gpu: 1}
    Then the BindRequest of pod "first" has "spec.selectedNode" $(node:n1)
    Given a pod "second" requesting {nvidia.com/gpu: 1}
    Then pod "second" gets no BindRequest

  @KAI-076
  Scenario: Pods of one name in two namespaces each count with their own requests
    Given node "n1"
    And node "n1" has {nvidia.com/gpu: 3} of a device plugin
    And a pod "twin" requesting {nvidia.com/gpu: 1}
    Then the BindRequest of pod "twin" has "spec.selectedNode" $(node:n1)
    Given a pod "twin" of another namespace requesting {nvidia.com/gpu: 2}
    Then pod "twin" of the other namespace gets a BindRequest
    Given a pod "late" requesting {nvidia.com/gpu: 1}
    Then pod "late" gets no BindRequest

  @KAI-076b
  Scenario: A pod that another component bound counts on its node, and not on that of its BindRequest
    Given the scheduler is stopped
    And node "n1"
    And node "n2"
    And node "n1" has {nvidia.com/gpu: 1} of a device plugin
    And node "n2" has {nvidia.com/gpu: 1} of a device plugin
    And a pod "first" requesting {nvidia.com/gpu: 1}
    And a BindRequest "first" of pod "first" to "n1"
    And pod "first" is bound by hand to "n2"
    When the scheduler is started
    And a pod "second" requesting {nvidia.com/gpu: 1} is created
    Then the BindRequest of pod "second" has "spec.selectedNode" $(node:n1)
    When a pod "third" requesting {nvidia.com/gpu: 1} is created
    Then pod "third" gets no BindRequest
