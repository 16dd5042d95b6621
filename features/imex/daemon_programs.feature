@profile:imex @component:compute-domain-controller @component:compute-domain-daemon @needs:compute-domain @needs:imex-daemons
Feature: The daemon program of ComputeDomains
  On each node of a ComputeDomain a daemon writes its entry into the clique of the node, gives nvidia-imex the addresses
  of the other daemons and keeps it running. Its peers find it by a name that has its index.

  Background:
    Given the IMEX daemons of ComputeDomains run
    And node "n1"
    And node "n2"
    And node "n3"
    And the NVLink cliques of nodes "n1, n2, n3" are "rack.0, rack.0, rack.0"
    And a ComputeDomain "job" for 2 nodes

  @NV-393 @NV-394
  Scenario: The daemons of a clique find each other by name
    Given nodes "n1, n2" join ComputeDomain "job"
    Then the daemons of "n1, n2" are ready in ComputeDomain "job" [NV-394]
    And the nodes files of "n1, n2" in ComputeDomain "job" have the 18 names of an IMEX domain [NV-393]
    And the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them [NV-394]
    And the hosts file of "n1" in ComputeDomain "job" keeps its other lines [NV-394]
    And the IMEX processes of "n1, n2" in ComputeDomain "job" come to be connected to each other [NV-394]

  @NV-388 @NV-425
  Scenario: The daemons of a whole rack find each other by name
    Given 18 nodes of the NVLink clique "rack.1" that are in ComputeDomain "job"
    Then the cliques of ComputeDomain "job" come to have 18 nodes with the indices 0 to 17 [NV-388]
    And the hosts files of 18 nodes in ComputeDomain "job" have the addresses of all of them [NV-425]

  @NV-428
  Scenario: The daemons of two cliques of a ComputeDomain do not find each other
    Given node "n4"
    And the NVLink cliques of nodes "n3, n4" are "rack.1, rack.1"
    And nodes "n1, n2, n3, n4" join ComputeDomain "job"
    Then the daemons of "n1, n2, n3, n4" are ready in ComputeDomain "job"
    And the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them
    And the hosts files of "n3, n4" in ComputeDomain "job" have the addresses of all of them
    And the IMEX processes of "n1, n2" in ComputeDomain "job" come to be connected to each other
    And the IMEX processes of "n3, n4" in ComputeDomain "job" come to be connected to each other

  @NV-428
  Scenario: The daemon of another cluster does not find those of its clique number
    Given the NVLink cliques of nodes "n3" are "other.0"
    And nodes "n1, n2, n3" join ComputeDomain "job"
    Then the daemons of "n1, n2, n3" are ready in ComputeDomain "job"
    And the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them
    And the hosts files of "n3" in ComputeDomain "job" have the addresses of all of them
    And the IMEX processes of "n1, n2" in ComputeDomain "job" come to be connected to each other

  @NV-396
  Scenario: A running IMEX process learns of a daemon that joins or leaves
    Given nodes "n1" join ComputeDomain "job"
    And the daemons of "n1" have become ready in ComputeDomain "job"
    When nodes "n2" join ComputeDomain "job"
    Then the IMEX process of "n1" in ComputeDomain "job" has got another SIGUSR1
    And the daemons of "n1, n2" are ready in ComputeDomain "job"
    And the IMEX processes of "n1, n2" in ComputeDomain "job" come to be connected to each other
    Given the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When nvidia-imex-ctl of "n2" in ComputeDomain "job" is replaced by "echo NOT_READY"
    Then the entry of "n2" in ComputeDomain "job" becomes NotReady
    And the IMEX process of "n1" in ComputeDomain "job" has got no further SIGUSR1
    When nodes "n2" leave their ComputeDomain
    Then the IMEX process of "n1" in ComputeDomain "job" has got another SIGUSR1

  @NV-395
  Scenario: The hosts file of a daemon does not grow while others join and leave
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When nodes "n2" leave their ComputeDomain
    Then the hosts files of "n1" in ComputeDomain "job" have the addresses of all of them
    When nodes "n2, n3" join ComputeDomain "job"
    Then the hosts files of "n1, n2, n3" in ComputeDomain "job" have the addresses of all of them
    And the hosts file of "n1" in ComputeDomain "job" has no line twice

  @NV-399
  Scenario: An IMEX process that ends is started again
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When the IMEX process of "n1" in ComputeDomain "job" is killed
    Then the IMEX process of "n1" in ComputeDomain "job" is started again in the same container
    And the IMEX processes of "n1, n2" in ComputeDomain "job" come to be connected to each other
    # The process is killed a second time, and so is the one of another node.
    When the IMEX process of "n1" in ComputeDomain "job" is killed
    And the IMEX process of "n2" in ComputeDomain "job" is killed
    Then the IMEX process of "n1" in ComputeDomain "job" is started again in the same container
    And the IMEX process of "n2" in ComputeDomain "job" is started again in the same container
    And the IMEX processes of "n1, n2" in ComputeDomain "job" come to be connected to each other

  @NV-400
  Scenario: A daemon without nvidia-imex does not stay in its clique
    Given the program "nvidia-imex" is missing in the daemon pods of node "n2"
    And nodes "n1" join ComputeDomain "job"
    And the daemons of "n1" have become ready in ComputeDomain "job"
    When nodes "n2" join ComputeDomain "job"
    Then the daemon of "n2" in ComputeDomain "job" ends by itself
    And the IMEX processes of "n1" in ComputeDomain "job" are the remembered ones
    And the daemons of "n1" are ready in ComputeDomain "job"

  @NV-401
  Scenario: A daemon that ends leaves its clique
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When nodes "n2" leave their ComputeDomain
    Then the daemons of "n2" in ComputeDomain "job" have ended in order
    And the hosts files of "n1" in ComputeDomain "job" have the addresses of all of them
    And the daemons of "n1" are ready in ComputeDomain "job"

  @NV-401b @needs:faults
  Scenario: A daemon that ends keeps an entry with the address of its successor
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    # Otherwise it corrects the address (NV-444).
    When the watches of ComputeDomainClique break and are not served
    And the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field     | value      |
      | n2   | ipAddress | 192.0.2.99 |
    And nodes "n2" leave their ComputeDomain
    Then the daemon of "n2" in ComputeDomain "job" has ended, and left the entry with the address 192.0.2.99

  @NV-401c @needs:faults
  Scenario: A daemon that ends leaves its clique although the first update of the clique is a conflict
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    And the API server answers 409 to the next 1 updates of ComputeDomainClique
    When nodes "n2" leave their ComputeDomain
    And every fault has affected a request
    Then the daemons of "n2" in ComputeDomain "job" have ended in order

  @NV-448
  Scenario: All daemons of a clique end at the same time
    Given node "n4"
    And the NVLink cliques of nodes "n4" are "rack.0"
    And nodes "n1, n2, n3, n4" join ComputeDomain "job"
    And the daemons of "n1, n2, n3, n4" have become ready in ComputeDomain "job"
    When nodes "n1, n2, n3, n4" leave their ComputeDomain
    Then the daemons of "n1, n2, n3, n4" in ComputeDomain "job" have ended in order

  @NV-402
  Scenario: A daemon that is killed comes back with its entry
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    And the entries of nodes "n1, n2" in the cliques of ComputeDomain "job" are remembered
    When the daemon of "n2" in ComputeDomain "job" is killed
    Then the daemon of "n2" in ComputeDomain "job" runs again
    And the daemons of "n1, n2" are ready in ComputeDomain "job"
    And the entries of nodes "n1, n2" in the cliques of ComputeDomain "job" are the remembered ones
    And the IMEX process of "n1" in ComputeDomain "job" has got no further SIGUSR1
    And the IMEX processes of "n1, n2" in ComputeDomain "job" come to be connected to each other

  @NV-403
  Scenario: The entry of a node follows the readiness of its own daemon
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When nvidia-imex-ctl of "n1" in ComputeDomain "job" is replaced by "echo NOT_READY"
    Then the entry of "n1" in ComputeDomain "job" becomes NotReady
    And the entry of "n2" in ComputeDomain "job" stays Ready
    When nvidia-imex-ctl of "n2" in ComputeDomain "job" is replaced by "echo NOT_READY"
    And nvidia-imex-ctl of "n1" in ComputeDomain "job" works again
    Then the entry of "n2" in ComputeDomain "job" becomes NotReady
    And the entry of "n1" in ComputeDomain "job" becomes Ready
    And the entry of "n2" in ComputeDomain "job" stays NotReady
    When nvidia-imex-ctl of "n2" in ComputeDomain "job" works again
    Then the daemons of "n1, n2" are ready in ComputeDomain "job"

  @NV-404
  Scenario Outline: A daemon is not ready if nvidia-imex-ctl does not say so: <behaviour>
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When nvidia-imex-ctl of "n1" in ComputeDomain "job" is replaced by "<behaviour>"
    Then the check of "n1" in ComputeDomain "job" fails
    And the check of "n2" in ComputeDomain "job" succeeds
    When nvidia-imex-ctl of "n1" in ComputeDomain "job" works again
    Then the check of "n1" in ComputeDomain "job" succeeds

    Examples:
      | behaviour         |
      | echo NOT_READY    |
      | echo READY; false |
      | true              |

  @NV-405
  Scenario: The daemon of a node without a clique does nothing but label its pod
    Given "metadata.labels['nvidia.com/gpu.clique']" of the Node "n2" is set to null
    And nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1" have become ready in ComputeDomain "job"
    Then the daemon pod of "n2" in ComputeDomain "job" has the clique label "empty"
    And the check of "n2" in ComputeDomain "job" succeeds
    And "n2" has no IMEX process in ComputeDomain "job"
    And the cliques of ComputeDomain "job" come to have the nodes "n1"
    And the daemon pod of "n1" in ComputeDomain "job" has the clique label "rack.0"

  @NV-406
  Scenario: A daemon without the CDI edits of its claim does not run
    Given the daemon pods of node "n2" do not get the CDI edits of their claim
    And nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1" have become ready in ComputeDomain "job"
    Then the daemon of "n2" in ComputeDomain "job" ends by itself
    And the daemons of "n1" are ready in ComputeDomain "job"

  @NV-392
  Scenario: A clique that is deleted by hand comes back
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When the clique "rack.0" of ComputeDomain "job" is deleted
    Then the daemons of "n1, n2" are ready in ComputeDomain "job"
    And the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them
    And the clique "rack.0" of ComputeDomain "job" is labelled, and owned by the daemon pods of "n1, n2"

  @NV-468
  Scenario: A ComputeDomain gets an event if the address in an entry is changed by hand
    Given a ComputeDomain "other" for 1 nodes
    And nodes "n1, n2" join ComputeDomain "job"
    And nodes "n3" join ComputeDomain "other"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    And the daemons of "n3" have become ready in ComputeDomain "other"
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field     | value      |
      | n2   | ipAddress | 192.0.2.99 |
    Then the ComputeDomain "job" gets a Warning event that contains "$(node:n2)"
    And the daemons of "n1, n2" are ready in ComputeDomain "job"
    And the ComputeDomain "job" gets no Warning event that contains "$(node:n1)"
    And the ComputeDomain "other" gets no Warning event that contains "$(node:n3)"

  @NV-468
  Scenario: The new address of a daemon that comes back is no event
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When nodes "n2" leave their ComputeDomain
    Then the daemons of "n2" in ComputeDomain "job" have ended in order
    When nodes "n2" join ComputeDomain "job"
    Then the daemons of "n1, n2" are ready in ComputeDomain "job"
    And the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them
    And the ComputeDomain "job" gets no Warning event that contains "$(node:n2)"
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field     | value      |
      | n2   | ipAddress | 192.0.2.99 |
    Then the ComputeDomain "job" gets a Warning event that contains "$(node:n2)"

  @NV-469
  Scenario: A ComputeDomain gets an event if its clique is deleted by hand
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    And a ComputeDomain "other" for 1 nodes
    And nodes "n3" join ComputeDomain "other"
    And the daemons of "n3" have become ready in ComputeDomain "other"
    When nodes "n3" leave their ComputeDomain
    # The clique of a ComputeDomain without daemons goes as well.
    Then the daemons of "n3" in ComputeDomain "other" have ended in order
    When the clique "rack.0" of ComputeDomain "job" is deleted
    Then the ComputeDomain "job" gets a Warning event that contains "$(uid:job).rack.0"
    And the ComputeDomain "other" gets no Warning event that contains "$(uid:other).rack.0"

  @NV-397
  Scenario: Names follow indices that are exchanged by hand
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When the indices of "n1" and "n2" in the clique "rack.0" of ComputeDomain "job" are exchanged by hand
    Then the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them

  @NV-394
  Scenario: An entry of another clique has no name in the hosts files
    Given nodes "n1, n2" join ComputeDomain "job"
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n3   | Ready | rack.0 | Ready  |
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field     | value      |
      | n3   | cliqueID  | rack.1     |
      | n3   | ipAddress | 192.0.2.99 |
    Then the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them

  @NV-398
  Scenario: An entry with an impossible index does not end the other daemons
    Given nodes "n1, n2" join ComputeDomain "job"
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n3   | Ready | rack.0 | Ready  |
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field     | value      |
      | n3   | index     | 99         |
      | n3   | ipAddress | 192.0.2.99 |
    Then the IMEX processes of "n1, n2" in ComputeDomain "job" are the remembered ones
    And the daemons of "n1, n2" are ready in ComputeDomain "job"

  @NV-443
  Scenario: Two daemons that come to have one index have indices of their own again
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When the entry of "n2" in the clique "rack.0" of ComputeDomain "job" gets the index of "n1" by hand
    Then the entries of "n1, n2" in ComputeDomain "job" come to have indices of their own
    And the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them

  @NV-444
  Scenario: A daemon corrects the address in its entry
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field     | value      |
      | n1   | ipAddress | 192.0.2.99 |
    Then the daemons of "n1, n2" are ready in ComputeDomain "job"
    And the hosts files of "n1, n2" in ComputeDomain "job" have the addresses of all of them

  @NV-444
  Scenario: A daemon that corrects the address in its entry keeps its index
    Given nodes "n1, n2" join ComputeDomain "job"
    And the daemons of "n1, n2" have become ready in ComputeDomain "job"
    # Not the lowest free index: a node that was there before has left.
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field     | value      |
      | n1   | index     | 5          |
      | n1   | ipAddress | 192.0.2.99 |
    Then the daemons of "n1, n2" are ready in ComputeDomain "job"
    # Whether names follow an index of which no address has changed is another rule (NV-397).
    And the ComputeDomain "job" has "status.nodes" containing {name: $(node:n1), index: 5, status: Ready}
