@profile:bind-requests @component:binder @needs:kai @needs:own-control-plane
Feature: The binder binds the volumes of a pod
  A PersistentVolumeClaim can wait for its first consumer, because only then the node is known. The binder has the node of
  the BindRequest: it reserves a volume of this node, or has one made for it, and binds the pod when the volumes are bound.
  The harness does what the controller of volumes and the provisioner do.

  Background:
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "claim" for 1 of "accelerator"
    And a StorageClass "local" of provisioner "kubernetes.io/no-provisioner" with binding mode WaitForFirstConsumer
    And a StorageClass "made" of provisioner "volumes.example.com" with binding mode WaitForFirstConsumer

  @KAI-460
  Scenario: A volume of the selected node is reserved, and the pod is bound when the volume is bound
    Given a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolume "second" of StorageClass "local" on node "n2"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n2" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then PersistentVolume "second" is reserved for PersistentVolumeClaim "data"
    And PersistentVolume "first" stays free
    And pod "train" stays unbound
    When PersistentVolumeClaim "data" is bound to PersistentVolume "second"
    Then pod "train" is bound to "n2"
    And claim "claim" is reserved for exactly the pods "train"

  @KAI-460
  Scenario: Two claims of a pod get volumes of their own
    Given a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolume "second" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a PersistentVolumeClaim "model" of StorageClass "local"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data, model"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then the PersistentVolumes "first, second" are reserved for the PersistentVolumeClaims "data, model", one each

  @KAI-461
  Scenario: A volume is made for the selected node, and the pod is bound when it is bound
    Given a PersistentVolumeClaim "data" of StorageClass "made"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n2" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then the node "n2" is selected for PersistentVolumeClaim "data"
    And pod "train" stays unbound
    When a volume "made-volume" on node "n2" is made for PersistentVolumeClaim "data"
    Then pod "train" is bound to "n2"
    And claim "claim" is reserved for exactly the pods "train"

  @KAI-462 @KAI-463
  Scenario Outline: A BindRequest fails if a volume cannot be bound, because <why>
    Given a StorageClass "now" of provisioner "volumes.example.com" with binding mode Immediate
    And a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "elsewhere" of StorageClass "local"
    And a PersistentVolumeClaim "unbound" of StorageClass "now"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "<volume>"
    When a BindRequest "train" of pod "train" to "n2" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason [KAI-462]
    And pod "train" stays unbound [KAI-462]
    And claim "claim" stays unallocated [KAI-463]
    And PersistentVolume "first" stays free [KAI-462]

    Examples:
      | volume    | why                                            |
      | missing   | its claim does not exist                       |
      | elsewhere | no volume can be used on the node              |
      | unbound   | its claim waits for no consumer and is unbound |

  @KAI-466 @KAI-463
  Scenario: A pod is not bound to a node that cannot use its volume
    Given a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And PersistentVolumeClaim "data" is bound to PersistentVolume "first"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n2" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason [KAI-466]
    And pod "train" stays unbound [KAI-466]
    And claim "claim" stays unallocated [KAI-463]

  @KAI-466
  Scenario: A pod is bound to a node that can use its volume
    Given a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And PersistentVolumeClaim "data" is bound to PersistentVolume "first"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "train" is bound to "n1"

  @KAI-467
  Scenario: A volume that is being made for another node stays there
    Given a PersistentVolumeClaim "data" of StorageClass "made"
    And the node "n1" was selected for PersistentVolumeClaim "data"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n2" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound
    And the node "n1" is selected for PersistentVolumeClaim "data"
