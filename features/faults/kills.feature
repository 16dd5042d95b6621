@component:claim-controller @component:scheduler @component:binder @needs:faults
Feature: A component is killed at each of its writes
  Two pods with two claims each are created, bound and deleted, once for each write of a component. It is killed (SIGKILL
  for a program) before or after this write, and started again. Each round ends like one without a kill: both pods are
  bound, nothing exists twice, and nothing is left. Then two pods that need all devices are bound.

  @DRA-374 @DRA-375
  Scenario Outline: Pods are bound and their claims released when the scheduler is killed <moment> each of its writes
    Given node "n1" with 4 devices
    And node "n2" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a ResourceClaimTemplate "all" for 4 of "accelerator"
    When two pods using template "one", then two using template "all", are created and deleted once for each write of the scheduler, which is killed <moment> it
    Then every round ends like the round without a fault [DRA-374]
    And after every round all devices can be allocated [DRA-375]

    @profile:faults
    Examples:
      | moment |
      | before |

    @profile:fault-sweep
    Examples:
      | moment |
      | after  |

  @KAI-263 @needs:kai
  Scenario Outline: Pods are bound and their claims released when the binder is killed <moment> each of its writes
    Given node "n1" with 4 devices
    And node "n2" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a ResourceClaimTemplate "all" for 4 of "accelerator"
    When two pods using template "one", then two using template "all", are created and deleted once for each write of the binder, which is killed <moment> it
    Then every round ends like the round without a fault
    And after every round all devices can be allocated

    @profile:faults
    Examples:
      | moment |
      | after  |

    @profile:fault-sweep
    Examples:
      | moment |
      | before |
