@profile:scheduler-core @component:scheduler @component:binder
Feature: Objects that change
  A scheduler decides on the present state of claims, classes, slices and nodes, not on a former one.

  @DRA-126b
  Scenario: A pod that waits for a device is scheduled when one of two claims with devices is deleted
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "left" for 1 of "accelerator"
    And a ResourceClaim "right" for 1 of "accelerator"
    And claim "left" holds the devices "dev-0" of "n1"
    And claim "right" holds the devices "dev-1" of "n1"
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    Then pod "one" stays unbound
    When the ResourceClaim "right" is deleted
    Then pod "one" is bound to "n1"
    And claim "first" is allocated the devices "dev-1"
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound
    And claim "second" stays unallocated

  @DRA-126
  Scenario: A pod that waits for a device is scheduled when an unused claim is deallocated
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "left" for 1 of "accelerator"
    And a ResourceClaim "right" for 1 of "accelerator"
    And claim "left" holds the devices "dev-0" of "n1"
    And claim "right" holds the devices "dev-1" of "n1"
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    Then pod "one" stays unbound
    # No pod is created, changed or deleted meanwhile.
    When "status" of the ResourceClaim "right" is set to {}
    Then claim "first" is allocated the devices "dev-1"
    And pod "one" is bound to "n1"
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound
    When "status" of the ResourceClaim "left" is set to {}
    Then claim "second" is allocated the devices "dev-0"

  @DRA-133b
  Scenario: A claim that is created again under its name does not have the devices of the former one
    Given node "n1" with 1 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "mine" holds the devices "dev-0" of "n1"
    When the ResourceClaim "mine" is deleted
    Given a ResourceClaim "mine" for 2 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n2"
    And claim "mine" is allocated the devices "dev-0, dev-1"
    And claim "mine" is reserved for exactly the pods "train"
    Given a ResourceClaim "other" for 1 of "accelerator"
    When a pod "serve" using claim "other" is created
    Then pod "serve" is bound to "n1"

  @DRA-128
  Scenario: A pod that is created again under its name reserves its claim anew
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then pod "train" is bound to "n1"
    When pod "train" is force-deleted
    And a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n1"
    And claim "mine" is reserved for pod "train"

  @DRA-124
  Scenario: A pod whose class was deleted waits until the class is created again
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a DeviceClass "other" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "other"
    When the DeviceClass "accelerator" is deleted
    And a pod "one" using claim "first" is created
    Then the message of condition PodScheduled of the Pod "one" contains "$(class:accelerator)"
    When a pod "two" using claim "second" is created
    Then pod "two" is bound to "n1"
    And claim "first" stays unallocated
    When a DeviceClass "accelerator" selecting 'device.driver == "$(sim)"' is created
    Then pod "one" is bound to "n1"

  @DRA-124
  Scenario: A pod that is created again under its name has a condition of its own
    Given node "n1" with 1 devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then the message of condition PodScheduled of the Pod "train" contains "$(class:accelerator)"
    When pod "train" is force-deleted
    And a pod "train" using claim "mine" is created
    Then the message of condition PodScheduled of the Pod "train" contains "$(class:accelerator)"

  @DRA-124b
  Scenario: The condition PodScheduled has a time of its own beside other conditions
    Given node "n1" with 1 devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then the message of condition PodScheduled of the Pod "train" contains "$(class:accelerator)"
    When "status.conditions" of the Pod "train" is set to [{type: dra.test/other, status: "False", lastTransitionTime: "2020-01-01T00:00:00Z"}]
    And a DeviceClass "accelerator" selecting 'device.driver == "absent.dra.test"' is created
    Then the Pod "train" has "status.conditions[type=PodScheduled][0].lastTransitionTime" the present time

  @DRA-127b
  Scenario: A device for all nodes is not allocated after its slice was deleted
    Given node "n1"
    And node "n2"
    And a ResourceSlice "own" with:
      """
      nodeName: $(node:n1)
      devices: [{name: used, attributes: {dra.test/used: {bool: true}}}]
      """
    And a ResourceSlice "all-nodes" with:
      """
      allNodes: true
      pool: {name: apart}
      devices: [{name: gone}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "used" for 1 of "accelerator" selecting 'device.attributes["dra.test"].?used.orValue(false)'
    And a ResourceClaim "newer" for 1 of "accelerator" selecting 'device.attributes["dra.test"].?newer.orValue(false)'
    And a ResourceClaim "late" for 1 of "accelerator"
    # The scheduler has looked at the devices of the node before the slice is deleted.
    And a pod "first" using claim "used"
    Then claim "used" is allocated the devices "used"
    When the ResourceSlice "all-nodes" is deleted
    # A scheduler that allocates from this slice has received the deletion before it.
    And a ResourceSlice "newer" is published with:
      """
      nodeName: $(node:n2)
      devices: [{name: newer, attributes: {dra.test/newer: {bool: true}}}]
      """
    And a pod "early" using claim "newer" is created
    Then claim "newer" is allocated the devices "newer"
    When a pod "late" using claim "late" is created
    Then claim "late" stays unallocated

  @DRA-127b
  Scenario: A device whose slice was deleted is not allocated, and devices of other slices are
    Given node "n1"
    And node "n2"
    And a ResourceSlice "first" with:
      """
      nodeName: $(node:n1)
      devices: [{name: gone}]
      """
    And a ResourceSlice "second" with:
      """
      nodeName: $(node:n1)
      devices: [{name: used, attributes: {dra.test/used: {bool: true}}}, {name: here}]
      """
    And a ResourceSlice "all-nodes" with:
      """
      allNodes: true
      pool: {name: apart}
      devices: [{name: gone-too}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "used" for 1 of "accelerator" selecting 'device.attributes["dra.test"].?used.orValue(false)'
    # The scheduler has looked at the devices of the node before the slices are deleted.
    And a pod "first" using claim "used"
    Then claim "used" is allocated the devices "used"
    Given a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "newer" for 1 of "accelerator" selecting 'device.attributes["dra.test"].?newer.orValue(false)'
    When the ResourceSlice "first" is deleted
    And the ResourceSlice "all-nodes" is deleted
    # A scheduler that allocates from this slice has received the deletions before it.
    And a ResourceSlice "newer" is published with:
      """
      nodeName: $(node:n2)
      devices: [{name: newer, attributes: {dra.test/newer: {bool: true}}}]
      """
    And a pod "early" using claim "newer" is created
    Then claim "newer" is allocated the devices "newer"
    When a pod "train" using claim "one" is created
    Then claim "one" is allocated the devices "here"
    When a pod "late" using claim "two" is created
    Then claim "two" stays unallocated
    When a ResourceSlice "first" is published with:
      """
      nodeName: $(node:n1)
      devices: [{name: again}]
      """
    Then claim "two" is allocated the devices "again"

  @DRA-127b
  Scenario: A device that moved to a slice of another node is allocated there
    Given node "n1"
    And node "n2"
    And a ResourceSlice "moving" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1}
      devices: [{name: a}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    When the ResourceSlice "moving" is deleted
    And a ResourceSlice "moved" is published with:
      """
      nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n2)]}]}]}
      pool: {name: pool, generation: 1}
      devices: [{name: a}]
      """
    And a pod "train" using claim "one" is created
    Then pod "train" is bound to "n2"
    When a pod "late" using claim "two" is created
    Then pod "late" stays unbound

  @DRA-133 @DRA-126 @needs:restartable-scheduler @component:claim-controller
  Scenario: After a restart of the scheduler devices stay in use, and waiting pods are scheduled
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 2 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And a pod "one" using claim "first"
    Then pod "one" is bound to "n1" [DRA-133]
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound [DRA-133]
    When the scheduler is started again
    And a pod "three" using claim "third" is created
    Then claim "third" is allocated the devices "dev-1" [DRA-133]
    And pod "two" stays unbound [DRA-133]
    When pod "one" is force-deleted
    And pod "three" is force-deleted
    Then pod "two" is bound to "n1" [DRA-126]

  @DRA-130 @DRA-133c
  Scenario: Pods share a device of several nodes and have a device of their own node each
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And node "n3" with 1 devices
    And a ResourceSlice "network" with:
      """
      driver: net-$(suffix).dra.test
      allNodes: true
      devices: [{name: fabric}]
      """
    And a DeviceClass "accelerator" for those devices
    And a DeviceClass "net" selecting 'device.driver == "net-$(suffix).dra.test"'
    And a ResourceClaim "shared" for 1 of "net"
    And a ResourceClaim "left" for 1 of "accelerator"
    And a ResourceClaim "right" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And a ResourceClaim "fourth" for 1 of "accelerator"
    When a pod "one" using claim "shared, left" is created
    And a pod "two" using claim "right, shared" is created
    Then pod "one" is bound [DRA-133c]
    And pod "two" is bound [DRA-133c]
    When a pod "three" using claim "shared, third" is created
    Then pod "three" is bound [DRA-133c]
    And claim "shared" is reserved for exactly the pods "one, two, three" [DRA-130]
    When a pod "four" using claim "shared, fourth" is created
    Then pod "four" stays unbound [DRA-130]
    And claim "fourth" stays unallocated [DRA-130]

  @DRA-130
  Scenario: A claim for the nodes of a node selector is shared on these nodes only
    Given node "n1" with label "dra.test/rack" set to "r1"
    And node "n2" with label "dra.test/rack" set to "r1"
    And node "n3" with label "dra.test/rack" set to "r2"
    And a ResourceSlice "rack" with:
      """
      nodeSelector:
        nodeSelectorTerms:
          - matchExpressions:
              - {key: dra.test/rack, operator: In, values: [r1, r3]}
              - {key: kubernetes.io/hostname, operator: Exists}
            matchFields: [{key: metadata.name, operator: NotIn, values: [$(node:n1)]}]
      devices: [{name: near}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    When a pod "first" using claim "shared" is created
    Then pod "first" is bound to "n2"
    And the ResourceClaim "shared" has:
      | field                                                                       | value                                                                        |
      | status.allocation.nodeSelector.nodeSelectorTerms[*].matchExpressions[*].key | in any order [[dra.test/rack, kubernetes.io/hostname]]                       |
      | status.allocation.nodeSelector.nodeSelectorTerms[*].matchFields             | [[{key: metadata.name, operator: NotIn, values: [$(node:n1)]}]]              |
    When a pod "second" using claim "shared" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n1)}
      """
    And a pod "third" using claim "shared" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n3)}
      """
    And a pod "fourth" using claim "shared" is created
    Then pod "fourth" is bound to "n2"
    And pod "second" stays unbound
    And pod "third" stays unbound
    And claim "shared" is reserved for exactly the pods "first, fourth"

  Scenario Outline: A slice for nodes by <operator> is for these nodes only (<case>)
    Given node "n1" with label "dra.test/gpus" set to "4"
    And node "n2" with label "dra.test/gpus" set to "8"
    And node "n3"
    And a ResourceSlice "some" with:
      """
      nodeSelector: {nodeSelectorTerms: [{<term>}]}
      devices: [{name: near}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created with:
      """
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: ["$(node:<elsewhere>)"]}]}]}}}
      """
    Then pod "train" stays unbound
    When a pod "serve" using claim "mine" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:<node>)}
      """
    Then pod "serve" is bound to "<node>"

    @DRA-143
    Examples:
      | operator     | case                      | node | elsewhere | term                                                                                     |
      | In           | one of two                | n2   | n1        | matchExpressions: [{key: dra.test/gpus, operator: In, values: ["7", "8"]}]                |
      | NotIn        | one of two                | n1   | n2        | matchExpressions: [{key: dra.test/gpus, operator: NotIn, values: ["7", "8"]}]             |
      | NotIn        | a node without the label  | n3   | n2        | matchExpressions: [{key: dra.test/gpus, operator: NotIn, values: ["7", "8"]}]             |
      | Exists       | any value                 | n2   | n3        | matchExpressions: [{key: dra.test/gpus, operator: Exists}]                                |
      | DoesNotExist | no value                  | n3   | n2        | matchExpressions: [{key: dra.test/gpus, operator: DoesNotExist}]                          |
      | Gt           | an equal value            | n2   | n1        | matchExpressions: [{key: dra.test/gpus, operator: Gt, values: ["4"]}]                     |
      | Lt           | an equal value            | n1   | n2        | matchExpressions: [{key: dra.test/gpus, operator: Lt, values: ["8"]}]                     |
      | Lt           | a node without the label  | n1   | n3        | matchExpressions: [{key: dra.test/gpus, operator: Lt, values: ["8"]}]                     |
      | two          | both must hold            | n2   | n1        | matchExpressions: [{key: dra.test/gpus, operator: Exists}, {key: dra.test/gpus, operator: Gt, values: ["4"]}] |
      | name         | In                        | n2   | n1        | matchFields: [{key: metadata.name, operator: In, values: ["$(node:n2)"]}]                 |
      | name         | NotIn                     | n2   | n1        | matchFields: [{key: metadata.name, operator: NotIn, values: ["$(node:n1)"]}]              |

  @DRA-197 @gate:DRAPartitionableDevices
  Scenario: In a slice with perDeviceNodeSelection some devices are for all nodes
    Given node "n1"
    And node "n2"
    And a ResourceSlice "mixed" with:
      """
      perDeviceNodeSelection: true
      devices:
        - {name: here, nodeName: $(node:n1)}
        - {name: anywhere, allNodes: true}
        - {name: anywhere-too, allNodes: true}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 2 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "three" for 1 of "accelerator"
    When a pod "first" using claim "one" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    Then claim "one" is allocated the devices "anywhere, anywhere-too"
    And the ResourceClaim "one" has "status.allocation.nodeSelector" null
    When a pod "second" using claim "two" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    And a pod "third" using claim "three" is created
    Then claim "three" is allocated the devices "here"
    And claim "two" stays unallocated
