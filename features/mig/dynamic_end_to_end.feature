@profile:driver-mig @component:claim-controller @component:scheduler @component:binder @component:driver
@needs:gpu-driver @needs:driver-flags @gate:DRAPartitionableDevices @needs:fake-nvml @component:kubelet
@needs:run-kubelet
Feature: Pods with dynamic MIG devices
  Scheduler and driver share only slices and counters. In whatever order pods start and end, no GPU is partitioned into
  more than it has.

  Background:
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false" on the GPUs of "h200"

  @NV-035b @NV-113
  Scenario: Seven small devices occupy a GPU completely
    Given a DeviceClass "gpu" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "gpu"'
    And a DeviceClass "small" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "mig" && device.attributes["gpu.nvidia.com"].profile == "1g.18gb"'
    And a ResourceClaimTemplate "small" for 1 of "small"
    And a ResourceClaim "whole" for 1 of "gpu"
    When pods "p" 1 to 7 each using template "small" are created
    Then the pods "p-1, p-2, p-3, p-4, p-5, p-6, p-7" reach phase Running [NV-035b]
    When a pod "p-8" using template "small" is created
    And a pod "all" using claim "whole" is created
    Then pod "p-8" stays unbound [NV-035b]
    And pod "all" stays unbound [NV-035b]
    And no counter on "n1" is overcommitted [NV-035b]
    When the pods "p-3" are deleted
    Then pod "p-8" reaches phase Running [NV-035b]
    And NVML on "n1" lists exactly the instances "19-0, 19-1, 19-2, 19-3, 19-4, 19-5, 19-6" on GPU 0 [NV-113]
    And no counter on "n1" is overcommitted [NV-035b]
    When the pods "p-1, p-2, p-4, p-5, p-6, p-7, p-8" are deleted
    Then pod "all" reaches phase Running [NV-113]
    And NVML on "n1" reports MIG off on GPU 0 [NV-113]

  @NV-035b
  Scenario: Many pods of mixed sizes never overcommit a counter
    When 12 pods for MIG devices of the profiles "1g.18gb, 2g.35gb, 3g.71gb, 1g.35gb" start and end on "n1"
    Then no counter on "n1" is overcommitted
    And NVML on "n1" reports MIG off on GPU 0
