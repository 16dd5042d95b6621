@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet keeps claims of several pods and drivers apart
  Claims are shared by pods, spread over drivers, or refused. A claim is prepared before a pod uses it, and unprepared
  only when no pod uses it.

  Background:
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"

  @DRA-263 @DRA-271 @DRA-275
  Scenario: Each driver receives its claims, and a container the devices of all drivers
    Given a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
      | extra   | sim    |
    And a ResourceClaim "c" allocated to the scripted driver "other" on "n1"
    And a pod "train" with the reserved claims "a, b, c" and the containers:
      | name | claims               |
      | main | a, b, c              |
      | one  | a, b/small           |
      | two  | b/big, b/extra       |
      | none |                      |
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a, b" [DRA-263]
    And the scripted driver "other" receives one Prepare call for "b, c" [DRA-263]
    And the scripted driver "sim" has received 1 Prepare calls [DRA-263]
    And the scripted driver "other" has received 1 Prepare calls [DRA-263]
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_GPU, DEVICE_B_BIG, DEVICE_B_EXTRA, DEVICE_B_SMALL, DEVICE_C_GPU" [DRA-271]
    And of the variables "DEVICE_*", container "one" of pod "train" on "n1" has only "DEVICE_A_GPU, DEVICE_B_SMALL" [DRA-271]
    And of the variables "DEVICE_*", container "two" of pod "train" on "n1" has only "DEVICE_B_BIG, DEVICE_B_EXTRA" [DRA-271]
    And of the variables "DEVICE_*", container "none" of pod "train" on "n1" has only "" [DRA-271]
    When pod "train" is deleted
    Then the Pod "train" is gone [DRA-275]
    And the scripted driver "sim" has received in this order: Prepare a b, Unprepare a b [DRA-275]
    And the scripted driver "other" has received in this order: Prepare b c, Unprepare b c [DRA-275]

  @DRA-269 @DRA-275
  Scenario: Of the claims of two pods only those of one pod are unprepared with it
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "c" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a, b"
    And a pod "second" with the reserved claims "b, c"
    And a pod "third" with the reserved claims "b"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running [DRA-269]
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running [DRA-269]
    And the scripted driver "sim" has received in this order: Prepare a b, Prepare c [DRA-269]
    And of the variables "DEVICE_*", container "main" of pod "second" on "n1" has only "DEVICE_B_GPU, DEVICE_C_GPU" [DRA-269]
    When pod "first" is deleted
    Then the Pod "first" is gone [DRA-275]
    And the scripted driver "sim" has received in this order: Prepare a b, Prepare c, Unprepare a [DRA-275]
    When pod "third" is bound by hand to "n1"
    Then pod "third" reaches phase Running [DRA-269]
    When pod "second" is deleted
    Then the Pod "second" is gone [DRA-275]
    And the scripted driver "sim" has received in this order: Prepare a b, Prepare c, Unprepare a, Unprepare c [DRA-275]
    When pod "third" is deleted
    Then the Pod "third" is gone [DRA-275]
    And the scripted driver "sim" has received in this order: Prepare a b, Prepare c, Unprepare a, Unprepare c, Unprepare b [DRA-275]

  @DRA-275
  Scenario: A claim is prepared again for a pod that comes after the last one
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a"
    And a pod "second" with the reserved claims "a"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running
    When pod "first" is deleted
    Then the Pod "first" is gone
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    And the scripted driver "sim" has received in this order: Prepare a, Unprepare a, Prepare a

  @DRA-275
  Scenario Outline: A claim is unprepared when the containers of its pod end: <phase>
    Given new pods have the restart policy "Never"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "beside" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted driver "sim" does not respond in Unprepare
    And the containers of pod "train" on "n1" end in phase <phase>
    Then the scripted driver "sim" receives one Unprepare call for "a"
    And the Pod "train" keeps "status.phase" Running
    When the scripted driver "sim" works
    Then pod "train" reaches phase <phase>
    And the Pod "train" has "status.containerStatuses[0].state.terminated.exitCode" <code>
    # The claim is free again while the object of the pod exists.
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" has received in this order: Prepare a, Unprepare a, Prepare a

    Examples:
      | phase     | code |
      | Succeeded | 0    |
      | Failed    | 1    |

  @DRA-275
  Scenario: The claim of a pod that another component has failed is unprepared while the pod exists
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When "status.phase" of the Pod "train" is set to Failed
    Then the scripted driver "sim" receives one Unprepare call for "a"
    And the Pod "train" keeps "status.phase" Failed

  @DRA-569
  Scenario: The deletion of a pod that a claim is not reserved for does not unprepare the claim
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "thief" using claim "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When pod "thief" is bound by hand to "n1"
    Then an event of pod "thief" says "is not allowed to use"
    When pod "thief" is deleted
    Then the Pod "thief" is gone
    And the scripted driver "sim" has received 0 Unprepare calls
    When pod "train" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a"

  @DRA-569 @DRA-273
  Scenario: The deletion of a pod without one of its drivers does not unprepare its other claim
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated on "n1" to:
      | request | driver  |
      | gpu     | sim     |
      | nic     | unknown |
    And a pod "train" with the reserved claims "a"
    And a pod "refused" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DRA-569]
    When pod "refused" is bound by hand to "n1"
    Then an event of pod "refused" says "is not registered" [DRA-273]
    And the scripted driver "sim" has received 1 Prepare calls [DRA-273]
    When pod "refused" is deleted
    Then the Pod "refused" is gone [DRA-273]
    And the scripted driver "sim" has received 0 Unprepare calls [DRA-569]
    When pod "train" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a" [DRA-569]

  @DRA-570 @needs:virtual-clock
  Scenario: A pod whose claim is being unprepared waits until the claim is prepared again
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a"
    And a pod "second" with the reserved claims "a"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running
    When the scripted driver "sim" does not respond in Unprepare
    And pod "first" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a"
    When pod "second" is bound by hand to "n1"
    And 10 seconds pass
    Then pod "second" does not run
    When the scripted driver "sim" works
    And 20 seconds pass
    Then pod "second" reaches phase Running
    And the Pod "first" is gone
    And the scripted driver "sim" has received in this order: Prepare a, Unprepare a, Prepare a

  @DRA-571 @DRA-265 @needs:virtual-clock
  Scenario Outline: A Prepare that fails in one of two drivers is retried, and every device is given once: <failing>
    Given a scripted driver "other" on "n1"
    And the scripted driver "<failing>" fails every claim
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "<failing>" receives another Prepare call for "a" [DRA-265]
    And pod "train" does not run [DRA-265]
    # The drivers are called in any order: after several attempts, the other one was first in some of them.
    When 40 seconds pass
    And the scripted driver "<failing>" works
    And 30 seconds pass
    Then pod "train" reaches phase Running [DRA-265]
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_BIG, DEVICE_A_SMALL" [DRA-265]
    And the kubelet of "n1" has each CDI id of claim "a" once [DRA-571]

    Examples:
      | failing |
      | sim     |
      | other   |

  @DRA-582 @DRA-276 @needs:virtual-clock
  Scenario Outline: A pod does not end while one driver of its claim is not registered: <absent>
    Given a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DRA-582]
    When the scripted driver "<absent>" stops
    And pod "train" is deleted
    And 20 seconds pass
    Then the Pod "train" keeps "metadata.name" train [DRA-582]
    When the scripted driver "<absent>" starts again
    And 30 seconds pass
    Then the scripted driver "<absent>" receives one Unprepare call for "a" [DRA-582]
    And the Pod "train" is gone [DRA-276]

    Examples:
      | absent |
      | sim    |
      | other  |

  @DRA-276 @needs:virtual-clock
  Scenario Outline: A pod does not end while its driver <behaviour> in Unprepare
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted driver "sim" <behaviour> in Unprepare
    And pod "train" is deleted
    Then the scripted driver "sim" has received at least 2 Unprepare calls
    And every Unprepare call of the scripted driver "sim" is for "a, b"
    And the Pod "train" keeps "metadata.name" train
    When the scripted driver "sim" works
    And 30 seconds pass
    Then the Pod "train" is gone

    Examples:
      | behaviour                              |
      | fails every call                       |
      | fails claim "a"                        |
      | fails claim "b"                        |
      | omits "a"                              |
      | omits "b"                              |
      | adds an unknown claim to its responses |

  @DRA-268b @needs:virtual-clock
  Scenario: Unprepare times out after 45 seconds
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted driver "sim" does not respond in Unprepare
    And pod "train" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a"
    When 40 seconds pass
    Then the scripted driver "sim" has received 1 Unprepare calls
    When 20 seconds pass
    Then the scripted driver "sim" has received at least 2 Unprepare calls
    And the Pod "train" keeps "metadata.name" train
    When the scripted driver "sim" works
    And 30 seconds pass
    Then the Pod "train" is gone

  @DRA-277 @needs:virtual-clock
  Scenario: A pod that is deleted during Prepare releases its claim
    Given the scripted driver "sim" does not respond
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a"
    When pod "train" is force-deleted
    And the scripted driver "sim" works
    And 60 seconds pass
    Then the scripted driver "sim" receives one Unprepare call for "a"

  @DRA-569 @DRA-277 @needs:virtual-clock
  Scenario: The claims of force-deleted pods are unprepared, and those of other pods are not
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a, b"
    And a pod "second" with the reserved claims "b"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running [DRA-277]
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running [DRA-277]
    When the scripted driver "sim" fails every claim in Unprepare
    And pod "first" is force-deleted
    Then the scripted driver "sim" receives one Unprepare call for "a" [DRA-277]
    When the scripted driver "sim" works
    And 70 seconds pass
    Then the scripted driver "sim" has received at least 2 Unprepare calls [DRA-277]
    And pod "second" reaches phase Running [DRA-277]
    And every Unprepare call of the scripted driver "sim" is for "a" [DRA-569]
    When pod "second" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "b" [DRA-569]

  @DRA-275 @DRA-276 @needs:virtual-clock
  Scenario: A pod that ended before a restart of the kubelet does not use its claim after the restart
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a"
    And a pod "second" with the reserved claims "a"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running [DRA-275]
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running [DRA-275]
    When pod "first" is deleted
    Then the Pod "first" is gone [DRA-275]
    When the kubelet of "n1" is stopped
    And pod "second" is deleted
    And the scripted driver "sim" fails every claim in Unprepare
    And the kubelet of "n1" is started
    Then the scripted driver "sim" receives one Unprepare call for "a" [DRA-275]
    And the Pod "second" keeps "metadata.name" second [DRA-276]
    When the scripted driver "sim" works
    And 30 seconds pass
    Then the Pod "second" is gone [DRA-276]

  @DRA-280 @needs:virtual-clock
  Scenario: A restarted kubelet keeps the claims of its pods
    Given a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a ResourceClaim "b" allocated to the scripted driver "other" on "n1"
    And a ResourceClaim "c" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a"
    And a ResourceClaim "d" allocated to the scripted driver "sim" on "n1"
    And a pod "second" with the reserved claims "a, b"
    And a pod "third" with the reserved claims "b, d"
    And a pod "fourth" with the reserved claims "d"
    And a pod "earlier" with the reserved claims "c"
    When pod "earlier" is bound by hand to "n1"
    Then pod "earlier" reaches phase Running [DRA-280]
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running [DRA-280]
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running [DRA-280]
    When pod "third" is bound by hand to "n1"
    Then pod "third" reaches phase Running [DRA-280]
    When pod "fourth" is bound by hand to "n1"
    Then pod "fourth" reaches phase Running [DRA-280]
    When pod "earlier" is deleted
    Then the Pod "earlier" is gone [DRA-280]
    When the kubelet of "n1" is stopped
    And pod "first" is force-deleted
    And the kubelet of "n1" is started
    And 70 seconds pass
    Then every Unprepare call of the scripted driver "sim" is for "c" [DRA-280]
    And the scripted driver "sim" has received 1 Unprepare calls [DRA-280]
    And pod "second" reaches phase Running [DRA-280]
    When pod "second" is deleted
    Then the Pod "second" is gone [DRA-280]
    And the scripted driver "sim" receives one Unprepare call for "a" [DRA-280]
    And the scripted driver "other" receives one Unprepare call for "a" [DRA-280]
    # Each claim of two pods is kept for both of them.
    When pod "third" is deleted
    Then the Pod "third" is gone [DRA-280]
    And the scripted driver "other" has received in this order: Prepare a, Prepare b, Unprepare a, Unprepare b [DRA-280]
    When pod "fourth" is deleted
    Then the Pod "fourth" is gone [DRA-280]
    And the scripted driver "sim" has received in this order: Prepare c, Prepare a, Prepare d, Unprepare c, Unprepare a, Unprepare d [DRA-280]

  @DRA-270
  Scenario: The claims of two pods are prepared again after a reboot
    Given a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a ResourceClaim "b" allocated to the scripted driver "other" on "n1"
    And a pod "first" with the reserved claims "a"
    And a pod "second" with the reserved claims "b"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    When the kubelet of "n1" is rebooted
    Then the scripted driver "sim" receives another Prepare call for "a"
    And the scripted driver "other" receives another Prepare call for "a"
    And the scripted driver "other" receives another Prepare call for "b"
    And pod "first" reaches phase Running
    And of the variables "DEVICE_*", container "main" of pod "first" on "n1" has only "DEVICE_A_BIG, DEVICE_A_SMALL"
    And of the variables "DEVICE_*", container "main" of pod "second" on "n1" has only "DEVICE_B_GPU"

  @DRA-278 @needs:virtual-clock
  Scenario: A pod gets the devices of the new claim of the same name
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "old" with the reserved claims "a"
    When pod "old" is bound by hand to "n1"
    Then pod "old" reaches phase Running
    When pod "old" is deleted
    Then the Pod "old" is gone
    When the claim "a" is deleted although it is in use
    Given a ResourceClaim "a" with requests "big" allocated to the scripted driver "sim" on "n1"
    And a pod "new" with the reserved claims "a"
    When pod "new" is bound by hand to "n1"
    Then of the variables "DEVICE_*", container "main" of pod "new" on "n1" has only "DEVICE_A_BIG"
    And the scripted driver "sim" has received in this order: Prepare a, Unprepare a, Prepare a
    And the scripted driver "sim" receives one Prepare call for "a"

  @DRA-274 @needs:virtual-clock
  Scenario Outline: A claim that is reserved for <consumer> may not be used
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "other" with the reserved claims "a"
    And a pod "train" using claim "a, b"
    And claim "a" is reserved by hand for pods "train"
    And "status.reservedFor" of the ResourceClaim "b" is set to [<entry>]
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "is not allowed to use"
    And the scripted driver "sim" has received 0 Prepare calls
    When "status.reservedFor" of the ResourceClaim "b" is set to [{resource: pods, name: train, uid: $(uid:train)}]
    And 30 seconds pass
    Then pod "train" reaches phase Running

    Examples:
      | consumer                            | entry                                                                   |
      | a former pod of the same name       | {resource: pods, name: train, uid: 11111111-1111-1111-1111-111111111111} |
      | another pod                         | {resource: pods, name: other, uid: $(uid:other)}                     |

  @DRA-274b @needs:virtual-clock
  Scenario: A pod waits for the claims from its templates
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" that owns the claims "a, b" from templates
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "not created yet"
    And the scripted driver "sim" has received 0 Prepare calls
    # A status entry without the name of a claim means that the pod needs no claim for it.
    When the status of pod "train" lists its claims
    And 30 seconds pass
    Then pod "train" reaches phase Running
    And the scripted driver "sim" receives one Prepare call for "a, b"
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_GPU, DEVICE_B_GPU"

  @DRA-274b @needs:virtual-clock
  Scenario Outline: A claim from a template that the pod does not own may not be used: <owner>
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "other" with the reserved claims "b"
    And a pod "train" that owns the claims "a, b" from templates
    And "metadata.ownerReferences" of the ResourceClaim "b" is set to <references>
    When the status of pod "train" lists its claims
    And pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "was not created for"
    And the scripted driver "sim" has received 0 Prepare calls

    Examples:
      | owner             | references                                                                             |
      | no owner          | null                                                                                   |
      | another pod       | [{apiVersion: v1, kind: Pod, name: other, uid: $(uid:other), controller: true}]    |
      | not as controller | [{apiVersion: v1, kind: Pod, name: train, uid: $(uid:train)}]                      |
      # Garbage collection deletes the claim of a former pod, but not that of an owner whose kind it does not know.
      | another uid       | [{apiVersion: dra.test/v1, kind: Pod, name: train, uid: 11111111-1111-1111-1111-111111111111, controller: true}] |

  @DRA-572 @needs:virtual-clock
  Scenario: Claims that the status of their pod does not list any more are unprepared
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "c" allocated to the scripted driver "sim" on "n1"
    And a pod "train" that owns the claims "a, b" from templates
    And a pod "late" that owns the claims "c" from templates
    When the status of pod "train" lists its claims
    And the status of pod "late" lists its claims
    And pod "train" is bound by hand to "n1"
    And pod "late" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And pod "late" reaches phase Running
    # As a client of an older release does, which does not know the field.
    When "status.resourceClaimStatuses" of the Pod "train" is set to []
    And "status.resourceClaimStatuses" of the Pod "late" is set to []
    And pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" receives one Unprepare call for "a, b"
    When the kubelet of "n1" is restarted
    And pod "late" is deleted
    And 60 seconds pass
    Then the Pod "late" is gone
    And the scripted driver "sim" receives one Unprepare call for "c"

  @DRA-273b @needs:virtual-clock
  Scenario: A pod whose claim does not exist waits
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" using claim "a, missing"
    And claim "a" is reserved by hand for pods "train"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "missing"
    And the scripted driver "sim" has received 0 Prepare calls
    And pod "train" does not run

  @DRA-271e
  Scenario: A container with an extended resource gets the devices of the requests for this resource
    Given a ResourceClaim "a" with requests "big, small, more, extra" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "b" and the containers:
      | name | claims | resources                            |
      | one  | b      | example.com/big                      |
      | two  |        | example.com/big, example.com/small   |
      | both |        | example.com/big, example.com/small   |
      | none |        |                                      |
    And claim "a" is reserved by hand for pods "train"
    And pod "train" uses the claim "a" for extended resources:
      | container | resource          | request |
      | one       | example.com/big   | big     |
      | two       | example.com/small | small   |
      | both      | example.com/big   | more    |
      | both      | example.com/small | extra   |
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a, b"
    And of the variables "DEVICE_*", container "one" of pod "train" on "n1" has only "DEVICE_A_BIG, DEVICE_B_GPU"
    And of the variables "DEVICE_*", container "two" of pod "train" on "n1" has only "DEVICE_A_SMALL"
    And of the variables "DEVICE_*", container "both" of pod "train" on "n1" has only "DEVICE_A_EXTRA, DEVICE_A_MORE"
    And of the variables "DEVICE_*", container "none" of pod "train" on "n1" has only ""
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" receives one Unprepare call for "a, b"
