@profile:hami @component:driver @gate:DRAConsumableCapacity
Feature: Shares of a GPU are prepared and unprepared one by one
  A share can be prepared or unprepared while other shares of the same GPU are in use.

  @HAMI-011
  Scenario: A share can be prepared again
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "25", memory: 2Gi}}]
      """
    And claim "train" is prepared on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And a container with claim "train" on "n1" is limited to:
      | memory | cores |
      | 2Gi    | 25    |

  @HAMI-011b
  Scenario: The cache file of running containers outlives a repeated Prepare
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "25", memory: 2Gi}}]
      """
    And claim "train" is prepared on "n1"
    When a container with claim "train" on "n1" writes its cache file
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And the cache file of claim "train" is kept

  @HAMI-012 @needs:process-driver
  Scenario: Shares outlive a restart of the driver
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "30", memory: 2Gi}}]
      """
    And a ResourceClaim "three" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "10", memory: 1Gi}}]
      """
    And claims "one, two" are prepared on "n1"
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    When claims "one, two, three" are prepared on "n1" in one call
    Then claim "one" is prepared
    And claim "two" is prepared
    And claim "three" is prepared
    And a container with claim "one" on "n1" is limited to:
      | memory | cores |
      | 4Gi    | 60    |
    And a container with claim "two" on "n1" is limited to:
      | memory | cores |
      | 2Gi    | 30    |

  @HAMI-013
  Scenario: Unprepare of one share leaves the others
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 2Gi}}]
      """
    And claims "one, two" are prepared on "n1"
    When claim "one" is unprepared on "n1"
    Then claim "one" is unprepared
    And every CDI id of the response for claim "two" resolves on "n1"
    And a container with claim "two" on "n1" is limited to:
      | memory | cores |
      | 2Gi    | 40    |

  @HAMI-013b @HAMI-013c
  Scenario: Unprepare removes the cache file of its claim
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 2Gi}}]
      """
    And claims "one, two" are prepared on "n1"
    When a container with claim "one" on "n1" writes its cache file
    And a container with claim "two" on "n1" writes its cache file
    And claim "one" is unprepared on "n1"
    Then the cache file of claim "two" is kept [HAMI-013b]
    And the cache file of claim "one" is removed [HAMI-013c]

  @HAMI-014
  Scenario: A share beyond the cores that are left is refused
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 1Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "50", memory: 1Gi}}]
      """
    And a ResourceClaim "three" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 1Gi}}]
      """
    # Two shares of the GPU in one claim, of which each alone would fit.
    And a ResourceClaim "twice" allocated on "n1" with:
      """
      results:
        - {request: first, deviceOf: one, consumedCapacity: {cores: "30", memory: 1Gi}}
        - {request: second, deviceOf: one, consumedCapacity: {cores: "20", memory: 1Gi}}
      """
    And claim "one" is prepared on "n1"
    When claims "two, twice, three" are prepared on "n1" in one call
    Then claim "two" is refused on its own
    And claim "twice" is refused on its own
    And claim "three" is prepared
    When claims "one, three" are unprepared on "n1" in one call
    And claim "two" is prepared on "n1"
    Then claim "two" is prepared

  @HAMI-014
  Scenario: A share of more memory than a GPU has is refused
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "little" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "10", memory: 1Gi}}]
      """
    And a ResourceClaim "much" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: little, consumedCapacity: {cores: "10", memory: 1Pi}}]
      """
    When claims "little, much" are prepared on "n1" in one call
    Then claim "little" is prepared
    And claim "much" is refused on its own

  @HAMI-015 @component:kubelet @needs:run-kubelet @needs:fake-nvml @needs:driver-health
  @driver-gate:NVMLDeviceHealthCheck
  Scenario: Every pod with a share shows that the GPU is unhealthy
    Given node "n1" running the driver with slices of memory and cores
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {cores: "60", memory: 4Gi}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {cores: "40", memory: 2Gi}}]
      """
    And a pod "first" with the reserved claims "one"
    And a pod "second" with the reserved claims "two"
    When pod "first" is bound by hand to "n1"
    And pod "second" is bound by hand to "n1"
    Then pod "first" shows the health "Healthy" for "claim:one"
    And pod "second" shows the health "Healthy" for "claim:two"
    When XID 48 happens on the GPU of claim "one" of "n1"
    Then pod "first" shows the health "Unhealthy" for "claim:one"
    And pod "second" shows the health "Unhealthy" for "claim:two"
