@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Calls of validating admission webhooks
  A webhook that cannot be reached shows which writes the API server sends to it: with failurePolicy Fail these writes
  are refused, and all others succeed. The scenarios run on a control plane that the run started, because a webhook
  that matches too much blocks the writes of others.

  @DRA-670
  Scenario Outline: A creation that matches a webhook <which> is refused if it cannot be reached
    Given the manifest "claims/claim"
    And "metadata.labels" is {checked: "yes"}
    And a webhook that cannot be reached, with <fields> and the rule <rule>
    When it is created
    Then the API server refuses it with 500 InternalError
    And it is not stored

    Examples:
      | which                    | fields                                                                                                            | rule                                                                                    |
      | of creations             | {}                                                                                                                | {operations: [CREATE]}                                                                  |
      | of everything            | {}                                                                                                                | {apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"], scope: "*"} |
      | of all subresources, too | {}                                                                                                                | {resources: ["*/*"]}                                                                    |
      | of an equivalent version | {}                                                                                                                | {apiVersions: [v1beta1]}                                                                |
      | of exactly its version   | {matchPolicy: Exact}                                                                                              | {apiVersions: [v1]}                                                                     |
      | whose second rule matches | {rules: [{apiGroups: [apps], apiVersions: ["*"], operations: ["*"], resources: ["*"]}, {apiGroups: [resource.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [resourceclaims]}]} | {} |
      | of two resources         | {}                                                                                                                | {resources: [resourceclaimtemplates, resourceclaims]}                                   |
      | for objects of its label | {objectSelector: {matchLabels: {checked: "yes"}}}                                                                 | {}                                                                                      |
      | for the other namespaces | {namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [default]}]}} | {}                                                                                      |
      | whose conditions hold    | {matchConditions: [{name: a, expression: "object.metadata.name == 'subject'"}, {name: b, expression: "request.operation == 'CREATE'"}]} | {} |

  @DRA-670
  Scenario Outline: A creation that does not match a webhook <which> is accepted
    Given the manifest "claims/claim"
    And "metadata.labels" is {checked: "yes"}
    And a webhook that cannot be reached, with <fields> and the rule <rule>
    When it is created
    Then the API server accepts it

    Examples:
      | which                         | fields                                                                         | rule                                  |
      | of updates and deletions      | {}                                                                             | {operations: [UPDATE, DELETE]}        |
      | of another group              | {}                                                                             | {apiGroups: [apps]}                   |
      | of exactly another version    | {matchPolicy: Exact}                                                           | {apiVersions: [v1beta1, v1beta2]}     |
      | of an unknown version         | {}                                                                             | {apiVersions: [v9]}                   |
      | of the status                 | {}                                                                             | {resources: [resourceclaims/status]}  |
      | of templates                  | {}                                                                             | {resources: [resourceclaimtemplates]} |
      | of cluster-scoped objects     | {}                                                                             | {scope: Cluster}                      |
      | for objects of two labels     | {objectSelector: {matchLabels: {checked: "yes", other: "yes"}}}                | {}                                    |
      | for objects of another label and its own | {objectSelector: {matchLabels: {another: "yes", checked: "yes"}}}   | {}                                    |
      | for objects of another label  | {objectSelector: {matchLabels: {checked: "no"}}}                               | {}                                    |
      | for objects without its label | {objectSelector: {matchExpressions: [{key: checked, operator: DoesNotExist}]}} | {}                                    |
      | for another namespace         | {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}}     | {}                                    |
      | whose first condition is false | {matchConditions: [{name: a, expression: "object.metadata.name == 'other'"}, {name: b, expression: "request.operation == 'CREATE'"}]} | {} |
      | whose second condition is false | {matchConditions: [{name: a, expression: "object.metadata.name == 'subject'"}, {name: b, expression: "request.operation == 'UPDATE'"}]} | {} |

  @DRA-670
  Scenario: A webhook reviews a creation that another one does not match
    Given the manifest "claims/claim"
    And "metadata.labels" is {checked: "yes"}
    And a webhook that cannot be reached, with {objectSelector: {matchLabels: {checked: "yes"}}} and the rule {}
    And another webhook that cannot be reached, with {objectSelector: {matchLabels: {checked: "no"}}} and the rule {}
    When it is created
    Then the API server refuses it with 500 InternalError

  @DRA-670
  Scenario Outline: A webhook selects namespaces by their own labels: <answer>
    Given a webhook that cannot be reached, with {namespaceSelector: {matchLabels: {checked: $(suffix)}}} and the rule {apiGroups: [""], apiVersions: ["*"], resources: [namespaces], operations: [CREATE], scope: "*"}
    When a POST request is sent to "/api/v1/namespaces?dryRun=All" with the body {metadata: {name: new-$(suffix), labels: {checked: <label>}}}
    Then the API server <then>

    Examples:
      | answer   | label        | then                                |
      | reviewed | $(suffix)    | refuses it with 500 InternalError   |
      | other    | no-$(suffix) | accepts it                          |

  @DRA-671
  Scenario: A webhook with failurePolicy Ignore is skipped if it cannot be reached
    Given the manifest "claims/claim"
    And a webhook that cannot be reached, with {failurePolicy: Ignore} and the rule {}
    When it is created
    Then the API server accepts it

  @DRA-671
  Scenario: A dry run is reviewed by a webhook without side effects
    Given the manifest "claims/claim"
    And a webhook that cannot be reached, with {sideEffects: None} and the rule {}
    When a dry run creates it
    Then the API server refuses it with 500 InternalError

  @DRA-670
  Scenario Outline: An update from the labels <before> to <after> is reviewed
    Given the manifest "claims/claim"
    And "metadata.labels" is <before>
    And it is created
    And a webhook that cannot be reached, with {objectSelector: {matchLabels: {checked: "yes"}}} and the rule {operations: [UPDATE]}
    When its "metadata.labels" is updated to <after>
    Then the API server refuses it with 500 InternalError
    And it is stored unchanged

    Examples:
      | before           | after            |
      | {checked: "yes"} | {checked: "no"}  |
      | {checked: "no"}  | {checked: "yes"} |

  @DRA-670
  Scenario: An update is not reviewed if neither object has the label
    Given the manifest "claims/claim"
    And "metadata.labels" is {checked: "no"}
    And it is created
    And a webhook that cannot be reached, with {objectSelector: {matchLabels: {checked: "yes"}}} and the rule {operations: [UPDATE]}
    When its "metadata.labels" is updated to {checked: never}
    Then the API server accepts it

  @DRA-670
  Scenario: A deletion is reviewed with the labels of the object
    Given the manifest "claims/claim"
    And "metadata.labels" is {checked: "yes"}
    And it is created
    And a webhook that cannot be reached, with {objectSelector: {matchLabels: {checked: "yes"}}} and the rule {operations: [DELETE]}
    When its "metadata.annotations" is updated to {changed: "yes"}
    Then the API server accepts it
    When it is deleted
    Then the API server refuses it with 500 InternalError
    And its stored "metadata.deletionTimestamp" reads null

  @DRA-670
  Scenario: A webhook of the status does not review other updates
    Given the manifest "claims/claim"
    And it is created
    And a webhook that cannot be reached, with {} and the rule {operations: [UPDATE], resources: [resourceclaims/status]}
    When its "metadata.labels" is updated to {changed: "yes"}
    Then the API server accepts it
    When its status "status.allocation" is updated to {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    Then the API server refuses it with 500 InternalError
    And its stored "status.allocation" reads null

  @DRA-873 @needs:harness-webhook
  Scenario: The warnings of two webhooks reach the client
    Given the manifest "claims/claim"
    And a webhook for each response to creations:
      """
      one: {allowed: true, warnings: [the first one warns]}
      two: {allowed: true, warnings: [the second one warns, twice]}
      """
    When it is created with no other field and fieldValidation Ignore
    Then the API server accepts it
    And the response warns about "the first one warns"
    And the response warns about "the second one warns"
    And the response warns about "twice"

  @DRA-873 @needs:harness-webhook
  Scenario Outline: The warnings of two webhooks reach the client if <one> refuses
    Given the manifest "claims/claim"
    And a webhook for each response to creations:
      """
      one: {allowed: <first>, warnings: [the first one warns], status: {code: 403, reason: Forbidden, message: refused}}
      two: {allowed: <second>, warnings: [the second one warns], status: {code: 403, reason: Forbidden, message: refused}}
      """
    When it is created with no other field and fieldValidation Ignore
    Then the API server refuses it with 403 Forbidden
    And the response warns about "the first one warns"
    And the response warns about "the second one warns"

    Examples:
      | one        | first | second |
      | the first  | false | true   |
      | the second | true  | false  |
