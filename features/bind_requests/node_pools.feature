@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:pod-groups @needs:queues
Feature: Each scheduler serves the nodes, queues and PodGroups of its own node pool
  A cluster can be divided into node pools, each with a scheduler of its own. The scheduler under test serves the default
  pool, of what has no label. The reference scheduler has no pools and does not support the feature `node-pools`.

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
