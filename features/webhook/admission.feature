@profile:webhook @component:webhook @needs:webhook-admission @needs:gpu-driver @needs:served-version
Feature: Claims with invalid configuration are not stored
  The configuration of a device is opaque to Kubernetes. Without a webhook a mistake is found when the pod is on its
  node; with one, the API server returns the error to the user who creates the claim.

  Background:
    Given the webhook is registered for the namespace

  @NV-133
  Scenario Outline: Valid configuration in <manifest> is stored
    Given the manifest "webhook/<manifest>"
    And it is configured with GpuConfig {}
    And it is configured with MigDeviceConfig {}
    When it is created
    Then the webhook admits it

    Examples:
      | manifest         |
      | claim-v1         |
      | claim-v1beta2    |
      | claim-v1beta1    |
      | template-v1      |
      | template-v1beta2 |
      | template-v1beta1 |

  @NV-133a @NV-135
  Scenario Outline: An unknown field in <manifest> is refused with its path
    Given the manifest "webhook/<manifest>"
    And it is configured with GpuConfig {sharin: {}}
    When it is created
    Then the webhook refuses it because 'unknown field "sharin"' [NV-133a]
    And the webhook refuses it because '<path>.devices.config[0].opaque.parameters' [NV-135]

    Examples:
      | manifest         | path      |
      | claim-v1         | at spec   |
      | claim-v1beta2    | at spec   |
      | claim-v1beta1    | at spec   |
      | template-v1      | spec.spec |
      | template-v1beta2 | spec.spec |
      | template-v1beta1 | spec.spec |

  @NV-133a
  Scenario Outline: An unknown nested field in <kind> is refused with its path
    Given the manifest "webhook/claim-v1"
    And it is configured with <kind> {<content>}
    When it is created
    Then the webhook refuses it because 'unknown field "<path>"'

    Examples:
      | kind      | content                                                          | path                          |
      | GpuConfig | sharing: {strategy: TimeSlicing, timeSlicingConfig: {gap: Long}} | sharing.timeSlicingConfig.gap |
      | GpuConfig | sharing: {strategy: MPS, mpsConfig: {threads: 10}}               | sharing.mpsConfig.threads     |

    Examples:
      | kind                       | content                 | path            |
      | MigDeviceConfig            | sharing: {stratgy: MPS} | sharing.stratgy |
      | ComputeDomainChannelConfig | domain: abc             | domain          |

  @NV-139
  Scenario: Time slices of a MIG device are refused
    Given the manifest "webhook/claim-v1"
    And it is configured with MigDeviceConfig {sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}}
    When it is created
    Then the webhook refuses it because 'unknown field "sharing.timeSlicingConfig"'

  @NV-133b
  Scenario Outline: <what> is refused as configuration
    Given the manifest "webhook/claim-v1"
    And it is configured for "gpu.nvidia.com" with <parameters>
    When it is created
    Then the webhook refuses it because '<said>'

    Examples:
      | what               | parameters                                                  | said                     |
      | An unknown kind    | {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfigs} | no kind "GpuConfigs"     |
      | An unknown version | {apiVersion: resource.nvidia.com/v1, kind: GpuConfig}       | resource.nvidia.com/v1   |
      | Another group      | {apiVersion: gpu.example.com/v1beta1, kind: GpuConfig}      | gpu.example.com/v1beta1  |
      | A missing kind     | {apiVersion: resource.nvidia.com/v1beta1, sharing: {}}      | Object 'Kind' is missing |
      | A missing version  | {kind: GpuConfig}                                           | spec.devices.config[0]   |
      | An empty object    | {}                                                          | Object 'Kind' is missing |
      | A list as kind     | {apiVersion: resource.nvidia.com/v1beta1, kind: [GpuConfig]}          | spec.devices.config[0] |
      | A number as kind   | {apiVersion: resource.nvidia.com/v1beta1, kind: 3}                    | spec.devices.config[0] |
      | A list as version  | {apiVersion: [resource.nvidia.com/v1beta1], kind: GpuConfig}          | spec.devices.config[0] |
      # Kinds of the same group that are no configuration.
      | A ComputeDomain    | {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain}       | spec.devices.config[0] |
      | A clique           | {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainClique} | spec.devices.config[0] |

  @NV-133c
  Scenario Outline: <what> is refused with the known strategies
    Given the manifest "webhook/claim-v1"
    And it is configured with <kind> {<content>}
    When it is created
    Then the webhook refuses it because '<said>'

    Examples:
      | what                       | kind            | content                    | said             |
      | An unknown strategy        | GpuConfig       | sharing: {strategy: Magic} | TimeSlicing, MPS |
      | Sharing without a strategy | GpuConfig       | sharing: {}                | TimeSlicing, MPS |
      | An unknown strategy of MIG | MigDeviceConfig | sharing: {strategy: Magic} | TimeSlicing, MPS |

  @NV-133f
  Scenario Outline: <what> is refused with the path
    Given the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {<content>}
    When it is created
    Then the webhook refuses it because 'spec.devices.config[0].opaque.parameters'

    Examples:
      | what                     | content                                                                    |
      | Sharing as a string      | sharing: TimeSlicing                                                       |
      | A strategy as a number   | sharing: {strategy: 3}                                                     |
      | A strategy as an object  | sharing: {strategy: {MPS: {}}}                                             |

  @NV-133g
  Scenario Outline: A <kind> without a domain is refused
    Given the manifest "webhook/claim-v1"
    And it is configured with <kind> {}
    When it is created
    Then the webhook refuses it because 'domainID'

    Examples:
      | kind                       |
      | ComputeDomainChannelConfig |
      | ComputeDomainDaemonConfig  |

  @NV-134
  Scenario: The refusal of a claim lists all of its mistakes
    Given the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {sharin: {}}
    And it is configured with GpuConfig {}
    And it is configured with GpuConfig {sharing: {strategy: Magic}}
    When it is created
    Then the webhook refuses it because '2 configs failed to validate: '
    And the webhook refuses it because 'spec.devices.config[0].opaque.parameters'
    And the webhook refuses it because 'spec.devices.config[2].opaque.parameters'
    And the webhook refuses it because '; '

  @NV-136
  Scenario: Configuration of other drivers is not validated
    Given the manifest "webhook/claim-v1"
    And it is configured for "gpu.other-nvidia.com" with {kind: Nonsense, whatever: 1}
    And it is configured with GpuConfig {sharin: {}}
    When it is created
    Then the webhook refuses it because '1 configs failed to validate: '
    And the webhook refuses it because 'spec.devices.config[1].opaque.parameters'

  @NV-317
  Scenario Outline: A <kind> of the ComputeDomain driver with <what> is refused with its path
    Given the manifest "webhook/<manifest>"
    And it is configured for "compute-domain.nvidia.com" with {apiVersion: resource.nvidia.com/v1beta1, kind: <kind>, domainID: 2e5d-train}
    And it is configured for "compute-domain.nvidia.com" with {apiVersion: resource.nvidia.com/v1beta1, kind: <kind>, <content>}
    When it is created
    Then the webhook refuses it because '<path>'

    Examples:
      | kind                       | what             | content                        | manifest    | path                                       |
      | ComputeDomainChannelConfig | no domain        | allocationMode: All            | claim-v1    | spec.devices.config[1].opaque.parameters   |
      | ComputeDomainDaemonConfig  | an empty domain  | domainID: ""                   | claim-v1    | spec.devices.config[1].opaque.parameters   |
      | ComputeDomainDaemonConfig  | a folder above   | domainID: ".."                 | template-v1 | spec.spec.devices.config[1].opaque.parameters |
      | ComputeDomainChannelConfig | a path           | domainID: a/b                  | claim-v1    | spec.devices.config[1].opaque.parameters   |
      | ComputeDomainDaemonConfig  | a path elsewhere | domainID: ../other             | claim-v1    | spec.devices.config[1].opaque.parameters   |
      | ComputeDomainChannelConfig | no label value   | domainID: -train-              | claim-v1    | spec.devices.config[1].opaque.parameters   |
      | ComputeDomainChannelConfig | a long domain    | domainID: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg | claim-v1 | spec.devices.config[1].opaque.parameters |
      | ComputeDomainChannelConfig | an unknown field | domainID: train, domain: other | claim-v1    | spec.devices.config[1].opaque.parameters   |

  @NV-317
  Scenario: Valid configuration of the ComputeDomain driver is admitted
    Given the manifest "webhook/claim-v1"
    And it is configured for "compute-domain.nvidia.com" with {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainChannelConfig, domainID: 4bb6c2a0-0f4c-4a5e-9d43-6d5fd3d55e14, allocationMode: All}
    And it is configured for "compute-domain.nvidia.com" with {apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomainDaemonConfig, domainID: aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg}
    When it is created
    Then the webhook admits it

  @NV-318
  Scenario Outline: Configuration for pass-through is admitted in a <manifest>
    Given the manifest "webhook/<manifest>"
    And it is configured with VfioDeviceConfig {}
    And it is configured with VfioDeviceConfig {iommu: {backendPolicy: LegacyOnly}}
    And it is configured with VfioDeviceConfig {iommu: {backendPolicy: PreferIommuFD, enableAPIDevice: true}}
    When it is created
    Then the webhook admits it

    Examples:
      | manifest    |
      | claim-v1    |
      | template-v1 |

  @NV-318
  Scenario Outline: Configuration for pass-through with <what> is refused
    Given the manifest "webhook/claim-v1"
    And it is configured with VfioDeviceConfig {}
    And it is configured with VfioDeviceConfig {<content>}
    When it is created
    Then the webhook refuses it because 'spec.devices.config[1].opaque.parameters'

    Examples:
      | what                     | content                             |
      | an unknown backend       | iommu: {backendPolicy: Newest}      |
      | a part of a backend      | iommu: {backendPolicy: Legacy}      |
      | an unknown field         | iommu: {enableApiDevice: true}      |
      | a number as a flag       | iommu: {enableAPIDevice: 1}         |
      | a text as settings       | iommu: LegacyOnly                   |
