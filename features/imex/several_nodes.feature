@profile:imex @component:compute-domain-controller @needs:compute-domain
Feature: ComputeDomains over several nodes
  The ranks of a job run on several nodes. Each node joins with the first channel claim on it, and its pods start once
  its own IMEX daemon is ready. The ComputeDomain reports all of its nodes.

  @NV-350 @NV-353
  Scenario: The status of a ComputeDomain over four nodes follows each of them
    Given a ComputeDomain "job" for 4 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n1   | Ready | 0      | Ready    |
      | n2   | Ready | 0      | Ready    |
      | n3   | Ready | 0      | Ready    |
      | n4   | Ready | 0      | NotReady |
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n1), ipAddress: 192.0.2.1, cliqueID: $(namespace).0, index: 0, status: Ready} [NV-350]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), ipAddress: 192.0.2.2, cliqueID: $(namespace).0, index: 1, status: Ready} [NV-350]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n3), ipAddress: 192.0.2.3, cliqueID: $(namespace).0, index: 2, status: Ready} [NV-350]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n4), ipAddress: 192.0.2.4, cliqueID: $(namespace).0, index: 3, status: NotReady} [NV-350]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-353]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n4   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-353]
    # Now a node in the middle turns NotReady, and then another one.
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n2   | Ready | 0      | NotReady |
    Then the ComputeDomain "job" has "status.status" NotReady [NV-353]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), index: 1, status: NotReady} [NV-353]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n3), index: 2, status: Ready} [NV-353]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n2   | Ready | 0      | Ready    |
      | n3   | Ready | 0      | NotReady |
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n3), index: 2, status: NotReady} [NV-353]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), index: 1, status: Ready} [NV-353]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-353]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n3   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-353]
    # A node leaves and another one joins; the others keep everything.
    When the daemon pod of node "n2" in ComputeDomain "job" is deleted
    Then the ComputeDomain "job" has "status.nodes" without {name: $(node:n2)} [NV-350]
    And the ComputeDomain "job" has "status.status" NotReady [NV-353]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n5   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-353]
    And the ComputeDomain "job" has "status.nodes" in any order [{name: $(node:n1), ipAddress: 192.0.2.1, cliqueID: $(namespace).0, index: 0, status: Ready}, {name: $(node:n5), ipAddress: 192.0.2.5, cliqueID: $(namespace).0, index: 1, status: Ready}, {name: $(node:n3), ipAddress: 192.0.2.3, cliqueID: $(namespace).0, index: 2, status: Ready}, {name: $(node:n4), ipAddress: 192.0.2.4, cliqueID: $(namespace).0, index: 3, status: Ready}] [NV-350]

  @NV-427 @component:compute-domain-daemon @needs:imex-daemons
  Scenario: The nodes that stay in a ComputeDomain keep their indices while others leave and join
    Given the IMEX daemons of ComputeDomains run
    And a ComputeDomain "job" for 0 nodes
    And 4 nodes of the NVLink clique "rack.0" that are in ComputeDomain "job"
    And node "node-5"
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "node-5" is set to rack.0
    And the daemons of "node-1, node-2, node-3, node-4" have become ready in ComputeDomain "job"
    Then the cliques of ComputeDomain "job" come to have 4 nodes with the indices 0 to 3
    Given the entries of nodes "node-2, node-4" in the cliques of ComputeDomain "job" are remembered
    When nodes "node-1, node-3" leave their ComputeDomain
    Then the cliques of ComputeDomain "job" come to have the nodes "node-2, node-4"
    And the entries of nodes "node-2, node-4" in the cliques of ComputeDomain "job" are the remembered ones
    When nodes "node-1, node-5" join ComputeDomain "job"
    Then the cliques of ComputeDomain "job" come to have 4 nodes with the indices 0 to 3
    And the entries of nodes "node-2, node-4" in the cliques of ComputeDomain "job" are the remembered ones

  @NV-431 @component:compute-domain-daemon @needs:imex-daemons
  Scenario: A ComputeDomain is ready again after all of its daemon pods were deleted by force
    Given the IMEX daemons of ComputeDomains run
    And a ComputeDomain "job" for 2 nodes
    And 2 nodes of the NVLink clique "rack.0" that are in ComputeDomain "job"
    And the daemons of "node-1, node-2" have become ready in ComputeDomain "job"
    Then the ComputeDomain "job" has "status.status" Ready
    Given the entries of nodes "node-1, node-2" in the cliques of ComputeDomain "job" are remembered
    When the daemon pod of node "node-1" in ComputeDomain "job" is deleted
    And the daemon pod of node "node-2" in ComputeDomain "job" is deleted
    Then the daemons of "node-1, node-2" are ready in ComputeDomain "job"
    And the entries of nodes "node-1, node-2" in the cliques of ComputeDomain "job" become Ready with other addresses
    And the cliques of ComputeDomain "job" come to have 2 nodes with the indices 0 to 1
    And the ComputeDomain "job" has "status.status" Ready

  @NV-362 @NV-363 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: The claims of a ComputeDomain are prepared one by one as their nodes become ready
    Given 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 4 nodes
    And a channel claim for ComputeDomain "job" on each of 3 nodes
    When Prepare of claim "rank-1" is called on the ComputeDomain driver of "node-1"
    Then the ComputeDomain label of node "node-1" becomes "job" [NV-363]
    And the ComputeDomain label of node "node-2" stays "none" [NV-363]
    And the ComputeDomain label of node "node-3" stays "none" [NV-363]
    When Prepare of claim "rank-2" is called on the ComputeDomain driver of "node-2"
    And Prepare of claim "rank-3" is called on the ComputeDomain driver of "node-3"
    Then the ComputeDomain label of node "node-2" becomes "job" [NV-363]
    And the ComputeDomain label of node "node-3" becomes "job" [NV-363]
    When the ComputeDomain "job" has the daemons:
      | node   | pod      | clique                                 | status   |
      | node-1 | NotReady | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
      | node-2 | Ready    | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready    |
      | node-3 | NotReady | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
    Then Prepare of claim "rank-2" returns "channel-0" [NV-362]
    And Prepare of claim "rank-1" has not succeeded yet [NV-362]
    And Prepare of claim "rank-3" has not succeeded yet [NV-362]
    When the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-1 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    Then Prepare of claim "rank-1" returns "channel-0" [NV-362]
    When the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-3 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    Then Prepare of claim "rank-3" returns "channel-0" [NV-362]

  @NV-424 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: The claims of a ComputeDomain that waits for further nodes are prepared
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 4 nodes
    And a channel claim for ComputeDomain "job" on each of 2 nodes
    When Prepare of the channel claims of 2 nodes is called on their ComputeDomain drivers
    Then Prepare of the channel claims of 2 nodes returns "channel-0"
    And the cliques of ComputeDomain "job" come to have the nodes "node-1, node-2"
    And the ComputeDomain "job" keeps "status.status" NotReady

  @NV-449 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: The channels of a ComputeDomain stay prepared when it turns NotReady
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a channel claim for ComputeDomain "job" on each of 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-1 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
      | node-2 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    And the ComputeDomain driver on "node-2" has prepared claim "rank-2"
    Then the ComputeDomain "job" has "status.status" Ready
    # One daemon is not ready any more, and the other one is gone.
    When the ComputeDomain "job" has the daemons:
      | node   | pod      | clique                                 | status   |
      | node-1 | NotReady | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
    And the daemon pod of node "node-2" in ComputeDomain "job" is deleted
    Then the ComputeDomain "job" has "status.nodes" without {name: $(node:node-2)}
    And the ComputeDomain "job" has "status.status" NotReady
    And the ComputeDomain label of node "node-1" stays "job"
    And the ComputeDomain label of node "node-2" stays "job"
    # As a kubelet does that was restarted.
    When Prepare of the channel claims of 2 nodes is called on their ComputeDomain drivers
    Then Prepare of the channel claims of 2 nodes returns "channel-0"
    And claim "rank-1" adds 1 channels on "node-1"
    And claim "rank-2" adds 1 channels on "node-2"
    When the ComputeDomain driver on "node-1" is restarted
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "node-1"
    Then Prepare of claim "rank-1" returns "channel-0"
    And claim "rank-1" adds 1 channels on "node-1"
    And the ComputeDomain label of node "node-1" stays "job"

  @NV-450 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A claim that waits while its ComputeDomain turns NotReady is prepared when its own node is ready
    Given 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a channel claim for ComputeDomain "job" on each of 3 nodes
    And the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-1 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
      | node-2 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    When Prepare of claim "rank-3" is called on the ComputeDomain driver of "node-3"
    Then the ComputeDomain label of node "node-3" becomes "job"
    And Prepare of claim "rank-3" has not succeeded yet
    When the ComputeDomain "job" has the daemons:
      | node   | pod      | clique                                 | status   |
      | node-1 | NotReady | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
    Then the ComputeDomain "job" has "status.status" NotReady
    When the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-3 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    Then Prepare of claim "rank-3" returns "channel-0"
    And the ComputeDomain "job" keeps "status.status" NotReady

  @NV-426 @NV-350 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A rank that moves to another node takes its place in the ComputeDomain along
    Given 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a channel claim for ComputeDomain "job" on each of 3 nodes
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    And the ComputeDomain driver on "node-2" has prepared claim "rank-2"
    And the entries of nodes "node-1, node-2" in the cliques of ComputeDomain "job" are remembered
    Then the ComputeDomain "job" has "status.status" Ready [NV-350]
    And Unprepare of claim "rank-1" succeeds on the ComputeDomain driver of "node-1" [NV-426]
    And the ComputeDomain label of node "node-1" becomes "none" [NV-426]
    And the ComputeDomain label of node "node-2" stays "job" [NV-426]
    And the ComputeDomain "job" has "status.nodes" without {name: $(node:node-1)} [NV-350]
    And the ComputeDomain "job" has "status.status" NotReady [NV-350]
    When Prepare of claim "rank-3" is called on the ComputeDomain driver of "node-3"
    Then Prepare of claim "rank-3" returns "channel-0" [NV-426]
    And the ComputeDomain label of node "node-3" stays "job" [NV-426]
    And the ComputeDomain label of node "node-1" stays "none" [NV-426]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:node-3), index: 0, status: Ready} [NV-350]
    And the ComputeDomain "job" has "status.status" Ready [NV-350]

  @NV-377 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A node that reboots comes back into its ComputeDomain
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a channel claim for ComputeDomain "job" on each of 2 nodes
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    And the ComputeDomain driver on "node-2" has prepared claim "rank-2"
    And the entries of nodes "node-1, node-2" in the cliques of ComputeDomain "job" are remembered
    When the kernel of "node-1" starts again
    And the daemon pod of node "node-1" in ComputeDomain "job" is deleted
    And the ComputeDomain driver on "node-1" is restarted
    # The kubelet of the node starts the same pod again.
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "node-1"
    Then Prepare of claim "rank-1" returns "channel-0"
    And claim "rank-1" adds 1 channels on "node-1"
    And the ComputeDomain label of node "node-1" stays "job"
    And the entries of nodes "node-2" in the cliques of ComputeDomain "job" are the remembered ones
    And the ComputeDomain "job" has "status.status" Ready

  @NV-432 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A rank that is replaced on its node gets the channel of its predecessor
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a channel claim for ComputeDomain "job" on each of 2 nodes
    And a channel claim "new" on "node-1" for ComputeDomain "job"
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    And the ComputeDomain driver on "node-2" has prepared claim "rank-2"
    And the entries of nodes "node-1, node-2" in the cliques of ComputeDomain "job" are remembered
    # The successor is there before the predecessor is unprepared.
    When Prepare of claim "new" is called on the ComputeDomain driver of "node-1"
    Then Prepare of claim "new" has not succeeded yet
    And Unprepare of claim "rank-1" succeeds on the ComputeDomain driver of "node-1"
    And Prepare of claim "new" returns "channel-0"
    And claim "new" adds 1 channels on "node-1"
    And the ComputeDomain label of node "node-1" stays "job"
    And the entries of nodes "node-2" in the cliques of ComputeDomain "job" are the remembered ones

  @NV-423 @NV-350 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario Outline: A job over <count> nodes gets a channel on each of them
    Given <count> nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for <wanted> nodes
    And a channel claim for ComputeDomain "job" on each of <count> nodes
    When Prepare of the channel claims of <count> nodes is called on their ComputeDomain drivers
    Then Prepare of the channel claims of <count> nodes returns "channel-0" [NV-423]
    And the ComputeDomain "job" has "status.status" Ready [NV-350]

    Examples:
      | count | wanted |
      | 2     | 2      |
      | 4     | 0      |
      | 18    | 18     |
