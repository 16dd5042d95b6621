@profile:api @component:control-plane @since:1.37
Feature: API validation of the claims of PodGroups
  A PodGroup of scheduling.k8s.io has claims that its pods share.

  Scenario Outline: A PodGroup with <what> is refused
    Given the manifest "claims/pod-group"
    And "spec.resourceClaims" is <value>
    When it is created
    Then the API server refuses it: <reason> at "spec.resourceClaims<field>"

    @DRA-551 @gate:DRAWorkloadResourceClaims
    Examples: at most four claims
      | what        | value                                                                                                                                                                              | reason  | field |
      | five claims | [{name: a, resourceClaimName: a}, {name: b, resourceClaimName: b}, {name: c, resourceClaimName: c}, {name: d, resourceClaimTemplateName: d}, {name: e, resourceClaimTemplateName: e}] | TooMany |       |

    @DRA-551b @gate:DRAWorkloadResourceClaims
    Examples: each entry has a name of its own and one source
      | what                              | value                                                                                   | reason    | field |
      | an entry without a source         | [{name: a, resourceClaimName: a}, {name: b}]                                            | Invalid   | [1]   |
      | an entry with two sources         | [{name: a, resourceClaimName: a}, {name: b, resourceClaimName: b, resourceClaimTemplateName: b}] | Invalid | [1] |
      | two entries of one name           | [{name: a, resourceClaimName: a}, {name: a, resourceClaimTemplateName: b}]              | Duplicate | [1]   |
      | an entry whose name is no label   | [{name: a, resourceClaimName: a}, {name: B_, resourceClaimName: b}]                     | Invalid   | [1].name |
      | an entry with an invalid template | [{name: a, resourceClaimName: a}, {name: b, resourceClaimTemplateName: B_}]             | Invalid   | [1].resourceClaimTemplateName |

  Scenario Outline: A PodGroup with <what> is accepted
    Given the manifest "claims/pod-group"
    And "spec.resourceClaims" is <value>
    When it is created
    Then its "spec.resourceClaims" reads <value>

    @DRA-551 @gate:DRAWorkloadResourceClaims
    Examples: four claims
      | what        | value                                                                                                                                               |
      | four claims | [{name: a, resourceClaimName: a}, {name: b, resourceClaimName: b}, {name: c, resourceClaimTemplateName: c}, {name: d, resourceClaimTemplateName: d}] |

    @DRA-551b @gate:DRAWorkloadResourceClaims
    Examples: entries may share a source
      | what                                  | value                                                                                  |
      | two entries of one claim              | [{name: a, resourceClaimName: c}, {name: b, resourceClaimName: c}]                     |
      | a template and a claim of one name    | [{name: a, resourceClaimName: c}, {name: b, resourceClaimTemplateName: c}]             |

  @DRA-551c @gate:DRAWorkloadResourceClaims
  Scenario Outline: The claims of a PodGroup never change: <what>
    Given the manifest "claims/pod-group"
    And it is created
    When its "spec.resourceClaims" is updated to <value>
    Then the API server refuses it: Invalid at "spec.resourceClaims"

    Examples:
      | what             | value                                                                                             |
      | another template | [{name: gpu, resourceClaimTemplateName: two-gpus}]                                                |
      | one more entry   | [{name: gpu, resourceClaimTemplateName: one-gpu}, {name: mine, resourceClaimName: mine}]          |
      | no entry         | []                                                                                                |

  @DRA-551c @gate:DRAWorkloadResourceClaims
  Scenario: A PodGroup without claims gets none later
    Given the manifest "claims/pod-group"
    And "spec.resourceClaims" is null
    And it is created
    When its "spec.resourceClaims" is updated to [{name: gpu, resourceClaimTemplateName: one-gpu}]
    Then the API server refuses it: Invalid at "spec.resourceClaims"
