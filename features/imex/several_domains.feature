@profile:imex @component:compute-domain-controller @needs:compute-domain
Feature: Several ComputeDomains on the nodes of a rack
  Jobs share a rack, and each has a ComputeDomain of its own. A node is in one of them at a time, and whatever happens to
  one ComputeDomain leaves the others alone.

  @NV-345
  Scenario: Two ComputeDomains on the nodes of one clique do not affect each other
    Given the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 2 nodes
    And 2 nodes of the NVLink clique "rack.0" that are in ComputeDomain "job"
    And node "n3"
    And node "n4"
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n3" is set to rack.0
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n4" is set to rack.0
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n3" is set to $(uid:other)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n4" is set to $(uid:other)
    Then the ComputeDomain "job" has "status.status" Ready
    And the ComputeDomain "other" has "status.status" Ready
    And the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    Given the entries of nodes "n3, n4" in the cliques of ComputeDomain "other" are remembered
    And the objects of ComputeDomain "other" are remembered
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"
    And the objects of ComputeDomain "other" are unchanged
    And the ComputeDomain label of node "n3" stays "other"
    And the ComputeDomain label of node "n4" stays "other"
    And the entries of nodes "n3, n4" in the cliques of ComputeDomain "other" are the remembered ones

  @NV-441
  Scenario: A change of one ComputeDomain does not touch the others
    Given a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "second" for 1 nodes
    And a ComputeDomain "third" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    And the ComputeDomain "second" has the daemons:
      | node | pod   | clique | status |
      | n2   | Ready | 0      | Ready  |
    And the ComputeDomain "third" has the daemons:
      | node | pod      | clique | status   |
      | n3   | Ready    | 0      | Ready    |
      | n4   | NotReady | 1      | NotReady |
    Then the ComputeDomain "job" has "status.status" Ready
    And the ComputeDomain "second" has "status.status" Ready
    And the ComputeDomain "third" has "status.nodes" containing {name: $(node:n4), status: NotReady}
    And the ComputeDomain "third" has a claim template for its workloads with allocationMode Single
    Given the objects of ComputeDomain "second" are remembered
    And the objects of ComputeDomain "third" are remembered
    When the ComputeDomain "job" has the daemons:
      | node | pod      | clique | status   |
      | n1   | NotReady | 0      | NotReady |
    Then the ComputeDomain "job" has "status.status" NotReady
    And the objects of ComputeDomain "second" are unchanged
    And the objects of ComputeDomain "third" are unchanged

  @NV-373 @NV-430 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: Two ComputeDomains that want the same two nodes get each of them in turn
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 2 nodes
    And a channel claim "job-1" on "node-1" for ComputeDomain "job"
    And a channel claim "job-2" on "node-2" for ComputeDomain "job"
    And a channel claim "other-1" on "node-1" for ComputeDomain "other"
    And a channel claim "other-2" on "node-2" for ComputeDomain "other"
    And the ComputeDomain driver on "node-1" has prepared claim "job-1"
    And the ComputeDomain driver on "node-2" has prepared claim "other-2"
    When Prepare of claim "other-1" is called on the ComputeDomain driver of "node-1"
    And Prepare of claim "job-2" is called on the ComputeDomain driver of "node-2"
    Then Prepare of claim "other-1" has not succeeded yet [NV-430]
    And Prepare of claim "job-2" has not succeeded yet [NV-430]
    And the ComputeDomain label of node "node-1" stays "job" [NV-430]
    And the ComputeDomain label of node "node-2" stays "other" [NV-430]
    And Unprepare of claim "job-1" succeeds on the ComputeDomain driver of "node-1" [NV-373]
    And Prepare of claim "other-1" returns "channel-0" [NV-373]
    And the ComputeDomain label of node "node-1" becomes "other" [NV-373]
    And claim "other-1" adds 1 channels on "node-1" [NV-373]
    # The first ComputeDomain has no node now, and still waits for the second one.
    And Prepare of claim "job-2" has not succeeded yet [NV-430]
    And the ComputeDomain label of node "node-2" stays "other" [NV-430]
    And Unprepare of claim "other-2" succeeds on the ComputeDomain driver of "node-2" [NV-373]
    And Prepare of claim "job-2" returns "channel-0" [NV-373]
    And the ComputeDomain label of node "node-2" becomes "job" [NV-373]
    And the ComputeDomain label of node "node-1" stays "other" [NV-373]

  @NV-436 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A claim for the ComputeDomain of another namespace changes no node
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "foreign" in another namespace
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "node-1" is set to $(uid:foreign)
    And a channel claim for ComputeDomain "foreign" on each of 2 nodes
    # One node is ready in the ComputeDomain, one has not joined it.
    And the entries of nodes "node-1" in the cliques of ComputeDomain "foreign" are remembered
    When Prepare of the channel claims of 2 nodes is called on their ComputeDomain drivers
    Then Prepare of claim "rank-1" fails at once
    And Prepare of claim "rank-2" fails at once
    And the ComputeDomain label of node "node-2" stays "none"
    And the ComputeDomain label of node "node-1" stays "foreign"
    And Unprepare of claim "rank-1" succeeds on the ComputeDomain driver of "node-1"
    And Unprepare of claim "rank-2" succeeds on the ComputeDomain driver of "node-2"

  @NV-331
  Scenario: A template with the labels of a ComputeDomain of another namespace does not hold up its deletion
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has "status.status" NotReady
    Given a copy of the claim template of ComputeDomain "job" in another namespace, kept by another finalizer
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"
