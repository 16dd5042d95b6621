@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Objects of other kinds that the components of DRA use
  Components keep configuration in ConfigMaps and Secrets, elect leaders with Leases, report with Events and get their
  permissions from roles. The API server validates these objects, too.

  @DRA-682
  Scenario Outline: A <manifest> with <what> is refused
    Given the manifest "claims/<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it with 422 Invalid
    And it is not stored

    Examples: keys and values of ConfigMaps and Secrets
      | manifest   | what                              | path              | value                     |
      | config-map | a key with a blank                | data              | {a b: c}                  |
      | config-map | an empty key                      | data              | {"": c}                   |
      | config-map | a key of a dot                    | data              | {".": c}                  |
      | config-map | a key of two dots                 | data              | {"..": c}                 |
      | config-map | a key that begins with two dots   | data              | {..a: c}                  |
      | config-map | more than a mebibyte              | data.a            | the text "x" 1048577 times |
      | config-map | one key in both maps              | binaryData        | {a: b25l}                 |
      | secret     | a key with a slash                | data              | {a/b: b25l}               |

    Examples: Leases, quotas, priority classes
      | manifest       | what                              | path                      | value                       |
      | lease          | a duration of 0 s                 | spec.leaseDurationSeconds | 0                           |
      | lease          | a negative number of transitions  | spec.leaseTransitions     | -1                          |
      | quota          | a negative limit                  | spec.hard                 | {pods: "-1"}                |
      | quota          | half a pod                        | spec.hard                 | {pods: 500m}                |
      | quota          | an unknown resource               | spec.hard                 | {gpus: "1"}                 |
      | quota          | an ill-formed resource            | spec.hard                 | {a b: "1"}                  |
      | priority-class | a value above that of users       | value                     | 1000000001                  |

    Examples: roles
      | manifest     | what                              | path      | value                                                                                                    |
      | role         | a rule without verbs              | rules     | [{apiGroups: [""], resources: [pods]}]                                                                   |
      | role         | a rule without resources          | rules     | [{apiGroups: [""], verbs: [get]}]                                                                        |
      | role         | a rule without groups             | rules     | [{resources: [pods], verbs: [get]}]                                                                      |
      | role         | a rule for paths                  | rules     | [{nonResourceURLs: [/a], verbs: [get]}]                                                                  |
      | cluster-role | a rule for paths and resources    | rules     | [{apiGroups: [""], resources: [pods], nonResourceURLs: [/a], verbs: [get]}]                              |
      | cluster-role | a second rule without verbs       | rules     | [{apiGroups: [""], resources: [pods], verbs: [get]}, {nonResourceURLs: [/a]}]                            |
      | role-binding | a role of another group           | roleRef   | {apiGroup: apps, kind: Role, name: a}                                                                    |
      | role-binding | a role without a name             | roleRef   | {apiGroup: rbac.authorization.k8s.io, kind: Role}                                                        |
      | role-binding | a subject without a name          | subjects  | [{apiGroup: rbac.authorization.k8s.io, kind: User}]                                                      |
      | role-binding | a subject of another kind         | subjects  | [{kind: Pod, name: a}]                                                                                   |
      | role-binding | a user of another group           | subjects  | [{apiGroup: apps, kind: User, name: a}]                                                                  |
      | role-binding | a service account of a group      | subjects  | [{apiGroup: rbac.authorization.k8s.io, kind: ServiceAccount, name: a, namespace: b}]                     |

    Examples: configurations of webhooks
      | manifest | what                                   | path                                | value                                                              |
      | webhook  | a name of two parts                    | webhooks[0].name                    | dra.test                                                           |
      | webhook  | no name                                | webhooks[0].name                    | ""                                                                 |
      | webhook  | no version of reviews                  | webhooks[0].admissionReviewVersions | []                                                                 |
      | webhook  | an unknown version of reviews          | webhooks[0].admissionReviewVersions | [v9]                                                               |
      | webhook  | side effects                           | webhooks[0].sideEffects             | Some                                                               |
      | webhook  | no word about side effects             | webhooks[0].sideEffects             | null                                                               |
      | webhook  | a timeout of 0 s                       | webhooks[0].timeoutSeconds          | 0                                                                  |
      | webhook  | a timeout of 31 s                      | webhooks[0].timeoutSeconds          | 31                                                                 |
      | webhook  | no address                             | webhooks[0].clientConfig            | {}                                                                 |
      | webhook  | a URL and a service                    | webhooks[0].clientConfig            | {url: "https://127.0.0.1:1/a", service: {name: a, namespace: b}}   |
      | webhook  | two webhooks of one name               | webhooks[1]                         | {name: first.dra.test, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {url: "https://127.0.0.1:1/second"}} |

    Examples: events
      | manifest  | what                                 | path                     | value           |
      | event     | an object in another namespace       | involvedObject.namespace | default         |
      | new-event | no reporting component               | reportingComponent       | ""              |
      | new-event | an ill-formed reporting component    | reportingComponent       | a b             |
      | new-event | no reporting instance                | reportingInstance        | ""              |
      | new-event | no action                            | action                   | ""              |
      | new-event | no reason                            | reason                   | ""              |
      | new-event | a reason of 129 characters           | reason                   | the text "x" 129 times |
      | new-event | a message of 1025 characters         | message                  | the text "x" 1025 times |

    Examples: definitions of custom resources
      | manifest   | what                                      | path                                                          | value                                                                    |
      | definition | a name of another group                   | metadata.name                                                 | gadgets.other.dra.test                                                   |
      | definition | a group of one word                       | spec.group                                                    | gadgets                                                                  |
      | definition | an unknown scope                          | spec.scope                                                    | Everywhere                                                               |
      | definition | an uppercase plural                       | spec.names.plural                                             | Gadgets                                                                  |
      | definition | a kind with a dot                         | spec.names.kind                                               | Gad.get                                                                  |
      | definition | an ill-formed short name                  | spec.names.shortNames                                         | [A_b]                                                                    |
      | definition | no version for storage                    | spec.versions[0].storage                                      | false                                                                    |
      | definition | an ill-formed version                     | spec.versions[0].name                                         | V_1                                                                      |
      | definition | no schema                                 | spec.versions[0].schema                                       | null                                                                     |
      | definition | a schema without a type                   | spec.versions[0].schema.openAPIV3Schema                       | {properties: {spec: {type: object}}}                                     |
      | definition | a schema of a text                        | spec.versions[0].schema.openAPIV3Schema                       | {type: string}                                                           |
      | definition | a field without a type                    | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {properties: {a: {type: string}}}}                                |
      | definition | a field of an unknown type                | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: text}}                                                     |
      | definition | a list without items                      | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: array}}                                                    |
      | definition | a default of another type                 | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: object, properties: {a: {type: string, default: 1}}}}      |
      | definition | fields beside a map                       | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: object, properties: {a: {type: string}}, additionalProperties: {type: string}}} |
      | definition | a map list without keys                   | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: array, x-kubernetes-list-type: map, items: {type: object, properties: {a: {type: string}}}}} |
      | definition | a rule that does not compile              | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: object, x-kubernetes-validations: [{rule: self.missing == 1}]}} |
      | definition | a rule of another type                    | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: string, x-kubernetes-validations: [{rule: self}]}}         |
      | definition | an empty rule                             | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: string, x-kubernetes-validations: [{rule: ""}]}}           |
      | definition | a rule with an unknown reason             | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {type: string, x-kubernetes-validations: [{rule: self == "a", reason: Whatever}]}} |
      | definition | a reference                               | spec.versions[0].schema.openAPIV3Schema.properties            | {spec: {$ref: "#/definitions/a"}}                                        |
      | definition | a selectable field that is not there      | spec.versions[0].selectableFields                             | [{jsonPath: .spec.missing}]                                              |
      | definition | two versions of one name                  | spec.versions[1]                                              | {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}} |
      | definition | two versions for storage                  | spec.versions[1]                                              | {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}} |
      | definition | no group | spec.group | null |
      | definition | no plural | spec.names.plural | null |
      | definition | no kind | spec.names.kind | null |
      | definition | no scope | spec.scope | null |
      | definition | an uppercase singular | spec.names.singular | Gadget |
      | definition | an ill-formed name of its lists | spec.names.listKind | Gadget.List |
      | definition | an ill-formed category | spec.names.categories | [all, A_b] |
      | definition | a second version without a schema | spec.versions[1] | {name: v2, served: true, storage: false} |
      | definition | an ill-formed second version | spec.versions[1] | {name: V_2, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}} |
      | definition | a field of a second version without a type | spec.versions[1] | {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {a: {properties: {b: {type: string}}}}}}} |
      | definition | a selectable field of a second version that is not there | spec.versions[1] | {name: v2, served: true, storage: false, selectableFields: [{jsonPath: .spec.missing}], schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {mode: {type: string}}}}}}} |
      | definition | items without a type | spec.versions[0].schema.openAPIV3Schema.properties | {spec: {type: array, items: {properties: {a: {type: string}}}}} |
      | definition | values of a map without a type | spec.versions[0].schema.openAPIV3Schema.properties | {spec: {type: object, additionalProperties: {properties: {a: {type: string}}}}} |
      | definition | a default that is not in the list | spec.versions[0].schema.openAPIV3Schema.properties | {spec: {type: object, properties: {a: {type: string, enum: [b], default: c}}}} |

  @DRA-682
  Scenario Outline: A <manifest> with <what> is accepted
    Given the manifest "claims/<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server accepts it
    And its "<read>" reads <stored>

    Examples:
      | manifest       | what                             | path                                | value                                             | read                          | stored                |
      | config-map     | a mebibyte                       | data.a                              | the text "x" 1048576 times                        | data                          | set                   |
      | config-map     | keys of all letters              | data                                | {a.B-c_9: x, .a: y}                             | data                          | {a.B-c_9: x, .a: y} |
      | config-map     | no data                          | data                                | {}                                                | data                          | null                  |
      | secret         | texts                            | stringData                          | {b: two}                                          | data                          | {a: b25l, b: dHdv}    |
      | secret         | no type                          | type                                | null                                              | type                          | Opaque                |
      | lease          | a duration of 1 s                | spec.leaseDurationSeconds           | 1                                                 | spec.leaseDurationSeconds     | 1                     |
      | lease          | no transitions                   | spec.leaseTransitions               | 0                                                 | spec.leaseTransitions         | 0                     |
      | quota          | limits of standard resources     | spec.hard                           | {pods: "0", cpu: 500m, requests.example.com/gpu: "2", count/widgets.dra.test: "1"} | spec.hard | {pods: "0", cpu: 500m, requests.example.com/gpu: "2", count/widgets.dra.test: "1"} |
      | priority-class | the highest value of users       | value                               | 1000000000                                        | preemptionPolicy              | PreemptLowerPriority  |
      | role-binding   | a user without a group           | subjects                            | [{kind: User, name: a}]                           | subjects                      | [{apiGroup: rbac.authorization.k8s.io, kind: User, name: a}] |
      | role-binding   | a service account                | subjects                            | [{kind: ServiceAccount, name: a, namespace: b}]   | subjects                      | [{kind: ServiceAccount, name: a, namespace: b}] |
      | role-binding   | a ClusterRole                    | roleRef                             | {kind: ClusterRole, name: a}                      | roleRef                       | {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a} |
      | cluster-role   | a rule for paths                 | rules                               | [{nonResourceURLs: [/a], verbs: [get]}]           | rules                         | [{nonResourceURLs: [/a], verbs: [get]}] |
      | webhook        | no policy                        | webhooks[0].failurePolicy           | null                                              | webhooks[0].failurePolicy     | Fail                  |
      | webhook        | no policy of matches             | webhooks[0].matchPolicy             | null                                              | webhooks[0].matchPolicy       | Equivalent            |
      | webhook        | no timeout                       | webhooks[0].timeoutSeconds          | null                                              | webhooks[0].timeoutSeconds    | 10                    |
      | webhook        | the longest timeout              | webhooks[0].timeoutSeconds          | 30                                                | webhooks[0].timeoutSeconds    | 30                    |
      | webhook        | no scope                         | webhooks[0].rules[0].scope          | null                                              | webhooks[0].rules[0].scope    | "*"                   |
      | webhook        | a service without a port         | webhooks[0].clientConfig            | {service: {name: a, namespace: b}}                | webhooks[0].clientConfig.service.port | 443           |
      | definition     | no singular                      | spec.names.singular                 | null                                              | spec.names.singular           | gadget                |
      | definition     | no name of its lists             | spec.names.listKind                 | null                                              | spec.names.listKind           | GadgetList            |
      | definition     | no conversion                    | spec.conversion                     | null                                              | spec.conversion               | {strategy: None}      |
      | definition | a selectable field | spec.versions[0].selectableFields | [{jsonPath: .spec.mode}] | spec.versions[0].selectableFields | [{jsonPath: .spec.mode}] |
      | event          | a message                        | message                             | some text                                         | message                       | some text             |
      | new-event      | a reason of 128 characters       | reason                              | the text "x" 128 times                            | type                          | Normal                |

  @DRA-682b
  Scenario Outline: <what> of a <manifest> never changes
    Given the manifest "claims/<manifest>"
    And "<given>" is <before>
    And it is created
    When its "<path>" is updated to <value>
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | what                   | manifest       | given     | before | path             | value                                                                 |
      | the type               | secret         | immutable | null   | type             | example.com/other                                                     |
      | data                   | config-map     | immutable | true   | data             | {a: two}                                                              |
      | binary data            | config-map     | immutable | true   | binaryData       | {b: b25l}                                                             |
      | immutability           | config-map     | immutable | true   | immutable        | null                                                                  |
      | data                   | secret         | immutable | true   | data             | {a: dHdv}                                                             |
      | the role               | role-binding   | subjects  | null   | roleRef.name     | other                                                                 |
      | the value              | priority-class | value     | 1000   | value            | 1001                                                                  |
      | the preemption policy  | priority-class | value     | 1000   | preemptionPolicy | Never                                                                 |

  @DRA-682b
  Scenario: The scope of an established definition never changes
    Given the manifest "claims/definition"
    And it is created
    And it comes to have the condition "Established"
    When its "spec.scope" is updated to Cluster
    Then the API server refuses it with 422 Invalid
    And its stored "spec.scope" reads Namespaced

  @DRA-682b
  Scenario Outline: <what> of a definition cannot be changed
    Given the manifest "claims/definition"
    And it is created
    And it comes to have the condition "Established"
    When its "<path>" is updated to <value>
    Then the API server refuses it with 422 Invalid

    Examples:
      | what                | path               | value                                                                                       |
      | The kind            | spec.names.kind    | Widget                                                                                      |
      | The plural          | spec.names.plural  | widgets                                                                                     |
      | The group           | spec.group         | other.dra.test                                                                              |
      | The stored version  | spec.versions      | [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]        |

  @DRA-875
  Scenario: A deleted definition stays until its objects are gone
    Given the manifest "claims/definition"
    And it is created
    And it comes to have the condition "Established"
    When a POST request is sent to "/apis/$(suffix).dra.test/v1/namespaces/$(namespace)/gadgets" with the body {apiVersion: $(suffix).dra.test/v1, kind: Gadget, metadata: {name: one}}
    And a POST request is sent to "/apis/$(suffix).dra.test/v1/namespaces/$(namespace)/gadgets" with the body {apiVersion: $(suffix).dra.test/v1, kind: Gadget, metadata: {name: two, finalizers: [example.com/a]}}
    Then the API server accepts it
    When it is deleted
    Then the object at "/apis/$(suffix).dra.test/v1/namespaces/$(namespace)/gadgets/two" comes to be marked for deletion
    And its stored "metadata.deletionTimestamp" reads the present time
    When a PATCH request is sent to "/apis/$(suffix).dra.test/v1/namespaces/$(namespace)/gadgets/two" with the body {metadata: {finalizers: null}}
    Then the API server accepts it
    And the object at "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.$(suffix).dra.test" comes to be missing

  @DRA-682b
  Scenario: The versions of a definition in which objects may be stored are recorded
    Given the manifest "claims/definition"
    And it is created
    And it comes to have the condition "Established"
    When its "spec.versions" is updated to [{name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}, {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
    Then the API server accepts it
    And its stored "status.storedVersions" reads [v1, v2]

  @DRA-682b
  Scenario Outline: <what> of a <manifest> can be changed
    Given the manifest "claims/<manifest>"
    And it is created
    When its "<path>" is updated to <value>
    Then the API server accepts it
    And its "<path>" reads <value>

    Examples:
      | what              | manifest       | path                     | value                                                               |
      | data              | config-map     | data                     | {a: two, b: three}                                                  |
      | labels            | config-map     | metadata.labels          | {changed: "yes"}                                                    |
      | data              | secret         | data                     | {a: dHdv}                                                           |
      | the holder        | lease          | spec.holderIdentity      | b                                                                   |
      | subjects          | role-binding   | subjects                 | [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: b}]       |
      | rules             | role           | rules                    | [{apiGroups: [""], resources: [pods], verbs: [get, list]}]          |
      | the description   | priority-class | description              | for trainings                                                       |
      | limits            | quota          | spec.hard                | {pods: "6"}                                                         |
      | the timeout       | webhook        | webhooks[0].timeoutSeconds | 7                                                                 |

  @DRA-683
  Scenario: An Event is the same object in both of its APIs
    Given the manifest "claims/new-event"
    And "message" is some text
    And it is created
    When a GET request is sent to "/apis/events.k8s.io/v1/namespaces/$(namespace)/events/subject" with the body null
    Then the response is a Event with "note" some text
    And the response is a Event with "regarding.name" c
    And the response is a Event with "reportingController" dra.test/tester
    When a PATCH request is sent to "/apis/events.k8s.io/v1/namespaces/$(namespace)/events/subject" with the body {series: {count: 2, lastObservedTime: "2020-01-02T03:04:06.123456Z"}}
    Then the API server accepts it
    And its stored "series.count" reads 2
    When a PATCH request is sent to "/apis/events.k8s.io/v1/namespaces/$(namespace)/events/subject" with the body {note: other}
    Then the API server refuses it with 422 Invalid
    And its stored "message" reads some text

  @DRA-683
  Scenario Outline: The <what> of an Event never changes
    Given the manifest "claims/new-event"
    And it is created
    When a PATCH request is sent to "/apis/events.k8s.io/v1/namespaces/$(namespace)/events/subject" with the body <body>
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | what       | body                                     |
      | reason     | {reason: Other}                          |
      | action     | {action: Other}                          |
      | type       | {type: Warning}                          |
      | object     | {regarding: {name: other}}               |
      | old source | {deprecatedSource: {component: other}}   |
      | old count  | {deprecatedCount: 2}                     |

  @DRA-683
  Scenario Outline: A list of Events with <selector> has <what>
    Given the manifest "claims/event"
    And it is created
    And the manifest "claims/new-event"
    And "metadata.name" is other
    And "type" is Warning
    And "reason" is Failed
    And "involvedObject.name" is d
    And it is created
    When the Events with fields "<selector>" are listed
    Then the list has the Events "<names>"

    Examples:
      | selector                                                  | what                       | names          |
      | involvedObject.name=d                                     | those of an object         | other          |
      | involvedObject.kind=ResourceClaim,involvedObject.name!=d  | those of other objects     | subject        |
      | type=Warning                                              | warnings                   | other          |
      | reason=Tested                                             | those of a reason          | subject        |
      | reportingComponent=dra.test/tester                        | those of a component       | other          |
      | involvedObject.namespace=$(namespace)                     | those of the namespace     | subject, other |
      | involvedObject.apiVersion=v1                              | none of another version    |                |

  @DRA-684
  Scenario: A new namespace is active and has its name as a label
    When a GET request is sent to "/api/v1/namespaces/$(namespace)" with the body null
    Then the response is a Namespace with "status.phase" Active
    And the response is a Namespace with "spec.finalizers" [kubernetes]
    And the response is a Namespace with "metadata.labels" containing {kubernetes.io/metadata.name: $(namespace)}
    When a POST request is sent to "/api/v1/namespaces?dryRun=All" with the body {metadata: {name: new-$(suffix), labels: {kubernetes.io/metadata.name: default}}}
    Then the response is a Namespace with "metadata.labels" containing {kubernetes.io/metadata.name: new-$(suffix)}

  @DRA-684
  Scenario Outline: A namespace named by <what> is refused
    When a POST request is sent to "/api/v1/namespaces" with the body {metadata: {name: <name>}}
    Then the API server refuses it with 422 Invalid

    Examples:
      | what                  | name                                                               |
      | a name with a dot     | a.b                                                                |
      | an uppercase name     | Subject                                                            |
      | a name of 64 letters  | x23456789x23456789x23456789x23456789x23456789x23456789x23456789x23 |
