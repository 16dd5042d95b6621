@profile:bind-requests @component:binder @needs:kai
Feature: The binder writes claims
  What the scheduler promised in a BindRequest becomes real in the status of the claim: the allocation as it stands in
  the entry, and a reservation for this very pod.

  @KAI-107
  Scenario: A named claim
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim" as "mine"
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-1" is created
    Then claim "claim" holds the allocation that BindRequest "train" gives "mine"
    And claim "claim" is reserved for pod "train"
    And claim "claim" is reserved once for each of the pods "train" and for no other

  @KAI-107
  Scenario: Configuration arrives in the claim
    Given node "n1" with 1 devices
    And the objects of the manifest "bind_requests/configured"
    And a pod "train" using claim "configured"
    And the objects of the manifest "bind_requests/configured-request"
    Then claim "configured" holds the allocation that BindRequest "configured-request" gives "configured"
    And pod "train" is bound to "n1"

  @KAI-108 @component:claim-controller
  Scenario: A claim from a template
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one"
    And the claim of pod "train" called "gpu" is known as "generated"
    When a BindRequest "train" of pod "train" to "n1" giving claim "gpu" the devices "dev-1" is created
    Then the claim known as "generated" holds the devices "dev-1" and is reserved for pod "train"
    And pod "train" is bound to "n1"

  @KAI-114
  Scenario: Several claims of one pod
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "a" for 1 of "accelerator"
    And a ResourceClaim "b" for 2 of "accelerator"
    And a pod "train" using claims "a, b"
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

  @KAI-111
  Scenario: A second consumer joins the first
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    And a pod "second" using claim "shared"
    And a BindRequest "first" of pod "first" to "n1" giving claim "shared" the devices "dev-0"
    Then pod "first" is bound to "n1"
    When a BindRequest "second" of pod "second" to "n1" giving claim "shared" the devices "dev-0" is created
    Then pod "second" is bound to "n1"
    And claim "shared" is reserved once for each of the pods "first, second" and for no other

  @KAI-112
  Scenario: A pod is not reserved for twice
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "train" using claim "claim"
    And claim "claim" is reserved by hand for pod "train"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-0" is created
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved once for each of the pods "train" and for no other

  @KAI-120
  Scenario: One claim under two names
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
    And claim "claim" is reserved once for each of the pods "train" and for no other

  @KAI-113
  Scenario: A claim that has devices keeps them
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-0" of "n1"
    And a pod "train" using claim "claim"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then claim "claim" keeps the devices "dev-0"

  @KAI-116
  Scenario: Entries for a pod without claims mean nothing
    Given node "n1" with 2 devices
    And a pod "plain" without claims
    When a BindRequest "plain" of pod "plain" to "n1" giving claim "none" the devices "dev-1" is created
    Then pod "plain" is bound to "n1"
    And BindRequest "plain" comes to phase Succeeded

  @KAI-161
  Scenario Outline: A binder that died half-way is taken up from there (<state>)
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1"
    And claim "claim" holds the devices "dev-1" of "n1"
    And claim "claim" <state> for pod "train"
    When the binder is started
    Then pod "train" is bound to "n1"
    And claim "claim" is allocated the devices "dev-1"
    And claim "claim" is reserved once for each of the pods "train" and for no other
    And BindRequest "train" comes to phase Succeeded

    Examples:
      | state               |
      | is not reserved yet |
      | is reserved by hand |

  @KAI-109 @needs:faults
  Scenario: No pod is bound before its claims are written
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the API server answers 403 to the next 100 status updates of ResourceClaim
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "train" stays unbound

  @KAI-157 @needs:faults
  Scenario: A claim that may not be written makes the BindRequest fail
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the API server answers 403 to the next 100 status updates of ResourceClaim
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason

  @KAI-154 @needs:faults
  Scenario: Other writers of a claim are borne with
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the API server answers 409 to the next 3 status updates of ResourceClaim
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved for pod "train"
    And BindRequest "train" comes to phase Succeeded

  @KAI-155 @needs:faults
  Scenario: A claim that is never free ends in a failure, not in waiting
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the API server answers 409 to the next 100000 status updates of ResourceClaim
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound

  @KAI-156 @needs:faults
  Scenario: Nobody's reservation is lost to a conflict
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-1" of "n1"
    And a pod "rival" using claim "claim"
    And a pod "train" using claim "claim"
    And pod "rival" gets into claim "claim" while the binder writes it
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved once for each of the pods "rival, train" and for no other
