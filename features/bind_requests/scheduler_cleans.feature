@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai
Feature: The scheduler looks after BindRequests that came to nothing
  The binder judges a BindRequest and never deletes it. A scheduler that does not clean up leaves its pod waiting for
  ever; one that cleans up too much binds a pod twice.

  @KAI-070
  Scenario: A failed BindRequest is replaced
    Given node "n1"
    And a pod "plain" without claims
    When the BindRequest of pod "plain" is Failed by hand
    Then pod "plain" gets another BindRequest

  @KAI-071 @KAI-077
  Scenario: A BindRequest with attempts left is the binder's
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a BindRequest "other-name" of pod "plain" to "n1" with:
      """
      backoffLimit: 3
      """
    When the scheduler is started
    Then pod "plain" gets exactly one BindRequest [KAI-077]
    When BindRequest "other-name" is Failed by hand after 2 attempts
    Then the BindRequest "other-name" still exists [KAI-071]
    And pod "plain" gets exactly one BindRequest [KAI-071]

  @KAI-072
  Scenario: Once all attempts are used up, the BindRequest goes
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a BindRequest "other-name" of pod "plain" to "n1" with:
      """
      backoffLimit: 3
      """
    When the scheduler is started
    And BindRequest "other-name" is Failed by hand after 3 attempts
    Then the BindRequest "other-name" is gone
    And pod "plain" gets exactly one BindRequest

  @KAI-073
  Scenario Outline: A BindRequest to a node that is no more goes, whatever the binder said (<phase>)
    Given the scheduler is stopped
    And node "n1"
    And a pod "plain" without claims
    And a BindRequest "stale" of pod "plain" to "never-was"
    And BindRequest "stale" is <phase> by hand
    When the scheduler is started
    Then the BindRequest "stale" is gone
    And pod "plain" gets a BindRequest to "n1"

    Examples:
      | phase     |
      | Failed    |
      | Succeeded |

  @KAI-075
  Scenario: A BindRequest that succeeded is kept
    Given node "n1"
    And a pod "plain" without claims
    When the BindRequest of pod "plain" is Succeeded by hand
    Then pod "plain" gets exactly one BindRequest
    And the BindRequest of pod "plain" has "status.phase" Succeeded

  @KAI-076
  Scenario: A pod takes its place from the moment of its BindRequest
    Given node "n1" with 1 GPUs of a device plugin
    And a pod "first" with 1 GPUs of a device plugin
    Then pod "first" gets a BindRequest to "n1"
    Given a pod "second" with 1 GPUs of a device plugin
    Then pod "second" gets no BindRequest
