@profile:scheduler-core @component:scheduler @component:binder @gate:DRAConsumableCapacity
Feature: Consumable capacity
  A device can be allocated to several requests, each with a part of its capacity (KEP-5075).

  @DRA-201 @component:claim-controller
  Scenario: A device is shared until its capacity is used up
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}]
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "one" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "two" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "three" for 1 of "nic" with capacity {bandwidth: 4}
    And a pod "first" using claim "one"
    And a pod "second" using claim "two"
    Then claim "one" is allocated the devices "nic"
    And claim "two" is allocated the devices "nic"
    And the shares of claims "one, two" have distinct ids
    When a pod "third" using claim "three" is created
    Then claim "three" stays unallocated
    When pod "first" is force-deleted
    Then claim "three" is allocated the devices "nic"

  @DRA-201 @gate:DRAExtendedResource @component:claim-controller
  Scenario: A device is shared by pods that request it as an extended resource until its capacity is used up
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: nic
          allowMultipleAllocations: true
          capacity: {bandwidth: {value: 3, requestPolicy: {default: 1, validRange: {min: 1}}}}
      """
    And a DeviceClass "nic" for those devices with extended resource "$(suffix).dra.test/nic"
    When a pod "first" requesting {$(suffix).dra.test/nic: 1} is created
    Then pod "first" is bound to "n1"
    When a pod "second" requesting {$(suffix).dra.test/nic: 1} is created
    Then pod "second" is bound to "n1"
    When a pod "third" requesting {$(suffix).dra.test/nic: 1} is created
    Then pod "third" is bound to "n1"
    When a pod "fourth" requesting {$(suffix).dra.test/nic: 1} is created
    Then pod "fourth" stays unbound

  @DRA-181 @gate:DRAPrioritizedList
  Scenario: An alternative of less capacity is used if a device has not enough for the first one
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}]
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "most" for 1 of "nic" with capacity {bandwidth: 6}
    And a ResourceClaim "either" with:
      """
      requests:
        - name: nic
          firstAvailable:
            - {name: fast, deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 6}}}
            - {name: slow, deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 4}}}
      """
    And a pod "first" using claim "most"
    Then claim "most" is allocated the devices "nic"
    When a pod "second" using claim "either" is created
    Then the ResourceClaim "either" has "status.allocation.devices.results[*].request" [nic/slow]
    And request "nic/slow" of claim "either" takes {bandwidth: 4}

  @DRA-212
  Scenario Outline: A device is not shared if its <which> capacity is used up
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}, queues: {value: 10}}}]
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "one" for 1 of "nic" with capacity <capacity>
    And a ResourceClaim "two" for 1 of "nic" with capacity <capacity>
    And a ResourceClaim "three" for 1 of "nic" with capacity {bandwidth: 4, queues: 4}
    And a pod "first" using claim "one"
    Then claim "one" is allocated the devices "nic"
    When a pod "second" using claim "two" is created
    Then claim "two" stays unallocated
    When a pod "third" using claim "three" is created
    Then claim "three" is allocated the devices "nic"

    Examples:
      | which  | capacity                  |
      | first  | {bandwidth: 6, queues: 1} |
      | second | {bandwidth: 1, queues: 6} |

  @DRA-201b
  Scenario: A shared device is not allocated exclusively
    Given node "n1"
    And a ResourceSlice "before" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1, resourceSliceCount: 1}
      devices: [{name: a, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 0}}}]
      """
    And a DeviceClass "first" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].port == 0'
    And a DeviceClass "second" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].port == 1'
    And a ResourceClaim "share" for 1 of "first"
    And a ResourceClaim "other" for 1 of "second"
    And a ResourceClaim "alone" for 1 of "first"
    And a pod "sharing" using claim "share"
    Then claim "share" is allocated the devices "a"
    When a ResourceSlice "after" is published with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 2, resourceSliceCount: 1}
      devices: [{name: a, attributes: {dra.test/port: {int: 0}}}, {name: b, attributes: {dra.test/port: {int: 1}}}]
      """
    And a pod "later" using claim "other" is created
    Then claim "other" is allocated the devices "b"
    When a pod "late" using claim "alone" is created
    Then claim "alone" stays unallocated

  @DRA-770
  Scenario: A device that a claim has to itself is not shared when it allows several allocations
    Given node "n1"
    And a ResourceSlice "before" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1, resourceSliceCount: 1}
      devices: [{name: a, attributes: {dra.test/port: {int: 0}}}]
      """
    And a DeviceClass "first" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].port == 0'
    And a DeviceClass "second" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].port == 1'
    And a ResourceClaim "alone" for 1 of "first"
    And a ResourceClaim "other" for 1 of "second"
    And a ResourceClaim "share" for 1 of "first"
    And a ResourceClaim "share-too" for 1 of "second"
    And a pod "early" using claim "alone"
    Then claim "alone" is allocated the devices "a"
    When a ResourceSlice "after" is published with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 2, resourceSliceCount: 1}
      devices:
        - {name: a, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 0}}}
        - {name: b, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 1}}}
      """
    And a pod "later" using claim "other" is created
    Then claim "other" is allocated the devices "b"
    When a pod "late" using claim "share" is created
    And a pod "late-too" using claim "share-too" is created
    Then claim "share-too" is allocated the devices "b"
    And claim "share" stays unallocated

  @DRA-155b
  Scenario: Allocation mode All does not mean all devices with free capacity
    Given node "n1"
    And a ResourceSlice "nics" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 0}},
           capacity: {bandwidth: {value: 10}}}
        - {name: b, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 1}},
           capacity: {bandwidth: {value: 10}}}
        - {name: small, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 2}},
           capacity: {bandwidth: {value: 2}}}
      """
    And a DeviceClass "nic" for those devices
    And a DeviceClass "first" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].port == 0'
    And a ResourceClaim "one" for 1 of "first" with capacity {bandwidth: 6}
    And a ResourceClaim "less" with:
      """
      requests:
        - {name: all,
           exactly: {deviceClassName: $(class:nic), allocationMode: All, capacity: {requests: {bandwidth: 3}}}}
      """
    And a ResourceClaim "more" with:
      """
      requests:
        - {name: all,
           exactly: {deviceClassName: $(class:nic), allocationMode: All, capacity: {requests: {bandwidth: 5}}}}
      """
    And a pod "first" using claim "one"
    Then pod "first" is bound to "n1"
    When a pod "second" using claim "less" is created
    Then claim "less" is allocated the devices "a, b"
    When a pod "third" using claim "more" is created
    Then claim "more" stays unallocated

  @DRA-237c
  Scenario: Admin access to a shared device needs no capacity
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}]
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "all-of-it" for 1 of "nic" with capacity {bandwidth: 10}
    And a ResourceClaim "watch" with:
      """
      requests: [{name: nic, exactly: {deviceClassName: $(class:nic), adminAccess: true}}]
      """
    And a pod "train" using claim "all-of-it"
    Then pod "train" is bound to "n1"
    When a pod "monitor" using claim "watch" is created
    Then pod "monitor" is bound to "n1"

  @DRA-202 @DRA-203 @DRA-204 @DRA-206
  Scenario: The consumed capacity follows from request and policy
    Given node "n1"
    And the objects of the manifest "allocation/policies"
    When a pod "train" using claim "shares" is created
    Then request "default" of claim "shares" takes {m: 3} [DRA-202]
    And request "whole" of claim "shares" takes {m: 7} [DRA-203]
    And request "stepped" of claim "shares" takes {m: 7} [DRA-204]
    And request "on-step" of claim "shares" takes {m: 11} [DRA-204]
    And request "most" of claim "shares" takes {m: 15} [DRA-204]
    And request "least" of claim "shares" takes {m: 3} [DRA-204]
    And request "listed" of claim "shares" takes {m: 4} [DRA-206]
    And request "twofold" of claim "shares" takes {m: 2, n: 8} [DRA-202]

  @DRA-205 @DRA-206 @DRA-207 @DRA-208
  Scenario: A device that cannot provide the requested capacity is not allocated
    Given node "n1"
    And the objects of the manifest "allocation/policies"
    And a ResourceClaim "over-range" for 1 of "stepped" with capacity {m: 16}
    And a ResourceClaim "top-of-range" for 1 of "stepped" with capacity {m: 15}
    And a ResourceClaim "top-of-list" for 1 of "listed" with capacity {m: 8}
    And a ResourceClaim "over-list" for 1 of "listed" with capacity {m: 9}
    And a ResourceClaim "unknown" for 1 of "stepped" with capacity {x: 1}
    And a ResourceClaim "alone" for 1 of "exclusive" with capacity {m: 5}
    When a pod "five" using claim "top-of-range" is created
    And a pod "six" using claim "top-of-list" is created
    And a pod "one" using claim "over-range" is created
    And a pod "two" using claim "over-list" is created
    And a pod "three" using claim "unknown" is created
    And a pod "four" using claim "alone" is created
    Then claim "alone" is allocated the devices "large" [DRA-208]
    And the ResourceClaim "alone" has "status.allocation.devices.results[0].consumedCapacity" null [DRA-208]
    And the ResourceClaim "alone" has "status.allocation.devices.results[0].shareID" null [DRA-208]
    And request "gpu" of claim "top-of-range" takes {m: 15} [DRA-205]
    And request "gpu" of claim "top-of-list" takes {m: 8} [DRA-206]
    And claim "over-range" stays unallocated [DRA-205]
    And claim "over-list" stays unallocated [DRA-206]
    And claim "unknown" stays unallocated [DRA-207]

  @DRA-205b
  Scenario: A requested capacity beyond 64 bits is not allocated
    Given node "n1"
    And a ResourceSlice "shared" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: stepped
          allowMultipleAllocations: true
          capacity: {m: {value: 20, requestPolicy: {default: 3, validRange: {min: 3, max: 15, step: 4}}}}
      """
    And a DeviceClass "stepped" for those devices
    And a ResourceClaim "huge" for 1 of "stepped" with capacity {m: 9223372036854775808}
    And a ResourceClaim "wrapped" for 1 of "stepped" with capacity {m: 18446744073709551623}
    And a ResourceClaim "most" for 1 of "stepped" with capacity {m: 12}
    When a pod "one" using claim "huge" is created
    And a pod "two" using claim "wrapped" is created
    And a pod "three" using claim "most" is created
    Then request "gpu" of claim "most" takes {m: 15}
    And claim "huge" stays unallocated
    And claim "wrapped" stays unallocated

  @DRA-492
  Scenario: A requested capacity that is rounded up beyond 64 bits is not allocated
    Given node "n1"
    And a ResourceSlice "shared" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: stepped
          allowMultipleAllocations: true
          capacity: {m: {value: 20, requestPolicy: {default: 1, validRange: {min: 1, step: 4}}}}
      """
    And a DeviceClass "stepped" for those devices
    And a ResourceClaim "last" for 1 of "stepped" with capacity {m: 9223372036854775807}
    And a ResourceClaim "before" for 1 of "stepped" with capacity {m: 9223372036854775806}
    And a ResourceClaim "most" for 1 of "stepped" with capacity {m: 14}
    When a pod "one" using claim "last" is created
    And a pod "two" using claim "before" is created
    And a pod "three" using claim "most" is created
    Then request "gpu" of claim "most" takes {m: 17}
    And claim "last" stays unallocated
    And claim "before" stays unallocated

  @DRA-493
  Scenario: Devices without a requested capacity are skipped
    Given node "n1"
    And a ResourceSlice "shared" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, allowMultipleAllocations: true, capacity: {m: {value: 10}}}
        - {name: b, allowMultipleAllocations: true, capacity: {m: {value: 10}, n: {value: 10}}}
        - {name: c, allowMultipleAllocations: true, capacity: {m: {value: 10}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator" with capacity {m: 1, n: 4}
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "b"
    And request "gpu" of claim "mine" takes {m: 1, n: 4}

  @DRA-495
  Scenario Outline: Devices whose <policy> does not allow the requested capacity are skipped
    Given node "n1"
    And a ResourceSlice "shared" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, allowMultipleAllocations: true, capacity: {m: {value: 20, requestPolicy: <small>}}}
        - {name: b, allowMultipleAllocations: true, capacity: {m: {value: 20, requestPolicy: <large>}}}
        - {name: c, allowMultipleAllocations: true, capacity: {m: {value: 20, requestPolicy: <small>}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator" with capacity {m: 6}
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "b"
    And request "gpu" of claim "mine" takes {m: 8}

    Examples:
      | policy         | small                                              | large                                              |
      | range          | {default: 2, validRange: {min: 2, max: 4}}         | {default: 8, validRange: {min: 8, max: 10}}        |
      | range of steps | {default: 2, validRange: {min: 2, max: 5, step: 3}} | {default: 2, validRange: {min: 2, max: 8, step: 3}} |
      | list of values | {default: 2, validValues: [2, 4]}                  | {default: 2, validValues: [2, 8]}                  |

  @DRA-205c
  Scenario: A negative capacity is not allocated
    Given node "n1"
    And a ResourceSlice "shared" with:
      """
      nodeName: $(node:n1)
      devices: [{name: free, allowMultipleAllocations: true, capacity: {m: {value: 10}, n: {value: 10}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "negative" for 1 of "accelerator" with capacity {m: -5, n: 1}
    And a ResourceClaim "whole" for 1 of "accelerator" with capacity {m: 10, n: 0}
    When a pod "one" using claim "negative" is created
    And a pod "two" using claim "whole" is created
    Then request "gpu" of claim "whole" takes {m: 10, n: 0}
    And claim "negative" stays unallocated

  @DRA-212b
  Scenario: Requests of one claim for capacities of more than 18 digits are counted exactly
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: nic
          allowMultipleAllocations: true
          capacity: {m: {value: 100G, requestPolicy: {default: 1, validRange: {min: 1}}}}
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "both" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:nic), capacity: {requests: {m: "10000000000.000000001"}}}}
        - {name: y, exactly: {deviceClassName: $(class:nic), capacity: {requests: {m: "20000000000.000000002"}}}}
      """
    And a ResourceClaim "late" for 1 of "nic" with capacity {m: 60G}
    When a pod "train" using claim "both" is created
    Then request "x" of claim "both" takes {m: "10000000000.000000001"}
    And request "y" of claim "both" takes {m: "20000000000.000000002"}
    When a pod "second" using claim "late" is created
    Then request "gpu" of claim "late" takes {m: 60G}

  @DRA-209 @DRA-210
  Scenario: Two requests can share a device, unless a constraint forbids it
    Given node "n1"
    And a ResourceSlice "nics" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 0}},
           capacity: {bandwidth: {value: 10}}}
        - {name: b, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 1}},
           capacity: {bandwidth: {value: 10}}}
      """
    And a DeviceClass "nic" for those devices
    And a DeviceClass "first" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].port == 0'
    And a ResourceClaim "same" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:first), capacity: {requests: {bandwidth: 1}}}}
        - {name: y, exactly: {deviceClassName: $(class:first), capacity: {requests: {bandwidth: 1}}}}
      """
    And a ResourceClaim "apart" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 1}}}}
        - {name: y, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 1}}}}
      constraints: [{distinctAttribute: dra.test/port}]
      """
    When a pod "one" using claim "same" is created
    Then claim "same" is allocated the devices "a, a" [DRA-210]
    And the shares of claims "same" have distinct ids [DRA-210]
    When a pod "two" using claim "apart" is created
    Then claim "apart" is allocated the devices "a, b" [DRA-209]

  @DRA-172
  Scenario: A shared device that the search releases has its capacity again
    Given node "n1"
    And a ResourceSlice "nics" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 0}},
           capacity: {bandwidth: {value: 10}}}
        - {name: b, allowMultipleAllocations: true, attributes: {dra.test/port: {int: 1}},
           capacity: {bandwidth: {value: 10}}}
      """
    And a DeviceClass "nic" for those devices
    And a DeviceClass "first" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].port == 0'
    And a ResourceClaim "both" with:
      """
      requests:
        - {name: any, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 6}}}}
        - {name: first, exactly: {deviceClassName: $(class:first), capacity: {requests: {bandwidth: 6}}}}
      """
    When a pod "train" using claim "both" is created
    Then request "first" of claim "both" is allocated the devices "a"
    And request "any" of claim "both" is allocated the devices "b"

  @DRA-211 @gate:DRAPartitionableDevices @component:claim-controller
  Scenario: A shared partition consumes its counters once
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 1}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: shared, allowMultipleAllocations: true, attributes: {dra.test/kind: {string: shared}},
           capacity: {m: {value: 10}}, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
        - {name: alone, attributes: {dra.test/kind: {string: alone}},
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "shared" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].kind == "shared"'
    And a DeviceClass "alone" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].kind == "alone"'
    And a ResourceClaim "one" for 1 of "shared" with capacity {m: 1}
    And a ResourceClaim "two" for 1 of "shared" with capacity {m: 1}
    And a ResourceClaim "other" for 1 of "alone"
    And a pod "first" using claim "one"
    And a pod "second" using claim "two"
    Then pod "first" is bound
    And pod "second" is bound
    When a pod "third" using claim "other" is created
    And pod "first" is force-deleted
    Then claim "other" stays unallocated
    When pod "second" is force-deleted
    Then claim "other" is allocated the devices "alone"

  @DRA-211 @gate:DRAPartitionableDevices
  Scenario: A shared partition without capacity consumes its counters once
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 1}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: shared, allowMultipleAllocations: true, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a pod "first" using claim "one"
    Then pod "first" is bound
    When a pod "second" using claim "two" is created
    Then pod "second" is bound

  @DRA-211 @gate:DRAPartitionableDevices
  Scenario: Two shares of one pod consume the counters of a partition once
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 1}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: shared, allowMultipleAllocations: true, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    When a pod "train" using claim "one, two" is created
    Then pod "train" is bound

  @DRA-212
  Scenario: Concurrent requests do not exceed the capacity
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}]
      """
    And a DeviceClass "nic" for those devices
    And pods "p" 1 to 8 each using a claim of their own with:
      """
      requests: [{name: nic, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: "3"}}}}]
      """
    Then exactly 3 of the claims "p-1, p-2, p-3, p-4, p-5, p-6, p-7, p-8" are allocated

  Scenario Outline: Fractions of a capacity are rounded up to steps exactly
    Given node "n1"
    And a ResourceSlice "shared" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: core
          allowMultipleAllocations: true
          capacity: {m: {value: 1, requestPolicy: {default: 100m, validRange: {min: 100m, step: 150m}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shares" with:
      """
      requests:
        - {name: one, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {m: <requested>}}}}
        - {name: two, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {m: 250m}}}}
        - {name: least, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {m: 50m}}}}
      """
    And a ResourceClaim "more" for 1 of "accelerator" with capacity {m: 260m}
    When a pod "train" using claim "shares" is created
    Then request "one" of claim "shares" takes {m: <taken>}
    And request "two" of claim "shares" takes {m: 250m}
    And request "least" of claim "shares" takes {m: 100m}
    When a pod "late" using claim "more" is created
    Then claim "more" stays unallocated

    @DRA-204b @until:1.36
    Examples: of every range
      | requested | taken |
      | 300m      | 400m  |

    @DRA-488 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples: of a range with fractions
      | requested | taken |
      | 251m      | 400m  |
      | 401m      | 550m  |

  @DRA-212
  Scenario: Requests of one claim do not exceed the capacity of a device together
    Given node "n1"
    And a ResourceSlice "nics" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}, queues: {value: 3}}}
        - {name: b, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}, queues: {value: 3}}}
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "three" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 4, queues: 1}}}}
        - {name: y, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 4, queues: 1}}}}
        - {name: z, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 4, queues: 1}}}}
      """
    And a ResourceClaim "late" for 1 of "nic" with capacity {bandwidth: 6, queues: 2}
    And a ResourceClaim "last" for 1 of "nic" with capacity {bandwidth: 1, queues: 1}
    And a ResourceClaim "none" for 1 of "nic" with capacity {bandwidth: 2, queues: 1}
    When a pod "train" using claim "three" is created
    Then claim "three" is allocated the devices "a, a, b"
    And the shares of claims "three" have distinct ids
    When a pod "second" using claim "late" is created
    Then claim "late" is allocated the devices "b"
    When a pod "third" using claim "last" is created
    Then claim "last" is allocated the devices "a"
    When a pod "fourth" using claim "none" is created
    Then claim "none" stays unallocated

  @DRA-212
  Scenario: Requests of one claim and the shares of other claims do not exceed the capacity of a device together
    Given node "n1"
    And a ResourceSlice "nics" with:
      """
      nodeName: $(node:n1)
      devices: [{name: a, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}, queues: {value: 9}}}]
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "held" for 1 of "nic" with capacity {bandwidth: 4, queues: 1}
    And a ResourceClaim "large" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 4, queues: 1}}}}
        - {name: y, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 3, queues: 1}}}}
      """
    And a ResourceClaim "small" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 3, queues: 1}}}}
        - {name: y, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 3, queues: 1}}}}
      """
    When a pod "first" using claim "held" is created
    Then claim "held" is allocated the devices "a"
    When a pod "second" using claim "large" is created
    Then claim "large" stays unallocated
    When a pod "third" using claim "small" is created
    Then claim "small" is allocated the devices "a, a"

  @DRA-133c
  Scenario: A smaller request of a claim uses a device that has not enough left for the larger one
    Given node "n1"
    And a ResourceSlice "nics" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}
        - {name: b, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "held" for 1 of "nic" with capacity {bandwidth: 6}
    And a ResourceClaim "two" with:
      """
      requests:
        - {name: large, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 10}}}}
        - {name: small, exactly: {deviceClassName: $(class:nic), capacity: {requests: {bandwidth: 4}}}}
      """
    When a pod "first" using claim "held" is created
    Then claim "held" is allocated the devices "a"
    When a pod "second" using claim "two" is created
    Then claim "two" is allocated the devices "a, b"

  @DRA-211 @DRA-191 @gate:DRAPartitionableDevices @component:claim-controller
  Scenario: Shared partitions of two boards consume the counters of their own board
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 2}, k: {value: 1}}}, {name: s2, counters: {m: {value: 1}, k: {value: 2}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: shared-1, allowMultipleAllocations: true, attributes: {dra.test/board: {int: 1}},
           capacity: {m: {value: 10}}, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}, k: {value: 1}}}]}
        - {name: alone-1, attributes: {dra.test/board: {int: 1}},
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}, k: {value: 1}}}]}
        - {name: alone-2, attributes: {dra.test/board: {int: 2}},
           consumesCounters: [{counterSet: s2, counters: {m: {value: 1}, k: {value: 1}}}]}
      """
    And a DeviceClass "one" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].board == 1'
    And a DeviceClass "two" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].board == 2'
    And a ResourceClaim "a" for 1 of "one" with capacity {m: 4}
    And a ResourceClaim "b" for 1 of "one" with capacity {m: 4}
    And a ResourceClaim "c" for 1 of "one"
    And a ResourceClaim "d" for 1 of "two"
    When a pod "first" using claim "a" is created
    And a pod "second" using claim "b" is created
    Then claim "a" is allocated the devices "shared-1" [DRA-211]
    And claim "b" is allocated the devices "shared-1" [DRA-211]
    When a pod "third" using claim "c" is created
    And a pod "fourth" using claim "d" is created
    Then claim "d" is allocated the devices "alone-2" [DRA-191]
    And claim "c" stays unallocated [DRA-211]
    When pod "first" is force-deleted
    Then claim "c" stays unallocated [DRA-211]
    When pod "second" is force-deleted
    Then the allocation of claim "c" is valid [DRA-191]
