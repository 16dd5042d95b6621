@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet prepares claims for pods
  A scripted driver records the calls of the kubelet, and the scenarios check what happens to the pod.

  Background:
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"

  @DRA-263
  Scenario: All claims of a driver are prepared in one call
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a, b"
    And pod "train" reaches phase Running
    And the scripted driver "sim" has received 1 Prepare calls

  @DRA-264
  Scenario: A claim that no container uses is prepared too
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a" and the containers:
      | name | claims |
      | main |        |
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a"

  @DRA-265 @DRA-275 @needs:virtual-clock
  Scenario Outline: A pod waits while its driver <behaviour>, and can be deleted
    Given the scripted driver "sim" <behaviour>
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "deleted" with the reserved claims "b"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "scripted failure" [DRA-265]
    And the scripted driver "sim" receives another Prepare call for "a" [DRA-265]
    And pod "train" does not run [DRA-265]
    When pod "deleted" is bound by hand to "n1"
    Then an event of pod "deleted" says "scripted failure" [DRA-265]
    When pod "deleted" is deleted
    Then the Pod "deleted" is gone [DRA-275]
    And the scripted driver "sim" receives one Unprepare call for "b" [DRA-275]
    When the scripted driver "sim" works
    And 30 seconds pass
    Then pod "train" reaches phase Running [DRA-265]
    And every Unprepare call of the scripted driver "sim" is for "b" [DRA-275]

    Examples:
      | behaviour         |
      | fails every call  |
      | fails every claim |

  @DRA-266
  Scenario: A claim that is missing in the response counts as failed
    Given the scripted driver "sim" omits "b"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "skipped 1"
    And pod "train" does not run

  @DRA-267
  Scenario: A response with an unknown claim is an error
    Given the scripted driver "sim" adds an unknown claim to its responses
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "unknown claim UID"
    And pod "train" does not run

  @DRA-268 @needs:virtual-clock
  Scenario: Prepare times out after 45 seconds
    Given the scripted driver "sim" does not respond
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a"
    When 40 seconds pass
    Then the scripted driver "sim" has received 1 Prepare calls
    When 10 seconds pass
    Then the scripted driver "sim" receives another Prepare call for "a"
    And pod "train" does not run
    When the scripted driver "sim" works
    Then pod "train" reaches phase Running

  @DRA-269 @DRA-275
  Scenario: A claim of two pods is prepared for the first and unprepared after the last
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a"
    And a pod "second" with the reserved claims "a"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running [DRA-269]
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running [DRA-269]
    And the scripted driver "sim" has received 1 Prepare calls [DRA-269]
    When pod "first" is deleted
    Then the Pod "first" is gone [DRA-275]
    And the scripted driver "sim" has received 0 Unprepare calls [DRA-275]
    When pod "second" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a" [DRA-275]
    And the Pod "second" is gone [DRA-275]
    And the scripted driver "sim" has received 1 Unprepare calls [DRA-275]

  @DRA-271
  Scenario: A container gets the devices of the requests that it names
    Given a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a" and the containers:
      | name | claims  |
      | one  | a/small |
      | all  | a       |
    When pod "train" is bound by hand to "n1"
    Then of the variables "DEVICE_A_*", container "one" of pod "train" on "n1" has only "DEVICE_A_SMALL"
    And of the variables "DEVICE_A_*", container "all" of pod "train" on "n1" has only "DEVICE_A_BIG, DEVICE_A_SMALL"

  @DRA-271c
  Scenario: A container has the variables, device nodes and mounts of its CDI device
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then container "main" of pod "train" on "n1" has:
      | kind        | name            | value         |
      | variable    | DEVICE_A_GPU    | yes           |
      | device node | /dev/a-gpu      | like '.*rw.*' |
      | mount       | /scripted/a-gpu | like '.*/cdi' |

  @DRA-272
  Scenario: A device without request names belongs to every request
    Given the scripted driver "sim" names no request for "a"
    And a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a" and the containers:
      | name | claims  |
      | one  | a/small |
      | all  | a       |
    When pod "train" is bound by hand to "n1"
    Then of the variables "DEVICE_A_*", container "one" of pod "train" on "n1" has only "DEVICE_A_BIG, DEVICE_A_SMALL"

  @DRA-274
  Scenario: A pod for which the claim is not reserved is refused
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "thief" using claim "a"
    When pod "thief" is bound by hand to "n1"
    Then an event of pod "thief" says "is not allowed to use"
    And the scripted driver "sim" has received 0 Prepare calls

  @DRA-276 @needs:virtual-clock
  Scenario: A pod does not end before Unprepare succeeded
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "beside" with the reserved claims "a"
    And a pod "train" with the reserved claims "a, b"
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted driver "sim" fails every claim in Unprepare
    And pod "train" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "b"
    And the Pod "train" keeps "metadata.name" train
    When the scripted driver "sim" works
    And 30 seconds pass
    Then the Pod "train" is gone

  @DRA-277 @needs:virtual-clock
  Scenario: The claims of a force-deleted pod are unprepared
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When pod "train" is force-deleted
    And 60 seconds pass
    Then the scripted driver "sim" receives one Unprepare call for "a"

  @DRA-278 @needs:virtual-clock
  Scenario: A new claim of the same name is not prepared before the old one is unprepared
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "old" with the reserved claims "a"
    When pod "old" is bound by hand to "n1"
    Then pod "old" reaches phase Running
    When the scripted driver "sim" fails every claim in Unprepare
    And pod "old" is force-deleted
    And the claim "a" is deleted although it is in use
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "new" with the reserved claims "a"
    When pod "new" is bound by hand to "n1"
    Then an event of pod "new" says "different UID"
    And pod "new" does not run
    When the scripted driver "sim" works
    And 70 seconds pass
    And 30 seconds pass
    Then pod "new" reaches phase Running

  @DRA-280 @needs:virtual-clock
  Scenario: A restarted kubelet unprepares the claims of deleted pods
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "late" with the reserved claims "b"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted driver "sim" does not respond
    And pod "late" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "b"
    # The driver may have prepared the claim without the kubelet's having received the response.
    When the kubelet of "n1" is stopped
    And the scripted driver "sim" works
    And pod "train" is force-deleted
    And pod "late" is force-deleted
    And the kubelet of "n1" is started
    And 60 seconds pass
    Then the scripted driver "sim" receives one Unprepare call for "a"
    And the scripted driver "sim" receives one Unprepare call for "b"

  @DRA-280c @needs:virtual-clock
  Scenario: A pod that is bound while its kubelet is stopped starts with the kubelet
    Given a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a pod "before" with the reserved claims "a"
    And a pod "train" with the reserved claims "a, b"
    When pod "before" is bound by hand to "n1"
    Then pod "before" reaches phase Running
    When the kubelet of "n1" is stopped
    And pod "train" is bound by hand to "n1"
    And the kubelet of "n1" is started
    And 60 seconds pass
    Then pod "train" reaches phase Running
    And pod "before" reaches phase Running
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_GPU, DEVICE_B_BIG, DEVICE_B_SMALL"
    And the scripted driver "other" has received in this order: Prepare b

  @DRA-280d @needs:virtual-clock
  Scenario: The claims of a pod that was deleted while its kubelet was stopped are not prepared
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "c" allocated to the scripted driver "sim" on "n1"
    And a pod "started" with the reserved claims "a"
    And a pod "train" with the reserved claims "b"
    And a pod "kept" with the reserved claims "c"
    And the scripted driver "sim" does not respond
    When pod "started" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a"
    When the kubelet of "n1" is stopped
    And pod "train" is bound by hand to "n1"
    And pod "kept" is bound by hand to "n1"
    And pod "started" is deleted
    And pod "train" is deleted
    And the scripted driver "sim" works
    And the kubelet of "n1" is started
    And 60 seconds pass
    Then pod "kept" reaches phase Running
    And the Pod "started" is gone
    And the Pod "train" is gone
    # The driver may have prepared the claim of the call that was interrupted.
    And the scripted driver "sim" receives one Prepare call for "c"
    And the scripted driver "sim" has received 2 Prepare calls
    And every Unprepare call of the scripted driver "sim" is for "a"

  @DRA-280e @needs:virtual-clock
  Scenario Outline: A restarted kubelet prepares the claim of a pod again for which a driver <behaviour>
    Given a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a pod "train" with the reserved claims "a"
    And the scripted driver "<slow>" <behaviour>
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "<slow>" receives one Prepare call for "a"
    And pod "train" does not run
    When the kubelet of "n1" is restarted
    And the scripted driver "<slow>" works
    And 60 seconds pass
    Then pod "train" reaches phase Running
    And the scripted driver "<slow>" receives another Prepare call for "a"
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_BIG, DEVICE_A_SMALL"
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" has received 1 Unprepare calls
    And the scripted driver "other" has received 1 Unprepare calls

    Examples:
      | slow  | behaviour        |
      | sim   | does not respond |
      | other | does not respond |
      | sim   | fails every call |

  @DRA-280e @needs:virtual-clock
  Scenario Outline: A restarted kubelet unprepares the claim of a pod again for which a driver <behaviour>
    Given a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted driver "<slow>" <behaviour> in Unprepare
    And pod "train" is deleted
    Then the scripted driver "<slow>" receives one Unprepare call for "a"
    And the Pod "train" keeps "metadata.name" train
    When the kubelet of "n1" is restarted
    And the scripted driver "<slow>" works
    And 60 seconds pass
    Then the Pod "train" is gone
    And the scripted driver "<slow>" receives another Unprepare call for "a"
    And the scripted driver "sim" has received 1 Prepare calls

    Examples:
      | slow  | behaviour        |
      | sim   | does not respond |
      | other | does not respond |
      | other | fails every call |

  @DRA-270
  Scenario: The claims of pods are prepared again after a reboot
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the kubelet of "n1" is rebooted
    Then the scripted driver "sim" receives another Prepare call for "a"
    And pod "train" reaches phase Running
