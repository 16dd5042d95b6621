@profile:kep-5970 @component:claim-controller @component:scheduler @component:binder @component:driver
@component:kubelet @needs:run-kubelet
Feature: The seven behaviours of KEP-5970
  The proposal for a conformance test suite of DRA drivers lists the minimum that a driver has to do, observed through
  the Kubernetes API and in the container, without calling the driver. The scenarios have its names; the other files of
  this chapter test much more.

  @DRA-351
  Scenario: Driver Registration
    Given node "n1" with a kubelet
    When the driver on "n1" is started
    Then the driver on "n1" comes to be registered

  @DRA-352
  Scenario: ResourceSlice Publishing
    Given node "n1" with a kubelet
    When the driver on "n1" is started
    Then the driver on "n1" comes to publish at least one device

  @DRA-353
  Scenario: Device Allocation
    Given node "n1" running the driver
    And a ResourceClaimTemplate "device" for a device of the driver
    When a pod "train" using template "device" is created
    Then pod "train" comes to have a claim that is allocated a device on "n1"

  @DRA-354
  Scenario: NodePrepareResources
    Given node "n1" running the driver
    And a ResourceClaimTemplate "device" for a device of the driver
    And a pod "train" using template "device"
    When scheduler and binder have bound pod "train" to "n1"
    Then pod "train" reaches phase Running
    And pod "train" has no event "FailedPrepareDynamicResources"

  @DRA-355 @DRA-355b
  Scenario: Pod Runs Successfully
    Given node "n1" running the driver
    And a ResourceClaimTemplate "device" for a device of the driver
    And a pod "train" using template "device"
    When scheduler and binder have bound pod "train" to "n1"
    Then pod "train" reaches phase Running [DRA-355]
    And container "main" of pod "train" on "n1" has: [DRA-355b]
      | kind     | name | value |
      | variable | *    | set   |

  @DRA-356
  Scenario: NodeUnprepareResources
    Given node "n1" running the driver
    And a ResourceClaimTemplate "device" for a device of the driver
    And a pod "train" using template "device" with the default grace period
    And pod "train" runs
    When pod "train" is deleted
    Then the Pod "train" is gone
    And pod "train" has no event "FailedUnprepareDynamicResources"

  @DRA-357
  Scenario: Resource Reuse
    Given node "n1" running the driver
    And a ResourceClaimTemplate "device" for a device of the driver
    And a pod "first" using template "device" with the default grace period
    And pod "first" runs
    And pod "first" is deleted and gone
    And a pod "second" using template "device"
    When scheduler and binder have bound pod "second" to "n1"
    Then pod "second" reaches phase Running
