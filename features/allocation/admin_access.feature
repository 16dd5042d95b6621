@profile:scheduler-core @seat:scheduler @seat:binder
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
    When a pod "train" using claims "<claims>" is created
    Then claim "use" is allocated the devices "dev-0"
    And claim "watch" is allocated the devices "dev-0"

    Examples:
      | what                     | claims     |
      | the ordinary claim first | use, watch |
      | the admin claim first    | watch, use |
