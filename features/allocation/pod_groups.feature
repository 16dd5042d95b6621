@profile:scheduler-core @component:scheduler @component:claim-controller @needs:direct-binding @since:1.37
Feature: Claims that the pods of a PodGroup share
  A claim of a PodGroup of scheduling.k8s.io is reserved once, for the group, whatever the number of its pods.

  @DRA-552 @gate:DRAWorkloadResourceClaims
  Scenario: The claim of a PodGroup is reserved once for all pods of the group
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev-0}, {name: dev-1}, {name: dev-2}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "single" for 1 of "accelerator"
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a workload PodGroup "train" using template "single" as "gpu"
    And a workload PodGroup "named" using claim "mine" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    When a pod "a" of workload PodGroup "train" using template "single" as "gpu" is created
    And a pod "b" of workload PodGroup "train" using template "single" as "gpu" is created
    And a pod "c" of workload PodGroup "named" using claim "mine" as "gpu" is created
    And a pod "d" of workload PodGroup "named" using claim "mine" as "gpu" is created
    Then pod "a" is bound to "n1"
    And pod "b" is bound to "n1"
    And pod "c" is bound to "n1"
    And pod "d" is bound to "n1"
    And claim "shared" stays reserved for exactly workload PodGroup "train"
    And claim "mine" stays reserved for exactly workload PodGroup "named"

  @DRA-552 @gate:DRAWorkloadResourceClaims
  Scenario: A claim is reserved for the PodGroup of its own namespace
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a workload PodGroup "train" using claim "mine" as "gpu"
    And a workload PodGroup "train" using claim "mine" as "gpu" in another namespace
    When a pod "a" of workload PodGroup "train" using claim "mine" as "gpu" is created
    Then pod "a" is bound to "n1"
    And claim "mine" stays reserved for exactly workload PodGroup "train"

  @DRA-552b @gate:DRAWorkloadResourceClaims
  Scenario: A claim that only the pod has is reserved for the pod
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev-0}, {name: dev-1}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "own" for 1 of "accelerator"
    And a workload PodGroup "train" using claim "mine" as "gpu"
    When a pod "a" of workload PodGroup "train" using claim "mine, own" as "gpu, other" is created
    And a pod "b" of workload PodGroup "train" using claim "own" as "gpu" is created
    Then pod "a" is bound to "n1"
    And pod "b" is bound to "n1"
    And claim "own" stays reserved for exactly the pods "a, b"
    And claim "mine" stays reserved for exactly workload PodGroup "train"

  @DRA-309 @gate:DRAWorkloadResourceClaims
  Scenario: More than 256 pods of a PodGroup share a claim
    Given the scheduler binds pods itself
    And node "n1"
    And "status.allocatable" of the Node "n1" is set to {cpu: "64", memory: 256Gi, pods: "400"}
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev-0}, {name: dev-1}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "single" for 1 of "accelerator"
    And a workload PodGroup "train" using template "single" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    When pods "worker" 1 to 260 of workload PodGroup "train" using template "single" as "gpu" are created
    Then pods "worker" 1 to 260 are bound to "n1"
    And claim "shared" stays reserved for exactly workload PodGroup "train"

  @DRA-552c @gate:DRAWorkloadResourceClaims
  Scenario: The pods of a gang get their claims together or not at all
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a workload PodGroup "train" of at least 2 pods using claim "mine" as "shared"
    When a pod "a" of workload PodGroup "train" using claim "mine, one" as "shared, own" is created
    And a pod "b" of workload PodGroup "train" using claim "mine, two" as "shared, own" is created
    Then pod "a" stays unbound
    And pod "b" stays unbound
    And claim "mine" stays unallocated
    And claim "one" stays unallocated
    And claim "two" stays unallocated
    When a ResourceSlice "more" is published with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev-2}]
      """
    Then pod "a" is bound to "n1"
    And pod "b" is bound to "n1"
    And claim "mine" stays reserved for exactly workload PodGroup "train"

  @DRA-558 @DRA-561b @gate:DRAWorkloadResourceClaims
  Scenario: Pods of a PodGroup are not placed where their claim is not available
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "a" of workload PodGroup "train" for node "n1" using claim "mine" as "gpu"
    And a pod "b" of workload PodGroup "train" for node "n2" using claim "mine" as "gpu"
    When a workload PodGroup "train" using claim "mine" as "gpu" is created
    Then one of the pods "a, b" is bound, and the others are unschedulable [DRA-558, DRA-561b]
    And claim "mine" stays reserved for exactly workload PodGroup "train" [DRA-561b]

  @DRA-559 @needs:faults @gate:DRAWorkloadResourceClaims
  Scenario: A PodGroup one of whose pods cannot be bound keeps its claim, and the pod is tried again
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "lone" for 1 of "accelerator"
    And a workload PodGroup "train" using claim "mine" as "gpu"
    And a workload PodGroup "other" using claim "lone" as "gpu"
    And the API server answers 403 to the next 2 bindings of the Pod "a"
    And the API server answers 403 to the next 1000 bindings of the Pod "c"
    When a pod "a" of workload PodGroup "train" using claim "mine" as "gpu" is created
    And a pod "b" of workload PodGroup "train" using claim "mine" as "gpu" is created
    And a pod "c" of workload PodGroup "other" using claim "lone" as "gpu" is created
    And a pod "d" of workload PodGroup "other" using claim "lone" as "gpu" is created
    Then pod "b" is bound to "n1"
    And pod "a" is bound to "n1"
    And pod "d" is bound to "n1"
    And claim "mine" stays reserved for exactly workload PodGroup "train"
    And claim "lone" has kept its reservation for workload PodGroup "other"

  @DRA-560 @gate:DRAWorkloadResourceClaims
  Scenario Outline: A claim of a PodGroup that no node can use is allocated anew, <group>
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "free" for 1 of "accelerator"
    And claim "mine" holds the devices "dev-9" of "gone"
    And claim "free" holds the devices "dev-8" of "gone"
    And a workload PodGroup <group> using claim "mine, free" as "gpu, more"
    And claim "mine" is reserved by hand for workload PodGroup "train"
    When a pod "a" of workload PodGroup "train" using claim "mine, free" as "gpu, more" is created
    And a pod "b" of workload PodGroup "train" using claim "mine, free" as "gpu, more" is created
    Then pod "a" is bound to "n1"
    And pod "b" is bound to "n1"
    And claim "mine" stays reserved for exactly workload PodGroup "train"
    And claim "free" stays reserved for exactly workload PodGroup "train"

    Examples:
      | group                      |
      | "train"                    |
      | "train" of at least 2 pods |

  @DRA-561 @gate:DRAWorkloadResourceClaims
  Scenario: A claim of a PodGroup that another consumer has is not deallocated
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "mine" holds the devices "dev-9" of "gone"
    And a workload PodGroup "train" using claim "mine" as "gpu"
    And claim "mine" is reserved by hand for workload PodGroup "train"
    And claim "mine" is also reserved for a list of 1 {apiGroup: batch.example.com, resource: workers, name: worker, uid: another}
    When a pod "a" of workload PodGroup "train" using claim "mine" as "gpu" is created
    Then the Pod "a" has condition PodScheduled False with reason "Unschedulable"
    And the ResourceClaim "mine" keeps "status.allocation.devices.results[*].device" [dev-9]
    And the ResourceClaim "mine" keeps "status.reservedFor[name=worker][*].uid" [another]

  @DRA-552d @gate:DRAWorkloadResourceClaims
  Scenario Outline: <count> workers with an IMEX channel each get a node each, or nothing
    Given the scheduler binds pods itself
    And a DeviceClass "channel" selecting 'device.driver == "compute-domain.nvidia.com" && device.attributes["compute-domain.nvidia.com"].type == "channel"'
    And a ResourceClaimTemplate "one" for 1 of "channel"
    And nodes 1 to <nodes> with an IMEX channel each
    And a workload PodGroup "job" of at least <count> pods
    When pods "worker" 1 to <count> of workload PodGroup "job" using template "one" as "channel" are created
    Then pods "worker" 1 to <count> stay unbound, and their claims unallocated
    Given nodes <count> to <count> with an IMEX channel each
    Then pods "worker" 1 to <count> are bound to a node each, with a device of its own

    Examples:
      | count | nodes |
      | 4     | 3     |
      | 18    | 17    |

  @DRA-552e @gate:DRAWorkloadResourceClaims
  Scenario: A worker takes the place of another one of its gang, whose other pods stay where they are
    Given the scheduler binds pods itself
    And a DeviceClass "channel" selecting 'device.driver == "compute-domain.nvidia.com" && device.attributes["compute-domain.nvidia.com"].type == "channel"'
    And a ResourceClaimTemplate "one" for 1 of "channel"
    And nodes 1 to 3 with an IMEX channel each
    And a workload PodGroup "job" of at least 3 pods
    When pods "worker" 1 to 3 of workload PodGroup "job" using template "one" as "channel" are created
    Then pods "worker" 1 to 3 are bound to a node each, with a device of its own
    # No device is free. The gang has its minimum, so only this pod waits.
    When a pod "worker-4" of workload PodGroup "job" using template "one" as "channel" is created
    Then pod "worker-4" stays unbound
    And pods "worker" 1 to 3 are bound to a node each, with a device of its own
    When pod "worker-1" is deleted
    Then pod "worker-4" is bound
    And pods "worker-2" and "worker-3" are bound to different nodes
    And pods "worker-3" and "worker-4" are bound to different nodes
    And pods "worker-2" and "worker-4" are bound to different nodes

  @DRA-552e @needs:faults @gate:DRAWorkloadResourceClaims
  Scenario: A worker whose binding fails is bound by a later attempt, beside the others of its gang
    Given the scheduler binds pods itself
    And a DeviceClass "channel" selecting 'device.driver == "compute-domain.nvidia.com" && device.attributes["compute-domain.nvidia.com"].type == "channel"'
    And a ResourceClaimTemplate "one" for 1 of "channel"
    And nodes 1 to 3 with an IMEX channel each
    And a workload PodGroup "job" of at least 3 pods
    And the API server answers 403 to the next 2 bindings of the Pod "worker-2"
    When pods "worker" 1 to 3 of workload PodGroup "job" using template "one" as "channel" are created
    And every fault has affected a request
    Then pods "worker" 1 to 3 are bound to a node each, with a device of its own
