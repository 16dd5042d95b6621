@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:pod-groups @needs:queues @needs:own-control-plane
Feature: Pods that name no PodGroup get one
  KAI's scheduler places the pods of PodGroups only. Its podgrouper, a companion of the scheduler, creates the PodGroup of a
  pod from the workload that controls the pod. The reference has no podgrouper and does not support the feature `pod-grouper`.

  Background:
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}

  @KAI-331
  Scenario: A pod without owner gets a PodGroup of its own, which can be preempted
    Given a pod "left" using template "one"
    And a pod "right" using template "one"
    Then the PodGroup of pod "left" has:
      | path                            | value         |
      | spec.minMember                  | 1             |
      | spec.priorityClassName          | train         |
      | metadata.ownerReferences[0].uid | $(uid:left)   |
    And the PodGroup of pod "right" has:
      | path                            | value         |
      | spec.minMember                  | 1             |
      | spec.priorityClassName          | train         |
      | metadata.ownerReferences[0].uid | $(uid:right)  |
    And pod "left" gets exactly one BindRequest
    And pod "right" gets exactly one BindRequest

  @KAI-330
  Scenario: A pod of another scheduler gets no PodGroup
    Given a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "foreign" using claim "claim" is created with:
      """
      schedulerName: another-scheduler
      """
    And a pod "ours" using template "one" is created
    Then pod "ours" gets exactly one BindRequest
    And the Pod "foreign" keeps "metadata.annotations.pod-group-name" null
    And pod "foreign" owns no PodGroup
    And pod "foreign" gets no BindRequest

  @KAI-335
  Scenario: A pod that names a PodGroup keeps it
    Given a PodGroup "gang" of Queue "team" that needs 2 pods
    And pods "gang" 1 to 1 of PodGroup "gang" using template "one"
    And a pod "alone" using template "one"
    Then pod "alone" gets exactly one BindRequest
    And pod "gang-1" owns no PodGroup
    And no pod of PodGroup "gang" gets a BindRequest
    Given pods "last" 1 to 1 of PodGroup "gang" using template "one"
    Then pod "last-1" owns no PodGroup
    When pod "alone" is deleted
    Then 2 pods of PodGroup "gang" get BindRequests, with a device each

  @KAI-332
  Scenario: A pod without the label of a queue is in the default queue
    Given a pod "plain" using template "one" with the labels {kai.scheduler/queue: null}
    Then the PodGroup of pod "plain" has "spec.queue" default-queue
    And pod "plain" gets exactly one BindRequest

  @KAI-334
  Scenario: A pod is in the queue that its own label names, or that of its Job
    Given a Job "large" with the labels {kai.scheduler/queue: $(queue:team)}
    And a pod "large-a" of the Job "large" using template "one" with the labels {kai.scheduler/queue: null}
    And a pod "bare" using template "one" with the labels {kai.scheduler/queue: $(queue:team)}
    Then the PodGroup of pod "large-a" has "spec.queue" $(queue:team)
    And the PodGroup of pod "bare" has "spec.queue" $(queue:team)
    And pod "large-a" gets exactly one BindRequest
    And pod "bare" gets exactly one BindRequest

  @KAI-500
  Scenario: The queue of the Job counts, not that of its pod
    Given a Queue "squad" below "department" with {}
    And a Job "large" with the labels {kai.scheduler/queue: $(queue:team)}
    And a pod "large-a" of the Job "large" using template "one" with the labels {kai.scheduler/queue: $(queue:squad)}
    Then the PodGroup of pod "large-a" has "spec.queue" $(queue:team)
    And pod "large-a" gets exactly one BindRequest

  @KAI-337
  Scenario: The pods of a Job are placed one by one
    Given a Job "batch" with the labels {kai.scheduler/queue: $(queue:team)}
    And a pod "batch-a" of the Job "batch" using template "one" with the labels {}
    Then pod "batch-a" gets exactly one BindRequest
    Given a pod "batch-b" of the Job "batch" using template "one" with the labels {}
    Then pod "batch-b" gets exactly one BindRequest
    And the PodGroup of pod "batch-a" has "spec.minMember" 1
    And the PodGroup of pod "batch-b" has "spec.minMember" 1
    And the PodGroup of pod "batch-a" has "spec.priorityClassName" train

  @KAI-336
  Scenario: Each pod of a Deployment has a PodGroup of its own, of the class for inference
    Given a Deployment "serve" with the labels {kai.scheduler/queue: $(queue:team)}
    And a pod "serve-a" of the Deployment "serve" using template "one" with the labels {}
    And a pod "serve-b" of the Deployment "serve" using template "one" with the labels {}
    Then the PodGroup of pod "serve-a" has:
      | path                            | value          |
      | spec.minMember                  | 1              |
      | spec.priorityClassName          | inference      |
      | spec.queue                      | $(queue:team)  |
      | metadata.ownerReferences[0].uid | $(uid:serve-a) |
    And the PodGroup of pod "serve-b" has:
      | path                            | value          |
      | spec.minMember                  | 1              |
      | metadata.ownerReferences[0].uid | $(uid:serve-b) |

  @KAI-346
  Scenario Outline: The PriorityClass of a PodGroup is that of a label <where>
    Given a PriorityClass "low" with value 40
    And a PriorityClass "high" with value 90
    And a Job "batch" with the labels <job>
    And a pod "batch-a" of the Job "batch" using template "one" with the labels <pod>
    Then the PodGroup of pod "batch-a" has "spec.priorityClassName" $(class:low)
    And pod "batch-a" gets exactly one BindRequest

    Examples:
      | where                       | job                               | pod                                |
      | of the Job                  | {priorityClassName: $(class:low)} | {}                                 |
      | of the pod                  | {}                                | {priorityClassName: $(class:low)}  |
      | of the Job before the pod's | {priorityClassName: $(class:low)} | {priorityClassName: $(class:high)} |

  @KAI-346
  Scenario: The PriorityClass of a pod is that of its PodGroup
    Given a ResourceClaim "claim" for 1 of "accelerator"
    And a PriorityClass "high" with value 90
    When a pod "train" using claim "claim" is created with:
      """
      priorityClassName: $(class:high)
      """
    Then the PodGroup of pod "train" has "spec.priorityClassName" $(class:high)
    And pod "train" gets exactly one BindRequest

  @KAI-501
  Scenario Outline: The label of a pod says whether it can be preempted (<value>)
    Given a pod "train" using template "one" with the labels {kai.scheduler/preemptibility: <value>}
    Then the PodGroup of pod "train" has "spec.preemptibility" <value>
    And pod "train" gets exactly one BindRequest

    Examples:
      | value           |
      | preemptible     |
      | non-preemptible |

  @KAI-347
  Scenario: A label for preemption with another value has no effect
    Given a pod "train" using template "one" with the labels {kai.scheduler/preemptibility: sometimes}
    Then the PodGroup of pod "train" has "spec.preemptibility" null
    And pod "train" gets exactly one BindRequest

  @KAI-347
  Scenario: A label that names no PriorityClass has no effect
    Given a pod "train" using template "one" with the labels {priorityClassName: no-such-class}
    Then the PodGroup of pod "train" has "spec.priorityClassName" train
    And pod "train" gets exactly one BindRequest

  @KAI-348
  Scenario: A PodGroup that is moved to another queue stays there
    Given a pod "train" using template "one" with the labels {kai.scheduler/queue: missing}
    Then the PodGroup of pod "train" has "spec.queue" missing
    And pod "train" gets no BindRequest
    When "spec.queue" of the PodGroup of pod "train" is set to $(queue:team)
    Then pod "train" gets exactly one BindRequest
    When "metadata.labels.app" of the Pod "train" is set to batch
    Then the PodGroup of pod "train" keeps "spec.queue" $(queue:team)

  @KAI-349
  Scenario: A pod of another node pool is placed when its PodGroup moves to this one
    Given a pod "train" using template "one" with the labels {kai.scheduler/node-pool: other}
    Then the PodGroup of pod "train" has "metadata.labels" containing {kai.scheduler/node-pool: other}
    And pod "train" gets no BindRequest
    When "metadata.labels" of the PodGroup of pod "train" is set to {app: batch}
    Then pod "train" gets exactly one BindRequest
    When "metadata.labels.app" of the Pod "train" is set to batch
    Then the PodGroup of pod "train" keeps "metadata.labels" without {kai.scheduler/node-pool: other}

  @KAI-350
  Scenario: The PodGroup of a deleted pod is deleted
    Given a pod "train" using template "one"
    And a pod "other" using template "one"
    Then the PodGroup of pod "train" has "metadata.ownerReferences[0].uid" $(uid:train)
    And pod "other" gets exactly one BindRequest
    When pod "train" is deleted
    Then pod "train" owns no PodGroup
    And the PodGroup of pod "other" has "metadata.ownerReferences[0].uid" $(uid:other)
