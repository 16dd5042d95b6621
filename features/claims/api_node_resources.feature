@profile:api @component:control-plane @since:1.37
Feature: API validation of what devices use of their nodes
  A device can be part of its node's memory or processors, or cost some of them.

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
