@profile:bind-requests @component:claim-controller @component:scheduler @component:binder @needs:kai
Feature: From a claim to a running container and back
  Scheduler, binder, kubelet and driver each do their part, and at the end the device is free again.

  @KAI-230 @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: A pod with a claim from a template runs on a GPU
    Given node "n1" running the driver
    And a DeviceClass "accelerator" selecting 'device.driver == "$(driver)"'
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    When a pod "train" using template "one" is created
    Then pod "train" is bound to "n1"
    And the claim of pod "train" called "gpu" is allocated what its BindRequest gave it
    And pod "train" comes to phase Running

  @KAI-230 @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: The container sees the GPU that the BindRequest named, and no other
    Given node "n1" running the driver
    And a DeviceClass "accelerator" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "train" using claim "claim" is created
    Then pod "train" comes to phase Running
    And container "main" of pod "train" on "n1" sees the devices of "claim" only
    And the claim of pod "train" called "claim" is allocated what its BindRequest gave it

  @KAI-233 @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: A device that was given back serves the next pod
    Given node "n1" running the driver
    And a DeviceClass "whole-node" selecting 'device.driver == "$(driver)"'
    And a ResourceClaimTemplate "all" for every "whole-node"
    And a pod "first" using template "all"
    Then pod "first" comes to phase Running
    Given a pod "second" using template "all"
    Then pod "second" gets no BindRequest
    When pod "first" is deleted
    Then pod "second" is bound to "n1"
    And pod "second" comes to phase Running

  @KAI-233 @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: What a pod had is given back when it goes
    Given node "n1" running the driver
    And the CDI files of "n1" are remembered
    And a DeviceClass "accelerator" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    Then pod "train" comes to phase Running
    When pod "train" is deleted
    Then claim "claim" comes to be reserved for nobody
    And claim "claim" comes to be unallocated
    And the CDI files of "n1" come to be those of before

  @KAI-231
  Scenario: No device is in two claims
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And pods "train" 1 to 7 each using a claim of their own for 1 of "accelerator"
    Then 4 claims come to be allocated, and no device is in two of them

  @KAI-232 @needs:faults
  Scenario: A binding that is refused once is made good by itself
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And the API server answers 500 to the next 1 bindings of Pod
    When a pod "train" using claim "claim" is created
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved once for each of the pods "train" and for no other

  @KAI-235
  Scenario: Two pods share an allocated claim
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    Then pod "first" is bound to "n1"
    Given a pod "second" using claim "shared"
    Then pod "second" is bound to "n1"
    And claim "shared" is reserved once for each of the pods "first, second" and for no other

  @KAI-079
  Scenario: A BindRequest goes with its pod
    Given node "n1"
    And a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    When pod "plain" is force-deleted
    Then the BindRequest of pod "plain" goes as well
