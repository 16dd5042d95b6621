@profile:bind-requests @component:claim-controller @component:scheduler @component:binder @needs:kai
Feature: Hazards of the protocol
  A hazard is a way in which binding can fail although scheduler and binder each follow the protocol. The hazards H1 to H8
  and their rules are listed in docs/explanation/kai-results.md.

  @KAI-235
  Scenario: Hazard H1, pods that share a claim are bound although it is not allocated yet when the second is scheduled
    Given the binder is stopped
    And node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "first" using claim "shared"
    Then pod "first" gets exactly one BindRequest
    Given a pod "second" using claim "shared"
    Then claim "shared" stays unallocated
    When the binder is started
    Then pod "first" is bound
    And pod "second" is bound
    And claim "shared" is reserved for exactly the pods "first, second"
    And every bound pod has its devices

  @KAI-052b @gate:DRAExtendedResource
  Scenario: Hazard H2, a device that is promised to extended resources is not promised again
    Given the binder is stopped
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "first" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "first" gets exactly one BindRequest
    Given a pod "second" using claim "claim"
    Then pod "second" gets no BindRequest
    When the scheduler is started again
    Then pod "second" gets no BindRequest

  @KAI-052b @gate:DRAExtendedResource
  Scenario: Devices that are promised to two pods of one name are not promised again
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "twin" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "twin" gets exactly one BindRequest
    Given a pod "twin" of another namespace requesting {$(suffix).dra.test/gpu: 1}
    Then pod "twin" of the other namespace gets a BindRequest
    Given a pod "second" using claim "claim"
    Then pod "second" gets no BindRequest

  @KAI-450
  Scenario: Hazard H3, two claims that only fit together get their devices
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "any" for 1 of "accelerator"
    And a ResourceClaim "first" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].index == 0'
    When a pod "train" using claim "any, first" is created
    Then the BindRequest of pod "train" gives claim "first" the devices "dev-0"
    And the BindRequest of pod "train" gives claim "any" the devices "dev-1"
    And pod "train" is bound to "n1"

  @KAI-160b @needs:faults
  Scenario: Hazard H4, a pod whose binding fails is not tied to the node of its first attempt
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And the API server answers 403 to the next 1000 bindings of the Pod "train"
    When a pod "train" using claim "claim" is created
    And every fault has affected a request
    And "spec.unschedulable" of the Node "n1" is set to true
    Given node "n2" with 1 devices
    Then pod "train" has had a BindRequest to "n2"
    And pod "train" stays unbound

  @KAI-119b @gate:DRAExtendedResource @needs:faults
  Scenario: Hazard H5, a pod whose first bindings fail is bound with a claim that stays
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And the API server answers 500 to the next 3 bindings of the Pod "train"
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    And every fault has affected a request
    Then pod "train" is bound to "n1"
    And the ResourceClaim of pod "train" has "status.reservedFor[*].name" [train]
    And the ResourceClaim of pod "train" keeps "metadata.deletionTimestamp" null

  @KAI-079b
  Scenario: Hazard H6, a pod with the name of a deleted pod is bound once the former BindRequest is gone
    Given node "n1"
    And a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    Given "metadata.finalizers" of the BindRequest "plain" is set to [dra-conformance/hold]
    When pod "plain" is force-deleted
    Given a pod "plain" without claims
    Then pod "plain" stays unbound
    When "metadata.finalizers" of the BindRequest "plain" is set to null
    Then pod "plain" is bound to "n1"

  @KAI-232b @needs:faults
  Scenario: Hazard H7, a pod whose binding is always refused stops no other pod
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And the API server answers 403 to the next 1000 bindings of the Pod "refused"
    When a pod "refused" using template "one" is created
    And every fault has affected a request
    And a pod "first" using template "one" is created
    And a pod "second" using template "one" is created
    Then pod "first" is bound to "n1"
    And pod "second" is bound to "n1"
    And pod "refused" stays unbound

  @KAI-140
  Scenario: Hazard H8, pods of one name in two namespaces are both bound
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "twin" without claims in another namespace
    And a pod "twin" using claim "claim"
    Then pod "twin" is bound to "n1"
    And pod "twin" of the other namespace is bound
    And claim "claim" is reserved for exactly the pods "twin"
