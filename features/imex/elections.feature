@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:compute-domain-flags
Feature: Replicas of the ComputeDomain controller
  A controller runs in several replicas, so that ComputeDomains are served while one of them is replaced. A Lease names
  the one that works; the others take over when it ends.

  @NV-339 @NV-340
  Scenario: Another replica takes over from a leader that was killed
    When the compute-domain-controller is started with leader election
    Then a replica of the compute-domain-controller that has not been the leader comes to be it [NV-339]
    When a second replica of the compute-domain-controller is started
    Given a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "old" for 1 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons [NV-339]
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single [NV-339]
    And the ComputeDomain "job" has "status.status" NotReady [NV-339]
    And the ComputeDomain "old" has "status.status" NotReady [NV-339]
    Given the objects of ComputeDomain "job" are remembered
    When the first replica of the compute-domain-controller is killed
    And a ComputeDomain "late" is created with {numNodes: 1, channel: {}}
    And the ComputeDomain "old" is deleted
    And the retry-period of the replicas has passed
    # The lease has not ended, and no replica can know that its holder is gone.
    Then the ComputeDomain "late" keeps "metadata.finalizers" null [NV-339]
    And the leader of the compute-domain-controller stays the same [NV-339]
    When the lease of the replicas has passed
    Then a replica of the compute-domain-controller that has not been the leader comes to be it [NV-340]
    And the ComputeDomain "late" has a DaemonSet and a claim template for its daemons [NV-340]
    And the ComputeDomain "late" has a claim template for its workloads with allocationMode Single [NV-340]
    And nothing is left of the ComputeDomain "old" [NV-340]
    And the objects of ComputeDomain "job" are unchanged [NV-340]

  @NV-340b
  Scenario: Another replica takes over at once from a leader that was stopped
    Given two replicas of the compute-domain-controller, of which the first is the leader
    And a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    When the first replica of the compute-domain-controller is stopped
    And the retry-period of the replicas has passed
    Then a replica of the compute-domain-controller that has not been the leader is it within 5 seconds
    Given the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready

  @NV-341
  Scenario: A leader that has lost its lease writes nothing
    Given two replicas of the compute-domain-controller, of which the first is the leader
    And a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    When another program takes the lease of the compute-domain-controller
    And the renew-deadline of the replicas has passed
    And a ComputeDomain "late" is created with {numNodes: 1, channel: {}}
    Then the ComputeDomain "late" keeps "metadata.finalizers" null
    When that program releases the lease
    And the retry-period of the replicas has passed
    Then the ComputeDomain "late" has a claim template for its workloads with allocationMode Single
