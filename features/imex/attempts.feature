@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:fake-nvml @needs:own-kubelet
Feature: Daemons of ComputeDomains and aborted claims
  A kubelet can call Prepare late, after it has unprepared the claim. A channel that is prepared then is
  never unprepared. Therefore a ComputeDomain driver records aborted claims for a while.

  @NV-143 @NV-145
  Scenario: A ComputeDomain with a template name only gets default values
    When a ComputeDomain "job" is created with {channel: {}}
    # The controller of this API runs.
    Then the ComputeDomain "job" has "metadata.finalizers" containing resource.nvidia.com/computeDomain [NV-145]
    And the ComputeDomain "job" has "spec.numNodes" 0 [NV-143]
    And the ComputeDomain "job" has "spec.channel.allocationMode" Single [NV-143]

  @NV-156 @NV-157 @component:compute-domain-plugin
  Scenario: A daemon gets the domain, the clique and its configuration
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0" [NV-156]
    # The device `all` has every GPU of the node.
    And each device of the response for claim "imexd" has 2 CDI ids, one of them of the claim alone [NV-156]
    And a container with claim "imexd" on "n1" has: [NV-157]
      | kind     | name                     | value          |
      | variable | COMPUTE_DOMAIN_UUID      | $(uid:job)     |
      | variable | COMPUTE_DOMAIN_NAME      | job            |
      | variable | COMPUTE_DOMAIN_NAMESPACE | $(namespace)   |
      | variable | CLIQUE_ID                | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 |
      | file     | /imexd/imexd.cfg.tmpl    | set            |
      | writable directory | /imexd         | set            |
    And a container with claim "imexd" on "n1" has: [NV-156]
      | kind        | name           | value |
      | device node | /dev/nvidia0   | set   |
      | device node | /dev/nvidia3   | set   |
      | device node | /dev/nvidiactl | set   |
      | device node | /dev/nvidia-modeset   | set |
      | device node | /dev/nvidia-uvm       | set |
      | device node | /dev/nvidia-uvm-tools | set |
      | variable    | NVIDIA_VISIBLE_DEVICES | void |
    And of the device nodes "/dev/nvidia[0-9]*", claim "imexd" adds only "/dev/nvidia0, /dev/nvidia1, /dev/nvidia2, /dev/nvidia3" on "n1" [NV-156]
    And claim "imexd" adds the device of the capability "fabric-imex-mgmt" on "n1" [NV-157]
    And file "/imexd/imexd.cfg.tmpl" of a container with claim "imexd" on "n1" has the lines: [NV-157]
      | line                                 |
      | SERVER_PORT=50000                    |
      # A path, or a word that the daemon replaces.
      | IMEX_NODE_CONFIG_FILE=?*             |
      | IMEX_CMD_ENABLED=1                   |
      | IMEX_CMD_PORT=50005                  |
      | IMEX_CMD_BIND_INTERFACE_IP=?*        |

  @NV-157 @NV-372 @component:compute-domain-plugin
  Scenario: A daemon is prepared for one ComputeDomain at a time
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "dgx-h100"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    And a daemon claim "next" on "n1" for ComputeDomain "other"
    And a daemon claim "away" on "n2" for ComputeDomain "other"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0" [NV-372]
    When Prepare of claim "next" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "away" is called on the ComputeDomain driver of "n2"
    Then Prepare of claim "next" has not succeeded yet [NV-372]
    And Prepare of claim "away" returns "daemon-0" [NV-372]
    And Unprepare of claim "imexd" succeeds on the ComputeDomain driver of "n1" [NV-372]
    And Prepare of claim "next" returns "daemon-0" [NV-372]
    And a container with claim "next" on "n1" has: [NV-157]
      | kind     | name                     | value          |
      | variable | COMPUTE_DOMAIN_UUID      | $(uid:other)   |
      | variable | COMPUTE_DOMAIN_NAME      | other          |
      | mount    | /imexd                   | like ".*/compute-domain.nvidia.com/domains/$(uid:other)" |
    And a container with claim "away" on "n2" has: [NV-157]
      | kind     | name                     | value          |
      | variable | CLIQUE_ID                |                |
      | variable | COMPUTE_DOMAIN_UUID      | $(uid:other)   |
    And claim "away" adds no device of the capability "fabric-imex-mgmt" on "n2" [NV-157]
    # Only a channel claim adds a node to a ComputeDomain.
    And the ComputeDomain label of node "n2" stays "none" [NV-157]

  @NV-379 @component:compute-domain-plugin
  Scenario: The next daemon of a node starts from the configuration of the driver
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    And a daemon claim "next" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "imexd"
    # The folder is writable for the daemon.
    And file "/imexd/imexd.cfg.tmpl" of a container with claim "imexd" on "n1" is overwritten with "SERVER_PORT=1"
    Then Unprepare of claim "imexd" succeeds on the ComputeDomain driver of "n1"
    When Prepare of claim "next" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "next" returns "daemon-0"
    And file "/imexd/imexd.cfg.tmpl" of a container with claim "next" on "n1" has the lines:
      | line                          |
      | SERVER_PORT=50000             |
      | IMEX_CMD_PORT=50005           |
      | IMEX_CMD_BIND_INTERFACE_IP=?* |

  @NV-157b @component:compute-domain-plugin
  Scenario: A daemon claim for an unknown ComputeDomain is not prepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "lost" on "n1" for ComputeDomain "00000000-0000-4000-8000-000000000000"
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "lost" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0"
    And Prepare of claim "lost" has not succeeded yet

  @NV-391 @component:compute-domain-plugin
  Scenario: Each claim of a call is prepared or refused by itself
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    And a daemon claim "next" on "n1" for ComputeDomain "other"
    And a channel claim "train" on "n1" for ComputeDomain "job"
    And a channel claim "lost" on "n1" for ComputeDomain "00000000-0000-4000-8000-000000000000"
    And the ComputeDomain driver on "n1" has prepared claim "imexd"
    # One is refused, one waits for its node and one for the other daemon.
    When Prepare of claims "lost, train, next" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    And Prepare of claim "next" has not succeeded yet
    And Unprepare of claim "imexd" succeeds on the ComputeDomain driver of "n1"
    Given the IMEX daemons of ComputeDomains are simulated
    Then Prepare of claim "next" returns "daemon-0"
    And Prepare of claim "train" returns "channel-0"
    And Prepare of claim "lost" has failed

  @NV-381 @component:compute-domain-plugin @needs:virtual-clock
  Scenario: A claim that is deleted while it waits is unprepared by its driver
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n3" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 3 nodes
    And a channel claim "gone" on "n1" for ComputeDomain "job"
    And a channel claim "waits" on "n2" for ComputeDomain "job"
    And a channel claim "renewed" on "n3" for ComputeDomain "job"
    When Prepare of claim "gone" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "waits" is called on the ComputeDomain driver of "n2"
    And Prepare of claim "renewed" is called on the ComputeDomain driver of "n3"
    Then the ComputeDomain label of node "n1" becomes "job"
    And the ComputeDomain label of node "n2" becomes "job"
    And the ComputeDomain label of node "n3" becomes "job"
    When 46 seconds pass while claims wait
    Then Prepare of claim "gone" has failed
    And Prepare of claim "waits" has failed
    And Prepare of claim "renewed" has failed
    When the ComputeDomain driver on "n1" is restarted
    And the ResourceClaim "gone" is deleted
    Then the ResourceClaim "gone" is gone
    # Another claim has the name of the third one by then.
    When the ResourceClaim "renewed" is deleted
    Then the ResourceClaim "renewed" is gone
    Given a channel claim "renewed" on "n3" for ComputeDomain "job"
    When 600 seconds pass
    Then the ComputeDomain label of node "n1" becomes "none"
    And the ComputeDomain label of node "n3" becomes "none"
    And the ComputeDomain label of node "n2" stays "job"
    And the ComputeDomain driver on "n2" has a record of claim "waits"

  @NV-381b @component:compute-domain-plugin
  Scenario: A claim that waits while its driver is restarted is prepared by a later call
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    And a channel claim "next" on "n1" for ComputeDomain "other"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    When the ComputeDomain driver on "n1" is restarted
    Then Prepare of claim "train" has not succeeded yet
    And the ComputeDomain label of node "n1" stays "job"
    Given the IMEX daemons of ComputeDomains are simulated
    When Prepare of claim "next" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"
    And claim "train" adds 1 channels on "n1"
    And Prepare of claim "next" has not succeeded yet
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1"
    And Prepare of claim "next" returns "channel-0"
    And the ComputeDomain label of node "n1" becomes "other"

  @NV-381b @component:compute-domain-plugin
  Scenario: A claim that waits while its driver is killed is prepared by a later call
    Given node "n1" running the ComputeDomain driver as a process on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a channel claim "rank-1" on "n1" for ComputeDomain "job"
    And a channel claim "rank-2" on "n2" for ComputeDomain "job"
    When Prepare of claim "rank-1" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "rank-2" is called on the ComputeDomain driver of "n2"
    Then the ComputeDomain label of node "n1" becomes "job"
    And the ComputeDomain label of node "n2" becomes "job"
    When the ComputeDomain driver on "n1" is killed and started again
    Then Prepare of claim "rank-1" has not succeeded yet
    And the ComputeDomain label of node "n1" stays "job"
    Given the IMEX daemons of ComputeDomains are simulated
    # The call on the other node has waited meanwhile.
    Then Prepare of claim "rank-2" returns "channel-0"
    When Prepare of claim "rank-1" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "rank-1" returns "channel-0"
    And claim "rank-1" adds 1 channels on "n1"
    # A prepared claim outlives its driver as well.
    When the ComputeDomain driver on "n1" is killed and started again
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "rank-1" returns "channel-0"
    And claim "rank-1" adds 1 channels on "n1"
    And Unprepare of claim "rank-1" succeeds on the ComputeDomain driver of "n1"
    And the ComputeDomain label of node "n1" becomes "none"
    And the ComputeDomain label of node "n2" stays "job"

  @NV-167b @component:compute-domain-plugin
  Scenario: Unprepare of a claim that is not prepared succeeds
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    Then Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    # The first Unprepare aborts the waiting claim, the second one finds it aborted.
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1"
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1"
    And the ComputeDomain label of node "n1" stays "none"

  @NV-167 @component:compute-domain-plugin
  Scenario: A claim that is unprepared while it waits is recorded as aborted
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1"
    And the ComputeDomain driver on "n1" comes to have claim "train" as PrepareAborted in its checkpoint

  @NV-166 @component:compute-domain-plugin
  Scenario: A claim that was unprepared while it waited does not keep the node in its ComputeDomain
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job" [NV-166]
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1" [NV-166]
    And the ComputeDomain label of node "n1" becomes "none" [NV-166]
    Given the IMEX daemons of ComputeDomains are simulated
    And a channel claim "next" on "n1" for ComputeDomain "job"
    And the ComputeDomain driver on "n1" has prepared claim "next"
    Then Unprepare of claim "next" succeeds on the ComputeDomain driver of "n1" [NV-166]
    And the ComputeDomain label of node "n1" becomes "none" [NV-166]

  @NV-168 @component:compute-domain-plugin
  Scenario: Prepare of an aborted claim fails
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    When Unprepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once
    # The same claim with another allocation.
    When the channel claim "train" on "n1" is allocated again with {domainID: job, allocationMode: All}
    And Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    And Prepare of claim "train" has not succeeded yet
    When Unprepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once
    # A claim of the same name with another uid, and so with an allocation of its own.
    Given the IMEX daemons of ComputeDomains are simulated
    When the ResourceClaim "train" is deleted
    Then the ResourceClaim "train" is gone
    Given a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0"

  @NV-168 @NV-169 @component:compute-domain-plugin @needs:virtual-clock
  Scenario: An aborted claim is refused for 90 seconds
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job" [NV-169]
    When Unprepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once [NV-169]
    When 85 seconds pass
    # Another attempt and a restart of the driver change nothing.
    And the ComputeDomain driver on "n1" is restarted
    And Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" fails at once [NV-168]
    When 600 seconds pass
    Then the ComputeDomain driver on "n1" comes to have no record of claim "train" [NV-169]
    Given the IMEX daemons of ComputeDomains are simulated
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0" [NV-169]
