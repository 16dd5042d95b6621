@profile:scheduler-core @component:scheduler @needs:direct-binding @since:1.37 @gate:DRANodeAllocatableResources
Feature: Devices that use resources of their node
  A device may use cpu, memory and huge pages of its node: its mapping once, its overhead once for each pod and once
  more for each container. The scheduler charges both to the node and records them in the pod's status (KEP-5517, alpha
  in 1.37). The nodes have 64 cpus.

  @DRA-528
  Scenario: What mapped devices use is charged to the node once, and recorded
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "20"}}, memory: {mapping: {deviceMultiplier: 1Gi}}}}
        - {name: b, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: 19500m}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 2 of "accelerator"
    When a pod "pod" using claim "claim" is created with:
      """
      containers:
        - {name: one, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: claim}], requests: {cpu: 500m}}}
        - {name: two, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: claim}]}}
      """
    Then pod "pod" is bound to "n1"
    And the status of pod "pod" has the node resources of its claims:
      """
      - resourceClaimName: claim
        containers: [one, two]
        mapping: [{name: cpu, quantity: 39500m}, {name: memory, quantity: 1Gi}]
      """
    When a pod "too-much" that requests 24001m of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests 24 of cpu is created
    Then pod "rest" is bound to "n1"

  @DRA-528
  Scenario: Devices are not allocated if the node has too little left for what they use
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "20"}}}}
        - {name: b, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "20"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "two" for 2 of "accelerator"
    And a ResourceClaim "one" for 1 of "accelerator"
    And a pod "first" that requests 30 of cpu
    Then pod "first" is bound to "n1"
    When a pod "two" using claim "two" is created
    Then claim "two" stays unallocated
    When a pod "one" using claim "one" is created
    Then pod "one" is bound to "n1"

  @DRA-528
  Scenario: Each claim of a pod is recorded with the containers that reference it, and all of them are charged
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: a
          attributes: {dra.test/role: {string: a}}
          nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "11"}, overhead: {perContainer: "2"}}, memory: {overhead: {perPod: 56Gi}}}
        - name: b
          attributes: {dra.test/role: {string: b}}
          nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "7"}, overhead: {perPod: "3"}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "a"'
    And a ResourceClaim "second" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "b"'
    When a pod "pod" using claim "second, first" is created with:
      """
      initContainers:
        - {name: setup, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: first}]}}
      containers:
        - {name: one, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: second}, {name: first}]}}
        - {name: two, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: second}]}}
      """
    Then pod "pod" is bound to "n1"
    And the status of pod "pod" has the node resources of its claims:
      """
      - resourceClaimName: first
        containers: [setup, one]
        mapping: [{name: cpu, quantity: "11"}]
        overhead: [{name: cpu, perContainer: "2"}, {name: memory, perPod: 56Gi}]
      - resourceClaimName: second
        containers: [one, two]
        mapping: [{name: cpu, quantity: "7"}]
        overhead: [{name: cpu, perPod: "3"}]
      """
    When a pod "too-much" that requests 39001m of cpu is created
    And a pod "too-much-memory" that requests 201Gi of memory is created
    Then pod "too-much" stays unbound
    And pod "too-much-memory" stays unbound
    When a pod "rest" that requests 39 of cpu is created
    And a pod "rest-of-memory" that requests 200Gi of memory is created
    Then pod "rest" is bound to "n1"
    And pod "rest-of-memory" is bound to "n1"

  @DRA-528
  Scenario: Devices use huge pages of the node
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And "status.allocatable" of the Node "n1" is set to {cpu: "64", memory: 256Gi, pods: "110", hugepages-2Mi: 80Mi}
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {hugepages-2Mi: {mapping: {deviceMultiplier: 42Mi}}}}
        - {name: b, nodeAllocatableResources: {hugepages-2Mi: {mapping: {deviceMultiplier: 42Mi}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    Then pod "one" is bound to "n1"
    And the status of pod "one" has the node resources of its claims:
      """
      [{resourceClaimName: first, containers: [main], mapping: [{name: hugepages-2Mi, quantity: 42Mi}]}]
      """
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound
    And claim "second" stays unallocated

  @DRA-529 @gate:DRAConsumableCapacity
  Scenario: A share of a device uses the node in proportion to its capacity
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: a
          allowMultipleAllocations: true
          capacity: {cores: {value: "100"}}
          nodeAllocatableResources: {cpu: {mapping: {capacityKey: cores, capacityMultiplier: 500m}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "small" with:
      """
      requests: [{name: r, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {cores: "15"}}}}]
      """
    And a ResourceClaim "large" with:
      """
      requests: [{name: r, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {cores: "61"}}}}]
      """
    When a pod "small" using claim "small" is created
    And a pod "large" using claim "large" is created
    Then pod "small" is bound to "n1"
    And pod "large" is bound to "n1"
    And the status of pod "small" has the node resources of its claims:
      """
      [{resourceClaimName: small, containers: [main], mapping: [{name: cpu, quantity: 7500m}]}]
      """
    And the status of pod "large" has the node resources of its claims:
      """
      [{resourceClaimName: large, containers: [main], mapping: [{name: cpu, quantity: 30500m}]}]
      """
    When a pod "too-much" that requests 26001m of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests 26 of cpu is created
    Then pod "rest" is bound to "n1"

  @DRA-529 @gate:DRAConsumableCapacity
  Scenario: The shares of a claim add up, and a capacity that is not requested counts with its default
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: a
          allowMultipleAllocations: true
          capacity: {cores: {value: "30"}, ram: {value: 64Gi, requestPolicy: {default: 3Gi, validRange: {min: 1Gi}}}}
          nodeAllocatableResources: {cpu: {mapping: {capacityKey: cores, capacityMultiplier: "1"}}, memory: {mapping: {capacityKey: ram, capacityMultiplier: "2"}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" with:
      """
      requests:
        - {name: first, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {cores: "5", ram: 8Gi}}}}
        - {name: second, exactly: {deviceClassName: $(class:accelerator), capacity: {requests: {cores: "9"}}}}
      """
    When a pod "pod" using claim "claim" is created
    Then pod "pod" is bound to "n1"
    And the status of pod "pod" has the node resources of its claims:
      """
      - resourceClaimName: claim
        containers: [main]
        mapping: [{name: cpu, quantity: "14"}, {name: memory, quantity: 22Gi}]
      """
    When a pod "too-much" that requests 50001m of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests 50 of cpu is created
    Then pod "rest" is bound to "n1"

  @DRA-530
  Scenario: The overheads of the devices of a claim add up
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {overhead: {perPod: "5", perContainer: "3"}}}}
        - {name: b, nodeAllocatableResources: {cpu: {overhead: {perPod: "6", perContainer: "1"}}}}
        - {name: c, nodeAllocatableResources: {cpu: {overhead: {perContainer: 500m}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 3 of "accelerator"
    When a pod "pod" using claim "claim" is created with:
      """
      containers:
        - {name: one, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: claim}]}}
        - {name: two, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: claim}]}}
      """
    Then pod "pod" is bound to "n1"
    And the status of pod "pod" has the node resources of its claims:
      """
      - resourceClaimName: claim
        containers: [one, two]
        overhead: [{name: cpu, perPod: "11", perContainer: 4500m}]
      """
    When a pod "too-much" that requests 44001m of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests 44 of cpu is created
    Then pod "rest" is bound to "n1"

  Scenario Outline: A claim that <whose> references is charged for them
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "3"}, overhead: {perPod: "10", perContainer: "7"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "pod" using claim "claim" is created with:
      """
      containers:
        - {name: one, image: "registry.k8s.io/pause:3.10"<one>}
        - {name: two, image: "registry.k8s.io/pause:3.10"<two>}
        - {name: three, image: "registry.k8s.io/pause:3.10"}
      """
    Then pod "pod" is bound to "n1"
    And the status of pod "pod" has the node resources of its claims:
      """
      - resourceClaimName: claim
        containers: <containers>
        mapping: [{name: cpu, quantity: "3"}]
        overhead: [{name: cpu, perPod: "10", perContainer: "7"}]
      """
    When a pod "too-much" that requests <too much> of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests <rest> of cpu is created
    Then pod "rest" is bound to "n1"

    @DRA-530
    Examples:
      | whose          | one                                    | two                                    | containers | too much | rest |
      | one container  | , resources: {claims: [{name: claim}]} |                                        | [one]      | 44001m   | 44   |
      | two containers | , resources: {claims: [{name: claim}]} | , resources: {claims: [{name: claim}]} | [one, two] | 37001m   | 37   |

    @DRA-531
    Examples:
      | whose        | one | two | containers | too much | rest |
      | no container |     |     | []         | 51001m   | 51   |

  @DRA-722
  Scenario: A claim that a pod names twice is charged for the containers that use either name
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {overhead: {perPod: "4", perContainer: "5"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "first" using claim "claim"
    Then pod "first" is bound to "n1"
    When a pod "twice" using claim "claim" is created with:
      """
      resourceClaims: [{name: claim, resourceClaimName: claim}, {name: again, resourceClaimName: claim}]
      containers:
        - {name: one, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: claim}]}}
        - {name: two, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: again}]}}
      """
    Then pod "twice" is bound to "n1"
    And the status of pod "twice" has the node resources of its claims:
      """
      [{resourceClaimName: claim, containers: [one, two], overhead: [{name: cpu, perPod: "4", perContainer: "5"}]}]
      """
    When a pod "too-much" that requests 41001m of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests 41 of cpu is created
    Then pod "rest" is bound to "n1"

  @DRA-532
  Scenario: A claim with a mapped device is not shared by pods
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {overhead: {perPod: "1"}, mapping: {deviceMultiplier: "1"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "one" using claim "claim" is created
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "claim" is created
    Then pod "two" stays unbound
    And claim "claim" is reserved for exactly the pods "one"

  @DRA-532
  Scenario: A pod does not share the second of its claims either if its device is mapped
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, attributes: {dra.test/role: {string: mapped}}, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "1"}}}}
        - {name: b, attributes: {dra.test/role: {string: plain}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mapped" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "mapped"'
    And a ResourceClaim "plain" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "plain"'
    When a pod "one" using claim "mapped, plain" is created
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "plain, mapped" is created
    Then pod "two" stays unbound
    And claim "mapped" is reserved for exactly the pods "one"
    When a pod "three" using claim "plain" is created
    Then pod "three" is bound to "n1"

  @DRA-721
  Scenario: A claim of the same name in another namespace is no obstacle to a claim with a mapped device
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: $(node:n1), generation: 1, resourceSliceCount: 1}
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "5"}}}}
        - {name: b, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "3"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a pod "twin" that uses a ResourceClaim "claim" for 1 of "accelerator" is bound in another namespace
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "b" of "n1"
    When a pod "pod" using claim "claim" is created
    Then pod "pod" is bound to "n1"
    And the status of pod "pod" has the node resources of its claims:
      """
      [{resourceClaimName: claim, containers: [main], mapping: [{name: cpu, quantity: "3"}]}]
      """

  @DRA-533
  Scenario: The overhead of a claim is charged for each pod that shares it
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {overhead: {perPod: "15", perContainer: "5"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "one" using claim "claim" is created
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "claim" is created
    Then pod "two" is bound to "n1"
    And the status of pod "two" has the node resources of its claims:
      """
      [{resourceClaimName: claim, containers: [main], overhead: [{name: cpu, perPod: "15", perContainer: "5"}]}]
      """
    When a pod "too-much" that requests 24001m of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests 24 of cpu is created
    Then pod "rest" is bound to "n1"

  @DRA-534 @gate:DRAWorkloadResourceClaims
  Scenario: A gang whose pods would share a claim with a mapped device waits
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, attributes: {dra.test/mapped: {bool: true}}, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "1"}}}}
        - {name: b, attributes: {dra.test/mapped: {bool: false}}, nodeAllocatableResources: {cpu: {overhead: {perPod: "1"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mapped" with:
      """
      requests: [{name: r, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["dra.test"].mapped'}}]}}]
      """
    And a ResourceClaim "overhead" with:
      """
      requests: [{name: r, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: '!device.attributes["dra.test"].mapped'}}]}}]
      """
    And a workload PodGroup "train" of at least 2 pods using claim "mapped" as "gpu"
    And a workload PodGroup "serve" of at least 2 pods using claim "overhead" as "gpu"
    When a pod "a" of workload PodGroup "train" using claim "mapped" as "gpu" is created
    And a pod "b" of workload PodGroup "train" using claim "mapped" as "gpu" is created
    And a pod "c" of workload PodGroup "serve" using claim "overhead" as "gpu" is created
    And a pod "d" of workload PodGroup "serve" using claim "overhead" as "gpu" is created
    Then pod "c" is bound to "n1"
    And pod "d" is bound to "n1"
    And pod "a" stays unbound
    And pod "b" stays unbound

  @DRA-535 @DRA-535b
  Scenario: The requests of a pod as a whole limit what its devices may use, and are what is charged
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "10"}, overhead: {perPod: "1"}}}}
        - {name: b, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "10"}, overhead: {perPod: "1"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "tight" for 1 of "accelerator"
    And a ResourceClaim "wide" for 1 of "accelerator"
    When a pod "tight" using claim "tight" is created with:
      """
      resources: {requests: {cpu: 14999m, memory: 1Gi}}
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: tight}], requests: {cpu: "4"}}}]
      """
    Then pod "tight" stays unbound [DRA-535]
    And claim "tight" stays unallocated [DRA-535]
    When a pod "wide" using claim "wide" is created with:
      """
      resources: {requests: {cpu: "15"}}
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: wide}], requests: {cpu: "4"}}}]
      """
    Then pod "wide" is bound to "n1" [DRA-535]
    And the status of pod "wide" has the node resources of its claims: [DRA-535b]
      """
      [{resourceClaimName: wide, containers: [main], mapping: [{name: cpu, quantity: "10"}], overhead: [{name: cpu, perPod: "1"}]}]
      """
    When a pod "too-much" that requests 49001m of cpu is created
    Then pod "too-much" stays unbound [DRA-535b]
    When a pod "rest" that requests 49 of cpu is created
    Then pod "rest" is bound to "n1" [DRA-535b]

  @DRA-535 @DRA-535b
  Scenario: Each resource that a pod as a whole requests is compared and charged by itself
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "10"}}, memory: {mapping: {deviceMultiplier: 8Gi}}}}
        - {name: b, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "10"}}, memory: {mapping: {deviceMultiplier: 8Gi}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "tight" for 1 of "accelerator"
    And a ResourceClaim "wide" for 1 of "accelerator"
    When a pod "tight" using claim "tight" is created with:
      """
      resources: {requests: {memory: 9Gi}}
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: tight}], requests: {memory: 2Gi}}}]
      """
    Then pod "tight" stays unbound [DRA-535]
    And claim "tight" stays unallocated [DRA-535]
    When a pod "wide" using claim "wide" is created with:
      """
      resources: {requests: {memory: 56Gi}}
      containers: [{name: main, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: wide}], requests: {memory: 2Gi}}}]
      """
    Then pod "wide" is bound to "n1" [DRA-535]
    # The pod as a whole requests no cpu, so that what the device uses of it is charged.
    When a pod "too-much" that requests 54001m of cpu is created
    And a pod "too-much-memory" that requests 201Gi of memory is created
    Then pod "too-much" stays unbound [DRA-535b]
    And pod "too-much-memory" stays unbound [DRA-535b]
    When a pod "rest" that requests 54 of cpu is created
    And a pod "rest-of-memory" that requests 200Gi of memory is created
    Then pod "rest" is bound to "n1" [DRA-535b]
    And pod "rest-of-memory" is bound to "n1" [DRA-535b]

  @DRA-536
  Scenario: What the devices of an allocated claim use counts for the next pods that use it, beside those of new claims
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, attributes: {dra.test/role: {string: a}}, nodeAllocatableResources: {cpu: {overhead: {perPod: "10"}}}}
        - {name: b, attributes: {dra.test/role: {string: b}}, nodeAllocatableResources: {cpu: {overhead: {perPod: "4"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "a"'
    And a ResourceClaim "own" for 1 of "accelerator" selecting 'device.attributes["dra.test"].role == "b"'
    When a pod "one" using claim "claim" is created
    Then pod "one" is bound to "n1"
    When a pod "filling" that requests 40 of cpu is created
    Then pod "filling" is bound to "n1"
    When a pod "two" using claim "claim, own" is created
    Then pod "two" is bound to "n1"
    And the status of pod "two" has the node resources of its claims:
      """
      - {resourceClaimName: claim, containers: [main], overhead: [{name: cpu, perPod: "10"}]}
      - {resourceClaimName: own, containers: [main], overhead: [{name: cpu, perPod: "4"}]}
      """
    When a pod "three" using claim "claim" is created
    Then pod "three" stays unbound

  @DRA-536b
  Scenario: A pod that waits for what its devices would use is scheduled when another pod ends
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {overhead: {perPod: "10"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "one" using claim "claim" is created
    Then pod "one" is bound to "n1"
    When a pod "filling" that requests 45 of cpu is created
    Then pod "filling" is bound to "n1"
    When a pod "two" using claim "claim" is created
    Then pod "two" stays unbound
    When pod "filling" is force-deleted
    Then pod "two" is bound to "n1"

  @DRA-528
  Scenario: What the devices of a pod use is charged while the pod waits for its device
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: dev
          bindingConditions: [dra.test/ready]
          bindingFailureConditions: [dra.test/failed]
          nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "20"}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    When a pod "too-much" that requests 44001m of cpu is created
    Then pod "too-much" stays unbound
    When a pod "rest" that requests 44 of cpu is created
    Then pod "rest" is bound to "n1"
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then pod "train" is bound to "n1"

  @DRA-528 @gate:DRAWorkloadResourceClaims
  Scenario: The pods of a gang are placed only if the node has enough for what the devices of all of them use
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "33"}}}}
        - {name: b, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "33"}}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a workload PodGroup "train" of at least 2 pods
    When a pod "a" of workload PodGroup "train" using claim "one" as "gpu" is created
    And a pod "b" of workload PodGroup "train" using claim "two" as "gpu" is created
    Then pod "a" stays unbound
    And pod "b" stays unbound
    And claim "one" stays unallocated
    And claim "two" stays unallocated
    When "status.allocatable" of the Node "n1" is set to {cpu: "66", memory: 256Gi, pods: "250"}
    Then pod "a" is bound to "n1"
    And pod "b" is bound to "n1"

  @DRA-528b
  Scenario: What a pod would use is no longer recorded when its device fails before the binding
    Given the scheduler binds pods itself
    And node "n1"
    And node "n1" declares the features "DRANodeAllocatableResources"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: dev
          bindingConditions: [dra.test/ready]
          bindingFailureConditions: [dra.test/failed]
          nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "20"}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train"
    And the status of pod "train" has the node resources of its claims:
      """
      - resourceClaimName: mine
        containers: [main]
        mapping: [{name: cpu, quantity: "20"}]
      """
    # Nothing can be allocated in its place, so that no later attempt records anything.
    When the ResourceSlice "slow" is deleted
    And device "dev" of claim "mine" reports "dra.test/failed" True
    Then the Pod "train" has "status.nodeAllocatableResourceClaimStatuses[*].resourceClaimName" []
    And pod "train" stays unbound
