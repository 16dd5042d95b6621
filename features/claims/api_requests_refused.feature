@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Requests that do not fit the API
  A client that sends a request to the wrong path, with the wrong method or in a form that the server cannot read gets the
  code of its mistake, and nothing is changed.

  @DRA-676 @needs:served-version
  Scenario Outline: A request <what> is refused with <code>
    Given the manifest "claims/claim"
    And it is created
    When a <method> request is sent to "<path>" with the body <body>
    Then the API server refuses it with <code>
    And it is stored unchanged

    Examples: methods that the path does not have
      | what                                | method | path                                                                           | body             | code                 |
      | that creates under a name           | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject        | {spec: {}}       | 405 MethodNotAllowed |
      | that updates a collection           | PUT    | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims                | {spec: {}}       | 405 MethodNotAllowed |
      | that patches a collection           | PATCH  | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims                | {spec: {}}       | 405 MethodNotAllowed |
      | that creates a status               | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject/status | {status: {}}     | 405 MethodNotAllowed |
      | that deletes a status               | DELETE | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject/status | {}               | 405 MethodNotAllowed |
      | that creates outside of a namespace | POST   | /apis/resource.k8s.io/v1/resourceclaims                                        | {spec: {}}       | 405 MethodNotAllowed |
      | that reads a Binding                | GET    | /api/v1/namespaces/$(namespace)/pods/subject/binding                           | null             | 405 MethodNotAllowed |
      | that reads an access review         | GET    | /apis/authorization.k8s.io/v1/selfsubjectaccessreviews                         | null             | 405 MethodNotAllowed |
      | that deletes all namespaces         | DELETE | /api/v1/namespaces                                                             | {dryRun: [All]}  | 405 MethodNotAllowed |

    Examples: paths that are not served
      | what                                | method | path                                                                           | body       | code         |
      | for an unknown resource             | GET    | /apis/resource.k8s.io/v1/namespaces/$(namespace)/widgets                       | null       | 404 NotFound |
      | for an unknown subresource          | GET    | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject/scale  | null       | 404 NotFound |
      | for slices of a namespace           | GET    | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceslices                | null       | 404 NotFound |
      | for a claim outside of a namespace  | GET    | /apis/resource.k8s.io/v1/resourceclaims/subject                                | null       | 404 NotFound |
      | that updates without a namespace    | PUT    | /apis/resource.k8s.io/v1/resourceclaims/subject                                | {spec: {}} | 404 NotFound |

    Examples: bodies of another type
      | what                                | method | path                                                            | body                                                                                                   | code           |
      | without a body                      | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | null                                                                                                   | 400 BadRequest |
      | that creates a list                 | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | []                                                                                                     | 400 BadRequest |
      | that creates another kind           | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {kind: DeviceClass, apiVersion: resource.k8s.io/v1, metadata: {name: other}, spec: {}}                  | 400 BadRequest |
      | that creates an unknown kind        | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {kind: Widget, apiVersion: resource.k8s.io/v1, metadata: {name: other}, spec: {}}                       | 400 BadRequest |
      | that creates in another version     | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {kind: ResourceClaim, apiVersion: resource.k8s.io/v1beta1, metadata: {name: other}, spec: {}}           | 400 BadRequest |
      | that creates in another group       | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {kind: ResourceClaim, apiVersion: apps/v1, metadata: {name: other}, spec: {}}                           | 400 BadRequest |
      | with a text as a number             | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {metadata: {name: other}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, count: "1"}}]}}} | 400 BadRequest |
      | with a fraction as a number         | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {metadata: {name: other}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, count: 1.5}}]}}} | 400 BadRequest |
      | with a number as a text             | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {metadata: {name: other}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: 1}}]}}}      | 400 BadRequest |
      | with an object as a list            | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {metadata: {name: other}, spec: {devices: {requests: {name: r}}}}                                       | 400 BadRequest |
      | with a text as an object            | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {metadata: {name: other}, spec: all}                                                                    | 400 BadRequest |
      | with a text as a boolean            | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {metadata: {name: other}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, adminAccess: "true"}}]}}} | 400 BadRequest |
      | with a text that is no time         | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims | {metadata: {name: other, creationTimestamp: yesterday}, spec: {}}                                       | 400 BadRequest |
      | with a text that is no quantity     | POST   | /apis/resource.k8s.io/v1/resourceslices                         | {metadata: {name: other}, spec: {driver: d, allNodes: true, pool: {name: p}, devices: [{name: d, capacity: {m: {value: much}}}]}} | 400 BadRequest |
      | whose kind of options is another    | DELETE | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject | {kind: ResourceClaim, apiVersion: resource.k8s.io/v1}                                           | 400 BadRequest |

  @DRA-676 @needs:served-version
  Scenario Outline: A request of type <type> is refused with <code>
    Given the manifest "claims/claim"
    And it is created
    When a <method> request of type "<type>" is sent to "<path>" with the text "<text>"
    Then the API server refuses it with <code>
    And it is stored unchanged

    Examples:
      | type                       | method | path                                                                    | text                     | code                     |
      | text/plain                 | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims         | {}                       | 415 UnsupportedMediaType |
      | application/json           | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims         | no JSON                  | 400 BadRequest           |
      | application/yaml           | POST   | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims         | a: [                     | 400 BadRequest           |
      | application/merge-patch+json | PATCH | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject | no JSON                  | 400 BadRequest           |
      | application/merge-patch+json | PATCH | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?force=true | {}            | 422 Invalid              |
      | application/apply-patch+yaml | PATCH | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject | {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: subject}} | 422 Invalid |
      | application/apply-patch+yaml | PATCH | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=one | {metadata: {name: subject}} | 400 BadRequest |
      | application/apply-patch+yaml | PATCH | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=one | {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: other}} | 400 BadRequest |
      | application/apply-patch+yaml | PATCH | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=one | {apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: subject}} | 400 BadRequest |

  @DRA-877 @needs:served-version
  Scenario Outline: A request that accepts <accept> gets JSON
    Given the manifest "claims/claim"
    And it is created
    When a GET request that accepts "<accept>" is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject"
    Then the response is a ResourceClaim with "metadata.name" subject

    Examples:
      | accept                                                            |
      | text/html, application/json                                       |
      | text/html, image/png, */*                                         |
      | application/json;as=Other;g=meta.k8s.io;v=v1, application/json    |

  @DRA-676 @needs:served-version
  Scenario Outline: A deletion that accepts only <accept> deletes nothing
    Given the manifest "claims/claim"
    And it is created
    When a <method> request that accepts "<accept>" is sent to "<path>"
    Then the API server refuses it with 406 NotAcceptable
    And it is stored unchanged

    Examples:
      | accept    | method | path                                                                    |
      | text/html | DELETE | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject |
      | image/png | GET    | /apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject |

  @DRA-676
  Scenario: A body of more than three megabytes is refused
    Given the manifest "claims/claim"
    And "metadata.annotations.a" is the text "x" 3145728 times
    When it is created
    Then the API server refuses it with 413 RequestEntityTooLarge
    And it is not stored

  @DRA-676
  Scenario: A JSON patch of more than 10000 operations is refused
    Given the manifest "claims/claim"
    And it is created
    When a json patch of it is a list of 10001 {op: add, path: /metadata/labels, value: {a: b}}
    Then the API server refuses it with 413 RequestEntityTooLarge
    And it is stored unchanged

  @DRA-677 @needs:served-version
  Scenario Outline: A claim in <form> is created
    Given the manifest "claims/claim"
    When a POST request of type "<type>" is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims" with the text "<text>"
    Then the API server accepts it
    And its "spec" reads {devices: {requests: [{name: r, exactly: {deviceClassName: c, allocationMode: ExactCount, count: 2}}]}}
    And its "apiVersion" reads resource.k8s.io/v1
    And its "kind" reads ResourceClaim

    Examples:
      | form                          | type                            | text                                                                                                                                                                            |
      | YAML                          | application/yaml                | {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: subject}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, count: 2}}]}}}             |
      | YAML with null fields         | application/yaml                | {apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: subject, labels: null}, spec: {devices: {constraints: null, requests: [{name: r, exactly: {deviceClassName: c, count: 2, selectors: null}}]}}} |
      | YAML without kind and version | application/yaml                | {metadata: {name: subject}, spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, count: 2}}]}}}                                                                  |
      | JSON with a character set     | application/json; charset=utf-8 | {'metadata': {'name': 'subject'}, 'spec': {'devices': {'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'c', 'count': 2}}]}}}                                          |
