@profile:api @component:control-plane
Feature: API validation of templates, classes and pods
  Users write templates, classes and pods. The API server refuses invalid ones when they are written.

  @DRA-039
  Scenario Outline: The spec of a template is immutable: <what>
    Given the manifest "claims/template"
    And it is created
    When its "<path>" is updated to <value>
    Then the API server refuses it: Invalid at "spec"

    Examples:
      | what                       | path                                        | value     |
      | another count              | spec.spec.devices.requests[0].exactly.count | 2         |
      | labels for its claims      | spec.metadata.labels                        | {team: a} |

  @DRA-039
  Scenario: Labels of a template can be changed
    Given the manifest "claims/template"
    And it is created
    When its "metadata.labels" is updated to {team: a}
    Then its "metadata.labels.team" reads a

  @DRA-040
  Scenario Outline: A template with a <field> for its claims is refused
    Given the manifest "claims/template"
    And "spec.metadata" is {<field>: <value>}
    When it is created
    Then the API server refuses it: Forbidden at "spec.metadata.<field>"

    Examples:
      | field           | value                                           |
      | name            | fixed |
      | namespace       | other |
      | generateName    | fixed- |
      | finalizers      | [example.com/hold] |
      | ownerReferences | [{apiVersion: v1, kind: Pod, name: p, uid: u}] |

  @DRA-040
  Scenario: A template with labels and annotations for its claims is accepted
    Given the manifest "claims/template"
    And "spec.metadata" is {labels: {a: b}, annotations: {c: d}}
    When it is created
    Then its "spec.metadata" reads {labels: {a: b}, annotations: {c: d}}

  @DRA-041
  Scenario: The generation of a class counts the changes of its spec
    Given the manifest "claims/class"
    And "metadata.generation" is 7
    And it is created
    Then its "metadata.generation" reads 1
    When its "metadata.labels" is updated to null
    Then its "metadata.generation" reads 1
    When its "metadata.labels" is updated to {changed: "yes"}
    Then its "metadata.generation" reads 1
    When its "spec.selectors" is updated to [{cel: {expression: "true"}}]
    Then its "metadata.generation" reads 2
    When its "metadata.annotations" is updated to {changed: "yes"}
    Then its "metadata.generation" reads 2
    When its "spec.selectors" is updated to []
    Then its "metadata.generation" reads 3

  @DRA-042
  Scenario Outline: A class with <what> as its extended resource is refused
    Given the manifest "claims/class"
    And "spec.extendedResourceName" is <name>
    When it is created
    Then the API server refuses it: Invalid at "spec.extendedResourceName"

    Examples:
      | what                              | name                       |
      | a name without domain             | gpu                        |
      | a native resource                 | cpu                        |
      | the name of a quota               | requests.example.com/gpu   |
      | a name in the domain of Kubernetes | kubernetes.io/gpu          |
      | an empty name                     | ""                         |

  @DRA-042
  Scenario: A class with a qualified extended resource name is accepted
    Given the manifest "claims/class"
    And "spec.extendedResourceName" is example.com/gpu-$(suffix)
    When it is created
    Then the API server accepts it

  Scenario Outline: A pod with <what> is refused
    Given the manifest "claims/pod"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<field>"

    @DRA-045
    Examples: an entry names a claim or a template
      | what                                | path                                           | value           | reason    | field                       |
      | a claim and a template in one entry | spec.resourceClaims[0].resourceClaimTemplateName | some-template | Invalid   | spec.resourceClaims[0]      |
      | neither claim nor template          | spec.resourceClaims[0].resourceClaimName       | null            | Invalid   | spec.resourceClaims[0]      |
      | two entries of one name             | spec.resourceClaims                            | [{name: gpu, resourceClaimName: a}, {name: gpu, resourceClaimName: b}] | Duplicate | spec.resourceClaims[1].name |

    @DRA-046
    Examples: a container uses a claim, or a request of it, once
      | what                              | path                                 | value                                        | reason    | field                                  |
      | a claim used whole and in part    | spec.containers[0].resources.claims  | [{name: gpu}, {name: gpu, request: r}]       | Duplicate | spec.containers[0].resources.claims[1] |
      | a claim used in part and whole    | spec.containers[0].resources.claims  | [{name: gpu, request: r}, {name: gpu}]       | Duplicate | spec.containers[0].resources.claims[1] |
      | a claim used twice                | spec.containers[0].resources.claims  | [{name: gpu}, {name: gpu}]                   | Duplicate | spec.containers[0].resources.claims[1] |
      | a request used twice              | spec.containers[0].resources.claims  | [{name: gpu, request: r}, {name: gpu, request: r}] | Duplicate | spec.containers[0].resources.claims[1] |

    @DRA-047
    Examples: a container uses claims of its pod
      | what                             | path                                | value           | reason   | field                                  |
      | a container that uses an unknown claim  | spec.containers[0].resources.claims | [{name: other}] | NotFound | spec.containers[0].resources.claims[0] |
      | a container that uses a claim without name | spec.containers[0].resources.claims | [{name: gpu, request: a}, {request: b}] | Required | spec.containers[0].resources.claims[1] |
      | a container that uses an ill-formed request | spec.containers[0].resources.claims | [{name: gpu, request: A_b}] | Invalid | spec.containers[0].resources.claims[0].request |
      | a container that uses claims of a pod without any | spec.resourceClaims | null            | NotFound | spec.containers[0].resources.claims[0] |

  @DRA-046
  Scenario: A container that uses two requests of one claim is accepted
    Given the manifest "claims/pod"
    And "spec.containers[0].resources.claims" is [{name: gpu, request: a}, {name: gpu, request: b}]
    When it is created
    Then the API server accepts it

  @DRA-046
  Scenario Outline: Two containers that use <what> are accepted
    Given the manifest "claims/pod"
    And "spec.containers[0].resources.claims" is <claims>
    And "spec.containers[1]" is {name: side, image: "a:1", resources: {claims: <claims>}}
    When it is created
    Then the API server accepts it

    Examples:
      | what                   | claims                       |
      | one claim              | [{name: gpu}]                |
      | one request of a claim | [{name: gpu, request: r}]    |

  @DRA-046
  Scenario: A container that uses requests of one name of two claims is accepted
    Given the manifest "claims/pod"
    And "spec.resourceClaims" is [{name: gpu, resourceClaimName: a}, {name: nic, resourceClaimName: b}]
    And "spec.containers[0].resources.claims" is [{name: gpu, request: r}, {name: nic, request: r}]
    When it is created
    Then the API server accepts it

  Scenario Outline: A pod status with <what> is refused
    Given the manifest "claims/pod"
    And it is created
    When its status "status.resourceClaimStatuses" is updated to <value>
    Then the API server refuses it: <reason> at "<field>"

    @DRA-049
    Examples:
      | what                              | value                                                                      | reason    | field                                              |
      | a claim that its spec does not name | [{name: other, resourceClaimName: a}]                                    | Invalid   | status.resourceClaimStatuses[0].name               |
      | two claims for one entry          | [{name: gpu, resourceClaimName: a}, {name: gpu, resourceClaimName: b}]     | Duplicate | status.resourceClaimStatuses[1].name               |

    @DRA-049 @since:1.36
    Examples:
      | what                              | value                                                                      | reason    | field                                              |
      | an ill-formed claim name          | [{name: gpu, resourceClaimName: A_b}]                                      | Invalid   | status.resourceClaimStatuses[0].resourceClaimName  |

    @DRA-049 @until:1.35
    Examples:
      | what                              | value                                                                      | reason    | field                                              |
      | an invalid claim name             | [{name: gpu, resourceClaimName: A_b}]                                      | Invalid   | status.resourceClaimStatuses[0].name               |

  @DRA-049
  Scenario: A pod status with two claims for one entry, and that of another between them, is refused
    Given the manifest "claims/pod"
    And "spec.resourceClaims[1]" is {name: nic, resourceClaimName: other-claim}
    And it is created
    When its status "status.resourceClaimStatuses" is updated to [{name: gpu, resourceClaimName: a}, {name: nic, resourceClaimName: b}, {name: gpu, resourceClaimName: c}]
    Then the API server refuses it: Duplicate at "status.resourceClaimStatuses[2].name"

  @DRA-049
  Scenario: A pod status can record that an entry needs no claim
    Given the manifest "claims/pod"
    And it is created
    When its status "status.resourceClaimStatuses" is updated to [{name: gpu}]
    Then its "status.resourceClaimStatuses" reads [{name: gpu}]

  @DP-160
  Scenario: The status for extended resources maps resources of containers to requests
    Given the manifest "claims/pod-with-extended-resources"
    And it is created
    When its status "status.extendedResourceClaimStatus" is updated to {resourceClaimName: extended, requestMappings: [{containerName: load, resourceName: example.com/gpu, requestName: container-0-request-0}, {containerName: main, resourceName: example.com/gpu, requestName: container-0-request-0}, {containerName: side, resourceName: example.com/nic, requestName: container-2-request-0}]}
    Then the API server accepts it
    And its "status.extendedResourceClaimStatus.requestMappings[*].containerName" reads [load, main, side]

  @DP-160 @since:1.36
  Scenario: The status for extended resources maps a resource of a container to two requests
    Given the manifest "claims/pod-with-extended-resources"
    And it is created
    When its status "status.extendedResourceClaimStatus" is updated to {resourceClaimName: extended, requestMappings: [{containerName: load, resourceName: example.com/gpu, requestName: a}, {containerName: load, resourceName: example.com/gpu, requestName: b}]}
    Then the API server accepts it
    And its "status.extendedResourceClaimStatus.requestMappings[*].requestName" reads [a, b]

  @DP-160
  Scenario Outline: A status for extended resources with <what> is refused at its field
    Given the manifest "claims/pod-with-extended-resources"
    And it is created
    When its status "status.extendedResourceClaimStatus" is updated to <value>
    Then the API server refuses it: <reason> at "status.extendedResourceClaimStatus.<field>"

    Examples:
      | what                            | value                                                                                                                                                                                                               | reason   | field                            |
      | no mapping                      | {resourceClaimName: extended, requestMappings: []}                                                                                                                                                                  | Required | requestMappings                  |
      | an unknown container            | {resourceClaimName: extended, requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: a}, {containerName: other, resourceName: example.com/gpu, requestName: b}]}                        | Invalid  | requestMappings[1].containerName |
      | a resource of another container | {resourceClaimName: extended, requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: a}, {containerName: side, resourceName: example.com/gpu, requestName: b}]}                         | Invalid  | requestMappings[1].resourceName  |
      | an unknown resource             | {resourceClaimName: extended, requestMappings: [{containerName: main, resourceName: example.com/other, requestName: a}]}                                                                                            | Invalid  | requestMappings[0].resourceName  |
      | no claim                        | {requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: a}]}                                                                                                                           | Required | resourceClaimName                |
      | an ill-formed claim name        | {resourceClaimName: A_b, requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: a}]}                                                                                                   | Invalid  | resourceClaimName                |

  # The causes name several fields, or a field without the number of its mapping.
  @DP-160
  Scenario Outline: A status for extended resources with <what> is refused
    Given the manifest "claims/pod-with-extended-resources"
    And it is created
    When its status "status.extendedResourceClaimStatus" is updated to {resourceClaimName: extended, requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: <first>}, {containerName: <container>, resourceName: <resource>, requestName: <second>}]}
    Then the API server refuses it with 422 Invalid

    Examples:
      | what                       | first | container | resource        | second |
      | an ill-formed request name | a     | side      | example.com/nic | A_b    |
      | a mapping twice            | a     | main      | example.com/gpu | a      |

  @DRA-538 @DRA-539 @since:1.37
  Scenario: A status update without claim statuses keeps them, and an empty list clears the list
    Given the manifest "claims/pod"
    And "spec.containers[0].resources.requests" is {example.com/gpu: 1}
    And "spec.containers[0].resources.limits" is {example.com/gpu: 1}
    And it is created
    And its status "status" is {phase: Pending, resourceClaimStatuses: [{name: gpu}], extendedResourceClaimStatus: {resourceClaimName: extended, requestMappings: [{containerName: main, resourceName: example.com/gpu, requestName: container-0-request-0}]}}
    When its status "status" is updated to {phase: Running, message: from an old client}
    Then its "status.message" reads from an old client [DRA-538]
    And its "status.resourceClaimStatuses" reads [{name: gpu}] [DRA-538]
    And its "status.extendedResourceClaimStatus.resourceClaimName" reads extended [DRA-538]
    When its status "status.resourceClaimStatuses" is updated to []
    Then its "status.resourceClaimStatuses" reads null [DRA-539]
    And its "status.extendedResourceClaimStatus.resourceClaimName" reads extended [DRA-538]

  @DRA-048
  Scenario: A mirror pod with claims is refused
    Given the manifest "claims/pod"
    And "metadata.annotations" is {kubernetes.io/config.mirror: x}
    And "spec.nodeName" is $(node:n1)
    When it is created
    Then the API server refuses it: Forbidden at "[]"
