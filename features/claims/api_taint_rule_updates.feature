@profile:api-enforcement @component:control-plane @gate:DRADeviceTaintRules @since:1.37 @needs:served-version @needs:own-control-plane
Feature: Updates of DeviceTaintRules
  The taint eviction of a cluster writes the status of DeviceTaintRules, so that an update may conflict. These scenarios run
  on a control plane that the run started.

  @DRA-452 @needs:no-taint-eviction
  Scenario: An update in v1 needs a resourceVersion
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And it is created
    When its "metadata.resourceVersion" is updated to null
    Then the API server refuses it: Invalid at "metadata.resourceVersion"
    When its status "metadata.resourceVersion" is updated to null
    Then the API server refuses it: Invalid at "metadata.resourceVersion"
    And it is stored unchanged
    When its "metadata.labels" is updated to {team: a}
    Then its "metadata.labels" reads {team: a}

  @DRA-452
  Scenario: An update in v1beta2 needs no resourceVersion
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1beta2
    And it is created
    When its "metadata.resourceVersion" is updated to null
    Then the API server accepts it

  @DRA-227
  Scenario: A change of the effect keeps the timeAdded of the same request
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And it is created
    When its "spec.taint" is updated to {key: upkeep, value: soon, effect: NoExecute, timeAdded: "2020-01-02T05:04:05Z"}
    Then its "spec.taint.timeAdded" reads "2020-01-02T05:04:05Z"
    When its "spec.taint.effect" is updated to NoSchedule
    Then its "spec.taint.timeAdded" reads the present time

  @DRA-227
  Scenario Outline: A change of the effect and the <field> sets timeAdded
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And "spec.taint" is {key: upkeep, value: soon, effect: NoSchedule, timeAdded: "2020-01-02T03:04:05Z"}
    And it is created
    When its "spec.taint" is updated to <taint>
    Then its "spec.taint.timeAdded" reads the present time

    Examples:
      | field     | taint                                                                                  |
      | value     | {key: upkeep, value: now, effect: NoExecute, timeAdded: "2020-01-02T03:04:05Z"}        |
      | key       | {key: other, value: soon, effect: NoExecute, timeAdded: "2020-01-02T03:04:05Z"}        |

  @DRA-706 @needs:no-taint-eviction
  Scenario: Spec and status of a DeviceTaintRule are written separately
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And "status" is {conditions: [{type: Early, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}]}
    And it is created
    Then its stored "status.conditions" reads null
    When its status "status.conditions" is updated to [{type: Done, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T05:04:05.9+02:00"}]
    Then its stored "status.conditions[*].lastTransitionTime" reads ["2020-01-02T03:04:05Z"]
    When its "status.conditions" is updated to null
    Then its stored "status.conditions[*].type" reads [Done]
    When its status "spec.taint.value" is updated to later
    Then its stored "spec.taint.value" reads soon

  @DRA-706 @needs:no-taint-eviction
  Scenario Outline: A status of a DeviceTaintRule with <what> is refused
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/v1
    And it is created
    When its status "status.conditions" is updated to <conditions>
    Then the API server refuses it: <reason> at "<field>"
    And it is stored unchanged

    Examples:
      | what                       | conditions | reason | field |
      | two conditions of one type | [{type: Done, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}, {type: Done, status: "False", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"}] | Duplicate | status.conditions[1] |
      | nine conditions            | a list of 9 {type: a$n, status: "True", reason: Ok, lastTransitionTime: "2020-01-02T03:04:05Z"} | TooMany | status.conditions |
