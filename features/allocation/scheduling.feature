@profile:scheduler-core @component:scheduler @component:binder
Feature: Scheduling of pods with claims
  A scheduler finds a node and devices for all claims of a pod, allocates no device twice, and retries a waiting pod
  when an object changes that may help.

  @DRA-107
  Scenario: A pod whose status records that it needs no claim is bound
    Given node "n1"
    And a pod "plain" using template "unused"
    And "status.resourceClaimStatuses" of the Pod "plain" is set to [{name: gpu}]
    Then pod "plain" is bound

  @DRA-122
  Scenario: A pod waits for its claim to be created
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a pod "early" using claim "late"
    Then pod "early" stays unbound
    Given a ResourceClaim "late" for 1 of "accelerator"
    Then pod "early" is bound to "n1"

  @DRA-123
  Scenario: A pod that uses a claim that is being deleted is not scheduled
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "first" using claim "mine"
    Then pod "first" is bound to "n1"
    When the ResourceClaim "mine" is deleted
    Then the ResourceClaim "mine" has "metadata.deletionTimestamp" set
    And the ResourceClaim "mine" keeps "status.allocation.devices.results" set
    When a pod "second" using claim "mine" is created
    # This pod is bound, so the scheduler has tried the other one before.
    Given a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    And pod "second" gets no BindRequest
    And pod "second" stays unbound

  @DRA-135
  Scenario: A pod with high priority does not preempt a pod because of its device
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "urgent" for 1 of "accelerator"
    And a pod "first" using claim "mine"
    Then pod "first" is bound to "n1"
    When a pod "second" using claim "urgent" is created with:
      """
      priorityClassName: system-node-critical
      """
    Then the Pod "second" has condition PodScheduled False with reason "Unschedulable"
    And pod "second" stays unbound
    And the Pod "first" still exists

  @DRA-124
  Scenario: A pod waits for a class that does not exist, with a condition that names it
    Given node "n1" with 1 devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "early" using claim "mine"
    Then the message of condition PodScheduled of the Pod "early" contains "$(class:accelerator)"
    When a DeviceClass "accelerator" selecting 'device.driver == "$(sim)"' is created
    Then pod "early" is bound to "n1"

  @DRA-125
  Scenario: A waiting pod is scheduled when its class is corrected
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" selecting 'device.driver == "absent.dra.test"'
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "early" using claim "mine"
    Then pod "early" stays unbound
    When "spec.selectors" of the DeviceClass "accelerator" is set to [{cel: {expression: 'device.driver == "$(sim)"'}}]
    Then pod "early" is bound to "n1"

  @DRA-126 @component:claim-controller
  Scenario: A released device is allocated to the next pod
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a pod "one" using claim "first"
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound
    When pod "one" is force-deleted
    Then pod "two" is bound to "n1"

  @DRA-127
  Scenario: A waiting pod is scheduled when a new slice has its device
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "two" for 2 of "accelerator"
    And a pod "early" using claim "two"
    Then pod "early" stays unbound
    When a ResourceSlice "more" is published with:
      """
      nodeName: $(node:n1)
      devices: [{name: extra}]
      """
    Then pod "early" is bound to "n1"

  @DRA-128
  Scenario: The claim of a bound pod has a finalizer, an allocation and a reservation
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n1"
    And claim "mine" is allocated the devices "dev-0"
    And claim "mine" is reserved for pod "train"
    And the ResourceClaim "mine" has "metadata.finalizers" containing resource.kubernetes.io/delete-protection

  @DRA-130
  Scenario: Pods that share a claim share its node
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    Then pod "first" is bound
    When a pod "second" using claim "shared" is created
    Then pod "second" is bound to the node of pod "first"
    And claim "shared" is reserved for exactly the pods "first, second"

  @DRA-133
  Scenario: The last device is allocated once
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    And a pod "two" using claim "second" is created
    Then exactly 1 of the claims "first, second" are allocated

  @DRA-133
  Scenario: Pods that are woken at once get devices of their own
    Given node "n1" with 2 devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    When a pod "one" using claim "first" is created
    And a pod "two" using claim "second" is created
    And a pod "three" using claim "third" is created
    Then the message of condition PodScheduled of the Pod "one" contains "$(class:accelerator)"
    And the message of condition PodScheduled of the Pod "two" contains "$(class:accelerator)"
    And the message of condition PodScheduled of the Pod "three" contains "$(class:accelerator)"
    # Each pod is decided about before the decision for the pod before it is stored.
    When a DeviceClass "accelerator" selecting 'device.driver == "$(sim)"' is created
    Then exactly 2 of the claims "first, second, third" are allocated

  @DRA-133 @DRA-133c
  Scenario: A device is identified by its driver, pool and name
    Given node "n1"
    And a ResourceSlice "pool-a" with:
      """
      nodeName: $(node:n1)
      pool: {name: a}
      devices: [{name: gpu-0}]
      """
    And a ResourceSlice "pool-b" with:
      """
      nodeName: $(node:n1)
      pool: {name: b}
      devices: [{name: gpu-0}]
      """
    And a ResourceSlice "other-driver" with:
      """
      driver: other-$(suffix).dra.test
      nodeName: $(node:n1)
      pool: {name: a}
      devices: [{name: gpu-0}]
      """
    And a DeviceClass "accelerator" selecting 'device.driver.endsWith("-$(suffix).dra.test")'
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "rest" for 2 of "accelerator"
    And a ResourceClaim "more" for 1 of "accelerator"
    And a pod "one" using claim "first"
    Then pod "one" is bound to "n1" [DRA-133c]
    When a pod "two" using claim "rest" is created
    Then pod "two" is bound to "n1" [DRA-133c]
    And the allocation of claim "first" is valid [DRA-133]
    And the allocation of claim "rest" is valid [DRA-133]
    When a pod "three" using claim "more" is created
    Then claim "more" stays unallocated [DRA-133]

  @DRA-133
  Scenario: A device stays in use when its pool is published again
    Given node "n1"
    And a ResourceSlice "before" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1}
      devices: [{name: used}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a ResourceClaim "third" for 1 of "accelerator"
    And a pod "one" using claim "first"
    Then pod "one" is bound to "n1"
    When a ResourceSlice "after" is published with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 2}
      devices: [{name: used}, {name: added}]
      """
    And a pod "two" using claim "second" is created
    Then claim "second" is allocated the devices "added"
    When a pod "three" using claim "third" is created
    Then claim "third" stays unallocated

  @DRA-134
  Scenario: A pod gets all of its claims or none
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a pod "greedy" using claim "first, second" is created
    Then exactly 0 of the claims "first, second" are allocated
    And pod "greedy" stays unbound
    # This pod is bound, so the scheduler keeps no device for the other one.
    When a pod "modest" using claim "first" is created
    Then pod "modest" is bound to "n1"

  @DRA-141
  Scenario: Devices of a node are allocated for this node
    Given node "n0"
    And node "n1" with 1 devices
    And node "n2"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then the ResourceClaim "mine" has:
      | field                          | value                                                                                            |
      | status.allocation.nodeSelector | {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]} |

  @DRA-142
  Scenario: Devices for all nodes are allocated for all nodes
    Given node "n1"
    And a ResourceSlice "network" with:
      """
      allNodes: true
      devices: [{name: far}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "far"
    And the ResourceClaim "mine" has "status.allocation.nodeSelector" null

  @DRA-143
  Scenario: Devices for some nodes are allocated for these nodes
    Given node "n1"
    And node "n2" with label "dra.test/rack" set to "r1"
    And a ResourceSlice "rack" with:
      """
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1]}]}]}
      devices: [{name: near}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n2"
    And the ResourceClaim "mine" has:
      | field                          | value                                                                                         |
      | status.allocation.nodeSelector | {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1]}]}]} |

  @DRA-143
  Scenario: A waiting pod is scheduled when its node gets the label that a slice selects
    Given node "n1" with label "dra.test/rack" set to "r2"
    And a ResourceSlice "rack" with:
      """
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1]}]}]}
      devices: [{name: near}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then pod "train" stays unbound
    When "metadata.labels['dra.test/rack']" of the Node "n1" is set to r1
    Then pod "train" is bound to "n1"

  @DRA-143
  Scenario Outline: A node selector compares a label only if it is a 64-bit integer in decimal digits (<label>)
    Given node "n1" with label "dra.test/gpus" set to "<label>"
    And node "n2" with label "dra.test/gpus" set to "<integer>"
    And a ResourceSlice "large" with:
      """
      nodeSelector:
        nodeSelectorTerms: [{matchExpressions: [{key: dra.test/gpus, operator: <operator>, values: ["<bound>"]}]}]
      devices: [{name: near}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n2"
    And claim "mine" is allocated the devices "near"

    Examples:
      | label               | integer              | operator | bound |
      | 1_0                 | 8                    | Gt       | 5     |
      | 9223372036854775808 | 9223372036854775807  | Gt       | 5     |
      | 1_0                 | 00000000000000000008 | Lt       | 20    |

  @DRA-145
  Scenario: Only the newest generation of a pool counts
    Given node "n1"
    And a ResourceSlice "a-old" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1}
      devices: [{name: old}]
      """
    And a ResourceSlice "b-new" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 2}
      devices: [{name: new}]
      """
    And a ResourceSlice "c-other-pool" with:
      """
      nodeName: $(node:n1)
      pool: {name: second, generation: 1}
      devices: [{name: beside}]
      """
    And a ResourceSlice "d-other-driver" with:
      """
      driver: other-$(suffix).dra.test
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1}
      devices: [{name: foreign}]
      """
    And a DeviceClass "accelerator" selecting 'device.driver.endsWith("-$(suffix).dra.test")'
    And a ResourceClaim "mine" for 3 of "accelerator"
    And a ResourceClaim "more" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "new, beside, foreign"
    When a pod "late" using claim "more" is created
    Then claim "more" stays unallocated

  @DRA-146
  Scenario: A pool is used when all of its slices are there
    Given node "n1"
    And a ResourceSlice "part-1" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 2, resourceSliceCount: 2}
      devices: [{name: d-1}]
      """
    And a ResourceSlice "former-part" with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 1, resourceSliceCount: 2}
      devices: [{name: d-0}]
      """
    And a ResourceSlice "part-of-another" with:
      """
      nodeName: $(node:n1)
      pool: {name: other, generation: 2, resourceSliceCount: 2}
      devices: [{name: d-3}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then pod "train" stays unbound
    When a ResourceSlice "part-2" is published with:
      """
      nodeName: $(node:n1)
      pool: {name: pool, generation: 2, resourceSliceCount: 2}
      devices: [{name: d-2}]
      """
    Then pod "train" is bound to "n1"
    And the allocation of claim "mine" is valid

  @DRA-153
  Scenario: A count is met with different devices
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "three" for 3 of "accelerator"
    When a pod "train" using claim "three" is created
    Then claim "three" is allocated the devices "dev-0, dev-1, dev-2"

  @DRA-154b
  Scenario: All means one device at least
    Given node "n1" with 2 devices
    And a ResourceSlice "nothing" with:
      """
      nodeName: $(node:n1)
      """
    And a DeviceClass "late" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].?index.orValue(0) == 7'
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:late), allocationMode: All}}]
      """
    When a pod "train" using claim "all" is created
    Given a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    And claim "all" stays unallocated
    When a ResourceSlice "late" is published with:
      """
      nodeName: $(node:n1)
      devices: [{name: seventh, attributes: {index: {int: 7}}}]
      """
    Then claim "all" is allocated the devices "seventh"

  @DRA-154
  Scenario: All means every device that matches
    Given node "n1" with 4 devices
    And node "n2" with 1 devices
    And a ResourceSlice "more" with:
      """
      nodeName: $(node:n1)
      devices: [{name: fifth, attributes: {index: {int: 5}}}, {name: none, attributes: {index: {int: 0}}}]
      """
    And a DeviceClass "upper" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index >= 2'
    And a DeviceClass "second" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index == 1'
    And a ResourceClaim "all" with:
      """
      requests:
        - {name: one, exactly: {deviceClassName: $(class:second)}}
        - {name: gpu, exactly: {deviceClassName: $(class:upper), allocationMode: All}}
      """
    When a pod "train" using claim "all" is created
    Then request "gpu" of claim "all" is allocated the devices "dev-2, dev-3, fifth"
    And request "one" of claim "all" is allocated the devices "dev-1"

  @DRA-155
  Scenario: All does not mean all that are left
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    And a pod "first" using claim "one"
    Then pod "first" is bound to "n1"
    When a pod "second" using claim "all" is created
    Then claim "all" stays unallocated

  @DRA-158
  Scenario: A device matches the selectors of its class and its request
    Given node "n1" with 4 devices
    And a DeviceClass "b" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].model == "b"'
    And a ResourceClaim "mine" for 1 of "b" selecting 'device.attributes["$(sim)"].index > 1'
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "dev-3"

  Scenario Outline: Expressions: <what>
    Given node "n1"
    And the objects of the manifest "allocation/mixed"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator" selecting '<expression>'
    When a pod "train" using claim "mine" is created
    Then claim "mine" is allocated the devices "<device>"

    @DRA-159
    Examples:
      | what                                              | expression                                                            | device |
      | a driver's own attributes are in its own domain   | has(device.attributes["$(sim)"].rare)                                 | large  |

    @DRA-160
    Examples:
      | what                                  | expression                                   | device |
      | an unknown domain is empty            | !("rare" in device.attributes["other.test"]) | small  |

    @DRA-165b
    Examples:
      | what                                  | expression                                                                        | device |
      | cel.bind gives a name to a value      | cel.bind(own, device.attributes["$(sim)"], "rare" in own && own.rare == 1)        | large  |

    @DRA-162
    Examples:
      | what                                  | expression                                            | device |
      | orValue replaces a missing value      | device.attributes["$(sim)"].?rare.orValue(0) == 1     | large  |

    @DRA-163
    Examples:
      | what                             | expression                                                                  | device |
      | quantities compare as quantities | device.capacity["$(sim)"].memory.compareTo(quantity("10Gi")) >= 0           | large  |

    @DRA-164
    Examples:
      | what                         | expression                                                            | device |
      | versions compare as versions | device.attributes["$(sim)"].runtime.isGreaterThan(semver("1.9.5"))    | large  |

  @DRA-161
  Scenario: A pod waits if its expression fails on a device
    Given node "n1"
    And the objects of the manifest "allocation/mixed"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].rare == 1'
    When a pod "train" using claim "mine" is created
    # This pod is bound, so the scheduler has tried the other one before.
    Given a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    And pod "train" stays unbound

  @DRA-168
  Scenario: matchAttribute selects devices with one value
    Given node "n1" with 4 devices
    And a DeviceClass "third" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index == 2'
    And a DeviceClass "b" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].model == "b"'
    And a ResourceClaim "near" with:
      """
      requests:
        - {name: one, exactly: {deviceClassName: $(class:third)}}
        - {name: two, exactly: {deviceClassName: $(class:b)}}
      constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "near" is created
    Then request "two" of claim "near" is allocated the devices "dev-3"

  @DRA-171
  Scenario: A constraint applies to its own claim
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "left" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 2}}]
      constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    And a ResourceClaim "right" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 2}}]
      constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "left, right" is created
    Then claim "left" is allocated the devices "dev-0, dev-1"
    And claim "right" is allocated the devices "dev-2, dev-3"

  @DRA-172
  Scenario: A first choice without a second is revised
    Given node "n1" with 4 devices
    And a DeviceClass "a" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].model == "a"'
    And a DeviceClass "last" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index == 3'
    And a ResourceClaim "near" with:
      """
      requests:
        - {name: one, exactly: {deviceClassName: $(class:a)}}
        - {name: two, exactly: {deviceClassName: $(class:last)}}
      constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "near" is created
    Then request "one" of claim "near" is allocated the devices "dev-2"

  @DRA-171
  Scenario: A constraint applies to the requests that it names
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "near" with:
      """
      requests:
        - {name: pair, exactly: {deviceClassName: $(class:accelerator), count: 2}}
        - {name: other, exactly: {deviceClassName: $(class:accelerator)}}
      constraints: [{requests: [pair], matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "near" is created
    Then request "pair" of claim "near" is allocated the devices "dev-0, dev-1"
    And request "other" of claim "near" is allocated the devices "dev-2"

  @DRA-169b @gate:DRAConsumableCapacity
  Scenario Outline: A device without the attribute is not distinct from <others>
    Given node "n1"
    And a ResourceSlice "pair" with:
      """
      nodeName: $(node:n1)
      devices: [{name: one, attributes: {dra.test/other: {int: 1}}}, {name: two, attributes: {dra.test/group: {int: 1}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "apart" with:
      """
      requests: <requests>
      constraints: [{distinctAttribute: dra.test/group}]
      """
    When a pod "train" using claim "apart" is created
    Given a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    And claim "apart" stays unallocated
    When a ResourceSlice "third" is published with:
      """
      nodeName: $(node:n1)
      devices: [{name: three, attributes: {dra.test/group: {int: 2}}}]
      """
    Then claim "apart" is allocated the devices "two, three"

    Examples:
      | others                       | requests                                                                                                                                  |
      | another device of a request  | [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 2}}]                                                                 |
      | that of another request      | [{name: a, exactly: {deviceClassName: $(class:accelerator)}}, {name: b, exactly: {deviceClassName: $(class:accelerator)}}] |

  Scenario Outline: <what> never match
    Given node "n1"
    And a ResourceSlice "pair" with:
      """
      nodeName: $(node:n1)
      devices: [{name: one, attributes: {dra.test/group: {<first>}}}, {name: two, attributes: <attributes>}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "near" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 2}}]
      constraints: [{matchAttribute: dra.test/group}]
      """
    When a pod "train" using claim "near" is created
    # This pod is bound, so the scheduler has tried the other one before.
    Given a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    And claim "near" stays unallocated

    @DRA-169
    Examples:
      | what                          | first         | attributes                    |
      | Devices without the attribute | string: 1.0.0 | {dra.test/other: {int: 1}}    |

    @DRA-170
    Examples:
      | what                    | first         | attributes                         |
      | A string and a version  | string: 1.0.0 | {dra.test/group: {version: 1.0.0}} |
      | A boolean and a number  | bool: true    | {dra.test/group: {int: 1}}         |
      | A number and a boolean  | int: 0        | {dra.test/group: {bool: false}}    |
      | A number and its digits | int: 1        | {dra.test/group: {string: "1"}}    |

  @DRA-177 @DRA-179
  Scenario: Configuration of the class comes first, and each has its requests
    Given node "n1" with 2 devices
    And the objects of the manifest "allocation/configured"
    When a pod "train" using claim "configured" is created
    Then the ResourceClaim "configured" has "status.allocation.devices.config[0].source" FromClass [DRA-177]
    And the ResourceClaim "configured" has "status.allocation.devices.config[1].source" FromClaim [DRA-177]
    And the ResourceClaim "configured" has "status.allocation.devices.config[1].requests" [b] [DRA-179]

  Scenario Outline: Of two alternatives <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "either" with:
      """
      requests:
        - name: gpu
          firstAvailable:
            - {name: first, deviceClassName: $(class:accelerator), count: <first>}
            - {name: second, deviceClassName: $(class:accelerator), count: 1}
      """
    When a pod "train" using claim "either" is created
    Then the ResourceClaim "either" has "status.allocation.devices.results[0].request" <request>

    @DRA-181
    Examples:
      | what                                    | first | request    |
      | the second is used if only it fits      | 3     | gpu/second |

    @DRA-182
    Examples:
      | what                                    | first | request    |
      | the first is used if both fit           | 2     | gpu/first  |

  @DRA-233
  Scenario: Admin access includes devices that are in use
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "admin" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}]
      """
    And a pod "train" using claim "one"
    Then pod "train" is bound to "n1"
    When a pod "monitor" using claim "admin" is created
    Then claim "admin" is allocated the devices "dev-0"
    And the ResourceClaim "admin" has "status.allocation.devices.results[0].adminAccess" true

  @DRA-234
  Scenario: A device with admin access can still be allocated
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "admin" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}]
      """
    And a pod "monitor" using claim "admin"
    Then pod "monitor" is bound to "n1"
    When a pod "train" using claim "one" is created
    Then claim "one" is allocated the devices "dev-0"

  @DRA-234
  Scenario: A device whose result has adminAccess false is in use
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1"
    And a ResourceSlice "two" with:
      """
      nodeName: $(node:n1)
      pool: {name: two}
      devices: [{name: a}, {name: b}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "held" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "held" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: two, device: a, adminAccess: false}]}}
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    When a pod "train" using claim "one" is created
    Then claim "one" is allocated the devices "b"
    When a pod "late" using claim "other" is created
    Then pod "late" stays unbound

  @DRA-133b @DRA-133c
  Scenario: Allocations of many claims are valid, and a pod waits only without a valid allocation
    Given node "n1" with 4 devices
    And node "n2" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].index == 1'
    And a ResourceClaim "other" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].index == 1'
    And a ResourceClaim "pair" with:
      """
      requests:
        - {name: left, exactly: {deviceClassName: $(class:accelerator)}}
        - {name: right, exactly: {deviceClassName: $(class:accelerator)}}
      constraints: [{requests: [left, right], matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    And a ResourceClaim "three" for 3 of "accelerator"
    And a ResourceClaim "two" for 2 of "accelerator"
    And a pod "first" using claim "one"
    And a pod "second" using claim "other"
    Then pod "first" is bound [DRA-133c]
    And pod "second" is bound [DRA-133c]
    When a pod "third" using claim "pair" is created
    Then pod "third" is bound [DRA-133c]
    And the allocation of claim "one" is valid [DRA-133b]
    And the allocation of claim "other" is valid [DRA-133b]
    And the allocation of claim "pair" is valid [DRA-133b]
    When a pod "fourth" using claim "three" is created
    Then pod "fourth" is bound [DRA-133c]
    And the allocation of claim "three" is valid [DRA-133b]
    When a pod "fifth" using claim "two" is created
    Then pod "fifth" is bound or no valid allocation of claim "two" exists [DRA-133c]
