@profile:driver-mig @component:driver @needs:gpu-driver @needs:driver-flags @gate:DRAPartitionableDevices
@needs:fake-nvml
Feature: MIG devices are created when a claim is prepared and destroyed when it is unprepared
  GPU instances survive the driver process that created them. A driver that leaves instances behind, or partitions a GPU
  that a claim uses as a whole, takes hardware out of service.

  Background:
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false"

  @NV-113 @NV-117 @NV-097b
  Scenario: Devices are created at the placement in their names, and MIG is off after the last
    Given a ResourceClaim "two" allocated the devices "gpu-1-mig-3g40gb-9-4, gpu-1-mig-1g10gb-19-2" on "n1"
    And a ResourceClaim "one" allocated the devices "gpu-1-mig-1g10gb-19-0" on "n1"
    When claims "two, one" are prepared on "n1" in one call
    Then NVML on "n1" lists exactly the instances "9-4, 19-2, 19-0" on GPU 1 [NV-117]
    And a container with claim "two" on "n1" would get the device nodes of its own MIG devices and of no other [NV-097b]
    When claim "two" is unprepared on "n1"
    Then NVML on "n1" lists exactly the instances "19-0" on GPU 1 [NV-113]
    When claim "one" is unprepared on "n1"
    Then NVML on "n1" reports MIG off on GPU 1 [NV-113]

  @NV-113
  Scenario: A device stays with its claim when an earlier claim that never got it is unprepared
    Given a ResourceClaim "lost" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    And a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    When NVML on "n1" fails the next 1 calls of "nvmlDeviceCreateGpuInstanceWithPlacement" on GPU 0 with "INSUFFICIENT_RESOURCES"
    And claim "lost" is prepared on "n1"
    Then claim "lost" is refused on its own
    # The pod of the first claim was deleted, and the scheduler gave the device to the next one.
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    When claim "lost" is unprepared on "n1"
    Then claim "lost" is unprepared
    And NVML on "n1" lists exactly the instances "19-0" on GPU 0

  @NV-113
  Scenario: A device is destroyed although another claim has a device of the GPU
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    And a ResourceClaim "infer" allocated the devices "gpu-0-mig-1g10gb-19-2" on "n1"
    And claims "train, infer" are prepared on "n1"
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And NVML on "n1" lists exactly the instances "19-2" on GPU 0

  @NV-117
  Scenario: A device of all slices of a GPU can be created
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-7g80gb-0-0" on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And NVML on "n1" lists exactly the instances "0-0" on GPU 0

  @NV-117
  Scenario: Every placement of every profile can be created and destroyed
    Then preparing and unpreparing each MIG device of GPU 2 on "n1" creates and destroys its instance

  @NV-060c
  Scenario: A GPU that a claim has as a whole is not partitioned for another
    Given a ResourceClaim "whole" allocated the devices "gpu-0" on "n1"
    And a ResourceClaim "slice" allocated the devices "gpu-0-mig-2g20gb-14-2" on "n1"
    And claim "whole" is prepared on "n1"
    When claim "slice" is prepared on "n1"
    Then claim "slice" is refused, naming "$(uid:whole)"
    And NVML on "n1" reports MIG off on GPU 0

  @NV-060c
  Scenario: A memory slice is in one instance only, and a GPU with instances is not given as a whole
    Given a ResourceClaim "slice" allocated the devices "gpu-0-mig-2g20gb-14-2" on "n1"
    And a ResourceClaim "over" allocated the devices "gpu-0-mig-1g10gb-19-3" on "n1"
    And a ResourceClaim "beside" allocated the devices "gpu-0-mig-1g10gb-19-4" on "n1"
    And a ResourceClaim "whole" allocated the devices "gpu-0" on "n1"
    And a ResourceClaim "elsewhere" allocated the devices "gpu-3-mig-2g20gb-14-2" on "n1"
    When claims "slice, beside, over, whole, elsewhere" are prepared on "n1" in one call
    Then claim "slice" is prepared
    And claim "beside" is prepared
    And claim "elsewhere" is prepared
    And claim "over" is refused, naming "$(uid:slice)"
    And claim "whole" is refused, naming "gpu-0"
    And NVML on "n1" lists exactly the instances "14-2, 19-4" on GPU 0
    And NVML on "n1" lists exactly the instances "14-2" on GPU 3

  @NV-116b
  Scenario: A device that cannot be created completely leaves nothing behind
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0, gpu-1-mig-2g20gb-14-2" on "n1"
    When NVML on "n1" fails the next 1 calls of "nvmlGpuInstanceCreateComputeInstance" on GPU 1 with "INSUFFICIENT_RESOURCES"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused on its own [NV-116b]
    And NVML on "n1" reports MIG off on GPU 0 [NV-116b]
    And NVML on "n1" reports MIG off on GPU 1 [NV-116b]

  @NV-116
  Scenario: A claim is prepared although an attempt left a GPU instance without its compute instance
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    When NVML on "n1" fails the next 1 calls of "nvmlGpuInstanceCreateComputeInstance" on GPU 0 with "INSUFFICIENT_RESOURCES"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused on its own
    # The instance exists again, as if the driver had failed to remove it.
    When the instance "19-0" is left behind on GPU 0 of "n1"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And NVML on "n1" lists exactly the instances "19-0" on GPU 0

  @NV-116
  Scenario: What an attempt left is destroyed although the claim is allocated another device by then
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    When NVML on "n1" fails the next 1 calls of "nvmlGpuInstanceCreateComputeInstance" on GPU 0 with "INSUFFICIENT_RESOURCES"
    And claim "train" is prepared on "n1"
    And the instance "19-0" is left behind on GPU 0 of "n1"
    And the ResourceClaim "train" is allocated the devices "gpu-1-mig-1g10gb-19-2" on "n1" instead
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And NVML on "n1" lists exactly the instances "19-2" on GPU 1
    And NVML on "n1" reports MIG off on GPU 0

  @NV-114
  Scenario: A device that is in use stays prepared
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    And a ResourceClaim "next" allocated the devices "gpu-0-mig-2g20gb-14-0" on "n1"
    And claim "train" is prepared on "n1"
    When NVML on "n1" fails the next 1 calls of "nvmlGpuInstanceDestroy" on GPU 0 with "IN_USE"
    And claim "train" is unprepared on "n1"
    Then claim "train" is not unprepared
    And the driver on "n1" has a record of claim "train"
    And NVML on "n1" lists exactly the instances "19-0" on GPU 0
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    When claim "next" is prepared on "n1"
    Then claim "next" is prepared
    And NVML on "n1" lists exactly the instances "14-0" on GPU 0

  @NV-115 @needs:process-driver
  Scenario: At start the driver destroys MIG devices that no claim has
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the MIG device "14-4" is created by hand on GPU 0 of "n1"
    And the MIG device "9-0" is created by hand on GPU 3 of "n1"
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And NVML on "n1" lists exactly the instances "19-0" on GPU 0
    And NVML on "n1" reports MIG off on GPU 3
    When claim "train" is prepared on "n1"
    Then all responses for claim "train" are the same

  @NV-415 @needs:process-driver
  Scenario: An instance that cannot be destroyed at start does not keep those of other GPUs
    When the driver on "n1" is stopped
    And the MIG device "14-4" is created by hand on GPU 0 of "n1"
    And the MIG device "9-0" is created by hand on GPU 0 of "n1"
    And the MIG device "9-0" is created by hand on GPU 3 of "n1"
    And NVML on "n1" fails the next 99 calls of "nvmlGpuInstanceDestroy" on GPU 0 with "IN_USE"
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And NVML on "n1" reports MIG off on GPU 3

  @NV-104 @needs:process-driver
  Scenario: A deleted claim whose device cannot be destroyed does not keep other deleted claims in the checkpoint
    Given a ResourceClaim "busy" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    And a ResourceClaim "busy-2" allocated the devices "gpu-0-mig-1g10gb-19-1" on "n1"
    And a ResourceClaim "busy-3" allocated the devices "gpu-0-mig-1g10gb-19-2" on "n1"
    And a ResourceClaim "gone" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "gone-2" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "gone-3" allocated a device that the driver on "n1" does not have
    When NVML on "n1" fails the next 3 calls of "nvmlGpuInstanceCreateComputeInstance" on GPU 0 with "INSUFFICIENT_RESOURCES"
    And NVML on "n1" fails the next 999 calls of "nvmlGpuInstanceDestroy" on GPU 0 with "IN_USE"
    And claims "busy, gone, busy-2, gone-2, busy-3, gone-3" are prepared on "n1" in one call
    And the claim "busy" is deleted although it is in use
    And the claim "busy-2" is deleted although it is in use
    And the claim "busy-3" is deleted although it is in use
    And the claim "gone" is deleted although it is in use
    And the claim "gone-2" is deleted although it is in use
    And the claim "gone-3" is deleted although it is in use
    And the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    And the driver on "n1" comes to have no record of claim "gone"
    And the driver on "n1" comes to have no record of claim "gone-2"
    And the driver on "n1" comes to have no record of claim "gone-3"

  @NV-115c @needs:process-driver
  Scenario: At start the driver destroys GPU instances without a compute instance
    When the driver on "n1" is stopped
    And the instance "14-4" is created by hand on GPU 0 of "n1"
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And NVML on "n1" reports MIG off on GPU 0

  @NV-115b @needs:process-driver
  Scenario: A killed driver's unfinished instance is destroyed at the next start
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0" on "n1"
    When the driver on "n1" is stopped
    And the driver on "n1" is started again as a process
    Then the driver on "n1" comes to be registered
    When the driver on "n1" is killed while "nvmlGpuInstanceCreateComputeInstance" hangs for claim "train"
    Then NVML on "n1" lists exactly the instances "19-0" on GPU 0
    When the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And NVML on "n1" reports MIG off on GPU 0
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And NVML on "n1" lists exactly the instances "19-0" on GPU 0

  @NV-052e @needs:process-driver
  Scenario: The MIG devices of a claim stay in use after the CDI folder was lost
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0, gpu-1-mig-2g20gb-14-2" on "n1"
    And a ResourceClaim "infer" allocated the devices "gpu-0-mig-1g10gb-19-1" on "n1"
    And claims "train, infer" are prepared on "n1"
    When the driver on "n1" is stopped
    And the CDI files of "n1" are lost
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And NVML on "n1" lists exactly the instances "19-0, 19-1" on GPU 0
    # NVML returns IN_USE for an instance that a container uses.
    When NVML on "n1" fails the next 9 calls of "nvmlGpuInstanceDestroy" on GPU 0 with "IN_USE"
    And claims "train, infer" are prepared on "n1" in one call
    Then claim "train" is prepared
    And all responses for claim "train" are the same
    And every CDI id of the response for claim "infer" resolves on "n1"
    And NVML on "n1" lists exactly the instances "19-0, 19-1" on GPU 0
    And NVML on "n1" lists exactly the instances "14-2" on GPU 1
    And a container with claim "train" on "n1" would get the device nodes of its own MIG devices and of no other

  @NV-061b
  Scenario: Admin access to a MIG device leaves the instance of another claim
    Given a ResourceClaim "train" allocated the devices "gpu-0-mig-1g10gb-19-0, gpu-1-mig-2g20gb-14-2" on "n1"
    And an admin ResourceClaim "monitor" allocated the same device as claim "train" on "n1"
    And claim "train" is prepared on "n1"
    # Whether it is prepared or refused is NV-306.
    When claim "monitor" is prepared on "n1"
    And claim "monitor" is unprepared on "n1"
    Then claim "monitor" is unprepared
    And NVML on "n1" lists exactly the instances "19-0" on GPU 0
    And NVML on "n1" lists exactly the instances "14-2" on GPU 1
    When claim "train" is prepared on "n1"
    Then all responses for claim "train" are the same

  @NV-306
  Scenario: Admin access to a MIG device is refused, and no instance is created
    Given a ResourceClaim "idle" allocated the devices "gpu-2-mig-2g20gb-14-2" on "n1"
    And an admin ResourceClaim "watch" allocated the same device as claim "idle" on "n1"
    When claim "watch" is prepared on "n1"
    Then claim "watch" is refused on its own
    And NVML on "n1" reports MIG off on GPU 2
    When claim "idle" is prepared on "n1"
    Then claim "idle" is prepared
