@profile:api @component:control-plane @since:1.37
Feature: API validation of partitions
  Counters are not the only way in which partitions of one device exclude each other: they can have compatibility groups.
  Partitions also have types, by which the devices of a pool are counted.

  Scenario Outline: A slice with <what> is refused
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<field>"

    @DRA-407 @gate:DRADeviceCompatibilityGroups
    Examples: a device has at most two groups of a counter set
      | what                            | manifest     | path                             | value                                                                                                                    | reason  | field                                                |
      | three groups of a set           | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}, compatibilityGroups: [x, y, z]}]                                             | TooMany | spec.devices[0].consumesCounters[0].compatibilityGroups |
      | three groups of the second set  | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}}, {counterSet: b, counters: {m: {value: 1}}, compatibilityGroups: [x, y, z]}] | TooMany | spec.devices[0].consumesCounters[1].compatibilityGroups |

    @DRA-408 @gate:DRADeviceCompatibilityGroups
    Examples: groups are distinct DNS labels
      | what                        | manifest     | path                             | value                                                                     | reason    | field                                                      |
      | a group given twice         | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}, compatibilityGroups: [x, x]}] | Duplicate | spec.devices[0].consumesCounters[0].compatibilityGroups[1] |
      | a group in upper case       | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}, compatibilityGroups: [x, X]}] | Invalid   | spec.devices[0].consumesCounters[0].compatibilityGroups[1] |
      | a group with a dot          | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}, compatibilityGroups: [x.y]}]  | Invalid   | spec.devices[0].consumesCounters[0].compatibilityGroups[0] |

    @DRA-411 @gate:DRAPartitionableDevicesType
    Examples: only slices with partitions have a type attribute
      | what                                 | manifest     | path                        | value                | reason  | field                       |
      | a partition type, but no partitions  | claims/slice | spec.partitionTypeAttribute | api.dra.test/profile | Invalid | spec.partitionTypeAttribute |

    @DRA-412 @gate:DRAPartitionableDevicesType
    Examples: each partition has its type
      | what                                      | manifest          | path                       | value                       | reason   | field                                              |
      | a partition without its type              | claims/partitions | spec.devices[1].attributes | {a: {string: half}}         | Required | spec.devices[1].attributes[types.dra.test/profile] |
      | a type in the domain of the driver        | claims/partitions | spec.devices[1].attributes | {profile: {string: half}}   | Required | spec.devices[1].attributes[types.dra.test/profile] |

    @DRA-413 @gate:DRAPartitionableDevicesType
    Examples: the name with a domain comes first
      | what                                        | manifest          | path | value | reason  | field                                            |
      | an integer as type and text without domain  | claims/partitions | spec | {driver: api.dra.test, nodeName: n, pool: {name: p, generation: 1, resourceSliceCount: 2}, partitionTypeAttribute: api.dra.test/profile, devices: [{name: d, attributes: {profile: {string: half}, api.dra.test/profile: {int: 2}}, consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]}]} | Invalid | spec.devices[0].attributes[api.dra.test/profile] |

    @DRA-414 @gate:DRAPartitionableDevicesType
    Examples: a type is a text
      | what                    | manifest          | path                       | value                                      | reason  | field                                              |
      | an integer as type      | claims/partitions | spec.devices[1].attributes | {types.dra.test/profile: {int: 4}}         | Invalid | spec.devices[1].attributes[types.dra.test/profile] |
      | a version as type       | claims/partitions | spec.devices[0].attributes | {types.dra.test/profile: {version: 1.0.0}} | Invalid | spec.devices[0].attributes[types.dra.test/profile] |

    @DRA-415 @gate:DRAPartitionableDevicesType
    Examples: the name of the attribute has a domain
      | what                              | manifest          | path                        | value       | reason  | field                       |
      | a partition type without domain   | claims/partitions | spec.partitionTypeAttribute | profile     | Invalid | spec.partitionTypeAttribute |
      | a partition type with a hyphen    | claims/partitions | spec.partitionTypeAttribute | a.b/my-type | Invalid | spec.partitionTypeAttribute |

  Scenario Outline: A slice with <what> is accepted
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then its "<field>" reads <stored>

    @DRA-407 @gate:DRADeviceCompatibilityGroups
    Examples: each set has groups of its own
      | what                   | manifest     | path                             | value | field | stored |
      | four groups of two sets | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}, compatibilityGroups: [x, y]}, {counterSet: b, counters: {m: {value: 1}}, compatibilityGroups: [u, v]}] | spec.devices[0].consumesCounters[1].compatibilityGroups | [u, v] |

    @DRA-408 @gate:DRADeviceCompatibilityGroups
    Examples: two sets may have a group of one name
      | what                  | manifest     | path                             | value | field | stored |
      | one group of two sets | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}, compatibilityGroups: [x]}, {counterSet: b, counters: {m: {value: 1}}, compatibilityGroups: [x]}] | spec.devices[0].consumesCounters[1].compatibilityGroups | [x] |

    @DRA-411 @gate:DRAPartitionableDevicesType
    Examples: slices with partitions have a type attribute
      | what                        | manifest          | path                         | value                  | field                       | stored                 |
      | one partition and no others | claims/partitions | spec.devices[0].name         | d                      | spec.partitionTypeAttribute | types.dra.test/profile |

    @DRA-412 @gate:DRAPartitionableDevicesType
    Examples: devices that consume no counters need no type
      | what                                  | manifest          | path                       | value          | field                       | stored                 |
      | a type, and a device without counters | claims/partitions | spec.devices[2].attributes | {a: {int: 1}}  | spec.partitionTypeAttribute | types.dra.test/profile |

    @DRA-413 @gate:DRAPartitionableDevicesType
    Examples: a name without domain is in that of the driver
      | what                                  | manifest          | path | value | field | stored |
      | types with and without domain         | claims/partitions | spec | {driver: api.dra.test, nodeName: n, pool: {name: p, generation: 1, resourceSliceCount: 2}, partitionTypeAttribute: api.dra.test/profile, devices: [{name: d, attributes: {profile: {string: half}}, consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]}, {name: e, attributes: {api.dra.test/profile: {string: half}}, consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]}]} | spec.partitionTypeAttribute | api.dra.test/profile |
      | a type, and an integer without domain | claims/partitions | spec | {driver: api.dra.test, nodeName: n, pool: {name: p, generation: 1, resourceSliceCount: 2}, partitionTypeAttribute: api.dra.test/profile, devices: [{name: d, attributes: {profile: {int: 2}, api.dra.test/profile: {string: half}}, consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]}]} | spec.partitionTypeAttribute | api.dra.test/profile |

  @DRA-412 @gate:DRAPartitionableDevicesType
  Scenario: A partition keeps its type
    Given the manifest "claims/partitions"
    And it is created
    When its "spec.devices[1].attributes" is updated to {types.dra.test/profile: {string: eighth}}
    Then the API server accepts it
    When its "spec.devices[0].attributes" is updated to {types.dra.test/size: {string: half}}
    Then the API server refuses it: Required at "spec.devices[0].attributes[types.dra.test/profile]"
