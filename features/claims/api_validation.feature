@profile:api @component:control-plane
Feature: Fields that the API does not define
  A request may have misspelled fields or fields of another release. The client chooses what happens to them, by the
  parameter fieldValidation.

  @DRA-397
  Scenario Outline: An object with <what> is refused with fieldValidation <mode>
    Given the manifest "claims/claim"
    When it is created with <what> and fieldValidation <mode>
    Then the API server refuses it with <code>

    Examples:
      | what                       | mode   | code           |
      | an unknown field           | Strict | 400 BadRequest |
      | an unknown field of a list | Strict | 400 BadRequest |
      | a field twice              | Strict | 400 BadRequest |
      | an unknown field           | Other  | 422 Invalid    |

  @DRA-397
  Scenario Outline: An object with <what> is created with fieldValidation <mode>, and the response <warns>
    Given the manifest "claims/claim"
    When it is created with <what> and fieldValidation <mode>
    Then the API server accepts it
    And the response <warns>
    And its "spec" reads {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.example.com, allocationMode: ExactCount, count: 1}}]}}

    Examples:
      | what                       | mode    | warns                      |
      | an unknown field           | Warn    | warns about "unknown"      |
      | two unknown fields         | Warn    | warns about "unheard"      |
      | an unknown field of a list | Warn    | warns about "requests[0]"  |
      | a field twice              | Warn    | warns about "metadata"     |
      | an unknown field           | default | warns about "unknown"      |
      | an unknown field           | Ignore  | has no warning             |
      | two unknown fields         | Ignore  | has no warning             |
      | a field twice              | Ignore  | has no warning             |
      | no other field             | Strict  | has no warning             |
