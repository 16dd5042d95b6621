@profile:device-taints @component:taint-eviction @gate:DRADeviceTaintRules
Feature: DeviceTaintRules
  An administrator taints devices with a DeviceTaintRule, whatever their driver reports.

  @DRA-226
  Scenario Outline: A rule with driver, pool and device evicts no pod on <other>
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a pod "beside" using claim "other"
    And "status.allocation" of the ResourceClaim "other" is set to {devices: {results: [{request: gpu, driver: <driver>, pool: $(node:<pool>), device: <device>}]}}
    And claim "other" is reserved by hand for pods "beside"
    And pod "beside" is bound by hand to "n1"
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "on-bad" is being deleted or gone
    And the Pod "beside" still exists

    Examples:
      | other                                   | driver         | pool | device |
      | another device of the pool              | $(sim)         | n1   | dev-1  |
      | a device of this name in another pool   | $(sim)         | n2   | dev-0  |
      | a device of this name of another driver | other.dra.test | n1   | dev-0  |

  @DRA-226
  Scenario Outline: A rule with <fields> selects every device that has them
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And pod "one" runs on device "dev-0" of "n1"
    And pod "two" runs on device "<device>" of "<node>"
    And pod "other" runs on device "<other>" of "n2"
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), <selector>}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "one" is being deleted or gone
    And pod "two" is being deleted or gone
    And the Pod "other" still exists

    Examples:
      | fields            | selector         | device | node | other |
      | driver and pool   | pool: $(node:n1) | dev-1  | n1   | dev-0 |
      | driver and device | device: dev-0    | dev-0  | n2   | dev-1 |

  @DRA-226
  Scenario: A pod stays if it tolerates the taint of a rule
    Given node "n1" with 2 devices
    And pod "one" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute}'
    And pod "two" runs on device "dev-1" of "n1" tolerating '{key: upkeep, operator: Exists, effect: NoExecute}'
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim)}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "one" is being deleted or gone
    And the Pod "two" still exists

  @DRA-226
  Scenario: A rule without a selector evicts no pod
    Given node "n1" with 2 devices
    And pod "one" runs on device "dev-0" of "n1"
    And pod "two" runs on device "dev-1" of "n1"
    When a DeviceTaintRule "nothing" is created with:
      """
      taint: {key: upkeep, effect: NoExecute}
      """
    And a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "one" is being deleted or gone
    And the Pod "two" still exists

  @DRA-226b @component:claim-controller @component:scheduler @component:binder
  Scenario: Devices that are published while a rule exists are allocated
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a pod "one" using claim "first" is created
    Then pod "one" stays unbound
    When "spec.devices" of the ResourceSlice "pool-n1" is set to [{name: dev-0}, {name: dev-1}]
    Then claim "first" is allocated the devices "dev-1"
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound

  @DRA-226
  Scenario: A rule with an empty selector selects every device
    Given node "n1" with 1 devices
    And pod "one" runs on device "dev-0" of "n1"
    # With effect None, because other scenarios may use the same cluster.
    When a DeviceTaintRule "trial" is created with:
      """
      deviceSelector: {}
      taint: {key: upkeep, effect: None}
      """
    Then the DeviceTaintRule "trial" has:
      | field                                                 | value                                           |
      | status.conditions[type=EvictionInProgress][0].message | like ".* [1-9][0-9]* pods? would be evicted .*" |
    And the Pod "one" still exists

  @DRA-228 @DRA-228b
  Scenario: A rule with effect None reports the pods that it would evict
    Given node "n1" with 5 devices
    And node "n2" with 2 devices
    And a ResourceSlice "older" with:
      """
      nodeName: $(node:n1)
      pool: {name: $(node:n1), generation: 0, resourceSliceCount: 1}
      devices: [{name: dev-7}, {name: dev-8}]
      """
    # A pool of this name of another driver has generations of its own.
    And a ResourceSlice "namesake" with:
      """
      driver: other.dra.test
      nodeName: $(node:n1)
      pool: {name: $(node:n1), generation: 7, resourceSliceCount: 1}
      devices: [{name: dev-0}]
      """
    And pod "wide" runs on devices "dev-0, dev-1" of "n1"
    And pod "other" runs on device "dev-0" of "n2"
    And pod "patient" runs on device "dev-2" of "n1" tolerating '{key: upkeep, operator: Exists, effect: NoExecute}'
    And a ResourceClaim "left" for 1 of "accelerator"
    And a ResourceClaim "right" for 1 of "accelerator"
    And claim "left" holds the devices "dev-0" of "n1"
    And claim "right" holds the devices "dev-1" of "n1"
    And a pod "one" using claim "left, right"
    And a pod "two" using claim "right"
    And a pod "waiting" using claim "right"
    And claim "left" is reserved by hand for pods "one"
    And claim "right" is reserved by hand for pods "one, two, waiting"
    And pod "one" is bound by hand to "n1"
    And pod "two" is bound by hand to "n1"
    When a DeviceTaintRule "trial" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1)}
      taint: {key: upkeep, effect: None}
      """
    Then the DeviceTaintRule "trial" has condition EvictionInProgress False with reason "NoEffect" [DRA-228]
    And the message of condition EvictionInProgress of the DeviceTaintRule "trial" contains "3 pods would be evicted" [DRA-228]
    # Results of allocations: two of `wide`, one each of `left`, `right` and `patient`.
    And the DeviceTaintRule "trial" has: [DRA-228b]
      | field                                                             | value                                                                                                         |
      | status.conditions[type=EvictionInProgress][0].message             | like "5 published devices selected. 5 allocated devices selected. 3 pods would be evicted in 1 namespace .*" |
      | status.conditions[type=EvictionInProgress][0].lastTransitionTime  | the present time                                                                                              |
      | status.conditions[type=EvictionInProgress][0].observedGeneration  | 1                                                                                                             |
    And the Pod "one" still exists [DRA-228]
    # No text of the condition depends on the value.
    When "spec.taint.value" of the DeviceTaintRule "trial" is set to later
    Then the DeviceTaintRule "trial" has "status.conditions[type=EvictionInProgress][0].observedGeneration" 2 [DRA-228b]

  @DRA-228b
  Scenario Outline: The message of a rule with effect None counts <devices>
    Given node "n1" with 2 devices
    And pod "one" runs on device "dev-0" of "n1"
    When a DeviceTaintRule "trial" is created with:
      """
      deviceSelector: {driver: $(sim), device: <device>}
      taint: {key: upkeep, effect: None}
      """
    Then the DeviceTaintRule "trial" has:
      | field                                                 | value                 |
      | status.conditions[type=EvictionInProgress][0].message | like "<message> .*" |

    Examples:
      | devices        | device | message                                                                                                       |
      | a used device  | dev-0  | 1 published device selected. 1 allocated device selected. 1 pod would be evicted in 1 namespace               |
      | a free device  | dev-1  | 1 published device selected. 0 allocated devices selected. 0 pods would be evicted in 0 different namespaces  |
      | no device      | dev-2  | 0 published devices selected. 0 allocated devices selected. 0 pods would be evicted in 0 different namespaces |

  @DRA-229c
  Scenario Outline: No eviction is in progress for a rule with effect <effect> that <does>
    Given node "n1" with 2 devices
    And pod "one" runs on device "dev-0" of "n1"
    When a DeviceTaintRule "idle" is created with:
      """
      deviceSelector: {driver: $(sim), device: <device>}
      taint: {key: upkeep, effect: <effect>}
      """
    Then the DeviceTaintRule "idle" has condition EvictionInProgress False with reason "<reason>"
    And the DeviceTaintRule "idle" has:
      | field                                                            | value            |
      | status.conditions[type=EvictionInProgress][0].message            | <message>        |
      | status.conditions[type=EvictionInProgress][0].lastTransitionTime | the present time |
    And the Pod "one" still exists

    Examples:
      | effect     | does                    | device | reason      | message                             |
      | NoSchedule | selects a used device   | dev-0  | OtherEffect | like "Eviction only happens .*"     |
      | NoExecute  | selects no used device  | dev-1  | NotStarted  | empty                               |

  @DRA-226 @DRA-229d
  Scenario: A rule whose effect changes evicts from then on
    Given node "n1" with 2 devices
    And pod "one" runs on device "dev-0" of "n1"
    And pod "two" runs on device "dev-1" of "n1"
    When a DeviceTaintRule "trial" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-0}
      taint: {key: upkeep, effect: NoSchedule}
      """
    Then the DeviceTaintRule "trial" has condition EvictionInProgress False with reason "OtherEffect" [DRA-229d]
    And the DeviceTaintRule "trial" has "status.conditions[type=EvictionInProgress][0].observedGeneration" 1 [DRA-229d]
    When "spec.taint.effect" of the DeviceTaintRule "trial" is set to NoExecute
    Then pod "one" is being deleted or gone [DRA-226]
    And the DeviceTaintRule "trial" has "status.conditions[type=EvictionInProgress][0].observedGeneration" 2 [DRA-229d]
    And the Pod "two" still exists [DRA-226]
    When "spec.deviceSelector.device" of the DeviceTaintRule "trial" is set to dev-1
    Then pod "two" is being deleted or gone [DRA-226]
    And the DeviceTaintRule "trial" has "status.conditions[type=EvictionInProgress][0].observedGeneration" 3 [DRA-229d]

  @DRA-229 @DRA-229b @DRA-229d @needs:virtual-clock @component:control-plane
  Scenario: A rule counts the pods that it evicts, now and later
    Given node "n1" with 4 devices
    And pod "first" runs on device "dev-0" of "n1"
    And pod "second" runs on device "dev-1" of "n1"
    And pod "brief" runs on device "dev-2" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim)}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then the DeviceTaintRule "maintenance" has: [DRA-229b]
      | field                                                 | value                                            |
      | status.conditions[type=EvictionInProgress][0].message | 3 pods need to be evicted in 1 namespace. |
    And pod "first" is being deleted or gone [DRA-229]
    And pod "second" is being deleted or gone [DRA-229]
    When "status.conditions[1]" of the DeviceTaintRule "maintenance" is set to {type: dra.test/Seen, status: "True", reason: Seen, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}
    And 12 seconds pass
    Then the DeviceTaintRule "maintenance" has: [DRA-229b]
      | field                                                            | value                                                                                                |
      | status.conditions[type=EvictionInProgress][0].message            | 1 pod needs to be evicted in 1 namespace. 2 pods evicted since starting the controller. |
    And the DeviceTaintRule "maintenance" has "status.conditions[type=dra.test/Seen][0].status" "True" [DRA-229d]
    When 20 seconds pass
    Then pod "brief" is being deleted or gone [DRA-229]
    When 12 seconds pass
    Then the DeviceTaintRule "maintenance" has condition EvictionInProgress False with reason "Completed" [DRA-229]
    And the DeviceTaintRule "maintenance" has: [DRA-229b]
      | field                                                 | value                                                 |
      | status.conditions[type=EvictionInProgress][0].message | 3 pods evicted since starting the controller.  |
    Given pod "late" runs on device "dev-3" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 1000}'
    When 12 seconds pass
    Then the DeviceTaintRule "maintenance" has condition EvictionInProgress True with reason "PodsPendingEviction" [DRA-229]

  @DRA-229 @DRA-229b @needs:virtual-clock @component:control-plane
  Scenario: Each of two rules counts the pods that it evicts
    Given node "n1" with 3 devices
    And pod "brief" runs on devices "dev-0, dev-1" of "n1"
    And pod "other" runs on device "dev-1" of "n1"
    And pod "longer" runs on device "dev-2" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 300}'
    When a DeviceTaintRule "left" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-1}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "brief" is being deleted or gone [DRA-229]
    And pod "other" is being deleted or gone [DRA-229]
    When a DeviceTaintRule "right" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-2}
      taint: {key: upkeep, effect: NoExecute}
      """
    And 12 seconds pass
    Then the DeviceTaintRule "left" has: [DRA-229b]
      | field                                                 | value                                          |
      | status.conditions[type=EvictionInProgress][0].message | 2 pods evicted since starting the controller.  |
    And the DeviceTaintRule "right" has: [DRA-229b]
      | field                                                 | value                                     |
      | status.conditions[type=EvictionInProgress][0].message | 1 pod needs to be evicted in 1 namespace. |
    When the DeviceTaintRule "left" is deleted
    And a DeviceTaintRule "left" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-1}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then the DeviceTaintRule "left" has condition EvictionInProgress False with reason "NotStarted" [DRA-229]

  @DRA-229b @needs:virtual-clock @component:control-plane
  Scenario: A pod that two rules evict is counted by both
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When a DeviceTaintRule "left" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    And a DeviceTaintRule "right" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1)}
      taint: {key: repair, effect: NoExecute}
      """
    Then the DeviceTaintRule "left" has condition EvictionInProgress True with reason "PodsPendingEviction"
    And the DeviceTaintRule "right" has condition EvictionInProgress True with reason "PodsPendingEviction"
    When 32 seconds pass
    Then pod "brief" is being deleted or gone
    When 12 seconds pass
    Then the DeviceTaintRule "left" has:
      | field                                                 | value                                        |
      | status.conditions[type=EvictionInProgress][0].message | 1 pod evicted since starting the controller. |
    And the DeviceTaintRule "right" has:
      | field                                                 | value                                        |
      | status.conditions[type=EvictionInProgress][0].message | 1 pod evicted since starting the controller. |

  @DRA-229e @DRA-229f @needs:virtual-clock @component:control-plane
  Scenario: A pod that is deleted by its user is no longer pending
    Given node "n1" with 2 devices
    And pod "longer" runs on device "dev-0" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 300}'
    And pod "other" runs on device "dev-1" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 300}'
    And the ResourceClaim "other" is being deleted
    When a DeviceTaintRule "left" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    And a DeviceTaintRule "right" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-1}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then the DeviceTaintRule "left" has condition EvictionInProgress True with reason "PodsPendingEviction" [DRA-229e]
    When 12 seconds pass
    Given the DeviceTaintRule "left" is remembered
    # One pod waits for its eviction before and after.
    And pod "another" runs on device "dev-0" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 300}'
    When pod "longer" is force-deleted
    And 12 seconds pass
    Then the DeviceTaintRule "left" is unchanged [DRA-229f]
    When pod "another" is force-deleted
    And 12 seconds pass
    Then the DeviceTaintRule "left" has condition EvictionInProgress False with reason "NotStarted" [DRA-229e]
    And the DeviceTaintRule "right" has condition EvictionInProgress True with reason "PodsPendingEviction" [DRA-229e]
    When "status.reservedFor" of the ResourceClaim "other" is set to null
    And 12 seconds pass
    Then the DeviceTaintRule "right" has condition EvictionInProgress False with reason "NotStarted" [DRA-229e]

  @DRA-229 @needs:virtual-clock @component:control-plane
  Scenario: A rule reports when its own evictions are done
    Given node "n1" with 3 devices
    And pod "first" runs on device "dev-0" of "n1"
    And pod "brief" runs on device "dev-1" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "longer" runs on device "dev-2" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 300}'
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    And a DeviceTaintRule "later" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-1}
      taint: {key: upkeep, effect: NoExecute}
      """
    And a DeviceTaintRule "last" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-2}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "first" is being deleted or gone
    And the DeviceTaintRule "later" has condition EvictionInProgress True with reason "PodsPendingEviction"
    When pod "first" is force-deleted
    And 15 seconds pass
    Then the DeviceTaintRule "maintenance" has condition EvictionInProgress False with reason "Completed"
    And the DeviceTaintRule "later" has condition EvictionInProgress True with reason "PodsPendingEviction"
    When 30 seconds pass
    Then pod "brief" is being deleted or gone
    When pod "brief" is force-deleted
    And 15 seconds pass
    Then the DeviceTaintRule "later" has condition EvictionInProgress False with reason "Completed"
    And the DeviceTaintRule "last" has condition EvictionInProgress True with reason "PodsPendingEviction"

  @DRA-224 @needs:virtual-clock @component:control-plane
  Scenario: Deleting a rule cancels its evictions
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "gone" runs on device "dev-1" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    And a DeviceTaintRule "other" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-1}
      taint: {key: upkeep, effect: NoExecute}
      """
    And 10 seconds pass
    And the DeviceTaintRule "maintenance" is deleted
    Then pod "brief" gets a Normal event "DeviceTaintManagerEviction" that contains "Cancelling deletion"
    When 60 seconds pass
    Then the Pod "brief" still exists
    And pod "gone" is being deleted or gone

  @DRA-224 @needs:virtual-clock @component:control-plane
  Scenario: Another effect of a rule cancels its evictions
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    And 10 seconds pass
    And "spec.taint.effect" of the DeviceTaintRule "maintenance" is set to NoSchedule
    Then pod "brief" gets a Normal event "DeviceTaintManagerEviction" that contains "Cancelling deletion"
    When 60 seconds pass
    Then the Pod "brief" still exists

  @DRA-226b @component:claim-controller @component:scheduler @component:binder
  Scenario: A device that a rule taints is not allocated
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" for 1 of "accelerator"
    When a DeviceTaintRule "zero" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a DeviceTaintRule "one" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-1}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "dev-2"

  @DRA-226b @component:claim-controller @component:scheduler @component:binder
  Scenario: A device that two rules taint is allocated to a request that tolerates both taints, and to no other
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), tolerations: [{key: upkeep, operator: Exists}]}}]
      """
    And a ResourceClaim "second" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), tolerations: [{key: repair, operator: Exists}]}}]
      """
    And a ResourceClaim "both" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), tolerations: [{key: repair, operator: Exists}, {key: upkeep, operator: Exists}]}}]
      """
    When a DeviceTaintRule "a-pool" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1)}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a DeviceTaintRule "b-device" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-0}
      taint: {key: repair, effect: NoSchedule}
      """
    And a pod "one" using claim "first" is created
    And a pod "two" using claim "second" is created
    Then pod "one" stays unbound
    And pod "two" stays unbound
    When a pod "three" using claim "both" is created
    Then pod "three" is bound to "n1"

  @DRA-226b @component:claim-controller @component:scheduler @component:binder
  Scenario: A device is allocated again when the rules that taint it are deleted or changed
    Given node "n1" with 2 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "one" for 1 of "accelerator"
    And a ResourceClaim "two" for 1 of "accelerator"
    And a ResourceClaim "three" for 1 of "accelerator"
    When a DeviceTaintRule "pool" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1)}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a DeviceTaintRule "device" is created with:
      """
      deviceSelector: {driver: $(sim), device: dev-1}
      taint: {key: repair, value: soon, effect: NoExecute}
      """
    And a DeviceTaintRule "elsewhere" is created with:
      """
      deviceSelector: {driver: other.dra.test}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a pod "first" using claim "one" is created
    Then pod "first" is bound to "n2"
    When a pod "second" using claim "two" is created
    Then pod "second" stays unbound
    When the DeviceTaintRule "pool" is deleted
    Then pod "second" is bound to "n1"
    And claim "two" is allocated the devices "dev-0"
    When a pod "third" using claim "three" is created
    Then pod "third" stays unbound
    When "spec.taint.effect" of the DeviceTaintRule "device" is set to None
    Then pod "third" is bound to "n1"
    And claim "three" is allocated the devices "dev-1"

  @DRA-226d @component:claim-controller @component:scheduler @component:binder
  Scenario: A rule without a selector taints no device
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" for 1 of "accelerator"
    When a DeviceTaintRule "nothing" is created with:
      """
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a DeviceTaintRule "zero" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And a pod "train" using claim "work" is created
    Then claim "work" is allocated the devices "dev-1"

  @DRA-226c @component:claim-controller @component:scheduler @component:binder @disruptive
  Scenario: The scheduler does not crash when a slice changes while a rule exists
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "work" for 1 of "accelerator"
    When a DeviceTaintRule "zero" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoSchedule}
      """
    And device "dev-1" of "n1" is tainted "seen=once:None"
    And a pod "train" using claim "work" is created
    Then pod "train" is bound to "n1"

  @DRA-227 @needs:virtual-clock @component:control-plane
  Scenario: Changing the effect of a rule resets timeAdded
    When a DeviceTaintRule "trial" is created with:
      """
      deviceSelector: {driver: $(sim)}
      taint: {key: upkeep, effect: None}
      """
    And 20 seconds pass
    And "spec.taint.effect" of the DeviceTaintRule "trial" is set to NoExecute
    Then the taint of the DeviceTaintRule "trial" counts from 20 seconds later

  @DRA-230 @component:control-plane
  Scenario: A rule with an unknown effect is refused
    When a DeviceTaintRule "tried" is created with:
      """
      deviceSelector: {driver: $(sim)}
      taint: {key: upkeep, effect: PreferNoSchedule}
      """
    Then the API server refuses it: NotSupported at "spec.taint.effect"
