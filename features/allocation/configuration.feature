@profile:scheduler-core @component:scheduler @component:binder
Feature: Configuration in allocations
  The allocation carries all that drivers must know, so that they read nothing else.

  @DRA-178 @DRA-179b @DRA-180
  Scenario: Each configuration is there once, for the requests that it concerns
    Given node "n1" with 4 devices
    And the objects of the manifest "allocation/configured_twice"
    When a pod "train" using claim "configured" is created
    Then the class configuration of claim "configured" is there once, for all of "a, b" [DRA-178]
    And claim "configured" has the claim configuration "for-small" for "c/small" [DRA-179b]
    And claim "configured" has no claim configuration "for-big" [DRA-179b]
    And claim "configured" has the claim configuration "for-both" for "a, b" [DRA-180]
