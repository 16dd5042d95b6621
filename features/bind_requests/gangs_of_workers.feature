@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:pod-groups
Feature: Gangs whose workers need a node each
  Each worker of a ComputeDomain uses the IMEX channel of its own node, so a job of 18 workers needs a whole rack. KAI
  places all workers or none; afterwards, placed workers stay where they are, even if others of them fail.

  Background:
    Given a DeviceClass "channel" selecting 'device.driver == "compute-domain.nvidia.com" && device.attributes["compute-domain.nvidia.com"].type == "channel"'
    And a ResourceClaimTemplate "one" for 1 of "channel"

  @KAI-029 @KAI-030
  Scenario Outline: <count> workers are placed when each of them has a node
    Given nodes 1 to <nodes> with an IMEX channel each
    And a PodGroup "job" that needs <count> pods
    And pods "worker" 1 to <count> of PodGroup "job" using template "one"
    Then no pod of PodGroup "job" gets a BindRequest [KAI-029]
    Given nodes <count> to <count> with an IMEX channel each
    Then <count> pods of PodGroup "job" get BindRequests, with a device each [KAI-030]

    Examples:
      | count | nodes |
      | 4     | 3     |
      | 18    | 17    |

  @KAI-031b @needs:no-binder
  Scenario Outline: One of <count> workers whose BindRequest fails is placed again beside the others
    Given nodes 1 to <count> with an IMEX channel each
    And a PodGroup "job" that needs <count> pods
    And pods "worker" 1 to <count> of PodGroup "job" using template "one"
    Then <count> pods of PodGroup "job" get BindRequests, with a device each
    Given the BindRequest of pod "worker-1" is remembered
    And the BindRequest of pod "worker-3" is remembered
    And the BindRequest of pod "worker-<count>" is remembered
    When "status" of the BindRequest of pod "worker-2" is set to {phase: Failed, reason: by hand}
    Then the BindRequest of pod "worker-2" is replaced
    And the BindRequest of pod "worker-1" is unchanged
    And the BindRequest of pod "worker-3" is unchanged
    And the BindRequest of pod "worker-<count>" is unchanged

    Examples:
      | count |
      | 4     |
      | 18    |
