@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Who owns a field, who may evict, and who asks
  The API server records which client wrote a field, refuses evictions that a budget forbids, and knows for whom a request
  is made. These scenarios run on a control plane that the run started.

  @DRA-685 @needs:served-version
  Scenario: Each manager has an entry of its own
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When manager "one" applies to it: {metadata: {labels: {a: first}}}
    And manager "two" applies to its status: {devices: [{driver: d.test, pool: p, device: d, data: {by: two}}]}
    And its "metadata.annotations" is updated to {b: changed}
    Then its "metadata.managedFields[manager=one][*].operation" reads [Apply]
    And its "metadata.managedFields[manager=one][0].apiVersion" reads resource.k8s.io/v1
    And its "metadata.managedFields[manager=one][0].fieldsType" reads FieldsV1
    And its "metadata.managedFields[manager=one][0].fieldsV1" reads {"f:metadata": {"f:labels": {"f:a": {}}}}
    And its "metadata.managedFields[manager=one][0].time" reads the present time
    And its "metadata.managedFields[manager=one][0].subresource" reads null
    And its "metadata.managedFields[manager=two][*].subresource" reads [status]
    And its "metadata.managedFields[manager=two][0].operation" reads Apply
    And its "metadata.managedFields[operation=Update][*].subresource" reads in any order [null, status]

  @DRA-685
  Scenario: An apply of nothing removes the entry of its manager
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: first}}}
    And manager "one" applies to it: {}
    Then its "metadata.managedFields[manager=one]" reads empty
    And its "metadata.labels" reads null

  @DRA-685
  Scenario: A manager of an update loses a field that an apply takes by force
    Given the manifest "claims/claim"
    And "metadata.labels" is {a: first, b: first}
    When it is created with the options "fieldManager=creator"
    And manager "one" applies to it by force: {metadata: {labels: {a: second}}}
    Then its "metadata.managedFields[manager=creator][0].operation" reads Update
    And its "metadata.managedFields[manager=creator][0].fieldsV1" reads containing {"f:metadata": {"f:labels": {".": {}, "f:b": {}}}}
    And its "metadata.managedFields[manager=one][0].fieldsV1" reads {"f:metadata": {"f:labels": {"f:a": {}}}}

  @DRA-685
  Scenario: All managers lose a field that an update changes
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: first, both: same}}}
    And manager "two" applies to it: {metadata: {labels: {b: second, both: same}}}
    And its "metadata.labels" is updated to {a: first, b: second, both: changed}
    Then its "metadata.managedFields[manager=one][0].fieldsV1" reads {"f:metadata": {"f:labels": {"f:a": {}}}}
    And its "metadata.managedFields[manager=two][0].fieldsV1" reads {"f:metadata": {"f:labels": {"f:b": {}}}}

  @DRA-685
  Scenario: An update takes a field from what the same manager has applied
    Given the manifest "claims/claim"
    And it is created
    When manager "one" applies to it: {metadata: {labels: {a: first, b: first}}}
    And a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=one" with the body {metadata: {labels: {a: second}}}
    Then the API server accepts it
    And its "metadata.managedFields[manager=one][*].operation" reads in any order [Apply, Update]
    And its "metadata.managedFields[operation=Apply][0].fieldsV1" reads {"f:metadata": {"f:labels": {"f:b": {}}}}

  @DRA-685
  Scenario Outline: A client can reset managedFields with <what>
    Given the manifest "claims/claim"
    And it is created
    When its "metadata.managedFields" is updated to <value>
    Then the API server accepts it
    And its "metadata.managedFields" reads null

    Examples:
      | what         | value |
      | no entry     | []    |
      | an empty one | [{}]  |

  @DRA-685
  Scenario: After a reset, fields have no owner until the first apply
    Given the manifest "claims/claim"
    And "metadata.labels" is {a: first, b: first}
    And it is created
    When its "metadata.managedFields" is updated to [{}]
    And its "metadata.labels" is updated to {a: second, b: first}
    Then its "metadata.managedFields" reads null
    When manager "one" applies to it: {metadata: {labels: {c: first}}}
    Then its "metadata.managedFields[*].manager" reads in any order [one, before-first-apply]
    And its "metadata.managedFields[manager=before-first-apply][0].operation" reads Update
    And its "metadata.managedFields[manager=before-first-apply][0].fieldsV1" reads containing {"f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}}, "f:spec": {}}
    And its "metadata.managedFields[manager=one][0].fieldsV1" reads {"f:metadata": {"f:labels": {"f:c": {}}}}

  @DRA-685b @needs:served-version
  Scenario: Of more than ten managers of updates, the oldest share an entry
    Given the manifest "claims/claim"
    When it is created with the options "fieldManager=m00"
    And a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject/status?fieldManager=m01" with the body {status: {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}}}
    Then the API server accepts it
    And its "metadata.managedFields[*].manager" reads [m00, m01]
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m02" with the body {metadata: {annotations: {k02: x}}}
    Then the API server accepts it
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m03" with the body {metadata: {annotations: {k03: x}}}
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m04" with the body {metadata: {annotations: {k04: x}}}
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m05" with the body {metadata: {annotations: {k05: x}}}
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m06" with the body {metadata: {annotations: {k06: x}}}
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m07" with the body {metadata: {annotations: {k07: x}}}
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m08" with the body {metadata: {annotations: {k08: x}}}
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m09" with the body {metadata: {annotations: {k09: x}}}
    Then its "metadata.managedFields[*].manager" reads in any order [m00, m01, m02, m03, m04, m05, m06, m07, m08, m09]
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m10" with the body {metadata: {annotations: {k10: x}}}
    Then its "metadata.managedFields[*].manager" reads in any order [ancient-changes, m02, m03, m04, m05, m06, m07, m08, m09, m10]
    And its "metadata.managedFields[manager=ancient-changes][0].operation" reads Update
    And its "metadata.managedFields[manager=ancient-changes][0].fieldsV1" reads containing {"f:spec": {}, "f:status": {}}
    When a PATCH request is sent to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject?fieldManager=m11" with the body {metadata: {annotations: {k11: x}}}
    Then its "metadata.managedFields[*].manager" reads in any order [ancient-changes, m03, m04, m05, m06, m07, m08, m09, m10, m11]
    And its "metadata.managedFields[manager=ancient-changes][0].fieldsV1" reads containing {"f:spec": {}, "f:status": {}, "f:metadata": {"f:annotations": {"f:k02": {}}}}

  @DRA-686
  Scenario: An eviction that a budget does not allow is refused
    When a POST request is sent to "/apis/policy/v1/namespaces/$(namespace)/poddisruptionbudgets" with the body {metadata: {name: guard}, spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}}
    Then the API server accepts it
    Given the manifest "claims/plain-pod"
    And "metadata.labels" is {app: guarded}
    And "spec.nodeName" is $(node:without-kubelet)
    And it is created
    And its status "status" is {phase: Running, conditions: [{type: Ready, status: "True"}]}
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/pods/subject/eviction" with the body {apiVersion: policy/v1, kind: Eviction, metadata: {name: subject}}
    Then the API server refuses it with 429 TooManyRequests
    And its stored "metadata.deletionTimestamp" reads null

  @DRA-686
  Scenario Outline: A pod <what> is evicted
    When a POST request is sent to "/apis/policy/v1/namespaces/$(namespace)/poddisruptionbudgets" with the body {metadata: {name: guard}, spec: {minAvailable: 1, selector: {matchLabels: {app: guarded}}}}
    Then the API server accepts it
    Given the manifest "claims/plain-pod"
    And "metadata.labels" is <labels>
    And "spec.nodeName" is <node>
    And it is created
    And its status "status.phase" is <phase>
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/pods/subject/eviction" with the body {apiVersion: policy/v1, kind: Eviction, metadata: {name: subject}, deleteOptions: {gracePeriodSeconds: 0}}
    Then the API server accepts it
    And it is not stored

    Examples:
      | what                       | labels         | node                    | phase     |
      | that is pending            | {app: guarded} | null                    | Pending   |
      | that has failed            | {app: guarded} | $(node:without-kubelet) | Failed    |
      | that no budget selects     | {app: other}   | $(node:without-kubelet) | Running   |

  @DRA-686
  Scenario: A dry run of an eviction deletes nothing
    Given the manifest "claims/plain-pod"
    And it is created
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/pods/subject/eviction?dryRun=All" with the body {apiVersion: policy/v1, kind: Eviction, metadata: {name: subject}}
    Then the API server accepts it
    And it is stored unchanged

  @DRA-686
  Scenario Outline: An eviction of <what> is refused
    Given the manifest "claims/plain-pod"
    And it is created
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/pods/<pod>/eviction" with the body <body>
    Then the API server refuses it with <code>
    And it is stored unchanged

    Examples:
      | what                     | pod     | body                                                             | code           |
      | a pod that is missing    | missing | {apiVersion: policy/v1, kind: Eviction, metadata: {name: missing}} | 404 NotFound |
      | a pod of another name    | subject | {apiVersion: policy/v1, kind: Eviction, metadata: {name: other}} | 400 BadRequest |

  @DRA-871
  Scenario: An eviction lowers the disruptions that its budget allows
    Given ready pods "one, two, three" and a PodDisruptionBudget "guard" that allows 2 disruptions
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/pods/one/eviction" with the body {apiVersion: policy/v1, kind: Eviction, metadata: {name: one}}
    Then the API server accepts it
    When a GET request is sent to "/apis/policy/v1/namespaces/$(namespace)/poddisruptionbudgets/guard" with the body null
    Then the response is a PodDisruptionBudget with "status.disruptionsAllowed" 1

  @DRA-871
  Scenario Outline: Of two pods that are evicted at the same time, as many go as their budget allows: <allowed>
    Given ready pods "one, two, three" and a PodDisruptionBudget "guard" that allows <allowed> disruptions
    When the pods "one, two" are evicted at the same time
    Then <allowed> of the evictions are accepted, and the others are refused with 429
    When a GET request is sent to "/apis/policy/v1/namespaces/$(namespace)/poddisruptionbudgets/guard" with the body null
    Then the response is a PodDisruptionBudget with "status.disruptionsAllowed" 0

    Examples:
      | allowed |
      | 1       |
      | 2       |

  @DRA-871
  Scenario: A dry run of an eviction leaves the budget unchanged
    Given ready pods "one, two, three" and a PodDisruptionBudget "guard" that allows 1 disruptions
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/pods/one/eviction?dryRun=All" with the body {apiVersion: policy/v1, kind: Eviction, metadata: {name: one}}
    Then the API server accepts it
    When a GET request is sent to "/apis/policy/v1/namespaces/$(namespace)/poddisruptionbudgets/guard" with the body null
    Then the response is a PodDisruptionBudget with "status.disruptionsAllowed" 1

  @DRA-666
  Scenario Outline: A Binding <what> is refused
    Given the manifest "claims/plain-pod"
    And it is created
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/pods/<pod>/binding" with the body <body>
    Then the API server refuses it with <code>
    And it is stored unchanged

    Examples:
      | what                     | pod     | body                                                                                          | code           |
      | of a pod that is missing | missing | {metadata: {name: missing}, target: {kind: Node, name: n}}                                    | 404 NotFound   |
      | of another name          | subject | {metadata: {name: other}, target: {kind: Node, name: n}}                                      | 400 BadRequest |

  @DRA-666
  Scenario: A Binding in the collection of bindings binds the pod of its name
    Given the manifest "claims/plain-pod"
    And it is created
    When a POST request is sent to "/api/v1/namespaces/$(namespace)/bindings" with the body {apiVersion: v1, kind: Binding, metadata: {name: subject}, target: {apiVersion: v1, kind: Node, name: $(node:without-kubelet)}}
    Then the API server accepts it
    And its stored "spec.nodeName" reads $(node:without-kubelet)

  @DRA-687
  Scenario: A user acts with the groups that it is impersonated with
    Given user "driver" is a service account of a pod on node "n1"
    And user "kubelet" is node "n1"
    When user "kubelet" sends a POST request to "/apis/authentication.k8s.io/v1/selfsubjectreviews" with the body {apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}
    Then the response is a SelfSubjectReview with "status.userInfo.username" system:node:$(node:n1)
    And the response is a SelfSubjectReview with "status.userInfo.groups" in any order [system:nodes, system:authenticated]
    When user "driver" sends a POST request to "/apis/authentication.k8s.io/v1/selfsubjectreviews" with the body {apiVersion: authentication.k8s.io/v1, kind: SelfSubjectReview}
    Then the response is a SelfSubjectReview with "status.userInfo.username" system:serviceaccount:$(namespace):driver
    And the response is a SelfSubjectReview with "status.userInfo.groups" in any order [system:serviceaccounts, "system:serviceaccounts:$(namespace)", system:authenticated]
    And the response is a SelfSubjectReview with "status.userInfo.extra" {authentication.kubernetes.io/node-name: [$(node:n1)]}

  @DRA-870
  Scenario Outline: A user impersonates <what>: <answer>
    Given user "helper" authenticates itself, and has the rules of the manifest "claims/impersonation"
    When user "helper" impersonates <who> and requests who it is
    Then the API server <then>

    Examples: everything that the request names needs a permission
      | what                        | answer  | who                                                                | then                          |
      | another user                | refused | {user: other}                                                      | refuses it with 403 Forbidden |
      | another group               | refused | {user: guest, group: other}                                        | refuses it with 403 Forbidden |
      | a group of administrators   | refused | {user: guest, group: "system:masters"}                             | refuses it with 403 Forbidden |
      | another uid                 | refused | {user: guest, uid: other}                                          | refuses it with 403 Forbidden |
      | another value               | refused | {user: guest, extra: {example.com%2fnode: other}}                  | refuses it with 403 Forbidden |
      | another field               | refused | {user: guest, extra: {other: one}}                                 | refuses it with 403 Forbidden |
      | a second field              | refused | {user: guest, extra: {example.com%2fnode: one, other: one}}        | refuses it with 403 Forbidden |
      | a service account           | refused | {user: "system:serviceaccount:default:default"}                    | refuses it with 403 Forbidden |

    Examples: a permission for each is enough
      | what                        | answer  | who                                                                | then                          |
      | a user                      | allowed | {user: guest}                                                      | accepts it                    |
      | a user of a group           | allowed | {user: guest, group: visitors}                                     | accepts it                    |
      | a user with a uid           | allowed | {user: guest, uid: one}                                            | accepts it                    |
      | a user with an extra field  | allowed | {user: guest, extra: {example.com%2fnode: one}}                    | accepts it                    |
      | a service account by name   | allowed | {user: "system:serviceaccount:$(namespace):worker"}                | accepts it                    |

  @DRA-687 @needs:served-version
  Scenario: A user without permission may not read claims
    When user "nobody" sends a GET request to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims" with the body null
    Then the API server refuses it with 403 Forbidden
    When user "nobody" sends a GET request to "/version" with the body null
    Then the API server accepts it
    When user "nobody" sends a GET request to "/apis/resource.k8s.io/v1" with the body null
    Then the response is a APIResourceList
    When user "nobody" sends a GET request to "/metrics" with the body null
    Then the API server refuses it with 403 Forbidden
