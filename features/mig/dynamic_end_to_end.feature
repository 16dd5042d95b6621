@profile:driver-mig @component:claim-controller @component:scheduler @component:binder @component:driver @needs:gpu-driver @needs:driver-flags @gate:DRAPartitionableDevices @needs:fake-nvml @component:kubelet @needs:run-kubelet
Feature: From pods to MIG devices that are made for them
  Scheduler and driver know each other only through slices and counters; whatever order pods come and go in, no GPU is
  cut into more than it has.

  Background:
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false" on the GPUs of "h200"

  @NV-035b @NV-113
  Scenario: Seven small devices fill a GPU, and what they leave free is not whole
    Given a DeviceClass "gpu" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "gpu"'
    And a DeviceClass "small" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "mig" && device.attributes["gpu.nvidia.com"].profile == "1g.18gb"'
    And a ResourceClaimTemplate "small" for 1 of "small"
    And a ResourceClaim "whole" for 1 of "gpu"
    When the pods "p1, p2, p3, p4, p5, p6, p7" using template "small" are created
    Then the pods "p1, p2, p3, p4, p5, p6, p7" come to phase Running [NV-035b]
    When a pod "p8" using template "small" is created
    And a pod "all" using claim "whole" is created
    Then pod "p8" stays unbound [NV-035b]
    And pod "all" stays unbound [NV-035b]
    And no counter on "n1" is taken more often than it is there [NV-035b]
    When pod "p3" is deleted
    Then pod "p8" reaches phase Running [NV-035b]
    And NVML on "n1" shows 7 instances on GPU 0 [NV-113]
    And no counter on "n1" is taken more often than it is there [NV-035b]
    When the pods "p1, p2, p4, p5, p6, p7, p8" are deleted
    Then pod "all" reaches phase Running [NV-113]
    And NVML on "n1" shows MIG off on GPU 0 [NV-113]

  @NV-035b
  Scenario: Mixed sizes in a storm of pods never take more than there is
    When 12 pods for MIG devices of the profiles "1g.18gb, 2g.35gb, 3g.71gb, 1g.35gb" come and go on "n1"
    Then no counter on "n1" was taken more often than it is there
    And NVML on "n1" shows MIG off on GPU 0
