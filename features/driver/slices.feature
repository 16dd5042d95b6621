@profile:driver-core @seat:driver
Feature: A driver publishes its devices
  Schedulers see devices only through ResourceSlices. A pool counts as complete when it has as many slices of its newest
  generation as each of them says; the devices of an incomplete pool are not allocated.

  @DRA-288 @DRA-293 @NV-019 @NV-023
  Scenario: The slices of a node form complete pools
    Given node "n1" running the driver
    Then every pool of the driver on "n1" comes to be complete [DRA-288]
    And no two devices of one pool of the driver on "n1" share a name [DRA-293]
    And standard attributes of the devices on "n1" have their standard form [NV-023]
    And every slice of the driver on "n1" is owned by the Node [NV-019]

  @DRA-290 @needs:process-driver
  Scenario: Slices that somebody deletes are published again
    Given node "n1" running the driver
    And the devices of "n1" are remembered
    When somebody deletes the slices of the driver on "n1"
    Then the devices of "n1" are published again within 75 seconds

  @NV-048 @needs:process-driver
  Scenario: A restarted driver publishes the same devices once
    Given node "n1" running the driver
    And the devices of "n1" are remembered
    When the driver on "n1" restarts
    Then the driver on "n1" comes to be registered
    And the driver on "n1" publishes the same devices as before
