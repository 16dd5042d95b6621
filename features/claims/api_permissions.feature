@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Permissions for the status of ResourceClaims
  Permission to update the status of claims is not enough to allocate devices or to write the status of a driver's
  devices. These need permissions of their own, which are checked against the fields that a request changes.

  Background:
    Given the manifest "claims/claim"
    And it is created
    And user "writer" may "get, update" resourceclaims/status

  @DRA-096
  Scenario Outline: Without permission for resourceclaims/binding, <what> is refused
    When user "writer" updates its status "status" to <status>
    Then the API server refuses it: Forbidden at "status.allocation"

    Examples:
      | what            | status                                                                                                                                             |
      | an allocation   | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}}                                                     |
      | a reservation   | {allocation: {devices: {}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: w, uid: w}]}                                               |

  @DRA-096
  Scenario Outline: Without permission for resourceclaims/binding, the <what> of an allocated claim stays
    Given its status "status" is {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: w, uid: w}]}
    When user "writer" updates its status "<field>" to <value>
    Then the API server refuses it: Forbidden at "status.allocation"

    Examples:
      | what                | field              | value                                                         |
      | consumer            | status.reservedFor | []                                                            |
      | name of a consumer  | status.reservedFor | [{apiGroup: dra.test, resource: widgets, name: v, uid: w}]    |
      | number of consumers | status.reservedFor | [{apiGroup: dra.test, resource: widgets, name: w, uid: w}, {apiGroup: dra.test, resource: widgets, name: v, uid: v}] |

  @DRA-096
  Scenario: With permission for resourceclaims/binding, an allocation is accepted
    Given user "writer" may "update" resourceclaims/binding
    When user "writer" updates its status "status.allocation" to {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    Then the API server accepts it

  @DRA-096
  Scenario Outline: With permission to <verb> resourceclaims/binding, a patch that allocates is <answer>
    Given user "writer" may "patch" resourceclaims/status
    And user "writer" may "<verb>" resourceclaims/binding
    When user "writer" patches its status with {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}}
    Then the API server <then>

    Examples:
      | verb   | answer   | then                                       |
      | update | refused  | refuses it: Forbidden at "status.allocation" |
      | patch  | accepted | accepts it                                 |

  Scenario Outline: A driver on a node <what>
    Given user "driver" is a service account of a pod on node "n1"
    And user "driver" may "get, update" resourceclaims/status
    And user "driver" may "associated-node:update" resourceclaims/driver named "d.test"
    And its status "status.allocation" is {devices: {results: [{request: r, driver: <driver>, pool: p, device: d}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:<node>)]}]}]}}
    When user "driver" updates its status "status.devices" to [{driver: <driver>, pool: p, device: d}]
    Then the API server <answer>

    @DRA-097
    Examples:
      | what                                       | driver        | node | answer                                      |
      | reports on its devices there               | d.test | n1   | accepts it                                  |
      | does not report on its devices elsewhere   | d.test | n2   | refuses it: Forbidden at "status.devices"   |
      | does not report for other drivers          | e.test | n1   | refuses it: Forbidden at "status.devices"   |

  @DRA-097
  Scenario Outline: A driver on a node does not report on devices that are allocated for <nodes>
    Given user "driver" is a service account of a pod on node "n1"
    And user "driver" may "get, update" resourceclaims/status
    And user "driver" may "associated-node:update" resourceclaims/driver named "d.test"
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}, nodeSelector: {nodeSelectorTerms: <terms>}}
    When user "driver" updates its status "status.devices" to [{driver: d.test, pool: p, device: d}]
    Then the API server refuses it: Forbidden at "status.devices"

    Examples:
      | nodes                          | terms                                                                                                                                                                                       |
      | its node and another           | [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}, {matchFields: [{key: metadata.name, operator: In, values: [$(node:n2)]}]}]                                    |
      | another node and its own       | [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n2)]}]}, {matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]                                    |
      | all nodes but its own          | [{matchFields: [{key: metadata.name, operator: NotIn, values: [$(node:n1)]}]}]                                                                                                              |

  Scenario Outline: A driver's controller <what>
    Given user "writer" may "arbitrary-node:update" resourceclaims/driver named "d.test"
    And its status "status.allocation" is {devices: {results: [{request: r, driver: <driver>, pool: p, device: d}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}}
    When user "writer" updates its status "status.devices" to [{driver: <driver>, pool: p, device: d}]
    Then the API server <answer>

    @DRA-098
    Examples:
      | what                                | driver        | answer                                    |
      | reports on its devices on any node  | d.test | accepts it                                |
      | does not report for other drivers   | e.test | refuses it: Forbidden at "status.devices" |

  @DRA-098
  Scenario Outline: A driver's controller with permission for the <which> of two drivers does not change the reports of both
    Given user "writer" may "arbitrary-node:update" resourceclaims/driver named "<permitted>"
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}, {request: r, driver: e.test, pool: p, device: e}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d}, {driver: e.test, pool: p, device: e}]
    When user "writer" updates its status "status.devices" to [{driver: d.test, pool: p, device: d, data: {a: 1}}, {driver: e.test, pool: p, device: e, data: {a: 2}}]
    Then the API server refuses it: Forbidden at "status.devices"

    Examples:
      | which  | permitted |
      | first  | d.test    |
      | second | e.test    |

  @DRA-098
  Scenario Outline: A driver's controller <what> from a claim of two drivers
    Given user "writer" may "arbitrary-node:update" resourceclaims/driver named "d.test"
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}, {request: r, driver: e.test, pool: p, device: e}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d}, {driver: e.test, pool: p, device: e}]
    When user "writer" updates its status "status.devices" to <left>
    Then the API server <answer>

    Examples:
      | what                                       | left                                      | answer                                    |
      | removes its own report                     | [{driver: e.test, pool: p, device: e}]    | accepts it                                |
      | does not remove the report of another      | [{driver: d.test, pool: p, device: d}]    | refuses it: Forbidden at "status.devices" |
      | does not remove both reports               | []                                        | refuses it: Forbidden at "status.devices" |

  @DRA-099
  Scenario: Reordering the device status needs no driver permission
    Given its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}, {request: r, driver: e.test, pool: p, device: e}]}}
    And its status "status.devices" is [{driver: d.test, pool: p, device: d}, {driver: e.test, pool: p, device: e}]
    When user "writer" updates its status "status.devices" to [{driver: e.test, pool: p, device: e}, {driver: d.test, pool: p, device: d}]
    Then the API server accepts it
