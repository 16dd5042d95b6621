@profile:driver-core @component:driver
Feature: A driver next to other drivers of its node
  A node can have GPUs, network cards and FPGAs, each with its own driver. Their pools have the name of the node, and a
  claim can have devices of all of them. The other drivers of these scenarios publish plain lists of simulated devices.

  @DRA-358 @DRA-358b @needs:process-driver
  Scenario: Drivers of one node do not change each other's slices
    Given node "n1" running the driver
    And the driver "nic.dra.test" with the devices "nic" on "n1"
    And the driver "fpga.dra.test" with the devices "fpga" on "n1"
    And the slices of the driver on "n1" are remembered
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered [DRA-358]
    And the driver "nic.dra.test" still publishes "nic-0, nic-1" on "n1" [DRA-358b]
    And the driver "fpga.dra.test" still publishes "board-0, board-0-a, board-0-b" on "n1" [DRA-358b]
    And the driver on "n1" publishes the same devices as before [DRA-358]

  @DRA-358c @needs:process-driver
  Scenario: A driver publishes in its own name and for its own node only
    Given node "n1" with a kubelet
    And node "n2" with a kubelet
    When the driver on "n1" is started
    Then every published ResourceSlice is of the driver and of node "n1"

  @DRA-358d @needs:process-driver
  Scenario: CDI files of others are left alone
    Given node "n1" with a kubelet
    And the CDI folders of "n1" have files of another driver
    And node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And the CDI folders of "n1" have these files unchanged
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And the CDI folders of "n1" have these files unchanged

  @DRA-359 @DRA-359b @component:kubelet
  Scenario: A pod has devices of several drivers in one claim
    Given node "n1" running the driver
    And the driver "nic.dra.test" with the devices "nic" on "n1"
    And the driver "fpga.dra.test" with the devices "fpga" on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results:
        - {request: device, device: free}
        - {request: first, driver: nic.dra.test, device: nic-0}
        - {request: second, driver: fpga.dra.test, device: board-0}
      """
    And a pod "train" using claim "train"
    And claim "train" is reserved by hand for pods "train"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DRA-359]
    And container "main" of pod "train" on "n1" sees the devices of "train" only [DRA-359]
    And container "main" of pod "train" on "n1" has: [DRA-359b]
      | kind     | name       | value |
      | variable | NET_DEVICE | set   |
      | variable | FPGA_UNIT  | set   |
    Given a ResourceClaim "next" allocated on "n1" with:
      """
      results:
        - {request: first, driver: nic.dra.test, device: nic-0}
        - {request: second, driver: fpga.dra.test, device: board-0}
      """
    And a pod "next" using claim "next"
    And claim "next" is reserved by hand for pods "next"
    When pod "train" is deleted
    Then the Pod "train" is gone [DRA-359]
    When pod "next" is bound by hand to "n1"
    Then pod "next" reaches phase Running [DRA-359]
    And container "main" of pod "next" on "n1" sees the devices of "next" only [DRA-359]

  @DRA-359c @component:kubelet @needs:run-kubelet
  Scenario: A request has devices of several drivers
    Given node "n1" running the driver
    And the driver "nic.dra.test" with the devices "nic" on "n1"
    And the driver "fpga.dra.test" with the devices "fpga" on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results:
        - {request: both, driver: nic.dra.test, device: nic-0}
        - {request: both, device: free}
        - {request: fast/big, device: free}
        - {request: fast/big, driver: fpga.dra.test, device: board-0}
      """
    And a pod "train" with the reserved claims "train" and the containers:
      | name | claims                 |
      | both | train/both             |
      | fast | train/fast             |
      | main | train/both, train/fast |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And the kubelet of "n1" has each device of claim "train" for its request
    And container "both" of pod "train" on "n1" sees the devices of "train/both" only
    And container "both" of pod "train" on "n1" has:
      | kind     | name       | value |
      | variable | NET_DEVICE | set   |
    And container "fast" of pod "train" on "n1" sees the devices of "train/fast" only
    And container "fast" of pod "train" on "n1" has:
      | kind     | name       | value |
      | variable | FPGA_UNIT  | set   |
    And container "main" of pod "train" on "n1" sees the devices of "train" only
