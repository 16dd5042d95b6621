@profile:driver-core @component:driver
Feature: A driver registers with its kubelet
  The kubelet finds drivers by the sockets in its registration folder. It asks each who it is, calls the service that it
  was told of, and forgets a driver whose socket goes away.

  @NV-001 @NV-001b
  Scenario: A started driver registers and serves what it announces
    Given node "n1" with a kubelet
    When the driver is started on "n1"
    Then the driver on "n1" comes to be registered [NV-001]
    And the driver on "n1" says who it is [NV-001]
    And every DRA service that the driver on "n1" announces is served [NV-001b]

  @NV-001c
  Scenario: All announced versions of the service give the same answer
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    Then every DRA service of the driver on "n1" gives the same answer for claim "train"

  @NV-001d
  Scenario: A restarted kubelet finds the driver again
    Given node "n1" running the driver
    When the kubelet of "n1" restarts
    Then the driver on "n1" comes to be registered

  @NV-003
  Scenario: A call without claims is answered without entries
    Given node "n1" running the driver
    When the driver on "n1" is asked to prepare nothing
    Then the call succeeds and answers nothing

  @NV-014 @NV-014b @needs:process-driver
  Scenario: A driver that stops in good order leaves the kubelet but not the API
    Given node "n1" running the driver
    When the driver on "n1" is stopped
    Then the sockets of the driver on "n1" are gone [NV-014]
    And the slices of the driver on "n1" stay [NV-014b]
