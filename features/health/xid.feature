@profile:device-health @component:driver @needs:gpu-driver @needs:fake-nvml @driver-gate:NVMLDeviceHealthCheck
Feature: NVML events become taints and health states
  The GPU driver receives the events of NVML. A GPU with an error stays published, with a taint that keeps new pods
  away; the status of the pod that uses it shows the error.

  @NV-118 @gate:DRADeviceTaints
  Scenario: A critical XID taints its GPU only
    Given node "n1" running the driver
    When XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And no device on "n1" but device "gpu-2" is tainted

  @NV-119 @gate:DRADeviceTaints
  Scenario Outline: XID <xid> of an application adds a taint with effect None
    Given node "n1" running the driver
    When XID <xid> happens on GPU 1 of "n1"
    Then the driver taints device "gpu-1" on "n1" with "gpu.nvidia.com/xid=<xid>:None" only

    Examples:
      | xid |
      | 13  |
      | 31  |
      | 43  |
      | 45  |
      | 68  |
      | 109 |

  @NV-121 @gate:DRADeviceTaints
  Scenario: All GPUs are tainted when NVML lost an unknown GPU
    Given node "n1" running the driver
    When XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    When node "n1" gets the fault "NVML lost an unknown GPU"
    Then the driver taints every device but "gpu-2" on "n1" with "gpu.nvidia.com/gpu-lost:NoSchedule" only
    And the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/gpu-lost:NoSchedule, gpu.nvidia.com/xid=48:NoSchedule" only

  @NV-121b @gate:DRADeviceTaints
  Scenario: XIDs are reported again after NVML lost an unknown GPU
    Given node "n1" running the driver
    When node "n1" gets the fault "NVML lost an unknown GPU"
    Then the driver taints every device on "n1" with "gpu.nvidia.com/gpu-lost:NoSchedule" only
    When node "n1" recovers from "NVML lost an unknown GPU"
    And XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/gpu-lost:NoSchedule, gpu.nvidia.com/xid=48:NoSchedule" only

  @NV-121d @gate:DRADeviceTaints
  Scenario: XIDs are reported again after waiting for NVML events failed
    Given node "n1" running the driver
    When node "n1" gets the fault "waiting for NVML events fails once"
    And XID 48 happens on GPU 1 of "n1"
    Then the driver taints device "gpu-1" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    # The call of the driver has failed by now, or its next call fails.
    When XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    When XID 63 happens on GPU 3 of "n1"
    Then the driver taints device "gpu-3" on "n1" with "gpu.nvidia.com/xid=63:NoSchedule" only
    And the driver taints device "gpu-1" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only

  @NV-122 @gate:DRADeviceTaints
  Scenario: GPUs without NVML events get the taint unmonitored
    Given node "n1" has the fault "NVML events not supported"
    And node "n1" with a kubelet
    When the driver on "n1" is started
    Then the driver on "n1" comes to publish at least one device
    And the driver taints every device on "n1" with "gpu.nvidia.com/unmonitored:None" only
    Given node "n2" has the fault "NVML events of GPU 3 not supported"
    And node "n2" running the driver
    Then the driver taints device "gpu-3" on "n2" with "gpu.nvidia.com/unmonitored:None" only
    And no device on "n2" but device "gpu-3" is tainted
    # A driver that publishes from two threads at its start may lose the taint in one start and not in another.
    When the driver on "n2" is restarted
    Then the driver taints device "gpu-3" on "n2" with "gpu.nvidia.com/unmonitored:None" only

  @NV-122c @gate:DRADeviceTaints
  Scenario: A GPU without NVML events does not keep the others from being monitored
    Given node "n1" has the fault "NVML events of GPU 3 not supported"
    And node "n1" running the driver
    When XID 48 happens on GPU 2 of "n1"
    And XID 48 happens on GPU 4 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And the driver taints device "gpu-4" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only

  @NV-122 @gate:DRADeviceTaints
  Scenario: MIG devices of a GPU without NVML events get the taint unmonitored
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And node "n1" has the fault "NVML events of GPU 0 not supported"
    And node "n1" running the driver
    Then the driver taints every MIG device of GPU 0 on "n1" with "gpu.nvidia.com/unmonitored:None" only
    And no device on "n1" but every MIG device of GPU 0 is tainted

  @NV-122b @needs:own-kubelet @needs:driver-health
  Scenario: A GPU without NVML events is reported Unknown
    Given node "n1" has the fault "NVML events of GPU 3 not supported"
    And node "n1" running the driver
    Then the driver on "n1" comes to report device "gpu-3" as Unknown
    When XID 48 happens on GPU 2 of "n1"
    Then the driver on "n1" comes to report device "gpu-2" as Unhealthy
    And the driver on "n1" comes to report device "gpu-3" as Unknown
    And the driver on "n1" comes to report device "gpu-1" as Healthy

  @NV-121c @needs:own-kubelet @needs:driver-health
  Scenario: A GPU with an XID of an application is reported Unhealthy when NVML lost an unknown GPU
    Given node "n1" running the driver
    When XID 43 happens on GPU 2 of "n1"
    And XID 48 happens on GPU 3 of "n1"
    Then the driver on "n1" comes to report device "gpu-3" as Unhealthy
    And the driver on "n1" comes to report device "gpu-2" as Healthy
    When node "n1" gets the fault "NVML lost an unknown GPU"
    Then the driver on "n1" comes to report device "gpu-1" as Unhealthy
    And the driver on "n1" comes to report device "gpu-2" as Unhealthy

  @NV-123 @gate:DRADeviceTaints
  Scenario: A later XID replaces the taint of an earlier one
    Given node "n1" running the driver
    When XID 48 happens on GPU 0 of "n1"
    And XID 48 happens on GPU 1 of "n1"
    Then the driver taints device "gpu-0" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    When XID 43 happens on GPU 0 of "n1"
    Then the driver taints device "gpu-0" on "n1" with "gpu.nvidia.com/xid=43:None" only
    And the driver taints device "gpu-1" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    # Not XID 79, which loses the GPU: its NVML functions fail then.
    When XID 63 happens on GPU 0 of "n1"
    Then the driver taints device "gpu-0" on "n1" with "gpu.nvidia.com/xid=63:NoSchedule" only
    # The new taint has another value and the same effect, so it replaces the first one.
    When XID 94 happens on GPU 0 of "n1"
    Then the driver taints device "gpu-0" on "n1" with "gpu.nvidia.com/xid=94:NoSchedule" only

  @NV-124 @gate:DRADeviceTaints
  Scenario: An XID of a MIG device taints that MIG device only
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"
    When XID 48 happens on the MIG device with profile "2g.20gb" of "n1"
    Then the driver taints the MIG device with profile "2g.20gb" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    When XID 63 happens on another compute instance of the MIG device with profile "2g.20gb" of "n1"
    And XID 63 happens on another GPU instance than the MIG device with profile "2g.20gb" of "n1"
    And XID 48 happens on the MIG device with profile "3g.40gb" of "n1"
    # The XID came later, so the driver received the events of instances that no device has.
    Then the driver taints the MIG device with profile "3g.40gb" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And the driver taints the MIG device with profile "2g.20gb" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And no device on "n1" but the MIG device with profile "2g.20gb" and the MIG device with profile "3g.40gb" is tainted

  @NV-124b @gate:DRADeviceTaints
  Scenario: An XID of a GPU taints every MIG device of that GPU
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"
    When XID 48 happens on GPU 0 of "n1"
    Then the driver taints every MIG device of GPU 0 on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And no device on "n1" but every MIG device of GPU 0 is tainted

  @NV-125 @gate:DRADeviceTaints
  Scenario: A restarted driver publishes devices without taints
    Given node "n1" running the driver
    When XID 48 happens on GPU 0 of "n1"
    Then the driver taints device "gpu-0" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    When the driver on "n1" is restarted
    Then every published device on "n1" comes to have:
      | field  | value |
      | taints | empty |

  @NV-126 @gate:DRADeviceTaints
  Scenario: A claim is prepared although its GPU was tainted after the allocation
    Given node "n1" running the driver on the GPUs of "h200"
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When XID 48 happens on GPU 0 of "n1"
    Then the driver taints device "gpu-0" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-127 @gate:DRADeviceTaints
  Scenario: Events other than XIDs add no taint
    Given node "n1" running the driver
    When a single-bit ECC error happens on GPU 1 of "n1"
    And XID 48 happens on GPU 2 of "n1"
    # The XID came later, so the other event was seen as well.
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And device "gpu-1" on "n1" stays free of taints

  @DRA-295 @component:claim-controller @component:scheduler @component:binder @needs:own-kubelet @needs:driver-health
  Scenario: An XID appears in the status of the pod that uses the GPU
    Given node "n1" running the driver on the GPUs of "dgx-h100"
    And a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "train" for 1 of "gpu"
    And a ResourceClaim "infer" for 1 of "gpu"
    And a pod "train" using claim "train"
    And a pod "infer" using claim "infer"
    And pod "train" has shown the health "Healthy" for "claim:train"
    And pod "infer" has shown the health "Healthy" for "claim:infer"
    When XID 48 happens on the GPU of claim "train" of "n1"
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    And pod "infer" still shows the health "Healthy" for "claim:infer"

  @NV-118 @DRA-301 @DRA-213 @component:claim-controller @component:scheduler @component:binder
  @component:taint-eviction @needs:own-kubelet
  Scenario: An XID keeps new pods away from the GPU, and its pod on it
    Given node "n1" running the driver on the GPUs of "dgx-h100"
    And a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "train" for 1 of "gpu"
    And a ResourceClaim "infer" for 1 of "gpu"
    And a ResourceClaim "rest" for 7 of "gpu"
    And a ResourceClaim "six" for 6 of "gpu"
    And a pod "train" using claim "train"
    And a pod "infer" using claim "infer"
    And pod "train" runs
    And pod "infer" runs
    When XID 48 happens on the GPU of claim "train" of "n1"
    Then the driver taints the GPU of claim "train" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only [NV-118]
    And the Pod "train" still exists [DRA-301]
    When pod "train" is deleted
    And a pod "rest" using claim "rest" is created
    # Seven GPUs are free; one of them is the tainted one.
    Then pod "rest" stays unbound [DRA-213]
    When a pod "six" using claim "six" is created
    Then pod "six" is bound to "n1" [DRA-213]

  @DRA-294 @needs:virtual-clock @gate:DRADeviceTaints
  Scenario: A taint keeps timeAdded when another device changes
    Given node "n1" running the driver
    When XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    Given the slices of the driver on "n1" are remembered
    When 30 seconds pass
    And XID 48 happens on GPU 3 of "n1"
    Then the driver taints device "gpu-3" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And the taints of device "gpu-2" on "n1" are the remembered ones

  @DRA-294c @component:control-plane @needs:virtual-clock @gate:DRADeviceTaints
  Scenario: A taint does not get timeAdded of the same taint of another device
    Given node "n1" running the driver
    When XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    When 30 seconds pass
    And XID 48 happens on GPU 3 of "n1"
    Then the driver taints device "gpu-3" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And the taints of device "gpu-3" on "n1" are newer than those of device "gpu-2"

  @DRA-294b @needs:virtual-clock @gate:DRADeviceTaints
  Scenario: Each taint of a device keeps timeAdded when another device changes
    Given node "n1" running the driver
    When node "n1" gets the fault "NVML lost an unknown GPU"
    Then the driver taints every device on "n1" with "gpu.nvidia.com/gpu-lost:NoSchedule" only
    When node "n1" recovers from "NVML lost an unknown GPU"
    And XID 48 happens on GPU 2 of "n1"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/gpu-lost:NoSchedule, gpu.nvidia.com/xid=48:NoSchedule" only
    Given the slices of the driver on "n1" are remembered
    When 30 seconds pass
    And XID 48 happens on GPU 3 of "n1"
    Then the driver taints device "gpu-3" on "n1" with "gpu.nvidia.com/gpu-lost:NoSchedule, gpu.nvidia.com/xid=48:NoSchedule" only
    And the taints of device "gpu-2" on "n1" are the remembered ones

  @NV-120 @NV-128 @needs:driver-flags @gate:DRADeviceTaints
  Scenario: XIDs can be ignored, and health checks turned off
    Given node "n1" running the driver with "--additional-xids-to-ignore=48,abc"
    And node "n2" running the driver with "--feature-gates=NVMLDeviceHealthCheck=false"
    When XID 48 happens on GPU 2 of "n1"
    And XID 63 happens on GPU 3 of "n1"
    And XID 43 happens on GPU 4 of "n1"
    And XID 48 happens on GPU 2 of "n2"
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:None" only [NV-120]
    # The option adds to the XIDs of applications.
    And the driver taints device "gpu-4" on "n1" with "gpu.nvidia.com/xid=43:None" only [NV-120]
    And the driver taints device "gpu-3" on "n1" with "gpu.nvidia.com/xid=63:NoSchedule" only [NV-120]
    And device "gpu-2" on "n2" stays free of taints [NV-128]
