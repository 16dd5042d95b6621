@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:fake-nvml @needs:own-kubelet
Feature: Daemons of ComputeDomains, and attempts that were given up
  A kubelet can call Prepare late: for a claim that it unprepared meanwhile. A channel that is taken then is never given
  back. So a ComputeDomain driver remembers which attempts were given up, for a while.

  @NV-143
  Scenario: A ComputeDomain that names its template and nothing else
    When a ComputeDomain "job" with nothing but its template's name is created
    Then the ComputeDomain "job" has no nodes to wait for, and gives single channels

  @NV-156 @NV-157 @needs:compute-domain-plugin
  Scenario: A daemon gets what it needs to serve its ComputeDomain
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When the daemon of claim "imexd" is asked for on "n1"
    Then the daemon of claim "imexd" is given, with every GPU of the node [NV-156]
    And the daemon of claim "imexd" on "n1" knows the ComputeDomain "job", its clique and its configuration [NV-157]

  @NV-167 @needs:compute-domain-plugin
  Scenario: An attempt that was given up is remembered
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When the channel of claim "train" is asked for on "n1"
    Then node "n1" has joined the ComputeDomain "job"
    When the channel of claim "train" is given back on "n1"
    Then the ComputeDomain driver on "n1" comes to remember claim "train" as given up

  @NV-168 @needs:compute-domain-plugin
  Scenario: A late call cannot take a channel that was given back
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When the channel of claim "train" is asked for on "n1"
    Then node "n1" has joined the ComputeDomain "job"
    When the channel of claim "train" is given back on "n1"
    Then the channel of claim "train" is refused at once
    When the channel of claim "train" is asked for on "n1"
    Then the channel of claim "train" is refused at once
    And the refusal of claim "train" says "already aborted"
