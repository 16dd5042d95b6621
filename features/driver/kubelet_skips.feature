@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet skips operations that a driver does not need
  Since Kubernetes 1.37 a driver can publish that a device needs no preparation on the node.

  @DRA-281
  Scenario Outline: A driver is not called for <skipped> when all of its devices skip it
    Given the kubelet of "n1" has the gate DRAOptionalNodeOperations on
    And node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
      | extra   | other  |
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And the device for request "big" of claim "a" skips the node operations "<skipped>"
    And the device for request "small" of claim "a" skips the node operations "<skipped>"
    And a pod "train" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    # The kubelet cannot read the skipped operations from the deleted claim.
    When the claim "a" is deleted although it is in use
    And the kubelet of "n1" is restarted
    Then calls to the scripted driver "sim" on "n1" use service "v1.DRAPlugin"
    And calls to the scripted driver "other" on "n1" use service "v1.DRAPlugin"
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" has received in this order: <calls>
    And the scripted driver "other" has received in this order: Prepare a, Unprepare a

    Examples:
      | skipped                | calls                      |
      | *                      | Prepare b, Unprepare b     |
      | NodeUnprepareResources | Prepare a b, Unprepare b   |

  @DRA-281
  Scenario: The operations that the devices of one driver skip are combined
    Given the kubelet of "n1" has the gate DRAOptionalNodeOperations on
    And node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And the device for request "big" of claim "a" skips the node operations "*"
    And the device for request "small" of claim "a" skips the node operations "NodeUnprepareResources"
    And the device for request "big" of claim "b" skips the node operations "NodeUnprepareResources"
    And a pod "train" with the reserved claims "a, b"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" has received in this order: Prepare a b, Unprepare b

  @DRA-526
  Scenario: A kubelet without the feature refuses a claim with operations to skip
    Given the kubelet of "n1" has the gate DRAOptionalNodeOperations off
    And node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And the device for request "gpu" of claim "a" skips the node operations "NodeUnprepareResources"
    # The other device of the driver needs every call, so that no call is skipped for this claim.
    And the device for request "big" of claim "b" skips the node operations "*"
    And a pod "train" with the reserved claims "a"
    And a pod "beside" with the reserved claims "b"
    When pod "train" is bound by hand to "n1"
    And pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running
    And pod "train" does not run
    And an event of pod "train" says "DRAOptionalNodeOperations"
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" has received in this order: Prepare b

  @DRA-281
  Scenario: A driver that skips all operations need not be registered
    Given the kubelet of "n1" has the gate DRAOptionalNodeOperations on
    And node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | absent |
    And the device for request "small" of claim "a" skips the node operations "*"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" has received in this order: Prepare a, Unprepare a
