@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @needs:fake-nvml
Feature: The driver gpu.nvidia.com sets time slices
  Containers that share a GPU take turns. How long a turn is, nvidia-smi sets on the hardware, where it stays until it is
  set back. Here nvidia-smi is a script that writes down how it was called.

  Background:
    Given nvidia-smi on "n1" writes down how it is called
    And node "n1" running the driver with "--feature-gates=TimeSlicingSettings=true"

  @NV-085 @NV-111
  Scenario Outline: The interval <interval> is <number> for nvidia-smi, and is set back
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: <interval>}}} for "gpu"
    When claim "train" is prepared on "n1"
    Then nvidia-smi on "n1" was told "-c DEFAULT" and then "--set-timeslice <number>" for the GPU of claim "train" [NV-085]
    When claim "train" is unprepared on "n1"
    Then nvidia-smi on "n1" was told last "--set-timeslice 0" for the GPU of claim "train" [NV-111]

    Examples:
      | interval | number |
      | Short    | 1      |
      | Medium   | 2      |
      | Long     | 3      |

  @NV-086 @NV-088
  Scenario: Without an interval the default applies
    Given a ResourceClaim "none" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}} for "gpu"
    And a ResourceClaim "empty" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing, timeSlicingConfig: {}}} for "gpu"
    When claims "none, empty" are prepared on "n1" in one call
    Then nvidia-smi on "n1" was told "-c DEFAULT" and then "--set-timeslice 0" for the GPU of claim "none" [NV-086]
    And nvidia-smi on "n1" was told "-c DEFAULT" and then "--set-timeslice 0" for the GPU of claim "empty" [NV-088]

  @NV-084 @NV-087
  Scenario: What cannot be meant is refused by name
    Given a ResourceClaim "tiny" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Tiny}}} for "gpu"
    And a ResourceClaim "both" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing, mpsConfig: {}}} for "gpu"
    When claims "tiny, both" are prepared on "n1" in one call
    Then claim "tiny" is refused because "Default, Short, Medium, Long" [NV-084]
    And claim "both" is refused because "cannot use MpsConfig" [NV-087]

  @NV-089
  Scenario: A setting that nvidia-smi refuses fails the claim
    Given a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}} for "gpu"
    When nvidia-smi on "n1" fails
    And claim "train" is prepared on "n1"
    Then claim "train" is refused because "error running nvidia-smi"
    When nvidia-smi on "n1" works again
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
