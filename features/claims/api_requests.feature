@profile:api @component:control-plane
Feature: Selectors, patches and applies
  Components read with selectors and write with patches, so that they neither miss objects nor overwrite what others
  write at the same time.

  @DRA-389
  Scenario Outline: A list with a label selector for <what> has exactly the matching objects
    Given the manifest "claims/claim"
    And the ResourceClaims "create a app=x tier=1, create b app=y tier=2, create c app=x, create d team.dra.test/name=x, create e app="
    When the ResourceClaims with labels "<selector>" are listed
    Then the list has the ResourceClaims "<names>"

    Examples:
      | what                                 | selector                          | names         |
      | no requirement                       |                                   | a, b, c, d, e |
      | a value                              | app=x                             | a, c          |
      | a value with two signs               | app==y                            | b             |
      | the empty value                      | app=                              | e             |
      | another value                        | app!=x                            | b, d, e       |
      | a value that is not empty            | app!=                             | a, b, c, d    |
      | existence                            | app                               | a, b, c, e    |
      | absence                              | !app                              | d             |
      | a set of one                         | app in (x)                        | a, c          |
      | a set of two                         | app in (y, x)                     | a, b, c       |
      | no value of a set                    | app notin (x, y)                  | d, e          |
      | no value of a set with the empty one | app notin (x,)                    | b, d          |
      | a value and existence                | app=x,tier                        | a             |
      | a value and absence                  | app=x,!tier                       | c             |
      | a set and another value              | app in (x, y),tier!=1             | b, c          |
      | a greater number                     | tier>1                            | b             |
      | a smaller number                     | tier<2                            | a             |
      | a key with a prefix                  | team.dra.test/name=x              | d             |
      | a value that no object has           | app=z                             |               |
      | a value with blanks around it        | app = x                           | a, c          |
      | a set with the empty value first     | app in (,y)                       | b, e          |
      | a set with the empty value inside    | app in (x,,y)                     | a, b, c, e    |
      | an empty value and existence         | app=,app                          | e             |
      | absence of a key with a prefix       | !team.dra.test/name               | a, b, c, e    |
      | a number that none exceeds           | tier>2                            |               |
      | a number below all                   | tier<1                            |               |
      | a comparison of words                | app>1                             |               |

  @DRA-389
  Scenario Outline: A list with a label selector of <what> is refused
    Given the manifest "claims/claim"
    And it is created
    When the ResourceClaims with labels "<selector>" are listed
    Then the API server refuses it with 400 BadRequest

    Examples:
      | what                             | selector       |
      | a set without brackets           | app in x       |
      | a set without an end             | app in (x      |
      | an end with a comma              | app=x,         |
      | two requirements without a comma | app=x tier=1   |
      | two keys                         | a b            |
      | a key with a leading hyphen      | -app=x         |
      | a value with a leading hyphen    | app=-x         |
      | a comparison with a word         | app>x          |
      | a key with two prefixes          | team/app/x     |
      | a value with a slash             | app=a/b        |
      | a set with an ill-formed value   | app in (x, -y) |
      | a set of words without a comma   | app in (x y)   |
      | a comparison with nothing        | tier>          |
      | a comparison with a number below 0 | tier>-1      |
      | a comparison with a fraction     | tier>1.5       |
      | absence with a value             | !app=x         |
      | absence of nothing               | !              |
      | a beginning with a comma         | ,app=x         |
      | two commas in a row              | app=x,,tier=1  |
      | an unknown operator              | app is x       |
      | a key of 64 characters           | x23456789x23456789x23456789x23456789x23456789x23456789x23456789x |
      | a value of 64 characters         | a=x23456789x23456789x23456789x23456789x23456789x23456789x23456789x |

  @DRA-390
  Scenario Outline: A list with a field selector for <what> has exactly the matching objects
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b, create c"
    When the ResourceClaims with fields "<selector>" are listed
    Then the list has the ResourceClaims "<names>"

    Examples:
      | what                      | selector                                          | names   |
      | a name                    | metadata.name=b                                   | b       |
      | a name with two signs     | metadata.name==c                                  | c       |
      | another name              | metadata.name!=b                                  | a, c    |
      | two other names           | metadata.name!=a,metadata.name!=c                 | b       |
      | the namespace             | metadata.namespace=$(namespace)                   | a, b, c |
      | another namespace         | metadata.namespace!=$(namespace)                  |         |
      | namespace and name        | metadata.namespace=$(namespace),metadata.name=a   | a       |
      | a name that no object has | metadata.name=z                                   |         |
      | a name and a comma        | metadata.name=b,                                  | b       |
      | not an escaped value      | metadata.name!=a\\,b                            | a, b, c |
      | a name twice              | metadata.name=b,metadata.name=b                   | b       |
      | two names                 | metadata.name=a,metadata.name=b                   |         |

  @DRA-390
  Scenario Outline: A list with a field selector of <what> is refused
    Given the manifest "claims/claim"
    And it is created
    When the ResourceClaims with fields "<selector>" are listed
    Then the API server refuses it with 400 BadRequest

    Examples:
      | what                          | selector             |
      | a field that is not supported | spec.driver=d        |
      | a field of the metadata       | metadata.labels=a    |
      | a field without a value       | metadata.name        |
      | a value that is not escaped   | metadata.name=a=b    |
      | an unknown operator           | metadata.name>a      |
      | a second, unsupported field   | metadata.name=a,spec.driver=d |

  @DRA-391
  Scenario: A merge patch changes, adds and removes the fields that it names
    Given the manifest "claims/claim"
    And "metadata.labels" is {app: x, tier: one, team: a}
    And "metadata.finalizers" is [example.com/a, example.com/b]
    And it is created
    When a merge patch of it is {metadata: {labels: {app: y, tier: null, zone: z}, finalizers: [example.com/b]}}
    Then the API server accepts it
    And its "metadata.labels" reads {app: y, team: a, zone: z}
    And its "metadata.finalizers" reads [example.com/b]
    And its "spec.devices.requests[0].name" reads r
    # A map that is new has no member that the patch removes.
    When a merge patch of it is {metadata: {finalizers: null, annotations: {gone: null, note: a}}}
    Then its "metadata.finalizers" reads null
    And its "metadata.annotations" reads {note: a}
    And its "metadata.labels" reads {app: y, team: a, zone: z}

  @DRA-391
  Scenario: A merge patch with an earlier resourceVersion changes nothing
    Given the manifest "claims/claim"
    And it is created
    And it is deleted and created again
    When a merge patch of it is {metadata: {resourceVersion: "1", labels: {app: x}}}
    Then the API server refuses it with 409 Conflict
    And it is stored unchanged

  @DRA-391
  Scenario Outline: A <kind> patch that is <what> is refused
    Given the manifest "claims/claim"
    And it is created
    When a <kind> patch of it is <patch>
    Then the API server refuses it with <code>
    And it is stored unchanged

    Examples:
      | kind      | what                     | patch                                   | code           |
      | merge     | a list                   | [1]                                     | 400 BadRequest |
      | merge     | another name             | {metadata: {name: other}}               | 400 BadRequest |
      | merge     | a value of another type  | {metadata: {labels: {app: 1}}}          | 422 Invalid    |
      | json      | an object                | {a: 1}                                  | 400 BadRequest |
      | strategic | a list                   | [1]                                     | 400 BadRequest |

  @DRA-392
  Scenario: A JSON patch applies its operations in order
    Given the manifest "claims/claim"
    And "metadata.labels" is {app: x, tier: one}
    And "metadata.finalizers" is [example.com/a, example.com/b]
    And it is created
    When a json patch of it is [{op: test, path: /metadata/labels/app, value: x}, {op: replace, path: /metadata/labels/app, value: y}, {op: copy, from: /metadata/labels/app, path: /metadata/labels/copy}, {op: move, from: /metadata/labels/tier, path: /metadata/labels/moved}, {op: add, path: /metadata/finalizers/-, value: example.com/c}, {op: add, path: /metadata/finalizers/0, value: example.com/z}, {op: remove, path: /metadata/finalizers/1}]
    Then the API server accepts it
    And its "metadata.labels" reads {app: y, copy: y, moved: one}
    And its "metadata.finalizers" reads [example.com/z, example.com/b, example.com/c]

  @DRA-392
  Scenario Outline: A JSON patch with <what> changes nothing
    Given the manifest "claims/claim"
    And "metadata.labels" is {app: x}
    And it is created
    When a json patch of it is [{op: replace, path: /metadata/labels/app, value: y}, <operation>]
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | what                       | operation                                             |
      | a failed test              | {op: test, path: /metadata/labels/app, value: x}      |
      | a test of a missing member | {op: test, path: /metadata/labels/tier, value: x}     |
      | a removal of nothing       | {op: remove, path: /metadata/labels/tier}             |
      | a missing parent           | {op: add, path: /metadata/nothing/there, value: x}    |
      | an index after the end     | {op: add, path: /metadata/finalizers/3, value: a.b/c} |

  @DRA-393
  Scenario: A strategic merge patch changes single items of a list
    Given the manifest "claims/claim"
    And "metadata.finalizers" is [example.com/a, example.com/b]
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When a strategic patch of its status is {status: {reservedFor: [{$patch: delete, uid: u-9}]}}
    Then the API server accepts it
    And its "status.reservedFor" reads null
    Given its status "status.reservedFor" is [{apiGroup: dra.test, resource: widgets, name: a, uid: u-1}, {apiGroup: dra.test, resource: widgets, name: b, uid: u-2}]
    When a strategic patch of its status is {status: {reservedFor: [{apiGroup: dra.test, resource: widgets, name: c, uid: u-3}]}}
    Then the API server accepts it
    And its "status.reservedFor[*].uid" reads in any order [u-1, u-2, u-3]
    When a strategic patch of its status is {status: {reservedFor: [{$patch: delete, uid: u-2}, {uid: u-1, name: renamed}]}}
    Then its "status.reservedFor[*].name" reads in any order [renamed, c]
    And its "status.reservedFor[*].resource" reads [widgets, widgets]
    And its "status.allocation.devices.results[0].device" reads d
    When a strategic patch of its status is {status: {reservedFor: [{$patch: delete, uid: u-9}]}}
    Then its "status.reservedFor[*].name" reads in any order [renamed, c]
    When a strategic patch of its status is {status: {reservedFor: [{$patch: replace}, {apiGroup: dra.test, resource: widgets, name: d, uid: u-4}]}}
    Then its "status.reservedFor[*].uid" reads [u-4]
    When a strategic patch of it is {metadata: {finalizers: [example.com/c], labels: {app: x}}}
    Then its "metadata.finalizers" reads in any order [example.com/a, example.com/b, example.com/c]
    When a strategic patch of it is {metadata: {$deleteFromPrimitiveList/finalizers: [example.com/b], labels: {app: null, tier: one}}}
    Then its "metadata.finalizers" reads in any order [example.com/a, example.com/c]
    And its "metadata.labels" reads {tier: one}
    When a strategic patch of it is {metadata: {finalizers: [example.com/d]}}
    And a strategic patch of it is {metadata: {$deleteFromPrimitiveList/finalizers: [example.com/a, example.com/d]}}
    Then its "metadata.finalizers" reads [example.com/c]

  @DRA-393b
  Scenario: A strategic merge patch replaces, clears and reorders by its directives
    Given the manifest "claims/claim"
    And "metadata.labels" is {app: x, tier: one}
    And "metadata.annotations" is {note: a}
    And "metadata.finalizers" is [example.com/a, example.com/b]
    And it is created
    When a strategic patch of it is {metadata: {labels: {$patch: replace, zone: z}}}
    Then the API server accepts it
    And its "metadata.labels" reads {zone: z}
    And its "metadata.annotations" reads {note: a}
    When a strategic patch of it is {metadata: {labels: {$patch: delete, zone: y}}}
    Then its "metadata.labels" reads null
    And its "metadata.annotations" reads {note: a}
    When a strategic patch of it is {metadata: {labels: {app: x, tier: one}, annotations: {$patch: merge, more: b}}}
    # No directive of maps: the whole patch is refused.
    Then its stored "metadata.annotations" reads {note: a}
    And its stored "metadata.labels" reads null
    When a strategic patch of it is {metadata: {$setElementOrder/finalizers: [example.com/c, example.com/b, example.com/a], finalizers: [example.com/c]}}
    Then its "metadata.finalizers" reads [example.com/c, example.com/b, example.com/a]

  @DRA-394
  Scenario: Two managers apply labels of their own
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: first, b: first, both: same}}}
    Then the API server accepts it
    When manager "two" applies to it: {metadata: {labels: {c: second, both: same}}}
    Then its "metadata.labels" reads {a: first, b: first, both: same, c: second}
    When manager "two" applies to it: {metadata: {labels: {a: second, c: second, both: same}}}
    Then the API server refuses it with 409 Conflict
    And its stored "metadata.labels" reads {a: first, b: first, both: same, c: second}
    When manager "two" applies to it by force: {metadata: {labels: {a: second, c: second, both: same}}}
    Then its "metadata.labels" reads {a: second, b: first, both: same, c: second}
    # After the forced apply the field has one owner: the former owner gets a conflict, the new one does not.
    When manager "two" applies to it: {metadata: {labels: {a: third, c: second, both: same}}}
    Then its "metadata.labels" reads {a: third, b: first, both: same, c: second}
    When manager "one" applies to it: {metadata: {labels: {a: first, b: first, both: same}}}
    Then the API server refuses it with 409 Conflict
    When manager "one" applies to it: {metadata: {labels: {b: first}}}
    Then its "metadata.labels" reads {a: third, b: first, both: same, c: second}
    When manager "two" applies to it: {metadata: {labels: {a: third}}}
    Then its "metadata.labels" reads {a: third, b: first}
    When manager "one" applies to it: {metadata: {}}
    Then its "metadata.labels" reads {a: third}
    And its "spec.devices.requests[0].name" reads r

  @DRA-394
  Scenario: An apply in conflict with two managers names the fields of both
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: first, c: first}}}
    And manager "two" applies to it: {metadata: {labels: {b: second}}}
    And manager "three" applies to it: {metadata: {labels: {a: third, b: third, c: first}}}
    Then the API server refuses it with conflicts at ".metadata.labels.a, .metadata.labels.b"

  @DRA-394
  Scenario: A field that one of three managers applies stays
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: same, b: same}}}
    And manager "two" applies to it: {metadata: {labels: {b: same}}}
    And manager "three" applies to it: {metadata: {labels: {a: same}}}
    And manager "one" applies to it: {metadata: {}}
    Then its "metadata.labels" reads {a: same, b: same}
    When manager "three" applies to it: {metadata: {}}
    Then its "metadata.labels" reads {b: same}

  @DRA-394
  Scenario: An apply creates an object that does not exist
    Given the manifest "claims/claim"
    When a dry run of manager "one" applies it
    Then the API server accepts it
    And it is not stored
    When manager "one" applies to it: {metadata: {labels: {a: first}}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}}
    Then the API server accepts it
    And its "spec.devices.requests[0].exactly.count" reads 1
    And its "metadata.labels" reads {a: first}
    When manager "one" applies to it: {metadata: {labels: {b: first}}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}}
    Then its "metadata.labels" reads {b: first}

  @DRA-394
  Scenario Outline: An apply with <what> is refused
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: <fields>
    Then the API server refuses it with <code>
    And it is stored unchanged

    Examples:
      | what                    | fields                                                                                                         | code           |
      | managedFields           | {metadata: {labels: {a: b}, managedFields: [{manager: one, operation: Apply, apiVersion: resource.k8s.io/v1}]}} | 400 BadRequest |
      | another resourceVersion | {metadata: {labels: {a: b}, resourceVersion: "1"}}                                                             | 409 Conflict   |
      | another uid             | {metadata: {labels: {a: b}, uid: 11111111-2222-4333-8444-555555555555}}                                        | 422 Invalid    |

  @DRA-394
  Scenario: An apply to the status of a missing object is refused
    Given the manifest "claims/claim"
    When manager "one" applies to its status: {devices: []}
    Then the API server refuses it with 404 NotFound

  @DRA-394
  Scenario: An apply with the uid of a former object does not create another
    Given the manifest "claims/claim"
    When manager "one" applies to it: {metadata: {uid: 11111111-2222-4333-8444-555555555555}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com}}]}}}
    Then the API server refuses it with 409 Conflict
    And it is not stored

  @DRA-394
  Scenario: An update takes a field from the manager that applied it
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: first, b: first}}}
    And its "metadata.labels" is updated to {a: changed, b: first}
    Then its "metadata.labels" reads {a: changed, b: first}
    When manager "one" applies to it: {metadata: {labels: {a: first, b: first}}}
    Then the API server refuses it with 409 Conflict
    When manager "one" applies to it: {metadata: {labels: {b: first}}}
    Then its "metadata.labels" reads {a: changed, b: first}

  @DRA-394
  Scenario: A field that was also written by an update stays when no manager applies it any more
    Given the manifest "claims/claim"
    And "metadata.labels" is {a: first}
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: first, b: first}}}
    Then its "metadata.labels" reads {a: first, b: first}
    When manager "one" applies to it: {metadata: {}}
    Then its "metadata.labels" reads {a: first}

  @DRA-394
  Scenario: Two managers apply finalizers of their own
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {finalizers: [example.com/a, example.com/both]}}
    Then the API server accepts it
    When manager "two" applies to it: {metadata: {finalizers: [example.com/both, example.com/b]}}
    Then its "metadata.finalizers" reads in any order [example.com/a, example.com/both, example.com/b]
    When manager "one" applies to it: {metadata: {}}
    Then its "metadata.finalizers" reads in any order [example.com/both, example.com/b]
    When manager "two" applies to it: {metadata: {finalizers: [example.com/b]}}
    Then its "metadata.finalizers" reads [example.com/b]

  @DRA-394
  Scenario: What was written before managedFields were reset is in conflict with an apply
    Given the manifest "claims/claim"
    And "metadata.labels" is {a: first, b: first}
    And it is created
    When its "metadata.managedFields" is updated to [{}]
    And manager "one" applies to it: {metadata: {labels: {a: second}}}
    Then the API server refuses it with 409 Conflict
    And its stored "metadata.labels" reads {a: first, b: first}
    When manager "one" applies to it by force: {metadata: {labels: {a: second}}}
    Then its "metadata.labels" reads {a: second, b: first}

  @DRA-383
  Scenario Outline: A <kind> patch without an effect keeps the resourceVersion
    Given the manifest "claims/claim"
    And "metadata.labels" is {app: x}
    And it is created
    When a <kind> patch of it is <patch>
    Then the API server accepts it
    And it is stored unchanged

    Examples:
      | kind      | patch                                                |
      | merge     | {}                                                   |
      | merge     | {metadata: {labels: {app: x, tier: null}}}           |
      | strategic | {metadata: {labels: {app: x}}}                       |
      | json      | [{op: test, path: /metadata/labels/app, value: x}]   |
      | json      | []                                                   |

  @DRA-394
  Scenario: Two drivers apply the status of their own devices
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}, {request: r, driver: e.test, pool: p, device: d}]}}
    When manager "one" applies to its status: {devices: [{driver: d.test, pool: p, device: d, data: {by: one}}]}
    Then the API server accepts it
    When manager "two" applies to its status: {devices: [{driver: e.test, pool: p, device: d, data: {by: two}}]}
    Then its "status.devices[*].data.by" reads in any order [one, two]
    When manager "one" applies to its status: {devices: [{driver: d.test, pool: p, device: d, data: {by: again}}]}
    Then its "status.devices[driver=d.test][0].data.by" reads again
    And its "status.devices[driver=e.test][0].data.by" reads two
    When manager "one" applies to its status: {}
    Then its "status.devices[*].driver" reads [e.test]
    And its "status.allocation.devices.results[*].driver" reads [d.test, e.test]

  @DRA-396
  Scenario: An object is not replaced by another of its name
    Given the manifest "claims/claim"
    And it is created
    When another object of its name is created
    Then the API server refuses it with 409 AlreadyExists
    And it is stored unchanged

  @DRA-396
  Scenario Outline: A request that <verb> a missing object is refused
    Given the manifest "claims/claim"
    When a request <verb> the missing ResourceClaim
    Then the API server refuses it with 404 NotFound
    And it is not stored

    Examples:
      | verb    |
      | reads   |
      | updates |
      | patches |
      | deletes |

  @DRA-396
  Scenario: Generated names are distinct
    Given the manifest "claims/claim"
    And "metadata.name" is null
    And "metadata.generateName" is some-
    When 5 objects of it are created
    Then the API server accepts it
    And the list has 5 ResourceClaims with names like "some-[a-z0-9]{5}"

  @DRA-876
  Scenario Outline: A generated name with a prefix of <length> characters has <all>
    Given the manifest "claims/claim"
    And "metadata.name" is null
    And "metadata.generateName" is the text "x" <length> times
    When 2 objects of it are created
    Then the API server accepts it
    And the list has 2 ResourceClaims with names like "x{<kept>}[a-z0-9]{5}"

    Examples:
      | length | kept | all |
      | 57     | 57   | 62  |
      | 58     | 58   | 63  |
      | 59     | 58   | 63  |
      | 200    | 58   | 63  |
