@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet aligns devices by NUMA node
  The machine has the NUMA nodes 0 and 1, unless a scenario names others. The policy of the topology manager decides from
  how few NUMA nodes the devices of a container, or of a pod, must come.

  @DP-089 @DP-090
  Scenario: The policy single-numa-node refuses devices of two NUMA nodes
    Given node "n1" with a kubelet that aligns the devices of each container by "single-numa-node"
    And a scripted device plugin "nic" on "n1" with 2 devices of "example.com/nic"
    And a scripted device plugin "gpu" on "n1" with 4 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Unhealthy 0, gpu-2 Healthy 1, gpu-3 Unhealthy 1"
    When pod "two" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then the Pod "two" has "status.reason" TopologyAffinityError [DP-090]
    And the scripted device plugin "gpu" has received 0 Allocate calls [DP-090]
    When the scripted device plugin "gpu" lists "gpu-0 Unhealthy 0, gpu-1 Unhealthy 0, gpu-2 Healthy 1, gpu-3 Unhealthy 1"
    Given a pod "both" with resources of the containers:
      | name | resources                              |
      | main | example.com/gpu: 1, example.com/nic: 2 |
    When pod "both" is bound by hand to "n1"
    Then pod "both" on "n1" has the devices "gpu-2" of "gpu" [DP-089]
    And pod "both" on "n1" has the devices "nic-0, nic-1" of "nic" [DP-089]

  @DP-091
  Scenario: The policy best-effort admits devices of two NUMA nodes
    Given node "n1" with a kubelet that aligns the devices of each container by "best-effort"
    And a scripted device plugin "gpu" on "n1" with 5 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Unhealthy 0, gpu-2 Healthy 1, gpu-3 Unhealthy 1"
    When pod "two" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "two" on "n1" has the devices "gpu-0, gpu-2" of "gpu"
    When the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 0, gpu-2 Healthy 1, gpu-3 Healthy 1, gpu-4 Healthy 1"
    And pod "next" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "next" on "n1" has the devices "gpu-3, gpu-4" of "gpu"

  @DP-092
  Scenario: The policy restricted refuses devices of two NUMA nodes if one has enough in total
    Given node "n1" with a kubelet that aligns the devices of each container by "restricted"
    And a scripted device plugin "gpu" on "n1" with 4 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Unhealthy 0, gpu-2 Healthy 1, gpu-3 Unhealthy 1"
    When pod "refused" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then the Pod "refused" has "status.reason" TopologyAffinityError
    When the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-2 Healthy 1"
    And pod "two" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "two" on "n1" has the devices "gpu-0, gpu-2" of "gpu"

  Scenario Outline: Devices of two plugins are of one NUMA node, with the policy <policy>
    Given node "n1" with a kubelet that aligns the devices of each container by "<policy>"
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And a scripted device plugin "nic" on "n1" with 2 devices of "example.com/nic"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1"
    And the scripted device plugin "nic" lists "nic-0 Unhealthy 0, nic-1 Healthy 1"
    And a pod "train" with resources of the containers:
      | name | resources                              |
      | main | example.com/gpu: 1, example.com/nic: 1 |
    When pod "train" is bound by hand to "n1"
    Then pod "train" on "n1" has the devices "gpu-1" of "gpu"
    And pod "train" on "n1" has the devices "nic-1" of "nic"

    @DP-093
    Examples:
      | policy           |
      | best-effort      |
      | restricted       |
      | single-numa-node |

  @DP-093
  Scenario: A device of two NUMA nodes is aligned with a device of either
    Given node "n1" with a kubelet that aligns the devices of each container by "single-numa-node"
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And a scripted device plugin "nic" on "n1" with 2 devices of "example.com/nic"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 0+1"
    And the scripted device plugin "nic" lists "nic-0 Unhealthy 0, nic-1 Healthy 1"
    And a pod "train" with resources of the containers:
      | name | resources                              |
      | main | example.com/gpu: 1, example.com/nic: 1 |
    When pod "train" is bound by hand to "n1"
    Then pod "train" on "n1" has the devices "gpu-1" of "gpu"
    And pod "train" on "n1" has the devices "nic-1" of "nic"

  @DP-095
  Scenario: A NUMA node that the machine does not have is ignored
    Given node "n1" with a kubelet that aligns the devices of each container by "single-numa-node"
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 99, gpu-1 Healthy 1"
    When pod "train" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "train" on "n1" has the devices "gpu-1" of "gpu"

  @DP-096
  Scenario: In the scope of a pod the devices of all containers are of one NUMA node
    Given node "n1" with a kubelet that aligns the devices of each pod by "single-numa-node"
    And a scripted device plugin "gpu" on "n1" with 5 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1, gpu-2 Healthy 1, gpu-3 Unhealthy 0"
    And a pod "large" with resources of the containers:
      | name | resources          |
      | one  | example.com/gpu: 2 |
      | two  | example.com/gpu: 1 |
    When pod "large" is bound by hand to "n1"
    Then the Pod "large" has "status.reason" TopologyAffinityError
    Given a pod "fits" with resources of the containers:
      | name | resources          | kind |
      | load | example.com/gpu: 2 | init |
      | one  | example.com/gpu: 1 | main |
      | two  | example.com/gpu: 1 | main |
    When pod "fits" is bound by hand to "n1"
    Then pod "fits" on "n1" has the devices "gpu-1, gpu-2" of "gpu"

  @DP-097
  Scenario: With the policy none NUMA nodes play no part
    Given node "n1" with a kubelet that aligns the devices of each container by "none"
    And a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that wants "GetPreferredAllocation"
    And the scripted device plugin "nic" lists "nic-0 Healthy 0"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1"
    And the scripted device plugin "gpu" prefers "gpu-1"
    And a pod "train" with resources of the containers:
      | name | resources                              |
      | main | example.com/gpu: 1, example.com/nic: 1 |
    When pod "train" is bound by hand to "n1"
    Then the scripted device plugin "gpu" is called for a preference of 1 of "gpu-0, gpu-1" with ""
    And pod "train" on "n1" has the devices "gpu-1" of "gpu"

  Scenario Outline: Of equally many NUMA nodes the closest are chosen on request, with the policy <policy>
    Given the kubelet of "n1" aligns the devices of each container by "<policy>" with "prefer-closest-numa-nodes=true" on 4 NUMA nodes
    And the NUMA nodes 1 and 3 of "n1" have the distance 20
    When a kubelet starts on "n1"
    Given a scripted device plugin "gpu" on "n1" with 4 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1, gpu-2 Healthy 2, gpu-3 Healthy 3"
    When pod "two" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "two" on "n1" has the devices "gpu-1, gpu-3" of "gpu"
    When pod "one" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "one" on "n1" has the devices "gpu-0" of "gpu"

    @DP-161
    Examples:
      | policy      |
      | best-effort |
      | restricted  |

  Scenario Outline: The kubelet starts on <nodes> NUMA nodes with the policy <policy> and the options "<options>"
    Given the kubelet of "n1" aligns the devices of each container by "<policy>" with "<options>" on <nodes> NUMA nodes
    When a kubelet starts on "n1"
    Then the kubelet of "n1" has started

    @DP-162
    Examples:
      | policy      | nodes | options                    |
      | best-effort | 8     |                            |
      | restricted  | 9     | max-allowable-numa-nodes=9 |
      | none        | 9     |                            |

  Scenario Outline: The kubelet does not start on <nodes> NUMA nodes with the policy <policy> and the options "<options>"
    Given the kubelet of "n1" aligns the devices of each container by "<policy>" with "<options>" on <nodes> NUMA nodes
    When a kubelet starts on "n1"
    Then the kubelet of "n1" has not started, and the error says "<error>"

    @DP-162
    Examples:
      | policy           | nodes | options                    | error                    |
      | best-effort      | 9     |                            | NUMA                     |
      | single-numa-node | 10    | max-allowable-numa-nodes=9 | NUMA                     |
      | restricted       | 2     | max-allowable-numa-nodes=7 | max-allowable-numa-nodes |

  @DP-078
  Scenario: A plugin chooses among the aligned devices
    Given node "n1" with a kubelet that aligns the devices of each container by "single-numa-node"
    And a scripted device plugin "gpu" on "n1" with 4 devices of "example.com/gpu" that wants "GetPreferredAllocation"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1, gpu-2 Healthy 0, gpu-3 Healthy 1"
    And the scripted device plugin "gpu" prefers "gpu-3"
    When pod "all" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "all" on "n1" has the devices "gpu-0, gpu-2" of "gpu"
    And the scripted device plugin "gpu" has received 0 GetPreferredAllocation calls
    When the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1, gpu-2 Healthy 0, gpu-3 Healthy 1, gpu-4 Healthy"
    And pod "one" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then the scripted device plugin "gpu" is called for a preference of 1 of "gpu-1, gpu-3" with ""
    And pod "one" on "n1" has the devices "gpu-3" of "gpu"

  @DP-078
  Scenario: A plugin chooses among the devices of as many NUMA nodes as the resource that needs most
    Given node "n1" with a kubelet that aligns the devices of each container by "best-effort"
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that wants "GetPreferredAllocation"
    And a scripted device plugin "nic" on "n1" with 2 devices of "example.com/nic"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1"
    And the scripted device plugin "nic" lists "nic-0 Healthy 0, nic-1 Healthy 1"
    And the scripted device plugin "gpu" prefers "gpu-1"
    And a pod "train" with resources of the containers:
      | name | resources                              |
      | main | example.com/gpu: 1, example.com/nic: 2 |
    When pod "train" is bound by hand to "n1"
    Then the scripted device plugin "gpu" is called for a preference of 1 of "gpu-0, gpu-1" with ""
    And pod "train" on "n1" has the devices "gpu-1" of "gpu"
    And pod "train" on "n1" has the devices "nic-0, nic-1" of "nic"

  @DP-055
  Scenario: Aligned devices are free after GetPreferredAllocation has failed
    Given node "n1" with a kubelet that aligns the devices of each container by "best-effort"
    And a scripted device plugin "gpu" on "n1" with 3 devices of "example.com/gpu" that wants "GetPreferredAllocation"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1, gpu-2 Healthy"
    And the scripted device plugin "gpu" fails the next GetPreferredAllocation
    When pod "a" with 3 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" is not admitted
    And the scripted device plugin "gpu" has received 1 GetPreferredAllocation calls
    When pod "b" with 3 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" reaches phase Running
