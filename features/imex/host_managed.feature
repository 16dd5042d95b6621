@profile:imex @component:compute-domain-controller @needs:compute-domain
Feature: IMEX daemons that the administrator of the nodes runs
  With --imex-mode=hostManaged every node has its own nvidia-imex, and the driver starts none: it only creates the
  template that workloads use, and prepares channels.

  @NV-018 @needs:compute-domain-flags
  Scenario: The controller does not start with an unsupported mode
    Then the ComputeDomain controller with "--imex-mode=hostManaged" does not start, naming "HostManagedIMEXDaemon"
    And the ComputeDomain controller with "--imex-isolation=channel" does not start, naming "isolation"
    And the ComputeDomain controller with "--imex-isolation=node" does not start, naming "isolation"
    And the ComputeDomain controller with "--imex-mode=other" does not start, naming "mode"
    # The values by default.
    And the ComputeDomain controller with "--imex-mode=driverManaged --imex-isolation=domain" starts
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has "status.status" NotReady

  @NV-018b @component:compute-domain-plugin @needs:compute-domain-plugin-flags @needs:fake-nvml @needs:own-kubelet
  Scenario: The driver does not start with an unsupported mode
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    Then the ComputeDomain driver on "n1" with "--imex-mode=hostManaged" does not start, naming "HostManagedIMEXDaemon"
    And the ComputeDomain driver on "n1" with "--imex-isolation=channel" does not start, naming "isolation"

  @NV-171d @needs:compute-domain-flags
  Scenario: A ComputeDomain gets the template of its workloads only, and is ready
    Given the ComputeDomain controller runs with "--feature-gates=HostManagedIMEXDaemon=true --imex-mode=hostManaged"
    When a ComputeDomain "job" is created with {numNodes: 2, channel: {allocationMode: All}}
    Then the ComputeDomain "job" has "status.status" Ready
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has nothing for daemons
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"

  @NV-047 @NV-171 @NV-171b @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  @needs:compute-domain-flags @needs:compute-domain-plugin-flags
  Scenario: A channel is prepared without a daemon of the driver
    Given the ComputeDomain controller runs with "--feature-gates=HostManagedIMEXDaemon=true --imex-mode=hostManaged"
    And node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has a fake "nvidia-imex-ctl"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When the ComputeDomain driver on "n1" is started with:
      | flag                                       |
      | --feature-gates=HostManagedIMEXDaemon=true |
      | --imex-mode=hostManaged                    |
    Then the ComputeDomain driver on "n1" publishes only "channel-0" [NV-047]
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" fails at once [NV-171]
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" returns "channel-0" [NV-171b]
    And claim "train" adds 1 channels on "n1" [NV-171b]
    And the ComputeDomain label of node "n1" stays "none" [NV-171b]
    And Unprepare of claim "train" succeeds on the ComputeDomain driver of "n1" [NV-171b]
    And the ComputeDomain label of node "n1" stays "none" [NV-171b]

  @NV-171c @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  @needs:compute-domain-flags @needs:compute-domain-plugin-flags
  Scenario: A channel is prepared once the daemon of the host is ready
    Given the ComputeDomain controller runs with "--feature-gates=HostManagedIMEXDaemon=true --imex-mode=hostManaged"
    And node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has a fake "nvidia-imex-ctl"
    And node "n1" has the fault "nvidia-imex not ready"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    When the ComputeDomain driver on "n1" is started with:
      | flag                                       |
      | --feature-gates=HostManagedIMEXDaemon=true |
      | --imex-mode=hostManaged                    |
    And Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "train" has not succeeded yet
    And "nvidia-imex-ctl" on "n1" was run with "-q --u=*/etc/nvidia-imex/imex_ctrl.sock"
    When node "n1" recovers from "nvidia-imex not ready"
    Then Prepare of claim "train" returns "channel-0"

  @NV-171b @NV-171c @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  @needs:compute-domain-flags @needs:compute-domain-plugin-flags
  Scenario: The daemon of each host counts for its own node
    Given the ComputeDomain controller runs with "--feature-gates=HostManagedIMEXDaemon=true --imex-mode=hostManaged"
    And node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has a fake "nvidia-imex-ctl"
    # It prints READY, but exits with 1.
    And node "n1" has the fault "nvidia-imex-ctl fails"
    # Without nvidia-imex.
    And node "n2" with a kubelet and the GPUs of "gb200-nvl72-node"
    # Without a fabric, and so without need for nvidia-imex.
    And node "n3" with a kubelet and the GPUs of "dgx-h100"
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "rank-0" on "n1" with {domainID: job, allocationMode: All}
    And a channel claim "rank-1" on "n2" for ComputeDomain "job"
    And a channel claim "rank-2" on "n3" for ComputeDomain "job"
    When the ComputeDomain driver on "n1" is started with:
      | flag                                            |
      | --feature-gates=HostManagedIMEXDaemon=true      |
      | --imex-mode=hostManaged                         |
      | --imex-host-socket-path=/run/imex/control.sock  |
    And the ComputeDomain driver on "n2" is started with:
      | flag                                       |
      | --feature-gates=HostManagedIMEXDaemon=true |
      | --imex-mode=hostManaged                    |
    And the ComputeDomain driver on "n3" is started with:
      | flag                                       |
      | --feature-gates=HostManagedIMEXDaemon=true |
      | --imex-mode=hostManaged                    |
    And Prepare of claim "rank-0" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "rank-1" is called on the ComputeDomain driver of "n2"
    And Prepare of claim "rank-2" is called on the ComputeDomain driver of "n3"
    Then Prepare of claim "rank-2" returns "channel-0" [NV-171c]
    And the response for claim "rank-2" has the CDI ids: [NV-171b]
      | id |
    And Prepare of claim "rank-0" has not succeeded yet [NV-171c]
    And Prepare of claim "rank-1" has not succeeded yet [NV-171c]
    And "nvidia-imex-ctl" on "n1" was run with "-q --u=*/run/imex/control.sock" [NV-171c]
    When node "n1" recovers from "nvidia-imex-ctl fails"
    Then Prepare of claim "rank-0" returns "channel-0" [NV-171c]
    And claim "rank-0" adds 1 channels on "n1" [NV-171b]
    And Prepare of claim "rank-1" has not succeeded yet [NV-171c]
