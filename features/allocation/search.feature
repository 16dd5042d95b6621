@profile:scheduler-core @component:scheduler @component:binder
Feature: The search for devices
  A scheduler finds devices for all requests of a pod if there are any, in whatever order requests and devices are
  listed.

  @DRA-133c
  Scenario Outline: Requests with overlapping devices are all served (<case>)
    Given node "n1" with <devices> devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "chain" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["$(sim)"].index in <a>'}}]}}
        - {name: b, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["$(sim)"].index in <b>'}}]}}
        - {name: c, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["$(sim)"].index in <c>'}}]}}
        - {name: d, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["$(sim)"].index in <d>'}}]}}
      """
    When a pod "train" using claim "chain" is created
    Then pod "train" is bound to "n1"
    And the allocation of claim "chain" is valid

    Examples:
      | case             | devices | a         | b         | c         | d      |
      | one moves        | 4       | [0, 1]    | [1, 2]    | [0, 1]    | [3, 2] |
      | two move         | 4       | [0, 1]    | [1, 2]    | [2, 3]    | [0, 1] |
      | the last is free | 5       | [0, 1, 2] | [0, 1]    | [0]       | [0, 4] |
      | all but one      | 6       | [2, 3, 4] | [2, 3]    | [2, 3, 5] | [3]    |

  @DRA-133b
  Scenario Outline: Requests that have too few devices together are not served (<case>)
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "chain" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator), count: <first>, selectors: [{cel: {expression: 'device.attributes["$(sim)"].index in <a>'}}]}}
        - {name: b, exactly: {deviceClassName: $(class:accelerator), count: <second>, selectors: [{cel: {expression: 'device.attributes["$(sim)"].index in <b>'}}]}}
      """
    And a ResourceClaim "one" for 1 of "accelerator"
    When a pod "train" using claim "chain" is created
    Then the Pod "train" has condition PodScheduled False with reason "Unschedulable"
    And claim "chain" stays unallocated
    When a pod "serve" using claim "one" is created
    Then pod "serve" is bound to "n1"

    Examples:
      | case                 | first | a            | second | b      |
      | one device for two   | 1     | [0]          | 1      | [0]    |
      | two devices of three | 2     | [0, 1, 2]    | 2      | [1, 2] |
      | no device for one    | 3     | [0, 1, 2, 3] | 1      | [7]    |

  @DRA-155
  Scenario: Two requests for all devices do not share a device
    Given node "n1" with 3 devices
    And node "n2" with 2 devices
    And a DeviceClass "low" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index < 2'
    And a DeviceClass "high" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index >= 1'
    And a DeviceClass "last" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index == 2'
    And a ResourceClaim "overlapping" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:low), allocationMode: All}}
        - {name: b, exactly: {deviceClassName: $(class:high), allocationMode: All}}
      """
    And a ResourceClaim "disjoint" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:low), allocationMode: All}}
        - {name: b, exactly: {deviceClassName: $(class:last), allocationMode: All}}
      """
    When a pod "train" using claim "overlapping" is created
    Then claim "overlapping" stays unallocated
    When a pod "serve" using claim "disjoint" is created
    Then request "a" of claim "disjoint" is allocated the devices "dev-0, dev-1"
    And request "b" of claim "disjoint" is allocated the devices "dev-2"

  @DRA-154
  Scenario: A request for all devices is served before a request for a count of them
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a DeviceClass "low" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index < 2'
    And a ResourceClaim "both" with:
      """
      requests:
        - {name: some, exactly: {deviceClassName: $(class:accelerator), count: 2}}
        - {name: all, exactly: {deviceClassName: $(class:low), allocationMode: All}}
      """
    When a pod "train" using claim "both" is created
    Then request "all" of claim "both" is allocated the devices "dev-0, dev-1"
    And request "some" of claim "both" is allocated the devices "dev-2, dev-3"

  @DRA-155 @gate:DRADeviceTaints
  Scenario: A request for all devices waits while one of them has a taint or is used, on two nodes
    Given node "n1" with 2 devices, "dev-1" tainted "health=bad:NoSchedule"
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "used" for 1 of "accelerator"
    And claim "used" holds the devices "dev-1" of "n2"
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    When a pod "train" using claim "all" is created
    Then claim "all" stays unallocated
    When device "dev-1" of "n1" loses its taints
    Then pod "train" is bound to "n1"
    And claim "all" is allocated the devices "dev-0, dev-1"

  @DRA-168
  Scenario: All devices are allocated if they satisfy the constraint
    Given node "n1" with 4 devices
    And a DeviceClass "low" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index < 2'
    And a DeviceClass "high" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index >= 2'
    And a ResourceClaim "near" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:low), allocationMode: All}}
        - {name: b, exactly: {deviceClassName: $(class:high)}}
      constraints: [{requests: [a], matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "near" is created
    Then request "a" of claim "near" is allocated the devices "dev-0, dev-1"
    And request "b" of claim "near" is allocated the devices "dev-2"

  @DRA-161b
  Scenario Outline: An expression that fails for <what> delays only its own pod
    Given node "n1"
    And the objects of the manifest "allocation/mixed"
    And a DeviceClass "accelerator" for those devices
    And a DeviceClass "rare" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].rare == 1'
    And a ResourceClaim "wrong" with:
      """
      requests: <requests>
      """
    And a ResourceClaim "right" for 1 of "accelerator" selecting '"rare" in device.attributes["$(sim)"]'
    When a pod "train" using claim "wrong" is created
    Then the Pod "train" has condition PodScheduled False with reason "SchedulerError"
    When a pod "other" using claim "right" is created
    Then pod "other" is bound
    And claim "wrong" stays unallocated

    Examples:
      | what                      | requests                                                                                                                                                                              |
      | a request for all devices | [{name: gpu, exactly: {deviceClassName: $(class:rare), allocationMode: All}}]                                                                                                         |
      | the class of a request    | [{name: gpu, exactly: {deviceClassName: $(class:rare)}}]                                                                                                                              |
      | the second device         | [{name: gpu, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: '"rare" in device.attributes["$(sim)"] && device.attributes["$(sim)"].absent == 1'}}]}}] |
      | the second request        | [{name: gpu, exactly: {deviceClassName: $(class:accelerator)}}, {name: other, exactly: {deviceClassName: $(class:rare), count: 2}}]                                                   |
      | the second selector       | [{name: gpu, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'true'}}, {cel: {expression: 'device.attributes["$(sim)"].rare == 1'}}]}}]               |

  @DRA-158
  Scenario: A device satisfies all selectors of its class and of its request
    Given node "n1" with 8 devices
    And a ResourceClaim "mine" with:
      """
      requests:
        - name: gpu
          exactly:
            deviceClassName: $(class:accelerator)
            selectors:
              - {cel: {expression: 'device.attributes["$(sim)"].index > 2'}}
              - {cel: {expression: 'device.attributes["$(sim)"].index < 7'}}
      """
    And the objects of the manifest "allocation/class_with_two_selectors"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "dev-5"

  @DRA-187 @gate:DRAPrioritizedList
  Scenario: An alternative for all devices that cannot be allocated is replaced by the next
    Given node "n1" with 4 devices
    And a DeviceClass "low" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index < 2'
    And a DeviceClass "high" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index >= 2'
    And a ResourceClaim "used" for 1 of "low"
    And claim "used" holds the devices "dev-1" of "n1"
    And a ResourceClaim "either" with:
      """
      requests:
        - name: gpu
          firstAvailable:
            - {name: low, deviceClassName: $(class:low), allocationMode: All}
            - {name: high, deviceClassName: $(class:high), allocationMode: All}
      """
    When a pod "train" using claim "either" is created
    Then claim "either" is allocated the devices "dev-2, dev-3"
    And the ResourceClaim "either" has "status.allocation.devices.results[*].request" [gpu/high, gpu/high]

  @DRA-184 @gate:DRAPrioritizedList
  Scenario: Alternatives of two claims of a pod are chosen together
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" with:
      """
      requests:
        - {name: r, firstAvailable: [{name: big, deviceClassName: $(class:accelerator), count: 3}, {name: small, deviceClassName: $(class:accelerator), count: 2}]}
      """
    And a ResourceClaim "second" with:
      """
      requests:
        - {name: r, firstAvailable: [{name: big, deviceClassName: $(class:accelerator), count: 2}, {name: small, deviceClassName: $(class:accelerator)}]}
      """
    When a pod "train" using claim "first, second" is created
    Then the ResourceClaim "first" has "status.allocation.devices.results[*].request" [r/small, r/small]
    And the ResourceClaim "second" has "status.allocation.devices.results[*].request" [r/small]

  @DRA-157b @disruptive
  Scenario: Counts whose sum exceeds 64 bits are an error of the claim
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "huge" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator), count: 9223372036854775807}}
        - {name: b, exactly: {deviceClassName: $(class:accelerator), count: 1}}
      """
    And a ResourceClaim "one" for 1 of "accelerator"
    When a pod "train" using claim "huge" is created
    Then the Pod "train" has condition PodScheduled False with reason "SchedulerError"
    When a pod "serve" using claim "one" is created
    Then pod "serve" is bound to "n1"
    And claim "huge" stays unallocated

  @DRA-185b @disruptive @gate:DRAPrioritizedList
  Scenario: An alternative with which the counts exceed 64 bits is skipped
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "either" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator)}}
        - {name: b, firstAvailable: [{name: huge, deviceClassName: $(class:accelerator), count: 9223372036854775807}, {name: one, deviceClassName: $(class:accelerator), count: 1}]}
      """
    When a pod "train" using claim "either" is created
    Then the ResourceClaim "either" has "status.allocation.devices.results[*].request" [a, b/one]

  @DRA-174 @gate:DRAListTypeAttributes
  Scenario: Lists under distinctAttribute have no value in common
    Given node "n1"
    And a ResourceSlice "lists" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d1, attributes: {dra.test/port: {ints: [1, 2]}}}
        - {name: d2, attributes: {dra.test/port: {ints: [2, 3]}}}
        - {name: d3, attributes: {dra.test/port: {ints: [3, 4]}}}
        - {name: d4, attributes: {dra.test/port: {ints: [4, 5]}}}
        - {name: d5, attributes: {dra.test/port: {int: 6}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "three" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 3}}]
      constraints: [{distinctAttribute: dra.test/port}]
      """
    And a ResourceClaim "four" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 4}}]
      constraints: [{distinctAttribute: dra.test/port}]
      """
    When a pod "greedy" using claim "four" is created
    Then claim "four" stays unallocated
    When a pod "train" using claim "three" is created
    Then claim "three" is allocated the devices "d1, d3, d5"

  @DRA-174
  Scenario: Two constraints apply to different requests of one claim
    Given node "n1" with 8 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" with:
      """
      requests:
        - {name: near, exactly: {deviceClassName: $(class:accelerator), count: 2}}
        - {name: far, exactly: {deviceClassName: $(class:accelerator), count: 3}}
      constraints:
        - {requests: [near], matchAttribute: resource.kubernetes.io/pcieRoot}
        - {requests: [far], distinctAttribute: resource.kubernetes.io/pcieRoot}
      """
    When a pod "train" using claim "mine" is created
    Then request "near" of claim "mine" is allocated the devices "dev-0, dev-1"
    And request "far" of claim "mine" is allocated the devices "dev-2, dev-4, dev-6"

  @DRA-237 @gate:DRAPartitionableDevices
  Scenario: A claim has admin access to partitions and partitions of its own
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1"
    And the objects of the manifest "allocation/halves"
    And a ResourceClaim "mixed" with:
      """
      requests:
        - {name: watch, exactly: {deviceClassName: $(class:accelerator), adminAccess: true, selectors: [{cel: {expression: 'device.attributes["$(sim)"].profile == "whole"'}}]}}
        - {name: work, exactly: {deviceClassName: $(class:accelerator), count: 2, selectors: [{cel: {expression: 'device.attributes["$(sim)"].profile == "half"'}}]}}
      """
    When a pod "train" using claim "mixed" is created
    Then request "work" of claim "mixed" is allocated the devices "half-0, half-1"
    And request "watch" of claim "mixed" is allocated the devices "whole"

  @DRA-154 @DRA-189 @gate:DRAPartitionableDevices
  Scenario: All partitions of a board are allocated if their counters suffice
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 2}}}, {name: s2, counters: {m: {value: 2}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: a-0, attributes: {dra.test/board: {int: 0}}, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
        - {name: a-1, attributes: {dra.test/board: {int: 0}}, consumesCounters: [{counterSet: s1, counters: {m: {value: 2}}}]}
        - {name: b-0, attributes: {dra.test/board: {int: 1}}, consumesCounters: [{counterSet: s2, counters: {m: {value: 1}}}]}
        - {name: b-1, attributes: {dra.test/board: {int: 1}}, consumesCounters: [{counterSet: s2, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" with:
      """
      requests:
        - {name: all, exactly: {deviceClassName: $(class:accelerator), allocationMode: All, selectors: [{cel: {expression: 'device.attributes["dra.test"].board == 0'}}]}}
      """
    And a ResourceClaim "second" with:
      """
      requests:
        - {name: all, exactly: {deviceClassName: $(class:accelerator), allocationMode: All, selectors: [{cel: {expression: 'device.attributes["dra.test"].board == 1'}}]}}
      """
    When a pod "greedy" using claim "first" is created
    Then claim "first" stays unallocated [DRA-189]
    When a pod "train" using claim "second" is created
    Then claim "second" is allocated the devices "b-0, b-1" [DRA-154]

  @DRA-190 @gate:DRAPartitionableDevices @gate:DRAConsumableCapacity
  Scenario: A shared device and a partition do not consume the same counters
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 2}, k: {value: 4}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: whole, allowMultipleAllocations: true, attributes: {dra.test/kind: {string: whole}},
           capacity: {memory: {value: 10}}, consumesCounters: [{counterSet: s1, counters: {m: {value: 2}, k: {value: 1}}}]}
        - {name: part-0, attributes: {dra.test/kind: {string: part}},
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}, k: {value: 1}}}]}
        - {name: part-1, attributes: {dra.test/kind: {string: part}},
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}, k: {value: 1}}}]}
      """
    And a DeviceClass "whole" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].kind == "whole"'
    And a DeviceClass "part" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].kind == "part"'
    And a ResourceClaim "one" for 1 of "whole" with capacity {memory: 4}
    And a ResourceClaim "two" for 1 of "whole" with capacity {memory: 4}
    And a ResourceClaim "other" for 1 of "part"
    And a ResourceClaim "both" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:part)}}
        - {name: b, exactly: {deviceClassName: $(class:whole)}}
      """
    When a pod "greedy" using claim "both" is created
    Then claim "both" stays unallocated
    When a pod "first" using claim "one" is created
    And a pod "second" using claim "two" is created
    Then claim "one" is allocated the devices "whole"
    And claim "two" is allocated the devices "whole"
    When a pod "third" using claim "other" is created
    Then claim "other" stays unallocated
