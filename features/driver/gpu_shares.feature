@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @gate:DRAConsumableCapacity
Feature: Several claims share a GPU by consumable capacity
  With consumable capacity the scheduler allocates shares of a device. The driver publishes how a device may be shared
  and prepares every allocated share; nothing on the node limits a container to its share.

  @NV-043 @NV-045 @NV-044 @NV-045b
  Scenario: Each mode publishes its policy for memory and shares
    Given node "n1" with a kubelet
    When the driver on "n1" is started with "--feature-gates=ConsumableShares=true --consumable-shares=4"
    Then the driver on "n1" comes to publish at least one device [NV-043]
    And every gpu device on "n1" has: [NV-043]
      | field                                         | value |
      | allowMultipleAllocations                      | true  |
      | capacity.shares.value                         | 4     |
      | capacity.shares.requestPolicy.default         | 1     |
      | capacity.shares.requestPolicy.validRange.min  | 1     |
      | capacity.shares.requestPolicy.validRange.max  | 4     |
      | capacity.shares.requestPolicy.validRange.step | 1     |
    And every gpu device on "n1" has: [NV-045]
      | field                                         | value                         |
      | allowMultipleAllocations                      | true                          |
      | capacity.memory.requestPolicy.default         | 0                             |
      | capacity.memory.requestPolicy.validRange.min  | 0                             |
      | capacity.memory.requestPolicy.validRange.max  | same as capacity.memory.value |
      | capacity.memory.requestPolicy.validRange.step | 1Mi                           |
    Given node "n2" with a kubelet
    When the driver on "n2" is started with "--feature-gates=ConsumableShares=true --consumable-shares=memory"
    Then the driver on "n2" comes to publish at least one device [NV-044]
    And every gpu device on "n2" has: [NV-044]
      | field                                         | value                         |
      | allowMultipleAllocations                      | true                          |
      | capacity.memory.requestPolicy.default         | same as capacity.memory.value |
      | capacity.memory.requestPolicy.validRange.min  | 1Mi                           |
      | capacity.memory.requestPolicy.validRange.max  | same as capacity.memory.value |
      | capacity.memory.requestPolicy.validRange.step | 1Mi                           |
    Given node "n3" with a kubelet
    When the driver on "n3" is started with "--feature-gates=ConsumableShares=true --consumable-shares=unlimited"
    Then the driver on "n3" comes to publish at least one device [NV-045b]
    And every gpu device on "n3" has: [NV-045b]
      | field                                         | value                         |
      | allowMultipleAllocations                      | true                          |
      | capacity.memory.requestPolicy.default         | 0                             |
      | capacity.memory.requestPolicy.validRange.min  | 0                             |
      | capacity.memory.requestPolicy.validRange.max  | same as capacity.memory.value |
      | capacity.memory.requestPolicy.validRange.step | 1Mi                           |

  @NV-065 @NV-044 @needs:fake-nvml
  Scenario: Claims with equal configuration share a GPU
    Given node "n1" has a fake "nvidia-smi"
    # One byte less than 80Gi.
    And the GPUs of "n1" have in NVML:
      | memory_total |
      | 85899345919  |
    And node "n1" running the driver with "--feature-gates=ConsumableShares=true,TimeSlicingSettings=true --consumable-shares=4"
    Then GPU 0 on "n1" is published with: [NV-044]
      | field                                        | value   |
      | capacity.memory.value                        | 81919Mi |
      | capacity.memory.requestPolicy.validRange.max | 81919Mi |
    # Unfinished claims are in the checkpoint between the others.
    Given a ResourceClaim "bad" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "worse" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "worst" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {shares: "1"}}]
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {shares: "1"}}]
      """
    And a ResourceClaim "odd" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {shares: "1"}}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
      """
    And a ResourceClaim "same" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: one, consumedCapacity: {shares: "1"}}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
      """
    And a ResourceClaim "elsewhere" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {shares: "1"}}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
      """
    And a ResourceClaim "likewise" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: elsewhere, consumedCapacity: {shares: "1"}}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
      """
    And an admin ResourceClaim "monitor" allocated the same device as claim "elsewhere" on "n1"
    When claims "bad, worse, worst, one, two, odd, same, elsewhere, monitor, likewise" are prepared on "n1" in one call
    Then claim "one" is prepared [NV-065]
    And claim "two" is prepared [NV-065]
    And claim "odd" is refused on its own [NV-065]
    And claim "same" is prepared [NV-065]
    And claim "elsewhere" is prepared [NV-065]
    # Admin access has no share, so it needs no configuration that equals those of the shares.
    And claim "monitor" is prepared [NV-065]
    And claim "likewise" is prepared [NV-065]
    When claims "one, same" are unprepared on "n1" in one call
    And claim "odd" is prepared on "n1"
    Then claim "odd" is refused on its own [NV-065]
    When claim "two" is unprepared on "n1"
    And claim "odd" is prepared on "n1"
    Then claim "odd" is prepared [NV-065]

  @NV-111b @needs:fake-nvml
  Scenario: The time slice of a shared GPU stays until the last claim of the GPU is unprepared
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" running the driver with "--feature-gates=ConsumableShares=true,TimeSlicingSettings=true --consumable-shares=4"
    And a ResourceClaim "one" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {shares: "1"}}]
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig,
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}}
      """
    And a ResourceClaim "both" allocated on "n1" with:
      """
      results:
        - {request: gpu, deviceOf: one, consumedCapacity: {shares: "1"}}
        - {request: gpu, device: free, consumedCapacity: {shares: "1"}}
      config:
        - requests: [gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig,
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}}
      """
    # Never prepared; it only names the GPU that claim "both" does not share.
    And a ResourceClaim "unshared" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: both, number: 1, consumedCapacity: {shares: "1"}}]
      """
    And an admin ResourceClaim "monitor" allocated the same device as claim "one" on "n1"
    When claims "one, both, monitor" are prepared on "n1" in one call
    Then claim "one" is prepared [NV-111b]
    And claim "both" is prepared [NV-111b]
    And claim "monitor" is prepared [NV-111b]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "one" is 3 [NV-111b]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "unshared" is 3 [NV-111b]
    When claim "both" is unprepared on "n1"
    Then claim "both" is unprepared [NV-111b]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "one" is 3 [NV-111b]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "unshared" is 0 [NV-111b]
    When claim "one" is unprepared on "n1"
    Then claim "one" is unprepared [NV-111b]
    And the last "--set-timeslice" that nvidia-smi on "n1" set for the GPU of claim "one" is 0 [NV-111b]

  @NV-067b @needs:fake-nvml
  Scenario: The response for a share has the id of the share
    Given node "n1" running the driver with "--feature-gates=ConsumableShares=true --consumable-shares=4"
    And a ResourceClaim "base" allocated on "n1" with:
      """
      results: [{request: gpu, device: free, consumedCapacity: {shares: "1"}}]
      """
    And a ResourceClaim "twice" allocated on "n1" with:
      """
      results:
        - {request: first, deviceOf: base, consumedCapacity: {shares: "1"}}
        - {request: second, deviceOf: base, consumedCapacity: {shares: "2"}}
      """
    And a ResourceClaim "other" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: base, consumedCapacity: {shares: "1"}}]
      """
    When claims "other, twice" are prepared on "n1" in one call
    Then the response for claim "other" has the id of every share that the claim was allocated
    And the response for claim "twice" has the id of every share that the claim was allocated
    And every CDI id of the response for claim "twice" resolves on "n1"
    When the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    When claim "other" is prepared on "n1"
    Then the response for claim "other" has the id of every share that the claim was allocated

  @NV-060d @needs:fake-nvml
  Scenario: A GPU for pass-through is refused to a second claim although GPUs can be shared
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false,ConsumableShares=true --consumable-shares=4"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0" on "n1"
    And a ResourceClaim "other" allocated the devices "gpu-vfio-0" on "n1"
    When claim "vm" is prepared on "n1"
    Then claim "vm" is prepared
    When claim "other" is prepared on "n1"
    Then claim "other" is refused
