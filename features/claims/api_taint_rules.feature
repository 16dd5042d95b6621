@profile:api @component:control-plane @gate:DRADeviceTaintRules @since:1.37 @needs:served-version
Feature: DeviceTaintRules in v1
  DeviceTaintRules are part of v1 since Kubernetes 1.37. Clients of v1beta2 read and write the same objects.

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

  @DRA-710
  Scenario Outline: A DeviceTaintRule with <what> is refused
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: <reason> at "<field>"

    Examples:
      | what                    | path                       | value                              | reason   | field                      |
      | an ill-formed driver    | spec.deviceSelector        | {driver: a_b}                      | Invalid  | spec.deviceSelector.driver |
      | a pool with an empty segment | spec.deviceSelector   | {driver: api.dra.test, pool: a//b} | Invalid  | spec.deviceSelector.pool   |
      | an ill-formed device    | spec.deviceSelector.device | D.d                                | Invalid  | spec.deviceSelector.device |
      | an ill-formed key       | spec.taint.key             | a b                                | Invalid  | spec.taint.key             |
      | an ill-formed value     | spec.taint.value           | a b                                | Invalid  | spec.taint.value           |
      | no effect               | spec.taint.effect          | ""                                 | Required | spec.taint.effect          |

  @DRA-710
  Scenario: A DeviceTaintRule is not changed to an ill-formed selector or effect
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And it is created
    When its "spec.deviceSelector.pool" is updated to A_b
    Then the API server refuses it: Invalid at "spec.deviceSelector.pool"
    When its "spec.taint.effect" is updated to Sometimes
    Then the API server refuses it: NotSupported at "spec.taint.effect"
    When its "spec.deviceSelector" is updated to null
    Then the API server accepts it
    And its "spec.taint.timeAdded" reads "2020-01-02T03:04:05Z"
