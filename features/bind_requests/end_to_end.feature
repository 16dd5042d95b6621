@profile:bind-requests @seat:claim-controller @seat:scheduler @seat:binder @seat:driver @needs:kai
Feature: From a claim to a running container
  A pod asks for a device; scheduler, binder, kubelet and driver each do their part.

  @DRA-100
  Scenario: A pod with a claim from a template runs on a GPU
    Given node "n1" running the driver
    And a DeviceClass "gpu" selecting 'device.driver == "$(driver)"'
    And a ResourceClaimTemplate "one-gpu" for 1 of "gpu"
    When a pod "train" using template "one-gpu" is created
    Then pod "train" is bound to "n1"
    And pod "train" comes to phase Running
