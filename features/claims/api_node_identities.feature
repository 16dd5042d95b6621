@profile:api-enforcement @component:control-plane @needs:own-control-plane @needs:node-authorizer
Feature: What the identity of a node may do
  A kubelet, and each plugin that uses its credentials, has access to its own Node, to its Lease, to the pods of the node and
  to what these pods refer to, and to nothing else. A program that breaks out of a container on one node does not get the
  claims and secrets of others.

  @DRA-681
  Scenario Outline: A node may <what>
    Then a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to <access>

    Examples:
      | what                            | access                                                                                        |
      | read its Node                   | {verb: get, resource: nodes, name: $(node:one)}                                               |
      | create Nodes                    | {verb: create, resource: nodes}                                                               |
      | update Nodes                    | {verb: update, resource: nodes, name: $(node:one)}                                            |
      | patch the status of Nodes       | {verb: patch, resource: nodes, subresource: status, name: $(node:one)}                        |
      | read its Lease                  | {verb: get, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease, name: $(node:one)} |
      | create Leases                   | {verb: create, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease}      |
      | update its Lease                | {verb: update, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease, name: $(node:one)} |
      | delete its Lease                | {verb: delete, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease, name: $(node:one)} |
      | create mirror pods              | {verb: create, resource: pods, namespace: default}                                            |
      | delete pods                     | {verb: delete, resource: pods, namespace: default, name: a}                                   |
      | evict pods                      | {verb: create, resource: pods, subresource: eviction, namespace: default, name: a}            |
      | patch the status of pods        | {verb: patch, resource: pods, subresource: status, namespace: default, name: a}               |
      | create events                   | {verb: create, resource: events, namespace: default}                                          |
      | create events of events.k8s.io  | {verb: patch, group: events.k8s.io, resource: events, namespace: default}                     |
      | list services                   | {verb: list, resource: services}                                                              |
      | watch drivers of volumes        | {verb: watch, group: storage.k8s.io, resource: csidrivers}                                    |
      | read runtime classes            | {verb: get, group: node.k8s.io, resource: runtimeclasses, name: a}                            |
      | review tokens                   | {verb: create, group: authentication.k8s.io, resource: tokenreviews}                          |
      | review access                   | {verb: create, group: authorization.k8s.io, resource: subjectaccessreviews}                   |
      | create slices                   | {verb: create, group: resource.k8s.io, resource: resourceslices}                              |

  @DRA-681
  Scenario Outline: A node may not <what>
    Then a review does not allow {user: "system:node:$(node:one)", groups: [system:nodes]} to <access>

    Examples:
      | what                                | access                                                                                                     |
      | read another Node                   | {verb: get, resource: nodes, name: $(node:two)}                                                            |
      | list all Nodes                      | {verb: list, resource: nodes}                                                                              |
      | watch all Nodes                     | {verb: watch, resource: nodes}                                                                             |
      | delete its Node                     | {verb: delete, resource: nodes, name: $(node:one)}                                                         |
      | read the Lease of another           | {verb: get, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease, name: $(node:two)}   |
      | update the Lease of another         | {verb: update, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease, name: $(node:two)} |
      | list Leases                         | {verb: list, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease}                     |
      | use Leases of other namespaces      | {verb: get, group: coordination.k8s.io, resource: leases, namespace: default, name: $(node:one)}           |
      | list all pods                       | {verb: list, resource: pods}                                                                               |
      | watch all pods                      | {verb: watch, resource: pods}                                                                              |
      | read a pod that is not its own      | {verb: get, resource: pods, namespace: default, name: a}                                                   |
      | update pods                         | {verb: update, resource: pods, namespace: default, name: a}                                                |
      | bind pods                           | {verb: create, resource: pods, subresource: binding, namespace: default, name: a}                          |
      | delete the status of pods           | {verb: delete, resource: pods, subresource: status, namespace: default, name: a}                           |
      | list events                         | {verb: list, resource: events}                                                                             |
      | delete events                       | {verb: delete, resource: events, namespace: default, name: a}                                              |
      | write services                      | {verb: update, resource: services, namespace: default, name: a}                                            |
      | list secrets                        | {verb: list, resource: secrets, namespace: default}                                                        |
      | read secrets                        | {verb: get, resource: secrets, namespace: default, name: a}                                                |
      | write secrets                       | {verb: update, resource: secrets, namespace: default, name: a}                                             |
      | read ConfigMaps                     | {verb: get, resource: configmaps, namespace: default, name: a}                                             |
      | create ConfigMaps                   | {verb: create, resource: configmaps, namespace: default}                                                   |
      | read claims                         | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default, name: a}                 |
      | list claims                         | {verb: list, group: resource.k8s.io, resource: resourceclaims}                                             |
      | update the status of claims         | {verb: update, group: resource.k8s.io, resource: resourceclaims, subresource: status, namespace: default, name: a} |
      | read classes                        | {verb: get, group: resource.k8s.io, resource: deviceclasses, name: a}                                      |
      | get tokens of other accounts        | {verb: create, resource: serviceaccounts, subresource: token, namespace: default, name: a}                 |
      | use paths                           | {verb: get, path: /some/path}                                                                              |

  @DRA-681
  Scenario Outline: A user who is not a node has none of its rights: <who>
    Then a review does not allow <subject> to {verb: get, resource: nodes, name: $(node:one)}

    Examples:
      | who                           | subject                                                      |
      | a user of a node's name       | {user: "system:node:$(node:one)"}                            |
      | another user of the group     | {user: "someone", groups: [system:nodes]}                    |
      | a node of another group       | {user: "system:node:$(node:one)", groups: [system:masterz]}  |

  @DRA-681b
  Scenario: A node may read what its pods refer to
    Given the manifest "claims/pod-with-references"
    And it is created
    Then a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: pods, namespace: $(namespace), name: subject}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: configmaps, namespace: $(namespace), name: volume-map}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: configmaps, namespace: $(namespace), name: projected-map}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: configmaps, namespace: $(namespace), name: environment-map}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: configmaps, namespace: $(namespace), name: key-map}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: secrets, namespace: $(namespace), name: pull}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: secrets, namespace: $(namespace), name: volume-secret}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: secrets, namespace: $(namespace), name: projected-secret}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: secrets, namespace: $(namespace), name: environment-secret}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: secrets, namespace: $(namespace), name: key-secret}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: some-claim}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: create, resource: serviceaccounts, subresource: token, namespace: $(namespace), name: default}

  @DRA-681b
  Scenario: A node may read the claims of each of its pods
    Given the manifest "claims/pod-with-references"
    And it is created
    And the manifest "claims/pod-with-references"
    And "metadata.name" is another
    And "spec.resourceClaims" is [{name: nic, resourceClaimName: claim-of-another}, {name: gpu, resourceClaimName: second-of-another}]
    And it is created
    Then a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: claim-of-another}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: second-of-another}
    And a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: some-claim}

  @DRA-681b
  Scenario Outline: A node with a pod may not <what>
    Given the manifest "claims/pod-with-references"
    And it is created
    # A sign that the authorizer has received the pod.
    Then a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: some-claim}
    And a review does not allow {user: "system:node:<node>", groups: [system:nodes]} to <access>

    Examples:
      | what                                   | node        | access                                                                                                      |
      | let another node read its pod          | $(node:two) | {verb: get, resource: pods, namespace: $(namespace), name: subject}                                         |
      | let another node read its claim        | $(node:two) | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: some-claim}    |
      | let another node read its secrets      | $(node:two) | {verb: get, resource: secrets, namespace: $(namespace), name: volume-secret}                                |
      | read the claim in another namespace    | $(node:one) | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default, name: some-claim}         |
      | read another claim                     | $(node:one) | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: other-claim}   |
      | list the claims of the namespace       | $(node:one) | {verb: list, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace)}                     |
      | update its claim                       | $(node:one) | {verb: update, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace), name: some-claim} |
      | read a secret of a ConfigMap's name    | $(node:one) | {verb: get, resource: secrets, namespace: $(namespace), name: volume-map}                                   |
      | read a ConfigMap of a secret's name    | $(node:one) | {verb: get, resource: configmaps, namespace: $(namespace), name: volume-secret}                             |
      | update a ConfigMap of its pod          | $(node:one) | {verb: update, resource: configmaps, namespace: $(namespace), name: volume-map}                             |
      | get a token of another account         | $(node:one) | {verb: create, resource: serviceaccounts, subresource: token, namespace: $(namespace), name: other}         |

  @DRA-681c
  Scenario Outline: A node creates a mirror pod <what>: <answer>
    Given user "kubelet" is node "one"
    And the manifest "claims/plain-pod"
    And "metadata.namespace" is $(namespace)
    And "metadata.annotations" is <annotations>
    And "spec.nodeName" is <node>
    And "metadata.ownerReferences" is <owners>
    When user "kubelet" creates it
    Then the API server refuses it with <answer>

    Examples:
      | what                              | annotations                       | node        | owners                                                                                   | answer        |
      | without the annotation            | null                              | $(node:one) | [{apiVersion: v1, kind: Node, name: $(node:one), uid: u, controller: true}]              | 403 Forbidden |
      | of another node                   | {kubernetes.io/config.mirror: x}  | $(node:two) | [{apiVersion: v1, kind: Node, name: $(node:two), uid: u, controller: true}]              | 403 Forbidden |
      | without an owner                  | {kubernetes.io/config.mirror: x}  | $(node:one) | null                                                                                     | 403 Forbidden |
      | that another node owns            | {kubernetes.io/config.mirror: x}  | $(node:one) | [{apiVersion: v1, kind: Node, name: $(node:two), uid: u, controller: true}]              | 403 Forbidden |
      | that a pod owns                   | {kubernetes.io/config.mirror: x}  | $(node:one) | [{apiVersion: v1, kind: Pod, name: $(node:one), uid: u, controller: true}]               | 403 Forbidden |
      | of two owners                     | {kubernetes.io/config.mirror: x}  | $(node:one) | [{apiVersion: v1, kind: Node, name: $(node:one), uid: u, controller: true}, {apiVersion: v1, kind: Pod, name: a, uid: v}] | 403 Forbidden |
      | whose owner is no controller      | {kubernetes.io/config.mirror: x}  | $(node:one) | [{apiVersion: v1, kind: Node, name: $(node:one), uid: u}]                                | 403 Forbidden |
      | that blocks its owner             | {kubernetes.io/config.mirror: x}  | $(node:one) | [{apiVersion: v1, kind: Node, name: $(node:one), uid: u, controller: true, blockOwnerDeletion: true}] | 403 Forbidden |
      | of a node that does not exist     | {kubernetes.io/config.mirror: x}  | $(node:one) | [{apiVersion: v1, kind: Node, name: $(node:one), uid: u, controller: true}]              | 404 NotFound  |

  @DRA-681c
  Scenario Outline: A node that writes <what> is refused
    Given user "kubelet" is node "one"
    And the manifest "claims/pod"
    And "spec.nodeName" is <node>
    And it is created
    When user "kubelet" sends a PATCH request to "/api/v1/namespaces/$(namespace)/pods/subject/status" with the body <patch>
    Then the API server refuses it with 403 Forbidden
    And it is stored unchanged

    Examples:
      | what                                  | node        | patch                                                                    |
      | the status of a pod of another node   | $(node:two) | {status: {phase: Running}}                                               |
      | the claims in the status of its pod   | $(node:one) | {status: {resourceClaimStatuses: [{name: gpu, resourceClaimName: b}]}}   |
      | labels through the status of its pod  | $(node:one) | {metadata: {labels: {a: b}}}                                             |

  @DRA-681c
  Scenario: A node writes the status of its own pod, and deletes it
    Given user "kubelet" is node "one"
    And the manifest "claims/pod"
    And "spec.nodeName" is $(node:one)
    And it is created
    # The admission looks at its own cache of pods.
    Then a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: get, resource: pods, namespace: $(namespace), name: subject}
    When user "kubelet" sends a PATCH request to "/api/v1/namespaces/$(namespace)/pods/subject/status" with the body {status: {phase: Running}}
    Then the API server accepts it
    And its stored "status.phase" reads Running
    When user "kubelet" sends a DELETE request to "/api/v1/namespaces/$(namespace)/pods/subject?gracePeriodSeconds=0" with the body null
    Then the API server accepts it
    And it is not stored

  @DRA-681c
  Scenario: A node does not delete a pod of another node
    Given user "kubelet" is node "one"
    And the manifest "claims/pod"
    And "spec.nodeName" is $(node:two)
    And it is created
    # The admission looks at its own cache of pods.
    Then a review comes to allow {user: "system:node:$(node:two)", groups: [system:nodes]} to {verb: get, resource: pods, namespace: $(namespace), name: subject}
    When user "kubelet" sends a DELETE request to "/api/v1/namespaces/$(namespace)/pods/subject" with the body null
    Then the API server refuses it with 403 Forbidden
    And it is stored unchanged

  @DRA-681c
  Scenario Outline: A node that <verb> pods <what> <ends>
    Given user "kubelet" is node "one"
    When user "kubelet" sends a GET request to "/api/v1/pods?<query>" with the body null
    Then the API server <answer>

    Examples:
      | verb    | what             | ends       | query                                        | answer                         |
      | lists   | of its own       | sees them  | fieldSelector=spec.nodeName%3D$(node:one)    | accepts it                     |
      | lists   | of another node  | is refused | fieldSelector=spec.nodeName%3D$(node:two)    | refuses it with 403 Forbidden  |
      | lists   | of all others    | is refused | fieldSelector=spec.nodeName!%3D$(node:one)   | refuses it with 403 Forbidden  |
      | lists   | of a phase       | is refused | fieldSelector=status.phase%3DRunning         | refuses it with 403 Forbidden  |

  @DRA-681c
  Scenario: A node does not change another Node
    Given user "kubelet" is node "one"
    And the manifest "claims/bare-node"
    And "metadata.name" is $(node:two)
    And it is created
    When user "kubelet" sends a PATCH request to "/api/v1/nodes/$(node:two)/status" with the body {metadata: {labels: {a: b}}}
    Then the API server refuses it with 403 Forbidden
    When user "kubelet" sends a POST request to "/api/v1/nodes" with the body {metadata: {name: $(node:three)}}
    Then the API server refuses it with 403 Forbidden

  @DRA-681c
  Scenario: A node does not create the Lease of another Node
    Given user "kubelet" is node "one"
    When user "kubelet" sends a POST request to "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?dryRun=All" with the body {metadata: {name: $(node:two)}}
    Then the API server refuses it with 403 Forbidden
    When user "kubelet" sends a POST request to "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases?dryRun=All" with the body {metadata: {name: $(node:one)}}
    Then the API server accepts it

  @DRA-681c
  Scenario Outline: A node that requests a token <what> is refused
    Given user "kubelet" is node "one"
    And a service account "worker"
    And the manifest "claims/plain-pod"
    And "spec.serviceAccountName" is worker
    And "spec.nodeName" is $(node:one)
    And it is created
    Then a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: create, resource: serviceaccounts, subresource: token, namespace: $(namespace), name: worker}
    When user "kubelet" sends a POST request to "/api/v1/namespaces/$(namespace)/serviceaccounts/worker/token" with the body {spec: <spec>}
    Then the API server refuses it with 403 Forbidden

    Examples:
      | what                     | spec                                                                                    |
      | that is bound to no pod  | {}                                                                                      |
      | that names no uid        | {boundObjectRef: {apiVersion: v1, kind: Pod, name: subject}}                            |
      | that is bound to a Secret | {boundObjectRef: {apiVersion: v1, kind: Secret, name: a, uid: u}}                      |
      | of a pod of another uid  | {boundObjectRef: {apiVersion: v1, kind: Pod, name: subject, uid: u}}                    |

  @DRA-681c
  Scenario: A node gets a token for its own pod, and for no pod of another node
    Given user "kubelet" is node "one"
    And a service account "worker"
    And the manifest "claims/plain-pod"
    And "metadata.name" is other
    And "spec.serviceAccountName" is worker
    And "spec.nodeName" is $(node:two)
    And it is created
    And the manifest "claims/plain-pod"
    And "spec.serviceAccountName" is worker
    And "spec.nodeName" is $(node:one)
    And it is created
    Then a review comes to allow {user: "system:node:$(node:one)", groups: [system:nodes]} to {verb: create, resource: serviceaccounts, subresource: token, namespace: $(namespace), name: worker}
    When user "kubelet" sends a POST request to "/api/v1/namespaces/$(namespace)/serviceaccounts/worker/token" with the body {spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: subject, uid: $(uid:subject)}}}
    Then the response is a TokenRequest
    When user "kubelet" sends a POST request to "/api/v1/namespaces/$(namespace)/serviceaccounts/worker/token" with the body {spec: {boundObjectRef: {apiVersion: v1, kind: Pod, name: other, uid: $(uid:other)}}}
    Then the API server refuses it with 403 Forbidden
