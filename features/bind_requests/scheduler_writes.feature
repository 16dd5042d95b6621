@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai
Feature: The scheduler writes BindRequests
  The scheduler writes one BindRequest for a pod; it does not bind the pod or update claims. The BindRequest contains
  everything that the binder needs.

  @KAI-010 @KAI-011 @KAI-012 @KAI-014
  Scenario: A pod gets one BindRequest
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "train" using claim "claim" is created
    Then pod "train" gets exactly one BindRequest [KAI-010]
    And the BindRequest of pod "train" has "spec.podName" train [KAI-010]
    And the BindRequest of pod "train" has: [KAI-011]
      | field                                          | value                                               |
      | metadata.ownerReferences[*].uid                | [$(uid:train)]                                      |
      | metadata.ownerReferences[0]                    | containing {apiVersion: v1, kind: Pod, name: train} |
      | metadata.ownerReferences[0].controller         | other than true                                     |
      | metadata.ownerReferences[0].blockOwnerDeletion | other than true                                     |
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n1) [KAI-012]
    And the BindRequest of pod "train" has "metadata.labels['selected-node']" $(node:n1) [KAI-012]
    And the BindRequest of pod "train" keeps "status" empty [KAI-014]

  @KAI-015
  Scenario: The BindRequest of a pod without devices
    Given node "n1"
    And a pod "plain" without claims
    Then the BindRequest of pod "plain" has "spec.receivedResourceType" Regular
    And the BindRequest of pod "plain" has "spec.receivedGPU.portion" "0.00"
    And the BindRequest of pod "plain" has "spec.resourceClaimAllocations" null
    And the BindRequest of pod "plain" has "spec.selectedGPUGroups" null

  @KAI-483
  Scenario: A pod with a long name gets a BindRequest
    Given node "n1"
    And a pod "a-name-of-sixty-four-characters-is-one-too-long-for-label-values" without claims
    And a pod "short" without claims
    Then the BindRequest of pod "short" has "spec.selectedNode" $(node:n1)
    And the BindRequest of pod "a-name-of-sixty-four-characters-is-one-too-long-for-label-values" has "spec.selectedNode" $(node:n1)

  @KAI-016
  Scenario: The BindRequest counts GPUs of a device plugin
    Given node "n1"
    And node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And a pod "classic" requesting {nvidia.com/gpu: 2}
    Then the BindRequest of pod "classic" has "spec.receivedGPU" {count: 2, portion: "1.00"}
    And the BindRequest of pod "classic" has "spec.receivedResourceType" Regular

  @KAI-019
  Scenario: The BindRequest of a pod with MIG devices has a type of its own
    Given node "n1"
    And node "n2"
    And node "n1" has {nvidia.com/mig-1g.10gb: 2} of a device plugin
    And node "n2" has {nvidia.com/gpu: 1} of a device plugin
    And a pod "part" requesting {nvidia.com/mig-1g.10gb: 2}
    And a pod "whole" requesting {nvidia.com/gpu: 1}
    Then the BindRequest of pod "part" has "spec.receivedResourceType" MigInstance
    And the BindRequest of pod "part" has "spec.receivedGPU.portion" "0.00"
    And the BindRequest of pod "part" has "spec.selectedNode" $(node:n1)
    And the BindRequest of pod "whole" has "spec.receivedResourceType" Regular

  @KAI-020 @KAI-024 @KAI-025
  Scenario: The allocation of a claim is in the BindRequest, not yet in the claim
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 2 of "accelerator"
    And the ResourceClaim "claim" is remembered
    And a pod "train" using claim "claim" as "mine"
    Then the BindRequest of pod "train" has "spec.resourceClaimAllocations[*].name" in any order [mine] [KAI-020]
    And the BindRequest of pod "train" gives claim "mine" 2 devices on its node [KAI-020]
    And the BindRequest of pod "train" has: [KAI-020]
      | field                                                               | value                                                                                            |
      | spec.resourceClaimAllocations[name=mine][0].allocation.nodeSelector | {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]} |
    And the BindRequest of pod "train" has "spec.receivedGPU" {portion: "0.00"} [KAI-024]
    And the ResourceClaim "claim" is unchanged [KAI-025]
    And pod "train" stays unbound [KAI-025]

  @KAI-021
  Scenario: A claim from a template has the pod's own name
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    When a pod "train" using template "one" is created
    Then the BindRequest of pod "train" has "spec.resourceClaimAllocations[*].name" in any order [gpu]
    And the BindRequest of pod "train" gives claim "gpu" 1 devices on its node

  @KAI-022 @KAI-056
  Scenario: Several claims of one pod are allocated on one node, without common devices
    Given node "n1" with 2 devices
    And node "n2" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "a" for 1 of "accelerator"
    And a ResourceClaim "b" for 2 of "accelerator"
    And a pod "train" using claim "a, b"
    Then the BindRequest of pod "train" has "spec.resourceClaimAllocations[*].name" in any order [a, b] [KAI-022]
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2) [KAI-056]
    And the BindRequest of pod "train" gives claim "a" 1 devices on its node [KAI-056]
    And the BindRequest of pod "train" gives claim "b" 2 devices on its node [KAI-056]
    And 1 pods get BindRequests, with 3 distinct devices [KAI-056]

  @KAI-023 @KAI-054
  Scenario: An allocated claim is copied, and selects the node
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And claim "claim" holds the devices "dev-1" of "n2"
    When a pod "train" using claim "claim" is created
    Then the BindRequest of pod "train" gives claim "claim" the devices "dev-1" [KAI-023]
    And the BindRequest of pod "train" has: [KAI-023]
      | field                                                                | value                                                                                            |
      | spec.resourceClaimAllocations[name=claim][0].allocation.nodeSelector | {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n2)]}]}]} |
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2) [KAI-054]

  @KAI-020
  Scenario: Configuration of class and claim is copied, the class first
    Given node "n1" with 1 devices
    And the objects of the manifest "bind_requests/configured"
    When a pod "train" using claim "configured" is created
    Then the BindRequest of pod "train" has:
      | field                                                                                 | value                  |
      | spec.resourceClaimAllocations[name=configured][0].allocation.devices.config[*].source | [FromClass, FromClaim] |
      | spec.resourceClaimAllocations[0].allocation.devices.config[1].requests                | [gpu]                  |
      | spec.resourceClaimAllocations[0].allocation.devices.config[0].opaque.parameters       | {from: class}          |

  @KAI-026
  Scenario: A pod gets the event Scheduled before it is bound
    Given node "n1"
    And a pod "plain" without claims
    Then pod "plain" gets a Normal event "Scheduled"

  @KAI-027 @needs:faults
  Scenario: Writing a BindRequest is retried
    Given node "n1"
    And the API server answers 500 to the next 100000 creations of BindRequest
    And a pod "plain" without claims
    Then pod "plain" gets a Warning event "FailedBinding"
    And the Pod "plain" has "status.conditions[type=PodScheduled][0].status" "False"
    When the API server answers as usual again
    Then pod "plain" gets exactly one BindRequest

  @KAI-474 @needs:faults
  Scenario: A pod whose BindRequest is refused is not reported as unschedulable
    Given node "n1"
    And the API server answers 500 to the next 100000 creations of BindRequest
    And a pod "plain" without claims
    Then the Pod "plain" has condition PodScheduled False with reason "BindingError"
    And the Pod "plain" keeps "status.conditions[type=PodScheduled][0].reason" BindingError

  @KAI-034
  Scenario: A pod with a scheduling gate waits
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    When a pod "train" using claim "claim" is created with:
      """
      schedulingGates: [{name: dra-conformance/wait}]
      """
    Then pod "train" gets no BindRequest
    When "spec.schedulingGates" of the Pod "train" is set to null
    Then pod "train" gets exactly one BindRequest
