@profile:scheduler-core @component:scheduler @component:binder @since:1.37 @gate:DRADeviceCompatibilityGroups @gate:DRAPartitionableDevices
Feature: Compatibility groups
  Devices that consume from one counter set are allocated together only if they have a compatibility group in common
  (KEP-4815, alpha in 1.37).

  Background:
    Given node "n1"

  @component:claim-controller
  Scenario Outline: Beside <used>, a device with <other> is refused, and one with <fitting> is not
    Given a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: first, attributes: {dra.test/role: {string: first}},
           consumesCounters: [{counterSet: board<used groups>, counters: {slots: {value: 1}}}]}
        - {name: other, attributes: {dra.test/role: {string: other}},
           consumesCounters: [{counterSet: board<other groups>, counters: {slots: {value: 1}}}]}
        - {name: fitting, attributes: {dra.test/role: {string: fitting}},
           consumesCounters: [{counterSet: board<fitting groups>, counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "first"'
    And a ResourceClaim "other" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "other"'
    And a ResourceClaim "fitting" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "fitting"'
    And a pod "one" using claim "first"
    Then claim "first" is allocated the devices "first"
    When a pod "two" using claim "other" is created
    Then claim "other" stays unallocated
    When a pod "three" using claim "fitting" is created
    Then claim "fitting" is allocated the devices "fitting"
    When pod "one" is force-deleted
    And pod "three" is force-deleted
    Then claim "other" is allocated the devices "other"

    @DRA-498
    Examples:
      | used    | other  | fitting      | used groups                | other groups                | fitting groups                  |
      | group a | group b | groups a and b | , compatibilityGroups: [a] | , compatibilityGroups: [b] | , compatibilityGroups: [b, a] |

    @DRA-500
    Examples:
      | used      | other     | fitting         | used groups                | other groups                | fitting groups             |
      | group a   | no group  | group a as well | , compatibilityGroups: [a] |                             | , compatibilityGroups: [a] |
      | no group  | group a   | no group either |                            | , compatibilityGroups: [a] |                             |

  @DRA-499 @component:claim-controller
  Scenario: All devices on a counter set have one group in common, not only each two of them
    Given a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: ab, attributes: {dra.test/role: {string: ab}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [a, b], counters: {slots: {value: 1}}}]}
        - {name: bc, attributes: {dra.test/role: {string: bc}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [b, c], counters: {slots: {value: 1}}}]}
        - {name: ca, attributes: {dra.test/role: {string: ca}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [c, a], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "ab" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "ab"'
    And a ResourceClaim "bc" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "bc"'
    And a ResourceClaim "ca" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "ca"'
    And a ResourceClaim "three" for 3 of "accelerator"
    When a pod "at-once" using claim "three" is created
    Then claim "three" stays unallocated
    When a pod "one" using claim "ab" is created
    Then claim "ab" is allocated the devices "ab"
    When a pod "two" using claim "bc" is created
    Then claim "bc" is allocated the devices "bc"
    When a pod "three" using claim "ca" is created
    Then claim "ca" stays unallocated
    When pod "one" is force-deleted
    Then claim "ca" is allocated the devices "ca"

  @DRA-501 @DRA-502
  Scenario: Groups of each counter set are compared by themselves, and a device that is refused leaves nothing behind
    Given a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: s1, counters: {slots: {value: 8}}}, {name: s2, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: a-both, attributes: {dra.test/role: {string: new}},
           consumesCounters: [{counterSet: s1, compatibilityGroups: [c], counters: {slots: {value: 1}}},
                              {counterSet: s2, compatibilityGroups: [c], counters: {slots: {value: 1}}}]}
        - {name: on-s1, attributes: {dra.test/role: {string: new}},
           consumesCounters: [{counterSet: s1, compatibilityGroups: [a], counters: {slots: {value: 1}}}]}
        - {name: on-s2, attributes: {dra.test/role: {string: used}},
           consumesCounters: [{counterSet: s2, compatibilityGroups: [b], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "used" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "used"'
    And a ResourceClaim "both" for 1 of "accelerator" selecting 'size(device.attributes["dra.test"].role) == 3'
    And a ResourceClaim "none" for 2 of "accelerator" selecting 'device.attributes["dra.test"].role == "new"'
    And a pod "one" using claim "used"
    Then claim "used" is allocated the devices "on-s2" [DRA-501]
    # The first candidate conflicts on its second counter set.
    When a pod "two" using claim "both" is created
    Then claim "both" is allocated the devices "on-s1" [DRA-501, DRA-502]
    When a pod "three" using claim "none" is created
    Then claim "none" stays unallocated [DRA-501]

  @DRA-503
  Scenario: Groups of different drivers are not compared
    Given a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: mine, consumesCounters: [{counterSet: board, compatibilityGroups: [a], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceSlice "other-sets" with:
      """
      driver: other-$(suffix).dra.test
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "other-devices" with:
      """
      driver: other-$(suffix).dra.test
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: theirs, consumesCounters: [{counterSet: board, compatibilityGroups: [b], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "other" selecting 'device.driver == "other-$(suffix).dra.test"'
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "theirs" for 1 of "other"
    And a pod "one" using claim "mine"
    Then claim "mine" is allocated the devices "mine"
    When a pod "two" using claim "theirs" is created
    Then claim "theirs" is allocated the devices "theirs"

  @DRA-504
  Scenario: Groups of devices on other nodes count
    Given node "n2"
    And a ResourceSlice "sets" with:
      """
      allNodes: true
      pool: {name: pool, resourceSliceCount: 3}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "here" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 3}
      devices:
        - {name: x, attributes: {dra.test/role: {string: x}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [a], counters: {slots: {value: 1}}}]}
      """
    And a ResourceSlice "there" with:
      """
      nodeName: $(node:n2)
      pool: {name: pool, resourceSliceCount: 3}
      devices:
        - {name: y, attributes: {dra.test/role: {string: new}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [b], counters: {slots: {value: 1}}}]}
        - {name: z, attributes: {dra.test/role: {string: new}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [a], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "x" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "x"'
    And a ResourceClaim "new" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "new"'
    And a pod "one" using claim "x"
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "new" is created
    Then claim "new" is allocated the devices "z"

  @DRA-505
  Scenario: The groups of a device with a taint that is not tolerated do not count
    Given a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: a, taints: [{key: dra.test/broken, effect: NoSchedule}],
           consumesCounters: [{counterSet: board, compatibilityGroups: [a], counters: {slots: {value: 1}}}]}
        - {name: b, consumesCounters: [{counterSet: board, compatibilityGroups: [b], counters: {slots: {value: 1}}}]}
        - {name: c, consumesCounters: [{counterSet: board, compatibilityGroups: [b], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "two" for 2 of "accelerator"
    When a pod "train" using claim "two" is created
    Then claim "two" is allocated the devices "b, c"

  @DRA-508
  Scenario: The claims of one pod have devices of one group
    Given a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, resourceSliceCount: 2}
      devices:
        - {name: x, attributes: {dra.test/role: {string: x}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [a], counters: {slots: {value: 1}}}]}
        - {name: y, attributes: {dra.test/role: {string: y}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [b], counters: {slots: {value: 1}}}]}
        - {name: z, attributes: {dra.test/role: {string: z}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [b], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "x" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "x"'
    And a ResourceClaim "y" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "y"'
    And a ResourceClaim "z" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "z"'
    When a pod "contrary" using claim "x, y" is created
    Then claim "x" stays unallocated
    And claim "y" stays unallocated
    When a pod "train" using claim "y, z" is created
    Then claim "y" is allocated the devices "y"
    And claim "z" is allocated the devices "z"
