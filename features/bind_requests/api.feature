@profile:bind-requests @component:control-plane @needs:kai
Feature: The BindRequest API
  The BindRequest is the protocol between scheduler and binder. Its writers, its validation and its pruning of unknown
  fields decide whether programs of different releases are compatible.

  @KAI-001
  Scenario: BindRequests are namespaced and have a status subresource
    Then the API server serves BindRequest as a namespaced resource with a status of its own

  @KAI-002
  Scenario: No field of the spec is required
    Given the manifest "bind_requests/empty"
    When it is created
    Then the API server accepts it

  @KAI-003
  Scenario: The status of a new BindRequest is dropped
    Given the manifest "bind_requests/full"
    And "status" is {phase: Succeeded, failedAttempts: 2}
    When it is created
    Then its "status" reads null

  @KAI-003
  Scenario: An update of the status does not change the spec
    Given the manifest "bind_requests/full"
    And it is created
    When its status "spec.selectedNode" is updated to elsewhere
    Then its "spec.selectedNode" reads $(node:n1)

  @KAI-004
  Scenario Outline: A device result without <field> is refused
    Given the manifest "bind_requests/full"
    And "spec.resourceClaimAllocations[0].allocation.devices.results[0].<field>" is null
    When it is created
    Then the API server refuses it: Required at "spec.resourceClaimAllocations[0].allocation.devices.results[0].<field>"

    Examples:
      | field   |
      | request |
      | driver  |
      | pool    |
      | device  |

  @KAI-005
  Scenario: A toleration without an operator is defaulted to Equal
    Given the manifest "bind_requests/full"
    And "spec.resourceClaimAllocations[0].allocation.devices.results[0].tolerations" is [{key: a, value: b}]
    When it is created
    Then its "spec.resourceClaimAllocations[0].allocation.devices.results[0].tolerations[0].operator" reads Equal

  @KAI-006
  Scenario: Opaque parameters are stored completely, and unknown fields are pruned
    Given the manifest "bind_requests/full"
    And "spec.fromTheFuture" is 1
    And "spec.resourceClaimAllocations[0].claimUID" is abc
    When it is created
    Then its "spec.resourceClaimAllocations[0].allocation.devices.config[0].opaque.parameters.nested" reads {list: [1, two, {three: 3}]}
    And its "spec.resourceClaimAllocations[0].allocation.devices.config[0].opaque.parameters.domainID" reads 83479f70-e292-43d6-aa67-dd4ba8adab8f
    And its "spec.fromTheFuture" reads null
    And its "spec.resourceClaimAllocations[0].claimUID" reads null

  @KAI-007
  Scenario Outline: A predicted NUMA zone without <field> is refused
    Given the manifest "bind_requests/full"
    And "spec.predictedNUMAZones" is [{zone: "0", amount: {cpu: "1"}}]
    And "spec.predictedNUMAZones[0].<field>" is null
    When it is created
    Then the API server refuses it: Required at "spec.predictedNUMAZones[0].<field>"

    Examples:
      | field  |
      | zone   |
      | amount |

  @KAI-008
  Scenario Outline: The resource type "<type>" is stored unchanged
    Given the manifest "bind_requests/full"
    And "spec.receivedResourceType" is "<type>"
    When it is created
    Then its "spec.receivedResourceType" reads "<type>"

    Examples:
      | type         |
      | Regular      |
      | Fraction     |
      | MigInstance  |
      | NotInventedYet |
