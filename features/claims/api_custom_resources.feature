@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Custom resources
  BindRequests, ComputeDomains and others are defined by CustomResourceDefinitions, whose schemas the API server enforces.

  Background:
    Given the definition of Things is served

  @DRA-399b
  Scenario Outline: A custom resource with <what> is stored
    When a Thing with <spec> is created
    Then the API server accepts it
    And the Thing has "spec" <stored>

    Examples:
      | what                          | spec                                                 | stored                                                   |
      | the default of a field        | {mode: a}                                            | {mode: a, count: 3}                                      |
      | a value in place of a default | {mode: c, count: 5}                                  | {mode: c, count: 5}                                      |
      | an unknown field              | {mode: a, other: 1}                                  | {mode: a, count: 3}                                      |
      | unknown fields that are kept  | {mode: a, free: {b: [1, {c: d}]}}                    | {mode: a, count: 3, free: {b: [1, {c: d}]}}              |
      | the least and greatest values | {mode: b, size: 1, word: ab, ids: [x]}               | {mode: b, size: 1, word: ab, ids: [x], count: 3}         |
      | the greatest values           | {mode: b, size: 8, word: abcde, ids: [x, y, z]}      | {mode: b, size: 8, word: abcde, ids: [x, y, z], count: 3} |
      | a multiple                    | {mode: a, even: 4}                                   | {mode: a, even: 4, count: 3}                             |
      | a number above the bound      | {mode: a, above: 0.5}                                | {mode: a, above: 0.5, count: 3}                          |
      | defaults in a list            | {mode: a, parts: [{key: x}, {key: y, value: 1}, {key: z}]} | {mode: a, count: 3, parts: [{key: x, value: 7}, {key: y, value: 1}, {key: z, value: 7}]} |
      | an unknown field in a list    | {mode: a, parts: [{key: x, other: 1}]}               | {mode: a, count: 3, parts: [{key: x, value: 7}]}         |
      | two keys of a map             | {mode: a, table: {x: 1, y: 2}}                       | {mode: a, count: 3, table: {x: 1, y: 2}}                 |
      | a number for a port           | {mode: a, port: 80}                                  | {mode: a, count: 3, port: 80}                            |
      | a name for a port             | {mode: a, port: http}                                | {mode: a, count: 3, port: http}                          |
      | a time                        | {mode: a, since: "2026-01-01T00:00:00Z"}             | {mode: a, count: 3, since: "2026-01-01T00:00:00Z"}       |
      | a null in place of a default | {mode: a, count: null} | {mode: a, count: 3} |
      | a number below the bound | {mode: a, below: 0.5} | {mode: a, below: 0.5, count: 3} |
      | the fewest keys | {mode: a, few: {x: 1}} | {mode: a, few: {x: 1}, count: 3} |
      | a value that meets every schema | {mode: a, every: 4} | {mode: a, every: 4, count: 3} |
      | a value that meets the first of some | {mode: a, some: ab} | {mode: a, some: ab, count: 3} |
      | a value that meets the second of some | {mode: a, some: zab} | {mode: a, some: zab, count: 3} |
      | a value that meets one of two | {mode: a, either: z} | {mode: a, either: z, count: 3} |
      | a value that a schema does not forbid | {mode: a, unlike: good} | {mode: a, unlike: good, count: 3} |

  @DRA-399b
  Scenario Outline: A custom resource with <what> is refused
    When a Thing with <spec> is created
    Then the Thing is refused: <reason> at "<field>"

    Examples:
      | what                             | spec                                        | reason       | field           |
      | no required field                | {size: 1}                                   | Required     | spec.mode       |
      | a value that is not in the list  | {mode: d}                                   | NotSupported | spec.mode       |
      | a value that a rule forbids      | {mode: b}                                   | Invalid      | spec            |
      | a number that is too small       | {mode: b, size: 0}                          | Invalid      | spec.size       |
      | a number that is too great       | {mode: b, size: 9}                          | Invalid      | spec.size       |
      | a number that is no multiple     | {mode: a, even: 3}                          | Invalid      | spec.even       |
      | a number at the bound            | {mode: a, above: 0}                         | Invalid      | spec.above      |
      | a text that is too short         | {mode: a, word: a}                          | Invalid      | spec.word       |
      | a text that is too long          | {mode: a, word: abcdef}                     | TooLong      | spec.word       |
      | a text that does not match       | {mode: a, word: ABC}                        | Invalid      | spec.word       |
      | a text for a boolean             | {mode: a, flag: "true"}                     | TypeInvalid  | spec.flag       |
      | a list that is too short         | {mode: a, ids: []}                          | Invalid      | spec.ids        |
      | a list that is too long          | {mode: a, ids: [w, x, y, z]}                | TooMany      | spec.ids        |
      | an item twice                    | {mode: a, ids: [x, y, x]}                   | Duplicate    | spec.ids[2]     |
      | a key of a list twice            | {mode: a, parts: [{key: x}, {key: x}]}      | Duplicate    | spec.parts[1]   |
      | both keys of a list twice        | {mode: a, pairs: [{key: x, side: l}, {key: x, side: r}, {key: x, side: l}]} | Duplicate | spec.pairs[2] |
      | an item without its key          | {mode: a, parts: [{key: x}, {value: 1}]}    | Required     | spec.parts[1].key |
      | too many keys of a map           | {mode: a, table: {x: 1, y: 2, z: 3}}        | TooMany      | spec.table      |
      | a text in a map of numbers       | {mode: a, table: {x: y}}                    | TypeInvalid  | spec.table.x    |
      | a boolean for a port             | {mode: a, port: true}                       | TypeInvalid  | spec.port       |
      | a text that is no time           | {mode: a, since: yesterday}                 | TypeInvalid  | spec.since      |
      | null                             | {mode: a, flag: null, size: null, word: 1}  | TypeInvalid  | spec.word       |
      | a fraction for an integer | {mode: b, size: 1.5} | TypeInvalid | spec.size |
      | a number at the upper bound | {mode: a, below: 1} | Invalid | spec.below |
      | too few keys of a map | {mode: a, few: {}} | Invalid | spec.few |
      | an item that a second rule forbids | {mode: a, listed: [{key: x, text: good}, {key: y, text: worse}]} | Invalid | spec.listed[1].text |
      | an item that a rule forbids | {mode: a, listed: [{key: x, text: good}, {key: y, text: bad}]} | Invalid | spec.listed[1].text |

  @DRA-399b
  Scenario Outline: A custom resource with <what> is Invalid, whatever the cause names
    When a Thing with <spec> is created
    Then the API server refuses it with 422 Invalid

    Examples:
      | what                                     | spec                     |
      | a value that misses the first of all     | {mode: a, every: 0}      |
      | a value that misses the second of all    | {mode: a, every: 3}      |
      | a value that meets none of some          | {mode: a, some: abc}     |
      | a value that meets none of two           | {mode: a, either: ab}    |
      | a value that meets both of two           | {mode: a, either: zab}   |
      | a value that a schema forbids            | {mode: a, unlike: bad}   |

  @DRA-399b
  Scenario: A rule compares an item with its former value by its key
    When a Thing with {mode: a, listed: [{key: x, last: 5}, {key: y, last: 1}]} is created
    And the Thing is updated to {mode: a, listed: [{key: y, last: 2}, {key: x, last: 4}]}
    Then the Thing is refused: Invalid at "spec.listed[1].last"
    When the Thing is updated to {mode: a, listed: [{key: y, last: 2}, {key: x, last: 5}, {key: z, last: 0}]}
    Then the API server accepts it

  @DRA-399b
  Scenario: A rule compares an item with its former value by all of its keys
    When a Thing with {mode: a, pairs: [{key: x, side: l, last: 5}, {key: x, side: r, last: 1}]} is created
    And the Thing is updated to {mode: a, pairs: [{key: x, side: l, last: 4}, {key: x, side: r, last: 1}]}
    Then the Thing is refused: Invalid at "spec.pairs[0].last"
    When the Thing is updated to {mode: a, pairs: [{key: x, side: l, last: 5}, {key: x, side: r, last: 2}, {key: y, side: l, last: 0}]}
    Then the API server accepts it

  @DRA-399b
  Scenario: A rule compares a field with its former value
    When a Thing with {mode: a, fixed: x, note: y} is created
    And the Thing is updated to {mode: a, fixed: y}
    Then the Thing is refused: Invalid at "spec.fixed"
    When the Thing is updated to {mode: c, fixed: x, note: null}
    Then the API server accepts it
    And the Thing has "spec" {mode: c, fixed: x, count: 3}

  @DRA-399b
  Scenario: Spec and status of a custom resource are written separately
    When a Thing with {mode: a} is created
    Then the Thing has "metadata.generation" 1
    When the status of the Thing is updated to {phase: Ready}
    Then the API server accepts it
    And the Thing has "status" {phase: Ready}
    And the Thing has "metadata.generation" 1
    When the status of the Thing is updated to {phase: Other}
    Then the Thing is refused: NotSupported at "status.phase"
    When the Thing is updated to {mode: c}
    Then the Thing has "metadata.generation" 2
    And the Thing has "status" {phase: Ready}

  @DRA-665
  Scenario: An update of a custom resource without a resourceVersion is refused
    When a Thing with {mode: a} is created
    And the Thing is updated without a resourceVersion to {mode: c}
    Then the API server refuses it with 422 Invalid
    And the Thing has "spec" {mode: a, count: 3}
