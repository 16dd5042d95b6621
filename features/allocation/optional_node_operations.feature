@profile:scheduler-core @component:scheduler @needs:direct-binding @since:1.37 @gate:DRAOptionalNodeOperations
Feature: Optional node operations
  A driver whose devices need no preparation on the node publishes skipNodeOperations in its ResourceSlices. Only a
  kubelet that declares DRAOptionalNodeOperations does without the calls, so only its node can use such devices
  (alpha in 1.37).

  @DRA-517
  Scenario: The allocation results have the skipped operations of the slice of their device
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRAOptionalNodeOperations"
    And a ResourceSlice "all" with:
      """
      nodeName: $(node:n1)
      skipNodeOperations: ["*"]
      devices: [{name: all, attributes: {dra.test/role: {string: all}}}]
      """
    And a ResourceSlice "two" with:
      """
      nodeName: $(node:n1)
      skipNodeOperations: [NodeUnprepareResources, NodePrepareResources]
      devices: [{name: two, attributes: {dra.test/role: {string: two}}}]
      """
    And a ResourceSlice "one" with:
      """
      nodeName: $(node:n1)
      skipNodeOperations: [NodeUnprepareResources]
      devices: [{name: one, attributes: {dra.test/role: {string: one}}}]
      """
    And a ResourceSlice "none" with:
      """
      nodeName: $(node:n1)
      devices: [{name: none, attributes: {dra.test/role: {string: none}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" with:
      """
      requests:
        - {name: r, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}
      """
    When a pod "pod" using claim "claim" is created
    Then claim "claim" is allocated the devices "all, two, one, none"
    And the results of claim "claim" skip the node operations:
      """
      all: ["*"]
      two: [NodeUnprepareResources, NodePrepareResources]
      one: [NodeUnprepareResources]
      none: []
      """

  @DRA-518
  Scenario: When a slice begins or ceases to skip operations, pods that share an earlier allocation are placed by the allocation
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRAOptionalNodeOperations"
    And node "n2"
    And a ResourceSlice "ceases" with:
      """
      allNodes: true
      skipNodeOperations: ["*"]
      devices: [{name: a, attributes: {dra.test/role: {string: ceases}}}]
      """
    And a ResourceSlice "begins" with:
      """
      allNodes: true
      devices: [{name: b, attributes: {dra.test/role: {string: begins}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "ceases" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "ceases"'
    And a ResourceClaim "begins" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "begins"'
    When a pod "one" using claim "ceases, begins" is created
    Then pod "one" is bound to "n1"
    When the ResourceSlice "ceases" comes to skip the node operations []
    And the ResourceSlice "begins" comes to skip the node operations ["*"]
    And a pod "two" using claim "begins" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    Then pod "two" is bound to "n2"
    When a pod "three" using claim "ceases" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    Then pod "three" stays unbound
    When a pod "four" using claim "ceases" is created
    Then pod "four" is bound to "n1"
    And the results of claim "ceases" skip the node operations:
      """
      a: ["*"]
      """
    And the results of claim "begins" skip the node operations:
      """
      b: []
      """

  @DRA-519
  Scenario Outline: A device that skips <operations> is allocated on a node that declares the feature only
    Given the scheduler binds pods itself
    # The nodes before and after the one that declares it do not; one of them declares another feature.
    And node "n1"
    And node "n2"
    And node "n3"
    And node "n1" declares the features "AnotherFeature"
    And node "n2" declares the features "AnotherFeature, DRAOptionalNodeOperations"
    And a ResourceSlice "skipped" with:
      """
      allNodes: true
      skipNodeOperations: <operations>
      devices:
        - {name: a, attributes: {dra.test/role: {string: skipped}}}
        - {name: b, attributes: {dra.test/role: {string: skipped}}}
      """
    And a ResourceSlice "z-plain" with:
      """
      allNodes: true
      devices: [{name: c, attributes: {dra.test/role: {string: plain}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "elsewhere" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "skipped"'
    And a ResourceClaim "here" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "skipped"'
    And a ResourceClaim "all" with:
      """
      requests: [{name: r, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    And a ResourceClaim "any" for 1 of "accelerator"
    When a pod "elsewhere" using claim "elsewhere" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n1)}
      """
    And a pod "all" using claim "all" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n3)}
      """
    And a pod "any" using claim "any" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n3)}
      """
    And a pod "here" using claim "here" is created
    Then pod "here" is bound to "n2"
    And claim "any" is allocated the devices "c"
    And claim "elsewhere" stays unallocated
    And claim "all" stays unallocated

    Examples:
      | operations               |
      | ["*"]                    |
      | [NodeUnprepareResources] |

  @DRA-723
  Scenario: A device that skips operations is allocated to a pod that is created after its node declares the feature
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "skipped" with:
      """
      nodeName: $(node:n1)
      skipNodeOperations: ["*"]
      devices: [{name: a}, {name: b}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "early" using claim "first" is created
    Then pod "early" stays unbound
    When "status.declaredFeatures" of the Node "n1" is set to [DRAOptionalNodeOperations]
    And a pod "late" using claim "second" is created
    Then pod "late" is bound to "n1"

  @DRA-725
  Scenario: A pod that waits for a device that skips operations is bound once its node declares the feature
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "skipped" with:
      """
      nodeName: $(node:n1)
      skipNodeOperations: ["*"]
      devices: [{name: a}, {name: b}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    When a pod "early" using claim "first" is created
    Then pod "early" stays unbound
    When "status.declaredFeatures" of the Node "n1" is set to [DRAOptionalNodeOperations]
    Then pod "early" is bound to "n1"

  @DRA-520
  Scenario: A pod that shares an allocation that skips operations is placed on a node that declares the feature only
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRAOptionalNodeOperations"
    And node "n2"
    And a ResourceSlice "skipped" with:
      """
      allNodes: true
      skipNodeOperations: [NodeUnprepareResources]
      devices: [{name: a, attributes: {dra.test/role: {string: skipped}}}]
      """
    And a ResourceSlice "plain" with:
      """
      allNodes: true
      devices: [{name: b, attributes: {dra.test/role: {string: plain}}}]
      """
    And a DeviceClass "accelerator" for those devices
    # Only one result of the claim skips an operation, and it is not the first.
    And a ResourceClaim "mixed" with:
      """
      requests:
        - {name: r1, exactly: {deviceClassName: $(class:accelerator),
           selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "plain"'}}]}}
        - {name: r2, exactly: {deviceClassName: $(class:accelerator),
           selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "skipped"'}}]}}
      """
    When a pod "one" using claim "mixed" is created
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "mixed" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    Then pod "two" stays unbound
    When a pod "three" using claim "mixed" is created
    Then pod "three" is bound to "n1"
    And claim "mixed" is reserved for exactly the pods "one, three"
