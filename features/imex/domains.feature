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
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n1), status: Ready} [NV-150]
    And the ComputeDomain "job" keeps "status.nodes" without {name: $(node:n3)} [NV-150]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-149]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n2   | Ready | 1      | NotReady |
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), status: NotReady} [NV-150]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-150]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n2   | Ready | 1      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready [NV-150]
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status   |
      | n1   | Ready | 0      | NotReady |
    Then the ComputeDomain "job" has "status.status" NotReady [NV-150]

  @NV-152
  Scenario: A node without an NVLink fabric is listed with the readiness of its daemon pod
    Given a ComputeDomain "job" for 1 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod      | clique | status |
      | n1   | NotReady |        |        |
    Then the ComputeDomain "job" has:
      | field           | value                                                                         |
      | status.nodes    | containing {name: $(node:n1), cliqueID: "", index: -1, status: NotReady}      |
      | status.status   | NotReady                                                                      |
    When the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready |        |        |
    Then the ComputeDomain "job" has:
      | field           | value                                                                         |
      | status.nodes    | containing {name: $(node:n1), cliqueID: "", index: -1, status: Ready}         |
      | status.status   | Ready                                                                         |

  @NV-151
  Scenario: A node without a daemon is removed from its clique
    Given a ComputeDomain "job" for 1 nodes
    And a ComputeDomain "other" for 1 nodes
    # The daemon of another domain on the same node does not count.
    And the ComputeDomain "other" has the daemons:
      | node | pod   | clique | status |
      | lost | Ready | 0      | Ready  |
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | kept | Ready | 0      | Ready  |
      | lost | none  | 0      | Ready  |
    Then the cliques of ComputeDomain "job" come to have the nodes "kept"

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
