@profile:bind-requests @component:binder @needs:kai @needs:own-control-plane
Feature: The binder binds the volumes of a pod
  A PersistentVolumeClaim can wait for its first consumer, because only then the node is known. The BindRequest names the
  node. The binder reserves a volume of this node, or lets a provisioner create one, and binds the pod when the volumes
  are bound. The harness acts as the PersistentVolume controller and the provisioner.

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
    And "metadata.annotations" of the PersistentVolume "second" is set to {example.com/rack: r7}
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n2" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then PersistentVolume "second" is reserved for PersistentVolumeClaim "data"
    And the PersistentVolume "second" has "metadata.annotations" containing {example.com/rack: r7}
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

  @KAI-460
  Scenario: A pod with two claims is bound when the second of them is bound
    Given a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a PersistentVolumeClaim "model" of StorageClass "made"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data, model"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then PersistentVolume "first" is reserved for PersistentVolumeClaim "data"
    And the node "n1" is selected for PersistentVolumeClaim "model"
    When PersistentVolumeClaim "data" is bound to PersistentVolume "first"
    Then pod "train" stays unbound
    When a volume "made-volume" on node "n1" is made for PersistentVolumeClaim "model"
    Then pod "train" is bound to "n1"
    And claim "claim" is reserved for exactly the pods "train"

  @KAI-490
  Scenario Outline: A volume is not reserved if <why>
    Given a PersistentVolume "decoy" of StorageClass "local" on node "n1"
    And "<field>" of the PersistentVolume "decoy" is set to <value>
    And a PersistentVolume "right" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then PersistentVolume "right" is reserved for PersistentVolumeClaim "data"
    And the PersistentVolume "decoy" keeps "spec.claimRef" without {uid: $(uid:data)}

    Examples:
      | why                                                    | field                 | value                                                                                              |
      | it is smaller than the request                         | spec.capacity.storage | 1023Mi                                                                                             |
      | a smaller one is large enough                          | spec.capacity.storage | 1025Mi                                                                                             |
      | it lacks the access mode of the claim                  | spec.accessModes      | [ReadOnlyMany, ReadWriteMany]                                                                      |
      | it is not available                                    | status.phase          | Failed                                                                                             |
      | it is reserved for a claim of the name elsewhere       | spec.claimRef         | {apiVersion: v1, kind: PersistentVolumeClaim, namespace: elsewhere, name: data, uid: other}        |
      | it is reserved for a former claim of the name          | spec.claimRef         | {apiVersion: v1, kind: PersistentVolumeClaim, namespace: $(namespace), name: data, uid: former}    |

  @KAI-490
  Scenario: A volume that has one of two access modes of a claim is not reserved
    Given a PersistentVolume "decoy" of StorageClass "local" on node "n1"
    And "spec.accessModes" of the PersistentVolume "decoy" is set to [ReadWriteOnce, ReadWriteMany]
    And a PersistentVolume "right" of StorageClass "local" on node "n1"
    And "spec.accessModes" of the PersistentVolume "right" is set to [ReadWriteMany, ReadOnlyMany, ReadWriteOnce]
    And a PersistentVolumeClaim "data" of StorageClass "local" with the access modes "ReadWriteOnce, ReadOnlyMany"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then PersistentVolume "right" is reserved for PersistentVolumeClaim "data"
    And PersistentVolume "decoy" stays free

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

  @KAI-462 @KAI-461
  Scenario: A volume is made only for a node that the topology of its StorageClass admits
    Given "metadata.labels.zone" of the Node "n1" is set to a
    And "metadata.labels.rack" of the Node "n1" is set to r1
    And "metadata.labels.zone" of the Node "n2" is set to a
    And "metadata.labels.rack" of the Node "n2" is set to r2
    And "allowedTopologies" of the StorageClass "made" is set to [{matchLabelExpressions: [{key: zone, values: [b]}]}, {matchLabelExpressions: [{key: zone, values: [c, a]}, {key: rack, values: [r1]}]}]
    And a PersistentVolumeClaim "data" of StorageClass "made"
    And a PersistentVolumeClaim "model" of StorageClass "made"
    And a pod "admitted" using claim "claim" and PersistentVolumeClaims "model"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n2" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "train" fails with a reason [KAI-462]
    And pod "train" stays unbound [KAI-462]
    And the PersistentVolumeClaim "data" keeps "metadata.annotations['volume.kubernetes.io/selected-node']" null [KAI-462]
    When a BindRequest "admitted" of pod "admitted" to "n1" giving claim "claim" the devices "dev-1", with backoffLimit 20, is created
    Then the node "n1" is selected for PersistentVolumeClaim "model" [KAI-461]

  @KAI-491
  Scenario: A claim that was not made for the pod is not used for its ephemeral volume
    Given a pod "other" without claims
    And a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolume "second" of StorageClass "local" on node "n1"
    And a PersistentVolume "third" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "own-scratch" of StorageClass "local"
    And a PersistentVolumeClaim "foreign-scratch" of StorageClass "local"
    And a pod "own" using claim "claim" and the ephemeral volume "scratch"
    And a pod "foreign" using claim "claim" and the ephemeral volume "scratch"
    And the PersistentVolumeClaim "own-scratch" was made for pod "own"
    And the PersistentVolumeClaim "foreign-scratch" was made for pod "other"
    And PersistentVolumeClaim "own-scratch" is bound to PersistentVolume "first"
    And PersistentVolumeClaim "foreign-scratch" is bound to PersistentVolume "second"
    And a PersistentVolumeClaim "again-scratch" of StorageClass "local"
    And a pod "again" using claim "claim" and the ephemeral volume "scratch"
    # An owner with the pod's name and another uid. The garbage collector keeps an object with an owner of an unknown group.
    And "metadata.ownerReferences" of the PersistentVolumeClaim "again-scratch" is set to [{apiVersion: dra.test/v1, kind: Pod, name: again, uid: $(uid:other), controller: true}]
    And PersistentVolumeClaim "again-scratch" is bound to PersistentVolume "third"
    When a BindRequest "foreign" of pod "foreign" to "n1" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "foreign" fails with a reason
    And pod "foreign" stays unbound
    When a BindRequest "again" of pod "again" to "n1" giving claim "claim" the devices "dev-1" is created
    Then BindRequest "again" fails with a reason
    And pod "again" stays unbound
    When a BindRequest "own" of pod "own" to "n1" giving claim "claim" the devices "dev-1" is created
    Then pod "own" is bound to "n1"

  @KAI-492 @needs:virtual-clock
  Scenario: A BindRequest fails if the volumes are not bound in time
    Given a PersistentVolumeClaim "data" of StorageClass "made"
    And a pod "train" using claim "claim" and PersistentVolumeClaims "data"
    When a BindRequest "train" of pod "train" to "n1" giving claim "claim" the devices "dev-1" is created
    Then the node "n1" is selected for PersistentVolumeClaim "data"
    When 80 percent of the binder's time limit for volumes pass
    # The binder looks at the volumes again, and the time goes on.
    And "metadata.labels" of the PersistentVolumeClaim "data" is set to {seen: once}
    Then pod "train" stays unbound
    When 30 percent of the binder's time limit for volumes pass
    Then BindRequest "train" fails with a reason
    And pod "train" stays unbound
    And claim "claim" stays unallocated

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
