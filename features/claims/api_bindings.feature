@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Bindings, evictions and tokens
  Schedulers bind pods, taint controllers evict them, and drivers authenticate with tokens that are bound to pods. Each of
  these requests is about one pod, and not about another pod of the same name.

  @DRA-666
  Scenario: A Binding gives a pod its node once
    Given the manifest "claims/pod"
    And "metadata.annotations" is {mine: kept}
    And it is created
    When it is bound to "$(node:without-kubelet)" with annotations {added: "yes"}
    Then the API server accepts it
    And its stored "spec.nodeName" reads $(node:without-kubelet)
    And its stored "metadata.annotations" reads containing {mine: kept, added: "yes"}
    And its stored "status.conditions[type=PodScheduled][0].status" reads "True"
    When it is bound to "$(node:other)"
    Then the API server refuses it with 409 Conflict
    When it is bound to "$(node:without-kubelet)"
    Then the API server refuses it with 409 Conflict
    And its stored "spec.nodeName" reads $(node:without-kubelet)

  @DRA-760 @since:1.35
  Scenario: The labels of a Binding are added to those of the pod
    Given the manifest "claims/pod"
    And "metadata.labels" is {mine: kept, topology.kubernetes.io/zone: none}
    And it is created
    When it is bound to "$(node:without-kubelet)" with labels {topology.kubernetes.io/zone: z1, topology.kubernetes.io/region: r1}
    Then the API server accepts it
    And its stored "metadata.labels" reads containing {mine: kept, topology.kubernetes.io/zone: z1, topology.kubernetes.io/region: r1}

  @DRA-666
  Scenario: A dry run of a Binding does not bind the pod
    Given the manifest "claims/pod"
    And it is created
    When a dry run binds it to "$(node:without-kubelet)"
    Then the API server accepts it
    And its stored "spec.nodeName" reads null

  @DRA-667
  Scenario Outline: A Binding with the <field> of a replaced pod does not bind its successor
    Given the manifest "claims/pod"
    And it is created
    And it is deleted and created again
    When it is bound to "$(node:without-kubelet)" with the <field> of the former object
    Then the API server refuses it with 409 Conflict
    And its stored "spec.nodeName" reads null
    When it is bound to "$(node:without-kubelet)" with the <field> of the current object
    Then the API server accepts it
    And its stored "spec.nodeName" reads $(node:without-kubelet)

    Examples:
      | field           |
      | uid             |
      | resourceVersion |

  @DRA-667
  Scenario: An eviction with the uid of a replaced pod does not evict its successor
    Given the manifest "claims/pod"
    And it is created
    And it is deleted and created again
    When it is evicted with the uid of the former object
    Then the API server refuses it with 409 Conflict
    And its stored "metadata.deletionTimestamp" reads null
    When it is evicted with the uid of the current object
    Then the API server accepts it
    And it is not stored

  @DRA-668
  Scenario: A pod with scheduling gates is not bound
    Given the manifest "claims/pod"
    And "spec.schedulingGates" is [{name: example.com/gate}]
    And it is created
    When it is bound to "$(node:without-kubelet)"
    Then the API server refuses it with 409 Conflict
    And its stored "spec.nodeName" reads null
    When its "spec.schedulingGates" is updated to []
    And it is bound to "$(node:without-kubelet)"
    Then the API server accepts it

  @DRA-668
  Scenario: A pod that is being deleted is not bound
    Given the manifest "claims/pod"
    And "metadata.finalizers" is [example.com/a]
    And it is created
    When it is deleted
    Then its stored "metadata.deletionTimestamp" reads set
    When it is bound to "$(node:without-kubelet)"
    Then the API server refuses it with 409 Conflict
    And its stored "spec.nodeName" reads null

  @DRA-669
  Scenario: A token that is bound to a pod names the pod and its node
    Given a service account "worker"
    And the manifest "claims/pod"
    And "spec.serviceAccountName" is worker
    And "spec.nodeName" is $(node:without-kubelet)
    And it is created
    When a token of the service account "worker" is requested with {boundObjectRef: {apiVersion: v1, kind: Pod, name: subject, uid: $(uid:subject)}}
    Then the API server accepts it
    And a review of the token names "system:serviceaccount:$(namespace):worker" with {authentication.kubernetes.io/pod-name: [subject], authentication.kubernetes.io/pod-uid: [$(uid:subject)], authentication.kubernetes.io/node-name: [$(node:without-kubelet)]}
    And a review of the token "not-a-token" does not authenticate it

  @DRA-669
  Scenario: A token is not bound to a former pod of the name
    Given a service account "worker"
    And the manifest "claims/pod"
    And "spec.serviceAccountName" is worker
    And it is created
    When a token of the service account "worker" is requested with {boundObjectRef: {apiVersion: v1, kind: Pod, name: subject, uid: another-uid}}
    Then the API server refuses it with 409 Conflict
    When a token of the service account "worker" is requested with {boundObjectRef: {apiVersion: v1, kind: Pod, name: missing}}
    Then the API server refuses it with 404 NotFound

  @DRA-801
  Scenario: A token that is bound to a pod ends with it, although another pod gets its name
    Given a service account "worker"
    And the manifest "claims/pod"
    And "spec.serviceAccountName" is worker
    And it is created
    When a token of the service account "worker" is requested with {boundObjectRef: {apiVersion: v1, kind: Pod, name: subject, uid: $(uid:subject)}}
    Then a review comes to authenticate the token
    Given it is deleted and created again
    Then a review comes not to authenticate the token
    When a token of the service account "worker" is requested with {boundObjectRef: {apiVersion: v1, kind: Pod, name: subject}}
    Then a review comes to authenticate the token

  @DRA-801
  Scenario: A token of a service account ends with it, although another account gets its name
    Given a service account "worker"
    When a token of the service account "worker" is requested with {}
    Then a review comes to authenticate the token
    When the service account "worker" is deleted and created again
    Then a review comes not to authenticate the token
    When a token of the service account "worker" is requested with {}
    Then a review comes to authenticate the token

  @DRA-669
  Scenario Outline: A token for <what> is refused
    Given a service account "worker"
    When a token of the service account "<account>" is requested with <spec>
    Then the API server refuses it with <code>

    Examples:
      | what                       | account | spec                     | code         |
      | less than ten minutes      | worker  | {expirationSeconds: 599} | 422 Invalid  |
      | an account that is missing | work    | {}                       | 404 NotFound |
