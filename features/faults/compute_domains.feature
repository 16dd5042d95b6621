@component:compute-domain-controller @needs:compute-domain @needs:faults
Feature: A ComputeDomain controller whose requests fail
  A ComputeDomain has a finalizer, two claim templates, a DaemonSet and a label on each of its nodes, written one after
  the other. Whichever request fails, all of them are created, and all are removed with the domain.

  @NV-195
  Scenario Outline: The objects of a ComputeDomain are created when the API server <does> <what>
    Given the API server <does> the next 1 <what>
    When a ComputeDomain "job" is created with {numNodes: 1, channel: {allocationMode: Single}}
    And every fault has affected a request
    Then the ComputeDomain "job" has "metadata.finalizers" containing resource.nvidia.com/computeDomain
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has "status.status" NotReady

    @profile:faults
    Examples:
      | does                 | what                               |
      | answers 409 to       | updates of ComputeDomain           |
      | loses its answers to | creations of ResourceClaimTemplate |
      | answers 500 to       | creations of DaemonSet             |
      | answers 503 to       | status updates of ComputeDomain    |

    @profile:fault-sweep
    Examples:
      | does                         | what                               |
      | loses its answers to         | updates of ComputeDomain           |
      | answers 500 to               | creations of ResourceClaimTemplate |
      | loses its answers to         | creations of DaemonSet             |
      | answers 409 to               | status updates of ComputeDomain    |
      | loses its answers to         | status updates of ComputeDomain    |
      | breaks the connection before | creations of DaemonSet             |

  @NV-196
  Scenario Outline: The objects of a deleted ComputeDomain are deleted when the API server <does> <what>
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has "status.status" NotReady
    Given the API server <does> the next 1 <what>
    When the ComputeDomain "job" is deleted
    And every fault has affected a request
    Then nothing is left of the ComputeDomain "job"

    @profile:faults
    Examples:
      | does                 | what                               |
      | answers 500 to       | deletions of ResourceClaimTemplate |
      | loses its answers to | deletions of DaemonSet             |
      | answers 503 to       | updates of ComputeDomain           |

    @profile:fault-sweep
    Examples:
      | does                         | what                               |
      | loses its answers to         | deletions of ResourceClaimTemplate |
      | answers 409 to               | deletions of DaemonSet             |
      | answers 409 to               | updates of ComputeDomain           |
      | loses its answers to         | updates of ComputeDomain           |
      | breaks the connection before | updates of ResourceClaimTemplate   |

  # Client libraries do not retry an event that the API server refuses, so this scenario does not require the event.
  @NV-330b @profile:faults
  Scenario: ComputeDomains are served although a template name is taken and the API server refuses the event about it
    Given the API server answers 500 to the next 1 creations of Event, if there are any
    And a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And a ComputeDomain "job" for 1 nodes
    When every fault has affected a request
    And a ComputeDomain "other" is created with {numNodes: 1, channel: {allocationMode: Single}}
    Then the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    When the ResourceClaimTemplate "job-channel" is deleted
    And "metadata.annotations" of the ComputeDomain "job" is set to {example.com/note: corrected}
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single

  @NV-340c @needs:compute-domain-flags
  Scenario Outline: A replica is the leader although the API server <does> <what>
    Given the API server <does> the next 1 <what>
    When the compute-domain-controller is started with leader election
    Then a replica of the compute-domain-controller that has not been the leader comes to be it
    When a second replica of the compute-domain-controller is started
    And every fault has affected a request
    And the renew-deadline of the replicas has passed
    And a ComputeDomain "job" is created with {numNodes: 1, channel: {allocationMode: Single}}
    Then the leader of the compute-domain-controller stays the same
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single

    @profile:faults
    Examples:
      | does                 | what               |
      | answers 500 to       | creations of Lease |
      | answers 503 to       | updates of Lease   |
      | loses its answers to | updates of Lease   |

    @profile:fault-sweep
    Examples:
      | does                         | what               |
      | loses its answers to         | creations of Lease |
      | answers 409 to               | updates of Lease   |
      | breaks the connection before | updates of Lease   |

  @NV-341 @needs:compute-domain-flags @profile:faults
  Scenario: A leader whose requests for its lease get no response writes nothing
    Given two replicas of the compute-domain-controller, of which the first is the leader
    When the API server leaves all requests for Lease without a response
    And the retry-period of the replicas has passed
    And the renew-deadline of the replicas has passed
    And a ComputeDomain "late" is created with {numNodes: 1, channel: {allocationMode: Single}}
    Then the ComputeDomain "late" keeps "metadata.finalizers" null
    When the API server responds to all requests again
    And the lease of the replicas has passed
    Then the ComputeDomain "late" has a claim template for its workloads with allocationMode Single

  @NV-195 @needs:own-control-plane @disruptive
  Scenario Outline: The objects of a ComputeDomain are created when the API server is killed during <what>
    Given the API server crashes after it has stored the next <what>
    When a ComputeDomain "job" is created with {numNodes: 1, channel: {allocationMode: Single}}
    And the crashed API server is started again
    Then the ComputeDomain "job" has "metadata.finalizers" containing resource.nvidia.com/computeDomain
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons

    @profile:fault-sweep
    Examples:
      | what                               |
      | updates of ComputeDomain           |
      | creations of ResourceClaimTemplate |

  @NV-433 @needs:own-control-plane @disruptive @component:compute-domain-daemon @needs:imex-daemons
  @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet @profile:faults
  Scenario: A ComputeDomain over several nodes outlasts an outage of the API server
    Given the IMEX daemons of ComputeDomains run
    And 3 nodes running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 2 nodes
    And a channel claim for ComputeDomain "job" on each of 3 nodes
    And the ComputeDomain driver on "node-1" has prepared claim "rank-1"
    And the ComputeDomain driver on "node-2" has prepared claim "rank-2"
    And the daemons of "node-1, node-2" have become ready in ComputeDomain "job"
    And the entries of nodes "node-1, node-2" in the cliques of ComputeDomain "job" are remembered
    Then the ComputeDomain "job" has "status.status" Ready
    When the API server of the control plane is killed
    And 60 seconds pass while claims wait
    And the crashed API server is started again
    # Clients wait longer after each failed attempt.
    And 60 seconds pass while claims wait
    Then the ComputeDomain "job" keeps "status.status" Ready
    And the entries of nodes "node-1, node-2" in the cliques of ComputeDomain "job" are the remembered ones
    And the IMEX processes of "node-1, node-2" in ComputeDomain "job" are the remembered ones
    And the ComputeDomain label of node "node-1" stays "job"
    And the ComputeDomain label of node "node-2" stays "job"
    And claim "rank-1" adds 1 channels on "node-1"
    And claim "rank-2" adds 1 channels on "node-2"
    # All of them work again.
    When Prepare of claim "rank-3" is called on the ComputeDomain driver of "node-3"
    Then Prepare of claim "rank-3" returns "channel-0"
    And the cliques of ComputeDomain "job" come to have the nodes "node-1, node-2, node-3"
    And Unprepare of claim "rank-1" succeeds on the ComputeDomain driver of "node-1"
    And the ComputeDomain label of node "node-1" becomes "none"
    And the cliques of ComputeDomain "job" come to have the nodes "node-2, node-3"

  @NV-197 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario Outline: A channel is prepared when the API server <does> the update of the node's label
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And the IMEX daemons of ComputeDomains are simulated
    And a ComputeDomain "job" for 1 nodes
    And a channel claim "train" on "n1" for ComputeDomain "job"
    And the API server <does> the next 1 updates of Node
    When Prepare of claim "train" is called on the ComputeDomain driver of "n1"
    And every fault has affected a request
    Then Prepare of claim "train" returns "channel-0"
    And claim "train" adds 1 channels on "n1"

    @profile:faults
    Examples:
      | does           |
      | answers 409 to |

    @profile:fault-sweep
    Examples:
      | does                         |
      | answers 500 to               |
      | loses its answers to         |
      | breaks the connection before |

  @NV-381c @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet @profile:faults
  Scenario: A deleted claim whose node label cannot be removed does not keep others from being unprepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a channel claim "first" on "n1" for ComputeDomain "job"
    And a channel claim "second" on "n1" for ComputeDomain "other"
    And a channel claim "third" on "n1" for ComputeDomain "other"
    And a channel claim "whole" on "n1" for ComputeDomain "other"
    When Prepare of claim "first" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    # The node is in the ComputeDomain of the first claim, so these change nothing on it.
    When Prepare of claims "second, third, whole" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain driver on "n1" comes to have claim "second" as PrepareStarted in its checkpoint
    And the ComputeDomain driver on "n1" comes to have claim "third" as PrepareStarted in its checkpoint
    And the ComputeDomain driver on "n1" comes to have claim "whole" as PrepareStarted in its checkpoint
    Given the API server answers 500 to the next 1000 updates of Node
    When the ResourceClaim "first" is deleted
    And the ResourceClaim "second" is deleted
    And the ResourceClaim "third" is deleted
    And the ResourceClaim "whole" is deleted
    Then the ResourceClaim "first" is gone
    And the ResourceClaim "second" is gone
    And the ResourceClaim "third" is gone
    And the ResourceClaim "whole" is gone
    When the ComputeDomain driver on "n1" is restarted
    Then the ComputeDomain driver on "n1" comes to have claim "second" as PrepareAborted in its checkpoint
    And the ComputeDomain driver on "n1" comes to have claim "third" as PrepareAborted in its checkpoint
    And the ComputeDomain driver on "n1" comes to have claim "whole" as PrepareAborted in its checkpoint
    And the ComputeDomain label of node "n1" stays "job"
    And the ComputeDomain driver on "n1" has a record of claim "first"

  @NV-381d @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet @profile:faults
  Scenario: A claim that waits keeps its node in the domain when its driver cannot read it at start
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And a channel claim "waits" on "n1" for ComputeDomain "job"
    And a channel claim "gone" on "n1" for ComputeDomain "other"
    When Prepare of claim "waits" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain label of node "n1" becomes "job"
    When Prepare of claim "gone" is called on the ComputeDomain driver of "n1"
    Then the ComputeDomain driver on "n1" comes to have claim "gone" as PrepareStarted in its checkpoint
    When the ResourceClaim "gone" is deleted
    Then the ResourceClaim "gone" is gone
    Given the API server answers 500 to the next 1 readings of the ResourceClaim "waits"
    When the ComputeDomain driver on "n1" is restarted
    And every fault has affected a request
    # The driver has decided about its unfinished claims.
    Then the ComputeDomain driver on "n1" comes to have claim "gone" as PrepareAborted in its checkpoint
    And the ComputeDomain driver on "n1" comes to have claim "waits" as PrepareStarted in its checkpoint
    And the ComputeDomain label of node "n1" stays "job"
