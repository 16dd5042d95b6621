@profile:imex @component:compute-domain-controller @needs:compute-domain
Feature: The lifecycle of a ComputeDomain
  A ComputeDomain requests IMEX between the nodes of a job. Its controller creates the template that workloads use for
  a channel, prepares for daemons on the nodes that join, reports when all are connected, and removes everything with
  the domain.

  @NV-145 @NV-146 @NV-147
  Scenario Outline: A ComputeDomain gets templates and a DaemonSet with allocationMode <mode>
    When a ComputeDomain "job" is created with {numNodes: 2, channel: {allocationMode: <mode>}}
    Then the ComputeDomain "job" has "metadata.finalizers" containing resource.nvidia.com/computeDomain [NV-145]
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode <mode> [NV-147]
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons [NV-146]

    Examples:
      | mode   |
      | Single |
      | All    |

  @NV-320 @NV-322
  Scenario: The DaemonSet of a ComputeDomain runs the daemon and its probes
    Given a ComputeDomain "job" for 1 nodes
    Then the DaemonSet of ComputeDomain "job" runs the daemon [NV-320]
    And the DaemonSet of ComputeDomain "job" probes the daemon [NV-322]

  @NV-320b
  Scenario Outline: The claim templates of a ComputeDomain with allocationMode <mode> request one device and nothing else
    When a ComputeDomain "job" is created with {numNodes: 2, channel: {allocationMode: <mode>}}
    Then the claim templates of ComputeDomain "job" have nothing else

    Examples:
      | mode   |
      | Single |
      | All    |

  @NV-321 @needs:compute-domain-flags
  Scenario: The daemons of a ComputeDomain get the feature gates of its controller
    Given the ComputeDomain controller runs with "--feature-gates=CrashOnNVLinkFabricErrors=false"
    And a ComputeDomain "job" for 2 nodes
    Then the variable FEATURE_GATES in the DaemonSet of ComputeDomain "job" has "CrashOnNVLinkFabricErrors=false"
    Given the ComputeDomain controller runs with "--feature-gates=CrashOnNVLinkFabricErrors=true"
    And a ComputeDomain "next" for 2 nodes
    Then the variable FEATURE_GATES in the DaemonSet of ComputeDomain "next" has "CrashOnNVLinkFabricErrors=true"

  @NV-437 @needs:compute-domain-flags
  Scenario: Another log level of the daemons is for ComputeDomains that are created later
    Given the ComputeDomain controller runs with "--log-verbosity-cd-daemon=6"
    And a ComputeDomain "job" for 2 nodes
    Then the variable LOG_VERBOSITY in the DaemonSet of ComputeDomain "job" has "6"
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has "status.status" NotReady
    Given the objects of ComputeDomain "job" are remembered
    And the ComputeDomain controller runs with "--log-verbosity-cd-daemon=2"
    And a ComputeDomain "next" for 2 nodes
    Then the variable LOG_VERBOSITY in the DaemonSet of ComputeDomain "next" has "2"
    And the objects of ComputeDomain "job" are unchanged

  @NV-333 @needs:compute-domain-flags
  Scenario: The DaemonSet of a former installation is used, and deleted with its ComputeDomain
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    Given the compute-domain-controller is stopped
    And the DaemonSet and the claim template for the daemons of ComputeDomain "job" are moved to another namespace
    And the ComputeDomain controller runs with "--additional-namespaces=$(namespace)-other"
    And a ComputeDomain "next" for 1 nodes
    Then the ComputeDomain "next" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" still has nothing for daemons in the namespace of the driver
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"
    And nothing of the ComputeDomain "job" is left in the other namespace

  @NV-500 @needs:compute-domain-flags
  Scenario: The nodes of a former installation count as long as they have daemon pods
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    Given the compute-domain-controller is stopped
    And the DaemonSet and the claim template for the daemons of ComputeDomain "job" are moved to another namespace
    And the ComputeDomain "job" has daemons in the other namespace:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
      | n2   | none  | 0      | Ready  |
    And the ComputeDomain controller runs with "--additional-namespaces=$(namespace)-other"
    Then the ComputeDomain "job" has "status.nodes[*].name" [$(node:n1)]
    And the ComputeDomain "job" has "status.status" Ready

  @NV-467 @needs:compute-domain-flags
  Scenario: The daemons of a ComputeDomain get the imagePullSecrets of its controller
    Given a ComputeDomain "job" for 2 nodes
    Then the DaemonSet of ComputeDomain "job" has the imagePullSecrets ""
    Given the ComputeDomain controller runs with "--cd-daemon-image-pull-secret-names=registry,mirror"
    And a ComputeDomain "next" for 2 nodes
    Then the DaemonSet of ComputeDomain "next" has the imagePullSecrets "registry, mirror"

  @NV-146 @NV-147 @NV-150 @NV-153
  Scenario: Two ComputeDomains of one name in two namespaces get objects of their own
    Given a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "twin" for 1 nodes that is called "job" in another namespace
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single [NV-147]
    And the ComputeDomain "twin" has a claim template for its workloads with allocationMode Single [NV-147]
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons [NV-146]
    And the ComputeDomain "twin" has a DaemonSet and a claim template for its daemons [NV-146]
    Given the ComputeDomain "twin" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" keeps "status.status" NotReady [NV-150]
    Given the objects of ComputeDomain "job" are remembered
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job" [NV-153]
    And the ComputeDomain "twin" has a claim template for its workloads with allocationMode Single [NV-153]
    And the ComputeDomain "twin" has a DaemonSet and a claim template for its daemons [NV-153]

  @NV-329
  Scenario: A second ComputeDomain gets the template of its name when the first one is deleted
    When a ComputeDomain "first" is created with {numNodes: 1, channel: {resourceClaimTemplate: {name: shared}}}
    Then the ComputeDomain "first" has a claim template for its workloads with allocationMode Single
    When a ComputeDomain "second" is created with {numNodes: 1, channel: {resourceClaimTemplate: {name: shared}}}
    Then the ComputeDomain "second" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "first" has a claim template for its workloads with allocationMode Single
    # No event of the second one is left that would make its controller try again.
    Given the objects of ComputeDomain "first" are remembered
    Then the objects of ComputeDomain "first" are unchanged
    When the ComputeDomain "first" is deleted
    Then nothing is left of the ComputeDomain "first"
    And the ComputeDomain "second" has a claim template for its workloads with allocationMode Single

  @NV-330
  Scenario: The template of a user under the name in a ComputeDomain is not touched
    Given a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And the ResourceClaimTemplate "job-channel" is remembered
    And a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ResourceClaimTemplate "job-channel" is unchanged
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"
    And the ResourceClaimTemplate "job-channel" is unchanged

  @NV-145 @NV-153
  Scenario: The finalizers of others on a ComputeDomain stay
    Given a ComputeDomain "job" for 1 nodes
    And "metadata.finalizers" of the ComputeDomain "job" is set to [example.com/audit]
    Then the ComputeDomain "job" has "metadata.finalizers" in any order [example.com/audit, resource.nvidia.com/computeDomain] [NV-145]
    When the ComputeDomain "job" is deleted
    Then the ComputeDomain "job" has "metadata.finalizers" [example.com/audit] [NV-153]
    When "metadata.finalizers" of the ComputeDomain "job" is set to []
    Then nothing is left of the ComputeDomain "job" [NV-153]

  @NV-336
  Scenario: A claim template that is removed by hand is created again
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    # Its controller has observed the template before the template is removed.
    When "metadata.annotations" of the ComputeDomain "job" is set to {example.com/note: first}
    Then the ComputeDomain "job" keeps "status.status" NotReady
    When "metadata.finalizers" of the ResourceClaimTemplate "job-channel" is set to []
    And the ResourceClaimTemplate "job-channel" is deleted
    # Some controllers compare objects only after an event of the ComputeDomain; this is one.
    And "metadata.annotations" of the ComputeDomain "job" is set to {example.com/note: changed}
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single

  @NV-335
  Scenario: A restart of the controller changes nothing
    Given a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "other" has "status.status" NotReady
    Given the objects of ComputeDomain "job" are remembered
    And the objects of ComputeDomain "other" are remembered
    When the compute-domain-controller is started again
    Then the objects of ComputeDomain "job" are unchanged
    And the objects of ComputeDomain "other" are unchanged

  @NV-146 @NV-147 @NV-153
  Scenario: A controller that starts finds what happened while it was stopped
    Given a ComputeDomain "gone" for 1 nodes
    Then the ComputeDomain "gone" has a DaemonSet and a claim template for its daemons [NV-146]
    And the ComputeDomain "gone" has a claim template for its workloads with allocationMode Single [NV-147]
    Given the compute-domain-controller is stopped
    And a ComputeDomain "late" for 1 nodes
    When the ComputeDomain "gone" is deleted
    And the compute-domain-controller is started
    Then nothing is left of the ComputeDomain "gone" [NV-153]
    And the ComputeDomain "late" has a DaemonSet and a claim template for its daemons [NV-146]
    And the ComputeDomain "late" has a claim template for its workloads with allocationMode Single [NV-147]

  @NV-347
  Scenario: A controller that starts removes what domains left behind
    # Before the ComputeDomain: a controller may show in its status that there are too few.
    Given node "n1"
    And node "n2"
    And a ComputeDomain "job" for 1 nodes
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n2" is set to $(uid:job)
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "job" has "status.status" NotReady
    Given the objects of ComputeDomain "job" are remembered
    And the compute-domain-controller is stopped
    # Nothing but the label of a node is left of this one.
    And node "n3"
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n3" is set to 6e2f0c9a-4d3b-4b52-9d0e-7a1c5f3b8e21
    When node "n1" and copies of the objects of ComputeDomain "job" get the label of a ComputeDomain that is gone
    And the compute-domain-controller is started
    Then nothing has the label of a ComputeDomain that is gone
    And the ComputeDomain label of node "n3" becomes "none"
    And the objects of ComputeDomain "job" are unchanged
    And the ComputeDomain label of node "n2" stays "job"

  @NV-347 @needs:virtual-clock
  Scenario: A controller removes what domains left behind every ten minutes
    Given a ComputeDomain "job" for 1 nodes
    And node "n1"
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    When node "n1" and copies of the objects of ComputeDomain "job" get the label of a ComputeDomain that is gone
    And 600 seconds pass
    Then nothing has the label of a ComputeDomain that is gone

  @NV-149
  Scenario: A ComputeDomain without its nodes is not ready
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has "status.status" NotReady

  @NV-149 @NV-150
  Scenario: A ComputeDomain is ready while all its nodes are there and ready
    Given a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    And the ComputeDomain "other" has the daemons:
      | node | pod   | clique | status |
      | n3   | Ready | 0      | Ready  |
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the ComputeDomain "other" has "status.status" Ready [NV-150]
    And the ComputeDomain "other" has "status.nodes" [{name: $(node:n3), ipAddress: 192.0.2.3, cliqueID: $(namespace).0, index: 0, status: Ready}] [NV-150]
    And the ComputeDomain "job" has "status.nodes" [{name: $(node:n1), ipAddress: 192.0.2.1, cliqueID: $(namespace).0, index: 0, status: Ready}] [NV-150]
    And the ComputeDomain "job" keeps "status.nodes" without {name: $(node:n3)} [NV-150]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-149]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n2   | Ready | 1      | NotReady |
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), cliqueID: $(namespace).1, index: 0, status: NotReady} [NV-150]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n1), cliqueID: $(namespace).0, index: 0, status: Ready} [NV-150]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-150]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n2   | Ready | 1      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-150]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n1   | Ready | 0      | NotReady |
    Then the ComputeDomain "job" has "status.status" NotReady [NV-150]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-150]
    # A third node, beyond numNodes, counts too; it is the second one in its clique.
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n4   | Ready | 1      | NotReady |
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n4), ipAddress: 192.0.2.4, cliqueID: $(namespace).1, index: 1, status: NotReady} [NV-150]
    And the ComputeDomain "job" has "status.status" NotReady [NV-150]
    # Its daemon pod is deleted: the node leaves clique and status.
    When the daemon pod of node "n4" in ComputeDomain "job" is deleted
    Then the ComputeDomain "job" has "status.nodes" without {name: $(node:n4)} [NV-150]
    And the ComputeDomain "job" has "status.status" Ready [NV-150]

  @NV-149 @NV-150
  Scenario: A ComputeDomain that is ready is not ready any more without one of its nodes
    Given a ComputeDomain "job" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
      | n2   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-150]
    When the daemon pod of node "n1" in ComputeDomain "job" is deleted
    Then the ComputeDomain "job" has "status.nodes" [{name: $(node:n2), ipAddress: 192.0.2.2, cliqueID: $(namespace).0, index: 1, status: Ready}] [NV-150]
    And the ComputeDomain "job" has "status.status" NotReady [NV-149]

  @NV-150
  Scenario: A ComputeDomain whose clique is deleted by hand is not ready until its daemons are in it again
    Given a ComputeDomain "job" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | rack.0 | Ready  |
      | n2   | Ready | rack.0 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    When the clique "rack.0" of ComputeDomain "job" is deleted
    Then the ComputeDomain "job" has "status.status" NotReady
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | rack.0 | Ready  |
      | n2   | Ready | rack.0 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready

  @NV-150b
  Scenario: Daemons in the namespace of the workloads do not count for a ComputeDomain
    Given a ComputeDomain "job" for 1 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      |        |
    And the ComputeDomain "job" has daemons in the namespace of its workloads:
      | node | pod   | clique | status |
      | n1   | none  | 0      | Ready  |
      | n2   | Ready |        |        |
    Then the ComputeDomain "job" keeps "status.status" NotReady
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    And the ComputeDomain "job" has "status.nodes" [{name: $(node:n1), ipAddress: 192.0.2.1, cliqueID: $(namespace).0, index: 0, status: Ready}]
    # A pod there does not keep the entry of its node either.
    Given the ComputeDomain "job" has daemons in the namespace of its workloads:
      | node | pod   | clique | status |
      | n3   | Ready | 0      |        |
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n3   | none  | 0      | Ready  |
    Then the cliques of ComputeDomain "job" come to have the nodes "n1"

  @NV-152
  Scenario: A node without an NVLink fabric is listed with the readiness of its daemon pod
    Given a ComputeDomain "job" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod      | clique | status |
      | n1   | NotReady |        |        |
      | n2   | Ready    | 0      | Ready  |
    Then the ComputeDomain "job" has:
      | field           | value                                                                                           |
      | status.nodes    | containing {name: $(node:n1), ipAddress: 192.0.2.1, cliqueID: "", index: -1, status: NotReady}  |
      | status.status   | NotReady                                                                                        |
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready |        |        |
    Then the ComputeDomain "job" has:
      | field           | value                                                                                           |
      | status.nodes    | containing {name: $(node:n1), ipAddress: 192.0.2.1, cliqueID: "", index: -1, status: Ready}     |
      | status.status   | Ready                                                                                           |
    # Before its pod has an address a node is not listed, and does not count.
    When the ComputeDomain "job" has the daemons:
      | node | pod     | clique | status |
      | n3   | Pending |         |        |
      # Its daemon has not found out yet whether the node has a fabric.
      | n5   | NotReady | unknown |        |
      | n4   | Ready   |         |        |
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n4), ipAddress: 192.0.2.4, index: -1}
    And the ComputeDomain "job" keeps "status.nodes" without {name: $(node:n3)}
    And the ComputeDomain "job" keeps "status.nodes" without {name: $(node:n5)}
    And the ComputeDomain "job" keeps "status.status" Ready

  @NV-151b
  Scenario: The daemon of another ComputeDomain does not keep a node in its clique
    Given a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    And the ComputeDomain "other" has the daemons:
      | node | pod   | clique | status |
      | lost | Ready | 0      | Ready  |
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | kept | Ready | 0      | Ready  |
      | lost | Ready | 0      | Ready  |
    Then the cliques of ComputeDomain "job" come to have the nodes "kept, lost"
    When the daemon pod of node "lost" in ComputeDomain "job" is deleted
    Then the cliques of ComputeDomain "job" come to have the nodes "kept"

  @NV-151
  Scenario: A node without a daemon is removed from its clique
    Given a ComputeDomain "job" for 1 nodes
    And the ComputeDomain "job" has the daemons:
      | node  | pod   | clique | status   |
      | kept  | Ready | 0      | Ready    |
      | lost  | Ready | 0      | Ready    |
      | third | Ready | 0      | NotReady |
      | fifth | Ready | 1      | Ready    |
      | away  | none  | 1      | Ready    |
    Then the cliques of ComputeDomain "job" come to have the nodes "kept, lost, third, fifth"
    When the daemon pod of node "lost" in ComputeDomain "job" is deleted
    Then the cliques of ComputeDomain "job" come to have the nodes "kept, third, fifth"
    # The others keep their entries as they are.
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:kept), index: 0, cliqueID: $(namespace).0}
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:third), index: 2, cliqueID: $(namespace).0}
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:fifth), index: 0, cliqueID: $(namespace).1}

  @NV-151c @needs:faults
  Scenario: An entry is kept while the controller does not receive its new daemon pod
    Given a ComputeDomain "job" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the cliques of ComputeDomain "job" come to have the nodes "n1"
    When the watches of Pod break and are not served
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n2   | Ready | 0      | Ready  |
    Then the entry of "n2" in ComputeDomain "job" stays Ready
    When watches are served again
    Then the cliques of ComputeDomain "job" come to have the nodes "n1, n2"

  @NV-153
  Scenario: A ComputeDomain that is deleted leaves nothing behind
    Given a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    And node "n1"
    And node "n2"
    And node "n3"
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n1" is set to $(uid:job)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n2" is set to $(uid:job)
    And "metadata.labels['resource.nvidia.com/computeDomain']" of the Node "n3" is set to $(uid:other)
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "other" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    Given the ResourceClaimTemplate "other-channel" is remembered
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"
    And the ComputeDomain label of node "n3" stays "other"
    And the ComputeDomain "other" has a DaemonSet and a claim template for its daemons
    And the ResourceClaimTemplate "other-channel" is unchanged

  @NV-146 @NV-147 @NV-149 @NV-150 @NV-153
  Scenario: A ComputeDomain that is created again under its name gets objects of its own
    Given a ComputeDomain "job" for 1 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-150]
    And the ComputeDomain "job" has a claim template for its workloads with allocationMode Single [NV-147]
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job" [NV-153]
    # The pod and the clique of the former domain are still there.
    When a ComputeDomain "job" is created with {numNodes: 1, channel: {}}
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single [NV-147]
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons [NV-146]
    And the ComputeDomain "job" has "status.status" NotReady [NV-149]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-149]

  @NV-142 @NV-145
  Scenario Outline: A ComputeDomain <what> is refused
    When a ComputeDomain "valid" is created with {numNodes: 1, channel: {}}
    # The controller of this API runs.
    Then the ComputeDomain "valid" has "metadata.finalizers" containing resource.nvidia.com/computeDomain [NV-145]
    When a ComputeDomain "job" is created with <spec>
    Then the API server refuses it with 422 Invalid [NV-142]

    Examples:
      | what                            | spec                                                |
      | without a channel               | {numNodes: 0}                                       |
      | with a negative number of nodes | {numNodes: -1, channel: {}}                         |
      | with an unknown mode            | {numNodes: 0, channel: {allocationMode: Some}}      |
      | without a template name         | {numNodes: 0, channel: {resourceClaimTemplate: {}}} |

  @NV-144
  Scenario: The spec of a ComputeDomain is immutable
    Given a ComputeDomain "job" for 1 nodes
    # The controller has written its own changes; the update is refused as invalid, not as a conflict.
    Then the ComputeDomain "job" has "status.status" NotReady
    When its "spec.numNodes" is updated to 2
    Then the API server refuses it with 422 Invalid
    And the refusal says "A computeDomain.spec is immutable"
