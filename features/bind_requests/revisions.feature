@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:pinned-revision
Feature: Revisions of the BindRequest protocol
  KAI's documentation and its release 0.17 differ in the name and the labels of a BindRequest, not in its spec. The
  pod is the one of the documentation: one GPU of the device plugin and one IMEX channel.

  Background:
    Given node "n1"
    And node "n1" has {nvidia.com/gpu: 4} of a device plugin
    And an IMEX channel on "n1"
    And a DeviceClass "channel" selecting 'device.driver == "compute-domain.nvidia.com" && device.attributes["compute-domain.nvidia.com"].type == "channel"'
    And the objects of the manifest "bind_requests/imex-claim-template"

  @KAI-010a @KAI-020
  Scenario: The documented BindRequest for an IMEX channel
    Given the scheduler has the setting "revision" documented
    And the objects of the manifest "bind_requests/gpu-imex-pod"
    Then the BindRequest of pod "gpu-imex-pod" has "metadata.name" like "gpu-imex-pod-[a-z0-9]+" [KAI-010a]
    And the BindRequest of pod "gpu-imex-pod" has "metadata.labels" {pod-name: gpu-imex-pod, selected-node: $(node:n1)} [KAI-010a]
    And the BindRequest of pod "gpu-imex-pod" contains the manifest "bind_requests/gpu-imex-pod.documented" [KAI-020]

  @KAI-010b @KAI-020
  Scenario: The BindRequest of release 0.17 for an IMEX channel
    Given the scheduler has the setting "revision" kai-0.17
    And the objects of the manifest "bind_requests/gpu-imex-pod"
    Then the BindRequest of pod "gpu-imex-pod" has "metadata.name" gpu-imex-pod [KAI-010b]
    And the BindRequest of pod "gpu-imex-pod" has "metadata.labels.pod-name" null [KAI-010b]
    And the BindRequest of pod "gpu-imex-pod" contains the manifest "bind_requests/gpu-imex-pod.kai-0.17" [KAI-020]

  @KAI-028
  Scenario: In release 0.17 another pod's BindRequest with the pod's name is not replaced
    Given the scheduler has the setting "revision" kai-0.17
    And a pod "other" of scheduler "dra-conformance-by-hand" without claims
    And a BindRequest "plain" of pod "other" to "n1"
    And a pod "plain" without claims
    Then pod "plain" gets a Warning event "FailedBinding"
    And the Pod "plain" has "status.conditions[type=PodScheduled][0].status" "False"
    And the BindRequest "plain" has "spec.podName" other

  @KAI-028 @needs:faults
  Scenario: In release 0.17 another pod's BindRequest is not taken for the own one whose creation got no answer
    Given the scheduler has the setting "revision" kai-0.17
    And a pod "other" of scheduler "dra-conformance-by-hand" without claims
    And the creation of the next BindRequest is lost, and one "plain" of pod "other" to "n1" is there
    And a pod "plain" without claims
    When every fault has affected a request
    Then pod "plain" gets a Warning event "FailedBinding"
    And the Pod "plain" has "status.conditions[type=PodScheduled][0].status" "False"
    And the BindRequest "plain" has "spec.podName" other
    And pod "plain" gets no event "Scheduled"
    When the BindRequest "plain" is deleted
    Then the BindRequest of pod "plain" has "spec.selectedNode" $(node:n1)
