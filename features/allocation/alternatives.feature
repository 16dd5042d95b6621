@profile:scheduler-core @component:scheduler @component:binder @gate:DRAPrioritizedList
Feature: Alternatives in order of preference
  A request can list alternatives in order of preference (KEP-4816). The scheduler uses the first one with which the
  whole claim can be allocated.

  @DRA-183
  Scenario: A pod waits if no alternative can be allocated
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "either" with:
      """
      requests:
        - {name: gpu,
           firstAvailable: [{name: four, deviceClassName: $(class:accelerator), count: 4}, {name: three, deviceClassName: $(class:accelerator), count: 3}]}
      """
    When a pod "train" using claim "either" is created
    Then the Pod "train" has condition PodScheduled False with reason "Unschedulable"
    And claim "either" stays unallocated

  Scenario Outline: <what>
    Given node "n1" with <devices> devices
    And a DeviceClass "accelerator" for those devices
    And a DeviceClass "none" selecting 'device.driver == "absent.dra.test"'
    And a ResourceClaim "mine" with:
      """
      requests: <requests>
      """
    When a pod "train" using claim "mine" is created
    Then the ResourceClaim "mine" has "status.allocation.devices.results[*].request" in any order [<served>]

    @DRA-184
    Examples:
      | what                                                            | devices | requests                                                                                                                                                                                                                                                                                           | served                |
      | An alternative is replaced if a later request needs its devices | 3       | [{name: r, firstAvailable: [{name: big, deviceClassName: $(class:accelerator), count: 2}, {name: small, deviceClassName: $(class:accelerator)}]}, {name: z, exactly: {deviceClassName: $(class:accelerator), count: 2}}]                                                                           | r/small, z, z         |
      | Each request has an alternative of its own                      | 3       | [{name: r, firstAvailable: [{name: big, deviceClassName: $(class:accelerator), count: 2}, {name: small, deviceClassName: $(class:accelerator)}]}, {name: z, firstAvailable: [{name: big, deviceClassName: $(class:accelerator), count: 2}, {name: small, deviceClassName: $(class:accelerator)}]}] | r/big, r/big, z/small |

    @DRA-185
    Examples:
      | what                                                                        | devices | requests                                                                                                                                                                                                                   | served        |
      | An alternative of more than 32 devices is skipped                           | 34      | [{name: r, firstAvailable: [{name: huge, deviceClassName: $(class:accelerator), count: 33}, {name: small, deviceClassName: $(class:accelerator)}]}]                                                                        | r/small       |
      | An alternative is skipped if all requests have more than 32 devices with it | 34      | [{name: q, exactly: {deviceClassName: $(class:accelerator), count: 2}}, {name: r, firstAvailable: [{name: huge, deviceClassName: $(class:accelerator), count: 31}, {name: small, deviceClassName: $(class:accelerator)}]}] | q, q, r/small |

    @DRA-187
    Examples:
      | what                                                           | devices | requests                                                                                                                                            | served |
      | An alternative with mode All and no matching device is skipped | 1       | [{name: r, firstAvailable: [{name: all, deviceClassName: $(class:none), allocationMode: All}, {name: one, deviceClassName: $(class:accelerator)}]}] | r/one  |

  @DRA-186
  Scenario Outline: A constraint on <on> applies to the alternative <chosen>
    Given node "n1" with 3 devices
    And a DeviceClass "third" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index == 2'
    And a DeviceClass "low" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].index < 2'
    And a ResourceClaim "mine" with:
      """
      requests:
        - {name: x, exactly: {deviceClassName: $(class:third)}}
        - {name: r,
           firstAvailable: [{name: a, deviceClassName: $(class:low)}, {name: b, deviceClassName: $(class:low)}]}
      constraints: [{requests: [x, <on>], matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "mine" is created
    # This pod is bound, so the scheduler has tried the other one before.
    Given a pod "plain" without claims
    Then pod "plain" is bound to "n1"
    And <outcome>

    Examples:
      | on  | chosen | outcome                                   |
      | r   | each   | claim "mine" stays unallocated            |
      | r/a | a      | the ResourceClaim "mine" has "status.allocation.devices.results[*].request" in any order [x, r/b] |
      | r/b | b      | the ResourceClaim "mine" has "status.allocation.devices.results[*].request" in any order [x, r/a] |

  @DRA-188
  Scenario: A pod waits if the class of an alternative does not exist
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "either" with:
      """
      requests:
        - {name: gpu,
           firstAvailable: [{name: one, deviceClassName: $(class:accelerator)}, {name: two, deviceClassName: $(class:late)}]}
      """
    And a pod "train" using claim "either"
    Then the message of condition PodScheduled of the Pod "train" contains "$(class:late)"
    And claim "either" stays unallocated
    When a DeviceClass "late" selecting 'device.driver == "absent.dra.test"' is created
    Then the ResourceClaim "either" has "status.allocation.devices.results[*].request" in any order [gpu/one]

  @DRA-140
  Scenario: The node with the better alternative is preferred
    Given node "n2" with 2 devices
    And node "n1" with 1 devices
    And node "n3" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "either" with:
      """
      requests:
        - {name: gpu,
           firstAvailable: [{name: two, deviceClassName: $(class:accelerator), count: 2}, {name: one, deviceClassName: $(class:accelerator)}]}
      """
    When a pod "train" using claim "either" is created
    Then pod "train" is bound to "n2"
