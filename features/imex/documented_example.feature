@profile:imex @component:claim-controller @component:scheduler @component:binder @component:compute-domain-controller
@needs:compute-domain @component:compute-domain-plugin @needs:fake-nvml @component:kubelet @needs:run-kubelet @needs:kai
Feature: The documented example of IMEX channels, from its ComputeDomain to the end of its pod
  KAI's documentation applies a ComputeDomain and the pod gpu-imex-pod, and shows the BindRequest that leads to its
  channel. Every object on the way is compared as a whole.

  @KAI-236 @KAI-237 @NV-147 @NV-150 @NV-163 @NV-166
  Scenario: The pod of the documented example gets its channel and gives it back
    Given the DeviceClass of IMEX channels
    And node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And the IMEX daemons of ComputeDomains are simulated
    When a ComputeDomain "imex" is created with {numNodes: 1, channel: {resourceClaimTemplate: {name: imex-channel-0}}}
    Then the ResourceClaimTemplate "imex-channel-0" has "spec.spec" {devices: {requests: [{name: channel, exactly: {deviceClassName: compute-domain-default-channel.nvidia.com, allocationMode: ExactCount, count: 1}}], config: [{requests: [channel], opaque: {driver: compute-domain.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: $(uid:imex), allocationMode: Single}}}]}} [NV-147]
    And the ComputeDomain "imex" has "status" {status: NotReady} [NV-150]
    Given the objects of the manifest "bind_requests/gpu-imex-pod"
    Then pod "gpu-imex-pod" is bound to "n1" [KAI-236]
    Given pod "gpu-imex-pod" has its claim "channel"
    Then the BindRequest of pod "gpu-imex-pod" has: [KAI-236]
      | field                         | value                                                                         |
      | metadata.ownerReferences      | [{apiVersion: v1, kind: Pod, name: gpu-imex-pod, uid: $(uid:gpu-imex-pod)}]    |
      | spec                          | {podName: gpu-imex-pod, selectedNode: $(node:n1), receivedResourceType: Regular, receivedGPU: {count: 1, portion: "1.00"}, resourceClaimAllocations: [{name: imex-channel-0, allocation: {devices: {results: [{request: channel, driver: compute-domain.nvidia.com, pool: $(node:n1), device: channel-0}], config: [{source: FromClaim, requests: [channel], opaque: {driver: compute-domain.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: $(uid:imex), allocationMode: Single}}}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}}}]} |
      | status                        | {phase: Succeeded}                                                            |
    # Revisions differ in the label pod-name (KAI-010a, KAI-010b).
    And the BindRequest of pod "gpu-imex-pod" has the labels {selected-node: $(node:n1)}, and {pod-name: gpu-imex-pod} or no other one [KAI-236]
    And the ResourceClaim "channel" has "status.reservedFor" [{resource: pods, name: gpu-imex-pod, uid: $(uid:gpu-imex-pod)}] [KAI-237]
    And claim "channel" has the allocation of entry "imex-channel-0" in the BindRequest of pod "gpu-imex-pod" [KAI-237]
    And pod "gpu-imex-pod" reaches phase Running [NV-150]
    And the ComputeDomain "imex" has "status.status" Ready [NV-150]
    And the ComputeDomain label of node "n1" becomes "imex" [NV-163]
    And of the device nodes "*imex*", container "main" of pod "gpu-imex-pod" on "n1" has only "/dev/nvidia-caps-imex-channels/channel0" [NV-163]
    When pod "gpu-imex-pod" is deleted
    Then the ResourceClaim "channel" is gone [KAI-237]
    And the BindRequest of pod "gpu-imex-pod" is gone [KAI-236]
    And the ComputeDomain label of node "n1" becomes "none" [NV-166]
    And the cliques of ComputeDomain "imex" come to have the nodes "" [NV-166]
    And the ComputeDomain "imex" has "status" {status: NotReady} [NV-150]

  # A scenario of its own, so that the rest of the example is also judged for a binder that sets no finalizer.
  @KAI-110b
  Scenario: The claim of the documented example is protected while its pod uses it
    Given the DeviceClass of IMEX channels
    And node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And the IMEX daemons of ComputeDomains are simulated
    When a ComputeDomain "imex" is created with {numNodes: 1, channel: {resourceClaimTemplate: {name: imex-channel-0}}}
    Given the objects of the manifest "bind_requests/gpu-imex-pod"
    Then pod "gpu-imex-pod" is bound to "n1"
    Given pod "gpu-imex-pod" has its claim "channel"
    Then the ResourceClaim "channel" has "metadata.finalizers" [resource.kubernetes.io/delete-protection]

  @KAI-236 @KAI-237 @NV-163 @NV-166 @component:driver @needs:gpu-driver
  Scenario: A pod gets a GPU beside its channel, each of its own driver
    Given the DeviceClass of IMEX channels
    And node "n1" running the driver on the GPUs of "gb200-nvl72-node"
    And node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a DeviceClass "accelerator" selecting 'device.driver == "$(driver)"'
    And a ResourceClaimTemplate "gpu" for 1 of "accelerator"
    And the IMEX daemons of ComputeDomains are simulated
    When a ComputeDomain "job" is created with {numNodes: 1, channel: {resourceClaimTemplate: {name: job-channel}}}
    Given a pod "rank" using template "gpu, job-channel" as "gpu, channel"
    Then pod "rank" reaches phase Running [NV-163]
    And of the device nodes "*imex*", container "main" of pod "rank" on "n1" has only "*/channel0" [NV-163]
    And of the device nodes "/dev/nvidia[0-9]", container "main" of pod "rank" on "n1" has only "/dev/nvidia[0-9]" [NV-163]
    Given pod "rank" has its claim "rank-gpu" for entry "gpu"
    And pod "rank" has its claim "rank-channel" for entry "channel"
    # The scheduler chooses the GPU, whose name and configuration are those of its driver.
    Then the BindRequest of pod "rank" has: [KAI-236]
      | field                                                                           | value                                                       |
      | metadata.ownerReferences                                                        | [{apiVersion: v1, kind: Pod, name: rank, uid: $(uid:rank)}] |
      | spec.podName                                                                    | rank                                                        |
      | spec.selectedNode                                                               | $(node:n1)                                                  |
      | spec.resourceClaimAllocations[name=gpu][*].allocation.devices.results[*].driver | [[$(driver)]]                                               |
      | spec.resourceClaimAllocations[name=channel][*].allocation                       | [{devices: {results: [{request: channel, driver: compute-domain.nvidia.com, pool: $(node:n1), device: channel-0}], config: [{source: FromClaim, requests: [channel], opaque: {driver: compute-domain.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: $(uid:job), allocationMode: Single}}}]}, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}}] |
      | status                                                                          | {phase: Succeeded}                                          |
    And the BindRequest of pod "rank" has "spec.resourceClaimAllocations[*].name" in any order [gpu, channel] [KAI-236]
    And claim "rank-gpu" has the allocation of entry "gpu" in the BindRequest of pod "rank" [KAI-237]
    And claim "rank-channel" has the allocation of entry "channel" in the BindRequest of pod "rank" [KAI-237]
    And the ResourceClaim "rank-gpu" has "status.reservedFor" [{resource: pods, name: rank, uid: $(uid:rank)}] [KAI-237]
    And the ResourceClaim "rank-channel" has "status.reservedFor" [{resource: pods, name: rank, uid: $(uid:rank)}] [KAI-237]
    When pod "rank" is deleted
    Then the ResourceClaim "rank-gpu" is gone [KAI-237]
    And the ResourceClaim "rank-channel" is gone [KAI-237]
    And the BindRequest of pod "rank" is gone [KAI-236]
    And the ComputeDomain label of node "n1" becomes "none" [NV-166]

  @KAI-236 @KAI-237 @NV-423 @NV-350 @NV-166
  Scenario: Four workers of the example get a channel on a node each
    Given the DeviceClass of IMEX channels
    And 4 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 4 nodes
    When a worker of ComputeDomain "job" is created for each of 4 nodes
    Then pod "worker-1" reaches phase Running [NV-423]
    And pod "worker-2" reaches phase Running [NV-423]
    And pod "worker-3" reaches phase Running [NV-423]
    And pod "worker-4" reaches phase Running [NV-423]
    And the ComputeDomain "job" has "status.status" Ready [NV-350]
    And the cliques of ComputeDomain "job" come to have the nodes "node-1, node-2, node-3, node-4" [NV-350]
    And the BindRequests of the workers on 4 nodes are those of the example, for ComputeDomain "job" [KAI-236]
    And the claims of the workers on 4 nodes are those of the example, for ComputeDomain "job" [KAI-237]
    And of the device nodes "*imex*", container "main" of pod "worker-1" on "node-1" has only "/dev/nvidia-caps-imex-channels/channel0" [NV-423]
    And of the device nodes "*imex*", container "main" of pod "worker-4" on "node-4" has only "/dev/nvidia-caps-imex-channels/channel0" [NV-423]
    When pod "worker-2" is deleted
    Then the ComputeDomain "job" has "status.status" NotReady [NV-350]
    When pod "worker-1" is deleted
    And pod "worker-3" is deleted
    And pod "worker-4" is deleted
    Then the cliques of ComputeDomain "job" come to have the nodes "" [NV-166]
    And the ComputeDomain label of node "node-1" becomes "none" [NV-166]
    And the ComputeDomain label of node "node-2" becomes "none" [NV-166]
    And the ComputeDomain label of node "node-3" becomes "none" [NV-166]
    And the ComputeDomain label of node "node-4" becomes "none" [NV-166]
