@component:claim-controller @needs:faults
Feature: A claim controller whose requests fail
  Between the creation of a claim and its entry in the pod's status, and between the last consumer's end and the
  deallocation, a failure leaves a partial write. Whichever request fails, each pod gets its claims once, and each
  device is released.

  @DRA-340
  Scenario Outline: A claim is created once when the API server <does> <what>
    Given the objects of the manifest "claims/labelled-template"
    And the API server <does> the next 1 <what>
    When a pod "train" using template "labelled" is created
    And a pod "serve" using template "labelled" is created
    Then every pod has each of its claims once

    @profile:faults
    Examples:
      | does                              | what                       |
      | answers 429 with Retry-After 1 to | creations of ResourceClaim |
      | answers 500 to                    | creations of ResourceClaim |
      | loses its answers to              | creations of ResourceClaim |

    @profile:fault-sweep
    Examples:
      | does                 | what                  |
      | answers 409 to       | status updates of Pod |
      | loses its answers to | status updates of Pod |

  @DRA-340b @profile:faults @gate:DRAWorkloadResourceClaims
  Scenario Outline: A claim of a PodGroup is created once when the API server <does> its creation
    Given the objects of the manifest "claims/labelled-template"
    And the API server <does> the next 1 creations of ResourceClaim
    When a workload PodGroup "train" using template "labelled" as "left" is created
    Then workload PodGroup "train" has each of its claims once

    Examples:
      | does                 |
      | answers 500 to       |
      | loses its answers to |

  @DRA-341 @profile:faults
  Scenario: A claim is created once when the response is lost and watches are interrupted
    Given the objects of the manifest "claims/labelled-template"
    # Its entry has the same name, and its claim is older.
    And a pod "serve" using template "labelled"
    And pod "serve" has its claim "older"
    When the watches of ResourceClaim break and are not served
    Given the API server loses its answers to the next 1 creations of ResourceClaim
    When a pod "train" using template "labelled" is created
    And watches are served again
    Then every pod has each of its claims once

  @DRA-341 @profile:faults
  Scenario: Both claims of a pod are created once when the responses are lost and watches are interrupted
    Given the objects of the manifest "claims/labelled-template"
    When the watches of ResourceClaim break and only lists are served
    Given the API server loses its answers to the next 2 creations of ResourceClaim
    And a pod "train" using template "labelled, labelled" as "left, right"
    When every fault has affected a request
    And watches are served again
    Then every pod has each of its claims once

  @DRA-340 @needs:own-control-plane @disruptive
  Scenario Outline: A claim is created once when the API server is killed during <what>
    Given the objects of the manifest "claims/labelled-template"
    And the API server crashes after it has stored the next <what>
    When a pod "train" using template "labelled" is created
    And the crashed API server is started again
    Then every pod has each of its claims once

    @profile:fault-sweep
    Examples:
      | what                       |
      | creations of ResourceClaim |
      | status updates of Pod      |

  @DRA-342
  Scenario Outline: A claim is deallocated when the API server <does> <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And claim "mine" is allocated by hand on "n1" for pods "train"
    And the API server <does> the next 1 <what>
    When pod "train" is force-deleted
    When every fault has affected a request
    Then claim "mine" is reserved for exactly the pods ""
    And claim "mine" is deallocated
    When the ResourceClaim "mine" is deleted
    Then the ResourceClaim "mine" is gone

    @profile:faults
    Examples:
      | does                 | what                            |
      | answers 503 to       | status updates of ResourceClaim |
      | loses its answers to | updates of ResourceClaim        |

    @profile:fault-sweep
    Examples:
      | does                 | what                            |
      | loses its answers to | status updates of ResourceClaim |
      | answers 500 to       | updates of ResourceClaim        |

  @DRA-343
  Scenario Outline: Pods that are created while all watches <how> get their claims
    Given the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled"
    And pod "train" has its claim "generated"
    When all watches <how> and are not served
    And a pod "serve" using template "labelled" is created
    And watches are served again
    Then every pod has each of its claims once

    @profile:faults
    Examples:
      | how    |
      | expire |

    @profile:fault-sweep
    Examples:
      | how   |
      | break |

  @DRA-343b @profile:faults
  Scenario: Devices are released when pods are replaced while all watches expire
    Given node "n1" with 2 devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "train" using claim "mine, shared"
    And a pod "serve" using claim "shared"
    And claim "mine" is allocated by hand on "n1" for pods "train"
    And claim "shared" is allocated by hand on "n1" for pods "train, serve"
    When all watches expire and are not served
    And pod "train" is force-deleted
    And a pod "train" using claim "mine, shared" is created
    And watches are served again
    Then claim "mine" is deallocated
    And claim "mine" is reserved for exactly the pods ""
    And claim "shared" is reserved for exactly the pods "serve"

  @DRA-343 @profile:fault-sweep
  Scenario: Pods get their claims while watches break continually
    Given the objects of the manifest "claims/labelled-template"
    And watches break every 0.1 seconds
    When pods "train" 1 to 5 each using template "labelled" are created
    Then every pod has each of its claims once

  @DRA-343 @needs:own-control-plane @disruptive @profile:fault-sweep
  Scenario: Pods that are created after a restart of the API server get their claims
    Given the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled"
    And pod "train" has its claim "generated"
    When the API-server of the control plane is killed and started again
    And a pod "serve" using template "labelled" is created
    Then every pod has each of its claims once

  @DRA-342
  Scenario Outline: The claim of a finished pod is deleted when the API server <does> its deletion
    Given node "n1" with 2 devices
    And the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled"
    And pod "train" has its claim "generated"
    And claim "generated" is allocated by hand on "n1" for pods "train"
    And pod "train" is bound by hand to "n1"
    And the API server <does> the next 1 deletions of ResourceClaim
    When "status.phase" of the Pod "train" is set to Succeeded
    And every fault has affected a request
    Then the ResourceClaim "generated" is gone

    @profile:faults
    Examples:
      | does           |
      | answers 503 to |

    @profile:fault-sweep
    Examples:
      | does                         |
      | answers 409 to               |
      | loses its answers to         |
      | breaks the connection before |

  @DRA-340 @profile:fault-sweep
  Scenario Outline: A claim is created once when the API server <does> the event of its failure
    Given the objects of the manifest "claims/labelled-template"
    And the API server answers 500 to the next 1 creations of ResourceClaim
    And the API server <does> the next 1 creations of Event
    When a pod "train" using template "labelled" is created
    Then every pod has each of its claims once

    Examples:
      | does                 |
      | answers 403 to       |
      | loses its answers to |
