@profile:scheduler-core @component:scheduler @component:binder
Feature: Nodes of pods with claims
  A pod with claims runs only on a node that suits the pod and its devices. A fitting device on another node does not
  help it.

  Scenario Outline: A pod runs on the node that its <what> selects (<case>)
    Given node "n1" with label "dra.test/gpus" set to "4"
    And node "n2" with label "dra.test/gpus" set to "8"
    And node "n3"
    And the objects of the manifest "allocation/one_device_for_each_node"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created with:
      """
      <spec>
      """
    Then pod "train" is bound to "<node>"

    @DRA-130b
    Examples:
      | what         | case       | node | spec                                                                           |
      | nodeSelector | one label  | n2   | nodeSelector: {dra.test/gpus: "8"}                                             |
      | nodeSelector | two labels | n2   | nodeSelector: {dra.test/gpus: "8", kubernetes.io/hostname: $(node:n2)}         |
      | nodeSelector | the node's | n3   | nodeSelector: {kubernetes.io/hostname: $(node:n3)}                             |

    @DRA-130b
    Examples:
      | what         | case                               | node | spec |
      | nodeAffinity | In                                 | n2   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: In, values: ["7", "8"]}]}]}}} |
      | nodeAffinity | NotIn, a node without the label    | n3   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: NotIn, values: ["4", "8"]}]}]}}} |
      | nodeAffinity | Exists and NotIn                   | n2   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: Exists}, {key: dra.test/gpus, operator: NotIn, values: ["4"]}]}]}}} |
      | nodeAffinity | DoesNotExist                       | n3   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: DoesNotExist}]}]}}} |
      | nodeAffinity | Gt, not equal                      | n2   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: Gt, values: ["4"]}]}]}}} |
      | nodeAffinity | Lt, not equal                      | n1   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: Lt, values: ["8"]}]}]}}} |
      | nodeAffinity | the second of two terms            | n2   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: In, values: ["9"]}]}, {matchExpressions: [{key: dra.test/gpus, operator: In, values: ["8"]}]}]}}} |
      | nodeAffinity | a term that cannot be evaluated    | n2   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: Gt, values: ["many"]}]}, {matchExpressions: [{key: dra.test/gpus, operator: In, values: ["8"]}]}]}}} |
      | nodeAffinity | a term without requirements        | n2   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{}, {matchExpressions: [{key: dra.test/gpus, operator: In, values: ["8"]}]}]}}} |
      | nodeAffinity | In on a field                      | n2   | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: ["$(node:n2)"]}]}]}}} |
      | nodeAffinity | NotIn on a field, and an expression | n2  | affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: Exists}], matchFields: [{key: metadata.name, operator: NotIn, values: ["$(node:n1)"]}]}]}}} |
      | nodeAffinity | In on a field, and nodeSelector    | n3   | {nodeSelector: {kubernetes.io/hostname: $(node:n3)}, affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: NotIn, values: ["$(node:n1)"]}]}]}}}} |

  @DRA-130b
  Scenario: A pod whose nodeSelector has labels of two nodes waits until one node has both
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And "metadata.labels['dra.test/gpus']" of the Node "n1" is set to "8"
    And "metadata.labels['dra.test/zone']" of the Node "n2" is set to a
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created with:
      """
      nodeSelector: {dra.test/gpus: "8", dra.test/zone: a}
      """
    Then pod "train" stays unbound
    When "metadata.labels['dra.test/gpus']" of the Node "n2" is set to "8"
    Then pod "train" is bound to "n2"

  @DRA-130b
  Scenario: A pod that selects a node without a free device waits
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    Then pod "one" is bound to "n2"
    When a pod "two" using claim "second" is created with:
      """
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: ["$(node:n2)"]}]}]}}}
      """
    Then the Pod "two" has condition PodScheduled False with reason "Unschedulable"
    And pod "two" stays unbound
    And claim "second" stays unallocated

  Scenario Outline: A pod with tolerations <tolerations> runs on a tainted node
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And "spec.taints" of the Node "n1" is set to [{key: dra.test/for, value: tests, effect: NoSchedule}, {key: dra.test/shared, value: "no", effect: NoExecute}]
    And "spec.taints" of the Node "n2" is set to [{key: dra.test/for, value: tests, effect: NoSchedule}, {key: dra.test/other, value: "no", effect: PreferNoSchedule}]
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created with:
      """
      tolerations: <tolerations>
      """
    Then <outcome>

    @DRA-130b
    Examples:
      | tolerations                                                                                       | outcome                      |
      | [{key: dra.test/for, operator: Equal, value: tests, effect: NoSchedule}]                          | pod "train" is bound to "n2" |
      | [{key: dra.test/for, operator: Exists}]                                                           | pod "train" is bound to "n2" |
      | [{key: dra.test/for, value: tests}, {key: dra.test/shared, operator: Exists, effect: NoSchedule}] | pod "train" is bound to "n2" |
      | [{key: dra.test/for, value: tests, effect: NoExecute}]                                            | pod "train" stays unbound    |
      | [{key: dra.test/for, value: other}]                                                               | pod "train" stays unbound    |
      | [{key: dra.test/shared, operator: Exists}, {key: dra.test/other, operator: Exists}]               | pod "train" stays unbound    |

  @DRA-130b
  Scenario: A pod runs on a node with taints once it tolerates all of them, or they are removed
    Given node "n1" with 2 devices
    And "spec.taints" of the Node "n1" is set to [{key: dra.test/for, value: tests, effect: NoSchedule}, {key: dra.test/shared, value: "no", effect: NoExecute}]
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created with:
      """
      tolerations: [{key: dra.test/for, value: tests}, {key: dra.test/shared, operator: Exists}]
      """
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "second" is created with:
      """
      tolerations: [{key: dra.test/for, value: tests}]
      """
    Then pod "two" stays unbound
    When "spec.taints" of the Node "n1" is set to [{key: dra.test/for, value: tests, effect: NoSchedule}]
    Then pod "two" is bound to "n1"

  @DRA-130b
  Scenario: A pod does not run on a node that accepts no new pods
    Given node "n1" with 1 devices
    And "spec.unschedulable" of the Node "n1" is set to true
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    Then pod "one" is bound to "n2"
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound
    When "spec.unschedulable" of the Node "n1" is set to false
    Then pod "two" is bound to "n1"

  @DRA-130b
  Scenario: A pod does not run on a node that was deleted, but on a new one of its name
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When the Node "n1" is deleted
    And a pod "one" using claim "first" is created
    Then pod "one" is bound to "n2"
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound
    Given node "n1"
    Then pod "two" is bound to "n1"

  Scenario Outline: A pod runs on a node with enough <resource> for it, if the devices are free on two
    Given node "n1" with 3 devices
    And node "n2" with 3 devices
    And "status.allocatable" of the Node "n1" is set to {cpu: "<first>", memory: 256Gi, pods: "<pods>"}
    And "status.allocatable" of the Node "n2" is set to {cpu: "<second>", memory: 256Gi, pods: "<room>"}
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "three" for 1 of "accelerator"
    When a pod "first" using claim "one" is created with:
      """
      <spec>
      """
    Then pod "first" is bound to "n2"
    When a pod "second" using claim "two" is created with:
      """
      <spec>
      """
    Then pod "second" is bound to "n2"
    When a pod "third" using claim "three" is created with:
      """
      <spec>
      """
    Then pod "third" stays unbound
    And claim "three" stays unallocated
    When pod "first" is force-deleted
    Then pod "third" is bound to "n2"

    @DRA-130c
    Examples:
      | resource | first | second | pods | room | spec |
      | cpu      | 1500m | 5500m      | 100  | 100 | {containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 1500m}}}, {name: side, image: "registry.k8s.io/pause:3.10", resources: {limits: {cpu: "1"}}}]} |
      | cpu of init containers | 1500m | 5500m | 100 | 100 | {initContainers: [{name: short, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}}}], containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}}}]} |
      | cpu of sidecars        | 2     | 5500m | 100 | 100 | {initContainers: [{name: long, image: "registry.k8s.io/pause:3.10", restartPolicy: Always, resources: {requests: {cpu: 1500m}}}, {name: short, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 500m}}}], containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}}}]} |
      | cpu of an init container beside a sidecar | 2 | 5500m | 100 | 100 | {initContainers: [{name: long, image: "registry.k8s.io/pause:3.10", restartPolicy: Always, resources: {requests: {cpu: "1"}}}, {name: short, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 1500m}}}], containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 100m}}}]} |
      | cpu with higher limits | 1500m | 5500m | 100 | 100 | {containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}, limits: {cpu: "4"}}}]} |

    # Pods of DaemonSets would take the room.
    @DRA-130c @needs:own-control-plane
    Examples:
      | resource | first | second | pods | room | spec |
      | room for pods | 4 | 8 | 0 | 2 | {} |

  @DRA-130c
  Scenario: A pod that waits for room is scheduled when a pod ends, or the node gets more
    Given node "n1" with 4 devices
    And "status.allocatable" of the Node "n1" is set to {cpu: 2500m, memory: 256Gi, pods: "100"}
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "three" for 1 of "accelerator"
    When a pod "first" using claim "one" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}}}]
      """
    Then pod "first" is bound to "n1"
    When a pod "second" using claim "two" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}}}]
      """
    Then pod "second" stays unbound
    When "status.phase" of the Pod "first" is set to Succeeded
    Then pod "second" is bound to "n1"
    When a pod "third" using claim "three" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}}}]
      """
    Then pod "third" stays unbound
    When "status.allocatable" of the Node "n1" is set to {cpu: 4500m, memory: 256Gi, pods: "100"}
    Then pod "third" is bound to "n1"

  @DRA-860 @since:1.35
  Scenario: A pod counts with what its containers request after a resize
    Given node "n1" with 2 devices
    And "status.allocatable" of the Node "n1" is set to {cpu: "4", memory: 256Gi, pods: "100"}
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    When a pod "first" using claim "one" is created with:
      """
      containers:
        - {name: side, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}}}
        - {name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 500m}, limits: {cpu: 500m}}}
      """
    Then pod "first" is bound to "n1"
    When cpu of container "main" of pod "first" is resized to 2
    And a pod "second" using claim "two" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 1500m}}}]
      """
    Then pod "second" stays unbound
    When cpu of container "main" of pod "first" is resized to 1
    Then pod "second" is bound to "n1"

  @DRA-861 @since:1.35
  Scenario Outline: A resize that the kubelet has not finished counts with the larger amount (<case>)
    Given node "n1" with 2 devices
    And "status.allocatable" of the Node "n1" is set to {cpu: "4", memory: 256Gi, pods: "100"}
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    When a pod "first" using claim "one" is created with:
      """
      containers:
        - {name: side, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}}}
        - {name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}, limits: {cpu: "2"}}}
      """
    Then pod "first" is bound to "n1"
    When "status.containerStatuses" of the Pod "first" is set to [{name: main, image: pause, imageID: pause, ready: true, restartCount: 0, <before>}]
    And cpu of container "main" of pod "first" is resized to 1
    And a pod "second" using claim "two" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: 1500m}}}]
      """
    Then pod "second" stays unbound
    When "status.containerStatuses" of the Pod "first" is set to [{name: main, image: pause, imageID: pause, ready: true, restartCount: 0, <after>}]
    Then pod "second" is bound to "n1"

    Examples:
      | case                    | before | after |
      | the containers have it  | allocatedResources: {cpu: "1"}, resources: {requests: {cpu: "2"}} | allocatedResources: {cpu: "1"}, resources: {requests: {cpu: "1"}} |
      | the kubelet admitted it | allocatedResources: {cpu: "2"}, resources: {requests: {cpu: "1"}} | allocatedResources: {cpu: "1"}, resources: {requests: {cpu: "1"}} |

  @DRA-861 @since:1.35
  Scenario: A resize that is infeasible does not count
    Given node "n1" with 2 devices
    And "status.allocatable" of the Node "n1" is set to {cpu: "4", memory: 256Gi, pods: "100"}
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    When a pod "first" using claim "one" is created with:
      """
      containers:
        - {name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}, limits: {cpu: "1"}}}
      """
    Then pod "first" is bound to "n1"
    When "status.containerStatuses" of the Pod "first" is set to [{name: main, image: pause, imageID: pause, ready: true, restartCount: 0, allocatedResources: {cpu: "1"}, resources: {requests: {cpu: "1"}}}]
    And cpu of container "main" of pod "first" is resized to 3
    And "status.conditions" of the Pod "first" is set to [{type: PodResizePending, status: "True", reason: Deferred}]
    And a pod "second" using claim "two" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}}}]
      """
    Then pod "second" stays unbound
    When "status.conditions" of the Pod "first" is set to [{type: PodResizePending, status: "True", reason: Infeasible}]
    Then pod "second" is bound to "n1"

  @DRA-130c
  Scenario: A pod that is not yet bound uses the resources of its node
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And "status.allocatable" of the Node "n1" is set to {cpu: 2500m, memory: 256Gi, pods: "100"}
    And "status.allocatable" of the Node "n2" is set to {cpu: 2500m, memory: 256Gi, pods: "100"}
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "2"}}}]
      """
    And a pod "two" using claim "second" is created with:
      """
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {requests: {cpu: "1"}}}]
      """
    Then the message of condition PodScheduled of the Pod "one" contains "$(class:accelerator)"
    And the message of condition PodScheduled of the Pod "two" contains "$(class:accelerator)"
    # Both pods are woken at once, and the second is decided about before the first is bound.
    When a DeviceClass "accelerator" selecting 'device.driver == "$(sim)"' is created
    Then pods "one" and "two" are bound to different nodes
