@profile:webhook @component:webhook @needs:own-webhook
Feature: The protocol of an admission webhook
  An API server calls the webhook over HTTPS and compares the response with the request. A response that does not match
  counts as a failed call, and with failurePolicy Fail no claim can be created any more. These scenarios apply to the
  webhook of any driver.

  @NV-129a
  Scenario: The webhook serves HTTPS with its certificate
    Given the manifest "claims/claim"
    When a review of it is sent to the webhook
    Then the reply of the webhook has "code" 200

  @NV-129a
  Scenario: The webhook rejects reviews without TLS
    Given the manifest "claims/claim"
    When a review of it is sent to the webhook
    Then the webhook admits it
    When a review of it is sent to the webhook without TLS
    Then the reply of the webhook has "kind" null

  @NV-129
  Scenario: A review has to be JSON
    When the body {} is sent to the webhook as "text/plain"
    Then the reply of the webhook has "code" 415

  @NV-130
  Scenario Outline: <what> is a bad request
    When the body <body> is sent to the webhook as "application/json"
    Then the reply of the webhook has "code" 400

    Examples:
      | what               | body                                                                                      |
      | Truncated JSON     | {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"                           |
      | A missing kind     | {"request": {"uid": "1"}}                                                                 |
      | Another kind       | {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}                            |
      | An unknown version | {"apiVersion": "admission.k8s.io/v9", "kind": "AdmissionReview", "request": {"uid": "1"}} |

  @NV-131 @NV-131a @NV-131b
  Scenario: The response has the uid and the version of the review
    Given the manifest "claims/claim"
    When a review of it is sent to the webhook
    Then the reply of the webhook has "code" 200 [NV-131]
    And the reply of the webhook has "response.uid" $(review) [NV-131]
    And the reply of the webhook has "apiVersion" admission.k8s.io/v1 [NV-131a]
    And the reply of the webhook has "kind" AdmissionReview [NV-131a]
    And the reply of the webhook has "contentType" application/json [NV-131b]

  @NV-131 @NV-131a
  Scenario: A refusal has the uid and the version of the review
    Given the manifest "claims/pod"
    When a review of it is sent to the webhook
    Then the reply of the webhook has "response.uid" $(review) [NV-131]
    And the reply of the webhook has "apiVersion" admission.k8s.io/v1 [NV-131a]
    And the reply of the webhook has "kind" AdmissionReview [NV-131a]

  @NV-131c
  Scenario: The webhook reports when it is ready
    When "/readyz" of the webhook is requested
    Then the reply of the webhook has "code" 200

  @NV-132
  Scenario Outline: A review of <what> is refused
    Given the manifest "<manifest>"
    And "apiVersion" is <version>
    When a review of it is sent to the webhook
    Then the reply of the webhook has "response.allowed" false
    And the reply of the webhook has "response.status.reason" BadRequest

    Examples:
      | what                             | manifest        | version            |
      | a pod                            | claims/pod      | v1                 |
      | a slice                          | claims/slice    | resource.k8s.io/v1 |
      | a claim of an unknown version    | claims/claim    | resource.k8s.io/v9 |
      | a template of an unknown version | claims/template | resource.k8s.io/v9 |

  @NV-132a
  Scenario Outline: <what> is refused as a bad request
    Given the manifest "claims/claim"
    And "<path>" is <value>
    When a review of it is sent to the webhook
    Then the reply of the webhook has "response.allowed" false
    And the reply of the webhook has "response.status.reason" BadRequest

    Examples:
      | what                                    | path                | value      |
      | A claim whose spec is a string          | spec                | everything |
      | A claim whose devices are a list        | spec.devices        | [a]        |
      | A claim whose configuration is a string | spec.devices.config | everything |

  @NV-136
  Scenario Outline: Configuration in <kind> for another driver is not validated
    Given the manifest "webhook/<manifest>"
    And it is configured for "other.example.com" with {kind: Nonsense, whatever: [1, 2]}
    When a review of it is sent to the webhook
    Then the webhook admits it

    Examples:
      | kind       | manifest    |
      | a claim    | claim-v1    |
      | a template | template-v1 |

  @NV-133
  Scenario Outline: A claim without configuration is admitted in <version>
    Given the manifest "webhook/claim-<version>"
    When a review of it is sent to the webhook
    Then the webhook admits it

    Examples:
      | version |
      | v1      |
      | v1beta2 |
      | v1beta1 |
