@profile:bind-requests @component:binder @needs:kai @needs:gpu-shares
Feature: The binder gives pods shares of GPUs
  A reservation pod holds a whole GPU for the pods of one GPU group. The program in it reports the index of its GPU; the
  scenarios do that in its place.

  Background:
    Given node "n1"
    And node "n2"
    And the binder reserves GPUs for shares

  @KAI-203 @KAI-204
  Scenario: Each GPU group gets a reservation pod on its node, and its pod is bound with that GPU
    Given a pod "train" that shares 1 GPUs
    And a pod "other" that shares 1 GPUs
    When a BindRequest "train" of pod "train" to "n1" for GPU groups "a" is created
    And a BindRequest "other" of pod "other" to "n2" for GPU groups "b" is created
    Then GPU group "a" has one reservation pod, on "n1" [KAI-203]
    And GPU group "b" has one reservation pod, on "n2" [KAI-203]
    And pod "train" stays unbound [KAI-204]
    When the reservation pod of GPU group "a" reports GPU 3
    And the reservation pod of GPU group "b" reports GPU 5
    Then pod "train" is bound to "n1" [KAI-204]
    And pod "other" is bound to "n2" [KAI-204]
    And pod "train" has the labels of GPU groups "a" [KAI-204]
    And pod "train" gets its GPU groups first, then its ConfigMaps, then its node [KAI-204]
    And the ConfigMap "train-shares-0" has "data.GPU_PORTION" "0.50" [KAI-204]
    And the ConfigMap "train-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "3" [KAI-204]
    And the ConfigMap "train-shares-0" has "metadata.ownerReferences[0].name" train [KAI-204]
    And the ConfigMap "other-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "5" [KAI-204]

  @KAI-204b
  Scenario: A ConfigMap of another pod with the same data becomes the pod's own
    Given a pod "former" that shares 1 GPUs
    And a pod "train" that shares 1 GPUs
    And a ConfigMap "train-shares-0" of pod "former" for GPU 3
    And a ConfigMap "train-shares-0-evar" of pod "former" for GPU 3
    When a BindRequest "train" of pod "train" to "n1" for GPU groups "a" is created
    And the reservation pod of GPU group "a" reports GPU 3
    Then pod "train" is bound to "n1"
    And the ConfigMap "train-shares-0" has "metadata.ownerReferences[*].uid" [$(uid:train)]
    And the ConfigMap "train-shares-0-evar" has "metadata.ownerReferences[*].uid" [$(uid:train)]
    And the ConfigMap "train-shares-0" has "data.GPU_PORTION" "0.50"
    And the ConfigMap "train-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "3"

  @KAI-204b @needs:faults
  Scenario: A ConfigMap of another pod becomes the pod's own although the API server refuses the update once
    Given a pod "former" that shares 1 GPUs
    And a pod "train" that shares 1 GPUs
    And a ConfigMap "train-shares-0" of pod "former" for GPU 3
    And the API server answers 500 to the next 1 updates of ConfigMap
    And a BindRequest "train" of pod "train" to "n1" for GPU groups "a" with backoffLimit 3
    When each reservation pod of GPU group "a" reports GPU 3 until pod "train" is bound
    And every fault has affected a request
    Then pod "train" is bound to "n1"
    And the ConfigMap "train-shares-0" has "metadata.ownerReferences[*].uid" [$(uid:train)]

  @KAI-204c
  Scenario: The visible devices are in the ConfigMap that the container with the share reads
    Given a pod "plain" that shares 1 GPUs, with:
      """
      annotations: {gpu-fraction-container-name: second}
      containers:
        - name: first
          image: registry.k8s.io/pause:3.10
          env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {configMapKeyRef: {name: own, key: NVIDIA_VISIBLE_DEVICES}}}]
        - {name: second, image: registry.k8s.io/pause:3.10}
      """
    And a pod "reading" that shares 1 GPUs, with:
      """
      annotations: {gpu-fraction-container-name: second}
      containers:
        - {name: first, image: registry.k8s.io/pause:3.10}
        - name: second
          image: registry.k8s.io/pause:3.10
          env: [{name: NVIDIA_VISIBLE_DEVICES, valueFrom: {configMapKeyRef: {name: reading-shares-1, key: NVIDIA_VISIBLE_DEVICES}}}]
      """
    When a BindRequest "plain" of pod "plain" to "n1" for GPU groups "a" is created
    And each reservation pod of GPU group "a" reports GPU 3 until pod "plain" is bound
    And a BindRequest "reading" of pod "reading" to "n1" for GPU groups "a" is created
    Then pod "plain" is bound to "n1"
    And pod "reading" is bound to "n1"
    And the ConfigMap "plain-shares-1-evar" has "data.NVIDIA_VISIBLE_DEVICES" "3"
    And the ConfigMap "plain-shares-1" has "data.GPU_PORTION" "0.50"
    And the ConfigMap "reading-shares-1" has "data.NVIDIA_VISIBLE_DEVICES" "3"
    And the ConfigMap "reading-shares-1" has "data.GPU_PORTION" "0.50"

  @KAI-205
  Scenario: A reservation pod that does not report its GPU in time is deleted
    Given the binder waits 2 seconds for a reservation
    And a pod "late" that shares 1 GPUs
    And a pod "quick" that shares 1 GPUs
    When a BindRequest "quick" of pod "quick" to "n1" for GPU groups "b" is created
    And the reservation pod of GPU group "b" reports GPU 1
    Then pod "quick" is bound to "n1"
    When a BindRequest "late" of pod "late" to "n1" for GPU groups "a" is created
    And 3 seconds pass
    Then BindRequest "late" fails with a reason
    And GPU group "a" has no reservation pod
    And pod "late" has no label of a GPU group
    And pod "late" stays unbound
    And GPU group "b" has one reservation pod, on "n1"

  @KAI-205
  Scenario: A reservation pod that is created again has its time to report its GPU
    Given the binder waits 2 seconds for a reservation
    And a pod "late" that shares 1 GPUs
    When a BindRequest "late" of pod "late" to "n1" for GPU groups "a" is created
    And 3 seconds pass
    Then BindRequest "late" fails with a reason
    When the BindRequest "late" is deleted
    And a BindRequest "again" of pod "late" to "n1" for GPU groups "a" with backoffLimit 9 is created
    # A busy machine may need more than one attempt.
    And each reservation pod of GPU group "a" reports GPU 3 until pod "late" is bound
    Then pod "late" is bound to "n1"
    And the ConfigMap "late-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "3"

  @KAI-206 @KAI-212
  Scenario Outline: The pods of a GPU group share one reservation pod, which stays until the last of them has ended (<phase>)
    Given a pod "first" that shares 1 GPUs
    And a pod "second" that shares 1 GPUs
    When a BindRequest "first" of pod "first" to "n1" for GPU groups "a" is created
    And the reservation pod of GPU group "a" reports GPU 2
    Then pod "first" is bound to "n1" [KAI-206]
    When a BindRequest "second" of pod "second" to "n1" for GPU groups "a" is created
    Then pod "second" is bound to "n1" [KAI-206]
    And GPU group "a" has one reservation pod, on "n1" [KAI-206]
    And the ConfigMap "second-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "2" [KAI-206]
    When "status.phase" of the Pod "first" is set to <phase>
    Then GPU group "a" has one reservation pod, on "n1" [KAI-212]
    When pod "second" is deleted
    Then GPU group "a" has no reservation pod [KAI-212]

    Examples:
      | phase     |
      | Succeeded |
      | Failed    |

  @KAI-212
  Scenario: A reservation pod stays while the last pod of its group is being deleted
    Given a pod "first" that shares 1 GPUs
    And a pod "second" that shares 1 GPUs
    And a pod "other" that shares 1 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 2
    And a BindRequest "second" of pod "second" to "n1" for GPU groups "a"
    And a BindRequest "other" of pod "other" to "n1" for GPU groups "b"
    And the reservation pod of GPU group "b" reports GPU 3
    Then pod "first" is bound to "n1"
    And pod "second" is bound to "n1"
    And pod "other" is bound to "n1"
    # A pod that is being deleted still runs.
    Given the Pod "first" is being deleted
    When pod "second" is deleted
    And pod "other" is deleted
    Then GPU group "b" has no reservation pod
    And GPU group "a" has one reservation pod, on "n1"
    Given "metadata.finalizers" of the Pod "first" is set to null
    Then GPU group "a" has no reservation pod

  @KAI-207 @KAI-212
  Scenario: A pod with two GPU groups sees the GPUs of both in their order
    Given a pod "train" that shares 2 GPUs
    And a pod "other" that shares 1 GPUs
    And a BindRequest "other" of pod "other" to "n1" for GPU groups "b"
    And the reservation pod of GPU group "b" reports GPU 1
    Then pod "other" is bound to "n1" [KAI-207]
    Given a BindRequest "train" of pod "train" to "n1" for GPU groups "a, b"
    And the reservation pod of GPU group "a" reports GPU 4
    Then pod "train" is bound to "n1" [KAI-207]
    And pod "train" has the labels of GPU groups "a, b" [KAI-207]
    And the ConfigMap "train-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "4,1" [KAI-207]
    And GPU group "b" has one reservation pod, on "n1" [KAI-207]
    When "status.phase" of the Pod "other" is set to Succeeded
    Then GPU group "b" has one reservation pod, on "n1" [KAI-212]
    When pod "train" is deleted
    Then GPU group "a" has no reservation pod [KAI-212]
    And GPU group "b" has no reservation pod [KAI-212]

  @KAI-208
  Scenario: A share for a pod that names no ConfigMaps fails
    Given a pod "first" that shares 1 GPUs
    And a pod "bad" that shares 1 GPUs
    And "metadata.annotations" of the Pod "bad" is set to null
    And a pod "good" that shares 1 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 0
    Then pod "first" is bound to "n1"
    When a BindRequest "bad" of pod "bad" to "n1" for GPU groups "a" is created
    And a BindRequest "good" of pod "good" to "n1" for GPU groups "a" is created
    Then pod "good" is bound to "n1"
    And BindRequest "bad" fails with a reason
    And pod "bad" stays unbound

  @KAI-209 @needs:faults
  Scenario: A failed binding leaves no label and no ConfigMap
    Given a pod "first" that shares 1 GPUs
    And a pod "second" that shares 1 GPUs
    And a pod "third" that shares 1 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 0
    Then pod "first" is bound to "n1"
    Given the API server answers 500 to the next 100 bindings of Pod
    And the API server answers 500 to the next 1 deletions of ConfigMap, if there are any
    And a BindRequest "second" of pod "second" to "n1" for GPU groups "a"
    And a BindRequest "third" of pod "third" to "n1" for GPU groups "b"
    And the reservation pod of GPU group "b" reports GPU 1
    Then BindRequest "second" fails with a reason
    And BindRequest "third" fails with a reason
    And pod "second" has no label of a GPU group
    And pod "third" has no label of a GPU group
    And the ConfigMap "third-shares-0" is gone
    And the ConfigMap "third-shares-0-evar" is gone
    And pod "first" has the labels of GPU groups "a"

  @KAI-209c @needs:faults
  Scenario: A pod whose binding was processed without a response keeps its share
    Given a pod "train" that shares 1 GPUs
    And the API server loses its answers to the next 1 bindings of Pod
    When a BindRequest "train" of pod "train" to "n1" for GPU groups "a" is created
    And each reservation pod of GPU group "a" reports GPU 3 until pod "train" is bound
    And every fault has affected a request
    Then pod "train" is bound to "n1"
    And the BindRequest "train" has "status.phase" like "Succeeded|Failed"
    And pod "train" has the labels of GPU groups "a"
    And the ConfigMap "train-shares-0" has "data.GPU_PORTION" "0.50"
    And the ConfigMap "train-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "3"
    And GPU group "a" has one reservation pod, on "n1"

  @KAI-209b @needs:faults
  Scenario: A failed binding leaves no unused reservation pod, and a used one stays
    Given a pod "first" that shares 1 GPUs
    And a pod "second" that shares 1 GPUs
    And a pod "third" that shares 1 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 0
    Then pod "first" is bound to "n1"
    Given the API server answers 500 to the next 100 bindings of Pod
    And a BindRequest "second" of pod "second" to "n1" for GPU groups "a"
    And a BindRequest "third" of pod "third" to "n1" for GPU groups "b"
    And the reservation pod of GPU group "b" reports GPU 1
    Then BindRequest "second" fails with a reason
    And BindRequest "third" fails with a reason
    And GPU group "b" has no reservation pod
    And GPU group "a" has one reservation pod, on "n1"

  @KAI-210
  Scenario: A reservation pod that a waiting BindRequest needs stays when its last pod is deleted
    Given a pod "first" that shares 1 GPUs
    And a pod "second" that shares 2 GPUs
    And a pod "other" that shares 1 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 2
    Then pod "first" is bound to "n1"
    Given a BindRequest "other" of pod "other" to "n1" for GPU groups "c"
    And the reservation pod of GPU group "c" reports GPU 3
    Then pod "other" is bound to "n1"
    When a BindRequest "second" of pod "second" to "n1" for GPU groups "b, a" is created
    Then GPU group "b" has one reservation pod, on "n1"
    When pod "other" is deleted
    Then GPU group "c" has no reservation pod
    When pod "first" is deleted
    Then GPU group "a" has one reservation pod, on "n1"
    When the reservation pod of GPU group "b" reports GPU 5
    Then pod "second" is bound to "n1"
    And the ConfigMap "second-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "5,2"

  @KAI-210
  Scenario: A reservation pod stays for a BindRequest that has failed and is tried again
    Given the binder waits 2 seconds for a reservation
    And a pod "first" that shares 1 GPUs
    And a pod "second" that shares 2 GPUs
    When a BindRequest "first" of pod "first" to "n1" for GPU groups "a" is created
    And each reservation pod of GPU group "a" reports GPU 2 until pod "first" is bound
    Then pod "first" is bound to "n1"
    When a BindRequest "second" of pod "second" to "n1" for GPU groups "b, a" with backoffLimit 9 is created
    And 3 seconds pass
    Then BindRequest "second" fails with a reason
    When pod "first" is deleted
    Then GPU group "a" has one reservation pod, on "n1"
    When each reservation pod of GPU group "b" reports GPU 5 until pod "second" is bound
    Then pod "second" is bound to "n1"
    And the ConfigMap "second-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "5,2"

  @KAI-210
  Scenario: A BindRequest that has failed keeps no reservation pod
    Given the binder waits 2 seconds for a reservation
    And a pod "first" that shares 1 GPUs
    And a pod "second" that shares 2 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 2
    Then pod "first" is bound to "n1"
    When a BindRequest "second" of pod "second" to "n1" for GPU groups "b, a" is created
    And 3 seconds pass
    Then BindRequest "second" fails with a reason
    And GPU group "a" has one reservation pod, on "n1"
    When pod "first" is deleted
    Then GPU group "a" has no reservation pod

  @KAI-210b
  Scenario: A reservation pod that only a deleted BindRequest needed is deleted
    Given a pod "first" that shares 1 GPUs
    And a pod "second" that shares 2 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 2
    Then pod "first" is bound to "n1"
    When a BindRequest "second" of pod "second" to "n1" for GPU groups "a, b" is created
    Then GPU group "b" has one reservation pod, on "n1"
    When the BindRequest "second" is deleted
    Then GPU group "b" has no reservation pod
    And GPU group "a" has one reservation pod, on "n1"

  @KAI-211
  Scenario: A running pod whose reservation pod is gone is deleted at the latest at the next binding on its node
    Given a pod "lost" that shares 1 GPUs
    And a pod "starting" that shares 1 GPUs
    And a pod "kept" that shares 1 GPUs
    And a pod "next" that shares 1 GPUs
    And a BindRequest "lost" of pod "lost" to "n1" for GPU groups "a"
    # A binder may fail at first, delete the reservation pod and try again.
    When each reservation pod of GPU group "a" reports GPU 0 until pod "lost" is bound
    Then pod "lost" is bound to "n1"
    Given a BindRequest "starting" of pod "starting" to "n1" for GPU groups "a"
    And a BindRequest "kept" of pod "kept" to "n1" for GPU groups "b"
    When each reservation pod of GPU group "b" reports GPU 1 until pod "kept" is bound
    Then pod "starting" is bound to "n1"
    And pod "kept" is bound to "n1"
    Given "status.phase" of the Pod "lost" is set to Running
    And "status.phase" of the Pod "kept" is set to Running
    When the reservation pod of GPU group "a" is deleted
    And a BindRequest "next" of pod "next" to "n1" for GPU groups "b" is created
    Then pod "next" is bound to "n1"
    And pod "lost" is being deleted or gone
    And the Pod "starting" keeps "metadata.deletionTimestamp" null
    And the Pod "starting" has "spec.nodeName" $(node:n1)
    And the Pod "kept" has "status.phase" Running

  @KAI-213
  Scenario: No GPU is reserved while a pod of the scale-adjust namespace is unschedulable
    Given the binder reserves no GPU while a pod of the scenario is unschedulable
    And a pod "first" that shares 1 GPUs
    And a pod "second" that shares 1 GPUs
    And a pod "third" that shares 1 GPUs
    And a pod "fourth" that shares 1 GPUs
    And a pod "scaling" without claims
    When a BindRequest "first" of pod "first" to "n1" for GPU groups "a" is created
    Then GPU group "a" has one reservation pod, on "n1"
    When the reservation pod of GPU group "a" reports GPU 0
    Then pod "first" is bound to "n1"
    Given "status.conditions" of the Pod "scaling" is set to [{type: PodScheduled, status: "False", reason: Unschedulable}]
    When a BindRequest "third" of pod "third" to "n1" for GPU groups "b" is created
    Then BindRequest "third" fails with a reason
    And GPU group "b" has no reservation pod
    When a BindRequest "second" of pod "second" to "n1" for GPU groups "a" is created
    Then pod "second" is bound to "n1"
    Given "status.conditions" of the Pod "scaling" is set to [{type: PodScheduled, status: "True"}]
    When a BindRequest "fourth" of pod "fourth" to "n1" for GPU groups "b" is created
    Then GPU group "b" has one reservation pod, on "n1"

  @KAI-214
  Scenario: With CDI the visible devices are those of the device plugin's CDI specification
    Given the binder names GPUs as CDI devices
    And a pod "train" that shares 2 GPUs
    And a pod "other" that shares 1 GPUs
    And a BindRequest "other" of pod "other" to "n1" for GPU groups "b"
    And the reservation pod of GPU group "b" reports GPU 1
    Then pod "other" is bound to "n1"
    Given a BindRequest "train" of pod "train" to "n1" for GPU groups "a, b"
    And the reservation pod of GPU group "a" reports GPU 4
    Then pod "train" is bound to "n1"
    And the ConfigMap "other-shares-0-evar" has:
      | field                       | value                                   |
      | data.NVIDIA_VISIBLE_DEVICES | "k8s.device-plugin.nvidia.com/gpu=1" |
    And the ConfigMap "train-shares-0-evar" has:
      | field                       | value                                                                     |
      | data.NVIDIA_VISIBLE_DEVICES | "k8s.device-plugin.nvidia.com/gpu=4,k8s.device-plugin.nvidia.com/gpu=1" |

  @KAI-204 @KAI-206 @needs:faults
  Scenario Outline: A pod gets its share although the API server refuses one of the <what>
    Given a pod "first" that shares 1 GPUs
    And a pod "second" that shares 1 GPUs
    And the API server answers 500 to the next 1 <what>
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a" with backoffLimit 3
    When each reservation pod of GPU group "a" reports GPU 3 until pod "first" is bound
    And every fault has affected a request
    Then pod "first" is bound to "n1" [KAI-204]
    And pod "first" has the labels of GPU groups "a" [KAI-204]
    And the ConfigMap "first-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "3" [KAI-204]
    When a BindRequest "second" of pod "second" to "n1" for GPU groups "a" is created
    Then pod "second" is bound to "n1" [KAI-206]
    And GPU group "a" has one reservation pod, on "n1" [KAI-206]

    Examples:
      | what                          |
      | creations of reservation pods |
      | updates of Pod                |
      | creations of ConfigMap        |

  @KAI-212 @needs:faults
  Scenario: An unused reservation pod is deleted although the API server refuses it once
    Given a pod "first" that shares 1 GPUs
    And a pod "other" that shares 1 GPUs
    And a pod "next" that shares 1 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 0
    Then pod "first" is bound to "n1"
    Given a BindRequest "other" of pod "other" to "n1" for GPU groups "b"
    And the reservation pod of GPU group "b" reports GPU 1
    Then pod "other" is bound to "n1"
    Given the API server answers 500 to the next 1 deletions of reservation pods
    When pod "first" is deleted
    And every fault has affected a request
    And a BindRequest "next" of pod "next" to "n1" for GPU groups "b" is created
    Then pod "next" is bound to "n1"
    And GPU group "a" has no reservation pod
    And GPU group "b" has one reservation pod, on "n1"

  @KAI-212b
  Scenario: A reservation pod whose last pod ended while the binder was stopped is deleted
    Given a pod "first" that shares 1 GPUs
    And a pod "other" that shares 1 GPUs
    And a pod "next" that shares 1 GPUs
    And a BindRequest "first" of pod "first" to "n1" for GPU groups "a"
    And the reservation pod of GPU group "a" reports GPU 0
    Then pod "first" is bound to "n1"
    Given a BindRequest "other" of pod "other" to "n1" for GPU groups "b"
    And the reservation pod of GPU group "b" reports GPU 1
    Then pod "other" is bound to "n1"
    And GPU group "a" has one reservation pod, on "n1"
    Given the binder is stopped
    When pod "first" is deleted
    And the binder that reserves GPUs is started
    And a BindRequest "next" of pod "next" to "n1" for GPU groups "b" is created
    Then pod "next" is bound to "n1"
    And GPU group "a" has no reservation pod
    And GPU group "b" has one reservation pod, on "n1"
