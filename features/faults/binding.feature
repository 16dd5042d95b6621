@component:binder @needs:kai @needs:faults
Feature: A binder whose requests fail
  A binder needs half a dozen writes for a BindRequest, and each of them can fail. The BindRequest always ends as
  Succeeded with its pod bound, or as Failed with a reason and its pod not bound.

  @KAI-260 @KAI-261
  Scenario Outline: A BindRequest completes when the API server <does> <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the API server <does> the next 1 <what>
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-0" is created
    Then every BindRequest is Succeeded or Failed [KAI-260]
    And every bound pod has its devices [KAI-261]
    And every allocation is valid, and no device is allocated twice [KAI-261]

    @profile:faults
    Examples:
      | does                 | what                            |
      | answers 503 to       | status updates of ResourceClaim |
      | loses its answers to | bindings of Pod                 |

    @profile:fault-sweep
    Examples:
      | does                 | what                            |
      | loses its answers to | status updates of ResourceClaim |
      | answers 503 to       | bindings of Pod                 |
      | loses its answers to | status updates of BindRequest   |

  # Twice: KAI processes each new BindRequest twice at times, which hides one refusal.
  @KAI-260
  Scenario Outline: A BindRequest completes when two updates of its status are answered with <code>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the API server answers <code> to the next 2 status updates of BindRequest
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-0" is created
    Then every BindRequest is Succeeded or Failed

    @profile:faults
    Examples:
      | code |
      | 429  |

    @profile:fault-sweep
    Examples:
      | code |
      | 500  |
      | 503  |

  # A binder that protects a claim updates it before its status; KAI 0.17 updates the status only.
  @KAI-260 @KAI-261 @profile:fault-sweep
  Scenario: A BindRequest completes when an update of its claim conflicts
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the API server answers 409 to the next 1 updates of ResourceClaim, if there are any
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-0" is created
    Then every BindRequest is Succeeded or Failed [KAI-260]
    And every bound pod has its devices [KAI-261]
    And every allocation is valid, and no device is allocated twice [KAI-261]

  @KAI-260 @KAI-261 @needs:own-control-plane @disruptive
  Scenario Outline: A BindRequest completes when the API server is killed during <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "train" using claim "mine"
    And the API server crashes after it has stored the next <what>
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-0" is created
    And the crashed API server is started again
    Then every BindRequest is Succeeded or Failed [KAI-260]
    And every bound pod has its devices [KAI-261]
    And every allocation is valid, and no device is allocated twice [KAI-261]

    @profile:faults
    Examples:
      | what            |
      | bindings of Pod |

    @profile:fault-sweep
    Examples:
      | what                            |
      | status updates of ResourceClaim |
      | status updates of BindRequest   |

  @KAI-460 @profile:faults @needs:own-control-plane
  Scenario Outline: A pod gets its PersistentVolume when the API server <does> the first update of it
    Given a StorageClass "local" of provisioner "kubernetes.io/no-provisioner" with binding mode WaitForFirstConsumer
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a PersistentVolume "first" of StorageClass "local" on node "n1"
    And a PersistentVolumeClaim "data" of StorageClass "local"
    And a pod "train" using claim "mine" and PersistentVolumeClaims "data"
    And the API server <does> the next 1 updates of PersistentVolume
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-0", with backoffLimit 20, is created
    Then PersistentVolume "first" is reserved for PersistentVolumeClaim "data"

    Examples:
      | does                 |
      | answers 503 to       |
      | answers 409 to       |
      | loses its answers to |

  @KAI-461 @profile:faults @needs:own-control-plane
  Scenario Outline: A volume is provisioned for a pod when the API server <does> the first update of its claim
    Given a StorageClass "made" of provisioner "volumes.example.com" with binding mode WaitForFirstConsumer
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a PersistentVolumeClaim "model" of StorageClass "made"
    And a pod "train" using claim "mine" and PersistentVolumeClaims "model"
    And the API server <does> the next 1 updates of PersistentVolumeClaim
    When a BindRequest "train" of pod "train" to "n1" giving claim "mine" the devices "dev-0", with backoffLimit 20, is created
    Then the node "n1" is selected for PersistentVolumeClaim "model"

    Examples:
      | does                 |
      | answers 503 to       |
      | answers 409 to       |
      | loses its answers to |

  @KAI-262
  Scenario Outline: A BindRequest that is created while all watches <how> is executed
    Given node "n1"
    And a pod "plain" without claims
    And a pod "other" without claims
    And a BindRequest "plain" of pod "plain" to "n1"
    Then pod "plain" is bound to "n1"
    When all watches <how> and are not served
    And a BindRequest "other" of pod "other" to "n1" is created
    And watches are served again
    Then pod "other" is bound to "n1"
    And every BindRequest is Succeeded or Failed

    @profile:faults
    Examples:
      | how    |
      | expire |

    @profile:fault-sweep
    Examples:
      | how   |
      | break |

  @KAI-262 @needs:own-control-plane @disruptive @profile:fault-sweep
  Scenario: A BindRequest that is created after a restart of the API server is executed
    Given node "n1"
    And a pod "plain" without claims
    When the API-server of the control plane is killed and started again
    And a BindRequest "plain" of pod "plain" to "n1" is created
    Then pod "plain" is bound to "n1"
    And every BindRequest is Succeeded or Failed

  @KAI-260 @KAI-261 @gate:DRAExtendedResource
  Scenario Outline: A BindRequest for extended resources completes when the API server <does> <what>
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And the API server <does> the next 1 <what>
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - name: container-0-request-0
            exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
        allocation:
          devices:
            results: [{request: container-0-request-0, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-1}]
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then every BindRequest is Succeeded or Failed [KAI-260]
    And every allocation is valid, and no device is allocated twice [KAI-261]

    @profile:faults
    Examples:
      | does                 | what                       |
      | loses its answers to | creations of ResourceClaim |

    @profile:fault-sweep
    Examples:
      | does                 | what                            |
      | answers 503 to       | creations of ResourceClaim      |
      | loses its answers to | status updates of ResourceClaim |
      | answers 500 to       | status updates of Pod           |
      | loses its answers to | status updates of Pod           |

  @KAI-119 @gate:DRAExtendedResource @profile:faults
  Scenario: A claim whose creation was processed without a response is used
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "another" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And the API server loses its answers to the next 1 creations of ResourceClaim
    # The next attempt of the binder begins before its watch shows the claim.
    When the watches of ResourceClaim break and only lists are served
    And a BindRequest "train" of pod "train" to "n1" is created with:
      """
      backoffLimit: 3
      extendedResourceClaimAllocation:
        deviceRequests: [{name: r, exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}}]
        containerMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: r}]
        allocation:
          devices: {results: [{request: r, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-1}]}
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then pod "train" is bound to "n1"
    And the extended resource claim of pod "train" is allocated the devices "dev-1"
    And claim "another" stays unallocated

  @KAI-260 @KAI-261 @gate:DRAExtendedResource @profile:fault-sweep
  Scenario Outline: A BindRequest fails cleanly when binding fails and the API server <does> the deletion of its claim
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And the API server answers 500 to the next 1 bindings of Pod
    And the API server <does> the next 1 deletions of ResourceClaim
    When a BindRequest "train" of pod "train" to "n1" is created with:
      """
      extendedResourceClaimAllocation:
        deviceRequests:
          - name: container-0-request-0
            exactly: {deviceClassName: $(class:accelerator), allocationMode: ExactCount, count: 1}
        containerMappings:
          - {containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}
        allocation:
          devices:
            results: [{request: container-0-request-0, driver: sim-$(suffix).dra.test, pool: $(node:n1), device: dev-1}]
          nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$(node:n1)]}]}]}
      """
    Then every BindRequest is Succeeded or Failed [KAI-260]
    And every allocation is valid, and no device is allocated twice [KAI-261]

    Examples:
      | does                 |
      | answers 500 to       |
      | loses its answers to |

  @KAI-202 @profile:fault-sweep
  Scenario Outline: An invalid BindRequest for a share of a GPU is deleted when the API server <does> its deletion
    Given node "n1"
    And a pod "sharing" without claims
    And the API server <does> the next 1 deletions of BindRequest
    When a BindRequest "sharing" of pod "sharing" to "n1" is created with:
      """
      receivedResourceType: Fraction
      receivedGPU: {count: 1, portion: "0.50"}
      """
    And every fault has affected a request
    Then the BindRequest "sharing" is gone
    And pod "sharing" stays unbound

    Examples:
      | does                 |
      | answers 500 to       |
      | loses its answers to |
