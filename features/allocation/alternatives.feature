@profile:scheduler-core @component:scheduler @component:binder @gate:DRAPrioritizedList
Feature: Alternatives in order of preference
  A request may list several ways to be served, best first (KEP-4816). The first that works with all the rest is taken.

  @DRA-183
  Scenario: Where no alternative fits, the pod waits
    Given node "n1" with 2 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "either" with:
      """
      requests: [{name: gpu, firstAvailable: [{name: four, deviceClassName: $(class:gpu), count: 4}, {name: three, deviceClassName: $(class:gpu), count: 3}]}]
      """
    When a pod "train" using claim "either" is created
    Then the Pod "train" has condition PodScheduled False with reason "Unschedulable"
    And claim "either" stays unallocated

  Scenario Outline: <what>
    Given node "n1" with <devices> devices
    And a DeviceClass "gpu" for those devices
    And a DeviceClass "none" selecting 'device.driver == "nobody.dra.test"'
    And a ResourceClaim "mine" with:
      """
      requests: <requests>
      """
    When a pod "train" using claim "mine" is created
    Then the ResourceClaim "mine" has "status.allocation.devices.results[*].request" in any order [<served>]

    @DRA-184
    Examples:
      | what                                                       | devices | requests                                                                                                                                                                                                                                         | served             |
      | An alternative is given up for a later request that needs it | 3       | [{name: r, firstAvailable: [{name: big, deviceClassName: $(class:gpu), count: 2}, {name: small, deviceClassName: $(class:gpu)}]}, {name: z, exactly: {deviceClassName: $(class:gpu), count: 2}}] | r/small, z, z |

    @DRA-185
    Examples:
      | what                                                    | devices | requests                                                                                                                                                        | served  |
      | An alternative of more than a claim can hold is passed over | 34      | [{name: r, firstAvailable: [{name: huge, deviceClassName: $(class:gpu), count: 33}, {name: small, deviceClassName: $(class:gpu)}]}] | r/small |

    @DRA-187
    Examples:
      | what                                               | devices | requests                                                                                                                                                              | served  |
      | All of nothing is no alternative; the next is tried | 1       | [{name: r, firstAvailable: [{name: all, deviceClassName: $(class:none), allocationMode: All}, {name: one, deviceClassName: $(class:gpu)}]}] | r/one |

  @DRA-186
  Scenario Outline: A constraint on <on> binds the alternative <chosen>
    Given node "n1" with 3 devices
    And a DeviceClass "third" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index == 2'
    And a DeviceClass "low" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index < 2'
    And a ResourceClaim "mine" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:third)}}
        - {name: r, firstAvailable: [{name: a, deviceClassName: $(class:low)}, {name: b, deviceClassName: $(class:low)}]}
      constraints: [{requests: [x, <on>], matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "mine" is created
    # The scheduler is at work, so that who waits was looked at.
    Given a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    And <outcome>

    Examples:
      | on  | chosen | outcome                                   |
      | r   | each   | claim "mine" stays unallocated            |
      | r/a | a      | the ResourceClaim "mine" has "status.allocation.devices.results[*].request" in any order [x, r/b] |
      | r/b | b      | the ResourceClaim "mine" has "status.allocation.devices.results[*].request" in any order [x, r/a] |

  @DRA-188
  Scenario: An alternative of a class that does not exist keeps the pod waiting
    Given node "n1" with 1 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "either" with:
      """
      requests: [{name: gpu, firstAvailable: [{name: one, deviceClassName: $(class:gpu)}, {name: two, deviceClassName: $(class:late)}]}]
      """
    And a pod "train" using claim "either"
    Then the message of condition PodScheduled of the Pod "train" contains "$(class:late)"
    And claim "either" stays unallocated
    When a DeviceClass "late" selecting 'device.driver == "nobody.dra.test"' is created
    Then the ResourceClaim "either" has "status.allocation.devices.results[*].request" in any order [gpu/one]

  @DRA-140
  Scenario: The node with the better alternative is preferred
    Given node "n2" with 2 devices
    And node "n1" with 1 devices
    And node "n3" with 1 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "either" with:
      """
      requests: [{name: gpu, firstAvailable: [{name: two, deviceClassName: $(class:gpu), count: 2}, {name: one, deviceClassName: $(class:gpu)}]}]
      """
    When a pod "train" using claim "either" is created
    Then pod "train" is bound to "n2"
