@profile:webhook @component:webhook @needs:webhook-admission @needs:webhook-gates @needs:gpu-driver
Feature: Sharing is validated with the feature gates of the driver
  The webhook has its own feature gates. If a gate is on for the driver only, the first claim that uses it is refused.

  @NV-141
  Scenario Outline: <strategy> without its feature gate is refused with the gate's name
    Given the webhook runs with the feature gates "<on>"
    And the webhook is registered for the namespace
    And the manifest "webhook/claim-v1"
    And it is configured with <kind> {sharing: {strategy: <strategy>}}
    When it is created
    Then the webhook refuses it because '"<off>" feature gate is not enabled'

    Examples:
      | kind            | strategy    | on                  | off                 |
      | GpuConfig       | TimeSlicing | MPSSupport          | TimeSlicingSettings |
      | GpuConfig       | MPS         | TimeSlicingSettings | MPSSupport          |
      | MigDeviceConfig | MPS         | TimeSlicingSettings | MPSSupport          |

  @NV-141a
  Scenario Outline: <what> is admitted with its feature gate
    Given the webhook runs with the feature gates "TimeSlicingSettings,MPSSupport"
    And the webhook is registered for the namespace
    And the manifest "webhook/claim-v1"
    And it is configured with <kind> {sharing: <sharing>}
    When it is created
    Then the webhook admits it

    Examples:
      | what                    | kind            | sharing                                                            |
      | Time slicing by default | GpuConfig       | {strategy: TimeSlicing}                                            |
      | A default time slice    | GpuConfig       | {strategy: TimeSlicing, timeSlicingConfig: {interval: Default}}    |
      | A short time slice      | GpuConfig       | {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}      |
      | A medium time slice     | GpuConfig       | {strategy: TimeSlicing, timeSlicingConfig: {interval: Medium}}     |
      | A long time slice       | GpuConfig       | {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}       |
      | Time slicing of MIG     | MigDeviceConfig | {strategy: TimeSlicing}                                            |
      | MPS by default          | GpuConfig       | {strategy: MPS}                                                    |
      | MPS with all of the GPU | GpuConfig       | {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 100}}   |
      | MPS with none of it     | MigDeviceConfig | {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 0}}     |
      | MPS with a memory limit | GpuConfig       | {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 10Gi}} |
      | MPS with a limit in bytes | GpuConfig     | {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 1073741824}} |
      | MPS with limits by device | MigDeviceConfig | {strategy: MPS, mpsConfig: {defaultPerDevicePinnedMemoryLimit: {"0": 1Gi, "1": 512Mi}}} |
      | MPS without its settings | GpuConfig      | {strategy: MPS, mpsConfig: null, timeSlicingConfig: null} |

  @NV-133c
  Scenario Outline: An unknown time slice such as <interval> is refused with the known ones
    Given the webhook runs with the feature gates "TimeSlicingSettings,MPSSupport"
    And the webhook is registered for the namespace
    And the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: <interval>}}}
    When it is created
    Then the webhook refuses it because 'Default, Short, Medium, Long'

    Examples:
      | interval |
      | Tiny     |
      | short    |

  @NV-133f
  Scenario Outline: <what> is refused with the path although its feature gate is on
    Given the webhook runs with the feature gates "TimeSlicingSettings,MPSSupport"
    And the webhook is registered for the namespace
    And the manifest "webhook/claim-v1"
    And it is configured with <kind> {}
    And it is configured with <kind> {sharing: <sharing>}
    When it is created
    Then the webhook refuses it because 'spec.devices.config[1].opaque.parameters'

    Examples:
      | what                      | kind            | sharing                                                             |
      | A percentage as a string  | GpuConfig       | {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: half}}   |
      | A fractional percentage   | GpuConfig       | {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 0.5}}    |
      | A percentage as a boolean | MigDeviceConfig | {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: true}}   |
      | A memory limit as a list  | GpuConfig       | {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: [1]}}   |
      | MPS settings as a list    | MigDeviceConfig | {strategy: MPS, mpsConfig: [50]}                                    |
      | An interval as a number   | GpuConfig       | {strategy: TimeSlicing, timeSlicingConfig: {interval: 3}}           |

  @NV-133c
  Scenario Outline: A thread percentage of <value> in <kind> is refused
    Given the webhook runs with the feature gates "TimeSlicingSettings,MPSSupport"
    And the webhook is registered for the namespace
    And the manifest "webhook/claim-v1"
    And it is configured with <kind> {sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: <value>}}}
    When it is created
    Then the webhook refuses it because '<said>'

    Examples:
      | kind            | value | said             |
      | GpuConfig       | 101   | greater than 100 |
      | GpuConfig       | -1    | negative         |
      | MigDeviceConfig | 101   | greater than 100 |

  @NV-140
  Scenario: MPS settings with time slicing are admitted
    Given the webhook runs with the feature gates "TimeSlicingSettings,MPSSupport"
    And the webhook is registered for the namespace
    And the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {sharing: {strategy: TimeSlicing, mpsConfig: {defaultActiveThreadPercentage: 5}}}
    When it is created
    Then the webhook admits it

  @NV-133h
  Scenario: Time slicing without an interval is admitted
    Given the webhook runs with the feature gates "TimeSlicingSettings"
    And the webhook is registered for the namespace
    And the manifest "webhook/claim-v1"
    And it is configured with GpuConfig {sharing: {strategy: TimeSlicing, timeSlicingConfig: {}}}
    When it is created
    Then the webhook admits it
