@profile:api-enforcement @component:control-plane @needs:own-control-plane @needs:node-authorizer
Feature: Permissions of nodes for slices and claims
  A kubelet, and the plugins that use its identity, can read and change the slices of their own node only.

  @DRA-080
  Scenario Outline: A node <does> a slice <what>
    Given user "kubelet" is node "n1"
    And the manifest "claims/slice"
    And "spec" is {driver: api.dra.test, <where>, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}
    When user "kubelet" creates it
    Then the API server <answer>

    Examples:
      | does            | what             | where                | answer                            |
      | creates         | of its own       | nodeName: $(node:n1) | accepts it                        |
      | does not create | of another node  | nodeName: $(node:n2) | refuses it with 403 Forbidden     |
      | does not create | of all nodes     | allNodes: true       | refuses it with 403 Forbidden     |

  @DRA-080
  Scenario: A node deletes an existing slice of its own
    Given user "kubelet" is node "n1"
    And the manifest "claims/slice"
    And "spec" is {driver: api.dra.test, nodeName: $(node:n1), pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}
    And it is created
    And the authorizer knows that it belongs to user "kubelet"
    When user "kubelet" deletes it
    Then the API server accepts it

  @DRA-080
  Scenario Outline: A node <does> an existing slice <what>
    Given user "kubelet" is node "n1"
    And the manifest "claims/slice"
    And "spec" is {driver: api.dra.test, <where>, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: []}
    And it is created
    When user "kubelet" deletes it
    Then the API server <answer>

    Examples:
      | does            | what             | where                | answer                            |
      | does not delete | of another node  | nodeName: $(node:n2) | refuses it with 403 Forbidden     |
      | does not delete | of all nodes     | allNodes: true       | refuses it with 403 Forbidden     |

  @DRA-081
  Scenario Outline: A node that <verb> slices <what> <ends>
    Given user "kubelet" is node "n1"
    When user "kubelet" <verb> ResourceSlices of "<selector>"
    Then the API server <answer>

    Examples:
      | verb    | what             | selector                   | ends        | answer                        |
      | lists   | of its own       | spec.nodeName=$(node:n1)   | sees them   | accepts it                    |
      | lists   | of another node  | spec.nodeName=$(node:n2)   | is refused  | refuses it with 403 Forbidden |
      | lists   | of a driver      | spec.driver=api.dra.test   | is refused  | refuses it with 403 Forbidden |
      | lists   | of all nodes     |                            | is refused  | refuses it with 403 Forbidden |
      | lists   | of all others    | spec.nodeName!=$(node:n1)  | is refused  | refuses it with 403 Forbidden |
      | watches | of its own       | spec.nodeName=$(node:n1)   | sees them   | accepts it                    |
      | watches | of another node  | spec.nodeName=$(node:n2)   | is refused  | refuses it with 403 Forbidden |
      | watches | of all nodes     |                            | is refused  | refuses it with 403 Forbidden |
      | watches | of all others    | spec.nodeName!=$(node:n1)  | is refused  | refuses it with 403 Forbidden |

  @DRA-081b
  Scenario: A node deletes all slices of its own
    Given user "kubelet" is node "one"
    And the objects of the manifest "claims/slices-of-two-nodes"
    When user "kubelet" deletes ResourceSlices of "spec.nodeName=$(node:one)"
    Then the API server accepts it
    And listing all ResourceSlice objects with fields "spec.driver=one-$(suffix).dra.test" finds only those with "spec.nodeName" $(node:two)

  @DRA-081b
  Scenario Outline: A node that deletes all slices <what> deletes none
    Given user "kubelet" is node "one"
    And the objects of the manifest "claims/slices-of-two-nodes"
    When user "kubelet" deletes ResourceSlices of "<selector>"
    Then the API server refuses it with 403 Forbidden
    And listing all ResourceSlice objects with fields "spec.nodeName=$(node:two)" finds only those with "spec.nodeName" $(node:two)

    Examples:
      | what            | selector                            |
      | of another node | spec.nodeName=$(node:two)           |
      | of all others   | spec.nodeName!=$(node:one)          |
      | of a driver     | spec.driver=one-$(suffix).dra.test  |
      | of all nodes    |                                     |

  @DRA-081c @gate:DRAExtendedResource
  Scenario: A node may read a claim for extended resources that is recorded after the pod was bound
    Given user "kubelet" is node "one"
    And the manifest "claims/pod"
    And "spec.nodeName" is $(node:one)
    And "spec.containers[0].resources.requests" is {example.com/gpu: 1}
    And "spec.containers[0].resources.limits" is {example.com/gpu: 1}
    And it is created
    Then user "kubelet" may get the ResourceClaim "some-claim"
    When its status "status.extendedResourceClaimStatus" is updated to {resourceClaimName: extended, requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: container-0-request-0}]}
    Then the API server accepts it
    And user "kubelet" may get the ResourceClaim "extended"
