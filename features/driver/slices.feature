@profile:driver-core @component:driver
Feature: A driver publishes its devices
  Schedulers see devices only through ResourceSlices. A pool is complete if it has as many slices of its newest
  generation as their resourceSliceCount; devices of an incomplete pool are not allocated.

  @DRA-288 @DRA-293 @NV-019 @NV-023
  Scenario: The slices of a node form complete pools
    Given node "n1" running the driver
    Then every pool of the driver on "n1" comes to be complete [DRA-288]
    And no two devices of one pool of the driver on "n1" share a name [DRA-293]
    And every published device on "n1" has: [NV-023]
      | field                                                | value                                                  |
      | attributes["resource.kubernetes.io/pciBusID"].string | null or like '[0-9a-f]{4}(:[0-9a-f]{2}){2}[.][0-9a-f]' |
      | attributes["resource.kubernetes.io/pcieRoot"].string | null or like 'pci[0-9a-f]{4}:[0-9a-f]{2}'              |
    And every slice of the driver on "n1" is owned by the Node [NV-019]

  @DRA-290 @needs:process-driver
  Scenario: Deleted slices are published again
    Given node "n1" running the driver
    And the slices of the driver on "n1" are remembered
    When the slices of the driver on "n1" are deleted
    # 30 seconds of the helper library, and 10 for requests on a slow machine.
    Then the devices of "n1" are published again within 40 seconds

  @DRA-290b @needs:process-driver
  Scenario: A slice that another program changed and then deleted is published again
    Given node "n1" running the driver
    And the slices of the driver on "n1" are remembered
    When the first device of the driver on "n1" is removed from its slice by hand
    Then the devices of "n1" are published again within 40 seconds
    When the slices of the driver on "n1" are deleted
    Then the devices of "n1" are published again within 40 seconds

  @DRA-291
  Scenario: Slices of a pool that the driver no longer has are removed
    Given node "n1" with a kubelet
    And a slice of the pool "former" that the driver had on "n1"
    When the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And every pool of the driver on "n1" comes to be complete
    And no slice of the pool "former" is left after 75 seconds

  @NV-048 @DRA-289c @needs:process-driver
  Scenario: A restarted driver publishes the same devices once
    Given node "n1" running the driver
    And the slices of the driver on "n1" are remembered
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered [NV-048]
    And the driver on "n1" publishes the same devices as before [NV-048]
    When the driver on "n1" is stopped
    Given a slice of generation 7 that another version of the driver had on "n1"
    And each slice of the driver on "n1" has a copy
    When the driver on "n1" is started
    Then the driver on "n1" comes to be registered [NV-048]
    And the slices of the driver on "n1" come to be of a generation above 7 [DRA-289c]
    And every pool of the driver on "n1" comes to be complete [NV-048]
    And the driver on "n1" publishes the same devices as before [NV-048]
    And the driver on "n1" comes to have as many slices as before [DRA-289c]

  @DRA-289 @DRA-289b @needs:gpu-driver @needs:driver-flags @needs:fake-nvml @gate:DRAPartitionableDevices
  @driver-gate:NVMLDeviceHealthCheck
  Scenario: A pool keeps its generation if one slice changes, and gets the next if slices are added
    Given node "n1" running the driver
    And the slices of the driver on "n1" are remembered
    When XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only [DRA-289]
    And the slices of the driver on "n1" are the same objects, of the same generation [DRA-289]
    When the driver on "n1" is stopped
    And the driver on "n1" is started with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false"
    Then the driver on "n1" comes to be registered [DRA-289b]
    And the driver on "n1" comes to have more slices, all of the next generation [DRA-289b]
    When the driver on "n1" is stopped
    And the driver on "n1" is started with "--feature-gates=NVMLDeviceHealthCheck=false"
    Then the driver on "n1" comes to be registered [DRA-289b]
    And the driver on "n1" publishes the same devices as before [DRA-289b]
    And every pool of the driver on "n1" comes to be complete [DRA-289b]
    And the driver on "n1" comes to have one slice [DRA-289b]

  @DRA-288 @DRA-289 @DRA-289b @needs:gpu-driver @needs:driver-flags @needs:fake-nvml @gate:DRADeviceTaints
  @driver-gate:NVMLDeviceHealthCheck
  Scenario: A pool of more devices than a slice can have gets the next generation if several of its slices change
    # 70 devices; a slice with a taint has at most 64.
    Given the GPUs of "n1" are those of this suite's inventory "sevenths"
    And node "n1" running the driver
    When XID 48 happens on GPU 0 of "n1"
    Then the driver taints every MIG device of GPU 0 on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only [DRA-289]
    Given the slices of the driver on "n1" are remembered
    When XID 63 happens on GPU 1 of "n1"
    Then the driver taints every MIG device of GPU 1 on "n1" with "gpu.nvidia.com/xid=63:NoSchedule" only [DRA-289]
    And the pool on "n1" is of the next generation only if several of its slices changed [DRA-289]
    Given the slices of the driver on "n1" are remembered
    When XID 48 happens on GPU 9 of "n1"
    Then the driver taints every MIG device of GPU 9 on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only [DRA-289]
    And the pool on "n1" is of the next generation only if several of its slices changed [DRA-289b]
    When the driver on "n1" is stopped
    And a slice of the driver on "n1" is of the next generation
    And the driver on "n1" is started with "--feature-gates=NVMLDeviceHealthCheck=false"
    Then the driver on "n1" comes to be registered [DRA-288]
    And the driver on "n1" publishes the same devices as before [DRA-288]

  @DRA-292 @needs:gpu-driver @needs:fake-nvml @needs:faults @needs:virtual-clock @gate-off:DRADeviceTaints
  @driver-gate:NVMLDeviceHealthCheck
  Scenario: Slices whose taints the API server drops are not published again and again
    Given the GPUs of "n1" are those of this suite's inventory "sevenths"
    And node "n1" running the driver
    # The failed update shows that the driver has noticed the XID.
    And the API server answers 500 to the next 1 updates of ResourceSlice
    When XID 48 happens on GPU 9 of "n1"
    And every fault has affected a request
    And 30 seconds pass
    Then the generation of the pools on "n1" stays
