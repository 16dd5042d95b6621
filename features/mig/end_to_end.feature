@profile:driver-mig @component:claim-controller @component:scheduler @component:binder @component:driver @needs:gpu-driver @needs:fake-nvml @component:kubelet @needs:run-kubelet
Feature: From a claim to a MIG device in a container
  A pod asks for a MIG device by class and profile; scheduler, binder, kubelet and driver each do their part.

  @NV-032 @NV-097
  Scenario: A pod gets the MIG device of the profile that it asks for
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"
    And a DeviceClass "mig" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "mig"'
    And a ResourceClaim "small" for 1 of "mig" selecting 'device.attributes["gpu.nvidia.com"].profile == "2g.20gb"'
    When a pod "train" using claim "small" is created
    Then claim "small" is allocated the MIG device with profile "2g.20gb" of "n1" [NV-032]
    And pod "train" reaches phase Running [NV-097]
    And container "main" of pod "train" on "n1" gets the MIG device with profile "2g.20gb" only [NV-097]

  @NV-029 @NV-097
  Scenario: Three pods share a GPU without seeing each other
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"
    And a DeviceClass "mig" selecting 'device.driver == "$(driver)" && device.attributes["gpu.nvidia.com"].type == "mig"'
    And a ResourceClaimTemplate "one-mig" for 1 of "mig"
    When a pod "one" using template "one-mig" is created
    And a pod "two" using template "one-mig" is created
    And a pod "three" using template "one-mig" is created
    Then pod "one" reaches phase Running [NV-029]
    And pod "two" reaches phase Running [NV-029]
    And pod "three" reaches phase Running [NV-029]
    And no two of the pods "one, two, three" on "n1" have a MIG capability in common [NV-097]
