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
  Scenario Outline: A review has to be JSON, not <type>
    When the body {} is sent to the webhook as "<type>"
    Then the reply of the webhook has "code" 415

    Examples:
      | type                        |
      | text/plain                  |
      | application/json-patch+json |

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
      | Another kind of the group | {"apiVersion": "admission.k8s.io/v1", "kind": "Reviews", "request": {"uid": "1"}} |
      | The kind in another group | {"apiVersion": "example.com/v1", "kind": "AdmissionReview", "request": {"uid": "1"}} |
      | A list             | [{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}]                        |
      | A list as request  | {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": []}           |
      | A value NaN        | {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"resource": NaN}} |

  @NV-130
  Scenario: A body that is nested too deeply is a bad request
    When a body of 200000 nested lists is sent to the webhook
    Then the reply of the webhook has "code" 400

  @NV-131 @NV-131a @NV-131b
  Scenario: The response has the uid and the version of the review
    Given the manifest "claims/claim"
    When a review of it is sent to the webhook
    Then the reply of the webhook has "code" 200 [NV-131]
    And the reply of the webhook has "response.uid" $(review) [NV-131]
    And the reply of the webhook has "apiVersion" admission.k8s.io/v1 [NV-131a]
    And the reply of the webhook has "kind" AdmissionReview [NV-131a]
    And the reply of the webhook has "contentType" application/json [NV-131b]

  @NV-131
  Scenario: A large review is answered
    Given the manifest "webhook/claim-v1"
    # As large as the annotations of an object can be.
    And "metadata.annotations.notes" is the text "note" 65000 times
    When a review of it is sent to the webhook
    Then the reply of the webhook has "response.uid" $(review)
    And the reply of the webhook has "response.allowed" true
    # An update has the old object, too.
    When a review of it is sent to the webhook as an update
    Then the reply of the webhook has "response.uid" $(review)
    And the reply of the webhook has "response.allowed" true

  @NV-131d
  Scenario: Another path is not answered with a review
    Given the manifest "webhook/claim-v1"
    When a review of it is sent to the path "/other" of the webhook
    Then the reply of the webhook has "code" 404
    When "/other" of the webhook is requested
    Then the reply of the webhook has "code" 404

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
    And the reply of the webhook has "response.status.message" containing resourceclaim

    Examples:
      | what                             | manifest        | version            |
      | a pod                            | claims/pod      | v1                 |
      | a slice                          | claims/slice    | resource.k8s.io/v1 |
      | a claim of an unknown version    | claims/claim    | resource.k8s.io/v9 |
      | a template of an unknown version | claims/template | resource.k8s.io/v9 |

  @NV-132
  Scenario: A review of claims of another group is refused
    Given the manifest "webhook/claim-v1"
    When a review of it is sent to the webhook for the group "example.com"
    Then the reply of the webhook has "response.allowed" false
    And the reply of the webhook has "response.status.reason" BadRequest

  @NV-132a
  Scenario Outline: <what> is refused as a bad request
    Given the manifest "webhook/<manifest>"
    And "<path>" is <value>
    When a review of it is sent to the webhook
    Then the reply of the webhook has "response.allowed" false
    And the reply of the webhook has "response.status.reason" BadRequest
    And the reply of the webhook has "response.status.message" set

    Examples:
      | what                                        | manifest      | path                           | value              |
      | A claim whose spec is a string              | claim-v1      | spec                           | everything         |
      | A claim whose devices are a list            | claim-v1beta2 | spec.devices                   | [a]                |
      | A claim whose configuration is a string     | claim-v1beta1 | spec.devices.config            | everything         |
      | A claim whose configuration is a list       | claim-v1      | spec.devices.config            | [[a]]              |
      | A claim whose opaque configuration is a list | claim-v1     | spec.devices.config            | [{opaque: [a]}]    |
      | A template whose spec is a number           | template-v1   | spec.spec                      | 3                  |
      | A template whose configuration is an object | template-v1   | spec.spec.devices.config       | {opaque: {}}       |

  @NV-133i
  Scenario Outline: A deletion in <manifest> is admitted
    Given the manifest "webhook/<manifest>"
    And it is configured for "gpu.nvidia.com" with {kind: Nonsense}
    When a review of it is sent to the webhook as a deletion
    Then the webhook admits it

    Examples:
      | manifest         |
      | claim-v1         |
      | template-v1beta1 |

  @NV-136
  Scenario Outline: Configuration in <kind> for another driver is not validated
    Given the manifest "webhook/<manifest>"
    And it is configured for "other.example.com" with {kind: Nonsense, whatever: [1, 2]}
    When a review of it is sent to the webhook
    Then the webhook admits it

    Examples:
      | kind                  | manifest         |
      | a claim               | claim-v1         |
      | a claim in v1beta1    | claim-v1beta1    |
      | a template            | template-v1      |
      | a template in v1beta2 | template-v1beta2 |

  @NV-133
  Scenario Outline: A <kind> without configuration is admitted in <version>
    Given the manifest "webhook/<kind>-<version>"
    When a review of it is sent to the webhook
    Then the webhook admits it

    Examples:
      | kind     | version |
      | claim    | v1      |
      | claim    | v1beta2 |
      | claim    | v1beta1 |
      | template | v1      |
      | template | v1beta2 |
      | template | v1beta1 |

  @NV-133
  Scenario Outline: A claim without <what> is admitted
    Given the manifest "webhook/<manifest>"
    And "<path>" is null
    When a review of it is sent to the webhook
    Then the webhook admits it

    Examples:
      | what                 | manifest    | path              |
      | devices              | claim-v1    | spec.devices      |
      | spec                 | claim-v1    | spec              |
      | devices in a template | template-v1 | spec.spec.devices |
