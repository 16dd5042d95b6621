@profile:hami @component:driver @gate:DRAConsumableCapacity
Feature: Containers are limited to their slices
  HAMi-core is loaded into the processes of a container with a share. It reads the limits from variables, and counts the
  memory in use in a file that the processes share.

  @HAMI-005
  Scenario: A container gets its share of memory and cores
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "25", memory: 1500Mi}}]
      """
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And a container with claim "train" on "n1" is limited to:
      | memory | cores |
      | 1500Mi | 25    |

  @HAMI-005b
  Scenario: A container with admin access has no limits
    Given node "n1" running the driver with slices of memory and cores
    # Without consumed capacity, as a scheduler leaves it out for admin access.
    And a ResourceClaim "base" allocated 1 devices of the driver on "n1"
    And an admin ResourceClaim "monitor" allocated the same device as claim "base" on "n1"
    When claim "monitor" is prepared on "n1"
    Then claim "monitor" is prepared
    And a container with claim "monitor" on "n1" may use its whole GPU

  @HAMI-006
  Scenario: Each GPU of a claim has its own limits
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "pair" allocated on "n1" with:
      """
      results:
        - {request: big, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}
        - {request: small, device: free, consumedCapacity: {cores: "30", memory: 2Gi}}
      """
    When claim "pair" is prepared on "n1"
    Then claim "pair" is prepared
    And a container with claim "pair" on "n1" is limited, in any order, to:
      | memory | cores |
      | 4Gi    | 60    |
      | 2Gi    | 30    |

  @HAMI-006b @needs:seen-nvml
  Scenario: The limits have the numbers of the GPUs in the container
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "two" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "forward" allocated on "n1" with:
      """
      results:
        - {request: big, deviceOf: one, consumedCapacity: {cores: "60", memory: 4Gi}}
        - {request: small, deviceOf: two, consumedCapacity: {cores: "30", memory: 2Gi}}
      """
    And a ResourceClaim "backward" allocated on "n1" with:
      """
      results:
        - {request: big, deviceOf: two, consumedCapacity: {cores: "20", memory: 1Gi}}
        - {request: small, deviceOf: one, consumedCapacity: {cores: "10", memory: 3Gi}}
      """
    When claims "forward, backward" are prepared on "n1" in one call
    Then claim "forward" is prepared
    And claim "backward" is prepared
    And the limits of a container with claim "forward" on "n1" are in the order of its GPUs
    And the limits of a container with claim "backward" on "n1" are in the order of its GPUs

  @HAMI-006b @needs:fake-nvml
  Scenario: The limits have the numbers of the GPUs in the container on a node with sixteen
    Given the GPUs of "n1" are those of "h100-16"
    And node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "all" allocated 16 devices of the driver on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results:
        - {request: a, deviceOf: all, number: 10, consumedCapacity: {cores: "60", memory: 4Gi}}
        - {request: b, deviceOf: all, number: 2, consumedCapacity: {cores: "30", memory: 2Gi}}
        - {request: c, deviceOf: all, number: 1, consumedCapacity: {cores: "10", memory: 1Gi}}
      """
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And the limits of a container with claim "train" on "n1" are in the order of its GPUs

  @HAMI-007
  Scenario: Two claims have different shares of one GPU
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 2Gi}}]
      """
    When claim "one" is prepared on "n1"
    And claim "two" is prepared on "n1"
    Then claim "two" is prepared
    And a container with claim "one" on "n1" is limited to:
      | memory | cores |
      | 4Gi    | 60    |
    And a container with claim "two" on "n1" is limited to:
      | memory | cores |
      | 2Gi    | 40    |

  @HAMI-007b @HAMI-007d
  Scenario: Two shares of one GPU in a claim add up
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "base" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "twice" allocated on "n1" with:
      """
      results:
        - {request: big, deviceOf: base, consumedCapacity: {cores: "50", memory: 4Gi}}
        - {request: small, deviceOf: base, consumedCapacity: {cores: "20", memory: 2Gi}}
      """
    When claim "twice" is prepared on "n1"
    Then claim "twice" is prepared [HAMI-007b]
    And every CDI id of the response for claim "twice" resolves on "n1" [HAMI-007b]
    # The container has one GPU, so there is nothing to limit a second one to.
    And a container with claim "twice" on "n1" is limited to: [HAMI-007d]
      | memory | cores |
      | 6Gi    | 70    |
      | all    | all   |

  @HAMI-007c @component:kubelet @needs:run-kubelet
  Scenario: Two containers of a pod have the limits of their own claims
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 2Gi}}]
      """
    And a pod "train" with the reserved claims "one, two" and the containers:
      | name   | claims |
      | first  | one    |
      | second | two    |
    When pod "train" is bound by hand to "n1"
    Then container "first" of pod "train" on "n1" is limited to:
      | memory | cores |
      | 4Gi    | 60    |
    And container "second" of pod "train" on "n1" is limited to:
      | memory | cores |
      | 2Gi    | 40    |

  @HAMI-008
  Scenario: HAMi-core is loaded into the processes of a container
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    When claim "train" is prepared on "n1"
    Then HAMi-core is loaded in a container with claim "train" on "n1"

  @HAMI-009
  Scenario: Each claim has a cache file of its own
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 2Gi}}]
      """
    When claims "one, two" are prepared on "n1" in one call
    Then each of the claims "one, two" has a cache file of its own on "n1"

  @HAMI-010
  Scenario: All containers of a node share one lock
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 2Gi}}]
      """
    When claims "one, two" are prepared on "n1" in one call
    Then containers with the claims "one, two" on "n1" share one lock
