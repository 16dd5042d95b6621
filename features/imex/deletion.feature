@profile:imex @component:compute-domain-controller @needs:compute-domain
Feature: Deletion of a ComputeDomain over several nodes
  A ComputeDomain can be deleted while pods of its job run. Its nodes leave it, its objects are removed, and claims that
  name it are not prepared any more, also if another ComputeDomain has its name by then.

  @NV-342
  Scenario: A ComputeDomain stays until everything that belongs to it is gone
    Given a ComputeDomain "job" for 2 nodes
    And node "n1"
    And node "n2"
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n1" is set to $(uid:job)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n2" is set to $(uid:job)
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    Given "metadata.finalizers" of the ResourceClaimTemplate "job-channel" is set to [resource.nvidia.com/computeDomain, example.com/audit]
    When the ComputeDomain "job" is deleted
    Then the ResourceClaimTemplate "job-channel" has "metadata.finalizers" [example.com/audit]
    And the ComputeDomain label of node "n1" becomes "none"
    And the ComputeDomain label of node "n2" becomes "none"
    And the ComputeDomain "job" keeps "metadata.finalizers" [resource.nvidia.com/computeDomain]
    When "metadata.finalizers" of the ResourceClaimTemplate "job-channel" is set to []
    Then nothing is left of the ComputeDomain "job"

  @NV-342b
  Scenario: Many ComputeDomains are deleted at once
    Given 30 ComputeDomains "job", each with a node that is in it
    And a ComputeDomain "stays" for 1 nodes
    And node "n1"
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n1" is set to $(uid:stays)
    # The controller finds all of it at its start.
    Given the compute-domain-controller is stopped
    When the 30 ComputeDomains "job" are deleted
    And a ComputeDomain "early" is created with {numNodes: 1, channel: {allocationMode: Single}}
    And the compute-domain-controller is started
    Then the ComputeDomain "early" has a DaemonSet and a claim template for its daemons
    And nothing is left of the 30 ComputeDomains "job"
    And the ComputeDomain "stays" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain label of node "n1" stays "stays"

  @NV-153b @needs:faults
  Scenario Outline: The nodes of a deleted ComputeDomain lose its label although node "<gone>" is deleted meanwhile
    Given a ComputeDomain "job" for 3 nodes
    And node "n1"
    And node "n2"
    And node "n3"
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n1" is set to $(uid:job)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n2" is set to $(uid:job)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n3" is set to $(uid:job)
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    Given node "<gone>" is deleted while the ComputeDomain controller writes it
    When the ComputeDomain "job" is deleted
    Then the ComputeDomain "job" is gone
    And the ComputeDomain label of node "<one>" becomes "none"
    And the ComputeDomain label of node "<other>" becomes "none"

    # Controllers take the nodes in different orders.
    Examples:
      | gone | one | other |
      | n1   | n2  | n3    |
      | n3   | n1  | n2    |

  @NV-343
  Scenario: A ComputeDomain whose DaemonSet is gone can be deleted
    Given a ComputeDomain "whole" for 1 nodes
    And a ComputeDomain "broken" for 1 nodes
    Then the ComputeDomain "whole" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "broken" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "whole" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "broken" has a claim template for its workloads with allocationMode Single
    Given the compute-domain-controller is stopped
    And the DaemonSet of ComputeDomain "broken" is removed by hand
    When the ComputeDomain "whole" is deleted
    And the ComputeDomain "broken" is deleted
    And the compute-domain-controller is started
    Then nothing is left of the ComputeDomain "whole"
    And nothing is left of the ComputeDomain "broken"

  @NV-344 @NV-434 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A ComputeDomain is deleted under the ranks of its job
    Given 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 3 nodes
    And the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-1 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
      | node-2 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    And a channel claim for ComputeDomain "job" on each of 3 nodes
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    And the ComputeDomain driver on "node-2" has prepared claim "rank-2"
    When Prepare of claim "rank-3" is called on the ComputeDomain driver of "node-3"
    Then the ComputeDomain label of node "node-3" becomes "job" [NV-434]
    When the ComputeDomain "job" is deleted
    # The deletion of the ComputeDomain does not wait for claims.
    Then the ComputeDomain "job" is gone [NV-344]
    And the ComputeDomain label of node "node-1" becomes "none" [NV-344]
    And the ComputeDomain label of node "node-2" becomes "none" [NV-344]
    And Prepare of claim "rank-3" has failed [NV-434]
    And Unprepare of claim "rank-3" succeeds on the ComputeDomain driver of "node-3" [NV-434]
    And the ComputeDomain label of node "node-3" stays "none" [NV-434]
    # The ranks that run keep their channels until they end.
    And claim "rank-1" adds 1 channels on "node-1" [NV-344]
    And claim "rank-2" adds 1 channels on "node-2" [NV-344]
    And Unprepare of claim "rank-1" succeeds on the ComputeDomain driver of "node-1" [NV-344]
    And Unprepare of claim "rank-2" succeeds on the ComputeDomain driver of "node-2" [NV-344]

  @NV-369 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A claim for a ComputeDomain that is being deleted is refused
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "next" for 1 nodes
    And "metadata.finalizers" of the ComputeDomain "job" is set to [example.com/audit]
    Then the ComputeDomain "job" has "metadata.finalizers" in any order [example.com/audit, resource.nvidia.com/computeDomain]
    Given a channel claim for ComputeDomain "job" on each of 2 nodes
    And a channel claim "next" on "node-2" for ComputeDomain "next"
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    When the ComputeDomain "job" is deleted
    Then the ComputeDomain "job" has "metadata.finalizers" [example.com/audit]
    When Prepare of claim "rank-2" is called on the ComputeDomain driver of "node-2"
    Then Prepare of claim "rank-2" has failed
    And the ComputeDomain label of node "node-2" stays "none"
    When Prepare of claim "next" is called on the ComputeDomain driver of "node-2"
    Then Prepare of claim "next" returns "channel-0"
    When "metadata.finalizers" of the ComputeDomain "job" is set to []
    Then nothing is left of the ComputeDomain "job"

  @NV-369b @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet @needs:faults
  Scenario: A node that is labelled while its ComputeDomain is deleted loses the label
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "next" for 1 nodes
    And a channel claim for ComputeDomain "job" on each of 2 nodes
    And a channel claim "next" on "node-2" for ComputeDomain "next"
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    # Its controller has removed the labels before the driver writes one.
    And the ComputeDomain "job" is deleted while the ComputeDomain driver labels node "node-2"
    When Prepare of claim "rank-2" is called on the ComputeDomain driver of "node-2"
    Then the ComputeDomain "job" is gone
    And Prepare of claim "rank-2" has failed
    And the ComputeDomain label of node "node-1" becomes "none"
    And the ComputeDomain label of node "node-2" becomes "none"
    When Prepare of claim "next" is called on the ComputeDomain driver of "node-2"
    Then Prepare of claim "next" returns "channel-0"

  @NV-435 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: Claims for a former ComputeDomain do not join the one that has its name now
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a channel claim for ComputeDomain "job" on each of 2 nodes
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    When the ComputeDomain "job" is deleted
    Then the ComputeDomain "job" is gone
    Given a ComputeDomain "job" for 2 nodes
    And a channel claim "new" on "node-2" for ComputeDomain "job"
    When Prepare of claim "rank-2" is called on the ComputeDomain driver of "node-2"
    Then Prepare of claim "rank-2" has failed
    And the ComputeDomain label of node "node-2" stays "none"
    And the ComputeDomain label of node "node-1" stays "none"
    When Prepare of claim "new" is called on the ComputeDomain driver of "node-2"
    Then Prepare of claim "new" returns "channel-0"
    And the ComputeDomain label of node "node-2" stays "job"
    And the cliques of ComputeDomain "job" come to have the nodes "node-2"
    # The claim of the former ComputeDomain ends late, and takes nothing from the new one.
    And Unprepare of claim "rank-2" succeeds on the ComputeDomain driver of "node-2"
    And Unprepare of claim "rank-1" succeeds on the ComputeDomain driver of "node-1"
    And the ComputeDomain label of node "node-2" stays "job"
