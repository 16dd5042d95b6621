@profile:imex @component:claim-controller @component:scheduler @component:binder @component:compute-domain-controller
@needs:compute-domain @component:compute-domain-plugin @needs:fake-nvml @component:kubelet @needs:run-kubelet
Feature: From a ComputeDomain to a channel in a container
  A job names the channel template of its ComputeDomain; controller, scheduler, binder, kubelet and driver work
  together.

  @NV-147 @NV-150 @NV-163 @NV-166
  Scenario: A pod of a ComputeDomain runs with its IMEX channel
    Given the DeviceClass of IMEX channels
    And node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    When a pod "rank-0" using template "job-channel" is created
    Then pod "rank-0" is bound to "n1" [NV-147]
    And of the device nodes "*imex*", container "main" of pod "rank-0" on "n1" has only "*/channel0" [NV-163]
    And container "main" of pod "rank-0" on "n1" has: [NV-163]
      | kind        | name                                    | value |
      | device node | /dev/nvidia-caps-imex-channels/channel0 | set   |
    And the ComputeDomain "job" has "status.status" Ready [NV-150]
    When pod "rank-0" is deleted
    Then the ComputeDomain label of node "n1" becomes "none" [NV-166]

  @NV-446
  Scenario: The pods of two ComputeDomains run on nodes of their own
    Given the DeviceClass of IMEX channels
    And node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And node "n2" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    When a pod "rank-0" using template "job-channel" is created
    Then pod "rank-0" is bound
    When a pod "other-0" using template "other-channel" is created
    Then pods "rank-0" and "other-0" are bound to different nodes
    When a pod "rank-1" using template "job-channel" is created
    Then pod "rank-1" stays unbound
    When pod "other-0" is deleted
    Then pods "rank-0" and "rank-1" are bound to different nodes
    And the ComputeDomain "job" has "status.status" Ready

  # The step writes the status of the daemons' pods, which a real kubelet writes too.
  @NV-362 @NV-449 @NV-350 @needs:own-kubelet
  Scenario: The workers of a job run although one of its nodes joins late and another one fails
    Given the DeviceClass of IMEX channels
    And 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 3 nodes
    When a worker of ComputeDomain "job" is created for each of 3 nodes
    Then the ComputeDomain label of node "node-3" becomes "job" [NV-362]
    # The daemon of the third node does not get ready.
    When the ComputeDomain "job" has the daemons:
      | node   | pod      | clique                                 | status   |
      | node-1 | Ready    | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready    |
      | node-2 | Ready    | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready    |
      | node-3 | NotReady | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
    Then pod "worker-1" reaches phase Running [NV-362]
    And pod "worker-2" reaches phase Running [NV-362]
    And the Pod "worker-3" keeps "status.phase" Pending [NV-362]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-350]
    When the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-3 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    Then pod "worker-3" reaches phase Running [NV-362]
    And of the device nodes "*imex*", container "main" of pod "worker-3" on "node-3" has only "*/channel0" [NV-362]
    And the ComputeDomain "job" has "status.status" Ready [NV-350]
    When the ComputeDomain "job" has the daemons:
      | node   | pod      | clique                                 | status   |
      | node-2 | NotReady | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
    Then the ComputeDomain "job" has "status.status" NotReady [NV-350]
    And the Pod "worker-2" keeps "status.phase" Running [NV-449]
    And the ComputeDomain label of node "node-2" stays "job" [NV-449]
    And the ComputeDomain label of node "node-1" stays "job" [NV-449]

  @NV-460 @NV-350
  Scenario: A ComputeDomain loses a node with its daemon and its worker, and another node takes its place
    Given the DeviceClass of IMEX channels
    And 4 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 3 nodes
    When a worker of ComputeDomain "job" is created for each of 3 nodes
    Then pod "worker-1" reaches phase Running [NV-460]
    And pod "worker-2" reaches phase Running [NV-460]
    And pod "worker-3" reaches phase Running [NV-460]
    And the ComputeDomain "job" has "status.status" Ready [NV-350]
    Given the entries of nodes "node-1, node-2, node-3" in the cliques of ComputeDomain "job" are remembered
    When node "node-2" is lost with its pods
    Then the cliques of ComputeDomain "job" come to have the nodes "node-1, node-3" [NV-460]
    And the ComputeDomain "job" has "status.nodes" without {name: $(node:node-2)} [NV-350]
    And the ComputeDomain "job" has "status.status" NotReady [NV-350]
    And the entries of nodes "node-1, node-3" in the cliques of ComputeDomain "job" are the remembered ones [NV-460]
    And the ComputeDomain label of node "node-1" stays "job" [NV-460]
    And the ComputeDomain label of node "node-3" stays "job" [NV-460]
    And the Pod "worker-1" keeps "status.phase" Running [NV-460]
    And the Pod "worker-3" keeps "status.phase" Running [NV-460]
    When a worker of ComputeDomain "job" is created for node "node-4"
    Then pod "worker-4" reaches phase Running [NV-460]
    And the cliques of ComputeDomain "job" come to have the nodes "node-1, node-3, node-4" [NV-460]
    And the entries of nodes "node-1, node-3" in the cliques of ComputeDomain "job" are the remembered ones [NV-460]
    And node "node-4" has the index of "node-2" in the cliques of ComputeDomain "job" [NV-460]
    And the ComputeDomain "job" has "status.status" Ready [NV-350]

  @NV-461 @NV-362 @NV-449 @needs:kai @needs:pod-groups
  Scenario: A gang whose nodes join one after the other runs, also when its ComputeDomain turns NotReady between
    Given the DeviceClass of IMEX channels
    And 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 3 nodes
    And a PodGroup "gang" that needs 3 pods
    And pods "worker" 1 to 2 of PodGroup "gang" using template "job-channel"
    Then no pod of PodGroup "gang" gets a BindRequest [NV-461]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-461]
    When a pod "worker-3" of PodGroup "gang" using template "job-channel" is created
    Then 3 pods of PodGroup "gang" get BindRequests, with a device each [NV-461]
    And the ComputeDomain label of node "node-1" becomes "job" [NV-461]
    And the ComputeDomain label of node "node-2" becomes "job" [NV-461]
    And the ComputeDomain label of node "node-3" becomes "job" [NV-461]
    When the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-1 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
      | node-2 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    Then the worker of ComputeDomain "job" on each of "node-1, node-2" reaches phase Running [NV-362]
    And the worker of ComputeDomain "job" on each of "node-3" keeps phase Pending [NV-362]
    # The domain has two of three nodes, and loses one of them before the third one joins.
    When the ComputeDomain "job" has the daemons:
      | node   | pod      | clique                                 | status   |
      | node-1 | NotReady | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | NotReady |
      | node-3 | Ready    | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready    |
    Then the worker of ComputeDomain "job" on each of "node-3" reaches phase Running [NV-362]
    And the worker of ComputeDomain "job" on each of "node-1, node-2" keeps phase Running [NV-449]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-461]
    And no BindRequest of PodGroup "gang" was deleted [NV-461]
    When the ComputeDomain "job" has the daemons:
      | node   | pod   | clique                                 | status |
      | node-1 | Ready | 3a1b6f52-6e0f-4c55-9c1d-7d9a0c0b7201.2 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-461]
    And the worker of ComputeDomain "job" on each of "node-1, node-2, node-3" keeps phase Running [NV-449]

  @NV-466
  Scenario: The event of a pod says why its channel claim is not prepared
    Given the DeviceClass of IMEX channels
    And 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "foreign" in another namespace
    And a ComputeDomain "job" for 1 nodes
    And a ResourceClaimTemplate "former" for a channel with {domainID: job}
    When the ComputeDomain "job" is deleted
    Then the ComputeDomain "job" is gone
    # Its name is used again, its uid is not.
    Given a ComputeDomain "job" for 1 nodes
    And a ResourceClaimTemplate "stranger" for a channel with {domainID: foreign}
    And a ResourceClaimTemplate "mistyped" for a channel with {domainID: job, allocationMod: All}
    When a pod "late" using template "former" is created
    And a pod "spy" using template "stranger" is created
    And a pod "typo" using template "mistyped" is created
    Then an event of pod "late" says the domainID of its claim
    And an event of pod "spy" names ComputeDomain "foreign", or says that its namespace is another
    And an event of pod "typo" says "allocationMod"
    And pod "late" does not run
    And pod "spy" does not run
    And pod "typo" does not run
    And the ComputeDomain label of node "node-1" stays "none"
    And the ComputeDomain label of node "node-2" stays "none"
    And the ComputeDomain label of node "node-3" stays "none"
    When pod "late" is deleted
    And pod "spy" is deleted
    And pod "typo" is deleted
    Then the Pod "late" is gone
    And the Pod "spy" is gone
    And the Pod "typo" is gone
