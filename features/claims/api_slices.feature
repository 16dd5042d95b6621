@profile:api @component:control-plane
Feature: API validation of ResourceSlices
  Schedulers rely on the contents of slices, so the API server refuses invalid ones when a driver publishes them.

  Scenario Outline: A slice with <what> is refused
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<field>"

    @DRA-050
    Examples: a slice selects its nodes
      | what                            | manifest     | path                        | value | reason   | field |
      | no node selection               | claims/slice | spec.nodeName               | null  | Required | spec  |
      | a node and all nodes            | claims/slice | spec.allNodes               | true  | Invalid  | spec  |
      | a node and a node selector      | claims/slice | spec.nodeSelector           | {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]} | Invalid | spec |

    @DRA-050 @needs:v1-shapes
    Examples: a node of a slice has a name
      | what                                 | manifest     | path | value | reason  | field         |
      | a node without a name, and all nodes | claims/slice | spec | {driver: api.dra.test, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeName: "", allNodes: true} | Invalid | spec.nodeName |

    @DRA-051 @needs:v1-shapes
    Examples: allNodes is true or absent
      | what                              | manifest     | path          | value | reason  | field         |
      | a node, and denying all nodes     | claims/slice | spec.allNodes | false | Invalid | spec.allNodes |

    @DRA-052
    Examples: a node selector has one term
      | what                              | manifest     | path | value                                                                                                                                                                                                                                              | reason  | field                               |
      | a node selector of two terms      | claims/slice | spec | {driver: api.dra.test, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: b, operator: Exists}]}]}} | Invalid | spec.nodeSelector.nodeSelectorTerms |

    @DRA-054
    Examples: slice counts and generations are not negative
      | what                              | manifest     | path                         | value | reason  | field                        |
      | a pool of no slices               | claims/slice | spec.pool.resourceSliceCount | 0     | Invalid | spec.pool.resourceSliceCount |
      | a negative number of slices       | claims/slice | spec.pool.resourceSliceCount | -1    | Invalid | spec.pool.resourceSliceCount |
      | a pool without resourceSliceCount | claims/slice | spec.pool.resourceSliceCount | null  | Invalid | spec.pool.resourceSliceCount |
      | a negative generation             | claims/slice | spec.pool.generation         | -1    | Invalid | spec.pool.generation         |

    @DRA-055
    Examples: pool names are DNS subdomains, joined by slashes
      | what                                    | manifest     | path           | value | reason   | field          |
      | a pool name with an empty segment       | claims/slice | spec.pool.name | a//b  | Invalid  | spec.pool.name |
      | a pool name that begins with a slash    | claims/slice | spec.pool.name | /a    | Invalid  | spec.pool.name |
      | a pool name that ends with a slash      | claims/slice | spec.pool.name | a/    | Invalid  | spec.pool.name |
      | an upper-case pool name                 | claims/slice | spec.pool.name | A     | Invalid  | spec.pool.name |
      | a pool name with an underscore          | claims/slice | spec.pool.name | a_b   | Invalid  | spec.pool.name |
      | an empty pool name                      | claims/slice | spec.pool.name | ""    | Required | spec.pool.name |

    @DRA-057
    Examples: device names are unique in a slice
      | what                         | manifest     | path                 | value                  | reason    | field                |
      | a device name used twice apart | claims/slice | spec.devices       | [{name: d}, {name: e}, {name: d}] | Duplicate | spec.devices[2] |
      | a device name used twice     | claims/slice | spec.devices         | [{name: d}, {name: d}] | Duplicate | spec.devices[1]      |
      | an ill-formed device name    | claims/slice | spec.devices[0].name | D.d                    | Invalid   | spec.devices[0].name |

    @DRA-060
    Examples: an attribute has one value
      | what                             | manifest     | path                       | value                    | reason  | field                         |
      | an attribute of two values       | claims/slice | spec.devices[0].attributes | {a: {int: 1, bool: true}} | Invalid | spec.devices[0].attributes[a] |

    @DRA-060 @since:1.35
    Examples: an attribute has a value
      | what                       | manifest     | path                       | value   | reason  | field                         |
      | an attribute without value | claims/slice | spec.devices[0].attributes | {a: {}} | Invalid | spec.devices[0].attributes[a] |

    @DRA-061
    Examples: versions are semantic versions
      | what                             | manifest     | path                       | value                     | reason  | field                                 |
      | a version of two parts           | claims/slice | spec.devices[0].attributes | {a: {version: "1.0"}}     | Invalid | spec.devices[0].attributes[a].version |
      | a version with a letter in front | claims/slice | spec.devices[0].attributes | {a: {version: v1.0.0}}    | Invalid | spec.devices[0].attributes[a].version |
      | a version with a leading zero    | claims/slice | spec.devices[0].attributes | {a: {version: "01.0.0"}}  | Invalid | spec.devices[0].attributes[a].version |
      | a version of 65 bytes | claims/slice | spec.devices[0].attributes | {a: {version: 1.0.0-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}} | TooLong | spec.devices[0].attributes[a].version |

    @DRA-062
    Examples: attribute names are C identifiers, with or without a domain
      | what                                   | manifest     | path                       | value                 | reason  | field                      |
      | an attribute name with an empty domain | claims/slice | spec.devices[0].attributes | {"/x": {int: 1}}      | Invalid | spec.devices[0].attributes |
      | an attribute name of a domain alone    | claims/slice | spec.devices[0].attributes | {a.b/: {int: 1}}      | Invalid | spec.devices[0].attributes |
      | an attribute name with a digit in front | claims/slice | spec.devices[0].attributes | {1a: {int: 1}}       | Invalid | spec.devices[0].attributes |
      | an attribute name with a hyphen        | claims/slice | spec.devices[0].attributes | {a-b: {int: 1}}       | Invalid | spec.devices[0].attributes |
      | an attribute name of 33 characters     | claims/slice | spec.devices[0].attributes | {abcdefghijklmnopqrstuvwxyzabcdefg: {int: 1}} | TooLong | spec.devices[0].attributes |
      | a capacity name with an empty domain   | claims/slice | spec.devices[0].capacity   | {"/x": {value: 1}}    | Invalid | spec.devices[0].capacity   |

    @DRA-064
    Examples: a slice has counters or devices
      | what                            | manifest        | path                | value                                              | reason  | field |
      | devices beside counters         | claims/counters | spec.devices        | [{name: d}]                                        | Invalid | spec  |
      | counters beside devices         | claims/slice    | spec.sharedCounters | [{name: a, counters: {m: {value: 1}}}]             | Invalid | spec  |

    @DRA-065
    Examples: counter sets have a name and counters
      | what                            | manifest        | path                                  | value                                                                                   | reason    | field                           |
      | an empty counter set            | claims/counters | spec.sharedCounters[0].counters       | {}                                                                                      | Required  | spec.sharedCounters[0].counters |
      | a counter set's name used twice | claims/counters | spec.sharedCounters                   | [{name: a, counters: {m: {value: 1}}}, {name: a, counters: {m: {value: 1}}}]            | Duplicate | spec.sharedCounters[1]          |
      | a counter set without name      | claims/counters | spec.sharedCounters[0].name           | ""                                                                                      | Required  | spec.sharedCounters[0].name     |

    @DRA-066
    Examples: a device consumes from at most two counter sets
      | what                                      | manifest     | path                             | value                                                                                         | reason    | field                                          |
      | a device that consumes from three sets    | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}}, {counterSet: b, counters: {m: {value: 1}}}, {counterSet: c, counters: {m: {value: 1}}}] | TooMany | spec.devices[0].consumesCounters |
      | a device that consumes from one set twice | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}}, {counterSet: a, counters: {m: {value: 1}}}]      | Duplicate | spec.devices[0].consumesCounters[1]            |
      | a device that consumes no counters of a set | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a}]                                                                           | Required  | spec.devices[0].consumesCounters[0].counters   |
      | a device that consumes from a set without name | claims/slice | spec.devices[0].consumesCounters | [{counterSet: a, counters: {m: {value: 1}}}, {counterSet: "", counters: {m: {value: 1}}}] | Required | spec.devices[0].consumesCounters[1].counterSet |

    @DRA-069
    Examples: devices have nodes of their own only with perDeviceNodeSelection
      | what                                     | manifest     | path                     | value | reason  | field           |
      | a device with a node of its own          | claims/slice | spec.devices[0].nodeName | n     | Invalid | spec.devices[0] |
      | a device for all nodes                   | claims/slice | spec.devices[0].allNodes | true  | Invalid | spec.devices[0] |

    @DRA-070
    Examples: taints have a key and a known effect
      | what                                | manifest     | path                   | value                                             | reason       | field                            |
      | a taint without effect              | claims/slice | spec.devices[0].taints | [{key: a}]                                        | Required     | spec.devices[0].taints[0].effect |
      | a taint of unknown effect           | claims/slice | spec.devices[0].taints | [{key: a, effect: PreferNoSchedule}]              | NotSupported | spec.devices[0].taints[0].effect |
      | a taint with an ill-formed key      | claims/slice | spec.devices[0].taints | [{key: a b, effect: NoSchedule}]                  | Invalid      | spec.devices[0].taints[0].key    |
      | a taint with an ill-formed value    | claims/slice | spec.devices[0].taints | [{key: a, value: b c, effect: NoSchedule}]        | Invalid      | spec.devices[0].taints[0].value  |

    @DRA-072
    Examples: only shared devices have request policies
      | what                                       | manifest     | path                       | value                                                                         | reason    | field                                      |
      | a request policy for a device of one claim | claims/slice | spec.devices[0].capacity.m | {value: 10, requestPolicy: {default: 1, validValues: [1]}}                    | Forbidden | spec.devices[0].capacity[m].requestPolicy  |

    @DRA-073
    Examples: valid values are sorted, unique and within the capacity
      | what                                   | manifest             | path                                     | value                                    | reason    | field                                                     |
      | valid values out of order              | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validValues: [2, 1]}        | Invalid   | spec.devices[0].capacity[m].requestPolicy.validValues[1]  |
      | the last valid values out of order     | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validValues: [1, 3, 2]}     | Invalid   | spec.devices[0].capacity[m].requestPolicy.validValues[2]  |
      | a valid value above the capacity       | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validValues: [1, 11]}       | Invalid   | spec.devices[0].capacity[m].requestPolicy.validValues[1]  |
      | a valid value given twice              | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validValues: [1, 1]}        | Duplicate | spec.devices[0].capacity[m].requestPolicy.validValues[1]  |
      | a default that is no valid value       | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 3, validValues: [1, 2]}        | Invalid   | spec.devices[0].capacity[m].requestPolicy.validValues     |
      | valid values without default           | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {validValues: [1, 2]}                    | Required  | spec.devices[0].capacity[m].requestPolicy.default         |

    @DRA-074
    Examples: a valid range is within the capacity, and contains the default
      | what                               | manifest             | path                                     | value                                               | reason   | field                                                    |
      | a range without minimum            | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {max: 2}}                  | Required | spec.devices[0].capacity[m].requestPolicy.validRange.min |
      | a minimum above the capacity       | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 11, validRange: {min: 11}}                | Invalid  | spec.devices[0].capacity[m].requestPolicy.validRange.min |
      | a maximum above the capacity       | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 1, max: 11}}         | Invalid  | spec.devices[0].capacity[m].requestPolicy.validRange.max |
      | a default off the steps            | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 2, validRange: {min: 1, step: 2}}         | Invalid  | spec.devices[0].capacity[m].requestPolicy.validRange.step |
      | a range without default            | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {validRange: {min: 1}}                              | Required | spec.devices[0].capacity[m].requestPolicy.default        |
      | a step beyond the capacity | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 1, step: 10}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |

    @DRA-074 @until:1.36
    Examples: a valid range contains the default
      | what | manifest | path | value | reason | field |
      | a default below the minimum | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 2}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.min |
      | a default above the maximum | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 5, validRange: {min: 1, max: 4}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.max |

    @DRA-074 @since:1.37
    Examples: a valid range contains the default
      | what | manifest | path | value | reason | field |
      | a default less than the minimum | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 2}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.default |
      | a default more than the maximum | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 5, validRange: {min: 1, max: 4}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.default |

    @DRA-074b
    Examples: steps can be counted
      | what | manifest | path | value | reason | field |
      | steps of zero | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 1, step: 0}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |
      | steps beyond 64 bits | claims/shared-device | spec.devices[0].capacity.m | {value: 30E, requestPolicy: {default: 1, validRange: {min: 1, step: '18446744073709551616'}}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |
      | a default beyond 64 bits off the steps | claims/shared-device | spec.devices[0].capacity.m | {value: 30E, requestPolicy: {default: '18446744073709551616', validRange: {min: 0, step: 3}}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.default |

    @DRA-074c @since:1.37
    Examples: a range with steps has no negative or huge bounds
      | what | manifest | path | value | reason | field |
      | a negative minimum with steps | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: -1, step: 2}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.min |
      | negative steps | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 3, validRange: {min: 1, step: -2}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |
      | a maximum beyond 64 bits with steps | claims/shared-device | spec.devices[0].capacity.m | {value: 30E, requestPolicy: {default: 1, validRange: {min: 1, max: '9223372036854775809', step: 2}}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.max |

    @DRA-420 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples: a range of fractions has steps of fractions
      | what                             | manifest | path | value | reason | field |
      | a default between tenths         | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 350m, validRange: {min: 100m, max: 1, step: 100m}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |
      | a maximum between tenths         | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 300m, validRange: {min: 100m, max: 950m, step: 100m}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |

    @DRA-421 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples: a fraction as default of a range of whole numbers
      | what                             | manifest | path | value | reason | field |
      | a default between whole numbers  | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1500m, validRange: {min: 1, step: 1}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |

    @DRA-422 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples: fractions of a range are thousandths
      | what                                    | manifest | path | value | reason | field |
      | steps finer than thousandths            | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 300m, validRange: {min: 100m, step: 100u}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.step |
      | a default finer than thousandths        | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 300100u, validRange: {min: 100m, step: 100m}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.default |
      | a minimum finer than thousandths, without steps | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 300m, validRange: {min: 100100u}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.min |
      | a maximum finer than thousandths, without steps | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 1, max: 1000100u}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.max |
      | a maximum with more thousandths than 64 bits | claims/shared-device | spec.devices[0].capacity.m | {value: 30E, requestPolicy: {default: 300m, validRange: {min: 100m, max: 10P, step: 100m}}} | Invalid | spec.devices[0].capacity[m].requestPolicy.validRange.max |

    @DRA-423 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples: valid fractions are unique
      | what                   | manifest | path | value | reason | field |
      | a fraction given twice | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 100m, validValues: [100m, 200m, 200m]} | Duplicate | spec.devices[0].capacity[m].requestPolicy.validValues[2] |

    @DRA-075
    Examples: a policy has valid values or a range
      | what                          | manifest             | path                                     | value                                                    | reason    | field                                     |
      | valid values and a valid range | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validValues: [1], validRange: {min: 1}}    | Forbidden | spec.devices[0].capacity[m].requestPolicy |

    @DRA-082 @since:1.37 @gate:DRAOptionalNodeOperations
    Examples: preparation is not skipped alone
      | what                | manifest     | path                    | value                  | reason  | field                   |
      | preparation skipped | claims/slice | spec.skipNodeOperations | [NodePrepareResources] | Invalid | spec.skipNodeOperations |

    @DRA-404 @since:1.37 @gate:DRAOptionalNodeOperations
    Examples: skipped operations are known
      | what                                   | manifest     | path                    | value                                   | reason       | field                      |
      | an unknown operation skipped           | claims/slice | spec.skipNodeOperations | [NodeUnprepareResources, NodeGetHealth] | NotSupported | spec.skipNodeOperations[1] |
      | an operation in lower case skipped     | claims/slice | spec.skipNodeOperations | [nodeUnprepareResources]                | NotSupported | spec.skipNodeOperations[0] |

    @DRA-405 @since:1.37 @gate:DRAOptionalNodeOperations
    Examples: skipped operations are a set
      | what                       | manifest     | path                    | value                                                                  | reason    | field                      |
      | all operations twice       | claims/slice | spec.skipNodeOperations | ["*", "*"]                                                             | Duplicate | spec.skipNodeOperations[1] |
      | an operation skipped twice | claims/slice | spec.skipNodeOperations | [NodePrepareResources, NodeUnprepareResources, NodeUnprepareResources] | Duplicate | spec.skipNodeOperations[2] |

    @DRA-076
    Examples: binding conditions come with failure conditions, and differ from them
      | what                                      | manifest     | path            | value                                                                                          | reason    | field                                        |
      | binding conditions without failure conditions | claims/slice | spec.devices[0] | {name: d, bindingConditions: [a]}                                                              | Invalid   | spec.devices[0].bindingFailureConditions     |
      | failure conditions alone                  | claims/slice | spec.devices[0] | {name: d, bindingFailureConditions: [a]}                                                       | Invalid   | spec.devices[0].bindingConditions            |
      | a binding condition given twice           | claims/slice | spec.devices[0] | {name: d, bindingConditions: [a, a], bindingFailureConditions: [b]}                            | Duplicate | spec.devices[0].bindingConditions[1]         |
      | a failure condition given twice           | claims/slice | spec.devices[0] | {name: d, bindingConditions: [a], bindingFailureConditions: [b, b]}                            | Duplicate | spec.devices[0].bindingFailureConditions[1]  |
      | a condition that both binds and fails     | claims/slice | spec.devices[0] | {name: d, bindingConditions: [a], bindingFailureConditions: [a]}                               | Invalid   | spec.devices[0].bindingFailureConditions[0]  |
      | a second condition that both binds and fails | claims/slice | spec.devices[0] | {name: d, bindingConditions: [a, b], bindingFailureConditions: [b]}                          | Invalid   | spec.devices[0].bindingFailureConditions[0]  |
      | five binding conditions                   | claims/slice | spec.devices[0] | {name: d, bindingConditions: [a, b, c, d, e], bindingFailureConditions: [f]}                   | TooMany   | spec.devices[0].bindingConditions            |

  Scenario Outline: A slice with <what> is accepted
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server accepts it

    @DRA-052
    Examples:
      | what                          | manifest     | path | value                                                                                                                                                                                    |
      | a node selector of one term   | claims/slice | spec | {driver: api.dra.test, pool: {name: p, generation: 1, resourceSliceCount: 1}, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}} |

    @DRA-054
    Examples:
      | what           | manifest     | path                 | value |
      | generation 0   | claims/slice | spec.pool.generation | 0     |

    @DRA-055
    Examples:
      | what                                | manifest     | path           | value   |
      | a pool name of two segments         | claims/slice | spec.pool.name | a.b/c.d |

    @DRA-061
    Examples:
      | what                  | manifest     | path                       | value |
      | a version of 64 bytes | claims/slice | spec.devices[0].attributes | {a: {version: 1.0.0-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}} |

    @DRA-067
    Examples: schedulers detect it, the API server does not
      | what                                          | manifest     | path                             | value                                                 |
      | a device that consumes from an unknown set    | claims/slice | spec.devices[0].consumesCounters | [{counterSet: nowhere, counters: {m: {value: 1}}}]    |

    @DRA-072
    Examples:
      | what                                  | manifest             | path                                     | value                           |
      | a request policy for a shared device  | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validValues: [1]}  |
      | a default alone | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1} |

    @DRA-074
    Examples:
      | what                     | manifest             | path                                     | value                                              |
      | a range with steps       | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 3, validRange: {min: 1, max: 9, step: 2}} |
      | a step up to the capacity | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 1, step: 9}} |

    @DRA-074b
    Examples:
      | what         | manifest             | path                                     | value                                       |
      | steps of one | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: 1, step: 1}} |

    @DRA-074c @since:1.37
    Examples:
      | what                                    | manifest             | path                                     | value                                       |
      | a minimum of zero with steps            | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 2, validRange: {min: 0, step: 2}} |
      | the greatest number of 64 bits as bound | claims/shared-device | spec.devices[0].capacity.m               | {value: 30E, requestPolicy: {default: 1, validRange: {min: 1, max: '9223372036854775807', step: 2}}} |
      | a negative minimum without steps        | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1, validRange: {min: -1}}         |

    @DRA-420 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples:
      | what                       | manifest | path | value |
      | a range of tenths          | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 300m, validRange: {min: 100m, max: 1, step: 100m}} |

    @DRA-421 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples:
      | what                                              | manifest | path | value |
      | a fraction as default that is on steps of halves  | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 1500m, validRange: {min: 1, step: 500m}} |
      | a whole default in a range of whole numbers       | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 2, validRange: {min: 1, step: 1}} |

    @DRA-422 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples:
      | what                                        | manifest | path | value |
      | steps of a thousandth                       | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 101m, validRange: {min: 100m, step: 1m}} |
      | a maximum with thousandths of 64 bits       | claims/shared-device | spec.devices[0].capacity.m | {value: 30E, requestPolicy: {default: 300m, validRange: {min: 100m, max: 9P, step: 100m}}} |

    @DRA-423 @since:1.37 @gate:DRAFractionalCapacityRange
    Examples:
      | what                                          | manifest | path | value |
      | valid values below one                        | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 100m, validValues: [100m, 200m]} |
      | valid values that round to the same integer   | claims/shared-device | spec.devices[0].capacity.m.requestPolicy | {default: 2, validValues: [1100m, 2]} |

    @DRA-076
    Examples:
      | what                                       | manifest     | path            | value                                                                                                |
      | four binding conditions, four failure conditions | claims/slice | spec.devices[0] | {name: d, bindingConditions: [a, b, c, d], bindingFailureConditions: [e, f, g, h]}            |

  @DRA-082 @since:1.37 @gate:DRAOptionalNodeOperations
  Scenario Outline: A slice without <what> is stored as it was written
    Given the manifest "claims/slice"
    And "spec.skipNodeOperations" is <operations>
    When it is created
    Then its "spec.skipNodeOperations" reads <operations>

    Examples:
      | what                             | operations                                     |
      | preparation and clean-up         | [NodePrepareResources, NodeUnprepareResources] |
      | preparation and all others       | [NodePrepareResources, "*"]                    |
      | clean-up                         | [NodeUnprepareResources]                       |
      | any operation                    | ["*"]                                          |

  @gate:DRAPartitionableDevices
  Scenario Outline: With per-device node selection, a device with <what> is refused
    Given the manifest "claims/slice"
    And "spec.nodeName" is null
    And "spec.perDeviceNodeSelection" is true
    And "spec.devices[0]" is <device>
    When it is created
    Then the API server refuses it: <reason> at "spec.devices[0]"

    @DRA-068
    Examples:
      | what                     | device                                     | reason   |
      | no node selection        | {name: d}                                  | Required |
      | a node and all nodes     | {name: d, nodeName: n, allNodes: true}     | Invalid  |
      | a node and a selector    | {name: d, nodeName: n, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}} | Invalid |

  @DRA-068 @gate:DRAPartitionableDevices
  Scenario Outline: With per-device node selection, <what> of a device is refused
    Given the manifest "claims/slice"
    And "spec.nodeName" is null
    And "spec.perDeviceNodeSelection" is true
    And "spec.devices[0]" is <device>
    When it is created
    Then the API server refuses it: <reason> at "spec.devices[0].<field>"

    Examples:
      | what                     | device                                                                                                        | reason   | field                          |
      | a node without a name    | {name: d, nodeName: "", allNodes: true}                                                                       | Invalid  | nodeName                       |
      | an ill-formed node       | {name: d, nodeName: A_b}                                                                                      | Invalid  | nodeName                       |
      | denying all nodes        | {name: d, nodeName: n, allNodes: false}                                                                       | Invalid  | allNodes                       |
      | a selector without terms | {name: d, nodeSelector: {nodeSelectorTerms: []}}                                                              | Required | nodeSelector.nodeSelectorTerms |

  @DRA-068 @gate:DRAPartitionableDevices
  Scenario Outline: With per-device node selection, a device for <what> is accepted
    Given the manifest "claims/slice"
    And "spec.nodeName" is null
    And "spec.perDeviceNodeSelection" is true
    And "spec.devices[0]" is {name: d, <field>: <value>}
    When it is created
    Then its "spec.devices[0].<field>" reads <value>

    Examples:
      | what          | field        | value                                                                       |
      | all nodes     | allNodes     | true                                                                        |
      | several nodes | nodeSelector | {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}     |

  @DRA-707
  Scenario Outline: A slice whose node selector has <what> is refused
    Given the manifest "claims/slice"
    And "spec.nodeName" is null
    And "spec.nodeSelector" is {nodeSelectorTerms: [<term>]}
    When it is created
    Then the API server refuses it: <reason> at "spec.nodeSelector.nodeSelectorTerms[0].<field>"

    Examples: labels
      | what                      | term                                                                                       | reason    | field                       |
      | In without values         | {matchExpressions: [{key: a, operator: Exists}, {key: a, operator: In}]}                   | Required  | matchExpressions[1].values  |
      | NotIn without values      | {matchExpressions: [{key: a, operator: NotIn}]}                                            | Required  | matchExpressions[0].values  |
      | Exists with a value       | {matchExpressions: [{key: a, operator: Exists, values: [b]}]}                              | Forbidden | matchExpressions[0].values  |
      | DoesNotExist with a value | {matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}                        | Forbidden | matchExpressions[0].values  |
      | Gt with two values        | {matchExpressions: [{key: a, operator: Gt, values: ["1", "2"]}]}                           | Required  | matchExpressions[0].values  |
      | Lt without a value        | {matchExpressions: [{key: a, operator: Lt}]}                                               | Required  | matchExpressions[0].values  |
      | an unknown operator       | {matchExpressions: [{key: a, operator: Near}]}                                             | Invalid   | matchExpressions[0].operator |
      | an ill-formed key         | {matchExpressions: [{key: a b, operator: Exists}]}                                         | Invalid   | matchExpressions[0].key     |
      | an ill-formed value       | {matchExpressions: [{key: a, operator: In, values: [b, c d]}]}                             | Invalid   | matchExpressions[0].values[1] |

    Examples: names
      | what                      | term                                                                                       | reason    | field                       |
      | another field than a name | {matchFields: [{key: metadata.name, operator: In, values: [n]}, {key: spec.name, operator: In, values: [n]}]} | Invalid | matchFields[1].key |
      | two names                 | {matchFields: [{key: metadata.name, operator: In, values: [n, m]}]}                        | Required  | matchFields[0].values       |
      | any name                  | {matchFields: [{key: metadata.name, operator: Exists}]}                                    | Invalid   | matchFields[0].operator     |
      | an ill-formed name        | {matchFields: [{key: metadata.name, operator: NotIn, values: [A_b]}]}                      | Invalid   | matchFields[0].values[0]    |

  @DRA-707
  Scenario: A slice whose node selector has every operator is accepted
    Given the manifest "claims/slice"
    And "spec.nodeName" is null
    And "spec.nodeSelector" is {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b, c]}, {key: a, operator: NotIn, values: [d]}, {key: a, operator: Exists}, {key: b, operator: DoesNotExist}, {key: c, operator: Gt, values: ["1"]}, {key: c, operator: Lt, values: ["9"]}], matchFields: [{key: metadata.name, operator: NotIn, values: [n]}]}]}
    When it is created
    Then the API server accepts it

  @DRA-709
  Scenario Outline: A slice with <what> is refused at its driver
    Given the manifest "claims/slice"
    And "spec.driver" is <driver>
    When it is created
    Then the API server refuses it: <reason> at "spec.driver"

    Examples:
      | what                           | driver                  | reason   |
      | no driver                      | ""                      | Required |
      | an underscore in its driver    | gpu_a.dra.test          | Invalid  |
      | an empty part of its driver    | gpu..dra.test           | Invalid  |
      | a driver of 64 characters      | the text "x" 64 times   | TooLong  |

  @DRA-709
  Scenario: A slice with a driver of 63 characters is accepted
    Given the manifest "claims/slice"
    And "spec.driver" is the text "x" 63 times
    When it is created
    Then the API server accepts it

  @DRA-071
  Scenario: The timeAdded of a taint is stored in UTC and whole seconds
    Given the manifest "claims/slice"
    And "spec.devices[0].taints" is [{key: a, effect: NoSchedule, timeAdded: "2020-01-02T05:04:05.9+02:00"}]
    When it is created
    Then its "spec.devices[0].taints[0].timeAdded" reads "2020-01-02T03:04:05Z"

  @DRA-068
  Scenario: With per-device node selection, a device with a node is accepted
    Given the manifest "claims/slice"
    And "spec.nodeName" is null
    And "spec.perDeviceNodeSelection" is true
    And "spec.devices[0]" is {name: d, nodeName: n}
    When it is created
    Then the API server accepts it

  Scenario Outline: More than <most> <what> are refused
    Given the manifest "<manifest>"
    And "<path>" is a list of <count> <item>
    When it is created
    Then the API server refuses it: TooMany at "<path>"

    @DRA-056
    Examples:
      | what                           | most | count | manifest     | path         | item                                                            |
      | devices                        | 128  | 129   | claims/slice | spec.devices | {name: d-$n}                                                    |

    @DRA-056 @gate:DRADeviceTaints
    Examples:
      | what                           | most | count | manifest     | path         | item                                                            |
      | devices with taints            | 64   | 65    | claims/slice | spec.devices | {name: d-$n, taints: [{key: a, effect: NoSchedule}]}            |

    @DRA-056 @gate:DRAPartitionableDevices
    Examples:
      | what                           | most | count | manifest     | path         | item                                                            |
      | devices that consume counters  | 64   | 65    | claims/slice | spec.devices | {name: d-$n, consumesCounters: [{counterSet: a, counters: {m: {value: 1}}}]} |

    @DRA-056 @gate:DRAListTypeAttributes @since:1.36
    Examples:
      | what                           | most | count | manifest     | path         | item                                                            |
      | devices with list attributes   | 64   | 65    | claims/slice | spec.devices | {name: d-$n, attributes: {a: {ints: [1]}}}                      |

    @DRA-065
    Examples:
      | what         | most | count | manifest        | path                | item                                       |
      | counter sets | 8    | 9     | claims/counters | spec.sharedCounters | {name: s-$n, counters: {m: {value: 1}}}    |

    @DRA-070
    Examples:
      | what            | most | count | manifest     | path                   | item                              |
      | taints a device | 16   | 17    | claims/slice | spec.devices[0].taints | {key: k$n, effect: NoSchedule}    |

  @DRA-056 @gate:DRADeviceTaints
  Scenario Outline: A slice of 65 devices of which only the <which> has a taint is refused
    Given the manifest "claims/slice"
    And "spec.devices" is a list of 65 {name: d-$n}
    And "spec.devices[<at>].taints" is [{key: a, effect: NoSchedule}]
    When it is created
    Then the API server refuses it: TooMany at "spec.devices"

    Examples:
      | which | at |
      | first | 0  |
      | last  | 64 |

  Scenario Outline: <count> <what> are accepted
    Given the manifest "<manifest>"
    And "<path>" is a list of <count> <item>
    When it is created
    Then the API server accepts it

    @DRA-056
    Examples:
      | what                  | count | manifest     | path         | item                                                     |
      | devices               | 128   | claims/slice | spec.devices | {name: d-$n}                                             |
      | devices with taints   | 64    | claims/slice | spec.devices | {name: d-$n, taints: [{key: a, effect: NoSchedule}]}     |

    @DRA-065
    Examples:
      | what         | count | manifest        | path                | item                                       |
      | counter sets | 8     | claims/counters | spec.sharedCounters | {name: s-$n, counters: {m: {value: 1}}}    |

    @DRA-066
    Examples:
      | what                               | count | manifest     | path                             | item                                               |
      | counter sets that a device consumes | 2    | claims/slice | spec.devices[0].consumesCounters | {counterSet: s-$n, counters: {m: {value: 1}}}      |

    @DRA-070
    Examples:
      | what            | count | manifest     | path                   | item                              |
      | taints a device | 16    | claims/slice | spec.devices[0].taints | {key: k$n, effect: NoSchedule}    |

  @DRA-065
  Scenario: A counter set with more than 32 counters is refused
    Given the manifest "claims/counters"
    And "spec.sharedCounters[0].counters" is a map of 33 "c$n" to {value: 1}
    When it is created
    Then the API server refuses it: TooMany at "spec.sharedCounters[0].counters"

  @DRA-058
  Scenario: A device with more than 32 attributes and capacities is refused
    Given the manifest "claims/slice"
    And "spec.devices[0].attributes" is a map of 17 "a$n" to {int: 1}
    And "spec.devices[0].capacity" is a map of 16 "c$n" to {value: 1}
    When it is created
    Then the API server refuses it: Invalid at "spec.devices[0]"

  @DRA-058
  Scenario: A device with 32 attributes and capacities is accepted
    Given the manifest "claims/slice"
    And "spec.devices[0].attributes" is a map of 16 "a$n" to {int: 1}
    And "spec.devices[0].capacity" is a map of 16 "c$n" to {value: 1}
    When it is created
    Then the API server accepts it

  @DRA-059 @gate:DRAListTypeAttributes @since:1.36
  Scenario: A device with more than 48 attribute values is refused
    Given the manifest "claims/slice"
    And "spec.devices[0].attributes" is {a: {ints: []}, b: {int: 1}}
    And "spec.devices[0].attributes.a.ints" is a list of 48 $n
    When it is created
    Then the API server refuses it: Invalid at "spec.devices[0]"

  @DRA-059 @gate:DRAListTypeAttributes @since:1.36
  Scenario: A device with 48 attribute values is accepted
    Given the manifest "claims/slice"
    And "spec.devices[0].attributes" is {a: {ints: []}, b: {int: 1}}
    And "spec.devices[0].attributes.a.ints" is a list of 47 $n
    When it is created
    Then the API server accepts it

  @DRA-063 @gate:DRAListTypeAttributes @since:1.36
  Scenario Outline: An empty list of <what> is refused
    Given the manifest "claims/slice"
    And "spec.devices[0].attributes" is {a: {<what>: []}}
    When it is created
    Then the API server refuses it, perhaps at "spec.devices[0].attributes[a]" too: Invalid at "spec.devices[0].attributes[a].<what>"

    Examples:
      | what     |
      | ints     |
      | bools    |
      | strings  |
      | versions |

  @DRA-061
  Scenario: A string attribute of more than 64 bytes is refused
    Given the manifest "claims/slice"
    And "spec.devices[0].attributes.a.string" is the text "ä" 33 times
    When it is created
    Then the API server refuses it: TooLong at "spec.devices[0].attributes[a].string"

  @DRA-061
  Scenario: A string attribute of 64 bytes is accepted
    Given the manifest "claims/slice"
    And "spec.devices[0].attributes.a.string" is the text "ä" 32 times
    When it is created
    Then the API server accepts it

  @DRA-055
  Scenario: A pool name of more than 253 characters is refused
    Given the manifest "claims/slice"
    And "spec.pool.name" is the text "ab" 127 times
    When it is created
    Then the API server refuses it with 422 Invalid

  @DRA-053
  Scenario Outline: The <what> of a slice is immutable
    Given the manifest "claims/slice"
    And it is created
    When its "<path>" is updated to <value>
    Then the API server refuses it: Invalid at "<path>"

    Examples:
      | what   | path           | value           |
      | driver | spec.driver    | other.dra.test  |
      | pool   | spec.pool.name | other           |
      | node   | spec.nodeName  | other           |

  @DRA-053
  Scenario Outline: A slice of <before> does not become one of <after>
    Given the manifest "claims/slice"
    And "spec" is {driver: api.dra.test, <first>, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}
    And it is created
    When its "spec" is updated to {driver: api.dra.test, <second>, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}
    Then the API server refuses it: Invalid at "spec.nodeName"

    Examples:
      | before    | after     | first          | second         |
      | all nodes | one node  | allNodes: true | nodeName: n    |
      | one node  | all nodes | nodeName: n    | allNodes: true |

  @DRA-053
  Scenario Outline: The <what> of a slice can be changed
    Given the manifest "claims/slice"
    And it is created
    When its "<path>" is updated to <value>
    Then its "<path>" reads <value>

    Examples:
      | what                             | path                 | value       |
      | generation                       | spec.pool.generation | 2           |
      | generation, even downwards,      | spec.pool.generation | 0           |
      | devices                          | spec.devices         | [{name: e}] |

  @DRA-424 @since:1.37 @gate:DRAConsumableCapacity
  Scenario: A capacity is validated when it changes
    Given the manifest "claims/shared-device"
    And "spec.devices" is [{name: d, allowMultipleAllocations: true, capacity: {m: {value: 10, requestPolicy: {default: 1, validValues: [1, 2]}}}}, {name: e}]
    And it is created
    # The policy of a device that is not shared is Forbidden (DRA-072), but it is stored already.
    When its "spec.devices[0].allowMultipleAllocations" is updated to null
    Then the API server accepts it
    When its "spec.devices[1].attributes" is updated to {a: {int: 1}}
    Then the API server accepts it
    And its "spec.devices[0].capacity.m.requestPolicy.default" reads "1"
    When its "spec.devices[0].capacity.m.value" is updated to 11
    Then the API server refuses it: Forbidden at "spec.devices[0].capacity[m].requestPolicy"
    When its "spec.devices[1].capacity" is updated to {m: {value: 10, requestPolicy: {default: 1, validValues: [1, 2]}}}
    Then the API server refuses it: Forbidden at "spec.devices[1].capacity[m].requestPolicy"

  @DRA-044b @needs:served-version @gate:DRADeviceBindingConditions @gate:DRAConsumableCapacity @gate:DRAPartitionableDevices
  Scenario: A slice of v1 is the same slice in v1beta1
    Given the manifest "claims/slice"
    And "spec.devices" is [{name: d, bindsToNode: true, bindingConditions: [attached], bindingFailureConditions: [lost]}, {name: e, allowMultipleAllocations: true, capacity: {m: {value: "10", requestPolicy: {default: "2", validRange: {min: "1", max: "8", step: "1"}}}, n: {value: "4", requestPolicy: {default: "1", validValues: ["1", "2"]}}}}, {name: f, attributes: {a: {int: 1}}, consumesCounters: [{counterSet: s, counters: {u: {value: "3"}}}]}]
    When it is created
    Then in version v1beta1 its "spec.devices" reads [{name: d, basic: {bindsToNode: true, bindingConditions: [attached], bindingFailureConditions: [lost]}}, {name: e, basic: {allowMultipleAllocations: true, capacity: {m: {value: "10", requestPolicy: {default: "2", validRange: {min: "1", max: "8", step: "1"}}}, n: {value: "4", requestPolicy: {default: "1", validValues: ["1", "2"]}}}}}, {name: f, basic: {attributes: {a: {int: 1}}, consumesCounters: [{counterSet: s, counters: {u: {value: "3"}}}]}}]

  @DRA-044b @needs:served-version @gate:DRADeviceBindingConditions @gate:DRAConsumableCapacity @gate:DRAPartitionableDevices
  Scenario: A slice of v1beta1 is the same slice in v1
    Given the manifest "claims/slice-v1beta1"
    And "spec.devices" is [{name: d, basic: {bindsToNode: true, bindingConditions: [attached], bindingFailureConditions: [lost]}}, {name: e, basic: {allowMultipleAllocations: true, capacity: {m: {value: "10", requestPolicy: {default: "2", validRange: {min: "1", max: "8", step: "1"}}}, n: {value: "4", requestPolicy: {default: "1", validValues: ["1", "2"]}}}}}, {name: f, basic: {attributes: {a: {int: 1}}, consumesCounters: [{counterSet: s, counters: {u: {value: "3"}}}]}}]
    When it is created
    Then in version v1 its "spec.devices" reads [{name: d, bindsToNode: true, bindingConditions: [attached], bindingFailureConditions: [lost]}, {name: e, allowMultipleAllocations: true, capacity: {m: {value: "10", requestPolicy: {default: "2", validRange: {min: "1", max: "8", step: "1"}}}, n: {value: "4", requestPolicy: {default: "1", validValues: ["1", "2"]}}}}, {name: f, attributes: {a: {int: 1}}, consumesCounters: [{counterSet: s, counters: {u: {value: "3"}}}]}]

  @DRA-071
  Scenario: A taint without timeAdded gets the present time
    Given the manifest "claims/slice"
    And "spec.devices[0].taints" is [{key: a, effect: NoSchedule}]
    When it is created
    Then its "spec.devices[0].taints[0].timeAdded" reads the present time

  @DRA-071
  Scenario: A taint keeps the timeAdded that it was created with
    Given the manifest "claims/slice"
    And "spec.devices[0].taints" is [{key: a, effect: NoSchedule, timeAdded: "2020-01-02T03:04:05Z"}]
    When it is created
    Then its "spec.devices[0].taints[0].timeAdded" reads "2020-01-02T03:04:05Z"

  @DRA-078
  Scenario Outline: A driver name <what>
    Given the manifest "claims/slice"
    And "spec.driver" is <driver>
    Then the API server accepts it, and <warns> about "spec.driver"

    Examples:
      | what                                        | driver         | warns         |
      | with an uppercase letter gets a warning     | one.Dra.test   | warns         |
      | without an uppercase letter gets no warning | one-2.dra.test | does not warn |

  @DRA-079
  Scenario Outline: A list of slices by <what> has exactly those
    Given the objects of the manifest "claims/slices-of-two-nodes"
    When the ResourceSlices with fields "<selector>" are listed
    Then the list has the ResourceSlices "<names>"

    Examples:
      | what                        | selector                                                                         | names      |
      | node                        | spec.nodeName=$(node:two)                                                        | two, three |
      | driver                      | spec.driver=one-$(suffix).dra.test                                               | one, two   |
      | driver and node             | spec.driver=two-$(suffix).dra.test,spec.nodeName=$(node:two)                     | three      |
      | node and driver             | spec.nodeName=$(node:two),spec.driver=one-$(suffix).dra.test                     | two        |
      | driver and another node     | spec.driver=one-$(suffix).dra.test,spec.nodeName!=$(node:two)                    | one        |
      | a driver that the node lacks | spec.driver=two-$(suffix).dra.test,spec.nodeName=$(node:one)                    |            |

  Scenario Outline: A list of slices by <what> has those of the pool
    Given the objects of the manifest "claims/slices-of-pools"
    When the ResourceSlices with fields "<selector>" are listed
    Then the list has the ResourceSlices "<names>"

    @DRA-400 @since:1.37
    Examples:
      | what                           | selector                   | names    |
      | pool                           | spec.pool.name=$(pool:pool) | one, two |
      | a pool whose name begins alike | spec.pool.name=$(pool:pool)-3 | three    |
      | a pool that no slice has       | spec.pool.name=$(pool:one) |          |

    @DRA-401 @since:1.37
    Examples:
      | what                   | selector                                                                                 | names |
      | pool and driver        | spec.pool.name=$(pool:pool),spec.driver=one-$(suffix).dra.test                           | one   |
      | driver and pool        | spec.driver=two-$(suffix).dra.test,spec.pool.name=$(pool:pool)                           | two   |
      | driver and other pools | spec.driver=one-$(suffix).dra.test,spec.pool.name!=$(pool:pool)                          | three |
      | pool, driver and node  | spec.pool.name=$(pool:pool),spec.driver=one-$(suffix).dra.test,spec.nodeName=$(node:two) |       |

  @DRA-400b @since:1.37 @needs:served-version
  Scenario Outline: A list of slices of <version> by <what> has those of the pool
    Given the objects of the manifest "claims/slices-of-pools"
    When the ResourceSlices of version <version> with fields "<selector>" are listed
    Then the list has the ResourceSlices "<names>"

    Examples:
      | version | what            | selector                                                       | names    |
      | v1beta1 | pool            | spec.pool.name=$(pool:pool)                                    | one, two |
      | v1beta2 | pool            | spec.pool.name=$(pool:pool)                                    | one, two |
      | v1beta1 | pool and driver | spec.pool.name=$(pool:pool),spec.driver=one-$(suffix).dra.test | one      |
      | v1beta2 | pool and driver | spec.pool.name=$(pool:pool),spec.driver=one-$(suffix).dra.test | one      |

  @DRA-079b @needs:served-version
  Scenario Outline: A list of slices of <version> by <what> has exactly those
    Given the objects of the manifest "claims/slices-of-two-nodes"
    When the ResourceSlices of version <version> with fields "<selector>" are listed
    Then the list has the ResourceSlices "<names>"

    Examples:
      | version | what            | selector                                                     | names |
      | v1beta1 | node and driver | spec.nodeName=$(node:two),spec.driver=one-$(suffix).dra.test | two   |
      | v1beta2 | node and driver | spec.nodeName=$(node:two),spec.driver=one-$(suffix).dra.test | two   |

  @DRA-400 @since:1.37
  Scenario: A watch of a pool delivers the changes of its slices
    Given a list of ResourceSlices
    And the objects of the manifest "claims/slices-of-pools"
    When the ResourceSlice "three" is deleted
    And the ResourceSlice "pool" is deleted
    And the ResourceSlice "two" is deleted
    And the ResourceSlice "one" is deleted
    Then a watch of ResourceSlices from the list with fields "spec.pool.name=$(pool:pool)" delivers "ADDED one, ADDED two, DELETED two, DELETED one"

  @DRA-401 @since:1.37
  Scenario: A watch of a driver's pool delivers the changes of its slices
    Given a list of ResourceSlices
    And the objects of the manifest "claims/slices-of-pools"
    When the ResourceSlice "three" is deleted
    And the ResourceSlice "two" is deleted
    And the ResourceSlice "one" is deleted
    Then a watch of ResourceSlices from the list with fields "spec.driver=one-$(suffix).dra.test,spec.pool.name=$(pool:pool)" delivers "ADDED one, DELETED one"

  Scenario Outline: A list of slices with the field selector <selector> is refused
    Given the objects of the manifest "claims/slices-of-pools"
    When the ResourceSlices with fields "<selector>" are listed
    Then the API server refuses it with 400 BadRequest

    @DRA-402
    Examples: fields that are not supported
      | selector                                             |
      | spec.allNodes=true                                   |
      | spec.pool=$(pool:pool)                               |
      | spec.pool.generation=1                               |
      | spec.driver=one-$(suffix).dra.test,spec.allNodes!=true |
      | metadata.namespace=default                           |

    @DRA-402 @until:1.36
    Examples: a field that is supported since 1.37
      | selector                    |
      | spec.pool.name=$(pool:pool) |
