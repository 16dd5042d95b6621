@profile:scheduler-core @component:scheduler @component:binder @gate:DRAPartitionableDevices
Feature: Partitionable devices
  Devices can be partitions of one physical device (KEP-4815). They consume counters that are shared in their pool.

  @DRA-189 @DRA-190 @DRA-191 @DRA-200 @component:claim-controller
  Scenario: A GPU is allocated whole or in halves, never both
    Given node "n1"
    And the objects of the manifest "allocation/halves"
    And a ResourceClaim "left" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].profile == "half"'
    And a ResourceClaim "right" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].profile == "half"'
    And a ResourceClaim "third" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].profile == "half"'
    And a ResourceClaim "whole" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].profile == "whole"'
    And a pod "one" using claim "left"
    Then claim "left" is allocated the devices "half-0" [DRA-200]
    When a pod "four" using claim "whole" is created
    Then claim "whole" stays unallocated [DRA-190]
    When a pod "two" using claim "right" is created
    Then claim "right" is allocated the devices "half-1" [DRA-200]
    When a pod "three" using claim "third" is created
    Then claim "third" stays unallocated [DRA-189]
    When pod "two" is force-deleted
    Then the allocation of claim "third" is valid [DRA-191]

  @DRA-192
  Scenario: A device that consumes from two counter sets needs both
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 2}}}, {name: s2, counters: {m: {value: 1}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: both-0,
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}, {counterSet: s2, counters: {m: {value: 1}}}]}
        - {name: both-1,
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}, {counterSet: s2, counters: {m: {value: 1}}}]}
        - {name: one, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "two" for 2 of "accelerator"
    And a ResourceClaim "three" for 3 of "accelerator"
    When a pod "greedy" using claim "three" is created
    And a pod "train" using claim "two" is created
    Then claim "three" stays unallocated
    And claim "two" is allocated the devices "both-0, one"

  @DRA-193
  Scenario: Counters are shared by all slices and nodes of the pool
    Given node "n1"
    And node "n2"
    And the objects of the manifest "allocation/counters_of_two_nodes"
    And a ResourceClaim "here" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].place == "n1"'
    And a ResourceClaim "there" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].place == "n2"'
    And a pod "one" using claim "here"
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "there" is created
    Then claim "there" stays unallocated

  @DRA-476
  Scenario: Counters in a slice of another node limit the devices of a pool
    Given node "n1"
    And node "n2"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n2)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 2}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: p-0, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
        - {name: p-1, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
        - {name: p-2, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And pods "p" 1 to 3 each using a claim of their own with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator)}}]
      """
    Then exactly 2 of the claims "p-1, p-2, p-3" are allocated

  @DRA-475
  Scenario: Counters of another node's incomplete pool do not delay a request for all devices
    Given node "n1"
    And node "n2"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n2)
      pool: {name: half, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: 2}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: whole}
      devices: [{name: d-1}, {name: d-2}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    # The pod cannot run on n2: a request for all devices may wait for a pool that any other node of the pod sees.
    When a pod "train" using claim "all" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n1)}
      """
    Then claim "all" is allocated the devices "d-1, d-2"
    And pod "train" is bound to "n1"

  @DRA-194
  Scenario Outline: A pool with <what> is not used
    Given node "n1"
    And a ResourceSlice "counters" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 3}
      sharedCounters: [{name: s1, counters: {m: {value: 2}}}]
      """
    And a ResourceSlice "more" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 3}
      sharedCounters: [{name: <second>, counters: {m: {value: 2}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: a, resourceSliceCount: 3}
      devices:
        - {name: plain}
        - {name: astray, consumesCounters: [{counterSet: <set>, counters: {<counter>: {value: 1}}}]}
      """
    And a ResourceSlice "z-sound" with:
      """
      nodeName: $(node:n1)
      devices: [{name: sound}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "sound"

    Examples:
      | what                      | second | set | counter |
      | a set that does not exist | s2     | s3  | m       |
      | an unknown counter        | s2     | s1  | x       |
      | a set defined twice       | s1     | s1  | m       |

  @DRA-195
  Scenario: Counter sets with one name in two drivers' pools are independent
    Given node "n1"
    And the objects of the manifest "allocation/two_drivers"
    And a ResourceClaim "both" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:left)}}
        - {name: b, exactly: {deviceClassName: $(class:right)}}
      """
    When a pod "train" using claim "both" is created
    Then claim "both" is allocated the devices "left-0, right-0"

  @DRA-195
  Scenario: Counter sets with one name in two pools of a driver are independent
    Given node "n1"
    And a ResourceSlice "left-sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: left, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 2}}}]
      """
    And a ResourceSlice "left-devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: left, resourceSliceCount: 2}
      devices:
        - {name: left-0, attributes: {dra.test/side: {string: left}}, consumesCounters: [{counterSet: board, counters: {slots: {value: 1}}}]}
        - {name: left-1, attributes: {dra.test/side: {string: left}}, consumesCounters: [{counterSet: board, counters: {slots: {value: 1}}}]}
      """
    And a ResourceSlice "right-sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: right, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 2}}}]
      """
    And a ResourceSlice "right-devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: right, resourceSliceCount: 2}
      devices:
        - {name: right-0, attributes: {dra.test/side: {string: right}}, consumesCounters: [{counterSet: board, counters: {slots: {value: 1}}}]}
        - {name: right-1, attributes: {dra.test/side: {string: right}}, consumesCounters: [{counterSet: board, counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "left" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].side == "left"'
    And a DeviceClass "right" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].side == "right"'
    And a ResourceClaim "both" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:left)}}
        - {name: b, exactly: {deviceClassName: $(class:right)}}
      """
    And a ResourceClaim "rest" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:left)}}
        - {name: b, exactly: {deviceClassName: $(class:right)}}
      """
    When a pod "train" using claim "both" is created
    Then pod "train" is bound to "n1"
    When a pod "late" using claim "rest" is created
    Then pod "late" is bound to "n1"

  @DRA-196
  Scenario: A skipped device consumes no counters
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
        - {name: tainted, taints: [{key: upkeep, effect: NoSchedule}],
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
        - {name: fine, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "fine"

  @DRA-133c
  Scenario: A request leaves the counters of a pool to the request that has no choice
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
        - {name: part-0, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
        - {name: part-1, attributes: {only: {bool: true}}, consumesCounters: [{counterSet: s1, counters: {m: {value: 1}}}]}
        - {name: plain-0}
        - {name: plain-1}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "three" with:
      """
      requests:
        - {name: any, exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 2}}
        - {name: one, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'has(device.attributes["$(sim)"].only)'}}]}}
      """
    And a ResourceClaim "late" for 1 of "accelerator"
    When a pod "train" using claim "three" is created
    Then claim "three" is allocated the devices "part-1, plain-0, plain-1"
    When a pod "late" using claim "late" is created
    Then claim "late" stays unallocated

  @DRA-196
  Scenario: A device that the search releases returns all of its counters
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters:
        - {name: s1, counters: {m: {value: 2}, k: {value: 2}}}
        - {name: s2, counters: {m: {value: 2}}}
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: alone, attributes: {dra.test/board: {int: 0}},
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}, k: {value: 1}}}, {counterSet: s2, counters: {m: {value: 1}}}]}
        - {name: left, attributes: {dra.test/board: {int: 1}},
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}, k: {value: 1}}}, {counterSet: s2, counters: {m: {value: 1}}}]}
        - {name: right, attributes: {dra.test/board: {int: 1}},
           consumesCounters: [{counterSet: s1, counters: {m: {value: 1}, k: {value: 1}}}, {counterSet: s2, counters: {m: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "pair" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 2}}]
      constraints: [{matchAttribute: dra.test/board}]
      """
    When a pod "train" using claim "pair" is created
    Then claim "pair" is allocated the devices "left, right"

  @DRA-189b
  Scenario: Counters beyond 64 bits last for the devices of three pods
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {m: {value: '10000000000000000001'}, k: {value: 4}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: p-0, consumesCounters: [{counterSet: s1, counters: {m: {value: '3000000000000000001'}, k: {value: 1}}}]}
        - {name: p-1, consumesCounters: [{counterSet: s1, counters: {m: {value: '3000000000000000001'}, k: {value: 1}}}]}
        - {name: p-2, consumesCounters: [{counterSet: s1, counters: {m: {value: '3000000000000000001'}, k: {value: 1}}}]}
        - {name: p-3, consumesCounters: [{counterSet: s1, counters: {m: {value: '3000000000000000001'}, k: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And pods "p" 1 to 4 each using a claim of their own with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator)}}]
      """
    Then exactly 3 of the claims "p-1, p-2, p-3, p-4" are allocated

  @DRA-197 @DRA-198
  Scenario: Devices of one slice can belong to different nodes
    Given node "n1"
    And node "n2" with label "dra.test/rack" set to "r1"
    And a ResourceSlice "mixed" with:
      """
      perDeviceNodeSelection: true
      devices:
        - {name: here, attributes: {dra.test/hosts: {int: 1}}, nodeName: $(node:n1)}
        - {name: there, attributes: {dra.test/hosts: {int: 1}}, nodeName: $(node:n2)}
        - {name: near, attributes: {dra.test/hosts: {int: 2}},
           nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1]}]}]}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "wide" for 1 of "accelerator" selecting 'device.attributes["dra.test"].hosts == 2'
    And a ResourceClaim "pair" for 2 of "accelerator" selecting 'device.attributes["dra.test"].hosts == 1'
    And a ResourceClaim "left" for 1 of "accelerator" selecting 'device.attributes["dra.test"].hosts == 1'
    And a ResourceClaim "right" for 1 of "accelerator" selecting 'device.attributes["dra.test"].hosts == 1'
    When a pod "hosts" using claim "wide" is created
    Then claim "wide" is allocated the devices "near" [DRA-198]
    And the ResourceClaim "wide" has: [DRA-198]
      | field                          | value                                                                                         |
      | status.allocation.nodeSelector | {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1]}]}]} |
    When a pod "greedy" using claim "pair" is created
    And a pod "one" using claim "left" is created
    And a pod "two" using claim "right" is created
    Then claim "pair" stays unallocated [DRA-197]
    And the allocation of claim "left" is valid [DRA-197]
    And the allocation of claim "right" is valid [DRA-197]

  @DRA-237 @DRA-237b
  Scenario: Admin access to a partition consumes no counters
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1"
    And the objects of the manifest "allocation/halves"
    And a ResourceClaim "whole" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].profile == "whole"'
    And a ResourceClaim "watch" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}]
      """
    And a ResourceClaim "late" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}]
      """
    And a pod "early" using claim "watch"
    Then pod "early" is bound to "n1" [DRA-237b]
    When a pod "train" using claim "whole" is created
    Then claim "whole" is allocated the devices "whole" [DRA-237b]
    When a pod "monitor" using claim "late" is created
    Then pod "monitor" is bound to "n1" [DRA-237]
