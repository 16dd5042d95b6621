@profile:api @component:control-plane @since:1.37
Feature: API validation of what devices use of their nodes
  A device can be a part of its node's memory or CPUs, or need some of them in addition.

  Scenario Outline: A device with <what> is refused
    Given the manifest "claims/node-resources"
    And "spec.devices[0].nodeAllocatableResources" is <value>
    When it is created
    Then the API server refuses it: <reason> at "spec.devices[0].nodeAllocatableResources<field>"

    @DRA-425 @gate:DRANodeAllocatableResources
    Examples: devices use cpu, memory and huge pages
      | what                          | value                                                                                                 | reason  | field               |
      | storage of its node           | {cpu: {mapping: {deviceMultiplier: 1}}, ephemeral-storage: {mapping: {deviceMultiplier: 1}}}           | Invalid | [ephemeral-storage] |
      | an extended resource          | {api.dra.test/gpu: {mapping: {deviceMultiplier: 1}}, memory: {mapping: {deviceMultiplier: 1}}}         | Invalid | [api.dra.test/gpu]  |
      | huge pages of no size         | {hugepages: {mapping: {deviceMultiplier: 1}}}                                                          | Invalid | [hugepages]         |

    @DRA-426 @gate:DRANodeAllocatableResources
    Examples: an entry has a mapping or an overhead
      | what                          | value                                            | reason   | field      |
      | an empty entry                | {cpu: {}}                                        | Required | [cpu]      |
      | an empty entry beside another | {cpu: {overhead: {perPod: 1}}, memory: {}}       | Required | [memory]   |

    @DRA-427 @gate:DRANodeAllocatableResources
    Examples: a capacity has a multiplier
      | what                            | value                                                           | reason   | field                            |
      | a capacity without multiplier   | {cpu: {mapping: {capacityKey: dimms}}}                          | Required | [cpu].mapping.capacityMultiplier |
      | a multiplier without capacity   | {cpu: {mapping: {capacityMultiplier: 2, deviceMultiplier: 1}}}  | Required | [cpu].mapping.capacityKey        |

    @DRA-428 @gate:DRANodeAllocatableResources
    Examples: a capacity is one of the device
      | what                             | value                                                          | reason   | field                     |
      | a capacity of another device     | {cpu: {mapping: {capacityKey: cores, capacityMultiplier: 1}}}  | NotFound | [cpu].mapping.capacityKey |
      | a capacity without name          | {cpu: {mapping: {capacityKey: "", capacityMultiplier: 1}}}     | Invalid  | [cpu].mapping.capacityKey |

    @DRA-429 @gate:DRANodeAllocatableResources
    Examples: multipliers are positive, overheads are not negative
      | what                             | value                                                                            | reason  | field                            |
      | a multiplier of zero             | {cpu: {mapping: {deviceMultiplier: 0}}}                                          | Invalid | [cpu].mapping.deviceMultiplier   |
      | a negative multiplier            | {cpu: {mapping: {deviceMultiplier: -1}}}                                         | Invalid | [cpu].mapping.deviceMultiplier   |
      | a capacity times zero            | {cpu: {mapping: {capacityKey: dimms, capacityMultiplier: 0}}}                    | Invalid | [cpu].mapping.capacityMultiplier |
      | a negative overhead of each pod  | {cpu: {overhead: {perPod: -1, perContainer: 1}}}                                 | Invalid | [cpu].overhead.perPod            |
      | a negative overhead of containers | {cpu: {overhead: {perPod: 1, perContainer: -1m}}}                               | Invalid | [cpu].overhead.perContainer      |
      | an overhead of nothing           | {cpu: {mapping: {deviceMultiplier: 1}, overhead: {}}}                            | Invalid | [cpu].overhead                   |

    @DRA-430 @gate:DRANodeAllocatableResources
    Examples: a mapping counts devices or a capacity
      | what                             | value                                                                            | reason  | field          |
      | a mapping of devices and capacity | {cpu: {mapping: {deviceMultiplier: 1, capacityKey: dimms, capacityMultiplier: 1}}} | Invalid | [cpu].mapping |
      | a mapping of nothing             | {cpu: {mapping: {}}}                                                             | Invalid | [cpu].mapping  |

  Scenario Outline: A device with <what> is accepted
    Given the manifest "claims/node-resources"
    And "spec.devices[0].nodeAllocatableResources" is <value>
    When it is created
    Then its "spec.devices[0].nodeAllocatableResources" reads <value>

    @DRA-425 @gate:DRANodeAllocatableResources
    Examples:
      | what                         | value                                                                                                                                        |
      | cpu, memory and huge pages   | {cpu: {mapping: {deviceMultiplier: "1"}}, memory: {mapping: {deviceMultiplier: 2Gi}}, hugepages-2Mi: {mapping: {deviceMultiplier: 4Mi}}} |

    @DRA-426 @gate:DRANodeAllocatableResources
    Examples:
      | what                         | value                                      |
      | an overhead alone            | {memory: {overhead: {perPod: 1Mi}}}        |

    @DRA-427 @gate:DRANodeAllocatableResources
    Examples:
      | what                         | value                                                            |
      | a capacity and a multiplier  | {memory: {mapping: {capacityKey: dimms, capacityMultiplier: 1Gi}}} |

    @DRA-429 @gate:DRANodeAllocatableResources
    Examples:
      | what                         | value                                                        |
      | an overhead of zero          | {cpu: {overhead: {perPod: "0", perContainer: 100m}}}         |
      | a multiplier below one       | {cpu: {mapping: {deviceMultiplier: 500m}}}                   |

  @gate:DRANodeAllocatableResources
  Scenario Outline: A slice for <what> is refused if its devices use resources of the node
    Given the objects of the manifest "claims/nodes-with-features"
    And the manifest "claims/slice"
    And "spec.nodeName" is $(node:<node>)
    And "spec.devices" is [{name: plain}, {name: d, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: 1}}}}]
    When it is created
    Then the API server refuses it with 403 Forbidden
    And the refusal says "$(node:<node>)"

    @DRA-431
    Examples:
      | what                                      | node |
      | a node that does not declare the feature  | old  |

    @DRA-433
    Examples:
      | what                      | node    |
      | a node that does not exist | missing |

  @DRA-431 @gate:DRANodeAllocatableResources
  Scenario: The node of each device declares the feature if a slice has devices of several nodes
    Given the objects of the manifest "claims/nodes-with-features"
    And the manifest "claims/slice"
    And "spec.nodeName" is null
    And "spec.perDeviceNodeSelection" is true
    And "spec.devices" is [{name: a, nodeName: $(node:ready), nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "1"}}}}, {name: b, nodeName: $(node:old)}]
    # The admission of slices reads Nodes from a cache.
    Then the API server comes to accept it
    When its "spec.devices[1].nodeAllocatableResources" is updated to {cpu: {mapping: {deviceMultiplier: "1"}}}
    Then the API server refuses it with 403 Forbidden

  @DRA-431 @gate:DRANodeAllocatableResources
  Scenario: Devices that use resources of a node need a node that declares the feature
    Given the objects of the manifest "claims/nodes-with-features"
    And the manifest "claims/slice"
    And "spec.nodeName" is $(node:ready)
    And "spec.devices" is [{name: d, nodeAllocatableResources: {cpu: {mapping: {deviceMultiplier: "1"}}}}]
    # The admission of slices reads Nodes from a cache.
    Then the API server comes to accept it
    And its "spec.devices[0].nodeAllocatableResources" reads {cpu: {mapping: {deviceMultiplier: "1"}}}

  @DRA-431 @gate:DRANodeAllocatableResources
  Scenario: A slice of a node that does not declare the feature is not updated to use its resources
    Given the objects of the manifest "claims/nodes-with-features"
    And the manifest "claims/slice"
    And "spec.nodeName" is $(node:old)
    And it is created
    When its "spec.devices[0].attributes" is updated to {a: {int: 1}}
    Then the API server accepts it
    When its "spec.devices[0].nodeAllocatableResources" is updated to {cpu: {overhead: {perPod: 1}}}
    Then the API server refuses it with 403 Forbidden

  @DRA-537 @DRA-537b @gate:DRANodeAllocatableResources
  Scenario: A pod's status records node resources of each claim that its spec names or that was generated for it
    Given the manifest "claims/pod"
    And "spec.resourceClaims" is [{name: gpu, resourceClaimName: shared}, {name: nic, resourceClaimTemplateName: port}]
    And it is created
    And its status "status.resourceClaimStatuses" is [{name: nic, resourceClaimName: port-x7k2p}]
    When its status "status.nodeAllocatableResourceClaimStatuses" is updated to [{resourceClaimName: shared, containers: [main], mapping: [{name: cpu, quantity: "2"}]}, {resourceClaimName: port-x7k2p, mapping: [{name: memory, quantity: "0"}, {name: hugepages-2Mi, quantity: 4Mi}], overhead: [{name: memory, perPod: 1Mi}, {name: cpu, perContainer: "0"}]}]
    Then the API server accepts it [DRA-537]
    And its "status.nodeAllocatableResourceClaimStatuses[*].resourceClaimName" reads [shared, port-x7k2p] [DRA-537]
    And its "status.nodeAllocatableResourceClaimStatuses[1].mapping[*].name" reads [memory, hugepages-2Mi] [DRA-537b]

  @DRA-537 @gate:DRANodeAllocatableResources
  Scenario Outline: A pod's status cannot record node resources of <what>
    Given the manifest "claims/pod"
    And "spec.resourceClaims" is [{name: gpu, resourceClaimName: shared}, {name: nic, resourceClaimTemplateName: port}]
    And it is created
    And its status "status.resourceClaimStatuses" is [{name: nic, resourceClaimName: port-x7k2p}]
    When its status "status.nodeAllocatableResourceClaimStatuses" is updated to [{resourceClaimName: shared, mapping: [{name: cpu, quantity: "1"}]}, {resourceClaimName: <name>, mapping: [{name: cpu, quantity: "1"}]}]
    Then the API server refuses it: Invalid at "status.nodeAllocatableResourceClaimStatuses[1].resourceClaimName"

    Examples:
      | what                            | name  |
      | a claim of another pod          | other |
      | its own name of a claim         | gpu   |
      | the template instead of a claim | port  |

  @DRA-537b @gate:DRANodeAllocatableResources
  Scenario Outline: A pod's status cannot record <what>
    Given the manifest "claims/pod"
    And "spec.resourceClaims" is [{name: gpu, resourceClaimName: shared}]
    And it is created
    When its status "status.nodeAllocatableResourceClaimStatuses" is updated to [{resourceClaimName: shared, <use>}]
    Then the API server refuses it: Invalid at "status.nodeAllocatableResourceClaimStatuses[0].<field>"

    Examples:
      | what                                | use                                                                                | field                    |
      | storage of the node for a device    | mapping: [{name: cpu, quantity: "1"}, {name: ephemeral-storage, quantity: "1"}]    | mapping[1].name          |
      | storage of the node as overhead     | overhead: [{name: ephemeral-storage, perPod: "1"}]                                 | overhead[0].name         |
      | a negative amount for a device      | mapping: [{name: cpu, quantity: "1"}, {name: memory, quantity: "-1"}]              | mapping[1].quantity      |
      | a negative overhead of the pod      | overhead: [{name: cpu, perPod: "-1", perContainer: "1"}]                           | overhead[0].perPod       |
      | a negative overhead of a container  | overhead: [{name: cpu, perPod: "1"}, {name: memory, perPod: "1", perContainer: "-1"}] | overhead[1].perContainer |
      | an overhead of nothing              | overhead: [{name: cpu, perPod: "1"}, {name: memory}]                               | overhead[1]              |
