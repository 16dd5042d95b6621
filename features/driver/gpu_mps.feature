@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @needs:fake-nvml
Feature: The driver gpu.nvidia.com shares GPUs by MPS
  With NVIDIA's Multi-Process Service the containers of a claim compute at the same time on one GPU. A control daemon of
  the claim's own keeps them to their limits, and ends with it. Here nvidia-smi and the daemon's control program are
  scripts that write down how they were called: nothing computes.

  @NV-090 @NV-091
  Scenario: Settings of MPS that cannot be are refused by name
    Given nvidia-smi on "n2" writes down how it is called
    And MPS on "n2" is simulated
    And node "n2" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "small" for the driver on "n2" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: 1Ki}}} for "gpu"
    And a ResourceClaim "where" for the driver on "n2" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS, mpsConfig: {defaultPerDevicePinnedMemoryLimit: {"7": 1Gi}}}} for "gpu"
    And a ResourceClaim "negative" for the driver on "n2" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: -1}}} for "gpu"
    And a ResourceClaim "more" for the driver on "n2" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 101}}} for "gpu"
    When claims "small, where, negative, more" are prepared on "n2" in one call
    Then claim "small" is refused because "invalid limit" [NV-090]
    And claim "where" is refused because "invalid device" [NV-090]
    And claim "negative" is refused because "must not be negative" [NV-091]
    And claim "more" is refused because "must not be greater than 100" [NV-091]

  @NV-066
  Scenario: MPS and shares exclude each other
    Given nvidia-smi on "n2" writes down how it is called
    And MPS on "n2" is simulated
    And node "n2" running the driver with "--feature-gates=MPSSupport=true,ConsumableShares=true --consumable-shares=4"
    And a ResourceClaim "train" for the driver on "n2" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}} for "gpu"
    When claim "train" is prepared on "n2"
    Then claim "train" is refused because "shares"

  @NV-092 @NV-092b @NV-092c @NV-092e
  Scenario: A claim has a control daemon as long as it is prepared
    Given nvidia-smi on "n1" writes down how it is called
    And MPS on "n1" is simulated
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 50, defaultPinnedDeviceMemoryLimit: 1Gi, defaultPerDevicePinnedMemoryLimit: {"0": 2000000Ki}}}} for "gpu"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-092]
    And a control daemon of MPS runs on "n1" for the GPUs of claim "train" [NV-092]
    And a container with claim "train" on "n1" would find that daemon's pipe and shared memory [NV-092]
    And that daemon on "n1" was told "set_default_active_thread_percentage 50" [NV-092b]
    And that daemon on "n1" was told "set_default_device_pinned_mem_limit GPU-* 1953M" [NV-092b]
    And nvidia-smi on "n1" set the compute mode EXCLUSIVE_PROCESS last for the GPU of claim "train" [NV-092e]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-092c]
    And no control daemon of MPS runs on "n1", and none left a file [NV-092c]
    And nvidia-smi on "n1" set the compute mode DEFAULT last for the GPU of claim "train" [NV-092c]

  @NV-092d
  Scenario: A control daemon that does not start fails the claim, and leaves nothing
    Given nvidia-smi on "n1" writes down how it is called
    And MPS on "n1" is simulated
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}} for "gpu"
    When MPS on "n1" fails
    And claim "train" is prepared on "n1"
    Then claim "train" is refused because "error starting MPS control daemon"
    And no control daemon of MPS runs on "n1", and none left a file
    When MPS on "n1" works again
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And a control daemon of MPS runs on "n1" for the GPUs of claim "train"

  @NV-092f
  Scenario: A control daemon outlives the driver that started it
    Given nvidia-smi on "n1" writes down how it is called
    And MPS on "n1" is simulated
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" for the driver on "n1" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}} for "gpu"
    And claim "train" is prepared on "n1"
    When the driver on "n1" restarts
    Then the driver on "n1" comes to be registered
    And a control daemon of MPS runs on "n1" for the GPUs of claim "train"
    When claim "train" is unprepared on "n1"
    Then no control daemon of MPS runs on "n1", and none left a file
