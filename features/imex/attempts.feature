@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:fake-nvml @needs:own-kubelet
Feature: Daemons of ComputeDomains and aborted claims
  A kubelet can call Prepare late, for a claim that it has unprepared meanwhile. A channel that is prepared then is
  never unprepared. Therefore a ComputeDomain driver records aborted claims for a while.

  @NV-143 @NV-145
  Scenario: A ComputeDomain with a template name only gets default values
    When a ComputeDomain "job" is created with {channel: {}}
    # The controller of this API runs.
    Then the ComputeDomain "job" has "metadata.finalizers" containing resource.nvidia.com/computeDomain [NV-145]
    And the ComputeDomain "job" has "spec.numNodes" 0 [NV-143]
    And the ComputeDomain "job" has "spec.channel.allocationMode" Single [NV-143]

  @NV-156 @NV-157 @needs:compute-domain-plugin
  Scenario: A daemon gets the domain, the clique and its configuration
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0" [NV-156]
    # The device `all` has every GPU of the node.
    And the response for claim "imexd" has the CDI ids: [NV-156]
      | id                                                        |
      | k8s.compute-domain.nvidia.com/device=all                  |
      | k8s.compute-domain.nvidia.com/claim=$(uid:imexd)-daemon-0 |
    And a container with claim "imexd" on "n1" has: [NV-157]
      | kind     | name                     | value          |
      | variable | COMPUTE_DOMAIN_UUID      | $(uid:job)     |
      | variable | COMPUTE_DOMAIN_NAME      | job            |
      | variable | COMPUTE_DOMAIN_NAMESPACE | $(namespace)   |
      | variable | CLIQUE_ID                | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 |
      | file     | /imexd/imexd.cfg.tmpl    | set            |

  @NV-167 @needs:compute-domain-plugin
  Scenario: A claim that is unprepared while it waits is recorded as aborted
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    When Unprepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain driver on "n1" comes to have claim "train" as PrepareAborted in its checkpoint

  @NV-168 @needs:compute-domain-plugin
  Scenario: Prepare of an aborted claim fails
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    When Unprepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once because ""
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once because "already aborted"
    # A claim of the same name with another uid, and so with an allocation of its own.
    Given the IMEX daemons of ComputeDomains are simulated
    When the ResourceClaim "train" is deleted
    Then the ResourceClaim "train" is gone
    Given a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"
