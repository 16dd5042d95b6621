@profile:bind-requests @component:scheduler @needs:kai
Feature: The scheduler gives pods shares of GPUs
  A pod names the part of a GPU that it wants in an annotation. Pods with one GPU group in their BindRequests get the
  same GPU; the scheduler sees to it that they fit on it.

  Background:
    Given node "n1"

  @KAI-017
  Scenario: The BindRequest of a share has its portion and one GPU group
    Given node "n1" has {nvidia.com/gpu: 2} of a device plugin
    And a pod "half" that shares GPUs by {gpu-fraction: "0.5"}
    And a pod "quarter" that shares GPUs by {gpu-fraction: "0.25"}
    Then the BindRequest of pod "half" has "spec.receivedResourceType" Fraction
    And the BindRequest of pod "half" has "spec.receivedGPU" {count: 1, portion: "0.50"}
    And the BindRequest of pod "quarter" has "spec.receivedGPU" {count: 1, portion: "0.25"}
    And the BindRequests of pods "half" name 1 GPU groups
    And the BindRequests of pods "quarter" name 1 GPU groups

  @KAI-018 @KAI-383
  Scenario: A share of two GPUs has two GPU groups, on a node with two GPUs
    Given node "n2"
    And node "n1" has {nvidia.com/gpu: 1} of a device plugin
    And node "n2" has {nvidia.com/gpu: 2} of a device plugin
    And "metadata.labels['nvidia.com/gpu.memory']" of the Node "n2" is set to "40000"
    When a pod "pair" that shares GPUs by {gpu-fraction: "0.5", gpu-fraction-num-devices: "2"} is created
    Then the BindRequest of pod "pair" has "spec.selectedNode" $(node:n2) [KAI-383]
    And the BindRequest of pod "pair" has "spec.receivedGPU" {count: 2, portion: "0.50"} [KAI-018]
    And the BindRequests of pods "pair" name 2 GPU groups [KAI-018]
    When a pod "memory" that shares GPUs by {gpu-memory: "10000", gpu-fraction-num-devices: "2"} is created
    Then the BindRequest of pod "memory" has "spec.receivedGPU" {count: 2, portion: "0.25"} [KAI-018]
    And the BindRequests of pods "memory" name 2 GPU groups [KAI-018]

  @KAI-381
  Scenario: Shares that fit on one GPU get the same GPU group
    Given node "n1" has {nvidia.com/gpu: 3} of a device plugin
    And a pod "first" that shares GPUs by {gpu-fraction: "0.5"}
    Then the BindRequests of pods "first" name 1 GPU groups
    When a pod "second" that shares GPUs by {gpu-fraction: "0.5"} is created
    Then the BindRequests of pods "first, second" name 1 GPU groups
    When a pod "third" that shares GPUs by {gpu-fraction: "0.5"} is created
    Then the BindRequests of pods "first, second, third" name 2 GPU groups

  @KAI-382 @needs:no-binder
  Scenario: The shares of a GPU are never more than the GPU
    Given node "n1" has {nvidia.com/gpu: 2} of a device plugin
    And a pod "first" that shares GPUs by {gpu-fraction: "0.6"}
    And a pod "second" that shares GPUs by {gpu-fraction: "0.6"}
    Then the BindRequests of pods "first, second" name 2 GPU groups
    When a pod "third" that shares GPUs by {gpu-fraction: "0.6"} is created
    And a pod "rest" that shares GPUs by {gpu-fraction: "0.4"} is created
    Then the BindRequests of pods "first, second, rest" name 2 GPU groups
    And pod "third" gets no BindRequest
    When pod "first" is deleted
    Then the BindRequests of pods "third" name 1 GPU groups

  @KAI-382 @needs:pod-groups
  Scenario: The shares of a gang are never more than the GPUs of its node
    Given node "n1" has {nvidia.com/gpu: 2} of a device plugin
    And a PodGroup "train" that needs 3 pods
    And pods "train" 1 to 3 of PodGroup "train" that share GPUs by {gpu-fraction: "0.6"}
    And a PodGroup "serve" that needs 4 pods
    And pods "serve" 1 to 4 of PodGroup "serve" that share GPUs by {gpu-fraction: "0.5"}
    Then the BindRequests of pods "serve-1, serve-2, serve-3, serve-4" name 2 GPU groups
    And no pod of PodGroup "train" gets a BindRequest

  @KAI-384
  Scenario: A GPU is shared or used as a whole
    Given node "n1" has {nvidia.com/gpu: 2} of a device plugin
    And a pod "half" that shares GPUs by {gpu-fraction: "0.5"}
    And a pod "whole" requesting {nvidia.com/gpu: 1}
    Then the BindRequests of pods "half" name 1 GPU groups
    And the BindRequest of pod "whole" has "spec.selectedNode" $(node:n1)
    When a pod "another-whole" requesting {nvidia.com/gpu: 1} is created
    And a pod "more" that shares GPUs by {gpu-fraction: "0.6"} is created
    And a pod "other-half" that shares GPUs by {gpu-fraction: "0.5"} is created
    Then the BindRequests of pods "half, other-half" name 1 GPU groups
    And pod "another-whole" gets no BindRequest
    And pod "more" gets no BindRequest

  @KAI-385
  Scenario: A share by memory needs a node whose label has the memory of its GPUs
    Given node "n2"
    And node "n1" has {nvidia.com/gpu: 1} of a device plugin
    And node "n2" has {nvidia.com/gpu: 1} of a device plugin
    And "metadata.labels['nvidia.com/gpu.memory']" of the Node "n2" is set to "40000"
    When a pod "memory" that shares GPUs by {gpu-memory: "10000"} is created
    Then the BindRequest of pod "memory" has "spec.selectedNode" $(node:n2)
    And the BindRequest of pod "memory" has "spec.receivedGPU" {count: 1, portion: "0.25"}
    When a pod "more" that shares GPUs by {gpu-memory: "40000"} is created
    And a pod "fraction" that shares GPUs by {gpu-fraction: "0.8"} is created
    Then the BindRequest of pod "fraction" has "spec.selectedNode" $(node:n1)
    And pod "more" gets no BindRequest

  @KAI-385b
  Scenario Outline: A share by memory goes to no GPU that has less memory (<memory> MiB)
    Given node "n2"
    And node "n1" has {nvidia.com/gpu: 2} of a device plugin
    And node "n2" has {nvidia.com/gpu: 1} of a device plugin
    And "metadata.labels['nvidia.com/gpu.memory']" of the Node "n1" is set to "40000"
    When a pod "large" that shares GPUs by {gpu-memory: "<memory>"} is created
    And a pod "small" that shares GPUs by {gpu-memory: "10000"} is created
    Then the BindRequest of pod "small" has "spec.selectedNode" $(node:n1)
    And pod "large" gets no BindRequest
    When "metadata.labels['nvidia.com/gpu.memory']" of the Node "n2" is set to "100000"
    Then the BindRequest of pod "large" has "spec.selectedNode" $(node:n2)

    Examples:
      | memory |
      | 50000  |
      | 80000  |

  @KAI-312
  Scenario Outline: The portion of a share by memory is rounded up to hundredths (<memory> of <gpu> MiB)
    Given node "n1" has {nvidia.com/gpu: 1} of a device plugin
    And "metadata.labels['nvidia.com/gpu.memory']" of the Node "n1" is set to "<gpu>"
    When a pod "memory" that shares GPUs by {gpu-memory: "<memory>"} is created
    Then the BindRequest of pod "memory" has "spec.receivedGPU" {count: 1, portion: "<portion>"}

    Examples:
      | memory | gpu   | portion |
      | 10000  | 30000 | 0.34    |
      | 20001  | 40000 | 0.51    |
      | 1      | 40000 | 0.01    |
      | 15000  | 30000 | 0.50    |
      | 29999  | 30000 | 1.00    |

  @KAI-386
  Scenario Outline: A pod whose gpu-fraction is <text> is no share
    Given node "n1" has {nvidia.com/gpu: 1} of a device plugin
    And a pod "bad" that shares GPUs by {gpu-fraction: "<text>"}
    And a pod "good" that shares GPUs by {gpu-fraction: "0.5"}
    Then the BindRequests of pods "good" name 1 GPU groups
    And the BindRequest of pod "bad" has "spec.receivedResourceType" Regular
    And the BindRequest of pod "bad" has "spec.receivedGPU.portion" "0.00"
    And the BindRequest of pod "bad" has "spec.selectedGPUGroups" null

    Examples:
      | text |
      | 1.5  |
      | 0    |
      | -0.5 |
      | half |

  @KAI-387
  Scenario: A share needs room for its reservation pod
    Given node "n1" has {nvidia.com/gpu: 2, pods: 1} of a device plugin
    When a pod "half" that shares GPUs by {gpu-fraction: "0.5"} is created
    Given a pod "plain" without claims
    Then the BindRequest of pod "plain" has "spec.selectedNode" $(node:n1)
    And pod "half" gets no BindRequest
    When "status.allocatable.pods" of the Node "n1" is set to "2"
    Then pod "half" gets no BindRequest
    When "status.allocatable.pods" of the Node "n1" is set to "3"
    Then the BindRequest of pod "half" has "spec.selectedNode" $(node:n1)

  @component:binder @needs:gpu-shares @KAI-384 @KAI-388
  Scenario: Scheduler and binder give two pods one GPU and a third pod another
    Given the binder reserves GPUs for shares
    And node "n1" has {nvidia.com/gpu: 2} of a device plugin
    When a pod "first" that shares GPUs by {gpu-fraction: "0.5"} is created
    And the reservation pod of the GPU of pod "first" reports GPU 1
    Then pod "first" is bound to "n1" [KAI-388]
    When a pod "second" that shares GPUs by {gpu-fraction: "0.5"} is created
    Then pod "second" is bound to "n1" [KAI-388]
    When a pod "third" that shares GPUs by {gpu-fraction: "0.5"} is created
    Then the BindRequests of pods "first, second, third" name 2 GPU groups [KAI-388]
    When the reservation pod of the GPU of pod "third" reports GPU 0
    Then pod "third" is bound to "n1" [KAI-388]
    And the ConfigMap "first-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "1" [KAI-388]
    And the ConfigMap "second-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "1" [KAI-388]
    And the ConfigMap "third-shares-0-evar" has "data.NVIDIA_VISIBLE_DEVICES" "0" [KAI-388]
    When a pod "whole" requesting {nvidia.com/gpu: 1} is created
    Then pod "whole" gets no BindRequest [KAI-384]
