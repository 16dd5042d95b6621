@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags
Feature: The driver gpu.nvidia.com refuses flags that cannot work together
  A driver that starts with half of what it was told serves a node otherwise than its administrator believes.

  @NV-004 @NV-005 @NV-006 @NV-009 @NV-010 @NV-011
  Scenario: The driver does not start with conflicting feature gates or settings without their gate
    Given node "n1" with a kubelet
    Then the driver on "n1" with "--feature-gates=DynamicMIG=true,PassthroughSupport=true,NVMLDeviceHealthCheck=false" does not start, because "DynamicMIG" [NV-004]
    And the driver on "n1" with "--feature-gates=DynamicMIG=true,PassthroughSupport=true,NVMLDeviceHealthCheck=false" does not start, because "PassthroughSupport" [NV-004]
    And the driver on "n1" with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=true" does not start, because "mutually exclusive" [NV-005]
    And the driver on "n1" with "--feature-gates=DynamicMIG=true,MPSSupport=true,NVMLDeviceHealthCheck=false" does not start, because "MPSSupport" [NV-006]
    And the driver on "n1" with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=true" does not start, because "NVMLDeviceHealthCheck" [NV-006]
    And the driver on "n1" with "--feature-gates=NoSuchGate=true" does not start, because "unrecognized feature gate" [NV-009]
    And the driver on "n1" with "--consumable-shares=4" does not start, because "ConsumableShares" [NV-010]
    And the driver on "n1" with "--feature-gates=ConsumableShares=true --consumable-shares=0" does not start, because "consumable-shares" [NV-011]
    And the driver on "n1" with "--feature-gates=ConsumableShares=true --consumable-shares=-1" does not start, because "consumable-shares" [NV-011]
    And the driver on "n1" with "--feature-gates=ConsumableShares=true --consumable-shares=some" does not start, because "consumable-shares" [NV-011]
