@component:claim-controller @component:scheduler @component:binder @needs:faults
Feature: Scheduling while requests fail
  From the decision to the binding, devices are reserved first in memory, then by a BindRequest, then by a claim's
  status. Whichever request fails in between, the pod is bound without intervention, and no device is allocated twice.

  @DRA-344 @DRA-345
  Scenario Outline: Pods are bound when the API server <does> <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And the API server <does> the next 1 <what>
    When pods "train" 1 to 2 each using template "one" are created
    Then every pod is bound [DRA-344]
    And every allocation is valid, and no device is allocated twice [DRA-345]

    @profile:faults
    Examples:
      | does                 | what                            |
      | loses its answers to | status updates of ResourceClaim |
      | answers 500 to       | bindings of Pod                 |
      | loses its answers to | bindings of Pod                 |
      | carries out and answers 504 to | bindings of Pod       |

    @profile:fault-sweep
    Examples:
      | does                              | what                            |
      | loses its answers to              | updates of ResourceClaim        |
      | answers 503 to                    | status updates of ResourceClaim |
      | answers 429 with Retry-After 1 to | bindings of Pod                 |

  @DRA-344 @DRA-345 @needs:kai
  Scenario Outline: Pods are bound when the API server <does> the creation of a BindRequest
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And the API server <does> the next 1 creations of BindRequest
    When pods "train" 1 to 2 each using template "one" are created
    Then every pod is bound [DRA-344]
    And every allocation is valid, and no device is allocated twice [DRA-345]

    @profile:faults
    Examples:
      | does                 |
      | answers 409 to       |
      | loses its answers to |

    @profile:fault-sweep
    Examples:
      | does                                 |
      | delays its answers by 0.2 seconds to |

  @DRA-344 @DRA-345 @needs:own-control-plane @disruptive
  Scenario Outline: Pods are bound when the API server is killed during <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And the API server crashes after it has stored the next <what>
    When a pod "train" using template "one" is created
    And the crashed API server is started again
    And a pod "serve" using template "one" is created
    Then every pod is bound [DRA-344]
    And every allocation is valid, and no device is allocated twice [DRA-345]

    @profile:faults
    Examples:
      | what                            |
      | status updates of ResourceClaim |

  @DRA-345
  Scenario Outline: A single device is allocated once when the API server <does> <what>
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And the API server <does> the next 1 <what>
    When pods "train" 1 to 3 each using template "one" are created
    Then every pod is bound or has a reason why not
    And every allocation is valid, and no device is allocated twice

    @profile:faults
    Examples:
      | does                 | what            |
      | loses its answers to | bindings of Pod |
      | answers 500 to       | bindings of Pod |

  @DRA-345 @needs:kai @profile:faults
  Scenario: A single device is allocated once when the response is lost and watches are interrupted
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    When the watches of BindRequest break and are not served
    Given the API server loses its answers to the next 1 creations of BindRequest
    When pods "train" 1 to 2 each using template "one" are created
    And watches are served again
    Then every pod is bound or has a reason why not
    And every BindRequest is Succeeded or Failed
    And every allocation is valid, and no device is allocated twice

  @DRA-345 @needs:direct-binding @profile:faults
  Scenario: A single device is allocated once when an allocation is stored and neither answer nor watch says so
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When the watches of ResourceClaim break and are not served
    Given the API server loses its answers to the next 1 status updates of ResourceClaim
    When a pod "one" using claim "first" is created
    And every fault has affected a request
    And a pod "two" using claim "second" is created
    Then every pod is bound or has a reason why not
    When watches are served again
    Then every pod is bound or has a reason why not
    And every allocation is valid, and no device is allocated twice

  @DRA-345 @needs:direct-binding @profile:faults
  Scenario: A single device is allocated once when an allocation is stored, the answer is 504 and no watch says so
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    When the watches of ResourceClaim break and are not served
    Given the API server carries out and answers 504 to the next 1 status updates of ResourceClaim
    When a pod "one" using claim "first" is created
    And every fault has affected a request
    And a pod "two" using claim "second" is created
    Then every pod is bound or has a reason why not
    When watches are served again
    Then every pod is bound or has a reason why not
    And every allocation is valid, and no device is allocated twice

  @DRA-344 @profile:faults
  Scenario: A pod is bound although the report that it has no room fails when it has room again
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "held" for 1 of "accelerator"
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "held" holds the devices "dev-0" of "n1"
    And claim "held" is deleted while the scheduler reports pod "train", and the API server answers 500
    When a pod "train" using claim "mine" is created
    Then pod "train" is bound to "n1"

  @DRA-346
  Scenario Outline: Pods that are created while all watches <how> are scheduled
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one"
    Then every pod is bound
    When all watches <how> and are not served
    And a pod "serve" using template "one" is created
    And watches are served again
    Then every pod is bound

    @profile:faults
    Examples:
      | how    |
      | expire |

    @profile:fault-sweep
    Examples:
      | how   |
      | break |

  @DRA-346 @profile:faults
  Scenario: Pods are scheduled while watches break continually
    Given node "n1" with 5 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And watches break every 0.1 seconds
    When pods "train" 1 to 5 each using template "one" are created
    Then every pod is bound
    And every allocation is valid, and no device is allocated twice

  @DRA-346 @needs:own-control-plane @disruptive @profile:faults
  Scenario: Pods that are created after a restart of the API server are scheduled
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one"
    Then every pod is bound
    When the API-server of the control plane is killed and started again
    And a pod "serve" using template "one" is created
    Then every pod is bound
    And every allocation is valid, and no device is allocated twice

  @DRA-346 @needs:own-etcd @disruptive @profile:faults
  Scenario: Pods that are created after a restart of etcd are scheduled
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one"
    Then every pod is bound
    When the etcd of the control plane is killed and started again
    And a pod "serve" using template "one" is created
    Then every pod is bound
    And every allocation is valid, and no device is allocated twice

  @DRA-344 @DRA-345 @needs:kai
  Scenario Outline: A pod is bound after a failed BindRequest when the API server <does> the deletion of the BindRequest
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And the API server answers 403 to the next 1 bindings of Pod
    And the API server <does> the next 1 deletions of BindRequest
    When a pod "train" using template "one" is created
    Then every pod is bound [DRA-344]
    And every allocation is valid, and no device is allocated twice [DRA-345]

    @profile:faults
    Examples:
      | does           |
      | answers 500 to |

    @profile:fault-sweep
    Examples:
      | does                 |
      | answers 409 to       |
      | loses its answers to |

  @DRA-373
  Scenario Outline: A pod that does not fit gets its condition when the API server <does> the update of its status
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 2 of "accelerator"
    And the API server <does> the next 1 status updates of Pod
    When a pod "train" using claim "mine" is created
    And every fault has affected a request
    Then the Pod "train" has condition PodScheduled False with reason "Unschedulable"

    @profile:faults
    Examples:
      | does           |
      | answers 503 to |

    @profile:fault-sweep
    Examples:
      | does                 |
      | answers 500 to       |
      | loses its answers to |

  @DRA-344 @DRA-345 @needs:direct-binding @gate:DRADeviceBindingConditions
  Scenario Outline: A claim whose device fails is deallocated when the API server <does> the update of its status
    Given the scheduler binds pods itself
    And node "n1"
    And a ResourceSlice "slow" with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev, bindingConditions: [dra.test/ready], bindingFailureConditions: [dra.test/failed]}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    Then claim "mine" is reserved for pod "train" [DRA-345]
    Given the API server <does> the next 1 status updates of ResourceClaim
    When device "dev" of claim "mine" reports "dra.test/failed" True
    And every fault has affected a request
    Then claim "mine" is allocated again, without device conditions [DRA-344]
    When device "dev" of claim "mine" reports "dra.test/ready" True
    Then every pod is bound [DRA-344]

    @profile:fault-sweep
    Examples:
      | does                 |
      | answers 409 to       |
      | answers 500 to       |
      | loses its answers to |

  @DRA-344 @DRA-345 @needs:direct-binding @gate:DRAExtendedResource @profile:fault-sweep
  Scenario Outline: A claim of an earlier attempt is replaced when the API server <does> <what> of claims
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "left" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    And "metadata.finalizers" of the ResourceClaim "left" is set to [resource.kubernetes.io/delete-protection]
    And claim "left" holds the devices "dev-0" of "n1"
    And claim "left" is reserved by hand for pods "train"
    And the API server <does> the next 1 <what> of ResourceClaim
    When a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu" is created
    Then every pod is bound [DRA-344]
    And every allocation is valid, and no device is allocated twice [DRA-345]

    Examples:
      | does                 | what           |
      | answers 500 to       | deletions      |
      | loses its answers to | deletions      |
      | loses its answers to | status updates |
      | answers 409 to       | updates        |
      | loses its answers to | creations      |

  @DRA-344 @DRA-345 @needs:direct-binding
  Scenario Outline: Pods of two claims keep their reservations when the API server <does> <what>
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And the API server <does> the next 1 <what>
    When a pod "one" using claim "first, second" is created
    And every fault has affected a request
    And a pod "two" using claim "second" is created
    Then every pod is bound [DRA-344]
    And claim "first" is reserved for exactly the pods "one" [DRA-345]
    And claim "second" is reserved for exactly the pods "one, two" [DRA-345]
    And every allocation is valid, and no device is allocated twice [DRA-345]

    @profile:faults
    Examples:
      | does                 | what            |
      | loses its answers to | bindings of Pod |

  @DRA-344 @DRA-345 @needs:direct-binding @profile:faults
  Scenario: A pod is bound although the writes of its claims conflict many times
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And the API server answers 409 to the next 12 status updates of ResourceClaim
    When a pod "train" using claim "first, second" is created
    And every fault has affected a request
    Then every pod is bound [DRA-344]
    And claim "first" is reserved for exactly the pods "train" [DRA-345]
    And claim "second" is reserved for exactly the pods "train" [DRA-345]
    And every allocation is valid, and no device is allocated twice [DRA-345]

  @DRA-344 @DRA-345 @needs:direct-binding @gate:DRAExtendedResource
  Scenario Outline: A pod with an extended resource has one claim when the API server <does> <what>
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And the API server <does> the next 1 <what>
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    And every fault has affected a request
    Then every pod is bound [DRA-344]
    And the extended resource claim of pod "train" is allocated the devices "dev-0" [DRA-345]
    And the status of pod "train" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-345]
    And pod "train" keeps one claim [DRA-345]

    @profile:faults
    Examples:
      | does                 | what                       |
      | loses its answers to | creations of ResourceClaim |
      | loses its answers to | bindings of Pod            |
      | answers 403 to       | bindings of Pod            |
      | answers 500 to       | status updates of Pod      |

  @DRA-344 @DRA-345 @needs:direct-binding @profile:faults
  Scenario: A pod is bound when its claim is allocated while the scheduler writes it
    Given the scheduler binds pods itself
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And claim "mine" is allocated "dev-2" of "n1" while the scheduler writes it
    When a pod "train" using claim "other, mine" is created
    Then every pod is bound [DRA-344]
    And claim "mine" is allocated the devices "dev-2" [DRA-345]
    And claim "other" is reserved for exactly the pods "train" [DRA-345]
    And every allocation is valid, and no device is allocated twice [DRA-345]

  @DRA-130 @DRA-344 @needs:direct-binding @profile:faults
  Scenario: A pod runs where its claim is allocated while the scheduler writes it
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And claim "mine" is allocated "dev-0" of "n2" while the scheduler writes it
    When a pod "train" using claim "mine" is created
    Then every pod is bound [DRA-344]
    And pod "train" is bound to "n2" [DRA-130]
    And claim "mine" is reserved for exactly the pods "train" [DRA-130]

  @DRA-344 @DRA-345 @needs:direct-binding @gate:DRAExtendedResource @profile:faults
  Scenario: A pod's other claim is not used for its extended resource when the response to a creation is lost
    Given the scheduler binds pods itself
    And node "n1"
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a ResourceClaim "own" for 1 of "accelerator"
    And "metadata.ownerReferences" of the ResourceClaim "own" is set to [{apiVersion: v1, kind: Pod, name: train, uid: $(uid:train), controller: true}]
    And the API server loses its answers to the next 1 creations of ResourceClaim
    When a ResourceSlice "late" is published with:
      """
      nodeName: $(node:n1)
      devices: [{name: dev-0}]
      """
    And every fault has affected a request
    Then every pod is bound [DRA-344]
    And the extended resource claim of pod "train" is allocated the devices "dev-0" [DRA-345]
    And the ResourceClaim "own" still exists [DRA-345]
    And claim "own" stays unallocated [DRA-345]

  @DRA-344 @profile:faults
  Scenario: Pods are bound when the API server rejects events
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And the API server answers 500 to the next 2 creations of Event
    When a pod "one" using claim "first" is created
    And a pod "two" using claim "second" is created
    Then pod "one" is bound to "n1"
    And the Pod "two" has condition PodScheduled False with reason "Unschedulable"
