@profile:driver-gpu @component:driver @needs:gpu-driver
Feature: The driver gpu.nvidia.com validates its configuration strictly
  A mistake in a claim must not lead to a device that is configured differently than its user expects.

  Background:
    Given node "n1" running the driver

  @NV-071
  Scenario: An unknown field is refused
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharin: {}}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "unknown field"

  @NV-072
  Scenario: An unknown kind is refused
    Given a ResourceClaim "train" allocated on "n1" with GpuConfiguration {}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "no kind"

  @NV-073
  Scenario: Parameters without kind are refused
    Given a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config: [{requests: [gpu], parameters: {sharing: {strategy: TimeSlicing}}}]
      """
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "Object 'Kind' is missing"

  @NV-074
  Scenario: Configuration of another device type that names the request is refused
    Given a ResourceClaim "train" allocated on "n1" with MigDeviceConfig {}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "cannot apply MigDeviceConfig"

  @NV-075
  Scenario: Configuration of another device type for all requests is ignored
    Given a ResourceClaim "train" allocated on "n1" and configured by:
      | source    | request | kind            | fields |
      | FromClaim | all     | MigDeviceConfig | {}     |
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-076
  Scenario: Configuration for pass-through that names a full GPU is refused
    Given a ResourceClaim "train" allocated on "n1" with VfioDeviceConfig {}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "cannot apply VfioDeviceConfig"

  @NV-083
  Scenario: The refusal of an unknown sharing strategy lists the known ones
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: Magic}}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "TimeSlicing, MPS"

  @NV-082
  Scenario: A sharing strategy whose feature gate is off is refused
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: TimeSlicing}}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "TimeSlicingSettings"
