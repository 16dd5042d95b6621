@profile:driver-gpu @component:driver @needs:gpu-driver @needs:process-driver
Feature: The driver gpu.nvidia.com restores its checkpoint
  The checkpoint is the only state that a driver keeps across restarts. It decides whether a GPU is free after claims
  were deleted, the node rebooted or the disk lost part of the file.

  @NV-104 @NV-105 @NV-106
  Scenario: Unfinished claims that no longer exist are removed from the checkpoint
    Given node "n1" running the driver
    And a ResourceClaim "gone" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "replaced" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "there" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "done" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "rival" allocated the same device as claim "done" on "n1"
    When claims "gone, replaced, there, done" are prepared on "n1" in one call
    And the claim "gone" is deleted although it is in use
    And the claim "replaced" is deleted although it is in use
    And the claim "done" is deleted although it is in use
    Given a ResourceClaim "replaced" that is not allocated
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered [NV-104]
    And the driver on "n1" comes to have no record of claim "gone" [NV-104]
    And the driver on "n1" comes to have no record of claim "replaced" [NV-104]
    And the driver on "n1" has a record of claim "there" [NV-105]
    And the driver on "n1" has a record of claim "done" [NV-106]
    When claim "rival" is prepared on "n1"
    Then claim "rival" is refused [NV-106]

  @NV-102 @NV-102b @needs:fake-nvml
  Scenario: Claims from before a reboot are removed from the checkpoint
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    And a ResourceClaim "third" allocated 1 devices of the driver on "n1"
    And claims "first, third" are prepared on "n1"
    When the driver on "n1" is stopped
    And the kernel of "n1" starts again
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered [NV-102]
    And the driver on "n1" comes to have no record of claim "first" [NV-102]
    And the driver on "n1" comes to have no record of claim "third" [NV-102]
    When claims "second, third" are prepared on "n1" in one call
    Then claim "second" is prepared [NV-102]
    And claim "third" is prepared [NV-102]
    And every CDI id of the response for claim "third" resolves on "n1" [NV-102]
    And no CDI file names claim "first" [NV-102b]

  @NV-106 @needs:fake-nvml
  Scenario: Claims that are prepared after a reboot are kept when the driver starts again
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    And a ResourceClaim "third" allocated 1 devices of the driver on "n1"
    And claim "first" is prepared on "n1"
    When the driver on "n1" is stopped
    And the kernel of "n1" starts again
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    When claims "second, third" are prepared on "n1" in one call
    And the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    And the driver on "n1" has a record of claim "second"
    And the driver on "n1" has a record of claim "third"
    When claim "first" is prepared on "n1"
    Then claim "first" is refused

  @NV-102c @needs:fake-nvml
  Scenario: Claims from before a reboot are removed from the checkpoint of another release
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    And claim "first" is prepared on "n1"
    When the driver on "n1" is stopped
    And the checkpoint of the driver on "n1" is of another release and from before a reboot
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And the driver on "n1" comes to have no record of claim "first"
    When claim "second" is prepared on "n1"
    Then claim "second" is prepared

  @NV-103 @NV-103b @needs:fake-nvml
  Scenario: The checkpoint of an older driver is migrated
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "other" allocated the same device as claim "train" on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the checkpoint of the driver on "n1" is without boot id
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered [NV-103]
    And the checkpoint of the driver on "n1" has the boot id of the kernel [NV-103]
    When claims "other, train" are prepared on "n1" in one call
    Then all responses for claim "train" are the same [NV-103]
    And claim "other" is refused [NV-103]
    When the driver on "n1" is stopped
    And the checkpoint of the driver on "n1" is of version 1 only
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered [NV-103b]
    When claims "other, train" are prepared on "n1" in one call
    Then claim "other" is refused [NV-103b]
    And all responses for claim "train" are the same [NV-103b]

  @NV-421 @needs:fake-nvml
  Scenario: A claim that was recorded without its allocation does not disturb others
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "other" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the checkpoint of the driver on "n1" is without the allocations of its claims
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    When claim "other" is prepared on "n1"
    Then claim "other" is prepared
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And the driver on "n1" comes to have no record of claim "train"

  @NV-101 @NV-101c @NV-100b @needs:process-driver
  Scenario Outline: The driver does not start with a record whose <place> uid is another one
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    Then the record of claim "train" on "n1" is accessible to its owner only [NV-100b]
    When the driver on "n1" is stopped
    And the record of claim "train" on "n1" is changed in the <place> uid
    Then the driver on "n1" does not start [NV-101]
    When the damaged records of "n1" are removed
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered [NV-101c]
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-101c]
    And every CDI id of the response for claim "train" resolves on "n1" [NV-101c]

    Examples:
      | place |
      | first |
      | last  |

  @NV-101b @needs:process-driver
  Scenario Outline: The driver does not start with a record that is <damage>
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the record of claim "train" on "n1" is <damage>
    Then the driver on "n1" does not start

    Examples:
      | damage               |
      | cut in half          |
      | of an unknown format |
      | empty                |

  @NV-099b @needs:fake-nvml
  Scenario: A claim is prepared only once its CDI specification can be written
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "held" allocated 1 devices of the driver on "n1"
    And claim "held" is prepared on "n1"
    When node "n1" gets the fault "CDI folder not writable"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused
    When node "n1" recovers from "CDI folder not writable"
    And claims "train, held" are prepared on "n1" in one call
    Then claim "train" is prepared
    And every CDI id of the response for claim "train" resolves on "n1"
    And all responses for claim "held" are the same

  @NV-099c @NV-014 @NV-014b @needs:fake-nvml
  Scenario: A claim is refused while the disk is full, and prepared once it has space
    Given node "n1" running the driver as a process
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "held" allocated 1 devices of the driver on "n1"
    And claim "held" is prepared on "n1"
    When node "n1" gets the fault "disk full"
    And claims "train, held" are prepared on "n1" in one call
    Then claim "train" is refused [NV-099c]
    And all responses for claim "held" are the same [NV-099c]
    When node "n1" recovers from "disk full"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-099c]
    And every CDI id of the response for claim "train" resolves on "n1" [NV-099c]
    When claim "held" is prepared on "n1"
    Then all responses for claim "held" are the same [NV-099c]
    When the driver on "n1" is stopped
    Then driver "$(driver)" is no longer registered on "n1" [NV-014]
    And the slices of the driver on "n1" still exist [NV-014b]
