@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @needs:fake-nvml
Feature: The driver gpu.nvidia.com sets time slices
  Containers that share a GPU run in turns. nvidia-smi sets the length of a turn on the hardware, where it stays until
  it is reset. In these scenarios nvidia-smi is a script that logs how it is run.

  Background:
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" running the driver with "--feature-gates=TimeSlicingSettings=true"

  @NV-085 @NV-111
  Scenario Outline: The interval <interval> is set as time slice <number> and reset by Unprepare
    Given a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: <interval>}}
      """
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-085]
    And nvidia-smi on "n1" was run for the GPU of claim "train" with "-c DEFAULT, --set-timeslice <number>" [NV-085]
    When claim "train" is prepared on "n1"
    Then all responses for claim "train" are the same [NV-085]
    And nvidia-smi on "n1" was run for the GPU of claim "train" with "-c DEFAULT, --set-timeslice <number>" [NV-085]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-111]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "train" is 0 [NV-111]

    Examples:
      | interval | number |
      | Short    | 1      |
      | Medium   | 2      |
      | Long     | 3      |

  @NV-085 @NV-085b @NV-111
  Scenario: Each GPU has the time slice of its own configuration
    Given a ResourceClaim "short" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "long" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "plain" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: plain, deviceOf: plain}, {request: short, deviceOf: short}, {request: long, deviceOf: long}]
      config:
        - requests: [short]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig,
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}}
        - requests: [long]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig,
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}}
      """
    And a ResourceClaim "infer" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Medium}}
      """
    When claims "train, infer" are prepared on "n1" in one call
    Then claim "train" is prepared [NV-085]
    And claim "infer" is prepared [NV-085]
    And nvidia-smi on "n1" was run for the GPU of claim "short" with "-c DEFAULT, --set-timeslice 1" [NV-085]
    And nvidia-smi on "n1" was run for the GPU of claim "long" with "-c DEFAULT, --set-timeslice 3" [NV-085]
    And nvidia-smi on "n1" left the time slice of the GPU of claim "plain" at its default [NV-085b]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-111]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "short" is 0 [NV-111]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "long" is 0 [NV-111]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "infer" is 2 [NV-111]
    And nvidia-smi on "n1" left the time slice of the GPU of claim "plain" at its default [NV-085b]

  @NV-085 @NV-111
  Scenario: One configuration applies to both GPUs of a claim
    Given a ResourceClaim "two" allocated 2 devices of the driver on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: two}, {request: gpu, deviceOf: two, number: 1}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}
      """
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-085]
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "two" is DEFAULT [NV-085]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "two" is 3 [NV-085]
    When claim "train" is unprepared on "n1"
    Then the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "two" is 0 [NV-111]

  @NV-085b
  Scenario: MIG devices that share in turns leave the time slice of their GPU at its default
    Given the GPUs of "n2" are those of "dgx-h100-mig"
    And node "n2" has a fake "nvidia-smi"
    And node "n2" running the driver with "--feature-gates=TimeSlicingSettings=true"
    And a ResourceClaim "parts" allocated on "n2" with:
      """
      results: [{request: mig, device: gpu-0-mig-3g40gb-9-0}, {request: mig, device: gpu-0-mig-1g10gb-19-6}]
      config:
        - requests: [mig]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: MigDeviceConfig, sharing: {strategy: TimeSlicing}}
      """
    When claim "parts" is prepared on "n2"
    Then claim "parts" is prepared
    And nvidia-smi on "n2" left the time slice of the GPU of claim "parts" at its default

  @NV-111 @NV-085
  Scenario: A restarted driver resets the time slice of a claim from before, and of no other
    Given a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}
      """
    And claim "train" is prepared on "n1"
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered [NV-085]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "train" is 3 [NV-085]
    When claim "train" is unprepared on "n1"
    Then the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "train" is 0 [NV-111]

  @NV-086
  Scenario: The default interval applies if there is no timeSlicingConfig
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: TimeSlicing}}
    When claim "train" is prepared on "n1"
    Then nvidia-smi on "n1" was run for the GPU of claim "train" with "-c DEFAULT, --set-timeslice 0"

  @NV-088
  Scenario: The default interval applies if timeSlicingConfig is empty
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: TimeSlicing, timeSlicingConfig: {}}}
    When claim "train" is prepared on "n1"
    Then nvidia-smi on "n1" was run for the GPU of claim "train" with "-c DEFAULT, --set-timeslice 0"

  @NV-084 @NV-087
  Scenario: Invalid sharing settings are refused with the reason
    Given a ResourceClaim "tiny" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Tiny}}
      """
    And a ResourceClaim "both" allocated on "n1" with GpuConfig {sharing: {strategy: TimeSlicing, mpsConfig: {}}}
    When claims "tiny, both" are prepared on "n1" in one call
    Then claim "tiny" is refused, naming "Default, Short, Medium, Long" [NV-084]
    And claim "both" is refused on its own [NV-087]

  @NV-089
  Scenario: A failure of nvidia-smi fails the claim
    Given a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: TimeSlicing}}
    When node "n1" gets the fault "nvidia-smi fails"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused, naming "nvidia-smi"
    When node "n1" recovers from "nvidia-smi fails"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-089
  Scenario: A node without nvidia-smi fails the claim
    Given node "n2" running the driver with "--feature-gates=TimeSlicingSettings=true"
    And node "n2" has the fault "nvidia-smi missing"
    And a ResourceClaim "train" allocated on "n2" with GpuConfig {sharing: {strategy: TimeSlicing}}
    And a ResourceClaim "plain" allocated on "n2" with GpuConfig {}
    When claims "train, plain" are prepared on "n2" in one call
    Then claim "train" is refused, naming "nvidia-smi"
    And claim "plain" is prepared

  @NV-107b
  Scenario: A claim whose Unprepare fails does not keep other claims of the call from being unprepared
    Given a ResourceClaim "stuck" allocated on "n1" with:
      """
      results: [{request: gpu, device: gpu-1}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
      """
    And a ResourceClaim "before" allocated the devices "gpu-0" on "n1"
    And a ResourceClaim "after" allocated the devices "gpu-2" on "n1"
    And a ResourceClaim "last" allocated the devices "gpu-3" on "n1"
    And claims "before, stuck, after, last" are prepared on "n1"
    When node "n1" gets the fault "nvidia-smi fails for GPU 1"
    And claims "before, stuck, after, last" are unprepared on "n1" in one call
    Then claim "stuck" is not unprepared
    And claim "before" is unprepared
    And claim "after" is unprepared
    And claim "last" is unprepared
    When node "n1" recovers from "nvidia-smi fails for GPU 1"
    And claim "stuck" is unprepared on "n1"
    Then claim "stuck" is unprepared
