@profile:api-enforcement @component:control-plane @gate:DRADeviceTaintRules @since:1.37 @needs:served-version @needs:own-control-plane
Feature: Updates of DeviceTaintRules
  The taint eviction of a cluster writes the status of DeviceTaintRules, so that an update may conflict. These scenarios run
  on a control plane that the run started.

  @DRA-452
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
