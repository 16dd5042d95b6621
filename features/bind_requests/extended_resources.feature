@profile:bind-requests @needs:kai @gate:DRAExtendedResource
Feature: Extended resources in BindRequests
  The scheduler puts the devices for a pod's extended resources into the BindRequest; the binder creates the claim.

  @KAI-064 @KAI-065 @component:scheduler
  Scenario: The BindRequest has the devices for an extended resource, unless a device plugin provides it
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the BindRequest of pod "train" has: [KAI-064]
      | field                                                                          | value                 |
      | spec.extendedResourceClaimAllocation.deviceRequests[0].name                    | container-0-request-0 |
      | spec.extendedResourceClaimAllocation.deviceRequests[0].exactly.deviceClassName | $(class:accelerator)  |
      | spec.extendedResourceClaimAllocation.containerMappings[0].containerName        | main                  |
      | spec.extendedResourceClaimAllocation.containerMappings[0].requestName          | container-0-request-0 |
      | spec.extendedResourceClaimAllocation.allocation.devices.results[0].device      | dev-0                 |
    Given node "n1" has {$(suffix).dra.test/gpu: 2} of a device plugin
    When a pod "plugin" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the BindRequest of pod "plugin" has "spec.selectedNode" $(node:n1) [KAI-065]
    And the BindRequest of pod "plugin" has "spec.extendedResourceClaimAllocation" null [KAI-065]

  @KAI-066 @component:scheduler
  Scenario: An init container shares its devices with the container after it
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" is created with the containers:
      | container | kind | requests                    |
      | first     | init | {$(suffix).dra.test/gpu: 2} |
      | main      | main | {$(suffix).dra.test/gpu: 2} |
    Then the BindRequest of pod "train" has:
      | field                                                                     | value                                                                                                                   |
      | spec.extendedResourceClaimAllocation.allocation.devices.results[1].device | dev-1                                                                                                                   |
      | spec.extendedResourceClaimAllocation.deviceRequests                       | [{name: container-1-request-0, exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 2}}] |

  @KAI-118 @component:binder
  Scenario: The binder creates the claim and records it
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a DeviceClass "nic" for those devices with extended resource "$(suffix).dra.test/nic"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1, $(suffix).dra.test/nic: 1}
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - {name: container-0-request-0, exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}
          - {name: container-0-request-1, exactly: {deviceClassName: $(class:nic), allocationMode: ExactCount, count: 1}}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
          - {containerName: main, resourceName: $(suffix).dra.test/nic, requestName: container-0-request-1}
        allocation:
          devices: {results: [{request: container-0-request-0, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-1}, {request: container-0-request-1, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-0}]}
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then the extended resource claim of pod "train" is allocated the devices "dev-0, dev-1"
    And the ResourceClaim of pod "train" has "metadata.generateName" train-extended-resources-
    And the ResourceClaim of pod "train" has:
      | field                                                               | value                                      |
      | metadata.finalizers                                                 | [resource.kubernetes.io/delete-protection] |
      | metadata.annotations['resource.kubernetes.io/extended-resource-claim'] | "true"                                   |
      | metadata.ownerReferences[0].kind                                    | Pod                                        |
      | metadata.ownerReferences[0].name                                    | train                                      |
      | metadata.ownerReferences[0].controller                              | true                                       |
      | spec.devices.requests[1].exactly.deviceClassName                    | $(class:nic)                               |
    And the ResourceClaim of pod "train" has "spec.devices.requests[*].name" [container-0-request-0, container-0-request-1]
    And the status of pod "train" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu"
    And the status of pod "train" maps container "main" to [container-0-request-1] of "$(suffix).dra.test/nic"
    And pod "train" is bound to "n1"

  @KAI-118 @component:binder @needs:faults
  Scenario: The pod's status names the claim although the API server refuses an update of it
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And the API server answers 500 to the next 1 status updates of Pod
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      backoffLimit: 3
      extendedResourceClaimAllocation:
        deviceRequests:
          - name: container-0-request-0
            exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
        allocation:
          devices: {results: [{request: container-0-request-0, driver: $(sim), pool: $(node:n1), device: dev-1}]}
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    And every fault has affected a request
    Then pod "train" is bound to "n1"
    And the extended resource claim of pod "train" is allocated the devices "dev-1"
    And the status of pod "train" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu"

  @KAI-119 @component:binder
  Scenario: An existing claim is used
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "another" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And a claim "left" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    When a BindRequest "train" of pod "train" to "n1" is created with:
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
    Then pod "train" is bound to "n1"
    And the extended resource claim of pod "train" is allocated the devices "dev-1"
    And claim "left" is allocated the devices "dev-1"
    And claim "another" stays unallocated

  @KAI-119b @component:binder
  Scenario Outline: A claim of an earlier attempt that <does> is replaced
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a DeviceClass "spare" for those devices
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "another" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And a claim "left" that an earlier attempt left for the extended resources of pod "train" on class "<class>"
    And claim "left" holds the devices "<held>" of "n1"
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - {name: <request>, exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}
        containerMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: <request>}]
        allocation:
          devices: {results: [{request: <request>, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-1}]}
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then pod "train" is bound to "n1"
    And the extended resource claim of pod "train" is allocated the devices "dev-1"
    And the ResourceClaim "left" is gone
    And the status of pod "train" maps container "main" to [<request>] of "$(suffix).dra.test/gpu"
    And the ResourceClaim "another" still exists

    Examples:
      | does                   | class       | held  | request               |
      | has another allocation | accelerator | dev-2 | container-0-request-0 |
      | has another request    | accelerator | dev-1 | container-0-request-1 |
      | has another class      | spare       | dev-1 | container-0-request-0 |

  @KAI-119b @component:binder
  Scenario: A claim of an earlier attempt that is being deleted is not used
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "left" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    And the ResourceClaim "left" is being deleted
    When a BindRequest "train" of pod "train" to "n1" is created with:
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
    Then pod "train" is bound to "n1"
    And the Pod "train" has "status.extendedResourceClaimStatus.resourceClaimName" other than "left"
    And claim "left" stays unallocated

  @KAI-162 @component:binder @needs:faults
  Scenario Outline: The claim is deleted if the pod cannot be bound, and <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "another" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And the API server answers 500 to the next 100 bindings of Pod
    When a BindRequest "train" of pod "train" to "n1" is created with:
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
    Then BindRequest "train" fails with a reason
    And the ResourceClaim of pod "train" is being deleted or gone
    And the Pod "train" has "<field>" null
    And the ResourceClaim "another" still exists

    @until:1.36
    Examples:
      | what                                | field                              |
      | the pod's status does not name it   | status.extendedResourceClaimStatus |

    # The API server keeps this field of a status that lacks it (DRA-538).
    @since:1.37
    Examples:
      | what                                | field                              |
      | the pod has no node                 | spec.nodeName                      |

  @KAI-119c @component:binder
  Scenario: The claim of a pod from a template is not taken for that of its extended resources
    Given the binder is stopped
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a ResourceClaim "own" for 1 of "accelerator"
    When a pod "train" using claim "own" is created with:
      """
      resourceClaims: [{name: own, resourceClaimTemplateName: unused}]
      containers: [{name: main, image: example.com/pause, resources: {requests: {$(suffix).dra.test/gpu: 1}, limits: {$(suffix).dra.test/gpu: 1}}}]
      """
    Given "metadata.ownerReferences" of the ResourceClaim "own" is set to [{apiVersion: v1, kind: Pod, name: train, uid: $(uid:train), controller: true}]
    And "status.resourceClaimStatuses" of the Pod "train" is set to [{name: own, resourceClaimName: own}]
    And a BindRequest "train" of pod "train" to "n1" with:
      """
      resourceClaimAllocations: [{name: own, allocation: {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0}]}}}]
      extendedResourceClaimAllocation:
        deviceRequests: [{name: container-0-request-0, exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}]
        containerMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]
        allocation: {devices: {results: [{request: container-0-request-0, driver: $(sim), pool: $(node:n1), device: dev-1}]}}
      """
    When the binder is started
    Then the extended resource claim of pod "train" is allocated the devices "dev-1"
    And pod "train" is bound to "n1"
    And claim "own" is allocated the devices "dev-0"
    And claim "own" is reserved for exactly the pods "train"
