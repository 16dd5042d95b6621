@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:pod-groups
Feature: Gangs get all of their BindRequests or none
  A job whose workers wait for each other holds devices without using them if only some of its pods are placed. Two such
  jobs can block each other for ever.

  @KAI-029 @KAI-363
  Scenario: A gang without room for all of its pods gets nothing and takes nothing
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest [KAI-029]
    When a pod "first" using template "one" is created
    And a pod "second" using template "one" is created
    Then pod "first" gets exactly one BindRequest [KAI-363]
    And pod "second" gets exactly one BindRequest [KAI-363]
    And no pod of PodGroup "train" gets a BindRequest [KAI-029]

  @KAI-029
  Scenario: Two gangs with room for one do not share it
    Given node "n1" with 2 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "left" that needs 2 pods
    And a PodGroup "right" that needs 2 pods
    And pods "left" 1 to 2 of PodGroup "left" using template "one"
    And pods "right" 1 to 2 of PodGroup "right" using template "one"
    Then one of the PodGroups "left, right" gets BindRequests for all its pods, the others get none

  @KAI-030
  Scenario: A gang takes the devices of several nodes
    Given node "n1" with 2 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    Then 3 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-029 @KAI-030
  Scenario: A gang is placed as soon as a node with room is added
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest [KAI-029]
    Given node "n2" with 1 devices
    Then 3 pods of PodGroup "train" get BindRequests, with a device each [KAI-030]

  @KAI-029 @KAI-030
  Scenario: A gang is placed as soon as a claim is released
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "held" for 1 of "accelerator"
    And claim "held" holds the devices "dev-1" of "n1"
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest [KAI-029]
    When the ResourceClaim "held" is deleted
    Then 3 pods of PodGroup "train" get BindRequests, with a device each [KAI-030]

  @KAI-470
  Scenario: Every pod of a gang without room is reported as unschedulable
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    Then the Pod "train-1" has condition PodScheduled False with reason "Unschedulable"
    And the Pod "train-2" has condition PodScheduled False with reason "Unschedulable"
    And the Pod "train-3" has condition PodScheduled False with reason "Unschedulable"

  @KAI-365
  Scenario: Pods above the minimum are placed as room allows
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "elastic" that needs 2 pods
    And pods "elastic" 1 to 4 of PodGroup "elastic" using template "one"
    Then 3 pods of PodGroup "elastic" get BindRequests, with a device each
    Given node "n2" with 2 devices
    Then 4 pods of PodGroup "elastic" get BindRequests, with a device each

  @KAI-365b
  Scenario: A gang is placed although one of its pods above the minimum has no room
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "many" for 9 of "accelerator"
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "elastic" that needs 2 pods
    And pods "a-large" 1 to 1 of PodGroup "elastic" using template "many"
    Then no pod of PodGroup "elastic" gets a BindRequest
    Given pods "small" 1 to 2 of PodGroup "elastic" using template "one"
    Then 2 pods of PodGroup "elastic" get BindRequests, with a device each

  @KAI-365
  Scenario: A gang is placed once its minimum is lowered
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "elastic" that needs 3 pods
    And pods "elastic" 1 to 3 of PodGroup "elastic" using template "one"
    Then no pod of PodGroup "elastic" gets a BindRequest
    When PodGroup "elastic" is changed to need 2 pods
    Then 2 pods of PodGroup "elastic" get BindRequests, with a device each

  @KAI-029 @KAI-365
  Scenario: The minimum holds for a gang with more pods
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "large" that needs 3 pods
    And a PodGroup "small" that needs 1 pods
    And pods "large" 1 to 4 of PodGroup "large" using template "one"
    And pods "small" 1 to 3 of PodGroup "small" using template "one"
    Then no pod of PodGroup "large" gets a BindRequest [KAI-029]
    And 2 pods of PodGroup "small" get BindRequests, with a device each [KAI-365]

  @KAI-360
  Scenario: A gang waits for its last pod
    Given node "n1" with 6 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And a PodGroup "other" that needs 2 pods
    And pods "train" 1 to 2 of PodGroup "train" using template "one"
    And pods "other" 1 to 2 of PodGroup "other" using template "one"
    Then 2 pods of PodGroup "other" get BindRequests, with a device each
    And no pod of PodGroup "train" gets a BindRequest
    When a pod "late" of PodGroup "train" using template "one" is created
    Then 3 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-360
  Scenario: A deleted pod does not count for its gang
    Given node "n1" with 6 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 2 of PodGroup "train" using template "one"
    When pod "train-1" is force-deleted
    And a pod "third" of PodGroup "train" using template "one" is created
    Then no pod of PodGroup "train" gets a BindRequest
    When a pod "fourth" of PodGroup "train" using template "one" is created
    Then 3 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-360
  Scenario: A pod that comes to name another PodGroup counts for that one only
    Given node "n1" with 5 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And a PodGroup "serve" that needs 2 pods
    And pods "train" 1 to 2 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest
    When "metadata.annotations.pod-group-name" of the Pod "train-1" is set to $(group:serve)
    And a pod "more" of PodGroup "train" using template "one" is created
    Then no pod of PodGroup "train" gets a BindRequest
    Given pods "serve" 1 to 1 of PodGroup "serve" using template "one"
    Then pod "serve-1" gets exactly one BindRequest
    And pod "train-1" gets exactly one BindRequest
    And pod "train-2" gets no BindRequest
    And pod "more" gets no BindRequest

  @KAI-360
  Scenario: A pod that is being deleted does not count for its gang
    Given node "n1" with 6 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 2 of PodGroup "train" using template "one"
    And the Pod "train-1" is being deleted
    When a pod "third" of PodGroup "train" using template "one" is created
    Then no pod of PodGroup "train" gets a BindRequest
    When a pod "fourth" of PodGroup "train" using template "one" is created
    Then 3 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-360
  Scenario: A pod that has ended does not count for its gang
    Given node "n1" with 6 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "ended" 1 to 1 of PodGroup "train" without claims
    And pod "ended-1" is bound by hand to "n1"
    And "status.phase" of the Pod "ended-1" is set to Failed
    And pods "train" 1 to 2 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest
    When a pod "fourth" of PodGroup "train" using template "one" is created
    Then 3 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-360b
  Scenario: Pods wait for a PodGroup that does not exist yet
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And pods "train" 1 to 2 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest
    When a PodGroup "train" that needs 2 pods is created
    Then 2 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-361
  Scenario: A pod with a scheduling gate does not count for its gang
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 2 pods
    And a pod "gated" of PodGroup "train" using template "one" with:
      """
      schedulingGates: [{name: dra-conformance/wait}]
      """
    And pods "train" 1 to 1 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest
    When "spec.schedulingGates" of the Pod "gated" is set to null
    Then 2 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-353
  Scenario: Groups of one name in two namespaces have nothing in common
    Given node "n1"
    And a PodGroup "train" that needs 3 pods
    And a PodGroup "train" that needs 1 pods in another namespace
    And a pod "alone" of PodGroup "train" in the other namespace
    And pods "train" 1 to 2 of PodGroup "train" without claims
    Then pod "alone" of the other namespace gets a BindRequest
    And no pod of PodGroup "train" gets a BindRequest

  @KAI-031 @needs:faults
  Scenario Outline: A gang becomes whole after the creation of a BindRequest is answered with <code>
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And the API server answers <code> to the next 1 creations of BindRequest
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    When every fault has affected a request
    Then 3 pods of PodGroup "train" get BindRequests, with a device each
    And no BindRequest of PodGroup "train" was deleted

    Examples:
      | code |
      | 403  |
      | 500  |

  @KAI-376
  Scenario: A scheduler that starts completes a gang of which one pod has a BindRequest
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And the scheduler is stopped
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    And pod "train-2" has its claim "begun"
    And a BindRequest "train-2" of pod "train-2" to "n1" giving claim "gpu" the devices "dev-0"
    When the scheduler is started
    Then 3 pods of PodGroup "train" get BindRequests, with a device each
    And no BindRequest of PodGroup "train" was deleted

  @KAI-376
  Scenario: Pods that are bound count for their gang
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "bound" 1 to 2 of PodGroup "train" without claims
    And pod "bound-1" is bound by hand to "n1"
    And pod "bound-2" is bound by hand to "n1"
    When a pod "last" of PodGroup "train" using template "one" is created
    Then 1 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-376
  Scenario: A bound pod that is being deleted does not count for its gang
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "bound" 1 to 2 of PodGroup "train" without claims
    And pod "bound-1" is bound by hand to "n1"
    And pod "bound-2" is bound by hand to "n1"
    And the Pod "bound-1" is being deleted
    And pods "new" 1 to 1 of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest
    When a pod "last" of PodGroup "train" using template "one" is created
    Then 2 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-030 @component:binder
  Scenario: All pods of a gang are bound, each with a device of its own
    Given node "n1" with 2 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 3 of PodGroup "train" using template "one"
    Then every pod is bound
    And every allocation is valid, and no device is allocated twice
    And every bound pod has its devices

  @KAI-372 @needs:queues
  Scenario: A PodGroup is placed only if each of its sub-groups has its minimum
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "large" of Queue "team" that needs 3 pods, with the sub-groups {leaders: 1, workers: 3}
    And a PodGroup "small" of Queue "team" that needs 2 pods, with the sub-groups {leaders: 1, workers: 2}
    And pods "large-leader" 1 to 1 of sub-group "leaders" of PodGroup "large" using template "one"
    And pods "large-worker" 1 to 3 of sub-group "workers" of PodGroup "large" using template "one"
    Then no pod of PodGroup "large" gets a BindRequest
    Given pods "small-leader" 1 to 1 of sub-group "leaders" of PodGroup "small" using template "one"
    And pods "small-worker" 1 to 2 of sub-group "workers" of PodGroup "small" using template "one"
    Then 3 pods of PodGroup "small" get BindRequests, with a device each
    And no pod of PodGroup "large" gets a BindRequest

  @KAI-372 @needs:queues
  Scenario: Pods of one sub-group do not count for another
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "train" of Queue "team" that needs 2 pods, with the sub-groups {leaders: 1, workers: 1}
    And pods "worker" 1 to 3 of sub-group "workers" of PodGroup "train" using template "one"
    Then no pod of PodGroup "train" gets a BindRequest
    Given pods "leader" 1 to 1 of sub-group "leaders" of PodGroup "train" using template "one"
    Then 4 pods of PodGroup "train" get BindRequests, with a device each

  @KAI-520 @needs:queues
  Scenario: A PodGroup is placed only if each part of each of its sub-groups has its minimum
    Given node "n1" with 5 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "serve" of Queue "team" that needs 2 pods, with sub-groups:
      """
      - {name: decode}
      - {name: decode-leaders, parent: decode, minMember: 1}
      - {name: decode-workers, parent: decode, minMember: 2}
      - {name: prefill}
      - {name: prefill-leaders, parent: prefill, minMember: 1}
      - {name: prefill-workers, parent: prefill, minMember: 1}
      """
    And pods "decode-worker" 1 to 2 of sub-group "decode-workers" of PodGroup "serve" using template "one"
    And pods "prefill-leader" 1 to 1 of sub-group "prefill-leaders" of PodGroup "serve" using template "one"
    And pods "prefill-worker" 1 to 1 of sub-group "prefill-workers" of PodGroup "serve" using template "one"
    Then no pod of PodGroup "serve" gets a BindRequest
    Given pods "decode-leader" 1 to 1 of sub-group "decode-leaders" of PodGroup "serve" using template "one"
    Then 5 pods of PodGroup "serve" get BindRequests, with a device each

  @KAI-520 @needs:queues
  Scenario: Nothing of a PodGroup is placed while a part of one of its sub-groups has no room
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "serve" of Queue "team" that needs 2 pods, with sub-groups:
      """
      - {name: decode}
      - {name: decode-leaders, parent: decode, minMember: 1}
      - {name: decode-workers, parent: decode, minMember: 2}
      - {name: prefill}
      - {name: prefill-leaders, parent: prefill, minMember: 1}
      - {name: prefill-workers, parent: prefill, minMember: 1}
      """
    And pods "decode-worker" 1 to 2 of sub-group "decode-workers" of PodGroup "serve" using template "one"
    And pods "decode-leader" 1 to 1 of sub-group "decode-leaders" of PodGroup "serve" using template "one"
    And pods "prefill-leader" 1 to 1 of sub-group "prefill-leaders" of PodGroup "serve" using template "one"
    And pods "prefill-worker" 1 to 1 of sub-group "prefill-workers" of PodGroup "serve" using template "one"
    Then no pod of PodGroup "serve" gets a BindRequest
    Given node "n2" with 1 devices
    Then 5 pods of PodGroup "serve" get BindRequests, with a device each

  @KAI-521 @needs:queues
  Scenario: A sub-group with pods beside one with sub-groups of its own counts as well
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "serve" of Queue "team" that needs 2 pods, with sub-groups:
      """
      - {name: decode}
      - {name: leaders, parent: decode, minMember: 1}
      - {name: workers, parent: decode, minMember: 2}
      - {name: prefill, minMember: 1}
      """
    And pods "worker" 1 to 2 of sub-group "workers" of PodGroup "serve" using template "one"
    And pods "leader" 1 to 1 of sub-group "leaders" of PodGroup "serve" using template "one"
    Then no pod of PodGroup "serve" gets a BindRequest
    Given pods "prefill" 1 to 1 of sub-group "prefill" of PodGroup "serve" using template "one"
    Then 4 pods of PodGroup "serve" get BindRequests, with a device each
