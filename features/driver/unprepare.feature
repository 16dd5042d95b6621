@profile:driver-core @component:driver
Feature: A driver unprepares devices
  Unprepare is called when the last pod of a claim has ended. The kubelet repeats it until it succeeds, and the pod
  stays Terminating until then.

  @DRA-279 @NV-107
  Scenario: Unprepare of an unknown claim succeeds
    Given node "n1" running the driver
    And the kubelet refers to claim "unknown" by a uid that no claim has
    When claim "unknown" is unprepared on "n1"
    Then claim "unknown" is unprepared [DRA-279]
    When claims "unknown, unknown" are unprepared on "n1" in one call
    Then claim "unknown" is unprepared [NV-107]

  @NV-108 @NV-108b
  Scenario: Unprepare may be repeated, and the claim can be prepared again
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-108]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-108]
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-108b]
    And every CDI id of the response for claim "train" resolves on "n1" [NV-108b]

  @NV-110
  Scenario: A deleted claim can be unprepared
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When the claim "train" is deleted although it is in use
    And claim "train" is unprepared on "n1"
    Then claim "train" is unprepared

  @NV-064
  Scenario: An unprepared device can be prepared for another claim
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    And claim "first" is prepared on "n1"
    And claim "first" is unprepared on "n1"
    When claim "second" is prepared on "n1"
    Then claim "second" is prepared

  @NV-108c @NV-060 @needs:several-gpus
  Scenario: Unprepare of one claim does not affect another
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated a device of the driver on "n1" that cannot be shared
    And a ResourceClaim "second" allocated a device of the driver on "n1" that cannot be shared
    And a ResourceClaim "rival" allocated the same device as claim "second" on "n1"
    And claims "first, second" are prepared on "n1"
    When claim "first" is unprepared on "n1"
    Then claim "first" is unprepared [NV-108c]
    And every CDI id of the response for claim "second" resolves on "n1" [NV-108c]
    When claim "second" is prepared on "n1"
    Then claim "second" is prepared [NV-108c]
    When claim "rival" is prepared on "n1"
    Then claim "rival" is refused [NV-060]

  @NV-096 @needs:several-gpus
  Scenario: Unprepare removes the CDI files of the claim
    Given node "n1" running the driver
    And a ResourceClaim "other" allocated 1 devices of the driver on "n1"
    And claim "other" is prepared on "n1"
    And the CDI files of "n1" are remembered
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When claim "train" is unprepared on "n1"
    Then the CDI files of "n1" are the remembered ones within 0 seconds
    And every CDI id of the response for claim "other" resolves on "n1"

  @NV-051c @NV-108c @needs:several-gpus
  Scenario: Random sequences of calls return consistent results
    Given node "n1" running the driver
    And a ResourceClaim "a" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "b" allocated 1 devices of the driver on "n1"
    When 24 random sequences of 6 calls for the claims "a, b" are sent to the driver on "n1"
    Then no "Prepare" of the sequences failed [NV-051c]
    And no "Unprepare" of the sequences failed [NV-108c]
    And no "CDI id" of the sequences failed [NV-108c]
