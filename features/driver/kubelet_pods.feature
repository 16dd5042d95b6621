@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet prepares claims for pods
  Judged with a scripted driver: what the kubelet asks of it, and what becomes of the pod.

  Background:
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"

  @DRA-263
  Scenario: All claims of a driver come in one call
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" is asked to prepare "a, b" in one call
    And pod "train" comes to phase Running
    And the scripted driver "sim" has had 1 Prepare calls

  @DRA-264
  Scenario: A claim that no container uses is prepared too
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" whose containers do not use its reserved claim "a"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" is asked to prepare "a" in one call

  @DRA-265 @needs:virtual-clock
  Scenario Outline: A pod waits while its driver <behaviour>
    Given the scripted driver "sim" <behaviour>
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "scripted failure"
    And the scripted driver "sim" is asked to prepare "a" again
    And pod "train" does not run
    When the scripted driver "sim" comes to behave: works
    And 30 seconds pass
    Then pod "train" comes to phase Running

    Examples:
      | behaviour         |
      | fails every call  |
      | fails every claim |

  @DRA-266
  Scenario: A claim that the answer leaves out counts as failed
    Given the scripted driver "sim" forgets "b"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "skipped 1"
    And pod "train" does not run

  @DRA-267
  Scenario: An answer for a claim that nobody asked for is an error
    Given the scripted driver "sim" answers for a claim that nobody asked for
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "unknown claim UID"
    And pod "train" does not run

  @DRA-268 @needs:virtual-clock
  Scenario: A driver has 45 seconds to answer
    Given the scripted driver "sim" does not answer
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" is asked to prepare "a" in one call
    When 40 seconds pass
    Then the scripted driver "sim" has had 1 Prepare calls
    When 10 seconds pass
    Then the scripted driver "sim" is asked to prepare "a" again
    And pod "train" does not run
    When the scripted driver "sim" comes to behave: works
    Then pod "train" comes to phase Running

  @DRA-269 @DRA-275
  Scenario: A claim of two pods is prepared for the first and unprepared after the last
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a"
    And a pod "second" with the reserved claims "a"
    When pod "first" is bound by hand to "n1"
    Then pod "first" comes to phase Running [DRA-269]
    When pod "second" is bound by hand to "n1"
    Then pod "second" comes to phase Running [DRA-269]
    And the scripted driver "sim" has had 1 Prepare calls [DRA-269]
    When pod "first" is deleted
    Then the Pod "first" is gone [DRA-275]
    And the scripted driver "sim" has had 0 Unprepare calls [DRA-275]
    When pod "second" is deleted
    Then the scripted driver "sim" is asked to unprepare "a" [DRA-275]
    And the Pod "second" is gone [DRA-275]
    And the scripted driver "sim" has had 1 Unprepare calls [DRA-275]

  @DRA-271
  Scenario: A container gets the devices of the requests that it names
    Given a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And a pod "train" whose container "one" uses request "small" of the reserved claim "a"
    When pod "train" is bound by hand to "n1"
    Then container "one" of pod "train" on "n1" gets the requests "small" of claim "a" only
    And container "all" of pod "train" on "n1" gets the requests "big, small" of claim "a" only

  @DRA-271c
  Scenario: A container has what the CDI specification of its device says
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then container "main" of pod "train" on "n1" has variable, device node and mount of claim "a"

  @DRA-272
  Scenario: A device without request names belongs to every request
    Given the scripted driver "sim" names no request for "a"
    And a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And a pod "train" whose container "one" uses request "small" of the reserved claim "a"
    When pod "train" is bound by hand to "n1"
    Then container "one" of pod "train" on "n1" gets the requests "big, small" of claim "a" only

  @DRA-274
  Scenario: A pod for which the claim is not reserved is refused
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "thief" using claim "a"
    When pod "thief" is bound by hand to "n1"
    Then an event of pod "thief" says "is not allowed to use"
    And the scripted driver "sim" has had 0 Prepare calls

  @DRA-276 @needs:virtual-clock
  Scenario: A pod does not end before Unprepare succeeded
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" comes to phase Running
    When the scripted driver "sim" comes to behave: fails to unprepare
    And pod "train" is deleted
    Then the scripted driver "sim" is asked to unprepare "a"
    And pod "train" still exists
    When the scripted driver "sim" comes to behave: works
    And 30 seconds pass
    Then the Pod "train" is gone

  @DRA-277 @needs:virtual-clock
  Scenario: The claims of a pod that vanished are unprepared
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" comes to phase Running
    When pod "train" is force-deleted
    And 60 seconds pass
    Then the scripted driver "sim" is asked to unprepare "a"

  @DRA-278 @needs:virtual-clock
  Scenario: A claim of the same name waits until the old one is unprepared
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "old" with the reserved claims "a"
    When pod "old" is bound by hand to "n1"
    Then pod "old" comes to phase Running
    When the scripted driver "sim" comes to behave: fails to unprepare
    And pod "old" is force-deleted
    And the claim "a" is replaced by one of the same name for the scripted driver "sim" on "n1"
    And a pod "new" with the reserved claims "a" starts on "n1"
    Then an event of pod "new" says "different UID"
    And pod "new" does not run
    When the scripted driver "sim" comes to behave: works
    And 70 seconds pass
    And 30 seconds pass
    Then pod "new" comes to phase Running

  @DRA-280 @needs:virtual-clock
  Scenario: A restarted kubelet unprepares what its checkpoint holds
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" comes to phase Running
    When the kubelet of "n1" stops
    And pod "train" is force-deleted
    And the kubelet of "n1" starts
    And 60 seconds pass
    Then the scripted driver "sim" is asked to unprepare "a"

  @DRA-270
  Scenario: A rebooted node prepares its pods again
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" comes to phase Running
    When the node "n1" reboots
    Then the scripted driver "sim" is asked to prepare "a" again
    And pod "train" comes to phase Running
