@profile:webhook @component:webhook @needs:own-webhook @needs:gpu-driver
Feature: Reviews that clients of an API server cannot cause
  An API server sends some reviews only in unusual cases, which a client cannot cause; the harness sends them itself.

  @NV-133d
  Scenario Outline: An update of <what> is validated like a creation
    Given the manifest "webhook/<manifest>"
    And it is configured with GpuConfig {sharin: {}}
    When a review of it is sent to the webhook as an update
    Then the webhook refuses it because 'unknown field "sharin"'

    Examples:
      | what                  | manifest         |
      | a claim               | claim-v1         |
      | a claim in v1beta2    | claim-v1beta2    |
      | a claim in v1beta1    | claim-v1beta1    |
      | a template            | template-v1      |
      | a template in v1beta2 | template-v1beta2 |
      | a template in v1beta1 | template-v1beta1 |

  @NV-133
  Scenario Outline: <what> of another version of the API is validated in the version to which it was converted
    Given the manifest "webhook/<manifest>"
    And it is configured with GpuConfig {}
    When a review of it is sent to the webhook as converted from "v1alpha3"
    Then the webhook admits it

    Examples:
      | what       | manifest         |
      | A claim    | claim-v1         |
      | A template | template-v1beta1 |

  @NV-133d
  Scenario: An update to valid configuration is admitted
    Given the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {}
    When a review of it is sent to the webhook as an update
    Then the webhook admits it

  @NV-133d
  Scenario Outline: The old object of an update is not validated
    Given the manifest "webhook/<manifest>"
    And it is configured with GpuConfig {}
    When a review of it is sent to the webhook as an update of {kind: Nonsense}
    Then the webhook admits it

    Examples:
      | manifest         |
      | claim-v1         |
      | template-v1beta2 |

  @NV-133a
  Scenario Outline: A dry run of <what> is validated like a creation
    Given the manifest "webhook/<manifest>"
    And it is configured with GpuConfig {sharin: {}}
    When a review of it is sent to the webhook as a dry run
    Then the webhook refuses it because 'unknown field "sharin"'

    Examples:
      | what       | manifest         |
      | a claim    | claim-v1         |
      | a template | template-v1beta1 |

  @NV-133b
  Scenario Outline: Configuration that is <what> is refused
    Given the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {}
    And it is configured for "gpu.nvidia.com" with <parameters>
    When a review of it is sent to the webhook
    Then the webhook refuses it because 'spec.devices.config[1].opaque.parameters'

    Examples:
      | what      | parameters  |
      | null      | null        |
      | a text    | GpuConfig   |
      | a list    | [GpuConfig] |
      | a number  | 3           |

  @NV-133a
  Scenario Outline: A refusal has every unknown field of a configuration
    Given the manifest "webhook/<manifest>"
    And it is configured with <kind> {sharin: {}, sharing: {strategy: MPS, mpsconfig: {}}, shared: true}
    When a review of it is sent to the webhook
    Then the webhook refuses it because 'unknown field "sharin"'
    And the webhook refuses it because 'unknown field "sharing.mpsconfig"'
    And the webhook refuses it because 'unknown field "shared"'

    Examples:
      | kind            | manifest    |
      | GpuConfig       | claim-v1    |
      | MigDeviceConfig | template-v1 |

  @NV-133e
  Scenario Outline: The duplicate field <field> is refused
    Given the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 5}}}
    When a review of it is sent to the webhook with a duplicate <field>
    Then the webhook refuses it because 'duplicate field "<field>"'

    Examples:
      | field                                           |
      | kind                                            |
      | apiVersion                                      |
      | sharing                                         |
      | sharing.strategy                                |
      | sharing.mpsConfig.defaultActiveThreadPercentage |

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
