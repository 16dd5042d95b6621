@profile:scheduler-core @component:scheduler @component:binder @needs:scheduler-gates @since:1.37
Feature: Fields of features that the scheduler has off
  The API server stores fields of a feature that the scheduler has off, for example during an upgrade. The scheduler
  must not allocate devices as if these fields were not there.

  @gate:DRAListTypeAttributes
  Scenario Outline: Without lists, devices that have them are allocated, but satisfy no <constraint>
    Given the scheduler has feature gate "DRAListTypeAttributes" off
    And node "n1"
    And a ResourceSlice "lists" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d1, attributes: {dra.test/model: {string: a}, dra.test/numa: {ints: [1, 2]}}}
        - {name: d2, attributes: {dra.test/model: {string: b}, dra.test/numa: {ints: [2, 3]}}}
        - {name: d3, attributes: {dra.test/model: {string: b}, dra.test/numa: {ints: [4]}}}
        - {name: d4, attributes: {dra.test/model: {string: b}, dra.test/numa: {ints: [4]}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "plain" for 1 of "accelerator" selecting 'device.attributes["dra.test"].model == "a"'
    And a ResourceClaim "two" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 2}}]
      constraints: [{<constraint>: dra.test/numa}]
      """
    When a pod "two" using claim "two" is created
    And a pod "one" using claim "plain" is created
    Then claim "plain" is allocated the devices "d1"
    And claim "two" stays unallocated

    @DRA-487
    Examples:
      | constraint        |
      | matchAttribute    |

    @DRA-487 @gate:DRAConsumableCapacity
    Examples:
      | constraint        |
      | distinctAttribute |

  @DRA-507 @gate:DRADeviceCompatibilityGroups @gate:DRAPartitionableDevices
  Scenario: Without compatibility groups, no device of a pool with such groups is allocated
    Given the scheduler has feature gate "DRADeviceCompatibilityGroups" off
    And node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: grouped, resourceSliceCount: 3}
      sharedCounters: [{name: board, counters: {slots: {value: 8}}}]
      """
    And a ResourceSlice "with-groups" with:
      """
      nodeName: $(node:n1)
      pool: {name: grouped, resourceSliceCount: 3}
      devices:
        - {name: a, attributes: {dra.test/kind: {string: a}},
           consumesCounters: [{counterSet: board, compatibilityGroups: [x], counters: {slots: {value: 1}}}]}
        - {name: b, attributes: {dra.test/kind: {string: b}},
           consumesCounters: [{counterSet: board, counters: {slots: {value: 1}}}]}
      """
    And a ResourceSlice "without-groups" with:
      """
      nodeName: $(node:n1)
      pool: {name: grouped, resourceSliceCount: 3}
      devices: [{name: c, attributes: {dra.test/kind: {string: c}}}]
      """
    And a ResourceSlice "plain" with:
      """
      nodeName: $(node:n1)
      pool: {name: plain, resourceSliceCount: 1}
      devices: [{name: d, attributes: {dra.test/kind: {string: d}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "a" for 1 of "accelerator" selecting 'device.attributes["dra.test"].kind == "a"'
    And a ResourceClaim "b" for 1 of "accelerator" selecting 'device.attributes["dra.test"].kind == "b"'
    And a ResourceClaim "c" for 1 of "accelerator" selecting 'device.attributes["dra.test"].kind == "c"'
    And a ResourceClaim "any" for 1 of "accelerator"
    When a pod "a" using claim "a" is created
    And a pod "b" using claim "b" is created
    And a pod "c" using claim "c" is created
    And a pod "any" using claim "any" is created
    Then claim "any" is allocated the devices "d"
    And claim "a" stays unallocated
    And claim "b" stays unallocated
    And claim "c" stays unallocated

  @DRA-516 @gate:DRADerivedAttributes
  Scenario Outline: Without derived attributes, no claim that has them in <where> is allocated
    Given the scheduler has feature gate "DRADerivedAttributes" off
    And node "n1"
    # A scheduler that does not look at the derivation finds the published attribute of the same name.
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d1, attributes: {derived.dra.test/one: {int: 1}}}
        - {name: d2, attributes: {derived.dra.test/one: {int: 1}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "derived" with:
      """
      requests: [<request>]
      constraints: [{matchAttribute: derived.dra.test/one}]
      """
    And a ResourceClaim "plain" for 1 of "accelerator"
    When a pod "one" using claim "derived" is created
    And a pod "two" using claim "plain" is created
    Then pod "two" is bound to "n1"
    And claim "derived" stays unallocated

    Examples:
      | where          | request                                                                                                                                                                   |
      | a request      | {name: a, exactly: {deviceClassName: $(class:accelerator), derivedAttributes: [{name: derived.dra.test/one, expression: "1"}]}}                                            |
      | an alternative | {name: a, firstAvailable: [{name: b, deviceClassName: $(class:accelerator), derivedAttributes: [{name: derived.dra.test/one, expression: "1"}]}]}                          |

  @DRA-521 @gate:DRAOptionalNodeOperations
  Scenario: Without optional node operations, no device of a slice that skips them is allocated
    Given the scheduler has feature gate "DRAOptionalNodeOperations" off
    And node "n1"
    And a ResourceSlice "skipped" with:
      """
      nodeName: $(node:n1)
      pool: {name: skipped, resourceSliceCount: 1}
      skipNodeOperations: ["*"]
      devices: [{name: a, attributes: {dra.test/kind: {string: a}}}]
      """
    And a ResourceSlice "z-plain" with:
      """
      nodeName: $(node:n1)
      pool: {name: z-plain, resourceSliceCount: 1}
      devices: [{name: b, attributes: {dra.test/kind: {string: b}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "skipped" for 1 of "accelerator" selecting 'device.attributes["dra.test"].kind == "a"'
    And a ResourceClaim "any" for 1 of "accelerator"
    When a pod "one" using claim "skipped" is created
    And a pod "two" using claim "any" is created
    Then claim "any" is allocated the devices "b"
    And claim "skipped" stays unallocated
