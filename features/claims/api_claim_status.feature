@profile:api @component:control-plane
Feature: API validation of the status of ResourceClaims
  The scheduler, controllers and drivers write the status of claims. Devices are allocated once and reserved for named
  consumers, and each writer can change only its own part.

  @DRA-035
  Scenario: An update of the main resource does not change the status
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When its "status" is updated to {}
    Then its "status.allocation.devices.results" reads [{request: r, driver: d.test, pool: p, device: d}]

  @DRA-035
  Scenario: An update of the main resource does not write a status
    Given the manifest "claims/claim"
    And it is created
    When its "status.allocation" is updated to {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    Then its "status.allocation" reads null

  @DRA-036
  Scenario Outline: An update of the status does not change the <what>
    Given the manifest "<manifest>"
    And it is created
    When its status "<path>" is updated to <value>
    Then its "<path>" reads <before>

    Examples:
      | what       | manifest         | path                                   | value       | before          |
      | spec       | claims/claim     | spec.devices.requests[0].exactly.count | 2           | 1               |
      | labels     | claims/claim     | metadata.labels.team                   | a           | null            |
      | finalizers | claims/protected | metadata.finalizers                    | []          | [dra.test/hold] |

  Scenario Outline: A first status with <what> is refused
    Given the manifest "<manifest>"
    And it is created
    When its status "status" is updated to <value>
    Then the API server refuses it: <reason> at "<field>"

    @DRA-083
    Examples: a claim is reserved only if it is allocated
      | what                            | manifest     | value                                                | reason    | field              |
      | a consumer and no allocation    | claims/claim | {reservedFor: [{apiGroup: dra.test, resource: widgets, name: p, uid: u}]}   | Forbidden | status.reservedFor |

    @DRA-088
    Examples: results name a request and a device
      | what                                      | manifest            | value                                                                                             | reason   | field                                        |
      | a device for an unknown request           | claims/claim        | {allocation: {devices: {results: [{request: x, driver: d.test, pool: p, device: d}]}}}     | Invalid  | status.allocation.devices.results[0].request |
      | a device for an unknown alternative       | claims/alternatives | {allocation: {devices: {results: [{request: r/x, driver: d.test, pool: p, device: d}]}}}   | Invalid  | status.allocation.devices.results[0].request |
      | a device without pool                     | claims/claim        | {allocation: {devices: {results: [{request: r, driver: d.test, pool: "", device: d}]}}}    | Required | status.allocation.devices.results[0].pool    |
      | a device without name                     | claims/claim        | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: ""}]}}}    | Invalid  | status.allocation.devices.results[0].device  |

    @DRA-088 @since:1.35
    Examples: results name a driver
      | what                    | manifest     | value                                                                              | reason   | field                                       |
      | a device without driver | claims/claim | {allocation: {devices: {results: [{request: r, driver: "", pool: p, device: d}]}}} | Required | status.allocation.devices.results[0].driver |

    @DRA-444 @since:1.37 @gate:DRADeviceTaints
    Examples: tolerations of results are known
      | what                                      | manifest     | value | reason | field |
      | a toleration of unknown operator          | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d, tolerations: [{key: a, operator: Exists}]}, {request: r, driver: d.test, pool: p, device: e, tolerations: [{key: a, operator: Exists}, {key: b, operator: Near}]}]}}} | NotSupported | status.allocation.devices.results[1].tolerations[1].operator |
      | a toleration of unknown effect            | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d, tolerations: [{key: a, operator: Exists, effect: Sometimes}]}, {request: r, driver: d.test, pool: p, device: e, tolerations: [{key: a, operator: Exists, effect: NoExecute}]}]}}} | NotSupported | status.allocation.devices.results[0].tolerations[0].effect |
      | a toleration with a value for Exists      | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d, tolerations: [{key: a, operator: Exists, value: b}]}]}}} | Invalid | status.allocation.devices.results[0].tolerations[0].value |

    @DRA-445 @since:1.37 @gate:DRAOptionalNodeOperations
    Examples: preparation is not skipped alone
      | what                                      | manifest     | value | reason | field |
      | a device that skips preparation alone     | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d, skipNodeOperations: [NodePrepareResources, NodeUnprepareResources]}, {request: r, driver: d.test, pool: p, device: e, skipNodeOperations: [NodePrepareResources]}]}}} | Invalid | status.allocation.devices.results[1].skipNodeOperations |
      | a device that skips an unknown operation  | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d, skipNodeOperations: [NodeGetHealth]}]}}} | NotSupported | status.allocation.devices.results[0].skipNodeOperations[0] |

    @DRA-089
    Examples: configuration has a source and known requests
      | what                                     | manifest     | value                                                                                                                 | reason       | field                                            |
      | configuration of an unknown source       | claims/claim | {allocation: {devices: {config: [{source: Else, opaque: {driver: d.test, parameters: {}}}]}}}                  | NotSupported | status.allocation.devices.config[0].source       |
      | configuration without source             | claims/claim | {allocation: {devices: {config: [{source: "", opaque: {driver: d.test, parameters: {}}}]}}}                    | Required     | status.allocation.devices.config[0].source       |
      | configuration for an unknown request     | claims/claim | {allocation: {devices: {config: [{source: FromClaim, requests: [x], opaque: {driver: d.test, parameters: {}}}]}}} | Invalid   | status.allocation.devices.config[0].requests[0]  |

    @DRA-238
    Examples: admin access needs a labelled namespace
      | what                               | manifest     | value                                                                                                                | reason    | field                                            |
      | admin access in an unlabelled namespace | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d, adminAccess: true}]}}}     | Forbidden | status.allocation.devices.results[0].adminAccess |
      | admin access to the second device in an unlabelled namespace | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}, {request: r, driver: d.test, pool: p, device: e, adminAccess: true}]}}} | Forbidden | status.allocation.devices.results[1].adminAccess |

    @DRA-707
    Examples: node selectors are well-formed
      | what                                    | manifest     | value                                                                                                                | reason    | field                                            |
      | a node selector without terms           | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}, nodeSelector: {nodeSelectorTerms: []}}} | Required | status.allocation.nodeSelector.nodeSelectorTerms |
      | a second term with an unknown operator  | claims/claim | {allocation: {devices: {}, nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: a, operator: Near}]}]}}} | Invalid | status.allocation.nodeSelector.nodeSelectorTerms[1].matchExpressions[0].operator |

    @DRA-709
    Examples: drivers are well-formed
      | what                                    | manifest     | value                                                                                                                | reason    | field                                            |
      | a device of an ill-formed driver        | claims/claim | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}, {request: r, driver: d_e.test, pool: p, device: d}]}}} | Invalid | status.allocation.devices.results[1].driver |

  Scenario Outline: A result with <what> is stored as it was written
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.results" is updated to [{request: r, driver: d.test, pool: p, device: d, <field>: <value>}]
    Then its "status.allocation.devices.results[0].<field>" reads <value>

    @DRA-444 @since:1.37 @gate:DRADeviceTaints
    Examples:
      | what              | field       | value                                                                                       |
      | known tolerations | tolerations | [{key: a, operator: Exists}, {key: b, operator: Equal, value: c, effect: NoSchedule}] |

    @DRA-445 @since:1.37 @gate:DRAOptionalNodeOperations
    Examples:
      | what                     | field              | value                                          |
      | two skipped operations   | skipNodeOperations | [NodePrepareResources, NodeUnprepareResources] |
      | all operations skipped   | skipNodeOperations | ["*"]                                          |

  @DRA-088
  Scenario: More than 32 device results are refused
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.results" is updated to a list of 33 {request: r, driver: d.test, pool: p, device: d-$n}
    Then the API server refuses it: TooMany at "status.allocation.devices.results"

  @DRA-088
  Scenario: 32 device results are accepted
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.results" is updated to a list of 32 {request: r, driver: d.test, pool: p, device: d-$n}
    Then the API server accepts it

  @DRA-089
  Scenario: More than 64 configurations are refused
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.config" is updated to a list of 65 {source: FromClaim, opaque: {driver: d.test, parameters: {}}}
    Then the API server refuses it: TooMany at "status.allocation.devices.config"

  @DRA-089
  Scenario: 64 configurations are accepted
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.config" is updated to a list of 64 {source: FromClaim, opaque: {driver: d.test, parameters: {}}}
    Then the API server accepts it

  @DRA-090
  Scenario Outline: A shareID that is <what> is refused
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.results" is updated to [{request: r, driver: d.test, pool: p, device: d, shareID: "<id>"}]
    Then the API server refuses it: Invalid at "status.allocation.devices.results[0].shareID"

    Examples:
      | what                 | id                                             |
      | an upper-case one    | 0B54BD26-6F0C-4F1C-9FC6-3E0B4A1C5A11           |
      | one in braces        | {0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11}         |
      | one without hyphens  | 0b54bd266f0c4f1c9fc63e0b4a1c5a11               |
      | a URN                | urn:uuid:0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11  |
      | some text            | x                                              |

  @DRA-090
  Scenario: A shareID that is a lower-case UUID is accepted
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.results" is updated to [{request: r, driver: d.test, pool: p, device: d, shareID: 0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11}]
    Then the API server accepts it

  Scenario Outline: An allocated claim with <what> is refused
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When its status "<path>" is updated to <value>
    Then the API server refuses it: <reason> at "<field>"

    @DRA-084
    Examples: an allocation can be removed, not replaced
      | what               | path                                               | value                                                                                                        | reason  | field             |
      | another device     | status.allocation.devices.results[0].device        | e                                                                                                            | Invalid | status.allocation |
      | other nodes        | status.allocation.nodeSelector                     | {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}                      | Invalid | status.allocation |

    @DRA-084 @gate:DRADeviceBindingConditions
    Examples: its time does not change either
      | what              | path                                  | value                  | reason  | field             |
      | a later timestamp | status.allocation.allocationTimestamp | "2020-01-02T03:04:05Z" | Invalid | status.allocation |

    @DRA-086 @since:1.35
    Examples: consumers have distinct uids
      | what                        | path               | value                                                                                  | reason    | field                 |
      | two consumers of one uid apart | status.reservedFor | [{apiGroup: dra.test, resource: widgets, name: p, uid: u}, {apiGroup: dra.test, resource: widgets, name: q, uid: v}, {apiGroup: dra.test, resource: widgets, name: r, uid: u}] | Duplicate | status.reservedFor[2] |
      | two consumers of one uid    | status.reservedFor | [{apiGroup: dra.test, resource: widgets, name: p, uid: u}, {apiGroup: dra.test, resource: widgets, name: q, uid: u}]                 | Duplicate | status.reservedFor[1] |

    @DRA-087
    Examples: consumers have resource, name and uid
      | what                           | path               | value                                      | reason   | field                          |
      | a consumer without resource    | status.reservedFor | [{resource: "", name: p, uid: u}]          | Required | status.reservedFor[0].resource |
      | a consumer without name        | status.reservedFor | [{resource: pods, name: "", uid: u}]       | Required | status.reservedFor[0].name     |
      | a consumer without uid         | status.reservedFor | [{resource: pods, name: p, uid: ""}]       | Required | status.reservedFor[0].uid      |

    @DRA-091
    Examples: the device status is about allocated devices
      | what                                 | path           | value                                                                                                    | reason  | field             |
      | a status of a device of another claim | status.devices | [{driver: d.test, pool: p, device: e}]                                                           | Invalid | status.devices[0] |
      | a status of another driver           | status.devices | [{driver: x.test, pool: p, device: d}]                                                            | Invalid | status.devices[0] |
      | a status of a device of that name in another pool | status.devices | [{driver: d.test, pool: q, device: d}]                                             | Invalid | status.devices[0] |

    @DRA-091 @gate:DRAConsumableCapacity
    Examples: the device status is about allocated shares
      | what                                 | path           | value                                                                                                    | reason  | field             |
      | a status of an unknown share         | status.devices | [{driver: d.test, pool: p, device: d, shareID: 0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11}]             | Invalid | status.devices[0] |

    @DRA-092
    Examples: one status for each device
      | what                     | path           | value                                                                                          | reason    | field             |
      | two statuses of a device | status.devices | [{driver: d.test, pool: p, device: d}, {driver: d.test, pool: p, device: d}]     | Duplicate | status.devices[1] |

    @DRA-093
    Examples: the device status is well-formed
      | what                                    | path           | value                                                                                                                     | reason    | field                                 |
      | data that are a list                    | status.devices | [{driver: d.test, pool: p, device: d, data: [1]}]                                                                  | Invalid   | status.devices[0].data                |
      | data that are a string                  | status.devices | [{driver: d.test, pool: p, device: d, data: x}]                                                                    | Invalid   | status.devices[0].data                |
      | an address without prefix               | status.devices | [{driver: d.test, pool: p, device: d, networkData: {ips: [10.0.0.1]}}]                                             | Invalid   | status.devices[0].networkData.ips[0]  |
      | an address with a leading zero          | status.devices | [{driver: d.test, pool: p, device: d, networkData: {ips: [10.0.0.01/24]}}]                                         | Invalid   | status.devices[0].networkData.ips[0]  |
      | an address given twice                  | status.devices | [{driver: d.test, pool: p, device: d, networkData: {ips: [10.0.0.1/24, 10.0.0.1/24]}}]                             | Duplicate | status.devices[0].networkData.ips[1]  |
      | an address with a prefix of 33 bits | status.devices | [{driver: d.test, pool: p, device: d, networkData: {ips: [10.0.0.2/32, 10.0.0.1/33]}}] | Invalid | status.devices[0].networkData.ips[1] |
      | a text with a prefix | status.devices | [{driver: d.test, pool: p, device: d, networkData: {ips: [host/24]}}] | Invalid | status.devices[0].networkData.ips[0] |
      | a long form of an IPv6 address | status.devices | [{driver: d.test, pool: p, device: d, networkData: {ips: ["2001:db8:0::1/64"]}}] | Invalid | status.devices[0].networkData.ips[0] |

  @DRA-093
  Scenario: A device status with more than 16 addresses is refused
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d, networkData: {interfaceName: eth0}}]
    When its status "status.devices[0].networkData.ips" is updated to a list of 17 10.0.0.$n/24
    Then the API server refuses it: TooMany at "status.devices[0].networkData.ips"

  @DRA-093
  Scenario Outline: A device status whose <what> has more than <most> characters is refused
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d, networkData: {ips: [10.0.0.1/24]}}]
    When its status "status.devices[0].networkData.<field>" is updated to the text "x" <count> times
    Then the API server refuses it: TooLong at "status.devices[0].networkData.<field>"

    Examples:
      | what             | field           | most | count |
      | interface name   | interfaceName   | 256  | 257   |
      | hardware address | hardwareAddress | 128  | 129   |

  @DRA-093
  Scenario: A device status with the most that is allowed is accepted
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d, networkData: {ips: ["2001:db8::1/128"]}}]
    When its status "status.devices[0].networkData.interfaceName" is updated to the text "x" 256 times
    Then the API server accepts it
    When its status "status.devices[0].networkData.hardwareAddress" is updated to the text "x" 128 times
    Then the API server accepts it
    When its status "status.devices[0].networkData.ips" is updated to a list of 16 10.0.0.$n/32
    Then the API server accepts it

  @DRA-705
  Scenario Outline: A device status with <what> is refused
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When its status "status.devices" is updated to [{driver: d.test, pool: p, device: d, conditions: [{type: Ready, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}, <condition>]}]
    Then the API server refuses it: <reason> at "status.devices[0].conditions[1]<field>"

    Examples:
      | what                               | condition                                                                                                             | reason       | field               |
      | two conditions of one type         | {type: Ready, status: "False", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}                                | Duplicate    |                     |
      | a condition without type           | {type: "", status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}                                    | Required     | .type               |
      | an ill-formed type of condition    | {type: a b, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}                                   | Invalid      | .type               |
      | a condition without status         | {type: Seen, status: "", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}                                      | Required     | .status             |
      | a condition of an unknown status   | {type: Seen, status: "Yes", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}                                   | NotSupported | .status             |
      | a condition of a negative generation | {type: Seen, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z", observedGeneration: -1}        | Invalid      | .observedGeneration |
      | a condition without time           | {type: Seen, status: "True", reason: Ok}                                                                              | Required     | .lastTransitionTime |
      | a condition without reason         | {type: Seen, status: "True", reason: "", lastTransitionTime: "2020-01-02T03:04:05Z"}                                  | Required     | .reason             |
      | a reason with a blank              | {type: Seen, status: "True", reason: Not Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}                              | Invalid      | .reason             |

  @DRA-705
  Scenario Outline: A device status whose condition has a <what> of more than <most> characters is refused
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d, conditions: [{type: Seen, status: Unknown, reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}]}]
    When its status "status.devices[0].conditions[0].<what>" is updated to the text "x" <most> times
    Then the API server accepts it
    When its status "status.devices[0].conditions[0].<what>" is updated to the text "x" <more> times
    Then the API server refuses it: TooLong at "status.devices[0].conditions[0].<what>"

    Examples:
      | what    | most  | more  |
      | reason  | 1024  | 1025  |
      | message | 32768 | 32769 |

  @DRA-705
  Scenario: A device status has at most 8 conditions, with times in UTC and whole seconds
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d}]
    When its status "status.devices[0].conditions" is updated to a list of 8 {type: a$n, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T05:04:05.9+02:00"}
    Then its "status.devices[0].conditions[7].lastTransitionTime" reads "2020-01-02T03:04:05Z"
    When its status "status.devices[0].conditions" is updated to a list of 9 {type: a$n, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}
    Then the API server refuses it: TooMany at "status.devices[0].conditions"

  @DRA-091
  Scenario: A driver writes the status of an allocated device
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When its status "status.devices" is updated to [{driver: d.test, pool: p, device: d, data: {a: 1}}]
    Then its "status.devices" reads [{driver: d.test, pool: p, device: d, data: {a: 1}}]

  @DRA-092
  Scenario: Devices of one name in two pools have a status each
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}, {request: r, driver: d.test, pool: q, device: d}]}}
    When its status "status.devices" is updated to [{driver: d.test, pool: p, device: d, data: {a: 1}}, {driver: d.test, pool: q, device: d, data: {a: 2}}]
    Then its "status.devices[pool=p][0].data.a" reads 1
    And its "status.devices[pool=q][0].data.a" reads 2

  @DRA-094
  Scenario: Deallocating a claim clears its device status
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d}]
    When its status "status.allocation" is updated to null
    Then its "status.devices" reads null

  @DRA-084
  Scenario: Allocation and reservations can be removed in one update
    Given the manifest "claims/claim"
    And it is created
    And its status "status" is {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: p, uid: u}]}
    When its status "status" is updated to {}
    Then its "status.allocation" reads null

  @DRA-083
  Scenario: An allocation cannot be removed while the claim is reserved
    Given the manifest "claims/claim"
    And it is created
    And its status "status" is {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: p, uid: u}]}
    When its status "status.allocation" is updated to null
    Then the API server refuses it: Forbidden at "status.reservedFor"

  @DRA-086
  Scenario: More than 256 consumers are refused
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When its status "status.reservedFor" is updated to a list of 257 {apiGroup: dra.test, resource: widgets, name: p, uid: u$n}
    Then the API server refuses it: TooMany at "status.reservedFor"

  @DRA-086
  Scenario: 256 consumers are accepted, even with one name
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When its status "status.reservedFor" is updated to a list of 256 {apiGroup: dra.test, resource: widgets, name: p, uid: u$n}
    Then the API server accepts it

  @DRA-085
  Scenario Outline: A claim that is being deleted accepts no new consumer: <what>
    Given the manifest "claims/protected"
    And it is created
    And its status "status" is {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: p, uid: u}]}
    When the ResourceClaim "subject" is deleted
    And its status "status.reservedFor" is updated to <value>
    Then the API server refuses it: Forbidden at "status.reservedFor"

    Examples:
      | what       | value                                                                     |
      | one more   | [{apiGroup: dra.test, resource: widgets, name: p, uid: u}, {apiGroup: dra.test, resource: widgets, name: q, uid: v}]    |
      | another    | [{apiGroup: dra.test, resource: widgets, name: q, uid: v}]                                       |
      | a new one of the same name | [{apiGroup: dra.test, resource: widgets, name: p, uid: v}]                       |

  @DRA-085
  Scenario: A consumer can be removed from a claim that is being deleted
    Given the manifest "claims/protected"
    And it is created
    And its status "status" is {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: p, uid: u}]}
    When the ResourceClaim "subject" is deleted
    And its status "status.reservedFor" is updated to []
    Then its "status.reservedFor" reads null

  @DRA-238
  Scenario: Admin access that was allocated stays valid when the namespace loses its label
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d, adminAccess: true}]}}
    When the namespace loses label "resource.kubernetes.io/admin-access"
    And its status "status.reservedFor" is updated to [{apiGroup: dra.test, resource: widgets, name: p, uid: u}]
    Then the API server accepts it
