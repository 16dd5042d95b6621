@profile:bind-requests @component:claim-controller @component:scheduler @component:binder @needs:kai @needs:pod-groups @needs:queues
Feature: A scheduler evicts pods for others and hands on their devices
  KAI's preemption, reclaim and consolidation, for pods with claims. The reference scheduler has none of them
  and does not support the feature `evictions`.

  @KAI-430 @KAI-033
  Scenario: A pod of higher priority gets the device of one with lower priority
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a ResourceClaim "kept" for 1 of "accelerator"
    And a PriorityClass "low" with value 50
    And a PriorityClass "high" with value 90
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "peer" of Queue "team" with PriorityClass "high"
    And a PodGroup "batch" of Queue "team" with PriorityClass "low"
    And a PodGroup "urgent" of Queue "team" with PriorityClass "high"
    And pods "peer" 1 to 1 of PodGroup "peer" using template "one"
    And pods "batch" 1 to 1 of PodGroup "batch" using template "one"
    Then pod "peer-1" is bound to "n1" [KAI-430]
    And pod "batch-1" is bound to "n1" [KAI-430]
    Given pods "urgent" 1 to 1 of PodGroup "urgent" using template "one"
    Then 1 pods of PodGroup "batch" are evicted [KAI-430]
    And pod "urgent-1" is bound to "n1" [KAI-430]
    And no pod of PodGroup "peer" is evicted [KAI-430]
    And every bound pod has its devices [KAI-033]

  @KAI-430
  Scenario: Pods of the same priority do not evict each other
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "low" with value 50
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "first" of Queue "team" with PriorityClass "low"
    And a PodGroup "second" of Queue "team" with PriorityClass "low"
    And pods "first" 1 to 1 of PodGroup "first" using template "one"
    Then pod "first-1" is bound to "n1"
    Given pods "second" 1 to 1 of PodGroup "second" using template "one"
    Then no pod of PodGroup "first" is evicted
    And no pod of PodGroup "second" gets a BindRequest

  @KAI-431
  Scenario: A pod that cannot be preempted keeps its device
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "build" with value 100
    And a PriorityClass "inference" with value 125
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And the quota of Queue "department" is {cpu: -1, memory: -1, gpu: -1}
    And the quota of Queue "team" is {cpu: -1, memory: -1, gpu: -1}
    And a PodGroup "build" of Queue "team" with PriorityClass "build"
    And a PodGroup "serve" of Queue "team" with PriorityClass "inference"
    And pods "build" 1 to 1 of PodGroup "build" using template "one"
    Then pod "build-1" is bound to "n1"
    Given pods "serve" 1 to 1 of PodGroup "serve" using template "one"
    Then no pod of PodGroup "build" is evicted
    And no pod of PodGroup "serve" gets a BindRequest

  @KAI-442
  Scenario: A pod is helped by an eviction although an earlier one, which differs in its claims only, cannot be
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a ResourceClaimTemplate "many" for 9 of "accelerator"
    And a PriorityClass "low" with value 50
    And a PriorityClass "high" with value 90
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "batch" of Queue "team" with PriorityClass "low"
    And a PodGroup "hopeless" of Queue "team" with PriorityClass "high"
    And a PodGroup "urgent" of Queue "team" with PriorityClass "high"
    And pods "batch" 1 to 1 of PodGroup "batch" using template "one"
    Then pod "batch-1" is bound to "n1"
    Given pods "hopeless" 1 to 1 of PodGroup "hopeless" using template "many"
    Then no pod of PodGroup "batch" is evicted
    Given pods "urgent" 1 to 1 of PodGroup "urgent" using template "one"
    Then 1 pods of PodGroup "batch" are evicted
    And pod "urgent-1" is bound to "n1"
    And every bound pod has its devices

  @KAI-435
  Scenario: The device of an evicted pod is handed on when the pod is gone, not before
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "low" with value 50
    And a PriorityClass "high" with value 90
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "batch" of Queue "team" with PriorityClass "low"
    And a PodGroup "urgent" of Queue "team" with PriorityClass "high"
    And pods "batch" 1 to 1 of PodGroup "batch" using template "one"
    Then pod "batch-1" is bound to "n1"
    Given "metadata.finalizers" of the Pod "batch-1" is set to [dra-conformance/hold]
    And pods "urgent" 1 to 1 of PodGroup "urgent" using template "one"
    Then 1 pods of PodGroup "batch" are evicted
    And no pod of PodGroup "urgent" gets a BindRequest
    When "metadata.finalizers" of the Pod "batch-1" is set to null
    Then pod "urgent-1" is bound to "n1"
    And every bound pod has its devices

  @KAI-432 @KAI-234
  Scenario: A queue gets its quota back from one that takes more than its own
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {cpu: {quota: -1}}
    And a Queue "rich" below "department" with {}
    And a Queue "poor" below "department" with {cpu: {quota: 30000}}
    And a PodGroup "first" of Queue "rich"
    And a PodGroup "second" of Queue "rich"
    And a PodGroup "poor" of Queue "poor"
    And pods "first" 1 to 1 of PodGroup "first" using template "one" and requesting {cpu: 30}
    And pods "second" 1 to 1 of PodGroup "second" using template "one" and requesting {cpu: 30}
    Then pod "first-1" is bound to "n1" [KAI-432]
    And pod "second-1" is bound to "n1" [KAI-432]
    Given pods "poor" 1 to 1 of PodGroup "poor" using template "one" and requesting {cpu: 30}
    Then pod "poor-1" is bound to "n1" [KAI-432]
    And 1 pods of the PodGroups "first, second" are evicted [KAI-432]
    And every bound pod has its devices [KAI-234]

  @KAI-431
  Scenario: A queue does not get its quota back from pods that cannot be preempted
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {cpu: {quota: -1}}
    And a Queue "rich" below "department" with {cpu: {quota: 60000}}
    And a Queue "poor" below "department" with {cpu: {quota: 30000}}
    And a PodGroup "serve" of Queue "rich" that cannot be preempted
    And a PodGroup "poor" of Queue "poor"
    And pods "serve" 1 to 2 of PodGroup "serve" using template "one" and requesting {cpu: 30}
    Then 2 pods of PodGroup "serve" get BindRequests, with a device each
    Given pods "poor" 1 to 1 of PodGroup "poor" using template "one" and requesting {cpu: 30}
    Then no pod of PodGroup "serve" is evicted
    And no pod of PodGroup "poor" gets a BindRequest

  @KAI-438
  Scenario: A pod moves to another node so that a larger one fits
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "left" of Queue "team"
    And a PodGroup "filler" of Queue "team"
    And a PodGroup "right" of Queue "team"
    And a PodGroup "large" of Queue "team"
    And pods "left" 1 to 1 of PodGroup "left" using template "one" and requesting {cpu: 30}
    And pods "filler" 1 to 1 of PodGroup "filler" requesting {cpu: 30}
    Then pod "left-1" is bound to "n1"
    And pod "filler-1" is bound to "n1"
    Given node "n2" with 2 devices
    And pods "right" 1 to 1 of PodGroup "right" using template "one" and requesting {cpu: 30}
    Then pod "right-1" is bound to "n2"
    When pod "filler-1" is deleted
    Given pods "large" 1 to 1 of PodGroup "large" using template "one" and requesting {cpu: 60}
    Then 1 pods of the PodGroups "left, right" are evicted
    And pod "large-1" is bound
    And every bound pod has its devices

  @KAI-438
  Scenario: No pod is evicted for a larger one if it has no other place
    Given node "n1" with 2 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a ResourceClaimTemplate "two" for 2 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "small" of Queue "team"
    And a PodGroup "large" of Queue "team"
    And pods "small" 1 to 2 of PodGroup "small" using template "one"
    Then 2 pods of PodGroup "small" get BindRequests, with a device each
    Given pods "large" 1 to 1 of PodGroup "large" using template "two"
    Then no pod of PodGroup "large" gets a BindRequest
    And no pod of PodGroup "small" is evicted

  @KAI-308
  Scenario Outline: Pods of priority <value> take <pods> times the quota of their queue
    Given node "n1"
    And a PriorityClass "class" with value <value>
    And a top Queue "department" with {cpu: {quota: -1}}
    And a Queue "team" below "department" with {cpu: {quota: 1000}}
    And the quota of Queue "department" is {cpu: -1, memory: -1, gpu: -1}
    And a PodGroup "work" of Queue "team" with PriorityClass "class"
    And pods "work" 1 to 2 of PodGroup "work" requesting {cpu: 1}
    Then <pods> pods of PodGroup "work" get BindRequests

    Examples:
      | value | pods |
      | 99    | 2    |
      | 100   | 1    |

  @KAI-308
  Scenario: A pod of priority 99 is evicted for one of a higher priority
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "almost" with value 99
    And a PriorityClass "inference" with value 125
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And the quota of Queue "department" is {cpu: -1, memory: -1, gpu: -1}
    And the quota of Queue "team" is {cpu: -1, memory: -1, gpu: -1}
    And a PodGroup "batch" of Queue "team" with PriorityClass "almost"
    And a PodGroup "serve" of Queue "team" with PriorityClass "inference"
    And pods "batch" 1 to 1 of PodGroup "batch" using template "one"
    Then pod "batch-1" is bound to "n1"
    Given pods "serve" 1 to 1 of PodGroup "serve" using template "one"
    Then 1 pods of PodGroup "batch" are evicted
    And pod "serve-1" is bound to "n1"

  @KAI-375
  Scenario: A gang with more pods than it needs loses the pods above its minimum only
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "low" with value 50
    And a PriorityClass "high" with value 90
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "elastic" of Queue "team" with PriorityClass "low" that needs 2 pods
    And a PodGroup "urgent" of Queue "team" with PriorityClass "high"
    And pods "elastic" 1 to 3 of PodGroup "elastic" using template "one"
    Then pods "elastic" 1 to 3 are bound to "n1"
    Given pods "urgent" 1 to 1 of PodGroup "urgent" using template "one"
    Then 1 pods of PodGroup "elastic" are evicted
    And pod "urgent-1" is bound to "n1"
    And every bound pod has its devices

  @KAI-375b
  Scenario: A gang with as many pods as it needs is evicted as a whole
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "low" with value 50
    And a PriorityClass "high" with value 90
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "rigid" of Queue "team" with PriorityClass "low" that needs 3 pods
    And a PodGroup "urgent" of Queue "team" with PriorityClass "high"
    And pods "rigid" 1 to 3 of PodGroup "rigid" using template "one"
    Then pods "rigid" 1 to 3 are bound to "n1"
    Given pods "urgent" 1 to 1 of PodGroup "urgent" using template "one"
    Then 3 pods of PodGroup "rigid" are evicted
    And pod "urgent-1" is bound to "n1"
    And every bound pod has its devices

  @KAI-368 @needs:scheduler-flags
  Scenario: The rest of a gang is evicted when it has fewer pods than it needs
    Given the scheduler evicts the rest of a gang after 1 seconds
    And node "n1"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "broken" of Queue "team" that needs 2 pods
    And a PodGroup "whole" of Queue "team" that needs 2 pods
    And pods "broken" 1 to 2 of PodGroup "broken" without claims
    And pods "whole" 1 to 2 of PodGroup "whole" without claims
    Then pods "broken" 1 to 2 are bound to "n1"
    And pods "whole" 1 to 2 are bound to "n1"
    When pod "broken-1" is deleted
    Then 2 pods of PodGroup "broken" are evicted
    And no pod of PodGroup "whole" is evicted

  @KAI-369 @needs:scheduler-flags
  Scenario: A gang that is complete again in time keeps its pods
    Given the scheduler evicts the rest of a gang after 12 seconds
    And node "n1"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "train" of Queue "team" that needs 2 pods
    And pods "train" 1 to 2 of PodGroup "train" without claims
    Then pods "train" 1 to 2 are bound to "n1"
    When pod "train-1" is deleted
    Given pods "again" 1 to 1 of PodGroup "train" without claims
    Then pod "again-1" is bound to "n1"
    When 15 seconds pass
    # Only pod "train-1" is gone, which the scenario deleted.
    Then 1 pods of PodGroup "train" are evicted

  @KAI-440
  Scenario: A pod is not evicted before the minimum runtime of its queue
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "low" with value 50
    And a PriorityClass "high" with value 90
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And "preemptMinRuntime" of Queue "team" is 1h
    And a PodGroup "batch" of Queue "team" with PriorityClass "low"
    And a PodGroup "urgent" of Queue "team" with PriorityClass "high"
    And pods "batch" 1 to 1 of PodGroup "batch" using template "one"
    Then pod "batch-1" is bound to "n1"
    Given pods "urgent" 1 to 1 of PodGroup "urgent" using template "one"
    Then no pod of PodGroup "batch" is evicted
    And no pod of PodGroup "urgent" gets a BindRequest

  @KAI-440
  Scenario: The minimum runtime of a queue holds for the queues below it
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PriorityClass "low" with value 50
    And a PriorityClass "high" with value 90
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And "preemptMinRuntime" of Queue "department" is 1h
    And a PodGroup "batch" of Queue "team" with PriorityClass "low"
    And a PodGroup "urgent" of Queue "team" with PriorityClass "high"
    And pods "batch" 1 to 1 of PodGroup "batch" using template "one"
    Then pod "batch-1" is bound to "n1"
    Given pods "urgent" 1 to 1 of PodGroup "urgent" using template "one"
    Then no pod of PodGroup "batch" is evicted
    And no pod of PodGroup "urgent" gets a BindRequest

  @KAI-522
  Scenario Outline: <evicted> pods are evicted for another queue if the <field> of queue <queue> is an hour
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {cpu: {quota: -1}}
    And a Queue "rich" below "department" with {}
    And a Queue "poor" below "department" with {cpu: {quota: 30000}}
    And "<field>" of Queue "<queue>" is 1h
    And a PodGroup "first" of Queue "rich"
    And a PodGroup "second" of Queue "rich"
    And a PodGroup "poor" of Queue "poor"
    And pods "first" 1 to 1 of PodGroup "first" using template "one" and requesting {cpu: 30}
    And pods "second" 1 to 1 of PodGroup "second" using template "one" and requesting {cpu: 30}
    Then pod "first-1" is bound to "n1"
    And pod "second-1" is bound to "n1"
    Given pods "poor" 1 to 1 of PodGroup "poor" using template "one" and requesting {cpu: 30}
    Then <evicted> pods of the PodGroups "first, second" are evicted
    And <placed> pods of PodGroup "poor" get BindRequests

    Examples:
      | field             | queue | evicted | placed |
      | reclaimMinRuntime | rich  | 0       | 0      |
      | reclaimMinRuntime | poor  | 1       | 1      |
      | preemptMinRuntime | rich  | 1       | 1      |
