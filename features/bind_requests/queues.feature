@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:pod-groups @needs:queues
Feature: The pods of a queue take no more than its limits
  Teams share a cluster through queues. A pod that would exceed the limit of its queue waits, although nodes have room,
  and takes no devices meanwhile.

  Background:
    Given node "n1" with 6 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}

  @KAI-302
  Scenario: As many pods as the limit of their queue allows get devices
    Given a Queue "limited" below "department" with {cpu: {limit: 2000}}
    And a Queue "open" below "department" with {}
    And a PodGroup "few" of Queue "limited"
    And a PodGroup "all" of Queue "open"
    And pods "few" 1 to 3 of PodGroup "few" using template "one" and requesting {cpu: 1}
    And pods "all" 1 to 3 of PodGroup "all" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "few" get BindRequests, with a device each
    And 3 pods of PodGroup "all" get BindRequests, with a device each

  @KAI-302
  Scenario: The limit of a queue holds for the pods of all of its PodGroups
    Given a Queue "limited" below "department" with {cpu: {limit: 3000}}
    And a PodGroup "first" of Queue "limited"
    And a PodGroup "second" of Queue "limited"
    And pods "first" 1 to 2 of PodGroup "first" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "first" get BindRequests, with a device each
    Given pods "second" 1 to 2 of PodGroup "second" using template "one" and requesting {cpu: 1}
    Then 1 pods of PodGroup "second" get BindRequests, with a device each

  @KAI-302
  Scenario: A gang that would exceed the limit of its queue gets nothing
    Given a Queue "limited" below "department" with {cpu: {limit: 2000}}
    And a PodGroup "train" of Queue "limited" that needs 3 pods
    And a PodGroup "small" of Queue "limited" that needs 2 pods
    And pods "train" 1 to 3 of PodGroup "train" using template "one" and requesting {cpu: 1}
    Then no pod of PodGroup "train" gets a BindRequest
    Given pods "small" 1 to 2 of PodGroup "small" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "small" get BindRequests, with a device each
    And no pod of PodGroup "train" gets a BindRequest

  @KAI-302b
  Scenario: A waiting pod is placed once a pod of its queue is gone
    Given a Queue "limited" below "department" with {cpu: {limit: 1000}}
    And a PodGroup "train" of Queue "limited"
    And pods "first" 1 to 1 of PodGroup "train" using template "one" and requesting {cpu: 1}
    Then pod "first-1" gets exactly one BindRequest
    Given pods "second" 1 to 1 of PodGroup "train" using template "one" and requesting {cpu: 1}
    Then pod "second-1" gets no BindRequest
    When pod "first-1" is deleted
    Then pod "second-1" gets exactly one BindRequest

  @KAI-302b
  Scenario: A waiting pod is placed once the limit of its queue is higher
    Given a Queue "limited" below "department" with {cpu: {limit: 1000}}
    And a PodGroup "train" of Queue "limited"
    And pods "train" 1 to 3 of PodGroup "train" using template "one" and requesting {cpu: 1}
    Then 1 pods of PodGroup "train" get BindRequests, with a device each
    When "cpu" of Queue "limited" is changed to {limit: 2000}
    Then 2 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-303
  Scenario: The limit of a queue holds for all queues below it
    Given a top Queue "limited" with {cpu: {limit: 3000}}
    And a Queue "left" below "limited" with {}
    And a Queue "right" below "limited" with {}
    And a PodGroup "left" of Queue "left"
    And a PodGroup "right" of Queue "right"
    And pods "left" 1 to 2 of PodGroup "left" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "left" get BindRequests, with a device each
    Given pods "right" 1 to 2 of PodGroup "right" using template "one" and requesting {cpu: 1}
    Then 1 pods of PodGroup "right" get BindRequests, with a device each

  @KAI-303
  Scenario: The limit of a queue holds for the queues two levels below it
    Given a top Queue "limited" with {cpu: {limit: 3000}}
    And a Queue "left" below "limited" with {}
    And a Queue "right" below "limited" with {}
    And a Queue "left-team" below "left" with {}
    And a Queue "right-team" below "right" with {}
    And a PodGroup "left" of Queue "left-team"
    And a PodGroup "right" of Queue "right-team"
    And pods "left" 1 to 2 of PodGroup "left" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "left" get BindRequests, with a device each
    Given pods "right" 1 to 2 of PodGroup "right" using template "one" and requesting {cpu: 1}
    Then 1 pods of PodGroup "right" get BindRequests, with a device each

  @KAI-304
  Scenario: A limit of 0 lets no pod in that requests the resource, and -1 lets all in
    Given a Queue "closed" below "department" with {memory: {limit: 0}}
    And a Queue "open" below "department" with {memory: {limit: -1}}
    And a PodGroup "none" of Queue "closed"
    And a PodGroup "all" of Queue "open"
    And pods "all" 1 to 2 of PodGroup "all" using template "one" and requesting {memory: 1Gi}
    Then 2 pods of PodGroup "all" get BindRequests, with a device each
    Given pods "none" 1 to 2 of PodGroup "none" using template "one" and requesting {memory: 1Gi}
    Then no pod of PodGroup "none" gets a BindRequest

  @KAI-305
  Scenario: A pod that requests nothing of the resource is not held up by its limit
    Given node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And a Queue "limited" below "department" with {gpu: {limit: 1}}
    And a PodGroup "whole" of Queue "limited"
    And a PodGroup "plain" of Queue "limited"
    And pods "whole" 1 to 2 of PodGroup "whole" requesting {nvidia.com/gpu: 1}
    Then 1 pods of PodGroup "whole" get BindRequests
    Given pods "plain" 1 to 2 of PodGroup "plain" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "plain" get BindRequests, with a device each

  @KAI-310
  Scenario Outline: The limit of <resource> is in <unit>
    Given a Queue "limited" below "department" with {<resource>: {limit: <limit>}}
    And a PodGroup "train" of Queue "limited"
    And pods "train" 1 to 3 of PodGroup "train" using template "one" and requesting {<resource>: <request>}
    Then <pods> pods of PodGroup "train" get BindRequests, with a device each

    Examples:
      | resource | unit                | limit | request | pods |
      | cpu      | thousandths of one  | 500   | 250m    | 2    |
      | memory   | 1,000,000 bytes     | 600   | 300M    | 2    |
      | memory   | no binary megabytes | 600   | 300Mi   | 1    |

  @KAI-311
  Scenario: Portions of GPUs add up to the limit of their queue
    Given node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And a Queue "limited" below "department" with {gpu: {limit: 1}}
    And a Queue "open" below "department" with {}
    And a PodGroup "few" of Queue "limited"
    And a PodGroup "all" of Queue "open"
    And pods "few" 1 to 3 of PodGroup "few" that share GPUs by {gpu-fraction: "0.5"}
    And pods "all" 1 to 3 of PodGroup "all" that share GPUs by {gpu-fraction: "0.5"}
    Then 2 pods of PodGroup "few" get BindRequests
    And 3 pods of PodGroup "all" get BindRequests

  @KAI-311
  Scenario: A portion of each of two GPUs counts twice in the limit of a queue
    Given node "n1" has {nvidia.com/gpu: 6} of a device plugin
    And a Queue "limited" below "department" with {gpu: {limit: 2}}
    And a PodGroup "few" of Queue "limited"
    And pods "few" 1 to 3 of PodGroup "few" that share GPUs by {gpu-fraction: "0.5", gpu-fraction-num-devices: "2"}
    Then 2 pods of PodGroup "few" get BindRequests

  @KAI-306
  Scenario: Pods that cannot be preempted take no more than the quota of their queue
    Given a Queue "team" below "department" with {cpu: {quota: 1000}}
    And a PodGroup "batch" of Queue "team"
    And a PodGroup "serve" of Queue "team" that cannot be preempted
    And the quota of Queue "department" is {cpu: 4000}
    And pods "batch" 1 to 2 of PodGroup "batch" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "batch" get BindRequests, with a device each
    Given pods "serve" 1 to 2 of PodGroup "serve" using template "one" and requesting {cpu: 1}
    Then 1 pods of PodGroup "serve" get BindRequests, with a device each

  @KAI-493
  Scenario: Pods that cannot be preempted take no more than the quota of the queue above theirs
    Given a Queue "left" below "department" with {cpu: {quota: 2000}}
    And a Queue "right" below "department" with {cpu: {quota: 2000}}
    And the quota of Queue "department" is {cpu: 3000}
    And a PodGroup "left" of Queue "left" that cannot be preempted
    And a PodGroup "right" of Queue "right" that cannot be preempted
    And pods "left" 1 to 2 of PodGroup "left" using template "one" and requesting {cpu: 1}
    Then 2 pods of PodGroup "left" get BindRequests, with a device each
    Given pods "right" 1 to 2 of PodGroup "right" using template "one" and requesting {cpu: 1}
    Then 1 pods of PodGroup "right" get BindRequests, with a device each

  @KAI-307
  Scenario: Pods that can be preempted take more than the quota of their queue, up to its limit
    Given a Queue "team" below "department" with {cpu: {quota: 1000, limit: 3000}}
    And a PodGroup "batch" of Queue "team"
    And pods "batch" 1 to 4 of PodGroup "batch" using template "one" and requesting {cpu: 1}
    Then 3 pods of PodGroup "batch" get BindRequests, with a device each

  @KAI-300
  Scenario: Pods of a queue that does not exist wait for it
    Given a Queue "there" below "department" with {}
    And a PodGroup "late" of Queue "missing"
    And a PodGroup "ready" of Queue "there"
    And pods "late" 1 to 2 of PodGroup "late" using template "one"
    And pods "ready" 1 to 2 of PodGroup "ready" using template "one"
    Then 2 pods of PodGroup "ready" get BindRequests, with a device each
    And no pod of PodGroup "late" gets a BindRequest
    When a Queue "missing" below "department" with {} is created
    Then 2 pods of PodGroup "late" get BindRequests, with a device each

  @KAI-300
  Scenario: Pods are placed once their PodGroup moves to a queue that exists
    Given a Queue "there" below "department" with {}
    And a PodGroup "train" of Queue "missing"
    And pods "train" 1 to 2 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest
    When PodGroup "train" moves to Queue "there"
    Then 2 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-301
  Scenario: Pods of a queue below a missing one wait
    Given a Queue "team" below "missing" with {}
    And a Queue "squad" below "team" with {}
    And a Queue "there" below "department" with {}
    And a PodGroup "late" of Queue "squad"
    And a PodGroup "ready" of Queue "there"
    And pods "late" 1 to 2 of PodGroup "late" using template "one"
    And pods "ready" 1 to 2 of PodGroup "ready" using template "one"
    Then 2 pods of PodGroup "ready" get BindRequests, with a device each
    And no pod of PodGroup "late" gets a BindRequest
    When a top Queue "missing" with {} is created
    Then 2 pods of PodGroup "late" get BindRequests, with a device each

  @KAI-314
  Scenario: A pod with a BindRequest counts in its queue before it is bound, also for a scheduler that starts later
    Given a Queue "limited" below "department" with {cpu: {limit: 1000}}
    And a PodGroup "train" of Queue "limited"
    And pods "first" 1 to 1 of PodGroup "train" using template "one" and requesting {cpu: 1}
    Then pod "first-1" gets exactly one BindRequest
    Given pods "second" 1 to 1 of PodGroup "train" using template "one" and requesting {cpu: 1}
    When the scheduler is started again
    Then pod "second-1" gets no BindRequest

  @KAI-059
  Scenario: Devices of GPU classes count in the queue, those of other classes do not
    Given a DeviceClass "gpu" for those devices
    And a ResourceClaimTemplate "two" for 2 of "gpu"
    And a ResourceClaimTemplate "others" for 2 of "accelerator"
    And a Queue "limited" below "department" with {gpu: {limit: 1}}
    And a PodGroup "gpus" of Queue "limited"
    And a PodGroup "plain" of Queue "limited"
    And pods "gpus" 1 to 1 of PodGroup "gpus" using template "two"
    And pods "plain" 1 to 2 of PodGroup "plain" using template "others"
    Then 2 pods of PodGroup "plain" get BindRequests
    And no pod of PodGroup "gpus" gets a BindRequest
    When "gpu" of Queue "limited" is changed to {limit: 2}
    Then 1 pods of PodGroup "gpus" get BindRequests

  @KAI-059
  Scenario: The devices of all claims of a pod count in the queue
    Given a DeviceClass "gpu" for those devices
    And a ResourceClaimTemplate "gpu" for 1 of "gpu"
    And a Queue "limited" below "department" with {gpu: {limit: 1}}
    And a PodGroup "pair" of Queue "limited"
    And a PodGroup "single" of Queue "limited"
    And a pod "pair-1" of PodGroup "pair" using template "gpu" with:
      """
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}, {name: more, resourceClaimTemplateName: gpu}]
      """
    Then no pod of PodGroup "pair" gets a BindRequest
    Given pods "single" 1 to 1 of PodGroup "single" using template "gpu"
    Then 1 pods of PodGroup "single" get BindRequests

  @KAI-060
  Scenario: Devices of pods that cannot be preempted count in the quota of their queue
    Given a DeviceClass "gpu" for those devices
    And a ResourceClaimTemplate "gpu" for 1 of "gpu"
    And the quota of Queue "department" is {gpu: 4}
    And a Queue "team" below "department" with {gpu: {quota: 1}}
    And a PodGroup "serve" of Queue "team" that cannot be preempted
    And pods "serve" 1 to 2 of PodGroup "serve" using template "gpu"
    Then 1 pods of PodGroup "serve" get BindRequests, with a device each

  @KAI-318 @needs:restartable-scheduler
  Scenario Outline: The queue of higher priority is served first (<first>, <second>)
    Given the scheduler is stopped
    And a Queue "alpha" below "department" <first>
    And a Queue "omega" below "department" <second>
    And a PodGroup "alpha" of Queue "alpha"
    And a PodGroup "omega" of Queue "omega"
    And pods "<later>" 1 to 1 of PodGroup "<later>" using template "one" and requesting {cpu: 40}
    And pods "<served>" 1 to 1 of PodGroup "<served>" using template "one" and requesting {cpu: 40}
    When the scheduler is started
    Then 1 pods of PodGroup "<served>" get BindRequests, with a device each
    And no pod of PodGroup "<later>" gets a BindRequest

    Examples:
      | first           | second          | served | later |
      | of priority 200 | of priority 150 | alpha  | omega |
      | of priority 150 | of priority 200 | omega  | alpha |
      | with {}         | of priority 99  | alpha  | omega |
      | of priority 99  | with {}         | omega  | alpha |

  @KAI-510 @needs:restartable-scheduler
  Scenario Outline: Two queues share the GPUs by their weights (<alpha> to <omega>)
    Given the scheduler is stopped
    And node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And a Queue "alpha" below "department" with {gpu: {overQuotaWeight: <first>}}
    And a Queue "omega" below "department" with {gpu: {overQuotaWeight: <second>}}
    And a PodGroup "alpha" of Queue "alpha"
    And a PodGroup "omega" of Queue "omega"
    And pods "alpha" 1 to 4 of PodGroup "alpha" using template "one" and requesting {nvidia.com/gpu: 1}
    And pods "omega" 1 to 4 of PodGroup "omega" using template "one" and requesting {nvidia.com/gpu: 1}
    When the scheduler is started
    Then <alpha> pods of PodGroup "alpha" get BindRequests, with a device each
    And <omega> pods of PodGroup "omega" get BindRequests, with a device each

    Examples:
      | first | second | alpha | omega |
      | 1     | 1      | 2     | 2     |
      | 3     | 1      | 3     | 1     |
      | 1     | 3      | 1     | 3     |

  @KAI-510 @needs:restartable-scheduler
  Scenario: A queue gets its quota first, and then its part of what is left
    Given the scheduler is stopped
    And node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And the quota of Queue "department" is {gpu: 4}
    And a Queue "alpha" below "department" with {gpu: {overQuotaWeight: 1}}
    And a Queue "omega" below "department" with {gpu: {quota: 2, overQuotaWeight: 1}}
    And a PodGroup "alpha" of Queue "alpha"
    And a PodGroup "omega" of Queue "omega"
    And pods "alpha" 1 to 4 of PodGroup "alpha" using template "one" and requesting {nvidia.com/gpu: 1}
    And pods "omega" 1 to 4 of PodGroup "omega" using template "one" and requesting {nvidia.com/gpu: 1}
    When the scheduler is started
    Then 1 pods of PodGroup "alpha" get BindRequests, with a device each
    And 3 pods of PodGroup "omega" get BindRequests, with a device each
