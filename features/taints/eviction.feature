@profile:device-taints @component:taint-eviction
Feature: Eviction of pods from tainted devices
  A NoExecute taint means that a device must not be used. Pods that use it are deleted, at once or after the
  tolerationSeconds of their claims; other effects do not evict pods.

  @DRA-214 @DRA-225
  Scenario: A NoExecute taint evicts the pods on the device, with condition and event
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone [DRA-214]
    And the Pod "on-bad" has condition DisruptionTarget True with reason "DeletionByDeviceTaintManager" [DRA-225]
    And pod "on-bad" gets a Normal event "DeviceTaintManagerEviction" [DRA-225]
    And the Pod "on-good" still exists [DRA-214]

  @DRA-213 @DRA-215
  Scenario: NoSchedule and None do not evict pods
    Given node "n1" with 3 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-closed" runs on device "dev-1" of "n1"
    And pod "on-noted" runs on device "dev-2" of "n1"
    When device "dev-1" of "n1" is tainted "health=bad:NoSchedule"
    And device "dev-2" of "n1" is tainted "health=bad:None"
    And device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    # The eviction of this pod shows that the controller has processed all taints.
    Then pod "on-bad" is being deleted or gone [DRA-213]
    And the Pod "on-closed" still exists [DRA-213]
    And the Pod "on-noted" still exists [DRA-215]

  @DRA-222
  Scenario: A pod that tolerates NoExecute without a limit is not evicted
    Given node "n1" with 2 devices
    And pod "patient" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute}'
    And pod "other" runs on device "dev-1" of "n1" tolerating '{key: lease, operator: Exists, effect: NoExecute}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then pod "other" is being deleted or gone
    And the Pod "patient" still exists

  @DRA-221 @DRA-222 @needs:virtual-clock @component:control-plane
  Scenario: tolerationSeconds count from timeAdded of the taint
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "patient" runs on device "dev-1" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then the Pod "brief" still exists [DRA-221]
    When 20 seconds pass
    Then the Pod "brief" still exists [DRA-221]
    When 12 seconds pass
    Then pod "brief" is being deleted or gone [DRA-221]
    And the Pod "patient" still exists [DRA-222]

  @DRA-221 @needs:virtual-clock @component:control-plane
  Scenario: Of several matching tolerations the shortest counts
    Given node "n1" with 1 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '[{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {operator: Exists, effect: NoExecute, tolerationSeconds: 30}]'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then the Pod "brief" still exists
    When 32 seconds pass
    Then pod "brief" is being deleted or gone

  @DRA-223
  Scenario: A toleration without an effect does not prevent eviction
    Given node "n1" with 2 devices
    And pod "lenient" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "lenient" is being deleted or gone

  @DRA-224 @needs:virtual-clock @component:control-plane
  Scenario: Removing the taint cancels the eviction
    Given node "n1" with 1 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-0" of "n1" loses its taints
    Then pod "brief" gets a Normal event "DeviceTaintManagerEviction" that contains "Cancelling deletion"
    When 60 seconds pass
    Then the Pod "brief" still exists
