@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
Feature: A channel is given on a node that is connected
  The first channel claim makes its node join the ComputeDomain. The claim waits until the node's IMEX daemon is ready,
  then the container gets the device node of the channel.

  @NV-046
  Scenario: Every node offers one channel and one daemon
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    Then the ComputeDomain driver on "n1" publishes channel 0 and daemon 0 only

  @NV-161 @NV-162 @NV-163 @NV-150
  Scenario: A claim makes its node join, waits for the daemon, and gets channel 0
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When the channel of claim "train" is asked for on "n1"
    Then node "n1" has joined the ComputeDomain "job" [NV-161]
    And the channel of claim "train" is not given yet [NV-161]
    When the IMEX daemons of ComputeDomains come up
    Then the ComputeDomain "job" lists node "n1" as Ready [NV-150]
    And the ComputeDomain "job" comes to be Ready [NV-150]
    And the channel of claim "train" is given [NV-162]
    And claim "train" brings 1 channels on "n1" [NV-163]

  @NV-163
  Scenario: A ComputeDomain with allocationMode All gives every channel
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are stood in for
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" with allocationMode All on "n1" for ComputeDomain "job"
    When the channel of claim "train" is asked for on "n1"
    Then the channel of claim "train" is given
    And claim "train" brings 2048 channels on "n1"

  @NV-166
  Scenario: A node leaves when its channel is given back
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are stood in for
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    And the channel of claim "train" has been prepared on "n1"
    Then node "n1" has joined the ComputeDomain "job"
    When the channel of claim "train" is given back on "n1"
    Then node "n1" has left all ComputeDomains

  @NV-164
  Scenario: A channel has one claim at a time
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are stood in for
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "job"
    And the channel of claim "first" has been prepared on "n1"
    When the channel of claim "second" is asked for on "n1"
    Then the channel of claim "second" is not given yet
    When the channel of claim "first" is given back on "n1"
    Then the channel of claim "second" is given

  @NV-165
  Scenario: A node belongs to one ComputeDomain at a time
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "other"
    When the channel of claim "first" is asked for on "n1"
    Then node "n1" has joined the ComputeDomain "job"
    When the channel of claim "second" is asked for on "n1"
    Then node "n1" stays in the ComputeDomain "job"
    And the channel of claim "second" is not given yet

  @NV-158
  Scenario: A claim for a ComputeDomain of another namespace is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a channel claim "train" on "n1" for a ComputeDomain "foreign" of another namespace
    When the channel of claim "train" is asked for on "n1"
    Then the channel of claim "train" is refused at once
    And the refusal of claim "train" says "namespace is different"

  @NV-159
  Scenario: A claim for no ComputeDomain is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a channel claim "train" on "n1" for a ComputeDomain that does not exist
    When the channel of claim "train" is asked for on "n1"
    Then the channel of claim "train" is refused at once
    And the refusal of claim "train" says "ComputeDomain not found"

  @NV-160
  Scenario: A claim whose configuration cannot be understood is refused at once
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" with an unknown field on "n1" for ComputeDomain "job"
    When the channel of claim "train" is asked for on "n1"
    Then the channel of claim "train" is refused at once
    And the refusal of claim "train" says "unknown field"

  @NV-170
  Scenario: Without an NVLink fabric a claim succeeds and brings no channel
    Given node "n1" running the ComputeDomain driver on the GPUs of "dgx-h100"
    And the IMEX daemons of ComputeDomains are stood in for
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When the channel of claim "train" is asked for on "n1"
    Then claim "train" is prepared without any channel
