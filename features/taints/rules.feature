@profile:device-taints @component:taint-eviction @gate:DRADeviceTaintRules
Feature: DeviceTaintRules
  An administrator taints devices with a DeviceTaintRule, whatever their driver reports.

  @DRA-226
  Scenario Outline: A rule with driver, pool and device evicts no pod on <other>
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And a ResourceClaim "other" for 1 of "gpu"
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

  @DRA-228
  Scenario: A rule with effect None reports the pods that it would evict
    Given node "n1" with 3 devices
    And node "n2" with 2 devices
    And pod "wide" runs on devices "dev-0, dev-1" of "n1"
    And pod "other" runs on device "dev-0" of "n2"
    And pod "patient" runs on device "dev-2" of "n1" tolerating '{key: upkeep, operator: Exists, effect: NoExecute}'
    And a ResourceClaim "left" for 1 of "gpu"
    And a ResourceClaim "right" for 1 of "gpu"
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
    Then the DeviceTaintRule "trial" has condition EvictionInProgress False with reason "NoEffect"
    And the message of condition EvictionInProgress of the DeviceTaintRule "trial" contains "3 pods would be evicted"
    And the Pod "one" still exists

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

  @DRA-226b @component:claim-controller @component:scheduler @component:binder
  Scenario: A device that a rule taints is not allocated
    Given node "n1" with 3 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "work" for 1 of "gpu"
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

  @DRA-226d @component:claim-controller @component:scheduler @component:binder
  Scenario: A rule without a selector taints no device
    Given node "n1" with 2 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "work" for 1 of "gpu"
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
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "work" for 1 of "gpu"
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
