@profile:driver-core @component:driver
Feature: A driver prepares the devices of a claim
  Before the containers of a pod start, the kubelet calls the drivers of its claims. It may repeat every call, because
  it or the driver may have stopped before the response arrived.

  @NV-049 @NV-049b @NV-049c @NV-049d
  Scenario: The response for a claim has its own devices
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-049b]
    And the response has one entry for each of "train" and no other [NV-049b]
    And the response for claim "train" has only devices that the claim was allocated [NV-049c]
    And every CDI id of the response for claim "train" resolves on "n1" [NV-049d]
    And the response for claim "train" has every device that the claim was allocated [NV-049]

  @NV-049b @NV-049c @NV-049 @needs:several-gpus
  Scenario: Several claims are prepared in one call
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "infer" allocated 1 devices of the driver on "n1"
    When claims "train, infer" are prepared on "n1" in one call
    Then the response has one entry for each of "train, infer" and no other [NV-049b]
    And claim "train" is prepared [NV-049b]
    And claim "infer" is prepared [NV-049b]
    And the response for claim "train" has only devices that the claim was allocated [NV-049c]
    And the response for claim "infer" has only devices that the claim was allocated [NV-049c]
    And the response for claim "train" has every device that the claim was allocated [NV-049]

  @NV-049 @NV-049b @NV-049c @NV-049d @needs:several-gpus
  Scenario: The response for a claim of two requests has the devices of both
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: first, device: free}, {request: second, device: free}]
      """
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-049b]
    And the response has one entry for each of "train" and no other [NV-049b]
    And the response for claim "train" has only devices that the claim was allocated [NV-049c]
    And every CDI id of the response for claim "train" resolves on "n1" [NV-049d]
    And the response for claim "train" has every device that the claim was allocated [NV-049]

  @NV-051 @NV-051b @needs:several-gpus
  Scenario: Prepare of a claim of two requests may be repeated
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: first, device: free}, {request: second, device: free}]
      """
    And claim "train" is prepared on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-051]
    And every CDI id of the response for claim "train" resolves on "n1" [NV-051]
    And all responses for claim "train" are the same [NV-051b]

  @NV-051 @NV-051b
  Scenario: Prepare may be repeated
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-051]
    And all responses for claim "train" are the same [NV-051b]

  @NV-068
  Scenario: A device of a subrequest belongs to its request
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu/big, device: free}]
      """
    When claim "train" is prepared on "n1"
    Then the response for claim "train" has only devices that the claim was allocated

  @NV-057
  Scenario: Devices and configuration of other drivers are ignored
    Given node "n1" running the driver
    And a ResourceClaim "mixed" allocated on "n1" with:
      """
      results:
        - {request: gpu, device: free}
        - {request: other, driver: other.$(driver), device: other-0}
      config: [{requests: [other], driver: other.$(driver), parameters: {unknown: field}}]
      """
    When claim "mixed" is prepared on "n1"
    Then claim "mixed" is prepared
    And the response for claim "mixed" has only devices that the claim was allocated

  @NV-057 @needs:several-gpus
  Scenario: A device of another driver is not mistaken for the own device of its name
    Given node "n1" running the driver
    And a ResourceClaim "held" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "mixed" allocated on "n1" with:
      """
      results:
        - {request: other, driver: other.dra.test, deviceOf: held}
        - {request: gpu, device: free}
      """
    And a ResourceClaim "again" allocated the same device as claim "held" on "n1"
    And claim "held" is prepared on "n1"
    When claim "mixed" is prepared on "n1"
    Then claim "mixed" is prepared
    And the response for claim "mixed" has only devices that the claim was allocated
    And the response for claim "mixed" has every device that the claim was allocated, as for claim "held"
    When claim "held" is unprepared on "n1"
    And claim "again" is prepared on "n1"
    Then claim "again" is prepared

  @NV-057b @gate:DRAResourceClaimDeviceStatus
  Scenario: What another driver has reported on its device stays
    Given node "n1" running the driver
    And a ResourceClaim "mixed" allocated on "n1" with:
      """
      results:
        - {request: gpu, device: free}
        - {request: other, driver: other.dra.test, device: other-0}
      """
    And another driver has reported on its device of claim "mixed"
    When claim "mixed" is prepared on "n1"
    Then claim "mixed" is prepared
    And the ResourceClaim "mixed" keeps "status.devices[device=other-0][0].conditions[type=Linked][0].status" "True"
    When claim "mixed" is unprepared on "n1"
    Then claim "mixed" is unprepared
    And the ResourceClaim "mixed" keeps "status.devices[device=other-0][0].conditions[type=Linked][0].status" "True"

  @NV-070 @needs:several-gpus
  Scenario: Different claims are prepared at the same time
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "infer" allocated 1 devices of the driver on "n1"
    When claims "train, infer" are prepared on "n1" at the same time
    Then claim "train" is prepared
    And claim "infer" is prepared
    And the response for claim "train" has only devices that the claim was allocated
    And the response for claim "infer" has only devices that the claim was allocated

  @NV-070b
  Scenario: One claim is prepared twice at the same time
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When claims "train, train" are prepared on "n1" at the same time
    Then claim "train" is prepared
    And all responses for claim "train" are the same

  @DRA-271b @component:kubelet @needs:several-gpus
  Scenario: Containers see the devices of their own claims
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "infer" allocated 1 devices of the driver on "n1"
    And a pod "trainer" using claim "train"
    And a pod "server" using claim "infer"
    And claim "train" is reserved by hand for pods "trainer"
    And claim "infer" is reserved by hand for pods "server"
    When pod "trainer" is bound by hand to "n1"
    And pod "server" is bound by hand to "n1"
    Then container "main" of pod "trainer" on "n1" sees the devices of "train" only
    And container "main" of pod "server" on "n1" sees the devices of "infer" only
