@profile:bind-requests @component:binder @needs:kai
Feature: The binder keeps what others wrote
  Users and other controllers write to claims and pods as well. A binder changes the allocation and the reservation of
  its own pod and nothing else, and compares uids where it has them, not names.

  @KAI-121 @needs:faults
  Scenario: Labels, annotations, finalizers and other consumers survive binding and failure
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "shared" for 1 of "accelerator"
    And "metadata.labels" of the ResourceClaim "mine" is set to {team: a}
    And "metadata.annotations" of the ResourceClaim "mine" is set to {purpose: training}
    And "metadata.finalizers" of the ResourceClaim "mine" is set to [dra.test/first, dra.test/last]
    And "metadata.finalizers" of the ResourceClaim "shared" is set to [dra.test/held]
    And claim "shared" holds the devices "dev-1" of "n1"
    And a pod "other" using claim "shared"
    And claim "shared" is reserved by hand for pods "other"
    And a pod "train" using claim "mine, shared"
    And the API server answers 403 to the next 1 bindings of Pod
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      mine: dev-0
      shared: dev-1
      """
    Then BindRequest "train" fails with a reason
    And the ResourceClaim "mine" has "metadata.finalizers" containing dra.test/first
    And the ResourceClaim "mine" has "metadata.finalizers" containing dra.test/last
    And the ResourceClaim "shared" has "metadata.finalizers" containing dra.test/held
    And the ResourceClaim "shared" has "status.reservedFor[*].name" containing other
    When the BindRequest "train" is deleted
    And a BindRequest "again" of pod "train" to "n1" is created giving:
      """
      mine: dev-0
      shared: dev-1
      """
    Then pod "train" is bound to "n1"
    And the ResourceClaim "mine" has "metadata.finalizers" containing dra.test/first
    And the ResourceClaim "mine" has "metadata.finalizers" containing dra.test/last
    And the ResourceClaim "mine" has "metadata.labels.team" a
    And the ResourceClaim "mine" has "metadata.annotations.purpose" training
    And claim "shared" is reserved for exactly the pods "other, train"

  @KAI-107
  Scenario: The reservation of a former pod of the name is not taken for the pod's own
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And claim "one" holds the devices "dev-0" of "n1"
    And claim "two" holds the devices "dev-1" of "n1"
    And a pod "train" using claim "one, two"
    And claim "one" is reserved by hand for pods "train"
    And claim "two" is also reserved for {resource: pods, name: train, uid: former}
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      one: dev-0
      two: dev-1
      """
    Then pod "train" is bound to "n1"
    And claim "one" is reserved for pod "train"
    And claim "two" is reserved for pod "train"

  @KAI-113b
  Scenario Outline: A pod is not bound with a claim that has <difference> than its BindRequest says
    Given node "n1" with 3 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "free" for 1 of "accelerator"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And "status.allocation" of the ResourceClaim "claim" is set to <allocation>
    And a pod "train" using claim "free, claim"
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      free: dev-2
      claim: dev-0
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound
    And the ResourceClaim "claim" keeps "status.allocation.devices.results[0].device" <device>

    Examples:
      | difference          | device | allocation |
      | another device      | dev-1  | {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-1}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}} |
      | another node        | dev-0  | {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n2), device: dev-0}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n2)]}]}]}} |
      | other configuration | dev-0  | {devices: {config: [{source: FromClaim, opaque: {driver: $(sim), parameters: {mode: fast}}}], results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}} |

  @KAI-113b @needs:faults
  Scenario: A claim that gets other devices while the binder writes it is not used
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "free" for 1 of "accelerator"
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "free, claim"
    And claim "claim" is allocated "dev-1" of "n1" while the binder writes it
    When a BindRequest "train" of pod "train" to "n1" is created giving:
      """
      free: dev-2
      claim: dev-0
      """
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound
    And the ResourceClaim "claim" keeps "status.allocation.devices.results[*].device" in any order [dev-1]

  @KAI-119 @gate:DRAExtendedResource
  Scenario: Each of two pods with extended resources gets a claim of its own
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "one" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "two" requesting {$(suffix).dra.test/gpu: 1}
    When a BindRequest "one" of pod "one" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - {name: container-0-request-0,
             exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
        allocation:
          devices:
            results: [{request: container-0-request-0, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-1}]
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then pod "one" is bound to "n1"
    When a BindRequest "two" of pod "two" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - {name: container-0-request-0,
             exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
        allocation:
          devices:
            results: [{request: container-0-request-0, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-0}]
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then pod "two" is bound to "n1"
    And the extended resource claim of pod "one" is allocated the devices "dev-1"
    And the extended resource claim of pod "two" is allocated the devices "dev-0"

  @KAI-139b
  Scenario: A BindRequest of another pod is not carried out
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And a pod "other" without claims
    And a BindRequest "forged" of pod "train" to "n1" giving claim "claim" the devices "dev-1"
    And a BindRequest "other" of pod "other" to "n1"
    And "metadata.ownerReferences" of the BindRequest "forged" is set to [{apiVersion: v1, kind: Pod, name: other, uid: $(uid:other)}]
    And a pod "placed" without claims
    And pod "placed" is bound by hand to "n1"
    And a BindRequest "placed" of pod "placed" to "n1"
    And "metadata.ownerReferences" of the BindRequest "placed" is set to [{apiVersion: v1, kind: Pod, name: other, uid: $(uid:other)}]
    When the binder is started
    Then pod "other" is bound to "n1"
    And BindRequest "forged" fails with a reason
    And BindRequest "placed" fails with a reason
    And pod "train" stays unbound
    And claim "claim" stays unallocated

  @KAI-141 @needs:faults
  Scenario: A BindRequest whose node is changed during the binding binds its pod to the node of its devices
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And the BindRequest "train" is changed to "n2" while the binder writes claim "claim"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then the BindRequest "train" has "spec.selectedNode" $(node:n2)
    And every BindRequest is Succeeded or Failed
    And every bound pod has its devices
    And every allocation is valid, and no device is allocated twice

  @KAI-142 @needs:faults
  Scenario: A BindRequest that is deleted meanwhile stops no other
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a pod "train" using claim "claim"
    And a pod "other" without claims
    And the BindRequest "train" is deleted while the binder writes claim "claim"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then the BindRequest "train" is gone
    When a BindRequest "other" of pod "other" to "n1" is created
    Then pod "other" is bound to "n1"
    And every BindRequest is Succeeded or Failed
    And every bound pod has its devices

  @KAI-142b @needs:faults
  Scenario: The outcome of a BindRequest is not that of another one with its name
    Given node "n1"
    And node "n2"
    And a pod "train" without claims
    And the BindRequest "train" is replaced by one of pod "other" to "n2" while the binder writes its status
    When a BindRequest "train" of pod "train" to "n1" is created
    Then pod "train" is bound to "n1"
    And the BindRequest "train" has "spec.podName" other
    # The binder can carry out the new BindRequest only now, because its pod did not exist before.
    Given a pod "other" without claims
    When "metadata.annotations" of the BindRequest "train" is set to {touched: "yes"}
    Then pod "other" is bound to "n2"
    And the BindRequest "train" has "status.phase" Succeeded
