@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @gate:DRAConsumableCapacity
Feature: A GPU can be had by several claims at once
  With consumable capacity the scheduler gives out shares of a device. The driver says how a device may be shared, and
  lets in whoever was given a share; nothing on the node keeps a container to it.

  @NV-043 @NV-045 @NV-044 @NV-045b
  Scenario: Each mode says how memory and shares are counted
    Given node "n1" running the driver with "--feature-gates=ConsumableShares=true --consumable-shares=4"
    Then every GPU on "n1" can be shared, with "shares" of 4, default 1, from 1 to 4 by 1 [NV-043]
    And every GPU on "n1" can be shared, with memory from 0 on and none by default [NV-045]
    Given node "n2" running the driver with "--feature-gates=ConsumableShares=true --consumable-shares=memory"
    Then every GPU on "n2" can be shared, with memory from 1Mi on and all by default [NV-044]
    Given node "n3" running the driver with "--feature-gates=ConsumableShares=true --consumable-shares=unlimited"
    Then every GPU on "n3" can be shared, with memory from 0 on and none by default [NV-045b]

  @NV-065 @NV-067b
  Scenario: Claims that agree share a GPU, and no other
    Given node "n1" running the driver with "--feature-gates=ConsumableShares=true,TimeSlicingSettings=false --consumable-shares=4"
    And the claims "one, two, odd" each have a share of the same GPU on "n1", "odd" with {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}
    When claims "one, two, odd" are prepared on "n1" in one call
    Then claim "one" is prepared [NV-065]
    And claim "two" is prepared [NV-065]
    And claim "odd" is refused because "conflicting configuration" [NV-065]
    And the answer for claim "two" names its share [NV-067b]

  @NV-045c
  Scenario: A share of memory and cores is told to the container
    Given node "n1" running the driver with "--feature-gates=ConsumableShares=true --consumable-shares=memory-and-cores"
    And a ResourceClaim "train" with 25 cores and 10Gi of a GPU on "n1"
    When claim "train" is prepared on "n1"
    Then a container with claim "train" on "n1" would have "CUDA_DEVICE_SM_LIMIT_0=25" and "CUDA_DEVICE_MEMORY_LIMIT_0=10240m"
