@profile:driver-core @component:driver
Feature: A driver registers with its kubelet
  The kubelet finds drivers by the sockets in its registration folder. It calls GetInfo on each, calls the announced
  service, and removes a driver whose socket was removed.

  @NV-001 @NV-001b
  Scenario: A started driver registers and serves what it announces
    Given node "n1" with a kubelet
    When the driver on "n1" is started
    Then the driver on "n1" comes to be registered [NV-001]
    And GetInfo of the driver on "n1" returns as "type" one of "DRAPlugin" [NV-001]
    And GetInfo of the driver on "n1" returns as "name" one of "$(driver)" [NV-001]
    And GetInfo of the driver on "n1" returns as "supported_versions" one of "v1.DRAPlugin, v1beta1.DRAPlugin" [NV-001]
    And every DRA service that the driver on "n1" announces is served [NV-001b]

  @NV-301
  Scenario: An announced health service reports health or returns UNIMPLEMENTED
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    Then every health service that the driver on "n1" announces reports health or returns UNIMPLEMENTED
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-001c
  Scenario: All announced versions of the service return the same devices
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    Then every DRA service of the driver on "n1" returns the same devices for claim "train"

  @NV-001d
  Scenario: A driver registers again with a restarted kubelet
    Given node "n1" running the driver
    When the kubelet of "n1" is restarted
    Then the driver on "n1" comes to be registered

  @NV-003
  Scenario: A call without claims returns no entries
    Given node "n1" running the driver
    When claims "" are prepared on "n1" in one call
    Then the response has one entry for each of "" and no other

  @NV-014 @NV-014b @needs:process-driver
  Scenario: A stopped driver unregisters and leaves its slices
    Given node "n1" running the driver
    When the driver on "n1" is stopped
    Then driver "$(driver)" is no longer registered on "n1" [NV-014]
    And the slices of the driver on "n1" still exist [NV-014b]
