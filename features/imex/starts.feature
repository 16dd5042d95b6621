@profile:imex @component:compute-domain-controller @needs:compute-domain @needs:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
Feature: A node on which the ComputeDomain driver must not start
  A driver that runs where channels cannot work offers what it will never give: jobs are sent to the node and hang there.
  One that ends at its start is seen by whoever looks at its pod.

  @NV-016
  Scenario: A kernel without IMEX channels ends the driver at start
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And the kernel of "n1" has no driver of IMEX channels
    Then the ComputeDomain driver on "n1" does not start, because "nvidia-caps-imex-channels"

  @NV-017 @NV-017b
  Scenario: An NVLink fabric that is not up ends the driver at start, unless it is told to go on without
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And the NVLink fabric of "n1" is still in progress
    Then the ComputeDomain driver on "n1" does not start, because "refusing to start" [NV-017]
    And the ComputeDomain driver on "n1" with "--feature-gates=CrashOnNVLinkFabricErrors=false" starts [NV-017b]
    Given a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When the daemon of claim "imexd" is asked for on "n1"
    Then the daemon of claim "imexd" on "n1" is told of no clique [NV-017b]
