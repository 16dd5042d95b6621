@profile:driver-mig @component:claim-controller @component:scheduler @component:binder @component:driver
@needs:gpu-driver @needs:fake-nvml @component:kubelet @needs:run-kubelet
Feature: MIG devices in containers
  A pod requests a MIG device by class and profile; scheduler, binder, kubelet and driver work together.

  @NV-032 @NV-097
  Scenario: A pod gets the MIG device of the profile that it requests
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"
    And a DeviceClass "mig" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "mig"'
    And a ResourceClaim "small" for 1 of "mig" selecting 'device.attributes["gpu.nvidia.com"].profile == "2g.20gb"'
    When a pod "train" using claim "small" is created
    Then claim "small" is allocated the MIG device with profile "2g.20gb" of "n1" [NV-032]
    And pod "train" reaches phase Running [NV-097]
    And each of the pods "train" on "n1" gets the device nodes of its own MIG device and of no other [NV-097]

  @NV-029 @NV-097
  Scenario: Three pods share a GPU with separate MIG devices
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"
    And a DeviceClass "mig" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "mig"'
    And a ResourceClaimTemplate "one-mig" for 1 of "mig"
    When pods "p" 1 to 3 each using template "one-mig" are created
    Then the pods "p-1, p-2, p-3" reach phase Running [NV-029]
    And each of the pods "p-1, p-2, p-3" on "n1" gets the device nodes of its own MIG device and of no other [NV-097]
