@profile:scheduler-core @component:scheduler @component:binder
Feature: Configuration in allocations
  The allocation contains all configuration for the drivers, so that they need no other object.

  @DRA-178
  Scenario: The configuration of a class is listed once, with its requests
    Given node "n1" with 4 devices
    And the objects of the manifest "allocation/configured_twice"
    When a pod "train" using claim "configured" is created
    Then the ResourceClaim "configured" has:
      | field                                                          | value                 |
      | status.allocation.devices.config[opaque.parameters.by=class][*].requests       | in any order [[a, b]] |
      | status.allocation.devices.config[opaque.parameters.by=class-small][*].requests | [[c/small]]           |
      | status.allocation.devices.config[opaque.parameters.by=class-big]               | []                    |

  @DRA-179 @DRA-179b @DRA-180
  Scenario: Each configuration of the claim is listed once, with its requests
    Given node "n1" with 4 devices
    And the objects of the manifest "allocation/configured_twice"
    When a pod "train" using claim "configured" is created
    Then the ResourceClaim "configured" has: [DRA-179b]
      | field                                                                        | value       |
      | status.allocation.devices.config[opaque.parameters.by=for-small][*].requests | [[c/small]] |
      | status.allocation.devices.config[opaque.parameters.by=for-big]               | []          |
    And the ResourceClaim "configured" has: [DRA-179]
      | field                                                                      | value       |
      | status.allocation.devices.config[opaque.parameters.by=for-any][*].requests | [[c]]       |
      | status.allocation.devices.config[opaque.parameters.by=for-all][*].source   | [FromClaim] |
      | status.allocation.devices.config[opaque.parameters.by=for-all][0].requests | null        |
    And the ResourceClaim "configured" has: [DRA-180]
      | field                                                                       | value                 |
      | status.allocation.devices.config[opaque.parameters.by=for-both][*].requests | in any order [[a, b]] |
