@profile:scheduler-core @component:scheduler @component:binder
Feature: Requests that cannot be met
  A claim that can never be allocated is reported as an error, unlike a claim that waits for devices.

  Scenario Outline: <what> are reported as an error
    Given node "n1" with 34 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "large" with:
      """
      requests: <requests>
      constraints: <constraints>
      """
    And a ResourceClaim "small" for 1 of "accelerator"
    When a pod "train" using claim "large" is created
    Then the Pod "train" has condition PodScheduled False with reason "SchedulerError"
    And claim "large" stays unallocated
    When a pod "other" using claim "small" is created
    Then pod "other" is bound

    @DRA-156
    Examples:
      | what                        | requests                                                                             | constraints |
      | All of more than 32 devices | [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}] | []          |

    @DRA-157
    Examples:
      | what                        | requests                                                                                                                                         | constraints |
      | More than 32 devices in sum | [{name: a, exactly: {deviceClassName: $(class:accelerator), count: 20}}, {name: b, exactly: {deviceClassName: $(class:accelerator), count: 13}}] | []          |

  Scenario Outline: <what> is allocated
    Given node "n1" with <devices> devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "large" with:
      """
      requests: <requests>
      """
    When a pod "train" using claim "large" is created
    Then pod "train" is bound to "n1"
    And the allocation of claim "large" is valid

    @DRA-156
    Examples:
      | what                       | devices | requests                                                                             |
      | A claim for all 32 devices | 32      | [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}] |

    @DRA-157
    Examples:
      | what                          | devices | requests                                                                                                                                         |
      | A claim for 32 devices        | 34      | [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 32}}]                                                                       |
      | A claim for 32 devices in sum | 34      | [{name: a, exactly: {deviceClassName: $(class:accelerator), count: 20}}, {name: b, exactly: {deviceClassName: $(class:accelerator), count: 12}}] |

  @DRA-157
  Scenario: Two claims of a pod can have more than 32 devices together
    Given node "n1" with 34 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 17 of "accelerator"
    And a ResourceClaim "two" for 17 of "accelerator"
    When a pod "train" using claim "one, two" is created
    Then pod "train" is bound to "n1"
    And the allocation of claim "one" is valid
    And the allocation of claim "two" is valid

  @DRA-173
  Scenario: All devices of which some never match are reported as an error
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]
      """
    When a pod "train" using claim "all" is created
    Then the Pod "train" has condition PodScheduled False with reason "SchedulerError"
    And claim "all" stays unallocated

  @DRA-161b
  Scenario Outline: An expression that <what> delays only its own pod
    Given node "n1"
    And the objects of the manifest "allocation/mixed"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "wrong" for 1 of "accelerator" selecting '<expression>'
    And a ResourceClaim "right" for 1 of "accelerator" selecting '"rare" in device.attributes["$(sim)"]'
    When a pod "train" using claim "wrong" is created
    Then the Pod "train" has condition PodScheduled False with reason "SchedulerError"
    And the message of condition PodScheduled of the Pod "train" contains "selector"
    When a pod "other" using claim "right" is created
    Then pod "other" is bound
    And claim "wrong" stays unallocated

    Examples:
      | what                      | expression                                                                                                                        |
      | fails on one device alone | device.attributes["$(sim)"].rare == 1 && device.capacity["$(sim)"].memory.compareTo(quantity("1Gi")) > 0                          |
      | does not return a boolean | device.attributes["$(sim)"].runtime                                                                                                |

  @DRA-167 @gate:DRAListTypeAttributes
  Scenario: includes works on lists and on single values
    Given node "n1"
    And a ResourceSlice "lists" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: other, attributes: {dra.test/group: {ints: [4]}}}
        - {name: list, attributes: {dra.test/group: {ints: [1, 2]}}}
        - {name: one, attributes: {dra.test/group: {int: 2}}}
      """
    And a DeviceClass "accelerator" selecting 'device.driver == "$(sim)" && device.attributes["dra.test"].group.includes(2)'
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), allocationMode: All}}]
      """
    When a pod "train" using claim "all" is created
    Then claim "all" is allocated the devices "list, one"
