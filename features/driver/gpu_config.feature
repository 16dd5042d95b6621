@profile:driver-gpu @component:driver @needs:gpu-driver
Feature: The driver gpu.nvidia.com reads its configuration strictly
  A slip of the pen in a claim must not end in a device that is configured otherwise than its user believes.

  Background:
    Given node "n1" running the driver

  @NV-071
  Scenario: An unknown field is refused
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharin: {}} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "unknown field"

  @NV-072
  Scenario: An unknown kind is refused
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfiguration} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "no kind"

  @NV-073
  Scenario: Parameters without kind are refused
    Given a ResourceClaim "train" for the driver on "n1" with {sharing: {strategy: TimeSlicing}} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "Object 'Kind' is missing"

  @NV-074
  Scenario: Configuration of another device type that names the request is refused
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: MigDeviceConfig} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "cannot apply MigDeviceConfig"

  @NV-075
  Scenario: Configuration of another device type for all requests is passed over
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: MigDeviceConfig} for "all"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-076
  Scenario: Configuration for pass-through that names a full GPU is refused
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "cannot apply VfioDeviceConfig"

  @NV-083
  Scenario: An unknown sharing strategy is refused with those that exist
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: Magic}} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "TimeSlicing, MPS"

  @NV-082
  Scenario: A sharing strategy whose gate is off is refused
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused because "TimeSlicingSettings"
