@profile:imex @component:claim-controller @component:scheduler @component:compute-domain-controller
@needs:compute-domain @component:compute-domain-plugin @needs:fake-nvml @component:kubelet @needs:run-kubelet @needs:own-kubelet
Feature: Gangs of workers in a ComputeDomain
  A scheduler places the workers of a PodGroup together or not at all, before any of their nodes has joined. Neither
  Kubernetes nor KAI promises more: afterwards each worker starts when its own node has joined, placed workers stay, and if
  the binding of a worker fails, only this worker is placed again.

  @NV-461b @NV-473b @component:scheduler @needs:direct-binding @needs:faults @since:1.37 @gate:DRAWorkloadResourceClaims
  Scenario Outline: <count> workers of a PodGroup of Kubernetes are placed together and start with their nodes
    Given the scheduler binds pods itself
    And the DeviceClass of IMEX channels
    And <fewer> nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for <count> nodes
    And a workload PodGroup "gang" of at least <count> pods
    When pods "worker" 1 to <count> of workload PodGroup "gang" using template "job-channel" as "channel" are created
    Then pods "worker" 1 to <count> stay unbound, and their claims unallocated [NV-461b]
    And the ComputeDomain labels of nodes 1 to <fewer> stay "none" [NV-461b]
    # The binding of one worker fails after those of others have succeeded.
    Given the API server answers 403 to the next 2 bindings of the Pod "worker-2"
    And node "node-<count>" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    When every fault has affected a request
    Then pods "worker" 1 to <count> are bound to a node each, with a device of its own [NV-461b]
    And the ComputeDomain labels of nodes 1 to <count> become "job" [NV-473b]
    # The last node cannot join.
    When nodes 1 to <fewer> have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the workers of ComputeDomain "job" on nodes 1 to <fewer> reach phase Running [NV-473b]
    And the workers of ComputeDomain "job" on nodes <count> to <count> keep phase Pending [NV-473b]
    When nodes 1 to 2 have NotReady daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    And nodes <count> to <count> have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the workers of ComputeDomain "job" on nodes <count> to <count> reach phase Running [NV-473b]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-461b]
    And the workers of ComputeDomain "job" on nodes 1 to <fewer> keep phase Running [NV-473b]
    And pods "worker" 1 to <count> are bound to a node each, with a device of its own [NV-461b]
    When nodes 1 to 2 have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the ComputeDomain "job" has "status.status" Ready [NV-461b]

    Examples:
      | count | fewer |
      | 4     | 3     |
      | 18    | 17    |

  @NV-461 @NV-362 @NV-449 @component:binder @needs:kai @needs:pod-groups @needs:faults
  Scenario Outline: <count> workers of a PodGroup of KAI are placed together and start with their nodes
    Given the DeviceClass of IMEX channels
    And <fewer> nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for <count> nodes
    And a PodGroup "gang" that needs <count> pods
    And pods "worker" 1 to <count> of PodGroup "gang" using template "job-channel"
    Then no pod of PodGroup "gang" gets a BindRequest [NV-461]
    And the ComputeDomain labels of nodes 1 to <fewer> stay "none" [NV-461]
    # The BindRequest of one worker fails after those of others have succeeded.
    Given the API server answers 403 to the next 2 bindings of the Pod "worker-2"
    And node "node-<count>" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    When every fault has affected a request
    Then pods "worker" 1 to <count> are bound to a node each, with a device of its own [NV-461]
    And no BindRequest of PodGroup "gang" was deleted, but those of pod "worker-2" [NV-461]
    And the ComputeDomain labels of nodes 1 to <count> become "job" [NV-362]
    # The last node cannot join.
    When nodes 1 to <fewer> have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the workers of ComputeDomain "job" on nodes 1 to <fewer> reach phase Running [NV-362]
    And the workers of ComputeDomain "job" on nodes <count> to <count> keep phase Pending [NV-362]
    When nodes 1 to 2 have NotReady daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    And nodes <count> to <count> have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the workers of ComputeDomain "job" on nodes <count> to <count> reach phase Running [NV-362]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-461]
    And the workers of ComputeDomain "job" on nodes 1 to <fewer> keep phase Running [NV-449]
    And no BindRequest of PodGroup "gang" was deleted, but those of pod "worker-2" [NV-461]
    When nodes 1 to 2 have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the ComputeDomain "job" has "status.status" Ready [NV-461]

    Examples:
      | count | fewer |
      | 4     | 3     |
      | 18    | 17    |

  @NV-473b @needs:direct-binding @since:1.37 @gate:DRAWorkloadResourceClaims
  Scenario Outline: Nothing is left of <count> workers of a PodGroup of Kubernetes, one of which never started
    Given the scheduler binds pods itself
    And the DeviceClass of IMEX channels
    And <count> nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for <count> nodes
    And a workload PodGroup "gang" of at least <count> pods
    When pods "worker" 1 to <count> of workload PodGroup "gang" using template "job-channel" as "channel" are created
    Then pods "worker" 1 to <count> are bound to a node each, with a device of its own
    And the ComputeDomain labels of nodes 1 to <count> become "job"
    When nodes 1 to <fewer> have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the workers of ComputeDomain "job" on nodes 1 to <fewer> reach phase Running
    And the workers of ComputeDomain "job" on nodes <count> to <count> keep phase Pending
    When workload PodGroup "gang" is deleted
    And pods "worker" 1 to <count> are deleted
    And 46 seconds pass while claims wait
    Then nothing is left of pods "worker" 1 to <count> [NV-473b]
    And workload PodGroup "gang" is gone [NV-473b]
    And the ComputeDomain labels of nodes 1 to <count> become "none" [NV-473b]

    Examples:
      | count | fewer |
      | 4     | 3     |
      | 18    | 17    |

  @NV-473 @component:binder @needs:kai @needs:pod-groups
  Scenario Outline: Nothing is left of <count> workers of a PodGroup of KAI, one of which never started
    Given the DeviceClass of IMEX channels
    And <count> nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for <count> nodes
    And a PodGroup "gang" that needs <count> pods
    And pods "worker" 1 to <count> of PodGroup "gang" using template "job-channel"
    Then pods "worker" 1 to <count> are bound to a node each, with a device of its own
    And the ComputeDomain labels of nodes 1 to <count> become "job"
    When nodes 1 to <fewer> have Ready daemons of the clique "3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2" in ComputeDomain "job"
    Then the workers of ComputeDomain "job" on nodes 1 to <fewer> reach phase Running
    And the workers of ComputeDomain "job" on nodes <count> to <count> keep phase Pending
    When PodGroup "gang" is deleted
    And pods "worker" 1 to <count> are deleted
    And 46 seconds pass while claims wait
    Then nothing is left of pods "worker" 1 to <count> [NV-473]
    And the ComputeDomain labels of nodes 1 to <count> become "none" [NV-473]

    Examples:
      | count | fewer |
      | 4     | 3     |
      | 18    | 17    |
