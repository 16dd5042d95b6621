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

  @NV-151
  Scenario: A node without a daemon is removed from its clique
    Given a ComputeDomain "job" for 1 nodes
    And a clique of ComputeDomain "job" has an entry of node "lost", which has no daemon
    Then the clique of ComputeDomain "job" comes to have no entry of node "lost"

  @NV-153
  Scenario: A ComputeDomain that is deleted leaves nothing behind
    Given a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"

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
