@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet prepares the claims of PodGroups
  Since Kubernetes 1.37 the pods of a PodGroup of scheduling.k8s.io can share a claim that is reserved for their group. A
  pod names its group in spec.schedulingGroup, without its uid.

  @DRA-274c @gate:DRAWorkloadResourceClaims
  Scenario: The pods of a PodGroup use the claim that is reserved for their group, and their own
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "c" allocated to the scripted driver "sim" on "n1"
    And a workload PodGroup "train" using claim "a" as "a"
    And a workload PodGroup "other" using claim "b" as "b"
    And claim "a" is reserved by hand for workload PodGroup "train"
    And claim "b" is reserved by hand for workload PodGroup "other"
    And a pod "first" of workload PodGroup "train" for a kubelet with the claims "a"
    And a pod "second" of workload PodGroup "train" for a kubelet with the claims "c, a"
    And a pod "beside" of workload PodGroup "other" for a kubelet with the claims "b"
    And claim "c" is reserved by hand for pods "second"
    When pod "first" is bound by hand to "n1"
    Then pod "first" reaches phase Running
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running
    And the scripted driver "sim" has received in this order: Prepare a, Prepare c, Prepare b
    And of the variables "DEVICE_*", container "main" of pod "first" on "n1" has only "DEVICE_A_GPU"
    And of the variables "DEVICE_*", container "main" of pod "second" on "n1" has only "DEVICE_A_GPU, DEVICE_C_GPU"
    # The group has other pods, and the claim stays reserved for the group after the last one.
    When pod "first" is deleted
    Then the Pod "first" is gone
    And the scripted driver "sim" has received 0 Unprepare calls
    When pod "second" is deleted
    Then the Pod "second" is gone
    And the scripted driver "sim" receives one Unprepare call for "a, c"
    And the scripted driver "sim" has received 1 Unprepare calls

  @DRA-274c @gate:DRAWorkloadResourceClaims @needs:virtual-clock
  Scenario Outline: A claim that is reserved for <consumer> may not be used
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a workload PodGroup "train" using claim "a, b" as "a, b"
    And a workload PodGroup "other" using claim "b" as "b"
    And claim "a" is reserved by hand for workload PodGroup "train"
    And claim "b" is reserved by hand for workload PodGroup "other"
    And a pod "worker" of workload PodGroup "train" for a kubelet with the claims "a, b"
    And claim "b" is also reserved for <entry>
    When pod "worker" is bound by hand to "n1"
    Then an event of pod "worker" says "is not allowed to use"
    And the scripted driver "sim" has received 0 Prepare calls
    When claim "b" is reserved by hand for workload PodGroup "train"
    And 30 seconds pass
    Then pod "worker" reaches phase Running
    And the scripted driver "sim" receives one Prepare call for "a, b"

    Examples:
      | consumer                               | entry                                                                                                           |
      | another PodGroup of the pod's name     | {apiGroup: scheduling.k8s.io, resource: podgroups, name: worker, uid: 11111111-1111-1111-1111-111111111111}     |
      | a PodGroup of another API of this name | {apiGroup: scheduling.example.com, resource: podgroups, name: train, uid: 11111111-1111-1111-1111-111111111111} |
      | another object of the API of this name | {apiGroup: scheduling.k8s.io, resource: examples, name: train, uid: 11111111-1111-1111-1111-111111111111}       |
      | a pod with the name of the group       | {resource: pods, name: train, uid: 11111111-1111-1111-1111-111111111111}                                        |

  @DRA-274c @gate:DRAWorkloadResourceClaims
  Scenario: A pod without a PodGroup may not use the claim of a PodGroup with its name
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a workload PodGroup "train" using claim "a" as "a"
    And claim "a" is reserved by hand for workload PodGroup "train"
    And a pod "train" using claim "a"
    And a pod "member" of workload PodGroup "train" for a kubelet with the claims "a"
    When pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "is not allowed to use"
    And the scripted driver "sim" has received 0 Prepare calls
    When pod "member" is bound by hand to "n1"
    Then pod "member" reaches phase Running
    And pod "train" does not run

  @DRA-274d @gate:DRAWorkloadResourceClaims @needs:virtual-clock
  Scenario: The pods of a PodGroup use a claim from a template that their group owns
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a workload PodGroup "train" that owns the claims "a, b" from templates
    And claim "a" is reserved by hand for workload PodGroup "train"
    And claim "b" is reserved by hand for workload PodGroup "train"
    And a pod "first" of workload PodGroup "train" for a kubelet with the claims "a, b" from templates
    And a pod "second" of workload PodGroup "train" for a kubelet with the claims "b" from templates
    When pod "first" is bound by hand to "n1"
    Then an event of pod "first" says "not created yet"
    And the scripted driver "sim" has received 0 Prepare calls
    When the status of pod "first" lists its claims
    And the status of pod "second" lists its claims
    And 30 seconds pass
    Then pod "first" reaches phase Running
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    And the scripted driver "sim" has received in this order: Prepare a b
    And of the variables "DEVICE_*", container "main" of pod "first" on "n1" has only "DEVICE_A_GPU, DEVICE_B_GPU"
    And of the variables "DEVICE_*", container "main" of pod "second" on "n1" has only "DEVICE_B_GPU"

  @DRA-274d @gate:DRAWorkloadResourceClaims
  Scenario Outline: A claim from a template that the PodGroup of the pod does not own may not be used: <owner>
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a workload PodGroup "train" that owns the claims "a, b" from templates
    And a workload PodGroup "other" using claim "b" as "b"
    And claim "a" is reserved by hand for workload PodGroup "train"
    And claim "b" is reserved by hand for workload PodGroup "train"
    And "metadata.ownerReferences" of the ResourceClaim "b" is set to <references>
    And a pod "worker" of workload PodGroup "train" for a kubelet with the claims "a, b" from templates
    And a pod "beside" of workload PodGroup "train" for a kubelet with the claims "a" from templates
    When the status of pod "worker" lists its claims
    And the status of pod "beside" lists its claims
    And pod "worker" is bound by hand to "n1"
    Then an event of pod "worker" says "was not created for"
    And the scripted driver "sim" has received 0 Prepare calls
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running
    And the scripted driver "sim" has received in this order: Prepare a

    Examples:
      | owner             | references                                                                                                                               |
      | another PodGroup  | [{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, name: other, uid: $(uid:other), controller: true}]                              |
      | not as controller | [{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, name: train, uid: $(uid:train)}]                                                |
      # Garbage collection does not delete the claim of an owner whose kind it does not know.
      | another API       | [{apiVersion: scheduling.example.com/v1beta1, kind: PodGroup, name: train, uid: 11111111-1111-1111-1111-111111111111, controller: true}] |
      | another kind      | [{apiVersion: scheduling.k8s.io/v1beta1, kind: Example, name: train, uid: 11111111-1111-1111-1111-111111111111, controller: true}]       |

  @DRA-274e @gate:DRAWorkloadResourceClaims
  Scenario: A kubelet without the feature refuses the claims of a PodGroup, and prepares those of its pods
    Given the kubelet of "n1" has the gate DRAWorkloadResourceClaims off
    And node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "c" allocated to the scripted driver "sim" on "n1"
    And a workload PodGroup "train" using claim "a" as "a"
    And a workload PodGroup "owner" that owns the claims "b" from templates
    And claim "a" is reserved by hand for workload PodGroup "train"
    And a pod "reserved" of workload PodGroup "train" for a kubelet with the claims "a"
    And a pod "owned" of workload PodGroup "owner" for a kubelet with the claims "b" from templates
    And claim "b" is reserved by hand for pods "owned"
    And a pod "own" of workload PodGroup "train" for a kubelet with the claims "c"
    And claim "c" is reserved by hand for pods "own"
    When the status of pod "owned" lists its claims
    And pod "reserved" is bound by hand to "n1"
    And pod "owned" is bound by hand to "n1"
    And pod "own" is bound by hand to "n1"
    Then an event of pod "reserved" says "is not allowed to use"
    And an event of pod "owned" says "was not created for"
    And pod "own" reaches phase Running
    And the scripted driver "sim" has received in this order: Prepare c
