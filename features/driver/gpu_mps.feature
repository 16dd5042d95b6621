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
    And a ResourceClaim "words" allocated on "n2" with GpuConfig {sharing: {strategy: MPS, mpsConfig: {defaultPinnedDeviceMemoryLimit: many}}}
    And a ResourceClaim "list" allocated on "n2" with GpuConfig {sharing: {strategy: MPS, mpsConfig: {defaultPerDevicePinnedMemoryLimit: [1Gi]}}}
    When claims "small, where, negative, more, words, list" are prepared on "n2" in one call
    Then claim "small" is refused on its own [NV-090]
    And claim "words" is refused on its own [NV-090]
    And claim "list" is refused [NV-090]
    And claim "where" is refused, naming "7" [NV-090]
    And claim "negative" is refused on its own [NV-091]
    And claim "more" is refused on its own [NV-091]

  @NV-090 @NV-091 @needs:simulated-mps
  Scenario: The smallest and the largest MPS settings are accepted
    Given node "n2" has a fake "nvidia-smi"
    And node "n2" has a fake "nvidia-cuda-mps-control"
    And node "n2" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "least" allocated on "n2" with GpuConfig {sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 0, defaultPinnedDeviceMemoryLimit: 1Mi}}}
    And a ResourceClaim "most" allocated on "n2" with GpuConfig {sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 100}}}
    When claims "least, most" are prepared on "n2" in one call
    Then claim "least" is prepared [NV-090]
    And claim "most" is prepared [NV-091]
    And the MPS control daemon on "n2" received the command "set_default_active_thread_percentage 0" [NV-091]
    And the MPS control daemon on "n2" received the command "set_default_active_thread_percentage 100" [NV-091]
    And the MPS control daemon on "n2" received the command "set_default_device_pinned_mem_limit GPU-* 1M" [NV-090]

  @NV-066 @NV-065
  Scenario: MPS and shares exclude each other
    Given node "n2" has a fake "nvidia-smi"
    And node "n2" has a fake "nvidia-cuda-mps-control"
    And node "n2" running the driver with "--feature-gates=MPSSupport=true,ConsumableShares=true --consumable-shares=4"
    And a ResourceClaim "train" allocated on "n2" with GpuConfig {sharing: {strategy: MPS}}
    And a ResourceClaim "plain" allocated on "n2" with:
      """
      results: [{request: gpu, deviceOf: train, consumedCapacity: {shares: "1"}}]
      """
    When claim "train" is prepared on "n2"
    Then claim "train" is refused, naming "shares" [NV-066]
    # A claim that was refused has no share.
    When claim "plain" is prepared on "n2"
    Then claim "plain" is prepared [NV-065]

  @NV-092 @NV-092b @NV-092c @NV-092e @needs:simulated-mps
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
      | kind               | name                             | value |
      | variable           | CUDA_MPS_PIPE_DIRECTORY          | like '/.+' |
      | file               | $CUDA_MPS_PIPE_DIRECTORY/control | set   |
      | writable directory | $CUDA_MPS_PIPE_DIRECTORY         | set   |
      | writable directory | /dev/shm                         | set   |
    And the MPS control daemon on "n1" received the command "set_default_active_thread_percentage 50" [NV-092b]
    And the MPS control daemon on "n1" received the command "set_default_device_pinned_mem_limit GPU-* 1953M" [NV-092b]
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "train" is EXCLUSIVE_PROCESS [NV-092e]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-092c]
    And no MPS control daemon and no file of one is left on "n1" [NV-092c]

  @NV-418 @needs:simulated-mps
  Scenario: Unprepare sets the compute mode of each GPU of its claim to DEFAULT
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "infer" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: free}, {request: gpu, device: free}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}
      """
    And claims "train, infer" are prepared on "n1"
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "train" is DEFAULT
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "infer" is EXCLUSIVE_PROCESS

  @NV-418b @needs:simulated-mps
  Scenario: A compute mode that nvidia-smi fails to set is set by a later Unprepare
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    And claim "train" is prepared on "n1"
    When node "n1" gets the fault "nvidia-smi fails"
    And claim "train" is unprepared on "n1"
    Then claim "train" is not unprepared
    When node "n1" recovers from "nvidia-smi fails"
    And claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "train" is DEFAULT
    And no MPS control daemon and no file of one is left on "n1"

  @NV-418c @needs:simulated-mps
  Scenario Outline: A failed Prepare leaves no GPU of its claim in exclusive mode (nvidia-smi refuses GPU <gpu>)
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: gpu, device: gpu-0}, {request: gpu, device: gpu-1}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}
      """
    When node "n1" gets the fault "nvidia-smi fails for GPU <gpu>"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused on its own
    When node "n1" recovers from "nvidia-smi fails for GPU <gpu>"
    And claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And nvidia-smi on "n1" left no GPU of claim "train" in the compute mode EXCLUSIVE_PROCESS

    # A driver sets the modes in an order of its own.
    Examples:
      | gpu |
      | 0   |
      | 1   |

  @NV-092d @needs:simulated-mps
  Scenario Outline: A claim fails while its control daemon does not start (<fault>)
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    When node "n1" gets the fault "<fault>"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused on its own
    When node "n1" recovers from "<fault>"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And one MPS control daemon runs on "n1", for the GPUs of claim "train"

    Examples:
      | fault                         |
      | nvidia-cuda-mps-control fails |
      | MPS control daemons die       |
      | nvidia-smi fails              |

  @NV-092j @needs:simulated-mps
  Scenario: A control daemon that does not start leaves no files
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    When node "n1" gets the fault "nvidia-cuda-mps-control fails"
    And claim "train" is prepared on "n1"
    Then no MPS control daemon and no file of one is left on "n1"
    When node "n1" recovers from "nvidia-cuda-mps-control fails"
    And node "n1" gets the fault "MPS control daemons die"
    And claim "train" is prepared on "n1"
    Then no MPS control daemon and no file of one is left on "n1"
    When node "n1" recovers from "MPS control daemons die"
    And node "n1" gets the fault "nvidia-smi fails"
    And claim "train" is prepared on "n1"
    Then no MPS control daemon and no file of one is left on "n1"

  @NV-092f @needs:simulated-mps
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

  @NV-092 @NV-092b @NV-092c @NV-092e @NV-092g @needs:simulated-mps
  Scenario: Each configuration of a claim has a daemon of its own
    Given node "n1" has a fake "nvidia-smi"
    And GPU 7 of "n1" has uuid GPU-77777777-0000-4444-8888-222222222222
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    # This claim comes before the claims for any GPU, so that gpu-7 is still free.
    And a ResourceClaim "infer" allocated on "n1" with:
      """
      results: [{request: gpu, device: gpu-7}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS, mpsConfig:
            {defaultPerDevicePinnedMemoryLimit: {GPU-77777777-0000-4444-8888-222222222222: 7Gi}}}}
      """
    And a ResourceClaim "one" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "two" allocated 2 devices of the driver on "n1"
    And a ResourceClaim "plain" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: one, deviceOf: one}, {request: two, deviceOf: two, number: 1}, {request: two, deviceOf: two},
        {request: plain, deviceOf: plain}]
      config:
        - requests: [one]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig,
            sharing: {strategy: MPS, mpsConfig: {defaultActiveThreadPercentage: 20}}}
        - requests: [two]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS, mpsConfig:
            {defaultPinnedDeviceMemoryLimit: 3Gi, defaultPerDevicePinnedMemoryLimit: {"1": 5Gi}}}}
      """
    When claims "train, infer" are prepared on "n1" in one call
    Then claim "train" is prepared [NV-092g]
    And claim "infer" is prepared [NV-092g]
    And the MPS control daemons on "n1" are: [NV-092g]
      | claim | arguments |
      | one   | -d        |
      | two   | -d        |
      | infer | -d        |
    And the MPS control daemon on "n1" limits the memory of the GPUs of claim "two" to "3072M, 5120M" [NV-092b]
    And the MPS control daemon on "n1" limits the memory of the GPUs of claim "infer" to "7168M" [NV-092b]
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "two" is EXCLUSIVE_PROCESS [NV-092e]
    And nvidia-smi on "n1" was run for the GPU of claim "plain" with "" [NV-092e]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [NV-092c]
    And the MPS control daemons on "n1" are: [NV-092c]
      | claim | arguments |
      | infer | -d        |
    Given the GPUs of "n2" are those of "dgx-h100-mig"
    And node "n2" has a fake "nvidia-smi"
    And node "n2" has a fake "nvidia-cuda-mps-control"
    And node "n2" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "parts" allocated on "n2" with:
      """
      results: [{request: mig, device: gpu-0-mig-3g40gb-9-0}, {request: mig, device: gpu-0-mig-1g10gb-19-6}]
      config:
        - requests: [mig]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: MigDeviceConfig, sharing: {strategy: MPS,
            mpsConfig: {defaultPinnedDeviceMemoryLimit: 2Gi}}}
      """
    When claim "parts" is prepared on "n2"
    Then claim "parts" is prepared [NV-092]
    And one MPS control daemon runs on "n2", for the GPUs of claim "parts" [NV-092]
    And the MPS control daemon on "n2" limits the memory of the GPUs of claim "parts" to "2048M, 2048M" [NV-092b]
    # Only a whole GPU has a compute mode.
    And nvidia-smi on "n2" was run for the GPU of claim "parts" with "" [NV-092e]

  @NV-092h @NV-319 @needs:simulated-mps
  Scenario: A daemon for several users needs GPUs from Volta on
    Given the GPUs of "n1" are those of "dgx-h100"
    And the GPUs of "n1" have in NVML:
      | compute_capability_major | compute_capability_minor |
      | 7                        | 0                        |
      | 6                        | 1                        |
    And node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "both" allocated on "n1" with:
      """
      results: [{request: gpu, device: gpu-0}, {request: gpu, device: gpu-1}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: MPS, mpsConfig: {multiUser: true}}
      """
    And a ResourceClaim "newer" allocated on "n1" with:
      """
      results: [{request: gpu, device: gpu-0}]
      config:
        - requests: [gpu]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: GpuConfig
            sharing: {strategy: MPS, mpsConfig: {multiUser: true}}
      """
    When claims "both, newer" are prepared on "n1" in one call
    Then claim "both" is refused on its own [NV-092h]
    And claim "newer" is prepared [NV-092h]
    And the MPS control daemons on "n1" are: [NV-319]
      | claim | arguments |
      | newer | -d -M     |

  @NV-417 @needs:simulated-mps
  Scenario: Unprepare of a claim whose control daemon did not start leaves nothing of it
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    When node "n1" gets the fault "MPS control daemons die"
    And claim "train" is prepared on "n1"
    Then claim "train" is refused on its own
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And no MPS control daemon and no file of one is left on "n1"
    And the last "-c" that nvidia-smi on "n1" set for the GPU of claim "train" is DEFAULT

  @NV-092i @needs:process-driver @needs:simulated-mps
  Scenario: After a reboot nothing of a daemon is left
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has a fake "nvidia-cuda-mps-control"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the kernel of "n1" starts again
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And no MPS control daemon and no file of one is left on "n1"

  @NV-092d @needs:simulated-mps
  Scenario: A node without the control program fails the claim
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" running the driver with "--feature-gates=MPSSupport=true"
    And a ResourceClaim "train" allocated on "n1" with GpuConfig {sharing: {strategy: MPS}}
    When claim "train" is prepared on "n1"
    Then claim "train" is refused on its own
    Given node "n1" has a fake "nvidia-cuda-mps-control"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And one MPS control daemon runs on "n1", for the GPUs of claim "train"
