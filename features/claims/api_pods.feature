@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Pods as the API server completes and validates them
  Schedulers, kubelets and controllers read the stored pod. They do not guess defaults, and do not check again what the
  API server has checked. These scenarios run on a control plane that the run started.

  @DRA-678
  Scenario Outline: A new pod with <what> has "<path>" <stored>
    Given the manifest "claims/plain-pod"
    And "<field>" is <value>
    When it is created
    Then the API server accepts it
    And its "<path>" reads <stored>

    Examples: defaults of the spec
      | what                   | field                                  | value                                  | path                                              | stored                 |
      | no restart policy      | spec.restartPolicy                     | null                                   | spec.restartPolicy                                | Always                 |
      | no grace period        | spec.terminationGracePeriodSeconds     | null                                   | spec.terminationGracePeriodSeconds                | 30                     |
      | a grace period         | spec.terminationGracePeriodSeconds     | 7                                      | spec.terminationGracePeriodSeconds                | 7                      |
      | a negative period      | spec.terminationGracePeriodSeconds     | -5                                     | spec.terminationGracePeriodSeconds                | 1                      |
      | no DNS policy          | spec.dnsPolicy                         | null                                   | spec.dnsPolicy                                    | ClusterFirst           |
      | no scheduler | spec.schedulerName | null | spec.schedulerName | default-scheduler |
      | no security context | spec.securityContext | null | spec.securityContext | {} |
      | no service links       | spec.enableServiceLinks                | null                                   | spec.enableServiceLinks                           | true                   |
      | no service account     | spec.serviceAccountName                | null                                   | spec.serviceAccountName                           | default                |
      | no priority            | spec.priorityClassName                 | null                                   | spec.priority                                     | 0                      |
      | no preemption policy   | spec.preemptionPolicy                  | null                                   | spec.preemptionPolicy                             | PreemptLowerPriority   |
      | a system priority      | spec.priorityClassName                 | system-cluster-critical                | spec.priority                                     | 2000000000             |
      | a node's priority      | spec.priorityClassName                 | system-node-critical                   | spec.priority                                     | 2000001000             |

    Examples: defaults of containers
      | what                   | field                                  | value                                  | path                                              | stored                 |
      | a tagged image         | spec.containers[0].image               | registry.dra.test/a:1                  | spec.containers[0].imagePullPolicy                | IfNotPresent           |
      | an image without a tag | spec.containers[0].image               | registry.dra.test/a                    | spec.containers[0].imagePullPolicy                | Always                 |
      | the latest image       | spec.containers[0].image               | registry.dra.test/a:latest             | spec.containers[0].imagePullPolicy                | Always                 |
      | a port of the registry | spec.containers[0].image               | registry.dra.test:5000/a               | spec.containers[0].imagePullPolicy                | Always                 |
      | an image by its digest | spec.containers[0].image               | "a@sha256:0123456789012345678901234567890123456789012345678901234567890123" | spec.containers[0].imagePullPolicy | IfNotPresent |
      | a policy of its own    | spec.containers[0].imagePullPolicy     | Never                                  | spec.containers[0].imagePullPolicy                | Never                  |
      | an init container      | spec.initContainers                    | [{name: load, image: "a:1"}]           | spec.initContainers[0].imagePullPolicy            | IfNotPresent           |
      | a message path         | spec.containers[0].terminationMessagePath | null                                | spec.containers[0].terminationMessagePath         | /dev/termination-log   |
      | a message policy       | spec.containers[0].terminationMessagePolicy | null                              | spec.containers[0].terminationMessagePolicy       | File                   |
      | a port                 | spec.containers[0].ports               | [{containerPort: 80}]                  | spec.containers[0].ports                          | [{containerPort: 80, protocol: TCP}] |
      | limits alone           | spec.containers[0].resources           | {limits: {cpu: "1", memory: 1Gi}}      | spec.containers[0].resources.requests             | {cpu: "1", memory: 1Gi} |
      | limits and a request   | spec.containers[0].resources           | {limits: {cpu: "2", memory: 1Gi}, requests: {cpu: 500m}} | spec.containers[0].resources.requests | {cpu: 500m, memory: 1Gi} |
      | a quantity             | spec.containers[0].resources           | {limits: {cpu: 1500m, memory: 1024Mi}} | spec.containers[0].resources.limits               | {cpu: 1500m, memory: 1Gi} |
      | a quantity in thousandths | spec.containers[0].resources        | {limits: {cpu: 2000m, memory: 1000k}}  | spec.containers[0].resources.limits               | {cpu: "2", memory: 1M} |
      | an HTTP probe          | spec.containers[0].livenessProbe       | {httpGet: {port: 80}}                  | spec.containers[0].livenessProbe                  | {httpGet: {port: 80, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3} |
      | a probe's period of 0  | spec.containers[0].readinessProbe      | {tcpSocket: {port: 80}, periodSeconds: 0, failureThreshold: 7} | spec.containers[0].readinessProbe | {tcpSocket: {port: 80}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 7} |
      | a startup probe        | spec.containers[0].startupProbe        | {tcpSocket: {port: 80}, timeoutSeconds: 5} | spec.containers[0].startupProbe               | {tcpSocket: {port: 80}, timeoutSeconds: 5, periodSeconds: 10, successThreshold: 1, failureThreshold: 3} |
      | a field as variable    | spec.containers[0].env                 | [{name: N, valueFrom: {fieldRef: {fieldPath: metadata.name}}}] | spec.containers[0].env[0].valueFrom.fieldRef.apiVersion | v1 |

    Examples: its status
      | what                      | field                        | value                                                                                        | path                                                | stored           |
      | a status of its client    | status                       | {phase: Running, message: mine}                                                               | status.phase                                        | Pending          |
      | a message of its client   | status                       | {phase: Running, message: mine}                                                               | status.message                                      | null             |
      | no resources              | spec.containers[0].resources | {}                                                                                            | status.qosClass                                     | BestEffort       |
      | a request                 | spec.containers[0].resources | {requests: {cpu: "1"}}                                                                        | status.qosClass                                     | Burstable        |
      | limits of one resource    | spec.containers[0].resources | {limits: {cpu: "1"}}                                                                          | status.qosClass                                     | Burstable        |
      | limits                    | spec.containers[0].resources | {limits: {cpu: "1", memory: 1Gi}}                                                             | status.qosClass                                     | Guaranteed       |
      | limits above its requests | spec.containers[0].resources | {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: 500m, memory: 1Gi}}                         | status.qosClass                                     | Burstable        |
      | an extended resource      | spec.containers[0].resources | {limits: {example.com/gpu: 1}}                                                                | status.qosClass                                     | BestEffort       |
      | one container with limits | spec.containers              | [{name: a, image: "a:1", resources: {limits: {cpu: "1", memory: 1Gi}}}, {name: b, image: "a:1"}] | status.qosClass                                  | Burstable        |
      | an init container without | spec.initContainers          | [{name: a, image: "a:1", resources: {limits: {cpu: "1", memory: 1Gi}}}]                       | status.qosClass                                     | Burstable        |
      | a scheduling gate         | spec.schedulingGates         | [{name: example.com/gate}]                                                                    | status.conditions[type=PodScheduled][0].reason      | SchedulingGated  |
      | a gate                    | spec.schedulingGates         | [{name: example.com/gate}]                                                                    | status.conditions[type=PodScheduled][0].status      | "False"          |
      | an empty list of gates    | spec.schedulingGates         | []                                                                                            | status.conditions                                   | null             |

    Examples: default tolerations
      | what                               | field            | value                                                                                                       | path                                                | stored |
      | no tolerations                     | spec.tolerations | null                                                                                                        | spec.tolerations                                    | in any order [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}] |
      | a toleration of everything         | spec.tolerations | [{operator: Exists}]                                                                                        | spec.tolerations                                    | [{operator: Exists}] |
      | a toleration of nodes that are not ready | spec.tolerations | [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]      | spec.tolerations                                    | in any order [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}] |
      | a toleration of another effect     | spec.tolerations | [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoSchedule}]                               | spec.tolerations[key=node.kubernetes.io/unreachable][*].effect | in any order [NoSchedule, NoExecute] |

  @DRA-678
  Scenario: A pod gets value and policy of its priority class
    Given the manifest "claims/priority-class"
    And "preemptionPolicy" is Never
    And it is created
    And the manifest "claims/plain-pod"
    And "spec.priorityClassName" is subject-$(suffix)
    Then the API server comes to accept it
    And its "spec.priority" reads 1000
    And its "spec.preemptionPolicy" reads Never

  @DRA-872
  Scenario: A pod gets overhead, node selector and tolerations of its RuntimeClass
    Given the manifest "claims/runtime-class"
    And it is created
    And the manifest "claims/plain-pod"
    And "spec.runtimeClassName" is subject-$(suffix)
    And "spec.nodeSelector" is {mine: kept}
    When it is created
    Then the API server accepts it
    And its "spec.overhead" reads {cpu: 250m, memory: 120Mi}
    And its "spec.nodeSelector" reads {mine: kept, example.com/runtime: subject}
    And its "spec.tolerations[key=example.com/runtime][*].operator" reads [Exists]

  @DRA-872
  Scenario Outline: A pod with the RuntimeClass <class> and <what> is refused
    Given the manifest "claims/runtime-class"
    And it is created
    And the manifest "claims/runtime-class"
    And "metadata.name" is light-$(suffix)
    And "overhead" is null
    And it is created
    And the manifest "claims/plain-pod"
    And "spec.runtimeClassName" is <class>
    And "<field>" is <value>
    When it is created
    Then the API server refuses it with 403 Forbidden
    And it is not stored

    Examples:
      | class             | what                        | field             | value                          |
      | subject-$(suffix) | another overhead            | spec.overhead     | {cpu: 100m, memory: 120Mi}     |
      | subject-$(suffix) | a part of the overhead      | spec.overhead     | {cpu: 250m}                    |
      | light-$(suffix)   | an overhead of its own      | spec.overhead     | {cpu: 250m, memory: 120Mi}     |
      | null              | an overhead of its own      | spec.overhead     | {cpu: 250m, memory: 120Mi}     |
      | subject-$(suffix) | another node selector       | spec.nodeSelector | {example.com/runtime: another} |
      | missing           | no overhead                 | spec.overhead     | null                           |

  @DRA-872
  Scenario Outline: A pod with <what> has the overhead <overhead>
    Given the manifest "claims/runtime-class"
    And it is created
    And the manifest "claims/runtime-class"
    And "metadata.name" is light-$(suffix)
    And "overhead" is null
    And it is created
    And the manifest "claims/plain-pod"
    And "spec.runtimeClassName" is <class>
    And "spec.overhead" is <given>
    When it is created
    Then the API server accepts it
    And its "spec.overhead" reads <overhead>

    Examples:
      | what                        | class             | given                      | overhead                   |
      | the overhead of its class   | subject-$(suffix) | {cpu: "0.25", memory: 120Mi} | {cpu: 250m, memory: 120Mi} |
      | a class without overhead    | light-$(suffix)   | null                       | null                       |
      | no class                    | null              | null                       | null                       |

  @DRA-678
  Scenario Outline: A pod with <what> is refused
    Given the manifest "claims/plain-pod"
    And "<field>" is <value>
    When it is created
    Then the API server refuses it with 403 Forbidden
    And it is not stored

    Examples:
      | what                                | field                   | value   |
      | a service account that is missing   | spec.serviceAccountName | missing |
      | a priority class that is missing    | spec.priorityClassName  | missing |
      | a priority without its class        | spec.priority           | 5       |

  @DRA-678
  Scenario Outline: Containers of a pod with <what> get the token of the service account: <mounted>
    Given a service account "worker"
    And the manifest "claims/plain-pod"
    And "spec.serviceAccountName" is worker
    And "<field>" is <value>
    When it is created
    Then its "spec.containers[0].volumeMounts[*].mountPath" reads <mounted>
    And its "spec.volumes[*].projected.defaultMode" reads <modes>

    Examples:
      | what                 | field                              | value                                                                              | mounted                                         | modes |
      | no field about it    | spec.automountServiceAccountToken  | null                                                                               | [/var/run/secrets/kubernetes.io/serviceaccount] | [420] |
      | the field switched off | spec.automountServiceAccountToken | false                                                                             | empty                                           | empty |

  @DRA-679
  Scenario Outline: A pod with <what> is invalid
    Given the manifest "claims/plain-pod"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<field>"
    And it is not stored

    Examples: containers
      | what                              | path                        | value                                                                     | reason       | field                               |
      | no containers                     | spec.containers             | []                                                                        | Required     | spec.containers                     |
      | a container without a name        | spec.containers             | [{image: "a:1"}]                                                          | Required     | spec.containers[0].name             |
      | a container with a name in uppercase | spec.containers[0].name  | Main                                                                      | Invalid      | spec.containers[0].name             |
      | a container whose name has a dot  | spec.containers[0].name     | a.b                                                                       | Invalid      | spec.containers[0].name             |
      | two containers of one name        | spec.containers             | [{name: a, image: "a:1"}, {name: a, image: "a:1"}]                        | Duplicate    | spec.containers[1].name             |
      | a container without an image      | spec.containers             | [{name: a, image: "a:1"}, {name: b}]                                      | Required     | spec.containers[1].image            |
      | an image with a blank in front    | spec.containers[0].image    | " a:1"                                                                    | Invalid      | spec.containers[0].image            |
      | an init container of the same name | spec.initContainers        | [{name: main, image: "a:1"}]                                              | Duplicate    | spec.initContainers[0].name         |
      | a port without a number           | spec.containers[0].ports    | [{containerPort: 80}, {name: p}]                                          | Required     | spec.containers[0].ports[1].containerPort |
      | a port of 65536                   | spec.containers[0].ports    | [{containerPort: 65536}]                                                  | Invalid      | spec.containers[0].ports[0].containerPort |
      | a negative port                   | spec.containers[0].ports    | [{containerPort: -1}]                                                     | Invalid      | spec.containers[0].ports[0].containerPort |
      | a variable without a name         | spec.containers[0].env      | [{name: A, value: b}, {value: c}]                                         | Required     | spec.containers[0].env[1].name      |
      | a mount without its volume        | spec.containers[0].volumeMounts | [{name: missing, mountPath: /a}]                                      | NotFound     | spec.containers[0].volumeMounts[0].name |
      | a port of 65536 of an init container | spec.initContainers | [{name: load, image: "a:1", ports: [{containerPort: 65536}]}] | Invalid | spec.initContainers[0].ports[0].containerPort |
      | a variable of an init container without a name | spec.initContainers | [{name: load, image: "a:1", env: [{value: c}]}] | Required | spec.initContainers[0].env[0].name |
      | a mount of the second container without its volume | spec.containers | [{name: a, image: "a:1"}, {name: b, image: "a:1", volumeMounts: [{name: missing, mountPath: /a}]}] | NotFound | spec.containers[1].volumeMounts[0].name |

    Examples: resources
      | what                                  | path                         | value                                                             | reason   | field                                                       |
      | a request above its limit             | spec.containers[0].resources | {limits: {cpu: "1"}, requests: {cpu: 1001m}}                      | Invalid  | spec.containers[0].resources.requests                       |
      | less of an extended resource than its limit | spec.containers[0].resources | {limits: {example.com/gpu: 2}, requests: {example.com/gpu: 1}} | Invalid  | spec.containers[0].resources.requests                       |
      | an extended resource without a limit  | spec.containers[0].resources | {requests: {example.com/gpu: 1}}                                  | Required | spec.containers[0].resources.limits                         |
      | a request of an init container above its limit | spec.initContainers | [{name: load, image: "a:1", resources: {limits: {cpu: "1"}, requests: {cpu: 1001m}}}] | Invalid | spec.initContainers[0].resources.requests |
      | a request of the second resource above its limit | spec.containers[0].resources | {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: "1", memory: 2Gi}} | Invalid | spec.containers[0].resources.requests |

    Examples: scheduling
      | what                                  | path                       | value                                                                                    | reason       | field                       |
      | an unknown restart policy             | spec.restartPolicy         | Sometimes                                                                                | NotSupported | spec.restartPolicy          |
      | a deadline of 0 s                     | spec.activeDeadlineSeconds | 0                                                                                        | Invalid      | spec.activeDeadlineSeconds  |
      | an uppercase node                     | spec.nodeName              | One                                                                                      | Invalid      | spec.nodeName               |
      | a gate of no name                     | spec.schedulingGates       | [{name: example.com/a}, {name: a b}]                                                     | Invalid      | spec.schedulingGates[1]     |
      | a gate twice                          | spec.schedulingGates       | [{name: a}, {name: b}, {name: a}]                                                        | Duplicate    | spec.schedulingGates[2]     |
      | a toleration without key and operator | spec.tolerations           | [{operator: Exists}, {value: a}]                                                         | Invalid      | spec.tolerations[1].operator |
      | a toleration with an ill-formed key   | spec.tolerations           | [{key: a b, operator: Exists}]                                                           | Invalid      | spec.tolerations[0].key     |
      | a toleration with an ill-formed value | spec.tolerations           | [{key: a, value: b c}]                                                                   | Invalid      | spec.tolerations[0].operator |
      | a toleration with Exists and a value  | spec.tolerations           | [{key: a, operator: Exists, value: b}]                                                   | Invalid      | spec.tolerations[0].operator |
      | a toleration of an unknown operator   | spec.tolerations           | [{key: a, operator: Near}]                                                               | NotSupported | spec.tolerations[0].operator |
      | a toleration of an unknown effect     | spec.tolerations           | [{key: a, operator: Exists, effect: Never}]                                              | NotSupported | spec.tolerations[0].effect  |
      | a toleration that ends, of NoSchedule | spec.tolerations           | [{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 5}]                   | Invalid      | spec.tolerations[0].effect  |
      | a node selector with an ill-formed key | spec.nodeSelector         | {a b: c}                                                                                 | Invalid      | spec.nodeSelector           |
      | a node selector with an ill-formed value | spec.nodeSelector       | {a: b c}                                                                                 | Invalid      | spec.nodeSelector           |
      | node affinity without a term          | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution | {nodeSelectorTerms: []}                   | Required     | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms |
      | node affinity In nothing              | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: In}]}] | Required | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values |
      | node affinity Exists with a value     | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: Exists, values: [b]}]}] | Forbidden | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values |
      | node affinity DoesNotExist with a value | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: DoesNotExist, values: [b]}]}] | Forbidden | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values |
      | node affinity Gt two values           | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: Gt, values: ["1", "2"]}]}] | Required | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values |
      | node affinity of an unknown operator  | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: Near}]}] | Invalid | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator |
      | node affinity of an ill-formed key | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: Exists}, {key: a b, operator: Exists}]}] | Invalid | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].key |

    Examples: claims
      | what                                     | path                | value                                                   | reason   | field                                          |
      | a claim without a name                   | spec.resourceClaims | [{resourceClaimName: c}]                                | Required | spec.resourceClaims[0].name                    |
      | a claim whose name is no label           | spec.resourceClaims | [{name: a.b, resourceClaimName: c}]                     | Invalid  | spec.resourceClaims[0].name                    |
      | a claim with an ill-formed name          | spec.resourceClaims | [{name: a, resourceClaimName: C_}]                      | Invalid  | spec.resourceClaims[0].resourceClaimName       |
      | a claim of a template with an ill-formed name | spec.resourceClaims | [{name: a, resourceClaimTemplateName: C_}]         | Invalid  | spec.resourceClaims[0].resourceClaimTemplateName |

  @DRA-679
  Scenario Outline: A pod with <what> is Invalid, whatever the cause names
    Given the manifest "claims/plain-pod"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it with 422 Invalid
    And it is not stored

    Examples:
      | what                              | path                         | value                                                                                     |
      | half of an extended resource      | spec.containers[0].resources | {limits: {example.com/gpu: 500m}}                                                         |
      | a node and a gate                 | spec                         | {nodeName: n, schedulingGates: [{name: a}], containers: [{name: a, image: "a:1"}]}        |
      | a volume without a name           | spec.volumes                 | [{emptyDir: {}}]                                                                          |
      | two mounts at one path            | spec                         | {volumes: [{name: a, emptyDir: {}}], containers: [{name: a, image: "a:1", volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /a}]}]} |
      | a mount without a path            | spec                         | {volumes: [{name: a, emptyDir: {}}], containers: [{name: a, image: "a:1", volumeMounts: [{name: a}]}]} |
      | a name of a container of 64 letters | spec.containers[0].name    | the text "x" 64 times                                                                     |
      | a deadline beyond 32 bits         | spec.activeDeadlineSeconds   | 2147483648                                                                                |

  @DRA-679
  Scenario Outline: A pod with <what> is valid
    Given the manifest "claims/plain-pod"
    And "<path>" is <value>
    When it is created
    Then the API server accepts it

    Examples:
      | what                                | path                         | value                                                                                  |
      | a name of a container of 63 letters | spec.containers[0].name      | the text "x" 63 times                                                                  |
      | the greatest deadline               | spec.activeDeadlineSeconds   | 2147483647                                                                             |
      | a deadline of 1 s                   | spec.activeDeadlineSeconds   | 1                                                                                      |
      | the least and the greatest port     | spec.containers[0].ports     | [{containerPort: 1}, {containerPort: 65535}]                                           |
      | a request as great as its limit     | spec.containers[0].resources | {limits: {cpu: "1", example.com/gpu: 2}, requests: {cpu: 1000m, example.com/gpu: 2}}   |
      | a toleration that ends              | spec.tolerations             | [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 0}]                  |
      | tolerations of each effect          | spec.tolerations             | [{key: a, operator: Exists, effect: NoSchedule}, {key: a, operator: Equal, value: b, effect: PreferNoSchedule}] |
      | node affinity of each operator      | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: NotIn, values: [c]}, {key: a, operator: Exists}, {key: b, operator: DoesNotExist}, {key: c, operator: Gt, values: ["1"]}, {key: d, operator: Lt, values: ["1"]}]}] |
      | two gates                           | spec.schedulingGates         | [{name: example.com/a}, {name: b}]                                                     |
      | one path in two containers          | spec                         | {volumes: [{name: a, emptyDir: {}}], containers: [{name: a, image: "a:1", volumeMounts: [{name: a, mountPath: /a}]}, {name: b, image: "a:1", volumeMounts: [{name: a, mountPath: /a}]}]} |

  @DRA-680
  Scenario Outline: A pod can be changed to have <what>
    Given the manifest "claims/plain-pod"
    And "<given>" is <before>
    And it is created
    When its "<path>" is updated to <value>
    Then the API server accepts it
    And its "<path>" reads <value>

    Examples:
      | what                      | given                      | before                       | path                       | value                            |
      | another image             | spec.activeDeadlineSeconds | 9                            | spec.containers[0].image   | registry.dra.test/b:1            |
      | another image of an init container | spec.initContainers | [{name: load, image: "a:1"}] | spec.initContainers[0].image | registry.dra.test/b:1 |
      | further node affinity while gated | spec | {schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}, schedulerName: none, containers: [{name: main, image: "a:1"}]} | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: Exists}]}] |
      | a deadline                | spec.activeDeadlineSeconds | null                         | spec.activeDeadlineSeconds | 9                                |
      | a nearer deadline         | spec.activeDeadlineSeconds | 9                            | spec.activeDeadlineSeconds | 8                                |
      | one gate less             | spec.schedulingGates       | [{name: a}, {name: b}]       | spec.schedulingGates       | [{name: b}]                      |
      | other labels              | spec.activeDeadlineSeconds | 9                            | metadata.labels            | {changed: "yes"}                 |
      | a node selector while gated | spec.schedulingGates     | [{name: a}]                  | spec.nodeSelector          | {a: b}                           |
      | its tolerations in another order | spec.tolerations | [{operator: Exists}, {key: a, operator: Exists}] | spec.tolerations | [{key: a, operator: Exists}, {operator: Exists}] |
      | a further toleration      | spec.tolerations           | [{operator: Exists}]         | spec.tolerations           | [{operator: Exists}, {key: a, operator: Exists}] |
      | another time of a toleration | spec.tolerations        | [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {operator: Exists}] | spec.tolerations | [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 6}, {operator: Exists}] |

  @DRA-680
  Scenario Outline: A pod cannot be changed to have <what>
    Given the manifest "claims/plain-pod"
    And "<given>" is <before>
    And it is created
    When its "<path>" is updated to <value>
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | what                      | given                      | before                       | path                              | value                                   |
      | no image                  | spec.activeDeadlineSeconds | 9                            | spec.containers[0].image          | ""                                      |
      | a later deadline          | spec.activeDeadlineSeconds | 9                            | spec.activeDeadlineSeconds        | 10                                      |
      | no deadline               | spec.activeDeadlineSeconds | 9                            | spec.activeDeadlineSeconds        | null                                    |
      | a new gate                | spec.schedulingGates       | [{name: a}]                  | spec.schedulingGates              | [{name: a}, {name: b}]                  |
      | another gate              | spec.schedulingGates       | [{name: a}]                  | spec.schedulingGates              | [{name: b}]                             |
      | a gate                    | spec.schedulingGates       | null                         | spec.schedulingGates              | [{name: a}]                             |
      | a node                    | spec.schedulingGates       | null                         | spec.nodeName                     | n                                       |
      | another scheduler         | spec.schedulingGates       | null                         | spec.schedulerName                | other                                   |
      | another restart policy    | spec.schedulingGates       | null                         | spec.restartPolicy                | Never                                   |
      | another command           | spec.schedulingGates       | null                         | spec.containers[0].command        | [sh]                                    |
      | another command of an init container | spec.initContainers | [{name: load, image: "a:1"}] | spec.initContainers[0].command | [sh] |
      | no image of an init container | spec.initContainers | [{name: load, image: "a:1"}] | spec.initContainers[0].image | "" |
      | another grace period | spec.terminationGracePeriodSeconds | 30 | spec.terminationGracePeriodSeconds | 5 |
      | another second term of node affinity while gated | spec | {schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: b, operator: Exists}]}]}}}, schedulerName: none, containers: [{name: main, image: "a:1"}]} | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: c, operator: Exists}]}] |
      | other node affinity while gated | spec | {schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}, schedulerName: none, containers: [{name: main, image: "a:1"}]} | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: b, operator: Exists}]}] |
      | one more term of node affinity while gated | spec | {schedulingGates: [{name: a}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}, schedulerName: none, containers: [{name: main, image: "a:1"}]} | spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms | [{matchExpressions: [{key: a, operator: Exists}]}, {matchExpressions: [{key: b, operator: Exists}]}] |
      | another service account   | spec.schedulingGates       | null                         | spec.serviceAccountName           | other                                   |
      | a node selector           | spec.schedulingGates       | null                         | spec.nodeSelector                 | {a: b}                                  |
      | less of a node selector while gated | spec             | {schedulingGates: [{name: a}], nodeSelector: {a: b}, schedulerName: none, containers: [{name: main, image: "a:1"}]} | spec.nodeSelector | {c: d} |
      | another toleration        | spec.tolerations           | [{operator: Exists}, {key: a, operator: Exists}] | spec.tolerations | [{operator: Exists}, {key: b, operator: Exists}] |
      | a toleration of another effect | spec.tolerations      | [{operator: Exists}, {key: a, operator: Exists, effect: NoExecute}] | spec.tolerations | [{operator: Exists}, {key: a, operator: Exists, effect: NoSchedule}] |

  @DRA-708
  Scenario: The status of a pod leaves its class of service and its owners as they are
    Given the manifest "claims/plain-pod"
    And "metadata.ownerReferences" is [{apiVersion: dra.test/v1, kind: Widget, name: w, uid: u}]
    And it is created
    When its status "status.qosClass" is updated to Guaranteed
    Then the API server refuses it: Invalid at "status.qosClass"
    When its status "status" is updated to {phase: Running, message: new}
    Then its stored "status.message" reads new
    And its stored "status.qosClass" reads BestEffort
    When its status "metadata.ownerReferences" is updated to null
    Then its stored "metadata.ownerReferences[*].name" reads [w]
    When its status "spec.activeDeadlineSeconds" is updated to 9
    Then its stored "spec.activeDeadlineSeconds" reads null
