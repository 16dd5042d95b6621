@profile:fault-sweep @component:claim-controller @component:scheduler @component:binder @needs:faults
Feature: Every write fails once, in every way
  The writes of an undisturbed run are recorded. Then the run is repeated once for each of them, and that write fails.
  The result has to be the same: the pod is bound, its claim is created once, and its device is valid and released
  after the pod is deleted.

  @DRA-344
  Scenario Outline: Pods are bound and their claims released when each write in turn is <fault>
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    When a pod using template "one" is created and deleted once for each write, and that write is <fault>
    Then every round ends like the round without a fault

    Examples:
      | fault                         |
      | answered 409                  |
      | answered 429                  |
      | answered 500                  |
      | answered 503                  |
      | lost before it is carried out |
      | carried out without an answer |
      | answered late                 |
