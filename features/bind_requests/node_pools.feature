@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:pod-groups @needs:queues
Feature: Each scheduler serves the nodes, queues and PodGroups of its own node pool
  A cluster can be divided into node pools, each with a scheduler of its own. The scheduler under test serves the default
  pool, of objects without the label, unless a scenario starts it with KAI's flag for another pool. The reference
  scheduler has no pools and does not support the feature `node-pools`.

  Background:
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a top Queue "department" with {}
    And a Queue "team" below "department" with {}
    And a PodGroup "ours" of Queue "team"

  @KAI-420
  Scenario: Devices of a node of another pool are not given
    Given node "n2" with 2 devices
    And Node "n2" is in the node pool "other"
    And pods "ours" 1 to 3 of PodGroup "ours" using template "one"
    Then 2 pods of PodGroup "ours" get BindRequests, with a device each
    And no BindRequest of PodGroup "ours" is to "n2"

  @KAI-420 @KAI-425
  Scenario: Pods of a PodGroup of another pool are not placed until it moves to this one
    Given a PodGroup "theirs" of Queue "team"
    And PodGroup "theirs" is in the node pool "other"
    And pods "theirs" 1 to 1 of PodGroup "theirs" using template "one"
    And pods "ours" 1 to 1 of PodGroup "ours" using template "one"
    Then 1 pods of PodGroup "ours" get BindRequests, with a device each [KAI-420]
    And no pod of PodGroup "theirs" gets a BindRequest [KAI-420]
    When PodGroup "theirs" is moved to the default node pool
    Then 1 pods of PodGroup "theirs" get BindRequests, with a device each [KAI-425]

  @KAI-421
  Scenario: Pods of a queue of another pool are not placed
    Given a Queue "foreign" below "department" with {}
    And Queue "foreign" is in the node pool "other"
    And a PodGroup "theirs" of Queue "foreign"
    And pods "theirs" 1 to 1 of PodGroup "theirs" using template "one"
    And pods "ours" 1 to 1 of PodGroup "ours" using template "one"
    Then 1 pods of PodGroup "ours" get BindRequests, with a device each
    And no pod of PodGroup "theirs" gets a BindRequest

  @KAI-013
  Scenario: BindRequests of the default pool have no label of a pool
    Given pods "ours" 1 to 2 of PodGroup "ours" using template "one"
    Then 2 pods of PodGroup "ours" get BindRequests, with a device each
    And no BindRequest of PodGroup "ours" has the label of a node pool

  @KAI-013 @KAI-420b @needs:scheduler-flags
  Scenario: The scheduler of a named pool serves what has the label, and labels its BindRequests
    Given node "n2" with 2 devices
    And Node "n2" is in the node pool "other"
    And a top Queue "division" with {}
    And Queue "division" is in the node pool "other"
    And a Queue "crew" below "division" with {}
    And Queue "crew" is in the node pool "other"
    And a PodGroup "theirs" of Queue "crew"
    And PodGroup "theirs" is in the node pool "other"
    And a PodGroup "unlabelled" of Queue "crew"
    And a PodGroup "misplaced" of Queue "team"
    And PodGroup "misplaced" is in the node pool "other"
    And the scheduler serves the node pool "other"
    And pods "unlabelled" 1 to 1 of PodGroup "unlabelled" using template "one"
    And pods "misplaced" 1 to 1 of PodGroup "misplaced" using template "one"
    And pods "ours" 1 to 1 of PodGroup "ours" using template "one"
    And pods "theirs" 1 to 3 of PodGroup "theirs" using template "one"
    Then 2 pods of PodGroup "theirs" get BindRequests, with a device each [KAI-420b]
    And each BindRequest of PodGroup "theirs" is to "n2" and has the label of node pool "other" [KAI-013]
    And no pod of PodGroup "unlabelled" gets a BindRequest [KAI-420b]
    And no pod of PodGroup "misplaced" gets a BindRequest [KAI-420b]
    And no pod of PodGroup "ours" gets a BindRequest [KAI-420b]

  @KAI-424 @needs:scheduler-flags
  Scenario: Two schedulers with a node pool each place each pod once
    Given node "n2" with 2 devices
    And Node "n2" is in the node pool "other"
    And a top Queue "division" with {}
    And Queue "division" is in the node pool "other"
    And a Queue "crew" below "division" with {}
    And Queue "crew" is in the node pool "other"
    And a PodGroup "theirs" of Queue "crew"
    And PodGroup "theirs" is in the node pool "other"
    And another scheduler serves the node pool "other"
    And pods "ours" 1 to 3 of PodGroup "ours" using template "one"
    And pods "theirs" 1 to 3 of PodGroup "theirs" using template "one"
    Then 2 pods of PodGroup "ours" get BindRequests, with a device each
    And 2 pods of PodGroup "theirs" get BindRequests, with a device each
    And no BindRequest of PodGroup "ours" is to "n2"
    And each BindRequest of PodGroup "theirs" is to "n2" and has the label of node pool "other"

  @KAI-074
  Scenario: BindRequests of another pool are left alone, whatever their node
    Given the scheduler is stopped
    And node "n2" with 2 devices
    And Node "n2" is in the node pool "other"
    And a PodGroup "theirs" of Queue "team"
    And PodGroup "theirs" is in the node pool "other"
    And pods "ours" 1 to 1 of PodGroup "ours" without claims
    And pods "theirs" 1 to 2 of PodGroup "theirs" without claims
    And a BindRequest "stale" of pod "ours-1" to "never-was"
    And a BindRequest "known" of pod "theirs-1" to "n2" of the node pool "other"
    And a BindRequest "unknown" of pod "theirs-2" to "never-was" of the node pool "other"
    When the scheduler is started
    Then the BindRequest "stale" is gone
    And 1 pods of PodGroup "ours" get BindRequests
    And the BindRequest "known" still exists
    And the BindRequest "unknown" still exists

  @KAI-473
  Scenario: A PodGroup that is tried once in a pool is marked, and waits for another pool
    Given a ResourceClaimTemplate "three" for 3 of "accelerator"
    And a PodGroup "once" of Queue "team"
    And a PodGroup "always" of Queue "team"
    And "spec.schedulingBackoff" of the PodGroup "$(group:once)" is set to 1
    And "spec.schedulingBackoff" of the PodGroup "$(group:always)" is set to -1
    And pods "once" 1 to 1 of PodGroup "once" using template "three"
    And pods "always" 1 to 1 of PodGroup "always" using template "three"
    And pods "ours" 1 to 1 of PodGroup "ours" using template "three"
    Then the PodGroup "$(group:once)" has "status.schedulingConditions[type=UnschedulableOnNodePool][0].nodePool" default
    And no pod of PodGroup "always" gets a BindRequest
    And no pod of PodGroup "ours" gets a BindRequest
    Given node "n2" with 9 devices
    Then 1 pods of PodGroup "always" get BindRequests
    And 1 pods of PodGroup "ours" get BindRequests
    And no pod of PodGroup "once" gets a BindRequest
