@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Deletion of collections
  One request deletes all objects that match its selectors, and no others. These scenarios run on a control plane that the
  run started, because a mistake deletes objects of others.

  @DRA-395
  Scenario: The deletion of a collection deletes what both selectors match
    Given the manifest "claims/claim"
    And the ResourceClaims "create a app=x, create b app=x, create c app=y, create d"
    When the ResourceClaims with labels "app=x" and fields "metadata.name!=b" are deleted
    Then the API server accepts it
    When the ResourceClaims with labels "" are listed
    Then the list has the ResourceClaims "b, c, d"
    When the ResourceClaims with labels "app in (x, y)" and fields "" are deleted
    And the ResourceClaims with labels "" are listed
    Then the list has the ResourceClaims "d"

  @DRA-395
  Scenario: An object with a finalizer stays when its collection is deleted
    Given the manifest "claims/claim"
    And "metadata.finalizers" is [example.com/a]
    And it is created
    And the ResourceClaims "create other"
    When the ResourceClaims with labels "" and fields "" are deleted
    And the ResourceClaims with labels "" are listed
    Then the list has the ResourceClaims "subject"
    And its stored "metadata.deletionTimestamp" reads the present time
    When its "metadata.finalizers" is updated to []
    Then it is not stored

  @DRA-874 @needs:harness-webhook
  Scenario: The deletion of a collection continues after an object that another client deletes meanwhile
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b, create c"
    And a webhook that deletes the ResourceClaim "b" when the deletion of "a" is reviewed
    When the ResourceClaims with labels "" and fields "" are deleted
    Then the API server accepts it
    When the ResourceClaims with labels "" are listed
    Then the list has the ResourceClaims ""

  Scenario Outline: The deletion of the slices of <what> deletes no others
    Given the objects of the manifest "claims/slices-of-pools"
    When the ResourceSlices with labels "" and fields "<selector>" are deleted
    Then the API server accepts it
    When the ResourceSlices with fields "spec.driver=one-$(suffix).dra.test" are listed
    Then the list has the ResourceSlices "three"
    When the ResourceSlices with fields "spec.driver=two-$(suffix).dra.test" are listed
    Then the list has the ResourceSlices "<names>"

    @DRA-400 @since:1.37
    Examples:
      | what   | selector                    | names |
      | a pool | spec.pool.name=$(pool:pool) | pool  |

    @DRA-401 @since:1.37
    Examples:
      | what            | selector                                                       | names     |
      | a driver's pool | spec.pool.name=$(pool:pool),spec.driver=one-$(suffix).dra.test | pool, two |

  @DRA-402
  Scenario: The deletion of slices by an unsupported field deletes none
    Given the objects of the manifest "claims/slices-of-pools"
    When the ResourceSlices with labels "" and fields "spec.driver=one-$(suffix).dra.test,spec.pool.generation=1" are deleted
    Then the API server refuses it with 400 BadRequest
    When the ResourceSlices with fields "spec.driver=one-$(suffix).dra.test" are listed
    Then the list has the ResourceSlices "one, three"

  @DRA-380
  Scenario: A dry run that deletes a collection deletes nothing
    Given the manifest "claims/claim"
    And it is created
    And the ResourceClaims "create other"
    When a dry run deletes the collection of ResourceClaims
    Then the API server accepts it
    And it is stored unchanged
    When the ResourceClaims with labels "" are listed
    Then the list has the ResourceClaims "other, subject"
