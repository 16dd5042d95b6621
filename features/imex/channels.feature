@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:compute-domain-plugin
@needs:fake-nvml @needs:own-kubelet
Feature: Channel claims on the nodes of a ComputeDomain
  The first channel claim adds its node to the ComputeDomain. The claim waits until the node's IMEX daemon is ready,
  then the container gets the device node of the channel.

  @NV-046
  Scenario: Every node publishes one channel and one daemon
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
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
    And claim "train" adds 1 channels on "n1" [NV-163]

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
    When Unprepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "none"

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
    When Unprepare of claim "first" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "second" returns "channel-0"

  @NV-165
  Scenario: A node belongs to one ComputeDomain at a time
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "other"
    When Prepare of claim "first" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    When Prepare of claim "second" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" stays "job"
    And Prepare of claim "second" has not succeeded yet

  @NV-158
  Scenario: A claim for a ComputeDomain of another namespace is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "foreign" in another namespace
    And a channel claim "train" on "n1" for ComputeDomain "foreign"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once because "namespace is different"

  @NV-159
  Scenario: A claim for an unknown ComputeDomain is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a channel claim "train" on "n1" for ComputeDomain "00000000-0000-4000-8000-000000000000"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once because "ComputeDomain not found"

  @NV-160
  Scenario: A claim whose configuration has an unknown field is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" with {domainID: job, unknown: field}
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once because "unknown field"

  @NV-170
  Scenario: A claim on a node without an NVLink fabric gets no channel
    Given node "n1" running the ComputeDomain driver on the GPUs of "dgx-h100"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"
    And the response for claim "train" has the CDI ids:
      | id |
