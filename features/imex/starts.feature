@profile:imex @component:compute-domain-controller @needs:compute-domain @component:compute-domain-plugin
@needs:fake-nvml @needs:own-kubelet
Feature: Starts of the ComputeDomain driver that must fail
  A driver that runs although channels cannot work publishes devices that it cannot prepare: jobs are scheduled to the
  node and hang. If it ends at its start, the status of its pod shows the problem.

  @NV-016
  Scenario: The driver does not start if the kernel has no IMEX channels
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has the fault "IMEX channel module missing"
    Then the ComputeDomain driver on "n1" with "" does not start

  @NV-017
  Scenario Outline: The driver does not start with <fault>
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has the fault "<fault>"
    Then the ComputeDomain driver on "n1" with "" does not start

    Examples:
      | fault                                |
      | NVLink fabric in progress on one GPU |
      | NVLink fabric failed on one GPU      |
      | NVLink fabric of one GPU unreadable  |
      | NVLink fabric not started on one GPU |

  @NV-017c
  Scenario: The driver starts without a clique if NVML does not support the fabric of the GPUs
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has the fault "nvmlDeviceGetGpuFabricInfo answers NOT_SUPPORTED"
    When the ComputeDomain driver on "n1" is started
    Then the ComputeDomain driver on "n1" publishes only "channel-0, daemon-0"
    Given a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0"
    And a container with claim "imexd" on "n1" has:
      | kind     | name      | value |
      | variable | CLIQUE_ID |       |

  @NV-385
  Scenario: The driver does not start with GPUs in two NVLink cliques
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has the fault "one GPU in another NVLink clique"
    Then the ComputeDomain driver on "n1" with "" does not start

  @NV-385b
  Scenario Outline: A GPU without a fabric does not change the clique of its node: <fault>
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has the fault "<fault>"
    When the ComputeDomain driver on "n1" is started
    Then the ComputeDomain driver on "n1" publishes only "channel-0, daemon-0"
    Given a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0"
    And a container with claim "imexd" on "n1" has:
      | kind     | name      | value |
      | variable | CLIQUE_ID | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 |

    Examples:
      | fault                                                   |
      | NVLink fabric not supported by one GPU                  |
      | nvmlDeviceGetGpuFabricInfo of GPU 0 answers NOT_SUPPORTED |

  @NV-017 @NV-017b @needs:compute-domain-plugin-flags
  Scenario: The driver does not start before the NVLink fabric is up, unless its gate is off
    Given node "n1" with a kubelet and the GPUs of "gb200-nvl72-node"
    And node "n1" has the fault "NVLink fabric in progress"
    Then the ComputeDomain driver on "n1" with "" does not start [NV-017]
    When the ComputeDomain driver on "n1" is started with:
      | flag                                            |
      | --feature-gates=CrashOnNVLinkFabricErrors=false |
    Then the ComputeDomain driver on "n1" publishes only "channel-0, daemon-0" [NV-017b]
    Given a ComputeDomain "job" for 1 nodes
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0" [NV-017b]
    And a container with claim "imexd" on "n1" has: [NV-017b]
      | kind     | name      | value |
      | variable | CLIQUE_ID |       |
