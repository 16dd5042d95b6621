@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: A pod gets no further device by an update
  The scheduler allocates devices before a pod is bound. A pod that exists cannot be changed to use another claim, or more of
  an extended resource. These scenarios run on a control plane that the run started: a run on another cluster needs no
  permission to resize pods.

  @DP-075
  Scenario Outline: A pod cannot be changed to <what>
    Given the manifest "claims/<manifest>"
    And it is created
    When its "<path>" is updated to <value>
    Then the API server refuses it: Forbidden at "<field>"

    Examples:
      | what                                          | manifest                    | path                                | value                                                                                                                                       | field                 |
      | use one more claim                            | pod                         | spec.resourceClaims[1]              | {name: more, resourceClaimName: other-claim}                                                                                                | spec                  |
      | use another claim                             | pod                         | spec.resourceClaims                 | [{name: gpu, resourceClaimName: other-claim}]                                                                                               | spec                  |
      | use a claim of a template                     | pod                         | spec.resourceClaims                 | [{name: gpu, resourceClaimTemplateName: some-template}]                                                                                     | spec                  |
      | use another request of its claim              | pod                         | spec.containers[0].resources.claims | [{name: gpu, request: b}]                                                                                                                   | spec                  |
      | have one more container that uses its claim   | pod                         | spec.containers[1]                  | {name: side, image: registry.k8s.io/pause:3.10, resources: {claims: [{name: gpu}]}}                                                         | spec.containers       |
      | have one more init container                  | pod                         | spec.initContainers                 | [{name: load, image: registry.k8s.io/pause:3.10, resources: {claims: [{name: gpu}]}}]                                                       | spec.initContainers   |
      | request more of an extended resource          | pod-with-extended-resources | spec.containers[0].resources        | {requests: {example.com/gpu: 2}, limits: {example.com/gpu: 2}}                                                                              | spec                  |
      | request more of it in an init container       | pod-with-extended-resources | spec.initContainers[0].resources    | {requests: {example.com/gpu: 3}, limits: {example.com/gpu: 3}}                                                                              | spec                  |
      | request one more extended resource            | pod-with-extended-resources | spec.containers[1].resources        | {requests: {example.com/nic: 1, example.com/gpu: 1}, limits: {example.com/nic: 1, example.com/gpu: 1}}                                      | spec                  |

  # The subresource resize changes CPU and memory of a running pod.
  @DP-075 @since:1.35
  Scenario Outline: A pod cannot be resized to <what>
    Given the manifest "claims/<manifest>"
    And it is created
    When the subresource resize of it updates "<path>" to <value>
    Then the API server refuses it: Forbidden at "spec"

    Examples:
      | what                                   | manifest                    | path                                | value                                                                                                  |
      | request more of an extended resource   | pod-with-extended-resources | spec.containers[0].resources        | {requests: {example.com/gpu: 2}, limits: {example.com/gpu: 2}}                                         |
      | request one more extended resource     | pod-with-extended-resources | spec.containers[1].resources        | {requests: {example.com/nic: 1, example.com/gpu: 1}, limits: {example.com/nic: 1, example.com/gpu: 1}} |
      | use another request of its claim       | pod                         | spec.containers[0].resources.claims | [{name: gpu, request: b}]                                                                              |

  @DP-075 @since:1.35
  Scenario Outline: A resize cannot <what>
    Given the manifest "claims/pod-with-extended-resources"
    And it is created
    When the subresource resize of it updates "<path>" to <value>
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | what                                    | path                          | value                                                                |
      | add a container                         | spec.containers[2]            | {name: more, image: registry.k8s.io/pause:3.10}                      |
      | add an init container                   | spec.initContainers[1]        | {name: more, image: registry.k8s.io/pause:3.10}                      |
      | rename a container                      | spec.containers[0].name       | other                                                                |
      | request more in an init container       | spec.initContainers[0].resources | {requests: {example.com/gpu: 3}, limits: {example.com/gpu: 3}}    |

  @DP-075 @since:1.35
  Scenario: A resize does not give a pod another claim
    Given the manifest "claims/pod"
    And it is created
    When the subresource resize of it updates "spec.resourceClaims" to [{name: gpu, resourceClaimName: other-claim}]
    Then its "spec.resourceClaims" reads [{name: gpu, resourceClaimName: some-claim}]

  @DP-074c @since:1.37
  Scenario Outline: A pod cannot be resized to more <what> than its node has
    Given node "n1"
    And "status.allocatable" of the Node "n1" is set to {cpu: "4", memory: 8Gi, pods: "10"}
    And a pod "train" with resources of the containers:
      | name | resources                                |
      | main | cpu: 1, memory: 1Gi, example.com/gpu: 1  |
    When pod "train" is bound by hand to "n1"
    And a client tries to resize <what> of container "main" of pod "train" to <amount>
    Then the API server refuses it with 403 Forbidden
    And the Pod "train" has "spec.containers[0].resources.limits.<what>" <before>

    Examples:
      | what   | amount | before |
      | cpu    | 4001m  | '1'    |
      | memory | 9Gi    | 1Gi    |
