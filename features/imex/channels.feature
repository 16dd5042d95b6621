@profile:imex @component:compute-domain-controller @needs:compute-domain @component:compute-domain-plugin
@needs:fake-nvml @needs:own-kubelet
Feature: Channel claims on the nodes of a ComputeDomain
  The first channel claim adds its node to the ComputeDomain. The claim waits until the node's IMEX daemon is ready,
  then the container gets the device node of the channel.

  @NV-046
  Scenario: Every node publishes one channel and one daemon
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    When the ComputeDomain driver on "n1" is started
    Then the ComputeDomain driver on "n1" publishes only "channel-0, daemon-0"

  @NV-161 @NV-162 @NV-163 @NV-150
  Scenario: A claim adds its node to the domain, waits for the daemon, and gets channel 0
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job" [NV-161]
    And Prepare of claim "train" has not succeeded yet [NV-161]
    Given the IMEX daemons of ComputeDomains are simulated
    Then the ComputeDomain "job" has "status.nodes[0].name" $(node:n1) [NV-150]
    And the ComputeDomain "job" has "status.nodes[0].status" Ready [NV-150]
    And the ComputeDomain "job" has "status.status" Ready [NV-150]
    And Prepare of claim "train" returns "channel-0" [NV-162]
    And each device of the response for claim "train" has 1 CDI ids, one of them of the claim alone [NV-162]
    And claim "train" adds 1 channels on "n1" [NV-163]

  @NV-161 @NV-162 @NV-166
  Scenario: A claim waits until its own node is ready in its own domain
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n1   | Ready | 0      | Ready    |
      | n2   | Ready | 0      | NotReady |
    And the ComputeDomain "other" has the daemons:
      | node | pod   | clique | status |
      | n2   | Ready | 0      | Ready  |
    And a channel claim "rank-0" on "n1" for ComputeDomain "job"
    And a channel claim "rank-1" on "n2" for ComputeDomain "job"
    When Prepare of claim "rank-0" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "n2"
    Then Prepare of claim "rank-0" returns "channel-0" [NV-162]
    And the ComputeDomain label of node "n1" becomes "job" [NV-161]
    And the ComputeDomain label of node "n2" becomes "job" [NV-161]
    And Prepare of claim "rank-1" has not succeeded yet [NV-161]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n2   | Ready | 0      | Ready  |
    Then Prepare of claim "rank-1" returns "channel-0" [NV-162]
    When Unprepare of claim "rank-0" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "none" [NV-166]
    And the ComputeDomain label of node "n2" stays "job" [NV-166]

  @NV-162b
  Scenario: A claim is prepared once its node is ready in its clique
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    # From now on nothing writes the status of the ComputeDomain.
    And the compute-domain-controller is stopped
    And the ComputeDomain "other" has the daemons:
      | node | pod  | clique                                 | status |
      | n1   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    And the ComputeDomain "job" has the daemons:
      | node | pod  | clique                                 | status   |
      | n2   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready    |
      | n1   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    And Prepare of claim "train" has not succeeded yet
    When the ComputeDomain "job" has the daemons:
      | node | pod  | clique                                 | status   |
      | n2   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
      | n1   | none | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready    |
    Then Prepare of claim "train" returns "channel-0"
    # So that the ComputeDomains can be deleted.
    When the compute-domain-controller is started

  @NV-161 @NV-162 @needs:virtual-clock
  Scenario: A claim that is not ready in time fails, and a later call prepares it
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job" [NV-161]
    When 36 seconds pass while claims wait
    Then Prepare of claim "train" waits [NV-161]
    When 10 seconds pass while claims wait
    Then Prepare of claim "train" has failed [NV-161]
    And the ComputeDomain label of node "n1" stays "job" [NV-161]
    Given the IMEX daemons of ComputeDomains are simulated
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0" [NV-162]
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0" [NV-162]
    And all responses for claim "train" are the same [NV-162]

  @NV-172 @needs:virtual-clock
  Scenario: A channel claim without configuration is not prepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" without configuration
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    And 46 seconds pass while claims wait
    Then Prepare of claim "train" has failed
    And the ComputeDomain label of node "n1" stays "none"

  @NV-162 @NV-163 @NV-166
  Scenario: A claim of two drivers gets a channel for the result of this driver only
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a claim "train" for a channel on "n1" in ComputeDomain "job" and a device of another driver
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0" [NV-162]
    And each device of the response for claim "train" has 1 CDI ids, one of them of the claim alone [NV-162]
    And claim "train" adds 1 channels on "n1" [NV-163]
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1" [NV-166]
    And the ComputeDomain label of node "n1" becomes "none" [NV-166]

  @NV-376
  Scenario: A driver that is restarted knows its claims
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And the CDI files of "n1" are remembered
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "first"
    When the ComputeDomain driver on "n1" is restarted
    And Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "first" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "first" returns "channel-0"
    And all responses for claim "first" are the same
    And claim "first" adds 1 channels on "n1"
    And Prepare of claim "second" has not succeeded yet
    And Unprepare of claim "first" succeeds on the ComputeDomain driver of "n1"
    And Prepare of claim "second" returns "channel-0"
    # As when an upgrade of the driver is rolled back.
    When the ComputeDomain driver on "n1" is restarted
    Then the ComputeDomain label of node "n1" stays "job"
    And Unprepare of claim "second" succeeds on the ComputeDomain driver of "n1"
    And the ComputeDomain label of node "n1" becomes "none"
    And the CDI files of "n1" are the remembered ones within 5 seconds

  @NV-375
  Scenario: A node keeps the label of its domain while a claim of the domain is prepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "first"
    When Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "second" has not succeeded yet
    And Unprepare of claim "second" succeeds on the ComputeDomain driver of "n1"
    And the ComputeDomain label of node "n1" stays "job"
    And Unprepare of claim "first" succeeds on the ComputeDomain driver of "n1"
    And the ComputeDomain label of node "n1" becomes "none"

  @NV-382 @needs:compute-domain-plugin-flags
  Scenario: A node has the label of its NVLink clique
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n2" with a kubelet and the GPUs of "dgx-h100"
    When the ComputeDomain driver on "n1" is started with:
      | flag                       |
      | --gpu-clique-label-enabled |
    And the ComputeDomain driver on "n2" is started with:
      | flag                       |
      | --gpu-clique-label-enabled |
    Then the Node "n1" has "metadata.labels['nvidia.com/gpu.clique']" 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2
    And the Node "n2" keeps "metadata.labels['nvidia.com/gpu.clique']" null
    # The node has the label of GPUs that it had before.
    When "metadata.labels['nvidia.com/gpu.clique']" of the Node "n2" is set to 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.1
    And the ComputeDomain driver on "n2" is restarted
    Then the Node "n2" has "metadata.labels['nvidia.com/gpu.clique']" null

  @NV-163
  Scenario: A claim with allocationMode All gets every channel
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" with {domainID: job, allocationMode: All}
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"
    And claim "train" adds 2048 channels on "n1"

  @NV-166
  Scenario: A node leaves its domain when its channel is unprepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "train"
    Then the ComputeDomain label of node "n1" becomes "job"
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1"
    And the ComputeDomain label of node "n1" becomes "none"

  @NV-166b
  Scenario: A channel claim is prepared for one pod after the other
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "train"
    When Unprepare of claim "train" is called on the ComputeDomain driver of "n1"
    # Its allocation is the same: the next pod uses the claim.
    And Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"
    And claim "train" adds 1 channels on "n1"
    And the ComputeDomain label of node "n1" becomes "job"

  @NV-164
  Scenario: A channel is prepared for one claim at a time
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "first"
    When Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "second" has not succeeded yet
    And Unprepare of claim "first" succeeds on the ComputeDomain driver of "n1"
    And Prepare of claim "second" returns "channel-0"

  @NV-164b
  Scenario: A channel that was prepared before a reboot is free after it
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "first"
    When the kernel of "n1" starts again
    And the ComputeDomain driver on "n1" is restarted
    And Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "second" returns "channel-0"

  @NV-162 @NV-165 @NV-166
  Scenario: A node belongs to one ComputeDomain at a time
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "other"
    When Prepare of claim "first" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job" [NV-165]
    When Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" stays "job" [NV-165]
    And Prepare of claim "second" has not succeeded yet [NV-165]
    Given the IMEX daemons of ComputeDomains are simulated
    Then Prepare of claim "first" returns "channel-0" [NV-162]
    # The second claim never joined: its own domain is not the one of the label.
    And Unprepare of claim "second" succeeds on the ComputeDomain driver of "n1" [NV-166]
    And the ComputeDomain label of node "n1" stays "job" [NV-166]
    And Unprepare of claim "first" succeeds on the ComputeDomain driver of "n1" [NV-166]
    And the ComputeDomain label of node "n1" becomes "none" [NV-166]

  @NV-165 @needs:faults
  Scenario: A node that another ComputeDomain takes meanwhile keeps its label
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    And node "n1" is labelled for ComputeDomain "other" while the ComputeDomain driver writes it
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "other"
    And Prepare of claim "train" has not succeeded yet
    And the ComputeDomain label of node "n1" stays "other"

  @NV-166 @NV-162
  Scenario: The daemon of a node does not keep the node in its ComputeDomain
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "imexd"
    And the ComputeDomain driver on "n1" has prepared claim "first"
    Then Unprepare of claim "first" succeeds on the ComputeDomain driver of "n1" [NV-166]
    And the ComputeDomain label of node "n1" becomes "none" [NV-166]
    When Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "second" returns "channel-0" [NV-162]
    And Unprepare of claim "imexd" succeeds on the ComputeDomain driver of "n1" [NV-166]
    And the ComputeDomain label of node "n1" stays "job" [NV-166]

  @NV-158
  Scenario: A claim for a ComputeDomain of another namespace is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "foreign" in another namespace
    And a channel claim "train" on "n1" for ComputeDomain "foreign"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once

  @NV-158
  Scenario: A claim for a ComputeDomain of a namespace whose name only begins alike is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "spy" on "n1" for ComputeDomain "job" in a namespace with a longer name
    When Prepare of claim "spy" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "spy" fails at once

  @NV-159
  Scenario: A claim for an unknown ComputeDomain is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a channel claim "train" on "n1" for ComputeDomain "00000000-0000-4000-8000-000000000000"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once

  @NV-160
  Scenario: A claim whose configuration has an unknown field is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" with {domainID: job, unknown: field}
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once, naming "unknown"

  @NV-160b
  Scenario: A channel claim with the configuration of a daemon is not prepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "wrong" on "n1" with {kind: ComputeDomainDaemonConfig, domainID: job}
    And a channel claim "train" on "n1" with {kind: ComputeDomainChannelConfig, domainID: job}
    When Prepare of claim "wrong" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "wrong" has not succeeded yet
    And the ComputeDomain label of node "n1" stays "none"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"

  @NV-170
  Scenario Outline: A claim on a node with <what> gets no channel
    Given node "n1" running the ComputeDomain driver on the GPUs of "<inventory>"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"
    And the response for claim "train" has the CDI ids:
      | id |

    Examples:
      | what                       | inventory |
      | an NVLink fabric of its own | dgx-h100  |
      | H200 that NVLink connects inside the node only | dgx-h200 |
      | GPUs without NVLink fabric | l40s      |

  @NV-161
  Scenario: A claim waits for the daemon of its node on a node without a fabric, too
    Given node "n1" running the ComputeDomain driver on the GPUs of "l40s"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    And Prepare of claim "train" has not succeeded yet
