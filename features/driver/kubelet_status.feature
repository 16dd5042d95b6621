@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet reports its node and the pods that use claims
  Schedulers read the Node object. Users read the status and the events of their pods.

  @DRA-285b
  Scenario: A kubelet registers its node
    When a kubelet starts on "n1"
    Then the kubelet of "n1" has started
    And the Node "n1" has:
      | path                                             | value            |
      | metadata.labels['kubernetes.io/hostname']         | $(node:n1)       |
      | metadata.labels['kubernetes.io/os']               | linux            |
      | metadata.labels['kubernetes.io/arch']             | set              |
      | status.conditions[type=Ready][0].status          | "True"           |
      | status.conditions[type=Ready][0].reason          | KubeletReady     |
      | status.addresses[type=Hostname][0].address       | $(node:n1)       |
      | status.addresses[type=InternalIP][0].address     | set              |
      | status.capacity.cpu                              | set              |
      | status.capacity.memory                           | set              |
      | status.capacity.pods                             | set              |
      | status.allocatable.cpu                           | set              |
      | status.allocatable.memory                        | set              |
      | status.allocatable.pods                          | set              |

  @DRA-265b @DRA-265c @DRA-265d @needs:virtual-clock
  Scenario: The status and an event of a pod show that its claims are not prepared
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And the scripted driver "sim" fails every claim
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a" and the containers:
      | name | claims |
      | main | a      |
      | side |        |
    When pod "train" is bound by hand to "n1"
    Then the Pod "train" has: [DRA-265b]
      | path                                                             | value             |
      | status.phase                                                     | Pending           |
      | status.startTime                                                 | the present time  |
      | status.containerStatuses[*].name                                 | [main, side]      |
      | status.containerStatuses[*].ready                                | [false, false]    |
      | status.containerStatuses[*].started                              | [false, false]    |
      | status.containerStatuses[*].restartCount                         | [0, 0]            |
      | status.containerStatuses[0].image                                | set               |
      | status.containerStatuses[0].containerID                          | empty             |
      | status.containerStatuses[*].state.waiting.reason                 | [ContainerCreating, ContainerCreating] |
      | status.conditions[type=PodReadyToStartContainers][0].status      | "False"           |
      | status.conditions[type=Initialized][0].status                    | "True"            |
      | status.conditions[type=Initialized][0].message                   | null              |
      | status.conditions[type=Initialized][0].lastTransitionTime        | the present time  |
      | status.conditions[type=Ready][0].status                          | "False"           |
      | status.conditions[type=Ready][0].reason                          | ContainersNotReady |
      | status.conditions[type=Ready][0].lastTransitionTime              | the present time  |
      | status.conditions[type=ContainersReady][0].status                | "False"           |
      | status.conditions[type=ContainersReady][0].reason                | ContainersNotReady |
    And an event of pod "train" has: [DRA-265c]
      | path               | value                                                  |
      | type               | Warning                                                |
      | reason             | FailedPrepareDynamicResources                          |
      | message            | like ".*repare dynamic resources: .*scripted failure.*" |
      | involvedObject.uid | $(uid:train)                                           |
      | involvedObject.apiVersion | v1                                              |
      | source.component   | kubelet                                                |
      | source.host        | $(node:n1)                                             |
      | reportingComponent | kubelet                                                |
      | reportingInstance  | $(node:n1)                                             |
      | firstTimestamp     | the present time                                       |
      | lastTimestamp      | the present time                                       |
      | count              | set                                                    |
    # A later failure of another kind has an event too.
    When the scripted driver "sim" omits "a"
    And 120 seconds pass
    Then an event of pod "train" says "skipped 1" [DRA-265c]
    And the event "FailedPrepareDynamicResources" of pod "train" comes to count 1 attempts [DRA-265d]
    When the scripted driver "sim" works
    And 30 seconds pass
    Then pod "train" reaches phase Running [DRA-265b]
    And the Pod "train" has: [DRA-265b]
      | path                                                             | value             |
      | status.startTime                                                 | an earlier time   |
      | status.conditions[type=Initialized][0].lastTransitionTime        | an earlier time   |
      | status.conditions[type=Ready][0].lastTransitionTime              | the present time  |
      | status.conditions[type=Ready][0].message                         | null              |
      | status.containerStatuses[*].ready                                | [true, true]      |
      | status.containerStatuses[*].started                              | [true, true]      |
      | status.containerStatuses[*].state.running.startedAt              | set               |
      | status.containerStatuses[0].containerID                          | set               |
      | status.containerStatuses[0].state.waiting                        | null              |
      | status.conditions[type=PodReadyToStartContainers][0].status      | "True"            |
      | status.conditions[type=Initialized][0].status                    | "True"            |
      | status.conditions[type=Ready][0].status                          | "True"            |
      | status.conditions[type=Ready][0].reason                          | null              |
      | status.conditions[type=ContainersReady][0].status                | "True"            |
      | status.hostIP                                                    | set               |
      | status.hostIPs[*].ip                                             | set               |
      | status.podIP                                                     | set               |
      | status.podIPs[*].ip                                              | set               |

  @DRA-265b @needs:virtual-clock
  Scenario: The status of a pod shows that its CDI device is not found
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And the scripted driver "sim" writes no CDI file for "a"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then the Pod "train" has:
      | path                                                             | value                |
      | status.phase                                                     | Pending              |
      | status.containerStatuses[0].ready                                | false                |
      | status.containerStatuses[0].state.waiting.reason                 | CreateContainerError |
      | status.containerStatuses[0].state.waiting.message                | like ".*unresolvable CDI devices.*" |
      | status.conditions[type=PodReadyToStartContainers][0].status      | "True"               |
      | status.conditions[type=Ready][0].status                          | "False"              |
      | status.conditions[type=Ready][0].reason                          | ContainersNotReady   |

  @DRA-271 @DRA-265b
  Scenario: Init containers and sidecars get the devices of their requests
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a" and the containers:
      | name  | claims  | kind    |
      | first | a/big   | init    |
      | side  | a/small | sidecar |
      | main  | a       |         |
      | none  |         |         |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DRA-265b]
    And of the variables "DEVICE_*", container "first" of pod "train" on "n1" has only "DEVICE_A_BIG" [DRA-271]
    And of the variables "DEVICE_*", container "side" of pod "train" on "n1" has only "DEVICE_A_SMALL" [DRA-271]
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_BIG, DEVICE_A_SMALL" [DRA-271]
    And of the variables "DEVICE_*", container "none" of pod "train" on "n1" has only "" [DRA-271]
    And the Pod "train" has: [DRA-265b]
      | path                                                        | value          |
      | status.containerStatuses[*].name                            | [main, none]   |
      | status.initContainerStatuses[*].name                        | [first, side]  |
      | status.initContainerStatuses[*].ready                       | [true, true]   |
      | status.initContainerStatuses[*].started                     | [false, true]  |
      | status.initContainerStatuses[0].state.terminated.exitCode   | 0              |
      | status.initContainerStatuses[0].state.terminated.reason     | Completed      |
      | status.initContainerStatuses[1].state.running.startedAt     | set            |

  @DRA-275b @needs:virtual-clock
  Scenario: The status of a deleted pod says whether its containers ran
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "waiting" with the reserved claims "b"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted driver "sim" fails every claim
    And the scripted driver "sim" fails every claim in Unprepare
    And pod "waiting" is bound by hand to "n1"
    Then an event of pod "waiting" says "scripted failure"
    # The finalizers keep the Pod objects, so that their last status can be read.
    When "metadata.finalizers" of the Pod "train" is set to [dra.test/hold]
    And "metadata.finalizers" of the Pod "waiting" is set to [dra.test/hold]
    And pod "train" is deleted
    And pod "waiting" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a"
    And the Pod "train" keeps "status.phase" Running
    When the scripted driver "sim" works
    And 30 seconds pass
    Then the Pod "train" has:
      | path                                                             | value              |
      | status.phase                                                     | Succeeded          |
      | status.containerStatuses[*].state.terminated.exitCode            | [0]                |
      | status.containerStatuses[*].state.terminated.startedAt           | set                |
      | status.conditions[type=Ready][0].status                          | "False"            |
      | metadata.deletionGracePeriodSeconds                              | 0                  |
    And the Pod "waiting" has:
      | path                                                             | value              |
      | status.phase                                                     | Failed             |
      | metadata.deletionGracePeriodSeconds                              | 0                  |
    When "metadata.finalizers" of the Pod "train" is set to null
    And "metadata.finalizers" of the Pod "waiting" is set to null
    Then the Pod "train" is gone
    And the Pod "waiting" is gone

  @DRA-280b
  Scenario: A kubelet with a damaged checkpoint does not start
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the kubelet of "n1" is stopped
    And "ClaimName" in the checkpoint of the kubelet of "n1" is replaced by "ClaimUIDs"
    And a kubelet starts on "n1"
    Then the kubelet of "n1" has not started, and the error says "dra_manager_state"
    When "ClaimUIDs" in the checkpoint of the kubelet of "n1" is replaced by "ClaimName"
    And a kubelet starts on "n1"
    Then the kubelet of "n1" has started
    When pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" receives one Unprepare call for "a"

  @DRA-275b
  Scenario Outline: The status of a pod whose containers ended: <phase>
    Given new pods have the restart policy "Never"
    And node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a" and the containers:
      | name | claims |
      | main | a      |
      | side |        |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the containers of pod "train" on "n1" end in phase <phase>
    Then the Pod "train" has:
      | path                                                             | value              |
      | status.phase                                                     | <phase>            |
      | status.containerStatuses[*].name                                 | [main, side]       |
      | status.containerStatuses[*].ready                                | [false, false]     |
      | status.containerStatuses[*].state.terminated.exitCode            | [<code>, <code>]   |
      | status.containerStatuses[*].state.terminated.reason              | [<why>, <why>]     |
      | status.containerStatuses[0].state.terminated.finishedAt          | the present time   |
      | status.containerStatuses[0].state.terminated.startedAt           | set                |
      | status.containerStatuses[0].state.running                        | null               |
      | status.conditions[type=PodReadyToStartContainers][0].status      | "False"            |
      | status.conditions[type=Initialized][0].status                    | "True"             |
      | status.conditions[type=Ready][0].status                          | "False"            |
      | status.conditions[type=Ready][0].reason                          | <condition>        |
      | status.conditions[type=ContainersReady][0].status                | "False"            |
      | status.conditions[type=ContainersReady][0].reason                | <condition>        |

    Examples:
      | phase     | code | why       | condition    |
      | Succeeded | 0    | Completed | PodCompleted |
      | Failed    | 1    | Error     | PodFailed    |

  @DRA-840 @needs:faults
  Scenario: The status of each pod is written although the API server refuses it once
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "beside" with the reserved claims "b"
    And the API server answers 500 to the next 1 status updates of Pod
    When pod "train" is bound by hand to "n1"
    And every fault has affected a request
    Then pod "train" reaches phase Running
    Given the API server answers 500 to the next 1 status updates of Pod
    When pod "beside" is bound by hand to "n1"
    And every fault has affected a request
    Then pod "beside" reaches phase Running
