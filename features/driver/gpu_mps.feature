@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @needs:fake-nvml
Feature: The driver gpu.nvidia.com shares GPUs by MPS
  With NVIDIA's Multi-Process Service the containers of a claim compute at the same time on one GPU. The claim's own
  control daemon enforces their limits and is stopped with the claim. In these scenarios nvidia-smi and the control
  program of the daemon are scripts that log how they are run; no process computes.

  @NV-090 @NV-091
  Scenario: Invalid MPS settings are refused with the reason
    Given node "n2" has a fake "nvidia-smi"
    And node "n2" has a fake "nvidia-cuda-mps-control"
    And node "n2" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "small" allocated on "n2" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 1Ki}}
      """
    And a ResourceClaim "where" allocated on "n2" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: MPS, mpsConfig: {defaultPerDevicePinnedMemoryLimit: {"7": 1Gi}}}
      """
    And a ResourceClaim "negative" allocated on "n2" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: -1}}
      """
    And a ResourceClaim "more" allocated on "n2" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 101}}
      """
    When claims "small, where, negative, more" are prepared on "n2" in one call
    Then claim "small" is refused because "invalid limit" [NV-090]
    And claim "where" is refused because "invalid device" [NV-090]
    And claim "negative" is refused because "must not be negative" [NV-091]
    And claim "more" is refused because "must not be greater than 100" [NV-091]

  @NV-066
  Scenario: MPS and shares exclude each other
    Given node "n2" has a fake "nvidia-smi"
    And node "n2" has a fake "nvidia-cuda-mps-control"
    And node "n2" running the driver with "--feature-gates=MPSSupport=true,ConsumableShares=true --consumable-shares=4"
    And a ResourceClaim "train" allocated on "n2" with GpuConfig {sharing: {strategy: MPS}}
    When claim "train" is prepared on "n2"
    Then claim "train" is refused because "shares"

  @NV-092 @NV-092b @NV-092c @NV-092e
  Scenario: A prepared claim has a control daemon of its own
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing:
              strategy: MPS
              mpsConfig: {defaultActiveThreadPercentage: 50, defaultPinnedDeviceMemoryLimit: 1Gi,
                defaultPerDevicePinnedMemoryLimit: {"0": 2000000Ki}}
      """
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-092]
    And one MPS control daemon runs on "n1", for the GPUs of claim "train" [NV-092]
    And a container with claim "train" on "n1" has: [NV-092]
      | kind      | name                             | value |
      | file      | $CUDA_MPS_PIPE_DIRECTORY/control | set   |
      | directory | /dev/shm                         | set   |
    And the MPS control daemon on "n1" received the command "set_default_active_thread_percentage 50" [NV-092b]
    And the MPS control daemon on "n1" received the command "set_default_device_pinned_mem_limit GPU-* 1953M" [NV-092b]
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "train" is EXCLUSIVE_PROCESS [NV-092e]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-092c]
    And no MPS control daemon and no file of one is left on "n1" [NV-092c]
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "train" is DEFAULT [NV-092c]

  @NV-092d
  Scenario: A control daemon that does not start fails the claim and leaves no files
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    When node "n1" gets the fault "nvidia-cuda-mps-control fails"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused because "error starting MPS control daemon"
    And no MPS control daemon and no file of one is left on "n1"
    When node "n1" recovers from "nvidia-cuda-mps-control fails"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And one MPS control daemon runs on "n1", for the GPUs of claim "train"

  @NV-092f
  Scenario: A control daemon keeps running during a restart of the driver
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    And claim "train" is prepared on "n1"
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    And one MPS control daemon runs on "n1", for the GPUs of claim "train"
    When claim "train" is unprepared on "n1"
    Then no MPS control daemon and no file of one is left on "n1"
