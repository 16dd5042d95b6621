@profile:driver-gpu @component:driver @needs:gpu-driver
Feature: The driver gpu.nvidia.com shows the GPUs of its node
  Names and attributes are what users write selectors against; they follow NVML.

  @NV-020 @NV-021 @NV-022 @NV-026 @needs:seen-nvml
  Scenario: Devices are what NVML shows
    Given node "n1" running the driver
    Then the devices on "n1" are the GPUs that NVML shows, by their minor numbers [NV-020]
    And every GPU on "n1" has its attributes in their types [NV-021]
    And the driver version of every GPU on "n1" is semantic [NV-022]
    And the memory of every GPU on "n1" is what NVML shows, and its only capacity [NV-026]

  @NV-050 @NV-094 @NV-095
  Scenario: A claim gets a CDI device of its own
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When claim "train" is prepared on "n1"
    Then the only CDI id of claim "train" is made of its uid and device [NV-050]
    And the CDI file of claim "train" on "n1" is named after it [NV-094]
    And a container with claim "train" on "n1" would see the GPU nodes of its own devices only [NV-095]

  @NV-060b
  Scenario: The refusal of a device in use names its owner
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    And claim "first" is prepared on "n1"
    When claim "second" is prepared on "n1"
    Then claim "second" is refused because "is already allocated to different claim"

  @NV-059
  Scenario: An unknown device is named
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated a device that the driver on "n1" does not have
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "no-such-device"

  @NV-058
  Scenario: A claim with nothing of the driver's is an error
    Given node "n1" running the driver
    And a ResourceClaim "alien" allocated a device of the driver "other.dra.test" on "n1"
    When claim "alien" is prepared on "n1"
    Then claim "alien" is refused because "no devices"

  @DRA-284
  Scenario: A claim that is not what the kubelet says fails the whole call
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "waiting" that is not allocated
    When claim "train" is prepared on "n1" under another uid
    Then the whole call fails because "got replaced"
    When claims "train, waiting" are prepared on "n1" in one call
    Then the whole call fails because "not allocated"
    When a claim "ghost" that does not exist is prepared on "n1"
    Then the whole call fails because "retrieve claim"

  @NV-099 @NV-100 @needs:process-driver
  Scenario: The checkpoint tells how far a claim came
    Given node "n1" running the driver
    And a ResourceClaim "good" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "bad" allocated a device that the driver on "n1" does not have
    When claim "good" is prepared on "n1"
    Then the checkpoint of the driver on "n1" has claim "good" as PrepareCompleted [NV-100]
    When claim "bad" is prepared on "n1"
    Then the checkpoint of the driver on "n1" has claim "bad" as PrepareStarted [NV-099]

  @NV-101 @needs:process-driver
  Scenario: A damaged checkpoint is not believed
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the checkpoint of the driver on "n1" is damaged
    Then the driver on "n1" does not start, because "checkpoint is corrupted"

  @NV-024 @NV-025 @NV-027 @NV-028 @needs:fake-nvml
  Scenario: What NVML and sysfs do not know is left out, and the GPU stays
    Given the GPUs of "n1" are those of "dgx-h100"
    And sysfs on "n1" has no entry for GPU 0
    And sysfs on "n1" puts GPU 1 on NUMA node -1
    And sysfs on "n1" puts GPU 2 on NUMA node 1
    And NVML on "n1" does not know "memory_total" of GPU 3
    And NVML on "n1" does not know "addressing_mode" of GPU 4
    And node "n1" running the driver
    Then GPU 0 on "n1" is published without "resource.kubernetes.io/pcieRoot, resource.kubernetes.io/numaNode" [NV-024]
    And GPU 1 on "n1" is published without "resource.kubernetes.io/numaNode" [NV-025]
    And GPU 1 on "n1" is published with "resource.kubernetes.io/pcieRoot" [NV-025]
    And GPU 2 on "n1" is published on NUMA node 1 [NV-025]
    And GPU 3 on "n1" is published without any capacity [NV-027]
    And GPU 4 on "n1" is published without "addressingMode" [NV-028]
    And GPU 5 on "n1" is published with "addressingMode" [NV-028]

  @NV-098 @needs:fake-nvml
  Scenario: A driver library of another version than the kernel's is not handed out
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And the driver libraries of "n1" are gone
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "failed to locate"
    And the checkpoint of the driver on "n1" has claim "train" as PrepareStarted
    When the driver libraries of "n1" are there again
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-069 @NV-069b @needs:fake-nvml @needs:virtual-clock
  Scenario: A plugin waits ten seconds for another plugin of its node, and says so
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And the node lock of the driver on "n1" is held by another process
    When claim "train" is prepared on "n1" while 11 seconds pass
    Then claim "train" is refused because "timeout acquiring lock" [NV-069]
    When the node lock of the driver on "n1" is let go
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-069b]
