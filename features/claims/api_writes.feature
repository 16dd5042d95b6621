@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Namespaces, names, options and owners of writes
  These rules hold for every kind. A client cannot set fields that the API server sets itself, and a request that
  contradicts its path or has unknown options changes nothing. The scenarios run on a control plane that the run started,
  because they need other namespaces.

  @DRA-660
  Scenario: A new object gets its system metadata from the API server
    Given the manifest "claims/claim"
    And "metadata.uid" is 11111111-2222-4333-8444-555555555555
    And "metadata.creationTimestamp" is "2020-01-02T03:04:05Z"
    And "metadata.deletionTimestamp" is "2020-01-02T03:04:05Z"
    And "metadata.deletionGracePeriodSeconds" is 5
    And "metadata.finalizers" is [example.com/a]
    When it is created
    Then the API server accepts it
    And its "metadata.uid" reads other than 11111111-2222-4333-8444-555555555555
    And its "metadata.uid" reads set
    And its "metadata.creationTimestamp" reads the present time
    And its "metadata.deletionTimestamp" reads null
    And its "metadata.deletionGracePeriodSeconds" reads null
    And its "metadata.finalizers" reads [example.com/a]

  @DRA-675
  Scenario Outline: The generation of a <manifest> counts the changes of its spec
    Given the manifest "claims/<manifest>"
    And "metadata.generation" is 7
    And it is created
    Then its "metadata.generation" reads 1
    When its "metadata.labels" is updated to {changed: "yes"}
    Then its "metadata.generation" reads 1
    When its "<path>" is updated to <first>
    Then its "metadata.generation" reads 2
    When its "metadata.annotations" is updated to {changed: "yes"}
    Then its "metadata.generation" reads 2
    When its "<path>" is updated to <second>
    Then its "metadata.generation" reads 3

    Examples:
      | manifest   | path                       | first                         | second                       |
      | slice      | spec.devices               | [{name: d}, {name: e}]        | []                           |
      | pod        | spec.activeDeadlineSeconds | 900                           | 800                          |
      | webhook    | webhooks[0].timeoutSeconds | 5                             | 6                            |
      | definition | spec.names.shortNames      | [gizmo]                       | null                         |

  @DRA-675 @gate:DRADeviceTaintRules @since:1.37 @needs:served-version
  Scenario: The generation of a DeviceTaintRule counts the changes of its spec
    Given the manifest "claims/taint-rule-v1"
    And it is created
    Then its "metadata.generation" reads 1
    When its "metadata.labels" is updated to {changed: "yes"}
    Then its "metadata.generation" reads 1
    When its status "status.conditions" is updated to [{type: Seen, status: "True", reason: Test, message: "", lastTransitionTime: "2020-01-02T03:04:05Z"}]
    Then its "status.conditions[type=Seen][0].status" reads "True"
    And its "metadata.generation" reads 1
    When its "spec.taint.value" is updated to later
    Then its "metadata.generation" reads 2

  @DRA-675
  Scenario: The generation of a pod does not count changes of its status
    Given the manifest "claims/pod"
    And it is created
    When its status "status.message" is updated to changed
    Then its "status.message" reads changed
    And its "metadata.generation" reads 1

  @DRA-675
  Scenario: The generation of an object rises when it is marked for deletion
    Given the manifest "claims/class"
    And "metadata.finalizers" is [example.com/a]
    And it is created
    When it is deleted
    Then its stored "metadata.generation" reads 2
    When it is deleted
    Then its stored "metadata.generation" reads 2
    When its "metadata.finalizers" is updated to []
    Then it is not stored

  @DRA-675
  Scenario: The generation of a pod rises when its grace period begins, and not when it is shortened
    Given the manifest "claims/pod"
    And "spec.nodeName" is $(node:without-kubelet)
    And it is created
    When it is deleted with a grace period of 600 s
    Then its stored "metadata.generation" reads 2
    When it is deleted with a grace period of 300 s
    Then its stored "metadata.generation" reads 2
    When it is deleted with a grace period of 0 s
    Then it is not stored

  @DRA-661
  Scenario: An object is not created through the path of another namespace
    Given the manifest "claims/claim"
    When it is created with a request for another namespace
    Then the API server refuses it with 400 BadRequest
    And it is not stored

  @DRA-661
  Scenario: An object is not created in a namespace that does not exist
    Given the manifest "claims/claim"
    When it is created in a namespace that does not exist
    Then the API server refuses it with 404 NotFound
    When a dry run creates it in a namespace that does not exist
    Then the API server refuses it with 404 NotFound

  @DRA-661
  Scenario: An object is not updated through the path of another name
    Given the manifest "claims/claim"
    And it is created
    When it is updated under the name "other"
    Then the API server refuses it with 400 BadRequest
    And it is stored unchanged

  @DRA-662
  Scenario: A namespace that is being deleted gets no new objects and stays until the last one is gone
    Given another namespace is being deleted, in which a finalizer keeps the ResourceClaim a and none b
    And the manifest "claims/claim"
    When it is created in the namespace that is being deleted
    Then the API server refuses it with 403 Forbidden
    When a dry run creates it in the namespace that is being deleted
    Then the API server refuses it with 403 Forbidden
    And of the namespace that is being deleted only the ResourceClaim a is left
    And the namespace goes with the finalizer of the ResourceClaim a

  @DRA-662
  Scenario Outline: The namespace <name> is not deleted
    When a dry run deletes the namespace "<name>"
    Then the API server refuses it with 403 Forbidden

    Examples:
      | name        |
      | default     |
      | kube-system |
      | kube-public |

  @DRA-663
  Scenario Outline: A creation with the options <options> is refused
    Given the manifest "claims/claim"
    When it is created with the options "<options>"
    Then the API server refuses it with 422 Invalid
    And it is not stored

    Examples:
      | options                |
      | dryRun=Server          |
      | dryRun=All&dryRun=None |
      | fieldManager=a%07b     |

  @DRA-663
  Scenario: A creation with a field manager of 129 characters is refused
    Given the manifest "claims/claim"
    When it is created by a field manager of 129 characters
    Then the API server refuses it with 422 Invalid
    And it is not stored

  @DRA-663
  Scenario: A creation with a field manager of 128 characters is accepted
    Given the manifest "claims/claim"
    When it is created by a field manager of 128 characters
    Then the API server accepts it

  @DRA-663
  Scenario Outline: A deletion with the options <options> is refused
    Given the manifest "claims/claim"
    And it is created
    When it is deleted with the options "<options>"
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | options                                            |
      | dryRun=Server                                      |
      | propagationPolicy=Sometimes                        |
      | propagationPolicy=Background&orphanDependents=true |

  @DRA-663
  Scenario Outline: A deletion with <options> in the query keeps the dependents
    Given the manifest "claims/claim"
    And the ResourceClaims "create a"
    And ResourceClaims with owners:
      | name | owners | blocks | finalizer |
      | one  | a      | yes    |           |
    When the ResourceClaim "a" is deleted with the options "<options>"
    Then the API server accepts it
    And the ResourceClaim "a" is gone
    And the ResourceClaim "one" keeps "metadata.ownerReferences" null

    Examples:
      | options                  |
      | propagationPolicy=Orphan |
      | orphanDependents=true    |

  @DRA-663
  Scenario: A deletion with the policy Foreground in the query waits for the dependents
    Given the manifest "claims/claim"
    And the ResourceClaims "create a"
    And ResourceClaims with owners:
      | name | owners | blocks | finalizer     |
      | one  | a      | yes    | example.com/x |
    When the ResourceClaim "a" is deleted with the options "propagationPolicy=Foreground"
    Then the ResourceClaim "one" has "metadata.deletionTimestamp" set
    And the ResourceClaim "a" keeps "metadata.deletionTimestamp" set
    When "metadata.finalizers" of the ResourceClaim "one" is set to null
    Then the ResourceClaim "a" is gone

  @DRA-664
  Scenario Outline: An object with <what> is refused
    Given the manifest "claims/claim"
    And "<field>" is <value>
    When it is created
    Then the API server refuses it with 422 Invalid
    And it is not stored

    Examples:
      | what                                 | field                    | value                                                                                                                                |
      | a label value of 64 characters       | metadata.labels          | {a: x23456789x23456789x23456789x23456789x23456789x23456789x23456789x}                                                                |
      | a label key of 64 characters         | metadata.labels          | {x23456789x23456789x23456789x23456789x23456789x23456789x23456789x: a}                                                                |
      | a label key with an empty prefix     | metadata.labels          | {/a: b}                                                                                                                              |
      | annotations of more than 256 KiB     | metadata.annotations.a   | the text "x" 262144 times                                                                                                            |
      | a name of 254 characters             | metadata.name            | the text "x" 254 times                                                                                                               |
      | two controllers                      | metadata.ownerReferences | [{apiVersion: v1, kind: Pod, name: a, uid: u-1, controller: true}, {apiVersion: v1, kind: Pod, name: b, uid: u-2, controller: true}] |
      | an owner without a uid               | metadata.ownerReferences | [{apiVersion: v1, kind: Pod, name: a}]                                                                                               |
      | an owner without a name              | metadata.ownerReferences | [{apiVersion: v1, kind: Pod, uid: u-1}]                                                                                              |
      | an owner without a kind              | metadata.ownerReferences | [{apiVersion: v1, name: a, uid: u-1}]                                                                                                |
      | a finalizer without a domain         | metadata.finalizers      | [a]                                                                                                                                  |
      | a name with an uppercase letter      | metadata.name            | Subject                                                                                                                              |
      | a label key without a name           | metadata.labels          | {example.com/: a}                                                                                                                    |
      | a label key with two slashes         | metadata.labels          | {a.example/b/c: a}                                                                                                                   |
      | a label key with an uppercase prefix | metadata.labels          | {Example.com/a: b}                                                                                                                   |
      | a label key that begins with a dash  | metadata.labels          | {-a: b}                                                                                                                              |
      | a label value that ends with a dash  | metadata.labels          | {a: b-}                                                                                                                              |
      | a label value with a slash           | metadata.labels          | {a: b/c}                                                                                                                             |
      | an annotation key without a name     | metadata.annotations     | {example.com/: a}                                                                                                                    |
      | an annotation key of 64 characters   | metadata.annotations     | {x23456789x23456789x23456789x23456789x23456789x23456789x23456789x: a}                                                                |
      | an owner without an apiVersion       | metadata.ownerReferences | [{kind: Pod, name: a, uid: u-1}]                                                                                                     |
      | an owner of three parts              | metadata.ownerReferences | [{apiVersion: a/b/v1, kind: Pod, name: a, uid: u-1}]                                                                                 |
      | an Event as its owner                | metadata.ownerReferences | [{apiVersion: v1, kind: Event, name: a, uid: u-1}]                                                                                   |
      | finalizers to orphan and to wait     | metadata.finalizers      | [orphan, foregroundDeletion]                                                                                                         |
      | a finalizer without a name           | metadata.finalizers      | [example.com/]                                                                                                                       |
      | a name that ends with a dash         | metadata.name            | subject-                                                                                                                             |
      | a name with two dots in a row        | metadata.name            | a..b                                                                                                                                 |

  @DRA-664
  Scenario Outline: An object with <what> is accepted
    Given the manifest "claims/claim"
    And "<field>" is <value>
    When it is created
    Then the API server accepts it

    Examples:
      | what                                       | field                    | value                                                                                                                                                    |
      | a label value of 63 characters             | metadata.labels          | {a: x23456789x23456789x23456789x23456789x23456789x23456789x23456789}                                                                                     |
      | a label key of 63 characters               | metadata.labels          | {example.com/x23456789x23456789x23456789x23456789x23456789x23456789x23456789: a}                                                                         |
      | annotations of 256 KiB                     | metadata.annotations.a   | the text "x" 262143 times                                                                                                                                |
      | a name of 253 characters                   | metadata.name            | the text "x" 253 times                                                                                                                                   |
      | two owners and one controller              | metadata.ownerReferences | [{apiVersion: unknown.dra.test/v1, kind: Thing, name: a, uid: u-1}, {apiVersion: unknown.dra.test/v1, kind: Thing, name: b, uid: u-2, controller: true}] |
      | an empty label value                       | metadata.labels          | {a: ""}                                                                                                                                                  |
      | a label value of one letter                | metadata.labels          | {A_b.c-9: Z}                                                                                                                                             |
      | an annotation key with an uppercase prefix | metadata.annotations     | {Example.com/a: b}                                                                                                                                       |
      | a standard finalizer                       | metadata.finalizers      | [kubernetes]                                                                                                                                             |
      | a name with a dot                          | metadata.name            | a.b                                                                                                                                                      |
      | a name of one digit                        | metadata.name            | "7"                                                                                                                                                      |

  @DRA-664
  Scenario Outline: An object that is named by <what> is refused
    Given the manifest "claims/claim"
    And "metadata.name" is null
    And "metadata.generateName" is <prefix>
    When it is created
    Then the API server refuses it with 422 Invalid

    Examples:
      | what                             | prefix |
      | a prefix in uppercase            | Some-  |
      | a prefix that begins with a dash | -some- |
      | nothing                          | null   |

  @DRA-664
  Scenario Outline: An update of <what> is refused
    Given the manifest "claims/claim"
    And it is created
    When its "<field>" is updated to <value>
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | what                                   | field                    | value                                                                                                                                |
      | a label to a value of 64 characters    | metadata.labels          | {a: x23456789x23456789x23456789x23456789x23456789x23456789x23456789x}                                                                |
      | an annotation to more than 256 KiB     | metadata.annotations.a   | the text "x" 262144 times                                                                                                            |
      | the owners to two controllers          | metadata.ownerReferences | [{apiVersion: v1, kind: Pod, name: a, uid: u-1, controller: true}, {apiVersion: v1, kind: Pod, name: b, uid: u-2, controller: true}] |
      | the owners to one without a uid        | metadata.ownerReferences | [{apiVersion: v1, kind: Pod, name: a}]                                                                                               |
      | the finalizers to one without a domain | metadata.finalizers      | [a]                                                                                                                                  |

  @DRA-664
  Scenario Outline: An object with two annotations of <size> in all is <answer>
    Given the manifest "claims/claim"
    And "metadata.annotations.a" is the text "x" 131072 times
    And "metadata.annotations.b" is the text "x" <count> times
    When it is created
    Then the API server <then>

    Examples:
      | size              | count  | answer   | then                         |
      | 256 KiB           | 131070 | accepted | accepts it                   |
      | more than 256 KiB | 131071 | refused  | refuses it with 422 Invalid  |

  @DRA-664
  Scenario: Equal owners of an object are stored once
    Given the manifest "claims/claim"
    And "metadata.ownerReferences" is [{apiVersion: unknown.dra.test/v1, kind: Thing, name: a, uid: u-1}, {apiVersion: unknown.dra.test/v1, kind: Thing, name: a, uid: u-1}, {apiVersion: unknown.dra.test/v1, kind: Thing, name: b, uid: u-1}, {apiVersion: unknown.dra.test/v1, kind: Thing, name: a, uid: u-2}]
    When it is created
    Then the API server accepts it
    And its "metadata.ownerReferences[*].name" reads [a, b, a]

  @DRA-665
  Scenario: An update of a Lease without a resourceVersion is refused
    Given a Lease
    When it is updated without a resourceVersion
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

  @DRA-665
  Scenario: An update of a claim without a resourceVersion is accepted
    Given the manifest "claims/claim"
    And it is created
    When it is updated without a resourceVersion
    Then the API server accepts it
    And its "metadata.labels" reads {changed: "yes"}

  @DRA-388
  Scenario: An object in a namespace is owned by one without a namespace
    Given the manifest "claims/claim"
    And it is owned by a DeviceClass
    And it is created
    Then it stays
    When its DeviceClass is deleted
    Then it is garbage-collected

  @DRA-388
  Scenario: An owner in another namespace does not count
    Given the manifest "claims/claim"
    And it is owned by a ResourceClaim of another namespace
    And it is created
    Then it is garbage-collected

  @DRA-672
  Scenario: An update of a Lease that does not exist creates it
    Given a Lease
    When it is deleted
    Then the response is a Status
    When it is sent in an update again
    Then the API server accepts it
    And its "spec.holderIdentity" reads a
    And it is another object than the deleted one

  @DRA-800
  Scenario: An update of a missing Lease needs permission to create it
    Given the objects of the manifest "claims/updater"
    And a Lease
    Then a review comes to allow {user: updater-$(suffix)} to {verb: update, group: coordination.k8s.io, resource: leases, namespace: $(namespace)}
    When user "updater" sends a PUT request to "/apis/coordination.k8s.io/v1/namespaces/$(namespace)/leases/second" with the body {metadata: {name: second}, spec: {holderIdentity: b}}
    Then the API server refuses it with 403 Forbidden
    When a GET request is sent to "/apis/coordination.k8s.io/v1/namespaces/$(namespace)/leases/second" with the body null
    Then the API server refuses it with 404 NotFound

  @DRA-800
  Scenario: An apply of a missing claim needs permission to create it
    Given the objects of the manifest "claims/updater"
    And the manifest "claims/claim"
    Then a review comes to allow {user: updater-$(suffix)} to {verb: patch, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace)}
    When user "updater" applies it
    Then the API server refuses it with 403 Forbidden
    And it is not stored
    When it is created
    And user "updater" sends a PATCH request to "/apis/resource.k8s.io/v1/namespaces/$(namespace)/resourceclaims/subject" with the body {metadata: {labels: {changed: "yes"}}}
    Then the API server accepts it

  @DRA-673
  Scenario Outline: The deletion of a <kind> returns it
    Given the manifest "claims/<manifest>"
    And it is created
    When it is deleted
    Then the response is a <kind>

    Examples:
      | kind                  | manifest |
      | ResourceClaim         | claim    |
      | ResourceClaimTemplate | template |
      | ResourceSlice         | slice    |
      | DeviceClass           | class    |
      | Pod                   | pod      |

  @DRA-673
  Scenario: The deletion of an object with a finalizer returns the object in deletion
    Given a Lease
    When its "metadata.finalizers" is updated to [example.com/a]
    And it is deleted
    Then the response is a Lease with "metadata.deletionTimestamp" the present time
    And its stored "metadata.deletionTimestamp" reads the present time

  @DRA-674
  Scenario Outline: A list with the options <options> is refused
    When the ResourceClaims are requested with the options "<options>"
    Then the API server refuses it with <code>

    Examples:
      | options                                                                       | code           |
      | continue=unknown                                                              | 400 BadRequest |
      | limit=many                                                                    | 400 BadRequest |
      | timeoutSeconds=soon&watch=true                                                | 400 BadRequest |
      | resourceVersion=newest                                                        | 400 BadRequest |
      | sendInitialEvents=true                                                        | 422 Invalid    |
      | watch=true&timeoutSeconds=1&sendInitialEvents=true                            | 422 Invalid    |
      | watch=true&timeoutSeconds=1&resourceVersionMatch=NotOlderThan                 | 422 Invalid    |
      | watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=Exact | 422 Invalid    |

  @DRA-674
  Scenario: A list with a continue token has no other version
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b, create c"
    When the second page of the ResourceClaims is requested with the options "resourceVersion=1"
    Then the API server refuses it with 400 BadRequest
    When the second page of the ResourceClaims is requested with the options "resourceVersionMatch=NotOlderThan&resourceVersion=1"
    Then the API server refuses it with 422 Invalid
