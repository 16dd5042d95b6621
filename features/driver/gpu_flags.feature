@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags
Feature: The driver gpu.nvidia.com refuses conflicting flags
  A driver that ignores part of its flags serves a node differently than its administrator expects.

  @NV-004 @NV-005 @NV-006 @NV-009
  Scenario: The driver does not start with conflicting or unknown feature gates
    Given node "n1" with a kubelet
    Then the driver on "n1" does not start with: [NV-004]
      | flags                                                                               | error              |
      | --feature-gates=DynamicMIG=true,PassthroughSupport=true,NVMLDeviceHealthCheck=false | DynamicMIG         |
      | --feature-gates=DynamicMIG=true,PassthroughSupport=true,NVMLDeviceHealthCheck=false | PassthroughSupport |
    And the driver on "n1" does not start with: [NV-005]
      | flags                                                      | error                 |
      | --feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=true | DynamicMIG            |
      | --feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=true | NVMLDeviceHealthCheck |
    And the driver on "n1" does not start with: [NV-006]
      | flags                                                                       | error                 |
      | --feature-gates=DynamicMIG=true,MPSSupport=true,NVMLDeviceHealthCheck=false | MPSSupport            |
      | --feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=true          | NVMLDeviceHealthCheck |
    And the driver on "n1" does not start with: [NV-009]
      | flags                           | error      |
      | --feature-gates=NoSuchGate=true | NoSuchGate |

  @NV-007
  Scenario: The driver does not start with device metadata and without pass-through
    Given node "n1" with a kubelet
    Then the driver on "n1" does not start with:
      | flags                                                        | error              |
      | --feature-gates=DeviceMetadata=true,PassthroughSupport=false | DeviceMetadata     |
      | --feature-gates=DeviceMetadata=true,PassthroughSupport=false | PassthroughSupport |

  @NV-010 @NV-011
  Scenario: The driver does not start with consumable shares that it cannot use
    Given node "n1" with a kubelet
    Then the driver on "n1" does not start with: [NV-010]
      | flags                                                        | error            |
      | --feature-gates=ConsumableShares=false --consumable-shares=4 | ConsumableShares |
    And the driver on "n1" does not start with: [NV-011]
      | flags                                                          | error             |
      | --feature-gates=ConsumableShares=true --consumable-shares=0    | consumable-shares |
      | --feature-gates=ConsumableShares=true --consumable-shares=-1   | consumable-shares |
      | --feature-gates=ConsumableShares=true --consumable-shares=some | consumable-shares |

  @NV-311 @needs:fake-nvml
  Scenario: Without an NVLink fabric the gate FabricManagerPartitioning has no effect
    Given node "n1" with a kubelet
    When the driver on "n1" is started with "--feature-gates=FabricManagerPartitioning=true"
    Then the driver on "n1" comes to publish "gpu-0, gpu-7" and not ""
    And every gpu device on "n1" has:
      | field                 | value |
      | attributes.partition1 | null  |
      | attributes.partition2 | null  |
      | attributes.partition4 | null  |
      | attributes.partition8 | null  |
    And the driver on "n1" comes to be registered
    Given a ResourceClaim "train" allocated the devices "gpu-0, gpu-3" on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-312 @needs:fake-nvml
  Scenario: The driver does not start on a fabric without its Fabric Manager
    Given node "n1" has NVSwitches
    And node "n1" with a kubelet
    Then the driver on "n1" does not start with:
      | flags                                          | error                     |
      | --feature-gates=FabricManagerPartitioning=true | FabricManagerPartitioning |
    And the driver on "n1" publishes nothing
    When the driver on "n1" is started with "--feature-gates=FabricManagerPartitioning=false"
    Then the driver on "n1" comes to publish at least one device

  @NV-004b @needs:fake-nvml
  Scenario Outline: The driver starts with each of its feature gates: <name>
    Given the GPUs of "n1" are those of "<inventory>"
    And node "n1" with a kubelet
    And node "n1" has an IOMMU with the VFIO interface
    When the driver on "n1" is started with "--feature-gates=<gates> <flags>"
    Then the driver on "n1" comes to be registered
    And the driver on "n1" comes to publish at least one device

    Examples:
      | name         | inventory    | gates                                               | flags                                 |
      | static MIG   | dgx-h100-mig | NVMLDeviceHealthCheck=true                          | --additional-xids-to-ignore=48        |
      | dynamic MIG  | h100-16      | DynamicMIG=true,NVMLDeviceHealthCheck=false         |                                       |
      | pass-through | dgx-h100     | PassthroughSupport=true,NVMLDeviceHealthCheck=false |                                       |
      | sharing      | dgx-h100     | TimeSlicingSettings=true,MPSSupport=true            |                                       |
      | shares       | dgx-h100     | ConsumableShares=true                               | --consumable-shares=memory            |
