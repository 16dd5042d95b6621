@profile:driver-gpu @component:driver @needs:gpu-driver
Feature: The driver gpu.nvidia.com validates its configuration strictly
  A mistake in a claim must not lead to a device that is configured differently than its user expects.

  Background:
    Given node "n1" running the driver

  @NV-071
  Scenario: An unknown field is refused
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharin: {}}
    And a ResourceClaim "inside" allocated on "n1" with GpuConfig {sharing: {strategy: TimeSlicing, timeSlicingConfig: {intervall: Short}}}
    And a ResourceClaim "several" allocated on "n1" with GpuConfig {sharing: {strategy: MPS, mpsConfig: {multiuser: true, limits: {}}}}
    And a ResourceClaim "null" allocated on "n1" with GpuConfig {sharing: null, sharin: {}}
    When claims "train, inside, several, null" are prepared on "n1" in one call
    Then claim "train" is refused, naming "sharin"
    And claim "inside" is refused, naming "intervall"
    And claim "several" is refused, naming "multiuser, limits"
    And claim "null" is refused, naming "sharin"

  @NV-071d
  Scenario: A field of a wrong type is refused
    Given a ResourceClaim "list" allocated on "n1" with GpuConfig {sharing: []}
    And a ResourceClaim "number" allocated on "n1" with GpuConfig {sharing: {strategy: 5}}
    And a ResourceClaim "text" allocated on "n1" with GpuConfig {sharing: {strategy: MPS, mpsConfig: {multiUser: "true"}}}
    And a ResourceClaim "bool" allocated on "n1" with GpuConfig {sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: true}}}
    And a ResourceClaim "five" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config: [{requests: [gpu], parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: 5}}]
      """
    And a ResourceClaim "six" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config: [{requests: [gpu], parameters: {apiVersion: 6, kind: GpuConfig}}]
      """
    And a ResourceClaim "empty" allocated on "n1" with GpuConfig {sharing: null}
    When claims "list, number, text, bool, five, six, empty" are prepared on "n1" in one call
    Then claim "list" is refused, naming "sharing"
    And claim "number" is refused, naming "strategy"
    And claim "text" is refused, naming "multiUser"
    And claim "bool" is refused, naming "defaultActiveThreadPercentage"
    And claim "five" is refused, naming "kind"
    And claim "six" is refused, naming "apiVersion"
    And claim "empty" is prepared

  @NV-072
  Scenario: An unknown kind is refused
    Given a ResourceClaim "train" allocated on "n1" with GpuConfiguration {}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused, naming "GpuConfiguration"
    Given a ResourceClaim "future" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config: [{requests: [gpu], parameters: {apiVersion: resource.nvidia.com/v9, kind: GpuConfig}}]
      """
    When claim "future" is prepared on "n1"
    Then claim "future" is refused, naming "resource.nvidia.com/v9"

  @NV-073
  Scenario: Parameters without kind are refused
    Given a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config: [{requests: [gpu], parameters: {sharing: {strategy: TimeSlicing}}}]
      """
    And a ResourceClaim "version" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config: [{requests: [gpu], parameters: {kind: GpuConfig}}]
      """
    When claims "train, version" are prepared on "n1" in one call
    Then claim "train" is refused, naming "kind"
    And claim "version" is refused, naming "apiVersion"

  @NV-074
  Scenario: Configuration of another device type that names the request is refused
    Given a ResourceClaim "train" allocated on "n1" with MigDeviceConfig {}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused, naming "MigDeviceConfig"

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
    Then claim "train" is refused, naming "VfioDeviceConfig"

  @NV-083
  Scenario: The refusal of an unknown sharing strategy lists the known ones
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: Magic}}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused, naming "TimeSlicing, MPS"

  @NV-082 @driver-gate-off:TimeSlicingSettings @driver-gate-off:MPSSupport
  Scenario: A sharing strategy whose feature gate is off is refused
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: TimeSlicing}}
    And a ResourceClaim "infer" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    When claims "train, infer" are prepared on "n1" in one call
    Then claim "train" is refused, naming "TimeSlicingSettings"
    And claim "infer" is refused, naming "MPSSupport"
