@profile:bind-requests @component:claim-controller @component:scheduler @needs:kai @needs:own-control-plane
Feature: The scheduler looks at the volumes of a pod
  If only some nodes can use a volume, volume and devices together decide where the pod can run. The binder reserves the
  volume later, on the node of the BindRequest. The reference ignores volumes and does not support the feature `volumes`.

  Background:
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a StorageClass "local" of provisioner "kubernetes.io/no-provisioner" with binding mode WaitForFirstConsumer
    And a StorageClass "made" of provisioner "volumes.example.com" with binding mode WaitForFirstConsumer

  @KAI-511
  Scenario Outline: A pod goes to <node>, where a volume for its claim is
    Given a PersistentVolume "only" of StorageClass "local" on node "<node>"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    Then pod "train" gets exactly one BindRequest
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:<node>)
    And the BindRequest of pod "train" has "spec.resourceClaimAllocations[0].allocation.devices.results[0].pool" $(node:<node>)
    And PersistentVolume "only" stays free

    Examples:
      | node |
      | n1   |
      | n2   |

  @KAI-511
  Scenario: A pod waits until there is a volume for each of its claims
    Given a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a PersistentVolumeClaim "model" of StorageClass "local"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data, model"
    Then pod "train" gets no BindRequest
    Given a PersistentVolume "second" of StorageClass "local" on node "n2"
    Then pod "train" gets no BindRequest
    Given a PersistentVolume "third" of StorageClass "local" on node "n2"
    Then pod "train" gets exactly one BindRequest
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2)

  @KAI-511
  Scenario: A pod whose volume is to be made gets a BindRequest
    Given a PersistentVolumeClaim "data" of StorageClass "made"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    Then pod "train" gets exactly one BindRequest

  @KAI-512
  Scenario: A pod goes to the node that can use its bound volume
    Given a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolume "second" of StorageClass "local" on node "n2"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And PersistentVolumeClaim "data" is bound to PersistentVolume "second"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    Then pod "train" gets exactly one BindRequest
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2)

  @KAI-512
  Scenario: A pod waits if only a node without devices can use its volume
    Given node "n3"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a PersistentVolume "third" of StorageClass "local" on node "n3"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And PersistentVolumeClaim "data" is bound to PersistentVolume "third"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    And a pod "plain" using claim "other"
    Then pod "plain" gets exactly one BindRequest
    And pod "train" gets no BindRequest

  @KAI-513
  Scenario: A pod whose volume is being made for a node goes to this node
    Given a PersistentVolumeClaim "data" of StorageClass "made"
    And the node "n2" was selected for PersistentVolumeClaim "data"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    Then pod "train" gets exactly one BindRequest
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2)

  @KAI-514
  Scenario: A pod waits for a PersistentVolumeClaim that does not exist
    Given a PersistentVolume "only" of StorageClass "local" on node "n2"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    Then pod "train" gets no BindRequest
    Given a PersistentVolumeClaim "data" of StorageClass "local"
    Then pod "train" gets exactly one BindRequest
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2)

  @KAI-514
  Scenario: A pod waits for a PersistentVolumeClaim that waits for no consumer
    Given a StorageClass "now" of provisioner "volumes.example.com" with binding mode Immediate
    And a PersistentVolumeClaim "data" of StorageClass "now"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    Then pod "train" gets no BindRequest
    When a volume "made-volume" on node "n2" is made for PersistentVolumeClaim "data"
    Then pod "train" gets exactly one BindRequest
    And the BindRequest of pod "train" has "spec.selectedNode" $(node:n2)
