@component:taint-eviction @needs:faults @gate:DRADeviceTaints
Feature: An eviction whose requests fail
  Between the condition with the reason and the deletion, a pod is still on a device that must not be used. Whichever
  request fails, the pod is deleted, and no other pod is.

  @DRA-370
  Scenario Outline: A pod on a tainted device is evicted when the API server <does> <what>
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    And the API server <does> the next 1 <what>
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And every fault has affected a request
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists

    @profile:faults
    Examples:
      | does                 | what                  |
      | answers 503 to       | status updates of Pod |
      | answers 500 to       | deletions of Pod      |
      | answers 409 to       | deletions of Pod      |
      | loses its answers to | deletions of Pod      |

    @profile:fault-sweep
    Examples:
      | does                              | what                  |
      | answers 409 to                    | status updates of Pod |
      | loses its answers to              | status updates of Pod |
      | answers 429 with Retry-After 1 to | deletions of Pod      |
      | breaks the connection before      | deletions of Pod      |
      | answers 500 to                    | creations of Event    |

  @DRA-370 @gate:DRADeviceTaintRules
  Scenario Outline: A pod that a DeviceTaintRule selects is evicted when the API server <does> the rule's status update
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    And the API server <does> the next 1 status updates of DeviceTaintRule
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    And every fault has affected a request
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists

    @profile:faults
    Examples:
      | does           |
      | answers 500 to |

    @profile:fault-sweep
    Examples:
      | does                         |
      | answers 409 to               |
      | loses its answers to         |
      | breaks the connection before |

  @DRA-370 @gate:DRADeviceTaintRules @profile:faults
  Scenario: A pod that a DeviceTaintRule selects is evicted while the rule's status cannot be written
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    And the API server answers 500 to the next 1000 status updates of DeviceTaintRule
    When a DeviceTaintRule "maintenance" is created with:
      """
      deviceSelector: {driver: $(sim), pool: $(node:n1), device: dev-0}
      taint: {key: upkeep, effect: NoExecute}
      """
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists

  @DRA-370 @needs:own-control-plane @disruptive
  Scenario Outline: A pod on a tainted device is evicted when the API server is killed during <what>
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    And the API server crashes after it has stored the next <what>
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And the crashed API server is started again
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists

    @profile:fault-sweep
    Examples:
      | what                  |
      | status updates of Pod |
      | deletions of Pod      |

  @DRA-371
  Scenario Outline: A pod is evicted for a taint that is added while all watches <how>
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    When all watches <how> and are not served
    And device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And watches are served again
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists

    @profile:faults
    Examples:
      | how    |
      | expire |

    @profile:fault-sweep
    Examples:
      | how   |
      | break |
