@profile:bind-requests @component:claim-controller @component:scheduler @component:binder @needs:kai
Feature: From a claim to a running container
  Scheduler, binder, kubelet and driver process a claim together, and the device is free again at the end.

  @KAI-230 @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: A pod with a claim from a template runs on a GPU
    Given node "n1" running the driver
    And a DeviceClass "accelerator" selecting 'device.driver == "$(driver)"'
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    When a pod "train" using template "one" is created
    Then pod "train" is bound to "n1"
    Given pod "train" has its claim "generated"
    Then claim "generated" has the allocation of entry "gpu" in the BindRequest of pod "train"
    And pod "train" reaches phase Running

  @KAI-230 @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: The container sees the GPU that the BindRequest named, and no other
    Given node "n1" running the driver
    And a DeviceClass "accelerator" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "train" using claim "claim" is created
    Then pod "train" reaches phase Running
    And container "main" of pod "train" on "n1" sees the devices of "claim" only
    And claim "claim" has the allocation of entry "claim" in the BindRequest of pod "train"

  @KAI-233 @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: A released device is allocated to the next pod
    Given node "n1" running the driver
    And a DeviceClass "whole-node" selecting 'device.driver == "$(driver)"'
    And the objects of the manifest "bind_requests/all-devices-template"
    And a pod "first" using template "all"
    Then pod "first" reaches phase Running
    Given a pod "second" using template "all"
    Then pod "second" gets no BindRequest
    When pod "first" is deleted
    Then pod "second" is bound to "n1"
    And pod "second" reaches phase Running

  @KAI-110b @component:driver @needs:gpu-driver @component:kubelet @needs:run-kubelet
  Scenario: A deleted pod releases its devices
    Given node "n1" running the driver
    And a DeviceClass "accelerator" selecting 'device.driver == "$(driver)"'
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    Then pod "train" reaches phase Running
    When pod "train" is deleted
    Then claim "claim" is reserved for exactly the pods ""
    And claim "claim" is deallocated

  @KAI-231
  Scenario: No device is allocated to two claims
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And pods "train" 1 to 7 each using a claim of their own with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator)}}]
      """
    Then exactly 4 of the claims "train-1, train-2, train-3, train-4, train-5, train-6, train-7" are allocated
    And every allocation is valid, and no device is allocated twice

  @KAI-232 @needs:faults
  Scenario: A binding that is refused once is retried
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And the API server answers 500 to the next 1 bindings of Pod
    When a pod "train" using claim "claim" is created
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved for exactly the pods "train"

  @KAI-235
  Scenario: Two pods share an allocated claim
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    Then pod "first" is bound to "n1"
    Given a pod "second" using claim "shared"
    Then pod "second" is bound to "n1"
    And claim "shared" is reserved for exactly the pods "first, second"

  @KAI-455
  Scenario: Devices that were promised when the scheduler started are free after their pod has ended
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "pair" for 2 of "accelerator"
    And a pod "former" using claim "one"
    Then the BindRequest of pod "former" gives claim "one" 1 devices on its node
    When the scheduler is started again
    # The scheduler has observed the BindRequest that is not bound yet.
    Given a pod "plain" without claims
    Then pod "plain" gets exactly one BindRequest
    When the binder is started
    Then pod "former" is bound to "n1"
    When pod "former" is force-deleted
    And the ResourceClaim "one" is deleted
    And a pod "next" using claim "pair" is created
    Then pod "next" is bound to "n1"
    And the BindRequest of pod "next" gives claim "pair" 2 devices on its node

  @KAI-458
  Scenario: A label on a claim that is not bound yet changes nothing about its devices
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "labelled" for 1 of "accelerator"
    And a ResourceClaim "untouched" for 1 of "accelerator"
    And a ResourceClaim "pair" for 2 of "accelerator"
    And a pod "first" using claim "labelled"
    Then the BindRequest of pod "first" gives claim "labelled" 1 devices on its node
    When "metadata.labels" of the ResourceClaim "labelled" is set to {team: a}
    And a pod "second" using claim "untouched" is created
    Then 2 pods get BindRequests, with 2 distinct devices
    When the binder is started
    Then pod "first" is bound to "n1"
    And pod "second" is bound to "n1"
    And claim "labelled" has the allocation of entry "labelled" in the BindRequest of pod "first"
    And every allocation is valid, and no device is allocated twice
    When pod "first" is force-deleted
    And pod "second" is force-deleted
    And the ResourceClaim "labelled" is deleted
    And the ResourceClaim "untouched" is deleted
    And a pod "next" using claim "pair" is created
    Then pod "next" is bound to "n1"
    And the BindRequest of pod "next" gives claim "pair" 2 devices on its node

  @KAI-079
  Scenario: A BindRequest is deleted with its pod
    Given node "n1"
    And a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    When pod "plain" is force-deleted
    Then the BindRequest of pod "plain" is gone
