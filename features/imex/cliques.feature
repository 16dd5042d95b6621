@profile:imex @component:compute-domain-controller @needs:compute-domain
Feature: ComputeDomains over several NVLink cliques
  A ComputeDomain can have nodes of several NVLink cliques, and nodes without a fabric. The daemons of each clique are
  an IMEX domain of their own.

  @NV-355
  Scenario: The nodes of two cliques are numbered in their own clique, and all of them count
    Given the IMEX daemons of ComputeDomains are simulated
    And node "n1"
    And node "n2"
    And node "n3"
    And node "n4"
    And node "n5"
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n1" is set to rack-a.7
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n2" is set to rack-b.7
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n3" is set to rack-a.7
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n4" is set to rack-b.7
    And a ComputeDomain "job" for 5 nodes
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n1" is set to $(uid:job)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n2" is set to $(uid:job)
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n1), cliqueID: rack-a.7, index: 0, status: Ready}
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), cliqueID: rack-b.7, index: 0, status: Ready}
    Given "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n3" is set to $(uid:job)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n4" is set to $(uid:job)
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n3), cliqueID: rack-a.7, index: 1, status: Ready}
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n4), cliqueID: rack-b.7, index: 1, status: Ready}
    And the ComputeDomain "job" keeps "status.status" NotReady
    # The last one has no fabric.
    Given "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n5" is set to $(uid:job)
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n5), cliqueID: "", index: -1, status: Ready}
    And the ComputeDomain "job" has "status.status" Ready
    # Every clique has lost a node, and another one is not ready in one of them.
    Given "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n1" is set to null
    Then the ComputeDomain "job" has "status.nodes" without {name: $(node:n1)}
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n3), cliqueID: rack-a.7, index: 1, status: Ready}
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), cliqueID: rack-b.7, index: 0, status: Ready}
    And the ComputeDomain "job" has "status.status" NotReady

  @NV-366 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: An entry of the node in another clique does not count for its claim
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node" in NVLink clique 5
    And a ComputeDomain "job" for 2 nodes
    # From now on nothing writes the status of the ComputeDomain.
    And the compute-domain-controller is stopped
    # These entries are from before the NVLink cables of the nodes were changed.
    And the ComputeDomain "job" has the daemons:
      | node | pod  | clique                                 | status |
      | n1   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.5 | Ready  |
      | n2   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    And a channel claim "rank-0" on "n1" for ComputeDomain "job"
    And a channel claim "rank-1" on "n2" for ComputeDomain "job"
    When Prepare of claim "rank-0" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "n2"
    Then the ComputeDomain label of node "n1" becomes "job"
    And the ComputeDomain label of node "n2" becomes "job"
    And Prepare of claim "rank-0" has not succeeded yet
    And Prepare of claim "rank-1" has not succeeded yet
    When the ComputeDomain "job" has the daemons:
      | node | pod  | clique                                 | status |
      | n2   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.5 | Ready  |
    Then Prepare of claim "rank-1" returns "channel-0"
    And Prepare of claim "rank-0" has not succeeded yet
    # So that the ComputeDomain can be deleted.
    When the compute-domain-controller is started

  @NV-367 @NV-355 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A job over two cliques and a node without a fabric has channels where there is a fabric
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node" in NVLink clique 5
    And node "n3" running the ComputeDomain driver on the GPUs of "dgx-h100"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 3 nodes
    And a channel claim "rank-0" on "n1" for ComputeDomain "job"
    And a channel claim "rank-1" on "n2" for ComputeDomain "job"
    And a channel claim "rank-2" on "n3" for ComputeDomain "job"
    When Prepare of claim "rank-0" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "n2"
    And Prepare of claim "rank-2" is called on the ComputeDomain driver of "n3"
    Then Prepare of claim "rank-0" returns "channel-0" [NV-367]
    And Prepare of claim "rank-1" returns "channel-0" [NV-367]
    And Prepare of claim "rank-2" returns "channel-0" [NV-367]
    And claim "rank-0" adds 1 channels on "n1" [NV-367]
    And claim "rank-1" adds 1 channels on "n2" [NV-367]
    And the response for claim "rank-2" has the CDI ids: [NV-367]
      | id |
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n1), cliqueID: 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2, index: 0, status: Ready} [NV-355]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), cliqueID: 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.5, index: 0, status: Ready} [NV-355]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n3), cliqueID: "", index: -1, status: Ready} [NV-355]
    And the ComputeDomain "job" has "status.status" Ready [NV-355]

  @NV-017d @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario Outline: A fabric that breaks under a running driver does not change the clique of its node: <fault>
    Given 2 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a daemon claim "imexd" on "node-1" for ComputeDomain "job"
    And a channel claim for ComputeDomain "job" on each of 2 nodes
    When node "node-1" gets the fault "<fault>"
    And Prepare of claim "imexd" is called on the ComputeDomain driver of "node-1"
    Then Prepare of claim "imexd" returns "daemon-0"
    And a container with claim "imexd" on "node-1" has:
      | kind     | name      | value                                  |
      | variable | CLIQUE_ID | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 |
    And claim "imexd" adds the device of the capability "fabric-imex-mgmt" on "node-1"
    When the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-1 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
      | node-2 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    And Prepare of the channel claims of 2 nodes is called on their ComputeDomain drivers
    Then Prepare of the channel claims of 2 nodes returns "channel-0"
    And claim "rank-1" adds 1 channels on "node-1"
    And claim "rank-2" adds 1 channels on "node-2"

    Examples:
      | fault                               |
      | NVLink fabric failed on one GPU     |
      | NVLink fabric of one GPU unreadable |
      | NVLink fabric in progress           |
      | NVLinks of one GPU down             |

  @NV-170 @NV-163 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A job over trays of GB300 and an H200 node has channels on the trays only
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb300-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb300-nvl72-node"
    And node "n3" running the ComputeDomain driver on the GPUs of "dgx-h200"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 3 nodes
    And a channel claim "rank-0" on "n1" for ComputeDomain "job"
    And a channel claim "rank-1" on "n2" for ComputeDomain "job"
    And a channel claim "rank-2" on "n3" for ComputeDomain "job"
    When Prepare of claim "rank-0" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "n2"
    And Prepare of claim "rank-2" is called on the ComputeDomain driver of "n3"
    Then Prepare of claim "rank-0" returns "channel-0" [NV-163]
    And Prepare of claim "rank-1" returns "channel-0" [NV-163]
    And Prepare of claim "rank-2" returns "channel-0" [NV-170]
    And claim "rank-0" adds 1 channels on "n1" [NV-163]
    And claim "rank-1" adds 1 channels on "n2" [NV-163]
    And the response for claim "rank-2" has the CDI ids: [NV-170]
      | id |

  @NV-383 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet @needs:virtual-clock
  Scenario: Daemons get the clique that the GPUs of their node have now
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a daemon claim "first" on "n1" for ComputeDomain "job"
    And a daemon claim "second" on "n1" for ComputeDomain "job"
    And a daemon claim "third" on "n1" for ComputeDomain "job"
    And a daemon claim "other" on "n2" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "first"
    When node "n1" gets the fault "NVLink clique 5"
    And 600 seconds pass
    # The daemon that runs stays in the clique that it has joined.
    Then a container with claim "first" on "n1" has:
      | kind     | name      | value                                  |
      | variable | CLIQUE_ID | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 |
    And Unprepare of claim "first" succeeds on the ComputeDomain driver of "n1"
    When Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "second" returns "daemon-0"
    And a container with claim "second" on "n1" has:
      | kind     | name      | value                                  |
      | variable | CLIQUE_ID | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.5 |
    # A fabric that is gone leaves the clique as it was.
    When node "n1" gets the fault "NVLink fabric not supported"
    And 600 seconds pass
    Then Unprepare of claim "second" succeeds on the ComputeDomain driver of "n1"
    When Prepare of claim "third" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "other" is called on the ComputeDomain driver of "n2"
    Then Prepare of claim "third" returns "daemon-0"
    And a container with claim "third" on "n1" has:
      | kind     | name      | value                                  |
      | variable | CLIQUE_ID | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.5 |
    And Prepare of claim "other" returns "daemon-0"
    And a container with claim "other" on "n2" has:
      | kind     | name      | value                                  |
      | variable | CLIQUE_ID | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 |
