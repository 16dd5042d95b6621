@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:compute-domain-flags
Feature: IMEX daemons that the nodes' administrator runs
  With --imex-mode=hostManaged every node has one nvidia-imex of its own, and the driver starts none: it makes the
  template that workloads use and gives channels, nothing else.

  @NV-018
  Scenario: A controller is not started with a mode that it cannot keep
    Then the ComputeDomain controller with "--imex-mode=hostManaged" does not start, because "HostManagedIMEXDaemon"
    And the ComputeDomain controller with "--imex-isolation=channel" does not start, because "imex-isolation"

  @NV-018 @needs:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A driver is not started with a mode that it cannot keep
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    Then the ComputeDomain driver on "n1" with "--imex-mode=hostManaged" does not start, because "HostManagedIMEXDaemon"
    And the ComputeDomain driver on "n1" with "--imex-isolation=channel" does not start, because "imex-isolation"

  @NV-171d
  Scenario: A ComputeDomain gets the template of its workloads, and is ready with it
    Given the ComputeDomain controller runs with "--feature-gates=HostManagedIMEXDaemon=true --imex-mode=hostManaged"
    When a ComputeDomain "job" for 2 nodes with allocationMode All is created
    Then the ComputeDomain "job" comes to be Ready
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has nothing for daemons

  @NV-047 @NV-171 @NV-171b @NV-171c @needs:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A channel is given once the host's own daemon is ready, and no node joins anything
    Given the ComputeDomain controller runs with "--feature-gates=HostManagedIMEXDaemon=true --imex-mode=hostManaged"
    And node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node" with "--feature-gates=HostManagedIMEXDaemon=true --imex-mode=hostManaged"
    And nvidia-imex of the host "n1" is simulated, and not ready
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    And a channel claim "train" on "n1" for ComputeDomain "job"
    Then the ComputeDomain driver on "n1" publishes channel 0 only [NV-047]
    When the daemon of claim "imexd" is asked for on "n1"
    Then the daemon of claim "imexd" is refused at once [NV-171]
    When the channel of claim "train" is asked for on "n1"
    Then the channel of claim "train" is not given yet [NV-171c]
    When nvidia-imex of the host "n1" becomes ready
    Then the channel of claim "train" is given [NV-171c]
    And claim "train" brings 1 channels on "n1" [NV-171b]
    And node "n1" has joined no ComputeDomain [NV-171b]
