@profile:api-enforcement @component:control-plane @needs:own-control-plane @gate:DRAResourcePoolStatus @since:1.37
Feature: Status of resource pools
  A user creates a ResourcePoolStatusRequest to count the devices in the pools of a driver. A controller of the control
  plane counts them once and writes the status.

  @DRA-303
  Scenario: A request reports all pools of its driver in order, and stays as it is
    Given node "n1"
    And a ResourceSlice "b-one" with:
      """
      nodeName: $(node:n1)
      pool: {name: b, generation: 2, resourceSliceCount: 2}
      devices: [{name: d1}, {name: d2}]
      """
    And a ResourceSlice "b-two" with:
      """
      nodeName: $(node:n1)
      pool: {name: b, generation: 2, resourceSliceCount: 2}
      devices: [{name: d3}]
      """
    And a ResourceSlice "b-former" with:
      """
      nodeName: $(node:n1)
      pool: {name: b, generation: 1, resourceSliceCount: 1}
      devices: [{name: d1}, {name: d4}]
      """
    And a ResourceSlice "a" with:
      """
      allNodes: true
      pool: {name: a}
      devices: [{name: d1}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "held" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "held" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: b, device: d1}]}}
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      poolCount: 2
      pools:
        - {poolName: a, driver: $(sim), generation: 1, resourceSliceCount: 1, nodeName: null, totalDevices: 1, allocatedDevices: 0, availableDevices: 1, unavailableDevices: 0}
        - {poolName: b, driver: $(sim), generation: 2, resourceSliceCount: 2, nodeName: $(node:n1), totalDevices: 3, allocatedDevices: 1, availableDevices: 2, unavailableDevices: 0}
      """
    When a ResourceSlice "c" is published with:
      """
      allNodes: true
      pool: {name: c}
      devices: [{name: d1}]
      """
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      poolCount: 3
      pools: [{poolName: a}, {poolName: b}, {poolName: c}]
      """
    And the earlier ResourcePoolStatusRequests still report the same

  Scenario Outline: A request <which> reports <reported>
    Given a ResourceSlice "b" with:
      """
      allNodes: true
      pool: {name: b}
      devices: [{name: d1}]
      """
    And a ResourceSlice "a" with:
      """
      allNodes: true
      pool: {name: a}
      devices: [{name: d1}]
      """
    Then a ResourcePoolStatusRequest for <spec> comes to report:
      """
      {poolCount: <count>, pools: <pools>}
      """

    @DRA-304
    Examples: the limit shortens the list and not the count
      | which               | reported            | spec                        | count | pools           |
      | for at most one pool | one pool and counts two | {driver: $(sim), limit: 1}  | 2     | [{poolName: a}] |

    @DRA-304b
    Examples: a named pool
      | which              | reported      | spec                           | count | pools           |
      | for a pool by name | this pool     | {driver: $(sim), poolName: b}  | 1     | [{poolName: b}] |

    @DRA-306
    Examples: nothing matches
      | which                              | reported | spec                          | count | pools |
      | for a driver that publishes nothing | no pool | {driver: other.$(sim)}        | 0     | null  |
      | for a pool that does not exist      | no pool | {driver: $(sim), poolName: c} | 0     | null  |

  @gate:DRAConsumableCapacity
  Scenario Outline: A pool with a device of two claims reports <what>
    Given a ResourceSlice "shared" with:
      """
      allNodes: true
      pool: {name: p}
      devices:
        - {name: s, allowMultipleAllocations: true, capacity: {memory: {value: 10Gi}, lanes: {value: "4"}}}
        - {name: t, allowMultipleAllocations: true, capacity: {memory: {value: 10Gi}}}
        - {name: x, capacity: {memory: {value: 5Gi}}}
        - {name: y}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "three" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "one" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: p, device: s, shareID: 0e4a2e4c-2f44-4d5f-9c50-6c7bb2f6a001, consumedCapacity: {memory: 3Gi, lanes: "1"}}]}}
    And "status.allocation" of the ResourceClaim "two" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: p, device: s, shareID: 0e4a2e4c-2f44-4d5f-9c50-6c7bb2f6a002, consumedCapacity: {memory: 4Gi, lanes: "0"}}]}}
    And "status.allocation" of the ResourceClaim "three" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: p, device: x}]}}
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools: [<pool>]
      """

    @DRA-562
    Examples:
      | what                     | pool                                                                         |
      | it as one of its devices | {totalDevices: 4, allocatedDevices: 2, availableDevices: 2, unavailableDevices: 0} |

    @DRA-562b
    Examples:
      | what                        | pool |
      | the sums of shared capacity | {shareableSummary: {fullyAvailableDevices: 1, partiallyAvailableDevices: 1, capacity: [{name: lanes, total: 4, consumed: 1, available: 3}, {name: memory, total: 20Gi, consumed: 7Gi, available: 13Gi}]}} |

  @DRA-562b
  Scenario: A pool without shared devices has no summary of shared capacity
    Given a ResourceSlice "exclusive" with:
      """
      allNodes: true
      pool: {name: p}
      devices: [{name: d, capacity: {memory: {value: 5Gi}}}]
      """
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools: [{totalDevices: 1, shareableSummary: null, partitionSummary: null}]
      """

  @DRA-303
  Scenario: Neither the slices nor the allocations of another driver's pool of that name are counted
    Given a ResourceSlice "own" with:
      """
      allNodes: true
      pool: {name: a}
      devices: [{name: d1}, {name: d2}]
      """
    And a ResourceSlice "of-another" with:
      """
      driver: another.$(sim)
      allNodes: true
      pool: {name: a}
      devices: [{name: d1}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "held" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "held" is set to {devices: {results: [{request: gpu, driver: another.$(sim), pool: a, device: d1}]}}
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      poolCount: 1
      pools: [{poolName: a, driver: $(sim), totalDevices: 2, allocatedDevices: 0, availableDevices: 2}]
      """

  @DRA-563
  Scenario: A device with admin access only is not allocated
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And a ResourceSlice "devices" with:
      """
      allNodes: true
      pool: {name: p}
      devices: [{name: a}, {name: b}, {name: c}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "watching" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All, adminAccess: true}}]
      """
    And a ResourceClaim "using" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "watching" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: p, device: a, adminAccess: true}, {request: gpu, driver: $(sim), pool: p, device: b, adminAccess: true}]}}
    And "status.allocation" of the ResourceClaim "using" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: p, device: b}]}}
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools: [{totalDevices: 3, allocatedDevices: 1, availableDevices: 2}]
      """

  @DRA-564 @gate:DRADeviceTaints @gate:DRADeviceTaintRules
  Scenario: Devices with taints that bar allocation are unavailable
    When a DeviceTaintRule "none" is created with:
      """
      deviceSelector: {driver: $(sim), pool: p, device: ruled-none}
      taint: {key: example.com/none, effect: None}
      """
    And a DeviceTaintRule "unselective" is created with:
      """
      taint: {key: example.com/unselective, effect: NoSchedule}
      """
    And a DeviceTaintRule "bar" is created with:
      """
      deviceSelector: {driver: $(sim), pool: p, device: ruled}
      taint: {key: example.com/bar, effect: NoSchedule}
      """
    And a ResourceSlice "devices" is published with:
      """
      allNodes: true
      pool: {name: p}
      devices:
        - {name: scheduled, taints: [{key: example.com/a, effect: NoSchedule}]}
        - {name: executed, taints: [{key: example.com/a, effect: None}, {key: example.com/b, effect: NoExecute}]}
        - {name: noted, taints: [{key: example.com/a, effect: None}]}
        - {name: ruled}
        - {name: ruled-none}
        - {name: free}
      """
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools: [{totalDevices: 6, allocatedDevices: 0, unavailableDevices: 3, availableDevices: 3}]
      """

  @DRA-564b @gate:DRADeviceTaints
  Scenario: An allocated device with a taint is missing once from the available ones
    Given a ResourceSlice "devices" with:
      """
      allNodes: true
      pool: {name: p}
      devices: [{name: a, taints: [{key: example.com/a, effect: NoSchedule}]}, {name: b}, {name: c, taints: [{key: example.com/a, effect: NoSchedule}]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "held" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "held" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: p, device: a}]}}
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools: [{totalDevices: 3, allocatedDevices: 1, unavailableDevices: 1, availableDevices: 1}]
      """

  @DRA-565 @gate:DRAPartitionableDevices @gate:DRAPartitionableDevicesType
  Scenario: Each type of partition is counted alone against the free counters
    Given a ResourceSlice "counters" with:
      """
      allNodes: true
      pool: {name: p, resourceSliceCount: 2}
      sharedCounters: [{name: one, counters: {units: {value: "2"}}}, {name: two, counters: {units: {value: "2"}}}]
      """
    And a ResourceSlice "partitions" with:
      """
      allNodes: true
      pool: {name: p, resourceSliceCount: 2}
      partitionTypeAttribute: dra.test/profile
      devices: [{name: whole}, {name: full, attributes: {dra.test/profile: {string: full}}, consumesCounters: [{counterSet: one, counters: {units: {value: "2"}}}]},
        {name: half-1, attributes: {dra.test/profile: {string: half}}, consumesCounters: [{counterSet: one, counters: {units: {value: "1"}}}]},
        {name: half-2, attributes: {dra.test/profile: {string: half}}, consumesCounters: [{counterSet: one, counters: {units: {value: "1"}}}]},
        {name: big, attributes: {dra.test/profile: {string: big}}, consumesCounters: [{counterSet: two, counters: {units: {value: "2"}}}]},
        {name: small, attributes: {dra.test/profile: {string: small}}, consumesCounters: [{counterSet: two, counters: {units: {value: "1"}}}]},
        {name: small-2, attributes: {dra.test/profile: {string: small}}, consumesCounters: [{counterSet: two, counters: {units: {value: "1"}}}]},
        {name: small-3, attributes: {dra.test/profile: {string: small}}, consumesCounters: [{counterSet: two, counters: {units: {value: "1"}}}]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "held" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "held" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: p, device: half-1}]}}
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools:
        - totalDevices: 8
          allocatedDevices: 1
          validationError: null
          partitionSummary:
            - {attribute: dra.test/profile, type: big, total: 1, allocatable: 1}
            - {attribute: dra.test/profile, type: full, total: 1, allocatable: 0}
            - {attribute: dra.test/profile, type: half, total: 2, allocatable: 1}
            - {attribute: dra.test/profile, type: small, total: 3, allocatable: 2}
      """

  @DRA-566 @gate:DRAPartitionableDevices @gate:DRAPartitionableDevicesType
  Scenario: A type whose partitions differ in cost is an error of its pool, and the devices are counted
    Given a ResourceSlice "counters" with:
      """
      allNodes: true
      pool: {name: p, resourceSliceCount: 2}
      sharedCounters: [{name: one, counters: {units: {value: "4"}}}]
      """
    And a ResourceSlice "partitions" with:
      """
      allNodes: true
      pool: {name: p, resourceSliceCount: 2}
      partitionTypeAttribute: dra.test/profile
      devices:
        - {name: a, attributes: {dra.test/profile: {string: half}}, consumesCounters: [{counterSet: one, counters: {units: {value: "1"}}}]}
        - {name: b, attributes: {dra.test/profile: {string: half}}, consumesCounters: [{counterSet: one, counters: {units: {value: "2"}}}]}
      """
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools: [{totalDevices: 2, allocatedDevices: 0, availableDevices: 2, partitionSummary: null, validationError: like "PartitionCostMismatch:.*"}]
      """

  @DRA-567
  Scenario: The devices of an incomplete pool are not counted
    Given a ResourceSlice "complete" with:
      """
      allNodes: true
      pool: {name: complete}
      devices: [{name: a}]
      """
    And a ResourceSlice "first" with:
      """
      allNodes: true
      pool: {name: partial, resourceSliceCount: 2}
      devices: [{name: a}]
      """
    Then a ResourcePoolStatusRequest for {driver: $(sim), poolName: complete} comes to report:
      """
      {poolCount: 1, pools: [{totalDevices: 1}]}
      """
    And a ResourcePoolStatusRequest for {driver: $(sim)} reports no number of devices of pool "partial"
    When a ResourceSlice "second" is published with:
      """
      allNodes: true
      pool: {name: partial, resourceSliceCount: 2}
      devices: [{name: b}]
      """
    Then a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      {poolCount: 2, pools: [{poolName: complete, totalDevices: 1}, {poolName: partial, totalDevices: 2}]}
      """

  @DRA-568 @gate:DRAPartitionableDevices @gate:DRAPartitionableDevicesType
  Scenario: The default type of a request is that of partitions whose slices have none, and of no others
    Given a ResourceSlice "own-counters" with:
      """
      allNodes: true
      pool: {name: own, resourceSliceCount: 2}
      sharedCounters: [{name: one, counters: {units: {value: "4"}}}]
      """
    And a ResourceSlice "own-typed" with:
      """
      allNodes: true
      pool: {name: own, resourceSliceCount: 2}
      partitionTypeAttribute: dra.test/profile
      devices: [{name: a, attributes: {dra.test/profile: {string: half}, dra.test/kind: {string: x}}, consumesCounters: [{counterSet: one, counters: {units: {value: "1"}}}]}]
      """
    And a ResourceSlice "plain-counters" with:
      """
      allNodes: true
      pool: {name: plain, resourceSliceCount: 2}
      sharedCounters: [{name: one, counters: {units: {value: "4"}}}]
      """
    And a ResourceSlice "plain-untyped" with:
      """
      allNodes: true
      pool: {name: plain, resourceSliceCount: 2}
      devices: [{name: b, attributes: {dra.test/kind: {string: x}}, consumesCounters: [{counterSet: one, counters: {units: {value: "1"}}}]}]
      """
    Then a ResourcePoolStatusRequest for {driver: $(sim), defaultPartitionTypeAttribute: dra.test/kind} comes to report:
      """
      pools:
        - {poolName: own, totalDevices: 1, partitionSummary: [{attribute: dra.test/profile, type: half, total: 1, allocatable: 1}]}
        - {poolName: plain, totalDevices: 1, partitionSummary: [{attribute: dra.test/kind, type: x, total: 1, allocatable: 1}]}
      """
    And a ResourcePoolStatusRequest for {driver: $(sim)} comes to report:
      """
      pools:
        - {poolName: own, totalDevices: 1, partitionSummary: [{attribute: dra.test/profile, type: half, total: 1, allocatable: 1}]}
        - {poolName: plain, totalDevices: 1, partitionSummary: null}
      """

  @DRA-305
  Scenario Outline: A request with <what> is refused
    Given the manifest "claims/pool-status-request"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<path>"

    Examples:
      | what                | path        | value | reason   |
      | a limit of 0        | spec.limit  | 0     | Invalid  |
      | a limit of 1001     | spec.limit  | 1001  | Invalid  |
      | no driver           | spec.driver | ""    | Required |

  @DRA-305
  Scenario Outline: A request with <what> has the limit <limit>
    Given the manifest "claims/pool-status-request"
    And "spec.limit" is <value>
    When it is created
    Then its "spec.limit" reads <limit>

    Examples:
      | what                 | value | limit |
      | no limit             | null  | 100   |
      | the smallest limit   | 1     | 1     |
      | the greatest limit   | 1000  | 1000  |
