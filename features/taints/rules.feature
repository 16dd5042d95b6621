@profile:device-taints @component:taint-eviction @gate:DRADeviceTaintRules
Feature: DeviceTaintRules
  An administrator taints devices with a DeviceTaintRule, whatever their driver reports.

  @DRA-226
  Scenario: A rule with driver, pool and device selects this device only
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists

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

  @DRA-228
  Scenario: A rule with effect None reports the pods that it would evict
    Given node "n1" with 2 devices
    And pod "one" runs on device "dev-0" of "n1"
    And pod "two" runs on device "dev-1" of "n1"
    When a DeviceTaintRule "trial" is created with:
      """
      deviceSelector: {driver: $(sim)}
      taint: {key: upkeep, effect: None}
      """
    Then the DeviceTaintRule "trial" has condition EvictionInProgress False with reason "NoEffect"
    And the message of condition EvictionInProgress of the DeviceTaintRule "trial" contains "2 pods would be evicted"
    And the Pod "one" still exists

  @DRA-229 @needs:virtual-clock @component:control-plane
  Scenario: A rule reports when its evictions are done
    Given node "n1" with 1 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim)}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then the DeviceTaintRule "maintenance" has condition EvictionInProgress True with reason "PodsPendingEviction"
    When 45 seconds pass
    Then pod "brief" is being deleted or gone
    When pod "brief" is force-deleted
    And 15 seconds pass
    Then the DeviceTaintRule "maintenance" has condition EvictionInProgress False with reason "Completed"

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
