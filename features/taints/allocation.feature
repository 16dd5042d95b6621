@profile:device-taints @component:claim-controller @component:scheduler @component:binder
Feature: Allocation of tainted devices
  A driver reports a problem of a device as a taint. A scheduler allocates such a device only to a request that
  tolerates all of its NoSchedule and NoExecute taints.

  @DRA-213
  Scenario: A device with a NoSchedule taint is not allocated
    Given node "n1" with 3 devices, "dev-0, dev-1" tainted "health=bad:NoSchedule"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" for 1 of "accelerator"
    When a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "dev-2"
    And pod "train" is bound to "n1"

  @DRA-214
  Scenario: A device with a NoExecute taint is not allocated
    Given node "n1" with 3 devices, "dev-0, dev-1" tainted "health=bad:NoExecute"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" for 1 of "accelerator"
    When a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "dev-2"

  @DRA-213
  Scenario: A pod that needs a tainted device waits until the taint is removed
    Given node "n1" with 2 devices, "dev-0" tainted "health=bad:NoSchedule"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" for 2 of "accelerator"
    When a pod "train" using claim "work" is created
    Then pod "train" stays unbound
    When device "dev-0" of "n1" loses its taints
    Then claim "work" is allocated the devices "dev-0, dev-1"

  @DRA-215
  Scenario: A device with a taint of effect None is allocated
    Given node "n1" with 1 devices, "dev-0" tainted "seen=once:None"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" for 1 of "accelerator"
    When a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "dev-0"

  @DRA-216
  Scenario: Every taint must be tolerated
    Given node "n1" with 1 devices, "dev-0" tainted "health=bad:NoSchedule, lease=other:NoSchedule"
    And node "n2" with 1 devices, "dev-0" tainted "health=bad:NoSchedule"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" with:
      """
      requests:
        - {name: gpu,
           exactly: {deviceClassName: $(class:accelerator), tolerations: [{key: health, operator: Equal, value: bad}]}}
      """
    When a pod "train" using claim "work" is created
    Then pod "train" is bound to "n2"

  @DRA-216 @DRA-220
  Scenario: A device with tolerated taints is allocated, and the allocation has the tolerations
    Given node "n1" with 2 devices, "dev-0" tainted "health=bad:NoSchedule, lease=other:NoExecute"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" with:
      """
      requests:
        - {name: gpu,
           exactly: {deviceClassName: $(class:accelerator), count: 2, tolerations: [{key: health, operator: Exists, effect: NoSchedule}, {key: lease, value: other, operator: Equal, effect: NoExecute, tolerationSeconds: 600}]}}
      """
    When a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "dev-0, dev-1" [DRA-216]
    # The result of the device without taints has the tolerations, too, because the device can get a taint later.
    And the ResourceClaim "work" has: [DRA-220]
      | field                                            | value                                                                                                                                         |
      | status.allocation.devices.results[0].tolerations | [{key: health, operator: Exists, effect: NoSchedule}, {key: lease, value: other, operator: Equal, effect: NoExecute, tolerationSeconds: 600}] |
      | status.allocation.devices.results[1].tolerations | [{key: health, operator: Exists, effect: NoSchedule}, {key: lease, value: other, operator: Equal, effect: NoExecute, tolerationSeconds: 600}] |

  @DRA-220 @gate:DRAPrioritizedList
  Scenario: Each result has the tolerations of its own request or alternative
    Given node "n1" with 2 devices, "dev-0, dev-1" tainted "health=bad:NoSchedule"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" with:
      """
      requests:
        - {name: one, exactly: {deviceClassName: $(class:accelerator), tolerations: [{key: health, operator: Exists}]}}
        - name: two
          firstAvailable:
            - {name: none, deviceClassName: $(class:accelerator)}
            - {name: many, deviceClassName: $(class:accelerator), count: 2, tolerations: [{key: health, operator: Equal, value: bad}]}
            - {name: few, deviceClassName: $(class:accelerator), tolerations: [{operator: Exists}]}
      """
    When a pod "train" using claim "work" is created
    Then the ResourceClaim "work" has:
      | field                                                             | value                               |
      | status.allocation.devices.results[request=one][*].tolerations     | [[{key: health, operator: Exists}]] |
      | status.allocation.devices.results[request=two/few][*].tolerations | [[{operator: Exists}]]              |

  @DRA-217
  Scenario: A toleration without a key tolerates everything
    Given node "n1" with 1 devices, "dev-0" tainted "health=bad:NoSchedule, lease=other:NoExecute"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), tolerations: [{operator: Exists}]}}]
      """
    When a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "dev-0"

  @DRA-218
  Scenario: Operator Equal compares the value
    Given node "n1" with 1 devices, "dev-0" tainted "health=bad:NoSchedule"
    And node "n2" with 1 devices, "dev-0" tainted "health=meh:NoSchedule"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" with:
      """
      requests:
        - {name: gpu,
           exactly: {deviceClassName: $(class:accelerator), tolerations: [{key: health, operator: Equal, value: meh}]}}
      """
    When a pod "train" using claim "work" is created
    Then pod "train" is bound to "n2"

  @DRA-219
  Scenario: Admin access does not tolerate taints
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 3 devices, "dev-0, dev-1" tainted "health=bad:NoSchedule"
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "monitor" with:
      """
      requests:
        - name: gpu
          exactly: {deviceClassName: $(class:accelerator), adminAccess: true, count: 1, allocationMode: ExactCount}
      """
    When a pod "watcher" using claim "monitor" is created
    Then claim "monitor" is allocated the devices "dev-2"

  Scenario Outline: A request with tolerations <tolerations> gets the device that they cover
    Given node "n1" with 4 devices, "dev-0" tainted "health=bad:NoSchedule, lease=other:NoExecute"
    When device "dev-1" of "n1" is tainted "health=meh:NoExecute"
    And device "dev-2" of "n1" is tainted "lease:NoSchedule"
    And device "dev-3" of "n1" is tainted "health=bad:NoSchedule"
    Given a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), tolerations: <tolerations>}}]
      """
    When a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "<device>"

    @DRA-217
    Examples:
      | tolerations                                                                 | device |
      | [{key: health, operator: Exists, effect: NoExecute}]                        | dev-1  |
      | [{operator: Exists, effect: NoExecute}]                                     | dev-1  |
      | [{key: health, operator: Exists, effect: NoSchedule}]                       | dev-3  |
      | [{key: lease, operator: Exists}]                                            | dev-2  |

    @DRA-218
    Examples:
      | tolerations                                                                 | device |
      | [{key: health, value: meh}]                                                 | dev-1  |
      | [{key: lease, operator: Equal}]                                             | dev-2  |
      | [{key: lease, value: other}, {key: health, value: bad, effect: NoSchedule}] | dev-0  |
