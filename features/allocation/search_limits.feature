@profile:scheduler-core @component:scheduler @component:binder @needs:scheduler-arguments
Feature: Time limits of the device search
  The search for devices can take exponential time, here for one device of each row of a Latin square, without common
  columns or symbols. A scheduler stops the search after filterTimeout, reports it, and schedules other pods; a
  filterTimeout of 0 means no limit.

  @DRA-136 @DRA-136b @gate:DRAConsumableCapacity
  Scenario: A search that exceeds filterTimeout is retried when devices are added
    Given node "n1" with a Latin square of 8 rows
    And a DeviceClass "accelerator" for those devices
    And the scheduler has "filterTimeout" 50ms
    And a ResourceClaim "hard" for 8 of "accelerator" with distinct rows, columns and symbols
    And a ResourceClaim "easy" for 1 of "accelerator"
    When a pod "puzzled" using claim "hard" is created
    Then the message of condition PodScheduled of the Pod "puzzled" contains "timed out trying to allocate devices" [DRA-136]
    When a pod "modest" using claim "easy" is created
    Then pod "modest" is bound to "n1" [DRA-136b]
    When a ResourceSlice "a-solution" is published with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: s0, attributes: {dra.test/row: {int: 0}, dra.test/column: {int: 0}, dra.test/symbol: {int: 0}}}
        - {name: s1, attributes: {dra.test/row: {int: 1}, dra.test/column: {int: 1}, dra.test/symbol: {int: 1}}}
        - {name: s2, attributes: {dra.test/row: {int: 2}, dra.test/column: {int: 2}, dra.test/symbol: {int: 2}}}
        - {name: s3, attributes: {dra.test/row: {int: 3}, dra.test/column: {int: 3}, dra.test/symbol: {int: 3}}}
        - {name: s4, attributes: {dra.test/row: {int: 4}, dra.test/column: {int: 4}, dra.test/symbol: {int: 4}}}
        - {name: s5, attributes: {dra.test/row: {int: 5}, dra.test/column: {int: 5}, dra.test/symbol: {int: 5}}}
        - {name: s6, attributes: {dra.test/row: {int: 6}, dra.test/column: {int: 6}, dra.test/symbol: {int: 6}}}
        - {name: s7, attributes: {dra.test/row: {int: 7}, dra.test/column: {int: 7}, dra.test/symbol: {int: 7}}}
      """
    Then pod "puzzled" is bound to "n1" [DRA-136b]
    And the allocation of claim "hard" is valid [DRA-136b]

  @DRA-137 @gate:DRAConsumableCapacity
  Scenario: With a filterTimeout of 0 a search runs to its end
    Given node "n1" with a Latin square of 6 rows
    And a ResourceSlice "the-last-device" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: last, attributes: {dra.test/row: {int: 5}, dra.test/column: {int: 5}, dra.test/symbol: {int: 6}}}
      """
    And a DeviceClass "accelerator" for those devices
    And the scheduler has "filterTimeout" 0s
    And a ResourceClaim "hard" for 6 of "accelerator" with distinct rows, columns and symbols
    When a pod "patient" using claim "hard" is created
    Then pod "patient" is bound to "n1"
    And the allocation of claim "hard" is valid

  @DRA-136 @DRA-136b @gate-off:DRAConsumableCapacity
  Scenario: A search for devices that match is limited too, and retried when devices are added
    Given node "n1" with a Latin square of 10 rows, its columns and its symbols
    And a DeviceClass "accelerator" for those devices
    And the scheduler has "filterTimeout" 500ms
    And a ResourceClaim "hard" for 10 of "accelerator" with a column and a symbol each
    And a ResourceClaim "easy" for 1 of "accelerator"
    When a pod "puzzled" using claim "hard" is created
    Then the message of condition PodScheduled of the Pod "puzzled" contains "timed out trying to allocate devices" [DRA-136]
    When a pod "modest" using claim "easy" is created
    Then pod "modest" is bound to "n1" [DRA-136b]
    When node "n1" gets a second device for each of 10 columns and symbols
    Then pod "puzzled" is bound to "n1" [DRA-136b]
    And the allocation of claim "hard" is valid [DRA-136b]

  @DRA-137 @gate-off:DRAConsumableCapacity
  Scenario: With a filterTimeout of 0 a search for devices that match runs to its end
    Given node "n1" with a Latin square of 6 rows, its columns and its symbols
    And a ResourceSlice "the-last-devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - name: cell
          attributes:
            dra.test/kind: {string: cell}
            dra.test/row: {int: 5}
            dra.test/column: {int: 5}
            dra.test/symbol: {int: 6}
        - {name: symbol, attributes: {dra.test/kind: {string: symbol}, dra.test/symbol: {int: 6}}}
      """
    And a DeviceClass "accelerator" for those devices
    And the scheduler has "filterTimeout" 0s
    And a ResourceClaim "hard" for 6 of "accelerator" with a column and a symbol each
    When a pod "patient" using claim "hard" is created
    Then pod "patient" is bound to "n1"
    And the allocation of claim "hard" is valid

  @DRA-138
  Scenario Outline: A scheduler refuses a <argument> of <value>
    When the scheduler is started with "<argument>" <value>
    Then the scheduler does not start, because of "<argument>"

    Examples:
      | argument       | value |
      | filterTimeout  | -1s   |
      | bindingTimeout | 999ms |

  @DRA-138b @gate:DRADeviceBindingConditions
  Scenario: A scheduler refuses a bindingTimeout without its feature gate
    Given the scheduler has feature gate "DRADeviceBindingConditions" off
    When the scheduler is started with "bindingTimeout" 10s
    Then the scheduler does not start, because of "bindingTimeout"
