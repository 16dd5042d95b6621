@profile:imex @component:compute-domain-controller @component:compute-domain-daemon @needs:compute-domain @needs:imex-daemons
Feature: Daemons of a ComputeDomain in their cliques
  The daemons of the nodes in one NVLink clique share an object, in which each has an index of its own. The index is
  part of the name under which the other daemons find it, so it must stay.

  Background:
    Given the IMEX daemons of ComputeDomains run
    And node "n1"
    And node "n2"
    And node "n3"
    And node "n4"
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n1" is set to rack.0
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n2" is set to rack.0
    And "metadata.labels['nvidia.com/gpu.clique']" of the Node "n3" is set to rack.0

  @NV-173 @NV-150 @NV-152
  Scenario: A daemon joins with the lowest free index, and the others keep theirs
    Given a ComputeDomain "job" for 2 nodes
    And nodes "n1" join ComputeDomain "job"
    And the daemons of "n1" have become ready in ComputeDomain "job"
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n1), cliqueID: rack.0, index: 0, status: Ready} [NV-173]
    And the ComputeDomain "job" keeps "status.status" NotReady [NV-150]
    When nodes "n2" join ComputeDomain "job"
    Given the daemons of "n2" have become ready in ComputeDomain "job"
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), cliqueID: rack.0, index: 1, status: Ready} [NV-173]
    And the ComputeDomain "job" has "status.status" Ready [NV-150]
    When nodes "n1" leave their ComputeDomain
    Then the cliques of ComputeDomain "job" come to have the nodes "n2" [NV-173]
    And the ComputeDomain "job" has "status.status" NotReady [NV-150]
    When nodes "n3" join ComputeDomain "job"
    Given the daemons of "n3" have become ready in ComputeDomain "job"
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n3), cliqueID: rack.0, index: 0, status: Ready} [NV-173]
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n2), cliqueID: rack.0, index: 1, status: Ready} [NV-173]
    When nodes "n4" join ComputeDomain "job"
    Given the daemon pod of "n4" in ComputeDomain "job" has become ready
    Then the ComputeDomain "job" has "status.nodes" containing {name: $(node:n4), cliqueID: "", index: -1, status: Ready} [NV-152]
    And the cliques of ComputeDomain "job" come to have the nodes "n2, n3" [NV-173]

  @NV-173 @NV-359 @NV-429
  Scenario: Two ComputeDomains in one clique have nodes of their own
    Given a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    And nodes "n1, n3" join ComputeDomain "job"
    And nodes "n2" join ComputeDomain "other"
    Then the daemons of "n1, n3" are ready in ComputeDomain "job" [NV-429]
    And the daemons of "n2" are ready in ComputeDomain "other" [NV-429]
    And the cliques of ComputeDomain "job" come to have the nodes "n1, n3" [NV-173]
    And the cliques of ComputeDomain "other" come to have the nodes "n2" [NV-173]
    And the cliques of ComputeDomain "job" come to have 2 nodes with the indices 0 to 1 [NV-429]
    And the cliques of ComputeDomain "other" come to have 1 nodes with the indices 0 to 0 [NV-429]
    And the ComputeDomain "other" has "status.nodes" containing {name: $(node:n2), cliqueID: rack.0, index: 0, status: Ready} [NV-359]
    And the ComputeDomain "other" keeps "status.nodes" without {name: $(node:n1)} [NV-359]
    And the ComputeDomain "job" keeps "status.nodes" without {name: $(node:n2)} [NV-359]
    When the ComputeDomain "other" is deleted
    Then nothing is left of the ComputeDomain "other" [NV-359]
    And the cliques of ComputeDomain "job" come to have the nodes "n1, n3" [NV-359]
    And the ComputeDomain "job" keeps "status.status" Ready [NV-359]

  @NV-174
  Scenario: An IMEX domain has no more nodes than its daemons allow
    Given a ComputeDomain "job" for 18 nodes
    And 19 nodes of the NVLink clique "rack.0" that are in ComputeDomain "job"
    Then the cliques of ComputeDomain "job" come to have 18 nodes with the indices 0 to 17

  @NV-387
  Scenario: The pods of all daemons of a clique own it
    Given a ComputeDomain "job" for 2 nodes
    And nodes "n1, n2" join ComputeDomain "job"
    Then the cliques of ComputeDomain "job" come to have the nodes "n1, n2"
    And the clique "rack.0" of ComputeDomain "job" is labelled, and owned by the daemon pods of "n1, n2"
