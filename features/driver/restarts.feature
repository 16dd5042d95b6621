@profile:driver-core @component:driver @needs:process-driver
Feature: A driver keeps its state across restarts
  Drivers are updated while pods run. Claims that were prepared before stay prepared.

  @NV-052 @NV-052b
  Scenario: A restarted driver prepares the same devices again
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered [NV-052]
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-052]
    And every CDI id of the response for claim "train" resolves on "n1" [NV-052]
    And all responses for claim "train" are the same [NV-052b]

  @NV-052c
  Scenario: A claim from before a restart can be unprepared
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    And claim "first" is prepared on "n1"
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    When claim "first" is unprepared on "n1"
    Then claim "first" is unprepared
    When claim "second" is prepared on "n1"
    Then claim "second" is prepared

  @NV-052e
  Scenario: The CDI folder is empty after a reboot, and the driver still has its state
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the CDI files of "n1" are lost
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And every CDI id of the response for claim "train" resolves on "n1"
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared

  @NV-052c @NV-052f @needs:several-gpus
  Scenario: A restarted driver knows which devices are prepared
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated a device of the driver on "n1" that cannot be shared
    And a ResourceClaim "second" allocated a device of the driver on "n1" that cannot be shared
    And a ResourceClaim "rival" allocated the same device as claim "first" on "n1"
    And a ResourceClaim "next" allocated the same device as claim "second" on "n1"
    And claims "first, second" are prepared on "n1"
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered [NV-052c]
    When claim "first" is prepared on "n1"
    Then claim "first" is prepared [NV-052c]
    And every CDI id of the response for claim "first" resolves on "n1" [NV-052c]
    When claim "second" is unprepared on "n1"
    Then claim "second" is unprepared [NV-052c]
    When claim "next" is prepared on "n1"
    Then claim "next" is prepared [NV-052c]
    And every CDI id of the response for claim "first" resolves on "n1" [NV-052c]
    When claim "rival" is prepared on "n1"
    Then claim "rival" is refused [NV-052f]
    When claim "first" is unprepared on "n1"
    And claim "rival" is prepared on "n1"
    Then claim "rival" is prepared [NV-052f]

  @NV-052d
  Scenario: A killed driver can be started again
    Given node "n1" running the driver as a process
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is killed
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And every CDI id of the response for claim "train" resolves on "n1"
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared

  @NV-070d @needs:driver-flags
  Scenario: A rolling update runs two instances of a driver side by side
    Given node "n1" running the driver with "--pod-uid=old"
    And a ResourceClaim "before" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "during" allocated 1 devices of the driver on "n1"
    And claim "before" is prepared on "n1"
    When the second instance of the driver on "n1" is started with "--pod-uid=new"
    Then the driver on "n1" comes to be registered
    When claims "before, during" are prepared on "n1" in one call
    Then all responses for claim "before" are the same
    And claim "during" is prepared
    When the first instance of the driver on "n1" is stopped
    Then the driver on "n1" stays registered
    When claim "before" is unprepared on "n1"
    Then claim "before" is unprepared
    And the slices of the driver on "n1" still exist

  @NV-070e @needs:driver-flags
  Scenario: A device that one of two instances has prepared is refused by the other
    Given node "n1" running the driver with "--pod-uid=old"
    And a ResourceClaim "before" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "rival" allocated the same device as claim "before" on "n1"
    And claim "before" is prepared on "n1"
    When the second instance of the driver on "n1" is started with "--pod-uid=new"
    Then the driver on "n1" comes to be registered
    When claim "rival" is prepared on "n1"
    Then claim "rival" is refused
    When claim "before" is unprepared on "n1"
    And claim "rival" is prepared on "n1"
    Then claim "rival" is prepared

  @NV-070e @needs:driver-flags
  Scenario: An instance that goes on alone knows what the other one has prepared
    Given node "n1" running the driver with "--pod-uid=old"
    And a ResourceClaim "before" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "during" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "rival" allocated the same device as claim "during" on "n1"
    And claim "before" is prepared on "n1"
    When the second instance of the driver on "n1" is started with "--pod-uid=new"
    Then the driver on "n1" comes to be registered
    When claim "during" is prepared on "n1"
    Then claim "during" is prepared
    When the second instance of the driver on "n1" is stopped
    Then the driver on "n1" stays registered
    When claim "rival" is prepared on "n1"
    Then claim "rival" is refused
    When claim "during" is unprepared on "n1"
    And claim "rival" is prepared on "n1"
    Then claim "rival" is prepared
