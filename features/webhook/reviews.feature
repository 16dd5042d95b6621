@profile:webhook @component:webhook @needs:own-webhook @needs:gpu-driver
Feature: Reviews that clients of an API server cannot cause
  An API server sends some reviews only in unusual cases; the harness sends them itself.

  @NV-133d
  Scenario Outline: An update of <what> is validated like a creation
    Given the manifest "webhook/<manifest>"
    And it is configured with GpuConfig {sharin: {}}
    When a review of it is sent to the webhook as an update
    Then the webhook refuses it because 'unknown field "sharin"'

    Examples:
      | what               | manifest      |
      | a claim            | claim-v1      |
      | a claim in v1beta1 | claim-v1beta1 |
      | a template         | template-v1   |

  @NV-133d
  Scenario: An update to valid configuration is admitted
    Given the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {}
    When a review of it is sent to the webhook as an update
    Then the webhook admits it

  @NV-133e
  Scenario Outline: The duplicate field <field> is refused
    Given the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {}
    When a review of it is sent to the webhook with a duplicate <field>
    Then the webhook refuses it because 'duplicate field "<field>"'

    Examples:
      | field      |
      | kind       |
      | apiVersion |

  @NV-134 @NV-135
  Scenario: The refusal of a template lists all of its mistakes with their paths
    Given the manifest "webhook/template-v1"
    And it is configured with GpuConfig {sharin: {}}
    And it is configured for "gpu.nvidia.com" with {kind: Nonsense}
    When a review of it is sent to the webhook
    Then the reply of the webhook has "response.allowed" false [NV-134]
    And the reply of the webhook has "response.status.reason" Invalid [NV-134]
    And the webhook refuses it because '2 configs failed to validate: ' [NV-134]
    And the webhook refuses it because 'spec.spec.devices.config[0].opaque.parameters' [NV-135]
    And the webhook refuses it because 'spec.spec.devices.config[1].opaque.parameters' [NV-135]
