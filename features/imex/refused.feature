@profile:imex @component:compute-domain-controller @needs:compute-domain
Feature: ComputeDomains and claims that cannot work
  A name that is taken and a claim that names no ComputeDomain are mistakes of one user. They harm no other job, and
  can be corrected.

  @NV-330b
  Scenario: A ComputeDomain whose template name is taken gets its template once the name is free
    Given a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 2 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "other" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    When the ResourceClaimTemplate "job-channel" is deleted
    # Some controllers wait longer after each attempt; an event of the ComputeDomain makes them try now.
    When "metadata.annotations" of the ComputeDomain "job" is set to {example.com/note: corrected}
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    When the ComputeDomain "job" is deleted
    Then nothing is left of the ComputeDomain "job"

  @NV-447
  Scenario: A ComputeDomain whose template name is taken gets an event
    Given a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 2 nodes
    Then the ComputeDomain "job" gets a Warning event that contains "job-channel"
    And the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "other" gets no Warning event that contains "channel"
    # The template of another ComputeDomain has the name as well.
    When a ComputeDomain "rival" is created with {numNodes: 2, channel: {resourceClaimTemplate: {name: other-channel}}}
    Then the ComputeDomain "rival" gets a Warning event that contains "other-channel"
    And the ComputeDomain "other" gets no Warning event that contains "channel"

  @NV-447 @needs:virtual-clock
  Scenario: A ComputeDomain whose template name stays taken gets the event again
    Given a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And a ComputeDomain "job" for 2 nodes
    Then the ComputeDomain "job" gets a Warning event that contains "job-channel"
    When 1300 seconds pass
    Then the Warning event of ComputeDomain "job" that contains "job-channel" comes to be recorded 2 times

  @NV-447c
  Scenario Outline: A ComputeDomain whose <kind> cannot be created again gets an event
    Given a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 2 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "other" has a DaemonSet and a claim template for its daemons
    Given the compute-domain-controller is stopped
    And the <kind> for the daemons of ComputeDomain "job" is replaced by one of its name that belongs to none
    When the compute-domain-controller is started
    Then the ComputeDomain "job" gets a Warning event that names its former <kind>, or another one
    And the ComputeDomain "other" gets no Warning event that contains "$(uid:job)"
    When the <kind> that belongs to no ComputeDomain is deleted
    And "metadata.annotations" of the ComputeDomain "job" is set to {example.com/note: corrected}
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons

    Examples:
      | kind                  |
      | DaemonSet             |
      | ResourceClaimTemplate |

  @NV-447b
  Scenario: A ComputeDomain gets its claim template when another one that had the name is deleted
    Given a ComputeDomain "other" for 2 nodes
    Then the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    When a ComputeDomain "rival" is created with {numNodes: 2, channel: {allocationMode: All, resourceClaimTemplate: {name: other-channel}}}
    Then the ComputeDomain "rival" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    # When all components are idle, only the deletion makes the controller try again.
    Given the objects of ComputeDomain "rival" are remembered
    When the ComputeDomain "other" is deleted
    Then nothing is left of the ComputeDomain "other"
    And the ComputeDomain "rival" has a claim template for its workloads with allocationMode All

  # An exponential backoff has few attempts in this time; a constant one of a few seconds has more.
  @NV-471 @needs:faults @needs:virtual-clock
  Scenario: The taken name of a claim template is not tried again and again
    Given a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And a ComputeDomain "job" for 2 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    When 30 seconds pass
    Given the requests of the ComputeDomain controller for claim templates and DaemonSets are counted
    Then the ComputeDomain controller has made at most 8 of these requests after 120 seconds

  @NV-471 @needs:faults @needs:virtual-clock
  Scenario Outline: The taken name of a <kind> for daemons is not tried again and again
    Given a ComputeDomain "job" for 2 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    Given the compute-domain-controller is stopped
    And the <kind> for the daemons of ComputeDomain "job" is replaced by one of its name that belongs to none
    When the compute-domain-controller is started
    And a ComputeDomain "other" is created with {numNodes: 2, channel: {}}
    Then the ComputeDomain "other" has a DaemonSet and a claim template for its daemons
    When 30 seconds pass
    Given the requests of the ComputeDomain controller for claim templates and DaemonSets are counted
    Then the ComputeDomain controller has made at most 8 of these requests after 120 seconds

    Examples:
      | kind                  |
      | DaemonSet             |
      | ResourceClaimTemplate |

  @NV-472
  Scenario: A ComputeDomain gets its claim template when the one of a user that had the name is deleted
    Given a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And a ComputeDomain "job" for 2 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    When 30 seconds pass
    And the ResourceClaimTemplate "job-channel" is deleted
    And 60 seconds pass
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single

  @NV-472
  Scenario: A ComputeDomain gets its DaemonSet when the one that had the name is deleted
    Given a ComputeDomain "job" for 2 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    Given the compute-domain-controller is stopped
    And the DaemonSet for the daemons of ComputeDomain "job" is replaced by one of its name that belongs to none
    When the compute-domain-controller is started
    And a ComputeDomain "other" is created with {numNodes: 2, channel: {}}
    Then the ComputeDomain "other" has a DaemonSet and a claim template for its daemons
    When 30 seconds pass
    And the DaemonSet that belongs to no ComputeDomain is deleted
    And 60 seconds pass
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons

  @NV-472b
  Scenario: A ComputeDomain gets its claim template for daemons when the one that had the name is deleted
    Given a ComputeDomain "job" for 2 nodes
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    Given the compute-domain-controller is stopped
    And the ResourceClaimTemplate for the daemons of ComputeDomain "job" is replaced by one of its name that belongs to none
    When the compute-domain-controller is started
    And a ComputeDomain "other" is created with {numNodes: 2, channel: {}}
    Then the ComputeDomain "other" has a DaemonSet and a claim template for its daemons
    When 30 seconds pass
    And the ResourceClaimTemplate that belongs to no ComputeDomain is deleted
    And 60 seconds pass
    Then the ComputeDomain "job" has a DaemonSet and a claim template for its daemons

  @NV-463
  Scenario: A ComputeDomain for more nodes than there are gets an event
    Given node "n1"
    And node "n2"
    And a ComputeDomain "huge" for 54321 nodes
    And a ComputeDomain "job" for 2 nodes
    Then the ComputeDomain "huge" gets a Warning event that contains "54321"
    And the ComputeDomain "huge" has "status.status" NotReady
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" gets no Warning event that contains "numNodes"
    When the ComputeDomain "huge" is deleted
    Then nothing is left of the ComputeDomain "huge"

  @NV-464
  Scenario Outline: A ComputeDomain gets an event if a daemon has <what>
    Given a ComputeDomain "job" for 3 nodes
    And a ComputeDomain "other" for 3 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | rack.0 | Ready  |
      | n2   | Ready | rack.0 | Ready  |
      | n3   | Ready | rack.0 | Ready  |
    And the ComputeDomain "other" has the daemons:
      | node | pod   | clique | status |
      | n4   | Ready | rack.0 | Ready  |
      | n5   | Ready | rack.1 | Ready  |
      | n6   | Ready | rack.2 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    And the ComputeDomain "other" has "status.status" Ready
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field | value   |
      | n2   | index | <index> |
    Then the ComputeDomain "job" gets a Warning event that contains "$(node:n2)"
    And the ComputeDomain "other" gets no Warning event that contains "$(node:n4)"
    And the cliques of ComputeDomain "job" come to have the nodes "n1, n2, n3"

    Examples:
      | what                     | index |
      | the index of another one | 0     |
      | an impossible index      | 99    |

  @NV-465
  Scenario: A ComputeDomain gets an event if a node without a daemon is removed from its clique
    Given a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | 0      | Ready  |
      | n2   | Ready | 0      | Ready  |
    And the ComputeDomain "other" has the daemons:
      | node | pod   | clique | status |
      | n3   | Ready | 0      | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    # An entry is added by hand; the pod of another node is deleted.
    When the ComputeDomain "job" has the daemons:
      | node   | pod  | clique | status |
      | forged | none | 0      | Ready  |
    Then the cliques of ComputeDomain "job" come to have the nodes "n1, n2"
    And the ComputeDomain "job" gets a Warning event that contains "$(node:forged)"
    When the daemon pod of node "n2" in ComputeDomain "job" is deleted
    Then the ComputeDomain "job" gets a Warning event that contains "$(node:n2)"
    And the ComputeDomain "job" gets no Warning event that contains "$(node:n1)"
    And the ComputeDomain "other" gets no Warning event that contains "$(node:n3)"

  @NV-470
  Scenario: A condition shows why a ComputeDomain has no claim template
    # Two nodes are enough for numNodes, so that no condition is about numNodes.
    Given node "n1"
    And node "n2"
    And a DeviceClass "gpu" selecting 'true'
    And a ResourceClaimTemplate "job-channel" for 1 of "gpu"
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 2 nodes
    Then the ComputeDomain "job" gets a condition that contains "job-channel"
    And the ComputeDomain "other" has a claim template for its workloads with allocationMode Single
    And the ComputeDomain "other" has no condition that contains "channel"
    When the ResourceClaimTemplate "job-channel" is deleted
    # Some controllers wait longer after each attempt; an event of the ComputeDomain makes them try now.
    And "metadata.annotations" of the ComputeDomain "job" is set to {example.com/note: corrected}
    Then the ComputeDomain "job" has a claim template for its workloads with allocationMode Single
    And this condition of the ComputeDomain "job" comes to have another status

  @NV-470
  Scenario Outline: A condition shows that a daemon has <what> until it is corrected
    Given node "n1"
    And node "n2"
    And a ComputeDomain "job" for 2 nodes
    And a ComputeDomain "other" for 1 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | rack.0 | Ready  |
      | n2   | Ready | rack.0 | Ready  |
    And the ComputeDomain "other" has the daemons:
      | node | pod   | clique | status |
      | n3   | Ready | rack.0 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    And the ComputeDomain "job" has no condition that contains "$(node:n2)"
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field | value   |
      | n2   | index | <index> |
    Then the ComputeDomain "job" gets a condition that contains "$(node:n2)"
    And the ComputeDomain "other" has no condition that contains "$(node:n3)"
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field | value |
      | n2   | index | 1     |
    Then this condition of the ComputeDomain "job" comes to have another status
    And the ComputeDomain "job" has "status.status" Ready

    Examples:
      | what                     | index |
      | the index of another one | 0     |
      | an impossible index      | 99    |

  @NV-501 @needs:virtual-clock
  Scenario: The time of a condition stays when only its message changes
    Given node "n1"
    And node "n2"
    And a ComputeDomain "job" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | rack.0 | Ready  |
      | n2   | Ready | rack.0 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field | value |
      | n1   | index | 98    |
    Then the ComputeDomain "job" gets a condition that contains "$(node:n1)"
    When 5 seconds pass
    And the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field | value |
      | n2   | index | 99    |
    Then a condition of the ComputeDomain "job" that contains "$(node:n2)" has the time of this one, or another type

  @NV-510
  Scenario: The condition of another controller stays
    Given node "n1"
    And node "n2"
    And a ComputeDomain "job" for 2 nodes
    And the ComputeDomain "job" has the daemons:
      | node | pod   | clique | status |
      | n1   | Ready | rack.0 | Ready  |
      | n2   | Ready | rack.0 | Ready  |
    Then the ComputeDomain "job" has "status.status" Ready
    When "status.conditions" of the ComputeDomain "job" is set to [{type: example.com/Audited, status: "True", reason: Audited, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]
    And the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field | value |
      | n2   | index | 99    |
    Then the ComputeDomain "job" gets a condition that contains "$(node:n2)"
    And the ComputeDomain "job" has "status.conditions" containing {type: example.com/Audited, status: "True"}
    When the entries of the clique "rack.0" of ComputeDomain "job" are changed by hand:
      | node | field | value |
      | n2   | index | 1     |
    Then this condition of the ComputeDomain "job" comes to have another status
    And the ComputeDomain "job" has "status.conditions" containing {type: example.com/Audited, status: "True"}

  @NV-470
  Scenario: A condition shows that a ComputeDomain waits for nodes that do not exist
    Given node "n1"
    And a ComputeDomain "huge" for 54321 nodes
    And a ComputeDomain "job" for 1 nodes
    Then the ComputeDomain "huge" gets a condition that contains "54321"
    And the ComputeDomain "job" has a DaemonSet and a claim template for its daemons
    And the ComputeDomain "job" has no condition that contains "numNodes"
    When the ComputeDomain "huge" is deleted
    Then nothing is left of the ComputeDomain "huge"

  @NV-462 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: The error of a claim for an unknown ComputeDomain names the domainID
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a channel claim "rank-1" on "n1" for ComputeDomain "00000000-0000-4000-8000-00000000dead"
    And a channel claim "rank-2" on "n1" for ComputeDomain "00000000-0000-4000-8000-00000000beef"
    # The kubelet records the error in an event of the pod.
    When Prepare of claim "rank-1" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "rank-1" fails at once, naming "00000000-0000-4000-8000-00000000dead"
    When Prepare of claim "rank-2" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "rank-2" fails at once, naming "00000000-0000-4000-8000-00000000beef"

  @NV-370 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A claim whose domain is a path is not prepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "bad" on "n1" for ComputeDomain "../escaped"
    And a channel claim "lost" on "n1" for ComputeDomain "../escaped"
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "bad" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "lost" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "bad" has not succeeded yet
    And Prepare of claim "lost" has not succeeded yet
    And node "n1" has no file called "escaped"
    And the ComputeDomain label of node "n1" stays "none"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0"

  @NV-371 @component:compute-domain-plugin @needs:fake-nvml @needs:own-kubelet
  Scenario: A claim that was not prepared because of its domain can be unprepared
    Given node "n1" running the ComputeDomain driver on the GPUs of "gb200-nvl72-node"
    And a ComputeDomain "job" for 1 nodes
    And a daemon claim "bad" on "n1" for ComputeDomain "team/job"
    And a channel claim "lost" on "n1" for ComputeDomain "team/job"
    And a daemon claim "imexd" on "n1" for ComputeDomain "job"
    When Prepare of claim "bad" is called on the ComputeDomain driver of "n1"
    And Prepare of claim "lost" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "bad" has not succeeded yet
    And Prepare of claim "lost" has not succeeded yet
    And Unprepare of claim "lost" succeeds on the ComputeDomain driver of "n1"
    And Unprepare of claim "bad" succeeds on the ComputeDomain driver of "n1"
    When Prepare of claim "imexd" is called on the ComputeDomain driver of "n1"
    Then Prepare of claim "imexd" returns "daemon-0"
