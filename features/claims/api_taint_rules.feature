@profile:api @component:control-plane @gate:DRADeviceTaintRules @since:1.37 @needs:served-version
Feature: DeviceTaintRules in v1
  DeviceTaintRules are part of v1 since Kubernetes 1.37. Clients of v1beta2 work on the same objects.

  @DRA-450
  Scenario: DeviceTaintRules are served in v1
    Then the API server serves DeviceTaintRule in version v1 as a cluster-scoped resource with its own status

  @DRA-451
  Scenario Outline: A DeviceTaintRule of <version> is the same object in <other>
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/<version>
    When it is created
    Then in version <other> its "spec" reads {deviceSelector: {driver: api.dra.test, pool: p, device: d}, taint: {key: upkeep, value: soon, effect: NoSchedule, timeAdded: "2020-01-02T03:04:05Z"}}
    And in version <other> its "apiVersion" reads resource.k8s.io/<other>
    When its "spec.taint.value" is updated to later
    Then in version <other> its "spec.taint.value" reads later
    When it is deleted
    Then it is not stored

    Examples:
      | version | other   |
      | v1      | v1beta2 |
      | v1beta2 | v1      |

  @DRA-453
  Scenario: A deletion in v1 returns a Status
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And it is created
    When it is deleted
    Then the response is a Status
    And it is not stored

  @DRA-453
  Scenario: A deletion in v1beta2 returns the deleted rule
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1beta2
    And it is created
    When it is deleted
    Then the response is a DeviceTaintRule
    And it is not stored
