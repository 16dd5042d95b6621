@profile:driver-core @component:driver
Feature: A driver prepares the devices of a claim
  Before the containers of a pod start, the kubelet hands its claims to the drivers. It may repeat every call, because it
  or the driver may have died before the answer arrived.

  @NV-049 @NV-049b @NV-049c @NV-049d
  Scenario: A claim is answered with its own devices
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-049b]
    And the answer has one entry for each of "train" and no other [NV-049b]
    And the answer for claim "train" names only devices that the claim was allocated [NV-049c]
    And every CDI id of the answer for claim "train" resolves on "n1" [NV-049d]
    And the answer for claim "train" names every device that the claim was allocated [NV-049]

  @NV-049b @NV-049c @NV-049 @needs:several-gpus
  Scenario: Several claims are prepared in one call
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "infer" allocated 1 devices of the driver on "n1"
    When claims "train, infer" are prepared on "n1" in one call
    Then the answer has one entry for each of "train, infer" and no other [NV-049b]
    And claim "train" is prepared [NV-049b]
    And claim "infer" is prepared [NV-049b]
    And the answer for claim "train" names only devices that the claim was allocated [NV-049c]
    And the answer for claim "infer" names only devices that the claim was allocated [NV-049c]
    And the answer for claim "train" names every device that the claim was allocated [NV-049]

  @NV-051 @NV-051b
  Scenario: Prepare may be repeated
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-051]
    And all answers for claim "train" are the same [NV-051b]

  @NV-068
  Scenario: A device of a subrequest belongs to its request
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated a subrequest "big" of request "gpu" on "n1"
    When claim "train" is prepared on "n1"
    Then the answer for claim "train" speaks of request "gpu" only

  @NV-057
  Scenario: Devices and configuration of other drivers are not this driver's business
    Given node "n1" running the driver
    And a ResourceClaim "mixed" of the driver on "n1" and of the driver "other.dra.test"
    When claim "mixed" is prepared on "n1"
    Then claim "mixed" is prepared
    And the answer for claim "mixed" names only devices that the claim was allocated

  @NV-070 @needs:several-gpus
  Scenario: Different claims are prepared at the same time
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "infer" allocated 1 devices of the driver on "n1"
    When claims "train, infer" are prepared on "n1" at the same time
    Then claim "train" is prepared
    And claim "infer" is prepared
    And the answer for claim "train" names only devices that the claim was allocated
    And the answer for claim "infer" names only devices that the claim was allocated

  @NV-070b
  Scenario: One claim is prepared twice at the same time
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When claims "train, train" are prepared on "n1" at the same time
    Then claim "train" is prepared
    And all answers for claim "train" are the same

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
