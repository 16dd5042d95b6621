@profile:api @component:control-plane @since:1.37
Feature: API validation of derived attributes
  A request can derive an attribute from those that a driver publishes, for the constraints of the claim.

  Scenario Outline: A claim with <what> is refused
    Given the manifest "claims/derived-attributes"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<field>"

    @DRA-434 @gate:DRADerivedAttributes
    Examples: a constraint uses each derived attribute
      | what                         | path                                               | value                                                                                                           | reason  | field                                                       |
      | an attribute that is not used | spec.devices.requests[0].exactly.derivedAttributes | [{name: derived.dra.test/numa, expression: "1"}, {name: derived.dra.test/socket, expression: "1"}]             | Invalid | spec.devices.requests[0].exactly.derivedAttributes[1].name |

    @DRA-435 @gate:DRADerivedAttributes
    Examples: a constraint of the request uses the attribute
      | what                               | path                     | value                                                                                                           | reason  | field                                                       |
      | a constraint of the first request  | spec.devices.constraints | [{requests: [a], matchAttribute: derived.dra.test/numa}]                                                        | Invalid | spec.devices.requests[1].exactly.derivedAttributes[0].name |
      | another constraint of the second request | spec.devices.constraints | [{requests: [a], matchAttribute: derived.dra.test/numa}, {requests: [b], matchAttribute: a.dra.test/numa}]  | Invalid | spec.devices.requests[1].exactly.derivedAttributes[0].name |

    @DRA-436 @gate:DRADerivedAttributes
    Examples: a constraint of the alternative uses the attribute
      | what                               | path         | value | reason  | field |
      | a constraint of another alternative | spec.devices | {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c, derivedAttributes: [{name: derived.dra.test/numa, expression: "1"}]}, {name: t, deviceClassName: c}]}], constraints: [{requests: [r/t], matchAttribute: derived.dra.test/numa}]} | Invalid | spec.devices.requests[0].firstAvailable[0].derivedAttributes[0].name |

    @DRA-438 @gate:DRADerivedAttributes
    Examples: the derived attributes of a request have distinct names
      | what               | path                                               | value                                                                                            | reason    | field                                                 |
      | an attribute twice | spec.devices.requests[1].exactly.derivedAttributes | [{name: derived.dra.test/numa, expression: "1"}, {name: derived.dra.test/numa, expression: "2"}] | Duplicate | spec.devices.requests[1].exactly.derivedAttributes[1] |

    @DRA-440 @gate:DRADerivedAttributes
    Examples: constraints can compare what is derived
      | what       | path                                                             | value                                                                                      | reason   | field                                                            |
      | a double   | spec.devices.requests[1].exactly.derivedAttributes[0].expression | "1.5"                                                                                      | Invalid  | spec.devices.requests[1].exactly.derivedAttributes[0].expression |
      | a map      | spec.devices.requests[1].exactly.derivedAttributes[0].expression | 'device.attributes["nic.example.com"]'                                                     | Invalid  | spec.devices.requests[1].exactly.derivedAttributes[0].expression |
      | a quantity | spec.devices.requests[1].exactly.derivedAttributes[0].expression | 'device.capacity["nic.example.com"].bandwidth'                                             | Invalid  | spec.devices.requests[1].exactly.derivedAttributes[0].expression |
      | no CEL     | spec.devices.requests[1].exactly.derivedAttributes[0].expression | "device."                                                                                  | Invalid  | spec.devices.requests[1].exactly.derivedAttributes[0].expression |
      | no expression | spec.devices.requests[1].exactly.derivedAttributes[0]         | {name: derived.dra.test/numa}                                                              | Required | spec.devices.requests[1].exactly.derivedAttributes[0].expression |

    @DRA-441 @gate:DRADerivedAttributes @gate:DRAListTypeAttributes
    Examples: constraints can compare the items of lists
      | what              | path                                                             | value     | reason  | field                                                            |
      | a list of doubles | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "[1.5]"   | Invalid | spec.devices.requests[0].exactly.derivedAttributes[0].expression |
      | a list of lists   | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "[[1]]"   | Invalid | spec.devices.requests[0].exactly.derivedAttributes[0].expression |

    @DRA-441b @gate:DRADerivedAttributes @gate-off:DRAListTypeAttributes
    Examples: there are no lists without DRAListTypeAttributes
      | what              | path                                                             | value     | reason  | field                                                            |
      | a list            | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "[1, 2]"  | Invalid | spec.devices.requests[0].exactly.derivedAttributes[0].expression |

    @DRA-442 @gate:DRADerivedAttributes
    Examples: all derived attributes of a claim have a limited cost
      | what                                   | path                           | value | reason    | field        |
      | two costly attributes in two requests  | spec.devices.requests          | [{name: a, exactly: {deviceClassName: c, derivedAttributes: [{name: derived.dra.test/numa, expression: "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a != b && b != c)))"}]}}, {name: b, exactly: {deviceClassName: c, derivedAttributes: [{name: derived.dra.test/numa, expression: "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a != b && b != c)))"}]}}] | Forbidden | spec.devices |
      | two costly attributes in two alternatives | spec.devices.requests       | [{name: a, firstAvailable: [{name: s, deviceClassName: c, derivedAttributes: [{name: derived.dra.test/numa, expression: "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a != b && b != c)))"}]}, {name: t, deviceClassName: c, derivedAttributes: [{name: derived.dra.test/numa, expression: "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a != b && b != c)))"}]}]}] | Forbidden | spec.devices |

  @DRA-439 @gate:DRADerivedAttributes
  Scenario Outline: An attribute with <what> is refused
    Given the manifest "claims/derived-attributes"
    And "spec.devices.requests[0].exactly.derivedAttributes[0].name" is <name>
    And "spec.devices.requests[1].exactly.derivedAttributes" is null
    And "spec.devices.constraints[0].matchAttribute" is <name>
    When it is created
    Then the API server refuses it, perhaps at "spec.devices.constraints[0].matchAttribute" too: Invalid at "spec.devices.requests[0].exactly.derivedAttributes[0].name"

    Examples:
      | what                    | name                  |
      | a name without domain   | numa                  |
      | a name with a hyphen    | derived.dra.test/a-b  |

  @DRA-437 @gate:DRADerivedAttributes
  Scenario: A request with more than 32 derived attributes is refused
    Given the manifest "claims/derived-attributes"
    And "spec.devices.requests[0].exactly.derivedAttributes" is null
    And "spec.devices.requests[1].exactly.derivedAttributes" is a list of 33 {name: derived.dra.test/a$n, expression: "1"}
    And "spec.devices.constraints" is a list of 32 {matchAttribute: derived.dra.test/a$n}
    When it is created
    # Claims have 32 constraints at most, so that none can use the last attribute (DRA-434).
    Then the API server refuses it for two reasons: TooMany at "spec.devices.requests[1].exactly.derivedAttributes" and Invalid at "spec.devices.requests[1].exactly.derivedAttributes[32].name"

  @DRA-437 @gate:DRADerivedAttributes
  Scenario: Two requests with 32 derived attributes each are accepted
    Given the manifest "claims/derived-attributes"
    And "spec.devices.requests[0].exactly.derivedAttributes" is a list of 32 {name: derived.dra.test/a$n, expression: "1"}
    And "spec.devices.requests[1].exactly.derivedAttributes" is a list of 32 {name: derived.dra.test/a$n, expression: "2"}
    And "spec.devices.constraints" is a list of 32 {matchAttribute: derived.dra.test/a$n}
    When it is created
    Then its "spec.devices.requests[1].exactly.derivedAttributes[31].expression" reads "2"

  Scenario Outline: A claim with <what> is accepted
    Given the manifest "claims/derived-attributes"
    And "<path>" is <value>
    When it is created
    Then its "<path>" reads <value>

    @DRA-434 @gate:DRADerivedAttributes
    Examples: a constraint for distinct values uses an attribute too
      | what                  | path                     | value                                        |
      | a distinct attribute  | spec.devices.constraints | [{distinctAttribute: derived.dra.test/numa}] |

    @DRA-435 @gate:DRADerivedAttributes
    Examples: each request has its constraint
      | what                          | path                     | value                                                                                                                |
      | a constraint of each request  | spec.devices.constraints | [{requests: [a], matchAttribute: derived.dra.test/numa}, {requests: [b], distinctAttribute: derived.dra.test/numa}] |
      | a constraint of both requests | spec.devices.constraints | [{requests: [b, a], matchAttribute: derived.dra.test/numa}]                                                          |

    @DRA-436 @gate:DRADerivedAttributes
    Examples: a constraint uses the attributes of an alternative
      | what                            | path                                | value                                                                                    |
      | a constraint of the alternative | spec.devices | {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c, allocationMode: ExactCount, count: 1, derivedAttributes: [{name: derived.dra.test/numa, expression: "1"}]}, {name: t, deviceClassName: c, allocationMode: ExactCount, count: 1}]}], constraints: [{requests: [r/s], matchAttribute: derived.dra.test/numa}]} |
      | a constraint of the request of alternatives | spec.devices | {requests: [{name: r, firstAvailable: [{name: s, deviceClassName: c, allocationMode: ExactCount, count: 1, derivedAttributes: [{name: derived.dra.test/numa, expression: "1"}]}, {name: t, deviceClassName: c, allocationMode: ExactCount, count: 1}]}], constraints: [{requests: [r], matchAttribute: derived.dra.test/numa}]} |

    @DRA-438 @gate:DRADerivedAttributes
    Examples: two requests may derive one attribute
      | what                               | path                                                  | value                     |
      | one attribute of two requests      | spec.devices.requests[1].exactly.derivedAttributes    | [{name: derived.dra.test/numa, expression: "1"}] |

    @DRA-440 @gate:DRADerivedAttributes
    Examples: scalars
      | what                        | path                                                             | value                     |
      | an integer                  | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "1 + 1"                   |
      | a boolean                   | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "device.driver != 'a'"    |
      | a text                      | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "device.driver"           |
      | a version                   | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "semver('1.2.3')"         |

    @DRA-441 @gate:DRADerivedAttributes @gate:DRAListTypeAttributes
    Examples: lists of scalars
      | what                        | path                                                             | value                     |
      | a list of integers          | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "[1, 2]"                  |
      | a list of texts             | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "[device.driver, 'b']"    |

    @DRA-442 @gate:DRADerivedAttributes
    Examples: costly attributes within the limit
      | what                        | path                                                             | value                     |
      | a costly attribute          | spec.devices.requests[0].exactly.derivedAttributes[0].expression | "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, a != b && b != c)))" |
