@profile:driver-core @component:driver
Feature: A driver refuses invalid claims
  A kubelet can be late: the claim of a call may have been deleted, replaced or deallocated in the meantime. A driver
  that does not check the claim prepares devices that belong to another one.

  @NV-055
  Scenario: A claim that does not exist is refused
    Given node "n1" running the driver
    And the kubelet refers to claim "ghost" by a uid that no claim has
    When claim "ghost" is prepared on "n1"
    Then claim "ghost" is refused

  @NV-054
  Scenario: A claim without allocation is refused
    Given node "n1" running the driver
    And a ResourceClaim "waiting" that is not allocated
    When claim "waiting" is prepared on "n1"
    Then claim "waiting" is refused

  @NV-053
  Scenario: A claim that was replaced by another of its name is refused
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And the kubelet refers to claim "train" by a uid that no claim has
    When claim "train" is prepared on "n1"
    Then claim "train" is refused

  @NV-059b
  Scenario: A device that the driver does not have is refused
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated a device that the driver on "n1" does not have
    When claim "train" is prepared on "n1"
    Then claim "train" is refused

  @NV-056 @NV-056b @needs:several-gpus
  Scenario: A claim that is refused does not affect the others
    Given node "n1" running the driver
    And a ResourceClaim "held" allocated 1 devices of the driver on "n1"
    And claim "held" is prepared on "n1"
    And a ResourceClaim "good" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "bad" allocated a device that the driver on "n1" does not have
    When claims "good, bad" are prepared on "n1" in one call
    Then claim "bad" is refused [NV-056]
    When claims "good, held" are prepared on "n1" in one call
    Then claim "good" is prepared [NV-056]
    And all responses for claim "held" are the same [NV-056b]

  @NV-109
  Scenario: A refused claim can be unprepared, and prepared after it is allocated again
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated a device that the driver on "n1" does not have
    When claim "train" is prepared on "n1"
    And claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    When claim "train" is allocated another device of "n1"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-060
  Scenario: A device that is prepared for one claim is refused to another
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated a device of the driver on "n1" that cannot be shared
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    And claim "first" is prepared on "n1"
    When claim "second" is prepared on "n1"
    Then claim "second" is refused

  @NV-060 @needs:several-gpus
  Scenario: A claim is refused if the second of its devices is prepared for another claim
    Given node "n1" running the driver
    And a ResourceClaim "idle" allocated a device of the driver on "n1" that cannot be shared
    And a ResourceClaim "first" allocated a device of the driver on "n1" that cannot be shared
    And claim "first" is prepared on "n1"
    And a ResourceClaim "second" allocated on "n1" with:
      """
      results: [{request: one, deviceOf: idle}, {request: two, deviceOf: first}]
      """
    When claim "second" is prepared on "n1"
    Then claim "second" is refused
    When claims "idle, first" are prepared on "n1" in one call
    Then claim "idle" is prepared
    And all responses for claim "first" are the same

  @NV-061
  Scenario: A claim with admin access is prepared for a device in use
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And an admin ResourceClaim "monitor" allocated the same device as claim "train" on "n1"
    And claim "train" is prepared on "n1"
    When claim "monitor" is prepared on "n1"
    Then claim "monitor" is prepared

  @NV-308
  Scenario: Two claims with admin access are prepared for a device in use
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And an admin ResourceClaim "monitor" allocated the same device as claim "train" on "n1"
    And an admin ResourceClaim "watch" allocated the same device as claim "train" on "n1"
    And claim "train" is prepared on "n1"
    When claims "monitor, watch" are prepared on "n1" in one call
    Then claim "monitor" is prepared
    And claim "watch" is prepared
    When claim "train" is prepared on "n1"
    Then all responses for claim "train" are the same

  @NV-062
  Scenario: A claim with admin access does not reserve the device
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And an admin ResourceClaim "monitor" allocated the same device as claim "train" on "n1"
    And claim "monitor" is prepared on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And the response for claim "train" has every device that the claim was allocated, as for claim "monitor"

  @NV-063
  Scenario: A claim whose preparation failed does not reserve its devices
    Given node "n1" running the driver
    And a ResourceClaim "before" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "train" allocated the same device as claim "before" on "n1"
    And a ResourceClaim "broken" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: train}, {request: gpu, device: no-such-device}]
      """
    And claim "before" is prepared on "n1"
    And claim "before" is unprepared on "n1"
    When claim "broken" is prepared on "n1"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And the response for claim "train" has every device that the claim was allocated, as for claim "before"
