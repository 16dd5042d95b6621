@profile:scheduler-core @component:scheduler @component:binder
Feature: Admin access
  Who watches devices is given them beside those who use them, and takes nothing from anybody.

  @DRA-234b
  Scenario Outline: A pod watches the device that it uses, with <what>
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 1 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "use" for 1 of "gpu"
    And a ResourceClaim "watch" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:gpu), adminAccess: true}}]
      """
    When a pod "train" using claim "<claims>" is created
    Then claim "use" is allocated the devices "dev-0"
    And claim "watch" is allocated the devices "dev-0"

    Examples:
      | what                     | claims     |
      | the ordinary claim first | use, watch |
      | the admin claim first    | watch, use |

  @DRA-235 @DRA-236 @gate:DRAAdminAccess
  Scenario: Who watches gets every device there is, each once
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 2 devices
    And a DeviceClass "gpu" for those devices
    And a ResourceClaim "use" for 1 of "gpu"
    And a ResourceClaim "too-many" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:gpu), adminAccess: true, count: 3}}]
      """
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:gpu), adminAccess: true, allocationMode: All}}]
      """
    And a pod "train" using claim "use"
    Then pod "train" is bound to "n1" [DRA-236]
    When a pod "monitor" using claim "all" is created
    Then claim "all" is allocated the devices "dev-0, dev-1" [DRA-236]
    When a pod "greedy" using claim "too-many" is created
    Then claim "too-many" stays unallocated [DRA-235]
