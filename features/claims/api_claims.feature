@profile:api @component:control-plane
Feature: API validation of ResourceClaims
  The spec of a claim is immutable, so the API server validates it completely when the claim is created. Every error
  names the field and the reason.

  Scenario Outline: <what> is defaulted
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then its "<path>" reads <stored>

    @DRA-001
    Examples: a request without a count is for one device
      | what                          | manifest        | path                              | value                                                     | stored                                                               |
      | a request without mode        | claims/claim    | spec.devices.requests[0].exactly  | {deviceClassName: c}                                      | {deviceClassName: c, allocationMode: ExactCount, count: 1}           |
      | a request with mode alone     | claims/claim    | spec.devices.requests[0].exactly  | {deviceClassName: c, allocationMode: ExactCount}          | {deviceClassName: c, allocationMode: ExactCount, count: 1}           |
      | a request with count alone    | claims/claim    | spec.devices.requests[0].exactly  | {deviceClassName: c, count: 3}                            | {deviceClassName: c, allocationMode: ExactCount, count: 3}           |
      | a request for all devices     | claims/claim    | spec.devices.requests[0].exactly  | {deviceClassName: c, allocationMode: All}                 | {deviceClassName: c, allocationMode: All}                            |
      | a request in a template       | claims/template | spec.spec.devices.requests        | [{name: r, exactly: {deviceClassName: c}}]                | [{name: r, exactly: {deviceClassName: c, allocationMode: ExactCount, count: 1}}] |

    @DRA-002
    Examples: an alternative without a count is for one device
      | what                          | manifest            | path                                        | value                                 | stored                                                              |
      | an alternative without mode   | claims/alternatives | spec.devices.requests[0].firstAvailable[0]  | {name: s, deviceClassName: c}         | {name: s, deviceClassName: c, allocationMode: ExactCount, count: 1} |

    @DRA-030
    Examples: a toleration without operator compares values
      | what                                 | manifest            | path                                                    | value                  | stored                                   |
      | a toleration in a request            | claims/claim        | spec.devices.requests[0].exactly.tolerations            | [{key: k, value: v}]   | [{key: k, value: v, operator: Equal}]    |
      | a toleration in an alternative       | claims/alternatives | spec.devices.requests[0].firstAvailable[0].tolerations  | [{key: k}]             | [{key: k, operator: Equal}]              |

  Scenario Outline: <what> is refused
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<field>"

    @DRA-003
    Examples: a request for all devices has no count
      | what                            | manifest            | path                                       | value                                                    | reason  | field                                             |
      | a count beside All              | claims/claim        | spec.devices.requests[0].exactly           | {deviceClassName: c, allocationMode: All, count: 1}      | Invalid | spec.devices.requests[0].exactly.count            |
      | an alternative with count and All | claims/alternatives | spec.devices.requests[0].firstAvailable[0] | {name: s, deviceClassName: c, allocationMode: All, count: 2} | Invalid | spec.devices.requests[0].firstAvailable[0].count |

    @DRA-004
    Examples: a count is not negative
      | what                                 | manifest            | path                                             | value | reason  | field                                            |
      | a negative count                     | claims/claim        | spec.devices.requests[0].exactly.count           | -1    | Invalid | spec.devices.requests[0].exactly.count           |
      | an alternative with a negative count | claims/alternatives | spec.devices.requests[0].firstAvailable[0].count | -1    | Invalid | spec.devices.requests[0].firstAvailable[0].count |

    @DRA-005
    Examples: allocation modes are an enumeration
      | what                                 | manifest            | path                                                      | value | reason       | field                                                     |
      | an unknown mode                      | claims/claim        | spec.devices.requests[0].exactly.allocationMode           | Some  | NotSupported | spec.devices.requests[0].exactly.allocationMode           |
      | an alternative with an unknown mode  | claims/alternatives | spec.devices.requests[0].firstAvailable[0].allocationMode | Some  | NotSupported | spec.devices.requests[0].firstAvailable[0].allocationMode |

    @DRA-006
    Examples: a request has exactly or firstAvailable
      | what            | manifest     | path                     | value     | reason   | field                    |
      | an empty request | claims/claim | spec.devices.requests[0] | {name: r} | Required | spec.devices.requests[0] |

    @DRA-007
    Examples: a request has only one of exactly and firstAvailable
      | what                                | manifest            | path                             | value                | reason  | field                    |
      | a request with exactly and firstAvailable | claims/alternatives | spec.devices.requests[0].exactly | {deviceClassName: c} | Invalid | spec.devices.requests[0] |

    @DRA-009
    Examples: request names are unique
      | what                    | manifest     | path                  | value                                                                                     | reason    | field                    |
      | a request name used before the last | claims/claim | spec.devices.requests | [{name: a, exactly: {deviceClassName: c}}, {name: b, exactly: {deviceClassName: c}}, {name: a, exactly: {deviceClassName: c}}] | Duplicate | spec.devices.requests[2] |
      | a request name used twice | claims/claim | spec.devices.requests | [{name: a, exactly: {deviceClassName: c}}, {name: a, exactly: {deviceClassName: c}}]      | Duplicate | spec.devices.requests[1] |

    @DRA-010
    Examples: a request's name is a DNS label
      | what                                 | manifest            | path                                            | value   | reason  | field                                           |
      | an upper-case request name           | claims/claim        | spec.devices.requests[0].name                   | Req     | Invalid | spec.devices.requests[0].name                   |
      | a request name with a dot            | claims/claim        | spec.devices.requests[0].name                   | a.b     | Invalid | spec.devices.requests[0].name                   |
      | a request name with a slash          | claims/claim        | spec.devices.requests[0].name                   | a/b     | Invalid | spec.devices.requests[0].name                   |
      | a request name that begins with a hyphen | claims/claim    | spec.devices.requests[0].name                   | "-a"    | Invalid | spec.devices.requests[0].name                   |
      | an empty request name                | claims/claim        | spec.devices.requests[0].name                   | ""      | Invalid | spec.devices.requests[0].name                   |
      | an upper-case name of an alternative | claims/alternatives | spec.devices.requests[0].firstAvailable[0].name | S       | Invalid | spec.devices.requests[0].firstAvailable[0].name |

    @DRA-012
    Examples: names of alternatives are unique in a request
      | what                            | manifest            | path                                    | value                                                              | reason    | field                                      |
      | an alternative's name used twice | claims/alternatives | spec.devices.requests[0].firstAvailable | [{name: s, deviceClassName: c}, {name: s, deviceClassName: c}]     | Duplicate | spec.devices.requests[0].firstAvailable[1] |

    @DRA-013
    Examples: a request names a class
      | what                                    | manifest            | path                                                       | value   | reason   | field                                                      |
      | a request with an ill-formed class name | claims/claim        | spec.devices.requests[0].exactly.deviceClassName           | Foo_bar | Invalid  | spec.devices.requests[0].exactly.deviceClassName           |
      | an alternative without class            | claims/alternatives | spec.devices.requests[0].firstAvailable[0].deviceClassName | ""      | Required | spec.devices.requests[0].firstAvailable[0].deviceClassName |
      | an alternative with an ill-formed class name | claims/alternatives | spec.devices.requests[0].firstAvailable[0].deviceClassName | Foo_bar | Invalid  | spec.devices.requests[0].firstAvailable[0].deviceClassName |

    @DRA-013 @needs:v1-shapes
    Examples: an exact request names a class
      | what                    | manifest     | path                                             | value | reason   | field                                            |
      | a request without class | claims/claim | spec.devices.requests[0].exactly.deviceClassName | ""    | Required | spec.devices.requests[0].exactly.deviceClassName |

    @DRA-014
    Examples: a selector has an expression
      | what                       | manifest     | path                                       | value | reason   | field                                             |
      | an empty selector in a claim | claims/claim | spec.devices.requests[0].exactly.selectors | [{}]  | Required | spec.devices.requests[0].exactly.selectors[0].cel |
      | an empty selector in a class | claims/class | spec.selectors                             | [{}]  | Required | spec.selectors[0].cel                             |

    @DRA-016
    Examples: an expression compiles, to a boolean
      | what                                    | manifest     | path                                       | value                                    | reason  | field                                                        |
      | an expression with an unknown variable  | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: nosuchvar == 1}}]    | Invalid | spec.devices.requests[0].exactly.selectors[0].cel.expression |
      | an expression of type string            | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: device.driver}}]     | Invalid | spec.devices.requests[0].exactly.selectors[0].cel.expression |
      | an expression that does not parse       | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: 1 +}}]               | Invalid | spec.devices.requests[0].exactly.selectors[0].cel.expression |
      | an expression with an unknown field     | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: device.nosuch == 1}}] | Invalid | spec.devices.requests[0].exactly.selectors[0].cel.expression |
      | an expression of a class that does not compile | claims/class | spec.selectors                      | [{cel: {expression: nosuchvar == 1}}]    | Invalid | spec.selectors[0].cel.expression                             |

    @DRA-018
    Examples: the cost of an expression is limited
      | what                       | manifest     | path                                       | value | reason    | field                                                        |
      | an expression of four nested loops | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, true))))"}}] | Forbidden | spec.devices.requests[0].exactly.selectors[0].cel.expression |

    @DRA-019
    Examples: constraints and configurations name existing requests
      | what                                    | manifest     | path                     | value                                                                                  | reason  | field                                |
      | a constraint on an unknown request      | claims/claim | spec.devices.constraints | [{requests: [x], matchAttribute: a.example.com/b}]                                     | Invalid | spec.devices.constraints[0].requests[0] |
      | a configuration of an unknown request   | claims/claim | spec.devices.config      | [{requests: [x], opaque: {driver: gpu.example.com, parameters: {a: 1}}}]               | Invalid | spec.devices.config[0].requests[0]   |

    @DRA-020
    Examples: constraints name existing alternatives
      | what                                          | manifest            | path                     | value                                                  | reason  | field                                   |
      | a constraint on an unknown alternative        | claims/alternatives | spec.devices.constraints | [{requests: [r/x], matchAttribute: a.example.com/b}]   | Invalid | spec.devices.constraints[0].requests[0] |
      | a constraint on an alternative's alternative  | claims/alternatives | spec.devices.constraints | [{requests: [r/s/t], matchAttribute: a.example.com/b}] | Invalid | spec.devices.constraints[0].requests[0] |
      | a constraint on an alternative of another request | claims/alternatives | spec.devices.constraints | [{requests: [q/s], matchAttribute: a.example.com/b}] | Invalid | spec.devices.constraints[0].requests[0] |

    @DRA-021
    Examples: a constraint names a request once
      | what                                 | manifest     | path                     | value                                                                       | reason    | field                                   |
      | a constraint that names a request twice | claims/claim | spec.devices.constraints | [{requests: [r, r], matchAttribute: a.example.com/b}]                    | Duplicate | spec.devices.constraints[0].requests[1] |
      | a configuration that names a request twice | claims/claim | spec.devices.config   | [{requests: [r, r], opaque: {driver: gpu.example.com, parameters: {a: 1}}}] | Duplicate | spec.devices.config[0].requests[1]    |

    @DRA-022
    Examples: constraints name attributes with their domain
      | what                                    | manifest     | path                     | value                        | reason  | field                                         |
      | matchAttribute without domain           | claims/claim | spec.devices.constraints | [{matchAttribute: model}]    | Invalid | spec.devices.constraints[0].matchAttribute    |

    @DRA-022 @gate:DRAConsumableCapacity
    Examples: the same holds for the newer constraint
      | what                                    | manifest     | path                     | value                        | reason  | field                                         |
      | distinctAttribute without domain        | claims/claim | spec.devices.constraints | [{distinctAttribute: model}] | Invalid | spec.devices.constraints[0].distinctAttribute |

    @DRA-023
    Examples: a constraint has an attribute
      | what                | manifest     | path                     | value             | reason   | field                       |
      | an empty constraint | claims/claim | spec.devices.constraints | [{requests: [r]}] | Required | spec.devices.constraints[0] |

    @DRA-026
    Examples: opaque configuration is a JSON object for a driver
      | what                                 | manifest     | path                | value                                                        | reason   | field                                     |
      | a configuration with an ill-formed driver | claims/claim | spec.devices.config | [{opaque: {driver: a_b, parameters: {a: 1}}}]           | Invalid  | spec.devices.config[0].opaque.driver      |
      | a configuration without parameters   | claims/claim | spec.devices.config | [{opaque: {driver: gpu.example.com}}]                        | Required | spec.devices.config[0].opaque.parameters  |
      | a configuration of null              | claims/claim | spec.devices.config | [{opaque: {driver: gpu.example.com, parameters: null}}]      | Required | spec.devices.config[0].opaque.parameters  |
      | a configuration that is a list       | claims/claim | spec.devices.config | [{opaque: {driver: gpu.example.com, parameters: [1]}}]       | Invalid  | spec.devices.config[0].opaque.parameters  |
      | a configuration that is a text       | claims/claim | spec.devices.config | [{opaque: {driver: gpu.example.com, parameters: x}}]         | Invalid  | spec.devices.config[0].opaque.parameters  |
      | a configuration that is a number     | claims/claim | spec.devices.config | [{opaque: {driver: gpu.example.com, parameters: 1}}]         | Invalid  | spec.devices.config[0].opaque.parameters  |
      | an empty configuration               | claims/claim | spec.devices.config | [{}]                                                         | Required | spec.devices.config[0].opaque             |

    @DRA-026 @since:1.35
    Examples: it has a driver
      | what                           | manifest     | path                | value                                        | reason   | field                                |
      | a configuration without driver | claims/claim | spec.devices.config | [{opaque: {driver: "", parameters: {a: 1}}}] | Required | spec.devices.config[0].opaque.driver |

    @DRA-029
    Examples: a toleration of any value names none
      | what                                       | manifest     | path                                         | value                                      | reason  | field                                                    |
      | a toleration with Exists and a value       | claims/claim | spec.devices.requests[0].exactly.tolerations | [{key: k, operator: Exists, value: v}]     | Invalid | spec.devices.requests[0].exactly.tolerations[0].value    |

    @DRA-031
    Examples: operators and effects are enumerations
      | what                                | manifest     | path                                         | value                                            | reason       | field                                                    |
      | a toleration with an unknown operator | claims/claim | spec.devices.requests[0].exactly.tolerations | [{operator: Like}]                             | NotSupported | spec.devices.requests[0].exactly.tolerations[0].operator |
      | a toleration with an unknown effect | claims/claim | spec.devices.requests[0].exactly.tolerations | [{operator: Exists, effect: PreferNoSchedule}]   | NotSupported | spec.devices.requests[0].exactly.tolerations[0].effect   |
      | a toleration with an ill-formed key | claims/claim | spec.devices.requests[0].exactly.tolerations | [{operator: Exists, key: a b}]                   | Invalid      | spec.devices.requests[0].exactly.tolerations[0].key      |

    @DRA-231
    Examples: admin access needs a labelled namespace
      | what                               | manifest        | path                                              | value | reason    | field                                |
      | admin access in an unlabelled namespace | claims/claim    | spec.devices.requests[0].exactly.adminAccess      | true  | Forbidden | spec.devices.requests[0].adminAccess |
      | a second request with admin access in an unlabelled namespace | claims/claim | spec.devices.requests | [{name: a, exactly: {deviceClassName: c}}, {name: b, exactly: {deviceClassName: c, adminAccess: true}}] | Forbidden | spec.devices.requests[1].adminAccess |
      | a template with admin access in an unlabelled namespace | claims/template | spec.spec.devices.requests[0].exactly.adminAccess | true | Forbidden | spec.devices.requests[0].adminAccess |

  Scenario Outline: <what> is accepted
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server accepts it

    @DRA-003
    Examples:
      | what                   | manifest     | path                             | value                                               |
      | a count of 0 beside All | claims/claim | spec.devices.requests[0].exactly | {deviceClassName: c, allocationMode: All, count: 0} |

    @DRA-012
    Examples:
      | what                                           | manifest            | path                  | value                                                                                                                              |
      | an alternative's name used in another request  | claims/alternatives | spec.devices.requests | [{name: a, firstAvailable: [{name: s, deviceClassName: c}]}, {name: b, firstAvailable: [{name: s, deviceClassName: c}]}]           |

    @DRA-013
    Examples:
      | what                        | manifest     | path                                             | value            |
      | a class that does not exist | claims/claim | spec.devices.requests[0].exactly.deviceClassName | no-such-class.example.com |

    @DRA-016
    Examples:
      | what                                        | manifest     | path                                       | value                                                            |
      | an expression of dynamic type               | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: 'device.attributes["a.example.com"].b'}}]    |

    @DRA-018
    Examples:
      | what                      | manifest     | path                                       | value                                                      |
      | an expression of one loop | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: "device.attributes.all(a, true)"}}]    |

    @DRA-020
    Examples:
      | what                                  | manifest            | path                     | value                                                |
      | a constraint on a known alternative   | claims/alternatives | spec.devices.constraints | [{requests: [r/s], matchAttribute: a.example.com/b}] |
      | a constraint on all alternatives      | claims/alternatives | spec.devices.constraints | [{requests: [r], matchAttribute: a.example.com/b}]   |

    @DRA-024
    Examples: documented as one of the two, enforced by no release up to 1.36
      | what                              | manifest     | path                     | value                                                                  |
      | matchAttribute beside distinctAttribute | claims/claim | spec.devices.constraints | [{matchAttribute: a.example.com/b, distinctAttribute: a.example.com/c}] |

    @DRA-031
    Examples:
      | what                          | manifest     | path                                         | value                |
      | a toleration of everything    | claims/claim | spec.devices.requests[0].exactly.tolerations | [{operator: Exists}] |

    @DRA-165
    Examples:
      | what                                | manifest     | path                                       | value                                                                                                                       |
      | an expression that binds a variable | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: 'cel.bind(dra, device.attributes["a.example.com"], dra.b == "x" && dra.c == 1)'}}]                      |

    @DRA-166
    Examples:
      | what                                          | manifest     | path                                       | value                                                                |
      | an expression on allowMultipleAllocations     | claims/claim | spec.devices.requests[0].exactly.selectors | [{cel: {expression: device.allowMultipleAllocations == true}}]       |

  Scenario Outline: More than <most> <what> are refused
    Given the manifest "<manifest>"
    And "<path>" is a list of <count> <item>
    When it is created
    Then the API server refuses it: TooMany at "<path>"

    @DRA-008
    Examples:
      | what     | most | count | manifest     | path                  | item                                             |
      | requests | 32   | 33    | claims/claim | spec.devices.requests | {name: r$n, exactly: {deviceClassName: c}}       |

    @DRA-011
    Examples:
      | what         | most | count | manifest            | path                                    | item                             |
      | alternatives | 8    | 9     | claims/alternatives | spec.devices.requests[0].firstAvailable | {name: s$n, deviceClassName: c}  |

    @DRA-015
    Examples:
      | what                        | most | count | manifest            | path                                                 | item                         |
      | selectors in a request      | 32   | 33    | claims/claim        | spec.devices.requests[0].exactly.selectors           | {cel: {expression: "true"}}  |
      | selectors in an alternative | 32   | 33    | claims/alternatives | spec.devices.requests[0].firstAvailable[0].selectors | {cel: {expression: "true"}}  |
      | selectors in a class        | 32   | 33    | claims/class        | spec.selectors                                       | {cel: {expression: "true"}}  |

    @DRA-028
    Examples:
      | what                        | most | count | manifest     | path                     | item                                                      |
      | configurations in a claim   | 32   | 33    | claims/claim | spec.devices.config      | {opaque: {driver: gpu.example.com, parameters: {a: 1}}}   |
      | constraints                 | 32   | 33    | claims/claim | spec.devices.constraints | {matchAttribute: a.example.com/b}                         |
      | configurations in a class   | 32   | 33    | claims/class | spec.config              | {opaque: {driver: gpu.example.com, parameters: {a: 1}}}   |

  Scenario Outline: <count> <what> are accepted
    Given the manifest "<manifest>"
    And "<path>" is a list of <count> <item>
    When it is created
    Then the API server accepts it

    @DRA-008
    Examples:
      | what     | count | manifest     | path                  | item                                             |
      | requests | 32    | claims/claim | spec.devices.requests | {name: r$n, exactly: {deviceClassName: c}}       |
      | requests | 0     | claims/claim | spec.devices.requests | {name: r$n, exactly: {deviceClassName: c}}       |

    @DRA-011
    Examples:
      | what         | count | manifest            | path                                    | item                             |
      | alternatives | 8     | claims/alternatives | spec.devices.requests[0].firstAvailable | {name: s$n, deviceClassName: c}  |

    @DRA-015
    Examples:
      | what                    | count | manifest     | path                                       | item                         |
      | selectors in a request  | 32    | claims/claim | spec.devices.requests[0].exactly.selectors | {cel: {expression: "true"}}  |
      | selectors in a class    | 32    | claims/class | spec.selectors                             | {cel: {expression: "true"}}  |

    @DRA-028
    Examples:
      | what           | count | manifest     | path                | item                                                      |
      | configurations | 32    | claims/claim | spec.devices.config | {opaque: {driver: gpu.example.com, parameters: {a: 1}}}   |

    @DRA-032
    Examples: the API's constant says 16, no release up to 1.36 enforces it
      | what        | count | manifest     | path                                         | item               |
      | tolerations | 17    | claims/claim | spec.devices.requests[0].exactly.tolerations | {operator: Exists} |

  @DRA-017
  Scenario: An expression of more than 10240 bytes is refused before it is compiled
    Given the manifest "claims/claim"
    And "spec.devices.requests[0].exactly.selectors[0].cel.expression" is the text "(" 10241 times
    When it is created
    Then the API server refuses it: TooLong at "spec.devices.requests[0].exactly.selectors[0].cel.expression"

  @DRA-017
  Scenario: An expression of 10240 bytes is compiled
    Given the manifest "claims/claim"
    And "spec.devices.requests[0].exactly.selectors[0].cel.expression" is the text "(" 10240 times
    When it is created
    Then the API server refuses it: Invalid at "spec.devices.requests[0].exactly.selectors[0].cel.expression"

  @DRA-010
  Scenario: A request name of more than 63 characters is refused
    Given the manifest "claims/claim"
    And "spec.devices.requests[0].name" is the text "x" 64 times
    When it is created
    Then the API server refuses it: Invalid at "spec.devices.requests[0].name"

  @DRA-010
  Scenario: A request name of 63 characters is accepted
    Given the manifest "claims/claim"
    And "spec.devices.requests[0].name" is the text "x" 63 times
    When it is created
    Then the API server accepts it

  # {"a":"x…"}: eight bytes around the text.
  @DRA-027
  Scenario Outline: Opaque parameters of more than 10240 bytes are refused in a <kind>
    Given the manifest "<manifest>"
    And "<path>.opaque.driver" is gpu.example.com
    And "<path>.opaque.parameters.a" is the text "x" 10233 times
    When it is created
    Then the API server refuses it: TooLong at "<path>.opaque.parameters"

    Examples:
      | kind  | manifest     | path                   |
      | claim | claims/claim | spec.devices.config[0] |
      | class | claims/class | spec.config[0]         |

  @DRA-027
  Scenario: Opaque parameters of 10240 bytes are accepted
    Given the manifest "claims/claim"
    And "spec.devices.config[0].opaque.driver" is gpu.example.com
    And "spec.devices.config[0].opaque.parameters.a" is the text "x" 10232 times
    When it is created
    Then the API server accepts it

  @DRA-004
  Scenario: A count of 0 is defaulted to 1
    Given the manifest "claims/claim"
    And "spec.devices.requests[0].exactly.allocationMode" is ExactCount
    And "spec.devices.requests[0].exactly.count" is 0
    When it is created
    Then its "spec.devices.requests[0].exactly.count" reads 1

  @DRA-033
  Scenario Outline: The spec of a claim is immutable: <what>
    Given the manifest "claims/claim"
    And it is created
    When its "<path>" is updated to <value>
    Then the API server refuses it: Invalid at "spec"

    Examples:
      | what                | path                                   | value                                                       |
      | another count       | spec.devices.requests[0].exactly.count | 2                                                           |
      | one more request    | spec.devices.requests[1]               | {name: b, exactly: {deviceClassName: c}}                    |
      | a new configuration | spec.devices.config                    | [{opaque: {driver: gpu.example.com, parameters: {a: 1}}}]   |
      | no request at all   | spec.devices                           | {}                                                          |

  @DRA-033
  Scenario: Labels of a claim can be changed
    Given the manifest "claims/claim"
    And it is created
    When its "metadata.labels" is updated to {team: a}
    Then its "metadata.labels.team" reads a

  @DRA-034
  Scenario: The status of a new claim is dropped
    Given the manifest "claims/claim"
    And "status" is {reservedFor: [{resource: pods, name: p, uid: u}]}
    When it is created
    Then the API server accepts it
    And its "status.reservedFor" reads null

  @DRA-231
  Scenario: A namespace label other than "true" does not allow admin access
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "false"
    And the manifest "claims/claim"
    And "spec.devices.requests[0].exactly.adminAccess" is true
    When it is created
    Then the API server refuses it: Forbidden at "spec.devices.requests[0].adminAccess"

  @DRA-232
  Scenario Outline: Admin access in a <kind> is accepted in a labelled namespace
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And the manifest "<manifest>"
    And "<path>" is true
    When it is created
    Then its "<path>" reads true

    Examples:
      | kind     | manifest        | path                                              |
      | claim    | claims/claim    | spec.devices.requests[0].exactly.adminAccess      |
      | template | claims/template | spec.spec.devices.requests[0].exactly.adminAccess |

  @DRA-044 @needs:served-version
  Scenario: A claim of v1beta1 is the same claim in v1
    Given the manifest "webhook/claim-v1beta1"
    And "spec.devices.requests" is [{name: a, deviceClassName: c, count: 2, adminAccess: false}, {name: b, firstAvailable: [{name: s, deviceClassName: d, count: 3}, {name: t, deviceClassName: e, allocationMode: All}], deviceClassName: ""}]
    And "spec.devices.constraints" is [{requests: [a, b/s], matchAttribute: example.com/x}]
    When it is created
    Then the API server accepts it
    And in version v1 its "spec.devices.requests" reads [{name: a, exactly: {deviceClassName: c, allocationMode: ExactCount, count: 2, adminAccess: false}}, {name: b, firstAvailable: [{name: s, deviceClassName: d, allocationMode: ExactCount, count: 3}, {name: t, deviceClassName: e, allocationMode: All}]}]
    And in version v1 its "spec.devices.constraints" reads [{requests: [a, b/s], matchAttribute: example.com/x}]
    And in version v1beta1 its "spec.devices.requests" reads [{name: a, deviceClassName: c, allocationMode: ExactCount, count: 2, adminAccess: false}, {name: b, firstAvailable: [{name: s, deviceClassName: d, allocationMode: ExactCount, count: 3}, {name: t, deviceClassName: e, allocationMode: All}], deviceClassName: ""}]

  @DRA-044c @needs:served-version
  Scenario: A claim of v1beta2 is the same claim in v1
    Given the manifest "claims/claim-v1beta2"
    When it is created
    Then in version v1 its "spec.devices" reads {requests: [{name: a, exactly: {deviceClassName: c, allocationMode: ExactCount, count: 2}}, {name: b, firstAvailable: [{name: s, deviceClassName: d, allocationMode: ExactCount, count: 3}, {name: t, deviceClassName: e, allocationMode: All}]}], constraints: [{requests: [a, b/s], matchAttribute: example.com/x}]}
    And in version v1beta2 its "spec.devices" reads {requests: [{name: a, exactly: {deviceClassName: c, allocationMode: ExactCount, count: 2}}, {name: b, firstAvailable: [{name: s, deviceClassName: d, allocationMode: ExactCount, count: 3}, {name: t, deviceClassName: e, allocationMode: All}]}], constraints: [{requests: [a, b/s], matchAttribute: example.com/x}]}
    And in version v1beta1 its "spec.devices.requests[0]" reads {name: a, deviceClassName: c, allocationMode: ExactCount, count: 2}

  @DRA-044c @needs:served-version
  Scenario: A claim of v1 is the same claim in v1beta2
    Given the manifest "claims/claim"
    And "spec.devices.requests" is [{name: a, exactly: {deviceClassName: c, count: 2, selectors: [{cel: {expression: "true"}}]}}, {name: b, firstAvailable: [{name: s, deviceClassName: d}]}]
    When it is created
    Then in version v1beta2 its "spec.devices.requests" reads [{name: a, exactly: {deviceClassName: c, allocationMode: ExactCount, count: 2, selectors: [{cel: {expression: "true"}}]}}, {name: b, firstAvailable: [{name: s, deviceClassName: d, allocationMode: ExactCount, count: 1}]}]
    And in version v1beta2 its "apiVersion" reads resource.k8s.io/v1beta2
